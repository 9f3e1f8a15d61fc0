//! The effect of each key: a card, the keys, and the submitted act or the position of the cursor afterwards.

use rapport::channels::terminal::editor::Editor;
use rapport::channels::terminal::keys::Intent;
use rapport::channels::terminal::question_card::QuestionCard;
use rapport_core::{Act, Ask, NewQuestion, Permission, Purpose, Reply};

use super::{Sitting, key};
use crate::support::stage::{self, Stage};

fn card(draft: NewQuestion) -> QuestionCard {
    let (mut stage, _) = Stage::new("Add user authentication");
    stage.ask(Ask::Questions(vec![draft]));
    QuestionCard::new(stage.view().questions[0].clone())
}

/// Presses keys on a card and returns what the last one meant.
fn press(card: &mut QuestionCard, keys: &str) -> Intent {
    keys.split(' ').map(|name| card.key(key(name))).last().expect("a key")
}

#[track_caller]
fn check(draft: NewQuestion, keys: &str, expected: Intent) {
    assert_eq!(press(&mut card(draft), keys), expected, "{keys}");
}

fn choices(places: &[usize]) -> Intent {
    Intent::Answer(Reply::Choices(places.to_vec()))
}

fn words(text: &str) -> Intent {
    Intent::Answer(Reply::Text(text.into()))
}

#[test]
fn one_choice() {
    for (keys, expected) in [
        ("enter", choices(&[0])),
        ("down enter", choices(&[1])),
        ("j j enter", choices(&[2])),
        ("j k enter", choices(&[0])),
        ("3", choices(&[2])),
        ("space", Intent::Nothing),
        ("home up up enter", choices(&[2])),
        ("pagedown up enter", choices(&[2])),
        ("end enter", Intent::Nothing),
        ("4", Intent::Refused("there is no option with that number")),
        ("0", Intent::Refused("there is no option with that number")),
        ("left", Intent::Back),
        ("backspace", Intent::Back),
        ("b", Intent::Back),
        ("q", Intent::Cancel),
        ("esc", Intent::Cancel),
        ("d", Intent::Detach),
        ("?", Intent::Help),
        ("x", Intent::Nothing),
    ] {
        check(stage::auth(), keys, expected);
    }
}

#[test]
fn several_choices() {
    for (keys, expected) in [
        ("enter", Intent::Refused("nothing is chosen yet: space chooses")),
        ("space enter", choices(&[0])),
        ("3 1 enter", choices(&[0, 2])),
        ("3 3 1 enter", choices(&[0])),
        ("space o h i enter", Intent::Answer(Reply::Both(vec![0], "hi".into()))),
        ("o h i enter", words("hi")),
        ("space o h i esc up enter", Intent::Answer(Reply::Both(vec![0], "hi".into()))),
    ] {
        check(stage::tests(), keys, expected);
    }
}

#[test]
fn own_words() {
    for (keys, expected) in [
        ("o h i enter", words("hi")),
        ("o enter", Intent::Refused("nothing is typed yet")),
        ("o space enter", Intent::Refused("nothing is typed yet")),
        ("end q u i t enter", words("quit")),
        ("end enter h i enter", words("hi")),
        ("end 1 2 enter", words("12")),
        ("o a alt-enter b ctrl-j c enter", words("a\nb\nc")),
        ("o a esc 1", choices(&[0])),
        ("o a up enter", choices(&[2])),
        ("o backspace 2", choices(&[1])),
    ] {
        check(stage::auth(), keys, expected);
    }
    check(stage::language(), "o", Intent::Nothing);
    check(stage::language(), "down down enter", choices(&[0]));
}

#[test]
fn only_words() {
    let draft = || stage::draft("", "What is it called?", &[]);
    for (keys, expected) in [
        ("q enter", words("q")),
        ("esc", Intent::Cancel),
        ("left", Intent::Back),
        ("a left", Intent::Nothing),
        ("a left left", Intent::Nothing),
    ] {
        check(draft(), keys, expected);
    }
}

