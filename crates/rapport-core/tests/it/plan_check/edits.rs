//! A place for every FIND, and what is said where there is none.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use rapport_core::{EditError, Mismatch, Replacement, apply_edits};

use super::{FIRST, Made, create, problems};

fn edit(path: &str, pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(find, replace)| {
        let replace = if replace.is_empty() { String::new() } else { format!("{replace}\n") };
        format!("#### FIND:\n````\n{find}\n````\n#### REPLACE:\n````\n{replace}````\n")
    });
    format!("### EDIT\n- **File Path:** `{path}`\n\n{}", pairs.collect::<String>())
}

fn apply(text: &str, pairs: &[(&str, &str)]) -> Result<String, Mismatch> {
    let edits: Vec<_> = pairs
        .iter()
        .map(|(find, replace)| Replacement { find: (*find).into(), replace: (*replace).into(), line: 7 })
        .collect();
    apply_edits(text, &edits).map_err(|EditError { why, line, .. }| {
        assert_eq!(line, 7);
        why
    })
}

#[test]
fn file_35_edits_change_what_they_name_and_nothing_else() {
    for (text, pairs, expected) in [
        ("a b c", vec![("b", "x")], "a x c"),
        ("a\nb\n", vec![("a\n", ""), ("b", "c\nd")], "c\nd\n"),
        ("a", vec![("a", "b"), ("b", "c")], "c"),
        // Nothing is a pattern.
        ("x.*[a-z]+$1\\n x", vec![(".*[a-z]+$1\\n", "$0 \\1")], "x$0 \\1 x"),
        // Line ends are the file's, a byte order mark stays, a missing line end stays missing.
        ("\u{feff}a\r\nb\r\nc", vec![("a\nb", "x\ny\nz")], "\u{feff}x\r\ny\r\nz\r\nc"),
        ("a\r\nb\r\n", vec![("b", "x\ny")], "a\r\nx\r\ny\r\n"),
        ("a\r\nb\r\n", vec![("a\r\nb", "x\r\ny")], "a\r\nx\r\ny\r\n".replace("a\r\n", "").leak() as &str),
        ("a\r\nb\nc\n", vec![("b\nc", "x\ny")], "a\r\nx\ny\n"),
        ("a\r\nb\nc\n", vec![("a\nb", "x\ny")], "x\r\ny\nc\n"),
        ("a\nb\n", vec![("a\r\nb", "x\r\ny")], "x\ny\n"),
        ("é🟢é", vec![("🟢", "🔴")], "é🔴é"),
    ] {
        assert_eq!(apply(text, &pairs).as_deref(), Ok(expected), "{text:?}");
    }
    assert_eq!(apply("a", &[("", "x")]), Err(Mismatch::Empty));
    assert_eq!(apply("a", &[("A", "x")]), Err(Mismatch::Missing));
    assert_eq!(apply("a.c", &[("a.*c", "x")]), Err(Mismatch::Missing));
    assert_eq!(apply("b\na\na", &[("a", "x")]), Err(Mismatch::Several { lines: vec![2, 3] }));
    // Of two that overlap only one can be meant.
    assert_eq!(apply("aaa", &[("aa", "x")]), Err(Mismatch::Several { lines: vec![1, 1] }));
    assert_eq!(apply("ééé", &[("éé", "x")]), Err(Mismatch::Several { lines: vec![1, 1] }));
    let many = Mismatch::Several { lines: vec![1; 10] };
    assert_eq!(apply(&"a".repeat(100_000), &[("a", "x")]), Err(many));
}

