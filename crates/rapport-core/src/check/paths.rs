//! Which paths a plan may name: those inside the project, and there neither Git's own files nor the sessions'.

/// Why a path may not be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFault {
    /// There is none.
    Empty,
    /// It begins at the root of the system, or at a drive.
    Absolute,
    /// It begins at somebody's home.
    Home,
    /// It goes up and out.
    Outside,
    /// It has characters that no path here has.
    Characters,
    /// Its directories are set apart as nobody does here, so that they would be part of a file's name.
    Backslash,
    /// It is where Git keeps its own.
    Git,
    /// It is where sessions are kept, which are only ever added to.
    Sessions,
}

/// The path without `.`, `..` and doubled slashes; empty for the project itself.
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
    let lower = |index: usize| parts.get(index).map(|part| part.to_ascii_lowercase());
    let own = matches!(lower(0).as_deref(), Some(".rapport" | ".teddy"));
    if own && lower(1).as_deref() == Some("sessions") {
        return Err(PathFault::Sessions);
    }
    Ok(parts.join("/"))
}

impl PathFault {
    /// What is wrong with the path, as a fragment.
    pub fn what(self, path: &str) -> String {
        match self {
            PathFault::Empty => "the path is empty".to_owned(),
            PathFault::Absolute => format!("{path} is an absolute path"),
            PathFault::Home => format!("{path} is in a home directory"),
            PathFault::Outside => format!("{path} is outside the project"),
            PathFault::Characters => format!("{path:?} has control characters in it"),
            PathFault::Backslash => format!("{path} has a backslash in it"),
            PathFault::Git => format!("{path} belongs to Git"),
            PathFault::Sessions => format!("{path} belongs to the sessions"),
        }
    }

    /// What to do, as a sentence.
    pub fn hint(self) -> &'static str {
        match self {
            PathFault::Empty | PathFault::Characters => "Name a file of the project.",
            PathFault::Absolute | PathFault::Home | PathFault::Outside => {
                "Write paths from the project's root, such as src/main.rs."
            }
            PathFault::Backslash => "Write paths with slashes, such as src/main.rs.",
            PathFault::Git => "Leave it alone; change the repository with git commands.",
            PathFault::Sessions => "Leave it alone; what was planned and done is never changed.",
        }
    }
}
