//! What is at a path of the project, without following symbolic links; and modes, as far as Git records them.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rapport_durable::digest;

use super::project::{PathError, Resolved, content};

/// The bits of a mode for the type of a file, and their value for a symbolic link.
const TYPE: u32 = 0o170_000;
const LINK: u32 = 0o120_000;
/// The bits of a mode for permissions.
const PERMISSIONS: u32 = 0o7777;
/// The permission of the owner to execute, which is the only one that Git records.
const BY_OWNER: u32 = 0o100;

/// The mode of every symbolic link.
pub(crate) const LINK_MODE: u32 = LINK | 0o777;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathState {
    Nothing,
    /// Nothing, because a file or a symbolic link is at this path, from the root, where a directory would have to be.
    Behind(String),
    Directory,
    Entry(PathEntry),
}

/// A file or a symbolic link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathEntry {
    /// The content of the file; of a link, its target.
    pub(crate) content: Vec<u8>,
    /// The permissions; of a link, [`LINK_MODE`].
    pub(crate) mode: u32,
}

impl PathState {
    /// The digest of the content; `None` if there is neither a file nor a link.
    pub(crate) fn digest(&self) -> Option<String> {
        self.entry().map(|entry| digest(&entry.content))
    }

    /// The file or link, if there is one.
    pub(crate) fn entry(&self) -> Option<&PathEntry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::Nothing | Self::Behind(_) | Self::Directory => None,
        }
    }
}

/// Looks at a path from the root. Something other than a file, a link and a directory is an error, and so is a file
/// that is too large to load into memory.
pub(crate) fn look(root: &Path, file: &str) -> Result<PathState, PathError> {
    let parents = Path::new(file).ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    let parents: Vec<_> = parents.collect();
    for parent in parents.into_iter().rev() {
        match found(&root.join(parent))? {
            None => return Ok(PathState::Nothing),
            Some(about) if about.is_dir() => {}
            Some(_) => return Ok(PathState::Behind(parent.to_string_lossy().into_owned())),
        }
    }
    let real = root.join(file);
    let Some(about) = found(&real)? else { return Ok(PathState::Nothing) };
    if about.is_dir() {
        return Ok(PathState::Directory);
    }
    entry(file, &real, &about).map(PathState::Entry)
}

/// The file or link at a path, if there is one, wherever it is. Its parent directories are followed.
pub(crate) fn entry_at(real: &Path) -> Result<Option<PathEntry>, PathError> {
    match found(real)?.filter(|about| !about.is_dir()) {
        Some(about) => entry(&real.to_string_lossy(), real, &about).map(Some),
        None => Ok(None),
    }
}

fn entry(named: &str, real: &Path, about: &Metadata) -> Result<PathEntry, PathError> {
    if about.is_symlink() {
        let target = fs::read_link(real).map_err(io_error(real))?;
        return Ok(PathEntry { content: target.into_os_string().into_vec(), mode: LINK_MODE });
    }
    let resolved = Resolved { real: real.to_owned(), missing: Vec::new(), exists: true };
    let content = content(named, &resolved)?.unwrap_or_default();
    Ok(PathEntry { content, mode: about.mode() & PERMISSIONS })
}

/// What is known about a path itself; `None` if it does not exist.
fn found(path: &Path) -> Result<Option<Metadata>, PathError> {
    match fs::symlink_metadata(path) {
        Ok(about) => Ok(Some(about)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(io_error(path)(error)),
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> PathError {
    move |error| PathError::Io { path: PathBuf::from(path), error }
}

/// Whether a recorded mode is that of a symbolic link.
pub(crate) fn is_link(mode: u32) -> bool {
    mode & TYPE == LINK
}

/// Whether two modes are the same for Git.
pub(crate) fn is_same_mode(one: u32, other: u32) -> bool {
    is_link(one) == is_link(other) && (is_link(one) || one & BY_OWNER == other & BY_OWNER)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_looked_at_without_following_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/a.txt"), "a\n").unwrap();
        symlink("real", root.join("link")).unwrap();
        let link = PathEntry { content: b"real".to_vec(), mode: LINK_MODE };
        for (path, expected) in [
            ("real", PathState::Directory),
            ("none/a.txt", PathState::Nothing),
            ("link", PathState::Entry(link)),
            ("link/a.txt", PathState::Behind("link".into())),
            ("real/a.txt/b", PathState::Behind("real/a.txt".into())),
        ] {
            assert_eq!(look(root, path).unwrap(), expected, "{path}");
        }
        assert_eq!(look(root, "real/a.txt").unwrap().entry().unwrap().content, b"a\n");
        nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(look(root, "pipe").is_err());
    }

    #[test]
    fn modes_are_compared_as_git_does() {
        assert!(is_same_mode(0o600, 0o644) && is_same_mode(0o700, 0o755) && is_same_mode(LINK_MODE, LINK));
        assert!(!is_same_mode(0o600, 0o755) && !is_same_mode(0o777, LINK_MODE));
    }
}
