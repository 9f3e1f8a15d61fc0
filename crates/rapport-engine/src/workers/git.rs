//! Calls of the `git` program, in its plumbing forms. A repository can name programs (hooks, filters, a file monitor,
//! diff viewers), and may have been unpacked from an untrusted archive, so none of these programs is run. Every call
//! of git in Rapport goes through here.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use super::WorkerError;

/// Settings that override the repository's own configuration.
const SETTINGS: [&str; 11] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    // Show file names verbatim.
    "core.quotePath=false",
    "core.sshCommand=false",
    "credential.helper=",
    "diff.external=",
    // To check a nested repository for changes, git would run git there without these settings.
    "diff.ignoreSubmodules=dirty",
    "submodule.recurse=false",
    // Nothing is fetched: missing objects stay missing.
    "protocol.allow=never",
    "gc.auto=0",
];

/// The first version whose `merge-tree` takes the base of a merge, without which no worktree can be applied.
const NEEDED: (u32, u32) = (2, 40);

/// The maximum number of paths per call.
pub(super) const AT_ONCE: usize = 500;

/// The author of Rapport's own commits.
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Rapport"),
    ("GIT_AUTHOR_EMAIL", "rapport@localhost"),
    ("GIT_COMMITTER_NAME", "Rapport"),
    ("GIT_COMMITTER_EMAIL", "rapport@localhost"),
];

/// The variables with the paths of the person's own configuration, and of git itself.
const OF_THE_PERSON: [&str; 4] =
    ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"];

/// The maximum number of lines of git's output in an error.
const TOLD_LINES: usize = 5;

/// Commands that read no file of a working tree, so that filters do not matter. (Even `write-tree` reads files: it
/// refreshes the index.)
const WITHOUT_FILES: [&str; 8] = [
    "rev-parse",
    "symbolic-ref",
    "cat-file",
    "ls-tree",
    "commit-tree",
    "update-ref",
    "pack-objects",
    "index-pack",
];

/// Where git runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    pub(super) directory: &'a Path,
    /// The repository and the top of its working tree. Git finds both by files in the directory; if an agent must not
    /// control that, they are given here.
    pub(super) repository: Option<(&'a Path, &'a Path)>,
}

impl<'a> From<&'a Path> for At<'a> {
    fn from(directory: &'a Path) -> Self {
        Self { directory, repository: None }
    }
}

impl<'a> From<&'a PathBuf> for At<'a> {
    fn from(directory: &'a PathBuf) -> Self {
        directory.as_path().into()
    }
}

/// Runs git and returns its output.
pub(super) fn git<'a, S: AsRef<OsStr>>(
    at: impl Into<At<'a>>,
    index: Option<&Path>,
    args: &[S],
) -> Result<Vec<u8>, WorkerError> {
    let output = run(at.into(), index, args)?;
    if output.status.success() { Ok(output.stdout) } else { Err(failure(&output, args)) }
}

/// Runs git and passes its output on while git writes it. If that fails, git is killed.
pub(super) fn git_to<'a, S: AsRef<OsStr>>(
    at: impl Into<At<'a>>,
    args: &[S],
    out: &mut dyn Write,
) -> Result<(), WorkerError> {
    let mut command = prepared(at.into(), None, args)?;
    let mut git =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(WorkerError::Start)?;
    let (stdout, stderr) = (git.stdout.take(), git.stderr.take());
    // Read concurrently: git blocks while its error output is not read.
    let said = thread::spawn(move || -> io::Result<Vec<u8>> {
        let mut said = Vec::new();
        stderr.map_or(Ok(0), |mut stderr| stderr.read_to_end(&mut said))?;
        Ok(said)
    });
    let copied = stdout.map_or(Ok(0), |mut stdout| io::copy(&mut stdout, out));
    if copied.is_err() {
        // Git may have ended by itself.
        let _ = git.kill();
    }
    let status = git.wait().map_err(WorkerError::Start)?;
    let stderr = said.join().map_err(|_| io::Error::other("the reader of its messages panicked"));
    let stderr = stderr.and_then(|said| said).map_err(WorkerError::Start)?;
    copied.map_err(|error| WorkerError::Unread { what: name_of(args), error })?;
    let output = Output { status, stdout: Vec::new(), stderr };
    if status.success() { Ok(()) } else { Err(failure(&output, args)) }
}