// FILE-23: a FIND that differs from its only place in white space alone is taken, and REPLACE gets the file's white space.
#[test]
fn file_23_white_space_alone_does_not_refuse_an_edit() {
    for (text, find, replace, expected) in [
        // Constant indentation, more and less.
        (
            "a {\n    b();\n    c();\n}\n",
            "b();\nc();",
            "b();\n  d();\nc();",
            "a {\n    b();\n      d();\n    c();\n}\n",
        ),
        ("a\n b\n", "    a\n     b", "    a\n     c", "a\n c\n"),
        // Tabs for spaces and spaces for tabs.
        (
            "\tif a {\n\t\tb\n\t}\n",
            "    if a {\n        b\n    }",
            "    if c {\n        d\n    }",
            "\tif c {\n\t\td\n\t}\n",
        ),
        ("  if a {\n    b\n  }\n", "\tif a {\n\t\tb\n\t}", "\tif a {\n\t\tc\n\t}", "  if a {\n    c\n  }\n"),
        // Another unit of indentation: each indentation of FIND has one in the file, and others follow from these.
        (
            "    def f():\n        return 1\n",
            "def f():\n  return 1",
            "def f():\n  if a:\n    return 2\n  return 1",
            "    def f():\n        if a:\n            return 2\n        return 1\n",
        ),
        ("\tif a {\n\t\tb\n\t}\n", "if a {\n  b\n}", "if a {\n  c\n}", "\tif a {\n\t\tc\n\t}\n"),
        ("a:\n  b:\n    - c\n", "a:\n   b:\n      - c", "a:\n   b:\n      - d", "a:\n  b:\n    - d\n"),
        // Blank lines that only one of them has.
        ("    a()\n    b()\n", "    a()\n\n    b()", "    a()\n    c()", "    a()\n    c()\n"),
        ("a()\n\n  \nb()\n", "a()\nb()", "a()\nc()", "a()\nc()\n"),
        // White space between tokens, also in a part of a line.
        ("    def f():\n        return 1\n", "def f( ):", "def g():", "    def g():\n        return 1\n"),
        ("x = f() + 1\n", "f( )", "g()", "x = g() + 1\n"),
        ("let a = [1, 2];\n", "let a=[1,2];", "let a = [3];", "let a = [3];\n"),
        ("if (a) { b(\"x y\"); }\n", "if(a) {b(\"x y\");}", "c();", "c();\n"),
        // The byte order mark stays.
        ("\u{feff}a = 1\n", "a  =  1", "a = 2", "\u{feff}a = 2\n"),
        // Ends of lines, blank lines around FIND, characters that nobody sees: lines that stay are as the file has them.
        ("a  \nb\n", "a\nb", "a\nc", "a  \nc\n"),
        ("x\nlet a = 1;", "let a = 1;\n", "let a = 2;\n", "x\nlet a = 2;"),
        ("one\ntwo\n", "\none\n\n", "\n1\n\n", "1\ntwo\n"),
        (
            "let a\u{a0}= 1;\nlet b = 1;\n",
            "let a = 1;\nlet b = 1;",
            "let a = 1;\nlet c = 1;",
            "let a\u{a0}= 1;\nlet c = 1;\n",
        ),
        ("let a\t= 1;\n", "let a = 1;", "let a = 2;", "let a = 2;\n"),
        // Line ends are the file's.
        (
            "a {\r\n  b\r\n}\r\n",
            "b",
            "c\nd",
            "a {\r\n  c\nd\r\n}\r\n".replace("c\nd", "c\r\nd").leak() as &str,
        ),
        ("a {\r\n  b;\r\n  c;\r\n}\r\n", "b;\nc;", "d;\ne;", "a {\r\n  d;\r\n  e;\r\n}\r\n"),
        // Nothing in its place.
        ("  a\n  b\nc\n", "a\nb", "", "\nc\n"),
    ] {
        assert_eq!(apply(text, &[(find, replace)]).as_deref(), Ok(expected), "{text:?}");
    }
    for (text, find, replace) in [
        // What separates words, operators and lines, and what is in quotes.
        ("let mutable = 1;\n", "let mut able = 1;", "x"),
        ("a - -b\n", "a --b", "x"),
        ("a b\n", "a\nb", "x"),
        ("say(\"a, b\")\n", "say(\"a,b\")", "x"),
        ("say('a  b')\n", "say('a b')", "x"),
        // A line of REPLACE between the steps of FIND, and one whose indentation says nothing.
        ("    def f():\n      return 1\n", "def f():\n    return 1", "def f():\n return 2"),
        ("x = f() + 1\n", "f( )", "g(\n    2)"),
        // A part of a line for a whole one.
        ("x = f() + 1\n", "f( )\n", "g()\n"),
        // One of which the rest is another.
        ("  a\n  b\n", "a\nb\nc", "d"),
        // White space is what is to be changed.
        ("a = 1\n", "a  = 1", "a = 1"),
        // REPLACE has less indentation than would have to go.
        ("a\n b\n", "    a\n     b", "c"),
        // Indentation that differs from line to line.
        ("  a\n b\n", "a\nb", "c"),
    ] {
        assert_eq!(apply(text, &[(find, replace)]), Err(Mismatch::Missing), "{text:?}");
    }
    let twice = apply("  a\n  b\n    a\n    b\n", &[("a\nb", "c")]);
    assert_eq!(twice, Err(Mismatch::SeveralAlike { lines: vec![1, 3] }));
    // One of them has the same lines, but the other has the same text, too.
    let twice = apply("  f()\nx = f() + 1\n", &[("f( )", "g()")]);
    assert_eq!(twice, Err(Mismatch::SeveralAlike { lines: vec![1, 2] }));
    let project = Made::of(&[("a.rs", FILE)]);
    let parsed = crate::action_plan::parse(&crate::action_plan::plan(&edit(
        "a.rs",
        &[("fn two() {\n    go();\n}", "fn two() {}")],
    )));
    let found = rapport_core::check::validate(&parsed, &project);
    assert_eq!(found.problems, []);
    let remark = "FIND matches line 6 except for white space";
    assert_eq!(
        found.remarks.iter().map(|remark| (remark.action, remark.text.as_str())).collect::<Vec<_>>(),
        [(0, remark)]
    );
    let items =
        rapport_core::review::items(&parsed.remarked(&found.remarks), rapport_core::review::Group::Actions);
    assert_eq!(items[0].remark.as_deref(), Some(remark));
}

