//! The protocol with one process: lines in, reports and lines out. Nothing here waits, reads or writes.

use std::collections::{HashMap, VecDeque};

use rapport_core::{
    Activity, AgentDid, Ask, Beside, CallId, CallReply, ConversationId, Leave, Progress, SentMessage,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{Calls, RequestChannel, Waiting};
use super::flight::Flight;
use super::opening::{ConversationStart, answers_message};
use super::{permission, words};
use crate::agents::AgentReport;
use crate::agents::claude::response::{Asking, Response};
use crate::agents::claude::wire::{self, Block, ControlRequest, Line, Message, WireKind};
use crate::agents::claude::{message_ids, spending};

/// The reply to two questions with the same text. No person is asked: answers are keyed by the questions' texts, so
/// one of the two would be lost. The current CLI refuses such a call itself.
const EQUAL_TEXTS: &str =
    "Two questions in this call have the same text, so nobody was asked. Ask again with texts that differ.";

/// The failure if the model's reply was cut off. A partial reply is neither a plan nor a result.
const CUT_OFF: &str = "the reply of the model was cut off";

/// The maximum number of lines of one kind to keep per process, so that a program that prints nothing else does not
/// fill the disk.
const MOST_KEPT: usize = 200;

/// Stands for the lines after that.
const NOT_KEPT: &str = "(more such lines are not kept)";

/// The state of the talk, and its pending output.
#[derive(Debug, Default)]
pub(super) struct Talk {
    pub(super) reports: VecDeque<AgentReport>,
    pub(super) lines: VecDeque<String>,
    calls: Calls,
    /// Replies told by message, which have arrived once the agent prints its first output.
    arriving: Vec<CallId>,
    /// Plans by the call that proposes them: the request itself may lack the plan.
    plans: HashMap<String, String>,
    /// Messages of the turn that are on the command line.
    printed_messages: Vec<u32>,
    /// Messages that were sent while the agent works, and that it has not read yet.
    unread: Vec<Unread>,
    /// Messages to send once the deferred call was repeated.
    held: Vec<SentMessage>,
    /// Whether the agent has not reacted to its first message yet. A conversation that was cut off during a
    /// background task begins with a turn about that, in which the model says nothing.
    is_unopened: bool,
    flight: Flight,
    /// A call to park as soon as it waits alone.
    to_park: Option<CallId>,
    /// The last reported reason why that call cannot be parked.
    kept_by: Option<Beside>,
    repeated: RepeatedCall,
    /// Lines outside of the protocol.
    babble: LineCount,
    /// Events of unknown kinds, and rate limits.
    notes: LineCount,
    /// Failed requests to the model.
    retries: LineCount,
    /// Calls that the CLI refused by itself.
    denials: LineCount,
    /// The conversation that the agent reported.
    conversation: Option<ConversationId>,
    /// The agent's output since the last result.
    response: Response,
    /// The total cost that this process reported with its last result, in millionths of a dollar.
    total_cost: u64,
    /// Whether no person can be asked while the agent runs, so that its questions are asked at the end.
    printed: bool,
    stay: Stay,
    /// Whether the turn is over and the process waits for the next one.
    resting: bool,
}

/// The number of lines of one kind that the process has printed.
#[derive(Debug, Default)]
struct LineCount(usize);

impl LineCount {
    /// Counts a line. Returns what to keep of it, if anything.
    fn keep(&mut self, line: impl FnOnce() -> String) -> Option<String> {
        self.0 += 1;
        match self.0 {
            ..=MOST_KEPT => Some(line()),
            count => (count == MOST_KEPT + 1).then(|| NOT_KEPT.into()),
        }
    }
}

/// A message that the agent has not read yet.
#[derive(Debug)]
struct Unread {
    name: String,
    /// The number of the message in the turn, if a person sent it.
    message: Option<u32>,
}

/// A call that an earlier process parked and that this one repeats. Its result is valid once the transcript contains
/// it on the live branch: the CLI can take the answer and then continue on another branch.
#[derive(Debug, Default)]
enum RepeatedCall {
    #[default]
    None,
    /// The first call will be this one.
    Expected,
    Asked(CallId),
    /// The CLI printed the result of the call. The turn may have ended since.
    Unproven(CallId, Option<Leave>),
    /// The result was lost, and is told by the message of this name.
    Retold(CallId, String),
}

/// What happens to the process when a turn is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stay {
    #[default]
    Leaves,
    /// The process stays, in case there is another turn.
    Lingers,
}

