//! The whole program, killed while a question does not wait alone, or while an allowed call runs: with the scripted
//! agent and with the real CLI in three versions. The model reads nothing before the answer, reads the answer once,
//! and nothing runs twice without a question.

use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{
    Ask as Round, Bash, Call, ExitPlan, FullQuestion, Scenario, Step, SubAgent, WriteFile,
};
use rapport_core::{Beside, Event, Purpose, Question, Status};
use serde_json::Value;

use super::super::actor::Actor;
use super::{PARKED, PLAN, World};
use crate::support::disk::Disk;
use crate::support::patience::{wait_at_most, wait_for};
use crate::support::project::Running;

/// Each story on each agent.
macro_rules! on_every_version {
    (@ $row:ident ($actor:expr) $($story:ident)*) => {
        mod $row {
            use crate::contract::agent::actor::Actor;
            $(#[test]
            fn $story() {
                if let Some(actor) = $actor {
                    super::$story(&actor);
                }
            })*
        }
    };
    ($($story:ident)*) => {
        crate::contract::agent::agents! { on_every_version $($story)* }
        on_every_version! { @ claude_2_1_197 (Actor::named("RAPPORT_TEST_CLAUDE_2_1_197")) $($story)* }
        on_every_version! { @ claude_2_1_90 (Actor::named("RAPPORT_TEST_CLAUDE_2_1_90")) $($story)* }
    };
}

on_every_version! {
    killed_beside_a_call
    killed_beside_an_agent
    killed_beside_a_command
    killed_at_one_blow_beside_a_call
    killed_at_one_blow_beside_an_agent
    killed_at_one_blow_beside_a_command
    stopped_for_a_while_beside_a_call
    stopped_for_a_while_beside_an_agent
    stopped_for_a_while_beside_a_command
    stopped_and_killed_beside_a_call
    a_command_that_had_begun_is_asked_about_anew
    a_permission_that_cannot_be_stored_is_no_refusal
}

/// Tools that are allowed, so that nothing but the question is asked.
pub(super) const ALLOWED: &str = "--allowedTools Bash,Task,Agent,Write";
/// What the background is busy with. It ends by itself only long after the story, for the case that it is begun once
/// more: an agent that was killed may not have written down yet that it had begun it.
const WORKS: &str = "touch begun; n=0; until [ -f go ] || [ $n -gt 1000 ]; do n=$((n + 1)); sleep 0.05; done";
const CORNER: &str = "Look into the corner";
pub(super) const ANSWER: &str = "auth, for short";

fn killed_beside_a_call(actor: &Actor) {
    killed_beside(actor, Beside::Call, Blow::Host);
}

fn killed_beside_an_agent(actor: &Actor) {
    killed_beside(actor, Beside::Agent, Blow::Host);
}

fn killed_beside_a_command(actor: &Actor) {
    killed_beside(actor, Beside::Command, Blow::Host);
}

fn killed_at_one_blow_beside_a_call(actor: &Actor) {
    killed_beside(actor, Beside::Call, Blow::Both);
}

fn killed_at_one_blow_beside_an_agent(actor: &Actor) {
    killed_beside(actor, Beside::Agent, Blow::Both);
}

fn killed_at_one_blow_beside_a_command(actor: &Actor) {
    killed_beside(actor, Beside::Command, Blow::Both);
}

fn stopped_and_killed_beside_a_call(actor: &Actor) {
    killed_beside(actor, Beside::Call, Blow::StoppedHost);
}

fn stopped_for_a_while_beside_a_call(actor: &Actor) {
    stopped_beside(actor, Beside::Call);
}

fn stopped_for_a_while_beside_an_agent(actor: &Actor) {
    stopped_beside(actor, Beside::Agent);
}

fn stopped_for_a_while_beside_a_command(actor: &Actor) {
    stopped_beside(actor, Beside::Command);
}

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    Host,
    /// Host and keeper, so that no process is left to end the agent.
    Both,
    /// The host, after it was stopped.
    StoppedHost,
}

