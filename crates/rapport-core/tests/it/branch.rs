//! Branching at a question: what the other session starts from, and where it cannot start.

use rapport_core::{
    Aim, Asking, Branch, BranchPoint, ConversationId, Destination, Entry, Existing, PlanMode, ProgressAim,
    Session, SessionId, StateWanted, Terms, View,
};

use crate::story::{length, planned, way, working};
use crate::support::{Story, created, fact_in_words, question};

fn to(at: &str) -> Destination {
    Destination {
        origin: BranchPoint::at_question(SessionId::new("20260124-login"), question(at)),
        project: "/home/ann/shop".into(),
        worker: "worktree".into(),
        conversation: ConversationId::new("b2"),
    }
}

fn branch(story: &Story, at: &str) -> (Branch, Vec<Entry>, View) {
    let branch = Branch::at(&story.play.log, &question(at)).unwrap();
    let entries = branch.entries(&to(at), "2026-02-01T00:00:00Z".parse().unwrap());
    let view = Session::replay(&entries).unwrap().view(&SessionId::new("20260201-login-branch"));
    (branch, entries, view)
}

#[track_caller]
fn refused(story: &Story, at: &str, why: &str) {
    assert_eq!(Branch::at(&story.play.log, &question(at)).unwrap_err().to_string(), why);
}

fn open(view: &View) -> Vec<&str> {
    view.questions.iter().map(|open| open.id.as_str()).collect()
}

#[test]
fn a_branch_has_the_past_of_its_question_and_nothing_after_it() {
    let (branch, entries, view) = branch(&working(), "q2");
    let facts: Vec<_> = entries.iter().flat_map(|entry| &entry.facts).map(fact_in_words).collect();
    assert_eq!(
        facts,
        [
            "created: Add login",
            "turn 1 started to plan",
            "turn 1 connected to b2",
            "c1 asked round 1: q1, q2",
            "q1 answered passkeys by ann (terminal)",
            "cut off: branched from 20260124-login at q2",
        ]
    );
    assert_eq!(branch.call.as_str(), "c1");
    assert_eq!(branch.conversation.as_str(), crate::support::CONVERSATION);
    assert_eq!(branch.project, "/home/ann/shop");
    assert_eq!(open(&view), ["q2"], "the others of its round have their answers");
    assert_eq!(view.project, to("q2").project);
    assert_eq!(view.branched_from, Some(to("q2").origin));
    assert_eq!(view.created_at.to_string(), "2026-01-24T09:00:00Z");
    assert_eq!(view.questions[0].asked_at.to_string(), "2026-02-01T00:00:00Z");
}

/// What was agreed on holds in the branch too; its time begins when it is asked there.
#[test]
fn a_question_does_not_expire_in_a_branch_before_its_time() {
    let terms = Terms { expire: Some(jiff::SignedDuration::from_hours(2)), ..Terms::default() };
    let mut story = Story::with("Add login", terms);
    story.connects().asks("c1", &[way()], "c1 asked round 1: q1");
    let (_, entries, _) = branch(&story, "q1");
    let deadline = Session::replay(&entries).unwrap().deadline();
    assert_eq!(deadline.unwrap().to_string(), "2026-02-01T02:00:00Z");
}

#[test]
fn which_state_the_files_have_to_be_in() {
    let noted = |name: &str| StateWanted::Noted(name.into());
    let mut asking = Story::of("Add login");
    asking.connects().asks("c1", &[way()], "c1 asked round 1: q1");
    assert_eq!(branch(&asking, "q1").0.state, StateWanted::AsItIs, "nothing is changed while planning");
    assert_eq!(branch(&planned(), "q1").0.state, StateWanted::AsItIs);
    assert_eq!(branch(&working(), "q1").0.state, noted("b1"), "the work begins after all of planning");

    let mut story = working();
    story.asks("c2", &[way()], "c2 asked round 3: q3");
    assert_eq!(branch(&story, "q3").0.state, StateWanted::AsItIs, "the agent still waits");
    story.noted(3);
    assert_eq!(branch(&story, "q3").0.state, noted("s3"));
    story.answer("q3", "1", "q3 answered passkeys by ann (terminal)").takes("c2");
    assert_eq!(branch(&story, "q3").0.state, noted("s3"));
    let (_, _, view) = branch(&story, "q3");
    assert_eq!(open(&view), ["q3"]);
    assert_eq!(view.answers.len(), 2, "what was answered before it stays");
}

#[test]
fn where_nothing_can_branch() {
    let mut story = working();
    refused(&story, "q9", "there is no question q9 in this session");
    refused(
        &story,
        "confirm",
        "cannot branch at confirm: Rapport itself asked it; branch at a question of the agent's",
    );
    story
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .answer("q3", "1", "q3 answered passkeys by ann (terminal)")
        .takes("c2")
        .asks("c3", &[length()], "c3 asked round 4: q4");
    refused(&story, "q3", "cannot branch at q3: the state of the files at that question was not recorded");
    assert!(Branch::at(&story.play.log, &question("q4")).is_ok());

    let aim = ProgressAim {
        mode: PlanMode::Basic,
        asking: Asking::Adaptive,
        path: "progress.md".into(),
        existing: Existing::Refuse,
        stack: None,
    };
    let mut story = Story::begun(rapport_core::Created {
        aim: Aim::Progress(aim),
        ..created("a todo app", Terms::default())
    });
    story.connects().asks("c1", &[way()], "c1 asked round 1: q1");
    refused(
        &story,
        "q1",
        "cannot branch at q1: only a session that works on a task has branches at questions",
    );
}

/// A branch is a session like any other.
#[test]
fn a_branch_goes_on_by_itself_and_can_branch_again() {
    let (_, entries, _) = branch(&working(), "q1");
    let session = Session::replay(&entries).unwrap();
    assert_eq!(session.wants(), [], "an agent that waits needs no process");
    let again = Branch::at(&entries, &question("q1")).unwrap();
    assert_eq!(again.project, to("q1").project);
    assert_eq!(again.conversation.as_str(), "b2");
}