impl Talk {
    /// Starts a talk with its first lines, and with replies whose calls may be repeated.
    pub(super) fn live(
        start: ConversationStart,
        replies: impl IntoIterator<Item = (CallId, CallReply)>,
        stay: Stay,
    ) -> Self {
        let message = start.message.as_deref().map(wire::user_message);
        let mut talk = Self {
            repeated: if start.repeats_call { RepeatedCall::Expected } else { RepeatedCall::None },
            is_unopened: !start.repeats_call,
            lines: [wire::initialize()].into_iter().chain(message).collect(),
            calls: Calls::with_replies(replies),
            arriving: start.arriving,
            stay,
            ..Self::default()
        };
        start.unsent.into_iter().for_each(|message| talk.say(message));
        talk
    }

    /// A talk whose input is on the command line, including these messages of the turn.
    pub(super) fn printed(arriving: Vec<CallId>, printed_messages: Vec<u32>) -> Self {
        Self { arriving, printed_messages, printed: true, ..Self::default() }
    }

    /// The conversation contains this message of the turn.
    pub(super) fn has_read(&mut self, message: u32) {
        self.did(AgentDid::Read { message });
    }

    /// Whether the agent has unread messages.
    pub(super) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Whether any call waits for a person.
    pub(super) fn anyone_waits(&self) -> bool {
        self.calls.anyone_waits()
    }

    /// Handles a reply to a call.
    pub(super) fn reply(&mut self, call: CallId, reply: CallReply) {
        self.lines.extend(self.calls.reply(call, reply));
    }

    /// Sends a message to the agent, if it listens. A message before the repetition of a deferred call would make the
    /// agent continue without that call.
    pub(super) fn say(&mut self, message: SentMessage) {
        if self.printed {
            return;
        }
        if matches!(self.repeated, RepeatedCall::Expected) {
            self.held.push(message);
            return;
        }
        self.say_by_name(&message.text, message_ids::name(&message), Some(message.number));
    }

    fn say_by_name(&mut self, text: &str, name: String, message: Option<u32>) {
        self.lines.push_back(wire::named_message(text, &name));
        self.unread.push(Unread { name, message });
    }

    pub(super) fn next(&mut self, prompt: &str) {
        self.resting = false;
        // With a name: so this turn differs from one that the agent begins by itself when a background command ends.
        if !self.printed {
            self.say_by_name(prompt, new_name(), None);
        }
    }

    /// Whether the turn is over and the process waits for the next one.
    pub(super) fn is_resting(&self) -> bool {
        self.resting
    }

    /// Parks a call, now or as soon as it waits alone.
    pub(super) fn park(&mut self, call: &CallId) {
        if self.calls.is_waiting(call) {
            self.to_park = Some(call.clone());
            self.kept_by = None;
            self.park_if_alone();
        }
    }

    /// What is in flight besides this call, if anything.
    pub(super) fn beside(&self, call: &CallId) -> Option<Beside> {
        let unread = (!self.unread.is_empty()).then_some(Beside::Message);
        self.flight.beside(call).or(unread)
    }

    fn park_if_alone(&mut self) {
        let Some(call) = self.to_park.take() else { return };
        if !self.calls.is_waiting(&call) {
            return;
        }
        match self.beside(&call) {
            None if self.calls.channel(&call) == Some(RequestChannel::Hook) => {
                self.lines.extend(self.calls.park(&call));
            }
            None => self.to_park = Some(call),
            Some(beside) => {
                if self.kept_by != Some(beside) {
                    self.kept_by = Some(beside);
                    self.did(AgentDid::StayHot { call: call.clone(), beside });
                }
                self.to_park = Some(call);
            }
        }
    }

