//! The directories of batches: the journal of each, what was approved of its plan, and what the journal says.
//!
//! `approved.json` is written from the fact that approved the batch, and contains its time: this distinguishes a batch
//! from one of the same name in a session that was removed and begun again.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use rapport_core::{ActionEnd, ActionPlan, ActionResult, Chosen, FoundBatch, SessionId};
use rapport_durable::private_folder;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::{TurnError, TurnName};
use crate::actions::journal::{Fact, Journal, JournalError};
use crate::actions::undo::undone;
use crate::actions::{BatchOutcome, Details, Outcome, TimedOutcome};
use crate::config;
use crate::projects::files::{FileError, io_error, replace, text};
use crate::seals::Seals;

const APPROVED: &str = "approved.json";

/// The only turn and batch of a plan that is run without a session.
pub const ONLY_TURN: &str = "01";

/// What a person approved of a plan, for people who read the directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    pub at: Timestamp,
    /// When its turn was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    #[serde(flatten)]
    pub chosen: Chosen,
}

impl Approved {
    /// Writes it beside the journal of its batch.
    pub fn keep(&self, batch: &Path) -> Result<(), TurnError> {
        private_folder(batch).map_err(io_error("create the directory", batch))?;
        let json = serde_json::to_vec_pretty(self).map_err(|error| io_error("write", batch)(error.into()))?;
        Ok(replace(&batch.join(APPROVED), &json)?)
    }

    /// Reads it from a batch's directory.
    pub fn kept(batch: &Path) -> Result<Option<Self>, TurnError> {
        let path = batch.join(APPROVED);
        let Some(kept) = text(&path)? else { return Ok(None) };
        serde_json::from_str(&kept)
            .map(Some)
            .map_err(|error| FileError::Wrong { path, what: error.to_string() }.into())
    }
}

/// A batch as its journal describes it.
#[derive(Clone, Debug)]
pub struct BatchDir {
    pub path: PathBuf,
    /// The facts of its journal.
    pub facts: Vec<Fact>,
}

impl BatchDir {
    pub fn read(path: PathBuf) -> Result<Self, TurnError> {
        let facts = Journal::read(&path)?;
        Ok(Self { facts, path })
    }

    /// Whether its changes to files were undone.
    pub fn is_undone(&self) -> bool {
        self.facts.contains(&Fact::Undone)
    }

    /// Whether undoing it was begun.
    fn is_undo_begun(&self) -> bool {
        self.facts.iter().any(|fact| matches!(fact, Fact::UndoBegan { .. }))
    }

    /// Whether it is incomplete, and no process runs it.
    pub fn is_cut_off(&self) -> bool {
        !self.is_finished() && !self.is_undo_begun() && !Journal::is_held(&self.path)
    }

    /// Whether it changed files, or may have.
    pub fn has_changes(&self) -> bool {
        self.facts.iter().any(|fact| match fact {
            Fact::Began { intent, .. } => intent.is_some(),
            Fact::CommandChanged { files, .. } => !files.is_empty(),
            // An interrupted command may have changed something.
            Fact::Snapshot { .. } => !self.is_finished(),
            _ => false,
        })
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.facts.contains(&Fact::Finished)
    }

    /// The action that was interrupted and may have run.
    pub fn unsure(&self) -> Option<usize> {
        self.begun()
            .into_iter()
            .find(|begun| begun.ended.is_none() && begun.is_irreversible)
            .map(|begun| begun.n)
    }

    /// What was done so far, and what may have been, one line each.
    pub fn story(&self) -> Vec<String> {
        let line = |Begun { what, is_irreversible, ended, .. }: Begun<'_>| match ended
            .map(|settled| &settled.outcome)
        {
            Some(Outcome::Done { .. }) => format!("done         {what}"),
            Some(Outcome::Failed { why, .. }) => format!("failed       {what}: {why}"),
            Some(Outcome::Skipped { reason }) => format!("left out     {what}: {reason}"),
            None if is_irreversible => format!("interrupted  {what}"),
            None => format!("begun        {what}"),
        };
        self.begun().into_iter().map(line).collect()
    }

