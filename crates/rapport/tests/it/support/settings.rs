//! Settings as a command finds them, from files and variables.

use std::path::Path;

use rapport::config::{self, ConfigError, Layer, Settings, Sources};
use rapport::wiring::Workspace;
use rapport::workers::WorkerKinds;

/// What settings are read from with these variables.
pub(crate) fn sources(home: &Path, project: &Path, env: &[(&str, &str)]) -> Result<Sources, ConfigError> {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let place = Workspace::new(home.to_owned(), project.to_owned());
    config::sources(home, project, env, &place.known_settings())
}

/// The settings that hold there.
pub(crate) fn settings(home: &Path, project: &Path, env: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    Settings::load(&sources(home, project, env)?, Layer::default(), &WorkerKinds::builtin())
}
