//! What a parameter says: paths, addresses, yes and no, lengths of time, variables; however it is written.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::parse::Reader;
use super::{Resource, inline};

/// A parameter of an action, as it is written.
pub(super) struct Parameter {
    pub(super) key: &'static str,
    pub(super) value: String,
    /// The list below it.
    pub(super) items: Vec<(usize, String)>,
    pub(super) at: usize,
}

/// A path, however it is written.
pub(super) fn path(reader: &mut Reader<'_>, parameter: &Parameter) -> Option<String> {
    let value = parameter.value.as_str();
    let code = inline::code(value).filter(|(_, rest)| rest.trim().is_empty()).map(|(code, _)| code);
    let path = match inline::link(value).filter(|(_, _, rest)| rest.trim().is_empty()) {
        Some((text, target, _)) => {
            if !same_path(&target, &text) && !same_path(&inline::decoded(&target), &text) {
                reader.wrong(
                    parameter.at,
                    format!("the link says {text:?} and leads to {target:?}"),
                    format!("Write the path in both places: `[{text}](/{text})`."),
                );
                return None;
            }
            text
        }
        None => code.unwrap_or_else(|| value.to_owned()),
    };
    let path = path.trim();
    if path.is_empty() {
        reader.wrong(parameter.at, format!("{} names nothing", parameter.key), "Name a file of the project.");
        return None;
    }
    Some(path.to_owned())
}

/// A link leads from the project's root, with a slash before it or not.
fn same_path(target: &str, text: &str) -> bool {
    let plain = |path: &'_ str| {
        let path = path.trim_start_matches('/');
        path.strip_prefix("./").unwrap_or(path).trim().to_owned()
    };
    plain(target) == plain(text)
}

pub(super) fn resource(reader: &mut Reader<'_>, parameter: &Parameter) -> Option<Resource> {
    let is_url = |text: &str| text.starts_with("http://") || text.starts_with("https://");
    let value = parameter.value.as_str();
    let inner = value.strip_prefix('<').and_then(|value| value.strip_suffix('>'));
    if let Some(url) = inner.filter(|url| is_url(url)) {
        return Some(Resource::Url(url.to_owned()));
    }
    if let Some((_, target, rest)) = inline::link(value)
        && rest.trim().is_empty()
        && is_url(&target)
    {
        return Some(Resource::Url(target));
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
        let what = format!("Timeout is {value:?}, which is no length of time");
        reader.wrong(parameter.at, what, "Write it like 60s, 2m or 1h 30m.");
    }
    positive
}

pub(super) fn variables(reader: &mut Reader<'_>, parameter: &Parameter) -> BTreeMap<String, String> {
    let mut items = inline_variables(parameter);
    items.extend(parameter.items.iter().cloned());
    let mut env = BTreeMap::new();
    for (at, item) in items {
        match variable(&item) {
            Some((name, value)) => {
                env.insert(name, value);
            }
            None => {
                let what = format!("{item:?} is no variable");
                reader.wrong(at, what, "Write each on a line of its own, as `NAME=value`.");
            }
        }
    }
    env
}

/// Variables on the very line of the parameter: one, or several in backticks.
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

/// `NAME=value`, in backticks or not, or `NAME: value`. Quotes around a value go, unless backticks keep them.
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
