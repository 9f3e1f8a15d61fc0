//! Callers of a running session from other processes: they get an answer in time or none, and act only for those they
//! may.

use std::process::Command;

use command_fds::{CommandFdExt as _, FdMapping};
use nix::sys::signal::Signal;
use rapport::agents::keeper::{BESIDE, LIFELINE};
use rapport::engine::ChannelLease;
use rapport::engine::claims::LEADS;
use rapport::engine::socket::{self, Sent};
use rapport_core::{Act, By, Event, QuestionId, Refusal, Reply};

use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};
use crate::support::scenarios::ONE_QUESTION;

/// The system has no descriptor left for one instant, while there is no other call.
#[test]
fn a_call_that_could_not_be_taken_is_not_the_last_one() {
    let project = Project::with_scenario(ONE_QUESTION);
    let running = asked(&project);
    limit_files(&running, "1:");
    let before = wakes(&running);
    // It connects, because the system lets it wait in line; no process can accept the call.
    let caller = std::os::unix::net::UnixStream::connect(address(&project)).unwrap();
    wait_for("the call to be tried", || (wakes(&running) > before).then_some(()));
    drop(caller);
    limit_files(&running, "1024:");
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
}

/// A host that is stopped takes the call and says nothing.
#[test]
fn a_caller_is_told_when_the_process_does_not_answer() {
    let project = Project::with_scenario(ONE_QUESTION);
    let running = asked(&project);
    running.signal(Signal::SIGSTOP);
    let pid = running.child.id();
    for words in [&["answer", "paint", "Blue"][..], &["cancel", "paint"]] {
        project
            .rapport(words)
            .check(5, &format!("is run by process {pid}, which does not answer"))
            .check(5, &format!("kill -CONT {pid}"))
            .check(5, "rapport status 2");
    }
    running.signal(Signal::SIGCONT);
    // Both callers were gone when it came back to them, so that it could no longer be told who they were.
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    assert_eq!(project.facts().iter().filter(|fact| matches!(fact, Event::Answered { .. })).count(), 1);
}

/// What an agent runs cannot answer the agent's own question, however it hides.
#[test]
fn an_agent_cannot_answer_itself() {
    let rapport = env!("CARGO_BIN_EXE_rapport");
    for (n, hidden) in HIDDEN.into_iter().enumerate() {
        let project = Project::with_agent("");
        std::fs::write(project.path("call.pl"), CALL).unwrap();
        std::fs::write(project.path("try.sh"), TRY.replace("RAPPORT", rapport)).unwrap();
        let script = project.path("try.sh").display().to_string();
        let project = project.playing(&WITH_SCRIPT.replace("HIDDEN", &hidden.replace("SCRIPT", &script)));
        let mut running = asked(&project);
        project.rapport(&["answer", "paint", "--question", "confirm", "confirm"]).check(0, "Answered.");
        running.until_asked();
        let said =
            |name: &str| wait_for(name, || Some(project.file(name)).filter(|said| said.ends_with('\n')));
        let (code, raw) = (said("code.txt"), said("raw.txt"));
        assert_eq!(code, "3\n", "{n}: {}", project.file("out.txt"));
        assert!(project.file("out.txt").contains("an agent cannot act in a person's name"), "{n}");
        assert!(raw.contains("forbidden") && raw.contains("started by an agent"), "{n}: {raw}");
        // Nor is it given the tools of a lead, in the name of its own session.
        assert_eq!(raw.matches("forbidden").count(), 2, "{n}: {raw}");
        let answered = || project.facts().iter().filter(|f| matches!(f, Event::Answered { .. })).count();
        assert_eq!(answered(), 1, "{n}: the confirmation, by a person");
        project.rapport(&["answer", "paint", "--question", "q1", "Blue"]).check(0, "Answered.");
        assert_eq!(running.finish(), 0, "{n}");
        assert_eq!(answered(), 2, "{n}");
    }
}

/// Where no process runs the session, the log could be written to directly; and it could be resumed.
#[test]
fn an_agent_cannot_answer_another_session_either() {
    let project = Project::with_scenario(ONE_QUESTION);
    asked(&project).kill();
    let session = project.session();
    for words in [
        &["answer", "paint", "Blue"][..],
        &["run", "--resume", session.as_str()],
        &["run", "more"],
        &["resume", session.as_str()],
        &["trust", "--yes"],
        &["trust", session.as_str(), "--yes"],
        &["stop", "paint"],
        &["cancel", "paint"],
        &["apply", "paint"],
        &["discard", "paint", "--yes"],
        &["branch", "paint", "--at", "q1"],
        &["shell", "paint"],
        &["mcp"],
    ] {
        let mut keeper = project.command();
        keeper.args(["keep", "--command", "--", "env", "-i", "setsid", "--wait"]);
        let home = format!("HOME={}", project.path("home").display());
        keeper.args(["env", &home, env!("CARGO_BIN_EXE_rapport")]).args(words);
        // As the host starts it, except for the pipes.
        keeper.env("RAPPORT_RUN", "x");
        let ran = crate::support::project::Ran(with_pipes(keeper).output().unwrap());
        println!("{words:?}");
        ran.check(3, "an agent cannot act in a person's name");
    }
    assert_eq!(project.store().list().unwrap(), [session], "no other session was made");
    assert!(!project.facts().iter().any(|fact| matches!(fact, Event::Answered { .. })));
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
}

