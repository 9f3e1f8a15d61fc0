//! Colours of the output: readable on a white and on a black background, and never the only carrier of information.

use std::collections::BTreeSet;

use super::windows::{SIZES, busy, masked, name_of, on_a_known_machine};
use crate::files::{self, greeting};
use crate::support::project::Project;
use crate::support::scenarios::{ONE_QUESTION, PERMISSION};

/// The numbers of all styles that were sent to a terminal.
fn styles(raw: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(raw);
    let sequences = text.split("\u{1b}[").skip(1);
    let styles = sequences.filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        rest[end..].starts_with('m').then(|| rest[..end].to_owned())
    });
    // A colour of the terminal's own theme can also be written by its number among many.
    let short = |numbers: String| {
        (1..=6).fold(numbers, |text, n| text.replace(&format!("38;5;{n}"), &format!("3{n}")))
    };
    styles.flat_map(|numbers| short(numbers).split(';').map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The colours in which text was sent to a terminal, by their numbers, and whether it was bold.
fn colours(raw: &[u8]) -> BTreeSet<(usize, bool)> {
    let text = String::from_utf8_lossy(raw);
    let (mut colour, mut bold, mut seen) = (None, false, BTreeSet::new());
    for rest in text.split("\u{1b}[").skip(1) {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(rest.len());
        let Some(shown) = rest[end..].strip_prefix('m') else { continue };
        // A colour of the terminal's own theme can also be written by its number among many.
        let numbers = (0..=7)
            .fold(rest[..end].to_owned(), |text, n| text.replace(&format!("38;5;{n}"), &format!("3{n}")));
        for number in numbers.split(';') {
            match number.parse::<usize>() {
                Ok(1) => bold = true,
                Ok(22) => bold = false,
                Ok(number @ 30..=37) => colour = Some(number - 30),
                Ok(39) => colour = None,
                Ok(0) | Err(_) => (colour, bold) = (None, false),
                Ok(_) => {}
            }
        }
        if let Some(colour) = colour.filter(|_| !shown.trim().is_empty()) {
            seen.insert((colour, bold));
        }
    }
    seen
}

/// The colours of terminals as they are shipped: black, red, green, yellow, blue, magenta, cyan, white. Text that is
/// bold has the second row, where a terminal brightens it.
const PALETTES: [(&str, [[u32; 8]; 2]); 3] = [
    ("GNOME Terminal", [[0x171421, 0xc01c28, 0x26a269, 0xa2734c, 0x12488b, 0xa347ba, 0x2aa1b3, 0xd0cfcc]; 2]),
    (
        "Terminal of macOS",
        [
            [0x000000, 0x990000, 0x00a600, 0x999900, 0x0000b2, 0xb200b2, 0x00a6b2, 0xbfbfbf],
            [0x666666, 0xe50000, 0x00d900, 0xe5e500, 0x0000ff, 0xe500e5, 0x00e5e5, 0xe5e5e5],
        ],
    ),
    (
        "Windows Terminal",
        [
            [0x0c0c0c, 0xc50f1f, 0x13a10e, 0xc19c00, 0x0037da, 0x881798, 0x3a96dd, 0xcccccc],
            [0x767676, 0xe74856, 0x16c60c, 0xf9f1a5, 0x3b78ff, 0xb4009e, 0x61d6d6, 0xf2f2f2],
        ],
    ),
];

/// How light a colour is, from 0 to 1, and with it how two of them differ, as WCAG 2 has it.
fn contrast(one: u32, other: u32) -> f64 {
    let lightness = |colour: u32| {
        let part = |shift: u32| {
            let share = f64::from(colour >> shift & 0xff) / 255.0;
            if share <= 0.03928 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0)
    };
    let (one, other) = (lightness(one) + 0.05, lightness(other) + 0.05);
    one.max(other) / one.min(other)
}

/// Where a colour cannot be read: on white, or on black. Plain red, in which every program shows what was removed, is
/// the limit on black.
fn unreadable(colour: usize, bold: bool) -> Option<String> {
    PALETTES.iter().find_map(|(name, rows)| {
        let shown = rows[usize::from(bold)][colour];
        let grounds = [("white", 0xffffff, 2.9), ("black", 0x000000, 2.3)];
        grounds.into_iter().find_map(|(ground, beneath, least)| {
            let contrast = contrast(shown, beneath);
            (contrast < least).then(|| format!("colour {colour} on {ground} in {name}: {contrast:.1}"))
        })
    })
}

/// A project, a command in it, and what is shown there, each with the keys for the next.
type Case<'a> = (&'a Project, &'a [&'a str], &'a [(&'a str, &'a str)]);

