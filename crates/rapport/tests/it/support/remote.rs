//! The container engine of the tests at other addresses: at a port, as if it were on another machine; at a socket
//! that every user may use; and at a socket behind which its clock can jump.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use jiff::{SignedDuration, Timestamp};

use super::needs;

/// The address of the engine on another machine, until this process ends. `None` only where the tests that need it
/// were left out on purpose.
#[track_caller]
pub(crate) fn engine() -> Option<String> {
    let socket = socket()?;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            let (back, end) = (caller.try_clone().unwrap(), caller.try_clone().unwrap());
            forward((caller, back), &socket, move || drop(end.shutdown(Shutdown::Write)));
        }
    });
    Some(address)
}

/// The address of the engine for everybody, at a socket in this folder.
#[track_caller]
pub(crate) fn for_everybody(folder: &Path) -> Option<String> {
    let socket = socket()?;
    let path = folder.join("everybody.sock");
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            let (back, end) = (caller.try_clone().unwrap(), caller.try_clone().unwrap());
            forward((caller, back), &socket, move || drop(end.shutdown(Shutdown::Write)));
        }
    });
    Some(format!("unix://{}", path.display()))
}

/// The address of the engine at a socket in this folder, with a clock that is so many seconds ahead, as far as it
/// tells when a container was started or ended.
#[track_caller]
pub(crate) fn with_clock(folder: &Path, ahead: Arc<AtomicI64>) -> Option<String> {
    let socket = socket()?;
    let path = folder.join("clock.sock");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            let (Ok(engine), ahead) = (UnixStream::connect(&socket), ahead.clone()) else { continue };
            let (mut from, mut to) = (caller.try_clone().unwrap(), engine.try_clone().unwrap());
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
            thread::spawn(move || {
                let (mut engine, mut caller, mut buffer) = (engine, caller, vec![0; 64 * 1024]);
                while let Ok(size @ 1..) = engine.read(&mut buffer) {
                    shift(&mut buffer[..size], ahead.load(Ordering::SeqCst));
                    if caller.write_all(&buffer[..size]).is_err() {
                        break;
                    }
                }
                let _ = caller.shutdown(Shutdown::Write);
            });
        }
    });
    Some(format!("unix://{}", path.display()))
}

/// Shifts the times of a container in what the engine tells. They stay as long as they were.
fn shift(bytes: &mut [u8], seconds: i64) {
    for key in [&b"\"StartedAt\":\""[..], b"\"FinishedAt\":\""] {
        let Some(at) = bytes.windows(key.len()).position(|some| some == key) else { continue };
        let from = at + key.len();
        let Some(length) = bytes[from..].iter().position(|byte| *byte == b'"') else { continue };
        let text = std::str::from_utf8(&bytes[from..from + length]).unwrap_or_default();
        let fraction = text.split_once('.').map_or(0, |(_, rest)| rest.trim_end_matches('Z').len());
        let Ok(time) = text.parse::<Timestamp>() else { continue };
        if time > Timestamp::UNIX_EPOCH {
            let shifted = time + SignedDuration::from_secs(seconds);
            bytes[from..from + length].copy_from_slice(format!("{shifted:.fraction$}").as_bytes());
        }
    }
}

#[track_caller]
fn socket() -> Option<String> {
    let engine = needs::engine()?;
    Some(engine.strip_prefix("unix://").expect("the engine of the tests has a socket").to_owned())
}

/// Passes on what a caller says to the engine, and back.
fn forward<C: Read + Write + Send + 'static>(
    caller: (C, C),
    socket: &str,
    end: impl FnOnce() + Send + 'static,
) {
    let Ok(mut engine) = UnixStream::connect(socket) else { return };
    let mut to_engine = engine.try_clone().unwrap();
    let (mut caller, mut back) = caller;
    thread::spawn(move || {
        // Either side may end it at any time.
        let _ = io::copy(&mut caller, &mut to_engine);
        let _ = to_engine.shutdown(Shutdown::Write);
    });
    thread::spawn(move || {
        let _ = io::copy(&mut engine, &mut back);
        end();
    });
}
