//! One set of verbs (`docs/commands.md`): `rapport resume` continues any session, and `run --resume` is another name
//! for it.

use rapport_core::{
    Answer, Asker, By, CallId, ConversationId, Created, Entry, Event, Purpose, Question, QuestionId, RoundId,
    Session, SessionId, Status, TurnId,
};

use super::saying::conversation;
use crate::files::{self, greeting};
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

const TWO_QUESTIONS: &str = r##"
version: 1
name: two questions
invocations:
  - steps:
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
      - ask: { questions: [{ question: "Which tone?", options: [{ label: Light }, { label: Dark }] }] }
    result: "# Paint\n\n1. Paint it."
"##;

/// A project with a session that asked and was killed.
fn killed() -> Project {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    project
}

#[test]
fn a_run_that_was_killed_goes_on_without_being_named() {
    let project = killed();
    project.rapport(&["answer", "Blue"]).check(0, "Go on with: rapport resume 2");
    let mut running = project.launch(&["resume", "--json"], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "yes"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "Blue\n");

    // Nothing is left to do, which is said with what can be done.
    let id = project.session();
    for args in [["resume", "paint"].as_slice(), &["run", "--resume", "paint"]] {
        let said = project.rapport(args);
        said.check(0, &format!("Nothing is left to do in {id}.")).check(0, &format!("rapport diff {id}"));
        said.check(0, &format!("rapport branch {id} --at q1"));
    }
    project.rapport(&["diff"]).check(0, "+Blue");
    project.rapport(&["branch", "--at", "q1"]).check(0, "Branched").check(0, "rapport resume 2");
}

#[test]
fn what_a_session_asks_is_answered_at_the_terminal_that_resumes_it() {
    let project = killed();
    let mut terminal = project.terminal(&["resume"], 100, 40);
    terminal.wait_for("Which colour?");
    terminal.wait_for("enter answer");
    terminal.send("2");
    terminal.wait_for("enter or c confirm");
    terminal.send("c");
    terminal.wait_for("left 0");
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

/// Who answers where no process runs the session is told how it goes on: on a screen, and line by line.
#[test]
fn an_answer_says_how_the_session_goes_on() {
    for (name, value) in [("TERM", "xterm"), ("TERM", "dumb")] {
        let project = Project::with_scenario(ONE_QUESTION).set(name, value);
        let mut running = project.start(&["paint"], &[]);
        running.until_asked();
        running.kill();
        let mut terminal = project.terminal(&["answer", "paint"], 80, 24);
        // Keys that are pressed before the card is there do not count.
        terminal.wait_for(if value == "dumb" { "Red" } else { "enter answer" });
        terminal.send(if value == "dumb" { "1\n" } else { "1" });
        terminal.wait_for("left 0");
        assert!(
            terminal.text().contains("No process runs it now. Go on with: rapport resume"),
            "{}",
            terminal.text()
        );
    }
}

/// It runs in another process already: what it asks can be answered here all the same.
#[test]
fn a_session_that_another_process_runs_is_answered_here() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    project.rapport(&["resume", "paint"]).check(5, "rapport answer 2");
    project.rapport(&["resume"]).check(5, "rapport answer 2");
    let mut terminal = project.terminal(&["resume", "paint"], 100, 40);
    terminal.wait_for("Which colour?");
    terminal.wait_for("enter answer");
    terminal.send("1");
    terminal.wait_for("left 0");
    let left = terminal.text();
    assert!(left.lines().any(|line| line == "left 0"), "nothing is left of the card before it: {left}");
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    running.kill();
}

/// More than is taken in before the screen is drawn again.
#[test]
fn a_session_with_a_long_past_is_shown_whole() {
    let said: String = (1..=600).map(|n| format!("      - text: \"Thought {n}.\"\n")).collect();
    let scenario = ONE_QUESTION.replace("      - text: \"One thing first.\"\n", &said);
    let project = Project::with_scenario(&scenario);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    assert!(project.view().seq > 600);
    let mut terminal = project.terminal(&["answer"], 100, 40);
    terminal.wait_for("Which colour?");
    terminal.wait_for("enter answer");
    terminal.send("1");
    terminal.wait_for("left 0");
    running.kill();
}

#[test]
fn a_cancelled_session_says_so_and_what_is_left_of_it() {
    let project = killed();
    project.rapport(&["cancel"]).check(0, "Cancelled");
    let id = project.session();
    project
        .rapport(&["resume", "paint"])
        .check(8, "was cancelled")
        .check(8, &format!("rapport branch {id} --at q1"));
    project.rapport(&["resume"]).check(4, "rapport run \"what you want done\"");
}

#[test]
fn flags_about_turns_are_refused_where_there_are_none() {
    let project = killed();
    for flag in [&["-y"][..], &["--turn", "01"], &["--adaptive"], &["--replan"], &["--accept-changes"]] {
        project
            .rapport(&[&["resume"], flag].concat())
            .check(2, "is about turns")
            .check(2, "rapport resume 2");
    }
    project.rapport(&["resume", "-m", "now the tests"]).check(3, "takes no other message");
    assert_eq!(project.view().questions.len(), 1, "it waits as before");
}

