//! `rapport chat`: the lead of this project, in the terminal. Every call continues the same conversation.

use std::ffi::OsString;

use rapport_core::{Act, Aim, Created, Origin, Session, SessionId};

use super::agent_flags::AgentFlags;
use super::run::{self, Start};
use super::{Common, say, screen, trust, typed_lines};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;

/// The name of the terminal as the place where a lead was begun.
const TERMINAL: &str = "terminal";

/// The number of recent sessions among which the lead is looked for.
const LOOKED_AT: usize = 200;

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
    let lead = lead_here(&place)?.filter(|_| !args.new);
    let start = match lead {
        Some(id) => {
            let said = (!args.words.is_empty()).then(|| say::words(&args.words)).transpose()?;
            // Another process may run it, because it runs a session that this lead leads.
            Start::Join { id, said: said.map(|text| Act::Say { text, id: None }) }
        }
        None => {
            let created = place.session(first_words(common, &args.words)?, Aim::Chat, &settings)?;
            let origin = Some(Origin { channel: TERMINAL.into(), key: TERMINAL.into() });
            Start::New(Box::new(Created { is_lead: true, origin, ..created }))
        }
    };
    run::host(common, &place, &settings, start)
}

/// The newest lead of this project that was begun in a terminal and has not ended.
pub(super) fn lead_here(place: &Workspace) -> Result<Option<SessionId>, Failure> {
    let store = place.store();
    let lead_since = |id: &SessionId| {
        // A session that is not trusted must not lead others.
        let session = store.counted(id, 0).ok().and_then(|entries| Session::replay(&entries))?;
        let created = session.created();
        let is_terminal = created.origin.as_ref().is_some_and(|origin| origin.channel == TERMINAL);
        (created.is_lead && is_terminal && !session.is_over()).then(|| session.times().0)
    };
    let newest = store.list()?.into_iter().rev().take(LOOKED_AT);
    let leads = newest.filter_map(|id| lead_since(&id).map(|since| (since, id)));
    // The names of one day are not sorted by time.
    Ok(leads.max_by_key(|(since, _)| *since).map(|(_, id)| id))
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
