//! The last step before a program runs: this process asks the system to be killed when its keeper dies, and then execs
//! the program. So the program ends even if its host and its keeper are killed at the same time.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::process::Command;

/// The argument, followed by the keeper's process id.
pub(super) const BECOME: &str = "--become";

/// A command that binds itself to the life of this process and then becomes the program.
#[cfg(target_os = "linux")]
pub(super) fn command(program: &OsString) -> Command {
    // Not by name: the file may have been replaced by a newer one since.
    let mut command = Command::new("/proc/self/exe");
    command.args(["keep", BECOME, &std::process::id().to_string(), "--"]).arg(program);
    command
}

/// On systems without such a signal, the program is started directly.
#[cfg(not(target_os = "linux"))]
pub(super) fn command(program: &OsString) -> Command {
    Command::new(program)
}

/// Where the stage reports that the program does not start.
#[cfg(target_os = "linux")]
pub(super) fn outcome(ours: Option<&File>) -> Option<io::Result<File>> {
    ours.map(File::try_clone)
}

/// Without a stage, the program itself would inherit it.
#[cfg(not(target_os = "linux"))]
pub(super) fn outcome(_: Option<&File>) -> Option<io::Result<File>> {
    None
}

/// Becomes the program. Returns only on failure.
#[cfg(target_os = "linux")]
pub(super) fn take_over(keeper: &str, mut program: Command) -> io::Error {
    use std::os::unix::process::CommandExt as _;

    let bound = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
    if let Err(error) = bound {
        return error.into();
    }
    // A keeper that died before the signal was requested never sends it.
    if keeper != nix::unistd::getppid().to_string() {
        return io::Error::other("its keeper is gone");
    }
    program.exec()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn take_over(_: &str, _: Command) -> io::Error {
    io::Error::from(io::ErrorKind::Unsupported)
}
