//! Where settings come from: a file in the home, one in the project, the environment. Later ones win.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use rapport_durable as durable;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::{ConfigError, May, Row, Section};

/// The maximum size of a settings file.
const LARGEST: u64 = 1024 * 1024;

/// A section that somebody else than the reader of the whole file declares.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its name in a file: `telegram`.
    pub name: &'static str,
    pub rows: Vec<Row>,
}

impl Declared {
    /// The declaration of this section.
    pub fn of<S: Section>() -> Self {
        Self { name: S::AT.trim_end_matches('.'), rows: S::rows() }
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
                deserializer.deserialize_map(Only { name, section: std::marker::PhantomData })
            })
        };
        read.map_err(|error| self.located(&error))
    }

    /// The names at the top of the file. One that is not known is refused.
    pub fn names(&self, known: &[&str]) -> Result<Vec<String>, ConfigError> {
        let names = serde_saphyr::with_deserializer_from_str(&self.text, |deserializer| {
            deserializer.deserialize_map(Names { known })
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

/// Never shows the text, which may hold secrets.
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
struct Only<S> {
    name: &'static str,
    section: std::marker::PhantomData<S>,
}

impl<'de, S: Section> Visitor<'de> for Only<S> {
    type Value = S;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<S, A::Error> {
        let mut section = S::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == self.name {
                section = map.next_value::<Option<S>>()?.unwrap_or_default();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(section)
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
