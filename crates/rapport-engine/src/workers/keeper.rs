//! The keeper: a small process between Rapport and an agent, so that the agent dies with its host, whatever kills the
//! host, together with everything it started. An agent that outlives its host would continue without answers.
//!
//! `rapport keep -- PROGRAM ARGS...` runs the program with its own stdin, stdout and stderr, which it then closes.
//! Descriptor 3 is the reading end of a pipe whose other end only the host holds: bytes in it are requests, and its
//! closing ends everything at once. On descriptor 6 the keeper reports why the program could not be started.
//! Descriptor 4 is the program's input, which the keeper holds open together with the host: the program must not see
//! its input closed just because the host died, or even the keeper with it (`input`), or it would continue without
//! answers before it is killed. When the program ends, its leftover processes are killed too; the exit code is the
//! program's.
//!
//! A host can be frozen, and its sessions be taken over by another machine meanwhile. If they can be, the host's heart
//! beats on the pipe, and a keeper that hears nothing for a while ends everything as well ([`heartbeat`]).
//!
//! A keeper can be killed too. So the program is started through a `stage` that makes the system kill it with its
//! keeper, and everything it starts carries a [`mark`] by which it is found later.
//!
//! `rapport keep --command -- PROGRAM ARGS...` keeps a command instead of an agent: it gets no terminal, so that a
//! program that would ask a person fails at once, and the names of leftover processes are written to descriptor 4, one
//! per line.
//!
//! In a sandbox, the keeper is inside as its first process: when it ends, so does everything there. With `--door
//! VARIABLES` it opens the way out of the sandbox (`door`). In a container the keeper gets its descriptors over a
//! socket (`handover`), or, if the container is on another machine, pipes of a program that carries everything over
//! one stream (`relay`); the first process there is one that waits (`idle`).

mod descendants;
pub mod descent;
pub(super) mod door;
pub(super) mod handover;
pub mod heartbeat;
pub(super) mod idle;
mod input;
pub mod mark;
pub(super) mod relay;
mod stage;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use command_fds::{CommandFdExt, FdMapping};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use tracing::{debug, info, warn};

use input::HeldInput;

/// The descriptor whose closing tells the keeper that its host is gone.
pub const LIFELINE: i32 = 3;
/// The second descriptor: the keeper of an agent gets the agent's input on it, to hold it open; the keeper of a
/// command, which has no input, writes the names of leftover processes to it.
pub const BESIDE: i32 = 4;
/// The argument for keeping a command.
pub const COMMAND: &str = "--command";
/// The request to end the program.
pub(crate) const PLEASE_END: &[u8] = b".";
/// The notice that the host has closed the program's input.
pub const CLOSE_INPUT: &[u8] = b"i";
/// The exit code if the program could not be started. A program may end with it too, so that the reason is reported
/// separately ([`OUTCOME`]).
pub(super) const NOT_STARTED: u8 = 127;
/// The exit code of a keeper that was killed, as a shell reports it.
const KILLED: u8 = 128 + Signal::SIGKILL as u8;
/// The descriptor on which the keeper reports why the program was not started. The program does not inherit it, so that
/// nothing that a program prints can look like this.
pub const OUTCOME: i32 = 6;

/// The reason for which a program was not started, for people.
pub(super) fn not_started(program: &str, why: &dyn std::fmt::Display) -> String {
    format!("cannot start {program}: {why}")
}

