//! The documents of a session of files, its turns, and their order.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use rapport_core::SessionId;

use super::{CONTEXT_LOG, META, Meta, SESSION_CONTEXT, TURN_CONTEXT, TurnError, TurnName, name, notes};
use crate::stores::{DocumentFolder, Store};

/// A session's documents, wherever its store keeps them.
#[derive(Clone)]
pub struct Folder {
    pub id: SessionId,
    store: Arc<dyn Store>,
}

#[derive(Clone, Debug)]
pub struct Turn {
    pub name: TurnName,
    /// Its metadata, as far as they are known.
    pub meta: Meta,
    pub created: Timestamp,
    /// The names of its documents.
    documents: BTreeSet<String>,
    folder: Folder,
}

impl Folder {
    pub fn new(store: Arc<dyn Store>, id: &SessionId) -> Self {
        Self { id: id.clone(), store }
    }

    /// All sessions that look like sessions with turns, by name. Their logs are not read.
    pub async fn all(store: &Arc<dyn Store>) -> Result<Vec<Self>, TurnError> {
        let mut all = Vec::new();
        for id in store.documented().await? {
            let folder = Self::new(store.clone(), &id);
            if folder.looks_like_one().await {
                all.push(folder);
            }
        }
        Ok(all)
    }

    /// Whether it contains turns, or the documents for a first one.
    async fn looks_like_one(&self) -> bool {
        let context = self.store.attached(&self.id, SESSION_CONTEXT).await;
        if context.is_ok_and(|context| context.is_some()) {
            return true;
        }
        let folders = self.store.folders(&self.id).await.unwrap_or_default();
        folders.iter().any(|folder| folder.name.parse::<TurnName>().is_ok())
    }

    /// Where a document is, in words for a person.
    pub fn place(&self, document: &str) -> String {
        format!("{}/{document}", self.whereabouts())
    }

    /// Where the session is, in words for a person.
    pub fn whereabouts(&self) -> String {
        self.store.whereabouts(&self.id)
    }

    /// A document; `None` if it does not exist.
    pub async fn read(&self, document: &str) -> Result<Option<Vec<u8>>, TurnError> {
        Ok(self.store.attached(&self.id, document).await?)
    }

    /// A document as text; `None` if it does not exist.
    pub async fn text(&self, document: &str) -> Result<Option<String>, TurnError> {
        let Some(bytes) = self.read(document).await? else { return Ok(None) };
        let text = String::from_utf8(bytes);
        let wrong = |_| TurnError::Wrong { place: self.place(document), what: "it is not UTF-8 text".into() };
        text.map(Some).map_err(wrong)
    }

    /// Replaces a document atomically. Durable when this returns.
    pub async fn write(&self, document: &str, content: Vec<u8>) -> Result<(), TurnError> {
        Ok(self.store.attach(&self.id, document, content).await?)
    }

    /// Its turns, in the order of creation.
    pub async fn turns(&self) -> Result<Vec<Turn>, TurnError> {
        let mut turns = Vec::new();
        for folder in self.store.folders(&self.id).await? {
            if let Ok(name) = folder.name.parse() {
                turns.push(self.read_turn(name, folder).await?);
            }
        }
        turns.sort_by_key(|turn| (turn.created, turn.name));
        Ok(turns)
    }

    async fn read_turn(&self, name: TurnName, found: DocumentFolder) -> Result<Turn, TurnError> {
        let meta = self.meta(&found.name).await?.unwrap_or_default();
        let created = meta.created().unwrap_or(found.changed);
        let documents = found.documents.into_iter().collect();
        Ok(Turn { name, meta, created, documents, folder: self.clone() })
    }

    /// The metadata of a turn; `None` if it has none.
    pub async fn meta(&self, turn: &str) -> Result<Option<Meta>, TurnError> {
        let document = format!("{turn}/{META}");
        let text = self.text(&document).await?.filter(|text| !text.trim().is_empty());
        text.map(|text| Meta::parse(&text, &self.place(&document))).transpose()
    }

