//! File descriptors passed over a Unix socket, one message at a time.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd, RawFd};

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// The maximum number of descriptors in a message.
const MOST: usize = 8;

/// Sends copies of these descriptors.
pub(super) fn send(socket: RawFd, descriptors: &[RawFd]) -> io::Result<()> {
    let rights = [ControlMessage::ScmRights(descriptors)];
    sendmsg::<()>(socket, &[IoSlice::new(b"d")], &rights, MsgFlags::empty(), None)?;
    Ok(())
}

/// Receives the descriptors of the next message; none if the other side is gone.
pub(super) fn receive(socket: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    let received = beside.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok(received.flatten().collect())
}
