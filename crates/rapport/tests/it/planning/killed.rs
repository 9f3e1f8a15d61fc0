//! `kill -9` at any moment: the question stays open, the answer counts, the file is written once.

use rapport::agents::rehearsal::scenario::Scenario;
use rapport_core::Event;

use super::{file, project, rounds};

#[test]
fn killed_with_a_question_open_it_goes_on_with_the_answer() {
    let scenario = Scenario::new("killed")
        .asks_questions(&["Which language?", "Which database?"])
        .respond_with_text(&file("Killed", "{{answer:Which language?}} and {{answer:Which database?}}"));
    let project = project(scenario);
    let mut running = project.plan_adaptively(&[]);
    running.until_asked();
    running.kill();
    assert!(!project.root().join("progress.md").exists());
    let open: Vec<_> = project.view().questions.into_iter().map(|question| question.text).collect();
    assert_eq!(open, ["Which language?", "Which database?"]);
    project.answer("q1", "Rust");
    project.answer("q2", "SQLite");
    project
        .rapport(&["run", "--resume", project.session().as_str()])
        .check(0, "2 tasks in 1 phase; next: Begin");
    assert!(project.progress().contains("Rust and SQLite"));
    assert_eq!(rounds(&project), 1, "nobody was asked twice");
}

#[test]
fn killed_before_or_after_any_durable_write_the_file_is_the_same() {
    let scenario = || {
        Scenario::new("crash")
            .respond_with_text("I look around.")
            .asks_questions(&["Which language?"])
            .respond_with_text("no file yet")
            .next_invocation()
            .respond_with_text(&file("Crash", "{{answer:1}}"))
    };
    let undisturbed = project(scenario());
    play(&undisturbed, None);
    let whole = undisturbed.progress();
    assert!(whole.contains("Rust"));
    let writes = undisturbed.store().read(&undisturbed.session(), 0).unwrap().len();
    assert!(writes >= 8, "{writes}");
    for n in 1..=writes {
        for point in [format!("kill-before:{n}"), format!("kill-after:{n}")] {
            let project = project(scenario());
            play(&project, Some(&point));
            assert_eq!(project.progress(), whole, "{point}");
            let facts = project.facts();
            let count = |is: fn(&Event) -> bool| facts.iter().filter(|fact| is(fact)).count();
            assert_eq!(count(|fact| matches!(fact, Event::Answered { .. })), 1, "{point}");
            assert_eq!(count(|fact| matches!(fact, Event::Reported { .. })), 1, "{point}");
            let id = project.session();
            project.rapport(&["diff", id.as_str()]).check(0, "+# Progress: Crash");
            project.rapport(&["undo", id.as_str(), "--yes"]).check(0, "removed: progress.md");
            assert!(!project.root().join("progress.md").exists(), "{point}");
        }
    }
}

/// Plays it to the end, killed once, answering whatever is open.
fn play(project: &crate::support::project::Project, point: Option<&str>) {
    let mut trial: Vec<_> = point.map(|point| ("RAPPORT_TRIAL", point)).into_iter().collect();
    for _ in 0..6 {
        let sessions = project.store().list().unwrap();
        let mut running = match sessions.first() {
            Some(id) => project.launch(&["run", "--json", "--resume", id.as_str()], &trial),
            None => project.launch(&["plan", "--json", "x", "--as", "progress", "--adaptive"], &trial),
        };
        trial.clear();
        let mut over = false;
        while let Some(entry) = running.next() {
            over |= entry.facts.iter().any(|fact| matches!(fact, Event::Reported { .. }));
            if !project.view().questions.is_empty() {
                // It may be dead already, or the answer may kill it: then the next one answers.
                project.rapport(&["answer", project.session().as_str(), "Rust"]);
            }
        }
        if running.finish() == 0 && over {
            return;
        }
    }
    panic!("it never came to an end: {point:?}");
}
