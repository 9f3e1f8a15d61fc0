//! `rapport branch`: another session in which a question is open again, or another attempt at a turn.

use rapport_core::{Branch, QuestionId};
use serde_json::json;

use super::Common;
use super::branch_turn::{self, Beginning};
use super::output::{say, say_json};
use super::session_choice::{self, Known, Verb};
use crate::branches::{self, Branched};
use crate::channels::terminal::terminal_text;
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::BlockingStore;
use crate::turns::TurnName;
use crate::wiring::{self, SessionKind, Workspace};

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
        return Err(Failure::new(Code::Usage, format!("{:?} is not a turn", terminal_text::line(turn)))
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
    let made = branches::make(&place, &store, &origin, &question, args.agent.as_deref())?;
    if common.json {
        return say_json(&json!({
            "session": made.session, "branched_from": made.origin, "worktree": made.worktree,
        }));
    }
    tell(&made)
}

pub(super) fn tell(made: &Branched) -> Outcome {
    let Branched { session, origin, worktree } = made;
    say(format_args!("Branched {} at {}.", origin.session, origin.question))?;
    say(format_args!("  session   {session}"))?;
    say(format_args!("  worktree  {}", terminal_text::line(worktree)))?;
    say(format_args!("{} is open again there; other answers are kept.", origin.question))?;
    say(format_args!("Answer it and go on with: rapport resume {session}"))?;
    say(format_args!("Compare the two when they are done: rapport diff {} {session}", origin.session))?;
    say(format_args!("Then apply its work: rapport apply {session}"))?;
    say(format_args!("or discard it: rapport discard {session}"))
}