fn killed_beside(actor: &Actor, beside: Beside, blow: Blow) {
    let (world, running, question) = kept_beside(actor, beside);
    says_why_it_is_kept(&world, beside);
    let heard = requests(&world).len();
    strike(&world, running, blow);
    assert_eq!(world.project.file("auth.txt"), "", "nothing goes on without the answer");
    assert_eq!(requests(&world).len(), heard, "the model heard something before the answer");
    world.answer(&question);
    assert_eq!(requests(&world).len(), heard, "nobody runs it");
    let session = world.project.session();
    let running = world.project.start(&[PARKED, &["--resume", session.as_str()]].concat(), &[]);
    world.answer_everything(running);
    assert_done(&world, beside);
    assert_answered_once(&world, &question, heard);
    if world.model.is_some() {
        // Older CLIs leave a call that was cut off out of the conversation. The scripted model, which reads nothing,
        // then makes it again, and gets the answer as its result, too; no message tells it twice.
        let last = requests(&world).pop().unwrap();
        assert_eq!(last.matches(&format!("1. {ANSWER}")).count(), 1, "it is told once: {last}");
    }
}

/// Host and keeper are stopped and continue, one after the other and both together: nothing is lost, and nothing went
/// on meanwhile.
fn stopped_beside(actor: &Actor, beside: Beside) {
    let (world, running, question) = kept_beside(actor, beside);
    let host = Pid::from_raw(running.child.id() as i32);
    let (keeper, agents) = keeper(&world);
    let heard = requests(&world).len();
    for stopped in [&[host][..], &[keeper], &[host, keeper]] {
        let signal = |signal: Signal| stopped.iter().for_each(|process| kill(*process, signal).unwrap());
        signal(Signal::SIGSTOP);
        for process in stopped {
            wait_for("it is stopped", || (state(process.as_raw()) == Some('T')).then_some(()));
        }
        assert_eq!(alive(&agents), agents, "the agent waits");
        signal(Signal::SIGCONT);
        for process in stopped {
            wait_for("it continues", || (state(process.as_raw()) != Some('T')).then_some(()));
        }
        says_why_it_is_kept(&world, beside);
    }
    assert_eq!(requests(&world).len(), heard, "the model heard something before the answer");
    assert_eq!(world.project.file("auth.txt"), "", "nothing goes on without the answer");
    std::fs::write(world.project.root().join("go"), "").unwrap();
    world.answer(&question);
    world.answer_everything(running);
    assert_answered_once(&world, &question, heard);
    assert_done(&world, beside);
    assert_eq!(world.project.file("auth.txt"), "Auth.\n");
    let told = world.conversation();
    assert!(!told.contains(&format!("1. {ANSWER}")), "its call waited, so that no message tells it: {told}");
}

/// A run whose question is kept because of something else in flight.
fn kept_beside(actor: &Actor, beside: Beside) -> (World, Running, Question) {
    let mut world = World::with_arguments(actor, story(beside), ALLOWED);
    world.project = world.project.set("RAPPORT_AGENT_PERMISSION_MODE", "acceptEdits");
    let mut running = world.project.start(&[PARKED, &["add", "auth"]].concat(), &[]);
    let question = world.answer_until(&mut running, "Which name?");
    running.until(|fact| matches!(fact, Event::StayedHot { beside: told, .. } if *told == beside));
    if beside != Beside::Call {
        wait_for("the background", || world.project.root().join("begun").exists().then_some(()));
    }
    (world, running, question)
}

/// The agent has come to its end.
pub(super) fn assert_done(world: &World, beside: Beside) {
    let result = world.project.view().result.unwrap_or_default();
    // A background agent that ended last makes another turn, for which the script has nothing to say.
    let is_of_its_agent = beside == Beside::Agent && result == "(the script is over)";
    assert!(result == "All done." || is_of_its_agent, "{result}");
}

/// It is over; the question was asked once, and its answer is the first that the model heard after these requests.
fn assert_answered_once(world: &World, question: &Question, heard: usize) {
    assert_eq!(world.processes(), Vec::<i32>::new());
    let asked = world.project.facts().into_iter().filter(|fact| matches!(fact, Event::Asked { questions, .. } if questions.iter().any(|asked| asked.text == question.text)));
    assert_eq!(asked.count(), 1, "nobody is asked twice");
    let requests = requests(world);
    for request in &requests {
        assert!(!request.contains("Tool result missing"), "it went on without the answer: {request}");
    }
    if world.model.is_some() {
        assert!(requests[heard].contains(ANSWER), "the next it hears is the answer: {}", requests[heard]);
    } else {
        let said = world.project.transcripts().concat().into_iter().filter(|line| line["type"] == "user");
        let told = said.map(|line| line["message"].to_string()).collect::<String>();
        assert_eq!(told.matches(ANSWER).count(), 1, "it hears it once: {told}");
    }
}

