//! Host and keeper are killed at the same instant, or suspended. The agent never continues without them, and the next
//! process that resumes the session ends what is left of it.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport_core::Event;

use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};
use crate::support::scenarios::ONE_QUESTION;

/// The agent has started something that left its group and its session, and then asks.
const WITH_LEFTOVERS: &str = r##"
version: 1
name: leftovers
invocations:
  - result: "# Paint\n\n1. Ask, then paint."
  - steps:
      - bash: { command: "setsid sh -c 'echo $$ > left.pid; exec sleep 1000' > /dev/null 2>&1 &" }
      - bash: { command: "while [ ! -s left.pid ]; do sleep 0.02; done" }
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
      - write: { path: paint.txt, content: "{{answer:1}}\n" }
    result: "Painted in {{answer:1}}."
"##;

#[test]
fn killed_at_one_blow_the_agent_is_gone_and_has_not_guessed() {
    let project = Project::with_scenario(ONE_QUESTION).recorded();
    let running = asked(&project);
    kill_at_one_blow(&project, running);
    finish(&project);
}

#[test]
fn what_the_session_left_behind_is_ended_when_it_is_resumed() {
    let project = Project::with_scenario(WITH_LEFTOVERS).recorded();
    let mut running = asked(&project);
    project.rapport(&["answer", "paint", "--question", "confirm", "confirm"]).check(0, "Answered.");
    running.until_asked();
    kill_at_one_blow(&project, running);
    let left = Pid::from_raw(project.file("left.pid").trim().parse().unwrap());
    assert!(lives(left), "it is out of reach of the signal, so this shows something");
    let mut running = project.start(&["--resume", project.session().as_str()], &[]);
    wait_for("it to be gone", || (!lives(left)).then_some(()));
    project.rapport(&["answer", "paint", "--question", "q1", "Blue"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, Event::Reported { .. }));
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

/// A keeper that is stopped notices nothing; the agent keeps waiting, because the keeper holds its input.
#[test]
fn a_keeper_that_was_stopped_and_its_agent_are_ended_when_the_session_is_resumed() {
    let project = Project::with_scenario(ONE_QUESTION).recorded();
    let running = asked(&project);
    let keeper = keeper(&project);
    kill(keeper, Signal::SIGSTOP).unwrap();
    running.kill();
    assert!(lives(keeper));
    finish(&project);
    assert!(!lives(keeper));
}

#[test]
fn a_host_ends_a_keeper_that_was_stopped() {
    let project = Project::with_scenario(ONE_QUESTION).recorded();
    let running = asked(&project);
    let keeper = keeper(&project);
    kill(keeper, Signal::SIGSTOP).unwrap();
    running.signal(Signal::SIGTERM);
    assert_eq!(running.finish(), 130);
    assert_eq!(project.agents_alive(), []);
    finish(&project);
}

/// An agent does not continue because its host is suspended, not even for good.
#[test]
fn a_host_that_is_stopped_and_then_killed_takes_the_agent_along() {
    let project = Project::with_scenario(ONE_QUESTION).recorded();
    let running = asked(&project);
    running.signal(Signal::SIGSTOP);
    assert!(!project.agents_alive().is_empty());
    running.kill();
    project.wait_alone(Duration::from_secs(5));
    finish(&project);
}

fn asked(project: &Project) -> Running {
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running
}

fn keeper(project: &Project) -> Pid {
    project.agents_alive().into_iter().find(|(_, words)| words.contains(" keep -- ")).unwrap().0
}

/// The host is stopped first, so that it cannot see its keeper go, and nothing but the system is left to end the
/// agent. (Were the keeper stopped and its host killed, the system would hang up on the keeper's group, which ends
/// the agent too, and shows nothing.)
#[track_caller]
fn kill_at_one_blow(project: &Project, running: Running) {
    let keeper = keeper(project);
    running.signal(Signal::SIGSTOP);
    let host = Pid::from_raw(running.child.id() as i32);
    wait_for("the host to be stopped", || (state(host) == Some('T')).then_some(()));
    kill(keeper, Signal::SIGKILL).unwrap();
    project.wait_alone(Duration::from_secs(5));
    running.kill();
}

fn lives(pid: Pid) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

/// The state of a process, as `/proc` has it.
fn state(pid: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Takes it up, answers, and looks that the agent was asked once, told once, and never guessed.
#[track_caller]
fn finish(project: &Project) {
    let mut running = project.start(&["--resume", project.session().as_str()], &[]);
    project.wait_asked_for("q1");
    project.rapport(&["answer", "paint", "--question", "q1", "Blue"]).check(0, "Answered.");
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "--question", "confirm", "confirm"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, Event::Reported { .. }));
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "Blue\n");
    let asked = project.facts().into_iter().filter(|fact| matches!(fact, Event::Asked { .. })).count();
    assert_eq!(asked, 2, "the question and the confirmation");
    let told = project.transcripts().concat();
    assert!(!told.iter().any(|line| line.to_string().contains("(no answer)")), "it guessed: {told:#?}");
}
