//! The prompts: what agents are told, word for word.

pub(crate) mod action_plan;
pub mod lead;
pub(crate) mod planning_request;
pub(crate) mod progress;
pub(crate) mod project_task;
pub(crate) mod question_round;

use crate::question::Question;
use crate::session::Given;
use crate::want::AnsweredQuestion;

/// Resumes an agent that was cut off, if there is nothing else to tell it.
pub const GO_ON: &str = "Go on with the task where you left off.";
/// The same for an agent whose reply is the result: it may have replied before it was cut off, and that reply is lost.
pub const SAY_ALL: &str = "You were cut off. Reply with the whole plan now, in the form you were asked for.";
/// Appended to a message whose last words the CLI would run as a command.
pub const END_OF_MESSAGE: &str = "(End of the message.)";
/// The reply to an agent that wants to leave plan mode with its plan.
pub(crate) const PLAN_NOTED: &str = "The plan is noted and goes to a person for confirmation. Stop here; \
    you will be told when to start.";
/// The reply to a waiting call when the agent is stopped. The agent gets it when it is resumed.
pub(crate) const STOPPED: &str = "Nobody answered this: you were stopped here. Do not take it as an answer; ask again if \
    you still need to know.";
/// The reply to a call of the question tool without a question.
pub(crate) const NO_QUESTION: &str =
    "There was no question in this call. Ask again with a question, or go on.";
/// The reply to an agent that wants to use a tool while it makes a plan of actions.
pub(crate) const ONLY_DRAFTING: &str = "Nothing is changed and nothing is run while you plan. Put it into the plan as an \
    action, or do without.";
/// The reply to an agent that may not use a tool.
pub(crate) const DENIED: &str = "No. Do not do this; find another way, or ask.";

/// A person's message, and the files that came with it.
pub fn with_files(text: &str, paths: &[String]) -> String {
    if paths.is_empty() {
        return text.to_owned();
    }
    let gap = if text.trim().is_empty() { "" } else { "\n\n" };
    let files: String = paths.iter().map(|path| format!("\n- {path}")).collect();
    format!("{}{gap}Files that came with this message:{files}", text.trim_end())
}

/// The first turn of work: understand the task, ask, plan.
pub(crate) fn plan(task: &str, max_rounds: u32) -> String {
    format!(
        "# Task\n\n{task}\n\n# What to do now\n\nUnderstand this task well enough to carry it out. Do not change \
         anything yet.\n\nWhere something that matters is unclear, ask with your question tool: two to four questions at a \
         time, all that you can think of together, at most {max_rounds} times. Do not ask what the project itself \
         tells you, and do not ask for the sake of asking.\n\nThen answer with a plan in Markdown and nothing else: one \
         heading of two or three words that names the goal (`# Dark mode`), then the steps."
    )
}

/// The answer to a question that the agent asked in its reply.
pub(crate) fn answer_in_text(answered: &AnsweredQuestion) -> String {
    format!(
        "You asked:\n\n{}\n\nThe answer:\n\n{}\n\nGo on with it, in the form you were asked for.",
        answered.question,
        answered.attributed()
    )
}

/// The prompt for another planning turn, after another plan was asked for. The count makes each prompt unique even if
/// the request is repeated, because a conversation is never told the same prompt twice.
pub(crate) fn replan(wish: &str, plans: usize) -> String {
    format!(
        "Plan number {plans} was not confirmed. This was said about it:\n\n{wish}\n\nMake the plan anew, in the same \
         form."
    )
}

/// The prompt for a first planning turn of an agent that has not seen the answers that a planner gathered.
pub(crate) fn plan_with_wish<'a>(
    task: &str,
    clarified: impl Iterator<Item = (&'a Question, &'a Given)>,
    wish: &str,
) -> String {
    format!(
        "# Task\n\n{task}\n\n{}# What was said about it\n\n{wish}\n\n# What to do now\n\nDo not change anything yet. \
         Answer with a plan in Markdown and nothing else: one heading of two or three words that names the goal, then \
         the steps.",
        requirements(clarified)
    )
}

/// The prompt of the working turn: the task, all current answers, and the plan. The agent may have seen earlier
/// answers, so the prompt says that these replace them.
pub(crate) fn work<'a>(
    task: &str,
    clarified: impl Iterator<Item = (&'a Question, &'a Given)>,
    plan: &str,
) -> String {
    let requirements = requirements(clarified);
    let plan = if plan.is_empty() { String::new() } else { format!("# Plan\n\n{plan}\n\n") };
    format!(
        "# Task\n\n{task}\n\n{requirements}{plan}# What to do now\n\nThe plan is confirmed. Carry it out. If something \
         that matters turns out to be unclear, ask with your question tool rather than guess. End with a short report of \
         what you did."
    )
}

fn requirements<'a>(clarified: impl Iterator<Item = (&'a Question, &'a Given)>) -> String {
    let answers: String = clarified
        .map(|(question, given)| format!("Q: {}\nA: {}\n\n", question.text, question.words(&given.answer)))
        .collect();
    if answers.is_empty() {
        return String::new();
    }
    format!("# Requirements\n\nThese answers count, also where earlier ones were different.\n\n{answers}")
}

/// The reply to an agent whose questions expired, at least partly unanswered.
pub(crate) fn nobody_answered(answered: &[AnsweredQuestion]) -> String {
    const NOBODY: &str = "Nobody answered in time. This is not an answer: do not take it as consent or as a choice. \
        Do what can be done without it and say what is left open.";
    let answered: String =
        answered.iter().map(|one| format!("\n\nQ: {}\nA: {}", one.question, one.attributed())).collect();
    if answered.is_empty() { NOBODY.to_owned() } else { format!("{NOBODY} These were answered:{answered}") }
}

/// The reply to an agent that has used up its rounds of questions.
pub(crate) fn no_more_rounds(max: u32) -> String {
    format!(
        "The {max} rounds of questions that were agreed on are used up. Go on with what you have and say what you \
         assumed."
    )
}
