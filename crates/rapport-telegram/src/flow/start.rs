//! The start of the channel. Its state comes only from the logs and the notes, so it does not matter how the previous
//! process ended.

use std::path::Path;

use futures_util::StreamExt as _;
use futures_util::stream;
use rapport_core::SessionId;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::chat_state::{ChatState, Settings};
use super::effect::{Effect, Input};
use super::notes::Notes;
use super::outbound::{Outbound, Tickets, unfollowed};
use super::projects::Projects;
use super::quiet_hours::QuietTimes;
use super::writer::Writer;
use super::{ChannelParts, RunError, tick};
use crate::durable;
use crate::ledger::Ledger;
use crate::notice::Notice;
use crate::outbox::{Outbox, Report};
use crate::{BotFiles, Now};

/// The number of logs that are read at the same time.
const READERS: usize = 4;

/// Reads the ledger of updates and the notes.
pub(super) async fn read_files(files: BotFiles) -> Result<(Ledger, Notes), RunError> {
    let read = move || {
        let ledger = Ledger::open(&files.offset())?;
        let path = files.cards();
        let notes = open_notes(&path);
        let notes = notes.map_err(|source| RunError::Notes { path: path.display().to_string(), source })?;
        Ok((ledger, notes))
    };
    spawn_blocking(read).await.unwrap_or_else(|error| Err(RunError::Task(error.to_string())))
}

/// The initial state with the notes, and the executor of effects.
pub(super) fn assemble(
    parts: ChannelParts,
    notes: Notes,
    inputs: mpsc::UnboundedSender<Input>,
    logs: mpsc::Sender<Input>,
) -> (ChatState, Outbound) {
    let (tell, notices) = (inputs.clone(), parts.notices.clone());
    let reports = Box::new(move |report| match report {
        Report::Moved { from, to } => drop(tell.send(Input::Moved { from, to })),
        Report::Paused { chat, length } => drop(notices.send(Notice::Paused { chat, length })),
    });
    let projects = Projects::new(parts.project, parts.others);
    let settings = Settings {
        owner: parts.owner,
        remind: parts.remind,
        folder: parts.folder,
        can_hear: parts.transcriber.is_some(),
        quiet: QuietTimes::new(parts.quiet, parts.zone),
        budget: parts.budget,
        has_lead: parts.has_lead,
    };
    let outbound = Outbound {
        sessions: parts.sessions,
        outbox: Outbox::start_within(parts.limits, parts.api.clone(), reports),
        api: parts.api,
        template: parts.template,
        lookers: parts.lookers.into(),
        new_quick_work: parts.new_quick_work,
        new_branch: parts.new_branch,
        projects: parts.known_projects,
        users: parts.users,
        transcriber: parts.transcriber,
        secrets: parts.secrets.into(),
        writer: Writer::start(parts.notices.clone()),
        notes: parts.files.cards(),
        notices: parts.notices,
        tickets: Tickets::default(),
        inputs,
        logs,
    };
    (ChatState::new(settings, projects, parts.access, notes), outbound)
}

/// Reads the notes, and compacts their file. Blocks until that is on disk.
fn open_notes(path: &Path) -> std::io::Result<Notes> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let notes = Notes::parse(&text);
    durable::replace(path, notes.text().as_bytes())?;
    Ok(notes)
}

/// Shows the existing sessions that are not shown yet, and resumes those that should continue.
pub(super) async fn resume_sessions(
    state: &mut ChatState,
    outbound: &Outbound,
    now: &Now,
) -> Result<(), RunError> {
    outbound.execute(state.step(tick(), now()));
    let read = |id: SessionId| async move { (outbound.sessions.entries(&id, 0).await, id) };
    let mut found = stream::iter(outbound.sessions.list().await?).map(read).buffered(READERS);
    while let Some((entries, id)) = found.next().await {
        outbound.execute(state.step(Input::Found(id, entries), now()));
    }
    let is_resume = |effect: &Effect| matches!(effect, Effect::Resume(_));
    let (resumes, others) = state.step(Input::AllFound, now()).into_iter().partition(is_resume);
    outbound.execute(others);
    for resume in resumes {
        // Sessions are resumed one after the other, and before any update is handled.
        if let Effect::Resume(id) = resume
            && let Err(error) = outbound.sessions.resume(&id).await
            && let Some(input) = unfollowed(id, error)
        {
            outbound.execute(state.step(input, now()));
        }
    }
    Ok(())
}
