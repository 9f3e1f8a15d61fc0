//! Sequences of cards: answers, going back, changing, answers from elsewhere, refusals, leaving.

use std::time::Duration;

use rapport::channels::terminal::screen::Screen;
use rapport::channels::terminal::{AutoAnswer, Effect, Outcome, ScreenInput, Size, Terminal};
use rapport::engine::Update;
use rapport_core::{Act, AgentDid, Ask, By, Leave, QuestionId, Reply, Status, ToolUse, World};

use super::{Sitting, config, key};
use crate::support::stage::{self, Stage, anna};

fn answer(question: &str, place: usize) -> Act {
    Act::Answer { question: Some(QuestionId::new(question)), reply: Reply::Choices(vec![place]) }
}

#[test]
fn answers_collapse_into_history() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::auth(), stage::tests(), stage::language()]);
    sitting.press("1");
    assert_eq!(sitting.last(), "✓ Auth method → JWT");
    sitting.press("1 2 enter");
    assert_eq!(sitting.last(), "✓ Tests → Unit, Integration");
    sitting.press("1 enter");
    assert!(sitting.frame().contains("Checking for follow-up questions"), "{}", sitting.frame());
}

#[test]
fn going_back_and_keeping() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::auth(), stage::language()]);
    sitting.press("left");
    assert!(sitting.frame().contains("! there is no earlier question to go back to"), "{}", sitting.frame());
    sitting.press("2 b");
    assert!(sitting.frame().contains("Q1 of 2"));
    assert!(sitting.frame().contains("❯ 2. Session cookies"), "{}", sitting.frame());
    sitting.press("esc");
    assert_eq!(sitting.last(), "✓ Auth method → Session cookies (as before)");
    assert!(sitting.frame().contains("Q2 of 2"));
}

#[test]
fn changing_an_answer_shows_the_summary_again() {
    let mut sitting = Sitting::planned(80, 40);
    sitting.history.clear();
    sitting.press("e 1 3");
    assert!(sitting.history().contains("✓ Auth method → OAuth only"));
    sitting.act(Stage::save_plan);
    assert!(sitting.history().contains("1. Which authentication method should the API use? → OAuth only"));
    assert!(sitting.frame().contains("Start the work with this plan?"));
    assert!(sitting.last().starts_with("Saved to: "));
}

#[test]
fn an_answer_from_elsewhere_collapses_the_card_at_once() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::auth(), stage::language()]);
    sitting.press("o");
    sitting.type_in("half a sent");
    sitting.elsewhere(anna(), answer("q1", 0));
    assert_eq!(sitting.last(), "✓ Auth method → JWT (answered by anna in telegram)");
    assert!(sitting.frame().contains("Q2 of 2"));
    sitting.press("1");
    assert_eq!(sitting.submitted, [], "the next card came by itself, and takes no keys at first");
    sitting.pass(300);
    sitting.press("1 enter");
    assert_eq!(sitting.submitted, [answer("q2", 0)]);
}

/// CHAT-29: `rapport answer --edit` in another terminal reopens a question and answers it in one entry. The card in front
/// stays, with what was typed, and the new answer is shown.
#[test]
fn chat_29_an_answer_that_is_changed_elsewhere_leaves_the_card_in_front() {
    let change = Act::Change { question: QuestionId::new("q1"), reply: Reply::Choices(vec![1]) };
    for (by, told) in [
        (stage::me(), "✓ Language → German (instead of English)"),
        (anna(), "✓ Language → German (instead of English, answered by anna in telegram)"),
    ] {
        let mut sitting = Sitting::asked(80, 40, vec![stage::language(), stage::auth(), stage::tests()]);
        sitting.press("1 o");
        sitting.type_in("half a sent");
        sitting.elsewhere(by, change.clone());
        assert_eq!(sitting.last(), told);
        let frame = sitting.frame();
        assert!(frame.contains("✓ Language: German   ● Auth method"), "{frame}");
        assert!(frame.contains("Q2 of 3") && frame.contains("half a sent"), "{frame}");
    }
}

/// CHAT-29: the same if the terminal is opened after the change. Only the answer that holds is told.
#[test]
fn chat_29_a_session_that_is_opened_later_tells_the_changed_answer_and_asks_the_next_question() {
    let (mut stage, first) = Stage::new("Add user authentication");
    let questions = vec![stage::language(), stage::auth(), stage::tests()];
    let change = Act::Change { question: QuestionId::new("q1"), reply: Reply::Choices(vec![1]) };
    let mut entries = vec![first, stage.connect(), stage.ask(Ask::Questions(questions))];
    entries.push(stage.person(stage::me(), answer("q1", 0)).expect("the first answer"));
    entries.push(stage.person(stage::me(), change).expect("the change"));
    let past = entries.last().map_or(0, |entry| entry.seq);
    let size = Size { columns: 80, rows: 40 };
    let mut screen = Screen::new(config(), stage::id(), past, size);
    let mut told = String::new();
    for entry in entries {
        for effect in screen.step(ScreenInput::Update(Update::Entry(entry)), Duration::ZERO) {
            let Effect::Print(lines) = effect else { continue };
            lines.iter().for_each(|line| told.push_str(&format!("{}\n", line.text())));
        }
    }
    assert!(told.contains("✓ Language → German\n") && !told.contains("English"), "{told}");
    let frame = super::picture(&screen.frame(Duration::ZERO).rows);
    assert!(frame.contains("Q2 of 3"), "{frame}");
}