    /// The call to park that waits alone and that the CLI itself cannot defer.
    pub(super) fn ends_at(&self) -> Option<&CallId> {
        let call = self.to_park.as_ref()?;
        let is_permission = self.calls.channel(call) == Some(RequestChannel::Permission);
        (is_permission && self.beside(call).is_none()).then_some(call)
    }

    /// Ends the process at this call. No reply is sent to it from now on.
    pub(super) fn end_at(&mut self, call: &CallId) -> Leave {
        self.calls.park(call);
        self.to_park = None;
        Leave::Deferred { call: call.clone() }
    }

    /// Handles a line of the agent. Returns how it leaves, if that was its last line.
    pub(super) fn hear(&mut self, text: &str) -> Option<Leave> {
        let text = &*wire::without_halves(text);
        let Ok(line) = wire::parse(text) else {
            self.babble(text);
            return None;
        };
        self.flight.hear(&line);
        let leave = self.hear_line(text, &line);
        self.park_if_alone();
        leave
    }

    fn hear_line(&mut self, text: &str, line: &Line<'_>) -> Option<Leave> {
        let cost_before = self.response.cost_so_far();
        self.response.process(line);
        let cost_micros = self.response.cost_so_far();
        if cost_micros > cost_before {
            self.reports.push_back(AgentReport::Cost(cost_micros));
        }
        match line.kind() {
            WireKind::Init => self.init(line),
            WireKind::Assistant => self.assistant(line),
            WireKind::User => self.user(line),
            WireKind::Request => self.request(text, line),
            WireKind::Cancel => {
                let withdrawn = self.calls.cancel(&line.request_id);
                self.reports.extend(withdrawn.map(|call| AgentReport::Did(AgentDid::Withdraw { call })));
            }
            WireKind::Retry => {
                let why = words::retry(line);
                self.progress(Activity::Words(why.clone()));
                let kept = self.retries.keep(|| why);
                self.did_some(kept.map(|why| AgentDid::Delay { why }));
            }
            WireKind::Denied => {
                let kept = self.denials.keep(|| words::denied(line));
                self.did_some(kept.map(|why| AgentDid::Delay { why }));
            }
            WireKind::Result => return self.result(line),
            WireKind::RateLimit => {
                if line.is_limited() {
                    self.progress(Activity::words(words::RATE_LIMITED));
                }
                self.note(text);
            }
            WireKind::Other => self.note(text),
            WireKind::Background
            | WireKind::TaskStarted
            | WireKind::TaskUpdated
            | WireKind::TaskEnded
            | WireKind::Stream
            | WireKind::Receipt => {}
        }
        None
    }

    /// Handles a line of an agent that is ending: only its usage counts.
    pub(super) fn hear_out(&mut self, text: &str) {
        if let Ok(line) = wire::parse(&wire::without_halves(text))
            && line.kind() == WireKind::Result
        {
            self.settle(&line);
        }
    }

    /// Handles a host that the workplace refused.
    pub(super) fn miss_host(&mut self, host: String) {
        self.did(AgentDid::MissHost { host });
    }

    /// Handles output that is not part of the protocol.
    pub(super) fn babble(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let kept = self.babble.keep(|| words::babble(text));
        self.did_some(kept.map(|line| AgentDid::Babble { line }));
    }

    fn note(&mut self, text: &str) {
        let kept = self.notes.keep(|| words::note(text));
        self.did_some(kept.map(|line| AgentDid::Note { line }));
    }

    /// The process is gone. If it reported no total, the sum over its messages is the best estimate.
    pub(super) fn end(&mut self) {
        self.spend(self.response.spent_so_far());
    }

    fn init(&mut self, line: &Line<'_>) {
        if self.conversation.is_some() || line.session_id.is_empty() {
            return;
        }
        let conversation = ConversationId::new(&*line.session_id);
        self.conversation = Some(conversation.clone());
        let model = Some(line.model.to_string()).filter(|model| !model.is_empty());
        self.did(AgentDid::Connect { conversation, model });
    }

