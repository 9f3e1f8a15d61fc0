//! What may be logged of a value: its kind, and nothing that a person or an agent wrote.

use std::fmt::{self, Debug, Write as _};

/// The name of an enum's variant, such as `Answered`, without its fields.
pub fn variant(value: &dyn Debug) -> String {
    let mut word = FirstWord(String::new());
    // Ends with an error by design, after the first word.
    let _ = write!(word, "{value:?}");
    word.0
}

struct FirstWord(String);

impl fmt::Write for FirstWord {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric());
        self.0.push_str(&text[..end.unwrap_or(text.len())]);
        if end.is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::variant;

    #[derive(Debug)]
    #[expect(dead_code, reason = "only how they are shown matters")]
    enum Kind {
        Plain,
        Named { secret: &'static str },
        Tuple(&'static str),
    }

    #[test]
    fn of_a_value_only_its_kind_is_logged() {
        let kinds = [Kind::Plain, Kind::Named { secret: "s" }, Kind::Tuple("s")];
        assert_eq!(kinds.map(|kind| variant(&kind)), ["Plain", "Named", "Tuple"]);
        assert_eq!(variant(&"a text"), "");
    }
}
