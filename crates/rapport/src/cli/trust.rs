//! `rapport trust`: look at what others wrote, then let it count.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::files::asking;
use super::output::{say, say_json};
use super::screen::word;
use super::{Common, trust_session};
use crate::channels::terminal::safe;
use crate::error::{Code, Failure, Outcome};
use crate::projects::trust::{Brought, Standing};
use crate::wiring::{Place, refuse_agents};

/// Look at what others wrote (what a project brings, a session, a batch), and let it count
///
/// A project can bring settings that name programs, servers or people, or that loosen what is asked, and hooks and servers for
/// the agent's CLI. They count only after you have looked at them here. Trust is pinned to what was shown: when it changes, you
/// are asked again.
///
/// A session or a batch that your own Rapport did not write starts nothing. Given its name, this shows what it would do and,
/// if you say so, lets it count as it is. What somebody adds to it later does not count.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport trust                 show what this project brings, and ask
  rapport trust ~/work/app      the same for another project
  rapport trust --yes           let it count without being asked, for scripts
  rapport trust --revoke        what you trusted no longer counts
  rapport trust add-auth        show what this session would do, and ask
  rapport trust --all-mine      take over your sessions from before entries were signed")]
pub(super) struct Args {
    /// The project's directory (default: the one around the current directory); or a session or a batch of this project
    #[arg(value_name = "DIR|SESSION|BATCH")]
    what: Option<PathBuf>,
    /// Every session and batch here that was written before entries were signed, or by you in another checkout
    #[arg(long, conflicts_with_all = ["what", "revoke"])]
    all_mine: bool,
    /// Let it count without being asked
    #[arg(long, short, conflicts_with = "revoke")]
    yes: bool,
    /// Take back what you trusted
    #[arg(long)]
    revoke: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    // A person trusts what others wrote, never an agent that works with it.
    refuse_agents()?;
    if args.all_mine {
        return trust_session::all_mine(common, &Place::find(common)?, args.yes);
    }
    let place = match args.what {
        Some(what) if is_directory(&what) => Place::find(&Common { project: Some(what), ..common.clone() })?,
        Some(_) if args.revoke => {
            return Err(Failure::new(Code::Usage, "only what a project brings can be revoked"));
        }
        Some(what) => {
            let (place, name) = (Place::find(common)?, what.to_string_lossy());
            let named = trust_session::find(&place, &name).map_err(|failure| match what.is_dir() {
                true => failure.hint(format!("If you mean the directory: rapport trust {}/", word(&name))),
                false => failure,
            })?;
            return trust_session::execute(common, &place, named, args.yes);
        }
        None => Place::find(common)?,
    };
    let trust = place.trust()?;
    if args.revoke {
        trust.forget()?;
        return told(common, &place, "What you trusted in this project no longer counts.");
    }
    let brought = place.brought();
    let standing = trust.standing(&brought);
    if common.json && !args.yes {
        return say_json(&Shown::of(&place, &brought, standing));
    }
    if !common.json {
        show(&place.project, &brought)?;
    }
    if standing == Standing::Trusted {
        let what =
            if brought.is_empty() { "There is nothing to trust." } else { "You trust all of this already." };
        return told(common, &place, what);
    }
    refuse_unseen(&brought)?;
    match if args.yes { Some(true) } else { answer(common)? } {
        Some(true) => {
            trust.trust(&brought)?;
            told(common, &place, "It counts from now on, as it is. You are asked again when it changes.")
        }
        Some(false) => {
            trust.decline(&brought)?;
            told(common, &place, "It does not count. You are asked again when it changes.")
        }
        None => told(common, &place, "Nothing was said, so it does not count."),
    }
}

/// Whether a directory is meant, and no session: a name alone is a session's, `app/` is a directory.
fn is_directory(what: &Path) -> bool {
    what.as_os_str().as_encoded_bytes().ends_with(b"/")
        || what.components().count() > 1
        || what.is_absolute()
        || what.starts_with(".")
        || what.starts_with("..")
}

/// Asks the person at this terminal once about what the project brings. Without one, and where they said no, it does not
/// count, which is told when the settings are read and when an agent is started.
pub(super) fn ask_once(common: &Common, place: &Place) -> Outcome {
    let brought = place.brought();
    let trust = place.trust()?;
    let is_new =
        trust.standing(&brought) == Standing::Unseen && brought.iter().all(|one| one.digest.is_some());
    if !is_new || !asking::is_possible(common) || refuse_agents().is_err() {
        return Ok(());
    }
    show(&place.project, &brought)?;
    match answer(common)? {
        Some(true) => trust.trust(&brought)?,
        Some(false) => trust.decline(&brought)?,
        None => {}
    }
    Ok(())
}

/// What cannot be looked at is not trusted by anybody.
fn refuse_unseen(brought: &[Brought]) -> Outcome {
    match brought.iter().find(|one| one.digest.is_none()) {
        None => Ok(()),
        Some(unseen) => {
            let why = unseen.says.join(" ");
            let what = format!("{} cannot be looked at: {}", safe::line(&unseen.name), safe::line(&why));
            Err(Failure::new(Code::Refused, what).hint("Remove it, then look again: rapport trust"))
        }
    }
}

/// Asks whether all of this counts. `None` where nothing was said.
fn answer(common: &Common) -> Result<Option<bool>, Failure> {
    if !asking::is_possible(common) {
        return Err(Failure::new(Code::Refused, "nobody can be asked here whether to trust this project")
            .hint("If you have looked at it, say so: rapport trust --yes"));
    }
    asking::decision("Do you trust this project, so that all of this counts?")
}

fn show(project: &Path, brought: &[Brought]) -> Outcome {
    if brought.is_empty() {
        return Ok(());
    }
    say(format_args!("{} brings along:", safe::line(&project.display().to_string())))?;
    for one in brought {
        say(format_args!("  {}", safe::line(&one.name)))?;
        for line in &one.says {
            say(format_args!("    {}", safe::line(line)))?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Shown<'a> {
    project: String,
    trusted: bool,
    brings: &'a [Brought],
}

impl<'a> Shown<'a> {
    fn of(place: &Place, brings: &'a [Brought], standing: Standing) -> Self {
        let project = place.project.display().to_string();
        Self { project, trusted: standing == Standing::Trusted, brings }
    }
}

fn told(common: &Common, place: &Place, words: &str) -> Outcome {
    if !common.json {
        return say(words);
    }
    let brought = place.brought();
    let standing = place.trust()?.standing(&brought);
    say_json(&Shown::of(place, &brought, standing))
}
