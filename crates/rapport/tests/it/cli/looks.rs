//! The look of command output: colour where it is wanted, aligned columns, local times, and a pager if the terminal
//! is too small.

use serde_json::Value;

use crate::support::project::Project;
use crate::support::scenarios::{BUSY, ONE_QUESTION};

/// A project in which a session asks, and one with a longer name was begun.
fn project() -> Project {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    project.rapport(&["new", "paint-the-fence"]).check(0, "");
    project
}

#[test]
fn colour_is_used_where_it_is_wanted() {
    let project = project();
    for args in [&["status"][..], &["log", "paint"], &["log", "--tree"], &["doctor"]] {
        let plain = project.rapport(args).out();
        assert!(!plain.contains('\u{1b}'), "{args:?}: {plain:?}");
        let never = project.rapport(&[args, &["--color", "never"]].concat()).out();
        assert!(!never.contains('\u{1b}'), "{args:?}: {never:?}");
        let coloured = project.rapport(&[args, &["--color", "always"]].concat()).out();
        assert!(coloured.contains("\u{1b}[3"), "{args:?}: {coloured:?}");
    }
    let mut terminal = project.terminal(&["status"], 100, 24);
    terminal.wait_for("needs input");
    terminal.wait_for("left 0");
    let raw = String::from_utf8_lossy(terminal.raw());
    assert!(raw.contains("\u{1b}[35m"), "{raw:?}");
    // A terminal without colours gets none, nor does a person who reads line by line.
    for (name, value) in [("TERM", "dumb"), ("RAPPORT_PLAIN", "1")] {
        let project = self::project().set(name, value);
        let mut terminal = project.terminal(&["status"], 100, 24);
        terminal.wait_for("left 0");
        assert!(!terminal.raw().contains(&0x1b), "{:?}", String::from_utf8_lossy(terminal.raw()));
    }
}

/// Many sessions are listed in groups, those that need a person first.
#[test]
fn many_sessions_are_listed_in_groups() {
    let project = project();
    assert!(!project.rapport(&["status"]).out().contains("Waiting for you"), "two need no headings");
    project.rapport(&["new", "sow"]).check(0, "");
    project.rapport(&["new", "reap"]).check(0, "");
    project.rapport(&["cancel", "sow"]).check(0, "");
    let listed = project.rapport(&["status"]).out();
    let place = |words: &str| listed.find(words).unwrap_or_else(|| panic!("{words}: {listed}"));
    let places = [
        place("Waiting for you (1)"),
        place("-paint "),
        place("At rest (2)"),
        place("-paint-the-fence"),
        place("Ended (1)"),
        place("-sow"),
    ];
    assert!(places.is_sorted(), "{listed}");
}

#[test]
fn sessions_are_listed_in_columns_those_that_wait_for_somebody_first() {
    let project = project();
    let listed = project.rapport(&["status"]).out();
    let rows: Vec<_> = listed.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(rows.len(), 2, "{listed}");
    assert!(rows[1].contains("paint-the-fence  idle"), "{listed}");
    let column = |row: &str, word: &str| row.find(word).unwrap();
    assert_eq!(column(rows[0], "needs input"), column(rows[1], "idle"), "{listed}");
    assert_eq!(column(rows[0], " ago"), column(rows[1], " ago"), "{listed}");
    // A narrow terminal shows names and states as a whole.
    let mut terminal = project.terminal(&["status"], 50, 15);
    terminal.wait_for("needs input");
    terminal.wait_for("left 0");
    let shown = terminal.text();
    assert!(shown.lines().any(|line| line.contains("-paint-the-fence  idle")), "{shown}");
}

/// A name is there to be copied, however long it is and however narrow the terminal.
#[test]
fn a_name_is_never_shortened() {
    let project = project();
    let project = project.set("PAGER", "cat");
    project.rapport(&["new", "paint-the-shed-behind-the-house-of-the-neighbours"]).check(0, "");
    let ids = project.store().list().unwrap();
    let long = ids.iter().map(|id| id.as_str()).find(|id| id.contains("neighbours")).unwrap();
    for (columns, rows) in [(50, 15), (80, 24), (120, 40)] {
        let mut terminal = project.terminal(&["status"], columns, rows);
        terminal.wait_for("left 0");
        let raw = String::from_utf8_lossy(terminal.raw());
        assert!(raw.contains(long), "{columns}: {}", terminal.text());
    }
}

/// A command that is longer than the terminal is wide is wrapped by the terminal alone, and copied as a whole.
#[test]
fn a_command_is_not_broken_by_a_narrow_terminal() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut terminal = project.terminal(&["run", "paint the fence of the neighbours"], 40, 20);
    terminal.wait_for("enter answer");
    terminal.send("d");
    terminal.wait_for("left 130");
    let command = format!("rapport answer {}", project.session());
    assert!(command.len() > 40, "{command}");
    let raw = String::from_utf8_lossy(terminal.raw());
    assert!(raw.contains(&command), "{raw:?}");
}

/// A name as it was given is meant, although another contains it.
#[test]
fn the_exact_name_after_the_date_wins() {
    let project = project();
    project.rapport(&["status", "paint"]).check(0, "Which colour?");
    project.rapport(&["status", "paint-the"]).check(0, "paint-the-fence  idle");
    project.rapport(&["status", "pain"]).check(2, "several session names contain pain");
}

