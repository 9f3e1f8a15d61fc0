//! Commands and cards in terminals of three sizes. Colour is never the only carrier of information: the text is the
//! same without it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport_core::Event;

use crate::files::{self, greeting};
use crate::support::patience::{look_at_most, wait_for};
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::scenarios::{ONE_QUESTION, PERMISSION};

/// The usual terminal, a large one, and a corner of a screen.
pub(super) const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (50, 15)];

/// A project with a session that asks, one that is done, one that was cancelled, and a session of two turns.
pub(super) fn busy() -> Project {
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
pub(super) fn masked(text: &str) -> String {
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
    for (name, args) in [
        ("status", &["status"][..]),
        ("log", &["log", "door"]),
        ("tree", &["log", "--tree"]),
        ("diff", &["diff", "door"]),
    ] {
        insta::assert_snapshot!(format!("window-{name}"), at_each_size(&project, args));
    }
}

/// What `doctor` finds is beside its name, and what to do below it, at each size. How long its lines are depends on
/// where the project is.
#[test]
fn doctor_fits_each_terminal() {
    let project = on_a_known_machine(Project::with_agent("no-such-agent").set("PAGER", "cat"));
    for (columns, rows) in SIZES {
        let mut terminal = project.terminal(&["doctor"], columns, rows);
        terminal.wait_for("left 1");
        let all = terminal.everything();
        let (found, _) =
            all.split_once("rapport: what needs fixing: agent").unwrap_or_else(|| panic!("{all}"));
        for row in found.lines().filter(|row| !row.is_empty()) {
            let is_first = ["ok       ", "missing  ", "bad      "].iter().any(|state| row.starts_with(state));
            let is_below =
                row.starts_with(&" ".repeat(20)) || row.starts_with("    ") && !row.starts_with("     ");
            assert!(is_first || is_below, "{row:?} in\n{all}");
        }
        for command in ["npm install -g @anthropic-ai/claude-code", "apt-get install bubblewrap"] {
            let is_whole = all.lines().any(|row| row.ends_with(command));
            assert!(is_whole, "{command} is broken:\n{all}");
        }
    }
}

/// The same, all of it, as another program reads it: no line of it depends on where the project is.
#[test]
fn doctor_says_what_it_found() {
    let project = on_a_known_machine(Project::with_agent("no-such-agent"));
    let ran = project.rapport(&["doctor"]);
    let text = ran.check(1, "").out().replace(&name_of(&project), "/dir");
    insta::assert_snapshot!("window-doctor", masked(&text));
}

/// The project on a machine with git and what the shell of a test needs, and nothing else.
pub(super) fn on_a_known_machine(project: Project) -> Project {
    let programs = project.path("programs");
    std::fs::create_dir_all(&programs).unwrap();
    for name in ["stty", "tr", "grep"] {
        let path = std::env::var("PATH").unwrap();
        let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.exists());
        std::os::unix::fs::symlink(found.unwrap(), programs.join(name)).unwrap();
    }
    std::fs::write(programs.join("git"), "#!/bin/sh\necho git version 2.45.1\n").unwrap();
    std::fs::set_permissions(programs.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    project.set("PATH", programs.to_str().unwrap()).set("DOCKER_HOST", "unix:///nonexistent")
}

/// Plays a story at each size, and shows the whole screen from the last row on that begins with this. What is above
/// it depends on how often the screen was drawn.
fn cards_from(
    first: &str,
    story: impl Fn(&Project, &mut Pty),
    make: impl Fn() -> Project,
    args: &[&str],
) -> String {
    let shown = SIZES.map(|(columns, rows)| {
        let project = make();
        let mut terminal = project.terminal(args, columns, rows);
        story(&project, &mut terminal);
        let all = terminal.everything();
        let rows_shown: Vec<_> = all.split("\nleft 0").next().unwrap().trim_end().lines().collect();
        let start = rows_shown.iter().rposition(|row| row.trim_start().starts_with(first));
        let start = start.unwrap_or_else(|| panic!("{first} is not in\n{all}"));
        let text = rows_shown[start..].join("\n").replace(&name_of(&project), "/dir");
        format!("{columns}x{rows}\n{}\n", masked(&text))
    });
    shown.join("\n")
}

/// Three questions at once.
const ROUND: &str = r##"
version: 1
name: round
invocations:
  - steps:
      - ask:
          questions:
            - { header: Colour, question: "Which colour should the fence have?", options: [{ label: Red, description: "As the barn" }, { label: Blue, description: "As the sky" }] }
            - { header: Coats, question: "How many coats of it?", options: [{ label: One }, { label: Two }] }
            - { header: Weather, question: "Which weather does it have to stand?", options: [{ label: Rain }, { label: Snow, description: "For months, and at twenty degrees below zero" }] }
    result: "# Paint\n\n1. Paint it {{answer:1}}."
  - steps:
      - write: { path: paint.txt, content: "{{answer:1}}\n" }
    result: "Painted in **{{answer:1}}**. Look at `paint.txt`."
"##;

/// What a person meets from the first question to the report, and what asks before it does something.
#[test]
fn a_story_fits_each_terminal() {
    let round = || Project::with_scenario(ROUND);
    let answer_all = |pty: &mut Pty| {
        pty.wait_for("Q1 of 3");
        pty.wait_for("enter answer");
        pty.send("1");
        pty.wait_for("Q2 of 3");
        pty.send("2");
        pty.wait_for("Q3 of 3");
    };
    let chips = cards_from(
        "Q3 of 3",
        |_, pty| {
            answer_all(pty);
            pty.wait_for("? help");
        },
        round,
        &["run", "paint"],
    );
    insta::assert_snapshot!("window-chips", chips);
    let help = cards_from(
        "Keys",
        |_, pty| {
            pty.wait_for("Q1 of 3");
            pty.wait_for("? help");
            pty.send("?");
            pty.wait_until("the keys", |shown| shown.contains("goes back") || shown.contains("q back"));
        },
        round,
        &["run", "paint"],
    );
    insta::assert_snapshot!("window-help", help);
    // What does not fit is there when it is scrolled to.
    let project = round();
    let mut terminal = project.terminal(&["run", "paint"], 50, 15);
    terminal.wait_for("Q1 of 3");
    terminal.wait_for("? help");
    terminal.send("?");
    terminal.wait_for("q back");
    terminal.send("G");
    terminal.wait_for("suspend; fg in the shell resumes");
    terminal.send("x");
    terminal.wait_for("Q1 of 3");
    let last_look = cards_from(
        "Your answers",
        |_, pty| {
            answer_all(pty);
            pty.send("2");
            pty.wait_for("Send these answers");
        },
        round,
        &["run", "paint"],
    );
    insta::assert_snapshot!("window-last-look", last_look);
    let to_the_plan = |pty: &mut Pty| {
        answer_all(pty);
        pty.send("2");
        pty.wait_for("Send these answers");
        pty.send("\r");
        pty.wait_for("enter or c confirm");
    };
    let confirmation = cards_from(
        "Task  paint",
        |_, pty| {
            to_the_plan(pty);
            pty.wait_for("? help");
        },
        round,
        &["run", "paint"],
    );
    insta::assert_snapshot!("window-confirmation", confirmation);
    let edited = cards_from(
        "Task  paint",
        |project, pty| {
            to_the_plan(pty);
            pty.send("e");
            pty.wait_for("Which answer do you want to change?");
            pty.send("1");
            pty.wait_for("esc keep the answer");
            pty.send("2");
            wait_for("the answer to be changed", || {
                (project.view().answers[0].answer == "Blue").then_some(())
            });
            pty.wait_for("enter or c confirm");
            pty.wait_for("? help");
        },
        round,
        &["run", "paint"],
    );
    insta::assert_snapshot!("window-edited", edited);
    // A longer plan scrolls away with its warning; the card that asks has one of its own, also in a small window.
    let long: String = (1..=40).map(|n| format!("\\n{n}. Paint board {n}.")).collect();
    let project =
        Project::with_scenario(&ROUND.replace("\\n\\n1. Paint it {{answer:1}}.", &format!("\\n{long}")));
    for (columns, rows) in [(80, 24), (50, 15)] {
        let mut terminal = project.terminal(&["run", &format!("paint {columns}")], columns, rows);
        to_the_plan(&mut terminal);
        terminal.wait_for("Start the work with this plan?");
        assert!(!terminal.text().contains("older than an answer"), "{}", terminal.text());
        terminal.send("e");
        terminal.wait_for("Which answer do you want to change?");
        terminal.send("1");
        terminal.wait_for("esc keep the answer");
        terminal.send("2");
        terminal.wait_for("Its text is older than an answer of yours.");
        assert!(terminal.text().contains("Start the work with this plan?"), "{}", terminal.text());
    }
    let report = cards_from(
        "✓ Done",
        |_, pty| {
            to_the_plan(pty);
            pty.send("c");
            pty.wait_for("left 0");
        },
        round,
        &["run", "paint"],
    );
    insta::assert_snapshot!("window-report", report);
    let done = || {
        let project = files::project(&[&greeting()]);
        project.plan_turn("one").check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
        project
    };
    let undo = cards(
        |_, pty| {
            pty.wait_for("(y)es / (n)o ›");
            pty.send("x");
            pty.wait_until("explained, and asked again", |shown| {
                shown.contains("nothing else decides") && shown.trim_end().ends_with('›')
            });
        },
        done,
        &["undo"],
    );
    insta::assert_snapshot!("window-undo", undo);
}

/// The same line by line, for people with a screen reader or without another terminal.
#[test]
fn lines_fit_each_terminal() {
    let permission = cards(
        |_, pty| {
            pty.wait_for("confirm Plan >");
            pty.send("yes\n");
            pty.wait_for("May the agent use Bash");
            pty.wait_until("a prompt", |shown| {
                shown.lines().last().is_some_and(|row| row.starts_with("q1 "))
            });
        },
        || Project::with_scenario(PERMISSION),
        &["run", "--plain", "build"],
    );
    insta::assert_snapshot!("window-lines-permission", permission);
    let confirmation = cards(
        |_, pty| {
            pty.wait_for("Which colour?");
            pty.wait_until("a prompt", |shown| shown.trim_end().ends_with('>'));
            pty.send("Red\n");
            pty.wait_for("confirm Plan >");
        },
        || Project::with_scenario(ONE_QUESTION),
        &["run", "--plain", "paint"],
    );
    insta::assert_snapshot!("window-lines-confirmation", confirmation);
    let planned = || {
        let project = files::project(&[&greeting()]);
        project.plan_turn("one").check(0, "");
        project
    };
    let review = cards(
        |_, pty| {
            pty.wait_for("(q)uit ›");
            pty.send("m\n");
            pty.wait_until("the items", |shown| {
                shown.contains("] EXECUTE") && shown.trim_end().ends_with('›')
            });
        },
        planned,
        &["resume", "--plain"],
    );
    insta::assert_snapshot!("window-lines-review", review);
}

/// A command that a person is to copy is in one row, or is wrapped only by the terminal.
#[test]
fn no_command_on_a_screen_is_broken() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cli/snapshots");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if !file.file_name().unwrap().to_string_lossy().contains("window-") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for row in text.lines().filter(|row| row.contains("rapport ")) {
            seen += 1;
            assert!(!row.trim_end().ends_with(" rapport"), "{}: {row}", file.display());
        }
        let at_an_end =
            text.lines().any(|row| row.trim_end().ends_with(" rapport") || row.trim() == "rapport");
        assert!(!at_an_end, "{}: a command begins at the end of a row", file.display());
        for row in text.lines() {
            assert!(row.matches('`').count().is_multiple_of(2), "{}: {row}", file.display());
        }
    }
    assert!(seen > 5, "only {seen} commands were found");
}

