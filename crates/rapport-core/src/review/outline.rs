//! A plan's items in one line each: what an item is called, what it is about, and what else there is to say.

use std::collections::BTreeSet;

use super::selection::Group;
use crate::action_plan::{Action, ActionKind, ActionPlan, Change, Resource, Sign};
use crate::check::steers_agents;

/// What is said of a file that tells agents what to run.
const STEERS: &str = "changes what agents run here";

/// The files that the actions change and that tell agents what to run, with that.
pub fn warnings(actions: &[Action]) -> Vec<String> {
    let paths = actions.iter().filter_map(|action| match &action.kind {
        ActionKind::Create { path, .. } | ActionKind::Edit { path, .. } if steers_agents(path) => Some(path),
        _ => None,
    });
    paths.map(|path| format!("{path} {STEERS}: hooks, servers, permissions")).collect()
}

/// One item of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What happens: `[+] ADD:`, `CREATE:`.
    pub label: String,
    /// With what: a path, a fact, a command's first line.
    pub what: String,
    /// What was said about it.
    pub about: Option<String>,
    /// What makes it unlike the others.
    pub remark: Option<String>,
}

/// The items of a group.
pub fn items(plan: &ActionPlan, group: Group) -> Vec<Item> {
    match group {
        Group::Context => plan.context.iter().flatten().map(changed).collect(),
        Group::Memos => plan.memos.iter().map(changed).collect(),
        Group::Actions => plan.actions.iter().map(|action| acted(action, plan.actions.len())).collect(),
    }
}

/// How many actions there are of each kind, as `CREATE: 1 file`.
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

/// What a change is called: `[+] ADD:`.
pub fn change_label(sign: Sign) -> &'static str {
    match sign {
        Sign::Add => "[+] ADD:",
        Sign::Remove => "[-] REMOVE:",
    }
}

fn changed(change: &Change) -> Item {
    Item {
        label: change_label(change.sign).into(),
        what: change.what.clone(),
        about: change.comment.clone(),
        remark: None,
    }
}

fn acted(action: &Action, of: usize) -> Item {
    let among_others = |remark: String| Some(remark).filter(|_| of > 1);
    let (what, remark) = match &action.kind {
        ActionKind::Create { path, .. } | ActionKind::Edit { path, .. } if steers_agents(path) => {
            (path.clone(), Some(STEERS.into()))
        }
        ActionKind::Create { path, overwrite: true, .. } => {
            (path.clone(), Some("replaces one that is there".into()))
        }
        ActionKind::Create { path, overwrite: false, .. } | ActionKind::Edit { path, .. } => {
            (path.clone(), None)
        }
        ActionKind::Read { resource: Resource::File(path) | Resource::Url(path) } => (path.clone(), None),
        ActionKind::Execute { command, .. } => (first_line(command), None),
        ActionKind::Research { queries } => (several(queries), None),
        ActionKind::ChatWithUser { message } => {
            (first_line(message), among_others("waits for your reply".into()))
        }
        ActionKind::Invoke { agent, .. } => {
            (agent.clone(), among_others("hands over to another agent".into()))
        }
    };
    Item { label: padded(action.kind.name()), what, about: action.description.clone(), remark }
}

/// A name with its colon, as wide as `CREATE:` at least.
fn padded(name: &str) -> String {
    format!("{:<7}", format!("{name}:"))
}

fn first_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim();
    match lines.count() {
        0 => first.to_owned(),
        more => format!("{first} (+{})", count(more, "line")),
    }
}

fn several(queries: &[String]) -> String {
    let first = queries.first().map(|query| first_line(query)).unwrap_or_default();
    match queries.len() {
        0 | 1 => first,
        all => format!("{first} (+{} more)", all - 1),
    }
}

fn amount(kinds: &[&ActionKind]) -> String {
    let mut files = BTreeSet::new();
    let (mut pages, mut queries) = (0, 0);
    for kind in kinds {
        match kind {
            ActionKind::Create { path, .. }
            | ActionKind::Edit { path, .. }
            | ActionKind::Read { resource: Resource::File(path) } => drop(files.insert(path.as_str())),
            ActionKind::Read { resource: Resource::Url(_) } => pages += 1,
            ActionKind::Research { queries: more } => queries += more.len(),
            ActionKind::Execute { .. } | ActionKind::ChatWithUser { .. } | ActionKind::Invoke { .. } => {}
        }
    }
    match kinds.first() {
        None => String::new(),
        Some(ActionKind::Edit { .. }) if kinds.len() > files.len() => {
            format!("{} ({})", count(files.len(), "file"), count(kinds.len(), "edit"))
        }
        Some(ActionKind::Create { .. } | ActionKind::Edit { .. }) => count(files.len(), "file"),
        Some(ActionKind::Read { .. }) => match (files.len(), pages) {
            (0, pages) => count(pages, "page"),
            (files, 0) => count(files, "file"),
            (files, pages) => format!("{}, {}", count(files, "file"), count(pages, "page")),
        },
        Some(ActionKind::Execute { .. }) => count(kinds.len(), "command"),
        Some(ActionKind::Research { .. }) if queries == 1 => "1 query".into(),
        Some(ActionKind::Research { .. }) => format!("{queries} queries"),
        Some(ActionKind::ChatWithUser { .. }) => count(kinds.len(), "message"),
        Some(ActionKind::Invoke { .. }) => count(kinds.len(), "agent"),
    }
}

/// A count with its noun: `1 file`, `3 files`.
fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}