#[test]
fn times_are_those_of_clocks_here() {
    let project = project();
    let hour = |zone: &str| {
        let ran = project.command().env("TZ", zone).args(["log", "paint"]).output().unwrap();
        let line = String::from_utf8(ran.stdout).unwrap();
        line[11..13].parse::<i32>().unwrap()
    };
    assert_eq!((hour("<+05>-5") - hour("UTC0")).rem_euclid(24), 5);
}

/// What does not fit the terminal goes through the pager that the environment names; what fits does not.
#[test]
fn a_pager_shows_what_does_not_fit() {
    let project = project().set("PAGER", "sed 's/^/paged /'");
    for args in [&["log", "paint"][..], &["status"], &["doctor"]] {
        let mut small = project.terminal(args, 80, 5);
        small.wait_for("paged ");
        small.wait_for("left 0");
    }
    let mut large = project.terminal(&["log", "paint"], 120, 50);
    large.wait_for("wants: paint");
    large.wait_for("left 0");
    assert!(!large.text().contains("paged "), "{}", large.text());
    let missing = project.set("PAGER", "no-such-pager");
    let mut terminal = missing.terminal(&["log", "paint"], 80, 5);
    terminal.wait_for("left 0");
    assert!(terminal.text().contains("asks: q1"), "{}", terminal.text());
}

/// All commands describe a killed session in the same way; scripts learn that no process runs it.
#[test]
fn words_about_a_killed_session_do_not_contradict_each_other() {
    let project = Project::with_scenario(BUSY);
    let mut running = project.start(&["do it"], &[]);
    running.until(|fact| matches!(fact, rapport_core::Event::Said { .. }));
    let held: Value = project.json(&["status", "--json"]);
    assert_eq!(held[0]["held"], true);
    project.rapport(&["status"]).check(0, "-do-it  running");
    running.kill();
    for args in [&["status"][..], &["log", "--tree"], &["status", "do-it"]] {
        project.rapport(args).check(0, "-do-it  stopped");
    }
    let view: Value = project.json(&["status", "--json"]);
    assert_eq!((&view[0]["status"], &view[0]["held"]), (&"running".into(), &false.into()));
}

/// A person who cancels in the middle of the work sees what it wrote by then, and how to undo that.
/// An agent that asks when it has written half.
const HALF: &str = r##"
version: 1
name: half
invocations:
  - result: "# Half\n\n1. Write it."
  - steps:
      - write: { path: half.txt, content: "half\n" }
      - ask: { questions: ["Go on?"] }
    result: "Done."
"##;

/// By keys in the middle of the work, as by the command.
#[test]
fn cancelling_by_keys_says_what_was_written() {
    let project = Project::with_scenario(HALF);
    let mut terminal = project.terminal(&["run", "write"], 100, 40);
    terminal.wait_for("enter or c confirm");
    terminal.send("c");
    terminal.wait_for("Go on?");
    terminal.wait_for("esc cancel");
    terminal.send("\x1b");
    terminal.wait_for("Cancel the session?");
    terminal.send("y");
    terminal.wait_for("left 8");
    let (id, all) = (project.session(), terminal.everything());
    for words in [
        "It had changed these files, which stay as they are:\n    half.txt\n".to_owned(),
        format!("See the changes with: rapport diff {id}\n"),
        format!("Undo them with: rapport undo {id}\n"),
    ] {
        assert!(all.contains(&words), "{words} is missing in\n{all}");
    }
    assert_eq!(project.file("half.txt"), "half\n");
}

#[test]
fn cancelling_says_what_was_written() {
    let project = Project::with_scenario(HALF);
    let mut running = project.start(&["write"], &[]);
    running.until_asked();
    project.rapport(&["answer", "write", "confirm"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, rapport_core::Event::Snapshotted { .. }));
    let id = project.session();
    let cancelled = project.rapport(&["cancel", "write"]);
    cancelled.check(0, "It had changed these files, which stay as they are:\n  half.txt\n");
    cancelled.check(0, &format!("Undo them with: rapport undo {id}\n"));
    assert_eq!(running.finish(), 8);
    project.rapport(&["undo", id.as_str(), "--yes"]).check(0, "removed: half.txt");
    // Before the work began nothing was written.
    let mut running = project.start(&["write more"], &[]);
    running.until_asked();
    assert_eq!(project.rapport(&["cancel", "write-more"]).out().lines().count(), 1);
    assert_eq!(running.finish(), 8);
}

/// Without a login the agent cannot work: doctor fails, and says how to log in.
#[test]
fn doctor_says_whether_the_cli_is_logged_in() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Project::with_agent("");
    let cli = project.path("claude");
    let script = "#!/bin/sh\ncase $1 in --version) echo '2.1.325 (Claude Code)';; \
        auth) echo '{\"loggedIn\": '$LOGGED_IN'}';; esac\n";
    std::fs::write(&cli, script.replace("$LOGGED_IN", "false")).unwrap();
    std::fs::set_permissions(&cli, std::fs::Permissions::from_mode(0o755)).unwrap();
    let project = project.set("RAPPORT_AGENT_COMMAND", &cli.display().to_string());
    let doctor = project.rapport(&["doctor"]);
    doctor.check(1, "bad      agent      2.1.325 (Claude Code), not logged in").check(1, "claude auth login");
    std::fs::write(&cli, script.replace("$LOGGED_IN", "true")).unwrap();
    project.rapport(&["doctor"]).check(0, "ok       agent      2.1.325");
}
