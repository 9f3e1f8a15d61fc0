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
    sent: HashSet<CallId>,
    asked: HashSet<CallId>,
    parked: Option<CallId>,
    served: Vec<CallId>,
}

/// A request of the agent that has no response yet.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) request: String,
    /// How the request came, which determines the form of the response.
    pub(super) channel: RequestChannel,
    /// The tool's input.
    pub(super) input: Box<RawValue>,
}

/// The ways in which a request can come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestChannel {
    /// Through Rapport's hook: the CLI can defer it.
    Hook,
    /// As a permission request. It is parked by ending the process; the agent is then told the reply by message.
    Permission,
    /// From an MCP server: it cannot be parked.
    Server,
}

impl Calls {
    /// Starts with replies whose calls may come again.
    pub(super) fn with_replies(replies: impl IntoIterator<Item = (CallId, CallReply)>) -> Self {
        Self { replies: replies.into_iter().collect(), ..Self::default() }
    }

    /// Whether any call waits for a person.
    pub(super) fn anyone_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether this call waits for a person.
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

    /// The call that was parked last.
    pub(super) fn parked(&self) -> Option<&CallId> {
        self.parked.as_ref()
    }

    /// Registers a waiting call. Returns the response if its reply is known already.
    pub(super) fn wait(&mut self, call: CallId, waiting: Waiting) -> Option<String> {
        self.asked.insert(call.clone());
        self.waiting.insert(call.clone(), waiting);
        self.respond(&call)
    }

    /// Registers a reply. Returns the response if its call waits.
    pub(super) fn reply(&mut self, call: CallId, reply: CallReply) -> Option<String> {
        if self.sent.contains(&call) {
            return None;
        }
        self.replies.insert(call.clone(), reply);
        self.respond(&call)
    }

    /// How this call came, if it waits.
    pub(super) fn channel(&self, call: &CallId) -> Option<RequestChannel> {
        self.waiting.get(call).map(|waiting| waiting.channel)
    }

    /// Parks the call: no reply is sent to it from now on. Returns the response that defers it, if it came through
    /// Rapport's hook.
    pub(super) fn park(&mut self, call: &CallId) -> Option<String> {
        let waiting = self.waiting.remove(call)?;
        self.parked = Some(call.clone());
        (waiting.channel == RequestChannel::Hook).then(|| wire::hook_defer(&waiting.request))
    }

    /// The agent withdrew a request. Returns its call, if that still waited.
    pub(super) fn cancel(&mut self, request: &str) -> Option<CallId> {
        let call = self.waiting.iter().find(|(_, waiting)| waiting.request == request)?.0.clone();
        self.waiting.remove(&call);
        Some(call)
    }

    /// A tool returned its result. Returns whether its call was asked about.
    pub(super) fn settle(&mut self, call: &CallId) -> bool {
        self.waiting.remove(call);
        self.asked.contains(call) || self.replies.contains_key(call)
    }

    /// The calls of MCP servers that were replied to since the last call. They have no result of their own.
    pub(super) fn served(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.served)
    }

    fn respond(&mut self, call: &CallId) -> Option<String> {
        let reply = self.replies.get(call)?;
        let waiting = self.waiting.remove(call)?;
        self.sent.insert(call.clone());
        if waiting.channel == RequestChannel::Server {
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
            // No person decided: the question was closed or withdrawn.
            _ if self.channel == RequestChannel::Server => {
                wire::elicitation_reply(&self.request, Consent::Cancel, &Map::new())
            }
            CallReply::Answers(answers) => self.allow(&wire::with_answers(&self.input, answers)),
            CallReply::Allow { .. } => self.allow(&self.input),
            CallReply::Deny { message, .. } => match self.channel {
                RequestChannel::Hook => wire::hook_deny(&self.request, message),
                RequestChannel::Permission | RequestChannel::Server => wire::deny(&self.request, message),
            },
        }
    }

    fn allow(&self, input: &RawValue) -> String {
        match self.channel {
            RequestChannel::Hook => wire::hook_allow(&self.request, input),
            RequestChannel::Permission | RequestChannel::Server => wire::allow(&self.request, input),
        }
    }
}
