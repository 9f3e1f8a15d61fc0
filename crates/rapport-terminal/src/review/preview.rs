//! What a preview shows, per kind of item: the whole content, the computed diff, the full command. What has to be read for
//! it is read through the [`Previewer`]; nothing is changed.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rapport_core::{Action, ActionPlan, Change, Deed, Replacement, Resource, apply_edits, slug};

use super::super::safe;
use super::super::text::{Line, Tone};
use super::checklist::{Checklist, Node};
use super::diff;
use super::outline::{self, change_label};
use super::selection::{Checks, Group};

/// How many lines of a file are shown where only a change of the context names it.
const HEAD: usize = 40;

/// Reads a file or a page: its text, or why there is none.
pub type Fetch =
    Arc<dyn Fn(Resource) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send>> + Send + Sync>;

/// How previews are made and shown.
#[derive(Clone)]
pub struct Previewer {
    /// The `preview_command` of the settings, in words. Without one it is `code` where that is on the `PATH`, and
    /// otherwise this terminal.
    pub command: Option<Vec<String>>,
    /// Reads what a preview needs.
    pub fetch: Fetch,
}

/// What is shown of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// What it is.
    pub title: String,
    /// How its file is called, with an ending that tells editors what is in it.
    pub file_name: String,
    /// The content, as an editor gets it.
    pub text: String,
    /// The content, as this terminal shows it.
    pub lines: Vec<Line>,
}

/// Makes the preview of an item, as things would be with what is checked in this list.
pub async fn preview_of(plan: &ActionPlan, list: &Checklist, node: Node, previewer: &Previewer) -> Preview {
    preview(plan, list.checks(), node, previewer).await
}

/// The same with the marks alone.
pub(super) async fn preview(
    plan: &ActionPlan,
    checks: &Checks,
    node: Node,
    previewer: &Previewer,
) -> Preview {
    let Some(item) = node.item else { return group(plan, node.group) };
    match node.group {
        Group::Context => match plan.context.iter().flatten().nth(item) {
            Some(change) => context(change, &checked(plan, checks, plan.actions.len()), previewer).await,
            None => group(plan, node.group),
        },
        Group::Memos => match plan.memos.get(item) {
            Some(change) => Preview::text(change.what.clone(), "memo", "md", change_text(change)),
            None => group(plan, node.group),
        },
        Group::Actions => match plan.actions.get(item) {
            Some(action) => act(action, &checked(plan, checks, item), previewer).await,
            None => group(plan, node.group),
        },
    }
}

/// The first so many actions, as far as they are checked.
fn checked<'a>(plan: &'a ActionPlan, checks: &Checks, first: usize) -> Vec<&'a Deed> {
    let actions = plan.actions.iter().zip(checks.of(Group::Actions)).take(first);
    actions.filter_map(|(action, checked)| checked.then_some(&action.deed)).collect()
}

async fn act(action: &Action, before: &[&Deed], previewer: &Previewer) -> Preview {
    let name = action.deed.name();
    match &action.deed {
        Deed::Create { path, content, .. } => Preview::file(format!("{name} {path}"), path, content.clone()),
        Deed::Read { resource: resource @ (Resource::File(path) | Resource::Url(path)) } => {
            let title = format!("{name} {path}");
            match read(resource, before, previewer).await {
                Ok(text) => Preview::file(title, path, text),
                Err(why) => Preview::text(title, path, "txt", format!("It cannot be read now: {why}")),
            }
        }
        Deed::Edit { path, edits } => edit(path, edits, before, previewer).await,
        Deed::Execute { command, .. } => {
            Preview::text(format!("{name} {}", first(command)), "command", "sh", execution(&action.deed))
        }
        Deed::Research { queries } => {
            let queries = queries.iter().map(|query| format!("- {}", query.trim()));
            Preview::text(name.into(), "queries", "md", queries.collect::<Vec<_>>().join("\n"))
        }
        Deed::ChatWithUser { message } => Preview::text(name.into(), "message", "md", message.clone()),
        Deed::Invoke { agent, message } => {
            let text = format!("Agent: {agent}\n\n{message}");
            Preview::text(format!("{name} {agent}"), agent, "md", text)
        }
    }
}

/// A file as it will be when the checked actions before were run; anything else as it is now.
async fn read(resource: &Resource, before: &[&Deed], previewer: &Previewer) -> Result<String, String> {
    let path = match resource {
        Resource::Url(_) => return (previewer.fetch)(resource.clone()).await,
        Resource::File(path) => path,
    };
    let created =
        before.iter().rposition(|deed| matches!(deed, Deed::Create { path: other, .. } if other == path));
    let text = match created.and_then(|place| before.get(place)) {
        Some(Deed::Create { content, .. }) => content.clone(),
        _ => (previewer.fetch)(resource.clone()).await?,
    };
    let later = before.get(created.map_or(0, |place| place + 1)..).unwrap_or_default();
    later.iter().try_fold(text, |text, deed| match deed {
        Deed::Edit { path: other, edits } if other == path => apply_edits(&text, edits)
            .map_err(|why| format!("an EDIT of it that comes before cannot be made: {why}")),
        _ => Ok(text),
    })
}

