//! Checks whether a plan can be carried out: paths are inside the project, files exist or not as the plan needs, and
//! every FIND occurs once. Each action is checked against the project as the earlier actions leave it.
//!
//! A command may create any file, so after a command a missing file is not an error.

mod closest_match;
mod elision;
mod paths;

use std::collections::BTreeMap;
use std::fmt;

use crate::action_plan::{ActionPlan, Replacement};
use crate::display_text;
use crate::edit::{Mismatch, apply_edit, contains};
pub(crate) use closest_match::is_unseen;
use closest_match::{Budget, ClosestMatch, closest_match};
use elision::elided;
pub use paths::{PathFault, project_path, steers_agents};
use serde::{Deserialize, Serialize};

/// The project that a plan is checked against. Paths are relative to its root, without `.` and `..`.
pub trait Project {
    /// The kind of file at a path.
    fn exists(&self, path: &str) -> PathKind;
    /// The content of a file.
    fn read(&self, path: &str) -> Contents;
    /// A path that differs from this one only in the case of letters, if it exists.
    fn alike(&self, _path: &str) -> Option<String> {
        None
    }
    /// Where a path leads once every symbolic link on the way is resolved, even if nothing exists there. Unlike the
    /// others, this path is as the plan has it.
    fn follow(&self, path: &str) -> Lead;
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lead {
    /// To this path, which contains no link.
    Inside(String),
    /// Out of the project.
    Outside,
    /// To a dangling link.
    Nowhere,
}

/// Added to a message about a FIND in a file that the plan itself changed earlier.
const BY_THEN: &str = " as the plan leaves it by then";

/// The kind of file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing is there.
    Missing,
    /// A file.
    File,
    /// A directory.
    Directory,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Text.
    Text(String),
    /// Bytes that are not text.
    Binary,
    /// There is no file.
    Missing,
    /// The file is too large to read.
    TooLarge,
}

/// A reason why a plan cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblem {
    /// The index of the action, from 0; `None` for other parts of the plan.
    pub action: Option<usize>,
    /// The line of the plan it is about, from 1.
    pub line: usize,
    /// What is wrong, as a fragment.
    pub what: String,
    /// The closest match, as a diff from FIND to the file.
    pub detail: Option<String>,
    /// What to do, as a sentence.
    pub hint: String,
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_plan("plan.md"))
    }
}

impl PlanProblem {
    /// The problem of the plan of this name.
    pub fn in_plan(&self, name: &str) -> String {
        let Self { line, what, hint, detail, .. } = self;
        let detail = detail.as_ref().map(|detail| format!("\n{detail}")).unwrap_or_default();
        format!("{name}:{line}: {what}. {hint}{detail}")
    }
}

/// A note about an action that its reviewer should know and that only the project reveals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRemark {
    /// The index of the action, from 0.
    pub action: usize,
    /// The note, as a fragment.
    pub text: String,
}

/// The result of checking a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Why the plan cannot be carried out, in its order; empty if it can be.
    pub problems: Vec<PlanProblem>,
    /// Notes about single actions.
    pub remarks: Vec<PlanRemark>,
}

/// Checks a plan against a project.
pub fn validate(plan: &ActionPlan, project: &dyn Project) -> Findings {
    let mut check = Check {
        project,
        made: BTreeMap::new(),
        has_run: false,
        problems: Vec::new(),
        remarks: Vec::new(),
        budget: Budget::new(),
    };
    for change in plan.context.iter().flatten() {
        let url = change.what.starts_with("https://") || change.what.starts_with("http://");
        if !url && let Err(fault) = project_path(&change.what) {
            check.add(None, change.line, fault.what(&change.what), fault.hint());
        }
    }
    for (index, action) in plan.actions.iter().enumerate() {
        action.kind.check(&mut Checked { check: &mut check, index, line: action.line });
    }
    Findings { problems: check.problems, remarks: check.remarks }
}

struct Check<'p> {
    project: &'p dyn Project,
    /// The files as the plan has changed them so far; `Missing` if it has deleted them.
    made: BTreeMap<String, Contents>,
    /// Whether a command was run, which may have created any file.
    has_run: bool,
    problems: Vec<PlanProblem>,
    remarks: Vec<PlanRemark>,
    budget: Budget,
}