    fn assistant(&mut self, line: &Line<'_>) {
        let Some(message) = line.message.as_ref() else {
            return;
        };
        self.is_unopened = false;
        for call in std::mem::take(&mut self.arriving) {
            self.did(AgentDid::Take { call });
        }
        for message in std::mem::take(&mut self.printed_messages) {
            self.has_read(message);
        }
        let by_agent_itself = line.parent_tool_use_id.is_empty();
        for text in message.texts().filter(|text| by_agent_itself && !text.trim().is_empty()) {
            self.did(AgentDid::Say { text: text.to_owned() });
            self.progress(Activity::Words(words::glance(text)));
        }
        for block in message.blocks().filter(|block| block.is_tool_use()) {
            self.tool_use(block);
        }
    }

    fn tool_use(&mut self, block: &Block<'_>) {
        match &*block.name {
            wire::ASK => self.progress(Activity::words("asks")),
            wire::EXIT_PLAN_MODE => {
                self.plans.extend(plan_in(block.input).map(|plan| (block.id.to_string(), plan)));
            }
            tool => {
                let what = words::used_on(tool, block.input);
                self.progress(words::use_of(tool, &what));
                self.did(AgentDid::Use { tool: tool.to_owned(), what, kind: words::kind(tool) });
            }
        }
    }

    fn user(&mut self, line: &Line<'_>) {
        if line.is_replay.0 {
            let place = self.unread.iter().position(|unread| *unread.name == *line.uuid);
            if let Some(message) = place.and_then(|place| self.unread.remove(place).message) {
                self.has_read(message);
            }
            self.is_unopened = false;
            self.is_retold(&line.uuid);
        }
        let blocks = line.message.iter().flat_map(Message::blocks);
        for block in blocks.filter(|block| block.is_tool_result()) {
            self.take_served();
            let call = CallId::new(&*block.tool_use_id);
            if self.calls.settle(&call) {
                self.arriving.retain(|arriving| *arriving != call);
                self.take(call);
            }
        }
    }

    /// The tool whose server asked has its result.
    fn take_served(&mut self) {
        for call in self.calls.served() {
            self.did(AgentDid::Take { call });
        }
    }

    fn take(&mut self, call: CallId) {
        match &self.repeated {
            RepeatedCall::Asked(asked) if *asked == call => {
                self.repeated = RepeatedCall::Unproven(call, None)
            }
            _ => self.did(AgentDid::Take { call }),
        }
    }

    /// The conversation that the agent reported, if it did.
    pub(super) fn conversation(&self) -> Option<&ConversationId> {
        self.conversation.as_ref()
    }

    /// The call whose result may not be in the transcript yet.
    pub(super) fn unproven(&self) -> Option<&CallId> {
        match &self.repeated {
            RepeatedCall::Unproven(call, _) => Some(call),
            RepeatedCall::None
            | RepeatedCall::Expected
            | RepeatedCall::Asked(_)
            | RepeatedCall::Retold(..) => None,
        }
    }

    /// The transcript contains the result of the unproven call. If the turn has ended meanwhile, returns how the agent
    /// leaves.
    pub(super) fn proven(&mut self) -> Option<Leave> {
        let RepeatedCall::Unproven(call, leave) = std::mem::take(&mut self.repeated) else { return None };
        self.did(AgentDid::Take { call });
        self.leave_or_rest(leave?)
    }

    /// The transcript does not contain the result of the unproven call: the answer is told by message.
    pub(super) fn lost(&mut self) {
        let RepeatedCall::Unproven(call, _) = std::mem::take(&mut self.repeated) else { return };
        let answers =
            self.calls.reply_to(&call).and_then(|reply| answers_message(&[(call.clone(), reply.clone())]));
        let Some(text) = answers else { return self.did(AgentDid::Take { call }) };
        let name = new_name();
        self.say_by_name(&text, name.clone(), None);
        self.repeated = RepeatedCall::Retold(call, name);
    }

