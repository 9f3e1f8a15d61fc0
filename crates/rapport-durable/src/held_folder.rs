//! Directories that are held open while something is written in them.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;

use crate::folders::make_folder;

const DIRECTORY: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_RDONLY).union(OFlag::O_CLOEXEC);

/// A directory below a root that was reached without following a symbolic link. What is written through
/// [`HeldFolder::at`] goes into this very directory, even if it is replaced by a symbolic link meanwhile.
#[derive(Debug)]
pub struct HeldFolder {
    directory: OwnedFd,
    path: PathBuf,
}

impl HeldFolder {
    /// Holds a directory at or below this root; fails if there is a symbolic link on the way.
    pub fn open(root: &Path, folder: &Path) -> io::Result<Self> {
        Self::walk(root, folder, Self::below)
    }

    /// The same, and creates what is missing on the way.
    pub fn make(root: &Path, folder: &Path) -> io::Result<Self> {
        Self::walk(root, folder, |held, name| match held.below(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_folder(&held.at(name))?;
                held.below(name)
            }
            below => below,
        })
    }

    fn walk(
        root: &Path,
        folder: &Path,
        step: impl Fn(&Self, &OsStr) -> io::Result<Self>,
    ) -> io::Result<Self> {
        let inside = folder.strip_prefix(root).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut held = Self { directory: open(root, DIRECTORY, Mode::empty())?, path: root.to_owned() };
        for part in inside.components() {
            let Component::Normal(name) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
            held = step(&held, name)?;
        }
        Ok(held)
    }

    fn below(&self, name: &OsStr) -> io::Result<Self> {
        let directory = openat(&self.directory, name, DIRECTORY | OFlag::O_NOFOLLOW, Mode::empty())?;
        Ok(Self { directory, path: self.path.join(name) })
    }

    /// The path to use for a file of this name in the directory, while it is held.
    pub fn at(&self, name: &OsStr) -> PathBuf {
        #[cfg(target_os = "linux")]
        let held = Path::new("/proc/self/fd").join(self.directory.as_raw_fd().to_string());
        #[cfg(not(target_os = "linux"))]
        let held = &self.path;
        held.join(name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{put_new, write_beside};

    #[test]
    fn a_directory_that_is_replaced_by_a_link_is_still_written_to() {
        let place = tempfile::tempdir().unwrap();
        let (root, outside) = (place.path().join("project"), place.path().join("outside"));
        fs::create_dir_all(root.join("a")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        let held = HeldFolder::make(&root, &root.join("a/b")).unwrap();
        fs::rename(root.join("a"), root.join("moved")).unwrap();
        symlink(&outside, root.join("a")).unwrap();
        fs::create_dir(outside.join("b")).unwrap();

        let (temporary, real) = (held.at(OsStr::new("new~")), held.at(OsStr::new("new")));
        write_beside(&temporary, b"here", None).unwrap();
        put_new(&temporary, &real).unwrap();
        assert_eq!(fs::read(root.join("moved/b/new")).unwrap(), b"here");
        assert_eq!(fs::read_dir(outside.join("b")).unwrap().count(), 0);
    }

    #[test]
    fn a_link_on_the_way_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let (root, outside) = (place.path().join("project"), place.path().join("outside"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(outside.join("b")).unwrap();
        symlink(&outside, root.join("a")).unwrap();
        assert!(HeldFolder::open(&root, &root.join("a")).is_err());
        assert!(HeldFolder::open(&root, &root.join("a/b")).is_err());
        assert!(HeldFolder::make(&root, &root.join("a/new")).is_err());
        assert!(HeldFolder::open(&root, &root.join("../outside")).is_err());
        assert!(HeldFolder::open(&root, &outside).is_err());
        assert!(!outside.join("new").exists());
    }
}