impl Check<'_> {
    fn add(&mut self, action: Option<usize>, line: usize, what: impl Into<String>, hint: impl Into<String>) {
        self.problems.push(PlanProblem { action, line, what: what.into(), detail: None, hint: hint.into() });
    }

    fn kind(&self, path: &str) -> PathKind {
        let within = format!("{path}/");
        match self.made.get(path) {
            Some(Contents::Missing) => return PathKind::Missing,
            Some(_) => return PathKind::File,
            None => {}
        }
        let below = self.made.range(within.clone()..).take_while(|(made, _)| made.starts_with(&within));
        if below.into_iter().any(|(_, made)| *made != Contents::Missing) {
            PathKind::Directory
        } else {
            self.project.exists(path)
        }
    }

    fn read(&self, path: &str) -> Contents {
        self.made.get(path).cloned().unwrap_or_else(|| self.project.read(path))
    }
}

/// One action, being checked.
pub(crate) struct Checked<'c, 'p> {
    check: &'c mut Check<'p>,
    index: usize,
    line: usize,
}

impl Checked<'_, '_> {
    pub(crate) fn wrong(&mut self, what: impl Into<String>, hint: impl Into<String>) {
        self.check.add(Some(self.index), self.line, what, hint);
    }

    fn remark(&mut self, text: String) {
        self.check.remarks.push(PlanRemark { action: self.index, text });
    }

    /// Refuses text that leaves out what it replaces, because writing it would delete that. `line` is the line of the
    /// plan before the text.
    fn check_elided(&mut self, path: &str, line: usize, after: &str, before: Option<&str>) {
        if let Some(said) = elided(path, after, before) {
            let what = format!("{path} would contain the line {said:?} in place of what it stands for");
            self.check.add(
                Some(self.index),
                line,
                what,
                "Write that out, or EDIT only the lines that change.",
            );
        }
    }

    pub(crate) fn message(&mut self, name: &str, message: &str) {
        if message.trim().is_empty() {
            self.wrong(format!("{name} has an empty message"), "Write it below the heading.");
        }
    }

    /// The path with all links resolved, if the plan may touch it. Two names of one file become the same path.
    fn path(&mut self, path: &str) -> Option<String> {
        const HINT: &str = "Name a file that is in the project itself.";
        if let Err(fault) = project_path(path) {
            let hint = self.meant_inside(path).filter(|_| fault == PathFault::Absolute);
            self.wrong(fault.what(path), hint.unwrap_or_else(|| fault.hint().to_owned()));
            return None;
        }
        match self.check.project.follow(path) {
            Lead::Inside(real) => match project_path(&real) {
                Err(fault) if fault != PathFault::Empty => self.wrong(fault.what(path), fault.hint()),
                Ok(_) | Err(_) => return Some(real),
            },
            Lead::Outside => self.wrong(format!("{path} leads out of the project through a link"), HINT),
            Lead::Nowhere => self.wrong(format!("{path} goes through a link that leads nowhere"), HINT),
        }
        None
    }

    /// What to do about an absolute path that is inside the project if its first slash stands for the project's root. It is not
    /// taken for that: on the disk it names something else.
    fn meant_inside(&mut self, path: &str) -> Option<String> {
        let inside = project_path(path.trim_start_matches('/')).ok()?;
        let (first, _) = inside.split_once('/').unwrap_or((&inside, ""));
        let is_there = self.check.kind(first) != PathKind::Missing;
        is_there.then(|| {
            format!("If {inside} of the project is meant, write it like that, without the first slash.")
        })
    }

    /// The same for a file, which is neither the project's root nor named like a directory.
    fn file(&mut self, path: &str) -> Option<String> {
        let plain = self.path(path)?;
        if plain.is_empty() || path.ends_with('/') {
            self.wrong(format!("{path} is a directory, not a file"), "Name a file.");
            return None;
        }
        Some(plain)
    }

    pub(crate) fn create(&mut self, path: &str, content: &str, overwrite: bool) {
        let Some(plain) = self.file(path) else { return };
        if self.is_blocked(path, &plain) {
            return;
        }
        match self.check.kind(&plain) {
            PathKind::File if !overwrite => self.wrong(
                format!("{path} already exists"),
                "Change it with EDIT, or say `- **Overwrite:** true` to replace all of it.",
            ),
            PathKind::Directory => self.wrong(format!("{path} is a directory"), "Choose another path."),
            PathKind::Missing => self.check_name(path),
            PathKind::File => {}
        }
        let before = match self.check.kind(&plain) {
            PathKind::File if overwrite => Some(self.check.read(&plain)),
            PathKind::File | PathKind::Directory | PathKind::Missing => None,
        };
        match &before {
            Some(Contents::Text(text)) => self.remark(format!("replaces {}", lines(text))),
            Some(_) => self.remark("replaces a file that is not text".into()),
            None => {}
        }
        let before = if let Some(Contents::Text(text)) = &before { Some(text.as_str()) } else { None };
        self.check_elided(path, self.line, content, before);
        self.check.made.insert(plain, Contents::Text(content.to_owned()));
    }

