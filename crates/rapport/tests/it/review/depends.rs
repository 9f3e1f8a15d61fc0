//! An item that runs without an item it builds on says so.

use rapport::channels::terminal::review::Group;
use rapport_core::{Action, ActionKind, ActionPlan, Resource};

use super::plans::{action, create, edit, execute};
use super::{checklist, press};

/// Unchecks these actions, and compares what is said about the others.
#[track_caller]
fn check(actions: &[Action], unchecked: &[usize], expected: &[(usize, &str)]) {
    let plan = ActionPlan { actions: actions.to_vec(), ..ActionPlan::default() };
    let mut list = checklist(&plan, 80, 24);
    for place in unchecked {
        press(&mut list, "home down");
        for _ in 0..*place {
            press(&mut list, "down");
        }
        press(&mut list, "space");
    }
    let selection = list.selection();
    let notes: Vec<_> = selection.notes.iter().map(|note| (note.item, note.text.as_str())).collect();
    assert_eq!(notes, expected);
    assert!(selection.notes.iter().all(|note| note.group == Group::Actions));
}

fn read(path: &str) -> Action {
    action(ActionKind::Read { resource: Resource::File(path.into()) })
}

const NO_CREATE: &str = "its CREATE is not checked";

#[test]
fn edits_and_reads_of_a_file_that_is_not_created() {
    let actions = [create("a.rs", "x"), edit("a.rs", &[("x", "y")]), read("a.rs"), read("b.rs")];
    check(&actions, &[], &[]);
    check(&actions, &[0], &[(1, NO_CREATE), (2, NO_CREATE)]);
    check(&actions, &[0, 1], &[(2, NO_CREATE)]);
    let before = [read("a.rs"), create("a.rs", "x")];
    check(&before, &[1], &[]);
}

#[test]
fn an_edit_that_looks_for_the_text_of_another() {
    let actions = [
        edit("a.rs", &[("fn main() {}", "fn main() {\n    greet();\n}")]),
        edit("a.rs", &[("    greet();", "    greet(\"you\");")]),
        edit("a.rs", &[("greet(\"you\")", "greet(\"all\")")]),
        edit("b.rs", &[("    greet();", "    hello();")]),
    ];
    check(&actions, &[], &[]);
    check(&actions, &[0], &[(1, "looks for text of an EDIT that is not checked")]);
    check(&actions, &[1], &[(2, "looks for text of an EDIT that is not checked")]);
    check(&actions, &[2, 3], &[]);
    let braces = [edit("a.rs", &[("one", "{\n}")]), edit("a.rs", &[("}", "};")])];
    check(&braces, &[0], &[]);
}

#[test]
fn commands_run_without_the_changes_before_them() {
    let actions = [
        execute("ls"),
        create("src/a.rs", "x"),
        edit("b", &[("old", "new")]),
        execute("make"),
        create("c", ""),
    ];
    check(&actions, &[0, 4], &[]);
    check(&actions, &[1], &[(3, "runs without CREATE src/a.rs")]);
    check(&actions, &[1, 2], &[(3, "runs without CREATE src/a.rs and 1 more")]);
    check(&actions, &[1, 3], &[]);
}

#[test]
fn a_thousand_edits_of_one_file_are_no_trouble() {
    let edits: Vec<Action> =
        (0..1000).map(|n| edit("a", &[(&format!("line {n};"), &format!("line {};", n + 1))])).collect();
    check(&edits, &[500], &[(501, "looks for text of an EDIT that is not checked")]);
}