/// `status` says why the process stays, in words and as JSON.
pub(super) fn says_why_it_is_kept(world: &World, beside: Beside) {
    let session = world.project.session();
    let line = format!("kept running: {beside}");
    world.project.rapport(&["status"]).check(0, &line);
    world.project.rapport(&["status", session.as_str()]).check(0, &line);
    let view: Value = world.project.json(&["status", session.as_str(), "--json"]);
    assert_eq!(view["agent"]["kept_by"], serde_json::to_value(beside).unwrap(), "{view}");
    assert_eq!(view["agent"]["state"], "hot", "{view}");
}

pub(super) fn story(beside: Beside) -> ScenarioBuilder {
    let name = || Round::one(FullQuestion::new("Which name?", "Name", &[("auth", ""), ("login", "")]));
    let write = WriteFile { path: "auth.txt".into(), content: "Auth.\n".into(), ..WriteFile::default() };
    let alone = |step: Step| working().step(step).asks(name()).uses_write("auth.txt", "Auth.\n");
    let working = match beside {
        Beside::Agent => {
            alone(Step::Agent(SubAgent { prompt: CORNER.into(), command: WORKS.into(), id: None }))
        }
        Beside::Command => {
            alone(Step::Bash(Bash { command: WORKS.into(), background: true, ..Bash::default() }))
        }
        _ => working().together(vec![Call::Ask(name()), Call::Write(write)]),
    };
    working.respond_with_text("All done.")
}

/// A plan that is agreed on, before the work.
pub(super) fn working() -> ScenarioBuilder {
    let plan = Step::ExitPlan(ExitPlan { plan: PLAN.into(), id: None });
    Scenario::new("beside").step(plan).respond_with_text("Planned.").next_invocation()
}

/// What the model was asked in the agent's own conversation, request by request.
pub(super) fn requests(world: &World) -> Vec<String> {
    let seen = world.model.iter().flat_map(|model| model.seen());
    let is_own = |request: &Value| !request["messages"][0]["content"].to_string().contains(CORNER);
    seen.filter(is_own).map(|request| request["messages"].to_string()).collect()
}

/// `kill -9`; the agent is gone, and with its keeper all that it started.
fn strike(world: &World, running: Running, blow: Blow) {
    let (keeper, agents) = keeper(world);
    let is_over = |left: Vec<i32>| left.is_empty().then_some(());
    if blow != Blow::Host {
        let host = running.child.id() as i32;
        running.signal(Signal::SIGSTOP);
        wait_for("the host to be stopped", || (state(host) == Some('T')).then_some(()));
    }
    if blow == Blow::Both {
        // The host cannot see it go, so that only the system is left to end the agent.
        kill(keeper, Signal::SIGKILL).unwrap();
        let end = "the end of the agent without host and keeper";
        wait_at_most(Duration::from_secs(10), end, || is_over(alive(&agents)));
    }
    running.kill();
    wait_at_most(Duration::from_secs(10), "the end of the agent", || {
        is_over(if blow == Blow::Both { alive(&agents) } else { world.processes() })
    });
}

/// The keeper, and the agent that it keeps.
fn keeper(world: &World) -> (Pid, Vec<i32>) {
    let keeper = world.project.agents_alive().into_iter().find(|(_, words)| words.contains(" keep -- "));
    let (keeper, _) = keeper.expect("a keeper");
    let agents = children(keeper);
    assert!(!agents.is_empty(), "the agent runs");
    (keeper, agents)
}

/// What a process has started itself: of a keeper, that is the agent. Its name tells nothing, because Node changes it.
fn children(of: Pid) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let lists: Vec<_> = lists.collect();
    lists.iter().flat_map(|list| list.split_ascii_whitespace()).filter_map(|id| id.parse().ok()).collect()
}

/// Those of these processes that have not ended.
fn alive(processes: &[i32]) -> Vec<i32> {
    processes.iter().copied().filter(|id| state(*id).is_some_and(|state| state != 'Z')).collect()
}

