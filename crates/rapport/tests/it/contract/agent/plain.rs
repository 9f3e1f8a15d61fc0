//! An agent that does as little as the trait allows: a starting point for a new one.

use std::sync::{Arc, Mutex};

use rapport::agents::rehearsal::scenario::{Ask as Round, Call, Scenario, Step};
use rapport::agents::{Abilities, Agent, AgentContext, AgentReport, Command, Controls, Report, RunId};
use rapport_core::{AgentDid, Ask, CallId, CallReply, Choice, Leave, NewQuestion, Order, ToolUse, Usage};
use serde_json::Value;
use tokio::sync::mpsc;

/// An agent without a process that plays a scenario. It has no tools: its work continues until it is stopped.
#[derive(Clone)]
pub(super) struct PlainAgent {
    scenario: Arc<Scenario>,
    told: Arc<Mutex<Vec<(CallId, CallReply)>>>,
}

impl PlainAgent {
    /// One that plays this.
    pub(super) fn playing(scenario: Scenario) -> Self {
        Self { scenario: Arc::new(scenario), told: Arc::default() }
    }

    /// The reply that this call got.
    pub(super) fn told(&self, call: &str) -> Option<CallReply> {
        let told = self.told.lock().unwrap();
        told.iter().find(|(told, _)| told.as_str() == call).map(|(_, reply)| reply.clone())
    }
}

impl Agent for PlainAgent {
    fn start(&self, run: RunId, order: Order, _: AgentContext, reports: mpsc::Sender<Report>) -> Controls {
        let (commands, received) = mpsc::unbounded_channel();
        let play = Play { agent: self.clone(), run, reports, commands: received, responses: 0 };
        tokio::spawn(play.run_all(order));
        Controls { commands }
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
}

struct Play {
    agent: PlainAgent,
    run: RunId,
    reports: mpsc::Sender<Report>,
    commands: mpsc::UnboundedReceiver<Command>,
    responses: u64,
}

/// It was told to stop, or the engine is gone.
struct Stopped;

impl Play {
    async fn run_all(mut self, order: Order) {
        let conversation = order.conversation.clone();
        self.did(AgentDid::Connect { conversation, model: Some("none".into()) }).await;
        let played = self.play().await.ok();
        let leave = played.map_or(Leave::Stopped, |result| Leave::Finished { result });
        let mut usage = Usage::default();
        let each = Usage { input: 1000, output: 50, cost_micros: 5_000, ..Usage::default() };
        (0..self.responses).for_each(|_| usage += each);
        self.did(AgentDid::Spend { usage }).await;
        self.did(AgentDid::Leave(leave)).await;
    }

    async fn play(&mut self) -> Result<String, Stopped> {
        let scenario = self.agent.scenario.clone();
        let mut said = String::new();
        for (place, step) in scenario.invocations[0].steps.iter().enumerate() {
            if let Step::Text(text) = step {
                said.clone_from(text);
                self.did(AgentDid::Say { text: text.clone() }).await;
                continue;
            }
            self.responses += 1;
            let mut waiting = Vec::new();
            let calls = step.calls().unwrap();
            for (letter, call) in ('a'..).zip(&calls) {
                let letter = if calls.len() > 1 { letter.to_string() } else { String::new() };
                let id = CallId::new(format!("toolu_01{:02}{letter}", place + 1));
                waiting.extend(self.call(id, call).await);
            }
            self.until_told(waiting).await?;
        }
        self.responses += 1;
        Ok(said)
    }

    /// Makes a call, and returns it if it waits for a person.
    async fn call(&mut self, id: CallId, call: &Call) -> Option<CallId> {
        let Call::Ask(round) = call else {
            self.did(AgentDid::Use { tool: "work".into(), what: String::new(), kind: ToolUse::Other }).await;
            return Some(id);
        };
        let ask = Ask::Questions(drafts(round));
        self.did(AgentDid::Ask { call: id.clone(), ask, parkable: false }).await;
        Some(id)
    }

    /// Waits for the replies to these calls.
    async fn until_told(&mut self, mut waiting: Vec<CallId>) -> Result<(), Stopped> {
        while !waiting.is_empty() {
            let command = tokio::select! {
                command = self.commands.recv() => command,
                () = self.reports.closed() => None,
            };
            match command {
                Some(Command::Reply { call, reply }) if waiting.contains(&call) => {
                    waiting.retain(|waits| *waits != call);
                    self.agent.told.lock().unwrap().push((call.clone(), reply));
                    self.did(AgentDid::Take { call }).await;
                }
                // It does not listen, and cannot be parked.
                Some(
                    Command::Reply { .. } | Command::Park { .. } | Command::Say(_) | Command::Next { .. },
                ) => {}
                Some(Command::Stop | Command::Kill) | None => return Err(Stopped),
            }
        }
        Ok(())
    }

    async fn did(&self, did: AgentDid) {
        // If the receiver has ended, nobody needs the report.
        let _ = self.reports.send(Report { run: self.run, what: AgentReport::Did(did) }).await;
    }
}

fn drafts(round: &Round) -> Vec<NewQuestion> {
    let questions = serde_json::to_value(&round.questions).unwrap();
    let draft = |question: &Value| {
        let options = question["options"].as_array().into_iter().flatten();
        NewQuestion {
            text: question["question"].as_str().unwrap().to_owned(),
            header: question["header"].as_str().map(str::to_owned),
            options: options.map(|option| Choice::plain(option["label"].as_str().unwrap())).collect(),
            multi: question["multiSelect"] == true,
            free_text: true,
            field: None,
        }
    };
    questions.as_array().unwrap().iter().map(draft).collect()
}
