//! What a plan makes of files, computed without touching any: for comparing plans by what they do.

use std::collections::BTreeMap;

use crate::action_plan::{ActionKind, ActionPlan};
use crate::edit::apply_edits;

/// What a plan makes of files, and the commands that it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanEffects {
    /// The files that its actions name and change.
    pub files: BTreeMap<String, FileEffect>,
    /// Its commands, in order. What they do to files is unknown.
    pub commands: Vec<String>,
    /// Actions that do not fit the files, and why.
    pub unclear: Vec<String>,
}

/// What a plan makes of one file.
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
            if let Err(why) = effects.apply(&action.kind, begins) {
                effects.unclear.push(format!("{}: {why}", action.kind.in_brief()));
            }
        }
        effects
    }

    fn apply(
        &mut self,
        kind: &ActionKind,
        begins: &dyn Fn(&str) -> Vec<Option<String>>,
    ) -> Result<(), String> {
        match kind {
            ActionKind::Create { path, content, .. } => self.file(path, begins).after = Some(content.clone()),
            ActionKind::Edit { path, edits } => {
                let candidates = match self.files.get(path) {
                    Some(file) => vec![file.after.clone()],
                    None => begins(path),
                };
                let mut why = "there is no such file".to_owned();
                for before in candidates.into_iter().flatten() {
                    match apply_edits(&before, edits) {
                        Ok(after) => {
                            let file = self.files.entry(path.clone());
                            let begun = FileEffect { before: Some(before), after: None };
                            file.or_insert(begun).after = Some(after);
                            return Ok(());
                        }
                        Err(error) => why = error.to_string(),
                    }
                }
                return Err(why);
            }
            ActionKind::Delete { path } => self.file(path, begins).after = None,
            ActionKind::Move { from, to } => {
                let moved = self.file(from, begins).after.take();
                self.file(to, begins).after = moved;
            }
            ActionKind::Execute { command, .. } => self.commands.push(command.clone()),
            ActionKind::Read { .. }
            | ActionKind::Research { .. }
            | ActionKind::ChatWithUser { .. }
            | ActionKind::Invoke { .. } => {}
        }
        Ok(())
    }

    fn file(&mut self, path: &str, begins: &dyn Fn(&str) -> Vec<Option<String>>) -> &mut FileEffect {
        self.files.entry(path.to_owned()).or_insert_with(|| {
            let before = begins(path).into_iter().next().flatten();
            FileEffect { after: before.clone(), before }
        })
    }
}
