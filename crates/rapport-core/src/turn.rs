//! The state of turns that have directories: the stage of each, what was approved of its plan, and the result.
//!
//! A turn is planned, checked, reviewed, run as a batch, and reported. Each step is a fact, and these types are the
//! state that follows from the facts. Rapport writes the files in a turn's directory from that state. A file that
//! differs is only ever reported as *found* ([`FoundTurn`]); the difference takes effect once a person accepts it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::action_plan::{ActionPlan, Change, PlanError};
use crate::answer::By;
use crate::check::PlanRemark;
use crate::id::QuestionId;
use crate::report::Overall;

/// The origin of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnOrigin {
    /// The turn it follows; or, if that has the same number, the turn that it is another attempt of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// When its directory was made.
    pub created: Timestamp,
    /// The agent that plans it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether it was planned because the previous plan was invalid.
    #[serde(default)]
    pub is_replan: bool,
}

/// What a person approved of a plan: for every item the reason why it is left out, or `None` if it is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// The changes of the Active Context.
    #[serde(default)]
    pub context: Vec<Option<String>>,
    /// The changes of the memos.
    #[serde(default)]
    pub memos: Vec<Option<String>>,
    /// The actions.
    #[serde(default)]
    pub actions: Vec<Option<String>>,
}

impl Chosen {
    /// Whether any item is selected.
    pub(crate) fn is_any(&self) -> bool {
        [&self.context, &self.memos, &self.actions].into_iter().flatten().any(Option::is_none)
    }
}

/// How one action of a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionResult {
    /// It was done without a failure.
    Done,
    /// It was begun and failed.
    Failed,
    /// It was not begun.
    Skipped,
}

/// The end of one action of a batch. Its output is in the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionEnd {
    /// Its index in the plan, from 0.
    pub action: usize,
    /// How it ended.
    pub result: ActionResult,
    /// Why it failed or was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The session that it began for another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How many processes its command left running, which were ended; at most [`Self::MOST_COUNTED`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_behind: usize,
}

impl ActionEnd {
    /// The maximum number of processes left by a command to count.
    pub const MOST_COUNTED: usize = 20;

    /// What happened to the processes that its command left running, in words.
    pub fn left_words(&self) -> Option<String> {
        match self.left_behind {
            0 => None,
            1 => Some("1 process it left running was ended".into()),
            Self::MOST_COUNTED.. => {
                Some(format!("{} or more processes it left running were ended", Self::MOST_COUNTED))
            }
            several => Some(format!("{several} processes it left running were ended")),
        }
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What to do about a command that was interrupted and may have run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupted {
    /// Nothing yet: the batch pauses, and a person decides.
    #[default]
    Halt,
    /// It is run again.
    Again,
    /// It is left as it is, and the batch continues.
    GoOn,
}

/// What to do about files that were changed after the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaterChanges {
    /// Undo nothing, and name them.
    #[default]
    Refuse,
    /// Leave them as they are, and undo the rest.
    Keep,
}

/// The result of an undo. Paths are from the project's root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoneFiles {
    /// Files whose earlier content was restored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<String>,
    /// Files that the batch or the work had created, and that were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Files that were changed afterwards, and were left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// Of the kept files, those that changed while a command ran, and where a copy of that state is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set_aside: BTreeMap<String, String>,
    /// What cannot be undone, such as `other effects of EXECUTE cargo test`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remaining: Vec<String>,
}

/// Why a batch was not undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoProblem {
    /// The reason, in words for a person.
    pub reason: String,
    /// Files that were changed after the batch, if that is the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Whether part of it is undone anyway. Then nothing may build on it until the rest is undone.
    #[serde(default)]
    pub is_partial: bool,
}

/// One turn in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTurn {
    /// The name of its directory in the session's.
    pub folder: String,
    /// Its origin; `None` if the log does not say and the directory has not been read yet.
    pub origin: Option<TurnOrigin>,
    /// Its stage.
    pub stage: TurnStage,
    /// SHA-256 digest of the file that lists what the agent is shown, once the agent makes the plan.
    pub shown: Option<String>,
    /// Its plan, until the turn is reported.
    pub plan: Option<TurnPlan>,
    /// The content of `plan.md`, if it was changed.
    pub differs: Option<String>,
    /// Why the plan cannot be carried out.
    pub problems: Vec<String>,
    /// What the agent replied, if that was words instead of a plan.
    pub words: Option<String>,
    /// Whether a person answered these words, or left them without an answer.
    pub is_reply_settled: bool,
    /// The overall result of the plan.
    pub status: Option<Overall>,
    /// The report, until it is in its file.
    pub(crate) report: Option<String>,
    /// The approved changes of the Active Context, once the turn is over; `None` if the facts do not say, because an
    /// older tool made the turn.
    pub approved_context: Option<Vec<Change>>,
    /// All its batches, the latest last.
    pub batches: Vec<FileBatch>,
    /// The model that planned it.
    pub model: Option<String>,
    /// What planning it cost, in millionths of a dollar.
    pub cost_micros: u64,
}