    /// The results so far, action by action, without running anything.
    pub fn so_far(&self, plan: &ActionPlan) -> BatchOutcome {
        let skips = self.skips().unwrap_or_default();
        let ended = self.ended();
        let begun: HashSet<usize> = self.begun().iter().map(|begun| begun.n).collect();
        let settled = |n: usize| match (ended.get(&n), skips.get(n).cloned().flatten()) {
            (Some(settled), _) => (*settled).clone(),
            (None, Some(reason)) => Outcome::Skipped { reason }.into(),
            (None, None) if begun.contains(&n) => {
                Outcome::failed_with("interrupted", Details::Nothing).into()
            }
            (None, None) => Outcome::Skipped { reason: "the batch was stopped before it".into() }.into(),
        };
        BatchOutcome {
            actions: (0..plan.actions.len()).map(settled).collect(),
            unfinished: !self.is_finished(),
        }
    }

    /// For each action of the plan, why it was left out; `None` before the batch began.
    fn skips(&self) -> Option<&[Option<String>]> {
        match self.facts.first() {
            Some(Fact::Started { skip, .. }) => Some(skip),
            _ => None,
        }
    }

    /// The same as facts of a session. The journal is signed and `approved.json` is not, so the journal says which
    /// actions were approved.
    pub fn found(&self, approved: Approved) -> FoundBatch {
        let actions = self.skips().map_or(approved.chosen.actions, <[_]>::to_vec);
        let ended = self.facts.iter().filter_map(|fact| match fact {
            Fact::Ended { n, settled } => Some(action_end(*n, settled)),
            _ => None,
        });
        FoundBatch {
            approved_at: approved.at,
            chosen: Chosen { actions, ..approved.chosen },
            ended: ended.collect(),
            unsure: self.unsure(),
            is_ended: self.is_finished(),
            has_changes: self.has_changes(),
            is_half_undone: self.is_undo_begun() && !self.is_undone(),
            undone: self.is_undone().then(|| undone(&self.facts, &self.path).into()),
        }
    }

    /// The actions that began, each once, with their results.
    fn begun(&self) -> Vec<Begun<'_>> {
        let began = self.facts.iter().enumerate().filter_map(|(at, fact)| match fact {
            Fact::Began { n, what, .. } => Some((at, *n, what, fact.is_irreversible())),
            _ => None,
        });
        // A repeated action is counted from its last beginning.
        let last: HashMap<usize, usize> = began.clone().map(|(at, n, ..)| (n, at)).collect();
        let ended = self.ended();
        let counts = began.filter(|(at, n, ..)| last.get(n) == Some(at));
        let begun = counts.map(|(_, n, what, is_irreversible)| {
            let ended = ended.get(&n).copied();
            Begun { n, what, is_irreversible, ended }
        });
        begun.collect()
    }

    /// The results of actions that ended.
    fn ended(&self) -> HashMap<usize, &TimedOutcome> {
        let mut all = HashMap::new();
        for fact in &self.facts {
            if let Fact::Ended { n, settled } = fact {
                all.entry(*n).or_insert(settled);
            }
        }
        all
    }
}

/// An action that began, with its result.
struct Begun<'a> {
    n: usize,
    what: &'a str,
    is_irreversible: bool,
    ended: Option<&'a TimedOutcome>,
}

/// The result of an action, as a fact of the session.
pub(crate) fn action_end(action: usize, settled: &TimedOutcome) -> ActionEnd {
    let (result, why, session) = match &settled.outcome {
        Outcome::Done { details: Details::Session { name } } => {
            (ActionResult::Done, None, Some(name.clone()))
        }
        Outcome::Done { .. } => (ActionResult::Done, None, None),
        Outcome::Failed { why, .. } => (ActionResult::Failed, Some(why.clone()), None),
        Outcome::Skipped { reason } => (ActionResult::Skipped, Some(reason.clone()), None),
    };
    let left_behind = match &settled.outcome {
        Outcome::Done { details: Details::Command { left_behind, .. } }
        | Outcome::Failed { details: Details::Command { left_behind, .. }, .. } => left_behind.len(),
        Outcome::Done { .. } | Outcome::Failed { .. } | Outcome::Skipped { .. } => 0,
    };
    ActionEnd { action, result, why, session, left_behind }
}

