//! A section of settings: one row per setting, from which everything else follows.

use std::fmt::Debug;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};

use super::{ConfigError, Setting};

/// Who may set a setting, from everyone to almost no one. A person who clones a project has not read its settings, so
/// settings that name programs, servers, secrets, variables or people, and those that make Rapport ask less, need the
/// person's trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum May {
    Project,
    /// A project that the person trusts.
    Trusted,
    /// Only the person: in the home's file or the environment, however much they trust a project.
    Person,
    /// Only the home's file.
    Home,
}

/// Whether a bug report may show the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Shown,
    /// It could be a secret, a name or a path.
    Masked,
}

/// What a blank variable means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    /// The same as a variable that is not set.
    Unset,
    /// An empty value, which most types refuse.
    Value,
}

/// One row of a section: a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name in a file: `agent.hot`.
    pub key: &'static str,
    /// Older names of its variable, which still count.
    pub older: &'static [&'static str],
    pub may: May,
    pub shown: Shown,
}

impl Row {
    /// Whether this variable sets it.
    pub fn is_set_by(&self, name: &str) -> bool {
        self.older.contains(&name) || variable(self.key) == name
    }
}

/// A section of settings in which every setting is optional, so that sections of several sources can be layered.
/// Declare one with [`section!`](macro@crate::section).
pub trait Section: Clone + Debug + Default + PartialEq + DeserializeOwned {
    /// The beginning of its settings' names: `agent.`, or nothing for the whole file.
    const AT: &'static str;

    /// Whether others declare settings of the same section.
    const IS_SHARED: bool;

    /// All settings, including those of the sections in it.
    fn rows() -> Vec<Row>;

