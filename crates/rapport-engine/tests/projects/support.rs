//! A home and projects in a temporary directory, with a clock that moves only when told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use rapport_core::By;
use rapport_engine::clock::Clock;
use rapport_engine::projects::known_projects::KnownProjects;
use rapport_engine::workers::history::commits;

pub(crate) struct World {
    folder: tempfile::TempDir,
    now: Arc<Mutex<Timestamp>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let now = "2026-01-24T09:00:00Z".parse().unwrap();
        Self { folder: tempfile::tempdir().unwrap(), now: Arc::new(Mutex::new(now)) }
    }

    pub(crate) fn known(&self) -> KnownProjects {
        let now = self.now.clone();
        let clock = Clock::from_fn(move || *now.lock().unwrap());
        KnownProjects::new(self.path("home"), clock, commits).looking_in(vec![self.path("code")])
    }

    pub(crate) fn pass(&self, time: SignedDuration) {
        let mut now = self.now.lock().unwrap();
        *now = now.checked_add(time).unwrap();
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    /// A project of these files: the path of each, and its content.
    pub(crate) fn project(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = self.path("code").join(name);
        fs::create_dir_all(&root).unwrap();
        for (path, content) in files {
            write(&root.join(path), content);
        }
        root
    }

    /// The file of a project in the home.
    pub(crate) fn file(&self, project: &str, name: &str) -> PathBuf {
        self.path("home/projects").join(project).join(name)
    }

    pub(crate) fn context(&self, project: &str) -> String {
        fs::read_to_string(self.file(project, "context.yaml")).unwrap()
    }
}

pub(crate) fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Runs plain git as whoever made the repository.
pub(crate) fn git(directory: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(directory).args(["-c", "user.name=Ann", "-c", "user.email=ann@localhost"]).args(args);
    for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        git.env(name, "2026-01-20T12:00:00Z");
    }
    let done = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

pub(crate) fn ann() -> By {
    By::Person { channel: "terminal".into(), id: "ann".into() }
}

pub(crate) fn lead() -> By {
    By::Lead { name: "test".into() }
}
