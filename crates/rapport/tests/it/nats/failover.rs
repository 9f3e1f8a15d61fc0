//! Hosts and servers are killed, frozen and cut off while people answer on any host. Afterwards the logs, their copies
//! and what people were told have to agree, and all sessions have to end.
//!
//! `RAPPORT_TEST_FAILOVER=3600` makes it last an hour; `RAPPORT_TEST_SEED` chooses what happens.

use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport::stores::Store as _;
use rapport::stores::nats::Nats;
use rapport_core::{Purpose, SessionId, Status, View};

use super::checker::{AnswerRecord, How, check_copy, check_log, check_records};
use super::story::{host, with_one_key};
use super::{TestHost, holder, noon, said};
use crate::support::nats::{self, NatsServers, Network};
use crate::support::patience::{look_at_most, wait_at_most};
use crate::support::project::Project;

/// The default length of the disorder.
const LENGTH: Duration = Duration::from_secs(60);
/// How long everything may take to end once all is well.
const HEALING: Duration = Duration::from_secs(240);
const HOSTS: usize = 3;
const SESSIONS: usize = 30;
const CLIENTS: usize = 6;

/// Three questions, one after the other, and a plan that has to be confirmed.
const QUESTIONS: &str = r##"
version: 1
name: several questions
invocations:
  - steps:
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
      - ask: { questions: [{ question: "Which brush?", options: [{ label: Wide }, { label: Fine }] }] }
      - ask: { questions: [{ question: "Which day?", options: [{ label: Today }, { label: Tomorrow }] }] }
    result: "# Paint\n\n1. Paint it {{answer:1}}."
  - steps:
      - delay: 500
      - write: { path: paint.txt, content: "{{answer:1}}\n" }
    result: "Painted in {{answer:1}}."
"##;

/// A host, as a process that is killed and frozen, and its network.
struct Host {
    project: Project,
    networks: Vec<Network>,
    serving: Mutex<Option<Child>>,
}

impl Host {
    fn serve(&self) {
        let log =
            std::fs::File::options().create(true).append(true).open(self.project.path("serve.log")).unwrap();
        let mut serve = self.project.command();
        serve.args(["serve", "--log", "info"]).stdout(Stdio::null()).stderr(log);
        let child = serve.spawn().unwrap();
        *self.serving.lock().unwrap() = Some(child);
    }

    fn kill(&self) {
        if let Some(mut child) = self.serving.lock().unwrap().take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = self.serving.lock().unwrap().as_ref().map(Child::id);
        if let Some(pid) = pid {
            kill(Pid::from_raw(pid as i32), signal).unwrap();
        }
    }
}

/// Numbers that look random, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

