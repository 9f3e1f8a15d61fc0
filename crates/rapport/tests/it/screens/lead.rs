//! The lead as a person at the terminal sees it: that it considers a question, what it drafts, and on which ground it
//! answered.

use rapport_core::routing::{Ground, Grounding};
use rapport_core::{Act, Ask, Choice, Entry, NewQuestion, QuestionId, Reply, World};

use super::plain::Telling;
use super::{Sitting, config};
use crate::support::stage::{self, Stage};

fn question() -> QuestionId {
    QuestionId::new("q1")
}

fn ask(stage: &mut Stage) -> Entry {
    let options = ["Passkeys", "Magic link"].map(Choice::plain).into();
    let draft = NewQuestion { text: "Which way?".into(), options, free_text: true, ..NewQuestion::default() };
    stage.ask(Ask::Questions(vec![draft]))
}

/// What the lead says, with or without a ground.
fn respond(stage: &mut Stage, is_grounded: bool) -> Entry {
    let ground = Ground::File { path: "docs/auth.md".into(), first: 3, last: 3 };
    let because = is_grounded.then(|| Box::new(Grounding { ground, quote: "We use \u{1b}[31mJWT.".into() }));
    let reply = Reply::Choices(vec![0]);
    let act = Act::Respond { question: question(), reply, ground: None, because };
    stage.person(stage::lead(), act).unwrap()
}

/// LEAD-18: the card says that the lead looks, and for how long; one key sends its draft.
#[test]
fn lead_18_a_card_says_that_the_lead_looks_and_sends_its_draft() {
    let mut sitting = Sitting::before(80, 24, Stage::led("Add user authentication"));
    sitting.act(ask);
    sitting.pass(1000);
    let frame = sitting.frame();
    assert!(frame.contains("The lead is looking, for up to 60 s; answer it yourself at any time"), "{frame}");
    assert!(!frame.contains("send the draft"), "{frame}");
    sitting.press("s");
    assert!(sitting.submitted.is_empty(), "{:?}", sitting.submitted);
    sitting.act(|stage| respond(stage, false));
    let frame = sitting.frame();
    assert!(frame.contains("The lead drafts: ") && frame.contains("s send the draft"), "{frame}");
    assert!(!frame.contains("The lead is looking"), "{frame}");
    sitting.press("s");
    assert_eq!(sitting.submitted, [Act::SendDraft { question: question() }]);
}

/// After its time the person is told that it is their turn.
#[test]
fn a_person_is_told_when_it_is_their_turn() {
    let mut sitting = Sitting::before(80, 24, Stage::led("Add user authentication"));
    sitting.act(ask);
    sitting.act(|stage| {
        let outcome = Err("its session has ended".to_owned());
        stage.world(World::LeadTold { question: question(), outcome })
    });
    let history = sitting.history();
    assert!(
        history.contains("It is your turn to answer: the lead could not be told: its session has ended"),
        "{history}"
    );
    assert!(!sitting.frame().contains("The lead is looking"), "{}", sitting.frame());
}

/// A lead's answer is shown with its ground, made safe, and with the way to overrule it.
#[test]
fn a_leads_answer_has_its_ground_and_another_way() {
    let mut sitting = Sitting::before(100, 24, Stage::led("Add user authentication"));
    sitting.act(ask);
    sitting.act(|stage| respond(stage, true));
    let history = sitting.history();
    assert!(history.contains("rests on file:docs/auth.md:3: We use "), "{history}");
    assert!(!history.contains('\u{1b}'), "{history:?}");
    let way = format!("rapport branch {} --at q1", stage::id());
    assert!(history.replace('\n', " ").contains(&way), "{history}");
}

/// Line by line: `==` sends the draft, and only where there is one.
#[test]
fn a_line_sends_the_draft() {
    let mut telling = Telling::of(config(), Stage::led("Add user authentication"));
    telling.act(Stage::connect);
    telling.act(ask);
    assert!(telling.text.contains("The lead is looking"), "{}", telling.text);
    telling.act(|stage| respond(stage, false));
    assert!(telling.text.contains("The lead drafts: "), "{}", telling.text);
    let send = format!("rapport answer {} --question q1 --draft", stage::id());
    assert!(telling.text.contains(&send), "{}", telling.text);
    telling.pass(2);
    telling.line("==");
    let answers = telling.stage.view().answers;
    assert_eq!((answers[0].answer.as_str(), &answers[0].by), ("Passkeys", &stage::me()));
}