/// Turn by turn it is the same command, under both of its names. A session may ask for months. What is past is looked
/// at once, also where each entry is printed: it takes about as long as `status`, and not as many times as long as
/// there are entries.
#[test]
fn thousands_of_questions_are_told_in_linear_time() {
    let project = Project::with_agent("rehearsal");
    let id = asked_often(&project, 6_000);
    project.trust();
    project.rapport(&["cancel", id.as_str()]).check(0, "Cancelled");
    let takes = |words: &[&str], code: i32, says: &str| {
        let begun = std::time::Instant::now();
        project.rapport(&[words, &[id.as_str()]].concat()).check(code, says);
        begun.elapsed()
    };
    let shown = takes(&["status", "--json"], 0, "What about 6000?");
    let told = takes(&["resume", "--json"], 8, "What about 6000?");
    let most = shown * 6 + std::time::Duration::from_secs(1);
    assert!(told < most, "{told:?}, where status takes {shown:?}");
}

/// A session in which the agent asked this number of questions, and has all answers.
fn asked_often(project: &Project, questions: u32) -> SessionId {
    let by = By::Person { channel: "terminal".into(), id: "ann".into() };
    let conversation = ConversationId::new("8e6a6a3c-0000-4000-8000-000000000001");
    let created =
        Created::new("ask".into(), project.root().display().to_string(), conversation.clone(), by.clone());
    let turn = TurnId(1);
    let mut facts = vec![Session::begin(created).unwrap()];
    facts.push(vec![Event::Connected { turn, conversation, model: None }]);
    facts.extend((1..=questions).map(|number| {
        let (id, call) = (QuestionId::new(format!("q{number}")), CallId::new(format!("c{number}")));
        let question = Question {
            id: id.clone(),
            text: format!("What about {number}?"),
            header: None,
            options: Vec::new(),
            multi: false,
            free_text: true,
            purpose: Purpose::Clarify,
        };
        let asker = Asker::Agent { turn, call: call.clone(), parkable: true };
        let answer = Answer { values: Vec::new(), text: Some("yes".into()) };
        vec![
            Event::Asked { round: RoundId(number), asker, questions: vec![question] },
            Event::Answered { question: id, answer, by: by.clone() },
            Event::Taken { call },
        ]
    }));
    let at = jiff::Timestamp::UNIX_EPOCH;
    let entries: Vec<_> = (1..).zip(facts).map(|(seq, facts)| Entry { seq, at, facts }).collect();
    let reserved = project.store().reserve("ask", at).unwrap();
    let id = reserved.id().clone();
    reserved.fill(&entries, &[]).unwrap();
    id
}

/// What is said about the agent counts for the rest of a run that is resumed.
#[test]
fn the_hot_time_is_changed_when_a_run_goes_on() {
    let project = Project::with_scenario(TWO_QUESTIONS);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    project.wait_alone(std::time::Duration::from_secs(5));
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    let mut running = project.launch(&["resume", "--json", "--hot", "0s", "paint"], &[]);
    running
        .until(|fact| matches!(fact, Event::Asked { questions, .. } if questions[0].text == "Which tone?"));
    running.until(|fact| matches!(fact, Event::Parked { .. }));
    project.wait_alone(std::time::Duration::from_secs(5));
}

#[test]
fn run_resume_is_another_name_for_resume() {
    let project = files::project(&[&greeting()]);
    project.plan_turn("one").check(0, "Review and run it with: rapport resume 2");
    let session = project.session();
    let one = project.rapport(&["resume", session.as_str()]);
    let other = project.rapport(&["run", "--resume", session.as_str()]);
    assert_eq!((one.code(), one.err()), (other.code(), other.err()));
    project.rapport(&["resume", "greeting", "-y"]).check(0, "Completed");
    project.rapport(&["run", "--resume"]).check(2, &format!("rapport resume {session} -m"));
}

/// A conversation begins elsewhere, such as in Telegram, and is a session like any other.
#[test]
fn a_conversation_goes_on_with_what_is_said() {
    let project = conversation(
        "version: 1\nname: chat\ninvocations:\n  - result: \"Good morning.\"\n  - result: \"Fine.\"\n  - result: \"Bye.\"\n",
    );
    project.rapport(&["resume", "talk"]).check(0, "Good morning.");
    project.rapport(&["resume", "talk"]).check(2, "without a terminal");
    project.rapport(&["resume", "-m", "How are you?"]).check(0, "Fine.");
    assert_eq!(project.view().status, Status::Idle);
    let mut terminal = project.terminal(&["resume"], 100, 40);
    terminal.wait_for("What next?");
    terminal.send("And now?\r");
    terminal.wait_for("Bye.");
    terminal.wait_for("left 0");
    let heard = project.facts().into_iter().filter(|fact| matches!(fact, Event::Heard { .. })).count();
    assert_eq!(heard, 2);
}