/// Runs git with this input, and returns its output; `None` if that is longer than this. Then git is killed.
pub(super) fn git_fed<'a, S: AsRef<OsStr>>(
    at: impl Into<At<'a>>,
    index: Option<&Path>,
    args: &[S],
    (input, most): (&[u8], u64),
) -> Result<Option<Vec<u8>>, WorkerError> {
    let mut command = prepared(at.into(), index, args)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut git = command.spawn().map_err(WorkerError::Start)?;
    let (stdin, stdout, stderr) = (git.stdin.take(), git.stdout.take(), git.stderr.take());
    let mut out = Vec::new();
    // All three at once: git blocks while its output is not read, and may not read its input to the end.
    let (read, said) = thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        let said = scope.spawn(move || {
            let mut said = Vec::new();
            stderr.map(|mut stderr| stderr.read_to_end(&mut said)).transpose().map(|_| said)
        });
        let read = stdout.map(|stdout| stdout.take(most + 1).read_to_end(&mut out)).transpose();
        if out.len() as u64 > most || read.is_err() {
            // Git may have ended by itself.
            let _ = git.kill();
        }
        (read, said.join().unwrap_or_else(|_| Err(io::Error::other("the reader of its messages panicked"))))
    });
    let status = git.wait().map_err(WorkerError::Start)?;
    let stderr = said.map_err(WorkerError::Start)?;
    read.map_err(|error| WorkerError::Unread { what: name_of(args), error })?;
    if out.len() as u64 > most {
        return Ok(None);
    }
    let output = Output { status, stdout: Vec::new(), stderr };
    if status.success() { Ok(Some(out)) } else { Err(failure(&output, args)) }
}

/// Runs git in the person's own name, from their configuration.
pub(super) fn git_by_person<'a, S: AsRef<OsStr>>(
    at: impl Into<At<'a>>,
    args: &[S],
) -> Result<Vec<u8>, WorkerError> {
    let mut command = command(at.into());
    for (name, _) in IDENTITY {
        command.env_remove(name);
    }
    let output = command.args(args).output().map_err(WorkerError::Start)?;
    if output.status.success() { Ok(output.stdout) } else { Err(failure(&output, args)) }
}

/// Runs a git command that continues after a failing file, and then ends with exit code 1. Returns its output and its
/// messages, which name such files.
pub(super) fn git_as_far_as_it_goes<'a, S: AsRef<OsStr>>(
    at: impl Into<At<'a>>,
    index: Option<&Path>,
    args: &[S],
) -> Result<(Vec<u8>, String), WorkerError> {
    let output = run(at.into(), index, args)?;
    match output.status.code() {
        Some(0 | 1) => Ok((output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())),
        _ => Err(failure(&output, args)),
    }
}

/// Runs a git command whose exit code is a result, and returns both the code and the output.
pub(super) fn git_saying<'a, S: AsRef<OsStr>>(
    at: impl Into<At<'a>>,
    args: &[S],
    codes: &[i32],
) -> Result<(i32, Vec<u8>), WorkerError> {
    let output = run(at.into(), None, args)?;
    match output.status.code().filter(|code| codes.contains(code)) {
        Some(code) => Ok((code, output.stdout)),
        None => Err(failure(&output, args)),
    }
}

/// Why a git with this output of `--version` cannot merge; `None` if it can, or if the output contains no version.
pub fn too_old(said: &str) -> Option<WorkerError> {
    let version = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    let found = (numbers.next()?, numbers.next()?);
    (found < NEEDED).then(|| WorkerError::GitTooOld { found: version.to_owned() })
}

/// Refuses a git that is too old to merge.
pub(super) fn is_new_enough() -> Result<(), WorkerError> {
    let output = Command::new("git").arg("--version").stdin(Stdio::null()).output();
    let said = output.map_err(WorkerError::Start)?.stdout;
    too_old(&String::from_utf8_lossy(&said)).map_or(Ok(()), Err)
}

fn run<S: AsRef<OsStr>>(at: At<'_>, index: Option<&Path>, args: &[S]) -> Result<Output, WorkerError> {
    prepared(at, index, args)?.output().map_err(WorkerError::Start)
}

