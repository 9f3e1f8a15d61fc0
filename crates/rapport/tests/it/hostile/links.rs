//! Links and pipes among Rapport's own files: nothing is read or written behind a link that leads elsewhere, and no
//! command waits for the writer of a pipe.

use std::os::unix::fs::symlink;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::Hostile;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

fn clone() -> Hostile {
    let clone = Hostile::of(Project::with_scenario(ONE_QUESTION));
    std::fs::create_dir(clone.project.path("elsewhere")).unwrap();
    std::fs::write(clone.project.path("elsewhere/secret"), "a-secret\n").unwrap();
    clone
}

/// What a person may do there.
const COMMANDS: [&[&str]; 8] = [
    &["status"],
    &["status", "--json"],
    &["log", "x"],
    &["doctor"],
    &["run", "--json", "greet"],
    &["new", "greet"],
    &["plan", "-m", "greet", "--dry-run"],
    &["undo", "--yes"],
];

// `.rapport`, what is in it, and `global.context` as links that lead out of the project.
#[test]
fn links_that_lead_out_of_the_project_are_refused() {
    for link in [
        ".rapport",
        ".rapport/sessions",
        ".rapport/batches",
        ".rapport/global.context",
        ".rapport/memos.yaml",
    ] {
        let clone = clone();
        let path = clone.project.root().join(link);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let target =
            if link.contains("context") || link.contains("memos") { "elsewhere/secret" } else { "elsewhere" };
        symlink(clone.project.path(target), &path).unwrap();
        let before = clone.outside();
        for command in COMMANDS {
            let ran = clone.rapport(command);
            ran.check(3, "is a link that leads out of the project");
            assert!(!ran.out().contains("a-secret"), "{command:?}");
        }
        assert_eq!(clone.outside(), before, "{link}");
    }
}

/// A link that stays in the project is the person's own way to arrange it.
#[test]
fn links_within_the_project_are_followed() {
    let clone = clone();
    clone.brings("team.context", "README.md\n");
    std::fs::create_dir(clone.project.root().join(".rapport")).unwrap();
    symlink("../team.context", clone.project.root().join(".rapport/global.context")).unwrap();
    clone.project.rapport(&["new", "greet"]).check(0, "");
    clone.project.rapport(&["plan", "-m", "x", "--dry-run"]).check(0, "README.md");
}

// Sessions, turns and files in them as links.
#[test]
fn links_in_sessions_are_not_followed() {
    let clone = clone();
    clone.project.rapport(&["new", "own"]).check(0, "");
    let sessions = clone.project.root().join(".rapport/sessions");
    let own = sessions.join(clone.project.session().as_str());
    symlink(clone.project.path("elsewhere"), sessions.join("20260101-linked")).unwrap();
    symlink(clone.project.path("elsewhere"), own.join("01")).unwrap();
    symlink(clone.project.path("elsewhere"), own.join("kept")).unwrap();
    std::fs::remove_file(own.join("session.context")).unwrap();
    symlink(clone.project.path("elsewhere/secret"), own.join("session.context")).unwrap();
    let before = clone.outside();
    assert!(!clone.rapport(&["status"]).out().contains("linked"));
    clone.rapport(&["log", "20260101-linked"]).check(4, "");
    let shown = clone.rapport(&["plan", "-m", "x", "--dry-run"]);
    assert!(!shown.out().contains("a-secret"), "{}", shown.out());
    for command in COMMANDS.into_iter().filter(|command| command[0] != "run") {
        let ran = clone.rapport(command);
        assert!(!ran.out().contains("a-secret"), "{command:?}: {}", ran.out());
    }
    assert_eq!(clone.outside(), before);
}

/// A log that is a link is not read, not even one that this person wrote: the link's author decides where it leads.
#[test]
fn a_log_that_is_a_link_is_refused() {
    let clone = clone();
    clone.project.rapport(&["new", "own"]).check(0, "");
    let id = clone.project.session();
    let log = clone.project.root().join(".rapport/sessions").join(id.as_str()).join("log.jsonl");
    clone.rapport(&["log", id.as_str()]).check(0, "");
    let moved = clone.project.path("elsewhere/log.jsonl");
    std::fs::rename(&log, &moved).unwrap();
    symlink(&moved, &log).unwrap();
    let before = std::fs::read(&moved).unwrap();
    for command in [&["log", id.as_str()][..], &["status", id.as_str()], &["plan", "-m", "x", "--dry-run"]] {
        let ran = clone.rapport(command);
        assert!(
            ran.code() != 0 && ran.err().contains("symbolic link"),
            "{command:?}: {}{}",
            ran.out(),
            ran.err()
        );
    }
    assert_eq!(std::fs::read(&moved).unwrap(), before);
}

// A pipe as a log, a lock, settings, a context: no command waits for its writer.
#[test]
fn pipes_keep_nobody_waiting() {
    for pipe in [
        ".rapport/config.yaml",
        ".rapport/global.context",
        ".rapport/memos.yaml",
        ".rapport/sessions/20260101-x/log.jsonl",
        ".rapport/batches/x/journal.jsonl",
        ".mcp.json",
        ".claude/settings.json",
        "CLAUDE.md",
    ] {
        let clone = clone();
        let path = clone.project.root().join(pipe);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        for command in [
            &["status"][..],
            &["log", "20260101-x"],
            &["answer", "20260101-x", "y"],
            &["doctor"],
            &["trust"],
            &["undo", "--yes"],
        ] {
            clone.rapport(command);
        }
        clone.rapport(&["new", "greet"]);
        clone.rapport(&["plan", "-m", "x", "--dry-run"]);
    }
}

/// A clone contains a link, and an agent that does not know it writes through it: the person who is asked reads where
/// it leads, and nothing of that file. A rule about the name does not cover it.
#[test]
fn who_allows_a_write_reads_where_a_link_leads() {
    const WRITES: &str = r##"
version: 1
name: writes
invocations:
  - result: "# Plan\n\n1. Write."
  - steps:
      - write: { path: notes.txt, content: "one\n", permission: true }
      - bash: { command: "rm notes.txt; ln -s ../precious notes.txt" }
      - write: { path: notes.txt, content: "two\n", permission: true }
    result: "Done."
"##;
    let clone = Hostile::of(Project::with_scenario(WRITES).recorded());
    let precious = clone.project.path("precious");
    std::fs::write(&precious, "PRECIOUS\n").unwrap();
    let mut run = clone.project.start(&["write"], &[]);
    run.until_asked();
    clone.project.rapport(&["answer", "write", "confirm"]).check(0, "Answered.");
    run.until_asked();
    clone.project.rapport(&["answer", "write", "session"]).check(0, "Answered.");
    // The same name is asked about again.
    run.until_asked();
    let led = format!("it is a link that leads to {}", precious.canonicalize().unwrap().display());
    let shown = clone.project.rapport(&["status", "--json", "write"]).out();
    assert!(shown.contains(&led) && !shown.contains("PRECIOUS"), "{shown}");
    clone.project.rapport(&["answer", "write", "deny"]).check(0, "Answered.");
    run.finish();
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "PRECIOUS\n");
}
