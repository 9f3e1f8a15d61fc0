//! Parses the values of parameters, in every form that models write: paths, addresses, booleans, durations, variables.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::parse::Reader;
use super::{Resource, inline};

/// A parameter of an action, as it is written.
pub(super) struct Parameter {
    pub(super) key: &'static str,
    pub(super) value: String,
    /// The lines below it, each an item of its own.
    pub(super) items: Vec<(usize, String)>,
    pub(super) at: usize,
    pub(super) indent: usize,
}

/// A path, in any notation.
pub(super) fn path(reader: &mut Reader<'_>, parameter: &Parameter) -> Option<String> {
    let value = parameter.value.as_str();
    const AROUND: [(&str, &str); 6] =
        [("**", "**"), ("\"", "\""), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»")];
    let within = |(open, close): &(&str, &str)| value.strip_prefix(open)?.strip_suffix(close);
    let value = AROUND.iter().find_map(within).unwrap_or(value);
    match written_path(value, reader.root) {
        Err((what, hint)) => reader.wrong(parameter.at, what, hint),
        Ok((_, rest)) if !rest.trim().is_empty() => {
            let (what, hint) = more_than_a_path(value);
            reader.wrong(parameter.at, what, hint);
        }
        Ok((path, _)) if path.trim().is_empty() => {
            reader.wrong(
                parameter.at,
                format!("{} names nothing", parameter.key),
                "Name a file of the project.",
            );
        }
        Ok((path, _)) => return Some(path.trim().to_owned()),
    }
    None
}

/// The path or address that a text begins with if that is a link or code, and the text after it; otherwise the whole
/// text. A link to a file must lead to the path that it shows.
pub(super) fn written_path<'t>(text: &'t str, root: &str) -> Result<(String, &'t str), (String, String)> {
    if let Some((label, target, rest)) = inline::link(text) {
        if is_url(&target) {
            return Ok((target, rest));
        }
        let (label, target) = (local(&label, root).to_owned(), local(&target, root).to_owned());
        if same_path(&target, &label) || same_path(&inline::decoded(&target), &label) {
            return Ok((label, rest));
        }
        let (what, path) =
            (format!("the link says {label:?} and leads to {target:?}"), target.trim_start_matches('/'));
        return Err((what, format!("Write the same path in both places, such as `[{path}](/{path})`.")));
    }
    match inline::code(text) {
        // A link in single backticks, as descriptions of the format write it, is that link; in double backticks it is a
        // file name.
        Some((code, rest)) if !text.starts_with("``") && inline::link(&code).is_some() => {
            written_path(&code, root).map(|(path, _)| (path, rest))
        }
        Some((code, rest)) => Ok((local(&code, root).to_owned(), rest)),
        None if text.contains("](") || has_words(text) => Err(more_than_a_path(text)),
        None => Ok((local(text, root).to_owned(), "")),
    }
}

/// A path inside the project, from its root.
fn local<'p>(path: &'p str, root: &str) -> &'p str {
    let inside = path.strip_prefix("file://").unwrap_or(path).strip_prefix(root).filter(|_| !root.is_empty());
    match inside {
        Some("" | "/") => ".",
        Some(inside) => inside.strip_prefix('/').unwrap_or(path),
        None => path,
    }
}

/// Whether a plain path contains something that is unlikely in a file name, such as a remark, a second path or a line
/// number. A link or code may contain it.
fn has_words(text: &str) -> bool {
    const BETWEEN: [&str; 10] = [" (", ", ", "; ", " - ", " – ", " — ", " # ", " -> ", " → ", " and "];
    let numbered = text.rsplit_once(':').is_some_and(|(path, number)| {
        !path.is_empty() && number.starts_with(|c: char| c.is_ascii_digit()) && !is_url(text)
    });
    let dots = text.trim_end_matches('.');
    let pointed = text.ends_with([',', ';', ':'])
        || (dots.len() < text.len() && !dots.ends_with(['.', '/']) && !dots.is_empty());
    let patterned = !is_url(text) && text.contains(['*', '<', '>', '|']);
    BETWEEN.iter().any(|between| text.contains(between)) || numbered || pointed || patterned
}

/// Whether two notations of a path name the same file.
pub(super) fn is_same(one: &str, other: &str, root: &str) -> bool {
    let path = |text| written_path(text, root).map(|(path, _)| path);
    matches!((path(one), path(other)), (Ok(one), Ok(other)) if same_path(&one, &other))
}

/// The error for a path with other text beside it, which would make it a different path.
pub(super) fn more_than_a_path(text: &str) -> (String, String) {
    let hint = "Write it as `[src/main.rs](/src/main.rs)` and nothing else; words about it go elsewhere.";
    (format!("{text:?} is more than a path"), hint.to_owned())
}

fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// Whether a link's target and text are the same path. A leading slash stands for the project's root and may be
/// missing.
fn same_path(target: &str, text: &str) -> bool {
    let plain = |path: &'_ str| {
        let path = path.trim_start_matches('/');
        let path = path.strip_prefix("./").unwrap_or(path).trim();
        if path == "." { String::new() } else { path.to_owned() }
    };
    plain(target) == plain(text)
}

pub(super) fn resource(reader: &mut Reader<'_>, parameter: &Parameter) -> Option<Resource> {
    let value = parameter.value.as_str();
    let inner = value.strip_prefix('<').and_then(|value| value.strip_suffix('>'));
    if let Some(url) = inner.filter(|url| is_url(url)) {
        return Some(Resource::Url(url.to_owned()));
    }
    let path = path(reader, parameter)?;
    Some(if is_url(&path) { Resource::Url(path) } else { Resource::File(path) })
}

pub(super) fn flag(reader: &mut Reader<'_>, parameter: &Parameter) -> Option<bool> {
    let key = parameter.key;
    match parameter.value.trim_matches(['`', '.', '"']).to_ascii_lowercase().as_str() {
        "true" | "yes" => Some(true),
        "false" | "no" => Some(false),
        _ => {
            reader.wrong(
                parameter.at,
                format!("{key} is {:?}, which is neither true nor false", parameter.value),
                format!("Write `- **{key}:** true`, or leave it out."),
            );
            None
        }
    }
}

pub(super) fn duration(reader: &mut Reader<'_>, parameter: &Parameter) -> Option<SignedDuration> {
    let value = parameter.value.trim_matches(['`', '"']);
    let parsed = match value.parse::<u32>() {
        Ok(seconds) => Some(SignedDuration::from_secs(i64::from(seconds))),
        Err(_) => value.parse().ok(),
    };
    let positive = parsed.filter(SignedDuration::is_positive);
    if positive.is_none() {
        let what = format!("Timeout is {value:?}, which is not a duration");
        reader.wrong(parameter.at, what, "Write it like 60s, 2m or 1h 30m.");
    }
    positive
}

pub(super) fn variables(reader: &mut Reader<'_>, parameter: &Parameter) -> BTreeMap<String, String> {
    const HINT: &str = "Write each on a line of its own, as `NAME=value`.";
    let mut items = inline_variables(parameter);
    if let Some((at, item)) = items.iter().find(|(_, item)| may_be_several(item)) {
        reader.wrong(*at, format!("{item:?} may be one variable or several"), HINT);
    }
    items.extend(parameter.items.iter().cloned());
    let mut env = BTreeMap::new();
    for (at, item) in items {
        match variable(&item) {
            Some((name, value)) => {
                env.insert(name, value);
            }
            None => {
                reader.wrong(at, format!("{item:?} is not a variable"), HINT);
            }
        }
    }
    env
}

/// Variables on the parameter's own line: one, or several in backticks.
fn inline_variables(parameter: &Parameter) -> Vec<(usize, String)> {
    let mut items = Vec::new();
    let mut rest = parameter.value.as_str();
    while let Some((code, after)) = inline::code(rest) {
        items.push((parameter.at, inline::as_code(&code)));
        rest = after.trim_start_matches([',', ' ']);
    }
    if !rest.is_empty() {
        items.push((parameter.at, rest.to_owned()));
    }
    items
}

/// Whether this could be several variables: in `A=1, B=2` and `A=1 B=2` nothing says where the value of A ends.
fn may_be_several(item: &str) -> bool {
    let later = item.split([' ', ',', ';']).skip(1);
    let mut names =
        later.filter_map(|word| word.strip_suffix(':').or(word.split_once('=').map(|(name, _)| name)));
    inline::code(item).is_none() && names.any(is_name)
}

/// `NAME=value`, in backticks or not, or `NAME: value`. Quotes around a value are dropped, unless backticks protect
/// them.
fn variable(item: &str) -> Option<(String, String)> {
    if let Some((code, rest)) = inline::code(item) {
        if rest.trim().is_empty() {
            let (name, value) = code.split_once('=')?;
            return is_name(name).then(|| (name.to_owned(), value.to_owned()));
        }
        let value = rest.trim_start().strip_prefix([':', '='])?.trim();
        let value = inline::code(value).map_or_else(|| unquoted(value).to_owned(), |(value, _)| value);
        return is_name(&code).then_some((code, value));
    }
    let plain = item.replace("**", "");
    let at = plain.find(['=', ':'])?;
    let (name, value) = (plain.get(..at)?.trim(), plain.get(at + 1..)?.trim());
    let value = inline::code(value).map_or_else(|| unquoted(value).to_owned(), |(value, _)| value);
    is_name(name).then(|| (name.to_owned(), value))
}

fn unquoted(value: &str) -> &str {
    let within = |quote| value.strip_prefix(quote).and_then(|value: &str| value.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

fn is_name(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
