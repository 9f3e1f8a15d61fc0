//! Rounds made by a planner: no agent runs before the plan is confirmed.

use rapport_core::{Act, Clarifier, Event, NewQuestion, QuestionRound, Session, Terms, World};

use crate::support::{Story, ann, created, draft, person, question};

fn terms(max_rounds: u32) -> Terms {
    Terms { max_rounds, clarifier: Clarifier::Planner, ..Terms::default() }
}

fn batch(texts: &[&str]) -> QuestionRound {
    let questions: Vec<NewQuestion> = texts.iter().map(|text| draft(text, &["Yes", "No"])).collect();
    let (goal, description) = (Some("Dark mode".into()), Some("Add dark mode".into()));
    QuestionRound { goal, description, done: questions.is_empty(), questions, ..QuestionRound::default() }
}

fn made(round: u32, texts: &[&str]) -> World {
    World::QuestionRound { round, outcome: Ok(batch(texts)) }
}

/// CHAT-1, CHAT-5, CHAT-10, CHAT-11: rounds are made one after the other, each knows the answers before it, and one
/// agent runs in the end.
#[test]
fn chat_1_chat_5_one_agent_runs_after_all_rounds() {
    let mut story = Story::with("dark mode please", terms(3));
    story
        .wants(&["round 1 of 3 made"])
        .world(
            made(1, &["Everywhere?", "Now?"]),
            "outlined: dark-mode/add-dark-mode; planner asked round 1: q1, q2",
        )
        .wants(&[])
        .answer("q1", "Yes", "q1 answered yes by ann (terminal)")
        .answer("q2", "No", "q2 answered no by ann (terminal)")
        .wants(&["round 2 of 3 made"])
        .world(made(2, &["When?"]), "planner asked round 2: q3")
        .answer("q3", "Yes", "q3 answered yes by ann (terminal)")
        .wants(&["round 3 of 3 made"])
        .world(made(3, &[]), "plan proposed: dark-mode/add-dark-mode; Rapport asked round 3: confirm")
        .wants(&["plan 1 saved at .claude/todos/dark-mode/add-dark-mode.md"])
        .saved()
        .wants(&[])
        .act(Act::Confirm, "confirm answered confirm by ann (terminal); turn 1 started to work")
        .saved()
        .baseline()
        .wants(&["turn 1 running to work []"]);
    let prompt = story.order().prompt;
    for answer in ["Q: Everywhere?\nA: Yes", "Q: Now?\nA: No", "Q: When?\nA: Yes"] {
        assert!(prompt.contains(answer), "{prompt}");
    }
}

/// CHAT-7: the planner is given every question with its answer.
#[test]
fn chat_7_a_round_knows_all_earlier_answers() {
    let mut story = Story::with("dark mode please", terms(3));
    story
        .world(made(1, &["Everywhere?"]), "outlined: dark-mode/add-dark-mode; planner asked round 1: q1")
        .answer("q1", "No", "q1 answered no by ann (terminal)");
    let wants = story.play.session.wants();
    let [rapport_core::Want::QuestionRound(brief)] = wants.as_slice() else { panic!("{wants:?}") };
    assert_eq!(brief.answered, [("Everywhere?".to_owned(), "No".to_owned())]);
    assert_eq!((brief.task.as_str(), brief.round, brief.max_rounds), ("dark mode please", 2, 3));
}

/// CHAT-8: after the last round that was agreed on, the plan is summed up without another call.
#[test]
fn chat_8_at_the_cap_nobody_is_asked_for_another_round() {
    let mut story = Story::with("dark mode please", terms(1));
    story
        .world(made(1, &["Everywhere?", "Now?"]), "outlined: dark-mode/add-dark-mode; planner asked round 1: q1, q2")
        .answer("q1", "Yes", "q1 answered yes by ann (terminal)")
        .answer(
            "q2",
            "No",
            "q2 answered no by ann (terminal); plan proposed: dark-mode/add-dark-mode; Rapport asked round 2: confirm",
        )
        .open(&["confirm"]);
}

