//! Rounds of questions before the plan: back, the cap, drafts as agents write them.

use rapport_core::{Act, AgentDid, Ask, Choice, NewQuestion, Permission, Purpose, Reply, Terms, World};

use super::{length, way};
use crate::support::{Story, bob, call, draft, person, question};

#[test]
fn chat_27_back_opens_the_question_before_and_nothing_else() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way(), length(), draft("Why?", &[])], "c1 asked round 1: q1, q2, q3")
        .act(Act::Back, "refused: there is no earlier question to go back to in this round")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .answer("q2", "1", "q2 answered a-day by ann (terminal)")
        .open(&["q3"])
        .act(Act::Back, "q2 reopened by ann (terminal)")
        .open(&["q2", "q3"])
        .act(Act::Back, "q1 reopened by ann (terminal)")
        .open(&["q1", "q2", "q3"])
        .act(Act::Back, "refused: there is no earlier question to go back to in this round")
        .answer("q1", "3", "q1 answered magic-link by ann (terminal)")
        .act(Act::Keep { question: question("q2") }, "q2 kept by ann (terminal)")
        .answer("q3", "fun", "q3 answered \"fun\" by ann (terminal)")
        .told("c1", "Which way? Magic link, How long? A day, Why? fun")
        // The round is complete: what the agent has cannot be taken back here.
        .act(Act::Back, "refused: there is no earlier question to go back to in this round")
        .act(
            Act::Reopen { question: question("q1") },
            "refused: the answer to q1 can no longer be changed: it is on its way to the agent",
        );
}

#[test]
fn chat_20_a_restart_goes_on_at_the_same_question() {
    let mut story = Story::of("Add login");
    story
        .connects()
        .asks("c1", &[way(), length()], "c1 asked round 1: q1, q2")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .crash("cut off: Rapport was stopped")
        .open(&["q2"])
        .wants(&[])
        .answer("q2", "1", "q2 answered a-day by ann (terminal)")
        .wants(&["turn 1 running to plan [c1]", "c1 replied: Which way? Passkeys, How long? A day"]);
    assert_eq!(story.play.view().answers.len(), 2);
}

#[test]
fn the_first_answer_wins_and_the_second_is_told_which() {
    let mut story = Story::of("Add login");
    story.connects().asks("c1", &[way()], "c1 asked round 1: q1").answer(
        "q1",
        "1",
        "q1 answered passkeys by ann (terminal)",
    );
    let late = Act::Answer { question: Some(question("q1")), reply: Reply::Choices(vec![1]) };
    story.check(&person(bob(), late), "refused: q1 was already answered with \"Passkeys\" by ann (terminal)");
    story.answer("q7", "1", "refused: there is no question q7 in this session");
    let unnamed = Act::Answer { question: None, reply: Reply::Choices(vec![1]) };
    story.act(unnamed, "refused: no question is open");
}

#[test]
fn an_answer_without_a_name_is_for_the_only_open_question() {
    let unnamed = || Act::Answer { question: None, reply: Reply::Choices(vec![1]) };
    Story::of("Add login")
        .connects()
        .asks("c1", &[way(), length()], "c1 asked round 1: q1, q2")
        .act(unnamed(), "refused: 2 questions are open, name one of them: q1, q2")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .act(unnamed(), "q2 answered a-week by ann (terminal)");
}

