//! One set of verbs (`docs/commands.md`): `rapport say` and `rapport revise`, in every state that a session can be in.

use rapport::clock::{Clock, new_conversation};
use rapport::engine::socket;
use rapport::stores::Holder;
use rapport_core::{Aim, Created, Event, Session, Status, View};

use crate::files::{self, create, greeting, plan, run};
use crate::support::patience::wait_for;
use crate::support::project::{Project, Running, unsigned};
use crate::support::scenarios::ONE_QUESTION;

/// A project with a conversation, which begins elsewhere, such as in Telegram.
pub(super) fn conversation(scenario: &str) -> Project {
    let project = untrusted(scenario);
    project.trust();
    project
}

/// The same conversation, as it comes from another person.
fn untrusted(scenario: &str) -> Project {
    let project = Project::with_scenario(scenario);
    let root = project.root().canonicalize().unwrap();
    let begun =
        Created::new("talk".into(), root.to_str().unwrap().into(), new_conversation(), socket::person_here());
    let facts = Session::begin(Created { aim: Aim::Chat, ..begun }).unwrap();
    let holder = Holder::this_process(None);
    drop(project.store().create("talk", Clock::system().now(), facts, &holder).unwrap());
    project
}

/// A person who is asked to trust a conversation sees that its agent starts, although the state of the files is
/// recorded first.
#[test]
fn that_the_agent_of_a_conversation_starts_is_said_before_it_is_trusted() {
    let project = untrusted("version: 1\nname: talk\ninvocations:\n  - result: \"Good morning.\"\n");
    let asked = project.rapport(&["trust", "talk"]);
    let said = asked.out() + &asked.err();
    assert!(said.contains("starts the agent: talk"), "{said}");
}

