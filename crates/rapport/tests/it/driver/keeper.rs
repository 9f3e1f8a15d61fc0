//! The agent dies with its host, whatever kills the host, and so does everything it started.

use std::fs;
use std::io::{ErrorKind, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt, FdMapping};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport::agents::keeper::{BESIDE, CLOSE_INPUT, LIFELINE};

use crate::support::patience::look_beside_tasks;

const KEEPER: &str = env!("CARGO_BIN_EXE_rapport");

/// The agent, a child of its, one that left the group and the session, and one whose parent is gone.
const FAMILY: &str = "echo $$ > agent.pid
sleep 1000 & echo $! > child.pid
setsid sh -c 'echo $$ > setsid.pid; sleep 1000' &
(setsid sh -c 'echo $$ > orphan.pid; exec sleep 1000' &) &
wait";
const MEMBERS: [&str; 4] = ["agent.pid", "child.pid", "setsid.pid", "orphan.pid"];

#[tokio::test]
async fn killing_the_host_ends_the_whole_family() {
    let home = tempfile::tempdir().unwrap();
    // The host: it holds the writing end of a pipe, and nothing but its death closes that.
    let host = "mkfifo line; exec 4<>line; \"$KEEPER\" keep -- sh -c \"$FAMILY\" 3<line 4>&- & exec 5>line 4>&-; wait";
    let mut host = Command::new("sh")
        .args(["-c", host])
        .current_dir(home.path())
        .env("KEEPER", KEEPER)
        .env("FAMILY", FAMILY)
        .process_group(0)
        .spawn()
        .unwrap();
    for member in MEMBERS {
        wait_for_file(&home.path().join(member)).await;
    }
    kill(Pid::from_raw(host.id() as i32), Signal::SIGKILL).unwrap();
    host.wait().unwrap();
    let killed = Instant::now();
    for member in MEMBERS {
        wait_until_gone(&home.path().join(member)).await;
    }
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
}

#[tokio::test]
async fn an_end_of_its_own_ends_what_it_left_behind() {
    let home = tempfile::tempdir().unwrap();
    let leaving = FAMILY
        .replace("\nwait", "\nwhile [ ! -s orphan.pid ] || [ ! -s setsid.pid ]; do sleep 0.02; done; exit 5");
    let (_line, mut keeper) = keep(&leaving, home.path());
    assert_eq!(keeper.wait().unwrap().code(), Some(5));
    assert!(MEMBERS.iter().all(|member| gone(&home.path().join(member))));
}

/// A process that is killed closes its files before the system signals its children. Host and keeper are gone here, and
/// what is left of the agent still does not read the end of its input.
#[tokio::test]
async fn the_input_stays_open_until_the_agent_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let (input, hosts_end) = std::io::pipe().unwrap();
    let script = "sleep 1000 & echo $! > child.pid; echo $$ > agent.pid; wait";
    let (_line, mut keeper) = keep_with_input(script, home.path(), &input, &hosts_end);
    let [agent, child] = ["agent.pid", "child.pid"].map(|name| home.path().join(name));
    wait_for_file(&agent).await;
    drop(hosts_end);
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    wait_until_gone(&agent).await;
    let read = read_now(&input);
    kill(pid(&child), Signal::SIGKILL).unwrap();
    wait_until_gone(&child).await;
    assert_eq!(read.map_err(|error| error.kind()), Err(ErrorKind::WouldBlock), "it read the end");
    assert_eq!(read_now(&input).unwrap(), 0, "when nothing is left, nothing holds it");
}

#[test]
fn an_input_that_the_host_closes_is_closed() {
    let home = tempfile::tempdir().unwrap();
    let (input, hosts_end) = std::io::pipe().unwrap();
    let (mut line, mut keeper) = keep_with_input("cat > /dev/null; exit 7", home.path(), &input, &hosts_end);
    drop(hosts_end);
    line.write_all(CLOSE_INPUT).unwrap();
    assert_eq!(keeper.wait().unwrap().code(), Some(7));
}

#[test]
fn exit_codes_pass_through() {
    let home = tempfile::tempdir().unwrap();
    for (script, code) in [("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 137), ("kill -15 $$", 143)] {
        let (_line, mut keeper) = keep(script, home.path());
        assert_eq!(keeper.wait().unwrap().code(), Some(code), "{script}");
    }
}

#[test]
fn a_signal_to_the_whole_group_does_not_take_the_keeper_first() {
    let home = tempfile::tempdir().unwrap();
    let (_line, mut keeper) = keep("trap 'exit 6' TERM; kill -TERM 0; sleep 5", home.path());
    assert_eq!(keeper.wait().unwrap().code(), Some(6));
}

#[test]
fn pipes_close_when_the_agent_closes_them() {
    let home = tempfile::tempdir().unwrap();
    let (line, keeper) = keep("exec > /dev/null; sleep 1000", home.path());
    let mut stdout = keeper.stdout.unwrap();
    assert_eq!(std::io::read_to_string(&mut stdout).unwrap(), "");
    drop(line);
}

#[test]
fn a_program_that_is_not_there() {
    let output =
        Command::new(KEEPER).args(["keep", "--", "/no/such/program"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("cannot start /no/such/program: "));
}

fn keep(script: &str, home: &Path) -> (PipeWriter, Child) {
    start(script, home, Stdio::null(), Vec::new())
}

fn keep_with_input(script: &str, home: &Path, input: &PipeReader, end: &PipeWriter) -> (PipeWriter, Child) {
    let held = FdMapping { parent_fd: end.try_clone().unwrap().into(), child_fd: BESIDE };
    start(script, home, input.try_clone().unwrap().into(), vec![held])
}

fn start(script: &str, home: &Path, stdin: Stdio, mut mappings: Vec<FdMapping>) -> (PipeWriter, Child) {
    let (reading, line) = std::io::pipe().unwrap();
    let mut command = Command::new(KEEPER);
    command.args(["keep", "--", "sh", "-c", script]).current_dir(home).process_group(0);
    command.stdin(stdin).stdout(Stdio::piped());
    mappings.push(FdMapping { parent_fd: reading.into(), child_fd: LIFELINE });
    command.fd_mappings(mappings).unwrap();
    (line, command.spawn().unwrap())
}

/// What there is to read at once.
fn read_now(mut input: &PipeReader) -> std::io::Result<usize> {
    nix::fcntl::fcntl(input, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
    input.read(&mut [0])
}

fn pid(file: &Path) -> Pid {
    Pid::from_raw(fs::read_to_string(file).unwrap().trim().parse().unwrap())
}

/// Whether the process that wrote its id into this file is no more.
pub(super) fn gone(file: &Path) -> bool {
    let pid = pid(file);
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')),
        Err(_) => kill(pid, None).is_err(),
    }
}

pub(super) async fn wait_until_gone(file: &Path) {
    poll(|| gone(file), file).await;
}

pub(super) async fn wait_for_file(file: &Path) {
    poll(|| fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')), file).await;
}

async fn poll(done: impl Fn() -> bool, file: &Path) {
    let found = look_beside_tasks(Duration::from_secs(10), || done().then_some(())).await;
    assert!(found.is_some(), "waited in vain for {}", file.display());
}
