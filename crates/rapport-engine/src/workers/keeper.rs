//! The keeper: a small process between Rapport and an agent, so that the agent dies with its host, whatever kills the
//! host, and takes along everything it started. An agent that outlives its host would go on without answers.
//!
//! `rapport keep -- PROGRAM ARGS...` runs the program with its own stdin, stdout and stderr, which it then lets go of.
//! On descriptor 3 it has the reading end of a pipe whose other end only the host holds: bytes in it ask for something,
//! its closing ends everything at once. On descriptor 4 it gets the program's input, to hold it open beside the host: the
//! program must not see its input closed just because the host died, or even the keeper with it (`input`), or it would go on
//! without answers before it is ended.
//! When the program ends, whatever it left behind is ended too; the exit code is the program's.
//!
//! A keeper can be killed as well. So the program is started through a `stage` that has the system kill it with its keeper,
//! and everything it starts carries a [`mark`] by which it is found later.
//!
//! `rapport keep --command -- PROGRAM ARGS...` keeps a command instead of an agent: it gets no terminal, so that what would
//! ask a person there fails at once, and what it left behind is told on descriptor 4, a name per line.
//!
//! In a place that is apart from the host, the keeper is inside of it, as the first of its processes: when it ends, so does
//! everything there. With `--door VARIABLES` it opens the way out of it (`door`).

mod descendants;
pub mod descent;
pub(super) mod door;
mod input;
pub mod mark;
mod stage;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode};
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

/// The descriptor on which the keeper notices that its host is gone.
pub const LIFELINE: i32 = 3;
/// The descriptor beside that: on it the keeper of an agent gets the agent's input, to hold it open, and the keeper of a
/// command, which has no input, tells what was left behind.
pub const BESIDE: i32 = 4;
/// The first argument where a command is kept.
pub const COMMAND: &str = "--command";
/// What the host writes to ask the program to end.
pub const PLEASE_END: &[u8] = b".";
/// What the host writes when it has closed the program's input itself.
pub const CLOSE_INPUT: &[u8] = b"i";
/// The exit code when the program could not be started. A program may end with it, too: see [`start_failure`].
pub const NOT_STARTED: u8 = 127;
/// How the last line on stderr begins then.
const CANNOT_START: &str = "cannot start ";

/// What the keeper says that could not start its program, if that is the last line it wrote.
pub fn start_failure(last_line: Option<&String>) -> Option<&String> {
    last_line.filter(|line| line.starts_with(CANNOT_START))
}

/// Keeps a program: runs it, and outlives everything it starts. `args` is what comes after `keep`.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter().peekable();
    let is_command = args.next_if(|arg| arg == COMMAND).is_some();
    let door = args.next_if(|arg| arg == door::DOOR).and_then(|_| args.next());
    let keeper = args.next_if(|arg| arg == stage::BECOME).and_then(|_| args.next());
    let mut args = args.skip_while(|arg| arg == "--");
    let Some(program) = args.next() else {
        return fail("usage: rapport keep [--command] [--door VARIABLES] -- PROGRAM ARGS...");
    };
    let mut command = if keeper.is_some() { Command::new(&program) } else { stage::command(&program) };
    command.args(args);
    if let Some(names) = door
        && let Err(error) = door::open(&names.to_string_lossy(), &mut command)
    {
        return fail(&format!("{CANNOT_START}{}: no way out: {error}", Path::new(&program).display()));
    }
    let kept = match keeper {
        Some(keeper) => Err(stage::take_over(&keeper.to_string_lossy(), command)),
        None if is_command => keep_command(command),
        None => keep_agent(command),
    };
    match kept {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail(&format!("{CANNOT_START}{}: {error}", Path::new(&program).display())),
    }
}

/// Keeps it with its input held open. A program may have none to hold.
fn keep_agent(command: Command) -> io::Result<u8> {
    keep(command, HeldInput::from_descriptor(BESIDE)?).map(|(code, _)| code)
}

/// Keeps it in a session of its own, which has no terminal, and tells what it left behind.
fn keep_command(command: Command) -> io::Result<u8> {
    nix::unistd::setsid()?;
    let mut told = File::options().write(true).open(format!("/dev/fd/{BESIDE}"))?;
    let (code, left) = keep(command, None)?;
    for name in left {
        // Where nobody listens, there is nobody to be told.
        let _ = writeln!(told, "{name}");
    }
    Ok(code)
}

/// The program's exit code, and the names of what it left behind.
fn keep(mut command: Command, input: Option<HeldInput>) -> io::Result<(u8, Vec<String>)> {
    adopt_orphans()?;
    survive_signals()?;
    let lifeline = File::open(format!("/dev/fd/{LIFELINE}"))?;
    let null = || File::options().read(true).write(true).open("/dev/null");
    // The program gets no hold of the pipes.
    let beside = input.as_ref().map_or_else(|| null().map(Into::into), HeldInput::for_agent)?;
    let mappings = vec![
        FdMapping { parent_fd: null()?.into(), child_fd: LIFELINE },
        FdMapping { parent_fd: beside, child_fd: BESIDE },
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

/// Waits on the pipe. A closed pipe, or one that cannot be read, is a host that is gone.
fn watch(mut lifeline: File, agent: Pid, mut input: Option<HeldInput>) {
    let mut byte = [0];
    loop {
        match lifeline.read(&mut byte) {
            Ok(1..) if byte == CLOSE_INPUT => input.take().into_iter().for_each(HeldInput::close),
            Ok(1..) => {
                debug!("the host asks it to end");
                let _ = kill(agent, Signal::SIGTERM);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
        }
    }
    // The agent at once; its end wakes the other thread, which sees to the rest.
    let killed = kill(agent, Signal::SIGKILL);
    if killed.is_ok() {
        warn!("the host is gone, or cut the line: the process is killed");
    }
}

/// Waits for the program, burying every orphan on the way.
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

/// Ends all descendants. What is started while this looks falls to us when its parent dies, and is found in the next
/// round. What cannot be killed (it runs as somebody else) is not waited for. Gives the names of those that lived.
#[cfg(target_os = "linux")]
fn end_the_rest() -> Vec<String> {
    // What takes a moment to die is found again in the next round.
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

/// Ends what is left of the group. Here orphans do not fall to us, so there is nothing to wait for.
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

/// A signal to the whole group must not take the keeper before the rest. Signals are caught rather than blocked or
/// ignored, for the program would inherit that.
fn survive_signals() -> io::Result<()> {
    let caught = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2] {
        signal_hook::flag::register(signal, caught.clone())?;
    }
    Ok(())
}

/// As long as the keeper holds the pipes, neither side sees the other close them.
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
