//! The local worker: the agent works in the project's directory, and git tells what changed.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use rapport_core::{
    ApplyTo, ChangeStatus, Changes, Created, FileChange, Merged, NotMerged, SessionId, display_text,
};
use rapport_durable::{self as durable, Lock, Taken, point};

use super::git::{AT_ONCE, At, git, git_as_far_as_it_goes, git_to, line};
use super::process::{self, KeptProcess, Launch};
use super::work_tree::WorkTree;
use super::{
    LARGEST_FILE, NoWorkplace, OURS, Worker, WorkerError, WorkerKind, WorkerSetup, Workers, Workplace,
    file_error, leads_inside,
};

/// The number of attempts to add all files to the index, and the first pause.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Worker for Local {
    fn open(&self, _: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        is_there(Path::new(&created.project))?;
        Ok(Arc::new(Directory::at(&created.project)))
    }

    fn find(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        self.open(session, created).map(Some)
    }

    fn clear(&self, _: &SessionId, _: &Created) -> Result<(), WorkerError> {
        Ok(())
    }
}

/// The directory itself, as a kind.
pub(super) struct LocalKind;

impl WorkerKind for LocalKind {
    fn name(&self) -> &'static str {
        "local"
    }

    fn in_brief(&self) -> &'static str {
        "the project itself"
    }

    fn has_branch(&self) -> bool {
        false
    }

    fn check(&self, _: &Path, _: &WorkerSetup) -> Result<(), NoWorkplace> {
        Ok(())
    }

    fn is_apart(&self) -> bool {
        false
    }

    fn add_to(&self, workers: Workers, _: &WorkerSetup) -> Workers {
        workers.with(self.name(), Local)
    }
}

/// A directory of this machine.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    extent: Extent,
    /// The repository and the top of its working tree, if files in the directory must not decide that.
    repository: Option<(PathBuf, PathBuf)>,
}

/// What a state contains at a path.
#[derive(Clone, Debug)]
pub enum Recorded {
    Nothing,
    File {
        content: Vec<u8>,
        /// Its permissions, as far as Git records them.
        mode: u32,
    },
    /// Something else, such as a link.
    Other,
}

/// A state of the files, and the paths that it lacks because git cannot read them, as a person sees them from the
/// directory.
#[derive(Clone, Debug)]
pub(super) struct ReadState {
    pub(super) state: String,
    pub(super) unread: Vec<String>,
}

/// The part of a repository that a session may change, and that its states therefore contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// The directory. The rest of the repository is taken from its index, whatever the files contain.
    Directory,
    /// The whole repository that contains the directory.
    Repository,
}

