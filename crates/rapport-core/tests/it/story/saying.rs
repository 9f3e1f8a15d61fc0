//! Words for the agent of a task: in the middle of its turn, and once its work is done.

use rapport_core::{
    Act, Aim, ApplyTo, Changes, Created, FileChange, Leave, ProgressAim, Status, Terms, World,
};

use super::{length, planned, way, working};
use crate::support::{Story, bob, created, person};

fn say(text: &str) -> Act {
    Act::Say { text: text.into(), id: None }
}

/// What is to be told in the middle of the turn, by number.
fn said(story: &Story) -> Vec<(u32, String)> {
    story.order().messages.into_iter().map(|said| (said.number, said.text)).collect()
}

fn changed(state: &str, files: &[(&str, &str)]) -> World {
    let file = |(path, status): &(&str, &str)| FileChange {
        path: (*path).into(),
        status: serde_json::from_value((*status).into()).unwrap(),
        added: Some(1),
        removed: Some(0),
    };
    let files = files.iter().map(file).collect();
    World::Report { changes: Some(Changes { files, result: Some(state.into()), unknown: None }) }
}

/// The work is done, in the state `r1`.
fn done() -> Story {
    let mut story = working();
    story
        .finishes("Done.", "turn 2 ended")
        .world(changed("r1", &[("a.txt", "added"), ("b.txt", "modified")]), "reported");
    story
}

/// Words reach the turn that goes on. They are a fact with who said them, and stay in the order until the turn is over: only
/// the agent's transcript knows whether it holds them.
#[test]
fn words_reach_the_turn_that_goes_on() {
    let mut story = working();
    story.act(say("mind the tests"), "heard mind the tests from ann (terminal) in turn 2");
    story.check(&person(bob(), say("and the docs")), "heard and the docs from bob (telegram) in turn 2");
    let both = vec![(1, "mind the tests".to_owned()), (2, "and the docs".to_owned())];
    assert_eq!((said(&story), story.play.session.queued()), (both.clone(), 2));
    story
        .did(rapport_core::AgentDid::Read { message: 1 }, "message 1 read")
        .did(rapport_core::AgentDid::Read { message: 1 }, "")
        .did(rapport_core::AgentDid::Read { message: 0 }, "")
        .did(rapport_core::AgentDid::Read { message: 9 }, "")
        .crash("cut off: Rapport was stopped");
    assert_eq!((said(&story), story.play.session.queued()), (both, 1));
    story
        .connects()
        .did(rapport_core::AgentDid::Read { message: 2 }, "message 2 read")
        .finishes("Done.", "turn 2 ended");
}

/// What came too late for a turn is the next one: nothing that was said is lost.
#[test]
fn what_was_not_read_is_told_in_the_next_turn() {
    let mut story = working();
    story
        .act(say("mind the tests"), "heard mind the tests from ann (terminal) in turn 2")
        .act(say("and the docs"), "heard and the docs from ann (terminal) in turn 2")
        .did(rapport_core::AgentDid::Read { message: 1 }, "message 1 read")
        .finishes("Done.", "turn 2 ended; turn 3 started to work")
        .wants(&["turn 3 running to work []"]);
    assert_eq!((story.order().prompt.as_str(), said(&story)), ("and the docs", vec![]));
    story.finishes("Done too.", "turn 3 ended").wants(&["report of turn 3 since b1"]);
}

/// The same while the agent plans: it plans again with the words, and the plan is not confirmed without them.
#[test]
fn words_reach_the_agent_that_plans() {
    let mut story = Story::of("Add login");
    story
        .connects()
        .act(say("passkeys, please"), "heard passkeys, please from ann (terminal) in turn 1")
        .finishes("# Login", "turn 1 ended; plan proposed: login/add-login; turn 2 started to plan");
    assert!(story.order().prompt.contains("passkeys, please"), "{}", story.order().prompt);
}

/// Nobody answers by accident.
#[test]
fn words_are_no_answer() {
    let refused =
        |id: &str| format!("refused: saying something is not possible now: {id} waits for an answer");
    planned().act(say("yes"), &refused("confirm"));
    let mut story = working();
    story.asks("c2", &[way(), length()], "c2 asked round 3: q3, q4").act(say("1"), &refused("q3"));
    story.answer("q3", "1", "q3 answered passkeys by ann (terminal)").act(say("1"), &refused("q4"));
}

/// Once the work is done the agent goes on in the same conversation: the report tells of all of it, and it is undone as a whole.
#[test]
fn the_agent_goes_on_after_its_work_is_done() {
    let mut story = done();
    story
        .act(say("now the tests"), "heard now the tests from ann (terminal); turn 3 started to work")
        .wants(&["baseline of turn 3"])
        .crash("cut off: Rapport was stopped")
        .world(baseline(3, "r1"), "turn 3 baselined at r1")
        .wants(&["turn 3 running to work []"]);
    assert_eq!((story.order().prompt.as_str(), story.play.view().status), ("now the tests", Status::Running));
    story
        .connects()
        .finishes("Tested.", "turn 3 ended")
        .wants(&["report of turn 3 since b1"])
        .world(changed("r2", &[("a.txt", "added"), ("t.txt", "added")]), "reported")
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .wants(&["the work undone from r2 to b1"]);
}

