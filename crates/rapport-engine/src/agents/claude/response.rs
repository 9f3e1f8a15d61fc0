//! The agent's output for one message, collected line by line: its conversation, text, usage, and the questions
//! without an answer. CLIs without the live channel ask only in this way.

use rapport_core::{CallId, NewQuestion, Usage};

use super::spending::{self, Author, Spending};
use super::wire::{self, Line, Message, WireKind};

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

/// A call of the question tool, with its questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    pub call: CallId,
    pub questions: Vec<NewQuestion>,
}

impl Response {
    /// Applies a parsed line.
    pub fn process(&mut self, line: &Line<'_>) {
        match line.kind() {
            WireKind::Init => {
                // If there are several, the first is the requested conversation.
                let id = Some(&*line.session_id).filter(|id| !id.is_empty());
                self.session = self.session.take().or_else(|| id.map(str::to_owned));
            }
            WireKind::Assistant => self.assistant(line),
            WireKind::Result => {
                let denials = line.permission_denials.iter().filter_map(|denial| denial.as_ref());
                let denials = denials.filter(|denial| &*denial.tool_name == wire::ASK);
                let asking = denials.map(|denial| Asking::new(&denial.tool_use_id, denial.tool_input));
                add(&mut self.denied, asking);
                self.total = Some(spending::of_result(line, 0)).filter(|usage| *usage != Usage::default());
            }
            WireKind::User | WireKind::Request | WireKind::Cancel | WireKind::Retry | WireKind::Denied => {}
            WireKind::RateLimit
            | WireKind::Background
            | WireKind::TaskStarted
            | WireKind::TaskUpdated
            | WireKind::TaskEnded => {}
            WireKind::Stream if line.parent_tool_use_id.is_empty() => {
                let tokens = line.event.as_ref().and_then(|event| event.usage.as_ref());
                tokens.into_iter().for_each(|tokens| self.spending.complete(tokens));
            }
            WireKind::Stream | WireKind::Receipt | WireKind::Other => {}
        }
    }

    fn assistant(&mut self, line: &Line<'_>) {
        let Some(message) = line.message.as_ref() else { return };
        let author = if line.parent_tool_use_id.is_empty() { Author::Agent } else { Author::SubAgent };
        self.spending.note(message, author);
        if author == Author::Agent {
            self.texts.extend(message.texts().map(str::to_owned));
        }
        add(&mut self.called, calls(message));
    }

    pub fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The calls that were refused.
    pub fn denied(&self) -> &[Asking] {
        &self.denied
    }

    /// The calls that asked something, each once. For a refused call, the refusal's version takes precedence.
    pub fn asked(&self) -> Vec<&Asking> {
        let is_denied = |asking: &Asking| self.denied.iter().any(|denied| denied.call == asking.call);
        self.denied.iter().chain(self.called.iter().filter(|asking| !is_denied(asking))).collect()
    }

    /// All questions, in order.
    pub fn questions(&self) -> Vec<&NewQuestion> {
        self.asked().into_iter().flat_map(|asking| &asking.questions).collect()
    }

    /// All texts, separated, so that none merges with the first line of the next.
    pub fn text(&self) -> String {
        self.texts.join("\n")
    }

    /// The usage: the total that the agent reported, else the sum over its messages.
    pub fn usage(&self) -> Usage {
        self.total.unwrap_or_else(|| self.spending.so_far())
    }

    /// The estimated cost of its messages so far, in millionths of a dollar.
    pub(super) fn cost_so_far(&self) -> u64 {
        self.spending.cost()
    }

    /// The usage of its messages so far.
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

/// Adds calls that ask something, without duplicates.
fn add(to: &mut Vec<Asking>, more: impl Iterator<Item = Asking>) {
    for asking in more.filter(|asking| !asking.questions.is_empty()) {
        if !to.iter().any(|known| known.call == asking.call) {
            to.push(asking);
        }
    }
}
