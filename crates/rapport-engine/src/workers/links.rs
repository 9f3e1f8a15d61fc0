//! Where a path leads if links are followed. Nothing is opened, and nothing outside of a root is looked at.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The maximum number of links on the way, as in the kernel.
const MOST_LINKS: usize = 40;

/// A path without `.` and `..`, as programs shorten it before they open it: links do not matter.
pub(crate) fn shortened(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                short.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => short.push(part),
        }
    }
    short
}

/// Where a path leads from this directory below the root, whether or not a file exists there. A link that leads out
/// of the root is not followed further.
pub(super) fn followed(root: &Path, from: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut now = from.to_owned();
    let mut rest = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        let is_up = part == "..";
        let target = if is_up { None } else { fs::read_link(now.join(&part)).ok() };
        match target {
            None if is_up => {
                now.pop();
            }
            None => now.push(&part),
            Some(_) if links == MOST_LINKS => return Err(io::Error::other("its links lead in circles")),
            Some(target) => {
                links += 1;
                if target.is_absolute() {
                    let Ok(inside) = target.strip_prefix(root) else { return Ok(outside(target, rest)) };
                    now = root.to_owned();
                    parts(inside).into_iter().rev().for_each(|part| rest.push_front(part));
                } else {
                    parts(&target).into_iter().rev().for_each(|part| rest.push_front(part));
                }
            }
        }
        if !now.starts_with(root) {
            return Ok(outside(now, rest));
        }
    }
    Ok(now)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    named.map(|part| part.as_os_str().to_owned()).collect()
}

fn outside(at: PathBuf, rest: VecDeque<OsString>) -> PathBuf {
    shortened(&rest.into_iter().fold(at, |at, part| at.join(part)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_shortened_without_looking() {
        for (path, short) in
            [("/a/./b/../c", "/a/c"), ("/../a", "/a"), ("/a/b/../../..", "/"), ("/a//b", "/a/b")]
        {
            assert_eq!(shortened(Path::new(path)), Path::new(short), "{path}");
        }
    }

    #[test]
    fn links_are_followed_as_far_as_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let root = folder.join("app");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir(folder.join("other")).unwrap();
        symlink("sub/real.txt", root.join("inside")).unwrap();
        symlink(root.join("sub"), root.join("absolute")).unwrap();
        symlink(folder.join("other/none.txt"), root.join("dangling")).unwrap();
        symlink("../../other", root.join("sub/up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        // Below a link, `..` is where the link leads, not where it stands.
        symlink("sub/up/../app/sub/real.txt", root.join("around")).unwrap();
        symlink(folder.join("other"), folder.join("other/again")).unwrap();
        let beyond = |name: &str| folder.join(name);
        for (path, inside, whole) in [
            ("plain.txt", root.join("plain.txt"), root.join("plain.txt")),
            ("new/deep.txt", root.join("new/deep.txt"), root.join("new/deep.txt")),
            ("inside", root.join("sub/real.txt"), root.join("sub/real.txt")),
            ("absolute/x", root.join("sub/x"), root.join("sub/x")),
            ("dangling", beyond("other/none.txt"), beyond("other/none.txt")),
            ("sub/up/x", beyond("other/x"), beyond("other/x")),
            ("around", beyond("app/sub/real.txt"), root.join("sub/real.txt")),
            // What is outside may be looked at only where the root is the whole machine.
            ("sub/up/again/x", beyond("other/again/x"), beyond("other/x")),
        ] {
            let path = Path::new(path);
            assert_eq!(followed(&root, &root, path).unwrap(), inside, "{path:?} in a root");
            assert_eq!(followed(Path::new("/"), &root, path).unwrap(), whole, "{path:?} anywhere");
        }
        assert!(followed(&root, &root, Path::new("loop")).is_err());
    }
}