/// CHAT-27: back within the round; beyond it only editing helps.
#[test]
fn chat_27_back_stays_within_the_round() {
    let mut story = Story::with("dark mode please", terms(3));
    story
        .world(
            made(1, &["One?", "Two?", "Three?"]),
            "outlined: dark-mode/add-dark-mode; planner asked round 1: q1, q2, q3",
        )
        .act(Act::Back, "refused: there is no earlier question to go back to in this round")
        .answer("q1", "Yes", "q1 answered yes by ann (terminal)")
        .answer("q2", "Yes", "q2 answered yes by ann (terminal)")
        .act(Act::Back, "q2 reopened by ann (terminal)")
        .open(&["q2", "q3"])
        .answer("q2", "No", "q2 answered no by ann (terminal)")
        .answer("q3", "No", "q3 answered no by ann (terminal)")
        .act(
            Act::Reopen { question: question("q3") },
            "refused: the answer to q3 can no longer be changed: the next round is being made from it",
        );
}

/// CHAT-29: an edit at the summary keeps the others, rewrites the plan, and makes no new round.
#[test]
fn chat_29_an_edit_makes_no_new_round() {
    let mut story = Story::with("dark mode please", terms(1));
    story
        .world(made(1, &["Everywhere?"]), "outlined: dark-mode/add-dark-mode; planner asked round 1: q1")
        .answer(
            "q1",
            "Yes",
            "q1 answered yes by ann (terminal); plan proposed: dark-mode/add-dark-mode; Rapport asked round 2: confirm",
        )
        .saved()
        .act(Act::Reopen { question: question("q1") }, "q1 reopened by ann (terminal)")
        .answer("q1", "No", "q1 answered no by ann (terminal)")
        .open(&["confirm"])
        .wants(&["plan 2 saved at .claude/todos/dark-mode/add-dark-mode.md"]);
}

/// A first round that cannot be made fails the session, and it can be tried again; a later one leaves what is known.
#[test]
fn a_planner_that_fails_loses_no_answer() {
    let mut story = Story::with("dark mode please", terms(3));
    let failed = |round| World::QuestionRound { round, outcome: Err("the model is away".into()) };
    story
        .world(failed(1), "failed: the model is away")
        .wants(&[])
        .act(Act::Restart, "restarted by ann (terminal)")
        .wants(&["round 1 of 3 made"])
        .world(made(1, &["Everywhere?"]), "outlined: dark-mode/add-dark-mode; planner asked round 1: q1")
        .world(made(1, &["Everywhere?"]), "refused: a round of questions does not belong to the current turn")
        .answer("q1", "Yes", "q1 answered yes by ann (terminal)")
        .crash("")
        .wants(&["round 2 of 3 made"])
        .world(
            failed(2),
            "unchecked: the model is away; plan proposed: dark-mode/add-dark-mode; Rapport asked round 2: confirm",
        )
        .world(made(2, &["Late?"]), "refused: a round of questions does not belong to the current turn");
}

/// CHAT-32: a session can begin with the round that an agent's reply was.
#[test]
fn chat_32_a_reply_that_asks_is_the_first_round() {
    let facts = Session::begin_with(created("fix the login", terms(3)), &batch(&["Which one?"])).unwrap();
    let kinds: Vec<_> = facts.iter().map(crate::support::fact_in_words).collect();
    assert_eq!(
        kinds,
        ["created: fix the login", "outlined: dark-mode/add-dark-mode", "planner asked round 1: q1"]
    );
    assert!(matches!(facts[0], Event::Created(_)));
}

/// Words of one's own at the confirmation bring in the agent, which is told everything.
#[test]
fn another_plan_is_made_by_the_agent_with_all_answers() {
    let mut story = Story::with("dark mode please", terms(1));
    story
        .world(made(1, &["Everywhere?"]), "outlined: dark-mode/add-dark-mode; planner asked round 1: q1")
        .answer(
            "q1",
            "Yes",
            "q1 answered yes by ann (terminal); plan proposed: dark-mode/add-dark-mode; Rapport asked round 2: confirm",
        )
        .saved()
        .act(
            Act::Answer {
                question: Some(rapport_core::QuestionId::new("confirm")),
                reply: rapport_core::Reply::Text("with a switch".into()),
            },
            "confirm answered \"with a switch\" by ann (terminal); turn 1 started to plan",
        );
    let prompt = story.order().prompt;
    assert!(
        prompt.contains("dark mode please") && prompt.contains("A: Yes") && prompt.contains("with a switch")
    );
    let cancel = person(ann(), Act::Cancel { reason: None });
    story.check(&cancel, "cancelled by ann (terminal)");
}