async fn edit(path: &str, edits: &[Replacement], before: &[&Deed], previewer: &Previewer) -> Preview {
    let title = format!("EDIT {path}");
    let old = read(&Resource::File(path.to_owned()), before, previewer).await;
    let changed = old.and_then(|old| match apply_edits(&old, edits) {
        Ok(new) => Ok((old, new)),
        Err(why) => Err(why.to_string()),
    });
    let (text, lines) = match changed {
        Ok((old, new)) => (diff::unified(path, &old, &new), diff::lines(&old, &new)),
        Err(why) => {
            let why = format!("What changes cannot be computed: {why}. This is what the plan says.");
            let pairs = edits.iter().flat_map(|edit| {
                let place = Line::new(Tone::Here, &format!("@@ line {} of the plan @@", edit.line));
                std::iter::once(place).chain(diff::lines(&edit.find, &edit.replace))
            });
            let lines: Vec<Line> =
                [Line::new(Tone::Care, &why), Line::empty()].into_iter().chain(pairs).collect();
            let pairs = edits.iter().map(|edit| diff::unified(path, &edit.find, &edit.replace));
            (format!("{why}\n\n{}", pairs.collect::<String>()), lines)
        }
    };
    Preview { title, file_name: file_name(path, "diff"), text, lines }
}

/// A path as the next turn will be shown it.
async fn context(change: &Change, before: &[&Deed], previewer: &Previewer) -> Preview {
    let is_page = ["http://", "https://"].iter().any(|start| change.what.starts_with(start));
    let resource =
        if is_page { Resource::Url(change.what.clone()) } else { Resource::File(change.what.clone()) };
    let head = match read(&resource, before, previewer).await {
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

fn group(plan: &ActionPlan, group: Group) -> Preview {
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

/// A command with all that belongs to it, in comments around it.
fn execution(deed: &Deed) -> String {
    let Deed::Execute { command, cwd, env, expected, allow_failure, timeout } = deed else {
        return String::new();
    };
    let mut about = vec![format!("# cwd: {}", one_line(cwd.as_deref().unwrap_or(".")))];
    about.extend(env.iter().map(|(name, value)| format!("# env: {}={}", one_line(name), one_line(value))));
    about.extend(timeout.map(|timeout| format!("# timeout: {timeout:#}")));
    about.extend(expected.as_ref().map(|words| format!("# expected: {}", one_line(words))));
    about.extend(allow_failure.then(|| "# the plan goes on when it fails".to_owned()));
    format!("{}\n\n{}", about.join("\n"), command.trim_end())
}

/// Words that stay in one line, whatever is in them.
fn one_line(words: &str) -> String {
    words.escape_debug().collect::<String>().replace("\\\"", "\"").replace("\\'", "'")
}

fn first(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

/// A name for a preview's file that is safe in any folder.
fn file_name(path: &str, ending: &str) -> String {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    format!("{}.{ending}", slug::part(name))
}

/// The ending of a path where it is an ordinary one.
fn ending(path: &str) -> &str {
    let is_ordinary =
        |ending: &&str| (1..=10).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric());
    path.rsplit_once('.').map(|(_, ending)| ending).filter(is_ordinary).unwrap_or("txt")
}

impl Preview {
    fn text(title: String, name: &str, ending: &str, text: String) -> Self {
        let lines = safe::lines(&text).iter().map(|line| Line::new(Tone::Text, line)).collect();
        Self { title, file_name: file_name(name, ending), text, lines }
    }

    /// A file's content, with numbered lines.
    fn file(title: String, path: &str, text: String) -> Self {
        let numbered = safe::lines(text.strip_suffix('\n').unwrap_or(&text));
        let digits = numbered.len().to_string().len().max(3);
        let line = |(number, line): (usize, &String)| {
            let number = format!("{number:>digits$}  ");
            Line::new(Tone::Dim, &number).and(Tone::Text, line).hanging(digits + 2)
        };
        let lines = (1..).zip(&numbered).map(line).collect();
        let stem = path.strip_suffix(&format!(".{}", ending(path))).unwrap_or(path);
        Self { title, file_name: file_name(stem, ending(path)), text, lines }
    }
}

impl fmt::Debug for Previewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Previewer").field("command", &self.command).finish_non_exhaustive()
    }
}
