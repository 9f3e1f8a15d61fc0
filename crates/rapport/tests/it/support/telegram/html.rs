//! The HTML that Telegram accepts: few tags, all closed.

use serde_json::{Value, json};

/// The tags there are, and the entities they make.
const TAGS: [(&str, &str); 16] = [
    ("a", "text_link"),
    ("b", "bold"),
    ("strong", "bold"),
    ("i", "italic"),
    ("em", "italic"),
    ("s", "strikethrough"),
    ("strike", "strikethrough"),
    ("del", "strikethrough"),
    ("u", "underline"),
    ("ins", "underline"),
    ("tg-spoiler", "spoiler"),
    ("span", "spoiler"),
    ("tg-emoji", "custom_emoji"),
    ("pre", "pre"),
    ("code", "code"),
    ("blockquote", "blockquote"),
];

/// The text and its entities, or why not, in Telegram's words.
pub(crate) fn parse(source: &str) -> Result<(String, Vec<Value>), String> {
    let mut parser = Parser { text: String::new(), units: 0, open: Vec::new(), entities: Vec::new() };
    let mut at = 0;
    while let Some(character) = source[at..].chars().next() {
        at += match character {
            '<' => parser.tag(source, at)?,
            '&' => parser.reference(&source[at..]),
            other => parser.push(other),
        };
    }
    match parser.open.last() {
        Some(open) => Err(format!("Can't find end tag corresponding to start tag \"{}\"", open.tag)),
        None => Ok((parser.text, parser.entities)),
    }
}

struct Parser {
    text: String,
    /// UTF-16 units of the text so far.
    units: usize,
    open: Vec<Open>,
    entities: Vec<Value>,
}

struct Open {
    tag: String,
    attributes: String,
    unit: usize,
    byte: usize,
}

impl Parser {
    /// Takes a tag, and says how long it was.
    fn tag(&mut self, source: &str, at: usize) -> Result<usize, String> {
        let rest = &source[at + 1..];
        let closes = rest.starts_with('/');
        let Some(length) = rest.find('>') else {
            let which = if closes { "end" } else { "start" };
            return Err(format!("Unclosed {which} tag at byte offset {at}"));
        };
        let inside = rest[..length].trim_start_matches('/');
        let (name, attributes) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
        let name = name.to_lowercase();
        if closes {
            self.close(&name, at)?;
        } else {
            if !TAGS.iter().any(|(tag, _)| *tag == name) {
                return Err(format!("Unsupported start tag \"{name}\" at byte offset {at}"));
            }
            if name == "span" && attribute(attributes, "class").as_deref() != Some("tg-spoiler") {
                return Err(format!("Tag \"span\" must have class \"tg-spoiler\" at byte offset {at}"));
            }
            let attributes = attributes.to_owned();
            self.open.push(Open { tag: name, attributes, unit: self.units, byte: self.text.len() });
        }
        Ok(length + 2)
    }

    fn close(&mut self, name: &str, at: usize) -> Result<(), String> {
        let Some(open) = self.open.pop() else {
            return Err(format!("Unexpected end tag at byte offset {at}"));
        };
        if !name.is_empty() && open.tag != name {
            let expected = &open.tag;
            return Err(format!(
                "Unmatched end tag at byte offset {at}, expected \"</{expected}>\", found \"</{name}>\""
            ));
        }
        if self.units > open.unit {
            self.entity(&open);
        }
        Ok(())
    }

    fn entity(&mut self, open: &Open) {
        let kind = TAGS.iter().find(|(tag, _)| *tag == open.tag).map_or("bold", |(_, kind)| kind);
        let mut entity = json!({ "type": kind, "offset": open.unit, "length": self.units - open.unit });
        match open.tag.as_str() {
            "a" => {
                let url = attribute(&open.attributes, "href");
                entity["url"] = url.unwrap_or_else(|| self.text[open.byte..].to_owned()).into();
            }
            "tg-emoji" => entity["custom_emoji_id"] = attribute(&open.attributes, "emoji-id").into(),
            "blockquote" if open.attributes.contains("expandable") => {
                entity["type"] = "expandable_blockquote".into()
            }
            "code" => {
                let class = attribute(&open.attributes, "class").unwrap_or_default();
                if let Some(language) = class.strip_prefix("language-") {
                    entity["language"] = language.into();
                }
            }
            "pre" => {
                let same = |code: &mut Value| code["type"] == "code" && code["offset"] == entity["offset"];
                if let Some(code) =
                    self.entities.pop_if(|code| same(code) && code["length"] == entity["length"])
                {
                    entity["language"] = code["language"].clone();
                }
            }
            _ => {}
        }
        if entity["language"].is_null()
            && let Some(fields) = entity.as_object_mut()
        {
            fields.remove("language");
        }
        self.entities.push(entity);
    }

    /// Takes `&lt;` and its like, and says how long it was.
    fn reference(&mut self, rest: &str) -> usize {
        const NAMED: [(&str, char); 4] = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')];
        if let Some((name, character)) = NAMED.iter().find(|(name, _)| rest.starts_with(name)) {
            self.push(*character);
            return name.len();
        }
        if let Some((number, _)) = rest.strip_prefix("&#").and_then(|rest| rest.split_once(';'))
            && let Some(character) = number.parse().ok().and_then(char::from_u32)
        {
            self.push(character);
            return number.len() + 3;
        }
        self.push('&')
    }

    fn push(&mut self, character: char) -> usize {
        self.text.push(character);
        self.units += character.len_utf16();
        character.len_utf8()
    }
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let value = attributes.split_once(&format!("{name}="))?.1;
    let quote = value.chars().next()?;
    let value = match quote {
        '"' | '\'' => value[1..].split(quote).next()?,
        _ => value.split_whitespace().next()?,
    };
    Some(value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}
