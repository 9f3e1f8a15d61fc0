//! Where the journals of batches are, which belongs to which turn, and what was approved of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use rapport_core::ActionPlan;
use rapport_durable::private_folder;
use serde::{Deserialize, Serialize};

use crate::actions::journal::{Fact, Journal};
use crate::actions::{Choice, Outcome as Ended, is_for_good};
use crate::channels::terminal::review::{Pick, Selection};
use crate::config;
use crate::error::{Code, Failure, Outcome};
use crate::turns::{Folder, Turn, TurnName, io_error, memos, replace, text};
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
    /// When the turn was made that it is of: another one may have its name by and by, in a session begun anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) turn: Option<String>,
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
            turn: None,
            context: selection.context.iter().map(left).collect(),
            memos: selection.memos.iter().map(left).collect(),
            actions: selection.actions.iter().map(left).collect(),
        }
    }
}

impl Approved {
    /// The same, of the plan of this turn.
    #[must_use]
    pub(in crate::cli) fn of(self, turn: &Turn) -> Self {
        Self { turn: turn.meta.creation_timestamp.clone(), ..self }
    }

    /// Whether it can be of this turn. Where nothing says that it is of another, it is of this.
    fn is_of(&self, turn: &Turn) -> bool {
        let times = self.turn.as_ref().zip(turn.meta.creation_timestamp.as_ref());
        times.is_none_or(|(one, other)| one == other)
    }

    /// Keeps it beside the journal of its batch.
    pub(in crate::cli) fn keep(&self, batch: &Path) -> Outcome {
        private_folder(batch).map_err(io_error("create the directory", batch))?;
        let json = serde_json::to_vec_pretty(self).map_err(io::Error::from)?;
        Ok(replace(&batch.join(APPROVED), &json)?)
    }

    /// Which actions are to be done.
    pub(in crate::cli) fn choices(&self) -> Vec<Choice> {
        let choice = |left: &Option<String>| match left {
            None => Choice::Run,
            Some(reason) => Choice::Skip { reason: reason.clone() },
        };
        self.actions.iter().map(choice).collect()
    }

    /// Remembers, or forgets, what was approved of that. May be done twice.
    pub(in crate::cli) fn remember(&self, place: &Place, plan: &ActionPlan) -> Outcome {
        let all = plan.memos.iter().zip(&self.memos);
        let approved: Vec<_> = all.filter(|(_, left)| left.is_none()).map(|(memo, _)| memo).collect();
        memos::apply(&config::memos(&place.project), &approved)?;
        Ok(())
    }

    /// What was kept.
    pub(in crate::cli) fn kept(batch: &Path) -> Result<Self, Failure> {
        let path = batch.join(APPROVED);
        let kept = text(&path)?.unwrap_or_default();
        serde_json::from_str(&kept).map_err(|error| {
            Failure::new(Code::Store, format!("{} cannot be read: {error}", path.display()))
                .hint("Take back what was done to files with: rapport undo, and review the plan again.")
        })
    }
}

impl BatchDir {
    /// The batch in this directory.
    pub(in crate::cli) fn read(path: PathBuf) -> Result<Self, Failure> {
        let facts = Journal::read(&path).map_err(|error| Failure::new(Code::Store, error.to_string()))?;
        Ok(Self { facts, path })
    }

    /// Whether its file changes were taken back, and but for which files.
    pub(in crate::cli) fn undo(&self) -> Undo {
        let kept = |fact: &Fact| match fact {
            Fact::UndoBegan { keep } => Some(keep.clone()),
            _ => None,
        };
        let kept: Option<Vec<_>> = self.facts.iter().filter_map(kept).next_back();
        match (self.facts.contains(&Fact::Undone), kept) {
            (true, kept) => Undo::Done { kept: kept.unwrap_or_default() },
            (false, Some(_)) => Undo::CutOff,
            (false, None) => Undo::Not,
        }
    }

    /// Whether there is more to be done in it, and nobody is at it.
    pub(in crate::cli) fn is_cut_off(&self) -> bool {
        !self.is_finished() && self.undo() == Undo::Not && Journal::open(&self.path, None).is_ok()
    }

    /// Whether it did something to files, or may have.
    pub(in crate::cli) fn has_changes(&self) -> bool {
        self.facts.iter().any(|fact| matches!(fact, Fact::Began { intent: Some(_), .. }))
    }