/// A path that a person is to copy is whole as well, where it is longer than a row: only the terminal wraps it.
#[test]
fn no_path_on_a_screen_is_broken() {
    let project = busy().set("PAGER", "cat");
    let outside = name_of(&project);
    let mut seen = 0;
    // The branch has a similar name, so it comes last.
    for args in [&["status", "door"][..], &["log", "door"], &["branch", "door", "--at", "q1"]] {
        let mut terminal = project.terminal(args, 50, 15);
        terminal.wait_for("left 0");
        let printed = String::from_utf8_lossy(terminal.raw()).into_owned();
        let paths = printed
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| word.starts_with(&outside));
        for path in paths {
            seen += usize::from(path.len() > 50);
            assert!(Path::new(path).exists(), "{path} is a part of a path, in\n{printed}");
        }
    }
    assert!(seen >= 2, "only {seen} long paths were found");
}

/// The directory around a project, whose name is another one each time.
pub(super) fn name_of(project: &Project) -> String {
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

/// A permission to change files shows the change itself: what is replaced, a diff with the existing file, a cell.
#[test]
fn cards_of_changes_show_the_change() {
    let steps: [(&str, &str, &[&str]); 3] = [
        (
            "Edit",
            r#"edit: { path: notes.txt, find: "two", replace: "2", permission: true }"#,
            &["    - two", "    + 2"],
        ),
        (
            "Write",
            r#"write: { path: notes.txt, content: "one\n2\nthree\n", permission: true }"#,
            &["      @@ -1,3 +1,3 @@", "      one", "    - two", "    + 2", "      three"],
        ),
        (
            "NotebookEdit",
            r#"tool: { name: NotebookEdit, permission: true, result: ok,
            input: { notebook_path: notes.ipynb, cell_id: one, new_source: "print(2)" } }"#,
            &["      notes.ipynb", "      cell_id: one", "    + print(2)"],
        ),
    ];
    for (tool, step, change) in steps {
        let scenario = format!(
            "version: 1\nname: change\ninvocations:\n  - result: \"# Plan\\n\\n1. Change it.\"\n  - steps:\n      \
             - {step}\n    result: Done.\n"
        );
        for (columns, rows) in [(80, 24), (120, 40)] {
            let project = Project::with_scenario(&scenario).set("NO_COLOR", "1");
            std::fs::write(project.root().join("notes.txt"), "one\ntwo\nthree\n").unwrap();
            let mut terminal = project.terminal(&["run", "change"], columns, rows);
            terminal.wait_for("enter or c confirm");
            terminal.send("c");
            terminal.wait_for(&format!("May the agent use {tool} for this?"));
            terminal.wait_for("enter answer");
            let text = terminal.text();
            let lines: Vec<_> = text.lines().collect();
            assert!(lines.windows(change.len()).any(|shown| shown == change), "{tool}:\n{text}");
            for words in [
                "with exactly what is shown",
                "whatever the content",
                "until the",
                "session here",
                "Rapport's home",
            ] {
                assert!(text.contains(words), "{tool}: {words}:\n{text}");
            }
        }
    }
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
    terminal.wait_for("q back");
    terminal.send("x");
    terminal.wait_gone("q back");
    terminal.wait_for("Which colour?");
    let all = terminal.everything();
    assert_eq!(all.matches("Which colour?").count(), 1, "{all}");
    terminal.send("1");
    terminal.wait_for("→ Red");
    let all = terminal.everything();
    assert_eq!(all.matches("enter answer").count(), 0, "{all}");
}