#[test]
fn who_is_too_late_is_told() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::language()]);
    let entry = sitting.stage.person(anna(), answer("q1", 1)).expect("she may");
    sitting.press("1");
    assert!(sitting.frame().contains("! q1 was already answered with \"German\" by anna (telegram)"));
    sitting.see(entry);
    assert_eq!(sitting.last(), "✓ Language → German (answered by anna in telegram)");
}

#[test]
fn a_refusal_loses_nothing() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::auth()]);
    sitting.press("o");
    sitting.paste(&"long ".repeat(20_000));
    sitting.press("enter");
    assert!(sitting.frame().contains("! this answer has"), "{}", sitting.frame());
    assert!(sitting.frame().contains("long long"));
}

#[test]
fn a_summary_that_changed_elsewhere_is_shown_again_and_guarded() {
    let mut sitting = Sitting::planned(80, 40);
    sitting.elsewhere(anna(), Act::Reopen { question: QuestionId::new("q1") });
    sitting.press("c");
    assert!(sitting.frame().contains("q1 is being changed"), "{}", sitting.frame());
    sitting.history.clear();
    sitting.elsewhere(anna(), answer("q1", 2));
    sitting.act(Stage::save_plan);
    sitting.press("c");
    assert!(sitting.history().contains("Plan ready"));
    assert_eq!(
        sitting.stage.view().status,
        Status::NeedsInput,
        "what was typed was not meant for the new summary"
    );
    sitting.pass(300);
    sitting.press("c");
    assert!(sitting.history().contains("Starting the work"));
}

#[test]
fn several_rounds_come_one_after_the_other() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::language()]);
    sitting.act(|stage| stage.ask(Ask::Questions(vec![stage::auth()])));
    assert!(sitting.frame().contains("Language  1 of 2 waiting"), "{}", sitting.frame());
    sitting.press("1");
    assert!(sitting.frame().contains("Auth method\n"), "{}", sitting.frame());
}

#[test]
fn what_was_typed_is_there_when_a_card_comes_up_again() {
    let mut sitting = Sitting::planned(80, 40);
    sitting.press("t");
    sitting.type_in("smaller steps");
    sitting.press("esc e 1 esc");
    sitting.pass(300);
    sitting.press("t");
    assert!(sitting.frame().contains("❯ smaller steps"), "{}", sitting.frame());
}

#[test]
fn questions_that_end_say_so() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::auth(), stage::language()]);
    sitting.press("1");
    sitting.act(Stage::withdraw);
    assert_eq!(sitting.last(), "– Language: it was withdrawn: the agent no longer asks");
    assert!(!sitting.frame().contains("Language"));
}

#[test]
fn cancelling() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::auth()]);
    sitting.press("q enter");
    assert!(sitting.frame().contains("Press y or n; nothing else decides."), "{}", sitting.frame());
    sitting.press("n");
    assert_eq!(sitting.submitted, []);
    assert!(!sitting.frame().contains("nothing else decides"), "{}", sitting.frame());
    sitting.press("esc y");
    assert_eq!(sitting.outcome, Some(Outcome::Ended(Status::Cancelled)));
    assert!(sitting.history().contains("✗ Cancelled"));
    let mut working = Sitting::new(80, 40);
    working.press("ctrl-x y");
    assert_eq!(working.outcome, Some(Outcome::Ended(Status::Cancelled)));
}

#[test]
fn leaving_keeps_everything_open() {
    for keys in ["d", "ctrl-c", "o x ctrl-c", "q ctrl-c", "? ctrl-c"] {
        let mut sitting = Sitting::asked(80, 40, vec![stage::auth()]);
        sitting.press(keys);
        assert_eq!(sitting.outcome, Some(Outcome::Detached), "{keys}");
        let said =
            "The question stays open. Answer from anywhere with:\n  rapport answer 20260124-add-user-auth";
        assert!(sitting.history().ends_with(said), "{}", sitting.history());
        assert_eq!(sitting.frame(), "");
        assert_eq!(sitting.submitted, []);
    }
    let mut working = Sitting::new(80, 40);
    working.step(ScreenInput::Stopped);
    assert_eq!(working.outcome, Some(Outcome::Detached));
}

