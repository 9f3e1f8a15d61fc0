//! Parses one action: its parameters and fences. The action's kind then builds an action from them.

use super::fence::{Block, FencePosition, is_stray};
use super::inline::{self, Marker};
use super::kinds::{KindRow, ROWS, Shape};
use super::lines::{Kind, indent, is_bold_action, is_lost_action};
use super::parse::{Reader, Until};
use super::values::{self, Parameter};
use super::{Action, Replacement};

/// What was found below the heading of an action.
pub(super) struct Body<'t> {
    row: &'static KindRow,
    pub(super) at: usize,
    parameters: Vec<Parameter>,
    pub(super) blocks: Vec<(Option<Marker>, Block<'t>)>,
    /// Whether something in it could not be read.
    is_broken: bool,
}

/// Reads the action whose heading is at a line.
pub(super) fn action(
    reader: &mut Reader<'_>,
    at: usize,
    row: &'static KindRow,
    rest: &str,
) -> Option<Action> {
    let before = reader.errors.len();
    let mut body = Body { row, at, parameters: Vec::new(), blocks: Vec::new(), is_broken: false };
    match row.shape {
        Shape::Message => read_head(reader, &mut body),
        Shape::Bare | Shape::Fence | Shape::Fences | Shape::Pairs => read(reader, &mut body),
    }
    let words = heading_path(reader, &mut body, rest);
    let kind = if body.is_broken { None } else { (row.read)(reader, &mut body) };
    let description =
        body.take("Description").map(|parameter| parameter.value).or(words).filter(|text| !text.is_empty());
    (reader.errors.len() == before).then_some(Action { kind: kind?, description, line: at + 1, remark: None })
}

/// Interprets the text after the name in a heading: the path, if no parameter gives one; otherwise words, which are
/// returned. A heading that names a different path than the list below it is an error.
fn heading_path(reader: &mut Reader<'_>, body: &mut Body<'_>, rest: &str) -> Option<String> {
    let rest = rest.trim().trim_start_matches([':', '-', '–', '—', '|', '→', '*']).trim_start();
    let rest = rest.trim_end_matches('*').trim();
    let rest = if inline::code(rest).is_none() { rest.trim_end_matches('`') } else { rest };
    let key =
        body.row.parameters.iter().find_map(|names| names.first().filter(|key| PATH_KEYS.contains(key)));
    let Some(key) = key.filter(|_| inline::looks_like_path(rest)) else {
        return Some(rest.to_owned()).filter(|rest| !rest.is_empty());
    };
    let named =
        body.parameters.iter().find(|parameter| parameter.key == *key).map(|named| named.value.clone());
    match named {
        Some(named) if !values::is_same(&named, rest, reader.root) => {
            let what = format!("the heading names {rest} and {key} names {named}");
            reader.wrong(body.at, what, "Name one file, in the list below the heading.");
        }
        Some(_) => {}
        None => body.add(reader, body.at, key, rest),
    }
    None
}

/// The parameters whose value a heading may give.
const PATH_KEYS: [&str; 2] = ["File Path", "Resource"];

/// Whether a line outside of any action looks like a parameter of one.
pub(super) fn is_parameter(line: &str) -> bool {
    let named = |written| ROWS.into_iter().any(|row| key(row, written).is_some());
    inline::parameter(line).is_some_and(|(written, _)| named(written))
}

fn key(row: &KindRow, written: &str) -> Option<&'static str> {
    let written = written.replace(['_', '-'], " ");
    let keys = row.parameters.iter();
    keys.copied()
        .find(|names| names.iter().any(|name| name.eq_ignore_ascii_case(&written)))
        .and_then(|names| names.first().copied())
}

impl Body<'_> {
    pub(super) fn take(&mut self, key: &str) -> Option<Parameter> {
        let at = self.parameters.iter().position(|parameter| parameter.key == key)?;
        Some(self.parameters.remove(at))
    }

    fn add(&mut self, reader: &mut Reader<'_>, at: usize, key: &'static str, value: &str) {
        if self.parameters.iter().any(|parameter| parameter.key == key) {
            reader.wrong(
                at,
                format!("{} has {key} twice", self.row.name()),
                "Say it once, or make an action of each.",
            );
        }
        let (indent, _) = indent(reader.lines.line(at));
        self.parameters.push(Parameter { key, value: value.to_owned(), items: Vec::new(), at, indent });
    }
}

