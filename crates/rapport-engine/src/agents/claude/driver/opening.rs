//! How a conversation is resumed: the messages that the agent still needs.

use std::borrow::Cow;

use rapport_core::{CallId, CallReply, Order, SentMessage, TurnKind};

use crate::agents::claude::channel::CliChannel;
use crate::agents::claude::command::{DEFAULT, Opening, PLAN};
use crate::agents::claude::message_ids;
use crate::agents::claude::transcript::{ANSWERS, PlanMode, Transcript};
use rapport_core::prompt::{GO_ON, SAY_ALL};

/// The message to an agent that may leave plan mode. If it is in another mode by then, it needs no further permission.
const GO_AHEAD: &str = "Yes, go ahead: you may leave plan mode and carry out the plan";
/// The message to an agent whose MCP server was waiting for a form when the process ended. The reply is for the server
/// alone, so the message does not contain it.
const CALL_AGAIN: &str = "I replied to this form of your tool, but the call was interrupted. Call the tool again: it gets my reply";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConversationStart {
    pub(super) opening: Opening,
    /// The first message; `None` if the agent will repeat a deferred call.
    pub(super) message: Option<String>,
    /// Calls whose replies are in the conversation as soon as the agent prints its first output.
    pub(super) arriving: Vec<CallId>,
    /// Messages of the turn that are not in the conversation.
    pub(super) unsent: Vec<SentMessage>,
    /// Whether the agent will repeat a deferred call before it can read anything else.
    pub(super) repeats_call: bool,
}

/// Derives the start from the order and the state of the conversation.
pub(super) fn start(order: &Order, transcript: &Transcript, channel: CliChannel) -> ConversationStart {
    // A permission told by message is not used yet: the agent asks for it again, and gets it then.
    let arrives = |call: &CallId, reply: &CallReply| {
        matches!(reply, CallReply::Answers(_)) || has_result(transcript, channel, call, reply)
    };
    let arriving = order.replies.iter().filter(|(call, reply)| arrives(call, reply));
    let calls = || arriving.map(|(call, _)| call.clone()).collect();
    let unsent: Vec<_> =
        order.messages.iter().filter(|message| !is_sent(transcript, channel, message)).cloned().collect();
    if !transcript.exists() {
        let message = joined([Some(order.prompt.clone()), answers_message(&order.replies)]);
        return ConversationStart {
            opening: Opening::Fresh,
            message,
            arriving: calls(),
            unsent,
            repeats_call: false,
        };
    }
    let opening = Opening::Resumed;
    let asked_again = |unsent| ConversationStart {
        opening,
        message: None,
        arriving: Vec::new(),
        unsent,
        repeats_call: true,
    };
    if order.replies.iter().any(|(call, _)| transcript.is_deferred(call)) {
        return asked_again(unsent);
    }
    let has_prompt = transcript.times_sent(&order.prompt) > order.sent_before;
    let prompt = (!has_prompt).then(|| order.prompt.clone());
    let message = joined([prompt, untold_answers(order, transcript, channel)]);
    if message.is_none() && unsent.is_empty() && transcript.has_deferred() {
        return asked_again(unsent);
    }
    let otherwise = match order.kind {
        TurnKind::TurnPlan => SAY_ALL,
        TurnKind::Plan | TurnKind::Work | TurnKind::Chat => GO_ON,
    };
    // Later messages tell the agent how to continue.
    let message = message.or_else(|| unsent.is_empty().then(|| otherwise.into()));
    ConversationStart { opening, message, arriving: calls(), unsent, repeats_call: false }
}

/// The message on the command line: the first message, or the later ones if there is none. If there is a first
/// message, the later ones are delivered in the next turn.
pub(super) fn printed_message(start: &ConversationStart) -> (String, Vec<u32>) {
    match &start.message {
        Some(message) => (message.clone(), Vec::new()),
        None if start.unsent.is_empty() => (GO_ON.into(), Vec::new()),
        None => {
            let words: Vec<_> = start.unsent.iter().map(|message| message.text.as_str()).collect();
            (words.join("\n\n"), start.unsent.iter().map(|message| message.number).collect())
        }
    }
}

