//! The arguments of bubblewrap: what is inside a sandbox, and what is not.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rapport_durable as durable;

use crate::workers::git::line;
use crate::workers::network::Network;
use crate::workers::process::Launch;
use crate::workers::{WorkerError, file_error, repository};

/// The sandbox's own namespaces. The user is the same, without additional rights, even for root.
pub(super) const APART: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
];

/// Parts of the machine that every program needs.
const SYSTEM: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/snap"];

/// Files of `/etc` that programs need. The rest may contain secrets if a sandbox belongs to root.
const ETC: [&str; 37] = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gitconfig",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki",
    "profile",
    "protocols",
    "python3",
    "resolv.conf",
    "services",
    "shells",
    "ssl",
    "timezone",
    "xdg",
];

/// Folders with tools that people install in their homes. None of them is for secrets.
const TOOLS: [&str; 15] = [
    ".bun/bin",
    ".cargo/bin",
    ".deno/bin",
    ".fnm",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/uv",
    ".npm-global",
    ".nvm",
    ".pyenv",
    ".rustup",
    ".sdkman",
    ".volta",
];

/// Variables that name certificate files.
const CERTIFICATES: [&str; 2] = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];
/// Variables about paths that do not exist inside.
const OUTSIDE: [&str; 2] = ["SSH_AUTH_SOCK", "TMPDIR"];

/// The visible settings of the repository, in the agent's home.
const SETTINGS: &str = ".repository-config";

#[derive(Debug)]
pub(super) struct Walls {
    root: PathBuf,
    home: PathBuf,
    /// The repository first, then those whose objects it borrows.
    repository: Vec<PathBuf>,
    project: PathBuf,
    person: Option<PathBuf>,
}

impl Walls {
    /// The sandbox of the worktree `root` of this project, with a home for the agent.
    pub(super) fn around(
        root: &Path,
        project: &Path,
        home: &Path,
        person: Option<&Path>,
    ) -> Result<Self, WorkerError> {
        let common = project.join(line(project, &["rev-parse", "--git-common-dir"])?);
        let common = common.canonicalize().map_err(file_error("find", &common))?;
        // A list of directories, one per line. It may not exist.
        let borrowed = std::fs::read(common.join("objects/info/alternates")).unwrap_or_default();
        let borrowed = borrowed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let objects = common.join("objects");
        let borrowed = borrowed.map(|path| objects.join(OsStr::from_bytes(path)));
        Ok(Self {
            root: root.to_owned(),
            home: home.to_owned(),
            project: project.to_owned(),
            repository: [common].into_iter().chain(borrowed).collect(),
            person: person.map(Path::to_owned),
        })
    }

    /// The arguments of bubblewrap before the program.
    pub(super) fn arguments(&self, launch: &Launch<'_>) -> io::Result<Vec<OsString>> {
        let mut args = BwrapArgs::default();
        args.words(APART);
        args.words(&["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
        SYSTEM.iter().for_each(|path| args.show(path));
        ETC.iter().for_each(|name| args.show(Path::new("/etc").join(name)));
        let tools = TOOLS.iter().chain(launch.tools);
        let tools = self.person.iter().flat_map(|person| tools.clone().map(|tool| person.join(tool)));
        tools.for_each(|tool| args.show(tool));
        // A directory of programs that contains the person's home would expose all of it.
        let holds_home = |path: &PathBuf| self.person.as_ref().is_some_and(|person| person.starts_with(path));
        read_by(launch).into_iter().filter(|path| !holds_home(path)).for_each(|path| args.show(path));
        self.repository.iter().for_each(|path| args.show(path));
        let settings = self.home.join(SETTINGS);
        durable::replace(&settings, &repository::settings(&self.project).map_err(io::Error::other)?)?;
        args.0.extend(["--ro-bind".into(), settings.into(), self.repository[0].join("config").into()]);
        args.give(&self.root);
        args.give(&self.home);
        // The agent must not decide which repository the worktree belongs to.
        args.show(self.root.join(".git"));
        args.words(&["--remount-ro", "/"]);
        Ok(args.0)
    }

    /// Adapts the variables of a program inside.
    pub(super) fn change_environment(&self, env: &mut Vec<(OsString, OsString)>, network: &Network) {
        let is_proxy =
            |name: &OsStr| name.to_str().is_some_and(|name| name.to_lowercase().ends_with("_proxy"));
        env.retain(|(name, _)| {
            let is_unreachable = *network != Network::Open && is_proxy(name);
            !OUTSIDE.iter().any(|outside| name == outside) && name != "HOME" && !is_unreachable
        });
        env.push(("HOME".into(), self.home.clone().into()));
        // The repository is read-only.
        env.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
        let rustup =
            self.person.as_ref().map(|person| person.join(".rustup")).filter(|rustup| rustup.is_dir());
        env.extend(rustup.map(|rustup| ("RUSTUP_HOME".into(), rustup.into())));
    }
}

/// All files outside that a program needs: itself, those its arguments name, and certificates from its variables.
fn read_by(launch: &Launch<'_>) -> BTreeSet<PathBuf> {
    let variable =
        |name: &str| launch.env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value);
    let path = variable("PATH").map(OsString::as_os_str).unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
    let program = Path::new(launch.program);
    let program = match program.is_absolute() {
        true => Some(program.to_owned()),
        false => folders.iter().map(|folder| folder.join(program)).find(|path| path.is_file()),
    };
    let arguments = launch.args.iter().map(|arg| Path::new(value(arg))).filter(|path| path.is_absolute());
    let certificates = CERTIFICATES.iter().filter_map(|name| variable(name)).map(Path::new);
    let named = arguments.chain(certificates).filter(|path| path.is_file()).map(Path::to_owned);
    let files = program.into_iter().chain([launch.keeper.to_owned()]).chain(named);
    let whole = files.flat_map(|path| [path.canonicalize().unwrap_or_else(|_| path.clone()), path]);
    // A script needs the package it is installed with.
    let whole = whole.map(|path| package(&path).unwrap_or(path));
    whole.chain(folders).collect()
}

/// The value after `=` in a flag, or the whole word.
fn value(arg: &OsStr) -> &OsStr {
    let joined =
        arg.as_bytes().starts_with(b"--").then(|| arg.as_bytes().iter().position(|byte| *byte == b'='));
    joined.flatten().map_or(arg, |at| OsStr::from_bytes(&arg.as_bytes()[at + 1..]))
}

/// The directory of packages that contains a file.
fn package(path: &Path) -> Option<PathBuf> {
    let folders: Vec<_> = path.ancestors().collect();
    folders.into_iter().rev().find(|folder| folder.ends_with("node_modules")).map(Path::to_owned)
}

/// Arguments of bubblewrap. Later ones take precedence.
#[derive(Default)]
struct BwrapArgs(Vec<OsString>);

impl BwrapArgs {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    /// Read-only, at the same path. Ignored if it does not exist or may not be read.
    fn show(&mut self, path: impl AsRef<Path>) {
        if path.as_ref().exists() {
            self.bind("--ro-bind-try", path.as_ref());
        }
    }

    /// Writable, at the same path.
    fn give(&mut self, path: &Path) {
        self.bind("--bind", path);
    }

    fn bind(&mut self, how: &str, path: &Path) {
        self.0.extend([how.into(), path.into(), path.into()]);
    }
}