/// Everything below the heading of an action that has parameters and blocks.
fn read<'t>(reader: &mut Reader<'t>, body: &mut Body<'t>) {
    let mut marker = None;
    // The line on which a parameter may continue.
    let mut next = None;
    while reader.at < reader.lines.len() {
        let at = reader.at;
        let line = reader.lines.line(at);
        match reader.lines.kind(at) {
            Kind::Heading { level: 1..=3, .. } => break,
            Kind::Heading { level, text } if is_lost_action(level, text) => break,
            Kind::Text if reader.follow_comment(at) => {}
            Kind::Text if is_bold_action(line) => break,
            Kind::Blank | Kind::Rule => {}
            Kind::Fence(fence) => {
                let has_blocks = !body.blocks.is_empty() || body.row.shape == Shape::Bare;
                if has_blocks && marker.is_none() {
                    if reader.ends_all(at, fence) {
                        reader.at = reader.lines.len();
                        break;
                    }
                    if is_stray(&reader.lines, at, fence) {
                        reader.at += 1;
                        continue;
                    }
                }
                let position = match body.row.shape {
                    Shape::Pairs => FencePosition::Marked,
                    Shape::Fences => FencePosition::Among,
                    Shape::Bare | Shape::Fence | Shape::Message => FencePosition::Alone,
                };
                let Some(block) = reader.block(at, fence, position) else {
                    (body.is_broken, marker) = (true, None);
                    continue;
                };
                reader.at = block.close + 1;
                if !reader.is_in_comment() {
                    body.blocks.push((marker.take(), block));
                }
                continue;
            }
            Kind::Heading { .. } | Kind::Text => {
                let found = inline::marker(line).filter(|_| body.row.shape == Shape::Pairs);
                if found.is_some() {
                    if marker.is_some() {
                        missing_block(reader, at);
                    }
                    marker = found;
                } else if item(body, at, line, next)
                    || parameter(reader, body, at, line)
                    || (next == Some(at) && more(body, line))
                {
                    next = Some(at + 1);
                } else {
                    reader.tool_call(at);
                }
            }
        }
        reader.at += 1;
    }
    if marker.is_some() {
        missing_block(reader, reader.at.saturating_sub(1));
    }
}

fn missing_block(reader: &mut Reader<'_>, at: usize) {
    reader.wrong(at, "a FIND or REPLACE has no fence below it", "Put its text into a fence right after it.");
}

/// Parses a variable below `env`: an item of the nested list, or a line right after it.
fn item(body: &mut Body<'_>, at: usize, line: &str, next: Option<usize>) -> bool {
    let Some(last) = body.parameters.last_mut().filter(|last| last.key == "env") else { return false };
    let bullet = inline::bullet(line);
    let (width, _) = indent(line);
    let below = width > last.indent && (bullet.is_some() || next == Some(at));
    if below {
        last.items.push((at, bullet.unwrap_or(line).trim().to_owned()));
    }
    below
}

/// Parses a parameter: a known one in any spelling, others only if they look like one.
fn parameter(reader: &mut Reader<'_>, body: &mut Body<'_>, at: usize, line: &str) -> bool {
    let known = inline::pair(line).and_then(|(written, value)| Some((key(body.row, written)?, value)));
    if let Some((key, value)) = known {
        body.add(reader, at, key, value);
        return true;
    }
    let Some((written, value)) = inline::parameter(line) else { return false };
    // A label of the block below it, such as `**Command:**`.
    if !value.is_empty() || !is_label(reader, at) {
        unknown_parameter(reader, body.row, at, written);
    }
    true
}

/// Appends a continuation line to the last parameter, if its value can span lines (a path cannot).
fn more(body: &mut Body<'_>, line: &str) -> bool {
    let Some(last) = body.parameters.last_mut() else { return false };
    let words = inline::bullet(line).unwrap_or(line).trim();
    match last.key {
        _ if words.is_empty() => {}
        "env" => last.items.push((last.at + last.items.len() + 1, words.to_owned())),
        "Description" | "Expected Outcome" if !last.value.is_empty() => {
            last.value.push(' ');
            last.value.push_str(words);
        }
        _ if last.value.is_empty() => last.value.push_str(words),
        _ => return false,
    }
    true
}

fn is_label(reader: &Reader<'_>, at: usize) -> bool {
    let next = reader.lines.solid(at + 1);
    next < reader.lines.len() && matches!(reader.lines.kind(next), Kind::Fence(_))
}

fn unknown_parameter(reader: &mut Reader<'_>, row: &KindRow, at: usize, written: &str) {
    let names: Vec<_> = row.parameters.iter().filter_map(|names| names.first().copied()).collect();
    reader.wrong(
        at,
        format!("{} has no parameter {written:?}", row.name()),
        format!("Its parameters are {}.", names.join(", ")),
    );
}

