//! Dependencies between the actions of a plan: an EDIT depends on the CREATE or MOVE of its file and on earlier EDITs
//! whose text it looks for; a CREATE depends on the DELETE or MOVE of a previous file at its path; an EXECUTE depends
//! on all changes before it. They are computed once per plan.

use std::collections::BTreeMap;

use super::selection::{Checks, Group};
use crate::action_plan::{ActionPlan, Effect, Replacement};

/// A line with fewer letters and digits than this does not identify where it comes from.
const TELLING: usize = 3;

/// The dependencies within a plan.
#[derive(Clone, Debug)]
pub struct Dependencies {
    /// For every change of the context, the action that creates its file.
    context: Vec<Option<Needed>>,
    actions: Vec<Needs>,
}

/// A required action: its index in the plan, and its name.
type Needed = (usize, &'static str);

/// The dependencies of one action; other actions by their index.
#[derive(Clone, Debug, Default)]
struct Needs {
    /// The latest earlier action that put the file at its path, or removed another one from there.
    path: Option<Needed>,
    /// Earlier EDITs of the same file that insert text it looks for.
    edits: Vec<usize>,
    part: Part,
}

/// How an action relates to files.
#[derive(Clone, Debug, Default)]
enum Part {
    /// It changes this file.
    Changes(String),
    /// It reads and may change the whole project.
    Runs,
    #[default]
    Neither,
}

impl Dependencies {
    /// Computes the dependencies of a plan.
    pub fn of(plan: &ActionPlan) -> Self {
        // The last action that put or removed a file at each path.
        let mut decided: BTreeMap<&str, Needed> = BTreeMap::new();
        let mut edited: BTreeMap<&str, Vec<(usize, &[Replacement])>> = BTreeMap::new();
        let mut actions = Vec::with_capacity(plan.actions.len());
        for (place, action) in plan.actions.iter().enumerate() {
            let mut needs = Needs::default();
            match action.kind.effect() {
                Effect::Creates { path, .. } => {
                    // An action that replaces the result of one of the same kind does not depend on it.
                    needs.path = decided.get(path).copied().filter(|(_, name)| *name != action.kind.name());
                    decided.insert(path, (place, action.kind.name()));
                    edited.remove(path);
                    needs.part = Part::Changes(action.kind.in_brief());
                }
                Effect::Deletes(path) => {
                    needs.path = decided.insert(path, (place, action.kind.name()));
                    edited.remove(path);
                    needs.part = Part::Changes(action.kind.in_brief());
                }
                Effect::Moves { from, to } => {
                    needs.path = decided.insert(from, (place, action.kind.name()));
                    needs.path = needs.path.or(decided.get(to).copied());
                    decided.insert(to, (place, action.kind.name()));
                    let moved = edited.remove(from).unwrap_or_default();
                    edited.insert(to, moved);
                    needs.part = Part::Changes(action.kind.in_brief());
                }
                Effect::Reads(path) => {
                    needs.path = decided.get(path).copied();
                }
                Effect::Edits { path, edits } => {
                    needs.path = decided.get(path).copied();
                    let before = edited.entry(path).or_default();
                    let brings = before.iter().filter(|(_, earlier)| brings_in(earlier, edits));
                    needs.edits = brings.map(|(place, _)| *place).collect();
                    before.push((place, edits));
                    needs.part = Part::Changes(format!("EDIT {path}"));
                }
                Effect::Runs(_) => needs.part = Part::Runs,
                Effect::Involves | Effect::Nothing => {}
            }
            actions.push(needs);
        }
        let changes = plan.context.iter().flatten();
        let context = changes.map(|change| decided.get(change.what.as_str()).copied()).collect();
        Self { context, actions }
    }

    /// For every item of a group, a note if something it depends on is not checked.
    pub fn notes(&self, group: Group, checks: &Checks) -> Vec<Option<String>> {
        match group {
            Group::Context => self.context_notes(checks),
            Group::Memos => vec![None; checks.of(group).len()],
            Group::Actions => self.action_notes(checks),
        }
    }

    fn context_notes(&self, checks: &Checks) -> Vec<Option<String>> {
        let note = |(needed, checked): (&Option<Needed>, &bool)| {
            let missing = needed.filter(|(place, _)| *checked && !checks.of(Group::Actions)[*place]);
            missing.map(|(_, name)| format!("its {name} is not checked"))
        };
        self.context.iter().zip(checks.of(Group::Context)).map(note).collect()
    }

    fn action_notes(&self, checks: &Checks) -> Vec<Option<String>> {
        let checked = checks.of(Group::Actions);
        let (mut first, mut missing) = (None, 0);
        let mut notes = Vec::with_capacity(self.actions.len());
        for (needs, is_checked) in self.actions.iter().zip(checked) {
            notes.push(is_checked.then(|| needs.note(checked, first, missing)).flatten());
            if let (Part::Changes(name), false) = (&needs.part, is_checked) {
                first = first.or(Some(name.as_str()));
                missing += 1;
            }
        }
        notes
    }
}

impl Needs {
    /// The note on an action before which `missing` changes are not made; `first` is the first of those.
    fn note(&self, checked: &[bool], first: Option<&str>, missing: usize) -> Option<String> {
        if let Some((_, name)) = self.path.filter(|(place, _)| !checked[*place]) {
            return Some(format!("its {name} is not checked"));
        }
        match self.edits.iter().filter(|place| !checked[**place]).count() {
            0 => {}
            1 => return Some("looks for text of an EDIT that is not checked".into()),
            several => return Some(format!("looks for text of {several} EDITs that are not checked")),
        }
        match (&self.part, missing) {
            (Part::Runs, 1) => Some(format!("runs without {}", first?)),
            (Part::Runs, 2..) => Some(format!("runs without {} and {} more", first?, missing - 1)),
            (Part::Runs | Part::Changes(_) | Part::Neither, _) => None,
        }
    }
}

/// Whether the earlier replacements insert a line that the later ones look for.
fn brings_in(earlier: &[Replacement], later: &[Replacement]) -> bool {
    let is_telling =
        |line: &&str| line.chars().filter(|c| c.is_alphanumeric()).take(TELLING).count() == TELLING;
    let mut wanted = later.iter().flat_map(|edit| edit.find.lines().map(str::trim).filter(is_telling));
    wanted.any(|line| earlier.iter().any(|edit| edit.replace.contains(line) && !edit.find.contains(line)))
}
