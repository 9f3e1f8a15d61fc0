//! Holds the agent's input open for as long as the agent lives, whichever other process is killed.
//!
//! A process that is killed closes its files before the system signals its children. So an agent whose host and keeper
//! die together could read the end of its input, and continue without an answer, in the instant before its own signal
//! arrives. Therefore not only the keeper holds the writing end: it is queued, unread, in a socket that the agent
//! inherits.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;

use crate::workers::descriptors;

/// A socket with the writing end of the agent's input in its queue.
#[derive(Debug)]
pub(super) struct HeldInput(UnixDatagram);

impl HeldInput {
    /// Moves the writing end from this descriptor into the socket; `None` if nothing is open there.
    pub(super) fn from_descriptor(descriptor: RawFd) -> io::Result<Option<Self>> {
        // Checked first: a new socket could get the number of a closed descriptor.
        if std::fs::metadata(format!("/dev/fd/{descriptor}")).is_err() {
            return Ok(None);
        }
        let (sender, held) = UnixDatagram::pair()?;
        held.set_nonblocking(true)?;
        descriptors::send(sender.as_raw_fd(), &[descriptor])?;
        nix::unistd::close(descriptor)?;
        Ok(Some(Self(held)))
    }

    /// The descriptor that the agent inherits.
    pub(super) fn for_agent(&self) -> io::Result<OwnedFd> {
        Ok(self.0.try_clone()?.into())
    }

    /// Closes the writing end: the system does so when the message is read without its descriptors.
    pub(super) fn close(self) {
        let _ = self.0.recv(&mut [0]);
    }
}