#[test]
#[ignore = "in some runs not all sessions end: a host that lost a session to another one does not always resume it"]
fn whatever_fails_nothing_is_lost_and_everything_ends() {
    let Some(servers) = nats::cluster() else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let length = number("RAPPORT_TEST_FAILOVER").map_or(LENGTH, Duration::from_secs);
    let seed = number("RAPPORT_TEST_SEED").unwrap_or_else(|| std::process::id().into());
    println!("RAPPORT_TEST_SEED={seed}");
    let hosts = Arc::new(hosts(&servers));
    for number in 0..SESSIONS {
        let task = format!("paint {number}");
        hosts[number % HOSTS].project.rapport(&["run", "--detach", &task]).check(0, "Begun as");
        if number == 0 {
            let projects: Vec<_> = hosts.iter().map(|host| &host.project).collect();
            with_one_key(&projects);
        }
    }
    hosts.iter().for_each(Host::serve);
    wait_at_most(HEALING, "the first question", || {
        views(&hosts[0]).iter().any(|view| !view.questions.is_empty()).then_some(())
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let told: Arc<Mutex<Vec<AnswerRecord>>> = Arc::default();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (hosts, is_over, told) = (hosts.clone(), is_over.clone(), told.clone());
            std::thread::spawn(move || answer(number, seed, &hosts, &is_over, &told))
        })
        .collect();
    let (_never, pause) = channel();
    let faults = disorder(&servers, &hosts, &mut Chance(seed), length, &pause);
    // From here on everything works, and the clients go on until nothing is asked any more.
    let ends = || {
        let all = views(&hosts[0]);
        (all.len() == SESSIONS && all.iter().all(|view| view.status == Status::Completed)).then_some(())
    };
    let ended = look_at_most(HEALING, ends);
    is_over.store(true, Ordering::SeqCst);
    clients.into_iter().for_each(|client| client.join().unwrap());
    let told = told.lock().unwrap().clone();
    let thanked = told.iter().filter(|told| told.how == How::Thanked).count();
    let mut wrong = Vec::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime
        .block_on(Nats::opened(servers.site(tempfile::tempdir().unwrap().path(), "failover")))
        .unwrap();
    let ids = runtime.block_on(store.list()).unwrap();
    for id in &ids {
        let log = whole_log(&runtime, &store, id);
        wrong.extend(check_log(id.as_str(), &log));
        wrong.extend(check_records(id.as_str(), &log, &told));
        for host in hosts.iter() {
            let copy = host.project.root().join(".rapport/sessions").join(id.as_str()).join("log.jsonl");
            let copy = std::fs::read_to_string(copy).unwrap_or_default();
            wrong.extend(check_copy(id.as_str(), &log, &copy));
        }
    }
    hosts.iter().for_each(Host::kill);
    let left = left(&hosts);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(ids.len(), SESSIONS);
    assert!(ended.is_some(), "not all sessions ended: {left}");
    assert!(thanked >= SESSIONS, "{thanked} answers were thanked for");
    println!("{faults} faults, {} attempts to answer, {thanked} thanked for, nothing lost", told.len());
}

fn hosts(servers: &NatsServers) -> Vec<Host> {
    let made = ["desk", "laptop", "server"].map(|name| {
        let networks: Vec<_> =
            (0..servers.replicas()).map(|number| Network::to(servers.port(number))).collect();
        let addresses: Vec<_> = networks.iter().map(Network::address).collect();
        let project = host(&addresses.join(","), servers.replicas(), "failover", name, QUESTIONS)
            .set("RAPPORT_AGENT_HOT", "3s");
        Host { project, networks, serving: Mutex::new(None) }
    });
    made.into()
}

/// Does something to a host or a server every two to four seconds, and mends everything in the end. Returns how often.
fn disorder(
    servers: &NatsServers,
    hosts: &[Host],
    chance: &mut Chance,
    length: Duration,
    pause: &Receiver<()>,
) -> usize {
    // What happens has its own pace; nothing is waited for.
    let wait = |milliseconds: usize| {
        let _ = pause.recv_timeout(Duration::from_millis(milliseconds as u64));
    };
    let (until, mut faults) = (Instant::now() + length, 0);
    while Instant::now() < until {
        let (host, server) = (&hosts[chance.below(HOSTS)], chance.below(servers.replicas()));
        faults += 1;
        match chance.below(5) {
            0 => {
                host.kill();
                wait(1000 + chance.below(2000));
                host.serve();
            }
            1 => {
                host.signal(Signal::SIGSTOP);
                wait(2000 + chance.below(16_000));
                host.signal(Signal::SIGCONT);
            }
            2 => {
                host.networks.iter().for_each(Network::cut);
                wait(2000 + chance.below(14_000));
                host.networks.iter().for_each(Network::mend);
            }
            3 => {
                servers.kill(server);
                wait(500 + chance.below(2000));
                servers.start_again(server);
            }
            _ => {
                servers.freeze(server);
                wait(1000 + chance.below(3000));
                servers.thaw(server);
            }
        }
        wait(2000 + chance.below(2000));
    }
    faults
}

