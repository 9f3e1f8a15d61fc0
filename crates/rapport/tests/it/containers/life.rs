//! The life of a container: with its agent, without it, and after the container was removed.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rapport_core::{Event, Status};

use super::{ASKS, World, until};
use crate::support::remote;

/// WORK-5, WORK-16: while the question is open, the container is there, with no rights, limits, and labels.
#[test]
fn a_container_has_limits_and_no_rights_and_says_whose_it_is() {
    let Some(world) = World::new(ASKS) else { return };
    let running = world.asked(&[]);
    assert!(world.is_running());
    assert_eq!(world.project.view().status, Status::NeedsInput);
    let shell = world.project.rapport(&["shell", "paint", "--", "sh", "-c", "pwd; cat before.txt; exit 7"]);
    shell.check(1, "/work/project\nbefore\n").check(1, "the exit code 7");
    for (what, expected) in [
        ("{{.HostConfig.CapDrop}}", "[ALL]"),
        ("{{.HostConfig.SecurityOpt}}", "[no-new-privileges]"),
        ("{{.HostConfig.Memory}}", "2147483648"),
        ("{{.HostConfig.NanoCpus}}", "2000000000"),
        ("{{.HostConfig.PidsLimit}}", "4096"),
        ("{{.HostConfig.NetworkMode}}", "none"),
        ("{{.HostConfig.Init}}", "true"),
        ("{{index .Config.Labels \"rapport.session\"}}", world.project.session().as_str()),
        ("{{index .Config.Labels \"rapport.project\"}}", world.project.root().to_str().unwrap()),
        ("{{index .Config.Labels \"rapport.home\"}}", world.project.path("home/.rapport").to_str().unwrap()),
    ] {
        assert_eq!(world.told(what), expected, "{what}");
    }
    let made: i64 = world.told("{{index .Config.Labels \"rapport.epoch\"}}").parse().unwrap();
    let age = Timestamp::now().duration_since(Timestamp::from_millisecond(made).unwrap());
    assert!((0..600).contains(&age.as_secs()), "{age}");
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_painted();
    assert_ne!(world.project.file("user.txt"), "0\n", "nobody is root there");
}

/// Folders of this machine that are named can be read there, and not changed; what is no folder is told.
#[test]
fn shared_caches_can_be_read_and_not_changed() {
    let Some(mut world) = World::new(ASKS) else { return };
    let cache = world.project.path("cache");
    std::fs::create_dir(&cache).unwrap();
    std::fs::write(cache.join("package.txt"), "fetched\n").unwrap();
    let caches = format!("{}, /nowhere/cache", cache.display());
    world.project = world.project.set("RAPPORT_WORKER_CACHES", &caches);
    let running = world.asked(&[]);
    let look = format!("cat {0}/package.txt; touch {0}/x", cache.display());
    let shell = world.project.rapport(&["shell", "paint", "--", "sh", "-c", &look]);
    shell.check(1, "fetched").check(1, "Read-only file system");
    world.answer();
    let (code, said) = running.finish_saying();
    assert!(
        code == 0
            && said.contains("worker.caches names folders that this machine does not have: /nowhere/cache"),
        "{said}"
    );
    world.assert_painted();
}

/// What it may use is set by the person.
#[test]
fn its_limits_are_those_of_the_settings() {
    let Some(mut world) = World::new(ASKS) else { return };
    let set =
        [("RAPPORT_WORKER_MEMORY", "600m"), ("RAPPORT_WORKER_CPUS", "1"), ("RAPPORT_WORKER_PIDS", "300")];
    for (name, value) in set {
        world.project = world.project.set(name, value);
    }
    let running = world.asked(&[]);
    let format = "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}";
    assert_eq!(world.told(format), "629145600 1000000000 300");
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_painted();
}

/// WORK-17: with only a question in flight, an unused container stops; the session waits on, and the answer starts
/// the same container again.
#[test]
fn an_unused_container_stops_and_an_answer_starts_it_again() {
    World::new(ASKS).into_iter().for_each(stops_and_is_started_again);
}

