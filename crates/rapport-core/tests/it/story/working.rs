//! Questions in the middle of work, permissions, and leaving plan mode.

use rapport_core::{
    Act, AgentDid, AgentState, Ask, Created, Leave, Part, Permission, PermissionRemark, Purpose, Reply,
    RoundId, Rule, Status, Terms, World,
};

use super::{length, way, working};
use crate::support::{Story, bob, call, created, person, question};

#[test]
fn two_questions_at_once_and_only_the_last_is_parked() {
    let mut story = working();
    story
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .noted(3)
        .asks("c3", &[length()], "c3 asked round 4: q4")
        .wants(&["snapshot at round 4", "turn 2 running to work []"])
        .noted(4)
        .open(&["q3", "q4"]);
    assert_eq!(story.play.session.deadline(), None, "with two open nothing is put away");
    story
        .answer("q3", "1", "q3 answered passkeys by ann (terminal)")
        .wants(&["turn 2 running to work [c2]", "c2 replied: Which way? Passkeys"]);
    assert_eq!(story.play.session.deadline(), None, "nor while a reply has not arrived");
    story
        .takes("c2")
        .due("5m", "c3 cooled")
        .wants(&["turn 2 running to work []", "parked at c3"])
        .leaves(Leave::Deferred { call: call("c3") }, "parked at c3")
        .wants(&[]);
    assert_eq!(story.play.view().agent.state, AgentState::Parked);
    assert_eq!(story.play.view().status, Status::NeedsInput);
    story
        .answer("q4", "2", "q4 answered a-week by ann (terminal)")
        .wants(&["turn 2 running to work [c3]", "c3 replied: How long? A week"]);
}

/// Between the answer and the note the agent may have changed something.
#[test]
fn the_state_at_a_question_is_noted_once_and_only_while_it_waits() {
    let state = |round: u32, name: &str| World::Snapshot { round: RoundId(round), state: Some(name.into()) };
    let mut story = working();
    story
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .world(state(2, "s0"), "")
        .world(state(3, "s1"), "round 3 snapshotted at s1")
        .world(state(3, "s2"), "")
        .answer("q3", "1", "q3 answered passkeys by ann (terminal)")
        .takes("c2")
        .asks("c3", &[length()], "c3 asked round 4: q4")
        .answer("q4", "1", "q4 answered a-day by ann (terminal)")
        .world(state(4, "s3"), "");
}

#[test]
fn before_the_work_no_state_is_noted() {
    let mut story = Story::of("Add login");
    story
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .wants(&["turn 1 running to plan []"])
        .world(World::Snapshot { round: RoundId(1), state: None }, "");
}

#[test]
fn a_question_the_agent_went_on_without_is_withdrawn_and_says_so() {
    working()
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .did(
            AgentDid::Take { call: call("c2") },
            "round 3 closed: it was withdrawn: the agent continued without an answer",
        )
        .asks("c3", &[length()], "c3 asked round 4: q4")
        .finishes("Done.", "round 4 closed: it was withdrawn: the agent finished without it; turn 2 ended")
        .open(&[])
        .world(World::Report { changes: None }, "reported");
}

#[test]
fn who_answered_is_told_unless_it_is_a_person_at_the_terminal() {
    let answer = |id: &str| Act::Answer { question: Some(question(id)), reply: Reply::Choices(vec![0]) };
    let lead = rapport_core::By::Lead { name: "main".into() };
    let mut story = Story::begun(Created { by: lead.clone(), ..created("Add login", Terms::default()) });
    story.connects().asks("c2", &[way(), length()], "c2 asked round 1: q1, q2");
    story.check(&person(bob(), answer("q1")), "q1 answered passkeys by bob (telegram)");
    story.check(&person(lead, answer("q2")), "q2 answered a-day by the lead main");
    story.told(
        "c2",
        "Which way? Passkeys (answered by a person in telegram), How long? A day (answered by the lead main)",
    );
}

