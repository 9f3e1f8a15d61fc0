//! The prompts for an agent that makes a progress file.

use crate::aim::{Asking, PlanMode, ProgressAim};
use crate::progress::Problem;

const BASIC: &str = include_str!("plan.md");
const GSD: &str = include_str!("gsd.md");

/// Where the line about questions goes.
const QUESTIONS: &str = "{{questions}}";

const ASSUME: &str = "Do NOT ask questions, with any tool or in words: nobody answers them. Where something is not said, \
    assume what is most likely, and write each assumption under Analysis.";
const ADAPTIVE: &str = "Where a fact is missing that the plan depends on, and neither the request nor the project tells it, \
    ask with AskUserQuestion: 2 to 5 questions together, about what would change the plan, each with the options you see. \
    Do not ask for the sake of asking; a request that is specific needs no question. You may ask in at most {{rounds}}.";

/// To an agent that asked where it was to assume.
pub(crate) const DO_ASSUME: &str = "Do not ask: nobody answers questions here. Assume what is most likely, write each \
    assumption under Analysis, and reply with the file.";
/// To an agent that wanted to leave plan mode with a file that is all right.
pub(crate) const FILE_NOTED: &str =
    "The file is noted and is being saved. Stop here; nothing else is to be done.";

/// To people, about an agent that cannot do without answers.
pub(crate) const KEEPS_ASKING: &str = "the agent keeps asking, however often it is told to go on without; let it ask \
    with --adaptive, or say more in the idea";

/// What an agent is told that plans in this mode, without the request.
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

/// The whole first message: what to do, what the project is made of, what is wanted.
pub(crate) fn first(aim: &ProgressAim, request: &str, max_rounds: u32) -> String {
    let stack = aim.stack.as_deref().map(str::trim).filter(|stack| !stack.is_empty());
    format!(
        "{}\n---\n\n## Detected Stack\n\n{}\n\n## User Request\n\n{}\n",
        plan_prompt(aim.mode, aim.asking, max_rounds),
        stack.unwrap_or("None detected."),
        request.trim(),
    )
}

/// To an agent that has made the file, and is told something about it. Which reply it was is said, as below.
pub(crate) fn again(replies: u32, words: &str) -> String {
    format!(
        "This was said about your reply (number {replies}):\n\n{words}\n\nReply with the whole file again: the raw file and \
         nothing else, beginning with `# Progress:`."
    )
}

/// To an agent whose reply is no valid file. Which try it was is said, because what an agent was told before in the same
/// words is not told again.
pub(crate) fn mend(tries: u32, problems: &[Problem]) -> String {
    let list: String = problems.iter().map(|problem| format!("- {problem}\n")).collect();
    format!(
        "Your reply (number {tries}) is no valid progress file:\n\n{list}\nReply with the whole file again, mended: the raw file and \
         nothing else, beginning with `# Progress:`."
    )
}
