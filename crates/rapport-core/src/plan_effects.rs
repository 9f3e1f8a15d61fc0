//! The effects of a plan on files, computed without touching any: for comparing plans by what they do.

use std::collections::BTreeMap;

use crate::action_plan::{ActionPlan, Effect, Replacement};
use crate::edit::apply_edits;

/// The effects of a plan on files, and the commands that it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanEffects {
    /// The files that its actions name and change.
    pub files: BTreeMap<String, FileEffect>,
    /// Its commands, in order. What they do to files is unknown.
    pub commands: Vec<String>,
    /// Actions that do not fit the files, and why.
    pub unclear: Vec<String>,
}

/// The effect of a plan on one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileEffect {
    /// Its content before the plan; `None` if it did not exist.
    pub before: Option<String>,
    /// Its content after the plan; `None` if it does not exist.
    pub after: Option<String>,
}

impl PlanEffects {
    /// The effects of all actions, in order. `begins` gives the contents with which a file may begin, the likeliest
    /// first; an edit chooses the first that it fits.
    pub fn of(plan: &ActionPlan, begins: &dyn Fn(&str) -> Vec<Option<String>>) -> Self {
        let mut effects = Self::default();
        for action in &plan.actions {
            if let Err(why) = effects.apply(action.kind.effect(), begins) {
                effects.unclear.push(format!("{}: {why}", action.kind.in_brief()));
            }
        }
        effects
    }

    fn apply(
        &mut self,
        effect: Effect<'_>,
        begins: &dyn Fn(&str) -> Vec<Option<String>>,
    ) -> Result<(), String> {
        match effect {
            Effect::Creates { path, content } => self.file(path, begins).after = Some(content.to_owned()),
            Effect::Edits { path, edits } => return self.edit(path, edits, begins),
            Effect::Deletes(path) => self.file(path, begins).after = None,
            Effect::Moves { from, to } => {
                let moved = self.file(from, begins).after.take();
                self.file(to, begins).after = moved;
            }
            Effect::Runs(command) => self.commands.push(command.to_owned()),
            Effect::Reads(_) | Effect::Involves | Effect::Nothing => {}
        }
        Ok(())
    }

    fn edit(
        &mut self,
        path: &str,
        edits: &[Replacement],
        begins: &dyn Fn(&str) -> Vec<Option<String>>,
    ) -> Result<(), String> {
        let candidates = match self.files.get(path) {
            Some(file) => vec![file.after.clone()],
            None => begins(path),
        };
        let mut why = "there is no such file".to_owned();
        for before in candidates.into_iter().flatten() {
            match apply_edits(&before, edits) {
                Ok(after) => {
                    let file = self.files.entry(path.to_owned());
                    let begun = FileEffect { before: Some(before), after: None };
                    file.or_insert(begun).after = Some(after);
                    return Ok(());
                }
                Err(error) => why = error.to_string(),
            }
        }
        Err(why)
    }

    fn file(&mut self, path: &str, begins: &dyn Fn(&str) -> Vec<Option<String>>) -> &mut FileEffect {
        self.files.entry(path.to_owned()).or_insert_with(|| {
            let before = begins(path).into_iter().next().flatten();
            FileEffect { after: before.clone(), before }
        })
    }
}