/// CHAT-8, CLARIFY-12: beyond the cap the agent goes on with what there is. Permissions are no rounds.
#[test]
fn chat_8_clarify_12_rounds_run_out() {
    let permission = Ask::Permission(Permission::new("Bash", "ls"));
    Story::with("Add login", Terms { max_rounds: 2, ..Terms::default() })
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .takes("c1")
        .did(
            AgentDid::Ask { call: call("c2"), ask: permission, parkable: true },
            "c2 asked round 2: q2",
        )
        .answer("q2", "allow", "q2 answered allow by ann (terminal)")
        .takes("c2")
        .asks("c3", &[length()], "c3 asked round 3: q3")
        .answer("q3", "1", "q3 answered a-day by ann (terminal)")
        .takes("c3")
        .asks("c4", &[way()], "c4 declined: The 2 rounds of questions that were agreed on are used up")
        .open(&[])
        .told(
            "c4",
            "Which way? denied: The 2 rounds of questions that were agreed on are used up. Go on with what you \
             have and say what you assumed.",
        )
        .asks("c4", &[way()], "")
        .takes("c4")
        .wants(&["turn 1 running to plan []"])
        .finishes(
            "Just do it",
            "turn 1 ended; plan proposed: add-login/add-login; Rapport asked round 4: confirm",
        );
}

#[test]
fn chat_8_with_no_rounds_agreed_on_nobody_is_asked() {
    Story::with("Add login", Terms { max_rounds: 0, ..Terms::default() }).connects().asks(
        "c1",
        &[way()],
        "c1 declined: The 0 rounds of questions that were agreed on are used up",
    );
}

/// CHAT-14, and what agents get wrong. How many options there may be is up to whoever makes the questions (CHAT-15).
#[test]
fn chat_14_drafts_become_questions() {
    let option =
        |label: &str, value: &str| Choice { label: label.into(), value: value.into(), ..Choice::plain("") };
    let messy = NewQuestion {
        text: "  Which?\n".into(),
        header: Some("  ".into()),
        options: vec![
            option("A", "a"),
            option(" ", "nameless"),
            option("B", ""),
            option("C", "c"),
            option("D", "d"),
            option("E", "e"),
        ],
        multi: true,
        free_text: false,
        field: None,
    };
    let nameless =
        NewQuestion { text: "What?".into(), options: vec![option("", "x")], ..NewQuestion::default() };
    let empty = NewQuestion { text: " \n".into(), ..NewQuestion::default() };
    let mut story = Story::of("Add login");
    story.connects().asks("c1", &[messy, empty.clone(), nameless], "c1 asked round 1: q1, q2");
    let view = story.play.view();
    let [first, second] = view.questions.as_slice() else { panic!("two questions are open") };
    assert_eq!(
        (first.text.as_str(), &first.header, first.multi, first.free_text),
        ("Which?", &None, true, false)
    );
    let options: Vec<_> = first.options.iter().map(|o| (o.label.as_str(), o.value.as_str())).collect();
    assert_eq!(options, [("A", "a"), ("B", "B"), ("C", "c"), ("D", "d"), ("E", "e")]);
    assert_eq!((second.options.len(), second.free_text, &second.purpose), (0, true, &Purpose::Clarify));
    story.asks("c2", &[empty], "c2 declined: There was no question in this call");
    story.asks("c3", &[], "c3 declined: There was no question in this call");
}

#[test]
fn what_belongs_to_nothing_that_goes_on_is_refused() {
    let stray = "refused: what the agent did does not belong to the current turn";
    let say = || AgentDid::Say { text: "hello".into() };
    let mut story = Story::of("Add login");
    story.connects().did(say(), "said hello");
    story.check(&crate::support::agent(2, say()), stray);
    story.check(&crate::support::agent(0, say()), stray);
    story.world(World::Report { changes: None }, "refused: a report does not belong to the current turn");
    story.did(AgentDid::Take { call: call("c9") }, "");
    story.did(AgentDid::Withdraw { call: call("c9") }, "");
    story
        .act(Act::Confirm, "refused: confirming is not possible now: the agent is still clarifying the task");
    story
        .act(Act::Restart, "refused: restarting is not possible now: the agent is still clarifying the task");
    story.act(Act::Keep { question: question("q1") }, "refused: there is no question q1 in this session");
    story.act(Act::Cancel { reason: None }, "cancelled by ann (terminal)");
    story.did(say(), stray);
    story.act(
        Act::Cancel { reason: None },
        "refused: cancelling is not possible now: the session is cancelled",
    );
}