    fn is_retold(&mut self, message: &str) {
        if let RepeatedCall::Retold(call, name) = &self.repeated
            && name == message
        {
            let call = call.clone();
            self.repeated = RepeatedCall::None;
            self.did(AgentDid::Take { call });
        }
    }

    fn request(&mut self, text: &str, line: &Line<'_>) {
        let id = &*line.request_id;
        let Some(request) = line.request.as_ref() else {
            return;
        };
        match &*request.subtype {
            "can_use_tool" => self.permission(id, request),
            "hook_callback" => self.hook(text, id, request),
            "elicitation" => self.elicitation(id, request),
            subtype => {
                // The CLI continues as if a person had refused, so the log has to say that no person was asked.
                self.note(text);
                self.lines.push_back(wire::unsupported(id, subtype));
            }
        }
    }

    /// An MCP server asks a person. The CLI cannot repeat that later, so the process stays.
    fn elicitation(&mut self, id: &str, request: &ControlRequest<'_>) {
        let call = format!("elicitation-{id}");
        let ask = Ask::Questions(wire::elicited(request));
        self.ask(&call, ask, waiting(id, RequestChannel::Server, None));
    }

    fn hook(&mut self, text: &str, id: &str, request: &ControlRequest<'_>) {
        let input = request.hook_input().filter(|input| &*input.tool_name == wire::ASK);
        let Some(input) = input else {
            self.note(text);
            self.lines.push_back(wire::unsupported(id, "this hook"));
            return;
        };
        if wire::has_equal_texts(input.tool_input) {
            self.lines.push_back(wire::hook_deny(id, EQUAL_TEXTS));
            return;
        }
        let call = if request.tool_use_id.is_empty() { &input.tool_use_id } else { &request.tool_use_id };
        let ask = Ask::Questions(wire::drafts(input.tool_input));
        self.ask(call, ask, waiting(id, RequestChannel::Hook, input.tool_input));
    }

    fn permission(&mut self, id: &str, request: &ControlRequest<'_>) {
        let call: &str = if request.tool_use_id.is_empty() { id } else { &request.tool_use_id };
        if &*request.tool_name == wire::ASK && wire::has_equal_texts(request.input) {
            self.lines.push_back(wire::deny(id, EQUAL_TEXTS));
            return;
        }
        let ask = match &*request.tool_name {
            wire::ASK => Ask::Questions(wire::drafts(request.input)),
            wire::EXIT_PLAN_MODE => {
                let plan = plan_in(request.input).or_else(|| self.plans.get(call).cloned());
                Ask::LeavePlanMode { plan: plan.unwrap_or_default() }
            }
            tool => {
                Ask::Permission(permission::permission(tool, request.input, request.permission_suggestions))
            }
        };
        self.ask(call, ask, waiting(id, RequestChannel::Permission, request.input));
    }

    fn ask(&mut self, call: &str, ask: Ask, waiting: Waiting) {
        let call = CallId::new(call);
        if matches!(self.repeated, RepeatedCall::Expected) {
            self.repeated = RepeatedCall::Asked(call.clone());
            for message in std::mem::take(&mut self.held) {
                self.say(message);
            }
        }
        // A call that has its reply is not asked again: the CLI only asks for the same reply in another form.
        if !self.calls.was_replied(&call) {
            let parkable = waiting.channel != RequestChannel::Server;
            self.did(AgentDid::Ask { call: call.clone(), ask, parkable });
        }
        // Older CLIs ignore the deferral of a hook, and ask for permission.
        if self.calls.parked() == Some(&call) {
            self.to_park = Some(call.clone());
        }
        self.lines.extend(self.calls.wait(call, waiting));
    }

    /// A turn is over, and with it the run, unless there are unread messages or running sub-agents: then another turn
    /// begins.
    fn result(&mut self, line: &Line<'_>) -> Option<Leave> {
        if self.is_unopened && line.has_no_end() && !line.is_failure() {
            return None;
        }
        let leave = self.leave(line);
        self.settle(line);
        let goes_on = matches!(leave, Leave::Finished { .. })
            && (!self.unread.is_empty() || self.flight.has_agents_at_work());
        match (&mut self.repeated, leave) {
            _ if goes_on => None,
            (RepeatedCall::Unproven(_, held), leave @ Leave::Finished { .. }) => {
                *held = Some(leave);
                None
            }
            (_, leave) => self.leave_or_rest(leave),
        }
    }

