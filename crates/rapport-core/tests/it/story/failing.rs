//! What goes wrong: agents that die, other conversations, things that cannot be done. All of it can be restarted.

use rapport_core::{
    Act, AgentDid, AgentState, Ask, ConversationId, Leave, Permission, Rule, Status, Terms, Usage, World,
};

use super::{way, working};
use crate::support::{Story, call};

fn connect(conversation: &str) -> AgentDid {
    AgentDid::Connect { conversation: ConversationId::new(conversation), model: None }
}

#[test]
fn an_agent_that_dies_with_nothing_open_fails_and_can_be_restarted() {
    let mut story = Story::of("Add login");
    story
        .connects()
        .leaves(
            Leave::Failed { reason: "exit status 1".into() },
            "cut off: exit status 1; failed: exit status 1",
        )
        .wants(&[]);
    assert_eq!(story.play.view().status, Status::Failed);
    assert_eq!(story.play.view().failure.as_deref(), Some("exit status 1"));
    story
        .crash("")
        .act(Act::Restart, "restarted by ann (terminal)")
        .wants(&["turn 1 running to plan []"])
        .connects_again()
        .act(Act::Restart, "refused: restarting is not possible now: the agent is still clarifying the task");
    assert_eq!(story.play.view().status, Status::Running);
}

/// That the program is missing is a fact of its own, whatever the reason says.
#[test]
fn an_agent_that_cannot_be_started_is_told_from_one_that_died() {
    let mut story = Story::of("Add login");
    assert!(!story.play.view().agent.is_not_started);
    story
        .leaves(
            Leave::NotStarted { reason: "no such file".into() },
            "cut off: no such file; failed: no such file",
        )
        .crash("");
    assert!(story.play.view().agent.is_not_started);
    story.act(Act::Restart, "restarted by ann (terminal)").connects();
    assert!(!story.play.view().agent.is_not_started);
    story.leaves(Leave::Failed { reason: "died".into() }, "cut off: died; failed: died");
    assert!(!story.play.view().agent.is_not_started);
}

#[test]
fn an_agent_that_dies_with_a_question_open_leaves_the_question() {
    let mut story = working();
    story
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .leaves(Leave::Failed { reason: "killed".into() }, "cut off: killed")
        .wants(&["snapshot at round 3"])
        .open(&["q3"]);
    assert_eq!(story.play.view().agent.state, AgentState::CutOff);
    // A person may also restart it without an answer.
    story
        .act(Act::Restart, "restarted by ann (terminal)")
        .wants(&["turn 2 running to work []"])
        .open(&["q3"]);
}

/// WORK-19: a place that died is made again, and the agent goes on; twice at the same point is once too often.
#[test]
fn an_agent_whose_place_died_goes_on_once() {
    let lost = || Leave::Lost { reason: "its container is gone".into() };
    let mut story = working();
    story
        .leaves(lost(), "cut off: its container is gone")
        .wants(&["turn 2 running to work []"])
        .connects()
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .leaves(lost(), "cut off: its container is gone")
        .open(&["q3"]);
    assert_eq!(story.play.view().status, Status::NeedsInput, "the question waits");
    let mut story = working();
    story
        .leaves(lost(), "cut off: its container is gone")
        .crash("")
        .connects()
        .leaves(lost(), "cut off: its container is gone; failed: its container is gone")
        .wants(&[])
        .act(Act::Restart, "restarted by ann (terminal)")
        .connects_again()
        .leaves(lost(), "cut off: its container is gone")
        .wants(&["turn 2 running to work []"]);
}

/// WORK-20: an answer is stored, and no process comes to take it. Three are started; then somebody has to restart it. The question is
/// not asked anew.
#[test]
fn an_answer_that_cannot_be_delivered_is_tried_three_times() {
    let (exits, cut_off) = (|| Leave::Failed { reason: "exit status 1".into() }, "cut off: exit status 1");
    let mut story = working();
    story.asks("c2", &[way()], "c2 asked round 3: q3").crash("cut off: Rapport was stopped").answer(
        "q3",
        "Passkeys",
        "q3 answered passkeys by ann (terminal)",
    );
    let undelivered = |story: &Story| {
        story.play.session.undelivered().iter().map(|item| item.question.id.to_string()).collect::<Vec<_>>()
    };
    assert!(undelivered(&story).is_empty(), "it is on its way");
    story.leaves(exits(), cut_off).leaves(exits(), cut_off).open(&[]);
    assert_eq!(story.play.view().status, Status::Running);
    story.leaves(exits(), &format!("{cut_off}; failed: exit status 1")).crash("").wants(&[]).open(&[]);
    assert_eq!((story.play.view().status, undelivered(&story)), (Status::NeedsInput, vec!["q3".to_owned()]));
    let view = story.play.view();
    let stored: Vec<_> = view.undelivered.iter().map(|one| (one.id.as_str(), one.answer.as_str())).collect();
    assert_eq!((stored, view.failure.as_deref()), (vec![("q3", "Passkeys")], Some("exit status 1")));
    // Another three, because somebody said so.
    story.act(Act::Restart, "restarted by ann (terminal)");
    for _ in 0..2 {
        story.leaves(exits(), cut_off);
    }
    story.connects().takes("c2");
    assert!(undelivered(&story).is_empty());
    // With nothing to deliver, one that dies is not started again by itself.
    story.leaves(exits(), &format!("{cut_off}; failed: exit status 1"));
}

