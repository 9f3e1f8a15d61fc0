//! Parses MCP elicitation requests that the CLI forwards: a form described by a JSON schema, or a page to visit.

use std::fmt;

use rapport_core::{ACCEPT, Choice, Field, FieldKind, NewQuestion};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Number, Value};

use super::ControlRequest;

/// The questions in a server's request, one for each field. There is always at least one, so that the person always
/// decides.
pub fn elicited(request: &ControlRequest<'_>) -> Vec<NewQuestion> {
    let asks = format!("{} asks: {}", &*request.mcp_server_name, &*request.message);
    if !request.url.is_empty() {
        return vec![consent(request, format!("{asks}\n{}", &*request.url), "I have opened it")];
    }
    let schema: Schema =
        request.requested_schema.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let mut properties = schema.properties.0;
    let place = |key: &str| request.property_order.iter().position(|name| **name == *key);
    properties.sort_by_key(|(key, _)| place(key).unwrap_or(usize::MAX));
    if properties.is_empty() {
        return vec![consent(request, asks, "Accept")];
    }
    let draft = |(key, property): &(String, Value)| {
        let is_required = schema.required.iter().any(|required| required == key);
        field(request, &asks, key, property, is_required)
    };
    properties.iter().map(draft).collect()
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Schema {
    properties: Pairs,
    required: Vec<String>,
}

/// A map in its original order.
#[derive(Default)]
struct Pairs(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn consent(request: &ControlRequest<'_>, text: String, accept: &str) -> NewQuestion {
    let accepted = Choice { value: ACCEPT.into(), ..Choice::plain(accept) };
    let field = Field { server: request.mcp_server_name.to_string(), key: None, kind: FieldKind::Consent };
    NewQuestion {
        text,
        header: Some(request.mcp_server_name.to_string()),
        options: [accepted].into_iter().chain(Field::ways_out(true)).collect(),
        field: Some(Box::new(field)),
        ..NewQuestion::default()
    }
}

fn field(
    request: &ControlRequest<'_>,
    asks: &str,
    key: &str,
    property: &Value,
    is_required: bool,
) -> NewQuestion {
    let (kind, own) = kind(property);
    let title = word(property, "title").unwrap_or(key);
    let description = word(property, "description").map(|words| format!(": {words}")).unwrap_or_default();
    let limits = limits(&kind).map(|limits| format!(" ({limits})")).unwrap_or_default();
    let usual = property.get("default").filter(|_| own.is_empty());
    let usual = usual.map(|usual| format!(" Usually {usual}.")).unwrap_or_default();
    let free_text = matches!(kind, FieldKind::Text { .. } | FieldKind::Number { .. });
    NewQuestion {
        text: format!("{asks}\n{title}{description}{limits}{usual}"),
        header: Some(title.to_owned()),
        options: own.into_iter().chain(Field::ways_out(is_required)).collect(),
        multi: matches!(kind, FieldKind::Several { .. }),
        free_text,
        field: Some(Box::new(Field {
            server: request.mcp_server_name.to_string(),
            key: Some(key.to_owned()),
            kind,
        })),
    }
}

/// The type of a property, and its options.
fn kind(property: &Value) -> (FieldKind, Vec<Choice>) {
    let count = |key: &str| property.get(key).and_then(Value::as_u64);
    let number = |key: &str| property.get(key).and_then(Value::as_number).cloned();
    match word(property, "type") {
        Some("boolean") => {
            let choice = |label: &str, value: &str| Choice { value: value.into(), ..Choice::plain(label) };
            (FieldKind::Flag, with_default(vec![choice("Yes", "true"), choice("No", "false")], property))
        }
        Some(kind @ ("number" | "integer")) => {
            let kind = FieldKind::Number {
                whole: kind == "integer",
                least: number("minimum"),
                most: number("maximum"),
            };
            (kind, Vec::new())
        }
        Some("array") => {
            let options = options(property.get("items").unwrap_or(&Value::Null));
            let kind = FieldKind::Several { fewest: count("minItems"), most: count("maxItems") };
            (kind, with_default(options, property))
        }
        _ => match options(property) {
            options if options.is_empty() => {
                let format = word(property, "format").map(str::to_owned);
                (
                    FieldKind::Text { shortest: count("minLength"), longest: count("maxLength"), format },
                    options,
                )
            }
            options => (FieldKind::One, with_default(options, property)),
        },
    }
}

/// Options as `enum` with `enumNames`, or as `oneOf` or `anyOf` of constants with titles.
fn options(schema: &Value) -> Vec<Choice> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let names = list("enumNames");
    let plain = list("enum").into_iter().enumerate().filter_map(|(place, value)| {
        let value = value.as_str()?.to_owned();
        let label = names.get(place).and_then(Value::as_str).unwrap_or(&value);
        Some(Choice { value: value.clone(), ..Choice::plain(label) })
    });
    let titled = ["oneOf", "anyOf"].into_iter().flat_map(list).filter_map(|option| {
        let value = word(&option, "const")?.to_owned();
        Some(Choice { value: value.clone(), ..Choice::plain(word(&option, "title").unwrap_or(&value)) })
    });
    plain.chain(titled).collect()
}

/// Marks the server's default.
fn with_default(mut options: Vec<Choice>, property: &Value) -> Vec<Choice> {
    let usual = property.get("default").unwrap_or(&Value::Null);
    let is_usual = |value: &str| match usual {
        Value::Bool(flag) => value == flag.to_string(),
        Value::Array(values) => values.iter().any(|usual| usual == value),
        usual => usual == value,
    };
    options.iter_mut().for_each(|option| option.recommended = is_usual(&option.value));
    options
}

fn limits(kind: &FieldKind) -> Option<String> {
    let between = |least: Option<String>, most: Option<String>, of: &str| match (least, most) {
        (None, None) => None,
        (Some(least), None) => Some(format!("at least {least}{of}")),
        (None, Some(most)) => Some(format!("at most {most}{of}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}{of}")),
    };
    let count = |count: &Option<u64>| count.map(|count| count.to_string());
    let number = |number: &Option<Number>| number.as_ref().map(Number::to_string);
    match kind {
        FieldKind::Text { shortest, longest, format } => {
            between(count(shortest), count(longest), " characters").or_else(|| format.clone())
        }
        FieldKind::Number { least, most, .. } => between(number(least), number(most), ""),
        FieldKind::Several { fewest, most } => between(count(fewest), count(most), " choices"),
        FieldKind::Consent | FieldKind::Flag | FieldKind::One => None,
    }
}

fn word<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}
