//! What commands and cards look like in terminals of three sizes, and that colour is never the only thing that says
//! something: without it the text is the same.

use std::collections::BTreeSet;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport_core::Event;

use crate::files::{self, greeting};
use crate::support::patience::look_at_most;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::scenarios::{ONE_QUESTION, PERMISSION};

/// The usual terminal, a large one, and a corner of a screen.
const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (50, 15)];

/// A project with a session that asks, one that is done, one that was cancelled, and a session of two turns.
fn busy() -> Project {
    let project = Project::with_scenario(ONE_QUESTION);
    for task in ["paint the fence", "paint the door of the shed behind the house", "paint nothing"] {
        let mut running = project.start(&[task], &[]);
        running.until_asked();
        running.kill();
    }
    let id = |part: &str| {
        let ids = project.store().list().unwrap();
        ids.into_iter().find(|id| id.as_str().contains(part)).unwrap().to_string()
    };
    let door = id("door");
    project.rapport(&["answer", &door, "Red"]).check(0, "");
    let mut running = project.start(&["--resume", &door], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", &door, "confirm"]).check(0, "");
    assert_eq!(running.finish(), 0);
    project.rapport(&["cancel", &id("nothing")]).check(0, "");
    project
}

/// A text without dates, times, ages and ids.
fn masked(text: &str) -> String {
    let is_id = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
    let mut lines = Vec::new();
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').map(|word| if is_id(word) { "ID" } else { word }).collect();
        let (mut out, line) = (String::new(), words.join(" "));
        for run in line.split_inclusive(|c: char| !c.is_ascii_digit()) {
            let number = run.trim_end_matches(|c: char| !c.is_ascii_digit());
            let is_masked = number.len() > 1 || run.ends_with('s') && !number.is_empty();
            out.push_str(&if is_masked { "0".repeat(number.len()) } else { number.to_owned() });
            out.push_str(&run[number.len()..]);
        }
        lines.push(out);
    }
    lines.join("\n")
}

/// What a command shows at its end, at each size.
fn at_each_size(project: &Project, args: &[&str]) -> String {
    let shown = SIZES.map(|(columns, rows)| {
        let mut terminal = project.terminal(args, columns, rows);
        terminal.wait_for("left 0");
        let text = terminal.everything().replace(&name_of(project), "/dir");
        let text = text.split("\nleft 0").next().unwrap().trim_start_matches('\n').to_owned();
        format!("{columns}x{rows}\n{}\n", masked(&text))
    });
    shown.join("\n")
}

#[test]
fn what_commands_show_fits_each_terminal() {
    let project = busy().set("PAGER", "cat");
    for (name, args) in
        [("status", &["status"][..]), ("tree", &["log", "--tree"]), ("diff", &["diff", "door"])]
    {
        insta::assert_snapshot!(format!("window-{name}"), at_each_size(&project, args));
    }
}

/// The directory around a project, whose name is another one each time.
fn name_of(project: &Project) -> String {
    project.path("").display().to_string().trim_end_matches('/').to_owned()
}