    /// Reads it from the environment.
    fn from_env(env: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError>;

    /// This section, overridden by another one.
    #[must_use]
    fn under(self, upper: Self) -> Self;

    /// Removes the settings that need more than `may`, and adds their names.
    fn set_aside(&mut self, may: May, names: &mut Vec<&'static str>);
}

/// The variable of a setting: `agent.hot` is `RAPPORT_AGENT_HOT`.
pub fn variable(key: &str) -> String {
    format!("RAPPORT_{}", key.replace('.', "_").to_uppercase())
}

/// Reads a setting from its variables. Used by [`section!`](macro@crate::section).
pub fn from_env<T: Setting>(
    row: &Row,
    blank: Blank,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<T>, ConfigError> {
    if row.may == May::Home {
        return Ok(None);
    }
    let ours = variable(row.key);
    let mut found: Option<T> = None;
    for name in std::iter::once(ours.as_str()).chain(row.older.iter().copied()) {
        let is_said = |value: &String| blank == Blank::Value || !value.trim().is_empty();
        let Some(value) = env(name).filter(is_said) else { continue };
        let value = T::parse(&value).map_err(|what| ConfigError::Variable { name: name.to_owned(), what })?;
        found = Some(match found {
            Some(newer) => newer.and_older(value),
            None => value,
        });
    }
    Ok(found)
}

/// Reads a setting from a file. Used by [`section!`](macro@crate::section).
pub fn read<'de, D: Deserializer<'de>, T: Setting>(deserializer: D) -> Result<Option<T>, D::Error> {
    struct Value<T>(T);

    impl<'de, T: Setting> Deserialize<'de> for Value<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            T::read(deserializer).map(Self)
        }
    }

    Ok(Option::<Value<T>>::deserialize(deserializer)?.map(|value| value.0))
}

/// Declares a section of settings as a table. A row says the type, who may set it ([`May`]), whether a report may
/// show it ([`Shown`]), and older names of its variable:
///
/// ```
/// use jiff::SignedDuration;
/// use rapport_settings::{Secret, section};
///
/// section! {
///     /// Settings of the bot.
///     pub struct BotLayer in "bot.", blank variables: Unset {
///         /// How long to wait.
///         wait: SignedDuration, Project, Shown;
///         token: Secret, Trusted, Masked, or "BOT_TOKEN";
///     }
///     sections {}
/// }
/// ```
///
/// If several crates declare parts of one section, each declares `in "bot.", shared, blank variables: ...`. The
/// reader of the whole file then checks the names in it ([`Document::names_in`](crate::Document::names_in)).
#[macro_export]
macro_rules! section {
    // The whole file also has sections of other crates, so unknown names are checked by the reader of the file.
    ($(#[$about:meta])* $vis:vis struct $name:ident in "", $($rest:tt)*) => {
        $crate::section!(@declare [] true, $(#[$about])* $vis struct $name in "", $($rest)*);
    };
    ($(#[$about:meta])* $vis:vis struct $name:ident in $at:literal, shared, $($rest:tt)*) => {
        $crate::section!(@declare [] true, $(#[$about])* $vis struct $name in $at, $($rest)*);
    };
    ($(#[$about:meta])* $vis:vis struct $name:ident in $at:literal, $($rest:tt)*) => {
        $crate::section!(@declare [deny_unknown_fields] false, $(#[$about])* $vis struct $name in $at, $($rest)*);
    };
    (@row $at:literal, $key:ident, $may:ident, $shown:ident, [$($older:literal),*]) => {
        $crate::Row {
            key: concat!($at, stringify!($key)),
            older: &[$($older),*],
            may: $crate::May::$may,
            shown: $crate::Shown::$shown,
        }
    };
    (@declare [$($unknown:ident)?] $is_shared:literal,
        $(#[$about:meta])*
        $vis:vis struct $name:ident in $at:literal, blank variables: $blank:ident {
            $($(#[$doc:meta])* $key:ident: $type:ty, $may:ident, $shown:ident $(, or $older:literal)*;)*
        }
        sections {
            $($(#[$inner_doc:meta])* $inner:ident: $inner_type:ty;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, ::serde::Deserialize)]
        #[serde(default $(, $unknown)?)]
        $vis struct $name {
            $($(#[$inner_doc])* pub $inner: $inner_type,)*
            $($(#[$doc])* #[serde(deserialize_with = "rapport_settings::read")] pub $key: Option<$type>,)*
        }

        impl $crate::Section for $name {
            const AT: &'static str = $at;
            const IS_SHARED: bool = $is_shared;

            fn rows() -> Vec<$crate::Row> {
                let own = vec![$($crate::section!(@row $at, $key, $may, $shown, [$($older),*])),*];
                [$(<$inner_type as $crate::Section>::rows(),)* own].concat()
            }

            fn from_env(env: &dyn Fn(&str) -> Option<String>) -> Result<Self, $crate::ConfigError> {
                Ok(Self {
                    $($inner: <$inner_type as $crate::Section>::from_env(env)?,)*
                    $($key: $crate::from_env(
                        &$crate::section!(@row $at, $key, $may, $shown, [$($older),*]),
                        $crate::Blank::$blank,
                        env,
                    )?,)*
                })
            }

            fn under(self, upper: Self) -> Self {
                Self {
                    $($inner: $crate::Section::under(self.$inner, upper.$inner),)*
                    $($key: upper.$key.or(self.$key),)*
                }
            }

            fn set_aside(&mut self, may: $crate::May, names: &mut Vec<&'static str>) {
                $($crate::Section::set_aside(&mut self.$inner, may, names);)*
                $(if $crate::May::$may > may && self.$key.take().is_some() {
                    names.push(concat!($at, stringify!($key)));
                })*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::Secret;

    section! {
        /// A section in a section.
        struct InnerLayer in "bot.inner.", blank variables: Unset {
            url: String, Trusted, Masked;
        }
        sections {}
    }

    section! {
        /// Settings of a bot.
        struct BotLayer in "bot.", blank variables: Unset {
            token: Secret, Trusted, Masked, or "BOT_TOKEN";
            wait: SignedDuration, Project, Shown;
            program: String, Person, Masked;
            listed: Vec<String>, Home, Masked;
        }
        sections {
            inner: InnerLayer;
        }
    }

    fn read(text: &str) -> Result<BotLayer, String> {
        serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())
    }

    fn env(variables: &'static [(&'static str, &'static str)]) -> Result<BotLayer, String> {
        let env = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        BotLayer::from_env(&env).map_err(|error| error.to_string())
    }

    #[test]
    fn a_section_is_read_from_a_file() {
        let bot = read("wait: 5m\nlisted: [a, b]\ninner: { url: x }\ntoken:\n").unwrap();
        assert_eq!(bot.wait, Some(SignedDuration::from_mins(5)));
        assert_eq!(
            (bot.listed.unwrap(), bot.inner.url.unwrap()),
            (vec!["a".to_owned(), "b".into()], "x".into())
        );
        assert_eq!(bot.token, None);
        assert!(read("wait: soon").unwrap_err().contains("\"soon\" is not a time"));
        assert!(read("wat: 5m").unwrap_err().contains("unknown field `wat`"));
        assert!(read("inner: { uri: x }").unwrap_err().contains("unknown field `uri`"));
    }

    #[test]
    fn variables_are_named_after_settings_and_older_names_count() {
        let bot =
            env(&[("RAPPORT_BOT_WAIT", "1m"), ("BOT_TOKEN", "old"), ("RAPPORT_BOT_INNER_URL", "x")]).unwrap();
        assert_eq!(
            (bot.wait, bot.token),
            (Some(SignedDuration::from_mins(1)), Some(Secret::new("old".into())))
        );
        assert_eq!(bot.inner.url.as_deref(), Some("x"));
        let bot =
            env(&[("BOT_TOKEN", "old"), ("RAPPORT_BOT_TOKEN", "new"), ("RAPPORT_BOT_WAIT", " ")]).unwrap();
        assert_eq!((bot.token, bot.wait), (Some(Secret::new("new".into())), None));
        assert_eq!(env(&[("RAPPORT_BOT_LISTED", "a")]).unwrap().listed, None, "only the home's file sets it");
        assert!(env(&[("RAPPORT_BOT_WAIT", "soon")]).unwrap_err().starts_with("RAPPORT_BOT_WAIT: \"soon\""));
    }

    #[test]
    fn an_upper_section_wins_key_by_key() {
        let bot = read("wait: 5m\ninner: { url: x }").unwrap().under(read("wait: 1m\nprogram: p").unwrap());
        assert_eq!(bot, read("wait: 1m\nprogram: p\ninner: { url: x }").unwrap());
    }

    #[test]
    fn who_may_set_what_is_in_the_table() {
        let whole = read("token: t\nwait: 5m\nprogram: p\nlisted: [a]\ninner: { url: x }").unwrap();
        for (may, left, expected) in [
            (May::Project, "wait: 5m", &["bot.inner.url", "bot.token", "bot.program", "bot.listed"][..]),
            (May::Trusted, "token: t\nwait: 5m\ninner: { url: x }", &["bot.program", "bot.listed"]),
            (May::Home, "token: t\nwait: 5m\nprogram: p\nlisted: [a]\ninner: { url: x }", &[]),
        ] {
            let (mut bot, mut names) = (whole.clone(), Vec::new());
            bot.set_aside(may, &mut names);
            assert_eq!((bot, names.as_slice()), (read(left).unwrap(), expected));
        }
    }

    #[test]
    fn rows_name_every_setting_and_its_variables() {
        let rows = BotLayer::rows();
        let keys: Vec<_> = rows.iter().map(|row| row.key).collect();
        assert_eq!(keys, ["bot.inner.url", "bot.token", "bot.wait", "bot.program", "bot.listed"]);
        assert!(rows[1].is_set_by("BOT_TOKEN") && rows[1].is_set_by("RAPPORT_BOT_TOKEN"));
        assert!(!rows[2].is_set_by("BOT_TOKEN"));
    }
}