    /// Refuses a new file whose name has invisible characters: they are a mistake, and people could not type the
    /// name.
    fn check_name(&mut self, path: &str) {
        if display_text::hides(path) {
            self.wrong(
                format!("the path {} has an invisible character", display_text::line(path)),
                "Write the path again, letter by letter.",
            );
        }
    }

    /// Whether a file is in the way of a directory.
    fn is_blocked(&mut self, path: &str, plain: &str) -> bool {
        let parents = plain.match_indices('/').filter_map(|(at, _)| plain.get(..at));
        let blocked =
            parents.into_iter().find(|parent| self.check.kind(parent) == PathKind::File).map(str::to_owned);
        if let Some(parent) = &blocked {
            self.wrong(format!("{path} cannot be made: {parent} is a file"), "Choose another path.");
        }
        blocked.is_some()
    }

    pub(crate) fn delete(&mut self, path: &str) {
        if let Some((plain, _)) = self.itself(path) {
            self.check.made.insert(plain, Contents::Missing);
        }
    }

    pub(crate) fn move_file(&mut self, from: &str, to: &str) {
        let there = self.itself(from);
        let Some(target) = self.file(to) else { return };
        let Some((plain, content)) = there else { return };
        if plain == target {
            self.wrong(
                format!("{from} and {to} are the same file"),
                "Leave this out, or choose another New Path.",
            );
            return;
        }
        if self.is_blocked(to, &target) {
            return;
        }
        match self.check.kind(&target) {
            PathKind::Missing => self.check_name(to),
            PathKind::File => self.wrong(
                format!("{to} already exists"),
                "Choose another New Path, or DELETE the existing file first.",
            ),
            PathKind::Directory => {
                self.wrong(format!("{to} is a directory"), "Write the whole path, with the file's name.");
            }
        }
        self.check.made.insert(plain, Contents::Missing);
        self.check.made.insert(target, content);
    }

    /// Reports a file that does not exist, and the one that may be meant.
    fn missing(&mut self, path: &str, plain: &str, or: &str) {
        let hint = match self.check.project.alike(plain) {
            Some(there) => format!("There is {there}; the case of letters counts."),
            None => format!("Check the path against the project's structure, or {or}."),
        };
        self.wrong(format!("{path} does not exist"), hint);
    }

    /// A file to remove from its path, and its content. A path through a link is refused: the plan has to name the file
    /// itself.
    fn itself(&mut self, path: &str) -> Option<(String, Contents)> {
        let plain = self.file(path)?;
        if project_path(path).is_ok_and(|named| named != plain) {
            self.wrong(format!("{path} is behind a link"), format!("Name the file itself: {plain}."));
            return None;
        }
        match self.check.kind(&plain) {
            PathKind::Missing if self.check.has_run => return Some((plain, Contents::Binary)),
            PathKind::Missing => self.missing(path, &plain, "leave this out"),
            PathKind::Directory => {
                self.wrong(format!("{path} is a directory, not a file"), "Name each file, or use EXECUTE.");
            }
            PathKind::File => match self.check.read(&plain) {
                Contents::TooLarge => {
                    self.wrong(format!("{path} is too large to be kept for undoing"), "Use EXECUTE.");
                }
                Contents::Missing => self.wrong(format!("{path} cannot be read"), "Check that it exists."),
                content @ (Contents::Text(_) | Contents::Binary) => return Some((plain, content)),
            },
        }
        None
    }

    pub(crate) fn read(&mut self, path: &str) {
        if let Some(plain) = self.file(path) {
            self.text(path, &plain);
        }
    }

    /// The content of a file, if it can be read as text.
    fn text(&mut self, path: &str, plain: &str) -> Option<String> {
        const ELSE: &str = "Use EXECUTE with a program that can handle it.";
        match self.check.kind(plain) {
            PathKind::Missing if self.check.has_run => return None,
            PathKind::Missing => self.missing(path, plain, "make the file with CREATE first"),
            PathKind::Directory => {
                self.wrong(format!("{path} is a directory, not a file"), "Name a file in it.")
            }
            PathKind::File => match self.check.read(plain) {
                Contents::Text(text) => return Some(text),
                Contents::Binary => self.wrong(format!("{path} is not text"), ELSE),
                Contents::TooLarge => self.wrong(format!("{path} is too large to be read"), ELSE),
                Contents::Missing => self.wrong(format!("{path} cannot be read"), "Check that it exists."),
            },
        }
        None
    }