fn heard(project: &Project) -> Vec<String> {
    let facts = project.facts().into_iter();
    let texts = facts.filter_map(|fact| match fact {
        Event::Heard { text, .. } => Some(text),
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_conversation_hears_what_is_said_whether_it_runs_or_not() {
    const TALK: &str = r##"
version: 1
name: talk
invocations:
  - result: "Good morning."
  - result: "Fine."
  - steps:
      - text: "Let me see."
      - delay: 600000
"##;
    let project = conversation(TALK);
    project.rapport(&["resume", "talk"]).check(0, "Good morning.");
    // No process runs the session, so it continues here.
    project.rapport(&["say", "talk", "How", "are", "you?"]).check(0, "Fine.");
    // Another process runs it, and its agent is at work.
    let mut running = project.launch(&["resume", "talk", "--json", "-m", "Look."], &[]);
    running.until(|fact| matches!(fact, Event::Said { text, .. } if text.contains("Let me see")));
    project.rapport(&["say", "talk", "And here."]).check(0, "Sent. The agent is at work");
    assert_eq!(heard(&project), ["How are you?", "Look.", "And here."]);
    project.rapport(&["say", "talk", " "]).check(2, "message is empty");
    running.kill();
}

/// The agent of a conversation may change files. Killed around any write, what it changed is known, and is undone.
#[test]
fn what_a_conversation_changed_is_undone_whatever_was_killed() {
    const WRITES: &str = r##"
version: 1
name: writes
invocations:
  - steps:
      - write: { path: notes.txt, content: "one\n" }
    result: "Written."
"##;
    let mut point = 1;
    loop {
        let project = conversation(WRITES);
        let mut command = project.command();
        command.args(["resume", "talk"]).env("RAPPORT_TRIAL_WRITES", format!("/sessions/:{point}"));
        let is_over = command.output().unwrap().status.code() == Some(0);
        if !is_over {
            // The session continues where the agent was killed; after the agent's reply nothing is left to do.
            project.rapport(&["resume", "talk"]);
        }
        project.rapport(&["diff", "talk"]).check(0, "+one");
        project.rapport(&["undo", "talk", "--yes"]).check(0, "removed: notes.txt");
        assert_eq!(project.file("notes.txt"), "", "{point}");
        if is_over {
            assert!(point > 8, "only {point} points");
            return;
        }
        point += 1;
    }
}

/// A conversation that an older version ran has no record of its changes, and Rapport does not claim that there are
/// none.
#[test]
fn what_was_not_recorded_is_not_said_to_be_nothing() {
    let project = conversation("version: 1\nname: talk\ninvocations:\n  - result: \"Good morning.\"\n");
    project.rapport(&["resume", "talk"]).check(0, "Good morning.");
    project.rapport(&["diff", "talk"]).check(0, "has changed no file so far");
    let path = project.root().join(".rapport/sessions").join(project.session().as_str()).join("log.jsonl");
    let log = std::fs::read_to_string(&path).unwrap();
    let older = |line: &str| !line.contains("\"baselined\"") && !line.contains("\"work_left\"");
    let lines = log.lines().filter(|line| older(line)).zip(1..).map(|(line, seq)| {
        let mut entry: serde_json::Value = serde_json::from_str(line).unwrap();
        entry["seq"] = seq.into();
        unsigned(entry)
    });
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    project.trust();
    project.rapport(&["diff", "talk"]).check(3, "did not record what conversations change");
    project.rapport(&["undo", "talk", "--yes"]).check(3, "did not record what conversations change");
}

#[test]
fn who_waits_for_an_answer_takes_no_other_words() {
    let project = conversation(
        "version: 1\nname: asking\ninvocations:\n  - steps:\n      - ask: { questions: [\"Which?\"] }\n    result: \"So.\"\n",
    );
    let mut running = project.launch(&["resume", "talk", "--json"], &[]);
    running.until_asked();
    let id = project.session();
    let hint = format!("rapport answer {id} --question q1 VALUE");
    for verb in ["say", "revise"] {
        project.rapport(&[verb, "talk", "hello"]).check(3, "waits for an answer to q1").check(3, &hint);
    }
    running.kill();
    // The same where no process is left.
    project.rapport(&["say", "talk", "hello"]).check(3, &hint);
    assert_eq!(heard(&project), [""; 0]);
}

#[test]
fn a_task_is_revised_while_its_plan_waits() {
    const TWICE: &str = r##"
version: 1
name: twice
invocations:
  - result: "# Shed\n\n1. Build it of wood."
  - result: "# Shed\n\n1. Build it of brick."
  - result: "# Shed\n\n1. Build it of stone."
"##;
    let project = Project::with_scenario(TWICE).recorded();
    let mut running = project.start(&["build a shed"], &[]);
    running.until_asked();
    project.rapport(&["revise", "shed", "rather of brick"]).check(0, "gets this message, and plans again");
    running.until_asked();
    assert!(project.agent_inputs()[1].iter().any(|line| line.to_string().contains("rather of brick")));
    running.kill();
    // No process runs it: the words are kept, and go to the agent when it is resumed.
    project.rapport(&["revise", "shed", "rather of stone"]).check(0, "Go on with: rapport resume 2");
    let mut running = project.launch(&["resume", "shed", "--json"], &[]);
    running.until(|fact| matches!(fact, Event::PlanProposed { text, .. } if text.contains("stone")));
    running.kill();
}

/// The agent plans, works until it is told something, and has something to do afterwards.
pub(crate) const STEERED: &str = r##"
version: 1
name: steered
invocations:
  - result: "# Shed\n\n1. Build it."
  - steps:
      - text: "Building."
      - wait_message: true
      - write: { path: shed.txt, content: "wood\n" }
    result: "Built."
  - steps:
      - write: { path: shed.txt, content: "red wood\n" }
      - write: { path: brush.txt, content: "red\n" }
    result: "Painted."
"##;

/// A run that is at work, and waits for words.
pub(crate) fn building(project: &Project) -> Running {
    let mut running = project.start(&["build a shed"], &[]);
    running.until_asked();
    project.rapport(&["answer", "shed", "confirm"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, Event::Said { text, .. } if text == "Building."));
    running
}

/// A message reaches an agent in the middle of its work, with its author. Once the agent is done, it continues with a
/// message in the same conversation and the same place, and all of it is one piece of work.
#[test]
fn a_task_takes_words_while_it_is_worked_on_and_after() {
    let project = Project::with_scenario(STEERED).recorded();
    let running = building(&project);
    project.rapport(&["say", "shed", "mind", "the", "rain"]).check(0, "The agent reads it at its next step.");
    assert_eq!(running.finish(), 0);
    let facts = project.facts();
    let heard = facts.iter().position(|fact| matches!(fact, Event::Heard { turn: Some(_), text, by, .. } if text == "mind the rain" && by.is_at_terminal()));
    let read = facts.iter().position(|fact| matches!(fact, Event::Read { message: 1, .. }));
    assert!(heard.is_some() && heard < read, "{facts:#?}");
    let inputs = project.agent_inputs();
    assert!(inputs[1].iter().any(|line| line.to_string().contains("mind the rain")));

    project.rapport(&["say", "shed", "now paint it"]).check(0, "Painted.").check(0, "added     brush.txt");
    assert_eq!(project.file("shed.txt"), "red wood\n");
    let conversations = project.facts().into_iter().filter_map(|fact| match fact {
        Event::Connected { conversation, .. } => Some(conversation),
        _ => None,
    });
    let conversations: std::collections::BTreeSet<_> = conversations.collect();
    assert_eq!(conversations.len(), 1, "it is another conversation");
    let id = project.session();
    project.rapport(&["diff", "shed"]).check(0, "+red wood").check(0, "brush.txt");
    project.rapport(&["resume", "shed"]).check(0, &format!("rapport say {id} \"what to do next\""));
    project.rapport(&["undo", "shed", "--yes"]).check(0, "");
    assert_eq!((project.file("shed.txt"), project.file("brush.txt")), (String::new(), String::new()));
}

/// A person's changes before the agent continued are not undone with its work.
#[test]
fn what_a_person_changed_in_between_stays() {
    let project = Project::with_scenario(STEERED);
    let running = building(&project);
    project.rapport(&["say", "shed", "go on"]).check(0, "Sent.");
    assert_eq!(running.finish(), 0);
    std::fs::write(project.root().join("mine.txt"), "mine\n").unwrap();
    project.rapport(&["revise", "shed", "rather red"]).check(0, "Painted.");
    let diff = project.rapport(&["diff", "shed"]);
    diff.check(0, "+red wood");
    assert!(!diff.out().contains("mine.txt"), "{}", diff.out());
    project.rapport(&["undo", "shed", "--yes"]).check(0, "");
    let files = ["shed.txt", "brush.txt", "mine.txt"].map(|file| project.file(file));
    assert_eq!(files, ["", "", "mine\n"]);
}

#[test]
fn who_is_cancelled_or_asks_takes_no_words() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    project.rapport(&["revise", "paint", "red"]).check(3, "rapport answer 2");
    project.rapport(&["resume", "paint", "-m", "red"]).check(3, "rapport answer 2");
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    running.until_asked();
    project.rapport(&["say", "paint", "rather blue"]).check(3, "rapport revise 2");
    project.rapport(&["cancel", "paint"]).check(0, "Cancelled");
    assert_eq!(running.finish(), 8);
    for verb in ["say", "revise"] {
        project
            .rapport(&[verb, "paint", "rather blue"])
            .check(3, "was cancelled, and takes no message")
            .check(3, "--at q1");
    }
    assert_eq!(heard(&project), [""; 0]);
}

/// The turn ends, the conversation stays, and nothing continues before a person says so.
#[test]
fn an_agent_is_stopped_and_told_what_to_do_instead() {
    let project = Project::with_scenario(STEERED).recorded();
    let running = building(&project);
    let id = project.session();
    project
        .rapport(&["stop"])
        .check(0, &format!("Stopped {id}."))
        .check(0, &format!("rapport say {id} WORDS"));
    let (code, said) = running.finish_saying();
    assert_eq!(code, 130, "{said}");
    assert_eq!(project.agents_alive(), []);
    let view: View = project.json(&["status", "shed", "--json"]);
    assert_eq!((view.status, view.questions.len()), (Status::Idle, 0));
    project.rapport(&["stop", "shed"]).check(0, "Stopped");
    project.rapport(&["say", "shed", "rather paint it"]).check(0, "Painted.");
    assert_eq!(project.file("shed.txt"), "red wood\n");
    project.rapport(&["stop", "shed"]).check(3, "the session is completed");
    let told = project.agent_inputs().pop().unwrap();
    assert!(told.iter().any(|line| line.to_string().contains("rather paint it")), "{told:#?}");
    assert!(!told.iter().any(|line| line.to_string().contains("where you left off")), "{told:#?}");
}

/// The process that ran a stopped session ends. A message that comes just then is not left lying: whichever process
/// gets it continues with it.
#[test]
fn words_right_after_a_stop_are_carried_out() {
    for _ in 0..3 {
        let project = Project::with_scenario(STEERED);
        let mut running = project.spawn(&["run", "build a shed"]);
        let has = |is: fn(&Event) -> bool| {
            let is_there = project.store().list().is_ok_and(|all| all.len() == 1);
            (is_there && project.facts().iter().any(is)).then_some(())
        };
        wait_for("the plan", || has(|fact| matches!(fact, Event::Asked { .. })));
        project.rapport(&["answer", "shed", "confirm"]).check(0, "Answered.");
        let is_building = |fact: &Event| matches!(fact, Event::Said { text, .. } if text == "Building.");
        wait_for("the work", || has(is_building));
        project.rapport(&["stop", "shed"]).check(0, "Stopped");
        let said = project.rapport(&["say", "shed", "rather paint it"]);
        assert_eq!(said.code(), 0, "{}{}", said.out(), said.err());
        wait_for("the shed", || (project.file("shed.txt") == "red wood\n").then_some(()));
        let _ = running.wait();
    }
}

/// Sessions that wait are not at work. One that is at work is meant by `stop` without a name.
#[test]
fn stop_means_the_session_that_is_at_work() {
    let project = Project::with_scenario(STEERED);
    for task in ["one", "two"] {
        let mut waiting = project.start(&[task], &[]);
        waiting.until_asked();
        waiting.kill();
    }
    let refused = project.rapport(&["stop"]);
    refused.check(2, "there are 2 sessions whose agent is at work or waits");
    let running = building(&project);
    project.rapport(&["stop"]).check(0, "build-a-shed.");
    assert_eq!(running.finish(), 130);
}

#[test]
fn turns_are_planned_from_what_is_said() {
    let other = plan("Other", &[], &[], &[create("other.txt", "other")]);
    let hanging = plan("Hang", &[], &[], &[run("touch begun; sleep 600")]);
    let project = files::project(&[&greeting(), &other, &hanging]);
    project.plan_turn("one").check(0, "");
    // A plan waits: it is executed or revised first.
    project
        .rapport(&["say", "greeting", "more"])
        .check(3, "must be executed first")
        .check(3, "rapport revise 2");
    project.rapport(&["revise", "greeting", "rather another"]).check(0, "The plan of turn 02 is in ");
    assert!(project.turn_file("02/_context.log").contains("rather another"));
    assert!(project.turn_file("01/report.md").contains("Skipped"), "{}", project.turn_file("01/report.md"));
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    // A turn is complete: the next one is about what is said.
    project.rapport(&["say", "greeting", "and now wait"]).check(0, "The plan of turn 03 is in ");
    // Another process is at it.
    let mut running = project.spawn(&["resume", "-y"]);
    wait_for("the command", || project.root().join("begun").exists().then_some(()));
    for verb in ["say", "revise"] {
        project.rapport(&[verb, "greeting", "faster"]).check(5, "rapport status 2");
    }
    running.kill().unwrap();
    running.wait().unwrap();
    project
        .rapport(&["revise", "greeting", "faster"])
        .check(3, "was interrupted")
        .check(3, "rapport resume 2");
}