/// The messages of the turn that are in the conversation, by number.
pub(super) fn read(order: &Order, start: &ConversationStart) -> Vec<u32> {
    let is_left = |number: u32| start.unsent.iter().any(|message| message.number == number);
    order.messages.iter().map(|message| message.number).filter(|number| !is_left(*number)).collect()
}

/// Whether the conversation contains a message. Messages on the command line have no name.
fn is_sent(transcript: &Transcript, channel: CliChannel, message: &SentMessage) -> bool {
    match channel {
        CliChannel::Live => transcript.has_message(&message_ids::name(message)),
        CliChannel::Print => transcript.times_sent(&message.text) > 0,
    }
}

/// The permission mode to work in: the configured one, unless the agent entered plan mode by itself and a person did
/// not let it leave; or unless it works in plan mode and a person let it leave, in this turn or an earlier one, even
/// while it was parked.
pub(super) fn work_mode<'a>(configured: &'a str, order: &Order, transcript: &Transcript) -> &'a str {
    let is_allowed = |call: &CallId| {
        order.replies.iter().any(|(about, reply)| about == call && matches!(reply, CallReply::Allow { .. }))
    };
    match transcript.plan_mode(is_allowed) {
        Some(PlanMode::Entered) => PLAN,
        Some(PlanMode::Left) if configured == PLAN => DEFAULT,
        Some(PlanMode::Left) | None => configured,
    }
}

fn untold_answers(order: &Order, transcript: &Transcript, channel: CliChannel) -> Option<String> {
    let untold = order.replies.iter().filter(|(call, reply)| !has_reply(transcript, channel, call, reply));
    message_of(untold.flat_map(|(call, reply)| in_words(transcript, call, reply)).collect())
}

