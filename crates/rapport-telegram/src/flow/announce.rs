//! What is said when something has inputs in a session, each once, in order.

use crate::room::Room;
use rapport_core::{Aim, Entry, Event, PhaseView, Session, SessionId, TurnId, TurnKind, signal};

use super::card::{self, Card, thread};
use super::chat_state::{ChatState, Input, person};
use super::outbound::NewSession;
use crate::api::Document;
use crate::api_error::ApiError;
use crate::notice::Notice;
use crate::outgoing::{Message, Outgoing};
use crate::split::{self, Reply};
use crate::text::Text;

/// What is said while a planner looks for more questions.
const CHECKING: &str = "Checking for follow-up questions...";
const STARTING: &str = "🚀 Starting...";
const CANCELLED: &str = "❌ Planning cancelled.";
/// Why a plan is given up that has no questions. Then that was told already.
const NO_QUESTIONS: &str = "no questions could be made";

/// Whether there are other tasks in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Some,
    None,
}

impl ChatState {
    /// Says what an entry means, where it means something to the people in its room.
    pub(super) fn announce(&mut self, id: &SessionId, entry: &Entry) {
        let Some(shown) = self.sessions.get(id).filter(|shown| shown.at_home) else { return };
        let (room, is_chat) = (shown.room, shown.presenter.is_chat());
        let mut outgoing = Vec::new();
        let mut grown = None;
        for fact in &entry.facts {
            match fact {
                Event::TurnEnded { turn, result } if is_chat => match signal::detect(result) {
                    Some(batch) => grown = Some((*turn, batch)),
                    None => outgoing.extend(reply(room, result)),
                },
                Event::Reported { .. } => {
                    let view = shown.presenter.session().view(id);
                    outgoing.push(Outgoing::Message(card::ended(&view).message(room)));
                    outgoing.extend(view.result.iter().flat_map(|words| reply(room, words)));
                }
                Event::Failed { reason } => {
                    outgoing.push(Outgoing::Message(self.failed(id, entry.seq, reason).message(room)));
                }
                Event::Cancelled { reason: None, .. } if !is_chat => {
                    let is_only = self.tasks(room).all(|(other, _)| other == id);
                    let others = if is_only { Others::None } else { Others::Some };
                    outgoing.push(text(room, &cancelled(shown.presenter.session(), others)));
                }
                fact => {
                    let words = said(shown.presenter.session(), fact, entry);
                    outgoing.extend(words.map(|words| text(room, &words)));
                }
            }
        }
        if shown.presenter.is_thinking()
            && entry.facts.iter().any(|fact| matches!(fact, Event::Answered { .. }))
        {
            outgoing.push(text(room, CHECKING));
        }
        match grown {
            Some((turn, batch)) => self.grow(id, turn, batch, entry.seq),
            None => self.tell(id, room, outgoing, entry.seq),
        }
        self.clear_failed_plan(id, entry);
    }

    /// Sends what is to be said, and notes it when it has arrived.
    fn tell(&mut self, id: &SessionId, room: Room, outgoing: Vec<Outgoing>, seq: u64) {
        if outgoing.is_empty() {
            return;
        }
        *self.telling.entry(id.clone()).or_default() += 1;
        let sending: Vec<_> =
            outgoing.into_iter().map(|what| self.outbound.outbox.send(room.chat, what)).collect();
        let (back, id) = (self.outbound.back.clone(), id.clone());
        tokio::spawn(async move {
            let mut untold = None;
            for sent in sending {
                // What Telegram does not take now cannot be told another time either.
                untold = untold.or(sent.await.err());
            }
            let _ = back.send(Input::Told { session: id, seq, untold });
        });
    }

    /// What an entry meant was told, or was not taken.
    pub(super) fn told(&mut self, session: &SessionId, seq: u64, untold: Option<ApiError>) {
        if let Some(telling) = self.telling.get_mut(session) {
            *telling = telling.saturating_sub(1);
        }
        if !self.sessions.contains_key(session) {
            return;
        }
        if let Some(why) = untold.filter(|_| self.untold.insert(session.clone())) {
            let (session, why) = (session.to_string(), why.to_string());
            let _ = self.notices.send(Notice::Untold { session, why });
        }
        self.notes.told(session, seq);
        self.finish_if_over(session);
    }

