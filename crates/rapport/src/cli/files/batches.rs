//! Where the journals of batches are, which belongs to which turn, and what was approved of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use rapport_core::{ActionPlan, Change};
use serde::{Deserialize, Serialize};

use crate::actions::journal::{Fact, Journal};
use crate::actions::{JournalError, Outcome as Ended};
use crate::channels::terminal::review::{Pick, Selection};
use crate::config;
use crate::error::{Code, Failure, Outcome};
use crate::turns::{Folder, Turn, io_error, replace, text};
use crate::wiring::Place;

const APPROVED: &str = "approved.json";

/// The journal of a batch.
#[derive(Clone, Debug)]
pub(in crate::cli) struct BatchDir {
    /// Its directory.
    pub(in crate::cli) path: PathBuf,
    /// What was noted in it.
    pub(in crate::cli) facts: Vec<Fact>,
}

/// What a person approved of a plan; kept, so that a batch that was cut off is gone on with as it was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct Approved {
    /// When.
    pub(in crate::cli) at: Timestamp,
    /// For each change of the Active Context, why it is left out; nothing where it is not.
    pub(in crate::cli) context: Vec<Option<String>>,
    /// The same for the memos.
    pub(in crate::cli) memos: Vec<Option<String>>,
    /// The same for the actions.
    pub(in crate::cli) actions: Vec<Option<String>>,
}

impl From<&Selection> for Approved {
    fn from(selection: &Selection) -> Self {
        let left = |pick: &Pick| match pick {
            Pick::Taken => None,
            Pick::Left { reason } => Some(reason.clone()),
        };
        Self {
            at: Timestamp::now(),
            context: selection.context.iter().map(left).collect(),
            memos: selection.memos.iter().map(left).collect(),
            actions: selection.actions.iter().map(left).collect(),
        }
    }
}

impl Approved {
    /// The changes of a plan's memos that are to be made.
    pub(in crate::cli) fn memos_of<'a>(&self, plan: &'a ActionPlan) -> Vec<&'a Change> {
        let memos = plan.memos.iter().zip(&self.memos);
        memos.filter(|(_, left)| left.is_none()).map(|(memo, _)| memo).collect()
    }

    /// Keeps it beside the journal of its batch.
    pub(in crate::cli) fn keep(&self, batch: &Path) -> Outcome {
        fs::create_dir_all(batch).map_err(io_error("create the directory", batch))?;
        let json = serde_json::to_vec_pretty(self).map_err(io::Error::from)?;
        Ok(replace(&batch.join(APPROVED), &json)?)
    }

    /// What was kept.
    pub(in crate::cli) fn kept(batch: &Path) -> Result<Self, Failure> {
        let path = batch.join(APPROVED);
        let kept = text(&path)?.unwrap_or_default();
        serde_json::from_str(&kept).map_err(|error| {
            Failure::new(Code::Store, format!("{} cannot be read: {error}", path.display()))
                .hint("Take back what was done with: rapport undo, and review the plan again.")
        })
    }
}

impl BatchDir {
    fn read(path: PathBuf) -> Result<Self, Failure> {
        let journal = Journal::open(&path).map_err(in_use)?;
        Ok(Self { facts: journal.facts().to_vec(), path })
    }

    /// Whether its file changes were taken back, at least in part.
    pub(in crate::cli) fn is_undone(&self) -> bool {
        self.facts.iter().any(|fact| matches!(fact, Fact::Undone | Fact::UndoBegan { .. }))
    }

    /// Whether nothing more is to be done in it.
    pub(in crate::cli) fn is_finished(&self) -> bool {
        self.facts.contains(&Fact::Finished)
    }