/// The stage of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnStage {
    /// It has no plan.
    Unplanned {
        /// Whether the files that the agent will be shown exist.
        is_ready: bool,
    },
    /// The agent makes its plan, or did until it failed.
    Planning,
    /// Its plan waits for review.
    Planned,
    /// The approved actions are running.
    Running,
    /// The approved actions are partly done, and a person decides how to continue.
    Paused,
    /// It is over; its report is being written.
    Ended,
    /// Its report exists, and it no longer changes.
    Complete,
}

/// The plan of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPlan {
    /// Its text.
    pub text: String,
    /// Its number, from 1. An approval names the revision that the person saw.
    pub revision: u32,
    /// Whether this revision was checked, and can be carried out.
    pub is_checked: bool,
    /// Notes from checking it.
    pub remarks: Vec<PlanRemark>,
    /// The project's directory, with which paths in it may begin.
    pub project: String,
}

impl TurnPlan {
    /// A plan that was not checked yet.
    pub(crate) fn unchecked(text: String, revision: u32, project: &str) -> Self {
        Self { text, revision, is_checked: false, remarks: Vec::new(), project: project.to_owned() }
    }

    /// Parses it, with notes on its actions.
    pub fn read(&self) -> Result<ActionPlan, Vec<PlanError>> {
        ActionPlan::parse_in(&self.text, &self.project).map(|plan| plan.remarked(&self.remarks))
    }

    /// The same for display: a plan that cannot be parsed has only its title.
    pub fn shown(&self) -> ActionPlan {
        self.read().unwrap_or_else(|_| ActionPlan::unread(&self.text))
    }
}

/// One run of the approved items of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBatch {
    /// Its name in the session: `01`, and `01.2` after that was undone.
    pub name: String,
    /// When it was approved.
    pub approved_at: Timestamp,
    /// Who approved it, if known.
    pub by: Option<By>,
    /// The items that were selected.
    pub chosen: Chosen,
    /// What to do about a command that was interrupted.
    pub interrupted: Interrupted,
    /// The results of its actions, by index in the plan.
    pub ended: BTreeMap<usize, ActionEnd>,
    /// What failed of them, in brief, by index in the plan: the plan itself is not kept once the turn is reported.
    pub failed: BTreeMap<usize, String>,
    /// The questions of its actions, by index in the plan.
    pub asked: BTreeMap<usize, QuestionId>,
    /// Why it is paused, in words for a person.
    pub paused: Option<String>,
    /// The action that was interrupted and may have run.
    pub unsure: Option<usize>,
    /// Whether it has ended.
    pub is_ended: bool,
    /// Whether it changed files, or may have.
    pub has_changes: bool,
    /// The state of undoing it.
    pub undo: UndoState,
    /// Why the last undo was refused.
    pub undo_refused: Option<UndoProblem>,
    /// Who last asked to undo it.
    pub undo_by: Option<By>,
}

/// The state of undoing a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UndoState {
    /// It is not undone.
    #[default]
    Not,
    /// It is being undone.
    UnderWay(LaterChanges),
    /// Undoing it began, and something is in the way.
    Stuck(UndoProblem),
    /// It is undone, for these files.
    Done(UndoneFiles),
}

impl FileBatch {
    pub(crate) fn approved(name: &str, approved_at: Timestamp, chosen: &Chosen, by: Option<&By>) -> Self {
        Self {
            name: name.to_owned(),
            approved_at,
            by: by.cloned(),
            chosen: chosen.clone(),
            interrupted: Interrupted::Halt,
            ended: BTreeMap::new(),
            failed: BTreeMap::new(),
            asked: BTreeMap::new(),
            paused: None,
            unsure: None,
            is_ended: false,
            has_changes: false,
            undo: UndoState::Not,
            undo_refused: None,
            undo_by: None,
        }
    }

