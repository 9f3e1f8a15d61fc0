//! The summary of a plan, which a review shows first.

use rapport::channels::terminal::review::{summary, unasked};
use rapport::channels::terminal::text::Line;

use super::plans::{self, edit};

fn picture(lines: &[Line]) -> String {
    lines.iter().map(|line| line.text().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// FILE-28: the drawing of the document.
#[test]
fn file_28_the_summary_is_as_drawn() {
    insta::assert_snapshot!(picture(&summary(&plans::bootstrap(), &[], 80)), @r#"
    ▶ Reviewing Plan: "Bootstrap New Project Component"
    --------------------------------------------------------------------

     Active Context:
      [+] ADD:    src/components/new_component/core.py   # Add new core logic file to context.
      [+] ADD:    tests/components/test_new_component.py # Add new test file to context.

     memos.yaml:
      [+] ADD:    All new components must have a core.py file. # Establish a new convention.

     Action Plan:
      - CREATE: 1 file
      - EDIT:   1 file
      - EXECUTE: 1 command

    --------------------------------------------------------------------
    "#);
}

#[test]
fn file_28_every_kind_is_counted_and_problems_are_told() {
    let problems = ["EDIT src/a.rs (line 40): the text to find is not there".to_owned()];
    insta::assert_snapshot!("summary-of-every-kind", picture(&summary(&plans::every_kind(), &problems, 80)));
}

#[test]
fn rules_are_no_wider_than_the_screen() {
    let drawn = picture(&summary(&plans::bootstrap(), &[], 40));
    assert!(drawn.contains(&format!("\n{}\n", "-".repeat(40))), "{drawn}");
}

#[test]
fn files_are_counted_once_and_nothing_is_nothing() {
    let mut plan = plans::bootstrap();
    plan.actions = vec![edit("a", &[("x", "y")]), edit("a", &[("y", "z")]), edit("b", &[("x", "y")])];
    assert!(picture(&summary(&plan, &[], 80)).contains("- EDIT:   2 files (3 edits)\n"));
    plan.actions.clear();
    assert!(picture(&summary(&plan, &[], 80)).contains("- nothing to do\n"));
}

#[test]
fn without_a_terminal_everything_is_listed_in_plain_text() {
    insta::assert_snapshot!("unasked", unasked(&plans::bootstrap(), &[]));
    let hostile = unasked(&plans::hostile(), &["\u{1b}[31mred".into()]);
    assert!(hostile.chars().all(|c| c == '\n' || !c.is_control()), "{hostile:?}");
}