#[test]
fn many_options_take_numbers_of_several_digits() {
    let labels: Vec<String> = (1..=100).map(|n| format!("option {n}")).collect();
    let options: Vec<(&str, &str)> = labels.iter().map(|label| (label.as_str(), "")).collect();
    let draft = || stage::draft("Many", "Which?", &options);
    check(draft(), "4 2 enter", choices(&[41]));
    check(draft(), "1 0 0 enter", choices(&[99]));
    check(draft(), "9 9 9 enter", choices(&[8]));
    check(draft(), "4 down 2 enter", choices(&[1]));
}

#[test]
fn pasted_text_is_own_words_and_is_not_sent_by_itself() {
    let mut card = card(stage::auth());
    assert_eq!(card.paste("one\r\ntwo\u{1b}[31m"), Intent::Nothing);
    assert_eq!(press(&mut card, "enter"), words("one\ntwo[31m"));
    let mut closed = self::card(stage::language());
    assert!(matches!(closed.paste("x"), Intent::Refused(_)));
}

#[test]
fn editing() {
    for (text, keys, expected) in [
        ("héllo", "left backspace", "hélo"),
        ("e\u{301}x", "left backspace", "x"),
        ("e\u{301}x", "home delete", "x"),
        ("日本語", "left left x", "日x本語"),
        ("one two three", "ctrl-w", "one two "),
        ("one two", "ctrl-u", ""),
        ("one two", "home ctrl-k", ""),
        ("ab\ncd", "up x", "abx\ncd"),
        ("a\ncd", "up x", "ax\ncd"),
        ("ab\ncd", "up home down x", "ab\nxcd"),
        ("ab\ncd", "home backspace", "abcd"),
        ("", "backspace", ""),
        ("", "ctrl-w", ""),
    ] {
        let mut editor = Editor::with(text);
        for name in keys.split(' ') {
            editor.key(key(name));
        }
        assert_eq!(editor.text(), expected, "{text:?} {keys}");
    }
}

#[test]
fn the_answer_before_is_preselected() {
    let with = |draft: NewQuestion, previous: &str| {
        let mut question = card(draft).question;
        question.previous = Some(previous.into());
        QuestionCard::new(question)
    };
    let one = with(stage::auth(), "OAuth only");
    assert_eq!((one.cursor, one.typing), (2, false));
    let several = with(stage::tests(), "Load, Unit, and fuzzing, too");
    assert_eq!((several.chosen, several.own.text()), (vec![0, 2], "and fuzzing, too".to_owned()));
    let own = with(stage::auth(), "Basic auth");
    assert_eq!((own.cursor, own.own.text()), (3, "Basic auth".to_owned()));
    assert_eq!(press(&mut with(stage::auth(), "JWT"), "esc"), Intent::Keep);
    assert_eq!(press(&mut with(stage::auth(), "Basic auth"), "enter"), words("Basic auth"));
}

#[test]
fn confirmation() {
    let check = |keys: &str, expected: Option<Act>| {
        let mut sitting = Sitting::planned(80, 40);
        sitting.submitted.clear();
        sitting.press(keys);
        assert_eq!(sitting.submitted.first(), expected.as_ref(), "{keys}");
    };
    let id = Some(rapport_core::QuestionId::new("confirm"));
    let confirm = Act::Answer { question: id.clone(), reply: Reply::Words(vec!["confirm".into()]) };
    let edit = |question: &str| Some(Act::Reopen { question: rapport_core::QuestionId::new(question) });
    check("enter", Some(confirm.clone()));
    check("c", Some(confirm));
    check("e 2", edit("q2"));
    check("e down enter", edit("q2"));
    check("down enter enter", edit("q1"));
    check("e esc q n", None);
    check("e 3", None);
    check("t n o enter", Some(Act::Answer { question: id, reply: Reply::Text("no".into()) }));
    check("t enter", None);
    check("q y", Some(Act::Cancel { reason: None }));
    check("esc y", Some(Act::Cancel { reason: None }));
    check("up enter y", Some(Act::Cancel { reason: None }));
}

