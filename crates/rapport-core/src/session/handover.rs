//! The end of work in a separate workplace: a person applies it to the project or discards it; either way the
//! workplace is then cleared.
//!
//! Applying is three facts, so that a kill at any instant neither loses nor repeats it: it is requested, it is merged
//! (which changes nothing yet), it is applied.

use super::flow::FlowRules;
use super::shared::Shared;
use crate::answer::{By, MAX_TEXT};
use crate::authority::{Authority, Matter, authority};
use crate::created::Terms;
use crate::event::{Event, FileChange};
use crate::input::{ApplyTo, Merged, NotMerged};
use crate::refusal::Refusal;
use crate::view::{WorkplaceState, WorkplaceView};
use crate::want::Want;

/// The progress of the handover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handover {
    stage: Stage,
    /// Why the last attempt to apply it failed.
    failure: Option<NotMerged>,
    clearing: Clearing,
    /// The states of the project before and after it was applied.
    applied: Option<Merged>,
    /// A request that a person apply the work, until that is decided.
    requested: Option<Requested>,
}

/// A request to apply the work, by an author who may not decide that.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Requested {
    by: By,
    with_conflicts: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing is decided yet.
    #[default]
    Open,
    /// It is being merged.
    Wanted {
        by: By,
        with_conflicts: bool,
        to: ApplyTo,
    },
    /// It is being written to the project.
    Merged {
        by: By,
        merged: Merged,
        to: ApplyTo,
    },
    Applied {
        to: ApplyTo,
    },
    Discarded,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Clearing {
    #[default]
    Due,
    Done,
    /// Part of the workplace is left, for this reason.
    Failed(String),
}

impl Handover {
    /// Whether nothing has been decided, so that the session can continue in its workplace.
    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// What was decided about the work, if anything.
    pub(super) fn decided(&self) -> Option<&'static str> {
        match self.stage {
            Stage::Open => None,
            Stage::Wanted { .. } | Stage::Merged { .. } => Some("its work is being applied"),
            Stage::Applied { .. } => Some("its work was applied, and its workplace is gone"),
            Stage::Discarded => Some("its work was discarded"),
        }
    }

    /// The states of the project before and after the work was applied, if it was.
    pub(super) fn applied(&self) -> Option<&Merged> {
        self.applied.as_ref()
    }

    /// Drops the request to apply the work, which is about to change.
    pub(super) fn drop_request(&mut self) {
        self.requested = None;
    }

    fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::Wanted { .. } | Stage::Merged { .. })
    }
}

impl Shared {
    pub(super) fn apply_work(
        &self,
        flow: &dyn FlowRules,
        by: &By,
        how: (bool, &ApplyTo),
        end: Option<u32>,
    ) -> Result<Vec<Event>, Refusal> {
        self.works_apart("applying")?;
        self.is_at_end(end, "applying")?;
        let (_, to) = how;
        match &self.handover.stage {
            Stage::Discarded => Err(not("applying", "it was discarded")),
            Stage::Wanted { to: wanted, .. } | Stage::Merged { to: wanted, .. } => {
                repeated(to, wanted, "it is being")
            }
            Stage::Applied { to: done } => {
                self.record.refuse_undone("applying")?;
                repeated(to, done, "it was")
            }
            Stage::Open if !self.is_failed() && !flow.rests(self) => Err(flow.not_now(self, "applying")),
            Stage::Open => Ok(self.handover.applying(&self.created.terms, by, how)),
        }
    }

