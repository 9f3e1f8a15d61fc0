//! The real CLI, with a model that asks and asks: a home, a project, and how the agent is started there.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rapport::agents::claude::ClaudeConfig;
use serde_json::json;
use tempfile::TempDir;

use crate::between;
use crate::support::model::{Model, Response, Script, offline};

/// The variable that names the real CLI.
const VARIABLE: &str = "RAPPORT_TEST_CLAUDE";
/// What every question can be answered with.
pub(crate) const ANSWER: &str = "To the left";

/// The CLI to measure with.
pub(crate) fn cli() -> Result<PathBuf, String> {
    let program = std::env::var_os(VARIABLE).map(PathBuf::from);
    let program = program.ok_or_else(|| format!("{VARIABLE} names none; `cargo xtask bench` sets it"))?;
    if program.is_file() { Ok(program) } else { Err(format!("there is no {}", program.display())) }
}

/// Where the CLI runs.
pub(crate) struct Stage {
    pub(crate) model: Model,
    cli: PathBuf,
    folder: TempDir,
}

impl Stage {
    /// An empty home and project for this CLI, with a model that asks this often.
    pub(crate) fn new(cli: &Path, questions: usize) -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["home", "app", "tmp"] {
            fs::create_dir(folder.path().join(name))?;
        }
        Ok(Self { model: Model::play(script(questions)), cli: cli.to_owned(), folder })
    }

    /// The project.
    pub(crate) fn app(&self) -> PathBuf {
        self.folder.path().join("app")
    }

    /// Makes the project a repository with a commit, for agents that work apart from it.
    pub(crate) fn make_repository(&self) -> std::io::Result<()> {
        let name = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];
        for args in [&["init", "--quiet"][..], &["commit", "--quiet", "--allow-empty", "-m", "An app"]] {
            let done = Command::new("git").current_dir(self.app()).args(name).args(args).status()?;
            if !done.success() {
                return Err(std::io::Error::other(format!("git {args:?} failed")));
            }
        }
        Ok(())
    }

    /// All that the agent gets to know of the world.
    pub(crate) fn env(&self) -> Vec<(OsString, OsString)> {
        let url = format!("http://{}", self.model.address());
        let mut env: Vec<(OsString, OsString)> =
            offline(&url).map(|(name, value)| (name.into(), value.into())).into();
        env.push(("PATH".into(), "/usr/bin:/bin".into()));
        env.push(("HOME".into(), self.folder.path().join("home").into()));
        // The CLI leaves sockets there when it is killed.
        env.push(("TMPDIR".into(), self.folder.path().join("tmp").into()));
        env
    }

    /// The CLI itself.
    pub(crate) fn config(&self) -> ClaudeConfig {
        let mut config = ClaudeConfig::new(&self.cli, env!("CARGO_BIN_EXE_rapport"));
        config.env = self.env();
        config
    }

    /// The CLI with somebody between us and it who looks at the clock.
    pub(crate) fn watched(&self) -> std::io::Result<ClaudeConfig> {
        let mut config = self.config();
        config.leading_args = vec![between::ARGUMENT.into(), self.notes().into(), config.program.into()];
        config.program = std::env::current_exe()?;
        Ok(config)
    }

    /// Where whoever is between notes the times.
    pub(crate) fn notes(&self) -> PathBuf {
        self.folder.path().join("notes")
    }
}

/// The name of the call that asks question number `n`.
pub(crate) fn call(n: usize) -> String {
    format!("toolu_{n:024}")
}

fn script(questions: usize) -> Script {
    let option = |label: &str| json!({"label": label, "description": "What that would mean for the project"});
    let ask = |n: usize| {
        let question = json!({
            "question": format!("Which way should step {n} go?"),
            "header": "Way",
            "multiSelect": false,
            "options": [option(ANSWER), option("To the right"), option("Straight on")],
        });
        Response::default().tool(&call(n), "AskUserQuestion", json!({"questions": [question]}))
    };
    (0..questions).fold(Script::default(), |script, n| script.say(ask(n)))
}