/// WORK-17: the time begins with the question. At the confirmation of a plan no agent waits, and the container has
/// all of it; at a question of the agent, which waits there first, it has the rest.
#[test]
fn the_time_of_an_unused_container_begins_with_the_question() {
    const IDLE: i64 = 14;
    let Some(mut world) = World::new(ASKS) else { return };
    world.project = world.project.set("RAPPORT_WORKER_IDLE", &format!("{IDLE}s"));
    let mut running = world.project.start(&["--hot", "7s", "paint"], &[]);
    running.until_asked();
    let at = |is_it: &dyn Fn(&Event) -> bool| {
        let entries = world.project.store().read(&world.project.session(), 0).unwrap();
        entries.iter().rev().find(|entry| entry.facts.iter().any(is_it)).unwrap().at
    };
    let stopped_after = |time: Timestamp| {
        until("the container stops", || !world.is_running());
        let stopped: Timestamp = world.told("{{.State.FinishedAt}}").parse().unwrap();
        stopped.duration_since(time).as_secs()
    };
    let took = stopped_after(at(&|fact| matches!(fact, Event::Asked { .. })));
    assert!(took >= IDLE - 1, "at the confirmation after {took} s");
    world.project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, Event::Parked { .. }));
    let took = stopped_after(at(&|fact| matches!(fact, Event::Parked { .. })));
    assert!(took < IDLE - 1, "after the agent was parked {took} s");
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_painted();
}

/// WORK-17, WORK-12: the same with the real CLI.
#[test]
fn an_unused_container_of_the_real_cli_stops_and_an_answer_starts_it_again() {
    World::real().into_iter().for_each(stops_and_is_started_again);
}

fn stops_and_is_started_again(mut world: World) {
    world.project = world.project.set("RAPPORT_WORKER_IDLE", "1s");
    let running = world.parked();
    let container = world.told("{{.Id}}");
    until("the container stops", || !world.is_running());
    assert_eq!(world.project.view().status, Status::NeedsInput);
    world.answer();
    assert_eq!(running.finish(), 0);
    assert_eq!(world.told("{{.Id}}"), container, "it is the same container");
    assert!(!world.is_running(), "the work is over");
    world.assert_continued_at_its_call();
    world.assert_painted();
}

/// A container that is removed while the question waits is made again: from its volume, or, without that, from the
/// store.
#[test]
fn a_container_that_was_removed_is_made_again_with_the_work() {
    for with_volume in [false, true] {
        let Some(world) = World::new(ASKS) else { return };
        let running = world.parked();
        running.kill();
        let container = world.container();
        world.docker(&["rm", "--force", &container]);
        if with_volume {
            world.docker(&["volume", "rm", &container]);
            world.project.rapport(&["diff", "paint"]).check(0, "+before");
        }
        world.answer();
        let session = world.project.session();
        assert_eq!(world.project.start(&["--resume", session.as_str()], &[]).finish(), 0);
        world.assert_painted();
    }
}

/// The same while its host lives on: the session that waits there continues, at the same call.
#[test]
fn removed_under_a_living_host_it_is_made_again_with_the_work() {
    for with_volume in [false, true] {
        let Some(world) = World::new(ASKS) else { return };
        let running = world.parked();
        let container = world.container();
        world.docker(&["rm", "--force", &container]);
        if with_volume {
            world.docker(&["volume", "rm", &container]);
        }
        world.answer();
        assert_eq!(running.finish(), 0, "with its volume: {with_volume}");
        world.assert_continued_at_its_call();
        world.assert_painted();
    }
}

/// WORK-17: the time without an answer begins with the question, also while the agent waits at its call.
#[test]
fn the_time_until_it_stops_begins_with_the_question() {
    let Some(mut world) = World::new(ASKS) else { return };
    world.project = world.project.set("RAPPORT_WORKER_IDLE", "12s");
    let running = world.asked(&["--hot", "9s"]);
    let entries = world.project.store().read(&world.project.session(), 0).unwrap();
    let asked =
        entries.iter().rfind(|entry| entry.facts.iter().any(|fact| matches!(fact, Event::Asked { .. })));
    until("the container stops", || !world.is_running());
    let stopped: Timestamp = world.told("{{.State.FinishedAt}}").parse().unwrap();
    let waited = stopped.duration_since(asked.unwrap().at).as_secs();
    assert!((11..18).contains(&waited), "it stopped after {waited} s");
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_painted();
}

/// The engine's clock jumps by an hour, forwards or backwards, while a container waits: the container stops in its
/// time all the same, is not removed, and the session continues at the same call.
#[test]
fn a_clock_that_jumps_ends_nothing() {
    for seconds in [3600, -3600] {
        let Some(mut world) = World::new(ASKS) else { return };
        let ahead = Arc::new(AtomicI64::default());
        let address = remote::with_clock(&world.project.path(""), ahead.clone()).unwrap();
        world.project = world.project.set("DOCKER_HOST", &address).set("RAPPORT_WORKER_IDLE", "3s");
        let running = world.parked();
        let (container, began) = (world.container(), Instant::now());
        ahead.store(seconds, Ordering::SeqCst);
        until("the container stops", || !world.is_running());
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        // Another command looks after what is left.
        let mut other = world.project.start(&["--worker", "local", "sweep"], &[]);
        other.until_asked();
        other.kill();
        assert_eq!(world.container(), container);
        world.project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
        assert_eq!(running.finish(), 0);
        world.project.rapport(&["apply", "paint"]).check(0, "Applied to").check(0, "Its container is gone");
        assert_eq!(world.project.file("after.txt"), "after\n");
    }
}

