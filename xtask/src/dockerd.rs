//! How the tests start dockerd: on a socket and in directories of its own, beside any other on this machine. Tests that kill a
//! container engine include this file, and start one for themselves.

use std::path::Path;
use std::process::{Command, Stdio};

/// The dockerd whose socket (`d.sock`), process id (`d.pid`) and data are in this directory.
pub(crate) fn dockerd(folder: &Path) -> Command {
    let place = |option: &str, name: &str| format!("--{option}={}", folder.join(name).display());
    let mut command = Command::new("dockerd");
    command
        .arg(format!("--host=unix://{}", folder.join("d.sock").display()))
        .args([place("data-root", "root"), place("exec-root", "exec"), place("pidfile", "d.pid")])
        .args(["--iptables=false", "--ip6tables=false", "--bridge=none"])
        .stdin(Stdio::null());
    command
}
