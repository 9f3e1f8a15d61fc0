//! The keeper of a process in a container. It is started by the container engine, which knows nothing of descriptors.
//! So it gets them from the host, over a socket in a folder that both can see: the process's input and output, and the
//! pipe whose closing says that the host is gone. They are the host's own pipes: neither that engine nor anybody else is
//! in between, and whatever kills the host, its system closes them.
//!
//! The keeper itself is a child of this process, which reports how it ended: one byte, its exit code.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use command_fds::{CommandFdExt as _, FdMapping};
use nix::sys::signal::Signal;

use super::mark::{self, Mark};
use super::{BESIDE, LIFELINE, door};
use crate::workers::descriptors;

/// The argument, followed by the path of the socket.
pub(in crate::workers) const FROM: &str = "--from";

/// The exit code of a keeper that was killed, as a shell reports it.
const KILLED: u8 = 128 + Signal::SIGKILL as u8;

/// Runs a keeper with these arguments and the descriptors from this socket.
pub(super) fn keep(socket: &Path, args: impl Iterator<Item = OsString>) -> io::Result<u8> {
    let mut host = UnixStream::connect(socket)?;
    let received = descriptors::receive(&host)?;
    let Ok([stdin, stdout, stderr, lifeline, beside, way_out]) = <[_; 6]>::try_from(received) else {
        return Err(io::Error::other("the host did not hand over the process's input and output"));
    };
    let mut command = Command::new("/proc/self/exe");
    command.arg("keep").args(args).stdin(stdin).stdout(stdout).stderr(stderr);
    let mappings = vec![
        FdMapping { parent_fd: lifeline, child_fd: LIFELINE },
        FdMapping { parent_fd: beside, child_fd: BESIDE },
        FdMapping { parent_fd: way_out, child_fd: door::DESCRIPTOR },
    ];
    command.fd_mappings(mappings).map_err(io::Error::other)?;
    let mut keeper = command.spawn()?;
    // This process must not hold the pipes open.
    drop(command);
    let status = keeper.wait()?;
    let code = status.code().map_or(KILLED, |code| code as u8);
    if status.code().is_none()
        && let Some(mark) = std::env::var(mark::VARIABLE).ok().and_then(|text| Mark::parse(&text))
    {
        // The keeper was killed: its processes are found by their mark.
        mark.end_all();
    }
    host.write_all(&[code])?;
    Ok(code)
}
