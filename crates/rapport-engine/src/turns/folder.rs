//! A session's directory, its turns, and their order.

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
    pub path: PathBuf,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub name: TurnName,
    pub path: PathBuf,
    /// Its metadata, as far as they are known.
    pub meta: Meta,
    pub created: Timestamp,
}

/// The state of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Unplanned,
    /// It has a plan without a report.
    Pending,
    /// There is a report.
    Complete,
}

impl Folder {
    /// The session of this name in the directory of all sessions.
    pub fn new(sessions: &Path, id: &SessionId) -> Self {
        Self { id: id.clone(), path: sessions.join(id.as_str()) }
    }

    /// All directories that look like sessions with turns, by name. Their logs are not read.
    pub fn all(sessions: &Path) -> Result<Vec<Self>, TurnError> {
        let entries = match fs::read_dir(sessions) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io_error("list the sessions in", sessions))?,
        };
        // A link could lead anywhere, and names are printed and pasted into shells.
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

    /// Whether it contains turns, or the files for a first one.
    fn looks_like_one(&self) -> bool {
        self.path.join(SESSION_CONTEXT).is_file() || self.turns().is_ok_and(|turns| !turns.is_empty())
    }

    /// The session that contains a directory, if any.
    pub fn around(sessions: &Path, directory: &Path) -> Option<SessionId> {
        let sessions = sessions.canonicalize().ok()?;
        let inside = directory.canonicalize().ok()?;
        let name = inside.strip_prefix(sessions).ok()?.iter().next()?.to_str()?;
        Some(SessionId::new(name))
    }

    /// Its turns, in the order of creation.
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

    /// The latest turn; `None` before the first.
    pub fn latest(&self) -> Result<Option<Turn>, TurnError> {
        Ok(self.turns()?.pop())
    }

    /// Creates the directory of the turn after this one. Creating it is the test whether the name is free, so nobody
    /// else gets it.
    pub fn make_next(&self, after: Option<&Turn>, now: Timestamp) -> Result<Turn, TurnError> {
        let number = after.map_or(1, |turn| turn.name.number + 1);
        if number > name::MOST {
            return Err(TurnError::Full { session: self.id.to_string() });
        }
        self.make(TurnName::at(number), after.map(|turn| turn.name), now)
    }

    /// Creates the directory of another attempt at this turn, with the same context.
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
        // Turns are ordered by creation time; a clock that was set back must not change that.
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
            // It is still empty. If it cannot be removed, it is a turn without a plan, which the next plan uses.
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

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn standing(&self) -> Standing {
        match (self.file(PLAN).exists(), self.file(REPORT).exists()) {
            (_, true) => Standing::Complete,
            (true, false) => Standing::Pending,
            (false, false) => Standing::Unplanned,
        }
    }

    /// The previous turn in its line, among all of the session: another attempt follows the turn that the first attempt
    /// followed.
    pub fn before<'a>(&self, turns: &'a [Turn]) -> Option<&'a Turn> {
        let find = |name: TurnName| turns.iter().find(|turn| turn.name == name);
        let mut parent = match self.meta.parent() {
            Some(parent) => find(parent)?,
            // Turns of a tool without parents follow each other.
            None if self.meta.turn_id.is_empty() && self.name.branch == 0 => {
                find(TurnName::numbered(self.name.number.checked_sub(1)?))?
            }
            None => return None,
        };
        // Bounded, in case somebody made the chain of attempts circular.
        for _ in 0..turns.len() {
            if parent.name.number < self.name.number {
                return Some(parent);
            }
            parent = find(parent.meta.parent()?)?;
        }
        None
    }
}

/// When a directory was last changed; long ago if that is unknown.
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

    // FILE-4, FILE-5, FILE-38, FILE-39: turns follow each other; a branch has its origin's context, not its result.
    #[test]
    fn file_38_branches_go_on_as_their_own_line() {
        let (_root, folder) = folder();
        let first = folder.make_next(None, at(1)).unwrap();
        let second = folder.make_next(Some(&first), at(2)).unwrap();
        for name in [TURN_CONTEXT, CONTEXT_LOG, PLAN, REPORT] {
            fs::write(second.file(name), name).unwrap();
        }
        let third = folder.make_next(Some(&second), at(3)).unwrap();
        // Created with a clock that was set back.
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