/// Runs a program under this keeper, and outlives everything it starts. `args` are the arguments after `keep`.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter().peekable();
    if args.next_if(|arg| arg == idle::IDLE).is_some() {
        let seconds = args.next().unwrap_or_default();
        return match idle::wait(&seconds.to_string_lossy()) {
            Ok(code) => ExitCode::from(code),
            Err(error) => fail(&format!("cannot wait: {error}")),
        };
    }
    if args.next_if(|arg| arg == handover::FROM).is_some() {
        let socket = args.next().unwrap_or_default();
        return match handover::keep(Path::new(&socket), args) {
            Ok(code) => ExitCode::from(code),
            Err(error) => fail(&format!("cannot get what belongs to the process: {error}")),
        };
    }
    if args.next_if(|arg| arg == relay::RELAY).is_some() {
        return match relay::keep(args) {
            Ok(code) => ExitCode::from(code),
            Err(error) => fail(&format!("cannot relay what belongs to the process: {error}")),
        };
    }
    let is_command = args.next_if(|arg| arg == COMMAND).is_some();
    let door = args.next_if(|arg| arg == door::DOOR).and_then(|_| args.next());
    let keeper = args.next_if(|arg| arg == stage::BECOME).and_then(|_| args.next());
    let mut args = args.skip_while(|arg| arg == "--");
    let Some(program) = args.next() else {
        return fail("usage: rapport keep [--command] [--door VARIABLES] -- PROGRAM ARGS...");
    };
    let outcome = outcome();
    let mut command = if keeper.is_some() { Command::new(&program) } else { stage::command(&program) };
    command.args(args);
    if let Some(names) = door
        && let Err(error) = door::open(&names.to_string_lossy(), &mut command)
    {
        return refuse(&program, &format!("no way out: {error}"), outcome);
    }
    let kept = match keeper {
        Some(keeper) => Err(stage::take_over(&keeper.to_string_lossy(), command)),
        None if is_command => keep_command(command, outcome.as_ref()),
        None => keep_agent(command, outcome.as_ref()),
    };
    match kept {
        Ok(code) => ExitCode::from(code),
        Err(error) => refuse(&program, &error, outcome),
    }
}

/// The exit code of a keeper. If the keeper was killed, its processes are found by their mark, and killed.
fn exit_code(keeper: ExitStatus) -> u8 {
    match keeper.code() {
        Some(code) => code as u8,
        None => {
            mark::end_own();
            KILLED
        }
    }
}

/// Where to report that the program does not start, if the host passed that descriptor. A program that starts does
/// not inherit it.
fn outcome() -> Option<File> {
    let outcome = File::options().write(true).open(format!("/dev/fd/{OUTCOME}")).ok()?;
    nix::unistd::close(OUTCOME).ok()?;
    Some(outcome)
}

/// Reports that the program could not be started.
fn refuse(program: &OsString, why: &dyn std::fmt::Display, outcome: Option<File>) -> ExitCode {
    let reason = not_started(&Path::new(program).display().to_string(), why);
    // The host may be gone.
    let _ = outcome.map(|mut outcome| outcome.write_all(reason.as_bytes()));
    fail(&reason)
}

/// Keeps an agent with its input held open. There may be no input to hold.
fn keep_agent(command: Command, outcome: Option<&File>) -> io::Result<u8> {
    keep(command, HeldInput::from_descriptor(BESIDE)?, outcome).map(|(code, _)| code)
}

/// Keeps a command in a process session of its own, which has no terminal, and reports leftover processes.
fn keep_command(command: Command, outcome: Option<&File>) -> io::Result<u8> {
    nix::unistd::setsid()?;
    let mut told = File::options().write(true).open(format!("/dev/fd/{BESIDE}"))?;
    let (code, left) = keep(command, None, outcome)?;
    for name in left {
        // The reader may be gone.
        let _ = writeln!(told, "{name}");
    }
    Ok(code)
}

/// The program's exit code, and the names of leftover processes.
fn keep(
    mut command: Command,
    input: Option<HeldInput>,
    outcome: Option<&File>,
) -> io::Result<(u8, Vec<String>)> {
    adopt_orphans()?;
    survive_signals()?;
    let lifeline = File::open(format!("/dev/fd/{LIFELINE}"))?;
    let null = || File::options().read(true).write(true).open("/dev/null");
    // The program does not inherit the pipes.
    let beside = input.as_ref().map_or_else(|| null().map(Into::into), HeldInput::for_agent)?;
    let mappings = vec![
        FdMapping { parent_fd: null()?.into(), child_fd: LIFELINE },
        FdMapping { parent_fd: beside, child_fd: BESIDE },
        FdMapping { parent_fd: stage::outcome(outcome).unwrap_or_else(null)?.into(), child_fd: OUTCOME },
    ];
    command.fd_mappings(mappings).map_err(io::Error::other)?;
    let agent = pid_of(&command.spawn()?);
    info!(pid = agent.as_raw(), "kept process started");
    drop(command);
    let_go_of_stdio(&null()?)?;
    thread::Builder::new().name("lifeline".into()).spawn(move || watch(lifeline, agent, input))?;
    let code = wait_for(agent)?;
    let left = end_the_rest();
    info!(pid = agent.as_raw(), code, ended_too = left.len(), "kept process ended");
    Ok((code, left))
}