/// A file with some indentation.
const FILE: &str =
    "impl A {\n    fn one() {\n        go();\n    }\n\n    fn two() {\n        go();\n    }\n}\n";

#[track_caller]
fn check(text: &str, actions: &str, what: &str, hint: &str, detail: Option<&str>) {
    let found = problems(actions, &Made::of(&[("a.rs", text)]));
    let [problem] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((problem.what.as_str(), problem.hint.as_str()), (what, hint));
    assert_eq!(problem.detail.as_deref(), detail);
}

#[test]
fn file_23_a_find_that_is_not_there_is_shown_the_closest_place() {
    const EXACTLY: &str = "Quote the file exactly as it is, byte for byte.";
    check(
        FILE,
        &edit("a.rs", &[("    fn one() {\n        run();\n    }", "x")]),
        "FIND is not in a.rs; the closest place is line 2, 92 % alike",
        EXACTLY,
        Some(
            "--- FIND\n+++ a.rs:2\n@@ -1,3 +1,3 @@\n     fn one() {\n-        run();\n+        go();\n     }",
        ),
    );
    check(
        "let total = prices.sum();\nother\n",
        &edit("a.rs", &[("let totals = price.sum();", "x")]),
        "FIND is not in a.rs; the closest place is line 1, 96 % alike",
        EXACTLY,
        Some("--- FIND\n+++ a.rs:1\n@@ -1 +1 @@\n-let totals = price.sum();\n+let total = prices.sum();"),
    );
    // A line that FIND leaves out is shown as that, and what is below it as there.
    check(
        "fn a() {\n    one();\n    // why\n    two();\n    three();\n}\nfn b() {}\n",
        &edit("a.rs", &[("fn a() {\n    one();\n    two();\n    three();\n}", "x")]),
        "FIND is not in a.rs; the closest place is line 1, 89 % alike",
        EXACTLY,
        Some(
            "--- FIND\n+++ a.rs:1\n@@ -1,4 +1,5 @@\n fn a() {\n     one();\n+    // why\n     two();\n     three();",
        ),
    );
    // A brace that is everywhere is not the place.
    check(
        "fn a() {\n    b();\n}\n\nfn load(path: &Path, size: u32) {\n    read_to_string(path);\n}\n",
        &edit("a.rs", &[("fn load(path: &Path) {\n    read(path);\n}", "x")]),
        "FIND is not in a.rs; the closest place is line 5, 79 % alike",
        EXACTLY,
        Some(
            "--- FIND\n+++ a.rs:5\n@@ -1,3 +1,3 @@\n-fn load(path: &Path) {\n-    read(path);\n\
             +fn load(path: &Path, size: u32) {\n+    read_to_string(path);\n }",
        ),
    );
    // Where it is not clear how REPLACE is indented, and where white space is all that is to be changed, nothing is taken.
    for (text, find, replace, hint) in [
        (
            "\tif a {\n   b\n",
            "    if a {\n        b",
            "    c",
            "Only the indentation differs (the file has tabs); quote it exactly.",
        ),
        (
            "let a\u{a0}= 1;\n",
            "let a = 1;",
            "let a  = 1;",
            "Only white space differs (the file has U+00A0); quote it exactly.",
        ),
    ] {
        let found = problems(&edit("a.rs", &[(find, replace)]), &Made::of(&[("a.rs", text)]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].hint, hint, "{found:?}");
    }
    check(FILE, &edit("a.rs", &[("zzz", "x")]), "FIND is not in a.rs", EXACTLY, None);
    check("", &edit("a.rs", &[("zzz", "x")]), "FIND is not in a.rs", EXACTLY, None);
    let applied =
        format!("REPLACE is already in the file: if the edit was made before, leave it out. {EXACTLY}");
    check("new words\n", &edit("a.rs", &[("zzz", "new words")]), "FIND is not in a.rs", &applied, None);
    check("a\r\nb\r\n", &edit("a.rs", &[("zzz", "a\nb")]), "FIND is not in a.rs", &applied, None);
}