/// A question that comes up by itself rings, unless the setting says otherwise.
#[test]
fn a_question_rings_as_the_setting_says() {
    for (notify, rings) in [(None, "\x07"), (Some("desktop"), "\x1b]9;Rapport: "), (Some("off"), "")] {
        let project = Project::with_scenario(ONE_QUESTION);
        if let Some(notify) = notify {
            std::fs::create_dir_all(project.root().join(".rapport")).unwrap();
            let settings = format!("terminal:\n  notify: {notify}\n");
            std::fs::write(project.root().join(".rapport/config.yaml"), settings).unwrap();
        }
        let mut terminal = project.terminal(&["run", "paint"], 80, 24);
        terminal.wait_for("↑↓ move");
        terminal.send("1");
        terminal.wait_for("enter or c confirm");
        let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
        assert_eq!(
            raw.contains('\x07') || raw.contains("\x1b]9;"),
            notify != Some("off"),
            "{notify:?}: {raw:?}"
        );
        assert!(raw.contains(rings), "{notify:?}: {raw:?}");
    }
}

/// A card that is taller than the window after it shrank: each key draws it anew, and leaves no copy above.
#[test]
fn a_tall_card_in_a_shrunk_window_leaves_no_copies() {
    let options: Vec<_> = (1..=14).map(|n| format!("{{ label: Colour {n} }}")).collect();
    let tall = ONE_QUESTION.replace("{ label: Red }, { label: Blue }", &options.join(", "));
    let project = Project::with_scenario(&tall);
    let mut terminal = project.terminal(&["run", "paint"], 80, 24);
    terminal.wait_for("14. Colour 14");
    terminal.wait_for("enter answer");
    terminal.resize(50, 15);
    terminal.wait_for("more below");
    let before = terminal.everything();
    for _ in 0..5 {
        terminal.send("\x1b[B");
    }
    terminal.send("\x1b[A");
    terminal.wait_for("❯  5. Colour 5");
    let after = terminal.everything();
    let copies = |text: &str| text.matches("Which colour?").count();
    assert!(copies(&after) <= copies(&before), "before:\n{before}\n\nafter:\n{after}");
    assert!(after.lines().count() <= before.lines().count() + 1, "before:\n{before}\n\nafter:\n{after}");
}

/// A window that is closed while a card is shown ends the program, whether the system signals that or only its
/// terminal is gone. What was asked waits.
#[test]
fn a_closed_window_ends_the_program() {
    // A session of its own gets no signal when the window of another is closed. With the last one, the thread that
    // reads keys never returns, as it happens if the window is closed while it reads.
    for launcher in ["exec", "exec setsid --wait", "exec setsid --wait env RAPPORT_TRIAL_KEYS=stay"] {
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