    pub(super) fn discard_work(
        &self,
        by: &By,
        reason: Option<&str>,
        end: Option<u32>,
    ) -> Result<Vec<Event>, Refusal> {
        self.works_apart("discarding")?;
        self.is_at_end(end, "discarding")?;
        if let Some(long) = reason.filter(|reason| reason.len() > MAX_TEXT) {
            return Err(Refusal::TooLong { what: "reason".into(), bytes: long.len(), limit: MAX_TEXT });
        }
        let discarded = Event::Discarded { by: by.clone(), reason: reason.map(str::to_owned) };
        match (&self.handover.stage, &self.handover.clearing) {
            (Stage::Applied { .. }, Clearing::Due | Clearing::Done) => {
                Err(not("discarding", "it was applied"))
            }
            (Stage::Wanted { .. } | Stage::Merged { .. }, _) => Err(not("discarding", "it is being applied")),
            (Stage::Discarded, Clearing::Due | Clearing::Done) => Ok(Vec::new()),
            // Tries again to remove the remains of the workplace.
            (Stage::Applied { .. } | Stage::Discarded, Clearing::Failed(_)) => Ok(vec![discarded]),
            (Stage::Open, _) if self.is_over() => Ok(vec![discarded]),
            (Stage::Open, _) => Ok(self.ended_by(by).into_iter().chain([discarded]).collect()),
        }
    }

    /// Refuses an act that names an earlier end of the work than the latest: its author has not seen the current
    /// work.
    fn is_at_end(&self, seen: Option<u32>, what: &'static str) -> Result<(), Refusal> {
        match seen {
            Some(seen) if seen != self.ends => Err(not(what, "the work has changed since")),
            Some(_) if self.is_going() => Err(not(what, "the work continues")),
            _ => Ok(()),
        }
    }

    fn works_apart(&self, what: &'static str) -> Result<(), Refusal> {
        if self.created.works_apart() {
            return Ok(());
        }
        Err(not(what, "this session worked in the project itself"))
    }

    pub(crate) fn workplace_view(&self, flow: &dyn FlowRules) -> Option<WorkplaceView> {
        if !self.created.works_apart() {
            return None;
        }
        let state = match &self.handover.stage {
            Stage::Open if flow.has_work_to_decide(self) => WorkplaceState::Waiting,
            Stage::Open => WorkplaceState::Open,
            Stage::Wanted { .. } | Stage::Merged { .. } => WorkplaceState::Applying,
            Stage::Applied { .. } => WorkplaceState::Applied,
            Stage::Discarded => WorkplaceState::Discarded,
        };
        let failure = self.handover.failure.clone();
        Some(WorkplaceView {
            worker: self.created.worker.clone(),
            state,
            cleared: self.handover.clearing == Clearing::Done,
            conflicts: match (&failure, self.handover.applied()) {
                (Some(why), _) => why.conflicts.clone(),
                (None, Some(merged)) => merged.conflicts.clone(),
                (None, None) => Vec::new(),
            },
            versions: self.handover.applied().map(|merged| merged.versions.clone()).unwrap_or_default(),
            half_done: failure.as_ref().map(|why| why.half_done.clone()).unwrap_or_default(),
            failure: failure.and_then(|why| why.reason),
            refused_hosts: self.hosts.refused.clone(),
            allowed_hosts: self.hosts.allowed.clone(),
            requested_by: self.handover.requested.as_ref().map(|requested| requested.by.clone()),
            left: match &self.handover.clearing {
                Clearing::Failed(why) => Some(why.clone()),
                Clearing::Due | Clearing::Done => None,
            },
        })
    }
}

impl Handover {
    /// The fact that the work is being applied; or, if the author may not decide that, that they ask a person to.
    fn applying(&self, terms: &Terms, by: &By, (with_conflicts, to): (bool, &ApplyTo)) -> Vec<Event> {
        let asked = Requested { by: by.clone(), with_conflicts };
        match authority(by, Matter::Application, terms) {
            Authority::Given => vec![Event::Applying { by: asked.by, with_conflicts, to: to.clone() }],
            Authority::AsksPerson | Authority::NeedsPerson if self.requested.as_ref() == Some(&asked) => {
                Vec::new()
            }
            Authority::AsksPerson | Authority::NeedsPerson => {
                vec![Event::ApplyRequested { by: asked.by, with_conflicts }]
            }
        }
    }

    pub(super) fn on_merged(&self, outcome: &Result<Merged, NotMerged>) -> Vec<Event> {
        match (&self.stage, outcome) {
            (Stage::Wanted { .. }, Ok(merged)) => vec![Event::Merged(merged.clone())],
            (Stage::Wanted { .. } | Stage::Merged { .. }, Err(why)) => vec![Event::NotApplied(why.clone())],
            _ => Vec::new(),
        }
    }

