//! What becomes of work that was done apart from the project: it is applied or discarded, once, and cleared away.

use rapport_core::{
    Act, AgentDid, ApplyTo, By, Created, Leave, MAX_TEXT, Merged, NotMerged, Status, Terms, UndoProblem,
    UndoneFiles, WorkplaceState, World,
};

use crate::support::{Story, ann, created, person};

const APPLY: Act = Act::Apply { with_conflicts: false, end: None, to: ApplyTo::Files };
const DISCARD: Act = Act::Discard { reason: None, end: None };

/// A session in a worktree of its own, whose agent works.
fn working_apart() -> Story {
    let created = Created { worker: "worktree".into(), ..created("Add login", Terms::default()) };
    let mut story = Story::planned(created);
    story.confirmed();
    story
}

fn done_apart() -> Story {
    let mut story = working_apart();
    story.finishes("Done.", "turn 2 ended").world(World::Report { changes: None }, "reported").wants(&[]);
    story
}

fn merged() -> World {
    World::Merged { outcome: Ok(Merged { from: "f1".into(), to: "t1".into(), ..Merged::default() }) }
}

#[test]
fn it_is_merged_then_applied_then_cleared() {
    let mut story = done_apart();
    story
        .act(APPLY, "to be applied by ann (terminal)")
        .crash("")
        .wants(&["merged"])
        .act(APPLY, "")
        .act(DISCARD, "refused: discarding is not possible now: it is being applied")
        .world(merged(), "merged from f1 to t1")
        .crash("")
        .wants(&["applied from f1 to t1"])
        .world(merged(), "")
        .world(World::Applied { files: Vec::new() }, "0 files applied by ann (terminal)")
        .crash("")
        .wants(&["cleared"])
        .world(World::Applied { files: Vec::new() }, "")
        .world(World::Cleared { left: None }, "cleared")
        .wants(&[])
        .act(APPLY, "")
        .act(DISCARD, "refused: discarding is not possible now: it was applied");
    assert_eq!(
        story.play.view().workplace.map(|place| (place.state, place.cleared)),
        Some((WorkplaceState::Applied, true))
    );
    assert_eq!(story.play.view().status, Status::Completed);
}

/// Only the same request may be repeated. To apply the work elsewhere as well is refused, at every stage: it would be
/// reported as done although nothing happened.
#[test]
fn it_is_not_applied_elsewhere_as_well() {
    let to = |to| Act::Apply { with_conflicts: false, end: None, to };
    let on = |name: &str| to(ApplyTo::Branch(name.into()));
    let elsewhere = [
        (ApplyTo::Files, on("blue"), "applied to the project's files"),
        (ApplyTo::Files, to(ApplyTo::Commit), "applied to the project's files"),
        (ApplyTo::Commit, APPLY, "applied to the project's files and committed"),
        (ApplyTo::Branch("blue".into()), APPLY, "committed on the branch blue"),
        (ApplyTo::Branch("blue".into()), on("red"), "committed on the branch blue"),
    ];
    for (first, other, how) in elsewhere {
        let same = to(first);
        let refused = |is: &str| format!("refused: applying is not possible now: {is} {how}");
        let mut story = done_apart();
        story
            .act(same.clone(), "to be applied by ann (terminal)")
            .act(same.clone(), "")
            .act(other.clone(), &refused("it is being"))
            .world(merged(), "merged from f1 to t1")
            .crash("")
            .act(same.clone(), "")
            .act(other.clone(), &refused("it is being"))
            .world(World::Applied { files: Vec::new() }, "0 files applied by ann (terminal)")
            .crash("")
            .act(same.clone(), "")
            .act(other.clone(), &refused("it was"))
            .world(World::Cleared { left: None }, "cleared")
            .act(same, "")
            .act(other, &refused("it was"));
    }
}

/// Work that was undone is no longer in the project, and its workplace is gone: it cannot be applied again.
#[test]
fn undone_work_is_not_applied_again() {
    let mut story = done_apart();
    let problem = UndoProblem { reason: "no git".into(), changed: Vec::new(), is_partial: false };
    story
        .act(APPLY, "to be applied by ann (terminal)")
        .world(merged(), "merged from f1 to t1")
        .world(World::Applied { files: Vec::new() }, "0 files applied by ann (terminal)")
        .world(World::Cleared { left: None }, "cleared")
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .act(APPLY, "refused: applying is not possible now: its work is being undone")
        .world(World::WorkUndone { outcome: Err(problem) }, "the work not undone: no git")
        .act(APPLY, "")
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .world(World::WorkUndone { outcome: Ok(UndoneFiles::default()) }, "the work undone")
        .crash("")
        .act(APPLY, "refused: applying is not possible now: its work was undone");
}