#[test]
fn permission_is_given_once_always_or_not() {
    let what = "May the agent use Bash: rm -r target?";
    let cases = [
        (vec!["allow"], "allow", "allowed"),
        (vec!["Allow"], "allow", "allowed"),
        (vec!["allow", "once"], "allow", "allowed"),
        (vec!["1"], "allow", "allowed"),
        (vec!["yes"], "allow", "allowed"),
        (vec!["Y"], "allow", "allowed"),
        (vec!["ok"], "allow", "allowed"),
        (vec!["no"], "deny", "denied: No. Do not do this; find another way, or ask."),
        (vec!["n"], "deny", "denied: No. Do not do this; find another way, or ask."),
        (vec!["deny"], "deny", "denied: No. Do not do this; find another way, or ask."),
        (vec!["DENY"], "deny", "denied: No. Do not do this; find another way, or ask."),
    ];
    for (typed, answered, told) in cases {
        let mut story = asked_for_permission();
        let reply = Reply::Words(typed.into_iter().map(str::to_owned).collect());
        story
            .act(Act::Answer { question: None, reply }, &format!("q3 answered {answered} by ann (terminal)"))
            .told("c2", &format!("{what} {told}"));
    }
    let by_bob = Act::Answer { question: None, reply: Reply::Choices(vec![1]) };
    let mut story = asked_for_permission();
    story.check(&person(bob(), by_bob), "q3 answered deny by bob (telegram)");
    story.told(
        "c2",
        "May the agent use Bash: rm -r target? denied: No. Do not do this; find another way, or ask. (answered by a \
         person in telegram)",
    );
}

/// Words of one's own say no at a permission, so that nobody says them by a slip.
#[test]
fn own_words_at_a_permission_are_said_as_such() {
    let answer = |reply: Reply| Act::Answer { question: None, reply };
    for slip in ["use cargo clean", "always", "confirm", "yes!"] {
        let refused = format!("refused: q3 is a decision, and \"{slip}\" is not one of its options");
        asked_for_permission().act(answer(Reply::Words(vec![slip.into()])), &refused);
    }
    asked_for_permission()
        .act(
            answer(Reply::Text("use cargo clean".into())),
            "q3 answered \"use cargo clean\" by ann (terminal)",
        )
        .told("c2", "May the agent use Bash: rm -r target? denied: use cargo clean");
}

fn asked_for_permission() -> Story {
    let ask = Ask::Permission(Permission::new("Bash", "rm -r target"));
    let mut story = working();
    story.did(AgentDid::Ask { call: call("c2"), ask, parkable: false }, "c2 asked round 3: q3");
    story
}

/// A permission is no answer a plan is made of, and nobody can change it afterwards.
#[test]
fn a_permission_is_decided_once() {
    let mut story = asked_for_permission();
    story.answer("q3", "allow", "q3 answered allow by ann (terminal)").act(
        Act::Reopen { question: question("q3") },
        "refused: the answer to q3 can no longer be changed: the decision has taken effect",
    );
    assert_eq!(story.play.view().answers.len(), 2);
}

/// Allowed once is once: a process that had the answer and is gone asks anew in a new call.
#[test]
fn a_permission_that_was_used_is_asked_for_again() {
    let ask = || Ask::Permission(Permission::new("Bash", "rm -r target"));
    asked_for_permission()
        .answer("q3", "allow", "q3 answered allow by ann (terminal)")
        .takes("c2")
        .crash("cut off: Rapport was stopped")
        .connects()
        .did(AgentDid::Ask { call: call("c9"), ask: ask(), parkable: false }, "c9 asked round 4: q4");
}

