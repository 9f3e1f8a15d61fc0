//! The files of a project, for exploring it: their paths and their beginnings. A path that is not a plain file inside
//! of the project counts as missing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rapport_durable as durable;

use super::gathering::{Found, all_files};

/// The maximum number of bytes of a manifest.
const MOST: u64 = 256 * 1024;

/// The files of a project that git would not ignore.
#[derive(Debug)]
pub(super) struct ProjectTree {
    root: PathBuf,
    all: Vec<Found>,
    /// The files that were read, to report what a result is based on.
    read: RefCell<BTreeSet<String>>,
}

/// The beginning of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Beginning {
    pub(super) text: String,
    /// The size of the whole file, if that is more.
    pub(super) cut_from: Option<u64>,
}

impl ProjectTree {
    /// Lists the files of a project.
    pub(super) fn list(project: &Path) -> io::Result<Self> {
        let root = project.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let all = all_files(&root);
        Ok(Self { root, all, read: RefCell::default() })
    }

    /// Lists only the files at its root.
    pub(super) fn root_only(project: &Path) -> io::Result<Self> {
        let root = project.canonicalize()?;
        let entries = fs::read_dir(&root)?.filter_map(Result::ok);
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let names = files.filter_map(|entry| entry.file_name().into_string().ok());
        let mut all: Vec<_> = names.map(|path| Found { path, is_plain: true }).collect();
        all.sort_unstable();
        Ok(Self { root, all, read: RefCell::default() })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// All files, sorted by path.
    pub(super) fn files(&self) -> &[Found] {
        &self.all
    }

    /// The names of the files that were read, sorted.
    pub(super) fn read_files(&self) -> Vec<String> {
        self.read.borrow().iter().cloned().collect()
    }

    /// Whether there is a regular file at this path. A file at the root counts even if git ignores it.
    pub(super) fn has(&self, path: &str) -> bool {
        match path.contains('/') {
            true => self.is_listed(path),
            false => durable::open_inside(&self.root.join(path), &self.root).is_ok(),
        }
    }

    /// A small file as text; `None` if it does not exist, is too large, or cannot be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let found = self.beginning(path, MOST)?;
        found.cut_from.is_none().then_some(found.text)
    }

    /// The beginning of a file as text, at most this many bytes of it. Bytes that are not UTF-8 are replaced.
    pub(super) fn beginning(&self, path: &str, most: u64) -> Option<Beginning> {
        if path.contains('/') && !self.is_listed(path) {
            return None;
        }
        let file = durable::open_inside(&self.root.join(path), &self.root).ok()?;
        let length = file.metadata().ok()?.len();
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).ok()?;
        self.read.borrow_mut().insert(path.to_owned());
        let cut_from = (length > most).then_some(length);
        Some(Beginning { text: lossy(bytes, cut_from.is_some()), cut_from })
    }

    /// The files directly in a directory (an empty path is the root), by name.
    pub(super) fn names_in<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = &'a str> {
        let begin = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let from = self.all.partition_point(|found| found.path.as_str() < begin.as_str());
        let inside = self.all[from..].iter().filter(|found| found.is_plain).map(|found| found.path.as_str());
        let length = begin.len();
        inside
            .take_while(move |path| path.starts_with(&begin))
            .map(move |path| &path[length..])
            .filter(|rest| !rest.contains('/'))
    }

    /// The names at the root that end like this, sorted.
    pub(super) fn at_root_ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a str> {
        self.names_in("").filter(move |name| name.ends_with(ending))
    }

    fn is_listed(&self, path: &str) -> bool {
        let at = self.all.binary_search_by(|found| found.path.as_str().cmp(path));
        at.is_ok_and(|at| self.all[at].is_plain)
    }
}

/// Bytes as text. If they were cut, an incomplete last character is dropped.
fn lossy(mut bytes: Vec<u8>, is_cut: bool) -> String {
    if is_cut {
        let half = bytes.utf8_chunks().last().map_or(0, |last| last.invalid().len());
        bytes.truncate(bytes.len() - half);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