/// The batches of turns.
#[derive(Clone, Debug)]
pub struct Batches {
    root: PathBuf,
    naming: Naming,
    seals: Option<Arc<Seals>>,
}

/// The naming scheme of batch directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// After the session and the turn: sessions have their own directories elsewhere.
    ByTurn,
    /// After the session alone, whose log is in the same directory.
    Alone,
}

impl Batches {
    /// The batches of a project.
    pub fn of(project: &Path, naming: Naming) -> Self {
        Self { root: config::batches(project), naming, seals: None }
    }

    /// The same with the seals of this person: journals of others are not trusted.
    #[must_use]
    pub fn sealed_by(self, seals: Arc<Seals>) -> Self {
        Self { seals: Some(seals), ..self }
    }

    /// Whether the batches belong to no turn of a session.
    pub(crate) fn are_alone(&self) -> bool {
        self.naming == Naming::Alone
    }

    /// Candidates for the names of a turn's batches, in order.
    fn names(&self, session: &SessionId, folder: &str) -> impl Iterator<Item = PathBuf> {
        let name = match self.naming {
            Naming::ByTurn => format!("{session}-{folder}"),
            Naming::Alone => session.to_string(),
        };
        let root = self.root.clone();
        (1..1000).map(move |number: u32| match number {
            1 => root.join(&name),
            number => root.join(format!("{name}.{number}")),
        })
    }

