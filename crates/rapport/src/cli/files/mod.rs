//! What the commands about sessions as files share: which session and turn is meant, holding it, and the two halves of a
//! turn: having it planned ([`drafting`]), and carrying it out ([`approving`]).

pub(super) mod approving;
pub(super) mod asking;
pub(super) mod batches;
pub(super) mod checking;
pub(super) mod drafting;
pub(super) mod hands;
pub(super) mod held;
pub(super) mod record;
pub(super) mod reporting;
pub(super) mod running;
pub(super) mod seals;
pub(super) mod told;

use std::path::PathBuf;

use jiff::Timestamp;
use rapport_core::{Aim, Event, SessionId};

use crate::config;
use crate::error::{Code, Failure};
use crate::stores::{Store as _, StoreError};
use crate::turns::{Folder, Turn};
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

/// The turn that is meant: the one that was named, else the latest.
pub(super) fn turn(folder: &Folder, named: Option<&str>) -> Result<Option<Turn>, Failure> {
    Ok(match named {
        Some(name) => Some(folder.turn(name)?),
        None => folder.latest()?,
    })
}
