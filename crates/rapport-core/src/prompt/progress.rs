//! The prompts for an agent that makes a progress file.

use crate::aim::{Asking, PlanMode, ProgressAim};
use crate::progress::ProgressProblem;

const BASIC: &str = include_str!("plan.md");
const GSD: &str = include_str!("gsd.md");

/// The placeholder for the line about questions.
const QUESTIONS: &str = "{{questions}}";

const ASSUME: &str = "Do NOT ask questions, with any tool or in words: nobody answers them. Where something is not said, \
    assume what is most likely, and write each assumption under Analysis.";
const ADAPTIVE: &str = "Where a fact is missing that the plan depends on, and neither the request nor the project tells it, \
    ask with your question tool: 2 to 5 questions together, about what would change the plan, each with the options you see. \
    Do not ask for the sake of asking; a request that is specific needs no question. You may ask in at most {{rounds}}.";

/// The reply to an agent that asks although it has to assume.
pub(crate) const DO_ASSUME: &str = "Do not ask: nobody answers questions here. Assume what is most likely, write each \
    assumption under Analysis, and reply with the file.";
/// The reply to an agent that leaves plan mode with a valid file.
pub(crate) const FILE_NOTED: &str =
    "The file is noted and is being saved. Stop here; nothing else is to be done.";

/// The message to people about an agent that does not continue without answers.
pub(crate) const KEEPS_ASKING: &str = "the agent keeps asking, however often it is told to go on without; let it ask \
    with --adaptive, or say more in the idea";

/// The instructions for planning in this mode, without the request.
pub fn plan_prompt(mode: PlanMode, asking: Asking, max_rounds: u32) -> String {
    let template = match mode {
        PlanMode::Basic => BASIC,
        PlanMode::Gsd => GSD,
    };
    let rounds = if max_rounds == 1 { "one round".to_owned() } else { format!("{max_rounds} rounds") };
    let line = match asking {
        Asking::Assume => ASSUME.to_owned(),
        Asking::Adaptive => ADAPTIVE.replace("{{rounds}}", &rounds),
    };
    template.replace(QUESTIONS, &line)
}

/// The whole first message: instructions, the project's stack, the request.
pub(crate) fn first(aim: &ProgressAim, request: &str, max_rounds: u32) -> String {
    let stack = aim.stack.as_deref().map(str::trim).filter(|stack| !stack.is_empty());
    format!(
        "{}\n---\n\n## Detected Stack\n\n{}\n\n## User Request\n\n{}\n",
        plan_prompt(aim.mode, aim.asking, max_rounds),
        stack.unwrap_or("None detected."),
        request.trim(),
    )
}

/// The message that follows up on a finished file. It counts the replies, as [`mend`] counts the tries.
pub(crate) fn again(replies: u32, words: &str) -> String {
    format!(
        "This was said about your reply (number {replies}):\n\n{words}\n\nReply with the whole file again: the raw file and \
         nothing else, beginning with `# Progress:`."
    )
}

/// The message to an agent whose reply is not a valid file. It counts the tries, because an agent is never told the
/// same prompt twice.
pub(crate) fn mend(tries: u32, problems: &[ProgressProblem]) -> String {
    let list: String = problems.iter().map(|problem| format!("- {problem}\n")).collect();
    format!(
        "Your reply (number {tries}) is no valid progress file:\n\n{list}\nReply with the whole file again, mended: the raw file and \
         nothing else, beginning with `# Progress:`."
    )
}
