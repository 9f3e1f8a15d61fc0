//! A person and a lead at the same instant: the first of them answers, and the other one is told so. And what the
//! engine refuses: leads that are not leads, and cycles.

use std::sync::Arc;

use futures_util::StreamExt as _;
use rapport::clock;
use rapport::engine::{DoorError, Sessions as _, Update};
use rapport::stores::memory::Memory;
use rapport_core::routing::{Ground, Policy};
use rapport_core::{
    Act, Aim, By, Clarifier, Created, Event, NewQuestion, QuestionId, QuestionRound, Refusal, Reply,
    SessionId,
};

use crate::contract::door::Process;

/// How often both answer at once.
const TIMES: usize = 500;

fn ann() -> By {
    By::Person { channel: "terminal".into(), id: "ann".into() }
}

fn created(words: &str) -> Created {
    Created::new(words.into(), "/".into(), clock::new_conversation(), ann())
}

fn lead_session() -> Created {
    Created { aim: Aim::Chat, is_lead: true, ..created("hello") }
}

/// A session that begins with two questions, and has this lead.
fn asking(lead: &SessionId) -> (Created, QuestionRound) {
    let question = |text: &str| NewQuestion { text: text.into(), free_text: true, ..NewQuestion::default() };
    let questions = ["Which colour?", "Which shade?"].map(question).into();
    let mut created = Created { lead: Some(lead.clone()), ..created("paint") };
    created.terms.questions = Policy::Auto;
    created.terms.clarifier = Clarifier::Planner;
    (created, QuestionRound { questions, ..QuestionRound::default() })
}

fn answer(question: &str, words: &str) -> Act {
    Act::Answer { question: Some(QuestionId::new(question)), reply: Reply::Text(words.into()) }
}

/// The lead's answer rests on what the person answered before in the same session.
#[tokio::test]
async fn a_person_and_a_lead_at_the_same_instant() {
    let process = Process::start(Arc::new(Memory::new()));
    let sessions = &process.sessions;
    let lead = sessions.create(lead_session(), None).await.unwrap();
    let by_lead = By::Lead { name: lead.to_string() };
    let (mut by_person, mut by_leads) = (0, 0);
    for time in 0..TIMES {
        let (created, round) = asking(&lead);
        let id = sessions.create(created, Some(round)).await.unwrap();
        sessions.act(&id, &ann(), &answer("q1", "Blue")).await.unwrap();
        let ground = Ground::Answer { session: id.clone(), question: QuestionId::new("q1") };
        let respond = Act::Respond {
            question: QuestionId::new("q2"),
            reply: Reply::Text("Navy".into()),
            ground: Some(ground),
            because: None,
        };
        let theirs = answer("q2", "Sky");
        // The one who is first differs from time to time.
        let person = async {
            for _ in 0..time % 7 {
                tokio::task::yield_now().await;
            }
            sessions.act(&id, &ann(), &theirs).await
        };
        let (person, lead) = tokio::join!(person, sessions.act(&id, &by_lead, &respond));
        let entries = sessions.entries(&id, 0).await.unwrap();
        let given: Vec<_> = entries
            .iter()
            .flat_map(|entry| &entry.facts)
            .filter_map(|fact| match fact {
                Event::Answered { question, by, .. } if question.as_str() == "q2" => Some(by.clone()),
                _ => None,
            })
            .collect();
        let lost = |outcome: &Result<_, DoorError>| {
            matches!(outcome, Err(DoorError::Refused(Refusal::AlreadyAnswered { .. })))
        };
        match given.as_slice() {
            [by] if *by == ann() => {
                assert!(person.is_ok() && lost(&lead), "{person:?} {lead:?}");
                by_person += 1;
            }
            [by] if *by == by_lead => {
                assert!(lead.is_ok() && lost(&person), "{person:?} {lead:?}");
                by_leads += 1;
            }
            given => panic!("{given:?}: {person:?} {lead:?}"),
        }
    }
    assert!(by_person > 0 && by_leads + by_person == TIMES, "{by_person} and {by_leads}");
    process.stop().await;
}

/// LEAD-15: a lead that has ended is passed over, and the person is asked at once.
#[tokio::test]
async fn a_lead_that_has_ended_is_passed_over() {
    let process = Process::start(Arc::new(Memory::new()));
    let sessions = &process.sessions;
    let lead = sessions.create(lead_session(), None).await.unwrap();
    sessions.act(&lead, &ann(), &Act::Cancel { reason: None }).await.unwrap();
    let (created, round) = asking(&lead);
    let id = sessions.create(created, Some(round)).await.unwrap();
    let mut seen = sessions.follow(&id, 0).await.unwrap();
    let mut passed_on = 0;
    while passed_on < 2 {
        let Some(Update::Entry(entry)) = seen.next().await else { continue };
        let is_gone = |fact: &&Event| {
            matches!(fact, Event::Routed { why: rapport_core::routing::Hop::LeadGone { .. }, .. })
        };
        passed_on += entry.facts.iter().filter(is_gone).count();
    }
    assert_eq!(sessions.view(&id).await.unwrap().questions.len(), 2);
    process.stop().await;
}

/// Two leads, a session that is not a lead, and one that does not exist: a session has at most one lead.
#[tokio::test]
async fn a_session_cannot_have_a_lead_that_is_none() {
    let process = Process::start(Arc::new(Memory::new()));
    let sessions = &process.sessions;
    let lead = sessions.create(lead_session(), None).await.unwrap();
    let other = sessions.create(lead_session(), None).await.unwrap();
    let (worker, round) = asking(&lead);
    let worker = sessions.create(worker, Some(round)).await.unwrap();
    for none in [worker.clone(), SessionId::new("20200101-invented")] {
        let refused = sessions.create(asking(&none).0, None).await.unwrap_err().to_string();
        assert!(refused.contains("having this lead is not possible now"), "{refused}");
    }
    let by = By::Lead { name: other.to_string() };
    let refused = sessions.act(&worker, &by, &answer("q1", "Blue")).await.unwrap_err();
    assert!(matches!(refused, DoorError::Refused(Refusal::NeedsPerson { .. })), "{refused:?}");
    process.stop().await;
}
