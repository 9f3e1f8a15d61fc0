//! What an agent printed in answer to one message, gathered line by line: its conversation, its words, what it used, and
//! the questions that nobody has heard yet. CLIs without the live channel ask in no other way.

use rapport_core::{CallId, Draft, Usage};

use super::spending::{self, Spending};
use super::wire::{self, Kind, Line, Message};

/// One response, as far as it was read.
#[derive(Debug, Default)]
pub struct Response {
    session: Option<String>,
    texts: Vec<String>,
    called: Vec<Asking>,
    denied: Vec<Asking>,
    spending: Spending,
    total: Option<Usage>,
}

/// A call of the question tool, with what it asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Which call.
    pub call: CallId,
    /// What it asks.
    pub questions: Vec<Draft>,
}

impl Response {
    /// Takes a line in. What is not of the protocol is passed over.
    pub fn process_line(&mut self, text: &str) {
        if let Ok(line) = wire::parse(text) {
            self.process(&line);
        }
    }

    /// Takes a line in that was read already.
    pub fn process(&mut self, line: &Line<'_>) {
        match line.kind() {
            Kind::Init => {
                // Where there are several, the first is the conversation that was asked for.
                let id = Some(&*line.session_id).filter(|id| !id.is_empty());
                self.session = self.session.take().or_else(|| id.map(str::to_owned));
            }
            Kind::Assistant => self.assistant(line),
            Kind::Result => {
                let denials = line.permission_denials.iter().filter_map(|denial| denial.as_ref());
                let denials = denials.filter(|denial| &*denial.tool_name == wire::ASK);
                let asking = denials.map(|denial| Asking::new(&denial.tool_use_id, denial.tool_input));
                add(&mut self.denied, asking);
                self.total = Some(spending::of_result(line)).filter(|usage| *usage != Usage::default());
            }
            Kind::User | Kind::Request | Kind::Cancel | Kind::Retry | Kind::Denied => {}
            Kind::RateLimit | Kind::Background | Kind::TaskStarted | Kind::TaskUpdated | Kind::TaskEnded => {}
            Kind::Stream | Kind::Receipt | Kind::Other => {}
        }
    }

    fn assistant(&mut self, line: &Line<'_>) {
        let Some(message) = line.message.as_ref() else { return };
        self.spending.note(message);
        if line.parent_tool_use_id.is_empty() {
            self.texts.extend(message.texts().map(str::to_owned));
        }
        add(&mut self.called, calls(message));
    }

    /// The conversation.
    pub fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The calls that were refused.
    pub fn denied(&self) -> &[Asking] {
        &self.denied
    }

    /// The calls that asked something, each once. What is told about a refused one is what counts.
    pub fn asked(&self) -> Vec<&Asking> {
        let is_denied = |asking: &Asking| self.denied.iter().any(|denied| denied.call == asking.call);
        self.denied.iter().chain(self.called.iter().filter(|asking| !is_denied(asking))).collect()
    }

    /// Whether anything was asked.
    pub fn has_questions(&self) -> bool {
        !self.asked().is_empty()
    }

    /// All questions, in order.
    pub fn questions(&self) -> Vec<&Draft> {
        self.asked().into_iter().flat_map(|asking| &asking.questions).collect()
    }

    /// All that was said. Texts stay apart, so that none swallows the first line of the next.
    pub fn text(&self) -> String {
        self.texts.join("\n")
    }

    /// What it took: the sum that the agent told, else the sum over its messages.
    pub fn usage(&self) -> Usage {
        self.total.unwrap_or_else(|| self.spending.so_far())
    }

    /// What its messages took so far.
    pub(super) fn spent_so_far(&self) -> Usage {
        self.spending.so_far()
    }
}

impl Asking {
    fn new(call: &str, input: Option<&serde_json::value::RawValue>) -> Self {
        Self { call: CallId::new(call), questions: wire::drafts(input) }
    }
}

fn calls(message: &Message<'_>) -> impl Iterator<Item = Asking> {
    let calls = message.blocks().filter(|block| block.is_tool_use() && &*block.name == wire::ASK);
    calls.map(|block| Asking::new(&block.id, block.input))
}

/// Adds calls that ask something and are not there yet.
fn add(to: &mut Vec<Asking>, more: impl Iterator<Item = Asking>) {
    for asking in more.filter(|asking| !asking.questions.is_empty()) {
        if !to.iter().any(|known| known.call == asking.call) {
            to.push(asking);
        }
    }
}
