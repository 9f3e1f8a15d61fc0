//! The real project on disk: what a path of a plan leads to, and that it leads nowhere else. Symbolic links are
//! followed, and what ends outside the project is refused, however it gets there.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rapport_core::check::{Contents, Kind, Lead, Project, project_path};
use thiserror::Error;

/// The largest file that is taken into memory.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Why a path of a plan is not taken, or what is there cannot be used.
#[derive(Debug, Error)]
pub enum PathError {
    /// It leads out of the project.
    #[error("{path} is outside the project")]
    Outside {
        /// As the plan has it.
        path: String,
    },
    /// It names nothing.
    #[error("{path:?} is not the path of a file")]
    Nothing {
        /// As the plan has it.
        path: String,
    },
    /// A symbolic link on the way leads to nothing.
    #[error("{path} goes through {}, a symbolic link that leads nowhere", link.display())]
    Dangling {
        /// As the plan has it.
        path: String,
        /// The link.
        link: PathBuf,
    },
    /// It is where a batch keeps what it takes to undo it.
    #[error("{path} is in the journal of this batch")]
    Journal {
        /// As the plan has it.
        path: String,
    },
    /// There is something, but no file.
    #[error("{path} is {what}, not a file")]
    NotAFile {
        /// As the plan has it.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// It is larger than what is taken into memory.
    #[error("{path} has {size} bytes, more than the {MAX_FILE} that are handled")]
    TooLarge {
        /// As the plan has it.
        path: String,
        /// How large it is.
        size: u64,
    },
    /// The system does not let us look.
    #[error("cannot look at {}: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The place itself, without symbolic links.
    pub real: PathBuf,
    /// The directories above it that are not there, outermost first.
    pub missing: Vec<PathBuf>,
    /// Whether there is something at the place.
    pub exists: bool,
}

/// Finds out what a path leads to now. `root` is the project, as the system calls it ([`fs::canonicalize`]).
pub fn resolve(root: &Path, path: &str) -> Result<Resolved, PathError> {
    let outside = || PathError::Outside { path: path.to_owned() };
    let mut at = root.to_owned();
    // Names that are not there: from the first of them on, all that follow.
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

/// The directory a path leads to; the project itself where nothing is said.
pub fn directory(root: &Path, path: Option<&str>) -> Result<PathBuf, PathError> {
    let path = path.map(|path| path.trim_end_matches('/')).filter(|path| !matches!(*path, "" | "."));
    match path {
        None => Ok(root.to_owned()),
        Some(path) => Ok(resolve(root, path)?.real),
    }
}

/// The content of the file at a resolved place; `None` where there is nothing.
pub fn content(path: &str, place: &Resolved) -> Result<Option<Vec<u8>>, PathError> {
    let Some(size) = size(path, place)? else { return Ok(None) };
    if size > MAX_FILE {
        return Err(PathError::TooLarge { path: path.to_owned(), size });
    }
    let read = fs::read(&place.real);
    read.map(Some).map_err(|error| PathError::Io { path: place.real.clone(), error })
}

/// The size of the file at a resolved place; `None` where there is nothing. What is no file has none: to open a pipe would
/// be to wait for who writes to it.
pub(super) fn size(path: &str, place: &Resolved) -> Result<Option<u64>, PathError> {
    if !place.exists {
        return Ok(None);
    }
    let about =
        fs::metadata(&place.real).map_err(|error| PathError::Io { path: place.real.clone(), error })?;
    if !about.is_file() {
        let what = if about.is_dir() { "a directory" } else { "a device or a pipe" };
        return Err(PathError::NotAFile { path: path.to_owned(), what });
    }
    Ok(Some(about.len()))
}

/// What is at this place, symbolic links followed; `None` where there is nothing.
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

/// The project as plans are checked against it: each file is looked at once, so that a check of many actions is cheap
/// and sees one state. What is carried out looks again.
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
    fn exists(&self, path: &str) -> Kind {
        match directory(&self.root, Some(path)) {
            Ok(real) if real.is_dir() => Kind::Directory,
            Ok(real) if real.exists() => Kind::File,
            Ok(_) | Err(_) => Kind::Missing,
        }
    }

    fn read(&self, path: &str) -> Contents {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || match resolve(&self.root, path).and_then(|place| content(path, &place)) {
            Ok(Some(bytes)) => text(&bytes).map_or(Contents::Binary, |text| Contents::Text(text.to_owned())),
            Err(PathError::TooLarge { .. }) => Contents::TooLarge,
            Ok(None) | Err(_) => Contents::Missing,
        };
        read.entry(path.to_owned()).or_insert_with(look).clone()
    }

    fn follow(&self, path: &str) -> Lead {
        match directory(&self.root, Some(path)) {
            Ok(real) => {
                let inside = real.strip_prefix(&self.root).ok().and_then(Path::to_str);
                Lead::Inside(inside.unwrap_or(path).to_owned())
            }
            Err(PathError::Outside { .. }) => Lead::Outside,
            Err(PathError::Dangling { .. }) => Lead::Nowhere,
            // Whatever else is wrong with it is found when it is used.
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

/// Bytes as text; `None` where they are none.
pub fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
