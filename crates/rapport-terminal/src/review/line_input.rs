//! Reads a line from a terminal that is not in raw mode. If the caller stops waiting, the reading thread ends.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::oneshot;

/// The maximum length of a line.
const MOST: usize = 4096;

/// Waits for a line. `None` at the end of the input. Dropping the future stops reading.
pub(crate) async fn line() -> io::Result<Option<String>> {
    let (stop, stopped) = nix::unistd::pipe()?;
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = send.send(read(stop));
    });
    // Closed when this future is dropped, which ends the thread.
    let _stopped = stopped;
    receive.await.unwrap_or(Ok(None))
}

/// Drops input from before the question.
pub(crate) fn discard() -> io::Result<()> {
    let stdin = io::stdin();
    let mut buffer = [0; 512];
    loop {
        let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO)?;
        let is_ready = fds[0].revents().is_some_and(|events| events == PollFlags::POLLIN);
        if !is_ready || nix::unistd::read(&stdin, &mut buffer)? == 0 {
            return Ok(());
        }
    }
}

/// Reads byte by byte, so that input after the line is left for the next reader.
fn read(stop: OwnedFd) -> io::Result<Option<String>> {
    let stdin = io::stdin();
    let mut line = Vec::new();
    loop {
        let mut fds =
            [PollFd::new(stdin.as_fd(), PollFlags::POLLIN), PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => continue,
            polled => polled?,
        };
        if fds[1].revents().is_some_and(|events| !events.is_empty()) {
            return Ok(None);
        }
        let mut byte = [0];
        match nix::unistd::read(&stdin, &mut byte)? {
            0 => return Ok(None),
            _ if byte[0] == b'\n' => return Ok(Some(String::from_utf8_lossy(&line).trim().to_owned())),
            _ if line.len() < MOST => line.push(byte[0]),
            _ => {}
        }
    }
}
