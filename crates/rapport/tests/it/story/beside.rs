//! Sessions that work in one directory, side by side and beside a build, do not make each other fail.

use rapport_core::{Changes, Event, SessionId};

use crate::support::project::Project;

/// Files come and go while the state of the project is noted; the agent writes two.
const BUSY_PLACE: &str = r##"
version: 1
name: beside
invocations:
  - result: "# Write\n\n1. Write it."
  - steps:
      - bash: { command: "(for n in $(seq 300); do echo $n > t-$$-$n; rm t-$$-$n; done) > /dev/null 2>&1 &" }
      - write: { path: one.txt, content: "one\n" }
      - bash: { command: "for n in $(seq 50); do echo $n > u-$$-$n; rm u-$$-$n; done" }
    result: "Written."
"##;

#[test]
fn of_twenty_sessions_five_at_a_time_none_fails() {
    let project = Project::with_scenario(BUSY_PLACE);
    for round in 0..4 {
        let names: Vec<_> = (0..5).map(|n| format!("round {round} job {n} end")).collect();
        let runs: Vec<_> = names.iter().map(|name| (name, project.start(&[name], &[]))).collect();
        let confirmed = runs.into_iter().map(|(name, mut running)| {
            running.until_asked();
            project.rapport(&["answer", &name.replace(' ', "-"), "confirm"]).check(0, "Answered.");
            running
        });
        let confirmed: Vec<_> = confirmed.collect();
        for running in confirmed {
            let (code, said) = running.finish_saying();
            assert_eq!(code, 0, "{said}");
        }
    }
    let sessions = project.store().list().unwrap();
    assert_eq!(sessions.len(), 20);
    for session in sessions {
        let changes = changes(&project, &session).unwrap_or_else(|| panic!("{session}: there is a history"));
        assert_eq!(changes.unknown, None, "{session}");
        let ours = |path: &str| path.starts_with(".rapport") || path.starts_with(".claude/todos");
        assert!(!changes.files.iter().any(|file| ours(&file.path)), "{session}: {changes:?}");
    }
}

#[test]
fn a_person_is_told_that_others_are_at_work_in_the_same_directory() {
    let project = Project::with_scenario(BUSY_PLACE);
    let mut first = project.start(&["first"], &[]);
    first.until_asked();
    let mut second = project.start(&["second"], &[]);
    second.until_asked();
    project.rapport(&["cancel", "second"]).check(0, "Cancelled");
    let (code, said) = second.finish_saying();
    assert_eq!(code, 8);
    assert!(said.contains("another session is at work in"), "{said}");
    assert!(said.contains("worktree keeps them apart"), "{said}");
    project.rapport(&["cancel", "first"]).check(0, "Cancelled");
    assert!(!first.finish_saying().1.contains("at work in"), "the first was alone");
}

/// What git says about a repository it cannot read is told, not taken for a project without one.
#[test]
fn a_repository_that_cannot_be_read_is_not_called_no_history() {
    let project = Project::with_scenario(BUSY_PLACE);
    let mut running = project.start(&["write"], &[]);
    running.until_asked();
    std::fs::write(project.root().join(".git/HEAD"), "nonsense").unwrap();
    project.rapport(&["answer", "write", "confirm"]).check(0, "Answered.");
    let (code, said) = running.finish_saying();
    assert_eq!(code, 7, "{said}");
    let failed = project.facts().into_iter().find_map(|fact| match fact {
        Event::Failed { reason } => Some(reason),
        _ => None,
    });
    let reason = failed.unwrap_or_else(|| panic!("nothing was said: {said}"));
    assert!(reason.contains("cannot record the state of the project: git rev-parse failed"), "{reason}");
}

fn changes(project: &Project, session: &SessionId) -> Option<Changes> {
    let entries = project.store().read(session, 0).unwrap();
    entries.into_iter().flat_map(|entry| entry.facts).find_map(|fact| match fact {
        Event::Reported { changes } => changes,
        _ => None,
    })
}