/// WORK-17: entering the container starts the time anew, however short the visit.
#[test]
fn every_look_into_a_container_keeps_it_running() {
    let Some(mut world) = World::new(ASKS) else { return };
    world.project = world.project.set("RAPPORT_WORKER_IDLE", "4s");
    let running = world.parked();
    let (container, started) = (world.container(), world.told("{{.State.StartedAt}}"));
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        world.docker(&["exec", &container, "true"]);
    }
    assert!(world.is_running());
    assert_eq!(world.told("{{.State.StartedAt}}"), started, "it ran all the time");
    until("the container stops", || !world.is_running());
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_painted();
}

/// The host is killed: the agent ends at once, and the session continues where it was.
#[test]
fn killed_with_its_host_it_goes_on_in_the_same_container() {
    let Some(world) = World::new(ASKS) else { return };
    let running = world.asked(&[]);
    let container = world.told("{{.Id}}");
    running.kill();
    world.answer();
    let session = world.project.session();
    let resumed = world.project.start(&["--resume", session.as_str()], &[]);
    assert_eq!(resumed.finish(), 0);
    assert_eq!(world.told("{{.Id}}"), container);
    assert!(!world.is_running(), "a command leaves no container running");
    world.assert_painted();
}

/// WORK-19: a container that died under its agent is started again, and the agent continues; the second time the
/// session has failed, and can be resumed.
#[test]
fn killed_under_its_agent_it_is_started_again_once() {
    let Some(world) = World::new(WAITS) else { return };
    let mut running = world.project.start(&["paint"], &[]);
    running.until_asked();
    world.project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    for killed in 1..=2 {
        running.until(|fact| matches!(fact, Event::Used { .. }));
        world.docker(&["kill", &world.container()]);
        running.until(|fact| matches!(fact, Event::CutOff { is_lost: true, .. } | Event::Failed { .. }));
        let failed = world.project.view().status == Status::Failed;
        assert_eq!(failed, killed == 2, "killed {killed} times");
    }
    assert_ne!(running.finish(), 0);
    // What was there before is there still.
    world.project.rapport(&["diff", "paint"]).check(0, "+before");
}

/// An agent at a long command.
const WAITS: &str = r##"
version: 1
name: waits
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: before.txt, content: "before\n" }
      - bash: { command: "sleep 1000" }
    result: "Painted."
"##;

/// WORK-18: what a killed host left running is ended by the next command that runs sessions, and what belongs to no
/// session is shown.
#[test]
fn what_is_left_behind_is_ended_and_told() {
    let Some(world) = World::new(ASKS) else { return };
    world.asked(&[]).kill();
    assert!(world.is_running(), "only the agent ended with its host");
    let (session, container) = (world.project.session(), world.container());
    sweep(&world);
    assert!(!world.project.rapport(&["doctor"]).out().contains("without a session"));
    std::fs::remove_dir_all(world.project.root().join(".rapport/sessions").join(session.as_str())).unwrap();
    let told = world.project.rapport(&["doctor"]).out();
    assert!(told.contains(&format!("without a session: container {container}")), "{told}");
    assert!(told.contains(&format!("docker rm --force {container}")), "{told}");
    world.docker(&["rm", "--force", &container]);
    world.docker(&["volume", "rm", &container]);
}

/// WORK-18: the sweep goes by the engine's labels, so it finds what a killed host left running also if the project's
/// folders of its containers are gone.
#[test]
fn work_18_what_is_left_behind_is_found_without_the_folders_of_the_project() {
    let Some(world) = World::new(ASKS) else { return };
    world.asked(&[]).kill();
    let (session, container) = (world.project.session(), world.container());
    std::fs::remove_dir_all(world.project.root().join(".rapport/worktrees")).unwrap();
    let told = world.project.rapport(&["doctor"]).out();
    assert!(told.contains(&format!("no command runs the session: container {container}")), "{told}");
    sweep(&world);
    assert!(!world.project.rapport(&["doctor"]).out().contains(&container));
    let stored = world.project.store().attached(&session, "work.patch").unwrap().unwrap();
    assert!(String::from_utf8(stored).unwrap().contains("+before"));
}

