//! The one way out of a sandbox without a network: a port of its own loopback interface, on which the host answers.
//!
//! A socket belongs to the network namespace in which it was created, whoever holds it. So the keeper, inside the
//! sandbox, creates the listening socket and hands it to the host; nothing has to relay.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd as _, RawFd};
use std::process::Command;

use crate::workers::descriptors;

/// The argument, followed by the names of the variables that contain addresses of the door.
pub(in crate::workers) const DOOR: &str = "--door";
/// The descriptor on which the host gets the socket.
pub(in crate::workers) const DESCRIPTOR: RawFd = 5;
/// The address of the door while its port is unknown.
pub(in crate::workers) const ADDRESS: &str = "127.0.0.1:0";

/// Opens the door, and sets the program's variables.
pub(super) fn open(names: &str, command: &mut Command) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?.to_string();
    for name in names.split(',') {
        if let Ok(value) = std::env::var(name) {
            command.env(name, value.replace(ADDRESS, &address));
        }
    }
    descriptors::send(DESCRIPTOR, &[listener.as_raw_fd()])?;
    // The program does not inherit it.
    Ok(nix::unistd::close(DESCRIPTOR)?)
}
