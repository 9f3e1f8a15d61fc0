//! The fields of a form or of an address.

/// Names with their values, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    /// Reads fields as forms and addresses write them.
    pub(crate) fn read(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// The first value of this name; empty if there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// All values of this name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first value of this name as a number.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name).parse().ok()
    }
}

/// A text as a part of an address.
pub(crate) fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_written() {
        let fields = Fields::read(b"o=1&o=2&text=a+b%26c&n=7");
        assert_eq!(fields.all("o").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!((fields.get("text"), fields.get("none")), ("a b&c", ""));
        assert_eq!((fields.number::<u64>("n"), fields.number::<u64>("text")), (Some(7), None));
        assert_eq!(encoded("blog:2026 a/b?"), "blog%3A2026%20a%2Fb%3F");
    }
}