    /// What was done so far, and what may have been, a line each.
    pub(in crate::cli) fn story(&self) -> Vec<String> {
        let mut story = Vec::new();
        for (at, fact) in self.facts.iter().enumerate() {
            if let Fact::Began { n, what, .. } = fact {
                let ended = self.facts[at..].iter().find_map(|fact| match fact {
                    Fact::Ended { n: ended, settled } if ended == n => Some(&settled.outcome),
                    _ => None,
                });
                story.push(match ended {
                    Some(Ended::Done { .. }) => format!("done         {what}"),
                    Some(Ended::Failed { why, .. }) => format!("failed       {what}: {why}"),
                    Some(Ended::Skipped { reason }) => format!("left out     {what}: {reason}"),
                    None => format!("interrupted  {what}"),
                });
            }
        }
        story
    }
}

/// The last batch of a turn, if there is one.
pub(in crate::cli) fn batch_of(
    place: &Place,
    folder: &Folder,
    turn: &Turn,
) -> Result<Option<BatchDir>, Failure> {
    let begun = names(place, folder, turn).take_while(|path| path.is_dir());
    match begun.filter(|path| Journal::is_in(path)).last() {
        Some(path) => BatchDir::read(path).map(Some),
        None => Ok(None),
    }
}

/// Where the next batch of a turn goes.
pub(in crate::cli) fn next_of(place: &Place, folder: &Folder, turn: &Turn) -> Result<PathBuf, Failure> {
    set_up(place)?;
    let free = names(place, folder, turn).find(|path| !Journal::is_in(path));
    free.ok_or_else(|| Failure::new(Code::Trouble, format!("turn {} was run too often", turn.name)))
}

/// Where a batch goes that belongs to no turn.
pub(in crate::cli) fn next_alone(place: &Place) -> Result<PathBuf, Failure> {
    let root = set_up(place)?;
    let name = Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    for number in 1..1000 {
        let path = root.join(if number == 1 { name.clone() } else { format!("{name}-{number}") });
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error("create the directory", &path)(error).into()),
        }
    }
    Err(Failure::new(Code::Trouble, format!("there is no free name in {}", root.display())))
}

/// Every batch of a project that was begun, the last one first.
pub(in crate::cli) fn all(place: &Place) -> Result<Vec<PathBuf>, Failure> {
    let root = config::batches(&place.project);
    let entries = match fs::read_dir(&root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(io_error("list the batches in", &root))?,
    };
    let begun = entries.flatten().map(|entry| entry.path()).filter(|path| Journal::is_in(path));
    // What was approved is never written again, so it tells when the batch began.
    let mut dated: Vec<_> = begun.map(|path| (began(&path), path)).collect();
    dated.sort();
    Ok(dated.into_iter().rev().map(|(_, path)| path).collect())
}

/// The batch in this directory.
pub(in crate::cli) fn read(path: PathBuf) -> Result<BatchDir, Failure> {
    BatchDir::read(path)
}

fn began(batch: &Path) -> SystemTime {
    let of = |name: &str| fs::metadata(batch.join(name)).and_then(|about| about.modified());
    of(APPROVED).or_else(|_| of("journal.jsonl")).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn names(place: &Place, folder: &Folder, turn: &Turn) -> impl Iterator<Item = PathBuf> {
    let root = config::batches(&place.project);
    let name = format!("{}-{}", folder.id, turn.name);
    (1..1000).map(move |number: u32| match number {
        1 => root.join(&name),
        number => root.join(format!("{name}.{number}")),
    })
}

/// Copies of files as they were are nobody's work: git is not to show them, and nobody is to commit them.
fn set_up(place: &Place) -> Result<PathBuf, Failure> {
    let root = config::batches(&place.project);
    fs::create_dir_all(&root).map_err(io_error("create the directory", &root))?;
    let ignore = root.join(".gitignore");
    if !ignore.exists() {
        replace(&ignore, b"*\n")?;
    }
    Ok(root)
}

fn in_use(error: JournalError) -> Failure {
    match error {
        JournalError::Busy { .. } => Failure::new(Code::Busy, error.to_string()),
        JournalError::Io { .. } | JournalError::Damaged { .. } | JournalError::Newer { .. } => {
            Failure::new(Code::Store, error.to_string())
        }
    }
}