    fn leave_or_rest(&mut self, leave: Leave) -> Option<Leave> {
        match leave {
            // A turn that the agent began by itself: its output was reported, and nothing depends on its end.
            Leave::Finished { .. } if self.resting => None,
            Leave::Finished { result } if self.stay == Stay::Lingers => {
                self.resting = true;
                self.did(AgentDid::Finish { result });
                None
            }
            leave => Some(leave),
        }
    }

    fn leave(&mut self, line: &Line<'_>) -> Leave {
        if let Some(call) = line.deferred() {
            let parked = self.calls.parked().cloned();
            let call = Some(call).filter(|call| !call.is_empty()).map(CallId::new).or(parked);
            return Leave::Deferred { call: call.unwrap_or_else(|| CallId::new("")) };
        }
        if let Some(call) = self.ask_unheard() {
            return Leave::Deferred { call };
        }
        if line.is_failure() {
            return Leave::Failed { reason: line.failure() };
        }
        // Some CLIs (2.1.61) report no reason for any turn's end; their stream shows that the model ended its message.
        let has_no_end = line.has_no_end() && !self.flight.has_spoken();
        // Others (2.1.197, 2.1.90) report the reason of the message before, if a message broke off after a complete
        // one.
        if has_no_end || line.has_stale_end() && self.flight.is_speaking() {
            return Leave::Failed { reason: CUT_OFF.into() };
        }
        Leave::Finished { result: line.result.to_string() }
    }

    /// Questions that an older CLI refused without asking a person. They are asked now, and the answers go in a
    /// message. Questions from the live channel are not repeated.
    fn ask_unheard(&mut self) -> Option<CallId> {
        let asked: Vec<Asking> = match self.printed {
            true => self.response.asked().into_iter().cloned().collect(),
            false => self.response.denied().to_vec(),
        };
        let mut last = None;
        for Asking { call, questions } in asked {
            if self.calls.was_asked(&call) {
                continue;
            }
            self.did(AgentDid::Ask { call: call.clone(), ask: Ask::Questions(questions), parkable: true });
            last = Some(call);
        }
        last
    }

    /// A result reports the usage of its turn; counting starts again.
    fn settle(&mut self, line: &Line<'_>) {
        let usage = spending::of_result(line, self.total_cost);
        // A result without a cost says nothing about the total.
        self.total_cost = match line.total_cost_micros() {
            0 => self.total_cost,
            total => total,
        };
        if self.spend(usage) {
            self.response = Response::default();
        }
    }

    fn spend(&mut self, usage: rapport_core::Usage) -> bool {
        let is_some = usage != rapport_core::Usage::default();
        if is_some {
            self.did(AgentDid::Spend { usage });
        }
        is_some
    }

    fn progress(&mut self, doing: Activity) {
        let doing = Some(doing).filter(|doing| !matches!(doing, Activity::Words(words) if words.is_empty()));
        self.reports
            .push_back(AgentReport::Progress(Progress { doing, usage: self.response.spent_so_far() }));
    }

    fn did(&mut self, did: AgentDid) {
        self.did_some(Some(did));
    }

    fn did_some(&mut self, did: Option<AgentDid>) {
        self.reports.extend(did.map(AgentReport::Did));
    }
}

fn new_name() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn waiting(id: &str, channel: RequestChannel, input: Option<&RawValue>) -> Waiting {
    let empty = || RawValue::from_string("{}".into()).unwrap_or_default();
    Waiting { request: id.to_owned(), channel, input: input.map_or_else(empty, RawValue::to_owned) }
}

fn plan_in(input: Option<&RawValue>) -> Option<String> {
    #[derive(Deserialize)]
    struct Input {
        plan: String,
    }
    let input: Input = serde_json::from_str(input?.get()).ok()?;
    Some(input.plan)
}
