//! The kinds of action and everything in which they differ, except their execution, which is in the engine's
//! `actions/kinds.rs`. A new kind is a variant, a row among [`ROWS`], and an arm in each `match` here; the compiler
//! lists them. The rest of a plan's code never names a kind: it asks an action for its [`Effect`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::actions::{Body, NO_PATCH, edits, is_patch, message, no_block, only_block, required};
use super::inline::{self, as_code, as_path, one_line};
use super::markdown::{
    duration as written, fenced, fenced_lines, free, language, parameter, replacement,
    variables as write_variables,
};
use super::parse::Reader;
use super::values::{Parameter, duration, flag, path, resource, variables};
use super::{Replacement, Resource};
use crate::check::Checked;
use crate::review::preview::{Preview, as_will_be, of_edit, one_line as escaped};

/// What an action does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Creates a file.
    Create {
        /// Its path, from the project's root.
        path: String,
        /// Its content.
        content: String,
        /// Whether an existing file is replaced.
        overwrite: bool,
    },
    /// Reads a file or a page, and shows it in the report and the next turn.
    Read {
        /// The file or the page.
        resource: Resource,
    },
    /// Changes a file.
    Edit {
        /// Its path, from the project's root.
        path: String,
        /// The replacements, in order.
        edits: Vec<Replacement>,
    },
    /// Deletes a file.
    Delete {
        /// Its path, from the project's root.
        path: String,
    },
    /// Moves a file to another path.
    Move {
        /// The current path, from the project's root.
        from: String,
        /// The new path, from the project's root.
        to: String,
    },
    /// Runs a command.
    Execute {
        /// The command line, as the shell reads it.
        command: String,
        /// The shell that the fence names.
        shell: Shell,
        /// The working directory, from the project's root; `None` for the root.
        cwd: Option<String>,
        /// Additional environment variables.
        env: BTreeMap<String, String>,
        /// The expected result, in words.
        expected: Option<String>,
        /// Whether the plan continues if it fails.
        allow_failure: bool,
        /// The time limit, if the plan sets one.
        timeout: Option<SignedDuration>,
    },
    /// Searches the web.
    Research {
        /// What to search for.
        queries: Vec<String>,
    },
    /// Tells or asks a person something; their reply goes into the report.
    ChatWithUser {
        /// The text, in Markdown.
        message: String,
    },
    /// Starts a session of another agent.
    Invoke {
        /// The name of the agent.
        agent: String,
        /// What it is told.
        message: String,
    },
}