/// Answers whatever is asked, on any host, until it is over.
fn answer(number: usize, seed: u64, hosts: &[Host], is_over: &AtomicBool, told: &Mutex<Vec<AnswerRecord>>) {
    static ANSWERS: AtomicUsize = AtomicUsize::new(0);
    let mut chance = Chance(seed + 7919 * (number as u64 + 1));
    while !is_over.load(Ordering::SeqCst) {
        let host = &hosts[chance.below(HOSTS)];
        let all = views(host);
        let open: Vec<_> =
            all.iter().flat_map(|view| view.questions.iter().map(move |open| (view, open))).collect();
        if open.is_empty() {
            continue;
        }
        let (view, question) = open[chance.below(open.len())];
        let is_free = matches!(question.purpose, Purpose::Clarify);
        let value = match is_free {
            true => format!("colour {}", ANSWERS.fetch_add(1, Ordering::SeqCst)),
            false => question.options[0].value.clone(),
        };
        let named = if is_free { ["--text", value.as_str()].to_vec() } else { [value.as_str()].to_vec() };
        let (session, id) = (view.id.as_str(), question.id.as_str());
        let words = [vec!["answer", session, "--question", id], named].concat();
        let ran = host.project.rapport(&words);
        let how = match ran.code() {
            0 => How::Thanked,
            3 if ran.err().contains("already answered") => How::TooLate(ran.err()),
            _ => How::Unsure,
        };
        let (session, question) = (session.to_owned(), id.to_owned());
        told.lock().unwrap().push(AnswerRecord { session, question, value, how });
    }
}

/// All sessions, as a host sees them; none if it cannot see them now.
fn views(host: &Host) -> Vec<View> {
    let ran = host.project.rapport(&["status", "--json", "--all"]);
    serde_json::from_slice(&ran.0.stdout).unwrap_or_default()
}

/// The sessions that have not ended, and what the hosts logged about them.
fn left(hosts: &[Host]) -> String {
    let all = views(&hosts[0]);
    let open = all.iter().filter(|view| view.status != Status::Completed);
    let lines = open.map(|view| {
        let logs = hosts.iter().map(|host| {
            let log = std::fs::read_to_string(host.project.path("serve.log")).unwrap_or_default();
            log.lines()
                .filter(|line| line.contains(view.id.as_str()))
                .map(|line| format!("  {line}\n"))
                .collect()
        });
        format!(
            "{} {:?} {:?}\n{}",
            view.id,
            view.status,
            view.questions,
            logs.collect::<Vec<String>>().join("  --\n")
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The log of a session as the servers have it.
fn whole_log(runtime: &tokio::runtime::Runtime, store: &Nats, id: &SessionId) -> String {
    let mut log = Vec::new();
    loop {
        let piece = runtime.block_on(store.raw(id, log.len())).unwrap();
        if piece.is_empty() {
            return String::from_utf8(log).unwrap();
        }
        log.extend(piece);
    }
}

/// The planted fault: without the condition under which a holder writes, one that comes back late adds an entry to
/// what another one wrote. The checker sees it.
#[tokio::test]
async fn a_fork_is_caught_if_holders_are_not_fenced() {
    let Some(servers) = nats::single() else { return };
    let host = TestHost::new(servers, "planted").await;
    let log_of = async |id: &SessionId| String::from_utf8(host.store.raw(id, 0).await.unwrap()).unwrap();
    for is_fenced in [true, false] {
        let (id, _, mut late) = host.store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        host.store.end_hold(&id).await.unwrap();
        let (_, mut log) = host.store.hold(&id, &holder(2)).await.unwrap();
        log.append(noon(), said("b")).await.unwrap();
        host.store.set_fencing(is_fenced);
        assert_eq!(late.append(noon(), said("late")).await.is_err(), is_fenced);
        host.store.set_fencing(true);
        assert_eq!(check_log(id.as_str(), &log_of(&id).await).is_empty(), is_fenced);
        if !is_fenced {
            let seen = host.store.counted(&id, 0).await;
            assert!(seen.is_err(), "and so does Rapport itself");
        }
    }
}
