//! Which file an action changes, and the fingerprint of a plan.

use rapport_core::{ActionKind, ActionPlan, Resource};
use serde_json::{Value, json};

use rapport_durable::digest;

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
