//! Who may do what: a table for every kind of actor and every matter, what a session refuses by it, and properties.

use proptest::prelude::*;
use rapport_core::authority::{Authority, Matter, authority, may_act};
use rapport_core::routing::Policy;
use rapport_core::{
    Act, AgentDid, ApplyTo, Ask, By, ConversationId, Created, Decider, Field, FieldKind, NewQuestion,
    Permission, Reply, SessionId, Terms, World,
};

use crate::support::{CONVERSATION, Story, ann, bob, call, created, draft, person, question};

fn lead() -> By {
    By::Lead { name: "claude-code".into() }
}

fn everybody() -> [By; 5] {
    [ann(), bob(), lead(), By::Model { name: "haiku".into() }, By::written_rule("style")]
}

fn terms(apply: Decider) -> Terms {
    Terms { apply, ..Terms::default() }
}

/// Who may decide about what: `+` they may, `-` a person has to, `?` a person is asked.
#[test]
fn a_table_says_who_may_decide_what() {
    let table = [
        (Matter::Clarification, "+++"),
        (Matter::Permission, "--+"),
        (Matter::Plan, "--+"),
        (Matter::Form, "---"),
        (Matter::Money, "---"),
        (Matter::OtherAnswer, "---"),
        (Matter::Reach, "---"),
        (Matter::Message, "+-+"),
        (Matter::Course, "+-+"),
        (Matter::Application, "?--"),
        (Matter::Rejection, "+--"),
        (Matter::Undoing, "---"),
        (Matter::Batches, "---"),
    ];
    assert_eq!(table.map(|(matter, _)| matter), Matter::ALL);
    let [ann, bob, lead, model, rule] = everybody();
    for (matter, expected) in table {
        for person in [&ann, &bob] {
            assert_eq!(authority(person, matter, &Terms::default()), Authority::Given, "{matter:?}");
        }
        let found: String = [&lead, &model, &rule]
            .into_iter()
            .map(|by| match authority(by, matter, &Terms::default()) {
                Authority::Given => '+',
                Authority::NeedsPerson => '-',
                Authority::AsksPerson => '?',
            })
            .collect();
        assert_eq!(found, expected, "{matter:?}");
    }
    assert_eq!(authority(&lead, Matter::Application, &terms(Decider::Lead)), Authority::Given);
    let asks_person = Terms { questions: Policy::Ask, ..Terms::default() };
    for (by, expected) in [
        (&ann, Authority::Given),
        (&lead, Authority::NeedsPerson),
        (&model, Authority::NeedsPerson),
        // A person wrote it.
        (&rule, Authority::Given),
    ] {
        assert_eq!(authority(by, Matter::Clarification, &asks_person), expected, "{by}");
    }
}

proptest! {
    /// Terms widen nothing but applying, and that only for a lead, and narrow nothing but answering; a model never may what a lead
    /// may not.
    #[test]
    fn terms_change_who_applies_and_who_answers_and_nothing_else(
        who in 0..5usize, what in 0..Matter::ALL.len(), rounds in any::<u32>(),
    ) {
        let (by, matter) = (&everybody()[who], Matter::ALL[what]);
        let strict = authority(by, matter, &Terms { max_rounds: rounds, ..terms(Decider::Person) });
        let wide = authority(by, matter, &Terms { max_rounds: rounds, ..terms(Decider::Lead) });
        let is_lead = matches!(by, By::Lead { .. });
        prop_assert_eq!(strict == wide, !(is_lead && matter == Matter::Application));
        let narrow = Terms { questions: Policy::Ask, ..terms(Decider::Person) };
        let is_narrowed = matches!(by, By::Lead { .. } | By::Model { .. }) && matter == Matter::Clarification;
        prop_assert_eq!(authority(by, matter, &narrow) == strict, !is_narrowed);
        let model = By::Model { name: "haiku".into() };
        for terms in [&narrow, &terms(Decider::Person)] {
            if authority(&model, matter, terms) == Authority::Given {
                prop_assert_eq!(authority(&lead(), matter, terms), Authority::Given);
            }
        }
        // Only an act that a person may do later is kept as a request.
        prop_assert!(strict != Authority::AsksPerson || matter == Matter::Application);
    }
}

