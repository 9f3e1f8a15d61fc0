//! Earlier answers: offered to a person, given by themselves only where a person said so.

use rapport_core::routing::Policy;
use rapport_core::{
    Act, AgentDid, Answer, Ask, By, EarlierAnswer, Entry, Event, Input, NewQuestion, Offerable, QuestionId,
    RuleSource, SessionId, World,
};

use super::{lead, led};
use crate::support::{Story, agent, ann, bob, call, created, draft, fact_in_words, person, question};

fn way() -> NewQuestion {
    draft("Which way?", &["Passkeys", "Magic link"])
}

fn earlier(text: &str, value: &str, at: i64) -> EarlierAnswer {
    EarlierAnswer {
        text: text.into(),
        answer: Answer { values: vec![value.into()], text: None },
        by: bob(),
        session: SessionId::new("20260101-before"),
        question: question("q7"),
        at: jiff::Timestamp::from_second(at).unwrap(),
    }
}

/// What the engine does when the agent asks: the facts, and what earlier answers add, in one entry.
fn asks(
    story: &mut Story,
    number: u32,
    asked: &NewQuestion,
    known: &[EarlierAnswer],
    rules: &[EarlierAnswer],
) -> String {
    let ask = Ask::Questions(vec![asked.clone()]);
    let input = agent(1, AgentDid::Ask { call: call(&format!("c{number}")), ask, parkable: true });
    let play = &mut story.play;
    let mut facts = play.session.decide(&input, play.now).unwrap();
    let offerable = Offerable::all_in(&facts, &SessionId::new("20260124-here"), &play.session);
    facts.extend(offerable.into_iter().filter_map(|one| one.offered(known, rules)).collect::<Vec<_>>());
    let entry = Entry { seq: play.session.seq() + 1, at: play.now, facts };
    play.session.apply_entry(&entry);
    let words: Vec<_> = entry.facts.iter().map(fact_in_words).collect();
    play.log.push(entry);
    words.join("; ")
}

/// An earlier answer is offered, and answers nothing; a person gives it with one act, a lead cannot.
#[test]
fn an_earlier_answer_is_offered_and_never_used_in_silence() {
    let mut story = Story::begun(led(Policy::Auto));
    story.connects();
    let known = [
        earlier("which WAY?", "passkeys", 1),
        earlier("Which way?", "magic-link", 2),
        earlier("Which way?", "gone", 3),
    ];
    let facts = asks(&mut story, 1, &way(), &known, &[]);
    assert_eq!(facts, "c1 asked round 1: q1; q1 (clarification) to lead: it comes first; q1 offered q7");
    let offer = story.play.view().questions[0].offer.clone().unwrap();
    assert_eq!((offer.answer.as_str(), &offer.by), ("Magic link", &bob()), "the newest that is possible");
    let take = Act::TakeOffer { question: question("q1") };
    story
        .world(World::Tick, "")
        .check(
            &person(lead(), take.clone()),
            "refused: changing an answer needs a person, the lead 20260124-lead cannot decide it",
        )
        .act(take.clone(), "q1 answered magic-link by ann (terminal)");
    let refused = story.put(&person(ann(), take));
    assert!(refused.starts_with("refused: q1 was already answered"), "{refused}");
}

/// Nothing is offered where nothing fits, where only people decide, or for what is no question of the agent's own.
#[test]
fn nothing_is_offered_that_does_not_fit() {
    let known = [earlier("Which way?", "gone", 1), earlier("May I drop the table?", "passkeys", 2)];
    for asked in [way(), draft("May I drop the table?", &["Passkeys"]), draft("Which colour?", &["Passkeys"])]
    {
        let mut story = Story::begun(created("Add login", Default::default()));
        story.connects();
        assert_eq!(asks(&mut story, 1, &asked, &known, &known), "c1 asked round 1: q1", "{}", asked.text);
        story.act(
            Act::TakeOffer { question: question("q1") },
            "refused: giving an earlier answer is not possible now: no earlier answer fits q1",
        );
    }
}

