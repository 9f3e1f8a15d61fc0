//! The calls that wait for a reply, and the replies that wait for their call.

use std::collections::{HashMap, HashSet};

use rapport_core::{CallId, CallReply, Consent};
use serde_json::Map;
use serde_json::value::RawValue;

use crate::agents::claude::wire;

/// All calls of one process.
#[derive(Debug, Default)]
pub(super) struct Calls {
    waiting: HashMap<CallId, Waiting>,
    replies: HashMap<CallId, CallReply>,
    /// Replied to in this process.
    sent: HashSet<CallId>,
    asked: HashSet<CallId>,
    parked: Option<CallId>,
    served: Vec<CallId>,
}

/// A request of the agent that has had no response.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Its name.
    pub(super) request: String,
    /// How it came, and so how it is responded to.
    pub(super) channel: Channel,
    /// The tool's input.
    pub(super) input: Box<RawValue>,
}

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// Through our hook: the CLI can put it away.
    Hook,
    /// As a question for permission. It is put away by ending the process; the agent is told the reply by message then.
    Permission,
    /// As a question of an MCP server: it cannot be put away.
    Server,
}

impl Calls {
    /// Begins with replies whose calls may come again.
    pub(super) fn with_replies(replies: impl IntoIterator<Item = (CallId, CallReply)>) -> Self {
        Self { replies: replies.into_iter().collect(), ..Self::default() }
    }

    /// Whether the agent waits for somebody.
    pub(super) fn anyone_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether this call waits for somebody.
    pub(super) fn is_waiting(&self, call: &CallId) -> bool {
        self.waiting.contains_key(call)
    }

    /// Whether the call was asked in this process.
    pub(super) fn was_asked(&self, call: &CallId) -> bool {
        self.asked.contains(call)
    }

    /// Whether the call got its reply in this process.
    pub(super) fn was_replied(&self, call: &CallId) -> bool {
        self.sent.contains(call)
    }

    /// The reply to this call, if it is known.
    pub(super) fn reply_to(&self, call: &CallId) -> Option<&CallReply> {
        self.replies.get(call)
    }

    /// The call that was put away last.
    pub(super) fn parked(&self) -> Option<&CallId> {
        self.parked.as_ref()
    }

    /// A call waits from now on. If its reply is known already, this is the response.
    pub(super) fn wait(&mut self, call: CallId, waiting: Waiting) -> Option<String> {
        self.asked.insert(call.clone());
        self.waiting.insert(call.clone(), waiting);
        self.respond(&call)
    }

    /// A reply is known. If its call waits, this is the response.
    pub(super) fn reply(&mut self, call: CallId, reply: CallReply) -> Option<String> {
        if self.sent.contains(&call) {
            return None;
        }
        self.replies.insert(call.clone(), reply);
        self.respond(&call)
    }

    /// How this call waits, if it does.
    pub(super) fn channel(&self, call: &CallId) -> Option<Channel> {
        self.waiting.get(call).map(|waiting| waiting.channel)
    }

    /// The call is put away: from now on no reply goes to it. If it came through our hook, this is the response.
    pub(super) fn park(&mut self, call: &CallId) -> Option<String> {
        let waiting = self.waiting.remove(call)?;
        self.parked = Some(call.clone());
        (waiting.channel == Channel::Hook).then(|| wire::hook_defer(&waiting.request))
    }

    /// The agent took a request back. This is the call it was about, if that still waited.
    pub(super) fn cancel(&mut self, request: &str) -> Option<CallId> {
        let call = self.waiting.iter().find(|(_, waiting)| waiting.request == request)?.0.clone();
        self.waiting.remove(&call);
        Some(call)
    }

    /// A tool gave something back. Tells whether anybody had to do with that call.
    pub(super) fn settle(&mut self, call: &CallId) -> bool {
        self.waiting.remove(call);
        self.asked.contains(call) || self.replies.contains_key(call)
    }

    /// The calls of MCP servers that were replied to since this was last asked. They have no result of their own.
    pub(super) fn served(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.served)
    }

    fn respond(&mut self, call: &CallId) -> Option<String> {
        let reply = self.replies.get(call)?;
        let waiting = self.waiting.remove(call)?;
        self.sent.insert(call.clone());
        if waiting.channel == Channel::Server {
            self.served.push(call.clone());
        }
        Some(waiting.response(reply))
    }
}

impl Waiting {
    fn response(&self, reply: &CallReply) -> String {
        match reply {
            CallReply::Elicited { action, content, .. } => {
                wire::elicitation_reply(&self.request, *action, content)
            }
            // Nobody decided: the question was closed, or withdrawn.
            _ if self.channel == Channel::Server => {
                wire::elicitation_reply(&self.request, Consent::Cancel, &Map::new())
            }
            CallReply::Answers(told) => self.allow(&wire::with_answers(&self.input, told)),
            CallReply::Allow { .. } => self.allow(&self.input),
            CallReply::Deny { message, .. } => match self.channel {
                Channel::Hook => wire::hook_deny(&self.request, message),
                Channel::Permission | Channel::Server => wire::deny(&self.request, message),
            },
        }
    }

    fn allow(&self, input: &RawValue) -> String {
        match self.channel {
            Channel::Hook => wire::hook_allow(&self.request, input),
            Channel::Permission | Channel::Server => wire::allow(&self.request, input),
        }
    }
}