/// WORK-18: without its session, the work in a container is stored before the container is stopped, where `doctor`
/// says.
#[test]
fn work_18_the_work_in_a_container_without_a_session_is_stored() {
    let Some(world) = World::new(ASKS) else { return };
    world.asked(&[]).kill();
    let (session, container) = (world.project.session(), world.container());
    std::fs::remove_dir_all(world.project.root().join(".rapport/sessions").join(session.as_str())).unwrap();
    sweep(&world);
    let told = world.project.rapport(&["doctor"]).out();
    let patch = world.project.path("home/.rapport/strays").join(format!("{container}.patch"));
    assert!(told.contains(&format!("git apply --3way {}", patch.display())), "{told}");
    world.docker(&["rm", "--force", &container]);
    world.docker(&["volume", "rm", &container]);
    world.project.git(&["apply", "--3way", patch.to_str().unwrap()]);
    assert_eq!(world.project.file("before.txt"), "before\n");
}

/// Has another command end the container.
fn sweep(world: &World) {
    let mut other = world.project.spawn(&["run", "--worker", "local", "sweep"]);
    until("the container is ended", || !world.is_running());
    other.kill().unwrap();
    other.wait().unwrap();
}

/// WORK-16: what an agent closed is work all the same: nothing of it is lost with the container.
#[test]
fn work_16_what_an_agent_made_unreadable_comes_out() {
    let Some(world) = World::new(CLOSES) else { return };
    std::fs::write(world.project.root().join("t.txt"), "t\n").unwrap();
    world.project.git(&["add", "--all"]);
    world.project.git(&["commit", "--quiet", "-m", "Files"]);
    let mut running = world.project.start(&["paint"], &[]);
    running.until_asked();
    world.project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    let changes = world.project.view().changes.unwrap();
    let paths: Vec<_> = changes.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["closed/inner/deep.txt", "locked.txt", "seen.txt", "t.txt"]);
    assert_eq!(changes.unknown, None);
    world.project.rapport(&["diff", "paint"]).check(0, "+locked").check(0, "+deep").check(0, "+changed");
    world.project.rapport(&["apply", "paint"]).check(0, "Applied to").check(0, "Its container is gone");
    for (path, content) in [
        ("closed/inner/deep.txt", "deep\n"),
        ("locked.txt", "locked\n"),
        ("seen.txt", "seen\n"),
        ("t.txt", "changed\n"),
    ] {
        assert_eq!(world.project.file(path), content, "{path}");
    }
}

/// An agent that closes a new file, a tracked one and a directory.
const CLOSES: &str = r##"
version: 1
name: closes
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "echo locked > locked.txt; echo changed > t.txt; mkdir -p closed/inner; echo deep > closed/inner/deep.txt; echo seen > seen.txt; chmod 000 locked.txt t.txt closed/inner/deep.txt closed/inner closed" }
    result: "Painted."
"##;

/// WORK-18: the sweeper removes a container that was not used for a week, with its volume; its session still waits,
/// and the answer is taken at the same call, with the work from before.
#[test]
fn a_container_that_was_not_used_for_a_week_is_removed_and_its_session_waits_on() {
    World::new(ASKS).into_iter().for_each(is_removed_after_a_week);
}

/// WORK-18: the same with the real CLI.
#[test]
fn a_container_of_the_real_cli_that_was_not_used_for_a_week_is_removed_and_its_session_waits_on() {
    World::real().into_iter().for_each(is_removed_after_a_week);
}

fn is_removed_after_a_week(mut world: World) {
    const DAY: i64 = 24 * 60 * 60;
    let ahead = Arc::new(AtomicI64::default());
    let address = remote::with_clock(&world.project.path(""), ahead.clone()).unwrap();
    world.project = world.project.set("DOCKER_HOST", &address).set("RAPPORT_WORKER_IDLE", "1s");
    let running = world.parked();
    until("the container stops", || !world.is_running());
    // A process that holds the session uses its container.
    running.kill();
    let (session, container) = (world.project.session(), world.container());
    let volumes = || world.docker(&["volume", "ls", "--quiet", "--filter", &format!("name={container}")]);
    assert_ne!(volumes(), "");
    let sweep = || {
        let mut other = world.project.start(&["--worker", "local", "sweep"], &[]);
        other.until_asked();
        other.kill();
    };
    ahead.store(-6 * DAY, Ordering::SeqCst);
    sweep();
    assert_eq!(world.container(), container, "it may be needed soon");
    ahead.store(-8 * DAY, Ordering::SeqCst);
    sweep();
    assert_eq!((world.container(), volumes()), (String::new(), String::new()));
    let ask = world.project.rapport(&["status", session.as_str()]).out();
    assert!(ask.contains("Which colour?"), "{ask}");
    world.project.rapport(&["answer", session.as_str(), "Blue"]).check(0, "Answered.");
    assert_eq!(world.project.start(&["--resume", session.as_str()], &[]).finish(), 0);
    let facts = world.project.store().read(&session, 0).unwrap().into_iter().flat_map(|entry| entry.facts);
    let broken = |fact: &Event| matches!(fact, Event::CutOff { .. } | Event::Failed { .. });
    assert_eq!(facts.into_iter().find(broken), None, "it continued at its call");
    world.project.rapport(&["apply", session.as_str()]).check(0, "Its container is gone");
    assert_eq!(
        (world.project.file("before.txt"), world.project.file("after.txt")),
        ("before\n".into(), "after\n".into())
    );
}

