//! `rapport trust`: shows files, sessions and batches from others, and trusts them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::output::{say, say_json};
use super::screen::word;
use super::workflow::prompts;
use super::{Common, trust_session};
use crate::channels::terminal::terminal_text;
use crate::error::{Code, Failure, Outcome};
use crate::projects::trust::{Brought, TrustLevel};
use crate::wiring::{Workspace, refuse_agents};

/// Look at what others wrote (project configuration, a session, a batch), and trust it
///
/// A project can bring settings that name programs, servers or people, or that relax what is asked, and hooks and
/// servers for the agent's CLI. They take effect only after you have seen and trusted them here. Trust is pinned to
/// what was shown: when it changes, you are asked again.
///
/// A session or a batch that your own Rapport did not write starts nothing. Given its name, this shows what it would do
/// and, if you agree, trusts it as it is. Later additions by others are not trusted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport trust                 show what this project brings, and ask
  rapport trust ~/work/app      the same for another project
  rapport trust --yes           trust it without being asked, for scripts
  rapport trust --revoke        what you trusted no longer counts
  rapport trust add-auth        show what this session would do, and ask
  rapport trust --all-mine      take over your sessions from before entries were signed")]
pub(super) struct Args {
    /// The project's directory (default: the one around the current directory); or a session or a batch of this project
    #[arg(value_name = "DIR|SESSION|BATCH")]
    what: Option<PathBuf>,
    /// All sessions and batches here that were written before entries were signed, or by you in another checkout
    #[arg(long, conflicts_with_all = ["what", "revoke"])]
    all_mine: bool,
    /// Trust it without being asked
    #[arg(long, short, conflicts_with = "revoke")]
    yes: bool,
    /// Revoke your trust
    #[arg(long)]
    revoke: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    // Only a person may trust what others wrote, never an agent.
    refuse_agents()?;
    if args.all_mine {
        return trust_session::all_mine(common, &Workspace::find(common)?, args.yes);
    }
    let place = match args.what {
        Some(what) if is_directory(&what) => {
            Workspace::find(&Common { project: Some(what), ..common.clone() })?
        }
        Some(_) if args.revoke => {
            return Err(Failure::new(Code::Usage, "only what a project brings can be revoked"));
        }
        Some(what) => {
            let (place, name) = (Workspace::find(common)?, what.to_string_lossy());
            let named = trust_session::find(&place, &name).map_err(|failure| match what.is_dir() {
                true => failure.hint(format!("If you mean the directory: rapport trust {}/", word(&name))),
                false => failure,
            })?;
            return trust_session::execute(common, &place, named, args.yes);
        }
        None => Workspace::find(common)?,
    };
    let trust = place.trust()?;
    if args.revoke {
        trust.forget()?;
        return print_trust(common, &place, "This project is no longer trusted.");
    }
    let brought = place.brought();
    let standing = trust.standing(&brought);
    if common.json && !args.yes {
        return say_json(&Shown::of(&place, &brought, standing));
    }
    if !common.json {
        show(&place.project, &brought)?;
    }
    if standing == TrustLevel::Trusted {
        let what =
            if brought.is_empty() { "There is nothing to trust." } else { "You trust all of this already." };
        return print_trust(common, &place, what);
    }
    refuse_unseen(&brought)?;
    match if args.yes { Some(true) } else { answer(common)? } {
        Some(true) => {
            trust.trust(&brought)?;
            print_trust(
                common,
                &place,
                "It is trusted from now on, as it is. You are asked again when it changes.",
            )
        }
        Some(false) => {
            trust.decline(&brought)?;
            print_trust(common, &place, "It is not trusted. You are asked again when it changes.")
        }
        None => print_trust(common, &place, "There was no answer, so it is not trusted."),
    }
}

/// Whether a directory is meant, and not a session: a plain name is a session's, `app/` is a directory.
fn is_directory(what: &Path) -> bool {
    what.as_os_str().as_encoded_bytes().ends_with(b"/")
        || what.components().count() > 1
        || what.is_absolute()
        || what.starts_with(".")
        || what.starts_with("..")
}

/// Asks the person at this terminal once about the project's configuration. Without a terminal, or after a no, it is
/// not trusted, which is reported when the settings are read and when an agent is started.
pub(super) fn ask_once(common: &Common, place: &Workspace) -> Outcome {
    let brought = place.brought();
    let trust = place.trust()?;
    let used = place.brought_and_used();
    let is_new =
        trust.standing(&used) == TrustLevel::Unseen && brought.iter().all(|one| one.digest.is_some());
    if !is_new || !prompts::is_possible(common) || refuse_agents().is_err() {
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

/// Refuses files that cannot be read, because they cannot be trusted unseen.
fn refuse_unseen(brought: &[Brought]) -> Outcome {
    match brought.iter().find(|one| one.digest.is_none()) {
        None => Ok(()),
        Some(unseen) => {
            let why = unseen.says.join(" ");
            let what = format!(
                "{} cannot be looked at: {}",
                terminal_text::line(&unseen.name),
                terminal_text::line(&why)
            );
            Err(Failure::new(Code::Refused, what).hint("Remove it, then look again: rapport trust"))
        }
    }
}

/// Asks whether to trust all of this. `None` at the end of the input.
fn answer(common: &Common) -> Result<Option<bool>, Failure> {
    if !prompts::is_possible(common) {
        return Err(Failure::new(Code::Refused, "nobody can be asked here whether to trust this project")
            .hint("If you have looked at it, say so: rapport trust --yes"));
    }
    prompts::decision("Do you trust this project with all of this?")
}

fn show(project: &Path, brought: &[Brought]) -> Outcome {
    if brought.is_empty() {
        return Ok(());
    }
    say(format_args!("{} brings along:", terminal_text::line(&project.display().to_string())))?;
    for one in brought {
        say(format_args!("  {}", terminal_text::line(&one.name)))?;
        for line in &one.says {
            say(format_args!("    {}", terminal_text::line(line)))?;
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
    fn of(place: &Workspace, brings: &'a [Brought], standing: TrustLevel) -> Self {
        let project = place.project.display().to_string();
        Self { project, trusted: standing == TrustLevel::Trusted, brings }
    }
}

fn print_trust(common: &Common, place: &Workspace, words: &str) -> Outcome {
    if !common.json {
        return say(words);
    }
    let brought = place.brought();
    let standing = place.trust()?.standing(&brought);
    say_json(&Shown::of(place, &brought, standing))
}
