//! Reads lines from standard input, which is not in raw mode: the one way in which a line is typed. Nothing is read
//! ahead, so that the next reader finds the rest. If the caller stops waiting, the reading thread ends.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::oneshot;

/// The maximum length of a line. What is beyond it is dropped.
const MOST: usize = 64 * 1024;

/// Waits for a line, without blanks around it. `None` at the end of the input. Dropping the future stops reading.
pub async fn line() -> io::Result<Option<String>> {
    Ok(raw_line().await?.map(|line| String::from_utf8_lossy(&line).trim().to_owned()))
}

/// Waits for a line as it was typed, without its end.
pub async fn raw_line() -> io::Result<Option<Vec<u8>>> {
    let (stop, stopped) = nix::unistd::pipe()?;
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = send.send(read(Some(&stop)));
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

/// The same on the current thread.
pub fn wait_for_raw_line() -> io::Result<Option<Vec<u8>>> {
    read(None)
}

/// Reads byte by byte, so that input after the line is left for the next reader. A last line may have no end.
fn read(stop: Option<&OwnedFd>) -> io::Result<Option<Vec<u8>>> {
    let stdin = io::stdin();
    let mut line = Vec::new();
    loop {
        let stop = stop.map(|stop| PollFd::new(stop.as_fd(), PollFlags::POLLIN));
        let mut fds: Vec<_> =
            [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)].into_iter().chain(stop).collect();
        match poll(&mut fds, PollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => continue,
            polled => polled?,
        };
        if fds.get(1).and_then(PollFd::revents).is_some_and(|events| !events.is_empty()) {
            return Ok(None);
        }
        let mut byte = [0];
        match nix::unistd::read(&stdin, &mut byte)? {
            0 => return Ok((!line.is_empty()).then_some(line)),
            _ if byte[0] == b'\n' => return Ok(Some(line)),
            _ if line.len() < MOST => line.push(byte[0]),
            _ => {}
        }
    }
}
