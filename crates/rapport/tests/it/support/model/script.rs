//! The script of the model: its responses in order, and the faults on the way.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::messages;

#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    lines: Vec<Line>,
    rounds: VecDeque<Response>,
    beginnings: VecDeque<Response>,
    apart: Vec<(String, Script)>,
}

#[derive(Clone, Debug, Default)]
struct Line {
    faults: VecDeque<Fault>,
    response: Response,
}

/// What the model says at once: words, and the tools it uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Response {
    pub(super) blocks: Vec<Value>,
    pub(super) usage: Tokens,
}

/// What a response takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
}

/// What goes wrong instead of a response; the same request may come again.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is refused.
    Refuse {
        /// With this status,
        status: u16,
        /// these headers
        headers: Vec<(&'static str, &'static str)>,
        /// and this body.
        body: String,
    },
    /// The stream breaks off after this many events.
    CutAfter(usize),
    /// Nothing comes, ever.
    Stall,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { input: 1000, output: 50 }
    }
}

impl Response {
    /// And says this.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.blocks.push(json!({"type": "text", "text": text}));
        self
    }

    /// And uses a tool.
    pub(crate) fn tool(mut self, id: &str, name: &str, input: Value) -> Self {
        self.blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        self
    }

    /// The same calls with other ids: a call that was cut off is made again when a person has decided about it.
    fn again(&self, time: usize) -> Self {
        let mut again = self.clone();
        let calls = again.blocks.iter_mut().filter(|block| block["type"] == "tool_use");
        calls.for_each(|call| call["id"] = format!("{}_again{time}", key(call)).into());
        again
    }

    pub(super) fn uses_tools(&self) -> bool {
        self.blocks.iter().any(|block| block["type"] == "tool_use")
    }
}

impl Fault {
    /// A refusal as the API words it.
    pub(crate) fn refusal(status: u16, kind: &str, message: &str) -> Self {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}}).to_string();
        Fault::Refuse { status, headers: Vec::new(), body }
    }

    /// The same with a header.
    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        if let Fault::Refuse { headers, .. } = &mut self {
            headers.push((name, value));
        }
        self
    }
}

impl Script {
    /// And then it says this.
    pub(crate) fn say(mut self, response: Response) -> Self {
        self.lines.push(Line { faults: VecDeque::new(), response });
        self
    }

    /// And begins another conversation with this; each that begins takes the next.
    pub(crate) fn begin(mut self, response: Response) -> Self {
        self.beginnings.push_back(response);
        self
    }

    /// And plays another script in conversations in which these words were said.
    pub(crate) fn apart(mut self, words: &str, script: Script) -> Self {
        self.apart.push((words.to_owned(), script));
        self
    }

    /// And replies with this to a request that wants JSON; each such request stands alone and takes the next.
    pub(crate) fn reply(mut self, reply: &Value) -> Self {
        self.rounds.push_back(Response::default().text(&reply.to_string()));
        self
    }

    /// What comes next for a request that wants JSON, if that was said.
    pub(super) fn next_reply(&mut self, request: &Value) -> Option<Response> {
        let wants_json = request["output_config"]["format"]["type"] == "json_schema";
        self.rounds.pop_front_if(|_| wants_json)
    }

    /// But before it can say what it said last, this goes wrong.
    pub(crate) fn after(mut self, fault: Fault) -> Self {
        if let Some(line) = self.lines.last_mut() {
            line.faults.push_back(fault);
        }
        self
    }

    /// What comes next in a conversation: what it does not hold yet.
    pub(super) fn next(&mut self, request: &Value) -> (Response, Option<Fault>) {
        let told = messages::told(request);
        let is_said = |words: &str| told.iter().any(|text| text.contains(words));
        if let Some((_, script)) = self.apart.iter_mut().find(|(words, _)| is_said(words)) {
            return script.next(request);
        }
        let held = messages::said(request);
        if held.is_empty()
            && let Some(response) = self.beginnings.pop_front()
        {
            return (response, None);
        }
        let mut at = 0;
        for message in held {
            let is_next =
                |line: &Line| line.response.blocks.iter().any(|block| message.contains(&key(block)));
            if self.lines.get(at).is_some_and(is_next) {
                at += 1;
            }
        }
        if let Some(cut_off) = self.lines[..at].last().filter(|_| messages::is_told_a_decision(request)) {
            return (cut_off.response.again(messages::said(request).concat().len()), None);
        }
        match self.lines.get_mut(at) {
            Some(line) => (line.response.clone(), line.faults.pop_front()),
            None => (Response::default().text("(the script is over)"), None),
        }
    }
}

/// What a piece of a message is known by.
pub(super) fn key(block: &Value) -> String {
    block["id"].as_str().or(block["text"].as_str()).unwrap_or_default().to_owned()
}
