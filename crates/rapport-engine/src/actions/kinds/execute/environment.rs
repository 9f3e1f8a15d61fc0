//! The environment of a plan's commands: paths and network settings, and no secret of the person or of this program.
//! The person names other variables that a project's commands need (`execution.env`).

use std::ffi::OsString;

use rapport_core::Shell;

use crate::environment::is_usual;

/// Additional variables for every command: where tools keep their files.
const OF_TOOLS: [&str; 24] = [
    "LANGUAGE",
    "CI",
    "NO_COLOR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "SSL_CERT_DIR",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "NVM_DIR",
    "NVM_BIN",
    "VOLTA_HOME",
    "PNPM_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RBENV_ROOT",
    "GEM_HOME",
    "DOCKER_HOST",
];

/// The prefix of the desktop's variables.
const DESKTOP: &str = "XDG_";

/// Prevents programs from waiting for a person: editors fail, pagers print, Git does not ask.
const NOBODY_THERE: [(&str, &str); 10] = [
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// The program of a shell: Bash if it is installed.
pub(super) fn program(shell: Shell) -> &'static str {
    let is_there = |name: &str| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| folder.join(name).is_file())
    };
    if is_there(shell.name()) { shell.name() } else { Shell::Sh.name() }
}

/// The part of this process's environment that a command gets: the usual variables, and the named ones.
pub(crate) fn of_commands(named: &[String]) -> Vec<(OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(|name| is_passed_on(name, named)))
        .chain(NOBODY_THERE.map(|(name, value)| (name.into(), value.into())))
        .collect()
}

/// The same part for a command in a workplace with its own home, where the paths of this machine's tools do not
/// exist.
pub(crate) fn of_confined_commands(named: &[String]) -> Vec<(OsString, OsString)> {
    let is_passed_on = |name: &str| is_usual(name) || named.iter().any(|named| named == name);
    std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_passed_on))
        .chain(NOBODY_THERE.map(|(name, value)| (name.into(), value.into())))
        .collect()
}

fn is_passed_on(name: &str, named: &[String]) -> bool {
    is_usual(name)
        || OF_TOOLS.contains(&name)
        || name.starts_with(DESKTOP)
        || named.iter().any(|named| named == name)
}

#[cfg(test)]
mod tests {
    use super::is_passed_on;

    #[test]
    fn secrets_are_kept_from_commands() {
        let named = ["DATABASE_URL".to_owned()];
        for name in ["HOME", "PATH", "LC_ALL", "XDG_CACHE_HOME", "CARGO_HOME", "DATABASE_URL"] {
            assert!(is_passed_on(name, &named), "{name}");
        }
        for name in [
            "TELEGRAM_BOT_TOKEN",
            "ANTHROPIC_API_KEY",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "RAPPORT_PLANNER_API_KEY",
            "RAPPORT_HOME",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
        ] {
            assert!(!is_passed_on(name, &named), "{name}");
        }
    }
}
