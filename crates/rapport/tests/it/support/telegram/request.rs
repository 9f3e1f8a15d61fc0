//! A call as it comes over the wire: parameters in the query, as JSON, as a form or as multipart, in one common form.

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use reqwest::Url;
use serde_json::{Map, Value};

use super::refusal::Refusal;

/// What was passed to a method.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters {
    /// By name. What is JSON inside a string is read, as Telegram does.
    pub(crate) values: Map<String, Value>,
    /// The files that came along.
    pub(crate) files: Vec<Upload>,
}

/// A file that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upload {
    /// The field it came in.
    pub(crate) field: String,
    pub(crate) name: String,
    /// What is in it.
    pub(crate) bytes: Vec<u8>,
}

/// Parameters that are text, whatever they look like.
const TEXTS: [&str; 14] = [
    "text",
    "caption",
    "callback_query_id",
    "url",
    "secret_token",
    "parse_mode",
    "action",
    "language_code",
    "inline_message_id",
    "business_connection_id",
    "message_effect_id",
    "ip_address",
    "document",
    "method",
];

impl Parameters {
    /// Reads a request.
    pub(crate) fn read(query: Option<&str>, headers: &HeaderMap, body: &[u8]) -> Result<Self, Refusal> {
        let mut read = Self::default();
        read.add_form(query.unwrap_or_default());
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if body.is_empty() {
        } else if kind.starts_with("application/json") {
            match serde_json::from_slice(body) {
                Ok(Value::Object(values)) => read.values.extend(values),
                _ => return Err(Refusal::bad_request("can't parse JSON object")),
            }
        } else if let Some((_, boundary)) = kind.split_once("multipart/form-data; boundary=") {
            read.add_multipart(boundary.trim_matches('"'), body);
        } else {
            read.add_form(&String::from_utf8_lossy(body));
        }
        for (name, value) in &mut read.values {
            unfold(name, value);
        }
        read.values.retain(|_, value| !value.is_null());
        Ok(read)
    }

    /// The same for a call that was written as an object.
    pub(crate) fn of(values: Map<String, Value>) -> Self {
        Self { values, files: Vec::new() }
    }

    /// One of them.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// A text, empty when there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.value(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A whole number.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.value(name).and_then(Value::as_i64)
    }

    /// Whether a flag is set.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| *value == Value::Bool(true) || *value == 1)
    }

    fn add_form(&mut self, form: &str) {
        let mut url = Url::parse("http://form/").unwrap();
        url.set_query(Some(form));
        for (name, value) in url.query_pairs().filter(|(name, _)| !name.is_empty()) {
            self.values.insert(name.into_owned(), Value::String(value.into_owned()));
        }
    }

    fn add_multipart(&mut self, boundary: &str, body: &[u8]) {
        let delimiter = format!("--{boundary}").into_bytes();
        for part in split(body, &delimiter).into_iter().skip(1) {
            let Some(at) = find(part, b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&part[..at]).into_owned();
            let content = part[at + 4..].strip_suffix(b"\r\n").unwrap_or(&part[at + 4..]);
            let Some(field) = attribute(&head, "name") else { continue };
            match attribute(&head, "filename") {
                Some(name) => self.files.push(Upload { field, name, bytes: content.to_vec() }),
                None => {
                    let value = String::from_utf8_lossy(content).into_owned();
                    self.values.insert(field, Value::String(value));
                }
            }
        }
    }
}

fn unfold(name: &str, value: &mut Value) {
    let Value::String(text) = value else { return };
    if TEXTS.contains(&name) {
        return;
    }
    if let Ok(inner) = serde_json::from_str::<Value>(text) {
        *value = inner;
    }
}

fn attribute(head: &str, name: &str) -> Option<String> {
    // "filename=" ends in "name=" as well, so what stands before has to be looked at.
    let at = head.find(&format!("; {name}=\""))? + name.len() + 4;
    head[at..].split('"').next().map(str::to_owned)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn split<'a>(mut text: &'a [u8], at: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    while let Some(place) = find(text, at) {
        parts.push(&text[..place]);
        text = &text[place + at.len()..];
    }
    parts.push(text);
    parts
}