    /// The turn of this name.
    pub async fn turn(&self, name: &str) -> Result<Turn, TurnError> {
        let missing = || TurnError::NoTurn { name: name.to_owned(), session: self.id.to_string() };
        let known: TurnName = name.parse().map_err(|()| missing())?;
        self.turns().await?.into_iter().find(|turn| turn.name == known).ok_or_else(missing)
    }

    /// The latest turn; `None` before the first.
    pub async fn latest(&self) -> Result<Option<Turn>, TurnError> {
        Ok(self.turns().await?.pop())
    }

    /// Creates the folder of the turn after this one. Creating it is the test whether the name is free, so no other
    /// process gets the same name.
    pub async fn make_next(&self, after: Option<&Turn>, now: Timestamp) -> Result<Turn, TurnError> {
        let number = after.map_or(1, |turn| turn.name.number + 1);
        if number > name::MOST {
            return Err(TurnError::Full { session: self.id.to_string() });
        }
        self.make(TurnName::at(number), after.map(|turn| turn.name), now).await
    }

    /// Creates the folder of another attempt at this turn, with the same context.
    pub async fn make_branch(&self, of: &Turn, now: Timestamp) -> Result<Turn, TurnError> {
        let made = self.make(TurnName::at(of.name.number).skip(1), Some(of.name), now).await?;
        for document in [TURN_CONTEXT, CONTEXT_LOG] {
            if let Some(content) = of.read(document).await? {
                made.write(document, content).await?;
            }
        }
        Ok(made)
    }

    async fn make(
        &self,
        names: impl Iterator<Item = TurnName>,
        parent: Option<TurnName>,
        now: Timestamp,
    ) -> Result<Turn, TurnError> {
        // Turns are ordered by creation time; a clock that was set back must not change that.
        let latest = self.latest().await?.map(|turn| turn.created);
        let now = latest.filter(|latest| *latest >= now).map_or(now, just_after);
        for name in names {
            let meta = Meta::new(name, parent, now);
            let content = meta.to_yaml()?.into_bytes();
            if self.store.new_folder(&self.id, &name.to_string(), vec![(META.to_owned(), content)]).await? {
                let documents = BTreeSet::from([META.to_owned()]);
                return Ok(Turn { name, meta, created: now, documents, folder: self.clone() });
            }
        }
        Err(TurnError::Full { session: self.id.to_string() })
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folder").field("id", &self.id).finish_non_exhaustive()
    }
}

fn just_after(latest: Timestamp) -> Timestamp {
    latest.checked_add(jiff::SignedDuration::from_millis(1)).unwrap_or(latest)
}

impl Turn {
    /// Whether it had this document when it was read.
    pub fn has(&self, document: &str) -> bool {
        self.documents.contains(document)
    }

    /// Where one of its documents is, in words for a person.
    pub fn place(&self, document: &str) -> String {
        self.folder.place(&self.path(document))
    }

    /// One of its documents; `None` if it does not exist.
    pub async fn read(&self, document: &str) -> Result<Option<Vec<u8>>, TurnError> {
        self.folder.read(&self.path(document)).await
    }

    /// The same as text.
    pub async fn text(&self, document: &str) -> Result<Option<String>, TurnError> {
        self.folder.text(&self.path(document)).await
    }

    /// Replaces one of its documents atomically. Durable when this returns.
    pub async fn write(&self, document: &str, content: Vec<u8>) -> Result<(), TurnError> {
        self.folder.write(&self.path(document), content).await
    }

    /// The same for a document that no fact records yet. A sealed note, which is durable first, vouches for it.
    pub async fn write_noted(&self, document: &str, content: Vec<u8>) -> Result<(), TurnError> {
        notes::note(&self.folder, &self.name.to_string(), &content).await?;
        self.write(document, content).await
    }

    /// Its current metadata; `None` if it has none.
    pub async fn meta_now(&self) -> Result<Option<Meta>, TurnError> {
        self.folder.meta(&self.name.to_string()).await
    }