    pub(crate) fn edit(&mut self, path: &str, edits: &[Replacement]) {
        let Some(plain) = self.file(path) else { return };
        if edits.is_empty() {
            self.wrong(format!("EDIT changes nothing in {path}"), "Add a FIND and a REPLACE.");
        }
        let Some(mut text) = self.text(path, &plain) else { return };
        let mut described = path.to_owned();
        if self.check.made.contains_key(&plain) {
            described.push_str(BY_THEN);
        }
        for edit in edits {
            if edit.find == edit.replace && !edit.find.is_empty() {
                self.misplaced(
                    edit,
                    format!("FIND and REPLACE are the same for {path}"),
                    "Leave this edit out.",
                );
                continue;
            }
            match apply_edit(&text, edit) {
                Ok(edited) => {
                    if let Some(line) = edited.differs_at {
                        self.remark(format!("FIND matches line {line} except for white space"));
                    }
                    self.check_elided(path, edit.line, &edit.replace, Some(&text));
                    text = edited.text;
                    described = format!("{path}{BY_THEN}");
                }
                Err(why) => self.mismatch((path, &described), &text, edit, &why),
            }
        }
        self.check.made.insert(plain, Contents::Text(text));
    }

    fn misplaced(&mut self, edit: &Replacement, what: String, hint: impl Into<String>) {
        self.check.add(Some(self.index), edit.line, what, hint);
    }

    /// `described` is the path in words.
    fn mismatch(&mut self, (path, described): (&str, &str), text: &str, edit: &Replacement, why: &Mismatch) {
        match why {
            Mismatch::Empty => {
                let hint = "Quote the lines to change; to write a whole file, use CREATE with Overwrite.";
                self.misplaced(edit, format!("FIND is empty for {path}"), hint);
            }
            Mismatch::Several { .. } | Mismatch::SeveralAlike { .. } => {
                let what = why.to_string().replacen("FIND occurs", &format!("FIND occurs in {described}"), 1);
                self.misplaced(edit, what, "Quote more lines around it, until it occurs once.");
            }
            Mismatch::Missing => {
                let found = closest_match(text, &edit.find, path, &mut self.check.budget);
                // One or two characters occur in every file.
                let telling = edit.replace.trim().len() > 2
                    && found.as_ref().is_none_or(|found| found.spacing.is_none());
                let applied = telling && contains(text, &edit.replace);
                let (what, mut hint) = missing(described, found.as_ref());
                if applied {
                    hint = format!(
                        "REPLACE is already in the file: if the edit was made before, leave it out. {hint}"
                    );
                }
                let detail = found.map(|found| found.diff);
                let (action, line) = (Some(self.index), edit.line);
                self.check.problems.push(PlanProblem { action, line, what, detail, hint });
            }
        }
    }

    pub(crate) fn execute(&mut self, command: &str, cwd: Option<&str>) {
        let mut lines = command.lines().map(str::trim);
        if lines.clone().all(|line| line.is_empty() || line.starts_with('#')) {
            self.wrong("EXECUTE has an empty command", "Put the command into the fence.");
        } else if let Some(dots) = lines.find(|line| matches!(*line, "..." | "…")) {
            self.wrong(format!("the command has {dots:?} in place of a command"), "Write that out.");
        }
        if let Some(cwd) = cwd
            && let Some(plain) = self.path(cwd)
        {
            let kind = if plain.is_empty() { PathKind::Directory } else { self.check.kind(&plain) };
            match kind {
                PathKind::Directory => {}
                PathKind::Missing if self.check.has_run => {}
                PathKind::Missing | PathKind::File => {
                    self.wrong(
                        format!("cwd {cwd} is not a directory of the project"),
                        "Name an existing directory.",
                    );
                }
            }
        }
        self.check.has_run = true;
    }
}

/// The length of a file in words: `the 12 existing lines`.
fn lines(text: &str) -> String {
    match text.lines().count() {
        0 => "an empty file".into(),
        1 => "the 1 existing line".into(),
        count => format!("the {count} existing lines"),
    }
}

fn missing(path: &str, found: Option<&ClosestMatch>) -> (String, String) {
    let Some(found) = found else {
        return (
            format!("FIND is not in {path}"),
            "Quote the file exactly as it is, byte for byte.".to_owned(),
        );
    };
    let ClosestMatch { line, percent, spacing, .. } = found;
    let what = format!("FIND is not in {path}; the closest place is line {line}, {percent} % alike");
    let hint =
        spacing.clone().unwrap_or_else(|| "Quote the file exactly as it is, byte for byte.".to_owned());
    (what, hint)
}