/// Reads the parameters of an action with a message. A message runs to the next action, so only known parameters before
/// it are recognised.
fn read_head(reader: &mut Reader<'_>, body: &mut Body<'_>) {
    while reader.at < reader.lines.len() {
        let line = reader.lines.line(reader.at);
        let found =
            inline::parameter(line).and_then(|(written, value)| Some((key(body.row, written)?, value)));
        let (width, _) = indent(line);
        match (reader.lines.kind(reader.at), found) {
            (Kind::Blank, _) => {}
            (Kind::Text, Some((key, value))) => body.add(reader, reader.at, key, value),
            (Kind::Text, None) if width > 0 && follows_parameter(reader, body) && more(body, line) => {
                if let Some(last) = body.parameters.last_mut() {
                    last.at += 1;
                }
            }
            _ => break,
        }
        reader.at += 1;
    }
}

/// The message, which runs to the next action.
pub(super) fn message(reader: &mut Reader<'_>, body: &Body<'_>) -> Option<String> {
    let start = reader.at;
    let message = reader.free(Until::Action);
    if message.is_empty() && reader.lines.solid(start) >= reader.at {
        reader.wrong(body.at, format!("{} has no message", body.row.name()), "Write it below the heading.");
        return None;
    }
    Some(message)
}

fn follows_parameter(reader: &Reader<'_>, body: &Body<'_>) -> bool {
    body.parameters.last().is_some_and(|last| last.at + 1 == reader.at)
}

pub(super) fn edits(reader: &mut Reader<'_>, body: &mut Body<'_>) -> Vec<Replacement> {
    const HINT: &str = "Write `#### FIND:`, a fence, `#### REPLACE:`, a fence, for each change.";
    let mut edits = Vec::new();
    let mut found: Option<Block<'_>> = None;
    for (marker, block) in std::mem::take(&mut body.blocks) {
        match (marker, found.take()) {
            (Some(Marker::Find), None) => found = Some(block),
            (Some(Marker::Find), Some(earlier)) => {
                reader.wrong(earlier.open, "a FIND has no REPLACE", HINT);
                found = Some(block);
            }
            (Some(Marker::Replace), Some(find)) => edits.push(Replacement {
                find: find.text().to_owned(),
                replace: block.text().to_owned(),
                line: find.open + 1,
            }),
            (Some(Marker::Replace), None) => {
                reader.wrong(block.open, "a REPLACE has no FIND before it", HINT)
            }
            (None, earlier) if is_patch(&block) => {
                reader.wrong(block.open, "the fence has a patch, and EDIT needs FIND and REPLACE", HINT);
                found = earlier;
            }
            (None, earlier) => {
                reader.wrong(block.open, "a fence is neither FIND nor REPLACE", HINT);
                found = earlier;
            }
        }
    }
    if let Some(find) = found {
        reader.wrong(find.open, "a FIND has no REPLACE", HINT);
    } else if edits.is_empty() {
        reader.wrong(body.at, "EDIT has nothing to change", HINT);
    }
    edits
}

/// The hint for a patch.
pub(super) const NO_PATCH: &str =
    "Write all of the file, or change it with EDIT: pairs of `#### FIND:` and `#### REPLACE:`.";

/// Whether a fence has a patch: a diff, or blocks to search and replace.
pub(super) fn is_patch(block: &Block<'_>) -> bool {
    const STARTS: [&str; 4] = ["diff --git ", "--- a/", "@@ -", "*** Begin Patch"];
    let info = block.info.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let said = matches!(info.as_str(), "diff" | "patch" | "udiff");
    said || STARTS.iter().any(|start| block.content.trim_start().starts_with(start))
        || block.content.lines().any(|line| line.starts_with("<<<<<<< SEARCH"))
}

pub(super) fn required(reader: &mut Reader<'_>, body: &mut Body<'_>, key: &str) -> Option<Parameter> {
    let found = body.take(key).filter(|parameter| !parameter.value.is_empty());
    if found.is_none() {
        let hint = format!("Add a line `- **{key}:** ...` below the heading.");
        reader.wrong(body.at, format!("{} has no {key}", body.row.name()), hint);
    }
    found
}

pub(super) fn only_block<'t>(reader: &mut Reader<'_>, body: &mut Body<'t>, what: &str) -> Option<Block<'t>> {
    let mut blocks = std::mem::take(&mut body.blocks).into_iter().map(|(_, block)| block);
    let Some(first) = blocks.next() else {
        reader.wrong(
            body.at,
            format!("{} has no fence with {what}", body.row.name()),
            "Put it into one fence.",
        );
        return None;
    };
    if let Some(second) = blocks.next() {
        reader.wrong(
            second.open,
            format!("{} has more than one fence", body.row.name()),
            "Make one action of each; if the first fence has fences inside, make it longer than those.",
        );
        return None;
    }
    Some(first)
}

pub(super) fn no_block(reader: &mut Reader<'_>, body: &Body<'_>) {
    if let Some((_, block)) = body.blocks.first() {
        reader.wrong(block.open, format!("{} does not take a fence", body.row.name()), "Leave it out.");
    }
}
