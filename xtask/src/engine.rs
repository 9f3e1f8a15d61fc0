//! The container engine of the tests: Debian's dockerd on a socket and a data directory of its own, beside any other on
//! this machine, with one image that is made from the programs of this machine. Needs root.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::dockerd::dockerd;
use crate::shell::{self, Outcome, exists};
use crate::test;

/// The variable with the address of the engine, as tests read it.
pub(crate) const VARIABLE: &str = "RAPPORT_TEST_ENGINE";
/// The image of the tests.
const IMAGE: &str = "rapport-test";

/// How long dockerd may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);

/// Programs of the image. Git has a folder of its own besides.
const PROGRAMS: [&str; 34] = [
    "sh", "bash", "git", "cat", "chmod", "cp", "cut", "dd", "dirname", "echo", "env", "false", "grep",
    "head", "id", "ln", "ls", "mkdir", "mktemp", "mv", "node", "ps", "pwd", "realpath", "rm", "sed", "seq",
    "sleep", "sort", "sync", "tail", "touch", "tr", "true",
];
/// Libraries that programs load by name, or that the agent's program needs besides: parts of the C library.
const LIBRARIES: [&str; 8] = [
    "libnss_files.so.2",
    "libnss_dns.so.2",
    "libresolv.so.2",
    "libgcc_s.so.1",
    "librt.so.1",
    "libpthread.so.0",
    "libdl.so.2",
    "libm.so.6",
];
const LIBRARY_FOLDERS: [&str; 3] = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64"];

/// Waits until its input closes, then ends the engine with all that is in it.
const GUARD: &str = r#"cat > /dev/null
left=$(docker --host "$1" ps --all --quiet)
[ -z "$left" ] || docker --host "$1" rm --force --volumes $left > /dev/null
docker --host "$1" volume prune --force > /dev/null
kill "$2""#;

/// A running engine, until it is dropped, or until this process ends in whatever way.
pub(crate) struct Engine {
    folder: PathBuf,
    dockerd: Child,
    /// Ends the engine as soon as this process has closed its input, or is gone: no signal prevents that.
    guard: Option<Child>,
}

impl Engine {
    /// What tests need to know of it.
    pub(crate) fn variables(&self) -> [(OsString, OsString); 1] {
        [(VARIABLE.into(), self.address().into())]
    }

    fn address(&self) -> String {
        format!("unix://{}", self.folder.join("d.sock").display())
    }
}

/// Why there is no engine here; `None` if there can be one.
pub(crate) fn impossible() -> Option<String> {
    let is_root =
        Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !is_root {
        return Some("only root can start a container engine".into());
    }
    if !exists("dockerd", &["--version"]) && !exists("apt-get", &["--version"]) {
        return Some("dockerd is missing, and this is not Debian".into());
    }
    None
}

/// `cargo xtask engine`: runs until it is interrupted.
pub(crate) fn run() -> Outcome {
    let mut engine = start()?;
    println!("\nexport {VARIABLE}={}", engine.address());
    println!("Ctrl-C, or any other end of this process, ends it.");
    engine.dockerd.wait().map(drop).map_err(|error| error.to_string())
}