    /// A reply that is nothing but questions becomes a planned task, exactly once: the task names the turn it came from.
    fn grow(&mut self, id: &SessionId, turn: TurnId, batch: rapport_core::QuestionRound, seq: u64) {
        if self.grown.contains(&(id.clone(), turn)) {
            return self.notes.told(id, seq);
        }
        let Some(shown) = self.sessions.get(id) else { return };
        self.grown.insert((id.clone(), turn));
        let (room, owner, task) = (shown.room, shown.owner, shown.said.clone());
        let grown_from = Some(rapport_core::Seed { session: id.clone(), turn });
        let new = NewSession { task, aim: Aim::Work, room, owner, request: None, grown_from };
        let older = self.replaced(room);
        *self.telling.entry(id.clone()).or_default() += 1;
        let (outbound, id) = (self.outbound.clone(), id.clone());
        tokio::spawn(async move {
            for (old, act) in older {
                // Whether or not it is there to be replaced, the new one is wanted.
                let _ = outbound.sessions.act(&old, &person(owner), &act).await;
            }
            match outbound.create(new, Some(batch)).await {
                Ok(()) => drop(outbound.back.send(Input::Told { session: id, seq, untold: None })),
                Err(error) => outbound.say(room, &format!("❌ The questions could not be kept: {error}")),
            }
        });
    }

    fn failed(&self, id: &SessionId, seq: u64, reason: &str) -> Card {
        let Some(shown) = self.sessions.get(id) else { return Card::default() };
        let session = shown.presenter.session();
        if shown.presenter.is_chat() {
            let words = format!(
                "❌ {}\n\nWrite again to try again, or /new to begin anew.",
                card::short(reason, 600)
            );
            return Card::plain(Text::new().plain(&words));
        }
        if is_without_questions(shown.presenter.session()) {
            return card::no_questions(reason);
        }
        let is_saved = session.plan_path().is_some();
        if session.phase() == PhaseView::Working && !session.was_connected() && is_saved {
            return card::failed_start(id, seq, reason);
        }
        card::failed(id, seq, &shown.presenter, reason)
    }

    /// A plan without a single question is given up, so that the next message is ordinary again.
    fn clear_failed_plan(&mut self, id: &SessionId, entry: &Entry) {
        let failed = entry.facts.iter().any(|fact| matches!(fact, Event::Failed { .. }));
        let Some(shown) = self.sessions.get(id).filter(|shown| failed && shown.presenter.is_planned()) else {
            return;
        };
        if is_without_questions(shown.presenter.session()) {
            let (sessions, id, by) = (self.outbound.sessions.clone(), id.clone(), person(shown.owner));
            let act = rapport_core::Act::Cancel { reason: Some(NO_QUESTIONS.into()) };
            tokio::spawn(async move { sessions.act(&id, &by, &act).await });
        }
    }
}

fn is_without_questions(session: &Session) -> bool {
    session.phase() == PhaseView::Clarifying && session.rounds().next().is_none()
}

/// What a fact means in words, where it means something.
fn said(session: &Session, fact: &Event, entry: &Entry) -> Option<String> {
    let is_chat = session.created().aim == Aim::Chat;
    match fact {
        Event::TurnStarted { kind: TurnKind::Work, .. } => Some(STARTING.into()),
        Event::TurnStarted { kind: TurnKind::Plan, turn, .. } if *turn > TurnId(1) || entry.seq > 1 => {
            Some("✏️ Planning again with what you said...".into())
        }
        Event::Unchecked { reason } => Some(format!(
            "⚠️ Could not check for follow-up questions ({}). The plan is made of what is known.",
            card::short(reason, 300)
        )),
        Event::Cancelled { .. } if is_chat => {
            Some("🆕 A new conversation begins with your next message.".into())
        }
        Event::Cancelled { reason: Some(reason), .. } if reason == NO_QUESTIONS => None,
        Event::Cancelled { reason: Some(reason), .. } => Some(format!("{CANCELLED} ({reason})")),
        _ => None,
    }
}

/// Which task is cancelled. A plan need not be named where there is nothing else.
fn cancelled(session: &Session, others: Others) -> String {
    let task = card::short(&session.created().task, 200);
    match (session.was_connected(), others) {
        (true, _) => format!("❌ Cancelled: {task}"),
        (false, Others::Some) => format!("❌ Planning cancelled: {task}"),
        (false, Others::None) => CANCELLED.into(),
    }
}

fn text(room: Room, words: &str) -> Outgoing {
    Outgoing::Message(Card::plain(Text::new().plain(words)).message(room))
}

/// An agent's words as messages, or as a file where they are very long.
pub(super) fn reply(room: Room, markdown: &str) -> Vec<Outgoing> {
    if markdown.trim().is_empty() {
        return vec![text(room, "(The agent ended without a word.)")];
    }
    match split::reply(markdown, "reply") {
        Reply::Messages(parts) => {
            let message = |part: &Text| Message { thread: thread(room), ..Message::new(part) };
            parts.iter().map(|part| Outgoing::Message(message(part))).collect()
        }
        Reply::File { name, content, caption } => {
            let (caption, entities) = caption.finish();
            let thread = thread(room);
            vec![Outgoing::Document(Document {
                name,
                bytes: content.into_bytes(),
                caption,
                entities,
                thread,
            })]
        }
    }
}