/// The words of a text, without what draws boxes and bars.
fn words(text: &str) -> Vec<String> {
    masked(text.split("\nleft 0").next().unwrap()).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn without_colour_the_words_are_the_same() {
    let project = busy().set("PAGER", "cat");
    for args in [&["status"][..], &["log", "door"], &["log", "--tree"], &["diff", "door"], &["doctor"]] {
        let mut coloured = project.terminal(&[args, &["--color", "always"]].concat(), 80, 60);
        let mut never = project.terminal(&[args, &["--color", "never"]].concat(), 80, 60);
        for terminal in [&mut coloured, &mut never] {
            terminal.wait_for("left 0");
        }
        assert_eq!(words(&coloured.text()), words(&never.text()), "{args:?}");
        assert!(String::from_utf8_lossy(coloured.raw()).contains("\u{1b}[3"), "{args:?} has no colour");
        assert!(!String::from_utf8_lossy(never.raw()).contains("\u{1b}[3"), "{args:?} has colour");
    }
    let project = project.set("NO_COLOR", "1");
    let mut terminal = project.terminal(&["diff", "door"], 80, 60);
    terminal.wait_for("left 0");
    assert!(!String::from_utf8_lossy(terminal.raw()).contains("\u{1b}[3"), "NO_COLOR is not respected");
}

/// Plays a story up to a card, at each size, with the variables of a mode.
fn cards(story: impl Fn(&Project, &mut Pty), make: impl Fn() -> Project, args: &[&str]) -> String {
    let shown = SIZES.map(|(columns, rows)| {
        let project = make();
        let mut terminal = project.terminal(args, columns, rows);
        story(&project, &mut terminal);
        format!("{columns}x{rows}\n{}\n", masked(&terminal.text().replace(&name_of(&project), "/dir")))
    });
    shown.join("\n")
}

#[test]
fn cards_fit_each_terminal() {
    let question = cards(
        |_, pty| {
            pty.wait_for("enter answer");
            pty.wait_for("? help");
        },
        || Project::with_scenario(ONE_QUESTION),
        &["run", "paint"],
    );
    insta::assert_snapshot!("window-question", question);
    let permission = cards(
        |_, pty| {
            pty.wait_for("enter or c confirm");
            pty.send("c");
            pty.wait_for("May the agent use Bash");
            pty.wait_for("enter answer");
            pty.wait_for("? help");
        },
        || Project::with_scenario(PERMISSION).set("NO_COLOR", "1"),
        &["run", "build"],
    );
    insta::assert_snapshot!("window-permission", permission);
    let planned = || {
        let project = files::project(&[&greeting()]);
        project.plan_turn("one").check(0, "");
        project
    };
    insta::assert_snapshot!("window-review", cards(|_, pty| pty.wait_for("(q)uit ›"), planned, &["resume"]));
    let checklist = cards(
        |_, pty| {
            pty.wait_for("(q)uit ›");
            pty.send("m");
            pty.wait_for("? help");
            if pty.text().lines().any(|row| row.chars().count() > 100) {
                pty.wait_for("│ Active Context");
            }
        },
        planned,
        &["resume"],
    );
    insta::assert_snapshot!("window-checklist", checklist);
    let lines = cards(
        |_, pty| pty.wait_for(" >"),
        || Project::with_scenario(ONE_QUESTION),
        &["run", "--plain", "paint"],
    );
    insta::assert_snapshot!("window-lines", lines);
}

/// On a wide terminal the preview of the current item is beside the checklist, as it is without what is left out.
#[test]
fn a_wide_terminal_shows_previews_beside_the_checklist() {
    let project = files::project(&[&greeting()]);
    project.plan_turn("one").check(0, "");
    let mut terminal = project.terminal(&["resume"], 120, 30);
    terminal.wait_for("(q)uit ›");
    terminal.send("m");
    terminal.wait_for("│ Active Context");
    terminal.send("\x1b[B");
    terminal.wait_for("│ hello.txt");
    terminal.wait_for("Hello");
    terminal.send("\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B");
    terminal.wait_for("│ EDIT README.md");
    terminal.wait_for("+ # A friendly app");
    insta::assert_snapshot!("window-beside", terminal.text());
    // Below the width at which both can be read there is only the checklist; p shows the preview.
    terminal.resize(100, 30);
    terminal.wait_gone("+ # A friendly app");
    terminal.send("p");
    terminal.wait_for("+ # A friendly app");
}

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

/// A project, a command in it, and what is shown there, each with the keys for the next.
type Case<'a> = (&'a Project, &'a [&'a str], &'a [(&'a str, &'a str)]);

/// Screens with a card, a review, a list and what commands print, each until it is drawn: what each sent to its terminal.
fn drawn(env: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    let with = |project: Project| env.iter().fold(project, |project, (name, value)| project.set(name, value));
    let planned = files::project(&[&greeting()]);
    planned.plan_turn("one").check(0, "");
    let (planned, busy) = (with(planned), with(busy().set("PAGER", "cat")));
    let question = with(Project::with_scenario(ONE_QUESTION));
    let cases: [Case<'_>; 5] = [
        (&question, &["run", "paint"], &[("enter answer", ""), ("? help", "")]),
        (&planned, &["resume"], &[("(q)uit ›", "m"), ("? help", "")]),
        (&busy, &["status"], &[("left 0", "")]),
        (&busy, &["diff", "door"], &[("left 0", "")]),
        (&busy, &["log", "--tree"], &[("left 0", "")]),
    ];
    let screens = cases.map(|(project, args, steps)| {
        let mut terminal = project.terminal(args, 80, 40);
        for (shown, keys) in steps {
            terminal.wait_for(shown);
            terminal.send(keys);
        }
        let text = terminal.text().replace(&name_of(project), "/dir");
        (masked(text.split("\nleft 0").next().unwrap()), terminal.raw().to_vec())
    });
    screens.into()
}

