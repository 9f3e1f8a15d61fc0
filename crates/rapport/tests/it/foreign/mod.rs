//! Sessions and batches that came with a clone: they can be read, and start nothing until the person trusts them. The
//! hostile logs are real ones, written by another person's Rapport.

mod batches;
mod mcp;
mod sessions;
mod trusted;
mod turns;

use std::path::{Path, PathBuf};
use std::process::Command;

use rapport::channels::telegram::room::Room;
use rapport::stores::Holder;
use rapport::stores::blocking::BlockingStore;
use rapport_core::{Entry, Event, SessionId};

use crate::support::project::Project;
use crate::support::scenarios::PERMISSION;

/// The chat that a hostile log names.
pub(crate) const CHAT: i64 = 4242;

/// A session of a stranger in which a command was allowed and has not run: if it were resumed, it would run at once.
pub(crate) fn strangers_session() -> (Project, SessionId) {
    let stranger = Project::with_scenario(PERMISSION);
    let mut running = stranger.start(&["build"], &[]);
    running.until_asked();
    stranger.rapport(&["answer", "build", "confirm"]).check(0, "Answered.");
    running.until_asked();
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    stranger.rapport(&["answer", "build", "Allow", "once"]).check(0, "Answered.");
    let session = stranger.session();
    (stranger, session)
}

/// Puts what the stranger has into the victim's project, as a clone does.
pub(crate) fn clone(stranger: &Project, victim: &Project) {
    let (from, to) = (stranger.root().join(".rapport"), victim.root());
    assert!(Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap().success());
    victim.git(&["add", "--all", "--force"]);
    victim.git(&["commit", "--quiet", "-m", "What came with it"]);
}

/// Puts the stranger's sessions into the victim's project, and not their worktrees, as a `git pull` does.
pub(crate) fn pull_sessions(stranger: &Project, victim: &Project) {
    let (from, to) = (stranger.root().join(".rapport/sessions"), victim.root().join(".rapport"));
    std::fs::create_dir_all(&to).unwrap();
    assert!(Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap().success());
}

/// The same as a log without seals, as an older Rapport wrote it, which names a chat.
pub(crate) fn clone_unsigned(stranger: &Project, session: &SessionId, victim: &Project) -> SessionId {
    let from = stranger.store();
    let mut entries = from.read(session, 0).unwrap();
    if let Some(Event::Created(created)) = entries[0].facts.first_mut() {
        created.origin = Some(Room { chat: CHAT, topic: None }.into());
    }
    let conversation = from.attached(session, "conversation").unwrap();
    write(&victim.store(), &entries, conversation.as_deref())
}

fn write(store: &BlockingStore, entries: &[Entry], conversation: Option<&[u8]>) -> SessionId {
    let reserved = store.reserve("build", entries[0].at).unwrap();
    let id = reserved.id().clone();
    let kept: Vec<_> = conversation.iter().map(|content| ("conversation", *content)).collect();
    reserved.fill(entries, &kept).unwrap();
    id
}

/// A victim, with an agent that leaves records when it is started.
fn victim() -> Project {
    Project::with_scenario(PERMISSION).recorded()
}

/// Whether an agent was started.
fn was_started(victim: &Project) -> bool {
    victim.path("records").exists() || !victim.file("built.txt").is_empty()
}

fn log_of(project: &Project, session: &SessionId) -> PathBuf {
    project.root().join(".rapport/sessions").join(session.as_str()).join("log.jsonl")
}

fn add_line(log: &Path, store: &BlockingStore, session: &SessionId) {
    let before = std::fs::read(log).unwrap();
    let holder = Holder { pid: 1, address: None, host: None };
    let (_, mut writer) = store.hold(session, &holder).unwrap();
    writer.append(jiff::Timestamp::now(), vec![Event::Failed { reason: "x".into() }]).unwrap();
    assert_ne!(std::fs::read(log).unwrap(), before);
}
