//! `rapport resume`: the next step of any session.

use rapport_core::report::Overall;
use rapport_core::{
    Act, Aim, Asking, Branch, Entry, Event, FileTurn, Session, SessionId, Status, TermsChange, TurnStage,
};

use super::agent_flags::AgentFlags;
use super::output;
use super::run::{self, Start};
use super::session_choice::{self, Known, Verb, Which};
use super::workflow::open_session::{self, OpenSession};
use super::workflow::plan::{self, Consent, Request};
use super::workflow::review::{Approval, Reviewing};
use super::workflow::seals::Changed;
use super::workflow::{self, prompts};
use super::{Common, ask, message, say, sessions, trust, undo_work};
use crate::cli::runtime;
use crate::config::Settings;
use crate::error::{Code, Failure, Outcome};
use crate::turns::Folder;
use crate::wiring::Workspace;

/// Continue a session with its next step: answer, review, resume after a kill, say what to do next
///
/// A run that was stopped, killed or has failed is resumed, and its questions are asked here. In a session with turns,
/// a waiting plan is checked, shown, run as far as you approve, and reported; after a report you are asked what to plan
/// next. If the agent replied in words instead of a plan, you see them and answer. If nothing is left to do, it says so,
/// and lists what you can do.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport resume                        where only one session can go on
  rapport resume add-a-greeting         a run, or a session of files
  rapport resume -y                     run all of the plan without asking
  rapport resume -m \"now the tests\"     the next turn, or what to do next
  rapport resume add-auth --turn 02-branch-01")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    how: How,
}

/// How a session is resumed.
#[derive(Debug, Default, clap::Args)]
pub(super) struct How {
    /// Approve all of the plan of a turn
    #[arg(long, short)]
    yes: bool,
    /// What to do next, if no plan waits; "-" reads it from standard input, an empty one opens an editor
    #[arg(long, short, value_name = "MESSAGE", num_args = 0..=1, default_missing_value = "")]
    message: Option<String>,
    /// Let the agent ask for critical missing facts
    #[arg(long)]
    adaptive: bool,
    /// Have an invalid plan made again, without asking
    #[arg(long)]
    replan: bool,
    /// Build on finished turns, and use a plan, even if their files were changed
    #[arg(long)]
    accept_changes: bool,
    /// The turn (default: the latest)
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
    #[command(flatten)]
    agent: AgentFlags,
}

impl How {
    /// With these flags of the agent, and defaults otherwise.
    pub(super) fn with(agent: AgentFlags) -> Self {
        Self { agent, ..Self::default() }
    }

    /// The given flag that only makes sense for turns, if any.
    fn about_turns(&self) -> Option<&'static str> {
        let given = [
            (self.yes, "--yes"),
            (self.adaptive, "--adaptive"),
            (self.replan, "--replan"),
            (self.accept_changes, "--accept-changes"),
            (self.turn.is_some(), "--turn"),
        ];
        given.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    resume(common, args.which.name(), &args.how)
}

/// Resumes the session of this name, or the one that fits.
pub(super) fn resume(common: &Common, named: Option<&str>, how: &How) -> Outcome {
    let place = Workspace::find(common)?;
    let verb =
        Verb::new("rapport resume SESSION", "to go on with", &|known| known.goes_on() || known.has_turns());
    let verb = verb.rather(Known::goes_on).rather(Known::is_free);
    let verb = verb
        .else_try("Begin one with: rapport run \"what you want done\"\nOr turn by turn: rapport new NAME");
    let known = session_choice::known(&place, &session_choice::choose(&place, named, &verb)?)?;
    go_on_with(common, &place, &known, how)
}

/// Resumes a session with a message to its agent.
pub(super) fn with_message(common: &Common, place: &Workspace, known: &Known, message: &str) -> Outcome {
    let how = How { message: Some(message.to_owned()), ..How::default() };
    go_on_with(common, place, known, &how)
}

fn go_on_with(common: &Common, place: &Workspace, known: &Known, how: &How) -> Outcome {
    trust::ask_once(common, place)?;
    let settings = place.settings(how.agent.layer())?;
    match known.view.aim {
        Aim::Files => turn_by_turn(common, place, &settings, known, how),
        Aim::Work | Aim::Progress(_) | Aim::Chat => run_on(common, place, &settings, known, how),
    }
}

