//! `rapport branch`: another session in which a question is open again, or another attempt at a turn.

use std::path::Path;
use std::sync::Arc;

use rapport_core::{
    Branch, BranchPoint, ConversationId, Destination, QuestionId, Session, SessionId, StateWanted, slug,
};
use serde_json::json;

use super::branch_turn::{self, Beginning};
use super::output::{say, say_json};
use super::session_choice::{self, Known, Verb};
use super::{Common, sessions};
use crate::agents::{Cut, Whereabouts};
use crate::channels::terminal::safe;
use crate::clock::{self, Clock};
use crate::config::{self, AgentLayer, Layer};
use crate::engine::CONVERSATION;
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::BlockingStore;
use crate::turns::TurnName;
use crate::wiring::{self, SessionKind, Workspace};
use crate::workers::local::Directory;
use crate::workers::worktrees::{self, WorktreeStart, Worktrees};
use crate::workers::{Worker as _, WorkerError};

/// The maximum length of the task in the branch's name, so that the rest of the name fits.
const NAME: usize = 48;

/// Try a turn another way; or open a question again in another session, to try another answer
///
/// With a turn (02, 02-branch-01), by itself or as --at: creates another directory with the context of that turn, for
/// the next plan. If the turn, or one after it, changed files, say where the other attempt begins: with these changes
/// undone, in a git worktree without them, or with the files as they are. At a terminal you are asked.
///
/// With a session and --at: the branch has its own git worktree, with the files as they were at the question, and its
/// own copy of the conversation up to there. The original session is not touched, and may be running. Its work is
/// applied or discarded like that of any session in a worktree: rapport apply, rapport discard.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport branch 02                         another try of turn 02
  rapport branch 02 --undo                  first undo what it changed
  rapport branch 02 --worktree              leave that, try it in a worktree
  rapport branch add-auth --at 02           the same, of a session that is named
  rapport branch 20260124-add-auth --at q2
  rapport answer add-auth-branch --question q2 Passwords
  rapport resume add-auth-branch")]
pub(super) struct Args {
    /// The turn; or the session: its name, or a unique part of it (default: the one around the current directory, else
    /// the only one that fits)
    #[arg(value_name = "TURN|SESSION", required_unless_present = "at")]
    which: Option<String>,
    /// The question to open again; or the turn of the session
    #[arg(long, value_name = "QUESTION|TURN")]
    at: Option<String>,
    /// The session of the turn; or, with --at, the session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// The agent's command, if it has changed since the session began
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// With a turn: first undo what it and later turns changed
    #[arg(long, conflicts_with_all = ["worktree", "keep"])]
    undo: bool,
    /// With a turn: leave that as it is, and begin another session in a git worktree with the files as before the turn
    #[arg(long, conflicts_with = "keep")]
    worktree: bool,
    /// With a turn: begin with the files as they are
    #[arg(long)]
    keep: bool,
}

impl Args {
    /// Where another attempt begins, according to the flags.
    fn beginning(&self) -> Option<Beginning> {
        match (self.undo, self.worktree, self.keep) {
            (true, _, _) => Some(Beginning::Undo),
            (_, true, _) => Some(Beginning::Worktree),
            (_, _, true) => Some(Beginning::Keep),
            (false, false, false) => None,
        }
    }
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    wiring::refuse_agents()?;
    let (session, turn) = match &args.at {
        Some(at) => (args.which.as_deref().or(args.session.as_deref()), at.as_str()),
        None => (args.session.as_deref(), args.which.as_deref().unwrap_or_default()),
    };
    if let Some(turn) = TurnName::typed(turn) {
        return branch_turn::execute(common, session, &turn.to_string(), args.beginning());
    }
    let Some(at) = &args.at else {
        return Err(Failure::new(Code::Usage, format!("{:?} is not a turn", safe::line(turn)))
            .hint("Name a turn of a session of files: rapport branch 02")
            .hint(
                "or the question of another session that is to be open again: rapport branch SESSION --at q2",
            ));
    };
    if args.beginning().is_some() {
        return Err(Failure::new(Code::Usage, "--undo, --worktree and --keep are for branches of a turn")
            .hint("A branch at a question begins with the files as they were then."));
    }
    let place = Workspace::find(common)?;
    let store = BlockingStore::from(wiring::faulty(place.store_in(&SessionKind::Sessions)));
    let question = QuestionId::new(at);
    let fits = |known: &Known| {
        let entries = store.read(&known.id, 0).unwrap_or_default();
        Branch::at(&entries, &question).is_ok()
    };
    let verb = Verb::new("rapport branch SESSION --at QUESTION", format!("that can branch at {at}"), &fits);
    let origin = session_choice::choose(&place, session, &verb)?;
    let made = make(&place, &store, &origin, &question, &args)?;
    if common.json {
        return say_json(&json!({
            "session": made.session, "branched_from": made.origin, "worktree": made.worktree,
        }));
    }
    tell(&made)
}

/// What was made.
struct Made {
    session: SessionId,
    origin: BranchPoint,
    worktree: String,
}

