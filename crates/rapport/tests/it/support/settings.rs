//! Settings as a command finds them, from files and variables.

use std::path::Path;

use rapport::channels::ChannelKinds;
use rapport::config::{self, ConfigError, Layer, Settings, Sources};

/// What settings are read from with these variables.
pub(crate) fn sources(home: &Path, project: &Path, env: &[(&str, &str)]) -> Result<Sources, ConfigError> {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    config::sources(home, project, env, &ChannelKinds::builtin().sections())
}

/// The settings that hold there.
pub(crate) fn settings(home: &Path, project: &Path, env: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    Settings::load(&sources(home, project, env)?, Layer::default())
}
