//! An agent under its driver, as the engine sees it: through its reports.

use std::path::PathBuf;
use std::time::Duration;

use rapport::agents::claude::{Claude, ClaudeConfig};
use rapport::agents::{Agent, AgentReport, Command, Controls, Report, RunId};
use rapport_core::{
    AgentDid, AnsweredQuestion, Ask, By, CallId, CallReply, ConversationId, Leave, Order, Progress,
    SentMessage, TurnId, TurnKind,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Long enough for a busy machine, short enough to notice.
const PATIENCE: Duration = Duration::from_secs(30);
/// The conversation of [`order`].
pub(crate) const CONVERSATION: &str = "11111111-2222-4333-8444-555555555555";

/// A started agent.
pub(crate) struct Driven {
    controls: Controls,
    reports: mpsc::Receiver<Report>,
    /// What was there to be glanced at so far.
    pub(crate) glances: Vec<Progress>,
    /// Events it printed that are not known here.
    pub(crate) notes: Vec<String>,
}

impl Driven {
    pub(crate) fn start(config: ClaudeConfig, order: Order, directory: PathBuf) -> Self {
        Self::with(&Claude::new(config), order, directory)
    }

    /// Starts any agent.
    pub(crate) fn with(agent: &dyn Agent, order: Order, directory: PathBuf) -> Self {
        let (sender, reports) = mpsc::channel(1);
        let controls = agent.start(RunId(7), order, directory.into(), sender);
        Self { controls, reports, glances: Vec::new(), notes: Vec::new() }
    }

    /// The next thing it did.
    pub(crate) async fn did(&mut self) -> Option<AgentDid> {
        loop {
            let report = timeout(PATIENCE, self.reports.recv()).await.expect("something in time")?;
            assert_eq!(report.run, RunId(7));
            match report.what {
                // What a newer CLI tells beside the story; see `notes`.
                AgentReport::Did(AgentDid::Note { line }) => self.notes.push(line),
                AgentReport::Did(did) => return Some(did),
                AgentReport::Progress(progress) => self.glances.push(progress),
                AgentReport::Cost(_) => {}
            }
        }
    }

    /// Waits for the next question; returns the call, and whether it can be parked.
    pub(crate) async fn asked(&mut self) -> (CallId, Ask, bool) {
        loop {
            match self.did().await {
                Some(AgentDid::Ask { call, ask, parkable }) => return (call, ask, parkable),
                Some(AgentDid::Leave(leave)) => panic!("it left without a question: {leave:?}"),
                Some(_) => {}
                None => panic!("a question was expected"),
            }
        }
    }

    /// The result of the turn that is going on; its process stays.
    pub(crate) async fn until_finished(&mut self) -> String {
        loop {
            match self.did().await {
                Some(AgentDid::Finish { result }) => return result,
                Some(AgentDid::Leave(leave)) => panic!("it left: {leave:?}"),
                Some(_) => {}
                None => panic!("the end of a turn was expected"),
            }
        }
    }

    /// Everything it does until it is gone: exactly one leave, as the last thing.
    pub(crate) async fn rest(&mut self) -> (Vec<AgentDid>, Leave) {
        let mut all = Vec::new();
        while let Some(did) = self.did().await {
            all.push(did);
        }
        let Some(AgentDid::Leave(leave)) = all.pop() else { panic!("no leave at the end: {all:#?}") };
        assert!(!all.iter().any(|did| matches!(did, AgentDid::Leave(_))));
        (all, leave)
    }

    /// How it leaves.
    pub(crate) async fn leave(&mut self) -> Leave {
        self.rest().await.1
    }

    pub(crate) fn send(&self, command: Command) {
        self.controls.commands.send(command).unwrap();
    }

    pub(crate) fn reply(&self, call: &str, reply: CallReply) {
        self.send(Command::Reply { call: CallId::new(call), reply });
    }
}

/// A piece of work.
pub(crate) fn order() -> Order {
    Order {
        turn: TurnId(1),
        kind: TurnKind::Work,
        conversation: ConversationId::new(CONVERSATION),
        prompt: "add auth".into(),
        sent_before: 0,
        system: None,
        folder: None,
        tools: false,
        linger: None,
        replies: Vec::new(),
        messages: Vec::new(),
    }
}

/// Something said in the middle of the turn of [`order`].
pub(crate) fn said(number: u32, text: &str) -> SentMessage {
    SentMessage { turn: TurnId(1), number, text: text.into() }
}

/// The answers of a person at the terminal.
pub(crate) fn answers(pairs: &[(&str, &str)]) -> CallReply {
    let by = || By::Person { channel: "terminal".into(), id: "dev".into() };
    let told = |(question, answer): &(&str, &str)| AnsweredQuestion {
        question: (*question).into(),
        answer: (*answer).into(),
        by: by(),
        because: None,
    };
    CallReply::Answers(pairs.iter().map(told).collect())
}

/// The words of a failure.
pub(crate) fn failure(leave: Leave) -> String {
    match leave {
        Leave::Failed { reason } | Leave::NotStarted { reason } => reason,
        other => panic!("not a failure: {other:?}"),
    }
}
