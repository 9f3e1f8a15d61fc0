//! A session's directory, the turns in it, and which of them comes next.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use rapport_core::{SessionId, slug};
use rapport_durable as durable;

use super::{
    CONTEXT_LOG, Meta, PLAN, REPORT, SESSION_CONTEXT, TURN_CONTEXT, TurnError, TurnName, io_error, name, sync,
};

/// A session's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The session's name, which is the directory's.
    pub id: SessionId,
    /// Where it is.
    pub path: PathBuf,
}

/// One turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its name, which is its directory's.
    pub name: TurnName,
    /// Where it is.
    pub path: PathBuf,
    /// Where it comes from, as far as that is known.
    pub meta: Meta,
    /// When it was made.
    pub created: Timestamp,
}

/// How far a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is no plan in it.
    Unplanned,
    /// There is a plan, and nothing was done about it.
    Pending,
    /// There is a report.
    Complete,
}

impl Folder {
    /// The session of this name below the directory of all sessions.
    pub fn new(sessions: &Path, id: &SessionId) -> Self {
        Self { id: id.clone(), path: sessions.join(id.as_str()) }
    }

    /// Every directory that looks like a session of files, by name. Whether its log agrees is not looked at.
    pub fn all(sessions: &Path) -> Result<Vec<Self>, TurnError> {
        let entries = match fs::read_dir(sessions) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io_error("list the sessions in", sessions))?,
        };
        // A link could lead anywhere; names are printed, and pasted into shells.
        let entries = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut all: Vec<_> = names
            .filter(|name| slug::is_name(name))
            .map(|name| Self::new(sessions, &SessionId::new(name)))
            .collect();
        all.retain(Self::looks_like_one);
        all.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
        Ok(all)
    }

    /// Whether there are turns in it, or what they are made from.
    fn looks_like_one(&self) -> bool {
        self.path.join(SESSION_CONTEXT).is_file() || self.turns().is_ok_and(|turns| !turns.is_empty())
    }

    /// The session a directory is in, if it is in one.
    pub fn around(sessions: &Path, directory: &Path) -> Option<SessionId> {
        let sessions = sessions.canonicalize().ok()?;
        let inside = directory.canonicalize().ok()?;
        let name = inside.strip_prefix(sessions).ok()?.iter().next()?.to_str()?;
        Some(SessionId::new(name))
    }

    /// Its turns, in the order in which they were made.
    pub fn turns(&self) -> Result<Vec<Turn>, TurnError> {
        let entries = fs::read_dir(&self.path).map_err(io_error("list the turns in", &self.path))?;
        let mut turns = Vec::new();
        for entry in entries {
            let entry = entry.map_err(io_error("list the turns in", &self.path))?;
            let name = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(name) = name.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
                turns.push(Turn::read(name, entry.path())?);
            }
        }
        turns.sort_by_key(|turn| (turn.created, turn.name));
        Ok(turns)
    }

    /// The turn of this name.
    pub fn turn(&self, name: &str) -> Result<Turn, TurnError> {
        let missing = || TurnError::NoTurn { name: name.to_owned(), session: self.id.to_string() };
        let known: TurnName = name.parse().map_err(|()| missing())?;
        self.turns()?.into_iter().find(|turn| turn.name == known).ok_or_else(missing)
    }

    /// The turn that was made last; `None` before the first.
    pub fn latest(&self) -> Result<Option<Turn>, TurnError> {
        Ok(self.turns()?.pop())
    }

    /// Makes the directory of the turn after this one. To make it is to find out whether the name is free, so nobody else
    /// gets it.
    pub fn make_next(&self, after: Option<&Turn>, now: Timestamp) -> Result<Turn, TurnError> {
        let number = after.map_or(1, |turn| turn.name.number + 1);
        if number > name::MOST {
            return Err(TurnError::Full { session: self.id.to_string() });
        }
        self.make(TurnName::at(number), after.map(|turn| turn.name), now)
    }

    /// Makes the directory of another try of this turn, with what that one was to be shown, and was.
    pub fn make_branch(&self, of: &Turn, now: Timestamp) -> Result<Turn, TurnError> {
        let made = self.make(TurnName::at(of.name.number).skip(1), Some(of.name), now)?;
        for name in [TURN_CONTEXT, CONTEXT_LOG] {
            let from = of.path.join(name);
            match super::read(&from) {
                Ok(content) => super::replace(&made.path.join(name), &content)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io_error("read", &from)(error)),
            }
        }
        Ok(made)
    }

    fn make(
        &self,
        mut names: impl Iterator<Item = TurnName>,
        parent: Option<TurnName>,
        now: Timestamp,
    ) -> Result<Turn, TurnError> {
        // Turns are ordered by when they were made; a clock that was set back must not change that.
        let latest = self.latest()?.map(|turn| turn.created);
        let now = latest.filter(|latest| *latest >= now).map_or(now, just_after);
        let (name, path) = loop {
            let name = names.next().ok_or_else(|| TurnError::Full { session: self.id.to_string() })?;
            let path = self.path.join(name.to_string());
            match durable::new_private_folder(&path) {
                Ok(()) => break (name, path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error("create the directory", &path)(error)),
            }
        };
        let meta = Meta::new(name, parent, now);
        let made = meta.write(&path).and_then(|()| sync(&self.path));
        if made.is_err() {
            // Nothing is in it yet. What cannot be removed is a turn without a plan, which the next plan fills.
            let _ = durable::remove_folder(&path);
        }
        made?;
        Ok(Turn { name, path, meta, created: now })
    }
}

