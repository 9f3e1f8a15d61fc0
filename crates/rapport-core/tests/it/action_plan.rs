//! Plans of actions: read as models write them, refused where they mean nothing, and written so that they read back
//! (FILE-9, FILE-15, FILE-23, FILE-40).

mod broken;
mod documents;
mod fuzz;
mod round_trip;
mod tolerant;

use rapport_core::{Action, ActionKind, ActionPlan};

/// A plan with these actions.
pub(crate) fn plan(actions: &str) -> String {
    format!("# Do it\n\n## Rationale\n\nBecause.\n\n## Action Plan\n\n{actions}")
}

#[track_caller]
pub(crate) fn parse(text: &str) -> ActionPlan {
    ActionPlan::parse(text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"))
}

/// What the only action does.
#[track_caller]
pub(crate) fn only(actions: &str) -> ActionKind {
    let parsed = parse(&plan(actions));
    let [Action { kind, .. }] = parsed.actions.as_slice() else { panic!("{:#?}", parsed.actions) };
    kind.clone()
}

/// The content of the only action, which creates a file.
#[track_caller]
pub(crate) fn content(actions: &str) -> String {
    match only(actions) {
        ActionKind::Create { content, .. } => content,
        other => panic!("{other:?}"),
    }
}

/// The same plan, wherever it is written.
pub(crate) fn placeless(mut plan: ActionPlan) -> ActionPlan {
    for change in plan.context.iter_mut().flatten().chain(&mut plan.memos) {
        change.line = 0;
    }
    for action in &mut plan.actions {
        action.line = 0;
        // A remark is about the text that the plan was read from.
        action.remark = None;
        if let ActionKind::Edit { edits, .. } = &mut action.kind {
            edits.iter_mut().for_each(|edit| edit.line = 0);
        }
    }
    plan
}

// FILE-40: what an action is called on screens, in journals and in reasons.
#[test]
fn file_40_actions_have_names_that_fit_on_a_line() {
    for (action, name) in [
        ("### CREATE\n- File Path: src/a.rs\n```\nx\n```\n", "CREATE src/a.rs"),
        ("### READ\n- Resource: https://example.org/a\n", "READ https://example.org/a"),
        ("### EXECUTE\n```\ncargo test\n```\n", "EXECUTE cargo test"),
        ("### EXECUTE\n```\ncd src\nls\n```\n", "EXECUTE cd src…"),
        ("### RESEARCH\n```\nred\n```\n```\nblue\n```\n", "RESEARCH red; blue"),
        ("### CHAT_WITH_USER\n\nShip it?\n", "CHAT_WITH_USER Ship it?"),
        ("### INVOKE\n- Agent: Reviewer\n\nLook.\n", "INVOKE Reviewer"),
    ] {
        assert_eq!(only(action).in_brief(), name);
    }
    let long = only(&format!("### EXECUTE\n```\n{}\n```\n", "ä".repeat(70)));
    assert_eq!(long.in_brief(), format!("EXECUTE {}…", "ä".repeat(60)));
}
