//! Hostile text and unexpected sizes: nothing breaks out, nothing panics, nothing is too wide.

use proptest::prelude::*;
use rapport::channels::terminal::style::Theme;
use rapport::channels::terminal::{ScreenInput, Size};
use rapport_core::{AgentDid, Ask, NewQuestion, Permission, ToolUse};

use super::Sitting;
use crate::support::stage;

const EVIL: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\u{9b}31m \u{202e}gnp.exe \u{200b}hidden\u{2028}";

#[test]
fn nothing_from_outside_reaches_the_terminal_as_it_is() {
    let draft =
        NewQuestion { header: Some(EVIL.into()), ..stage::draft("", EVIL, &[(EVIL, EVIL), ("fine", "")]) };
    let mut sitting = Sitting::asked(80, 40, vec![draft]);
    sitting.act(|stage| {
        stage.agent(AgentDid::Use { tool: EVIL.into(), what: EVIL.into(), kind: ToolUse::Other })
    });
    sitting.act(|stage| stage.agent(AgentDid::Say { text: EVIL.into() }));
    sitting.act(|stage| stage.agent(AgentDid::Babble { line: EVIL.into() }));
    sitting.paste(EVIL);
    let frame = sitting.screen.frame(sitting.now);
    sitting.press("enter");
    sitting.act(|stage| stage.ask(Ask::Permission(Permission::new(EVIL, EVIL))));
    sitting.act(|stage| stage.finish(EVIL));
    let lines = sitting.history.iter().chain(&frame.rows);
    let text: String = lines.map(|line| Theme::Bare.paint(line)).collect();
    let bad = text.chars().find(|c| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}' | '\u{2028}'));
    assert_eq!(bad, None, "{text}");
    assert!(text.contains("␛[2J"), "it is shown, not swallowed");
}

#[test]
fn a_hundred_options_scroll_with_the_cursor() {
    let labels: Vec<String> = (1..=100).map(|n| format!("option {n}")).collect();
    let options: Vec<(&str, &str)> = labels.iter().map(|label| (label.as_str(), "")).collect();
    let mut sitting = Sitting::asked(80, 24, vec![stage::draft("Many", "Which?", &options)]);
    for _ in 0..60 {
        sitting.press("down");
    }
    insta::assert_snapshot!("hundred-options", sitting.frame());
    sitting.press("end");
    assert!(sitting.frame().contains("❯   o. type your own …"), "{}", sitting.frame());
}

#[test]
fn a_very_long_question_is_told_in_full_above_its_card() {
    let text = "Should it be done this way or that way? ".repeat(250);
    let mut sitting =
        Sitting::asked(80, 24, vec![stage::draft("Long", &text, &[("This", ""), ("That", "")])]);
    assert!(sitting.history().len() > 9_900);
    assert!(sitting.frame().lines().count() < 15, "{}", sitting.frame());
    assert!(sitting.frame().contains("The whole question is above."));
    sitting.press("2");
    assert!(sitting.last().starts_with("✓ Long → That"));
}

#[test]
fn twenty_columns() {
    let mut sitting = Sitting::asked(20, 24, vec![stage::auth(), stage::tests()]);
    insta::assert_snapshot!("twenty-columns", sitting.frame());
    sitting.press("1 o");
    sitting.type_in("a rather long answer in a narrow place");
    assert!(sitting.frame().lines().all(|row| row.chars().count() <= 20));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,60}",
        proptest::collection::vec(any::<char>(), 0..40).prop_map(|chars| chars.into_iter().collect()),
        "[a-z ]{0,300}",
        Just("日本語".repeat(20)),
        Just("e\u{301}\u{1f468}\u{200d}\u{1f469}".repeat(9)),
    ]
}

fn keys() -> impl Strategy<Value = Vec<&'static str>> {
    let names = [
        "up",
        "down",
        "left",
        "right",
        "enter",
        "alt-enter",
        "esc",
        "space",
        "backspace",
        "delete",
        "home",
        "end",
        "1",
        "2",
        "9",
        "o",
        "b",
        "q",
        "n",
        "?",
        "e",
        "t",
        "日",
        "ctrl-w",
        "ctrl-u",
        "pagedown",
    ];
    proptest::collection::vec(proptest::sample::select(names.to_vec()), 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_fits_any_size(
        columns in 1usize..140, rows in 1usize..50, smaller in 1usize..140,
        question in text(), header in text(), label in text(), meaning in text(), pasted in text(),
        multi: bool, free_text: bool, keys in keys(),
    ) {
        let draft = NewQuestion { multi, free_text, ..stage::draft(&header, &question, &[(&label, &meaning), ("b", ""), (&meaning, &label)]) };
        let plain = stage::draft("", "And?", &[]);
        let mut sitting = Sitting::new(columns, rows);
        sitting.act(|stage| stage.ask(Ask::Questions(vec![draft, plain])));
        sitting.pass(1000);
        for key in keys {
            sitting.press(key);
            fits(&sitting, columns, rows);
        }
        sitting.paste(&pasted);
        sitting.step(ScreenInput::Resized(Size { columns: smaller, rows }));
        fits(&sitting, smaller, rows);
        let height = sitting.history.iter().flat_map(|line| line.rows(columns));
        prop_assert!(height.into_iter().all(|row| row.width() <= columns.max(2)));
    }
}

/// In a wider window the help is shorter, and may end above the row to which it was scrolled.
#[test]
fn scrolled_help_fits_a_window_that_grows() {
    let mut sitting = Sitting::new(12, 8);
    sitting.act(|stage| stage.ask(Ask::Questions(vec![stage::auth()])));
    sitting.pass(1000);
    sitting.press("? end");
    sitting.step(ScreenInput::Resized(Size { columns: 130, rows: 49 }));
    fits(&sitting, 130, 49);
    assert!(sitting.screen.frame(sitting.now).rows.len() > 5, "the help is shown from its beginning");
}

fn fits(sitting: &Sitting, columns: usize, rows: usize) {
    let frame = sitting.screen.frame(sitting.now);
    assert!(frame.rows.len() <= rows.saturating_sub(1).max(1), "{} rows of {rows}", frame.rows.len());
    for row in &frame.rows {
        assert!(row.width() <= columns, "{columns} columns: {:?}", row.text());
    }
    if let Some((row, column)) = frame.cursor {
        assert!(row < frame.rows.len().max(1) && column <= columns.max(4), "{row} {column}");
    }
}