    pub(super) fn on_applied(&self, files: &[FileChange]) -> Vec<Event> {
        let Stage::Merged { by, .. } = &self.stage else { return Vec::new() };
        vec![Event::Applied { by: by.clone(), files: files.to_vec() }]
    }

    pub(super) fn on_cleared(&self, left: Option<&String>) -> Vec<Event> {
        let is_due = self.clearing == Clearing::Due && self.is_over();
        is_due.then(|| Event::Cleared { left: left.cloned() }).into_iter().collect()
    }

    /// The fact that applying failed, if it had been requested.
    pub(super) fn not_applied(&self, reason: &str) -> Option<Event> {
        let why = NotMerged { reason: Some(reason.to_owned()), ..NotMerged::default() };
        self.is_under_way().then_some(Event::NotApplied(why))
    }

    pub(super) fn apply(&mut self, fact: &Event) {
        match fact {
            Event::ApplyRequested { by, with_conflicts } => {
                self.requested = Some(Requested { by: by.clone(), with_conflicts: *with_conflicts });
            }
            Event::Applying { by, with_conflicts, to } => {
                self.requested = None;
                self.failure = None;
                self.stage =
                    Stage::Wanted { by: by.clone(), with_conflicts: *with_conflicts, to: to.clone() };
            }
            Event::Merged(merged) => {
                if let Stage::Wanted { by, to, .. } = &self.stage {
                    self.stage = Stage::Merged { by: by.clone(), merged: merged.clone(), to: to.clone() };
                }
            }
            Event::NotApplied(why) => {
                self.failure = Some(why.clone());
                self.stage = Stage::Open;
            }
            Event::Applied { .. } => {
                let Stage::Merged { merged, to, .. } = &self.stage else { return };
                // On a branch, the project's files did not change, so there is nothing to undo in them.
                if !matches!(to, ApplyTo::Branch(_)) {
                    self.applied = Some(merged.clone());
                }
                self.stage = Stage::Applied { to: to.clone() };
            }
            Event::Discarded { .. } => {
                self.requested = None;
                self.clearing = Clearing::Due;
                if !matches!(self.stage, Stage::Applied { .. }) {
                    self.stage = Stage::Discarded;
                }
            }
            Event::Cleared { left: None } => self.clearing = Clearing::Done,
            Event::Cleared { left: Some(why) } => self.clearing = Clearing::Failed(why.clone()),
            _ => {}
        }
    }

    /// Whether the work was applied or discarded.
    fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Applied { .. } | Stage::Discarded)
    }

    /// The next step of the handover. While it is in progress, nothing else is wanted.
    pub(super) fn wanted(&self, flow: &dyn FlowRules) -> Option<Want> {
        match &self.stage {
            Stage::Open => None,
            Stage::Wanted { with_conflicts, .. } => Some(Want::Merged { with_conflicts: *with_conflicts }),
            Stage::Merged { merged, to, .. } => {
                let plan = flow.plan().and_then(|plan| plan.path.clone());
                Some(Want::Applied { merged: merged.clone(), plan, to: to.clone() })
            }
            Stage::Applied { .. } | Stage::Discarded => {
                (self.clearing == Clearing::Due).then_some(Want::Cleared)
            }
        }
    }
}

/// A repeated request to apply the work changes nothing. A request to apply it elsewhere is refused.
fn repeated(to: &ApplyTo, decided: &ApplyTo, is: &str) -> Result<Vec<Event>, Refusal> {
    if to == decided {
        return Ok(Vec::new());
    }
    let how = match decided {
        ApplyTo::Files => "applied to the project's files".to_owned(),
        ApplyTo::Commit => "applied to the project's files and committed".to_owned(),
        ApplyTo::Branch(name) => format!("committed on the branch {name}"),
    };
    Err(not("applying", &format!("{is} {how}")))
}

fn not(what: &'static str, why: &str) -> Refusal {
    Refusal::NotNow { what: what.into(), why: why.to_owned() }
}
