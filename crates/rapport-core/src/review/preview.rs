//! The preview of an item before it is approved: its whole content, its diff, or the full command. The caller reads the
//! file that a preview needs ([`needed`]); previews change nothing.

use similar::TextDiff;

use super::outline::{self, change_label};
use super::selection::{Checks, Group};
use crate::action_plan::{ActionKind, ActionPlan, Change, Effect, Replacement, Resource};
use crate::edit::apply_edits;
use crate::slug;

/// The number of lines to show of a file that only a change of the context names.
const HEAD: usize = 40;
/// The number of unchanged lines around a change.
const AROUND: usize = 3;

/// The preview of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Its title.
    pub title: String,
    /// Its file name, with an extension by which editors recognise the content.
    pub file_name: String,
    /// The content for an editor.
    pub text: String,
    /// The kind of content, for rendering.
    pub shown: PreviewKind,
}

/// The kind of content that a preview has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreviewKind {
    /// Prose.
    Text,
    /// A whole file.
    File,
    /// A change to a file.
    Change {
        /// The content before.
        old: String,
        /// The content after.
        new: String,
    },
    /// The plan's edits, if the resulting change cannot be computed.
    Edits {
        /// Why it cannot be computed.
        why: String,
        /// The edits of the plan.
        edits: Vec<Replacement>,
    },
}

/// What the caller has to read for a preview, if anything: a file that no earlier action creates, or a page.
pub fn needed(plan: &ActionPlan, checks: &Checks, group: Group, item: Option<usize>) -> Option<Resource> {
    let item = item?;
    let (resource, first) = match group {
        Group::Context => (named(&plan.context.iter().flatten().nth(item)?.what), plan.actions.len()),
        Group::Memos => return None,
        Group::Actions => (plan.actions.get(item)?.kind.shows()?, item),
    };
    let Resource::File(path) = &resource else { return Some(resource) };
    match origin(path, &checked(plan, checks, first)) {
        Origin::Made { .. } => None,
        Origin::OnDisk { path } => Some(Resource::File(path.to_owned())),
    }
}

/// The preview of an item, given the checked items; of a whole group if no item is named. `read` is the content of what
/// is [`needed`].
pub fn preview(
    plan: &ActionPlan,
    checks: &Checks,
    group: Group,
    item: Option<usize>,
    read: Option<Result<String, String>>,
) -> Preview {
    let whole = || of_group(plan, group);
    let Some(item) = item else { return whole() };
    match group {
        Group::Context => plan.context.iter().flatten().nth(item).map_or_else(whole, |change| {
            of_context(change, &checked(plan, checks, plan.actions.len()), read)
        }),
        Group::Memos => plan.memos.get(item).map_or_else(whole, |change| {
            Preview::text(change.what.clone(), "memo", "md", change_text(change))
        }),
        Group::Actions => plan
            .actions
            .get(item)
            .map_or_else(whole, |action| action.kind.preview(&checked(plan, checks, item), read)),
    }
}

/// A unified diff of a file.
pub fn unified(path: &str, old: &str, new: &str) -> String {
    let path = visible(path);
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(AROUND).header(&format!("a/{path}"), &format!("b/{path}")).to_string()
}

/// A path with control characters made visible and harmless.
fn visible(path: &str) -> String {
    let picture = |c: char| match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(c),
        0x7f => '\u{2421}',
        _ => c,
    };
    path.chars().map(picture).collect()
}

/// The checked ones among the first actions of a plan.
fn checked<'a>(plan: &'a ActionPlan, checks: &Checks, first: usize) -> Vec<&'a ActionKind> {
    let actions = plan.actions.iter().zip(checks.of(Group::Actions)).take(first);
    actions.filter_map(|(action, checked)| checked.then_some(&action.kind)).collect()
}

