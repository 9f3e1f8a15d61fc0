//! What tools are used on, as people see it who know the project: files by their paths from there.

use crate::activity::{Activity, ToolUse};
use crate::id::SessionId;
use crate::session::Session;
use crate::view::View;

/// From where people see the files of a session.
#[derive(Clone, Copy, Debug)]
pub struct SeenFrom<'a> {
    project: &'a str,
    /// The session, after which its workplace is called, if it works in one.
    workplace: Option<&'a SessionId>,
}

impl<'a> SeenFrom<'a> {
    pub(crate) fn new(project: &'a str, workplace: Option<&'a SessionId>) -> Self {
        Self { project, workplace }
    }

    /// What a tool is used on: a file has its path from the project, or from the workplace of the session. A command is
    /// shown as it is, wherever it names a file.
    pub fn subject<'b>(&self, kind: ToolUse, what: &'b str) -> &'b str {
        let inside = || what.strip_prefix(self.project.trim_end_matches('/'))?.strip_prefix('/');
        let in_workplace = |id: &SessionId| {
            // Where several projects are served, the name of the project is before it.
            let own = id.as_str().rsplit(':').next()?;
            Some(what.split_once(&format!("/{own}/"))?.1)
        };
        let path = self.workplace.and_then(in_workplace).or_else(inside);
        // A path with `..` may lead anywhere.
        let path = path.filter(|path| kind.is_on_file() && !path.split('/').any(|part| part == ".."));
        path.unwrap_or(what)
    }

    /// The agent's activity (`Edit src/main.rs`), with the path of a file as above.
    pub fn activity(&self, doing: &Activity) -> String {
        match doing {
            Activity::Tool { tool, what, kind } => format!("{tool} {}", self.subject(*kind, what)),
            Activity::Words(_) => doing.to_string(),
        }
    }
}

impl View {
    /// From where people see its files.
    pub fn seen_from(&self) -> SeenFrom<'_> {
        SeenFrom::new(&self.project, self.workplace.as_ref().map(|_| &self.id))
    }
}

impl Session {
    /// From where people see its files.
    pub fn seen_from<'a>(&'a self, id: &'a SessionId) -> SeenFrom<'a> {
        SeenFrom::new(self.project(), self.created().works_apart().then_some(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_paths_from_the_project_or_the_workplace() {
        let (id, joint) = (SessionId::new("20260101-paint"), SessionId::new("app:20260101-paint"));
        let apart = SeenFrom::new("/home/anna/app/", Some(&id));
        let joint = SeenFrom::new("/home/anna/app", Some(&joint));
        let project = SeenFrom::new("/home/anna/app", None);
        let (file, command) = (ToolUse::Writes, ToolUse::Runs);
        for (from, kind, what, shown) in [
            (project, file, "/home/anna/app/src/a.rs", "src/a.rs"),
            (project, file, "/home/anna/apple/a.rs", "/home/anna/apple/a.rs"),
            (project, file, "/home/anna/app/../b.rs", "/home/anna/app/../b.rs"),
            (project, command, "/home/anna/app/run.sh", "/home/anna/app/run.sh"),
            (project, file, "/trees/20260101-paint/a.rs", "/trees/20260101-paint/a.rs"),
            (apart, file, "/trees/20260101-paint/src/a.rs", "src/a.rs"),
            (joint, file, "/trees/20260101-paint/src/a.rs", "src/a.rs"),
            (apart, file, "/home/anna/app/src/a.rs", "src/a.rs"),
        ] {
            assert_eq!(from.activity(&Activity::tool("Tool", what, kind)), format!("Tool {shown}"));
        }
        assert_eq!(apart.activity(&Activity::words("thinking")), "thinking");
    }
}