/// What a person changed before the agent went on is not its work.
#[test]
fn what_a_person_changed_in_between_is_not_the_work() {
    let mut story = done();
    story
        .act(say("now the tests"), "heard now the tests from ann (terminal); turn 3 started to work")
        .world(baseline(3, "p1"), "turn 3 baselined at p1")
        .connects()
        .finishes("Tested.", "turn 3 ended")
        .wants(&["report of turn 3 since p1"])
        .world(changed("r2", &[("a.txt", "deleted"), ("b.txt", "modified"), ("t.txt", "added")]), "reported");
    let files = story.play.view().changes.unwrap().files;
    let files: Vec<_> =
        files.iter().map(|file| (file.path.as_str(), file.status.as_str(), file.added)).collect();
    assert_eq!(files, [("b.txt", "modified", Some(2)), ("t.txt", "added", Some(1))]);
    story
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .crash("")
        .wants(&["the work undone from r2 to p1, then from r1 to b1"]);
}

/// Work that was undone is not undone again with what came after it.
#[test]
fn after_undoing_it_begins_anew() {
    let mut story = done();
    let undone = World::WorkUndone { outcome: Ok(rapport_core::UndoneFiles::default()) };
    let refused = "refused: saying something is not possible now: its work is being undone";
    story
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .act(say("again"), refused)
        .world(undone, "the work undone")
        .act(say("rather so"), "heard rather so from ann (terminal); turn 3 started to work")
        .world(baseline(3, "b1"), "turn 3 baselined at b1")
        .connects()
        .finishes("So.", "turn 3 ended")
        .wants(&["report of turn 3 since b1"])
        .world(changed("r2", &[("c.txt", "added")]), "reported");
    let view = story.play.view();
    assert_eq!((view.changes.unwrap().files.len(), view.undone), (1, None));
    story
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .wants(&["the work undone from r2 to b1"]);
}

/// An agent that failed is tried again with the words, instead of being told to go on.
#[test]
fn words_restart_what_failed() {
    let mut story = working();
    story
        .leaves(Leave::Failed { reason: "no login".into() }, "cut off: no login; failed: no login")
        .act(say("try it now"), "restarted by ann (terminal); heard try it now from ann (terminal) in turn 2")
        .wants(&["turn 2 running to work []"]);
    assert_eq!(said(&story), [(1, "try it now".to_owned())]);
}

#[test]
fn what_was_ended_takes_no_words() {
    let not = |why: &str| format!("refused: saying something is not possible now: {why}");
    let mut story = working();
    story
        .act(Act::Cancel { reason: None }, "cancelled by ann (terminal)")
        .act(say("more"), &not("the session is cancelled"));
    let apart = Created { worker: "worktree".into(), ..created("Add login", Terms::default()) };
    let mut story = Story::begun(apart);
    story
        .connects()
        .finishes("# Login", "turn 1 ended; plan proposed: login/add-login; Rapport asked round 1: confirm")
        .saved()
        .answer("confirm", "confirm", "confirm answered confirm by ann (terminal); turn 2 started to work")
        .saved()
        .baseline()
        .finishes("Done.", "turn 2 ended")
        .world(changed("r1", &[]), "reported")
        .act(
            Act::Apply { with_conflicts: false, end: None, to: ApplyTo::Files },
            "to be applied by ann (terminal)",
        )
        .act(say("more"), &not("its work is being applied"));
    story.act(say(" "), "refused: the task is empty");
}

/// A progress file is made again with what is said about it.
#[test]
fn a_progress_file_is_made_again() {
    const FILE: &str = "# Progress: Shop\n\n## Status: In progress\n\n## Phase 1: Begin\n\n- [ ] Do it\n";
    let aim = ProgressAim {
        path: "progress.md".into(),
        asking: rapport_core::Asking::Assume,
        mode: rapport_core::PlanMode::Basic,
        existing: rapport_core::Existing::Refuse,
        stack: None,
    };
    let mut story = Story::begun(Created { aim: Aim::Progress(aim), ..created("A shop", Terms::default()) });
    story.connects().act(say("smaller"), "heard smaller from ann (terminal) in turn 1");
    let next = story.put(&crate::support::agent(
        1,
        rapport_core::AgentDid::Leave(Leave::Finished { result: FILE.into() }),
    ));
    assert_eq!(next, "turn 1 ended; turn 2 started to plan");
    assert!(story.order().prompt.contains("smaller"));
}

fn baseline(turn: u32, state: &str) -> World {
    World::Baseline { turn: rapport_core::TurnId(turn), baseline: Some(state.into()) }
}