/// Resumes work, a progress file or a conversation.
fn run_on(common: &Common, place: &Workspace, settings: &Settings, known: &Known, how: &How) -> Outcome {
    let (id, view) = (&known.id, &known.view);
    if let Some(flag) = how.about_turns() {
        let what = format!("{flag} is about turns, and {id} has none");
        return Err(Failure::new(Code::Usage, what).hint(format!("Go on with: rapport resume {id}")));
    }
    if let Some(change) = how.agent.change(place, known.session.created(), settings) {
        // Before the agent is resumed, because the terms apply to it.
        sessions::act(place, id, &Act::ChangeTerms { change })?;
    }
    if known.is_held() && !view.questions.is_empty() && prompts::is_possible(common) {
        // Another process runs it; its questions can be answered here.
        return ask::execute(common, place, id.clone());
    }
    let said = said(common, place, known, how)?;
    let was_over = said.is_none() && matches!(view.status, Status::Completed | Status::Cancelled);
    if let Some(text) = said.clone().filter(|_| known.is_held()) {
        return say::said(common, place, known, text);
    }
    let said = said.map(|text| Act::Say { text, id: None });
    let outcome = run::host(common, place, settings, Start::Resume { id: id.clone(), said });
    if !was_over || common.json {
        return outcome;
    }
    let left = what_is_left(place, id)?;
    match outcome {
        Ok(()) => left.into_iter().try_for_each(output::say),
        Err(failure) if failure.code == Code::Cancelled => Err(left.into_iter().fold(failure, Failure::hint)),
        Err(failure) => Err(failure),
    }
}

/// The message to the agent. For an idle conversation it is asked for; a stopped agent resumes without one.
fn said(common: &Common, place: &Workspace, known: &Known, how: &How) -> Result<Option<String>, Failure> {
    let Known { id, view, .. } = known;
    let rests = view.aim == Aim::Chat && view.status == Status::Idle;
    if how.message.is_some() {
        say::refuse_if_asked(known)?;
        say::refuse_message(place, known)?;
    }
    let runtime = runtime::small()?;
    let text = match &how.message {
        Some(words) => runtime.block_on(message::given(common, words))?,
        None if !rests => return Ok(None),
        None if prompts::is_possible(common) => runtime.block_on(prompts::message(common, id))?,
        None => return Err(nobody_to_ask(id)),
    };
    // A thread may still wait for a line.
    runtime.shutdown_background();
    Ok(Some(text))
}

/// The possible commands for a session in which nothing is left to do.
fn what_is_left(place: &Workspace, id: &SessionId) -> Result<Vec<String>, Failure> {
    let known = session_choice::known(place, id)?;
    let mut left = vec![format!("Nothing is left to do in {id}. What can be done:")];
    if known.session.has_worked() {
        left.push(format!("  rapport diff {id}"));
    }
    if undo_work::is_due(&known) {
        left.push(format!("  rapport undo {id}"));
    }
    let entries = place.store().read(id, 0)?;
    if let Some(question) = branches(&entries) {
        left.push(format!("  rapport branch {id} --at {question}"));
    }
    if say::refuse_message(place, &known).is_ok() {
        left.push(format!("  rapport say {id} \"what to do next\""));
    }
    left.push("  rapport run \"what you want done\"".into());
    Ok(left)
}

/// The last question at which the session can branch.
pub(super) fn branches(entries: &[Entry]) -> Option<String> {
    let facts = entries.iter().rev().flat_map(|entry| entry.facts.iter().rev());
    let asked = facts.filter_map(|fact| match fact {
        Event::Asked { questions, .. } => questions.first(),
        _ => None,
    });
    let mut asked = asked.filter(|question| Branch::at(entries, &question.id).is_ok());
    asked.next().map(|question| question.id.to_string())
}