    pub(crate) fn found(name: &str, found: &FoundBatch) -> Self {
        let FoundBatch { approved_at, chosen, ended, unsure, is_ended, has_changes, .. } = found;
        let undo = match (&found.undone, found.is_half_undone) {
            (Some(files), _) => UndoState::Done(files.clone()),
            (None, true) => UndoState::Stuck(UndoProblem {
                reason: "undoing it was interrupted".into(),
                changed: Vec::new(),
                is_partial: true,
            }),
            (None, false) => UndoState::Not,
        };
        Self {
            ended: ended.iter().map(|end| (end.action, end.clone())).collect(),
            unsure: *unsure,
            is_ended: *is_ended,
            has_changes: *has_changes,
            undo,
            ..Self::approved(name, *approved_at, chosen, None)
        }
    }

    /// Whether its changes are in effect: it is neither undone nor being undone.
    pub fn stands(&self) -> bool {
        matches!(self.undo, UndoState::Not)
    }

    /// Whether it changed memos.
    pub fn has_remembered(&self) -> bool {
        self.is_ended && self.chosen.memos.iter().any(Option::is_none)
    }
}

impl FileTurn {
    pub(crate) fn new(folder: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            origin: None,
            stage: TurnStage::Unplanned { is_ready: false },
            shown: None,
            plan: None,
            differs: None,
            problems: Vec::new(),
            words: None,
            is_reply_settled: false,
            status: None,
            report: None,
            approved_context: None,
            batches: Vec::new(),
            model: None,
            cost_micros: 0,
        }
    }

    /// Whether it has no plan yet.
    pub fn is_unplanned(&self) -> bool {
        matches!(self.stage, TurnStage::Unplanned { .. } | TurnStage::Planning)
    }

    /// Whether a person has to decide about it before the next one is planned.
    pub fn is_waiting(&self) -> bool {
        !self.is_unplanned() && self.stage != TurnStage::Complete
    }

    /// The latest batch.
    pub fn batch(&self) -> Option<&FileBatch> {
        self.batches.last()
    }

    /// The name of the next batch.
    pub(crate) fn next_batch(&self) -> String {
        match self.batches.len() {
            0 => self.folder.clone(),
            before => format!("{}.{}", self.folder, before + 1),
        }
    }
}

/// A turn's directory as it was found. Rapport, an older version or a person may have made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundTurn {
    /// Its directory, from the session's.
    pub folder: String,
    /// Its origin, from its `meta.yaml`.
    pub origin: TurnOrigin,
    /// Whether the files that the agent will be shown exist.
    #[serde(default)]
    pub is_ready: bool,
    /// The check sum of `_context.log`, if the directory has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// The content of its `plan.md`, if there is no report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Whether there is a report.
    #[serde(default)]
    pub is_complete: bool,
    /// The plan's result according to the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Overall>,
    /// A check sum for each of its files, if there is a report.
    #[serde(skip)]
    pub files: BTreeMap<String, String>,
    /// Its batches, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<FoundBatch>,
    /// Whether Rapport itself wrote its content, according to a signed note. Rapport makes such a note before it
    /// writes there, because after a kill in between no fact mentions the content, and it must not pass for someone
    /// else's.
    #[serde(skip)]
    pub is_ours: bool,
}

impl FoundTurn {
    /// Whether something in it would be run, sent to an agent or trusted.
    pub(crate) fn says_anything(&self) -> bool {
        self.plan.is_some() || self.is_complete || self.is_ready
    }
}

/// A batch as its journal describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundBatch {
    /// When it was approved.
    pub approved_at: Timestamp,
    /// The items that were approved.
    pub chosen: Chosen,
    /// How its actions ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<ActionEnd>,
    /// The action that was interrupted and may have run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<usize>,
    /// Whether it has ended.
    #[serde(default)]
    pub is_ended: bool,
    /// Whether it changed files, or may have.
    #[serde(default)]
    pub has_changes: bool,
    /// Whether undoing it began and has not finished.
    #[serde(default)]
    pub is_half_undone: bool,
    /// The result of undoing it, if it is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<UndoneFiles>,
}

/// The turn directories that were found, to compare with the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundTurns {
    /// All turn directories, ordered by creation time.
    pub turns: Vec<FoundTurn>,
}

impl FoundTurns {
    pub(crate) fn folders(&self) -> BTreeSet<&str> {
        self.turns.iter().map(|turn| turn.folder.as_str()).collect()
    }
}