/// Creates the worktree first and the session last, as a whole: an interruption leaves no session, and at most a
/// reserved name with an unused worktree, which `rapport discard` removes. A failure removes what was created.
fn make(
    place: &Workspace,
    store: &BlockingStore,
    origin: &SessionId,
    at: &QuestionId,
    args: &Args,
) -> Result<Made, Failure> {
    let entries = store.counted(origin, 0)?;
    let session = sessions::replay(store, origin, &entries)?;
    let branch = Branch::at(&entries, at)?;
    let name = &session.created().worker;
    if place.worker_kinds.is_wall(name) {
        let what = format!("a session in a {name} cannot be branched: the branch would not be confined");
        return Err(Failure::new(Code::Refused, what)
            .hint(format!("Begin another with the same task and the worker {name}")));
    }
    let project = Path::new(&branch.project);
    let workplace = place.workers().find(origin, session.created()).map_err(failed)?;
    let workplace = workplace.unwrap_or_else(|| Arc::new(Directory::at(project)));
    let state = match &branch.state {
        StateWanted::Noted(state) => state.clone(),
        StateWanted::AsItIs => match workplace.snapshot().map_err(failed)? {
            Some(state) => state,
            None => return Err(failed(WorkerError::NoRepository { directory: project.to_owned() })),
        },
    };
    let now = Clock::system().now();
    let task = slug::part(&session.view(origin).task);
    let reserved = store.reserve(&format!("{}-branch", &task[..task.len().min(NAME)]), now)?;
    let id = reserved.id().clone();
    let worktrees = Worktrees::new(config::worktrees(&place.project));
    let start = WorktreeStart { base: branch.base.clone().unwrap_or_else(|| state.clone()), state };
    let worktree = worktrees.make_at(&id, &place.project, &start).map_err(failed)?;
    let worktree = worktree.directory().to_string_lossy().into_owned();
    let destination = Destination {
        origin: BranchPoint { session: origin.clone(), question: branch.question().clone() },
        project: place.project.to_string_lossy().into_owned(),
        worker: worktrees::NAME.into(),
        conversation: clock::new_conversation(),
    };
    let whereabouts = [&*workplace.directory().to_string_lossy(), &worktree];
    let filled = conversation(place, store, args, (&session, &branch), &destination, whereabouts).and_then(
        |conversation| {
            let entries = branch.entries(&destination, now);
            Ok(reserved.fill(&entries, &[(CONVERSATION, &conversation)])?)
        },
    );
    if let Err(failure) = filled {
        // `rapport doctor` lists what cannot be removed.
        let _ = worktrees.remove(&id, &place.project);
        return Err(failure);
    }
    Ok(Made { session: id, worktree, origin: destination.origin })
}

/// The conversation of the branch: from the agent's own copy, else from the stored one.
fn conversation(
    place: &Workspace,
    store: &BlockingStore,
    args: &Args,
    (session, branch): (&Session, &Branch),
    to: &Destination,
    [from_directory, to_directory]: [&str; 2],
) -> Result<Vec<u8>, Failure> {
    let layer = AgentLayer { command: args.agent.clone(), ..AgentLayer::default() };
    let settings = place.settings(Layer { agent: layer, ..Layer::default() })?;
    let agents = wiring::agents(place, &settings)?;
    let agent = agents.find(session.agent()).map_err(|why| Failure::new(Code::Refused, why))?;
    let Some(conversations) = agent.conversations() else {
        return Err(Failure::new(Code::Refused, "this agent cannot begin in the middle of a conversation"));
    };
    let branched = conversations.branch(&Cut {
        call: &branch.call,
        is_waited_for: branch.is_waited_for,
        from: Whereabouts { conversation: &branch.conversation, directory: from_directory },
        to: Whereabouts { conversation: &to.conversation, directory: to_directory },
        kept: store.attached(&to.origin.session, CONVERSATION)?,
    })?;
    branched.ok_or_else(|| not_told(&branch.conversation, &to.origin.question))
}

fn not_told(conversation: &ConversationId, question: &QuestionId) -> Failure {
    let why = format!("the agent's conversation {conversation} is gone, or does not have that question");
    Failure::new(Code::Refused, format!("cannot branch at {question}: {why}"))
        .hint("If its agent is run with another command now, name that: --agent COMMAND")
}

fn failed(error: WorkerError) -> Failure {
    let message = format!("cannot make a worktree for the branch: {error}");
    match error {
        WorkerError::NoRepository { .. } | WorkerError::NoCommit { .. } => Failure::new(Code::Refused, message)
            .hint("Branches are kept apart by git. Put the project into a repository: git init && git add --all && git commit -m Begin"),
        WorkerError::FilesElsewhere { .. } => Failure::new(Code::Refused, message)
            .hint("If you did not set that, remove it: git config --unset core.worktree"),
        WorkerError::RepositoryElsewhere { .. } => Failure::new(Code::Refused, message),
        WorkerError::StateGone { .. } => Failure::new(Code::Refused, message)
            .hint("Git removes what nothing refers to after two weeks, or when `git gc --prune` is run."),
        _ => Failure::new(Code::Trouble, message),
    }
}

fn tell(made: &Made) -> Outcome {
    let Made { session, origin, worktree } = made;
    say(format_args!("Branched {} at {}.", origin.session, origin.question))?;
    say(format_args!("  session   {session}"))?;
    say(format_args!("  worktree  {}", safe::line(worktree)))?;
    say(format_args!("{} is open again there; other answers are kept.", origin.question))?;
    say(format_args!("Answer it and go on with: rapport resume {session}"))?;
    say(format_args!("Compare the two when they are done: rapport diff {} {session}", origin.session))?;
    say(format_args!("Then apply its work: rapport apply {session}"))?;
    say(format_args!("or discard it: rapport discard {session}"))
}