    /// The directory of the batch that was approved at this time, if it exists.
    pub fn find(
        &self,
        session: &SessionId,
        folder: &str,
        approved_at: Timestamp,
    ) -> Result<Option<PathBuf>, TurnError> {
        for path in self.names(session, folder).take_while(|path| path.is_dir()) {
            if Approved::kept(&path)?.is_some_and(|approved| approved.at == approved_at) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// The directory of that batch; creates it if necessary.
    pub fn open(&self, session: &SessionId, folder: &str, approved: &Approved) -> Result<PathBuf, TurnError> {
        if let Some(path) = self.find(session, folder, approved.at)? {
            return Ok(path);
        }
        self.set_up()?;
        let free = self.names(session, folder).find(|path| !Journal::is_in(path));
        let path = free.ok_or_else(|| FileError::Wrong {
            path: self.root.clone(),
            what: format!("turn {folder} of {session} was run too often"),
        })?;
        approved.keep(&path)?;
        Ok(path)
    }

    /// The batch in this directory, if its journal is trusted.
    fn counted(&self, path: &Path) -> Result<BatchDir, JournalError> {
        Ok(BatchDir { facts: Journal::counted(path, self.seals.as_deref())?, path: path.to_owned() })
    }

    /// Why journals of a turn's batches are not trusted: others wrote them, or they are damaged.
    pub fn refused(&self, session: &SessionId, folder: &str) -> Vec<JournalError> {
        let begun = self.names(session, folder).take_while(|path| path.is_dir());
        begun.filter(|path| Journal::is_in(path)).filter_map(|path| self.counted(&path).err()).collect()
    }

    /// All batches of a turn that began, according to their journals. A batch of another turn of the same name is
    /// skipped, and so is one whose journal is not trusted ([`Batches::refused`]): nothing in it becomes a fact of the
    /// session.
    pub fn found(
        &self,
        session: &SessionId,
        folder: &str,
        created: Timestamp,
    ) -> Result<Vec<FoundBatch>, TurnError> {
        let mut all = Vec::new();
        for path in self.names(session, folder).take_while(|path| path.is_dir()) {
            if !Journal::is_in(&path) {
                continue;
            }
            // If this cannot be read, what was approved is unknown; the batch can still be undone.
            let approved = Approved::kept(&path).ok().flatten();
            let approved = approved.unwrap_or_else(|| Approved {
                at: began(&path),
                turn: None,
                chosen: Chosen::default(),
            });
            let is_made = |turn: &String| turn.parse().is_ok_and(|made: Timestamp| made == created);
            let is_of = approved.turn.as_ref().is_none_or(is_made);
            match self.counted(&path).map(|batch| batch.found(approved)) {
                Ok(batch) if is_of => all.push(batch),
                Ok(_) => {}
                Err(error) => warn!(%error, "journal is not trusted"),
            }
        }
        Ok(all)
    }

    /// Creates the directory with rules for git: copies of files are not to be shown or committed.
    pub fn set_up(&self) -> Result<(), TurnError> {
        private_folder(&self.root).map_err(io_error("create the directory", &self.root))?;
        let ignore = self.root.join(".gitignore");
        if !ignore.exists() {
            replace(&ignore, b"*\n")?;
        }
        Ok(())
    }
}

/// The turn of a session to which a batch's directory belongs: `01` for `SESSION-01.2`. `None` if it belongs to another
/// session: `a-2-01` belongs to `a-2` and not to `a`.
pub fn turn_of(session: &SessionId, batch: &Path) -> Option<TurnName> {
    let label = batch.file_name()?.to_str()?.strip_prefix(session.as_str())?.strip_prefix('-')?;
    label.split('.').next()?.parse().ok()
}

/// The name of a batch, from its directory.
pub fn name(batch: &Path) -> &str {
    batch.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Whether a batch belongs to no turn of these sessions: a plan that was run without a session, or one whose session
/// was removed.
pub fn is_alone(batch: &Path, sessions: &[SessionId]) -> bool {
    !sessions.iter().any(|session| turn_of(session, batch).is_some())
}

/// All batches of a project that began, the latest first.
pub fn all(project: &Path) -> Result<Vec<PathBuf>, TurnError> {
    let root = config::batches(project);
    let entries = match fs::read_dir(&root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(io_error("list the batches in", &root))?,
    };
    let begun = entries.flatten().map(|entry| entry.path()).filter(|path| Journal::is_in(path));
    let mut dated: Vec<_> = begun.map(|path| (began(&path), path)).collect();
    dated.sort();
    Ok(dated.into_iter().rev().map(|(_, path)| path).collect())
}

/// When a batch was approved; if that is unknown, when it began.
fn began(batch: &Path) -> Timestamp {
    if let Ok(Some(approved)) = Approved::kept(batch) {
        return approved.at;
    }
    let journal = fs::metadata(batch.join("journal.jsonl")).and_then(|about| about.modified());
    Timestamp::try_from(journal.unwrap_or(SystemTime::UNIX_EPOCH)).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session whose name consists of digits has batches too.
    #[test]
    fn a_batch_is_alone_where_no_session_claims_it() {
        let sessions = ["20260124-101500", "20260124-add-auth"];
        let sessions = sessions.map(SessionId::new);
        for (batch, alone) in [
            ("20260124-101500", true),
            ("20260124-101500-01", false),
            ("20260124-add-auth-02-branch-01", false),
            ("20260124-gone-01", true),
        ] {
            assert_eq!(is_alone(&Path::new("/batches").join(batch), &sessions), alone, "{batch}");
        }
    }

    /// Editing `approved.json` approves nothing.
    #[test]
    fn the_journal_says_which_actions_were_approved() {
        let skip = vec![None, Some("left out".to_owned())];
        let started = Fact::Started { id: "0".repeat(32), plan: String::new(), skip: skip.clone() };
        let batch = BatchDir { path: PathBuf::new(), facts: vec![started] };
        let chosen = Chosen { actions: vec![None, None], ..Chosen::default() };
        let edited = Approved { at: Timestamp::UNIX_EPOCH, turn: None, chosen };
        assert_eq!(batch.found(edited).chosen.actions, skip);
    }

    /// A plan of thousands of actions is read in linear time.
    #[test]
    fn a_long_batch_is_told_as_it_was() {
        const MANY: usize = 20_000;
        let began = |n| Fact::Began { n, what: format!("CREATE {n}"), intent: None, irreversible: None };
        let done = || Outcome::Done { details: Details::Nothing }.into();
        let facts = (0..MANY).flat_map(|n| [began(n), Fact::Ended { n, settled: done() }]);
        let batch = BatchDir { path: PathBuf::new(), facts: facts.chain([began(MANY)]).collect() };
        let story = batch.story();
        assert_eq!(story.len(), MANY + 1);
        assert_eq!(story[MANY], format!("begun        CREATE {MANY}"));
        assert_eq!(batch.unsure(), None);
    }
}