impl Directory {
    /// The directory at this path, without the rest of its repository.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), extent: Extent::Directory, repository: None }
    }

    /// The directory at this path, with the whole repository that contains it.
    pub fn with_repository(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), extent: Extent::Repository, repository: None }
    }

    /// The same directory, bound to this repository whatever it contains: an agent could create another repository
    /// there.
    pub(super) fn of_repository(self, repository: PathBuf, top: PathBuf) -> Self {
        Self { repository: Some((repository, top)), ..self }
    }

    fn git_at(&self) -> At<'_> {
        let repository = self.repository.as_ref().map(|(git, top)| (git.as_path(), top.as_path()));
        At { directory: &self.path, repository }
    }

    /// The project of a session, as far as the session may change it. A worktree contains the whole repository, so an
    /// agent there can change files outside of the project.
    pub fn of_project(created: &Created) -> Self {
        if created.works_apart() {
            Self::with_repository(&created.project)
        } else {
            Self::at(&created.project)
        }
    }

    /// The changes between two states, file by file. Paths are from the directory: `../lib/a.txt` is outside of it.
    pub fn files_between(&self, from: &str, to: &str) -> Result<Vec<FileChange>, WorkerError> {
        let mut changed =
            files(&self.between(from, to, "--name-status")?, &self.between(from, to, "--numstat")?);
        if self.extent == Extent::Repository {
            let inside = self.inside()?;
            changed.iter_mut().for_each(|file| file.path = seen_from(&inside, Path::new(&file.path)));
        }
        Ok(changed)
    }

    /// The changes between two states, as a diff.
    pub fn diff(&self, from: &str, to: &str) -> Result<String, WorkerError> {
        let mut diff = Vec::new();
        self.diff_to(from, to, &mut diff)?;
        Ok(String::from_utf8_lossy(&diff).into_owned())
    }

    /// Writes the diff between two states while git makes it.
    pub(crate) fn diff_to(&self, from: &str, to: &str, out: &mut dyn io::Write) -> Result<(), WorkerError> {
        let (from, to) = (named(from)?, named(to)?);
        let args = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", self.relative(), from, to];
        git_to(self.git_at(), &args, out)
    }

    /// The diff between two states, of these files only.
    pub fn diff_of(&self, from: &str, to: &str, files: &[String]) -> Result<String, WorkerError> {
        let (from, to) = (named(from)?, named(to)?);
        let args = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", self.relative(), from, to, "--"];
        let files = files.iter().map(|file| OsString::from(format!(":(literal){file}")));
        let args: Vec<_> = args.iter().map(OsString::from).chain(files).collect();
        git(self.git_at(), None, &args).map(|out| String::from_utf8_lossy(&out).into_owned())
    }

    /// Whether it is in a Git repository, so that the state of its files can be recorded.
    pub fn has_history(&self) -> bool {
        line(self.git_at(), &["rev-parse", "--is-inside-work-tree"]).is_ok_and(|inside| inside == "true")
    }

    pub(crate) fn file_at(&self, state: &str, path: &str) -> Result<Recorded, WorkerError> {
        let listed = git(self.git_at(), None, &["ls-tree", "-z", named(state)?, "--", path])?;
        let listed = String::from_utf8_lossy(&listed);
        let mut fields = listed.split(['\0', '\t']).next().unwrap_or_default().split(' ');
        let (mode, object) = match (fields.next(), fields.nth(1)) {
            (Some("100644"), Some(object)) => (0o644, object),
            (Some("100755"), Some(object)) => (0o755, object),
            (Some(""), _) | (None, _) => return Ok(Recorded::Nothing),
            _ => return Ok(Recorded::Other),
        };
        let content = git(self.git_at(), None, &["cat-file", "blob", object])?;
        Ok(Recorded::File { content, mode })
    }

    fn between(&self, from: &str, to: &str, what: &str) -> Result<Vec<String>, WorkerError> {
        let (from, to) = (named(from)?, named(to)?);
        let args = ["diff-tree", "-r", "-z", "--no-renames", self.relative(), what, from, to];
        let out = git(self.git_at(), None, &args)?;
        Ok(out.split(|&byte| byte == 0).map(|field| String::from_utf8_lossy(field).into_owned()).collect())
    }

    fn relative(&self) -> &'static str {
        match self.extent {
            Extent::Directory => "--relative",
            Extent::Repository => "--no-relative",
        }
    }

    /// Whether the states contain this path of the repository.
    pub(super) fn covers(&self, inside: &Path, path: &Path) -> bool {
        self.extent == Extent::Repository || path.starts_with(inside)
    }

    /// Its path within its repository.
    pub(super) fn inside(&self) -> Result<PathBuf, WorkerError> {
        line(self.git_at(), &["rev-parse", "--show-prefix"]).map(PathBuf::from)
    }

    /// The state of the files as a git tree, without touching the repository's own index. It contains untracked files
    /// too, but not ignored files, Rapport's own files, and what git cannot add: an unreadable file, or a nested
    /// repository without a commit.
    pub(super) fn state(&self) -> Result<String, WorkerError> {
        self.state_with(&[])
    }

    /// The state of the files with these included, even if git ignores them by now. They are named from the top of
    /// the repository.
    pub(super) fn state_with(&self, files: &[PathBuf]) -> Result<String, WorkerError> {
        self.read_state(files).map(|read| read.state)
    }

    /// The same state, with what it lacks because git cannot read it.
    pub(super) fn read_state(&self, files: &[PathBuf]) -> Result<ReadState, WorkerError> {
        if self.extent == Extent::Repository && self.repository.is_none() {
            // Refuses a repository whose files are elsewhere, before they are read.
            top(self.git_at())?;
        }
        let scratch = Scratch::take(self.git_at())?;
        let index = Some(scratch.path());
        // Git writes what a state holds into the repository: a crash test may kill this process around each of its
        // steps.
        point(scratch.path());
        let messages = self.add_all(index)?;
        point(scratch.path());
        // Git reports everything that it cannot add.
        let unread = if messages.is_empty() { Vec::new() } else { self.unread(index)? };
        let there: Vec<_> = if files.is_empty() { Vec::new() } else { self.literally_there(files)? };
        for some in there.chunks(AT_ONCE) {
            let add = ["add", "--force", "--ignore-errors", "--"].map(OsString::from);
            git_as_far_as_it_goes(self.git_at(), index, &[&add[..], some].concat())?;
        }
        // Rapport's own files may be committed, and are then in the copied index.
        let forget = ["rm", "-r", "--force", "--cached", "--quiet", "--ignore-unmatch", "--"];
        git(self.git_at(), index, &[&forget[..], &OURS[..]].concat())?;
        point(scratch.path());
        let tree = git(self.git_at(), index, &["write-tree"])?;
        point(scratch.path());
        Ok(ReadState { state: String::from_utf8_lossy(&tree).trim_end().to_owned(), unread })
    }

    /// The untracked and changed files that git cannot read, and the directories that it cannot open, compared with
    /// this index or the repository's own.
    pub(super) fn unread(&self, index: Option<&Path>) -> Result<Vec<String>, WorkerError> {
        let list = ["ls-files", "-z", "--others", "--modified", "--exclude-standard", "--"];
        let args: Vec<_> = list.map(OsString::from).into_iter().chain(self.everything()).collect();
        let (listed, messages) = git_as_far_as_it_goes(self.git_at(), index, &args)?;
        let paths = listed.split(|byte| *byte == 0).map(|path| Path::new(OsStr::from_bytes(path)));
        let is_unread = |path: &&Path| {
            let path = self.path.join(path);
            match path.symlink_metadata() {
                Ok(found) => found.is_file() && access(&path, AccessFlags::R_OK) == Err(Errno::EACCES),
                // Its directory can be listed, and nothing in it can be looked at.
                Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
            }
        };
        let files = paths.filter(is_unread).map(|path| path.to_string_lossy().into_owned());
        let mut unread: BTreeSet<_> = files.collect();
        let inside = if messages.is_empty() { PathBuf::new() } else { self.inside()? };
        let closed = messages.lines().filter_map(unopened).map(|path| seen_from(&inside, Path::new(path)));
        unread.extend(closed.filter(|path| !OURS.iter().any(|ours| Path::new(path).starts_with(ours))));
        Ok(unread.iter().map(|path| display_text::line(path)).collect())
    }

    /// Those of these files that exist, as literal pathspecs.
    fn literally_there(&self, files: &[PathBuf]) -> Result<Vec<OsString>, WorkerError> {
        let top = top(self.git_at())?;
        let is_there = |file: &&PathBuf| top.join(file).symlink_metadata().is_ok_and(|about| !about.is_dir());
        Ok(files.iter().filter(is_there).map(|file| literally(file)).collect())
    }

    /// Adds all files, and returns git's messages. Git fails if a file vanishes that it has just seen, as those of a
    /// running build do: then it is retried.
    fn add_all(&self, index: Option<&Path>) -> Result<String, WorkerError> {
        let add = ["add", "--all", "--ignore-errors", "--"].map(OsString::from);
        let args: Vec<_> = add.into_iter().chain(self.everything()).collect();
        for n in 1..TRIES {
            if let Ok((_, messages)) = git_as_far_as_it_goes(self.git_at(), index, &args) {
                return Ok(messages);
            }
            sleep(PAUSE * n);
        }
        git_as_far_as_it_goes(self.git_at(), index, &args).map(|(_, messages)| messages)
    }

    /// Pathspecs of all that its states contain.
    fn everything(&self) -> impl Iterator<Item = OsString> {
        let all = match self.extent {
            Extent::Directory => ".",
            Extent::Repository => ":/",
        };
        let without = OURS.map(|ours| format!(":(exclude){ours}").into());
        [OsString::from(all)].into_iter().chain(without)
    }

    /// All files, without git.
    fn walk(&self) -> BTreeSet<PathBuf> {
        let entries = ignore::WalkBuilder::new(&self.path).hidden(false).build().flatten();
        entries.filter_map(|entry| entry.path().strip_prefix(&self.path).ok().map(Path::to_owned)).collect()
    }
}

