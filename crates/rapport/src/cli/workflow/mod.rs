//! Common parts of the commands about sessions with turns: choosing the session and turn, holding it, and the two
//! halves of a turn: planning ([`plan`]), and reviewing and running ([`review`]).

pub(super) mod context;
pub(crate) mod helpers;
pub(super) mod open_session;
pub(super) mod plan;
pub(super) mod prompts;
pub(super) mod review;
pub(super) mod run;
pub(super) mod seals;

use std::path::PathBuf;

use rapport_core::{Aim, Entry, Event, FileTurn, FoundTurns, Input, Session, World};
use tokio::runtime::Handle;

use super::session_choice::{self, Known, Verb};
use crate::clock::Clock;
use crate::config::{Layer, Settings};
use crate::error::{Code, Failure};
use crate::seals::Seal;
use crate::stores::StoreError;
use crate::stores::blocking::wait;
use crate::turns::batches::{Batches, Naming};
use crate::turns::preparation::TurnPreparation;
use crate::turns::{Folder, TurnError, discovery};
use crate::wiring::{SessionKind, Workspace};

/// The session and turn arguments.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Where {
    /// The session (default: the one around the current directory, else the only one that fits)
    #[arg(long, value_name = "SESSION")]
    pub(super) session: Option<String>,
    /// The turn (default: the latest)
    #[arg(long, value_name = "TURN")]
    pub(super) turn: Option<String>,
}

/// The session with turns for a command with this usage.
pub(super) fn find(place: &Workspace, named: Option<&str>, usage: &'static str) -> Result<Folder, Failure> {
    let verb = Verb::new(usage, "of files", &Known::has_turns).rather(Known::goes_on);
    find_for(place, named, &verb.else_try("Begin one with: rapport new NAME"))
}

/// The session with turns for this verb.
pub(super) fn find_for(place: &Workspace, named: Option<&str>, verb: &Verb<'_>) -> Result<Folder, Failure> {
    let folder = place.folder(&session_choice::choose(place, named, verb)?);
    if has_turns(place, &folder)? {
        return Ok(folder);
    }
    let resume = format!("Go on with: rapport resume {}", folder.id);
    Err(Failure::new(Code::Refused, format!("{} is not a session of files", folder.id)).hint(resume))
}

/// Whether a session has turns. One of an older tool has no log.
fn has_turns(place: &Workspace, folder: &Folder) -> Result<bool, Failure> {
    let first = match place.store().read(&folder.id, 0) {
        Ok(entries) => entries.into_iter().next(),
        Err(StoreError::NotFound(_)) => return Ok(true),
        Err(error) => return Err(error.into()),
    };
    let is_of_files = |fact: &Event| matches!(fact, Event::Created(created) if created.aim == Aim::Files);
    Ok(first.is_some_and(|entry| entry.facts.iter().any(is_of_files)))
}

/// A session's current state: its log, and its documents. Nothing is written.
pub(super) fn state(place: &Workspace, folder: &Folder) -> Result<Session, Failure> {
    Ok(sealed_state(place, folder)?.0)
}

/// The same, with the result of checking its signatures.
pub(super) fn sealed_state(place: &Workspace, folder: &Folder) -> Result<(Session, Seal), Failure> {
    wait(read_state(place, folder))
}

/// The same for async code.
pub(super) async fn read_state(place: &Workspace, folder: &Folder) -> Result<(Session, Seal), Failure> {
    let store = place.store_in(&SessionKind::Sessions);
    let now = Clock::system().now();
    let (mut session, seal) = match store.sealed(&folder.id, 0).await {
        Ok((entries, seal)) => (store.replay(&folder.id, &entries)?, seal),
        // A directory without a log is not signed: an older tool made it, or it came from elsewhere.
        Err(StoreError::NotFound(_)) => {
            let first = Entry { seq: 1, at: now, facts: first_facts(place, folder)? };
            (Session::open(&first).ok_or_else(|| StoreError::NotFound(folder.id.clone()))?, Seal::Unsigned)
        }
        Err(error) => return Err(error.into()),
    };
    if store.holder(&folder.id).await.ok().flatten().is_some() {
        // Its holder knows its turns.
        return Ok((session, seal));
    }
    let found = found(place, folder, seal.counts()).await?;
    let seal = discovery::seal(seal, &session, &found);
    let facts = session.decide(&Input::World(World::Found(found)), now)?;
    let entry = Entry { seq: session.seq() + 1, at: now, facts };
    session.apply_entry(&entry);
    Ok((session, seal))
}

/// What prepares the turns of a session.
pub(super) async fn preparation(
    place: &Workspace,
    settings: &Settings,
    folder: &Folder,
    session: &Session,
) -> Result<TurnPreparation, Failure> {
    Ok(TurnPreparation {
        folder: folder.clone(),
        project: place.project.clone(),
        files: files_of(place, folder, session).await?,
        agent: place.planning_agent(settings),
        max_file_bytes: settings.max_file_bytes,
    })
}

/// The directory with the files of a session. Found on a blocking thread; outside of a runtime on the current one.
pub(super) async fn files_of(
    place: &Workspace,
    folder: &Folder,
    session: &Session,
) -> Result<PathBuf, Failure> {
    let (place, id, created) = (place.clone(), folder.id.clone(), session.created().clone());
    let find = move || place.files_of(&id, &created);
    match Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(find).await.map_err(std::io::Error::other)?,
        Err(_) => find(),
    }
}

/// The turns among a session's documents. Of an untrusted session, everything is returned.
pub(super) async fn found(place: &Workspace, folder: &Folder, counts: bool) -> Result<FoundTurns, Failure> {
    let batches = if counts { place.batches() } else { Batches::of(&place.project, Naming::ByTurn) };
    Ok(discovery::with_batches(&folder.id, discovery::turns(folder).await?, &batches)?)
}

/// The first facts of a log for a directory that came without one.
pub(super) fn first_facts(place: &Workspace, folder: &Folder) -> Result<Vec<Event>, Failure> {
    let settings = place.settings(Layer::default())?;
    let task = folder.id.as_str().split_once('-').map_or(folder.id.as_str(), |(_, name)| name);
    Ok(Session::begin(place.session(task.to_owned(), Aim::Files, &settings)?)?)
}

/// The named turn, else the latest.
pub(super) fn turn<'a>(
    session: &'a Session,
    folder: &Folder,
    named: Option<&str>,
) -> Result<Option<&'a FileTurn>, Failure> {
    match named {
        Some(name) => {
            let missing = || TurnError::NoTurn { name: name.to_owned(), session: folder.id.to_string() };
            Ok(Some(session.file_turn(name).ok_or_else(missing)?))
        }
        None => Ok(session.latest_turn()),
    }
}
