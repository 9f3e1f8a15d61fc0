//! A budget is used up: the turn is stopped after that message, and a person is asked whether to go on.

use rapport_core::{Act, AgentDid, Aim, Created, DayBudget, Leave, Status, Terms, TermsChange, Usage};

use crate::support::{Story, created};

const REACHED: &str = "turn 1 stopped by the rule budget; Rapport asked round 1: q1";

fn terms() -> Terms {
    Terms { budget_micros: Some(1_000_000), ..Terms::default() }
}

/// A conversation with a budget of a dollar.
fn chatting() -> Story {
    let mut story = Story::begun(Created { aim: Aim::Chat, ..created("hello", terms()) });
    story.baseline().connects();
    story
}

fn so_far(cost_micros: u64) -> AgentDid {
    AgentDid::SpendSoFar { cost_micros, today: None }
}

fn spent(cost_micros: u64) -> AgentDid {
    AgentDid::Spend { usage: Usage { cost_micros, ..Usage::default() } }
}

#[test]
fn below_the_budget_nobody_is_asked_and_at_it_the_turn_rests() {
    let mut story = chatting();
    story.did(so_far(999_999), "").open(&[]).did(so_far(1_000_000), REACHED).wants(&[]);
    let view = story.play.view();
    assert_eq!(view.status, Status::NeedsInput);
    assert_eq!(view.questions[0].text, "This session has cost about $1.00, and its budget is $1.00. Go on?");
    // What was on its way when the agent was stopped asks nobody again.
    story.did(so_far(1_200_000), "");
}

#[test]
fn consent_raises_the_budget_by_as_much_again() {
    let mut story = chatting();
    story
        .did(so_far(1_100_000), REACHED)
        .did(spent(1_100_000), "spent 0")
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .answer("q1", "yes", "q1 answered go_on by ann (terminal); restarted by ann (terminal)")
        .wants(&["turn 1 running to chat []"])
        .connects_again()
        .did(so_far(900_000), "")
        .did(so_far(1_000_000), "turn 1 stopped by the rule budget; Rapport asked round 2: q2");
    assert_eq!(
        story.play.view().questions[0].text,
        "This session has cost about $2.10, and its budget is $2.10. Go on?"
    );
}

/// A budget that a person sets later counts instead of the first, and instead of what it was raised to.
#[test]
fn a_budget_is_changed_for_the_rest_of_the_session() {
    let budget = |micros| TermsChange { budget_micros: Some(micros), ..TermsChange::default() };
    let change = |micros| Act::ChangeTerms { change: budget(micros) };
    let mut story = chatting();
    story
        .act(change(3_000_000), "the budget is $3.00, says ann (terminal)")
        .did(so_far(2_900_000), "")
        .did(so_far(3_000_000), REACHED)
        .did(spent(3_000_000), "spent 0")
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .answer("q1", "yes", "q1 answered go_on by ann (terminal); restarted by ann (terminal)")
        .connects_again()
        .act(change(3_500_000), "the budget is $3.50, says ann (terminal)")
        .did(so_far(400_000), "")
        .did(so_far(500_000), "turn 1 stopped by the rule budget; Rapport asked round 2: q2");
}

#[test]
fn without_consent_it_stays_stopped_and_asks_before_it_goes_on() {
    let mut story = chatting();
    story
        .did(so_far(1_100_000), REACHED)
        .did(spent(1_100_000), "spent 0")
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .act(Act::Restart, "refused: restarting is not possible now: q1 asks whether to go on over budget")
        .answer("q1", "no", "q1 answered stay by ann (terminal)")
        .wants(&[])
        .act(Act::Restart, "Rapport asked round 2: q2")
        .wants(&[])
        .answer("q2", "1", "q2 answered go_on by ann (terminal); restarted by ann (terminal)")
        .wants(&["turn 1 running to chat []"]);
}

#[test]
fn a_message_waits_for_the_consent() {
    let mut story = chatting();
    let say = Act::Say { text: "hey".into(), id: None };
    story
        .did(so_far(1_100_000), REACHED)
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .act(say, "heard hey from ann (terminal) in turn 1")
        .wants(&[])
        .answer("q1", "yes", "q1 answered go_on by ann (terminal); restarted by ann (terminal)")
        .wants(&["turn 1 running to chat []"]);
    let said: Vec<_> = story.order().messages.into_iter().map(|said| said.text).collect();
    assert_eq!(said, ["hey"]);
}

#[test]
fn an_agent_that_finishes_all_the_same_needs_no_consent() {
    chatting()
        .did(so_far(1_100_000), REACHED)
        .finishes("Hi!", "turn 1 ended; round 1 closed: it was withdrawn: the agent has finished")
        .open(&[]);
}

#[test]
fn without_a_budget_nobody_is_asked() {
    let mut story = Story::begun(Created { aim: Aim::Chat, ..created("hello", Terms::default()) });
    story.connects().did(so_far(u64::MAX), "");
}

/// The budget of a day counts what all sessions cost. Consent holds for this session and for this day.
#[test]
fn the_budget_of_a_day_is_asked_about_in_every_session_that_goes_on() {
    let today = |day: &str, spent_micros: u64| AgentDid::SpendSoFar {
        cost_micros: 10,
        today: Some(DayBudget { day: day.into(), spent_micros, limit_micros: 5_000_000 }),
    };
    let mut story = Story::begun(Created { aim: Aim::Chat, ..created("hello", Terms::default()) });
    story
        .baseline()
        .connects()
        .did(today("2026-01-24", 4_999_999), "")
        .did(today("2026-01-24", 5_200_000), REACHED)
        .wants(&[]);
    assert_eq!(
        story.play.view().questions[0].text,
        "All sessions together have cost about $5.20 today, and the budget of a day is $5.00. Go on with this one?"
    );
    story
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .answer("q1", "yes", "q1 answered go_on by ann (terminal); restarted by ann (terminal)")
        .connects_again()
        .did(today("2026-01-24", 10_100_000), "")
        .did(today("2026-01-25", 4_000_000), "")
        .did(today("2026-01-25", 5_000_000), "turn 1 stopped by the rule budget; Rapport asked round 2: q2");
}