/// The agent's last message was only above the spinner; a person who leaves finds it in the history.
#[test]
fn what_was_said_last_stays_when_one_leaves() {
    let mut sitting = Sitting::working(80, 40);
    sitting.act(|stage| stage.agent(AgentDid::Say { text: "I look at the tests first.".into() }));
    assert!(!sitting.history().contains("I look at the tests first."), "{}", sitting.history());
    sitting.press("ctrl-c");
    assert_eq!(sitting.outcome, Some(Outcome::Detached));
    assert!(sitting.history().contains("  I look at the tests first."), "{}", sitting.history());
}

/// Files have their paths from the project; a command is shown as it is.
#[test]
fn files_have_their_paths_from_the_project() {
    let mut sitting = Sitting::working(80, 40);
    let project = sitting.stage.view().project;
    let uses = |tool: &str, kind, what: String| AgentDid::Use { tool: tool.into(), what, kind };
    sitting.act(|stage| stage.agent(uses("Edit", ToolUse::Writes, format!("{project}/src/auth.rs"))));
    assert_eq!(sitting.last(), "· Edit src/auth.rs");
    assert!(sitting.frame().contains("Edit src/auth.rs"), "{}", sitting.frame());
    let command = format!("cat {project}/x");
    for (tool, kind, what) in [
        ("Read", ToolUse::Reads, "/etc/passwd".to_owned()),
        ("Read", ToolUse::Reads, format!("{project}/../other/x")),
        ("Read", ToolUse::Reads, format!("{project}-other/x")),
        ("Bash", ToolUse::Runs, command.clone()),
        ("Bash", ToolUse::Runs, format!("{project}/run")),
    ] {
        sitting.act(|stage| stage.agent(uses(tool, kind, what.clone())));
        assert_eq!(sitting.last(), format!("· {tool} {what}"));
    }
}

#[test]
fn a_session_that_is_resumed_is_told_in_brief() {
    let (mut stage, first) = Stage::new("Add user authentication");
    let mut entries = vec![first, stage.connect()];
    entries.push(stage.agent(AgentDid::Use {
        tool: "Read".into(),
        what: "src/main.rs".into(),
        kind: ToolUse::Reads,
    }));
    entries.push(stage.ask(Ask::Questions(vec![stage::auth(), stage::language()])));
    entries.push(stage.person(anna(), answer("q1", 0)).expect("she may"));
    entries.push(stage.agent(AgentDid::Leave(Leave::Stopped)));
    let size = Size { columns: 80, rows: 40 };
    let mut screen = Screen::new(config(), stage::id(), entries.len() as u64, size);
    let now = Duration::ZERO;
    let effects: Vec<Effect> = entries
        .into_iter()
        .flat_map(|entry| screen.step(ScreenInput::Update(Update::Entry(entry)), now))
        .collect();
    let lines = effects.iter().flat_map(|effect| match effect {
        Effect::Print(lines) => lines.clone(),
        Effect::Notify(_) | Effect::Suspend | Effect::Submit { .. } | Effect::Leave(_) => {
            panic!("nothing to do")
        }
    });
    insta::assert_snapshot!("resumed", super::picture(&lines.collect::<Vec<_>>()));
    assert!(super::picture(&screen.frame(now).rows).contains("Q2 of 2"));
}

#[test]
fn what_answers_by_itself_says_so_and_only_after_the_question_was_shown() {
    let by = By::written_rule("demo");
    let pick = Box::new(|_: &rapport_core::OpenQuestion| Reply::Choices(vec![1]));
    let auto = AutoAnswer { by, pause: Duration::from_secs(2), pick };
    let mut sitting = Sitting::new(80, 40);
    let size = Size { columns: 80, rows: 40 };
    sitting.screen = Screen::new(Terminal { auto: Some(auto), ..config() }, stage::id(), 0, size);
    let (stage, first) = Stage::new("Add user authentication");
    sitting.stage = stage;
    sitting.see(first);
    sitting.act(|stage| stage.ask(Ask::Questions(vec![stage::language()])));
    sitting.pass(1999);
    assert!(sitting.frame().contains("the demo answers this itself · ↑↓ move"), "{}", sitting.frame());
    assert_eq!(sitting.screen.wake(sitting.now), Some(Duration::from_secs(2)));
    sitting.pass(1);
    assert_eq!(sitting.last(), "✓ Language → German (answered by the demo itself)");
}

#[test]
fn waiting_costs_nothing() {
    let sitting = Sitting::asked(80, 40, vec![stage::auth()]);
    assert_eq!(sitting.screen.wake(sitting.now), None);
    let working = Sitting::new(80, 40);
    assert!(working.screen.wake(working.now).is_some(), "the spinner turns");
}