/// Screens with cards, a review, a list and what commands print, the last of them `doctor`, each until it is drawn: what each sent to its
/// terminal.
fn drawn(env: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    let with = |project: Project| env.iter().fold(project, |project, (name, value)| project.set(name, value));
    let planned = files::project(&[&greeting()]);
    planned.plan_turn("one").check(0, "");
    let (planned, busy) = (with(planned), with(busy().set("PAGER", "cat")));
    let question = with(Project::with_scenario(ONE_QUESTION));
    let permission = with(Project::with_scenario(PERMISSION));
    let doctor = with(on_a_known_machine(Project::with_agent("no-such-agent").set("PAGER", "cat")));
    let asked = [("enter or c confirm", "c"), ("Allow once", ""), ("? help", "")];
    let cases: [Case<'_>; 8] = [
        (&question, &["run", "paint"], &[("enter answer", ""), ("? help", "")]),
        (&planned, &["resume"], &[("(q)uit ›", "m"), ("? help", "")]),
        (&busy, &["status"], &[("left 0", "")]),
        (&busy, &["diff", "door"], &[("left 0", "")]),
        (&busy, &["log", "--tree"], &[("left 0", "")]),
        (&busy, &["log", "door"], &[("left 0", "")]),
        (&permission, &["run", "build"], &asked),
        (&doctor, &["doctor"], &[("left 1", "")]),
    ];
    let screens = cases.map(|(project, args, steps)| {
        let mut terminal = project.terminal(args, 80, 40);
        for (shown, keys) in steps {
            terminal.wait_for(shown);
            terminal.send(keys);
        }
        let text = terminal.text().replace(&name_of(project), "/dir");
        (masked(text.split("\nleft ").next().unwrap()), terminal.raw().to_vec())
    });
    screens.into()
}

/// On a dark and on a light background, only styles that are readable on both; no styles if colour is off. The text
/// is the same.
#[test]
fn colours_are_readable_on_every_background_and_say_nothing_alone() {
    let coloured = drawn(&[("COLORTERM", "truecolor")]);
    // Bold, dim, italic, underlined, reversed, and the colours of the terminal's own theme.
    let known = [
        "", "0", "1", "2", "3", "4", "7", "22", "23", "24", "27", "30", "31", "32", "33", "34", "35", "36",
        "37", "39", "49", "59",
    ];
    for yellow_or_bright in [(3, false), (3, true), (6, true), (4, false)] {
        assert!(unreadable(yellow_or_bright.0, yellow_or_bright.1).is_some(), "{yellow_or_bright:?}");
    }
    for (text, raw) in &coloured {
        let unknown: Vec<_> = styles(raw).into_iter().filter(|style| !known.contains(&&**style)).collect();
        assert!(unknown.is_empty(), "{unknown:?} in\n{text}");
        let unreadable: Vec<_> =
            colours(raw).into_iter().filter_map(|(colour, bold)| unreadable(colour, bold)).collect();
        assert_eq!(unreadable, Vec::<String>::new(), "in\n{text}");
    }
    let care = (5, true);
    assert!(coloured.iter().any(|(_, raw)| colours(raw).contains(&care)), "nothing asks for care");
    let uses_colour = |(_, raw): &(String, Vec<u8>)| styles(raw).iter().any(|style| style.starts_with('3'));
    assert!(coloured.iter().all(&uses_colour), "each screen has colour");
    let plain = drawn(&[("NO_COLOR", "1")]);
    assert!(!plain.iter().any(uses_colour), "NO_COLOR is not respected");
    let text =
        |screens: &[(String, Vec<u8>)]| screens.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
    assert_eq!(text(&coloured), text(&plain), "colour says nothing that the words do not");
    // Where the lines of `doctor` end depends on where the project is.
    let mut others = text(&plain);
    others.pop();
    insta::assert_snapshot!("window-no-colour", others.join("\n\n"));
}

/// Which words have which colour, at each size.
#[test]
fn colours_at_each_size() {
    let (busy, question) = (busy().set("PAGER", "cat"), || Project::with_scenario(ONE_QUESTION));
    let shown = SIZES.map(|(columns, rows)| {
        let mut status = busy.terminal(&["status"], columns, rows);
        status.wait_for("left 0");
        let project = question();
        let mut card = project.terminal(&["run", "paint"], columns, rows);
        card.wait_for("enter answer");
        card.wait_for("? help");
        let permission = Project::with_scenario(PERMISSION);
        let mut asked = permission.terminal(&["run", "build"], columns, rows);
        asked.wait_for("enter or c confirm");
        asked.send("c");
        asked.wait_for("Allow once");
        asked.wait_for("? help");
        let screens =
            [(&busy, &status), (&project, &card), (&permission, &asked)].map(|(project, terminal)| {
                let text = terminal.coloured().replace(&name_of(project), "/dir");
                masked(text.split("left 0").next().unwrap().trim_matches('\n'))
            });
        format!("{columns}x{rows}\n{}\n", screens.join("\n----\n"))
    });
    insta::assert_snapshot!("window-coloured", shown.join("\n"));
}
