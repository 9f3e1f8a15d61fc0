//! How a conversation is taken up: what it still has to be told.

use std::borrow::Cow;

use rapport_core::{CallId, CallReply, Order};

use crate::agents::GO_ON;
use crate::agents::claude::command::Opening;
use crate::agents::claude::transcript::{ANSWERS, Transcript};

/// How to begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) opening: Opening,
    /// The first message; none where a call that was put away will be asked again.
    pub(super) message: Option<String>,
    /// Calls whose replies the conversation holds as soon as the agent says a word.
    pub(super) told: Vec<CallId>,
}

/// Finds out how to begin, from the order and what the conversation knows of it.
pub(super) fn start(order: &Order, transcript: &Transcript) -> Start {
    // A permission told by message is not used yet: the agent asks for it again, and gets it then.
    let arrives = |call: &CallId, reply: &CallReply| {
        matches!(reply, CallReply::Answers(_)) || has_reply(transcript, call, reply)
    };
    let arriving = order.replies.iter().filter(|(call, reply)| arrives(call, reply));
    let calls = || arriving.map(|(call, _)| call.clone()).collect();
    if !transcript.exists() {
        let message = joined([Some(order.prompt.clone()), answers_message(&order.replies)]);
        return Start { opening: Opening::Fresh, message, told: calls() };
    }
    let opening = Opening::Resumed;
    if order.replies.iter().any(|(call, _)| transcript.is_deferred(call)) {
        return Start { opening, message: None, told: Vec::new() };
    }
    let prompt = (!transcript.was_told(&order.prompt)).then(|| order.prompt.clone());
    let message = joined([prompt, untold_answers(order, transcript)]);
    if message.is_none() && transcript.has_deferred() {
        return Start { opening, message: None, told: Vec::new() };
    }
    Start { opening, message: Some(message.unwrap_or_else(|| GO_ON.into())), told: calls() }
}

/// Each reply is looked for by itself: an earlier message may have carried it together with others.
fn untold_answers(order: &Order, transcript: &Transcript) -> Option<String> {
    let is_known = |call: &CallId, reply: &CallReply| {
        has_reply(transcript, call, reply) || transcript.told_since(call).any(|told| carries(told, reply))
    };
    let untold: Vec<_> =
        order.replies.iter().filter(|(call, reply)| !is_known(call, reply)).cloned().collect();
    answers_message(&untold)
}

/// Whether a message has these questions with just these answers, under whatever numbers.
fn carries(message: &str, reply: &CallReply) -> bool {
    let has_line = |line: String| format!("\n{message}\n").contains(&format!("\n{line}\n"));
    let numbers = || 1..=message.matches("\nQ").count();
    in_words(reply).iter().all(|(question, answer)| {
        numbers().any(|n| has_line(numbered_question(n, question)) && has_line(numbered_answer(n, answer)))
    })
}

/// A call that was to be refused has its reply when it has failed.
fn has_reply(transcript: &Transcript, call: &CallId, reply: &CallReply) -> bool {
    let is_refusal = matches!(reply, CallReply::Deny { .. });
    transcript.answered(call) || is_refusal && transcript.failed(call)
}

fn joined(parts: [Option<String>; 2]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Questions and answers in one message (CLARIFY-11), for a conversation whose calls no longer wait.
pub fn answers_message(replies: &[(CallId, CallReply)]) -> Option<String> {
    let pairs: Vec<_> = replies.iter().flat_map(|(_, reply)| in_words(reply)).collect();
    if pairs.is_empty() {
        return None;
    }
    let numbered = |(n, (question, answer)): (usize, &(&str, Cow<'_, str>))| {
        (numbered_question(n + 1, question), numbered_answer(n + 1, answer))
    };
    let (questions, answers): (Vec<_>, Vec<_>) = pairs.iter().enumerate().map(numbered).unzip();
    Some(format!("{ANSWERS}\n\n{}\n\nMy answers:\n{}", questions.join("\n"), answers.join("\n")))
}

fn numbered_question(n: usize, question: &str) -> String {
    format!("Q{n}: {question}")
}

fn numbered_answer(n: usize, answer: &str) -> String {
    format!("{n}. {answer}")
}

fn in_words(reply: &CallReply) -> Vec<(&str, Cow<'_, str>)> {
    match reply {
        CallReply::Answers(told) => {
            told.iter().map(|told| (told.question.as_str(), told.attributed().into())).collect()
        }
        CallReply::Allow { asked, always: false } => vec![(asked, "Allow once".into())],
        CallReply::Allow { asked, always: true } => vec![(asked, "Allow always".into())],
        CallReply::Deny { asked, message } => vec![(asked, message.into())],
    }
}
