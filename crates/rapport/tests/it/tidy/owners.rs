//! Types stay small enough to understand: a limit on the number of methods of a type, over all of its `impl` blocks.

use std::collections::BTreeMap;

use super::{crates, sources, without_tests};

/// The maximum number of methods of a type. Those of traits are not counted: the trait says what they are.
const MOST: usize = 50;

/// Types that are larger, by crate, with their exact number of methods, so that another method is a decision: it belongs
/// to the owner of the field that it is about, unless it is about several. A type that has become smaller gets its new
/// number.
const LARGER: [(&str, &str, usize); 5] = [
    // Everything that Telegram's conversation reacts to.
    ("rapport-telegram", "ChatState", 93),
    // What all flows of a session share: it decides about inputs. What each of its fields knows by itself is a method
    // of that field's type.
    ("rapport-core", "Shared", 77),
    // The scripted agent: one method for each step of a scenario.
    ("rapport-rehearsal", "Player", 70),
    // The flow of turns in directories.
    ("rapport-core", "TurnsFlow", 69),
    // Read access to a session, for all channels.
    ("rapport-core", "Session", 70),
];

#[test]
fn no_type_has_more_methods_than_one_can_hold_in_mind() {
    let counts = methods_of_all();
    let larger: BTreeMap<_, _> = LARGER.into_iter().map(|(of, name, exact)| ((of, name), exact)).collect();
    let mut wrong = Vec::new();
    for ((of, name), count) in &counts {
        match larger.get(&(of.as_str(), name.as_str())) {
            Some(_) if *count <= MOST => wrong.push(format!("{of}: {name} needs no exception any more")),
            Some(exact) if count != exact => {
                wrong.push(format!("{of}: {name} has {count} methods; its number here is {exact}"))
            }
            None if *count > MOST => {
                wrong.push(format!("{of}: {name} has {count} methods; a type may have {MOST}"))
            }
            Some(_) | None => {}
        }
    }
    let is_there = |of: &str, name: &str| counts.contains_key(&(of.to_owned(), name.to_owned()));
    let gone = LARGER.iter().filter(|(of, name, _)| !is_there(of, name));
    wrong.extend(gone.map(|(of, name, _)| format!("{of}: there is no {name}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn methods_are_counted_over_all_blocks_of_a_type() {
    let text = "impl One {\n    fn a(&self) {\n        let fn_like = 1;\n    }\n\n    pub(super) async fn b() {}\n}\n\
        impl<'a, T: Fn() -> u8> One<'a, T> {\n    pub const fn c() {}\n}\nimpl fmt::Display for One {\n    fn fmt(&self) {}\n}\n\
        impl Two\nwhere\n    T: Copy,\n{\n    fn d() {}\n}\nfn free() {}\n";
    let mut counts = BTreeMap::new();
    count(text, "x", &mut counts);
    let expected =
        [(("x", "One"), 3), (("x", "Two"), 1)].map(|((of, name), n)| ((of.into(), name.into()), n));
    assert_eq!(counts, BTreeMap::<(String, String), usize>::from(expected));
}

/// The number of methods of each type, by crate and name.
fn methods_of_all() -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for path in sources().iter().filter(|path| !path.to_string_lossy().ends_with("_tests.rs")) {
        let inside = path.strip_prefix(crates()).unwrap();
        let of = inside.iter().next().unwrap().to_string_lossy();
        count(without_tests(&std::fs::read_to_string(path).unwrap()), &of, &mut counts);
    }
    counts
}

fn count(text: &str, of: &str, counts: &mut BTreeMap<(String, String), usize>) {
    let mut owner = None;
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("impl") {
            owner = owner_of(head);
        } else if line.starts_with('}') {
            owner = None;
        } else if let Some(name) = owner.as_ref().filter(|_| is_method(line)) {
            *counts.entry((of.to_owned(), String::clone(name))).or_default() += 1;
        }
    }
}

/// The type of an `impl` block, from what follows that word; `None` if it is of a trait.
fn owner_of(head: &str) -> Option<String> {
    let mut depth = 0_usize;
    let mut before = ' ';
    // Without what is between angle brackets. An arrow is no bracket.
    let plain: String = head
        .chars()
        .filter(|c| {
            let (was, is_arrow) = (depth, *c == '>' && before == '-');
            match c {
                '<' => depth += 1,
                '>' if !is_arrow => depth -= 1,
                _ => {}
            }
            before = *c;
            was == 0 && depth == 0
        })
        .collect();
    let mut words = plain.split_whitespace();
    let name = words.next().filter(|name| name.chars().all(char::is_alphanumeric))?.to_owned();
    (words.next() != Some("for")).then_some(name)
}

/// Whether a line begins a method of a block that is not inside of anything.
fn is_method(line: &str) -> bool {
    let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with(' ')) else { return false };
    let words = line
        .split_whitespace()
        .skip_while(|word| word.starts_with("pub") || ["const", "async"].contains(word));
    words.into_iter().next() == Some("fn")
}