/// WORK-18: the sweeper ends neither a container that a person is in, nor that of a session that another process
/// runs, even if the other command keeps its sessions elsewhere.
#[test]
fn what_is_in_use_is_not_ended() {
    let Some(world) = World::new(ASKS) else { return };
    let running = world.asked(&[]);
    std::fs::write(world.project.root().join("plan.md"), MAKES).unwrap();
    world.project.rapport(&["execute", "plan.md", "--yes"]).check(0, "");
    assert!(world.project.root().join("made.txt").exists() && world.is_running());
    running.kill();
    let look = "touch looked; while [ ! -e /tmp/seen ]; do sleep 0.1; done";
    let mut visit = world.project.spawn(&["shell", "paint", "--", "sh", "-c", look]);
    until("a person looks", || {
        let there = ["exec", &world.container(), "ls", "/work/project/looked"];
        Command::new("docker").args(["--host", &world.engine]).args(there).status().unwrap().success()
    });
    let mut other = world.project.start(&["--worker", "local", "sweep"], &[]);
    other.until_asked();
    assert!(world.is_running(), "the sweep is over, since the other session asks");
    world.docker(&["exec", &world.container(), "touch", "/tmp/seen"]);
    assert!(visit.wait().unwrap().success());
    other.kill();
}

const MAKES: &str =
    "# Make\n\n## Rationale\nNeeded.\n\n## Action Plan\n\n### CREATE made.txt\n```\nmade\n```\n";

/// An agent cannot make its host write to a file of this machine: nothing that the host writes goes through a folder
/// that the agent can change.
#[test]
fn links_that_an_agent_leaves_lead_the_host_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let (file, folder) = (outside.path().join("file"), outside.path().join("folder"));
    std::fs::write(&file, "mine\n").unwrap();
    std::fs::create_dir(&folder).unwrap();
    let scenario = LINKS.replace("FILE", file.to_str().unwrap()).replace("FOLDER", folder.to_str().unwrap());
    let Some(world) = World::new(&scenario) else { return };
    world.parked().kill();
    let container = world.container();
    world.docker(&["rm", "--force", &container]);
    world.docker(&["volume", "rm", &container]);
    world.answer();
    let session = world.project.session();
    let code = world.project.start(&["--resume", session.as_str()], &[]).finish();
    assert_eq!(code, 0, "{:?}", world.project.facts().last());
    world.project.rapport(&["apply", "paint"]).check(0, "Applied to");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert!(
        world.project.file("tried.txt").contains("Read-only file system"),
        "what it is given is not its own"
    );
}

/// An agent that leaves links wherever the host might write.
const LINKS: &str = r##"
version: 1
name: links
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "touch /rapport/given/x 2> tried.txt; for name in bundle config patch include; do ln -sfn FILE /rapport/run/$name; done; ln -sfn FOLDER ~/.given" }
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
    result: "Painted."
"##;

/// With an open network, the container is on a network of the engine, and reaches this machine by its address there.
#[test]
fn an_open_network_is_one_of_the_engine() {
    let Some(mut world) = World::new(ASKS) else { return };
    world.project = world.project.set("RAPPORT_WORKER_NETWORK", "open");
    let running = world.asked(&[]);
    assert_eq!(world.told("{{.HostConfig.NetworkMode}}"), "rapport");
    let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let (gateway, port) =
        (world.told("{{.NetworkSettings.Networks.rapport.Gateway}}"), listener.local_addr().unwrap().port());
    let reach = format!("exec 3<>/dev/tcp/{gateway}/{port} && echo reached");
    world.project.rapport(&["shell", "paint", "--", "bash", "-c", &reach]).check(0, "reached");
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_painted();
}