/// The state of a process, as `/proc` has it.
fn state(id: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// A command that was allowed once and has begun is not run a second time because its host was killed.
fn a_command_that_had_begun_is_asked_about_anew(actor: &Actor) {
    const CHARGE: &str = "echo charged >> n.txt; until [ -f go ]; do sleep 0.05; done";
    // The model makes the call again, whether or not it was left a trace of the first.
    let twice = working().uses_bash(CHARGE).with_permission().uses_bash(CHARGE).with_permission();
    let world = World::playing(actor, twice.respond_with_text("All done."));
    let mut running = world.project.start(&["add", "auth"], &[]);
    loop {
        let Event::Asked { questions, .. } = running.until_asked() else { unreachable!() };
        world.answer(&questions[0]);
        if matches!(questions[0].purpose, Purpose::Permission { .. }) {
            break;
        }
    }
    wait_for("the command to begin", || (world.project.file("n.txt") == "charged\n").then_some(()));
    strike(&world, running, Blow::Host);
    // Were it run unasked, it would come to its end now, and be seen.
    std::fs::write(world.project.root().join("go"), "").unwrap();
    let session = world.project.session();
    let mut running = world.project.start(&["--resume", session.as_str()], &[]);
    let mut asked_anew = 0;
    while let Some(entry) = running.next() {
        let asked = entry.facts.into_iter().filter_map(|fact| match fact {
            Event::Asked { questions, .. } => questions.into_iter().next(),
            _ => None,
        });
        for question in asked.filter(|question| world.is_open(question)) {
            assert!(matches!(question.purpose, Purpose::Permission { .. }), "{question:?}");
            if asked_anew == 0 {
                world.project.rapport(&["status", session.as_str()]).check(0, "it may have run already");
            }
            asked_anew += 1;
            let args = ["answer", session.as_str(), "--question", question.id.as_str(), "deny"];
            world.project.rapport(&args).check(0, "Deny");
        }
    }
    assert_eq!(running.finish(), 0);
    assert!(asked_anew > 0, "{:#?}", world.project.facts());
    assert_eq!(world.project.file("n.txt"), "charged\n");
}

/// The disk is too full to store the agent's question: the agent is ended, and the model does not read that a person
/// refused.
fn a_permission_that_cannot_be_stored_is_no_refusal(actor: &Actor) {
    let content = "word\n".repeat(120_000);
    let twice = working().uses_write("big.txt", &content).with_permission();
    let twice = twice.uses_write("big.txt", &content).with_permission();
    let world = World::playing(actor, twice.respond_with_text("All done."));
    let Some(disk) = Disk::at(&world.project.root(), "8m") else { return };
    world.project.begin();
    let filler = nearly_full(&disk);
    let mut running = world.project.start(&["add", "auth"], &[]);
    while let Some(entry) = running.next() {
        for fact in entry.facts {
            if let Event::Asked { questions, .. } = fact {
                let permission = |purpose: &Purpose| matches!(purpose, Purpose::Permission { .. });
                assert!(!permission(&questions[0].purpose), "there is no room for it");
                world.answer(&questions[0]);
            }
        }
    }
    let (code, said) = running.finish_saying();
    assert!(code == 6 && said.contains("No space left on device"), "{code}: {said}");
    wait_at_most(Duration::from_secs(10), "the end of the agent", || {
        world.processes().is_empty().then_some(())
    });
    assert_eq!(world.project.file("big.txt"), "");
    std::fs::remove_file(filler).unwrap();
    let session = world.project.session();
    let running = world.project.start(&["--resume", session.as_str()], &[]);
    world.answer_everything(running);
    assert_eq!(world.project.view().status, Status::Completed);
    assert!(world.project.file("big.txt") == content, "what was asked then was allowed");
    let heard = requests(&world).concat() + &Value::from(world.project.transcripts().concat()).to_string();
    for words in ["rejected", "doesn't want", "Tool result missing"] {
        assert!(!heard.contains(words), "the model read {words:?}");
    }
}

/// Leaves little room; the file is what takes the rest.
fn nearly_full(disk: &Disk) -> PathBuf {
    let filler = disk.fill();
    let size = std::fs::metadata(&filler).unwrap().len();
    std::fs::File::options().write(true).open(&filler).unwrap().set_len(size - 512 * 1024).unwrap();
    filler
}
