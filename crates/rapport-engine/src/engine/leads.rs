//! Asks leads: a question that is routed to the lead of its session becomes a message to that lead, once, whichever
//! process runs it. A lead that no process runs is resumed here. If a question is closed before the lead was told of
//! it, its message is withdrawn.

use std::collections::HashMap;

use rapport_core::routing::check_tree;
use rapport_core::{
    Act, By, Created, Event, Input, Purpose, QuestionId, Refusal, Session, SessionId, Want, World,
};
use rapport_door::{DoorError, Sessions as _};

use super::effects::Effect;
use super::event_loop::{Done, EventLoop};
use super::grounds::GroundSite;
use super::hosted_session::Incoming;
use super::sessions::ProjectSessions;
use crate::projects::known_projects::KnownProjects;
use crate::stores::Store;
use crate::workers::history::commits;

impl EventLoop {
    /// Makes sure that the lead of a session was told of a question, or that its message no longer waits for the
    /// lead. Runs off the loop.
    pub(super) fn reach_lead(&mut self, id: &SessionId, want: &Want) {
        let (lead, question, is_new) = match want {
            Want::LeadTold { lead, question } => (lead, question, true),
            Want::LeadReleased { lead, question } => (lead, question, false),
            _ => return,
        };
        let (Some(effect), Some(hosted)) = (Effect::of(want), self.sessions.get_mut(id)) else { return };
        if !hosted.effects.insert(effect.clone()) {
            return;
        }
        let message = message_id(id, question);
        let act = match hosted.session.trigger(id, question).filter(|_| is_new) {
            Some(text) => Act::Say { text, id: Some(message) },
            None => Act::Unsay { id: message },
        };
        let (lead, question, sessions) = (lead.clone(), question.clone(), self.door());
        let (done, id) = (self.done_to.clone(), id.clone());
        tokio::spawn(async move {
            let by = By::routing();
            let outcome = sessions.act(&lead, &by, &act).await;
            let world = if is_new {
                World::LeadTold { question, outcome: outcome.map(drop).map_err(in_words) }
            } else {
                World::LeadReleased { question }
            };
            let _ = done.send(Done::Effect { id, effect, world });
        });
    }

    /// Tells the lead that began a session that its work ended. Runs off the loop.
    pub(super) fn inform_lead(&mut self, id: &SessionId, lead: SessionId, end: u32) {
        let effect = Effect::InformLead(end);
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        if !hosted.effects.insert(effect.clone()) {
            return;
        }
        let act = Act::Say { text: hosted.session.announcement(id), id: Some(format!("end:{id}/{end}")) };
        let (done, id, sessions) = (self.done_to.clone(), id.clone(), self.door());
        tokio::spawn(async move {
            let outcome = sessions.act(&lead, &By::routing(), &act).await.map(drop).map_err(in_words);
            let _ = done.send(Done::Effect { id, effect, world: World::LeadInformed { end, outcome } });
        });
    }

    /// The door to all sessions of the store, with the loop's own behind it.
    fn door(&self) -> ProjectSessions {
        let parts = &self.parts;
        let here = Some(self.gateway.clone());
        ProjectSessions::new(parts.store.clone(), here, parts.worker.clone(), parts.clock.clone())
    }

    /// Looks up the ground of a lead's answer off the loop, before the answer is decided.
    pub(super) fn look_up_ground(&self, session: &SessionId, input: Input, incoming: Incoming) {
        let lead = self.sessions.get(session).and_then(|hosted| hosted.session.created().lead.clone());
        let project = self.sessions.get(session).map(|hosted| hosted.session.project().into());
        let began = self.sessions.get(session).map(|hosted| hosted.session.times().0);
        let (Some(lead), Some(project), Some(began)) = (lead, project, began) else {
            let _ = self.done_to.send(Done::Grounded { id: session.clone(), incoming });
            return;
        };
        let known = KnownProjects::new(self.parts.home.clone(), self.parts.clock.clone(), commits);
        let site = GroundSite { store: self.parts.store.clone(), lead, project, began, known };
        let (done, id) = (self.done_to.clone(), session.clone());
        tokio::spawn(async move {
            let input = with_ground(input, &site).await;
            let _ = done.send(Done::Grounded { id, incoming: Incoming { input, ..incoming } });
        });
    }

    /// A lead that asks its own person gets more time for the questions that it was asked.
    pub(super) fn note_lead_asks(&mut self, lead: &SessionId, facts: &[Event]) {
        let is_lead = self.sessions.get(lead).is_some_and(|hosted| hosted.session.created().is_lead);
        // A permission is not about the question that the lead was asked.
        let asks = |fact: &Event| match fact {
            Event::Asked { questions, .. } => {
                questions.iter().any(|question| question.purpose == Purpose::Clarify)
            }
            _ => false,
        };
        if !is_lead || !facts.iter().any(asks) {
            return;
        }
        let led =
            self.sessions.iter().filter(|(_, hosted)| hosted.session.created().lead.as_ref() == Some(lead));
        let waiting: Vec<_> = led
            .flat_map(|(id, hosted)| {
                hosted.session.with_lead().into_iter().map(|question| (id.clone(), question))
            })
            .collect();
        for (id, question) in waiting {
            self.enqueue(&id, Incoming::new(Input::World(World::LeadAsks { question })));
        }
    }
}

/// Refuses a session whose lead is not a lead, or whose leads do not form a tree. The person of a session that a lead
/// began is the person of that lead.
pub(super) async fn with_lead(store: &dyn Store, created: Created) -> Result<Created, Refusal> {
    let Some(lead) = &created.lead else { return Ok(created) };
    let refused = |why: String| Refusal::NotNow { what: "having this lead".into(), why };
    let mut above = HashMap::new();
    let mut is_of_other_user = created.is_of_other_user;
    let mut next = Some(lead.clone());
    while let Some(id) = next.take().filter(|id| !above.contains_key(id)) {
        let entries = store.counted(&id, 0).await.map_err(|error| refused(error.to_string()))?;
        let Some(session) = Session::replay(&entries) else {
            return Err(refused(format!("{id} cannot be read")));
        };
        if !session.created().is_lead {
            return Err(refused(format!("{id} is not a lead")));
        }
        if matches!(&created.by, By::Lead { name } if name == id.as_str()) {
            is_of_other_user |= session.created().is_of_other_user;
        }
        next = session.created().lead.clone();
        above.insert(id, next.clone());
    }
    check_tree(None, lead, |id| above.get(id).cloned().flatten())
        .map_err(|error| refused(error.to_string()))?;
    Ok(Created { is_of_other_user, ..created })
}

/// The id of the message by which a lead is asked: asking the same question again is the same message.
fn message_id(session: &SessionId, question: &QuestionId) -> String {
    format!("question:{session}/{question}")
}

/// The input with the result of looking up its ground.
async fn with_ground(input: Input, site: &GroundSite) -> Input {
    match input {
        Input::Person { by, act: Act::Respond { question, reply, ground: Some(ground), .. } } => {
            let because = site.find(&ground).await.map(Box::new);
            Input::Person { by, act: Act::Respond { question, reply, ground: Some(ground), because } }
        }
        input => input,
    }
}

/// Why a lead could not be told, in words for a person.
fn in_words(error: DoorError) -> String {
    error.to_string()
}
