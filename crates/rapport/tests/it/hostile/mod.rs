//! A repository made to harm the person who clones it. Every program that it wants run leaves a mark in a folder
//! outside of it, so that a test can look for runs that no person approved.

mod agent;
mod apart;
mod links;
mod repository;
mod world;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::support::patience::wait_at_most;
use crate::support::project::{Project, Ran};

/// A clone of a hostile repository.
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
        names_in(&self.marks)
    }

    /// Something that the repository brings.
    pub(crate) fn brings(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.project.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Runs a command there to its end, which must come soon: nothing in a repository makes a command wait.
    #[track_caller]
    pub(crate) fn rapport(&self, args: &[&str]) -> Ran {
        let mut command = self.project.command();
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let reading = std::thread::spawn(move || {
            let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
            let _ = out.read_to_end(&mut stdout);
            let _ = err.read_to_end(&mut stderr);
            (stdout, stderr)
        });
        let what = format!("rapport {} to end", args.join(" "));
        let status = wait_at_most(Duration::from_secs(40), &what, || child.try_wait().unwrap());
        let (stdout, stderr) = reading.join().unwrap();
        Ran(std::process::Output { status, stdout, stderr })
    }

    /// Everything outside of the repository, by path, but for Rapport's own home and what tests keep.
    pub(crate) fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let above = self.project.path("");
        collect(&above, &[self.project.root(), self.project.path("home/.rapport")], &mut found);
        found
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn collect(folder: &Path, without: &[PathBuf], found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if without.contains(&path) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            collect(&path, without, found);
        } else {
            let content = std::fs::read(&path).unwrap_or_default();
            found.insert(path, content);
        }
    }
}