    fn path(&self, document: &str) -> String {
        format!("{}/{document}", self.name)
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
        // Bounded, in case the chain of attempts was made circular by hand.
        for _ in 0..turns.len() {
            if parent.name.number < self.name.number {
                return Some(parent);
            }
            parent = find(parent.meta.parent()?)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::stores::files::Files;
    use crate::turns::{PLAN, REPORT};

    fn folder() -> (tempfile::TempDir, PathBuf, Folder) {
        let root = tempfile::tempdir().unwrap();
        let id = SessionId::new("20260124-add-user-auth");
        let path = root.path().join(id.as_str());
        fs::create_dir(&path).unwrap();
        let folder = Folder::new(Arc::new(Files::new(root.path().to_owned())), &id);
        (root, path, folder)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_769_000_000 + second).unwrap()
    }

    // FILE-4, FILE-5, FILE-38, FILE-39: turns follow each other; a branch has its origin's context, not its result.
    #[tokio::test]
    async fn file_38_branches_go_on_as_their_own_line() {
        let (_root, path, folder) = folder();
        let first = folder.make_next(None, at(1)).await.unwrap();
        let second = folder.make_next(Some(&first), at(2)).await.unwrap();
        for name in [TURN_CONTEXT, CONTEXT_LOG, PLAN, REPORT] {
            fs::write(path.join("02").join(name), name).unwrap();
        }
        let third = folder.make_next(Some(&second), at(3)).await.unwrap();
        // Created with a clock that was set back.
        let branch = folder.make_branch(&second, at(0)).await.unwrap();
        let again = folder.make_branch(&branch, at(5)).await.unwrap();
        let on = folder.make_next(Some(&branch), at(6)).await.unwrap();
        let turns = folder.turns().await.unwrap();
        let names: Vec<_> = turns.iter().map(|turn| turn.name.to_string()).collect();
        assert_eq!(names, ["01", "02", "03", "02-branch-01", "02-branch-02", "03-branch-01"]);
        assert_eq!(branch.text(TURN_CONTEXT).await.unwrap().as_deref(), Some(TURN_CONTEXT));
        assert_eq!(again.text(CONTEXT_LOG).await.unwrap().as_deref(), Some(CONTEXT_LOG));
        let has = |turn: usize| [PLAN, REPORT, TURN_CONTEXT].map(|name| turns[turn].has(name));
        assert_eq!((has(1), has(3)), ([true, true, true], [false, false, true]));
        let before = |turn: &Turn| turn.before(&turns).map(|turn| turn.name.to_string());
        assert_eq!(before(&first), None);
        assert_eq!(before(&third).as_deref(), Some("02"));
        assert_eq!(before(&branch).as_deref(), Some("01"), "another try follows what the first one followed");
        assert_eq!(before(&again).as_deref(), Some("01"));
        assert_eq!(before(&on).as_deref(), Some("02-branch-01"));
    }

    #[tokio::test]
    async fn there_are_99_turns_at_most() {
        let (_root, _, folder) = folder();
        let mut last = folder.make_next(None, at(1)).await.unwrap();
        last.name.number = name::MOST;
        assert!(matches!(folder.make_next(Some(&last), at(2)).await, Err(TurnError::Full { .. })));
    }

    #[tokio::test]
    async fn what_is_no_turn_is_passed_over() {
        let (root, path, folder) = folder();
        let store: Arc<dyn Store> = Arc::new(Files::new(root.path().to_owned()));
        for name in ["kept", "1", "001", "02-branch"] {
            fs::create_dir(path.join(name)).unwrap();
        }
        fs::write(path.join("01"), "a file").unwrap();
        assert!(folder.turns().await.unwrap().is_empty());
        assert!(
            Folder::all(&store).await.unwrap().is_empty(),
            "there is nothing of a session of files in it"
        );
        fs::create_dir(path.join("02")).unwrap();
        let all: Vec<_> = Folder::all(&store).await.unwrap().into_iter().map(|folder| folder.id).collect();
        assert_eq!(all, std::slice::from_ref(&folder.id));
        assert_eq!(store.session_at(&path.join("02")).await.unwrap(), Some(folder.id.clone()));
        assert_eq!(store.session_at(root.path()).await.unwrap(), None);
        assert!(folder.turn("03").await.is_err());
        assert!(folder.turn("..").await.is_err());
    }
}
