//! The engine requests only what an agent can do: an agent that cannot be parked is not parked, one that does not
//! listen gets no message during its turn, and one that cannot be resumed is not started again in the middle of its
//! turn.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use rapport::agents::{
    Abilities, Agent, AgentContext, AgentKind, AgentKinds, AgentReport, AgentSetup, Command, Controls,
    Report, RunId,
};
use rapport::wiring::{Host, SessionKind, Workspace};
use rapport_core::{
    Act, AgentDid, Aim, Ask, Asker, Beside, By, CallId, Choice, Event, Leave, NewQuestion, Order, Reply,
    SessionId, Status, View,
};
use rapport_door::Sessions;
use tokio::sync::mpsc;

use super::choosing::{NoHelpers, asked, chosen_by, place};

/// The call with which it asks.
const CALL: &str = "call";

/// An agent that asks one question as if it could be parked, and shows everything that it is told.
struct Simple(mpsc::UnboundedSender<Command>);

impl AgentKind for Simple {
    fn name(&self) -> &'static str {
        "simple"
    }

    fn usual_command(&self) -> &'static str {
        "simple-agent"
    }

    fn make(&self, _: &[String], _: &AgentSetup) -> Result<Arc<dyn Agent>, String> {
        Ok(Arc::new(Self(self.0.clone())))
    }
}

impl Agent for Simple {
    fn start(&self, run: RunId, order: Order, _: AgentContext, reports: mpsc::Sender<Report>) -> Controls {
        let (commands, mut received) = mpsc::unbounded_channel();
        let shown = self.0.clone();
        tokio::spawn(async move {
            let did = async |did| {
                let _ = reports.send(Report { run, what: AgentReport::Did(did) }).await;
            };
            did(AgentDid::Connect { conversation: order.conversation, model: None }).await;
            let question = NewQuestion {
                text: "Which storage?".into(),
                header: None,
                options: vec![Choice::plain("Disk"), Choice::plain("Cloud")],
                multi: false,
                free_text: true,
                field: None,
            };
            let ask = Ask::Questions(vec![question]);
            did(AgentDid::Ask { call: CallId::new(CALL), ask, parkable: true }).await;
            let mut leave = Leave::Stopped;
            while let Some(command) = received.recv().await {
                let (is_answered, is_stopped) = (
                    matches!(command, Command::Reply { .. }),
                    matches!(command, Command::Stop | Command::Kill),
                );
                let _ = shown.send(command);
                if is_answered {
                    leave = Leave::Finished { result: "Done.".into() };
                }
                if is_answered || is_stopped {
                    break;
                }
            }
            did(AgentDid::Leave(leave)).await;
        });
        Controls { commands }
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
}

fn with_simple(folder: &std::path::Path) -> (Workspace, mpsc::UnboundedReceiver<Command>) {
    let (shown, told) = mpsc::unbounded_channel();
    (Workspace { agents: AgentKinds::builtin().with(Simple(shown)), ..place(folder) }, told)
}

fn person() -> By {
    By::Person { channel: "terminal".into(), id: "ann".into() }
}

/// Waits until this is true of a session.
async fn until(sessions: &dyn Sessions, id: &SessionId, is_so: impl Fn(&View) -> bool) -> View {
    let mut seen = sessions.follow(id, 0).await.unwrap();
    loop {
        let view = sessions.view(id).await.unwrap();
        if is_so(&view) {
            return view;
        }
        let came = tokio::time::timeout(Duration::from_secs(60), seen.next()).await;
        came.expect("it becomes so in time").expect("the session is followed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_told_only_what_it_can_do() {
    let folder = tempfile::tempdir().unwrap();
    let (place, mut told) = with_simple(folder.path());
    // The hot time is over as soon as it waits.
    let chosen = chosen_by(&place, "agent: { name: simple, hot: 0s }");
    let created = place.session("paint it".into(), Aim::Chat, &chosen).unwrap();
    let host = Host::start(&place, &chosen, &SessionKind::Sessions, Arc::new(NoHelpers)).await.unwrap();
    let sessions = host.sessions();
    let id = sessions.create(created, None).await.unwrap();
    let view = asked(&*sessions, &id).await;
    assert_eq!(view.agent.kept_by, Some(Beside::Nothing), "who looks is told why it keeps running");
    let entries = sessions.entries(&id, 0).await.unwrap();
    let facts: Vec<_> = entries.iter().flat_map(|entry| &entry.facts).collect();
    let is_kept =
        |fact: &&&Event| matches!(fact, Event::Asked { asker: Asker::Agent { parkable: false, .. }, .. });
    assert_eq!(facts.iter().filter(is_kept).count(), 1, "{facts:?}");

    let say = Act::Say { text: "and hurry".into(), id: None };
    sessions.act(&id, &person(), &say).await.unwrap();
    let answer = Act::Answer { question: None, reply: Reply::Text("Disk".into()) };
    sessions.act(&id, &person(), &answer).await.unwrap();
    let first = tokio::time::timeout(Duration::from_secs(60), told.recv()).await.unwrap().unwrap();
    assert!(matches!(&first, Command::Reply { .. }), "it is neither parked nor spoken to: {first:?}");
    // The message is what its next turn is about.
    until(&*sessions, &id, |view| view.questions.len() == 1 && view.seq > entries.len() as u64 + 3).await;
    let entries = sessions.entries(&id, 0).await.unwrap();
    let mut turns = entries.iter().flat_map(|entry| &entry.facts).filter_map(|fact| match fact {
        Event::TurnStarted { prompt, .. } => Some(prompt.as_str()),
        _ => None,
    });
    assert_eq!(turns.next_back(), Some("and hurry"));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_agent_cannot_be_resumed_fails_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (place, _told) = with_simple(folder.path());
    let chosen = chosen_by(&place, "agent: { name: simple }");
    let created = place.session("paint it".into(), Aim::Chat, &chosen).unwrap();
    let host = Host::start(&place, &chosen, &SessionKind::Sessions, Arc::new(NoHelpers)).await.unwrap();
    let id = host.sessions().create(created, None).await.unwrap();
    asked(&*host.sessions(), &id).await;
    host.stop().await;

    let host = Host::start(&place, &chosen, &SessionKind::Sessions, Arc::new(NoHelpers)).await.unwrap();
    let sessions = host.sessions();
    sessions.resume(&id).await.unwrap();
    let view = until(&*sessions, &id, |view| view.failure.is_some()).await;
    let reason = "the agent's process ended in the middle of its turn, and simple cannot be resumed";
    assert_eq!((view.status, view.failure.as_deref()), (Status::Failed, Some(reason)));
    host.stop().await;
}