fn answer(id: &str, word: &str) -> Act {
    Act::Answer { question: Some(question(id)), reply: Reply::Words(vec![word.into()]) }
}

/// A session in a worktree that a lead began on these terms.
fn of_lead(apply: Decider) -> Created {
    Created { worker: "worktree".into(), by: lead(), ..created("Add login", terms(apply)) }
}

fn done(apply: Decider) -> Story {
    let mut story = Story::planned(of_lead(apply));
    story
        .check(
            &person(lead(), answer("confirm", "confirm")),
            "refused: agreeing to a plan needs a person, the lead claude-code cannot decide it",
        )
        .check(
            &person(lead(), Act::Confirm),
            "refused: agreeing to a plan needs a person, the lead claude-code cannot decide it",
        )
        .check(
            &person(lead(), answer("confirm", "cancel")),
            "refused: agreeing to a plan needs a person, the lead claude-code cannot decide it",
        )
        .answer("confirm", "confirm", "confirm answered confirm by ann (terminal); turn 2 started to work")
        .baseline()
        .connects()
        .finishes("Done.", "turn 2 ended")
        .world(World::Report { changes: None }, "reported");
    story
}

#[test]
fn a_lead_answers_clarifications_and_steers() {
    let mut story = Story::begun(of_lead(Decider::Person));
    story
        .connects()
        .asks("c1", &[draft("Which way?", &["Passkeys", "Passwords"])], "c1 asked round 1: q1")
        .check(&person(lead(), answer("q1", "Passkeys")), "q1 answered passkeys by the lead claude-code")
        .check(
            &person(bob(), answer("q1", "Passwords")),
            "refused: q1 was already answered with \"Passkeys\" by the lead claude-code",
        )
        .takes("c1")
        .check(&person(lead(), Act::Stop), "turn 1 stopped by the lead claude-code");
}

/// Where the person answers themselves, a lead is refused, and the question stays open for them.
#[test]
fn where_questions_are_for_a_person_a_lead_answers_none() {
    let terms = Terms { questions: Policy::Ask, ..Terms::default() };
    Story::begun(Created { worker: "worktree".into(), by: lead(), ..created("Add login", terms) })
        .connects()
        .asks("c1", &[draft("Which way?", &["Passkeys", "Passwords"])], "c1 asked round 1: q1")
        .check(
            &person(lead(), answer("q1", "Passkeys")),
            "refused: answering the agent needs a person, the lead claude-code cannot decide it",
        )
        .check(&person(bob(), answer("q1", "Passwords")), "q1 answered passwords by bob (telegram)");
}

/// A lead looks at the sessions of people, and does nothing there, whatever their terms are.
#[test]
fn a_lead_acts_only_where_a_lead_began() {
    let worker = "worktree".into();
    let mut story = Story::begun(Created { worker, ..created("Add login", terms(Decider::Lead)) });
    let why = "refused: acting in a session that ann (terminal) began needs a person, the lead claude-code cannot decide it";
    story.connects().asks("c1", &[draft("Which way?", &["Passkeys", "Passwords"])], "c1 asked round 1: q1");
    for act in [
        answer("q1", "Passkeys"),
        Act::Say { text: "Hurry.".into(), id: None },
        Act::Stop,
        Act::Restart,
        Act::Cancel { reason: None },
        Act::Apply { with_conflicts: false, end: None, to: ApplyTo::Files },
        Act::Discard { reason: None, end: None },
    ] {
        story.check(&person(lead(), act), why);
    }
    story.check(&person(bob(), answer("q1", "Passkeys")), "q1 answered passkeys by bob (telegram)");
    let other = By::Lead { name: "codex".into() };
    Story::begun(of_lead(Decider::Person))
        .check(&person(other, Act::Cancel { reason: None }), "cancelled by the lead codex");
}