/// "Always answer so here" is a rule that a person makes, once; it answers in the entry that asks, and says so. The
/// same question twice in a session is for a person again, with the answer as an offer.
#[test]
fn a_rule_answers_only_because_a_person_said_so() {
    let always = Act::AlwaysAnswer { question: question("q1") };
    let mut story = Story::begun(led(Policy::Auto));
    story
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1; q1 (clarification) to lead: it comes first")
        .act(always.clone(), "refused: answering always so is not possible now: q1 has no answer yet")
        .answer("q1", "Passkeys", "q1 answered passkeys by ann (terminal)")
        .check(
            &person(lead(), always.clone()),
            "refused: changing an answer needs a person, the lead 20260124-lead cannot decide it",
        )
        .act(always.clone(), "q1 always answered so, says ann (terminal)")
        .act(always.clone(), "");
    story.play.replay();
    let wanted = story
        .play
        .session
        .wants()
        .into_iter()
        .filter(|want| matches!(want, rapport_core::Want::AnswerRuled { .. }));
    assert_eq!(wanted.count(), 1, "a kill before it is stored loses nothing");
    story
        .world(World::AnswerRuled { question: question("q1") }, "the rule of q1 kept")
        .world(World::AnswerRuled { question: question("q1") }, "")
        .act(always, "");
    let rules = [earlier("Which way?", "passkeys", 1)];
    // Here it was asked before, so that answer did not help.
    let facts = asks(&mut story, 2, &way(), &[], &rules);
    assert_eq!(
        facts,
        "c2 asked round 2: q2; q2 (asked_before) to person: only people decide that; q2 offered q1"
    );
    let mut other = Story::begun(led(Policy::Auto));
    other.connects();
    asks(&mut other, 1, &way(), &[], &rules);
    let (_, by) = other.play.session.rounds().next().unwrap().items[0].given.unwrap();
    assert!(matches!(by, By::Rule { source: RuleSource::Answer, .. }), "{by:?}");
    assert!(other.play.view().questions.is_empty(), "nobody is asked");
}

/// A rule is made only of what a lead could decide by its class: not of a permission, a plan, money or a secret.
#[test]
fn no_rule_is_made_of_what_people_decide_each_time() {
    let mut story = Story::begun(created("Add login", Default::default()));
    story
        .connects()
        .asks("c1", &[draft("What is the API key?", &["One"])], "c1 asked round 1: q1")
        .answer("q1", "One", "q1 answered one by ann (terminal)")
        .act(
            Act::AlwaysAnswer { question: question("q1") },
            "refused: answering always so is not possible now: q1 is decided by a person each time",
        )
        .act(
            Act::AlwaysAnswer { question: question("q9") },
            "refused: there is no question q9 in this session",
        );
}

/// What a session adds to the answers of its project: those of people, to questions that may be offered.
#[test]
fn the_answers_of_people_are_kept_for_later() {
    let mut story = Story::begun(led(Policy::Trust));
    story
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1; q1 (clarification) to lead: it comes first")
        .answer("q1", "Passkeys", "q1 answered passkeys by ann (terminal)")
        .takes("c1");
    let by_lead = |id: &str| Input::Person {
        by: lead(),
        act: Act::Answer {
            question: Some(QuestionId::new(id)),
            reply: rapport_core::Reply::Choices(vec![0]),
        },
    };
    story.asks(
        "c2",
        &[draft("Which name?", &["Ann"])],
        "c2 asked round 2: q2; q2 (clarification) to lead: it comes first",
    );
    story.check(&by_lead("q2"), "q2 answered ann by the lead 20260124-lead").takes("c2");
    story.put(&agent(
        1,
        AgentDid::Ask {
            call: call("c3"),
            ask: Ask::Questions(vec![draft("What is the API key?", &["x"])]),
            parkable: true,
        },
    ));
    story.answer("q3", "x", "q3 answered x by ann (terminal)");
    let kept = EarlierAnswer::all_of(&SessionId::new("20260124-here"), &story.play.session);
    let kept: Vec<_> = kept.iter().map(|kept| (kept.question.as_str(), kept.by.clone())).collect();
    assert_eq!(kept, [("q1", ann())]);
    assert!(!matches!(story.play.log[0].facts[0], Event::Offered { .. }));
}
