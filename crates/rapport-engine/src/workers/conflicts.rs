//! The conflicts of a merge. Git marks both sides in files whose lines it can merge. Of any other file, such as a
//! binary one or a link, its merge has only the project's version; the version of the work is then put beside it, so
//! that it is not lost with the workplace.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rapport_core::SessionId;

use super::WorkerError;
use super::git::{git, git_fed};
use super::local::Scratch;

const LINK: &[u8] = b"120000";
const REPOSITORY: &[u8] = b"160000";
/// The longest name of an object, with its newline.
const LONGEST_NAME: u64 = 65;

/// The versions of the files that both sides changed differently, by path from the top of the repository.
#[derive(Debug, Default)]
pub(super) struct Conflicts(BTreeMap<PathBuf, Versions>);

/// The versions of one file. A side that removed the file has none.
#[derive(Debug, Default)]
struct Versions {
    project: Option<Blob>,
    work: Option<Blob>,
}

/// The content of a file, as git names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Blob {
    mode: Vec<u8>,
    object: Vec<u8>,
}

/// The commits that were merged, which git names in its marks.
pub(super) struct MergedCommits<'a> {
    pub(super) base: &'a str,
    pub(super) project: &'a str,
    pub(super) work: &'a str,
}

/// A merge in which nothing of the work is missing.
pub(super) struct SettledMerge {
    pub(super) tree: String,
    /// The files that contain the work's version of a file that could not be merged.
    pub(super) versions: Vec<PathBuf>,
}

impl Conflicts {
    /// Parses what `git merge-tree -z` writes after the tree: `mode object stage`, a tab and the path, for each version.
    pub(super) fn parse<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut conflicts = Self::default();
        for field in fields.take_while(|field| !field.is_empty()) {
            let Some((about, path)) = split_at_tab(field) else { continue };
            let mut words = about.split(|byte| *byte == b' ');
            let (Some(mode), Some(object), Some(stage)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let versions = conflicts.0.entry(path).or_default();
            let blob = Blob { mode: mode.to_owned(), object: object.to_owned() };
            match stage {
                b"2" => versions.project = Some(blob),
                b"3" => versions.work = Some(blob),
                // The version that both began with.
                _ => {}
            }
        }
        conflicts
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    /// Completes the merge that git made: puts versions of the work that it lacks beside their files, and has the marks
    /// name the project and the session.
    pub(super) fn settle(
        &self,
        top: &Path,
        tree: &str,
        commits: &MergedCommits<'_>,
        session: &SessionId,
    ) -> Result<SettledMerge, WorkerError> {
        let merged = files_of(top, tree)?;
        let scratch = Scratch::take(top)?;
        let index = Some(scratch.path());
        git(top, index, &["read-tree", tree])?;
        let put = |blob: &Blob, path: &Path| {
            let mut entry = OsString::from(OsStr::from_bytes(&blob.mode));
            for part in [OsStr::from_bytes(&blob.object), path.as_os_str()] {
                entry.push(",");
                entry.push(part);
            }
            let update = ["update-index", "--add", "--cacheinfo"].map(OsStr::new);
            git(top, index, &[&update[..], &[&entry]].concat()).map(drop)
        };
        let mut taken: BTreeSet<PathBuf> = merged.keys().cloned().collect();
        let mut versions = Vec::new();
        for (path, sides) in &self.0 {
            let Some(work) = sides.work.as_ref().filter(|work| work.mode != REPOSITORY) else { continue };
            match merged.get(path) {
                Some(found) if found == work => {}
                Some(found) if sides.project.as_ref() != Some(found) && found.mode != LINK => {
                    put(&named_marks(top, found, commits, session)?, path)?;
                }
                _ => {
                    let beside = free_name(path, session, &taken);
                    put(work, &beside)?;
                    taken.insert(beside.clone());
                    versions.push(beside);
                }
            }
        }
        let tree = git(top, index, &["write-tree"])?;
        Ok(SettledMerge { tree: String::from_utf8_lossy(&tree).trim_end().to_owned(), versions })
    }
}

/// The files of a tree, by path.
fn files_of(top: &Path, tree: &str) -> Result<BTreeMap<PathBuf, Blob>, WorkerError> {
    let listed = git(top, None, &["ls-tree", "-r", "-z", "--full-tree", tree])?;
    let parsed = |entry: &[u8]| {
        let (about, path) = split_at_tab(entry)?;
        let mut words = about.split(|byte| *byte == b' ');
        let (mode, object) = (words.next()?, words.nth(1)?);
        Some((path, Blob { mode: mode.to_owned(), object: object.to_owned() }))
    };
    Ok(listed.split(|byte| *byte == 0).filter_map(parsed).collect())
}

fn split_at_tab(entry: &[u8]) -> Option<(&[u8], PathBuf)> {
    let at = entry.iter().position(|byte| *byte == b'\t')?;
    Some((&entry[..at], PathBuf::from(OsStr::from_bytes(&entry[at + 1..]))))
}

/// The name for the work's version of a file, which no other file has.
fn free_name(path: &Path, session: &SessionId, taken: &BTreeSet<PathBuf>) -> PathBuf {
    let named = |ending: String| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{session}{ending}"));
        PathBuf::from(name)
    };
    let endings = std::iter::once(String::new()).chain((2_u32..).map(|n| format!("-{n}")));
    endings.map(named).find(|name| !taken.contains(name)).unwrap_or_else(|| named(String::new()))
}

/// This file with marks that name the sides instead of commits, which say nothing to a person.
fn named_marks(
    top: &Path,
    file: &Blob,
    commits: &MergedCommits<'_>,
    session: &SessionId,
) -> Result<Blob, WorkerError> {
    let object = String::from_utf8_lossy(&file.object).into_owned();
    let content = git(top, None, &["cat-file", "blob", &object])?;
    let sides = [
        (b'<', commits.project, "the project".to_owned()),
        (b'|', commits.base, "before".to_owned()),
        (b'>', commits.work, session.to_string()),
    ];
    let mut named = Vec::with_capacity(content.len());
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let side = sides.iter().find(|(mark, ..)| line.first() == Some(mark));
        let found = side.and_then(|(_, commit, name)| {
            let at = line.windows(commit.len()).position(|part| part == commit.as_bytes())?;
            Some((&line[..at], name, &line[at + commit.len()..]))
        });
        match found {
            Some((before, name, after)) => {
                named.extend_from_slice(before);
                named.extend_from_slice(name.as_bytes());
                named.extend_from_slice(after);
            }
            None => named.extend_from_slice(line),
        }
    }
    if named == content {
        return Ok(file.clone());
    }
    let hash = ["hash-object", "-w", "--no-filters", "--stdin"];
    let written = git_fed(top, None, &hash, (&named, LONGEST_NAME))?.unwrap_or_default();
    Ok(Blob { mode: file.mode.clone(), object: written.trim_ascii_end().to_owned() })
}
