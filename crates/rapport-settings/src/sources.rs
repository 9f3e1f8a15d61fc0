//! The sources of settings: a file in the home, one in the project, the environment. Later ones override earlier
//! ones.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use rapport_durable as durable;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::{ConfigError, May, Row, Section};

/// The maximum size of a settings file.
const LARGEST: u64 = 1024 * 1024;

/// A section that the reader of the whole file does not declare itself.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its name in a file: `telegram`.
    pub name: &'static str,
    pub rows: Vec<Row>,
    /// Whether others declare settings of the same section.
    pub is_shared: bool,
    set_aside: fn(&Document, May) -> Result<Vec<&'static str>, ConfigError>,
    check: fn(&Sources) -> Result<(), ConfigError>,
}

impl Declared {
    /// The declaration of this section.
    pub fn of<S: Section>() -> Self {
        Self {
            name: S::AT.trim_end_matches('.'),
            rows: S::rows(),
            is_shared: S::IS_SHARED,
            set_aside: |document, may| {
                let mut names = Vec::new();
                document.read::<S>()?.set_aside(may, &mut names);
                Ok(names)
            },
            check: |sources| sources.load::<S>().map(drop),
        }
    }

    /// A section of a part that this build lacks: a file may contain it, and it is not read.
    pub fn left_out(name: &'static str) -> Self {
        let (set_aside, check) = (|_: &_, _| Ok(Vec::new()), |_: &_| Ok(()));
        Self { name, rows: Vec::new(), is_shared: false, set_aside, check }
    }

    /// The settings of this file that need more than `may`, by name.
    pub fn beyond(&self, document: &Document, may: May) -> Result<Vec<&'static str>, ConfigError> {
        (self.set_aside)(document, may)
    }

    /// Refuses values that are not valid.
    pub fn check(&self, sources: &Sources) -> Result<(), ConfigError> {
        (self.check)(sources)
    }
}

/// A settings file that says something.
#[derive(Clone)]
pub struct Document {
    path: PathBuf,
    text: String,
}

impl Document {
    /// Reads a file; `None` if it does not exist or is empty.
    pub fn open(path: &Path) -> Result<Option<Self>, ConfigError> {
        let name = || path.display().to_string();
        let content = match durable::read_file(path, LARGEST) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ConfigError::Unreadable { path: name(), source }),
        };
        let text = String::from_utf8(content)
            .map_err(|_| ConfigError::Wrong { place: name(), what: "it is not UTF-8 text".into() })?;
        Ok((!text.trim().is_empty()).then(|| Self { path: path.to_owned(), text }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads a section; the others are not checked.
    pub fn read<S: Section>(&self) -> Result<S, ConfigError> {
        let name = S::AT.trim_end_matches('.');
        let read = if name.is_empty() {
            serde_saphyr::from_str(&self.text)
        } else {
            serde_saphyr::with_deserializer_from_str(&self.text, |deserializer| {
                deserializer.deserialize_map(Inside { name, read: SectionOrWord(std::marker::PhantomData) })
            })
        };
        read.map_err(|error| self.located(&error))
    }

    /// The names at the top of the file. An unknown name is refused.
    pub fn names(&self, known: &[&str]) -> Result<Vec<String>, ConfigError> {
        let names = serde_saphyr::with_deserializer_from_str(&self.text, |deserializer| {
            deserializer.deserialize_map(Names { known })
        });
        names.map_err(|error| self.located(&error))
    }

    /// The names in a section of which several crates declare a part. An unknown name is refused; a section that is
    /// only a word has none.
    pub fn names_in(&self, section: &str, known: &[&str]) -> Result<Vec<String>, ConfigError> {
        let names = serde_saphyr::with_deserializer_from_str(&self.text, |deserializer| {
            let section = Inside { name: section, read: NamesOrWord { known } };
            deserializer.deserialize_map(section)
        });
        names.map_err(|error| self.located(&error))
    }

    fn located(&self, error: &serde_saphyr::Error) -> ConfigError {
        let name = self.path.display();
        let Some(at) = error.location() else {
            return ConfigError::Wrong { place: name.to_string(), what: error.to_string() };
        };
        let place = format!("{name}:{}:{}", at.line(), at.column());
        let what = error.without_snippet().to_string();
        let what = what.trim_end_matches(&format!(" at line {}, column {}", at.line(), at.column()));
        ConfigError::Wrong { place, what: what.to_owned() }
    }
}

/// Does not show the text, which may contain secrets.
impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Everything that settings are read from.
#[derive(Clone, Default)]
pub struct Sources {
    pub home: Option<Document>,
    /// The project's own file, unless it is the home's.
    pub project: Option<Document>,
    /// Whether the person trusts the project's file.
    pub is_trusted: bool,
    /// The environment, as far as it is text.
    pub env: HashMap<String, String>,
    /// A warning for the person about settings of an untrusted project that are ignored.
    pub warning: Option<String>,
}

impl Sources {
    /// A section, merged from all sources.
    pub fn load<S: Section>(&self) -> Result<S, ConfigError> {
        let read =
            |document: &Option<Document>| document.as_ref().map_or_else(|| Ok(S::default()), Document::read);
        let home: S = read(&self.home)?;
        let mut of_project: S = read(&self.project)?;
        of_project.set_aside(self.project_may(), &mut Vec::new());
        Ok(home.under(of_project).under(S::from_env(&|name| self.variable(name))?))
    }

    /// What the project's file may set.
    pub fn project_may(&self) -> May {
        if self.is_trusted { May::Trusted } else { May::Project }
    }

    /// The value of a variable.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources")
            .field("home", &self.home)
            .field("project", &self.project)
            .finish_non_exhaustive()
    }
}

