//! What kind of thing an action is, and by what a plan is known again.

use rapport_core::{ActionPlan, Deed, Resource};
use serde_json::{Value, json};

use rapport_durable::digest;

/// What can be done again without harm. Files are looked at instead.
pub(super) fn may_be_repeated(deed: &Deed) -> bool {
    match deed {
        Deed::Execute { .. } | Deed::Invoke { .. } => false,
        Deed::Create { .. }
        | Deed::Edit { .. }
        | Deed::Read { .. }
        | Deed::Research { .. }
        | Deed::ChatWithUser { .. } => true,
    }
}

/// The same of what a journal calls so ([`Deed::in_brief`]), where there may be no plan any more: whether it does more than is
/// noted, as a command or another session. That can neither be undone nor, where it was cut off, be known to have happened.
pub fn is_for_good(what: &str) -> bool {
    what.split(' ').next().is_some_and(|name| ["EXECUTE", "INVOKE"].contains(&name))
}

/// The file it changes, if it does.
pub(super) fn path_of(deed: &Deed) -> Option<&str> {
    match deed {
        Deed::Create { path, .. } | Deed::Edit { path, .. } => Some(path),
        Deed::Read { .. }
        | Deed::Execute { .. }
        | Deed::Research { .. }
        | Deed::ChatWithUser { .. }
        | Deed::Invoke { .. } => None,
    }
}

/// Names what a plan does, and nothing of what it says about it.
pub(super) fn fingerprint(plan: &ActionPlan) -> String {
    let deeds: Vec<Value> = plan.actions.iter().map(|action| deed_as_json(&action.deed)).collect();
    digest(Value::Array(deeds).to_string().as_bytes())
}

fn deed_as_json(deed: &Deed) -> Value {
    let fields = match deed {
        Deed::Create { path, content, overwrite } => json!([path, content, overwrite]),
        Deed::Read { resource: Resource::File(path) } => json!(["file", path]),
        Deed::Read { resource: Resource::Url(url) } => json!(["url", url]),
        Deed::Edit { path, edits } => {
            let edits: Vec<_> = edits.iter().map(|edit| [&edit.find, &edit.replace]).collect();
            json!([path, edits])
        }
        Deed::Execute { command, cwd, env, expected: _, allow_failure, timeout } => {
            json!([command, cwd, env, allow_failure, timeout.map(|time| time.as_millis() as i64)])
        }
        Deed::Research { queries } => json!([queries]),
        Deed::ChatWithUser { message } => json!([message]),
        Deed::Invoke { agent, message } => json!([agent, message]),
    };
    json!([deed.name(), fields])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_words_of_a_journal_tell_the_same_as_the_deed() {
        let (path, message) = (|| "EXECUTE.md".to_owned(), || "INVOKE it".to_owned());
        for deed in [
            Deed::Create { path: path(), content: String::new(), overwrite: false },
            Deed::Read { resource: Resource::File(path()) },
            Deed::Edit { path: path(), edits: Vec::new() },
            Deed::Execute {
                command: message(),
                cwd: None,
                env: BTreeMap::new(),
                expected: None,
                allow_failure: false,
                timeout: None,
            },
            Deed::Research { queries: vec![message()] },
            Deed::ChatWithUser { message: message() },
            Deed::Invoke { agent: path(), message: message() },
        ] {
            assert_eq!(is_for_good(&deed.in_brief()), !may_be_repeated(&deed), "{}", deed.in_brief());
        }
    }
}