#[test]
fn conflicts_leave_it_as_it_was_and_can_be_asked_for() {
    let mut story = done_apart();
    let conflicts = NotMerged { conflicts: vec!["a.txt".into()], ..NotMerged::default() };
    story
        .act(APPLY, "to be applied by ann (terminal)")
        .world(World::Merged { outcome: Err(conflicts) }, "not applied: a.txt")
        .wants(&[]);
    assert_eq!(story.play.view().workplace.map(|place| place.conflicts), Some(vec!["a.txt".to_owned()]));
    story
        .act(
            Act::Apply { with_conflicts: true, end: None, to: ApplyTo::Files },
            "to be applied by ann (terminal)",
        )
        .wants(&["merged with conflicts"])
        .world(World::Failed { reason: "no git".into() }, "not applied: no git")
        .wants(&[])
        .act(DISCARD, "discarded by ann (terminal)")
        .wants(&["cleared"]);
}

#[test]
fn what_cannot_be_cleared_away_says_so_and_is_tried_again() {
    let mut story = done_apart();
    story
        .act(DISCARD, "discarded by ann (terminal)")
        .world(World::Cleared { left: Some("it is busy".into()) }, "cleared, but it is busy")
        .wants(&[])
        .act(APPLY, "refused: applying is not possible now: it was discarded")
        .act(DISCARD, "discarded by ann (terminal)")
        .world(World::Cleared { left: None }, "cleared")
        .act(DISCARD, "");
}

#[test]
fn what_goes_on_is_not_applied_but_may_be_discarded() {
    let mut story = working_apart();
    story
        .act(APPLY, "refused: applying is not possible now: the agent is working")
        .act(DISCARD, "cancelled by ann (terminal); discarded by ann (terminal)")
        .wants(&["cleared"]);
    let mut failed = working_apart();
    failed
        .leaves(Leave::Failed { reason: "gone".into() }, "cut off: gone; failed: gone")
        .act(APPLY, "to be applied by ann (terminal)")
        .act(Act::Restart, "refused: restarting is not possible now: the session has failed");
}

#[test]
fn work_in_the_project_itself_is_neither() {
    let mut story = crate::story::working();
    let why = "is not possible now: this session worked in the project itself";
    story.act(APPLY, &format!("refused: applying {why}")).act(DISCARD, &format!("refused: discarding {why}"));
    assert_eq!(story.play.view().workplace, None);
}

/// An act that names the end of the work that was seen is about that work: if it went on meanwhile, nothing happens.
#[test]
fn work_that_nobody_has_seen_is_neither_applied_nor_discarded() {
    let apply = |end| Act::Apply { with_conflicts: false, end: Some(end), to: ApplyTo::Files };
    let discard = |end| Act::Discard { reason: Some("Too blue.".into()), end: Some(end) };
    let mut story = done_apart();
    assert_eq!(story.play.session.ends(), 1);
    for (what, act) in [("applying", apply(2)), ("discarding", discard(2))] {
        story.act(act, &format!("refused: {what} is not possible now: the work has changed since"));
    }
    story.act(
        Act::Say { text: "And the tests.".into(), id: None },
        "heard And the tests. from ann (terminal); turn 3 started to work",
    );
    for (what, act) in [("applying", apply(1)), ("discarding", discard(1))] {
        story.act(act, &format!("refused: {what} is not possible now: the work continues"));
    }
    story
        .baseline()
        .connects()
        .finishes("Done again.", "turn 3 ended")
        .world(World::Report { changes: None }, "reported")
        .crash("");
    for (what, act) in [("applying", apply(1)), ("discarding", discard(1))] {
        story.act(act, &format!("refused: {what} is not possible now: the work has changed since"));
    }
    story.act(discard(2), "discarded by ann (terminal): Too blue.").act(discard(2), "").wants(&["cleared"]);
    let mut story = done_apart();
    story
        .act(apply(1), "to be applied by ann (terminal)")
        .act(apply(2), "refused: applying is not possible now: the work has changed since")
        .wants(&["merged"]);
    let long = Act::Discard { reason: Some("x".repeat(MAX_TEXT + 1)), end: None };
    done_apart().act(long, "refused: this reason has 65537 bytes; the maximum is 65536");
}

/// A host that the agent could not reach is noted once. A person lets it be reached, and nobody else.
#[test]
fn a_refused_host_is_noted_and_a_person_allows_it() {
    let mut story = working_apart();
    let missed = |host: &str| AgentDid::MissHost { host: host.into() };
    let allow = |host: &str| Act::AllowHost { host: host.into() };
    story
        .did(missed("example.com:443"), "example.com:443 refused")
        .did(missed("example.com:443"), "")
        .did(missed("a\u{1b}[31m"), "")
        .did(missed("other.com:443"), "other.com:443 refused")
        .check(
            &person(By::Lead { name: "main".into() }, allow("example.com")),
            "refused: changing what the agent may reach needs a person, the lead main cannot decide it",
        )
        .act(allow("example.com"), "example.com allowed by ann (terminal)")
        .act(allow("example.com"), "")
        .saved()
        .wants(&["example.com reachable", "turn 2 running to work []"]);
    let place = story.play.view().workplace.unwrap();
    assert_eq!(
        (place.refused_hosts, place.allowed_hosts),
        (vec!["other.com:443".into()], vec!["example.com".into()])
    );
    let mut local = Story::of("Add login");
    local.check(
        &person(ann(), allow("example.com")),
        "refused: allowing a host is not possible now: the agent works in the project itself, where the network is not restricted",
    );
}
