//! A plan's items in one line each: what an item is called, what it is about, and what else there is to say.

use std::collections::BTreeSet;

use super::selection::Group;
use crate::action_plan::{Action, ActionPlan, Change, Deed, Resource, Sign};
use crate::check::steers_agents;

/// What is said of a file that tells agents what to run.
const STEERS: &str = "changes what agents run here";

/// The files that the actions change and that tell agents what to run, with that.
pub fn warnings(actions: &[Action]) -> Vec<String> {
    let paths = actions.iter().filter_map(|action| match &action.deed {
        Deed::Create { path, .. } | Deed::Edit { path, .. } if steers_agents(path) => Some(path),
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
    for name in actions.iter().map(|action| action.deed.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let amounts = names.into_iter().map(|name| {
        let deeds: Vec<&Deed> =
            actions.iter().map(|action| &action.deed).filter(|deed| deed.name() == name).collect();
        format!("{} {}", padded(name), amount(&deeds))
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
    let (what, remark) = match &action.deed {
        Deed::Create { path, .. } | Deed::Edit { path, .. } if steers_agents(path) => {
            (path.clone(), Some(STEERS.into()))
        }
        Deed::Create { path, overwrite: true, .. } => {
            (path.clone(), Some("replaces one that is there".into()))
        }
        Deed::Create { path, overwrite: false, .. } | Deed::Edit { path, .. } => (path.clone(), None),
        Deed::Read { resource: Resource::File(path) | Resource::Url(path) } => (path.clone(), None),
        Deed::Execute { command, .. } => (first_line(command), None),
        Deed::Research { queries } => (several(queries), None),
        Deed::ChatWithUser { message } => (first_line(message), among_others("waits for your reply".into())),
        Deed::Invoke { agent, .. } => (agent.clone(), among_others("hands over to another agent".into())),
    };
    Item { label: padded(action.deed.name()), what, about: action.description.clone(), remark }
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

fn amount(deeds: &[&Deed]) -> String {
    let mut files = BTreeSet::new();
    let (mut pages, mut queries) = (0, 0);
    for deed in deeds {
        match deed {
            Deed::Create { path, .. }
            | Deed::Edit { path, .. }
            | Deed::Read { resource: Resource::File(path) } => drop(files.insert(path.as_str())),
            Deed::Read { resource: Resource::Url(_) } => pages += 1,
            Deed::Research { queries: more } => queries += more.len(),
            Deed::Execute { .. } | Deed::ChatWithUser { .. } | Deed::Invoke { .. } => {}
        }
    }
    match deeds.first() {
        None => String::new(),
        Some(Deed::Edit { .. }) if deeds.len() > files.len() => {
            format!("{} ({})", count(files.len(), "file"), count(deeds.len(), "edit"))
        }
        Some(Deed::Create { .. } | Deed::Edit { .. }) => count(files.len(), "file"),
        Some(Deed::Read { .. }) => match (files.len(), pages) {
            (0, pages) => count(pages, "page"),
            (files, 0) => count(files, "file"),
            (files, pages) => format!("{}, {}", count(files, "file"), count(pages, "page")),
        },
        Some(Deed::Execute { .. }) => count(deeds.len(), "command"),
        Some(Deed::Research { .. }) if queries == 1 => "1 query".into(),
        Some(Deed::Research { .. }) => format!("{queries} queries"),
        Some(Deed::ChatWithUser { .. }) => count(deeds.len(), "message"),
        Some(Deed::Invoke { .. }) => count(deeds.len(), "agent"),
    }
}

/// A count with its noun: `1 file`, `3 files`.
fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}