/// FILE-23: a FIND that is taken differs from its place in white space alone, which is neither in quotes nor between words,
/// and REPLACE lands exactly there.
#[test]
fn file_23_what_is_taken_is_the_text_of_find() {
    let lines = vec((0..4_usize, select(LINES.to_vec())), 1..12);
    let cases = (lines, any::<Index>(), 1..4_usize, vec(0..12_usize, 0..12));
    let (seen, mut runner) = (Cell::new(0), TestRunner::new(Config::with_cases(4_000)));
    runner
        .run(&cases, |(lines, from, length, dice)| {
            let file: String =
                lines.iter().map(|(depth, line)| format!("{}{line}\n", "    ".repeat(*depth))).collect();
            let quoted: Vec<_> = file.lines().skip(from.index(lines.len())).take(length).collect();
            let find = respaced(&quoted.join("\n"), &dice);
            let Ok(edited) = apply(&file, &[(&find, "MARK")]) else { return Ok(()) };
            seen.set(seen.get() + usize::from(!file.contains(&find)));
            let (before, after) = edited.split_once("MARK").expect("REPLACE is there");
            let before = before.trim_end_matches([' ', '\t']);
            prop_assert!(
                file.starts_with(before) && file.ends_with(after),
                "{find:?} in {file:?}: {edited:?}"
            );
            let place = &file[before.len()..file.len() - after.len()];
            prop_assert_eq!(solid(place), solid(&find));
            prop_assert_eq!(words(place), words(&find));
            let in_quotes =
                |text: &str| text.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(in_quotes(place), in_quotes(&find));
            Ok(())
        })
        .unwrap();
    assert!(seen.get() > 100, "only {} were taken", seen.get());
}

const LINES: [&str; 8] =
    ["def f():", "return 1", "x = f() + 1", "say(\"a, b\")", "", "}", "let a = [1, 2];", "a - -b"];

/// A text with other white space at some of the places where there is some, or could be.
fn respaced(text: &str, dice: &[usize]) -> String {
    const WITHIN: [&str; 4] = ["", " ", "  ", "\t"];
    const BETWEEN: [&str; 4] = ["\n\n", "\n  ", "\n    ", "  \n"];
    let mut dice = dice.iter();
    let mut out = String::new();
    for c in text.chars() {
        let is_gap = c.is_whitespace() || c.is_ascii_punctuation();
        match is_gap.then(|| dice.next()).flatten().filter(|die| **die < WITHIN.len()) {
            Some(die) if c == '\n' => out.push_str(BETWEEN[*die]),
            Some(die) if c == ' ' => out.push_str(WITHIN[*die]),
            Some(die) => out.extend([WITHIN[*die], &c.to_string()]),
            None => out.push(c),
        }
    }
    out
}

