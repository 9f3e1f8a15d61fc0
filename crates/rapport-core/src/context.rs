//! What an agent is shown: which files (the cascade of `.context` files), and in which form (the payload and its log).

mod glob;
mod log;
mod payload;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ops::Range;

use crate::action_plan::{Change, Sign};
pub use log::{ContextLog, NoContextLog};
pub use payload::{Information, Payload, ShownSource, Unshown, estimate_tokens};

/// One line of a `.context` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextLine {
    /// Whether it adds or removes what it names.
    pub sign: Sign,
    /// A file, a directory, an address, or a pattern with `*`, `?`, `[...]` and `**`.
    pub pattern: String,
    /// The file it is from.
    pub level: Level,
}

/// The level of a rule. Later levels override earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `global.context`: for every session.
    Global,
    /// `session.context`: for every turn of one.
    Session,
    /// `turn.context`: for one turn.
    Turn,
}

/// The selection of all three levels together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextSelection {
    /// The rules, in the order they are applied, without duplicates.
    pub rules: Vec<ContextLine>,
}

/// Parses a `.context` file: one path per line; `#` begins a comment, at the start of a line or between spaces; `-path`
/// removes what was named before, here or on a higher level.
pub fn rules(text: &str, level: Level) -> Vec<ContextLine> {
    lines(text).map(|(sign, path)| ContextLine { sign, pattern: path.to_owned(), level }).collect()
}

/// Merges the three levels: everything that is named, once, except what a lower level removes.
pub fn cascade(global: &str, session: &str, turn: &str) -> ContextSelection {
    let levels = [(global, Level::Global), (session, Level::Session), (turn, Level::Turn)];
    let all = levels.into_iter().flat_map(|(text, level)| lines(text).map(move |line| (line, level)));
    let mut latest = BTreeMap::new();
    let mut rules = Vec::new();
    for ((sign, path), level) in all {
        if latest.insert(plain(path), sign) != Some(sign) {
            rules.push(ContextLine { sign, pattern: path.to_owned(), level });
        }
    }
    ContextSelection { rules }
}

impl ContextSelection {
    /// The selected files out of `files`, which are in alphabetical order: ordered by rule, alphabetically within a
    /// rule, without duplicates. If nothing matches a rule, the rule itself is selected, so that the absence is
    /// visible.
    pub fn select<'a>(&'a self, files: &[&'a str]) -> Vec<&'a str> {
        let mut selected = Vec::new();
        let (mut is_known, mut absent) = (vec![false; files.len()], BTreeSet::new());
        for rule in &self.rules {
            let pattern = plain(&rule.pattern);
            match rule.sign {
                Sign::Add => {
                    let mut is_any = pattern.is_empty();
                    for at in found(files, pattern) {
                        is_any = true;
                        if !mem::replace(&mut is_known[at], true) {
                            selected.push(files[at]);
                        }
                    }
                    if !is_any && absent.insert(pattern) {
                        selected.push(pattern);
                    }
                }
                Sign::Remove => {
                    selected.retain(|path| !covers(pattern, path));
                    absent.retain(|path| !covers(pattern, path));
                    for (is_known, path) in is_known.iter_mut().zip(files) {
                        *is_known &= !covers(pattern, path);
                    }
                }
            }
        }
        selected
    }
}

/// Whether something is an address and not a path.
pub fn is_address(what: &str) -> bool {
    // A cheap test first: few paths contain a colon.
    what.contains(':') && what.contains("://")
}

/// The next turn's `turn.context`: the previous one with the approved changes applied (FILE-15), or unchanged if there
/// are none (FILE-16). Removing something that the file does not name removes an inherited file, by a `-path` line.
pub fn next_turn_context(previous: &str, approved: &[Change]) -> String {
    if approved.is_empty() {
        return previous.to_owned();
    }
    let mut lines: Vec<String> = previous.lines().map(str::to_owned).collect();
    for change in approved {
        let what = plain(change.what.trim());
        let is = |line: &str, sign| named(line).is_some_and(|(is, path)| is == sign && plain(path) == what);
        let (opposite, same) = match change.sign {
            Sign::Add => (Sign::Remove, Sign::Add),
            Sign::Remove => (Sign::Add, Sign::Remove),
        };
        let before = lines.len();
        lines.retain(|line| !is(line, opposite));
        let was_undone = lines.len() < before;
        let is_there = lines.iter().any(|line| is(line, same));
        match change.sign {
            Sign::Add if !is_there => lines.push(escaped(what)),
            Sign::Remove if !is_there && !was_undone => lines.push(format!("-{}", or_all(what))),
            Sign::Add | Sign::Remove => {}
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The named paths and patterns, line by line.
fn lines(text: &str) -> impl Iterator<Item = (Sign, &str)> {
    text.strip_prefix('\u{feff}').unwrap_or(text).lines().filter_map(named)
}

/// The sign and pattern of one line.
fn named(line: &str) -> Option<(Sign, &str)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let path = line.split_once(" # ").map_or(line, |(path, _)| path).trim();
    let (sign, path) = match path.strip_prefix('-') {
        Some(path) => (Sign::Remove, path.trim_start()),
        None => (Sign::Add, path),
    };
    (!path.is_empty()).then_some((sign, path))
}

/// Prefixes `./` to a path that would be parsed as something else.
fn escaped(path: &str) -> String {
    if path.starts_with(['-', '#']) { format!("./{path}") } else { or_all(path).to_owned() }
}

fn or_all(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// A pattern normalised for comparison, relative to the project's root; the root is empty.
fn plain(mut pattern: &str) -> &str {
    while let Some(rest) = pattern.strip_prefix("./") {
        pattern = rest;
    }
    match pattern {
        "." => "",
        address if is_address(address) => address,
        path => path.trim_matches('/'),
    }
}

/// The files that a pattern selects: all, that very file, those below that directory, or those that match.
fn found(files: &[&str], pattern: &str) -> impl Iterator<Item = usize> {
    let exact = files.binary_search(&pattern);
    let among = match exact {
        Ok(at) => at..at + 1,
        Err(_) if pattern.is_empty() || glob::is_pattern(pattern) => 0..files.len(),
        Err(_) => below(files, pattern),
    };
    among.filter(move |at| exact.is_ok() || covers(pattern, files[*at]))
}

/// The range of files below a directory; they are adjacent because the list is sorted.
fn below(files: &[&str], directory: &str) -> Range<usize> {
    let prefix = format!("{directory}/");
    let from = files.partition_point(|path| *path < prefix.as_str());
    let more = files[from..].iter().take_while(|path| path.starts_with(&prefix)).count();
    from..from + more
}

fn covers(pattern: &str, path: &str) -> bool {
    let below = path.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below || pattern.is_empty() || (glob::is_pattern(pattern) && glob::matches(pattern, path))
}