#[test]
fn what_could_do_harm_takes_no_keys_at_first() {
    let ask = || Ask::Permission(Permission::new("Bash", "rm -rf /"));
    let mut sitting = Sitting::new(80, 40);
    sitting.act(|stage| stage.ask(ask()));
    sitting.press("enter 1 y");
    sitting.pass(999);
    sitting.press("enter 1");
    assert_eq!(sitting.submitted, []);
    assert!(!sitting.frame().contains("enter answer"), "keys are shown once they work");
    // A key that is held does not decide when the time is over, however long it is held: neither Enter, nor a number,
    // which needs no cursor.
    for key in ["enter", "1"] {
        for _ in 0..30 {
            sitting.pass(100);
            sitting.press(key);
        }
        assert_eq!(sitting.submitted, [], "{key}");
    }
    sitting.pass(500);
    assert!(sitting.frame().contains("enter answer"));
    sitting.press("enter");
    assert_eq!(sitting.submitted, [], "nothing is under the cursor at first");
    assert!(sitting.frame().contains("choose first"));
    sitting.press("down enter");
    assert_eq!(sitting.submitted.len(), 1);
    assert!(matches!(sitting.stage.view().questions.as_slice(), []));
}

#[test]
fn a_card_that_follows_an_answer_takes_keys_at_once_unless_it_could_do_harm() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::language(), stage::auth()]);
    sitting.press("1 2 enter");
    assert_eq!(sitting.submitted.len(), 2);

    let mut sitting = Sitting::asked(80, 40, vec![stage::language()]);
    sitting.act(|stage| stage.ask(Ask::Permission(Permission::new("Bash", "ls"))));
    sitting.press("1 1");
    assert_eq!(sitting.submitted.len(), 1);
    assert!(matches!(sitting.stage.view().questions[0].purpose, Purpose::Permission { .. }));
}

/// A call cannot be allowed unseen: the parts that do not fit the screen have to be read to their end first; denying
/// needs no reading.
#[test]
fn what_was_not_in_sight_cannot_be_allowed() {
    let long: String = (1..=100).map(|n| format!("echo {n}\n")).collect();
    let ask = || Ask::Permission(Permission::new("Bash", long.clone()));
    let mut sitting = Sitting::new(80, 24);
    sitting.act(|stage| stage.ask(ask()));
    sitting.pass(1000);
    assert!(sitting.history().contains("more lines: press p to read on"), "{}", sitting.history());
    assert!(!sitting.history().contains("echo 100"));
    sitting.press("1");
    assert_eq!(sitting.submitted, []);
    assert!(sitting.frame().contains("part of it was not visible yet"), "{}", sitting.frame());
    sitting.press("p");
    assert!(sitting.frame().contains("1-19 of 101 · ↑↓ space scroll · q back"), "{}", sitting.frame());
    sitting.press("q 1");
    assert_eq!(sitting.submitted, [], "its beginning is not all of it");
    sitting.press("p end");
    assert!(sitting.frame().contains("echo 100"), "{}", sitting.frame());
    sitting.press("q 1");
    assert_eq!(sitting.submitted.len(), 1);

    let mut sitting = Sitting::new(80, 24);
    sitting.act(|stage| stage.ask(ask()));
    sitting.pass(1000);
    sitting.press("2");
    assert_eq!(sitting.submitted.len(), 1, "who denies need not read");
    assert!(sitting.history().contains("✗ Bash echo 1"), "{}", sitting.history());
}

/// Back from the shell, what is pressed may still have been meant for it.
#[test]
fn a_card_takes_no_keys_just_after_the_shell() {
    let mut sitting = Sitting::asked(80, 40, vec![stage::language()]);
    sitting.press("ctrl-z");
    assert_eq!(sitting.suspended, 1);
    sitting.step(rapport::channels::terminal::ScreenInput::Resumed);
    sitting.press("enter");
    assert_eq!(sitting.submitted, []);
    sitting.pass(1000);
    sitting.press("enter");
    assert_eq!(sitting.submitted.len(), 1);
}