/// What an action does to the project and to others: all that the rest of a plan needs to know about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect<'a> {
    /// Writes a whole file.
    Creates {
        /// Its path in the project.
        path: &'a str,
        /// Its new content.
        content: &'a str,
    },
    /// Replaces parts of a file.
    Edits {
        /// Its path in the project.
        path: &'a str,
        /// The replacements, in order.
        edits: &'a [Replacement],
    },
    /// Deletes a file.
    Deletes(&'a str),
    /// Moves a file to another path.
    Moves {
        /// The current path.
        from: &'a str,
        /// The new path.
        to: &'a str,
    },
    /// Reads a file of the project.
    Reads(&'a str),
    /// Runs this command, which may read and change anything.
    Runs(&'a str),
    /// Involves a person or another agent.
    Involves,
    /// Nothing that later actions could depend on.
    Nothing,
}

impl<'a> Effect<'a> {
    /// The paths of the files that it changes.
    pub fn changed(self) -> impl Iterator<Item = &'a str> {
        let (first, second) = match self {
            Effect::Creates { path, .. } | Effect::Edits { path, .. } | Effect::Deletes(path) => {
                (Some(path), None)
            }
            Effect::Moves { from, to } => (Some(from), Some(to)),
            Effect::Reads(_) | Effect::Runs(_) | Effect::Involves | Effect::Nothing => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// How a kind of action is written in a plan and parsed.
pub(super) struct KindRow {
    /// Its names in a heading: the canonical one first, then aliases.
    pub(super) names: &'static [&'static str],
    /// Its parameters, each with its canonical name first, then aliases.
    pub(super) parameters: &'static [&'static [&'static str]],
    /// What comes below its parameters.
    pub(super) shape: Shape,
    /// Builds the action from what was found below its heading.
    pub(super) read: fn(&mut Reader<'_>, &mut Body<'_>) -> Option<ActionKind>,
}

impl KindRow {
    /// Its canonical name.
    pub(super) fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

/// What an action has below its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing follows the parameters.
    Bare,
    /// One fenced block.
    Fence,
    /// Any number of fenced blocks.
    Fences,
    /// Pairs of FIND and REPLACE, each with a fence.
    Pairs,
    /// Free text, up to the next action.
    Message,
}

/// Every kind of action, in the order in which messages list them.
pub(super) static ROWS: [&KindRow; 9] =
    [&CREATE, &READ, &EDIT, &DELETE, &MOVE, &EXECUTE, &RESEARCH, &CHAT_WITH_USER, &INVOKE];

static CREATE: KindRow = KindRow {
    names: &["CREATE"],
    parameters: &[
        &["File Path", "Path", "File", "File Name", "Filename", "Filepath", "Target File", "Target"],
        &["Description", "Purpose", "Reason", "Why", "Summary"],
        &["Overwrite"],
        &["Final Newline"],
    ],
    shape: Shape::Fence,
    read: create,
};
static READ: KindRow = KindRow {
    names: &["READ"],
    parameters: &[
        &["Resource", "File Path", "Path", "File", "File Name", "Filename", "Filepath", "URL", "Link"],
        &["Description", "Purpose", "Reason", "Why", "Summary"],
    ],
    shape: Shape::Bare,
    read: |reader, body| {
        no_block(reader, body);
        let value = required(reader, body, "Resource")?;
        resource(reader, &value).map(|resource| ActionKind::Read { resource })
    },
};
static EDIT: KindRow = KindRow {
    names: &["EDIT"],
    parameters: &[
        &["File Path", "Path", "File", "File Name", "Filename", "Filepath", "Target File", "Target"],
        &["Description", "Purpose", "Reason", "Why", "Summary"],
    ],
    shape: Shape::Pairs,
    read: |reader, body| {
        let value = required(reader, body, "File Path");
        let path = value.and_then(|value| path(reader, &value));
        let edits = edits(reader, body);
        Some(ActionKind::Edit { path: path?, edits })
    },
};
static DELETE: KindRow = KindRow {
    names: &["DELETE", "REMOVE"],
    parameters: &[
        &["File Path", "Path", "File", "File Name", "Filename", "Filepath", "Target File", "Target"],
        &["Description", "Purpose", "Reason", "Why", "Summary"],
    ],
    shape: Shape::Bare,
    read: |reader, body| {
        no_block(reader, body);
        let value = required(reader, body, "File Path")?;
        path(reader, &value).map(|path| ActionKind::Delete { path })
    },
};
static MOVE: KindRow = KindRow {
    names: &["MOVE", "RENAME"],
    parameters: &[
        &["File Path", "Path", "File", "From", "Source", "Source Path", "Old Path"],
        &["New Path", "To", "Destination", "Destination Path", "Target", "Target Path", "New Name"],
        &["Description", "Purpose", "Reason", "Why", "Summary"],
    ],
    shape: Shape::Bare,
    read: |reader, body| {
        no_block(reader, body);
        let (from, to) = (required(reader, body, "File Path"), required(reader, body, "New Path"));
        let (from, to) = (from.and_then(|from| path(reader, &from)), to.and_then(|to| path(reader, &to)));
        Some(ActionKind::Move { from: from?, to: to? })
    },
};
static EXECUTE: KindRow = KindRow {
    names: &["EXECUTE"],
    parameters: &[
        &["Description", "Purpose", "Reason", "Why", "Summary"],
        &["Expected Outcome", "Expected", "Expected Result"],
        &["cwd", "Working Directory", "Workdir", "Directory"],
        &["env", "Environment", "Environment Variables"],
        &["Allow Failure"],
        &["Timeout"],
        &["Command"],
    ],
    shape: Shape::Fence,
    read: execute,
};
static RESEARCH: KindRow = KindRow {
    names: &["RESEARCH"],
    parameters: &[&["Description", "Purpose", "Reason", "Why", "Summary"]],
    shape: Shape::Fences,
    read: research,
};
static CHAT_WITH_USER: KindRow = KindRow {
    names: &["CHAT_WITH_USER"],
    parameters: &[&["Description", "Purpose", "Reason", "Why", "Summary"]],
    shape: Shape::Message,
    read: |reader, body| message(reader, body).map(|message| ActionKind::ChatWithUser { message }),
};
static INVOKE: KindRow = KindRow {
    names: &["INVOKE"],
    parameters: &[&["Agent"], &["Description", "Purpose", "Reason", "Why", "Summary"]],
    shape: Shape::Message,
    read: invoke,
};

impl ActionKind {
    /// The action's name, as it is in a plan.
    pub fn name(&self) -> &'static str {
        match self {
            ActionKind::Create { .. } => CREATE.name(),
            ActionKind::Read { .. } => READ.name(),
            ActionKind::Edit { .. } => EDIT.name(),
            ActionKind::Delete { .. } => DELETE.name(),
            ActionKind::Move { .. } => MOVE.name(),
            ActionKind::Execute { .. } => EXECUTE.name(),
            ActionKind::Research { .. } => RESEARCH.name(),
            ActionKind::ChatWithUser { .. } => CHAT_WITH_USER.name(),
            ActionKind::Invoke { .. } => INVOKE.name(),
        }
    }

    /// Whether the plan continues if it fails.
    pub fn may_fail(&self) -> bool {
        match self {
            ActionKind::Execute { allow_failure, .. } => *allow_failure,
            ActionKind::Create { .. }
            | ActionKind::Read { .. }
            | ActionKind::Edit { .. }
            | ActionKind::Delete { .. }
            | ActionKind::Move { .. }
            | ActionKind::Research { .. }
            | ActionKind::ChatWithUser { .. }
            | ActionKind::Invoke { .. } => false,
        }
    }

    /// Gives it this time limit, if it has none and can have one.
    pub fn limit(&mut self, longest: SignedDuration) {
        if let ActionKind::Execute { timeout, .. } = self {
            timeout.get_or_insert(longest);
        }
    }

    /// Whether it does more than Rapport can observe, as a command or another session does. It cannot be undone, and an
    /// interrupted one may have run: it is not idempotent.
    pub fn is_irreversible(&self) -> bool {
        match self {
            ActionKind::Execute { .. } | ActionKind::Invoke { .. } => true,
            ActionKind::Create { .. }
            | ActionKind::Edit { .. }
            | ActionKind::Delete { .. }
            | ActionKind::Move { .. }
            | ActionKind::Read { .. }
            | ActionKind::Research { .. }
            | ActionKind::ChatWithUser { .. } => false,
        }
    }

    /// A short description, such as `EXECUTE cargo test`.
    pub fn in_brief(&self) -> String {
        let about = match self {
            ActionKind::Create { path, .. } | ActionKind::Edit { path, .. } | ActionKind::Delete { path } => {
                path.clone()
            }
            ActionKind::Move { from, to } => moved(from, to),
            ActionKind::Read { resource: Resource::File(what) | Resource::Url(what) } => what.clone(),
            ActionKind::Execute { command, .. } => beginning(command),
            ActionKind::Research { queries } => beginning(&queries.join("; ")),
            ActionKind::ChatWithUser { message } => beginning(message),
            ActionKind::Invoke { agent, .. } => agent.clone(),
        };
        format!("{} {about}", self.name())
    }

    /// Its effect on the project and on others.
    pub fn effect(&self) -> Effect<'_> {
        match self {
            ActionKind::Create { path, content, .. } => Effect::Creates { path, content },
            ActionKind::Edit { path, edits } => Effect::Edits { path, edits },
            ActionKind::Delete { path } => Effect::Deletes(path),
            ActionKind::Move { from, to } => Effect::Moves { from, to },
            ActionKind::Read { resource: Resource::File(path) } => Effect::Reads(path),
            ActionKind::Execute { command, .. } => Effect::Runs(command),
            ActionKind::ChatWithUser { .. } | ActionKind::Invoke { .. } => Effect::Involves,
            ActionKind::Read { resource: Resource::Url(_) } | ActionKind::Research { .. } => Effect::Nothing,
        }
    }

    /// A one-line summary, and a note on what is unusual about it.
    pub(crate) fn summary(&self) -> (String, Option<&'static str>) {
        match self {
            ActionKind::Create { path, overwrite, .. } => {
                (path.clone(), overwrite.then_some("replaces an existing file"))
            }
            ActionKind::Edit { path, .. } | ActionKind::Delete { path } => (path.clone(), None),
            ActionKind::Move { from, to } => (moved(from, to), None),
            ActionKind::Read { resource: Resource::File(path) | Resource::Url(path) } => (path.clone(), None),
            ActionKind::Execute { command, .. } => (first_line(command), None),
            ActionKind::Research { queries } => (several(queries), None),
            ActionKind::ChatWithUser { message } => (first_line(message), Some("waits for your reply")),
            ActionKind::Invoke { agent, .. } => (agent.clone(), Some("hands over to another agent")),
        }
    }

    /// Its parameters by name, without the contents of files, which are in the plan.
    pub(crate) fn parameters(&self) -> Vec<(String, String)> {
        let one = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        match self {
            ActionKind::Create { path, overwrite, .. } => {
                let overwrite = overwrite.then(|| one("Overwrite", "true"));
                [one("File Path", path)].into_iter().chain(overwrite).collect()
            }
            ActionKind::Edit { path, edits } => {
                vec![one("File Path", path), one("Edits", &edits.len().to_string())]
            }
            ActionKind::Read { resource: Resource::File(path) } | ActionKind::Delete { path } => {
                vec![one("File Path", path)]
            }
            ActionKind::Move { from, to } => vec![one("File Path", from), one("New Path", to)],
            ActionKind::Read { resource: Resource::Url(url) } => vec![one("Resource", url)],
            ActionKind::Execute { command, shell, cwd, env, expected, allow_failure, timeout } => {
                let mut named = vec![one("Command", command)];
                named.extend((*shell == Shell::Bash).then(|| one("Shell", shell.name())));
                named.extend(cwd.iter().map(|cwd| one("cwd", cwd)));
                named.extend(env.iter().map(|(name, value)| one(&format!("env {name}"), value)));
                named.extend(expected.iter().map(|words| one("Expected Outcome", words)));
                named.extend(allow_failure.then(|| one("Allow Failure", "true")));
                named.extend(timeout.iter().map(|time| one("Timeout", &format!("{time:#}"))));
                named
            }
            ActionKind::Research { queries } => queries.iter().map(|query| one("Query", query)).collect(),
            ActionKind::ChatWithUser { message } => vec![one("Message", message)],
            ActionKind::Invoke { agent, message } => vec![one("Agent", agent), one("Message", message)],
        }
    }

    /// What it does, without the description. Journals store a digest of this, so it must never change.
    pub fn identity(&self) -> Value {
        let fields = match self {
            ActionKind::Create { path, content, overwrite } => json!([path, content, overwrite]),
            ActionKind::Read { resource: Resource::File(path) } => json!(["file", path]),
            ActionKind::Read { resource: Resource::Url(url) } => json!(["url", url]),
            ActionKind::Edit { path, edits } => {
                let edits: Vec<_> = edits.iter().map(|edit| [&edit.find, &edit.replace]).collect();
                json!([path, edits])
            }
            ActionKind::Delete { path } => json!([path]),
            ActionKind::Move { from, to } => json!([from, to]),
            ActionKind::Execute { command, shell: _, cwd, env, expected: _, allow_failure, timeout } => {
                // Journals of versions that ran everything with `sh` contain this digest too.
                json!([command, cwd, env, allow_failure, timeout.map(|time| time.as_millis() as i64)])
            }
            ActionKind::Research { queries } => json!([queries]),
            ActionKind::ChatWithUser { message } => json!([message]),
            ActionKind::Invoke { agent, message } => json!([agent, message]),
        };
        json!([self.name(), fields])
    }

    /// Writes the part below the heading.
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, description: Option<String>) -> fmt::Result {
        match self {
            ActionKind::Create { path, content, overwrite } => {
                parameter(f, "File Path", Some(as_path(&one_line(path))))?;
                parameter(f, "Description", description)?;
                parameter(f, "Overwrite", overwrite.then(|| "true".to_owned()))?;
                let ends = content.is_empty() || content.ends_with('\n');
                parameter(f, "Final Newline", (!ends).then(|| "false".to_owned()))?;
                let content = content.strip_suffix('\n').map_or_else(
                    || fenced(content, language(path)),
                    |content| fenced_lines(content, language(path)),
                );
                write!(f, "\n{content}")
            }
            ActionKind::Read { resource } => {
                let resource = match resource {
                    Resource::File(path) => as_path(&one_line(path)),
                    Resource::Url(url) if url.contains("](") => as_code(&one_line(url)),
                    Resource::Url(url) => one_line(url),
                };
                parameter(f, "Resource", Some(resource))?;
                parameter(f, "Description", description)
            }
            ActionKind::Edit { path, edits } => {
                parameter(f, "File Path", Some(as_path(&one_line(path))))?;
                parameter(f, "Description", description)?;
                edits.iter().try_for_each(|edit| write!(f, "\n{}", replacement(edit, language(path))))
            }
            ActionKind::Delete { path } => {
                parameter(f, "File Path", Some(as_path(&one_line(path))))?;
                parameter(f, "Description", description)
            }
            ActionKind::Move { from, to } => {
                parameter(f, "File Path", Some(as_path(&one_line(from))))?;
                parameter(f, "New Path", Some(as_path(&one_line(to))))?;
                parameter(f, "Description", description)
            }
            ActionKind::Execute { command, shell, cwd, env, expected, allow_failure, timeout } => {
                parameter(f, "Description", description)?;
                parameter(f, "Expected Outcome", expected.as_deref().map(one_line))?;
                parameter(f, "cwd", cwd.as_deref().map(|cwd| as_path(&one_line(cwd))))?;
                write_variables(f, env)?;
                parameter(f, "Allow Failure", allow_failure.then(|| "true".to_owned()))?;
                parameter(f, "Timeout", timeout.map(written))?;
                write!(f, "\n{}", fenced(command, shell.language()))
            }
            ActionKind::Research { queries } => {
                parameter(f, "Description", description)?;
                if queries.is_empty() {
                    // An empty fence says that the content is empty; without a fence the content would be missing.
                    return write!(f, "\n{}", fenced("", "text"));
                }
                queries.iter().try_for_each(|query| write!(f, "\n{}", fenced(&one_line(query), "text")))
            }
            ActionKind::ChatWithUser { message } => {
                let has_description = description.is_some();
                parameter(f, "Description", description)?;
                let gap = if has_description { "\n" } else { "" };
                write!(f, "{gap}{}", free(message))
            }
            ActionKind::Invoke { agent, message } => {
                parameter(f, "Agent", Some(as_code(&one_line(agent))))?;
                parameter(f, "Description", description)?;
                write!(f, "\n{}", free(message))
            }
        }
    }

    /// Checks it against the project as the earlier actions leave it.
    pub(crate) fn check(&self, checked: &mut Checked<'_, '_>) {
        match self {
            ActionKind::Create { path, content, overwrite } => checked.create(path, content, *overwrite),
            ActionKind::Read { resource: Resource::File(path) } => checked.read(path),
            ActionKind::Read { resource: Resource::Url(url) } => {
                let host = url.split_once("://").map_or("", |(_, rest)| rest);
                if host.is_empty() || host.starts_with('/') || url.contains(char::is_whitespace) {
                    checked.wrong(format!("{url:?} is not an address"), "Write it as https://host/path.");
                }
            }
            ActionKind::Edit { path, edits } => checked.edit(path, edits),
            ActionKind::Delete { path } => checked.delete(path),
            ActionKind::Move { from, to } => checked.move_file(from, to),
            ActionKind::Execute { command, cwd, .. } => checked.execute(command, cwd.as_deref()),
            ActionKind::Research { queries } => {
                if queries.is_empty() || queries.iter().any(|query| query.trim().is_empty()) {
                    checked.wrong("RESEARCH has an empty query", "Say what is searched for.");
                }
            }
            ActionKind::ChatWithUser { message } => checked.message("CHAT_WITH_USER", message),
            ActionKind::Invoke { agent, message } => {
                if agent.trim().is_empty() {
                    checked.wrong("INVOKE names no agent", "Add a line `- **Agent:** name`.");
                }
                checked.message("INVOKE", message);
            }
        }
    }

    /// The resource that its preview reads, if any.
    pub(crate) fn shows(&self) -> Option<Resource> {
        match self {
            ActionKind::Read { resource } => Some(resource.clone()),
            ActionKind::Edit { path, .. }
            | ActionKind::Create { path, overwrite: true, .. }
            | ActionKind::Delete { path }
            | ActionKind::Move { from: path, .. } => Some(Resource::File(path.clone())),
            ActionKind::Create { .. }
            | ActionKind::Execute { .. }
            | ActionKind::Research { .. }
            | ActionKind::ChatWithUser { .. }
            | ActionKind::Invoke { .. } => None,
        }
    }

    /// Its preview, given the actions `before` it and the content that was `read`.
    pub(crate) fn preview(&self, before: &[&ActionKind], read: Option<Result<String, String>>) -> Preview {
        let name = self.name();
        match self {
            ActionKind::Create { path, content, overwrite } => {
                let there = as_will_be(&Resource::File(path.clone()), before, read);
                match there.ok().filter(|_| *overwrite) {
                    Some(old) => Preview::change(format!("{name} {path}"), path, old, content.clone()),
                    None => Preview::file(format!("{name} {path}"), path, content.clone()),
                }
            }
            ActionKind::Read { resource: resource @ (Resource::File(path) | Resource::Url(path)) } => {
                let title = format!("{name} {path}");
                match as_will_be(resource, before, read) {
                    Ok(text) => Preview::file(title, path, text),
                    Err(why) => Preview::text(title, path, "txt", format!("It cannot be read now: {why}")),
                }
            }
            ActionKind::Edit { path, edits } => of_edit(path, edits, before, read),
            ActionKind::Delete { path } => match as_will_be(&Resource::File(path.clone()), before, read) {
                Ok(old) => Preview::change(format!("{name} {path}"), path, old, String::new()),
                Err(why) => {
                    Preview::text(format!("{name} {path}"), path, "txt", format!("It cannot be shown: {why}"))
                }
            },
            ActionKind::Move { from, to } => {
                let title = format!("{name} {}", moved(from, to));
                match as_will_be(&Resource::File(from.clone()), before, read) {
                    Ok(text) => Preview::file(title, to, text),
                    Err(why) => Preview::text(title, to, "txt", format!("It cannot be shown: {why}")),
                }
            }
            ActionKind::Execute { command, .. } => {
                Preview::text(format!("{name} {}", first(command)), "command", "sh", execution(self))
            }
            ActionKind::Research { queries } => {
                let queries = queries.iter().map(|query| format!("- {}", query.trim()));
                Preview::text(name.into(), "queries", "md", queries.collect::<Vec<_>>().join("\n"))
            }
            ActionKind::ChatWithUser { message } => {
                Preview::text(name.into(), "message", "md", message.clone())
            }
            ActionKind::Invoke { agent, message } => {
                let text = format!("Agent: {agent}\n\n{message}");
                Preview::text(format!("{name} {agent}"), agent, "md", text)
            }
        }
    }
}

/// The number of items in actions of one kind, such as `2 files (3 edits)`.
pub(crate) fn amount(kinds: &[&ActionKind]) -> String {
    let mut files = BTreeSet::new();
    let (mut pages, mut queries, mut replaced) = (0, 0, BTreeSet::new());
    for kind in kinds {
        if let ActionKind::Create { path, overwrite: true, .. } = kind {
            replaced.insert(path.as_str());
        }
        match kind {
            ActionKind::Create { path, .. }
            | ActionKind::Edit { path, .. }
            | ActionKind::Delete { path }
            | ActionKind::Move { from: path, .. }
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
        Some(ActionKind::Create { .. }) if !replaced.is_empty() => {
            format!("{} ({} overwritten)", count(files.len(), "file"), replaced.len())
        }
        Some(
            ActionKind::Create { .. }
            | ActionKind::Edit { .. }
            | ActionKind::Delete { .. }
            | ActionKind::Move { .. },
        ) => count(files.len(), "file"),
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

/// The old and the new path of a file.
fn moved(from: &str, to: &str) -> String {
    format!("{from} → {to}")
}

/// A count with its noun: `1 file`, `3 files`.
fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
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

/// The first line of a text, marked if there is more.
fn beginning(text: &str) -> String {
    const MOST: usize = 60;
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    let short: String = first.chars().take(MOST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short}{more}")
}

/// A command with its parameters as comments around it.
fn execution(kind: &ActionKind) -> String {
    let ActionKind::Execute { command, shell, cwd, env, expected, allow_failure, timeout } = kind else {
        return String::new();
    };
    let mut about = vec![format!("# cwd: {}", escaped(cwd.as_deref().unwrap_or(".")))];
    about.extend((*shell == Shell::Bash).then(|| format!("# shell: {}", shell.name())));
    about.extend(env.iter().map(|(name, value)| format!("# env: {}={}", escaped(name), escaped(value))));
    about.extend(timeout.map(|timeout| format!("# timeout: {timeout:#}")));
    about.extend(expected.as_ref().map(|words| format!("# expected: {}", escaped(words))));
    about.extend(allow_failure.then(|| "# the plan continues if it fails".to_owned()));
    format!("{}\n\n{}", about.join("\n"), command.trim_end())
}

fn first(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

fn create(reader: &mut Reader<'_>, body: &mut Body<'_>) -> Option<ActionKind> {
    let value = required(reader, body, "File Path");
    let path = value.and_then(|value| path(reader, &value));
    let overwrite = body.take("Overwrite").and_then(|value| flag(reader, &value)).unwrap_or(false);
    let ends = body.take("Final Newline").and_then(|value| flag(reader, &value)).unwrap_or(true);
    let block = only_block(reader, body, "the file's content")?;
    if is_patch(&block)
        && !path.as_ref().is_some_and(|path| [".diff", ".patch"].iter().any(|end| path.ends_with(end)))
    {
        reader.wrong(block.open, "the fence has a patch, and CREATE needs a file's content", NO_PATCH);
        return None;
    }
    let content = if ends { block.content } else { block.text().to_owned() };
    Some(ActionKind::Create { path: path?, content, overwrite })
}

fn execute(reader: &mut Reader<'_>, body: &mut Body<'_>) -> Option<ActionKind> {
    let expected =
        body.take("Expected Outcome").map(|parameter| parameter.value).filter(|text| !text.is_empty());
    let cwd = match body.take("cwd") {
        Some(value) if !value.value.is_empty() => Some(path(reader, &value)?),
        _ => None,
    };
    let env = body.take("env").map_or_else(BTreeMap::new, |parameter| variables(reader, &parameter));
    let allow_failure = body.take("Allow Failure").and_then(|value| flag(reader, &value)).unwrap_or(false);
    let timeout = body.take("Timeout").and_then(|parameter| duration(reader, &parameter));
    let (command, shell) = command(reader, body)?;
    Some(ActionKind::Execute { command, shell, cwd, env, expected, allow_failure, timeout })
}

/// The command, in its fence or on the line that names it, and its shell.
fn command(reader: &mut Reader<'_>, body: &mut Body<'_>) -> Option<(String, Shell)> {
    let Some(parameter) = body.take("Command").filter(|parameter| !parameter.value.is_empty()) else {
        let block = only_block(reader, body, "the command")?;
        let shell = Shell::of(reader, block.open, block.info)?;
        return without_prompt(reader, block.open + 1, block.text())
            .map(|command| (command.to_owned(), shell));
    };
    let code = inline::code(&parameter.value).map(|(command, rest)| (command, rest.to_owned()));
    if !body.blocks.is_empty() || code.as_ref().is_some_and(|(_, rest)| !rest.trim().is_empty()) {
        let what = "EXECUTE has more than one command";
        reader.wrong(parameter.at, what, "Put one command into one fence, and nothing beside it.");
        return None;
    }
    let command = code.map_or_else(|| parameter.value.clone(), |(command, _)| command);
    without_prompt(reader, parameter.at, &command)?;
    Some((command, Shell::Sh))
}

/// The command, unless it is copied from a terminal: a shell would run the prompt as a program.
fn without_prompt<'c>(reader: &mut Reader<'_>, at: usize, command: &'c str) -> Option<&'c str> {
    let prompted = command.lines().position(|line| line.trim_start().starts_with("$ "));
    if let Some(line) = prompted {
        let hint = "Leave out the prompt, and the output.";
        reader.wrong(at + line, "the command has a prompt in front of it", hint);
        return None;
    }
    Some(command)
}

/// The shell that runs a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// The system's `sh`.
    #[default]
    Sh,
    /// Bash, if it is installed.
    Bash,
}

impl Shell {
    /// The program's name.
    pub fn name(self) -> &'static str {
        match self {
            Shell::Sh => "sh",
            Shell::Bash => "bash",
        }
    }

    /// The language of its fence.
    fn language(self) -> &'static str {
        match self {
            Shell::Sh => "shell",
            Shell::Bash => "bash",
        }
    }

    /// The shell that a fence names. Code for another program is refused, because a shell would misinterpret it.
    fn of(reader: &mut Reader<'_>, at: usize, info: &str) -> Option<Self> {
        let language = info.split([' ', '{', ',']).next().unwrap_or_default().to_ascii_lowercase();
        match language.as_str() {
            "" | "sh" | "shell" | "posix" | "dash" | "text" | "txt" | "plaintext" | "console"
            | "terminal" | "shell-session" | "shellsession" | "command" => Some(Shell::Sh),
            "bash" => Some(Shell::Bash),
            _ => {
                let what = format!("EXECUTE runs sh or bash, and the fence says {language}");
                let hint = "Write the command that runs it, such as `python3 script.py`, in a fence ```sh; CREATE makes the script.";
                reader.wrong(at, what, hint);
                None
            }
        }
    }
}

fn research(reader: &mut Reader<'_>, body: &mut Body<'_>) -> Option<ActionKind> {
    if body.blocks.is_empty() {
        reader.wrong(body.at, "RESEARCH has no query", "Put each query into a fence.");
        return None;
    }
    let lines = body.blocks.iter().flat_map(|(_, block)| block.content.lines());
    let queries = lines.map(str::trim).filter(|query| !query.is_empty()).map(str::to_owned).collect();
    Some(ActionKind::Research { queries })
}

fn invoke(reader: &mut Reader<'_>, body: &mut Body<'_>) -> Option<ActionKind> {
    let agent = required(reader, body, "Agent");
    let message = message(reader, body)?;
    let Parameter { value: agent, at, .. } = agent?;
    let code = inline::code(&agent).filter(|(_, rest)| rest.is_empty()).map(|(name, _)| name);
    let agent = code.unwrap_or(agent).trim().to_owned();
    if agent.is_empty() {
        reader.wrong(at, "Agent names nobody", "Name an agent.");
        return None;
    }
    Some(ActionKind::Invoke { agent, message })
}
