//! The selection: which changes and actions of a plan are checked, and the consequences of leaving some out.

use super::dependencies::Dependencies;
use crate::action_plan::ActionPlan;
use crate::turn::Chosen;

/// The reason for leaving an item out, in the report.
const UNCHECKED: &str = "left out when the plan was reviewed";

/// The maximum length of a comment on an item, in characters.
pub const MAX_COMMENT: usize = 500;

/// The groups of items in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Changes to the files that the next turn is shown.
    Context,
    /// Changes to the memos.
    Memos,
    /// The actions.
    Actions,
}

impl Group {
    /// All of them, in the order of a plan.
    pub const ALL: [Group; 3] = [Group::Context, Group::Memos, Group::Actions];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Context => "Active Context",
            Group::Memos => "Memos",
            Group::Actions => "Action Plan",
        }
    }
}

/// The items of a plan to carry out, in the plan's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// For every change of the Active Context.
    pub context: Vec<Pick>,
    /// For every change of the memos.
    pub memos: Vec<Pick>,
    /// For every action.
    pub actions: Vec<Pick>,
    /// Notes on items that lack a dependency.
    pub notes: Vec<Note>,
}

/// Whether one item is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// It is selected.
    Taken,
    /// It is left out.
    Left {
        /// The reason, in words for the report.
        reason: String,
    },
}

/// A note on a selected item that depends on one that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The group of the item.
    pub group: Group,
    /// The index of the item in its group, from 0.
    pub item: usize,
    /// The note: `runs without CREATE src/a.rs`.
    pub text: String,
}

impl Pick {
    fn reason(&self) -> Option<String> {
        match self {
            Pick::Taken => None,
            Pick::Left { reason } => Some(reason.clone()),
        }
    }

    /// Whether the item is selected.
    pub fn is_taken(&self) -> bool {
        match self {
            Pick::Taken => true,
            Pick::Left { .. } => false,
        }
    }
}

impl Selection {
    /// Selects everything.
    pub fn all(plan: &ActionPlan) -> Self {
        Checks::all(plan).selection(&Dependencies::of(plan))
    }

    /// Adds comments to the reasons for which items are left out, so that the agent reads them in the report.
    pub fn explain<'a>(&mut self, comment: impl Fn(Group, usize) -> Option<&'a str>) {
        for (group, picks) in [
            (Group::Context, &mut self.context),
            (Group::Memos, &mut self.memos),
            (Group::Actions, &mut self.actions),
        ] {
            for (item, pick) in picks.iter_mut().enumerate() {
                if let (Pick::Left { reason }, Some(comment)) = (pick, comment(group, item)) {
                    *reason = format!("{reason}: {comment}");
                }
            }
        }
    }

    /// The selection as it is stored with the approval.
    pub fn chosen(&self) -> Chosen {
        let left = |picks: &[Pick]| picks.iter().map(Pick::reason).collect();
        Chosen { context: left(&self.context), memos: left(&self.memos), actions: left(&self.actions) }
    }
}

/// The check marks of a checklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checks([Vec<bool>; 3]);

/// How many of a group are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMark {
    /// Every item.
    All,
    /// Some items, but not all.
    Some,
    /// No item.
    None,
}

impl Checks {
    /// Everything is checked.
    pub fn all(plan: &ActionPlan) -> Self {
        let context = plan.context.as_ref().map_or(0, Vec::len);
        Self([context, plan.memos.len(), plan.actions.len()].map(|items| vec![true; items]))
    }

    /// The marks of a group, in the plan's order.
    pub fn of(&self, group: Group) -> &[bool] {
        &self.0[group as usize]
    }

    /// Toggles an item.
    pub fn toggle(&mut self, group: Group, item: usize) {
        if let Some(mark) = self.0[group as usize].get_mut(item) {
            *mark = !*mark;
        }
    }

    /// Toggles a group: checks all of it, or unchecks it if all is checked.
    pub fn toggle_group(&mut self, group: Group) {
        let to = self.mark(group) != GroupMark::All;
        self.0[group as usize].fill(to);
    }

    /// Toggles everything: checks all, or unchecks all if all is checked.
    pub fn toggle_all(&mut self) {
        let to = self.checked() != self.total();
        self.0.iter_mut().for_each(|marks| marks.fill(to));
    }

    /// How many of a group are checked.
    pub fn mark(&self, group: Group) -> GroupMark {
        let marks = self.of(group);
        match marks.iter().filter(|mark| **mark).count() {
            0 => GroupMark::None,
            checked if checked == marks.len() => GroupMark::All,
            _ => GroupMark::Some,
        }
    }

    /// The number of checked items.
    pub fn checked(&self) -> usize {
        self.0.iter().flatten().filter(|mark| **mark).count()
    }

    /// The number of all items.
    pub fn total(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// The selection, with notes on the consequences of leaving items out.
    pub fn selection(&self, dependencies: &Dependencies) -> Selection {
        let pick = |taken: &bool| match taken {
            true => Pick::Taken,
            false => Pick::Left { reason: UNCHECKED.into() },
        };
        let [context, memos, actions] = self.0.each_ref().map(|marks| marks.iter().map(pick).collect());
        let notes = [Group::Context, Group::Actions].into_iter().flat_map(|group| {
            let notes = dependencies.notes(group, self).into_iter().enumerate();
            notes.filter_map(move |(item, text)| Some(Note { group, item, text: text? }))
        });
        Selection { context, memos, actions, notes: notes.collect() }
    }
}