fn just_after(latest: Timestamp) -> Timestamp {
    latest.checked_add(jiff::SignedDuration::from_millis(1)).unwrap_or(latest)
}

impl Turn {
    fn read(name: TurnName, path: PathBuf) -> Result<Self, TurnError> {
        let meta = Meta::read(&path)?.unwrap_or_default();
        let created = meta.created().unwrap_or_else(|| modified(&path));
        Ok(Self { name, path, meta, created })
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// How far it is.
    pub fn standing(&self) -> Standing {
        match (self.file(PLAN).exists(), self.file(REPORT).exists()) {
            (_, true) => Standing::Complete,
            (true, false) => Standing::Pending,
            (false, false) => Standing::Unplanned,
        }
    }

    /// The turn before this one in its line, among all of the session: another try follows what the first try followed.
    pub fn before<'a>(&self, turns: &'a [Turn]) -> Option<&'a Turn> {
        let find = |name: TurnName| turns.iter().find(|turn| turn.name == name);
        let mut parent = match self.meta.parent() {
            Some(parent) => find(parent)?,
            // Turns of a tool that kept no parents follow each other.
            None if self.meta.turn_id.is_empty() && self.name.branch == 0 => {
                find(TurnName::numbered(self.name.number.checked_sub(1)?))?
            }
            None => return None,
        };
        // A chain of tries has an end, unless somebody made a ring of it.
        for _ in 0..turns.len() {
            if parent.name.number < self.name.number {
                return Some(parent);
            }
            parent = find(parent.meta.parent()?)?;
        }
        None
    }
}

/// When a directory was last changed; long ago where nobody knows.
fn modified(path: &Path) -> Timestamp {
    let modified = fs::metadata(path).and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    Timestamp::try_from(modified).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path(), &SessionId::new("20260124-add-user-auth"));
        fs::create_dir(&folder.path).unwrap();
        (root, folder)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_769_000_000 + second).unwrap()
    }

    // FILE-4, FILE-5, FILE-38, FILE-39: turns follow each other; a branch has what its origin was shown, not what came of it.
    #[test]
    fn file_38_branches_go_on_as_their_own_line() {
        let (_root, folder) = folder();
        let first = folder.make_next(None, at(1)).unwrap();
        let second = folder.make_next(Some(&first), at(2)).unwrap();
        for name in [TURN_CONTEXT, CONTEXT_LOG, PLAN, REPORT] {
            fs::write(second.file(name), name).unwrap();
        }
        let third = folder.make_next(Some(&second), at(3)).unwrap();
        // Made by a clock that was set back.
        let branch = folder.make_branch(&second, at(0)).unwrap();
        let again = folder.make_branch(&branch, at(5)).unwrap();
        let on = folder.make_next(Some(&branch), at(6)).unwrap();
        let names: Vec<_> = folder.turns().unwrap().iter().map(|turn| turn.name.to_string()).collect();
        assert_eq!(names, ["01", "02", "03", "02-branch-01", "02-branch-02", "03-branch-01"]);
        assert_eq!(fs::read_to_string(branch.file(TURN_CONTEXT)).unwrap(), TURN_CONTEXT);
        assert_eq!(fs::read_to_string(again.file(CONTEXT_LOG)).unwrap(), CONTEXT_LOG);
        assert_eq!((second.standing(), branch.standing()), (Standing::Complete, Standing::Unplanned));
        let turns = folder.turns().unwrap();
        let before = |turn: &Turn| turn.before(&turns).map(|turn| turn.name.to_string());
        assert_eq!(before(&first), None);
        assert_eq!(before(&third).as_deref(), Some("02"));
        assert_eq!(before(&branch).as_deref(), Some("01"), "another try follows what the first one followed");
        assert_eq!(before(&again).as_deref(), Some("01"));
        assert_eq!(before(&on).as_deref(), Some("02-branch-01"));
    }

    #[test]
    fn there_are_99_turns_at_most() {
        let (_root, folder) = folder();
        let mut last = folder.make_next(None, at(1)).unwrap();
        last.name.number = name::MOST;
        assert!(matches!(folder.make_next(Some(&last), at(2)), Err(TurnError::Full { .. })));
    }

    #[test]
    fn what_is_no_turn_is_passed_over() {
        let (root, folder) = folder();
        for name in ["kept", "1", "001", "02-branch"] {
            fs::create_dir(folder.path.join(name)).unwrap();
        }
        fs::write(folder.path.join("01"), "a file").unwrap();
        assert_eq!(folder.turns().unwrap(), []);
        assert!(Folder::all(root.path()).unwrap().is_empty(), "there is nothing of a session of files in it");
        fs::create_dir(folder.path.join("02")).unwrap();
        assert_eq!(Folder::all(root.path()).unwrap(), std::slice::from_ref(&folder));
        assert_eq!(Folder::around(root.path(), &folder.path.join("02")), Some(folder.id.clone()));
        assert_eq!(Folder::around(root.path(), root.path()), None);
        assert!(folder.turn("03").is_err());
        assert!(folder.turn("..").is_err());
    }
}
