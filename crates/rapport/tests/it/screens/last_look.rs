//! A round of several questions: a short list of all above the current one, and a summary before the answers are
//! sent.

use rapport_core::{Act, Ask, NewQuestion, QuestionId, Reply};

use super::Sitting;
use crate::support::stage;

fn round(columns: usize, rows: usize) -> Sitting {
    Sitting::asked(columns, rows, vec![stage::language(), stage::auth(), stage::tests()])
}

fn answer(question: &str, places: &[usize]) -> Act {
    Act::Answer { question: Some(QuestionId::new(question)), reply: Reply::Choices(places.to_vec()) }
}

#[test]
fn the_answers_so_far_are_above_the_question() {
    let mut sitting = round(80, 24);
    sitting.press("2 1");
    assert!(
        sitting.frame().contains("✓ Language: German   ✓ Auth method: JWT   ● Tests"),
        "{}",
        sitting.frame()
    );
    insta::assert_snapshot!("chips-tones", sitting.tones());
    let mut sitting = round(50, 15);
    sitting.press("2");
    insta::assert_snapshot!("chips-50x15", sitting.frame());
}

#[test]
fn the_last_answer_is_sent_after_a_look_over_all_of_them() {
    let mut sitting = round(80, 24);
    sitting.press("2 1 space down space enter");
    assert_eq!(sitting.submitted, [answer("q1", &[1]), answer("q2", &[0])], "the last one waits");
    insta::assert_snapshot!("last-look-80", sitting.frame());
    insta::assert_snapshot!("last-look-tones", sitting.tones());
    sitting.press("x");
    assert_eq!(sitting.submitted.len(), 2, "another key sends nothing");
    sitting.press("enter");
    assert_eq!(sitting.submitted.last(), Some(&answer("q3", &[0, 1])));
    assert!(sitting.stage.view().questions.is_empty());
}

#[test]
fn an_answer_is_changed_from_there_and_the_look_comes_again() {
    for keys in ["1", "down enter"] {
        let mut sitting = round(80, 24);
        sitting.press("2 1 space enter");
        sitting.press(keys);
        let frame = sitting.frame();
        assert!(frame.contains("Answered before: German"), "{keys}: {frame}");
        assert!(frame.contains("● Language   ✓ Auth method: JWT   ✓ Tests: Unit"), "{keys}: {frame}");
        sitting.press("1");
        let frame = sitting.frame();
        assert!(frame.contains("Language → English") && frame.contains("Tests → Unit"), "{keys}: {frame}");
        sitting.press("enter");
        assert_eq!(sitting.submitted.last(), Some(&answer("q3", &[0])), "{keys}");
    }
}

#[test]
fn markdown_in_questions_is_rendered_there() {
    let plain = |text: &str| NewQuestion { header: None, text: text.into(), ..stage::language() };
    let mut sitting = Sitting::asked(80, 24, vec![plain("Which **tone**?"), plain("Which **colour**?")]);
    sitting.press("1 1");
    let frame = sitting.frame();
    assert!(frame.contains("1. Which tone? → English") && frame.contains("2. Which colour? →"), "{frame}");
}

#[test]
fn the_question_itself_comes_back_as_it_was() {
    for keys in ["3", "left", "esc", "b"] {
        let mut sitting = round(80, 24);
        sitting.press("2 1 space enter");
        sitting.press(keys);
        assert!(sitting.frame().contains("[x] 1. Unit"), "{keys}: {}", sitting.frame());
        sitting.press("2 enter enter");
        assert_eq!(sitting.submitted.last(), Some(&answer("q3", &[0, 1])), "{keys}");
    }
}

#[test]
fn one_can_leave_or_cancel_from_the_last_look_and_nothing_is_sent() {
    let mut sitting = round(80, 24);
    sitting.press("2 1 space enter d");
    assert_eq!(sitting.submitted.len(), 2);
    // The last answer is not in the log, so nobody is told that it was given.
    let history = sitting.history();
    assert!(history.contains("! Your last answer was not sent: Tests → Unit"), "{history}");
    assert!(history.contains("The question stays open. Send that answer from anywhere with:"), "{history}");
    assert_eq!(sitting.last().trim_start(), "rapport answer 20260124-add-user-auth --question q3 1");
    let mut sitting = round(80, 24);
    sitting.press("2 1 space enter q n");
    assert!(sitting.frame().contains("[x] 1. Unit"), "{}", sitting.frame());
    assert_eq!(sitting.submitted.len(), 2);
}

/// What a person typed, in a form that a shell passes on unchanged.
#[test]
fn the_command_that_sends_the_last_answer_is_complete() {
    let mut sitting = round(80, 24);
    sitting.press("2 1 1 2 o");
    sitting.type_in("what's new");
    sitting.press("enter d");
    let sent = "rapport answer 20260124-add-user-auth --question q3 1 2 --text 'what'\\''s new'";
    assert_eq!(sitting.last().trim_start(), sent);
}

#[test]
fn what_somebody_else_answers_meanwhile_is_not_answered_again() {
    let mut sitting = round(80, 24);
    sitting.press("2 1 space enter");
    sitting.elsewhere(stage::anna(), answer("q3", &[2]));
    sitting.pass(1000);
    sitting.press("enter");
    assert_eq!(sitting.submitted.len(), 2);
}

#[test]
fn a_single_question_and_one_that_is_changed_later_are_sent_at_once() {
    let mut sitting = Sitting::asked(80, 24, vec![stage::language()]);
    sitting.press("1");
    assert_eq!(sitting.submitted, [answer("q1", &[0])]);
    let mut sitting = Sitting::planned(80, 40);
    sitting.press("e 1 2");
    assert_eq!(sitting.submitted.last(), Some(&answer("q1", &[1])));
}

#[test]
fn who_looks_elsewhere_is_told_of_what_comes_up_by_itself() {
    let mut sitting = round(80, 24);
    assert_eq!(sitting.notified, ["Language"]);
    sitting.press("2 1 space enter enter");
    assert_eq!(sitting.notified.len(), 1, "the next card after one's own answer is expected");
    sitting.act(|stage| stage.ask(Ask::Questions(vec![stage::language()])));
    assert_eq!(sitting.notified, ["Language", "Language"]);
}