/// Whether the conversation contains this reply: as the call's result, or in a message after it.
fn has_reply(transcript: &Transcript, channel: CliChannel, call: &CallId, reply: &CallReply) -> bool {
    let in_message = |(question, _): &(&str, Cow<'_, str>)| transcript.was_answered_since(call, question);
    has_result(transcript, channel, call, reply) || in_words(transcript, call, reply).iter().all(in_message)
}

/// Whether the call has ended with this reply. A denied call has ended when it failed; but in print mode every call
/// fails, so there a failure proves nothing.
fn has_result(transcript: &Transcript, channel: CliChannel, call: &CallId, reply: &CallReply) -> bool {
    match reply {
        CallReply::Answers(_) | CallReply::Allow { .. } | CallReply::Elicited { .. } => {
            transcript.answered(call)
        }
        CallReply::Deny { .. } => {
            transcript.answered(call) || channel == CliChannel::Live && transcript.failed(call)
        }
    }
}

fn joined(parts: [Option<String>; 2]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Questions and answers in one message (CLARIFY-11), for a conversation whose calls no longer wait.
pub fn answers_message(replies: &[(CallId, CallReply)]) -> Option<String> {
    let nothing = Transcript::default();
    message_of(replies.iter().flat_map(|(call, reply)| in_words(&nothing, call, reply)).collect())
}

fn message_of(pairs: Vec<(&str, Cow<'_, str>)>) -> Option<String> {
    if pairs.is_empty() {
        return None;
    }
    let numbered = |label: &dyn Fn(usize) -> String, words: &dyn Fn(usize) -> String| {
        (0..pairs.len()).map(|n| format!("{}{}\n", label(n + 1), words(n))).collect::<String>()
    };
    let questions = numbered(&|n| format!("Q{n}: "), &|n| pairs[n].0.to_string());
    let answers = numbered(&|n| format!("{n}. "), &|n| pairs[n].1.to_string());
    Some(format!("{ANSWERS}\n\n{questions}\nMy answers:\n{}", answers.trim_end()))
}

fn in_words<'a>(
    transcript: &Transcript,
    call: &CallId,
    reply: &'a CallReply,
) -> Vec<(&'a str, Cow<'a, str>)> {
    match reply {
        CallReply::Answers(answers) => {
            answers.iter().map(|answer| (answer.question.as_str(), answer.attributed().into())).collect()
        }
        CallReply::Allow { asked } if transcript.leaves_plan_mode(call) => vec![(asked, GO_AHEAD.into())],
        CallReply::Allow { asked } => vec![(asked, "Allow once".into())],
        CallReply::Deny { asked, message } => vec![(asked, message.into())],
        CallReply::Elicited { questions, .. } => {
            questions.first().map(|one| (one.question.as_str(), CALL_AGAIN.into())).into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use rapport_core::{AnsweredQuestion, By, Consent, ConversationId, TurnId};
    use serde_json::json;

    use super::*;

    /// A plan that was written but not received is requested again as a whole; "go on" would return only its end, or a
    /// remark.
    #[test]
    fn a_draft_that_was_cut_off_is_said_as_a_whole() {
        let order = Order {
            turn: TurnId(1),
            kind: TurnKind::TurnPlan,
            conversation: ConversationId::new("c"),
            prompt: "Plan it".into(),
            sent_before: 0,
            system: None,
            folder: Some("01".into()),
            tools: false,
            linger: None,
            replies: Vec::new(),
            messages: Vec::new(),
        };
        let told = r#"{"type":"user","message":{"content":"Plan it"}}"#;
        let start = start(&order, &Transcript::read(told.as_bytes()).unwrap(), CliChannel::Live);
        assert_eq!(start.message.as_deref(), Some(SAY_ALL));
    }

    /// A permission that was told by message and not used yet is not taken: the agent will ask for it again, and no
    /// person is asked again.
    #[test]
    fn a_permission_told_by_message_has_not_arrived_before_it_is_used() {
        let call = CallId::new("toolu_1");
        let reply = CallReply::Allow { asked: "May the agent use Bash: ls?".into() };
        let replies = vec![(call.clone(), reply)];
        let asked = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"Bash"}]}}"#;
        let message = serde_json::json!({ "content": answers_message(&replies) });
        let told = format!(r#"{{"type":"user","message":{message}}}"#);
        let done = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":""}]}}"#;
        let order = working(replies);
        let prompt = r#"{"type":"user","message":{"content":"Do it"}}"#;
        for (lines, arrived) in
            [(vec![prompt, asked, &told], vec![]), (vec![prompt, asked, done], vec![call])]
        {
            let transcript = Transcript::read(lines.join("\n").as_bytes()).unwrap();
            let start = start(&order, &transcript, CliChannel::Live);
            assert_eq!((start.message.as_deref(), start.arriving), (Some(GO_ON), arrived));
        }
    }

    /// The CLI does not return to plan mode when it is resumed: an agent that was told "not yet" would be told that it
    /// may begin.
    #[test]
    fn plan_mode_is_left_only_where_a_person_agreed() {
        let enter = r#"{"type":"assistant","uuid":"a","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"EnterPlanMode"}]}}"#;
        let entered = r#"{"type":"user","uuid":"b","parentUuid":"a","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":""}]}}"#;
        let leave = r#"{"type":"assistant","uuid":"c","parentUuid":"b","message":{"content":[{"type":"tool_use","id":"toolu_2","name":"ExitPlanMode"}]}}"#;
        let left = r#"{"type":"user","uuid":"d","parentUuid":"c","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_2","content":""}]}}"#;
        let leave_at_once = r#"{"type":"assistant","uuid":"c","message":{"content":[{"type":"tool_use","id":"toolu_2","name":"ExitPlanMode"}]}}"#;
        let enter_again = r#"{"type":"assistant","uuid":"a","parentUuid":"d","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"EnterPlanMode"}]}}"#;
        let asked = "May it go ahead?".to_owned();
        let yes = CallReply::Allow { asked: asked.clone() };
        let no = CallReply::Deny { asked, message: "Not yet.".into() };
        let reply = |reply: &CallReply| vec![(CallId::new("toolu_2"), reply.clone())];
        for (configured, lines, replies, mode) in [
            ("default", vec![], vec![], "default"),
            ("default", vec![enter, entered], vec![], "plan"),
            ("default", vec![enter, entered, leave], reply(&no), "plan"),
            ("default", vec![enter, entered, leave], reply(&yes), "default"),
            ("acceptEdits", vec![enter, entered, leave, left], vec![], "acceptEdits"),
            ("plan", vec![leave], reply(&yes), "default"),
            ("plan", vec![leave], reply(&no), "plan"),
            // In a chat, plan mode was left in an earlier turn.
            ("plan", vec![leave_at_once, left], vec![], "default"),
            ("plan", vec![leave_at_once, left, enter_again, entered], vec![], "plan"),
        ] {
            let transcript = Transcript::read(lines.join("\n").as_bytes()).unwrap();
            let found = work_mode(configured, &working(replies), &transcript);
            assert_eq!(found, mode, "{configured}, after {} lines", lines.len());
        }
    }

    /// A person who lets a parked agent leave plan mode allows more than one call.
    #[test]
    fn leaving_plan_mode_is_told_as_that() {
        let leave = r#"{"type":"assistant","uuid":"c","message":{"content":[{"type":"tool_use","id":"toolu_2","name":"ExitPlanMode"}]}}"#;
        let prompt = r#"{"type":"user","message":{"content":"Do it"}}"#;
        let allow = CallReply::Allow { asked: "May it go ahead?".into() };
        let order = working(vec![(CallId::new("toolu_2"), allow)]);
        let transcript = Transcript::read([prompt, leave].join("\n").as_bytes()).unwrap();
        let message = start(&order, &transcript, CliChannel::Live).message.unwrap();
        assert!(message.ends_with(&format!("1. {GO_AHEAD}")), "{message}");
    }

    /// The reply to a form is for its server. The model reads that it has to call the server again, once, and no value.
    #[test]
    fn a_reply_to_a_form_has_the_model_call_again() {
        let filled = AnsweredQuestion {
            question: "The desk asks for Name".into(),
            answer: "hunter2".into(),
            by: By::Person { channel: "terminal".into(), id: "ann".into() },
            because: None,
        };
        let content = [("name".to_owned(), "hunter2".into())].into_iter().collect();
        let reply = CallReply::Elicited { questions: vec![filled], action: Consent::Accept, content };
        let order = working(vec![(CallId::new("toolu_1"), reply)]);
        let prompt = r#"{"type":"user","message":{"content":"Do it"}}"#.to_owned();
        let first = start(&order, &Transcript::read(prompt.as_bytes()).unwrap(), CliChannel::Live);
        let message = first.message.unwrap();
        assert!(message.contains("The desk asks for Name") && message.ends_with(CALL_AGAIN), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
        assert_eq!(first.arriving, []);
        let told = format!("{prompt}\n{}", json!({"type": "user", "message": {"content": message}}));
        let later = start(&order, &Transcript::read(told.as_bytes()).unwrap(), CliChannel::Live);
        assert_eq!(later.message.as_deref(), Some(GO_ON));
    }

    fn working(replies: Vec<(CallId, CallReply)>) -> Order {
        Order {
            turn: TurnId(1),
            kind: TurnKind::Work,
            conversation: ConversationId::new("c"),
            prompt: "Do it".into(),
            sent_before: 0,
            system: None,
            folder: None,
            tools: false,
            linger: None,
            replies,
            messages: Vec::new(),
        }
    }
}