/// A git command that runs none of the repository's programs.
fn prepared<S: AsRef<OsStr>>(at: At<'_>, index: Option<&Path>, args: &[S]) -> Result<Command, WorkerError> {
    let mut command = command(at);
    command.args(args);
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    let reads_files = args.first().is_some_and(|arg| !WITHOUT_FILES.iter().any(|name| arg.as_ref() == *name));
    if reads_files {
        let programs = programs_of(at)?;
        command.env("GIT_CONFIG_COUNT", programs.len().to_string());
        for (n, key) in programs.iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{n}"), key)
                .env(format!("GIT_CONFIG_VALUE_{n}"), instead_of(key));
        }
    }
    Ok(command)
}

/// The replacement for a setting that names one of the repository's programs. With an empty merge driver git would
/// silently keep one side and drop the other, so such files are merged as text.
fn instead_of(key: &str) -> &'static str {
    match key.rsplit_once('.').map(|(_, last)| last) {
        Some("required") => "false",
        Some("program" | "sshcommand" | "pager" | "editor" | "gitproxy") => "false",
        Some("driver") => "git merge-file -L project -L before -L work %A %O %B || exit 1",
        _ => "",
    }
}

/// Git in this directory, with no variable of the environment that concerns git, except for the person's own
/// configuration.
fn command(at: At<'_>) -> Command {
    let mut command = Command::new("git");
    command.current_dir(at.directory).stdin(Stdio::null());
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    // A git hook or alias may have set variables for another repository.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") && !OF_THE_PERSON.iter().any(|own| name == *own) {
            command.env_remove(name);
        }
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1").env("LC_ALL", "C");
    // A repository's configuration can allow a protocol by name, but this variable overrides it.
    command.env("GIT_ALLOW_PROTOCOL", "none").env("GIT_TERMINAL_PROMPT", "0").envs(IDENTITY);
    if let Some((repository, top)) = at.repository {
        command.env("GIT_DIR", repository).env("GIT_WORK_TREE", top);
    }
    command
}

/// The repository's own settings that name filters and drivers. Those in the person's configuration are not included.
fn programs_of(at: At<'_>) -> Result<Vec<String>, WorkerError> {
    let keys =
        settings(at)?.into_iter().filter(|setting| setting.is_of_repository).map(|setting| setting.key);
    Ok(with_required(keys.filter(|key| names_a_program(key)).collect()))
}

/// A filter that is disabled must not be required.
fn with_required(mut keys: Vec<String>) -> Vec<String> {
    let filters: Vec<_> = keys
        .iter()
        .filter_map(|key| Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned()))
        .collect();
    keys.extend(filters.into_iter().map(|name| format!("filter.{name}.required")));
    keys
}

/// A setting of git.
struct Setting {
    key: String,
    value: String,
    /// Whether the repository's own configuration has it, and not the person's.
    is_of_repository: bool,
}

