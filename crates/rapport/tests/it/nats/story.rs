//! Whole hosts as processes: a session is answered from any of them, a killed one continues at once, and the agents of a
//! frozen one are ended.

use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport_core::{Event, View};

use crate::support::nats::{self, NatsServers};
use crate::support::patience::{wait_at_most, wait_for};
use crate::support::project::{Project, Ran};
use crate::support::scenarios::ONE_QUESTION;

/// How long a host may take until it continues by itself: a lease, and what the machine needs.
const A_LEASE: Duration = Duration::from_secs(60);

/// A host whose agent plays this scenario, with these settings.
pub(super) fn host(servers: &str, replicas: usize, project: &str, name: &str, scenario: &str) -> Project {
    Project::with_scenario(scenario)
        .set("RAPPORT_STORE", &format!("nats://{servers}"))
        .set("RAPPORT_NATS_PROJECT", project)
        .set("RAPPORT_NATS_REPLICAS", &replicas.to_string())
        .set("RAPPORT_NATS_HOST", name)
        .set("RAPPORT_MCP_LISTEN", "127.0.0.1:0")
}

/// The hosts of one person, who has copied the key of the first to the others.
pub(super) fn with_one_key(hosts: &[&Project]) {
    let keys = |host: &Project| host.path("home/.rapport/keys");
    let [first, others @ ..] = hosts else { return };
    for other in others {
        std::fs::create_dir_all(keys(other)).unwrap();
        for file in ["own.key", "own.pub"] {
            std::fs::copy(keys(first).join(file), keys(other).join(file)).unwrap();
        }
    }
}

fn hosts(servers: &NatsServers, project: &str, names: &[&str]) -> Vec<Project> {
    let addresses = servers.addresses();
    names.iter().map(|name| host(&addresses, servers.replicas(), project, name, ONE_QUESTION)).collect()
}

fn end(mut serving: Child) {
    serving.kill().unwrap();
    serving.wait().unwrap();
}

/// The question of one host's session, seen and answered on another, continues on the first. A host that is killed and
/// started again takes its sessions back at once, without waiting for its lease.
#[test]
fn a_session_is_answered_from_another_host_and_survives_the_kill_of_its_own() {
    let Some(servers) = nats::single() else { return };
    let hosts = hosts(servers, "story", &["desk", "laptop"]);
    let [desk, laptop] = [&hosts[0], &hosts[1]];
    desk.rapport(&["run", "--detach", "paint"]).check(0, "A `rapport serve` of this project runs it");
    with_one_key(&[desk, laptop]);
    let serving = desk.spawn(&["serve"]);
    let open = laptop.wait_asked();
    let session = desk.session();
    laptop.rapport(&["hosts"]).check(0, "desk");
    laptop.rapport(&["status", session.as_str()]).check(0, "Which colour?");
    end(serving);
    let began = Instant::now();
    let serving = desk.spawn(&["serve"]);
    let is_held = || {
        let ran = laptop.rapport(&["hosts", "--json"]);
        ran.out().contains(&format!("\"pid\":{}", serving.id())).then_some(())
    };
    wait_for("the host to have its session again", is_held);
    assert!(began.elapsed() < Duration::from_secs(12), "without its lease: {:?}", began.elapsed());
    laptop.rapport(&["answer", session.as_str(), "Blue"]).check(0, "Answered.");
    let has_plan =
        || desk.facts().iter().any(|fact| matches!(fact, Event::PlanProposed { .. })).then_some(());
    wait_for("the plan", has_plan);
    let answers = desk.facts().iter().filter(|fact| matches!(fact, Event::Answered { .. })).count();
    assert_eq!((open.len(), answers), (1, 1));
    desk.rapport(&["store", "verify"]).check(0, "1 copies are complete");
    end(serving);
}

