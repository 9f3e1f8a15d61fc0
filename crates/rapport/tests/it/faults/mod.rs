//! Faults from outside: wrong words, odd names, torn writes, damaged files, full disks, dying agents, killed
//! processes. Each time a message says what happened and why, and the session still works afterwards.

mod agents;
mod asking;
mod callers;
mod logs;
mod names;
mod places;
mod privacy;
mod settings;
mod store;
mod trust;
mod words;

use rapport_core::Event;

use crate::support::project::Project;

/// Takes the only session of [`ONE_QUESTION`](crate::support::scenarios::ONE_QUESTION) up, and plays it to its end.
#[track_caller]
fn finish(project: &Project) {
    let id = project.session();
    let mut running = project.start(&["--resume", id.as_str()], &[]);
    if project.view().answers.is_empty() {
        project.wait_asked_for("q1");
        project.rapport(&["answer", id.as_str(), "Blue"]).check(0, "Answered.");
    }
    project.wait_asked_for("confirm");
    project.rapport(&["answer", id.as_str(), "confirm"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, Event::Reported { .. }));
    assert_eq!(running.finish(), 0);
}