/// Waits on the pipe. If it is closed, or cannot be read, the host is gone; so is a host whose heart stopped beating.
fn watch(mut lifeline: File, agent: Pid, mut input: Option<HeldInput>) {
    let mut byte = [0];
    let mut is_beating = false;
    loop {
        if is_beating && heartbeat::is_silent(&lifeline) {
            warn!("the host is frozen");
            break;
        }
        match lifeline.read(&mut byte) {
            Ok(1..) if byte == heartbeat::BEAT => is_beating = true,
            Ok(1..) if byte == CLOSE_INPUT => input.take().into_iter().for_each(HeldInput::close),
            Ok(1..) => {
                debug!("the host asks it to end");
                let _ = kill(agent, Signal::SIGTERM);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
        }
    }
    // Kill the agent first; its end wakes the other thread, which kills the rest.
    let killed = kill(agent, Signal::SIGKILL);
    if killed.is_ok() {
        warn!("the host is gone, or cut the line: the process is killed");
    }
}

/// Waits for the program, and reaps orphans meanwhile.
fn wait_for(agent: Pid) -> nix::Result<u8> {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == agent => return Ok(code as u8),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == agent => return Ok(128 + signal as u8),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Kills all descendants. A process that is started meanwhile is reparented to the keeper when its parent dies, and is
/// found in the next round. A process that cannot be killed (it runs as another user) is not waited for. Returns the
/// names of those that were alive.
#[cfg(target_os = "linux")]
fn end_the_rest() -> Vec<String> {
    // A process that takes a moment to die is found again in the next round.
    let mut names = BTreeMap::new();
    loop {
        let killed = descendants::kill_all();
        if killed.is_empty() {
            return names.into_values().collect();
        }
        names.extend(killed.into_iter().filter_map(|(pid, name)| Some((pid, name?))));
        let _ = waitpid(None, None);
        bury_the_dead();
    }
}

/// Kills the rest of the process group. On this system orphans are not reparented to the keeper, so there is nothing to
/// wait for.
#[cfg(not(target_os = "linux"))]
fn end_the_rest() -> Vec<String> {
    let mut killed = descendants::kill_all();
    bury_the_dead();
    killed.extend(descendants::kill_all());
    let names: BTreeMap<_, _> = killed.into_iter().filter_map(|(pid, name)| Some((pid, name?))).collect();
    names.into_values().collect()
}

fn bury_the_dead() {
    while matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Ok(status) if status.pid().is_some()) {}
}

#[cfg(target_os = "linux")]
fn adopt_orphans() -> nix::Result<()> {
    nix::sys::prctl::set_child_subreaper(true)
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() -> nix::Result<()> {
    Ok(())
}

/// Survives signals to the whole group, so that the keeper does not die before the rest. Signals are caught rather than
/// blocked or ignored, because the program would inherit that.
fn survive_signals() -> io::Result<()> {
    let caught = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2] {
        signal_hook::flag::register(signal, caught.clone())?;
    }
    Ok(())
}

/// As long as the keeper held the pipes, neither side would see the other close them.
fn let_go_of_stdio(null: &File) -> nix::Result<()> {
    nix::unistd::dup2_stdin(null)?;
    nix::unistd::dup2_stdout(null)?;
    nix::unistd::dup2_stderr(null)
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32)
}

fn fail(message: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::from(NOT_STARTED)
}