impl Workplace for Directory {
    fn directory(&self) -> &Path {
        &self.path
    }

    fn spawn(&self, launch: Launch<'_>) -> io::Result<KeptProcess> {
        process::spawn(&self.path, launch)
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.path.join(path);
        leads_inside(&self.path, &path)?;
        match durable::read_file(&path, LARGEST_FILE) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces a file atomically, and never outside of the directory, even if a directory on the way is a link that
    /// leads out of it.
    fn replace(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let (root, path) = (self.path.canonicalize()?, self.path.join(path));
        let folder = path.parent().unwrap_or(&path);
        // Checked before any directory is created, and again after: a link may have appeared meanwhile.
        leads_inside(&root, folder)?;
        durable::folder(folder)?;
        leads_inside(&root, folder)?;
        durable::replace(&path, content)
    }

    fn list(&self) -> Result<Vec<String>, WorkerError> {
        let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let paths: BTreeSet<PathBuf> = match git(self.git_at(), None, &listed) {
            Ok(out) => {
                let paths = out.split(|byte| *byte == 0).filter(|path| !path.is_empty());
                paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
            }
            Err(error) if has_repository(&self.path) => return Err(error),
            Err(_) => self.walk(),
        };
        let ours = |path: &Path| OURS.iter().any(|ours| path.starts_with(ours));
        let is_there =
            |path: &Path| self.path.join(path).symlink_metadata().is_ok_and(|found| !found.is_dir());
        let paths = paths.into_iter().filter(|path| !ours(path) && is_there(path));
        Ok(paths.map(|path| path.to_string_lossy().into_owned()).collect())
    }

    fn snapshot(&self) -> Result<Option<String>, WorkerError> {
        let directory = &self.path;
        is_there(directory)?;
        match line(self.git_at(), &["rev-parse", "--is-inside-work-tree"]) {
            Ok(inside) if inside == "true" => self.state().map(Some),
            Ok(_) => Ok(None),
            Err(WorkerError::Start(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // Git fails in the same way without a repository and with an unreadable one.
            Err(error) if has_repository(directory) => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn changes(&self, since: &str) -> Result<Changes, WorkerError> {
        let result = self.state()?;
        let files = self.files_between(since, &result)?;
        Ok(Changes { files, result: Some(result), unknown: None })
    }

    fn patch(&self, since: Option<&str>, out: &mut dyn io::Write) -> Result<(), WorkerError> {
        self.diff_to(since.unwrap_or("HEAD"), &self.state()?, out)
    }

    fn merge(&self, _: bool) -> Result<Result<Merged, NotMerged>, WorkerError> {
        Err(WorkerError::NotApart)
    }

    fn apply(&self, _: &Merged, _: &ApplyTo, _: &str) -> Result<Vec<FileChange>, WorkerError> {
        Err(WorkerError::NotApart)
    }
}

/// Refuses a project whose directory does not exist.
pub(super) fn is_there(project: &Path) -> Result<(), WorkerError> {
    if project.is_dir() {
        return Ok(());
    }
    Err(WorkerError::ProjectGone { directory: project.to_owned() })
}

/// The files of a project that an agent elsewhere would get and does not, because this user cannot read them. Root can
/// read every file.
pub(super) fn unreadable(project: &Path) -> Vec<String> {
    if nix::unistd::geteuid().is_root() {
        return Vec::new();
    }
    // If git fails here, it fails when the workplace is made, and that is reported.
    Directory::with_repository(project).unread(None).unwrap_or_default()
}

/// The directory, seen from the top of its repository, of which git says in this message that it cannot open it.
fn unopened(message: &str) -> Option<&str> {
    let (_, named) = message.split_once("could not open directory '")?;
    Some(named.rsplit_once('\'').map_or(named, |(path, _)| path))
}

/// The current branch of a directory, if any.
pub fn branch(directory: &Path) -> Option<String> {
    line(directory, &["symbolic-ref", "--short", "--quiet", "HEAD"]).ok().filter(|name| !name.is_empty())
}

/// Checks that a state is a git object id. A foreign log could contain an option of git instead.
pub(super) fn named(state: &str) -> Result<&str, WorkerError> {
    let is_name = !state.is_empty() && state.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_name || state == "HEAD" {
        Ok(state)
    } else {
        Err(WorkerError::StateGone { state: state.to_owned() })
    }
}

fn has_repository(directory: &Path) -> bool {
    directory.ancestors().any(|folder| folder.join(".git").exists())
}

/// A literal pathspec.
pub(super) fn literally(path: &Path) -> OsString {
    let mut literal = OsString::from(":(top,literal)");
    literal.push(path);
    literal
}

/// The top of the repository that contains a directory, if it is the repository of the files there.
pub(super) fn top<'a>(at: impl Into<At<'a>>) -> Result<PathBuf, WorkerError> {
    let at = at.into();
    if at.repository.is_some() {
        // The caller names it: it is not found by files in the directory.
        return line(at, &["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    }
    let tree = WorkTree::around(at)?;
    tree.check(at.directory)?;
    Ok(tree.top)
}

/// A path of the repository, relative to the directory that is `inside` of it.
pub(super) fn seen_from(inside: &Path, path: &Path) -> String {
    let shared = inside.components().zip(path.components()).take_while(|(one, other)| one == other).count();
    let up = inside.components().skip(shared).map(|_| Component::ParentDir);
    let seen: PathBuf = up.chain(path.components().skip(shared)).collect();
    seen.to_string_lossy().into_owned()
}

/// A private index within the repository's directory: there is only one, for one process at a time, so that the next
/// process cleans up after one that was killed.
pub(super) struct Scratch {
    index: PathBuf,
    /// Held until the index is removed.
    lock: Option<Lock>,
}

impl Scratch {
    /// Waits for the index, and fills it with a copy of the repository's own, which records the files that have not
    /// changed: without that git would read all of them.
    pub(super) fn take<'a>(at: impl Into<At<'a>>) -> Result<Self, WorkerError> {
        let at = at.into();
        let paths = git(at, None, &["rev-parse", "--git-path", "index", "--git-path", "rapport"])?;
        let mut paths =
            paths.split(|byte| *byte == b'\n').map(|path| at.directory.join(OsStr::from_bytes(path)));
        let (real, folder) = (paths.next().unwrap_or_default(), paths.next().unwrap_or_default());
        let scratch = Self::at(&folder, wait_in(&folder)?);
        scratch.clear();
        if real.exists() {
            copy_with_time(&real, &scratch.index).map_err(file_error("copy", &real))?;
        }
        Ok(scratch)
    }

    fn at(folder: &Path, lock: Lock) -> Self {
        Self { index: folder.join("index"), lock: Some(lock) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.index
    }

    fn clear(&self) {
        for left in [self.index.clone(), self.index.with_extension("lock")] {
            // If it cannot be removed, git reports that.
            let _ = fs::remove_file(left);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.clear();
        // A process that waits for this lock then finds that its file is gone, and takes that of a new one.
        self.lock.take().into_iter().for_each(Lock::remove);
    }
}

/// Waits for the lock of the index in this folder.
fn wait_in(folder: &Path) -> Result<Lock, WorkerError> {
    let path = folder.join("lock");
    loop {
        durable::folder(folder).map_err(file_error("make", folder))?;
        match Lock::wait(&path) {
            // Another process removed the folder in between.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            waited => return waited.map_err(file_error("lock", &path)),
        }
    }
}

/// Removes the folder of the index from the repository's directory, with what a killed process left of the index. The
/// caller holds the project's lock, under which every other file of that folder is written. The folder stays if there
/// is such a file: it belongs to work that is not completely applied or undone yet.
pub(super) fn remove_scratch(project: &Path) {
    let Ok(folder) = line(project, &["rev-parse", "--git-path", "rapport"]) else { return };
    let folder = project.join(folder);
    if !folder.is_dir() {
        return;
    }
    // A process that has the lock removes the index itself.
    if let Ok(Taken::Ours(lock)) = Lock::take(&folder.join("lock"), b"") {
        drop(Scratch::at(&folder, lock));
    }
    durable::remove_if_empty(&folder);
}

/// Copies an index with its modification time. Git compares whole seconds, and reads every file that was changed in
/// the second of its index or later. A copy with a later time would hide a change of the same size within that
/// second.
fn copy_with_time(index: &Path, copy: &Path) -> io::Result<()> {
    let time = fs::metadata(index)?.modified()?;
    fs::copy(index, copy)?;
    fs::File::options().write(true).open(copy)?.set_modified(time)
}

fn files(statuses: &[String], counts: &[String]) -> Vec<FileChange> {
    let counts: HashMap<&str, (Option<u64>, Option<u64>)> = counts
        .iter()
        .filter_map(|record| {
            let mut fields = record.splitn(3, '\t');
            let (added, removed, path) = (fields.next()?, fields.next()?, fields.next()?);
            Some((path, (added.parse().ok(), removed.parse().ok())))
        })
        .collect();
    let changes = statuses.chunks_exact(2).map(|pair| {
        let (status, path) = (&pair[0], &pair[1]);
        let (added, removed) = counts.get(path.as_str()).copied().unwrap_or_default();
        FileChange { path: path.clone(), status: change_status(status), added, removed }
    });
    changes.collect()
}

fn change_status(letter: &str) -> ChangeStatus {
    match letter.chars().next() {
        Some('A') => ChangeStatus::Added,
        Some('D') => ChangeStatus::Deleted,
        _ => ChangeStatus::Modified,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe in place of a file does not block a thread.
    #[test]
    fn only_a_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("plan.md"), "plan").unwrap();
        nix::unistd::mkfifo(&folder.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let place = Directory::at(folder.path());
        assert_eq!(place.read("plan.md").unwrap(), Some(b"plan".to_vec()));
        assert_eq!(place.read("none").unwrap(), None);
        assert!(place.read("pipe").is_err());
    }

    /// A change of the same size, in the second in which git added the file.
    #[test]
    fn a_change_within_the_second_of_the_index_is_seen() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path();
        let then = std::time::SystemTime::now() - Duration::from_secs(60);
        let write = |content: &str| {
            fs::write(directory.join("a.txt"), content).unwrap();
            let file = fs::File::options().write(true).open(directory.join("a.txt")).unwrap();
            file.set_modified(then).unwrap();
        };
        git(directory, None, &["init", "--quiet"]).unwrap();
        // The time of the last change of status cannot be set; everything else about the file is as git noted it.
        git(directory, None, &["config", "core.trustctime", "false"]).unwrap();
        write("a\n");
        git(directory, None, &["add", "a.txt"]).unwrap();
        fs::File::options()
            .write(true)
            .open(directory.join(".git/index"))
            .unwrap()
            .set_modified(then)
            .unwrap();
        let before = Directory::at(directory).state().unwrap();
        write("b\n");
        assert_ne!(Directory::at(directory).state().unwrap(), before);
    }

    /// A nested repository that was just created does not prevent working there.
    #[test]
    fn what_git_cannot_take_in_is_left_out() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path();
        git(directory, None, &["init", "--quiet"]).unwrap();
        fs::create_dir(directory.join("begun")).unwrap();
        git(&directory.join("begun"), None, &["init", "--quiet"]).unwrap();
        let baseline = Directory::at(directory).snapshot().unwrap().unwrap();
        fs::write(directory.join("begun/a.txt"), "a\n").unwrap();
        fs::write(directory.join("z.txt"), "z\n").unwrap();
        let changes = Directory::at(directory).changes(&baseline).unwrap();
        let paths: Vec<_> = changes.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["z.txt"]);
    }

    /// Text from others is data: a state in a log is never an option of git.
    #[test]
    fn a_state_is_no_option() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path();
        git(directory, None, &["init", "--quiet"]).unwrap();
        let place = Directory::at(directory);
        let state = place.state().unwrap();
        let written = directory.join("written");
        let option = format!("--output={}", written.display());
        assert!(matches!(place.diff(&option, &state), Err(WorkerError::StateGone { .. })));
        assert!(matches!(place.files_between(&state, &option), Err(WorkerError::StateGone { .. })));
        assert!(!written.exists());
        assert_eq!(place.diff(&state, &state).unwrap(), "");
    }

    #[test]
    fn paths_outside_of_the_project_are_named_from_it() {
        for (inside, path, seen) in [
            ("", "a/b.txt", "a/b.txt"),
            ("app/", "app/b.txt", "b.txt"),
            ("app/", "lib/b.txt", "../lib/b.txt"),
            ("crates/app/", "crates/lib/b.txt", "../lib/b.txt"),
            ("crates/app/", "b.txt", "../../b.txt"),
        ] {
            assert_eq!(seen_from(Path::new(inside), Path::new(path)), seen, "{path} from {inside}");
        }
    }

    /// A repository may be kept apart from its files if a `.git` beside the files refers to it. One that declares
    /// other files its own is refused.
    #[test]
    fn the_top_of_a_repository_is_where_its_git_is() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let plain = |directory: &Path, args: &[&str]| {
            let settings = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
            let mut git = std::process::Command::new("git");
            let done = git.current_dir(directory).args(settings).args(args).output().unwrap();
            assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        let app = folder.join("app");
        fs::create_dir_all(app.join("src")).unwrap();
        plain(&app, &["init", "--quiet"]);
        fs::write(app.join("src/a.txt"), "a\n").unwrap();
        plain(&app, &["add", "."]);
        plain(&app, &["commit", "--quiet", "-m", "begun"]);
        plain(&app, &["worktree", "add", "--quiet", "../linked"]);
        plain(&app, &["submodule", "--quiet", "add", "../app", "module"]);
        plain(&app.join("module"), &["worktree", "add", "--quiet", "../../linked-module"]);
        let stored = folder.join("stored").into_os_string().into_string().unwrap();
        fs::create_dir_all(folder.join("separate")).unwrap();
        plain(&folder.join("separate"), &["init", "--quiet", "--separate-git-dir", &stored]);
        for (directory, expected) in [
            ("app", "app"),
            ("app/src", "app"),
            ("linked", "linked"),
            ("linked/src", "linked"),
            ("app/module", "app/module"),
            ("separate", "separate"),
            ("linked-module", "linked-module"),
        ] {
            assert_eq!(top(&folder.join(directory)).unwrap(), folder.join(expected), "{directory}");
        }
        fs::create_dir(folder.join("elsewhere")).unwrap();
        for elsewhere in ["../..", "../../elsewhere"] {
            plain(&app, &["config", "core.worktree", elsewhere]);
            // From outside of its working tree, git finds no top at all.
            assert!(top(&app).is_err(), "{elsewhere}");
            assert!(Directory::with_repository(&app).state().is_err(), "{elsewhere}");
        }
        plain(&app, &["config", "core.worktree", "../.."]);
        let error = top(&app).unwrap_err().to_string();
        let expected = format!(
            "the git repository of {} has its files in {} (core.worktree), not beside its .git",
            app.display(),
            folder.display()
        );
        assert_eq!(error, expected);
        plain(&app, &["config", "--unset", "core.worktree"]);
    }

    /// A `.git` from an archive that leads to the repository beside it, in each way that git knows.
    #[test]
    fn the_repository_of_other_files_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        for name in ["private", "by-file", "by-link", "by-common"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        git(&folder.join("private"), None, &["init", "--quiet"]).unwrap();
        fs::write(folder.join("by-file/.git"), "gitdir: ../private/.git\n").unwrap();
        std::os::unix::fs::symlink("../private/.git", folder.join("by-link/.git")).unwrap();
        git(&folder.join("by-common"), None, &["init", "--quiet"]).unwrap();
        fs::write(folder.join("by-common/.git/commondir"), "../../private/.git\n").unwrap();
        for name in ["by-file", "by-link", "by-common"] {
            let error = top(&folder.join(name)).unwrap_err();
            assert!(matches!(error, WorkerError::RepositoryElsewhere { .. }), "{name}: {error}");
        }
        assert_eq!(top(&folder.join("private")).unwrap(), folder.join("private"));
    }

    /// The leftovers of a killed process are cleared away, and concurrent processes do not disturb each other.
    #[test]
    fn a_state_is_noted_whatever_was_left() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path();
        git(directory, None, &["init", "--quiet"]).unwrap();
        fs::write(directory.join("a.txt"), "a\n").unwrap();
        let state = Directory::at(directory).snapshot().unwrap();
        let folder = directory.join(".git/rapport");
        fs::write(folder.join("index"), "torn").unwrap();
        fs::write(folder.join("index.lock"), "").unwrap();
        std::thread::scope(|scope| {
            let noting: Vec<_> =
                (0..4).map(|_| scope.spawn(|| Directory::at(directory).snapshot())).collect();
            for noted in noting {
                assert_eq!(noted.join().unwrap().unwrap(), state);
            }
        });
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left in {}", folder.display());
    }

    /// The folder of the index is removed while other processes record states: none of them fails, and in the end
    /// nothing is left, not even of a process that was killed.
    #[test]
    fn the_folder_of_the_index_is_removed_beside_others_that_use_it() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path();
        git(directory, None, &["init", "--quiet"]).unwrap();
        fs::write(directory.join("a.txt"), "a\n").unwrap();
        let state = Directory::at(directory).snapshot().unwrap();
        std::thread::scope(|scope| {
            let noting: Vec<_> =
                (0..8).map(|_| scope.spawn(|| Directory::at(directory).snapshot())).collect();
            while noting.iter().any(|noting| !noting.is_finished()) {
                remove_scratch(directory);
            }
            for noted in noting {
                assert_eq!(noted.join().unwrap().unwrap(), state);
            }
        });
        let folder = directory.join(".git/rapport");
        durable::folder(&folder).unwrap();
        for left in ["lock", "index", "index.lock"] {
            fs::write(folder.join(left), "").unwrap();
        }
        remove_scratch(directory);
        assert!(!folder.exists());
    }
}
