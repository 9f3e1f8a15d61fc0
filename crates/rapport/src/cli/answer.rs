//! `rapport answer`: works from any terminal, whether or not the session runs.

use std::ffi::OsString;
use std::io::IsTerminal as _;

use rapport_core::{
    Act, Answer, Branch, Input, MAX_TEXT, PhaseView, Purpose, Question, QuestionId, Refusal, Reply, SessionId,
};
use serde_json::json;

use super::output::{say, say_json, warn};
use super::session_choice::{self, Verb};
use super::{Common, ask, screen, sessions, text, typed_lines};
use crate::channels::terminal::composer::{SentBy, compose};
use crate::channels::terminal::terminal_text;
use crate::cli::runtime;
use crate::clock::Clock;
use crate::engine::{DoorError, Reached, socket};
use crate::error::{Code, Failure, Outcome};
use crate::stores::StoreError;
use crate::wiring::Workspace;

const TYPE: &str = "(Type your answer, then press Enter twice to submit)";

/// Answer a question of a session, from anywhere
///
/// VALUE is an option's label, value or number (from 1), or, if the question accepts it, free text. Several values
/// choose several options; --text adds free text to them. At a permission yes allows once and no denies; at a plan
/// yes starts the work. Without a VALUE the questions are asked here, or listed if there is no terminal. The first
/// answer to a question wins; later ones are refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport answer add-auth                       show what is open, and ask
  rapport answer 20260124-add-auth JWT          the only open question
  rapport answer add-auth -q q2 Google GitHub   several options of a question
  rapport answer add-auth -q q3 2               an option by its number
  rapport answer add-auth -q q3 --text \"42\"     exactly these words
  rapport answer add-auth -q q2 1 3 --text \"and Apple\"   options, and free text
  rapport answer add-auth yes                   allow once, or start the work
  rapport answer add-auth -q q1 --edit Session  change an answer
  rapport answer add-auth --draft               send what the lead drafted
  rapport answer add-auth --same                the answer that was given before
  rapport answer add-auth -q q1 --always JWT    from now on without asking
  rapport answer add-auth --back                open the question before again")]
pub(super) struct Args {
    /// The session: its name, or a unique part of it (default: the one around the current directory, else the only one
    /// with an open question)
    #[arg(value_name = "SESSION")]
    first: Option<OsString>,
    /// What to answer
    #[arg(allow_negative_numbers = true)]
    value: Vec<OsString>,
    /// The session, as a flag
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Which question (default: the only open one)
    #[arg(long, short, value_name = "ID")]
    question: Option<String>,
    /// Use exactly this text as the answer, or beside the options that are chosen; "-" reads it from standard input
    /// (in a terminal, up to two empty lines)
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    text: Option<OsString>,
    /// Change a given answer, before the plan is confirmed
    #[arg(long, requires = "question")]
    edit: bool,
    /// Send the lead's draft, as your own answer
    #[arg(long, conflicts_with_all = ["value", "text", "edit", "back"])]
    draft: bool,
    /// Give the answer that was given to the same question before
    #[arg(long, conflicts_with_all = ["value", "text", "edit", "back", "draft"])]
    same: bool,
    /// Answer the same question always so in this project, until you revoke it (`rapport revoke`)
    #[arg(long, conflicts_with = "back")]
    always: bool,
    /// Go back to the previous question, in a round that is not complete
    #[arg(long, conflicts_with_all = ["value", "text", "edit", "question"])]
    back: bool,
}