/// Where the content of a file comes from.
enum Origin<'a> {
    /// An action creates it, at this index.
    Made { place: usize, content: &'a str },
    /// It is on disk, at this path.
    OnDisk { path: &'a str },
}

/// Where the file that will be at a path comes from, after moves.
fn origin<'a>(path: &'a str, before: &[&'a ActionKind]) -> Origin<'a> {
    let mut path = path;
    for (place, kind) in before.iter().enumerate().rev() {
        match kind.effect() {
            Effect::Creates { path: other, content } if other == path => {
                return Origin::Made { place, content };
            }
            Effect::Moves { from, to } if to == path => path = from,
            _ => {}
        }
    }
    Origin::OnDisk { path }
}

/// A file's content after the checked actions before; anything else as it is now.
pub(crate) fn as_will_be(
    resource: &Resource,
    before: &[&ActionKind],
    read: Option<Result<String, String>>,
) -> Result<String, String> {
    let unread = || Err("it was not read".to_owned());
    let Resource::File(path) = resource else { return read.unwrap_or_else(unread) };
    let (text, later) = match origin(path, before) {
        Origin::Made { place, content } => (content.to_owned(), place + 1),
        Origin::OnDisk { .. } => (read.unwrap_or_else(unread)?, 0),
    };
    let rest = before.get(later..).unwrap_or_default();
    rest.iter().enumerate().try_fold(text, |text, (at, kind)| match kind.effect() {
        // The file may have been moved before the edit.
        Effect::Edits { path: other, edits }
            if is_from(path, other, rest.get(at + 1..).unwrap_or_default()) =>
        {
            apply_edits(&text, edits).map_err(|why| format!("an earlier EDIT of it cannot be made: {why}"))
        }
        _ => Ok(text),
    })
}

/// Whether the file at `path` after these actions is the one that was at `other` before them.
fn is_from(path: &str, other: &str, between: &[&ActionKind]) -> bool {
    matches!(origin(path, between), Origin::OnDisk { path } if path == other)
}

pub(crate) fn of_edit(
    path: &str,
    edits: &[Replacement],
    before: &[&ActionKind],
    read: Option<Result<String, String>>,
) -> Preview {
    let old = as_will_be(&Resource::File(path.to_owned()), before, read);
    let changed = old.and_then(|old| match apply_edits(&old, edits) {
        Ok(new) => Ok((old, new)),
        Err(why) => Err(why.to_string()),
    });
    let title = format!("EDIT {path}");
    match changed {
        Ok((old, new)) => Preview::change(title, path, old, new),
        Err(why) => {
            let why = format!("The change cannot be computed: {why}. These are the plan's edits.");
            let pairs = edits.iter().map(|edit| unified(path, &edit.find, &edit.replace));
            let text = format!("{why}\n\n{}", pairs.collect::<String>());
            let shown = PreviewKind::Edits { why, edits: edits.to_vec() };
            Preview { title, file_name: file_name(path, "diff"), text, shown }
        }
    }
}

/// The preview of a change of the context: the beginning of the file, as the next turn will see it.
fn of_context(change: &Change, before: &[&ActionKind], read: Option<Result<String, String>>) -> Preview {
    let head = match as_will_be(&named(&change.what), before, read) {
        Ok(text) => {
            let more = text.lines().count().saturating_sub(HEAD);
            let mut lines: Vec<String> = text.lines().take(HEAD).map(str::to_owned).collect();
            lines.extend((more > 0).then(|| format!("… {more} more lines")));
            lines.join("\n")
        }
        Err(why) => format!("It cannot be read now: {why}"),
    };
    let text = format!("{}\n\n{head}", change_text(change));
    Preview::text(change.what.clone(), &change.what, "txt", text)
}

fn named(what: &str) -> Resource {
    let is_page = ["http://", "https://"].iter().any(|start| what.starts_with(start));
    if is_page { Resource::Url(what.to_owned()) } else { Resource::File(what.to_owned()) }
}

fn of_group(plan: &ActionPlan, group: Group) -> Preview {
    let items = outline::items(plan, group);
    let lines = items.iter().map(|item| match &item.about {
        Some(about) => format!("{} {}\n    {about}", item.label, item.what),
        None => format!("{} {}", item.label, item.what),
    });
    Preview::text(group.title().into(), group.title(), "txt", lines.collect::<Vec<_>>().join("\n"))
}

fn change_text(change: &Change) -> String {
    let comment = change.comment.as_ref().map(|comment| format!(" # {comment}")).unwrap_or_default();
    format!("{} {}{comment}", change_label(change.sign), change.what)
}

/// Words on one line, whatever they contain.
pub(crate) fn one_line(words: &str) -> String {
    words.escape_debug().collect::<String>().replace("\\\"", "\"").replace("\\'", "'")
}

/// A name for a preview's file that is safe in any directory.
fn file_name(path: &str, ending: &str) -> String {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    format!("{}.{ending}", slug::part(name))
}

/// The extension of a path, if it is an ordinary one.
fn ending(path: &str) -> &str {
    let is_ordinary =
        |ending: &&str| (1..=10).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric());
    path.rsplit_once('.').map(|(_, ending)| ending).filter(is_ordinary).unwrap_or("txt")
}

impl Preview {
    pub(crate) fn text(title: String, name: &str, ending: &str, text: String) -> Self {
        Self { title, file_name: file_name(name, ending), text, shown: PreviewKind::Text }
    }

    /// How a file changes.
    pub(crate) fn change(title: String, path: &str, old: String, new: String) -> Self {
        let text = unified(path, &old, &new);
        Self { title, file_name: file_name(path, "diff"), text, shown: PreviewKind::Change { old, new } }
    }

    /// A file's content.
    pub(crate) fn file(title: String, path: &str, text: String) -> Self {
        let stem = path.strip_suffix(&format!(".{}", ending(path))).unwrap_or(path);
        Self { title, file_name: file_name(stem, ending(path)), text, shown: PreviewKind::File }
    }
}
