//! Explores a project: its files and its history. This reads plain files inside of the project and runs no program
//! from it. All findings are text of others, and are only shown.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use rapport_core::{ProjectFindings, display_text};

use super::history::{Commit, HistoryOf};
use super::stack::Stack;
use super::tree::ProjectTree;
use super::{conventions, structure};

/// The maximum size of the stored instructions for agents, in bytes.
const MOST_INSTRUCTIONS: u64 = 16 * 1024;
/// The number of commits that are read, and the number that are stored.
const LOOKED_AT: usize = 50;
const KEPT_COMMITS: usize = 10;
/// The maximum number of workspace members that are stored.
const MOST_MEMBERS: usize = 200;
/// The maximum number of characters of a name, a version or a description.
const LONGEST: usize = 200;

/// What exploring a project found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exploration {
    pub found: ProjectFindings,
    pub conventions: Vec<String>,
    /// Remarks for people, as clauses.
    pub remarks: Vec<String>,
    /// The files that the findings are based on.
    pub read: Vec<String>,
    /// How many files the project has.
    pub files: usize,
}

impl Exploration {
    /// Explores a project; `history` reads its commits.
    pub fn of(project: &Path, history: HistoryOf) -> io::Result<Self> {
        let tree = ProjectTree::list(project)?;
        let stacks = Stack::all(&tree);
        let history = history(tree.root(), LOOKED_AT);
        let mut remarks = Vec::new();
        if history.is_none() {
            remarks.push("it has no git history".to_owned());
        }
        let history = history.unwrap_or_default();
        let (structure, left_out) = structure::describe(&tree);
        if left_out > 0 {
            remarks.push(format!("it has {left_out} more directories, which are left out"));
        }
        let mut instructions = |name: &str| {
            let found = tree.beginning(name, MOST_INSTRUCTIONS)?;
            remarks.extend(found.cut_from.map(|bytes| {
                format!("{name} has {bytes} bytes, of which the first {MOST_INSTRUCTIONS} are kept")
            }));
            let text = display_text::lines(&found.text);
            (!text.trim().is_empty()).then_some(text)
        };
        let (claude_md, agents_md) = (instructions("CLAUDE.md"), instructions("AGENTS.md"));
        // Both names often lead to the same file.
        let agents_md = agents_md.filter(|text| claude_md.as_ref() != Some(text));
        let conventions = conventions::find(&tree, &history);
        let found = ProjectFindings {
            structure: structure.into_iter().map(|(path, text)| (display_text::line(&path), text)).collect(),
            history: history.iter().take(KEPT_COMMITS).map(in_words).collect(),
            workspaces: members(&tree, &stacks),
            claude_md,
            agents_md,
            ..of_stacks(&stacks)
        };
        let conventions = conventions.into_iter().filter_map(|text| one_line(&text)).collect();
        Ok(Self { found, conventions, remarks, read: tree.read_files(), files: tree.files().len() })
    }

    /// The current version in the manifest of a project; reads nothing else.
    pub fn version_of(project: &Path) -> Option<String> {
        let stacks = Stack::all(&ProjectTree::root_only(project).ok()?);
        of_stacks(&stacks).version
    }

    /// Notes for people: the findings and the files that they are based on.
    pub fn notes(&self, name: &str) -> String {
        let found = &self.found;
        let mut text = format!("# {}\n\n", display_text::line(name));
        if let Some(description) = &found.description {
            let _ = writeln!(text, "{description}\n");
        }
        let _ = writeln!(text, "{} files were listed, and {} were read.", self.files, self.read.len());
        let section = |text: &mut String, title: &str, lines: &[String]| {
            if !lines.is_empty() {
                let lines: String =
                    lines.iter().map(|line| format!("- {}\n", display_text::line(line))).collect();
                let _ = write!(text, "\n## {title}\n\n{lines}");
            }
        };
        section(&mut text, "Remarks", &self.remarks);
        let kind = found.kind.iter().cloned();
        let stacks: Vec<_> = if found.stacks.is_empty() { kind.collect() } else { found.stacks.clone() };
        section(&mut text, "Stack", &stacks);
        section(&mut text, "Workspace", &found.workspaces);
        let directories: Vec<_> =
            found.structure.iter().map(|(path, text)| format!("`{path}/` {text}")).collect();
        section(&mut text, "Directories", &directories);
        section(&mut text, "Conventions", &self.conventions);
        section(&mut text, "Latest commits", &found.history);
        section(&mut text, "Files that this is based on", &self.read);
        text
    }
}

/// The findings from the stacks: the first one names the project, and all are listed if there are several.
fn of_stacks(stacks: &[Stack]) -> ProjectFindings {
    let said =
        |part: fn(&Stack) -> &Option<String>| stacks.iter().find_map(|stack| one_line(part(stack).as_ref()?));
    ProjectFindings {
        kind: stacks.first().and_then(|stack| one_line(&stack.language)),
        stacks: match stacks {
            [] | [_] => Vec::new(),
            several => several.iter().filter_map(|stack| one_line(&stack.line())).collect(),
        },
        package_manager: said(|stack| &stack.package_manager),
        build_tool: said(|stack| &stack.build_tool),
        test_framework: said(|stack| &stack.test_framework),
        version: said(|stack| &stack.version),
        description: said(|stack| &stack.description),
        ..ProjectFindings::default()
    }
}

/// The directories of workspace members. A pattern with a star stands for the directories that match it.
fn members(tree: &ProjectTree, stacks: &[Stack]) -> Vec<String> {
    let mut found = BTreeSet::new();
    for member in stacks.iter().flat_map(|stack| &stack.members).filter(|member| !member.starts_with('!')) {
        let member = member.trim_start_matches("./").trim_end_matches('/');
        let Some((begin, _)) = member.split_once('*') else {
            found.extend(one_line(member));
            continue;
        };
        let depth = begin.matches('/').count() + 1;
        let inside = tree.files().iter().filter(|file| file.path.starts_with(begin));
        let directories = inside.filter_map(|file| {
            let end = file.path.match_indices('/').nth(depth - 1)?.0;
            one_line(&file.path[..end])
        });
        found.extend(directories);
    }
    found.into_iter().take(MOST_MEMBERS).collect()
}

fn in_words(commit: &Commit) -> String {
    one_line(&format!("{} {}", commit.on, commit.subject)).unwrap_or_default()
}

/// A short text of others as one line, with hidden characters made visible; `None` if nothing is left of it.
fn one_line(text: &str) -> Option<String> {
    let line = display_text::line(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", line[..end].trim_end()),
        None => line,
    };
    (!line.is_empty()).then_some(line)
}