pub(super) fn execute(common: &Common, mut args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let store = place.store();
    let id = chosen(&place, &mut args)?;
    let is_bare = args.value.is_empty() && args.text.is_none() && !args.back && !args.draft && !args.same;
    if is_bare && args.always {
        return always(common, &place, &id, args.question.as_deref());
    }
    if is_bare {
        return ask::execute(common, &place, id);
    }
    let asked = match &args.question {
        Some(named) => Some(QuestionId::new(named)),
        None => ask::only_open(&store, &id)?,
    };
    let act = match &asked {
        _ if !args.draft && !args.same => act(common, &args)?,
        Some(question) if args.same => Act::TakeOffer { question: question.clone() },
        Some(question) => Act::SendDraft { question: question.clone() },
        None => return Err(Failure::new(Code::Usage, "say which question is meant: --question ID")),
    };
    let reached = match &act {
        Act::Answer { question: Some(question), reply } if args.edit => {
            let change = Act::Change { question: question.clone(), reply: reply.clone() };
            submit(&place, &id, &change)?
        }
        act => submit(&place, &id, act)?,
    };
    if let Some((question, _)) = ask::last_answer(&store, &id, asked.as_ref())?.filter(|_| args.always) {
        submit(&place, &id, &Act::AlwaysAnswer { question: question.id })?;
    }
    let answered = if args.back { None } else { ask::last_answer(&store, &id, asked.as_ref())? };
    if common.json {
        let words = answered.as_ref().map(|(question, answer)| question.words(answer));
        let running = reached == Reached::Process;
        return say_json(&json!({ "session": id, "answered": !args.back, "running": running,
            "question": answered.map(|(question, _)| question.id), "answer": words }));
    }
    match &answered {
        Some((question, answer)) => print_answer(question, answer, &act)?,
        None => say(if args.back { "Open again." } else { "Answered." })?,
    }
    sessions::next_step(reached, &id).map_or(Ok(()), say)
}

/// Makes the answer that a question already has a rule of the project.
fn always(common: &Common, place: &Workspace, id: &SessionId, question: Option<&str>) -> Outcome {
    let Some(question) = question.map(QuestionId::new) else {
        return Err(Failure::new(Code::Usage, "say which question is meant: --question ID"));
    };
    submit(place, id, &Act::AlwaysAnswer { question: question.clone() })?;
    if common.json {
        return say_json(&json!({ "session": id, "question": question, "always": true }));
    }
    say("The same question is always answered so in this project. See and revoke that with: rapport revoke")
}

/// The named session, if it is trusted.
fn counted(place: &Workspace, id: SessionId) -> Result<SessionId, Failure> {
    session_choice::check_counts(place, &id).map(|()| id)
}