    /// Whether memos were changed with it. They are when all else is done.
    pub(in crate::cli) fn has_remembered(&self) -> bool {
        let is_any = |approved: Approved| approved.memos.iter().any(Option::is_none);
        self.is_finished() && Approved::kept(&self.path).is_ok_and(is_any)
    }

    /// Whether something was cut off that may have run or not.
    pub(in crate::cli) fn is_unsure(&self) -> bool {
        self.begun().any(|(what, ended)| ended.is_none() && is_for_good(what))
    }

    /// Whether nothing more is to be done in it.
    pub(in crate::cli) fn is_finished(&self) -> bool {
        self.facts.contains(&Fact::Finished)
    }

    /// What was done so far, and what may have been, a line each.
    pub(in crate::cli) fn story(&self) -> Vec<String> {
        let line = |(what, ended): (&str, Option<&Ended>)| match ended {
            Some(Ended::Done { .. }) => format!("done         {what}"),
            Some(Ended::Failed { why, .. }) => format!("failed       {what}: {why}"),
            Some(Ended::Skipped { reason }) => format!("left out     {what}: {reason}"),
            None if is_for_good(what) => format!("interrupted  {what}"),
            None => format!("begun        {what}"),
        };
        self.begun().map(line).collect()
    }

    /// What was begun, each once, and how it ended.
    fn begun(&self) -> impl Iterator<Item = (&str, Option<&Ended>)> {
        let began = |at: usize, n: &usize| {
            let is_it = |fact: &Fact| matches!(fact, Fact::Began { n: other, .. } if other == n);
            !self.facts[at + 1..].iter().any(is_it)
        };
        self.facts.iter().enumerate().filter_map(move |(at, fact)| match fact {
            // What was begun again counts from then.
            Fact::Began { n, what, .. } if began(at, n) => Some((what.as_str(), self.ended(*n))),
            _ => None,
        })
    }

    fn ended(&self, n: usize) -> Option<&Ended> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::Ended { n: ended, settled } if *ended == n => Some(&settled.outcome),
            _ => None,
        })
    }
}

/// How far a batch was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Undo {
    /// Not at all.
    Not,
    /// In part: undoing was cut off.
    CutOff,
    /// As a whole.
    Done {
        /// But for these, which somebody had changed since.
        kept: Vec<String>,
    },
}

/// The last batch of a turn, if there is one. On one that is half undone nothing can be built.
pub(in crate::cli) fn batch_of(
    place: &Place,
    folder: &Folder,
    turn: &Turn,
) -> Result<Option<BatchDir>, Failure> {
    let begun = names(place, folder, turn).take_while(|path| path.is_dir());
    let is_of = |path: &PathBuf| Approved::kept(path).map_or(true, |approved| approved.is_of(turn));
    let Some(path) = begun.filter(|path| Journal::is_in(path) && is_of(path)).last() else { return Ok(None) };
    let batch = BatchDir::read(path)?;
    match batch.undo() {
        Undo::Not | Undo::Done { .. } => Ok(Some(batch)),
        Undo::CutOff => {
            let name = batch.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            Err(Failure::new(Code::Refused, format!("undoing the batch {name} was cut off"))
                .hint(format!("Finish it first: rapport undo --batch {name}")))
        }
    }
}

/// What a batch of a session is called in it: `01`, and `01.2` after it was undone. `None` where it belongs to another:
/// `a-2-01` is of `a-2` and not of `a`.
pub(in crate::cli) fn label<'a>(folder: &Folder, batch: &'a Path) -> Option<&'a str> {
    let label = batch.file_name()?.to_str()?.strip_prefix(folder.id.as_str())?.strip_prefix('-')?;
    let turn = label.split('.').next()?;
    turn.parse::<TurnName>().is_ok().then_some(label)
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

/// The last batch that belongs to no turn, if there is one.
pub(in crate::cli) fn last_alone(place: &Place) -> Result<Option<BatchDir>, Failure> {
    let is_alone = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.split('-').all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    all(place)?.into_iter().find(is_alone).map(BatchDir::read).transpose()
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
    private_folder(&root).map_err(io_error("create the directory", &root))?;
    let ignore = root.join(".gitignore");
    if !ignore.exists() {
        replace(&ignore, b"*\n")?;
    }
    Ok(root)
}
