//! A plan's items, one line each: a label, a subject, and a remark.

use super::selection::Group;
use crate::action_plan::{Action, ActionKind, ActionPlan, Change, Effect, Sign, amount};
use crate::check::steers_agents;

/// The remark about a file that makes agents run something.
const STEERS: &str = "changes what agents run here";

/// Warnings before approving everything: files that make agents run something, and remarks from the check.
pub fn warnings(actions: &[Action]) -> Vec<String> {
    let paths = actions.iter().flat_map(|action| action.kind.effect().changed());
    let paths = paths.filter(|path| steers_agents(path));
    let steering = paths.map(|path| format!("{path} {STEERS}: hooks, servers, permissions"));
    let remarked = actions.iter().filter_map(|action| {
        action.remark.as_ref().map(|remark| format!("{}: {remark}", action.kind.in_brief()))
    });
    steering.chain(remarked).collect()
}

/// One item of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanItem {
    /// Its label: `[+] ADD:`, `CREATE:`.
    pub label: String,
    /// Its subject: a path, a fact, the first line of a command.
    pub what: String,
    /// The agent's comment.
    pub about: Option<String>,
    /// What is unusual about it.
    pub remark: Option<String>,
}

/// The items of a group.
pub fn items(plan: &ActionPlan, group: Group) -> Vec<PlanItem> {
    match group {
        Group::Context => plan.context.iter().flatten().map(changed).collect(),
        Group::Memos => plan.memos.iter().map(changed).collect(),
        Group::Actions => plan.actions.iter().map(|action| acted(action, plan.actions.len())).collect(),
    }
}

/// The number of actions of each kind, such as `CREATE: 1 file`.
pub fn counts(actions: &[Action]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in actions.iter().map(|action| action.kind.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let amounts = names.into_iter().map(|name| {
        let kinds: Vec<&ActionKind> =
            actions.iter().map(|action| &action.kind).filter(|kind| kind.name() == name).collect();
        format!("{} {}", padded(name), amount(&kinds))
    });
    amounts.collect()
}

/// The label of a change: `[+] ADD:`.
pub fn change_label(sign: Sign) -> &'static str {
    match sign {
        Sign::Add => "[+] ADD:",
        Sign::Remove => "[-] REMOVE:",
    }
}

fn changed(change: &Change) -> PlanItem {
    PlanItem {
        label: change_label(change.sign).into(),
        what: change.what.clone(),
        about: change.comment.clone(),
        remark: None,
    }
}

fn acted(action: &Action, of: usize) -> PlanItem {
    let (what, remark) = action.kind.summary();
    let remark = match action.kind.effect() {
        effect if effect.changed().any(steers_agents) => Some(STEERS),
        // A remark that only distinguishes actions of one kind is not needed for a single one.
        Effect::Involves if of == 1 => None,
        // The check against the project was more precise.
        _ if action.remark.is_some() => None,
        _ => remark,
    };
    let remarks: Vec<&str> = remark.into_iter().chain(action.remark.as_deref()).collect();
    let remark = Some(remarks.join("; ")).filter(|remark| !remark.is_empty());
    PlanItem { label: padded(action.kind.name()), what, about: action.description.clone(), remark }
}

/// A name with its colon, padded to the width of `CREATE:`.
fn padded(name: &str) -> String {
    format!("{:<7}", format!("{name}:"))
}