/// A claim is refused, never changed into another; the people of a channel belong to who runs it.
#[tokio::test]
async fn only_the_process_that_runs_a_channel_speaks_for_its_people() {
    let project = Project::with_scenario(ONE_QUESTION);
    let running = asked(&project);
    let (address, session) = (address(&project), project.session());
    let telegram = By::Person { channel: "telegram".into(), id: "42".into() };
    let claims = [
        telegram.clone(),
        By::Person { channel: "terminal".into(), id: "somebody-else".into() },
        By::Person { channel: "../telegram".into(), id: "42".into() },
        By::Lead { name: "lead".into() },
        By::Model { name: "sonnet".into() },
        By::written_rule("always"),
        // The routing is known by its kind, not by its words.
        By::written_rule("questions go to the lead first"),
    ];
    for by in &claims {
        match socket::send_for(&address, &session, &blue(), by).await {
            Sent::Forbidden(why) => assert!(why.contains(&format!("may not speak for {by}")), "{why}"),
            other => panic!("{by}: {other:?}"),
        }
    }
    assert!(!project.facts().iter().any(|fact| matches!(fact, Event::Answered { .. })));
    let lease = ChannelLease::take(&project.path("home/.rapport/run"), "telegram").await.unwrap();
    assert!(matches!(socket::send_for(&address, &session, &blue(), &telegram).await, Sent::Done));
    drop(lease);
    let by = project.facts().into_iter().find_map(|fact| match fact {
        Event::Answered { by, .. } => Some(by),
        _ => None,
    });
    assert_eq!(by, Some(telegram.clone()));
    // The same holds for leads, whatever their names.
    let lead = By::Lead { name: "lead".into() };
    let lease = ChannelLease::take(&project.path("home/.rapport/run"), LEADS).await.unwrap();
    let late = socket::send_for(&address, &session, &blue(), &lead).await;
    assert!(matches!(&late, Sent::Refused(Refusal::AlreadyAnswered { .. })), "{late:?}");
    drop(lease);
    let late = socket::send_for(&address, &session, &blue(), &lead).await;
    assert!(matches!(late, Sent::Forbidden(_)), "{late:?}");
    let again = socket::send_for(&address, &session, &Act::Back, &telegram).await;
    assert!(matches!(again, Sent::Forbidden(_)), "the lease is given back: {again:?}");
    drop(running);
}

/// Ways in which the agent may start it: in the open, without its environment, and as an orphan in a session of its
/// own.
const HIDDEN: [&str; 3] = [
    "sh SCRIPT > /dev/null 2>&1 &",
    "env -i HOME=$HOME PATH=$PATH sh SCRIPT > /dev/null 2>&1 &",
    "(env -i HOME=$HOME PATH=$PATH setsid sh -c 'sh SCRIPT &' > /dev/null 2>&1 &) > /dev/null 2>&1",
];

const WITH_SCRIPT: &str = r##"
version: 1
name: it answers itself
invocations:
  - result: "# Paint\n\n1. Ask, then paint."
  - steps:
      - bash: { command: "HIDDEN" }
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
    result: "Painted."
"##;

/// Waits for the question, and answers it: with our own program, and by talking to the socket, where it also asks for
/// the tools of a lead.
const TRY: &str = r#"
while ! grep -q 'Which colour' .rapport/sessions/*/log.jsonl; do sleep 0.05; done
RAPPORT answer paint --question q1 Red > out.txt 2>&1
echo $? > code.txt
perl "$(dirname "$0")/call.pl" > raw.txt
"#;

const CALL: &str = r#"
use IO::Socket::UNIX;
my ($lock) = glob(".rapport/sessions/*/lock");
open(my $file, "<", $lock) or die; my $holder = <$file>;
my ($address) = $holder =~ /"address":"([^"]+)"/;
my ($session) = $lock =~ m{sessions/([^/]+)/lock};
my $socket = IO::Socket::UNIX->new(Peer => $address) or die "cannot connect: $!";
print $socket qq({"session":"$session","act":{"answer":{"question":"q1","reply":{"words":["Red"]}}}}\n);
$socket->flush; print scalar <$socket>;
$socket = IO::Socket::UNIX->new(Peer => $address) or die "cannot connect: $!";
print $socket qq({"tools_of":"$session"}\n);
$socket->flush; print scalar <$socket>;
"#;

fn asked(project: &Project) -> Running {
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running
}

fn address(project: &Project) -> String {
    project.store().holder(&project.session()).unwrap().unwrap().address.unwrap()
}

fn blue() -> Act {
    Act::Answer { question: Some(QuestionId::new("q1")), reply: Reply::Words(vec!["Blue".into()]) }
}

/// How often the threads of a process have waited for something and got it.
fn wakes(running: &Running) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", running.child.id())).unwrap().flatten();
    let counts = tasks.filter_map(|task| {
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse::<u64>().ok())
    });
    counts.sum()
}

/// Gives a keeper the pipes that it gets from its host: one that is held, one that is not read.
fn with_pipes(mut keeper: Command) -> Command {
    let (reading, lifeline) = std::io::pipe().unwrap();
    let (_, told) = std::io::pipe().unwrap();
    // It is held for as long as this test runs.
    std::mem::forget(lifeline);
    let mapping = |parent_fd, child_fd| FdMapping { parent_fd, child_fd };
    keeper.fd_mappings(vec![mapping(reading.into(), LIFELINE), mapping(told.into(), BESIDE)]).unwrap();
    keeper
}

/// Sets the limit of open files of a running process.
fn limit_files(running: &Running, limit: &str) {
    let pid = running.child.id().to_string();
    let set = Command::new("prlimit").args(["--pid", &pid, &format!("--nofile={limit}")]).status().unwrap();
    assert!(set.success());
}