/// Reads one section of a file and skips the rest.
struct Inside<'a, R> {
    name: &'a str,
    read: R,
}

impl<'de, R> Visitor<'de> for Inside<'_, R>
where
    R: DeserializeSeed<'de> + Copy,
    R::Value: Default,
{
    type Value = R::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<R::Value, A::Error> {
        let mut section = R::Value::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == self.name {
                section = map.next_value_seed(self.read)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(section)
    }
}

/// Reads a section. A single word in place of a section is read as an empty one, because only one of its declarers
/// knows the word.
struct SectionOrWord<S>(std::marker::PhantomData<S>);

impl<S> Clone for SectionOrWord<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for SectionOrWord<S> {}

impl<'de, S: Section> DeserializeSeed<'de> for SectionOrWord<S> {
    type Value = S;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S, D::Error> {
        if S::IS_SHARED {
            deserializer.deserialize_any(self)
        } else {
            Ok(<Option<S> as serde::Deserialize>::deserialize(deserializer)?.unwrap_or_default())
        }
    }
}

impl<'de, S: Section> Visitor<'de> for SectionOrWord<S> {
    type Value = S;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a section")
    }

    fn visit_str<E: serde::de::Error>(self, _word: &str) -> Result<S, E> {
        Ok(S::default())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<S, E> {
        Ok(S::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<S, A::Error> {
        S::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Reads the names in a section. A single word in place of a section has no names.
#[derive(Clone, Copy)]
struct NamesOrWord<'a> {
    known: &'a [&'a str],
}

impl<'de> DeserializeSeed<'de> for NamesOrWord<'_> {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<String>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NamesOrWord<'_> {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a section")
    }

    fn visit_str<E: serde::de::Error>(self, _word: &str) -> Result<Vec<String>, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Vec<String>, E> {
        Ok(Vec::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<String>, A::Error> {
        Names { known: self.known }.visit_map(map)
    }
}

/// Reads the names at the top of a file.
struct Names<'a> {
    known: &'a [&'a str],
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
        let mut names = Vec::new();
        // The name is checked where it is read, so that the error has its position.
        while let Some(name) = map.next_key_seed(Known(self.known))? {
            map.next_value::<IgnoredAny>()?;
            names.push(name);
        }
        Ok(names)
    }
}

struct Known<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for Known<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        let name = <String as serde::Deserialize>::deserialize(deserializer)?;
        if self.0.contains(&name.as_str()) {
            return Ok(name);
        }
        Err(D::Error::custom(format!("unknown field `{name}`, expected one of {}", self.0.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section;

    section! {
        /// Settings of a bot.
        struct BotLayer in "bot.", blank variables: Unset {
            token: String, Trusted, Masked;
            wait: u32, Project, Shown;
            program: String, Person, Masked;
        }
        sections {}
    }

    fn document(text: &str) -> Document {
        Document { path: "config.yaml".into(), text: text.into() }
    }

    #[test]
    fn one_section_is_read_and_errors_have_their_position() {
        let read = |text: &str| document(text).read::<BotLayer>().map_err(|error| error.to_string());
        assert_eq!(read("other: [1]\nbot: { wait: 3 }\n").unwrap().wait, Some(3));
        assert_eq!(read("other: 1\n").unwrap(), BotLayer::default());
        assert_eq!(read("bot:\n").unwrap(), BotLayer::default());
        assert!(read("other: 1\nbot:\n  wait: many\n").unwrap_err().starts_with("config.yaml:3:9: "));
        assert!(read("bot:\n  wat: 1\n").unwrap_err().starts_with("config.yaml:2:3: unknown field `wat`"));
    }

    #[test]
    fn comments_alone_say_nothing() {
        for text in ["# nothing yet\n", "---\n"] {
            let document = document(text);
            assert_eq!(document.read::<BotLayer>().unwrap(), BotLayer::default(), "{text}");
            assert!(document.names(&[]).unwrap().is_empty(), "{text}");
        }
    }

    #[test]
    fn names_at_the_top_are_checked() {
        let names = |text: &str| document(text).names(&["bot", "other"]).map_err(|error| error.to_string());
        assert_eq!(names("other: 1\nbot: {}\n").unwrap(), ["other", "bot"]);
        let wrong = names("other: 1\nbott: {}\n").unwrap_err();
        assert_eq!(wrong, "config.yaml:2:1: unknown field `bott`, expected one of bot, other");
    }

    section! {
        /// The settings that a kind of bot adds to those of bots.
        struct KindLayer in "bot.", shared, blank variables: Unset {
            color: u32, Trusted, Shown;
        }
        sections {}
    }

    #[test]
    fn several_declare_settings_of_one_section() {
        let text = "bot: { wait: 1, color: 3 }";
        assert_eq!(document(text).read::<KindLayer>().unwrap().color, Some(3));
        let read = |text: &str| document(text).read::<KindLayer>().map_err(|error| error.to_string());
        for nothing in ["bot: quick", "bot:", "other: 1"] {
            assert_eq!(read(nothing).unwrap(), KindLayer::default(), "{nothing}");
        }
        assert!(read("bot:\n  color: red\n").unwrap_err().starts_with("config.yaml:2:10: "));

        let names = |text: &str| {
            document(text).names_in("bot", &["wait", "color"]).map_err(|error| error.to_string())
        };
        assert_eq!(names(text).unwrap(), ["wait", "color"]);
        assert!(names("bot: quick").unwrap().is_empty());
        let wrong = names("other: 1\nbot:\n  colour: 3\n").unwrap_err();
        assert_eq!(wrong, "config.yaml:3:3: unknown field `colour`, expected one of wait, color");

        let declared = Declared::of::<KindLayer>();
        assert_eq!(declared.beyond(&document(text), May::Project).unwrap(), ["bot.color"]);
        assert!(declared.beyond(&document(text), May::Trusted).unwrap().is_empty());
        let sources = |text: &str| Sources { home: Some(document(text)), ..Sources::default() };
        assert!(declared.check(&sources(text)).is_ok());
        assert!(declared.check(&sources("bot: { color: red }")).is_err());
    }

    #[test]
    fn later_sources_win_as_far_as_they_may() {
        let mut sources = Sources {
            home: Some(document("bot: { token: mine, wait: 1 }")),
            project: Some(document("bot: { token: theirs, wait: 2, program: evil }")),
            ..Sources::default()
        };
        let load = |sources: &Sources| sources.load::<BotLayer>().unwrap();
        let bot = load(&sources);
        assert_eq!((bot.token.as_deref(), bot.wait, bot.program), (Some("mine"), Some(2), None));
        sources.is_trusted = true;
        let bot = load(&sources);
        assert_eq!(
            (bot.token.as_deref(), bot.program),
            (Some("theirs"), None),
            "a program is the person's to choose"
        );
        sources.env.insert("RAPPORT_BOT_PROGRAM".into(), "good".into());
        sources.env.insert("RAPPORT_BOT_WAIT".into(), "3".into());
        let bot = load(&sources);
        assert_eq!((bot.wait, bot.program.as_deref()), (Some(3), Some("good")));
    }
}
