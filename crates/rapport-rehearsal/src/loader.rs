//! Finds and parses a scenario, and reports mistakes: file, line, column, what was expected, and the excerpt.

use std::path::{Path, PathBuf};

use super::Problem;
use super::prebuilt;
use super::scenario::{Counter, Scenario};

/// A scenario ready to be played.
pub(super) struct Loaded {
    pub(super) scenario: Scenario,
    pub(super) counter: Counter,
    /// The path of the counter of invocations; `None` for built-in scenarios.
    pub(super) counter_path: Option<PathBuf>,
}

/// Loads the scenario named on the command line, else the one in `FAKE_CLAUDE_CONFIG`, else `greeting`.
pub(super) fn load(named: Option<&str>) -> Result<Loaded, Problem> {
    if let Some(name) = named {
        return load_named(name);
    }
    match std::env::var_os("FAKE_CLAUDE_CONFIG") {
        Some(path) => load_file(Path::new(&path), Counter::Invocations),
        None => load_named(prebuilt::DEFAULT),
    }
}

fn load_named(name: &str) -> Result<Loaded, Problem> {
    if Path::new(name).is_file() {
        return load_file(Path::new(name), Counter::Conversation);
    }
    let Some(text) = prebuilt::built_in(name) else {
        let known = prebuilt::BUILT_IN.map(|(name, _)| name).join(", ");
        return Err(Problem::scenario(format!(
            "no scenario {name:?}: it is neither a file nor built in\nBuilt-in scenarios: {known}."
        )));
    };
    let scenario = parse(&format!("<built-in {name}>"), text)?;
    Ok(Loaded { scenario, counter: Counter::Conversation, counter_path: None })
}

fn load_file(path: &Path, default: Counter) -> Result<Loaded, Problem> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Problem::scenario(format!("cannot read scenario {}: {error}", path.display())))?;
    let scenario = parse(&path.display().to_string(), &text)?;
    let counter = scenario.counter.unwrap_or(default);
    let mut counter_path = path.as_os_str().to_owned();
    counter_path.push(".counter");
    Ok(Loaded { scenario, counter, counter_path: Some(counter_path.into()) })
}

fn parse(file: &str, text: &str) -> Result<Scenario, Problem> {
    serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location().map_or_else(String::new, |at| format!(":{}:{}", at.line(), at.column()));
        Problem::scenario(format!(
            "{file}{place}: not a valid scenario\n{}",
            error.render().replace("--> <input>", &format!("--> {file}"))
        ))
    })
}
