//! The project on disk: resolves the paths of a plan. Symbolic links are followed, and every path that ends outside the
//! project is refused.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rapport_core::check::{Contents, Lead, PathKind, Project, project_path};
use thiserror::Error;

/// The maximum size of a file to load into memory.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Why a path of a plan is refused, or cannot be used.
#[derive(Debug, Error)]
pub enum PathError {
    /// It leads out of the project.
    #[error("{path} is outside the project")]
    Outside { path: String },
    /// It does not name a file.
    #[error("{path:?} is not the path of a file")]
    Nothing { path: String },
    /// A symbolic link on the way is dangling.
    #[error("{path} goes through {}, a symbolic link that leads nowhere", link.display())]
    Dangling { path: String, link: PathBuf },
    /// It is inside the journal of the batch.
    #[error("{path} is in the journal of this batch")]
    Journal { path: String },
    /// It is something other than a file.
    #[error("{path} is {what}, not a file")]
    NotAFile { path: String, what: &'static str },
    /// The file is too large to load into memory.
    #[error("{path} has {size} bytes, more than the limit of {MAX_FILE}")]
    TooLarge { path: String, size: u64 },
    /// The operating system reported an error.
    #[error("cannot look at {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// A resolved path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The path without symbolic links.
    pub real: PathBuf,
    /// The parent directories that do not exist, outermost first.
    pub missing: Vec<PathBuf>,
    /// Whether the path exists.
    pub exists: bool,
}

/// Resolves a path of a plan. `root` is the canonical path of the project ([`fs::canonicalize`]).
pub fn resolve(root: &Path, path: &str) -> Result<Resolved, PathError> {
    let outside = || PathError::Outside { path: path.to_owned() };
    let mut at = root.to_owned();
    // The components from the first one that does not exist.
    let mut absent: Vec<PathBuf> = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(outside()),
            Component::ParentDir => {
                absent.pop();
                if !at.pop() || !at.starts_with(root) {
                    return Err(outside());
                }
            }
            Component::Normal(name) => {
                at.push(name);
                match follow(path, &at)? {
                    Some(real) => at = real,
                    None => absent.push(at.clone()),
                }
                if !at.starts_with(root) {
                    return Err(outside());
                }
            }
        }
    }
    if at == root || path.contains('\0') || path.ends_with('/') {
        return Err(PathError::Nothing { path: path.to_owned() });
    }
    let exists = absent.pop_if(|last| *last == at).is_none();
    Ok(Resolved { real: at, missing: absent, exists })
}

/// The directory that a path names; the project itself for `None`.
pub fn directory(root: &Path, path: Option<&str>) -> Result<PathBuf, PathError> {
    let path = path.map(|path| path.trim_end_matches('/')).filter(|path| !matches!(*path, "" | "."));
    match path {
        None => Ok(root.to_owned()),
        Some(path) => Ok(resolve(root, path)?.real),
    }
}

/// The content of the file at a resolved path; `None` if it does not exist.
pub fn content(path: &str, resolved: &Resolved) -> Result<Option<Vec<u8>>, PathError> {
    let Some(size) = size(path, resolved)? else { return Ok(None) };
    if size > MAX_FILE {
        return Err(PathError::TooLarge { path: path.to_owned(), size });
    }
    let read = fs::read(&resolved.real);
    read.map(Some).map_err(|error| PathError::Io { path: resolved.real.clone(), error })
}

/// The size of the file at a resolved path; `None` if it does not exist. Anything other than a regular file is an
/// error: opening a pipe would block until another process writes to it.
pub(super) fn size(path: &str, resolved: &Resolved) -> Result<Option<u64>, PathError> {
    if !resolved.exists {
        return Ok(None);
    }
    let about =
        fs::metadata(&resolved.real).map_err(|error| PathError::Io { path: resolved.real.clone(), error })?;
    if !about.is_file() {
        let what = if about.is_dir() { "a directory" } else { "a device or a pipe" };
        return Err(PathError::NotAFile { path: path.to_owned(), what });
    }
    Ok(Some(about.len()))
}

/// Resolves the symbolic link at this path; `None` if nothing exists there.
fn follow(path: &str, at: &Path) -> Result<Option<PathBuf>, PathError> {
    let io = |error| PathError::Io { path: at.to_owned(), error };
    match fs::symlink_metadata(at) {
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(io(error)),
        Ok(about) if !about.is_symlink() => Ok(Some(at.to_owned())),
        Ok(_) => match fs::canonicalize(at) {
            Ok(real) => Ok(Some(real)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(PathError::Dangling { path: path.to_owned(), link: at.to_owned() })
            }
            Err(error) => Err(io(error)),
        },
    }
}

fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// The project for checking plans: each file is read once, so that checking many actions is cheap and sees one state.
/// Running an action reads it again.
#[derive(Debug)]
pub struct OnDisk {
    root: PathBuf,
    read: Mutex<HashMap<String, Contents>>,
}

impl OnDisk {
    /// The project in this directory.
    pub fn new(root: &Path) -> io::Result<Self> {
        Ok(Self { root: root.canonicalize()?, read: Mutex::default() })
    }
}

impl Project for OnDisk {
    fn exists(&self, path: &str) -> PathKind {
        match directory(&self.root, Some(path)) {
            Ok(real) if real.is_dir() => PathKind::Directory,
            Ok(real) if real.exists() => PathKind::File,
            Ok(_) | Err(_) => PathKind::Missing,
        }
    }

    fn read(&self, path: &str) -> Contents {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || match resolve(&self.root, path).and_then(|resolved| content(path, &resolved)) {
            Ok(Some(bytes)) => text(&bytes).map_or(Contents::Binary, |text| Contents::Text(text.to_owned())),
            Err(PathError::TooLarge { .. }) => Contents::TooLarge,
            Ok(None) | Err(_) => Contents::Missing,
        };
        read.entry(path.to_owned()).or_insert_with(look).clone()
    }

    fn alike(&self, path: &str) -> Option<String> {
        let mut found = PathBuf::new();
        for part in Path::new(path).components() {
            let Component::Normal(name) = part else { return None };
            let is_same = |other: &OsString| other.eq_ignore_ascii_case(name);
            let entries = fs::read_dir(self.root.join(&found)).ok()?.flatten().map(|entry| entry.file_name());
            let mut same: Vec<_> = entries.filter(is_same).collect();
            same.sort_by_key(|other| other != name);
            found.push(same.first()?);
        }
        found.to_str().filter(|found| *found != path).map(str::to_owned)
    }

    fn follow(&self, path: &str) -> Lead {
        match directory(&self.root, Some(path)) {
            Ok(real) => {
                let inside = real.strip_prefix(&self.root).ok().and_then(Path::to_str);
                Lead::Inside(inside.unwrap_or(path).to_owned())
            }
            Err(PathError::Outside { .. }) => Lead::Outside,
            Err(PathError::Dangling { .. }) => Lead::Nowhere,
            // Any other problem is reported when the path is used.
            Err(
                PathError::Nothing { .. }
                | PathError::Journal { .. }
                | PathError::NotAFile { .. }
                | PathError::TooLarge { .. }
                | PathError::Io { .. },
            ) => Lead::Inside(project_path(path).unwrap_or_default()),
        }
    }
}

/// Bytes as text; `None` if they are not.
pub fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
