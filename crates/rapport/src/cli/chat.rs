//! `rapport chat`: the lead of this project, in the terminal. Every call continues the same conversation.

use std::ffi::OsString;

use rapport_core::{Act, Aim, Created, Origin, SessionId};

use super::agent_flags::AgentFlags;
use super::run::{self, Start};
use super::{Common, detachment, say, screen, trust, typed_lines};
use crate::config::Settings;
use crate::error::{Code, Failure, Outcome};
use crate::wiring::{LEADS_BEGIN_IN, Workspace};

/// Talk to the lead: the conversation that knows the project and is asked first
///
/// What the agents of later sessions ask goes to the lead before it goes to you, as far as the setting lead.policy
/// lets it: with "assist" it drafts answers that you send, with "auto" it answers what it may, with a ground that you
/// see. Permissions, plans, money, secrets and what cannot be undone always come to you (docs/routing.md). Every call
/// continues the same conversation.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport chat \"how is this project tested?\"
  rapport chat                          go on with the conversation
  rapport chat --new \"let us start over\"")]
pub(super) struct Args {
    /// What to say; "-" reads it from standard input
    words: Vec<OsString>,
    /// Begin another conversation, which leads from now on
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    agent: AgentFlags,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    trust::ask_once(common, &place)?;
    let settings = place.settings(args.agent.layer())?;
    let start = match place.lead()?.filter(|_| !args.new) {
        Some(id) => {
            let said = (!args.words.is_empty()).then(|| say::words(&args.words)).transpose()?;
            joined(id, said)
        }
        None => Start::New(Box::new(new_lead(&place, &settings, first_words(common, &args.words)?)?)),
    };
    run::host(common, &place, &settings, start)
}

/// Says something to the lead of this project in a terminal, which is begun if there is none; it is shown here, or
/// `serve` runs it.
pub(super) fn tell(
    common: &Common,
    place: &Workspace,
    settings: &Settings,
    words: String,
    is_detached: bool,
) -> Outcome {
    let start = match place.lead()? {
        Some(id) if is_detached => return detachment::tell_lead(common, place, &id, words),
        Some(id) => joined(id, Some(words)),
        None => {
            let created = new_lead(place, settings, words)?;
            if is_detached {
                return detachment::begin_lead(common, place, created);
            }
            Start::New(Box::new(created))
        }
    };
    run::host(common, place, settings, start)
}

/// Another process may run the lead, because it runs a session that this lead leads.
fn joined(id: SessionId, said: Option<String>) -> Start {
    Start::Join { id, said: said.map(|text| Act::Say { text, id: None }) }
}

/// A new lead, with its first message.
fn new_lead(place: &Workspace, settings: &Settings, words: String) -> Result<Created, Failure> {
    let created = place.session(words, Aim::Chat, settings)?;
    let origin = Some(Origin { channel: LEADS_BEGIN_IN.into(), key: LEADS_BEGIN_IN.into() });
    Ok(Created { is_lead: true, origin, ..created })
}

/// The first message of a new conversation.
fn first_words(common: &Common, given: &[OsString]) -> Result<String, Failure> {
    if !given.is_empty() {
        return say::words(given);
    }
    if !screen::is_interactive() || common.json {
        return Err(Failure::new(Code::Usage, "there is no conversation yet, and nothing to say")
            .hint("Begin one with: rapport chat MESSAGE"));
    }
    super::output::say("What do you want to say to the lead? End with two empty lines.")?;
    let words = typed_lines::in_terminal("the message")?;
    if words.trim().is_empty() {
        return Err(Failure::new(Code::Usage, "the message is empty"));
    }
    Ok(words)
}