fn turn_by_turn(
    common: &Common,
    place: &Workspace,
    settings: &Settings,
    known: &Known,
    how: &How,
) -> Outcome {
    let folder = place.folder(&known.id);
    // Before it is held, because holding it resumes it.
    let before = &known.session;
    refuse_another_turn(before, &folder, how.turn.as_deref())?;
    let is_over = |turn: &&FileTurn| turn.stage == TurnStage::Ended && turn.status != Some(Overall::Skipped);
    let ended = before.file_turns().iter().find(is_over);
    let ended = ended.map(|turn| turn.folder.clone());
    let terms = how.agent.change(place, before.created(), settings);
    open_session::hold(common, place, settings, folder, async |held| {
        go_on(held, how, terms, ended.as_deref()).await
    })
}

/// Continues. `ended` is a turn whose report was missing, and has been written by now.
async fn go_on(
    held: &OpenSession<'_>,
    how: &How,
    terms: Option<TermsChange>,
    ended: Option<&str>,
) -> Outcome {
    let changed = Changed::from_flag(how.accept_changes);
    plan::begin_with(held, changed).await?;
    let mut request = Request {
        message: String::new(),
        asking: if how.adaptive { Asking::Adaptive } else { Asking::Assume },
        consent: if how.replan { Consent::Given } else { Consent::Ask },
        terms,
    };
    plan::change_terms(held, &request).await?;
    let session = held.session().await?;
    if let Some(turn) = ended.filter(|_| how.message.is_none()) {
        let approval = Approval::from_flag(how.yes);
        let reviewing = Reviewing { held, approval, changed, request: &request };
        return reviewing.conclude(&held.folder.turn(turn).await?).await;
    }
    if let Some(turn) = session.drafting().filter(|_| how.message.is_some()) {
        let id = &held.folder.id;
        let what = format!("turn {} of {id} is being planned already, and takes no message", turn.folder);
        return Err(Failure::new(Code::Refused, what)
            .hint(format!("Go on with that first: rapport resume {id}"))
            .hint(format!(
                "Or have this planned instead: rapport plan --session {id} --instead -m MESSAGE"
            )));
    }
    if let Some(turn) = session.drafting() {
        return plan::go_on(held, &turn.folder, &request).await;
    }
    let turn = workflow::turn(&session, &held.folder, how.turn.as_deref())?;
    match turn.map(|turn| (turn.stage, turn)) {
        Some((_, turn)) if turn.is_waiting() && how.message.is_some() => {
            Err(plan::waits(&held.folder, &turn.folder)
                .hint(format!("Or have something else planned: rapport revise {} FEEDBACK", held.folder.id)))
        }
        Some((_, turn)) if turn.is_waiting() => {
            let approval = Approval::from_flag(how.yes);
            Reviewing { held, approval, changed, request: &request }.turn(&turn.folder).await
        }
        Some((_, turn)) if session.reply().is_some_and(|reply| reply.folder == turn.folder) => {
            let answer = match &how.message {
                Some(words) => Some(message::given(held.common, words).await?),
                None => None,
            };
            plan::answer_reply(held, turn, answer, &request).await
        }
        Some((TurnStage::Unplanned { is_ready: true }, turn)) if how.message.is_none() => {
            plan::go_on(held, &turn.folder, &request).await
        }
        Some(_) | None => {
            request.message = match &how.message {
                Some(words) => message::given(held.common, words).await?,
                None if prompts::is_possible(held.common) => {
                    prompts::message(held.common, &held.folder.id).await?
                }
                None => return Err(nobody_to_ask(&held.folder.id)),
            };
            plan::plan(held, turn, &request).await
        }
    }
}

/// The agent plans one turn at a time; naming another one is an error.
fn refuse_another_turn(session: &Session, folder: &Folder, named: Option<&str>) -> Outcome {
    let Some(named) = named else { return Ok(()) };
    workflow::turn(session, folder, Some(named))?;
    let Some(other) = session.drafting().filter(|turn| turn.folder != named) else { return Ok(()) };
    Err(Failure::new(Code::Refused, format!("turn {} is being planned, and comes first", other.folder))
        .hint(format!("Go on with it: rapport resume {}", folder.id)))
}

fn nobody_to_ask(id: &SessionId) -> Failure {
    Failure::new(
        Code::Usage,
        "no plan waits for review, and without a terminal you cannot be asked what to plan next",
    )
    .hint(format!("Say it: rapport resume {id} -m \"now the tests\""))
}