#[test]
fn one_act_at_a_time() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::auth(), stage::language()]);
    let now = sitting.now;
    assert_eq!(sitting.screen.step(ScreenInput::Key(key("1")), now).len(), 1);
    assert_eq!(sitting.screen.step(ScreenInput::Key(key("2")), now), []);
    assert!(sitting.frame().contains("saving …"));
}

/// The next card comes up with the fact, and the word that the act is done comes after: keys in between are not lost.
#[test]
fn a_key_on_the_next_card_waits_for_the_last_act() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::auth(), stage::language()]);
    let now = sitting.now;
    let sent = |act: Act| [Effect::Submit { by: stage::me(), act: Box::new(act) }];
    assert_eq!(sitting.screen.step(ScreenInput::Key(key("1")), now), sent(answer("q1", 0)));
    let entry = sitting.stage.person(stage::me(), answer("q1", 0)).expect("one may");
    sitting.see(entry);
    assert_eq!(sitting.screen.step(ScreenInput::Key(key("2")), now), []);
    assert_eq!(sitting.screen.step(ScreenInput::Key(key("enter")), now), []);
    assert_eq!(sitting.screen.step(ScreenInput::Submitted(Ok(())), now), sent(answer("q2", 1)));
    assert_eq!(sitting.screen.step(ScreenInput::Submitted(Ok(())), now), []);
}

#[test]
fn cancelling_waits_for_the_last_act() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::auth(), stage::language()]);
    let now = sitting.now;
    sitting.screen.step(ScreenInput::Key(key("1")), now);
    for name in ["q", "y"] {
        assert_eq!(sitting.screen.step(ScreenInput::Key(key(name)), now), []);
    }
    let cancel = Effect::Submit { by: stage::me(), act: Box::new(Act::Cancel { reason: None }) };
    assert_eq!(sitting.screen.step(ScreenInput::Submitted(Ok(())), now), [cancel]);
}

#[test]
fn failing_at_the_end_says_how_to_go_on() {
    let mut sitting = Sitting::planned(80, 40);
    sitting.press("c");
    sitting.act(|stage| stage.world(World::Failed { reason: "git is not installed".into() }));
    assert!(sitting.history().contains("✗ Failed while the agent was working\n  git is not installed"));
    assert!(sitting.history().contains("rapport resume 20260124-add-user-auth"));
    assert_eq!(sitting.outcome, Some(Outcome::Ended(Status::Failed)));
}

/// What is typed while the agent works is for the agent, and nothing of it is taken for a key.
#[test]
fn words_typed_while_it_works_go_to_the_agent() {
    let mut sitting = Sitting::working(80, 40);
    sitting.type_in("don't quit?");
    assert!(sitting.frame().contains("❯ don't quit?"), "{}", sitting.frame());
    assert!(sitting.frame().contains("enter send to the agent"), "{}", sitting.frame());
    sitting.press("enter");
    assert_eq!(sitting.submitted, [Act::Say { text: "don't quit?".into(), id: None }]);
    assert_eq!(sitting.last(), "· You: don't quit?");
    assert!(!sitting.frame().contains('❯'), "{}", sitting.frame());
    sitting.press("enter");
    sitting.type_in("no");
    sitting.press("esc");
    assert_eq!(
        (sitting.submitted.len(), &sitting.outcome),
        (1, &None),
        "an empty line says nothing, and esc clears"
    );
}

/// Esc stops the agent and asks what to do next; the words continue the same turn. Nothing ends, and no other
/// question is asked.
#[test]
fn esc_stops_the_agent_and_asks_what_next() {
    let mut sitting = Sitting::working(80, 40);
    sitting.press("esc");
    assert_eq!(sitting.submitted, [Act::Stop]);
    let frame = sitting.frame();
    assert!(frame.contains("The agent was stopped. What should it do next?"), "{frame}");
    assert!(frame.contains("enter send · alt-enter new line · esc leave"), "{frame}");
    sitting.type_in("rather so");
    sitting.press("enter");
    assert_eq!(sitting.submitted.last(), Some(&Act::Say { text: "rather so".into(), id: None }));
    assert!(sitting.frame().contains("The agent is working"), "{}", sitting.frame());
    sitting.press("esc");
    sitting.press("esc");
    assert_eq!(sitting.outcome, Some(Outcome::Detached));
    assert!(sitting.last().contains("rapport say"), "{}", sitting.last());
}

/// What was refused is still there, to be said in another way.
#[test]
fn what_was_refused_stays_typed() {
    let mut sitting = Sitting::working(80, 40);
    let long = "x".repeat(70_000);
    sitting.step(ScreenInput::Paste(long));
    sitting.press("enter");
    assert!(sitting.last().contains("the maximum is"), "{}", sitting.last());
    assert!(sitting.frame().contains("enter send to the agent"), "{}", sitting.frame());
}
