//! Which paths a plan may name: paths inside the project, except for Git's own files and those of sessions.

/// Why a path may not be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFault {
    /// It is empty.
    Empty,
    /// It is absolute, or begins with a drive.
    Absolute,
    /// It is an address, such as `file:///x` or `https://host/x`. As a path it would be a directory `file:`.
    Address,
    /// It begins with `~`.
    Home,
    /// It leads out of the project by `..`.
    Outside,
    /// It has control characters.
    Characters,
    /// It separates directories by backslashes, which are part of a file's name here.
    Backslash,
    /// It is inside `.git`.
    Git,
    /// It is inside Rapport's own directory.
    Ours,
}

/// The normalised path, without `.`, `..` and doubled slashes; empty for the project's root.
pub fn project_path(path: &str) -> Result<String, PathFault> {
    if path.trim().is_empty() {
        return Err(PathFault::Empty);
    }
    if path.contains(|c: char| c.is_control()) {
        return Err(PathFault::Characters);
    }
    let drive = path.as_bytes().get(1) == Some(&b':') && path.starts_with(|c: char| c.is_ascii_alphabetic());
    if path.starts_with(['/', '\\']) || drive {
        return Err(PathFault::Absolute);
    }
    if path.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme)) {
        return Err(PathFault::Address);
    }
    if path.starts_with('~') {
        return Err(PathFault::Home);
    }
    if path.contains('\\') {
        return Err(PathFault::Backslash);
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or(PathFault::Outside)?;
            }
            part => parts.push(part),
        }
    }
    if parts.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(PathFault::Git);
    }
    let is_ours = |part: &&str| [".rapport", ".teddy"].iter().any(|ours| part.eq_ignore_ascii_case(ours));
    if parts.first().is_some_and(is_ours) {
        return Err(PathFault::Ours);
    }
    Ok(parts.join("/"))
}

/// Whether this is the scheme of an address, as RFC 3986 writes them.
fn is_scheme(word: &str) -> bool {
    let may_follow = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.chars().all(may_follow)
}

/// Whether a file can make agents run something without asking a person: hooks, servers, permissions, skills.
pub fn steers_agents(path: &str) -> bool {
    let Ok(path) = project_path(path) else { return false };
    let mut parts = path.split('/').rev();
    let is_servers = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(".mcp.json"));
    is_servers || parts.any(|folder| folder.eq_ignore_ascii_case(".claude"))
}

impl PathFault {
    /// What is wrong with the path, as a fragment.
    pub fn what(self, path: &str) -> String {
        match self {
            PathFault::Empty => "the path is empty".to_owned(),
            PathFault::Absolute => format!("{path} is an absolute path"),
            PathFault::Address => format!("{path} is an address, not a path"),
            PathFault::Home => format!("{path} is in a home directory"),
            PathFault::Outside => format!("{path} is outside the project"),
            PathFault::Characters => format!("{path:?} has control characters in it"),
            PathFault::Backslash => format!("{path} has a backslash in it"),
            PathFault::Git => format!("{path} belongs to Git"),
            PathFault::Ours => format!("{path} belongs to Rapport"),
        }
    }

    /// What to do, as a sentence.
    pub fn hint(self) -> &'static str {
        match self {
            PathFault::Empty | PathFault::Characters => "Name a file of the project.",
            PathFault::Absolute | PathFault::Address | PathFault::Home | PathFault::Outside => {
                "Write paths from the project's root, such as src/main.rs."
            }
            PathFault::Backslash => "Write paths with slashes, such as src/main.rs.",
            PathFault::Git => "Leave it alone; change the repository with git commands.",
            PathFault::Ours => "Leave it alone; a plan may change neither settings nor session records.",
        }
    }
}