/// A command that was allowed and had begun is not allowed again because its process is gone, and who is asked is told. What
/// was allowed while no process was there is used once, for the very same call.
#[test]
fn a_permission_holds_for_one_call_with_that_very_input() {
    let ask = |what: &str| Ask::Permission(Permission::new("Bash", what));
    let did = |id: &str, what: &str| AgentDid::Ask { call: call(id), ask: ask(what), parkable: false };
    let mut story = asked_for_permission();
    story
        .answer("q3", "allow", "q3 answered allow by ann (terminal)")
        .crash("cut off: Rapport was stopped")
        .connects()
        .did(did("c9", "rm -r target"), "c9 asked round 4: q4");
    let remarks = |story: &Story| match &story.play.view().questions[0].purpose {
        Purpose::Permission(asked) => asked.remarks.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(remarks(&story), [PermissionRemark::MayHaveRun]);
    story
        .crash("cut off: Rapport was stopped")
        .answer("q4", "allow", "q4 answered allow by ann (terminal)")
        .connects()
        .did(did("c10", "rm -r /"), "c10 asked round 5: q5");
    assert_eq!(remarks(&story), []);
    story
        .answer("q5", "deny", "q5 answered deny by ann (terminal)")
        .takes("c10")
        .did(did("c11", "rm -r target"), "c11 asked round 4 again")
        .told("c11", "May the agent use Bash: rm -r target? allowed")
        .takes("c11")
        .did(did("c12", "rm -r target"), "c12 asked round 6: q6");
}

/// The subject of a call is not all of it: another content for the same path, or another option of the same command, is
/// another call.
#[test]
fn a_permission_does_not_hold_for_the_same_subject_with_another_input() {
    let write = |content: &str| Permission {
        parts: vec![Part::Content(content.into())],
        ..Permission::new("Write", "/app/a.sh")
    };
    let bash = |flag: Option<&str>| {
        let flag = flag.map(|flag| Part::Flag(flag.into()));
        let command = Part::Command("make".into());
        Permission { parts: flag.into_iter().chain([command]).collect(), ..Permission::new("Bash", "make") }
    };
    let bare = Permission::new("Bash", "make");
    for (allowed, other) in [
        (write("echo one\n"), write("rm -r /\n")),
        (write(""), write("rm -r /\n")),
        (bash(None), bash(Some("runs outside of the sandbox"))),
        (bash(Some("runs in the background")), bash(Some("runs outside of the sandbox"))),
        (bash(Some("runs in the background")), bash(None)),
        (bash(None), bare),
    ] {
        let did = |id: &str, asked: &Permission, parkable| AgentDid::Ask {
            call: call(id),
            ask: Ask::Permission(asked.clone()),
            parkable,
        };
        let question = format!("May the agent use {}: {}?", allowed.tool, allowed.what);
        // Answered while nobody ran the agent, after a crash and after parking.
        let mut cut_off = working();
        cut_off.did(did("c2", &allowed, false), "c2 asked round 3: q3").crash("cut off: Rapport was stopped");
        let mut parked = working();
        parked
            .did(did("c2", &allowed, true), "c2 asked round 3: q3")
            .due("5m", "c2 cooled")
            .leaves(Leave::Deferred { call: call("c2") }, "parked at c2");
        for mut story in [cut_off, parked] {
            story
                .answer("q3", "allow", "q3 answered allow by ann (terminal)")
                .connects()
                .did(did("c3", &other, false), "c3 asked round 4: q4")
                .answer("q4", "deny", "q4 answered deny by ann (terminal)")
                .takes("c3")
                .did(did("c4", &allowed, false), "c4 asked round 3 again")
                .told("c4", &format!("{question} allowed"));
        }
    }
}

/// What is decided while a permission is parked holds for the very same call, once. Another call is asked about, and can
/// be parked in its turn.
#[test]
fn a_parked_permission_holds_for_the_very_same_call() {
    let ask = |what: &str| Ask::Permission(Permission::new("Bash", what));
    let did = |id: &str, what: &str| AgentDid::Ask { call: call(id), ask: ask(what), parkable: true };
    let deferred = |id: &str| Leave::Deferred { call: call(id) };
    let mut story = working();
    story
        .did(did("c2", "rm -r target"), "c2 asked round 3: q3")
        .due("5m", "c2 cooled")
        .leaves(deferred("c2"), "parked at c2")
        .answer("q3", "allow", "q3 answered allow by ann (terminal)")
        .connects()
        .did(did("c3", "rm -r /"), "c3 asked round 4: q4")
        .due("5m", "c3 cooled")
        .leaves(deferred("c3"), "parked at c3")
        .answer("q4", "deny", "q4 answered deny by ann (terminal)")
        .connects()
        .did(did("c4", "rm -r /"), "c4 asked round 4 again");
    assert_eq!(story.play.view().questions, [], "nobody is asked again");
    story
        .takes("c4")
        .did(did("c5", "rm -r target"), "c5 asked round 3 again")
        .told("c5", "May the agent use Bash: rm -r target? allowed")
        .takes("c5")
        .did(did("c6", "rm -r target"), "c6 asked round 5: q5");
}

/// The answer came while the process was being ended: nothing was told to it, so nothing can have run.
#[test]
fn a_permission_that_was_put_away_was_not_used() {
    let ask = || Ask::Permission(Permission::new("Bash", "rm -r target"));
    let did = |id: &str| AgentDid::Ask { call: call(id), ask: ask(), parkable: true };
    working()
        .did(did("c2"), "c2 asked round 3: q3")
        .due("5m", "c2 cooled")
        .answer("q3", "allow", "q3 answered allow by ann (terminal)")
        .leaves(Leave::Deferred { call: call("c2") }, "parked at c2")
        .connects()
        .did(did("c3"), "c3 asked round 3 again")
        .told("c3", "May the agent use Bash: rm -r target? allowed");
}

/// "From now on" is a rule that says what it allows; it is applied here, told, and taken back.
#[test]
fn what_is_allowed_for_the_session_or_the_project_is_a_rule() {
    let rule = Rule::exactly("Bash", "touch a");
    let asked = |what: &str| Permission { rule: Some(rule.clone()), ..Permission::new("Bash", what) };
    let did = |id: &str, what: &str| AgentDid::Ask {
        call: call(id),
        ask: Ask::Permission(asked(what)),
        parkable: false,
    };
    let mut story = working();
    story.did(did("c2", "touch a"), "c2 asked round 3: q3");
    let options = story.play.view().questions[0].options.clone();
    let labels: Vec<_> = options.iter().map(|option| option.label.as_str()).collect();
    assert_eq!(labels, ["Allow once", "Allow for this session", "Allow for this project", "Deny"]);
    assert!(options[1].description.as_ref().unwrap().starts_with("Bash(touch a), until the session ends"));
    story
        .answer("q3", "session", "q3 answered session by ann (terminal)")
        .told("c2", "May the agent use Bash: touch a? allowed")
        .takes("c2")
        .did(
            did("c3", "touch a"),
            "c3 asked round 4: q4; q4 answered allow by the rule Bash(touch a) for this session",
        )
        .told("c3", "May the agent use Bash: touch a? allowed")
        .takes("c3")
        .crash("cut off: Rapport was stopped")
        .connects()
        .did(
            did("c4", "touch a"),
            "c4 asked round 5: q5; q5 answered allow by the rule Bash(touch a) for this session",
        )
        .takes("c4")
        .act(Act::Revoke { rule: rule.clone() }, "Bash(touch a) revoked by ann (terminal)")
        .act(Act::Revoke { rule: rule.clone() }, "refused: Bash(touch a) is not allowed in this session")
        .did(did("c5", "touch a"), "c5 asked round 6: q6")
        .answer("q6", "project", "q6 answered project by ann (terminal)");
    // The agent is not told before the rule is kept.
    let granted = "Bash(touch a) granted by ann (terminal) in q6";
    assert!(
        story.play.session.wants().iter().any(|want| matches!(want, rapport_core::Want::Granted { .. })),
        "{granted}"
    );
    assert!(story.order().replies.is_empty());
    story
        .world(World::Granted { question: question("q6") }, "q6 granted")
        .told("c5", "May the agent use Bash: touch a? allowed");
    let facts = story.play.log.last().unwrap().facts.clone();
    assert!(rapport_core::ruled_by_project(&facts, &[rule]).is_empty());
}

/// Before the plan is confirmed nothing is allowed from now on, and the card says so.
#[test]
fn a_permission_before_the_plan_says_so() {
    let rule = Some(Rule::exactly("Bash", "ls"));
    let ask = Ask::Permission(Permission { rule, ..Permission::new("Bash", "ls") });
    let mut story = Story::of("Add login");
    story.connects().did(AgentDid::Ask { call: call("c1"), ask, parkable: false }, "c1 asked round 1: q1");
    let question = &story.play.view().questions[0];
    let Purpose::Permission(asked) = &question.purpose else { panic!("{question:?}") };
    assert_eq!(
        (asked.remarks.as_slice(), question.options.len()),
        ([PermissionRemark::BeforeThePlan].as_slice(), 2)
    );
}

#[test]
fn leaving_plan_mode_in_the_middle_of_work_is_a_question() {
    let leave = |plan: &str| Ask::LeavePlanMode { plan: plan.into() };
    working()
        .did(AgentDid::Ask { call: call("c2"), ask: leave("1. Go"), parkable: false }, "c2 asked round 3: q3")
        .answer("q3", "go ahead", "q3 answered allow by ann (terminal)")
        .told("c2", "The agent has made a plan of its own. May it go ahead? allowed")
        .takes("c2")
        .did(AgentDid::Ask { call: call("c3"), ask: leave("2. Go"), parkable: false }, "c3 asked round 4: q4")
        .act(
            Act::Answer { question: Some(question("q4")), reply: Reply::Text("not without tests".into()) },
            "q4 answered \"not without tests\" by ann (terminal)",
        )
        .told("c3", "The agent has made a plan of its own. May it go ahead? denied: not without tests");
}
