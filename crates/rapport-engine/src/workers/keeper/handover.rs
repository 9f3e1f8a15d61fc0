//! The keeper of a process in a container. The container engine starts it, and cannot pass descriptors to it. So the
//! keeper gets them from the host, over a socket in a folder that both can see: the process's input and output, and
//! the pipe whose closing says that the host is gone. They are the host's own pipes, with neither the engine nor
//! another process in between, so the system closes them whatever kills the host.
//!
//! The keeper itself is a child of this process, which reports the keeper's exit code as one byte.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use command_fds::{CommandFdExt as _, FdMapping};

use super::{BESIDE, LIFELINE, OUTCOME, door, exit_code};
use crate::workers::descriptors;

/// The argument, followed by the path of the socket.
pub(in crate::workers) const FROM: &str = "--from";

/// Runs a keeper with these arguments and the descriptors from this socket.
pub(super) fn keep(socket: &Path, args: impl Iterator<Item = OsString>) -> io::Result<u8> {
    let mut host = UnixStream::connect(socket)?;
    let received = descriptors::receive(&host)?;
    let Ok([stdin, stdout, stderr, lifeline, beside, way_out, outcome]) = <[_; 7]>::try_from(received) else {
        return Err(io::Error::other("the host did not hand over the process's input and output"));
    };
    let mut command = Command::new("/proc/self/exe");
    command.arg("keep").args(args).stdin(stdin).stdout(stdout).stderr(stderr);
    let mappings = vec![
        FdMapping { parent_fd: lifeline, child_fd: LIFELINE },
        FdMapping { parent_fd: beside, child_fd: BESIDE },
        FdMapping { parent_fd: way_out, child_fd: door::DESCRIPTOR },
        FdMapping { parent_fd: outcome, child_fd: OUTCOME },
    ];
    command.fd_mappings(mappings).map_err(io::Error::other)?;
    let mut keeper = command.spawn()?;
    // This process must not hold the pipes open.
    drop(command);
    let code = exit_code(keeper.wait()?);
    host.write_all(&[code])?;
    Ok(code)
}
