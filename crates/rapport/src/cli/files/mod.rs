//! What the commands about sessions as files share: which session and turn is meant, holding it, and the two halves of a
//! turn: having it planned ([`drafting`]), and having it reviewed and run ([`reviewing`]).

pub(super) mod asking;
pub(super) mod batch;
pub(super) mod drafting;
pub(super) mod held;
pub(crate) mod helpers;
pub(super) mod reviewing;
pub(super) mod seals;
pub(super) mod told;

use std::path::PathBuf;

use jiff::Timestamp;
use rapport_core::{Aim, Entry, Event, FileTurn, Input, Session, SessionId, World};

use super::sessions;
use crate::clock::Clock;
use crate::config::{self, Layer};
use crate::error::{Code, Failure};
use crate::stores::StoreError;
use crate::turns::batches::{Batches, Naming};
use crate::turns::{Folder, TurnError, found};
use crate::wiring::Place;

/// Which session and turn is meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Where {
    /// The session (default: the one the current directory is in, else the newest)
    #[arg(long, value_name = "SESSION")]
    pub(super) session: Option<String>,
    /// The turn (default: the latest)
    #[arg(long, value_name = "TURN")]
    pub(super) turn: Option<String>,
}

/// Where a project's sessions are.
pub(super) fn sessions_of(place: &Place) -> PathBuf {
    config::sessions(&place.project)
}

/// The session that is meant: the one that was named, else the one the current directory is in, else the newest.
pub(super) fn find(place: &Place, named: Option<&str>) -> Result<Folder, Failure> {
    let sessions = sessions_of(place);
    if let Some(name) = named {
        return by_name(place, name);
    }
    let here = std::env::current_dir().ok().and_then(|here| Folder::around(&sessions, &here));
    if let Some(id) = here {
        return checked(place, Folder::new(&sessions, &id));
    }
    let mut all = Vec::new();
    for folder in Folder::all(&sessions)? {
        if let Some(begun) = begun(place, &folder)? {
            all.push((begun, folder));
        }
    }
    all.sort_by(|(begun, folder), (other_begun, other)| {
        (begun, folder.id.as_str()).cmp(&(other_begun, other.id.as_str()))
    });
    all.pop().map(|(_, folder)| folder).ok_or_else(|| {
        Failure::new(Code::NotFound, format!("there is no session of files in {}", place.project.display()))
            .hint("Begin one with: rapport new NAME")
    })
}

fn by_name(place: &Place, name: &str) -> Result<Folder, Failure> {
    let (all, known) = (Folder::all(&sessions_of(place))?, place.store().list()?);
    let mut exact = all.iter().map(|folder| &folder.id).chain(&known).filter(|id| id.as_str() == name);
    if let Some(id) = exact.next() {
        return checked(place, Folder::new(&sessions_of(place), id));
    }
    let is_meant = |folder: &&Folder| !name.is_empty() && folder.id.as_str().contains(name);
    let alike: Vec<_> = all.iter().filter(is_meant).collect();
    match alike.as_slice() {
        [] => Err(StoreError::NotFound(SessionId::new(name)).into()),
        [only] => checked(place, (*only).clone()),
        several => {
            let names: Vec<_> = several.iter().map(|folder| folder.id.as_str()).collect();
            Err(Failure::new(Code::NotFound, format!("several sessions are called like {name}"))
                .hint(format!("Name one of them: {}.", names.join(", "))))
        }
    }
}

/// A session of another kind has no turns.
fn checked(place: &Place, folder: Folder) -> Result<Folder, Failure> {
    if begun(place, &folder)?.is_some() {
        return Ok(folder);
    }
    let resume = format!("Go on with it by: rapport run --resume {}", folder.id);
    Err(Failure::new(Code::Refused, format!("{} is not a session of files", folder.id)).hint(resume))
}

/// When a session of files was begun; `None` where it is a session of another kind.
fn begun(place: &Place, folder: &Folder) -> Result<Option<Timestamp>, Failure> {
    let first = match place.store().read(&folder.id, 0) {
        Ok(entries) => entries.into_iter().next(),
        // One of an older tool has no log.
        Err(StoreError::NotFound(_)) => {
            let first = folder.turns()?.first().map(|turn| turn.created);
            return Ok(Some(first.unwrap_or(Timestamp::UNIX_EPOCH)));
        }
        Err(error) => return Err(error.into()),
    };
    let is_ours = |fact: &Event| matches!(fact, Event::Created(created) if created.aim == Aim::Files);
    Ok(first.filter(|entry| entry.facts.iter().any(is_ours)).map(|entry| entry.at))
}

/// A session as it stands: what its log says, and what else is in its directory. Nothing is written.
pub(super) fn state(place: &Place, folder: &Folder) -> Result<Session, Failure> {
    let store = place.store();
    let now = Clock::system().now();
    let mut session = match store.read(&folder.id, 0) {
        Ok(entries) => sessions::replay(&*store, &folder.id, &entries)?,
        // One of an older tool has no log.
        Err(StoreError::NotFound(_)) => {
            let settings = place.settings(Layer::default())?;
            let task = folder.id.to_string();
            let facts = Session::begin(place.session(task, Aim::Files, &settings)?)?;
            let first = Entry { seq: 1, at: now, facts };
            Session::open(&first).ok_or_else(|| StoreError::NotFound(folder.id.clone()))?
        }
        Err(error) => return Err(error.into()),
    };
    if store.holder(&folder.id).ok().flatten().is_some() {
        // Whoever holds it knows what is there.
        return Ok(session);
    }
    let found = found::found(folder, &Batches::of(&place.project, Naming::ByTurn))?;
    let facts = session.decide(&Input::World(World::Found(found)), now)?;
    let entry = Entry { seq: session.seq() + 1, at: now, facts };
    session.apply_entry(&entry);
    Ok(session)
}

/// The turn that is meant: the one that was named, else the latest.
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