fn solid(text: &str) -> String {
    text.split_whitespace().collect()
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

#[test]
fn file_23_a_find_has_one_place() {
    const MORE: &str = "Quote more lines around it, until it occurs once.";
    let twice = "FIND occurs in a.rs 2 times, on lines 3, 7";
    check(FILE, &edit("a.rs", &[("        go();", "x")]), twice, MORE, None);
    let same = "FIND and REPLACE are the same for a.rs";
    check(FILE, &edit("a.rs", &[("impl A", "impl A")]), same, "Leave this edit out.", None);
    let empty = "Quote the lines to change; to write a whole file, use CREATE with Overwrite.";
    check(FILE, &edit("a.rs", &[("", "x")]), "FIND is empty for a.rs", empty, None);
    let once = [("fn one() {\n        go();", "fn one() {"), ("        go();", "        run();")];
    assert_eq!(problems(&edit("a.rs", &once), &Made::of(&[("a.rs", FILE)])), []);
}

#[test]
fn file_23_what_the_plan_did_before_counts() {
    let none = Made::default();
    let made = create("new.rs", "");
    assert_eq!(problems(&format!("{made}{}", edit("new.rs", &[("x", "y"), ("y", "z")])), &none), []);
    assert_eq!(
        problems(
            &format!("{made}{}{}", edit("new.rs", &[("x", "y")]), edit("./new.rs", &[("y", "z")])),
            &none
        ),
        []
    );
    let found =
        problems(&format!("{made}{}{}", edit("new.rs", &[("x", "y")]), edit("new.rs", &[("x", "z")])), &none);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].action, found[0].line), (Some(2), FIRST + 6 + 11 + 4));
    let what = "FIND is not in new.rs as the plan leaves it by then; the closest place is line 1, 50 % alike";
    assert_eq!(
        (found[0].what.as_str(), found[0].detail.as_deref()),
        (what, Some("--- FIND\n+++ new.rs:1\n@@ -1 +1 @@\n-x\n+y"))
    );
    let file = Made::of(&[("a", "one\ntwo\n")]);
    let found = problems(&edit("a", &[("one", "two"), ("two", "2")]), &file);
    assert_eq!(found[0].what, "FIND occurs in a as the plan leaves it by then 2 times, on lines 1, 2");
    // A file with two names is one file.
    let mut linked = Made::of(&[("AGENTS.md", "x\n")]);
    linked.links.insert("CLAUDE.md".into(), Some("AGENTS.md".into()));
    let both =
        |second| format!("{}{}", edit("AGENTS.md", &[("x", "y")]), edit("CLAUDE.md", &[(second, "z")]));
    assert_eq!(problems(&both("y"), &linked), []);
    assert_eq!(problems(&both("x"), &linked).len(), 1);
    // An edit that finds no place changes nothing, and the others are checked all the same.
    let found = problems(&format!("{made}{}", edit("new.rs", &[("a", "b"), ("x", "y"), ("q", "r")])), &none);
    assert_eq!(found.len(), 2);
}

/// A thousand edits of a large project read a thousand files.
#[test]
fn file_23_only_what_is_touched_is_read() {
    let mut project = Made::default();
    for number in 0..10_000 {
        let text = (0..100).map(|line| format!("    line {line} of file {number}\n")).collect::<String>();
        project
            .files
            .insert(format!("src/{}/{number}.rs", number % 97), rapport_core::check::Contents::Text(text));
    }
    let actions: String = (0..1_000)
        .map(|number| {
            let (file, text) = (number * 7, format!("line 50 of file {}\n", number * 7));
            edit(&format!("src/{}/{file}.rs", file % 97), &[(&text, "another\n")])
        })
        .collect();
    assert_eq!(problems(&actions, &project), []);
    let read = project.read.borrow();
    assert_eq!(read.len(), 1_000);
}

/// Many mistakes in a large file are told, if not all with a closest place.
#[test]
fn file_23_many_mistakes_do_not_take_for_ever() {
    let text: String = (0..50_000).map(|line| format!("line {line}\n")).collect();
    let pairs: Vec<_> = (0..500).map(|number| (format!("line x{number}\nline 7"), "y".to_owned())).collect();
    let pairs: Vec<_> = pairs.iter().map(|(find, replace)| (find.as_str(), replace.as_str())).collect();
    let found = problems(&edit("a.rs", &pairs), &Made::of(&[("a.rs", &text)]));
    assert_eq!(found.len(), 500);
    assert!(found[0].detail.is_some() && found[499].detail.is_none());
}
