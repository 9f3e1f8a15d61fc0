//! Questions to the CLI about itself: its version, and who is logged in. Each is a process of the agent like any
//! other.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use super::keeper::{wait_for_file, wait_until_gone};

/// A CLI that never says its version, with a child that left its group and session.
const STUCK: &str = "#!/bin/sh
echo $$ > agent.pid
setsid sh -c 'echo $$ > setsid.pid; exec sleep 1000' &
wait
";

#[tokio::test]
async fn a_cli_that_is_asked_for_its_version_ends_with_its_host() {
    for arguments in [&["doctor"][..], &["run", "paint it"]] {
        let folder = tempfile::tempdir().unwrap();
        let [home, project, agent] = ["home", "app", "agent"].map(|name| folder.path().join(name));
        std::fs::create_dir(&project).unwrap();
        std::fs::write(&agent, STUCK).unwrap();
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut host = Command::new(env!("CARGO_BIN_EXE_rapport"))
            .args(arguments)
            .arg("--project")
            .arg(&project)
            .current_dir(&project)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &home)
            .env("RAPPORT_HOME", home.join(".rapport"))
            .env("RAPPORT_AGENT_COMMAND", &agent)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let family = ["agent.pid", "setsid.pid"].map(|name| project.join(name));
        for member in &family {
            wait_for_file(member).await;
        }
        host.kill().unwrap();
        host.wait().unwrap();
        for member in &family {
            wait_until_gone(member).await;
        }
    }
}