/// Installs and starts it, with its image.
pub(crate) fn start() -> Result<Engine, String> {
    if let Some(why) = impossible() {
        return Err(why);
    }
    test::install(&[("dockerd", "docker.io")])?;
    let folder = folder();
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    end_former(&folder);
    let log = File::create(folder.join("log")).map_err(|error| error.to_string())?;
    let mut command = dockerd(&folder);
    command
        .stdout(log.try_clone().map_err(|error| error.to_string())?)
        .stderr(log)
        // Ctrl-C at the tests would end it before what needs it.
        .process_group(0);
    let dockerd = command.spawn().map_err(|error| format!("cannot run dockerd: {error}"))?;
    let mut engine = Engine { folder, dockerd, guard: None };
    engine.guard = Some(engine.guarded()?);
    let began = Instant::now();
    while !engine
        .docker(&["version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
    {
        let is_gone = engine.dockerd.try_wait().is_ok_and(|status| status.is_some());
        if is_gone || began.elapsed() > PATIENCE {
            return Err(format!("dockerd does not answer; see {}", engine.folder.join("log").display()));
        }
        sleep(PAUSE);
    }
    engine.import()?;
    Ok(engine)
}

impl Engine {
    fn guarded(&self) -> Result<Child, String> {
        Command::new("sh")
            .args(["-c", GUARD, "sh", &self.address(), &self.dockerd.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends this process must not end it.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot run sh: {error}"))
    }

    fn docker(&self, args: &[&str]) -> Command {
        let mut docker = Command::new("docker");
        docker.arg("--host").arg(self.address()).args(args);
        docker
    }

    /// Makes the image, unless it was made from these very programs.
    fn import(&self) -> Outcome {
        let files = files()?;
        let made_from = self.folder.join("image");
        let list: String = files.iter().map(|file| about(file)).collect();
        let has_image =
            self.docker(&["image", "inspect", IMAGE]).output().is_ok_and(|out| out.status.success());
        if has_image && fs::read_to_string(&made_from).is_ok_and(|before| before == list) {
            return Ok(());
        }
        println!("making the image {IMAGE}");
        let tree = self.folder.join("tree");
        let _ = fs::remove_dir_all(&tree);
        lay_out(&tree, &files, &git_folder()?)
            .map_err(|error| format!("cannot make {}: {error}", tree.display()))?;
        let archive = self.folder.join("image.tar");
        shell::run(Command::new("tar").arg("-C").arg(&tree).arg("-cf").arg(&archive).arg("."))?;
        shell::run(self.docker(&["import"]).arg(&archive).arg(IMAGE).stdout(Stdio::null()))?;
        let _ = fs::remove_dir_all(&tree);
        let _ = fs::remove_file(&archive);
        fs::write(&made_from, list).map_err(|error| error.to_string())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        match &mut self.guard {
            Some(guard) => {
                drop(guard.stdin.take());
                let _ = guard.wait();
            }
            None => drop(self.dockerd.kill()),
        }
        let _ = self.dockerd.wait();
    }
}

/// Its folder. The path of a socket must be short, so it is not in the target directory.
fn folder() -> PathBuf {
    let digest = shell::target().to_string_lossy().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Path::new("/var/tmp").join(format!("rapport-engine-{:08x}", digest as u32))
}

/// Ends an engine that was left running, and removes what a killed one leaves.
fn end_former(folder: &Path) {
    for file in ["d.pid", "exec/containerd/containerd.pid"] {
        let path = folder.join(file);
        if let Ok(pid) = fs::read_to_string(&path) {
            let pid = pid.trim();
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let is_ours = String::from_utf8_lossy(&command).contains(&*folder.to_string_lossy());
            if is_ours && exists("kill", &[pid]) {
                let began = Instant::now();
                while Path::new("/proc").join(pid).exists() && began.elapsed() < PATIENCE {
                    sleep(PAUSE);
                }
            }
        }
        let _ = fs::remove_file(path);
    }
}

/// Everything that goes into the image: programs, their libraries, and folders.
fn files() -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for program in PROGRAMS {
        let found =
            ["/usr/local/bin", "/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(program));
        let found = found.into_iter().find(|path| path.is_file());
        match found {
            Some(found) => files.push(found),
            // An older version of the agent needs it, and its tests say so.
            None if program == "node" => {}
            None => return Err(format!("{program} is missing")),
        }
    }
    walk(&git_folder()?, &mut files);
    let folders = LIBRARY_FOLDERS.iter().map(Path::new);
    let named = folders.flat_map(|folder| LIBRARIES.iter().map(|name| folder.join(name)));
    let mut libraries: Vec<PathBuf> = named.filter(|path| path.is_file()).collect();
    for file in &files {
        // Scripts and links have none.
        let linked =
            Command::new("ldd").arg(file).output().map_err(|error| format!("cannot run ldd: {error}"))?;
        let linked = String::from_utf8_lossy(&linked.stdout).into_owned();
        libraries.extend(linked.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from));
    }
    files.extend(libraries.into_iter().filter(|path| path.is_file()));
    files.sort();
    files.dedup();
    Ok(files)
}

/// Where git has its own programs.
fn git_folder() -> Result<PathBuf, String> {
    let said = Command::new("git")
        .arg("--exec-path")
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&said.stdout).trim()))
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) { walk(&path, files) } else { files.push(path) }
    }
}

fn about(file: &Path) -> String {
    let changed = fs::metadata(file).and_then(|about| about.modified()).ok();
    format!("{} {changed:?}\n", file.display())
}

/// Copies the files to a tree, at their own paths.
fn lay_out(tree: &Path, files: &[PathBuf], of_git: &Path) -> std::io::Result<()> {
    for folder in [
        "usr/bin",
        "usr/lib",
        "usr/lib64",
        "usr/sbin",
        "etc",
        "proc",
        "sys",
        "dev",
        "root",
        "home",
        "var/tmp",
    ] {
        fs::create_dir_all(tree.join(folder))?;
    }
    for (link, to) in [("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64"), ("sbin", "usr/sbin")] {
        symlink(to, tree.join(link))?;
    }
    fs::create_dir(tree.join("tmp"))?;
    for folder in ["tmp", "var/tmp"] {
        let mut open = fs::metadata(tree.join(folder))?.permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut open, 0o1777);
        fs::set_permissions(tree.join(folder), open)?;
    }
    fs::write(tree.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home:/bin/sh\n")?;
    fs::write(tree.join("etc/group"), "root:x:0:\nagent:x:1000:\n")?;
    fs::write(tree.join("etc/nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n")?;
    for file in files {
        let to = tree.join(file.strip_prefix("/").unwrap_or(file));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        let about = fs::symlink_metadata(file)?;
        // The many names of git are one program.
        let same = files.iter().find(|other| *other < file && about.nlink() > 1 && is_same(other, &about));
        if about.is_symlink() && file.starts_with(of_git) {
            symlink(fs::read_link(file)?, &to)?;
        } else if let Some(same) = same {
            fs::hard_link(tree.join(same.strip_prefix("/").unwrap_or(same)), &to)?;
        } else {
            fs::copy(file, &to)?;
        }
    }
    Ok(())
}

/// Whether both are names of one file.
fn is_same(file: &Path, about: &fs::Metadata) -> bool {
    fs::symlink_metadata(file).is_ok_and(|other| (other.dev(), other.ino()) == (about.dev(), about.ino()))
}