/// All settings of git at this place.
fn settings(at: At<'_>) -> Result<Vec<Setting>, WorkerError> {
    let list = ["config", "--includes", "--show-scope", "--null", "--list"];
    let output = command(at).args(list).output().map_err(WorkerError::Start)?;
    if !output.status.success() {
        return Err(failure(&output, &list));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let fields: Vec<_> = text.split('\0').collect();
    let own = fields.chunks_exact(2).filter(|pair| pair[0] != "command");
    let setting = |pair: &[&str]| {
        let (key, value) = pair[1].split_once('\n').unwrap_or((pair[1], ""));
        let is_of_repository = matches!(pair[0], "local" | "worktree");
        Setting { key: key.to_owned(), value: value.to_owned(), is_of_repository }
    };
    Ok(own.map(setting).collect())
}

/// The settings of the repository around this directory, as `key` and `value`, that make git run a program although
/// it only reads files or commits. Other programs read with git without asking the person. Empty without a
/// repository. Blocks.
pub(crate) fn programs_by_looking(directory: &Path) -> Vec<(String, String)> {
    // If git fails here, it fails for the other programs too.
    let settings = settings(directory.into()).unwrap_or_default();
    let own: Vec<_> = settings.into_iter().filter(|setting| setting.is_of_repository).collect();
    let is_partial = own.iter().any(Setting::makes_partial);
    let runs = |setting: &Setting| {
        runs_by_looking(&setting.key, &setting.value) || is_partial && setting.fetches_by_program()
    };
    own.into_iter().filter(runs).map(|setting| (setting.key, setting.value)).collect()
}

impl Setting {
    /// Whether git may miss objects of the repository, and fetches them as soon as it compares files.
    fn makes_partial(&self) -> bool {
        let is_promisor = self.key.starts_with("remote.") && self.key.ends_with(".promisor");
        self.key == "extensions.partialclone" || is_promisor
    }

    /// Whether git would fetch by a program that the repository names, or from elsewhere than over the network.
    fn fetches_by_program(&self) -> bool {
        let Some((section, rest)) = self.key.split_once('.') else { return false };
        let (name, last) = rest.rsplit_once('.').unwrap_or(("", rest));
        match (section, last) {
            ("remote", "url") => !is_over_network(&self.value),
            ("url", "insteadof") => !is_over_network(name),
            ("remote", "uploadpack" | "vcs") => true,
            _ => reaches_out(&self.key),
        }
    }
}

/// Whether git fetches from this address over the network, by itself or with ssh. Of any other kind of address, such as
/// `ext::PROGRAM`, it runs a program.
fn is_over_network(address: &str) -> bool {
    let has_scheme =
        ["https://", "http://", "ssh://", "git://"].iter().any(|scheme| address.starts_with(scheme));
    let is_host_and_path = || {
        let host =
            address.split_once(':').filter(|(host, path)| !host.contains('/') && !path.starts_with(':'));
        host.is_some_and(|(host, _)| !host.is_empty() && !host.starts_with('-'))
    };
    has_scheme || !address.contains("::") && is_host_and_path()
}

/// The ways by which other programs' calls of git may fetch in a repository that is not trusted. Among the others are
/// `ext`, which runs any program, and `file`, which runs one that the repository names.
const PROTOCOLS: &str = "http:https:ssh:git";

/// Environment variables that keep other programs' calls of git from running programs of the repository around this
/// directory, and from fetching on their own. Settings are numbered after `count_before` settings that already exist. Hooks of the person's own
/// configuration do run. Blocks.
pub(crate) fn variables_without_programs(
    directory: &Path,
    count_before: usize,
) -> impl Iterator<Item = (String, String)> {
    let settings = settings(directory.into()).unwrap_or_default();
    let hooks = |setting: &&Setting| setting.key == "core.hookspath" && !setting.is_of_repository;
    let hooks = settings.iter().rev().find(hooks).map_or("/dev/null", |setting| &setting.value).to_owned();
    let named = settings.iter().filter(|setting| setting.is_of_repository);
    let named =
        named.filter(|setting| runs_by_looking(&setting.key, &setting.value) || reaches_out(&setting.key));
    let named =
        with_required(named.map(|setting| setting.key.clone()).filter(|key| key != MONITOR).collect());
    let fixed = [(MONITOR.to_owned(), "false".to_owned()), ("core.hooksPath".to_owned(), hooks)];
    let all: Vec<_> = fixed
        .into_iter()
        .chain(named.into_iter().map(|key| (key.clone(), instead_of(&key).to_owned())))
        .collect();
    let count = ("GIT_CONFIG_COUNT".to_owned(), (count_before + all.len()).to_string());
    let each = all.into_iter().enumerate().flat_map(move |(n, (key, value))| {
        let n = count_before + n;
        [(format!("GIT_CONFIG_KEY_{n}"), key), (format!("GIT_CONFIG_VALUE_{n}"), value)]
    });
    let fetching = [("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", PROTOCOLS)];
    each.chain([count]).chain(fetching.map(|(name, value)| (name.to_owned(), value.to_owned())))
}

const MONITOR: &str = "core.fsmonitor";

fn runs_by_looking(key: &str, value: &str) -> bool {
    const SWITCHES: [&str; 9] = ["", "true", "false", "yes", "no", "on", "off", "1", "0"];
    // The values that git-lfs itself configures: it is a program of the person, if they have it.
    const LARGE_FILES: [&str; 3] = ["git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process"];
    match key {
        MONITOR => !SWITCHES.contains(&value.to_lowercase().as_str()),
        "diff.external" | "gpg.program" | "core.alternaterefscommand" => !value.is_empty(),
        _ if key.starts_with("filter.lfs.") && LARGE_FILES.contains(&value) => false,
        _ => names_a_program(key) || key.starts_with("gpg.") && key.ends_with(".program"),
    }
}

fn reaches_out(key: &str) -> bool {
    let is_of_credentials = key.starts_with("credential.") && key.ends_with(".helper");
    is_of_credentials
        || matches!(key, "core.sshcommand" | "core.gitproxy" | "core.askpass" | "core.pager" | "core.editor")
}

fn names_a_program(key: &str) -> bool {
    let parts = key.split_once('.').and_then(|(section, rest)| Some((section, rest.rsplit_once('.')?.1)));
    matches!(
        parts,
        Some(
            ("filter", "clean" | "smudge" | "process")
                | ("diff", "command" | "textconv")
                | ("merge", "driver")
        )
    )
}

fn failure<S: AsRef<OsStr>>(output: &Output, args: &[S]) -> WorkerError {
    let said = in_one_line(&String::from_utf8_lossy(&output.stderr));
    WorkerError::Git {
        what: name_of(args),
        why: if said.is_empty() { output.status.to_string() } else { said },
    }
}

/// The name of a git command.
fn name_of<S: AsRef<OsStr>>(args: &[S]) -> String {
    args.first().map(|arg| arg.as_ref().to_string_lossy().into_owned()).unwrap_or_default()
}

/// Git's message without its hints and without control characters, which file names may contain.
fn in_one_line(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let shown = lines.take(TOLD_LINES).collect::<Vec<_>>().join("; ");
    shown.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Runs git and returns its output as text, without the newline at the end.
pub(super) fn line<'a, S: AsRef<OsStr>>(at: impl Into<At<'a>>, args: &[S]) -> Result<String, WorkerError> {
    git(at, None, args).map(|out| String::from_utf8_lossy(&out).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use rapport_core::SessionId;

    use super::*;
    use crate::workers::local::Directory;
    use crate::workers::worktrees::{WorktreeStart, Worktrees};

    /// Prepares a repository as an attacker would, with plain git.
    fn prepare(directory: &Path, args: &[&str]) {
        let identity =
            ["-c", "user.name=Eve", "-c", "user.email=eve@localhost", "-c", "core.fsmonitor=false"];
        let done = Command::new("git").current_dir(directory).args(identity).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// A repository without one of its objects, which it promises to get by this setting; the file that its program
    /// makes.
    fn partial(folder: &Path, key: &str, value: &str) -> PathBuf {
        let (app, ran) = (folder.join("app"), folder.join("ran"));
        fs::create_dir_all(&app).unwrap();
        prepare(&app, &["init", "--quiet"]);
        fs::write(app.join("a.txt"), (0..400).map(|n| format!("{n}\n")).collect::<String>()).unwrap();
        prepare(&app, &["add", "--all"]);
        prepare(&app, &["commit", "--quiet", "-m", "begun"]);
        // To see that the file was renamed and changed, git needs its former content.
        fs::rename(app.join("a.txt"), app.join("b.txt")).unwrap();
        fs::write(app.join("b.txt"), (0..401).map(|n| format!("{n}\n")).collect::<String>()).unwrap();
        prepare(&app, &["add", "--all"]);
        let object = line(app.as_path(), &["rev-parse", "HEAD:a.txt"]).unwrap();
        fs::remove_file(app.join(".git/objects").join(&object[..2]).join(&object[2..])).unwrap();
        for (key, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "evil"),
            ("remote.evil.promisor", "true"),
            ("remote.evil.url", "ssh://nobody@localhost:1/x"),
            ("protocol.ext.allow", "always"),
            ("protocol.file.allow", "always"),
            (key, &value.replace("RAN", &ran.display().to_string())),
        ] {
            prepare(&app, &["config", key, value]);
        }
        ran
    }

    /// Git fetches an object that it misses as soon as it compares files, by whatever program the repository names.
    #[test]
    fn no_program_fetches_what_a_shipped_repository_lacks() {
        for (key, value) in [
            ("remote.evil.url", "ext::sh -c touch% RAN"),
            ("core.sshCommand", "touch RAN #"),
            ("url.ext::sh -c touch% RAN% .insteadOf", "ssh://"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let key = key.replace("RAN", &folder.path().join("ran").display().to_string());
            let ran = partial(folder.path(), &key, value);
            let app = folder.path().join("app");
            let status = |variables: Vec<(String, String)>| {
                let mut git = Command::new("git");
                git.args(["status", "--short"]).current_dir(&app).envs(variables).output().unwrap()
            };
            let found = programs_by_looking(&app);
            assert!(found.iter().any(|(found, _)| found.eq_ignore_ascii_case(&key)), "{key}: {found:?}");
            assert!(!ran.exists(), "{key}: finding it runs nothing");
            status(variables_without_programs(&app, 0).collect());
            assert!(!ran.exists(), "{key}");
            // The same repository has it run: the file would have been there.
            status(Vec::new());
            assert!(ran.exists(), "{key}");
        }
    }

    #[test]
    fn a_partial_clone_from_the_network_brings_no_program() {
        for address in ["https://example.org/a.git", "git@example.org:a/b.git", "ssh://git@example.org/a"] {
            let folder = tempfile::tempdir().unwrap();
            partial(folder.path(), "remote.evil.url", address);
            assert_eq!(programs_by_looking(&folder.path().join("app")), [], "{address}");
        }
    }

    #[test]
    fn an_old_git_is_told_from_a_new_one() {
        for (said, is_old) in [
            ("git version 2.39.5", true),
            ("git version 2.39.5 (Apple Git-154)", true),
            ("git version 1.9", true),
            ("git version 2.40.0", false),
            ("git version 2.47.3.windows.1", false),
            ("git version 3.0.0-rc1", false),
            ("git", false),
        ] {
            assert_eq!(too_old(said).is_some(), is_old, "{said}");
        }
        let error = too_old("git version 2.39.5 (Apple Git-154)").unwrap();
        assert_eq!(error.to_string(), "git 2.40 or newer is needed, this is 2.39.5");
    }

    /// An error contains git's own message, without hints and control characters; if there is none, the exit status.
    #[test]
    fn a_failure_names_the_command_and_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path(), &["init", "--quiet"]);
        let error = line(folder.path(), &["rev-parse", "none"]).unwrap_err().to_string();
        assert!(error.starts_with("git rev-parse failed: fatal: ambiguous argument 'none'"), "{error}");
        assert!(!error.contains('\n'), "{error}");
        let error = line(folder.path(), &["rev-parse", "--verify", "--quiet", "none"]).unwrap_err();
        assert_eq!(error.to_string(), "git rev-parse failed: exit status: 1");
        assert_eq!(in_one_line("hint: try\n\nerror: a\u{1b}[31m\n  b\n"), "error: a\u{fffd}[31m; b");
    }

    /// Takes no more than this many bytes.
    struct Narrow(usize);

    impl Write for Narrow {
        fn write(&mut self, content: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(content.len()).ok_or(io::ErrorKind::BrokenPipe)?;
            Ok(content.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The output is never in memory as a whole: the writer gets it while git still writes, and its failure ends git.
    #[test]
    fn output_is_passed_on_while_git_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path(), &["init", "--quiet"]);
        let line = "a line that git shows as added\n";
        fs::write(folder.path().join("large.txt"), line.repeat(200_000)).unwrap();
        prepare(folder.path(), &["add", "."]);
        prepare(folder.path(), &["commit", "--quiet", "-m", "begun"]);
        let show = ["show", "--no-color", "HEAD"];
        let ended = git_to(folder.path(), &show, &mut Narrow(1_000_000)).unwrap_err();
        assert_eq!(ended.to_string(), "git show was not read to its end: broken pipe");
        let mut whole = Vec::new();
        git_to(folder.path(), &show, &mut whole).unwrap();
        assert!(whole.len() > line.len() * 200_000 && whole.ends_with(line.as_bytes()));
        let failed = git_to(folder.path(), &["show", "none"], &mut whole).unwrap_err();
        assert!(
            failed.to_string().starts_with("git show failed: fatal: ambiguous argument 'none'"),
            "{failed}"
        );
    }

    /// The same programs, for the calls of git that another program makes.
    #[test]
    fn what_a_repository_has_others_run_is_known_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path();
        assert_eq!(programs_by_looking(app), [], "no repository");
        prepare(app, &["init", "--quiet"]);
        fs::write(app.join(".gitattributes"), "*.x filter=evil\n").unwrap();
        fs::write(app.join("a.x"), "a\n").unwrap();
        prepare(app, &["add", "."]);
        let mark = app.join(".git/mark");
        let evil = format!("touch {}; cat", mark.display());
        for (key, value) in [
            ("core.fsmonitor", "true"),
            ("core.sshCommand", "ssh -i key"),
            ("user.name", "Eve"),
            ("filter.lfs.clean", "git-lfs clean -- %f"),
        ] {
            prepare(app, &["config", key, value]);
        }
        assert_eq!(programs_by_looking(app), [], "what a person has");
        for key in ["core.fsmonitor", "filter.evil.clean", "gpg.ssh.program", "filter.lfs.smudge"] {
            prepare(app, &["config", key, &evil]);
        }
        prepare(app, &["config", "filter.evil.required", "true"]);
        let found = programs_by_looking(app);
        let expected = ["core.fsmonitor", "filter.lfs.smudge", "filter.evil.clean", "gpg.ssh.program"];
        let mut keys: Vec<_> = found.iter().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        let mut wanted = expected.to_vec();
        wanted.sort_unstable();
        assert_eq!(keys, wanted);
        assert!(found.iter().all(|(_, value)| *value == evil), "{found:?}");

        fs::write(app.join("a.x"), "b\n").unwrap();
        let status = |env: Vec<(String, String)>| {
            let mut git = Command::new("git");
            let status = git.current_dir(app).args(["status", "--short"]).envs(env).output().unwrap();
            (status.status.success(), mark.exists())
        };
        assert_eq!(status(variables_without_programs(app, 0).collect()), (true, false));
        let before =
            [("GIT_CONFIG_KEY_0".to_owned(), "a.b".to_owned()), ("GIT_CONFIG_VALUE_0".into(), "c".into())];
        let after = before.into_iter().chain(variables_without_programs(app, 1)).collect();
        assert_eq!(status(after), (true, false));
        assert!(status(Vec::new()).1, "they would have run");
    }

    /// A `.git` from an archive runs nothing, whatever Rapport calls.
    #[test]
    fn programs_that_a_repository_names_are_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let (app, marks) = (folder.path().join("app"), folder.path().join("marks"));
        fs::create_dir_all(app.join("within")).unwrap();
        fs::create_dir(&marks).unwrap();
        let mark = |name: &str| format!("touch {}; cat", marks.join(name).display());
        prepare(&app, &["init", "--quiet"]);
        prepare(&app.join("within"), &["init", "--quiet"]);
        for (path, text) in
            [("a.x", "a\n"), (".gitattributes", "*.x filter=evil diff=evil\n"), ("within/b", "b\n")]
        {
            fs::write(app.join(path), text).unwrap();
        }
        for place in [app.join("within"), app.clone()] {
            prepare(&place, &["add", "."]);
            prepare(&place, &["commit", "--quiet", "-m", "begun"]);
        }
        fs::write(app.join("included"), format!("[filter \"evil\"]\n\tprocess = {}\n", mark("process")))
            .unwrap();
        for (key, name) in [
            ("core.fsmonitor", "monitor"),
            ("core.pager", "pager"),
            ("core.sshCommand", "ssh"),
            ("diff.external", "external"),
            ("diff.evil.textconv", "textconv"),
            ("diff.evil.command", "command"),
            ("filter.evil.clean", "clean"),
            ("filter.evil.smudge", "smudge"),
        ] {
            prepare(&app, &["config", key, &mark(name)]);
            prepare(&app.join("within"), &["config", key, &mark(&format!("within-{name}"))]);
        }
        prepare(&app, &["config", "filter.evil.required", "true"]);
        prepare(&app, &["config", "include.path", "../included"]);
        for hook in ["post-checkout", "post-index-change", "reference-transaction", "pre-commit"] {
            let path = app.join(".git/hooks").join(hook);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("#!/bin/sh\n{}\n", mark(hook))).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let place = Directory::at(&app);
        let baseline = place.state().unwrap();
        fs::write(app.join("a.x"), "changed\n").unwrap();
        fs::write(app.join("within/b"), "changed\n").unwrap();
        let result = place.state().unwrap();
        let diff = place.diff(&baseline, &result).unwrap();
        assert!(diff.contains("-a\n+changed\n"), "{diff}");
        let (trees, one) = (Worktrees::new(folder.path().join("trees")), SessionId::new("one"));
        let start_at = WorktreeStart { state: baseline.clone(), base: baseline };
        let tree = trees.make_at(&one, &app, &start_at).unwrap();
        assert_eq!(fs::read_to_string(tree.directory().join("a.x")).unwrap(), "a\n");
        trees.remove(&one, &app).unwrap();
        let left: Vec<_> = fs::read_dir(&marks).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [""; 0]);
    }
}
