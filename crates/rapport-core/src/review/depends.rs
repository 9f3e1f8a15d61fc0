//! Dependencies between the actions of a plan: an EDIT depends on the CREATE of its file and on earlier EDITs whose text it
//! looks for; an EXECUTE depends on all changes before it. They are computed once per plan.

use std::collections::BTreeMap;

use super::selection::{Checks, Group};
use crate::action_plan::{ActionPlan, Effect, Replacement};

/// A line with fewer letters and digits than this does not identify where it comes from.
const TELLING: usize = 3;

/// The dependencies within a plan.
#[derive(Clone, Debug)]
pub struct Dependencies {
    /// For every change of the context, the action that creates its file.
    context: Vec<Option<usize>>,
    actions: Vec<Needs>,
}

/// What one action builds on; others by their place in the plan.
#[derive(Clone, Debug, Default)]
struct Needs {
    /// The latest CREATE of the file before it.
    create: Option<usize>,
    /// EDITs of the same file that bring in text it looks for.
    edits: Vec<usize>,
    part: Part,
}

/// What an action has to do with files.
#[derive(Clone, Debug, Default)]
enum Part {
    /// It changes this file.
    Changes(String),
    /// It runs on the project as it is.
    Runs,
    #[default]
    Neither,
}

impl Dependencies {
    /// Computes the dependencies of a plan.
    pub fn of(plan: &ActionPlan) -> Self {
        let mut created: BTreeMap<&str, usize> = BTreeMap::new();
        let mut edited: BTreeMap<&str, Vec<(usize, &[Replacement])>> = BTreeMap::new();
        let mut actions = Vec::with_capacity(plan.actions.len());
        for (place, action) in plan.actions.iter().enumerate() {
            let mut needs = Needs::default();
            match action.kind.effect() {
                Effect::Creates { path, .. } => {
                    created.insert(path, place);
                    edited.remove(path);
                    needs.part = Part::Changes(format!("CREATE {path}"));
                }
                Effect::Reads(path) => {
                    needs.create = created.get(path).copied();
                }
                Effect::Edits { path, edits } => {
                    needs.create = created.get(path).copied();
                    let before = edited.entry(path).or_default();
                    let brings = before.iter().filter(|(_, earlier)| brings_in(earlier, edits));
                    needs.edits = brings.map(|(place, _)| *place).collect();
                    before.push((place, edits));
                    needs.part = Part::Changes(format!("EDIT {path}"));
                }
                Effect::Runs => needs.part = Part::Runs,
                Effect::Hands | Effect::Nothing => {}
            }
            actions.push(needs);
        }
        let changes = plan.context.iter().flatten();
        let context = changes.map(|change| created.get(change.what.as_str()).copied()).collect();
        Self { context, actions }
    }

    /// For every item of a group: what to know about it, because of others that are not checked.
    pub fn notes(&self, group: Group, checks: &Checks) -> Vec<Option<String>> {
        match group {
            Group::Context => self.context_notes(checks),
            Group::Memos => vec![None; checks.of(group).len()],
            Group::Actions => self.action_notes(checks),
        }
    }

    fn context_notes(&self, checks: &Checks) -> Vec<Option<String>> {
        let note = |(create, checked): (&Option<usize>, &bool)| {
            let missing = create.filter(|place| *checked && !checks.of(Group::Actions)[*place]);
            missing.map(|_| "its CREATE is not checked".to_owned())
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
    /// What to know about it where `missing` changes before it are not made, of which this is the first.
    fn note(&self, checked: &[bool], first: Option<&str>, missing: usize) -> Option<String> {
        if self.create.is_some_and(|place| !checked[place]) {
            return Some("its CREATE is not checked".into());
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

/// Whether the earlier replacements bring in a line that the later ones look for.
fn brings_in(earlier: &[Replacement], later: &[Replacement]) -> bool {
    let is_telling =
        |line: &&str| line.chars().filter(|c| c.is_alphanumeric()).take(TELLING).count() == TELLING;
    let mut wanted = later.iter().flat_map(|edit| edit.find.lines().map(str::trim).filter(is_telling));
    wanted.any(|line| earlier.iter().any(|edit| edit.replace.contains(line) && !edit.find.contains(line)))
}