/// On a dark background and on a light one: only styles that are readable on both, and none where nobody wants colour. The
/// text is the same.
#[test]
fn colours_are_readable_on_every_background_and_say_nothing_alone() {
    let coloured = drawn(&[("COLORTERM", "truecolor")]);
    // Bold, dim, italic, underlined, reversed, and the colours of the terminal's own theme but for black and white.
    let readable = [
        "", "0", "1", "2", "3", "4", "7", "22", "23", "24", "27", "31", "32", "33", "34", "35", "36", "39",
        "49", "59",
    ];
    for (text, raw) in &coloured {
        let unreadable: Vec<_> =
            styles(raw).into_iter().filter(|style| !readable.contains(&&**style)).collect();
        assert!(unreadable.is_empty(), "{unreadable:?} in\n{text}");
    }
    let uses_colour = |(_, raw): &(String, Vec<u8>)| styles(raw).iter().any(|style| style.starts_with('3'));
    assert!(coloured.iter().all(&uses_colour), "each screen has colour");
    let plain = drawn(&[("NO_COLOR", "1")]);
    assert!(!plain.iter().any(uses_colour), "NO_COLOR is not respected");
    let text =
        |screens: &[(String, Vec<u8>)]| screens.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
    assert_eq!(text(&coloured), text(&plain), "colour says nothing that the words do not");
    insta::assert_snapshot!("window-no-colour", text(&plain).join("\n\n"));
}

/// A window that gets smaller while a card is shown, and keys after that, leave one card.
#[test]
fn a_shrunk_window_has_one_card() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut terminal = project.terminal(&["run", "paint"], 120, 40);
    terminal.wait_for("enter answer");
    terminal.resize(50, 15);
    terminal.wait_until("drawn for fifty columns", |shown| shown.lines().any(|line| line.trim() == "? help"));
    for _ in 0..5 {
        terminal.send("\x1b[B");
        terminal.send("\x1b[A");
    }
    terminal.send("?");
    terminal.wait_for("any key goes back");
    terminal.send("x");
    terminal.wait_gone("any key goes back");
    terminal.wait_for("Which colour?");
    let all = terminal.everything();
    assert_eq!(all.matches("Which colour?").count(), 1, "{all}");
    terminal.send("1");
    terminal.wait_for("→ Red");
    let all = terminal.everything();
    assert_eq!(all.matches("enter answer").count(), 0, "{all}");
}

/// A window that is closed while a card is shown ends the program, whether the system signals that or only its terminal is
/// gone. What was asked waits.
#[test]
fn a_closed_window_ends_the_program() {
    // A session of its own gets no signal when the window of another is closed.
    for launcher in ["exec", "exec setsid --wait"] {
        let project = Project::with_scenario(ONE_QUESTION);
        let program = env!("CARGO_BIN_EXE_rapport");
        let script = format!("exec script -qfc '{launcher} {program} run paint' /dev/null");
        let mut terminal = project.shell(&script, 80, 24);
        terminal.wait_for("enter answer");
        assert!(!running_in(&project).is_empty(), "the program runs in the project");
        terminal.signal(Signal::SIGKILL);
        let ended = look_at_most(Duration::from_secs(20), || running_in(&project).is_empty().then_some(()));
        if ended.is_none() {
            for left in running_in(&project) {
                let _ = kill(left, Signal::SIGKILL);
            }
            panic!("{launcher}: it goes on without a terminal");
        }
        project.rapport(&["status", "paint"]).check(0, "Which colour?");
    }
}

/// The processes of the program that work in a project.
fn running_in(project: &Project) -> Vec<Pid> {
    let directory = project.root().canonicalize().unwrap();
    let is_run = |process: &std::fs::DirEntry| {
        let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let works_there = std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == directory);
        works_there && command.starts_with(env!("CARGO_BIN_EXE_rapport").as_bytes())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter(is_run);
    all.filter_map(|process| process.file_name().to_str()?.parse().ok().map(Pid::from_raw)).collect()
}