/// The session that is meant. If the first word names no session, it is part of the answer, but only if all words
/// name options of open questions: a misspelt session name must not become an answer elsewhere.
fn chosen(place: &Workspace, args: &mut Args) -> Result<SessionId, Failure> {
    let verb = Verb::new("rapport answer SESSION VALUE", "with an open question", &|known| {
        !known.view.questions.is_empty()
    });
    let Some(first) = args.first.take() else {
        return session_choice::choose(place, args.session.as_deref(), &verb);
    };
    if let Some(named) = &args.session {
        args.value.insert(0, first);
        return counted(place, session_choice::by_name(place, named)?);
    }
    let name = first.to_string_lossy();
    let not_found = match session_choice::by_name(place, &name) {
        // A number occurs in every session's name, and more likely means an option.
        Ok(id) if !is_number(&name) || id.as_str() == name => return counted(place, id),
        Err(failure) if !failure.candidates.is_empty() && !is_number(&name) => return Err(failure),
        Ok(_) | Err(_) => Failure::from(StoreError::NotFound(SessionId::new(&*name))),
    };
    if args.text.is_some() || args.back || args.draft || args.same {
        return Err(not_found);
    }
    let id = match session_choice::choose(place, None, &verb) {
        Ok(id) => id,
        // No question is open anywhere, so the word is not an answer either.
        Err(failure) if failure.code == Code::NotFound => {
            let message = format!("there is no session {name}, and none with an open question");
            return Err(Failure { message, ..not_found });
        }
        Err(failure) if failure.code == Code::Untrusted => return Err(failure),
        // Several wait, and one of them is meant.
        Err(several) if !several.candidates.is_empty() => {
            let message = format!("there is no session {name}; if it is the answer, say to which session");
            let failure = Failure { message, hints: Vec::new(), ..several };
            return Err(failure.hint("Name the one you mean: rapport answer --session SESSION VALUE"));
        }
        // A log cannot be read, so it is unknown which sessions wait; but no session has this name.
        Err(_) => return Err(not_found),
    };
    args.value.insert(0, first);
    let view = sessions::view(&place.store(), &id)?;
    let asked = view.questions.iter().find(|open| match &args.question {
        Some(named) => open.id.as_str() == named,
        None => view.questions.len() == 1,
    });
    let words = text(&args.value, "this answer")?;
    let answer = asked.and_then(|open| open.question().resolve(&Reply::Words(words)).ok());
    match answer {
        Some(answer) if answer.text.is_none() => Ok(id),
        _ => Err(not_found.hint(format!(
            "If it is the answer itself, name the session as well: rapport answer --session {id} VALUE"
        ))),
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tells how an answer was interpreted. Words that were meant for an option may not match one: a label with a typo.
fn print_answer(question: &Question, answer: &Answer, act: &Act) -> Outcome {
    say(format_args!("Answered. {}", terminal_text::line(&ask::echo(question, answer))))?;
    if answer.text.is_none() || question.options.is_empty() {
        return Ok(());
    }
    match (&question.purpose, act) {
        (Purpose::Clarify, Act::Answer { reply: Reply::Words(_), .. }) if answer.values.is_empty() => {
            say("No option has that name; it is taken as free text.")
        }
        (Purpose::Clarify | Purpose::Elicit(_) | Purpose::Budget { .. } | Purpose::Idle, _) => Ok(()),
        (Purpose::Confirm, _) => say("The agent gets this message, and plans again."),
        (Purpose::Permission { .. } | Purpose::LeavePlanMode { .. }, _) => {
            say("The request is denied, with this message.")
        }
    }
}

fn act(common: &Common, args: &Args) -> Result<Act, Failure> {
    if args.back {
        return Ok(Act::Back);
    }
    let values = text(&args.value, "this answer")?;
    let words = match &args.text {
        Some(words) if words == "-" => Some(from_stdin(common)?),
        Some(words) => Some(words.to_str().map(str::to_owned).ok_or_else(|| super::not_text("this answer"))?),
        None => None,
    };
    let reply = match words {
        None => Reply::Words(values),
        Some(words) if values.is_empty() => Reply::Text(words),
        Some(words) => Reply::NamedAndText(values, words),
    };
    is_short(&reply)?;
    Ok(Act::Answer { question: args.question.as_deref().map(QuestionId::new), reply })
}

/// Refuses a reply that is far too long before it is sent to another process.
fn is_short(reply: &Reply) -> Result<(), Failure> {
    let length = |words: &[String]| words.iter().map(String::len).sum::<usize>();
    let bytes = match reply {
        Reply::Text(text) | Reply::Both(_, text) => text.len(),
        Reply::Words(words) => length(words),
        Reply::NamedAndText(words, text) => length(words) + text.len(),
        Reply::Choices(_) => 0,
    };
    if bytes <= MAX_TEXT {
        return Ok(());
    }
    Err(Refusal::TooLong { what: "answer".into(), bytes, limit: MAX_TEXT }.into())
}

/// Submits an act about an answer. If the question has one already, says how it can still be changed.
fn submit(place: &Workspace, id: &SessionId, act: &Act) -> Result<Reached, Failure> {
    sessions::submit(place, id, act).map_err(|error| {
        let hints = match &error {
            DoorError::Refused(
                Refusal::AlreadyAnswered { question, .. } | Refusal::TooLateToChange { question, .. },
            ) => changing(place, id, question).unwrap_or_default(),
            _ => Vec::new(),
        };
        hints.into_iter().fold(Failure::from(error), Failure::hint)
    })
}

/// How to change the answer to a question, now or later, or to try another one in a branch.
fn changing(place: &Workspace, id: &SessionId, question: &QuestionId) -> Option<Vec<String>> {
    let store = place.store();
    let entries = store.read(id, 0).ok()?;
    let session = sessions::replay(&store, id, &entries).ok()?;
    let act = Act::Reopen { question: question.clone() };
    let reopen = Input::Person { by: socket::person_here(), act };
    let change = format!("rapport answer {id} --question {question} --edit VALUE");
    if session.decide(&reopen, Clock::system().now()).is_ok() {
        return Some(vec![format!("Change it with: {change}")]);
    }
    let mut hints = Vec::new();
    if session.phase() == PhaseView::Clarifying {
        hints.push(format!("When the plan is there, and before you confirm it: {change}"));
    }
    if Branch::at(&entries, question).is_ok() {
        hints.push(format!("Try another answer in a branch: rapport branch {id} --at {question}"));
    }
    Some(hints)
}

fn from_stdin(common: &Common) -> Result<String, Failure> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        return typed_lines::all(input.lock(), "the answer from standard input");
    }
    if !screen::is_interactive() {
        warn(TYPE);
        return typed_lines::in_terminal("this answer");
    }
    let runtime = runtime::small()?;
    let typed = runtime.block_on(compose(TYPE, SentBy::TwoEmptyLines, screen::colour(common.color)))?;
    typed.ok_or_else(|| Failure::new(Code::Interrupted, "left; nothing is answered"))
}
