//! The agent dies with its host, whatever kills the host, and so does everything it started.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt, FdMapping};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport::agents::keeper::LIFELINE;

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

fn keep(script: &str, home: &Path) -> (std::io::PipeWriter, std::process::Child) {
    let (reading, line) = std::io::pipe().unwrap();
    let mut command = Command::new(KEEPER);
    command.args(["keep", "--", "sh", "-c", script]).current_dir(home).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.fd_mappings(vec![FdMapping { parent_fd: reading.into(), child_fd: LIFELINE }]).unwrap();
    (line, command.spawn().unwrap())
}

/// Whether the process that wrote its id into this file is no more.
pub(super) fn gone(file: &Path) -> bool {
    let pid: i32 = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')),
        Err(_) => kill(Pid::from_raw(pid), None).is_err(),
    }
}

pub(super) async fn wait_until_gone(file: &Path) {
    poll(|| gone(file), file).await;
}

pub(super) async fn wait_for_file(file: &Path) {
    poll(|| fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')), file).await;
}

async fn poll(done: impl Fn() -> bool, file: &Path) {
    for _ in 0..1000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited in vain for {}", file.display());
}
