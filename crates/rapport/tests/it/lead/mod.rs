//! A lead in front of the person: it is asked first, once, for a limited time, and answers only what it may.

mod detached;
mod digests;
mod faults;
mod killed;
mod offering;
mod passing_on;
mod real;
mod same_instant;
mod tasks;
mod worked_example;

use rapport_core::{Event, SessionId};

use crate::support::project::Project;

/// The conversation that leads, after its first turn; no process runs it.
fn begin_lead(project: &Project, agent: &str) -> SessionId {
    let mut chat = project.launch(&["chat", "--json", "--agent", agent, "hello"], &[]);
    chat.until(|fact| matches!(fact, Event::TurnEnded { .. }));
    chat.kill();
    project.session()
}

/// The facts of a session.
fn facts(project: &Project, id: &SessionId) -> Vec<Event> {
    let entries = project.store().read(id, 0).unwrap();
    entries.into_iter().flat_map(|entry| entry.facts).collect()
}

/// The session that is not the lead.
fn worker(project: &Project, lead: &SessionId) -> SessionId {
    let all = project.store().list().unwrap();
    all.into_iter().find(|id| id != lead).unwrap()
}
