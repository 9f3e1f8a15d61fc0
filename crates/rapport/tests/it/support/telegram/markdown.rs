//! MarkdownV2, strictly: reserved characters that are not escaped are refused, and so are entities that are not
//! closed.

use serde_json::{Value, json};

const RESERVED: &str = "_*[]()~`>#+-=|{}.!";

/// The text and its entities, or why not, in Telegram's words.
pub(crate) fn parse(source: &str) -> Result<(String, Vec<Value>), String> {
    let mut parser =
        Parser { source, at: 0, text: String::new(), units: 0, open: Vec::new(), entities: Vec::new() };
    while parser.at < source.len() {
        parser.step()?;
    }
    parser.close_quote();
    match parser.open.last() {
        Some(open) => Err(open.unclosed()),
        None => Ok((parser.text, parser.entities)),
    }
}

struct Parser<'a> {
    source: &'a str,
    at: usize,
    text: String,
    /// UTF-16 units of the text so far.
    units: usize,
    open: Vec<Open>,
    entities: Vec<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Spoiler,
    Code,
    Pre,
    Link,
    Quote,
}

struct Open {
    kind: Kind,
    /// Where it begins in the text.
    unit: usize,
    byte: usize,
    /// Where its mark is in the source.
    mark: usize,
    language: Option<String>,
}

impl Parser<'_> {
    fn step(&mut self) -> Result<(), String> {
        let rest = &self.source[self.at..];
        let character = rest.chars().next().unwrap_or_default();
        if let Some(escaped) =
            rest.strip_prefix('\\').and_then(|rest| rest.chars().next()).filter(|next| next.is_ascii())
        {
            self.at += 2;
            self.push(escaped);
            return Ok(());
        }
        let top = self.open.last().map(|open| open.kind);
        if let Some(kind) = top.filter(|kind| self.ends(*kind)) {
            return self.close(kind);
        }
        if matches!(top, Some(Kind::Code | Kind::Pre)) || !(RESERVED.contains(character) || character == '\n')
        {
            self.at += character.len_utf8();
            self.push(character);
            return Ok(());
        }
        if character == '\n' {
            return self.new_line();
        }
        self.begin(character)
    }

    /// Whether what is open ends here.
    fn ends(&self, kind: Kind) -> bool {
        let rest = &self.source[self.at..];
        match kind {
            Kind::Italic => rest.starts_with('_') && !rest.starts_with("__"),
            Kind::Quote => false,
            other => rest.starts_with(other.mark_at_end()),
        }
    }

    fn close(&mut self, kind: Kind) -> Result<(), String> {
        self.at += kind.mark_at_end().len();
        let Some(open) = self.open.pop() else { return Ok(()) };
        let mut entity =
            json!({ "type": kind.name(), "offset": open.unit, "length": self.units - open.unit });
        if let Some(language) = open.language {
            entity["language"] = language.into();
        }
        if kind == Kind::Link {
            entity["url"] = self.address(open.byte)?.into();
        }
        if self.units > open.unit {
            self.entities.push(entity);
        }
        Ok(())
    }

    /// What follows the words of a link; the words themselves, when nothing does.
    fn address(&mut self, begun: usize) -> Result<String, String> {
        let Some(rest) = self.source[self.at..].strip_prefix('(') else {
            return Ok(self.text[begun..].to_owned());
        };
        self.at += 1;
        let begins = self.at;
        let mut url = String::new();
        let mut characters = rest.chars();
        while let Some(mut character) = characters.next() {
            self.at += character.len_utf8();
            if character == ')' {
                return Ok(url);
            }
            if character == '\\' {
                character = characters.next().unwrap_or_default();
                self.at += character.len_utf8();
            }
            url.push(character);
        }
        Err(format!("Can't find end of a URL at byte offset {begins}"))
    }

    fn new_line(&mut self) -> Result<(), String> {
        let goes_on = self.source[self.at + 1..].starts_with('>');
        if self.open.iter().any(|open| open.kind == Kind::Quote) {
            if let Some(open) = self.open.last().filter(|open| open.kind != Kind::Quote) {
                return Err(open.unclosed());
            }
            if !goes_on {
                self.close_quote();
            }
        }
        self.at += 1;
        self.push('\n');
        Ok(())
    }

    fn begin(&mut self, character: char) -> Result<(), String> {
        let rest = &self.source[self.at..];
        let mark = self.at;
        let mut language = None;
        let (kind, length) = match character {
            '*' => (Kind::Bold, 1),
            '_' if rest.starts_with("__") => (Kind::Underline, 2),
            '_' => (Kind::Italic, 1),
            '~' => (Kind::Strikethrough, 1),
            '|' if rest.starts_with("||") => (Kind::Spoiler, 2),
            '[' => (Kind::Link, 1),
            '`' if rest.starts_with("```") => {
                let first = rest[3..].split(['`', ' ', '\n']).next().unwrap_or_default();
                let after = &rest[3 + first.len()..];
                let named = !first.is_empty() && !after.is_empty() && !after.starts_with('`');
                let skipped = if named { first.len() } else { 0 };
                language = named.then(|| first.to_owned());
                (Kind::Pre, 3 + skipped + usize::from(rest[3 + skipped..].starts_with('\n')))
            }
            '`' => (Kind::Code, 1),
            '>' if self.at == 0 || self.source[..self.at].ends_with('\n') => {
                self.at += 1;
                if !self.open.iter().any(|open| open.kind == Kind::Quote) {
                    self.start(Kind::Quote, mark, None);
                }
                return Ok(());
            }
            other => {
                return Err(format!(
                    "Character '{other}' is reserved and must be escaped with the preceding '\\'"
                ));
            }
        };
        self.at += length;
        self.start(kind, mark, language);
        Ok(())
    }

    fn start(&mut self, kind: Kind, mark: usize, language: Option<String>) {
        self.open.push(Open { kind, unit: self.units, byte: self.text.len(), mark, language });
    }

    fn close_quote(&mut self) {
        if let Some(open) = self.open.pop_if(|open| open.kind == Kind::Quote) {
            self.entities.push(
                json!({ "type": Kind::Quote.name(), "offset": open.unit, "length": self.units - open.unit }),
            );
        }
    }

    fn push(&mut self, character: char) {
        self.text.push(character);
        self.units += character.len_utf16();
    }
}

impl Open {
    fn unclosed(&self) -> String {
        format!("Can't find end of {} entity at byte offset {}", self.kind.spoken(), self.mark)
    }
}

impl Kind {
    fn mark_at_end(self) -> &'static str {
        match self {
            Self::Bold => "*",
            Self::Italic => "_",
            Self::Underline => "__",
            Self::Strikethrough => "~",
            Self::Spoiler => "||",
            Self::Code => "`",
            Self::Pre => "```",
            Self::Link => "]",
            Self::Quote => "",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bold => "bold",
            Self::Italic => "italic",
            Self::Underline => "underline",
            Self::Strikethrough => "strikethrough",
            Self::Spoiler => "spoiler",
            Self::Code => "code",
            Self::Pre => "pre",
            Self::Link => "text_link",
            Self::Quote => "blockquote",
        }
    }

    fn spoken(self) -> &'static str {
        match self {
            Self::Bold => "Bold",
            Self::Italic => "Italic",
            Self::Underline => "Underline",
            Self::Strikethrough => "Strikethrough",
            Self::Spoiler => "Spoiler",
            Self::Code => "Code",
            Self::Pre => "Pre",
            Self::Link => "TextUrl",
            Self::Quote => "BlockQuote",
        }
    }
}
