//! What kind of thing an action is, and by what a plan is known again.

use rapport_core::{ActionKind, ActionPlan, Resource};
use serde_json::{Value, json};

use crate::actions::journal::digest;

/// What can be done again without harm. Files are looked at instead.
pub(super) fn may_be_repeated(kind: &ActionKind) -> bool {
    match kind {
        ActionKind::Execute { .. } | ActionKind::Invoke { .. } => false,
        ActionKind::Create { .. }
        | ActionKind::Edit { .. }
        | ActionKind::Read { .. }
        | ActionKind::Research { .. }
        | ActionKind::ChatWithUser { .. } => true,
    }
}

/// The same of what a journal calls so ([`ActionKind::in_brief`]), where there may be no plan any more: whether it does more than is
/// noted, as a command or another session. That can neither be undone nor, where it was cut off, be known to have happened.
pub fn is_for_good(what: &str) -> bool {
    what.split(' ').next().is_some_and(|name| ["EXECUTE", "INVOKE"].contains(&name))
}

/// The file it changes, if it does.
pub(super) fn path_of(kind: &ActionKind) -> Option<&str> {
    match kind {
        ActionKind::Create { path, .. } | ActionKind::Edit { path, .. } => Some(path),
        ActionKind::Read { .. }
        | ActionKind::Execute { .. }
        | ActionKind::Research { .. }
        | ActionKind::ChatWithUser { .. }
        | ActionKind::Invoke { .. } => None,
    }
}

/// Names what a plan does, and nothing of what it says about it.
pub(super) fn fingerprint(plan: &ActionPlan) -> String {
    let kinds: Vec<Value> = plan.actions.iter().map(|action| kind_as_json(&action.kind)).collect();
    digest(Value::Array(kinds).to_string().as_bytes())
}

fn kind_as_json(kind: &ActionKind) -> Value {
    let fields = match kind {
        ActionKind::Create { path, content, overwrite } => json!([path, content, overwrite]),
        ActionKind::Read { resource: Resource::File(path) } => json!(["file", path]),
        ActionKind::Read { resource: Resource::Url(url) } => json!(["url", url]),
        ActionKind::Edit { path, edits } => {
            let edits: Vec<_> = edits.iter().map(|edit| [&edit.find, &edit.replace]).collect();
            json!([path, edits])
        }
        ActionKind::Execute { command, cwd, env, expected: _, allow_failure, timeout } => {
            json!([command, cwd, env, allow_failure, timeout.map(|time| time.as_millis() as i64)])
        }
        ActionKind::Research { queries } => json!([queries]),
        ActionKind::ChatWithUser { message } => json!([message]),
        ActionKind::Invoke { agent, message } => json!([agent, message]),
    };
    json!([kind.name(), fields])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_words_of_a_journal_tell_the_same_as_the_deed() {
        let (path, message) = (|| "EXECUTE.md".to_owned(), || "INVOKE it".to_owned());
        for kind in [
            ActionKind::Create { path: path(), content: String::new(), overwrite: false },
            ActionKind::Read { resource: Resource::File(path()) },
            ActionKind::Edit { path: path(), edits: Vec::new() },
            ActionKind::Execute {
                command: message(),
                cwd: None,
                env: BTreeMap::new(),
                expected: None,
                allow_failure: false,
                timeout: None,
            },
            ActionKind::Research { queries: vec![message()] },
            ActionKind::ChatWithUser { message: message() },
            ActionKind::Invoke { agent: path(), message: message() },
        ] {
            assert_eq!(is_for_good(&kind.in_brief()), !may_be_repeated(&kind), "{}", kind.in_brief());
        }
    }
}