#[test]
fn a_lead_gives_no_permission_and_fills_in_no_form() {
    let mut story = Story::begun(of_lead(Decider::Lead));
    let asks = |ask| AgentDid::Ask { call: call("c1"), ask, parkable: true };
    story
        .connects()
        .did(asks(Ask::Permission(Permission::new("Bash", "rm -r target"))), "c1 asked round 1: q1");
    for word in ["allow", "deny"] {
        story.check(
            &person(lead(), answer("q1", word)),
            "refused: giving a permission needs a person, the lead claude-code cannot decide it",
        );
    }
    let mut story = Story::begun(of_lead(Decider::Lead));
    let field = Field { server: "vault".into(), key: Some("token".into()), kind: FieldKind::Flag };
    let form = NewQuestion { field: Some(Box::new(field)), ..draft("Your token?", &["Yes", "No"]) };
    story.connects().did(asks(Ask::Questions(vec![form])), "c1 asked round 1: q1").check(
        &person(lead(), answer("q1", "Yes")),
        "refused: filling in a form needs a person, the lead claude-code cannot decide it",
    );
}

#[test]
fn what_a_lead_wants_applied_a_person_is_asked() {
    let apply = |with_conflicts| Act::Apply { with_conflicts, end: None, to: ApplyTo::Files };
    let requested =
        |story: &Story| story.play.view().workplace.unwrap().requested_by.map(|by| by.to_string());
    let mut story = done(Decider::Person);
    story
        .check(&person(lead(), apply(false)), "the lead claude-code asks a person to apply it")
        .crash("")
        .wants(&[])
        .check(&person(lead(), apply(false)), "");
    assert_eq!(requested(&story).as_deref(), Some("the lead claude-code"));
    story.act(apply(false), "to be applied by ann (terminal)").wants(&["merged"]);
    assert_eq!(requested(&story), None);

    let mut story = done(Decider::Person);
    story.check(&person(lead(), apply(false)), "the lead claude-code asks a person to apply it").check(
        &person(lead(), Act::Say { text: "And the tests.".into(), id: None }),
        "heard And the tests. from the lead claude-code; turn 3 started to work",
    );
    assert_eq!(requested(&story), None, "the work is about to change");

    let mut story = done(Decider::Lead);
    story.check(&person(lead(), apply(false)), "to be applied by the lead claude-code").wants(&["merged"]);
    let mut story = done(Decider::Person);
    let discard = Act::Discard { reason: None, end: None };
    story.check(&person(lead(), discard), "discarded by the lead claude-code").wants(&["cleared"]);
    let model = By::Model { name: "haiku".into() };
    done(Decider::Lead).check(
        &person(model, apply(false)),
        "refused: applying the work needs a person, the model haiku cannot decide it",
    );
}

/// A session of an older program says nothing of who applies its work, and who answers: a person, and a lead as well.
#[test]
fn terms_without_deciders_leave_applying_to_a_person() {
    let old = created("Add login", Terms::default());
    let json = serde_json::to_string(&old).unwrap();
    assert!(!json.contains("apply") && !json.contains("\"questions\""), "{json}");
    let read = serde_json::from_str::<Created>(&json).unwrap().terms;
    assert_eq!((read.apply, read.questions), (Decider::Person, Policy::Trust));
    let terms = Terms { questions: Policy::Ask, ..terms(Decider::Lead) };
    let new = Created { terms, conversation: ConversationId::new(CONVERSATION), ..old };
    let json = serde_json::to_string(&new).unwrap();
    assert_eq!(serde_json::from_str::<Created>(&json).unwrap(), new);
}

/// A lead of Rapport's own is named after its session, and acts where it leads or began. An assistant over MCP acts where any
/// assistant began.
#[test]
fn a_lead_acts_where_it_leads_or_began() {
    let own = || By::Lead { name: "20260124-hello".into() };
    let begun_by = |by: By| Created { by, ..created("go", Terms::default()) };
    let led = Created { lead: Some(SessionId::new("20260124-hello")), ..created("go", Terms::default()) };
    for (by, session, expected) in [
        (own(), &led, true),
        (lead(), &led, false),
        (own(), &begun_by(own()), true),
        (own(), &begun_by(lead()), false),
        (lead(), &begun_by(By::Lead { name: "inspector".into() }), true),
        (lead(), &begun_by(ann()), false),
    ] {
        assert_eq!(may_act(&by, session), expected, "{by} in {session:?}");
    }
}
