//! The last step before a program is itself: the system is told to kill it when its keeper dies, and then it takes this
//! process over. So the program ends even when its host and its keeper are killed at one blow.

use std::ffi::OsString;
use std::io;
use std::process::Command;

/// The argument that says so, followed by the keeper's process id.
pub(super) const BECOME: &str = "--become";

/// A command that becomes this program once it is bound to the life of this process.
#[cfg(target_os = "linux")]
pub(super) fn command(program: &OsString) -> Command {
    // Not by name: the file may have been replaced by a newer one since.
    let mut command = Command::new("/proc/self/exe");
    command.args(["keep", BECOME, &std::process::id().to_string(), "--"]).arg(program);
    command
}

/// Where the system knows no such signal, the program is started as it is.
#[cfg(not(target_os = "linux"))]
pub(super) fn command(program: &OsString) -> Command {
    Command::new(program)
}

/// Becomes the program. Returns only if it cannot.
#[cfg(target_os = "linux")]
pub(super) fn take_over(keeper: &str, mut program: Command) -> io::Error {
    use std::os::unix::process::CommandExt as _;

    let bound = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
    if let Err(error) = bound {
        return error.into();
    }
    // The signal is sent once. A keeper that died before it was asked for never sends it.
    if keeper != nix::unistd::getppid().to_string() {
        return io::Error::other("its keeper is gone");
    }
    program.exec()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn take_over(_: &str, _: Command) -> io::Error {
    io::Error::from(io::ErrorKind::Unsupported)
}