/// The agent of a frozen host is ended by its keeper before another host may run the session. When the host wakes, it
/// writes nothing to what it lost, and takes the session back.
#[test]
fn the_agents_of_a_frozen_host_are_ended_and_it_continues_when_it_wakes() {
    let Some(servers) = nats::single() else { return };
    let hosts = hosts(servers, "frozen", &["desk", "laptop"]);
    let [desk, laptop] = [&hosts[0], &hosts[1]];
    desk.rapport(&["run", "--detach", "paint"]).check(0, "A `rapport serve` of this project runs it");
    with_one_key(&[desk, laptop]);
    let serving = desk.spawn(&["serve"]);
    laptop.wait_asked();
    assert!(!desk.agents_alive().is_empty(), "it waits, and its process is kept");
    let pid = Pid::from_raw(serving.id() as i32);
    kill(pid, Signal::SIGSTOP).unwrap();
    desk.wait_alone(Duration::from_secs(13));
    // Once its lease has ended, an answer goes into the log.
    let session = desk.session();
    let is_free = || {
        let view: Vec<View> = laptop.json(&["status", "--json"]);
        let ran = laptop.rapport(&["hosts", "--json"]);
        (view.len() == 1 && !ran.out().contains(&format!("\"pid\":{}", serving.id()))).then_some(())
    };
    wait_at_most(A_LEASE, "the end of the lease", is_free);
    laptop.rapport(&["answer", session.as_str(), "Blue"]).check(0, "Answered.");
    kill(pid, Signal::SIGCONT).unwrap();
    let has_plan =
        || desk.facts().iter().any(|fact| matches!(fact, Event::PlanProposed { .. })).then_some(());
    wait_at_most(A_LEASE, "the plan", has_plan);
    let answers = desk.facts().iter().filter(|fact| matches!(fact, Event::Answered { .. })).count();
    assert_eq!(answers, 1);
    end(serving);
}

/// Sessions go to the servers and back, with everything that belongs to them, and neither store has them twice.
#[test]
fn sessions_are_taken_to_the_servers_and_back() {
    let Some(servers) = nats::single() else { return };
    let project = Project::with_scenario(ONE_QUESTION);
    project.rapport(&["run", "--detach", "paint"]).check(0, "Begun as");
    project.rapport(&["new", "add-auth"]).check(0, "add-auth");
    project.rapport(&["context", "add", "README.md"]);
    let log = |session: &str| {
        let lines =
            std::fs::read_to_string(project.root().join(".rapport/sessions").join(session).join("log.jsonl"));
        let facts = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["facts"].clone();
        lines.unwrap().lines().map(facts).collect::<Vec<_>>()
    };
    let ids: Vec<_> = project.store().list().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(ids.len(), 2);
    let before: Vec<_> = ids.iter().map(|id| log(id)).collect();
    let settings_there = [
        ("RAPPORT_STORE".to_owned(), format!("nats://{}", servers.addresses())),
        ("RAPPORT_NATS_PROJECT".to_owned(), "migrated".to_owned()),
        ("RAPPORT_NATS_REPLICAS".to_owned(), servers.replicas().to_string()),
    ];
    let there = |args: &[&str]| {
        let mut command = project.command();
        Ran(command
            .args(args)
            .envs(settings_there.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap())
    };
    there(&["store", "migrate", "--from", "files"]).check(0, "2 of 2 sessions moved");
    there(&["status", "--all"]).check(0, "paint").check(0, "add-auth");
    there(&["context", "show"]).check(0, "README.md");
    there(&["store", "verify"]).check(0, "2 copies are complete");
    assert_eq!(ids.iter().map(|id| log(id)).collect::<Vec<_>>(), before, "the copies have the same facts");
    there(&["store", "migrate", "--from", "files"]);
    there(&["store", "migrate", "--from", "nats://127.0.0.1:1"]).check(2, "names nats://127.0.0.1:1 as well");
    let from = format!("nats://{}", servers.addresses());
    let back = |args: &[&str]| {
        let settings = settings_there.iter().filter(|(name, _)| name != "RAPPORT_STORE");
        let mut command = project.command();
        Ran(command.args(args).envs(settings.map(|(name, value)| (name, value))).output().unwrap())
    };
    back(&["store", "migrate", "--from", &from]).check(0, "2 of 2 sessions moved");
    project.rapport(&["status", "--all"]).check(0, "paint").check(0, "add-auth");
    assert_eq!(ids.iter().map(|id| log(id)).collect::<Vec<_>>(), before);
    let left: Vec<View> = serde_json::from_slice(&there(&["status", "--all", "--json"]).0.stdout).unwrap();
    assert!(left.is_empty(), "nothing is left on the servers: {left:?}");
}
