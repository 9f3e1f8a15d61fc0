//! A repository made to harm whoever clones it. Whatever it wants run leaves a mark in a folder outside of it, so that a test
//! can look for what nobody approved.

mod agent;

use std::path::{Path, PathBuf};

use crate::support::project::Project;

/// A clone of what somebody hostile published.
pub(crate) struct Hostile {
    pub(crate) project: Project,
    marks: PathBuf,
}

impl Hostile {
    /// A clone that brings nothing yet.
    pub(crate) fn of(project: Project) -> Self {
        let marks = project.path("marks");
        std::fs::create_dir_all(&marks).unwrap();
        Self { project, marks }
    }

    /// A command that leaves this mark.
    pub(crate) fn mark(&self, name: &str) -> String {
        format!("touch '{}'", self.marks.join(name).display())
    }

    /// The marks that were left.
    pub(crate) fn marks(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.marks).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Something that the repository brings.
    pub(crate) fn brings(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.project.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }
}
