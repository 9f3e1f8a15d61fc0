//! Tasks whose words make odd names, and projects in odd places.

use std::path::Path;

use rapport_core::{Event, View};

use super::finish;
use crate::support::project::Project;
use crate::support::scenarios::{ONE_QUESTION, PERMISSION};

/// Every file below a directory.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => files(&path),
            path => vec![path.display().to_string()],
        })
        .collect()
}

#[test]
fn whatever_the_task_is_called_its_files_stay_where_they_belong() {
    let long = "y".repeat(300);
    let names = [
        ("../../x", "x"),
        (".", "untitled"),
        ("/etc/passwd", "etc-passwd"),
        ("con", "con-1"),
        ("\u{1f389}", "tada"),
        ("a\0b".trim_end_matches("\0b"), "a"),
        (long.as_str(), &long[..60]),
        ("--", "untitled-2"),
    ];
    let project = Project::with_scenario(PERMISSION);
    let sessions = project.root().join(".rapport/sessions");
    for (task, name) in names {
        let mut running = project.start(&["--", task], &[]);
        let Event::PlanSaved { path, .. } = running.until(|fact| matches!(fact, Event::PlanSaved { .. }))
        else {
            unreachable!("that is what was waited for")
        };
        running.kill();
        assert!(path.starts_with(".claude/todos/build/") && !path.contains(".."), "{task:?}: {path}");
        assert!(project.root().join(&path).is_file(), "{task:?}: {path}");
        let all: Vec<View> = project.json(&["status", "--json"]);
        assert!(
            all.iter().any(|view| view.id.as_str().ends_with(&format!("-{name}"))),
            "{task:?} is not called {name}"
        );
    }
    assert_eq!(std::fs::read_dir(sessions).unwrap().count(), names.len());
    let everything = files(project.path("").as_path());
    let inside = project.root().display().to_string();
    let home = project.path("home").display().to_string();
    let scenario = project.path("scenario.yaml").display().to_string();
    let astray: Vec<_> = everything
        .iter()
        .filter(|path| !path.starts_with(&inside) && !path.starts_with(&home) && **path != scenario)
        .collect();
    assert!(astray.is_empty(), "{astray:?}");
}

#[test]
fn projects_in_odd_places() {
    let deep = format!("{0}/{0}/{0}", "a-rather-long-name-for-a-folder-".repeat(3));
    for name in ["with spaces and 'quotes\"", "ünïcödé \u{1f980}", "-dash", "new\nline", &deep] {
        let project = Project::called(name, "").playing(ONE_QUESTION);
        let mut running = project.start(&["paint"], &[]);
        running.until_asked();
        project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
        running.kill();
        finish(&project);
        assert_eq!(project.file("paint.txt"), "Blue\n", "{name:?}");
        project.rapport(&["status", "paint"]).check(0, "added     paint.txt");
    }
}

/// A socket's path is short; a home whose path is not has its sockets elsewhere.
#[test]
fn a_home_too_deep_for_a_socket() {
    let project = Project::with_scenario(ONE_QUESTION);
    let deep = project.path(&"deep/".repeat(40));
    let temporary = project.path("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let project =
        project.set("RAPPORT_HOME", deep.to_str().unwrap()).set("TMPDIR", temporary.to_str().unwrap());
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let answered: serde_json::Value = project.json(&["answer", "--json", "paint", "Blue"]);
    assert_eq!(answered["running"], true, "the process that runs it was reached");
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
}