/// The agent is dead, and its host does not know it yet, when somebody answers and is thanked: another process is started to
/// take the answer. One that dies of it whenever it gets it is not started for ever.
#[test]
fn an_answer_that_came_when_the_agent_had_died_is_delivered() {
    let (dies, cut_off) = (|| Leave::Failed { reason: "signal 9".into() }, "cut off: signal 9");
    let answered = || {
        let mut story = working();
        story.asks("c2", &[way()], "c2 asked round 3: q3").answer(
            "q3",
            "Passkeys",
            "q3 answered passkeys by ann (terminal)",
        );
        let wanted = ["turn 2 running to work [c2]", "c2 replied: Which way? Passkeys"];
        story.leaves(dies(), cut_off).wants(&wanted);
        story
    };
    answered().connects().takes("c2").leaves(dies(), &format!("{cut_off}; failed: signal 9"));
    let mut story = answered();
    story.connects().asks("c3", &[way()], "c3 asked round 3 again").leaves(dies(), cut_off);
    story.crash("").connects().asks("c4", &[way()], "c4 asked round 3 again");
    story.leaves(dies(), &format!("{cut_off}; failed: signal 9"));
    let stored: Vec<_> = story.play.view().undelivered.iter().map(|one| one.answer.clone()).collect();
    assert_eq!(stored, ["Passkeys"], "it is shown as stored");
}

/// A permission that a rule gave is no reason to start the agent again: nobody waits for it, and it would be given again.
#[test]
fn an_agent_that_dies_of_what_a_rule_allowed_fails() {
    let rule = Rule::exactly("Bash", "touch a");
    let asked = Permission { rule: Some(rule), ..Permission::new("Bash", "touch a") };
    let did = |id: &str| {
        let ask = Ask::Permission(asked.clone());
        AgentDid::Ask { call: call(id), ask, parkable: false }
    };
    let mut story = working();
    story
        .did(did("c2"), "c2 asked round 3: q3")
        .answer("q3", "session", "q3 answered session by ann (terminal)")
        .takes("c2")
        .did(did("c3"), "c3 asked round 4: q4; q4 answered allow by the rule Bash(touch a) for this session");
    story.leaves(Leave::Failed { reason: "signal 9".into() }, "cut off: signal 9; failed: signal 9");
}

#[test]
fn an_agent_that_was_stopped_is_wanted_again() {
    working()
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .wants(&["turn 2 running to work []"])
        .connects();
}

/// What the wrong conversation still says before it is stopped counts for nothing, least of all as a result.
#[test]
fn another_conversation_after_resume_fails() {
    let stray = "refused: what the agent did does not belong to the current turn";
    let reason = "the agent resumed the wrong conversation: beef instead of 4f1c";
    let mut story = Story::of("Add login");
    story
        .connects()
        .crash("cut off: Rapport was stopped")
        .did(connect("beef"), &format!("cut off: {reason}; failed: {reason}"))
        .wants(&[])
        .did(AgentDid::Say { text: "All done".into() }, stray)
        .asks("c1", &[way()], stray)
        .did(AgentDid::Take { call: call("c1") }, stray)
        .did(connect("beef"), stray)
        .did(AgentDid::Spend { usage: Usage { output: 5, ..Usage::default() } }, "spent 5")
        .finishes("All done", "cut off: it was stopped after a failure")
        .open(&[]);
    assert_eq!(story.play.view().failure.as_deref(), Some(reason));
    story.act(Act::Restart, "restarted by ann (terminal)").wants(&["turn 1 running to plan []"]);
    assert_eq!(story.order().conversation.as_str(), "4f1c");
}

/// The first time, an agent may name its conversation itself.
#[test]
fn an_agent_may_begin_a_conversation_of_its_own() {
    let mut story = Story::of("Add login");
    story.did(connect("beef"), "turn 1 connected to beef").did(connect("beef"), "");
    assert_eq!(story.order().conversation.as_str(), "beef");
}

/// One failure is one failure, however the agent leaves afterwards: one restart is enough.
#[test]
fn a_failure_within_a_failure_is_still_one() {
    let mut story = working();
    story
        .world(World::Failed { reason: "the disk is full".into() }, "failed: the disk is full")
        .leaves(Leave::Failed { reason: "killed".into() }, "cut off: it was stopped after a failure")
        .world(
            World::Failed { reason: "x".into() },
            "refused: a failure does not belong to the current turn",
        );
    assert_eq!(story.play.view().failure.as_deref(), Some("the disk is full"));
    story
        .act(Act::Restart, "restarted by ann (terminal)")
        .wants(&["turn 2 running to work []"])
        .finishes("Done.", "turn 2 ended");
}

/// After a crash the process is gone also for a session that had failed: what it asked is not asked twice.
#[test]
fn a_crash_after_a_failure_asks_nobody_twice() {
    working()
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .world(World::Failed { reason: "the disk is full".into() }, "failed: the disk is full")
        .crash("cut off: Rapport was stopped")
        .act(Act::Restart, "restarted by ann (terminal)")
        .asks("c5", &[way()], "c5 asked round 3 again")
        .open(&["q3"]);
}

#[test]
fn nothing_is_due_in_a_session_that_failed() {
    let terms = Terms { expire: Some(jiff::SignedDuration::from_hours(1)), ..Terms::default() };
    let mut story = Story::with("Add login", terms);
    story.connects().asks("c1", &[way()], "c1 asked round 1: q1");
    story.world(World::Failed { reason: "x".into() }, "failed: x");
    assert_eq!(story.play.session.deadline(), None);
    story.play.pass(jiff::SignedDuration::from_hours(9));
    story.world(World::Tick, "").open(&["q1"]);
}

#[test]
fn a_report_that_failed_is_wanted_again() {
    working()
        .finishes("Done.", "turn 2 ended")
        .world(World::Failed { reason: "git is gone".into() }, "failed: git is gone")
        .world(World::Report { changes: None }, "refused: a report does not belong to the current turn")
        .act(Act::Restart, "restarted by ann (terminal)")
        .wants(&["report of turn 2 since b1"]);
}
