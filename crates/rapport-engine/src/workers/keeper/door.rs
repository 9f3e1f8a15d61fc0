//! The one way out of a place without a network: a port of its own loopback, at which the host answers.
//!
//! A socket belongs to the network in which it was made, whoever holds it. So the keeper, which is in the place, makes the
//! one that listens and hands it to the host, which is not; nothing has to pass anything on.

use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd as _, RawFd};
use std::process::Command;

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

/// The argument that says so, followed by the names of the variables that hold addresses of the door.
pub(in crate::workers) const DOOR: &str = "--door";
/// The descriptor on which the host is given the socket.
pub(in crate::workers) const DESCRIPTOR: RawFd = 5;
/// An address of the door, while nobody knows its port yet.
pub(in crate::workers) const ADDRESS: &str = "127.0.0.1:0";

/// Opens the door, and tells the program where it is.
pub(super) fn open(names: &str, command: &mut Command) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?.to_string();
    for name in names.split(',') {
        if let Ok(value) = std::env::var(name) {
            command.env(name, value.replace(ADDRESS, &address));
        }
    }
    let socket = [listener.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&socket)];
    sendmsg::<()>(DESCRIPTOR, &[IoSlice::new(b"d")], &rights, MsgFlags::empty(), None)?;
    // The program gets no hold of it.
    Ok(nix::unistd::close(DESCRIPTOR)?)
}
