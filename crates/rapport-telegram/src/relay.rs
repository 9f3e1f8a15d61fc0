//! Imports the files of an older relay. Its sessions continue here, with all their answers.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rapport_core::{Aim, By, ConversationId, InteractiveFile, InteractiveState, Session};
use rapport_door::{DoorError, Sessions};
use rapport_settings::Sources;

use crate::CHANNEL;
use crate::flow::{Project, Template, file};
use crate::room::Room;

/// The directory of chat files in this home. Older relays and their tools use it as well, so their variable takes
/// precedence.
pub(crate) fn chat_files(home: &Path, settings: &Sources) -> PathBuf {
    relay_dir(settings).unwrap_or_else(|| home.to_owned()).join("sessions")
}

/// The default directory of an older relay.
pub(crate) fn default_folder(settings: &Sources) -> Option<PathBuf> {
    let home = settings.variable("HOME").filter(|home| !home.is_empty() && relay_dir(settings).is_none())?;
    Some(Path::new(&home).join(".claude-relay/sessions"))
}

fn relay_dir(settings: &Sources) -> Option<PathBuf> {
    settings.variable("RELAY_DIR").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Imports the sessions of the files in a directory, unless they were imported before. Files of projects that are not
/// served stay in place.
pub(crate) async fn import(
    folder: &Path,
    sessions: &dyn Sessions,
    (template, projects): (&Template, impl Iterator<Item = &Project> + Clone),
    owner: Option<u64>,
) -> Result<(), DoorError> {
    let files = found(folder.to_owned()).await;
    if files.is_empty() {
        return Ok(());
    }
    let known = conversations(sessions).await?;
    for (room, left) in files {
        let conversation = ConversationId::new(left.session_id.clone());
        if left.state == InteractiveState::Done || known.contains(&conversation) {
            continue;
        }
        let person = u64::try_from(room.chat).ok().or(owner);
        // If the project is not among these, the session continues when that project is served again. Older files name
        // no project.
        let is_its_own = |project: &&Project| left.project.as_ref().is_none_or(|path| *path == project.path);
        let Some(project) = projects.clone().find(is_its_own) else { continue };
        let mut created = template(&project.path, left.task.clone(), Aim::Work);
        created.conversation = conversation;
        created.origin = Some(room.into());
        if let Some(person) = person {
            created.by = By::Person { channel: CHANNEL.into(), id: person.to_string() };
        }
        // A file from which no session can begin is damaged.
        let Ok(facts) = left.revive(created) else { continue };
        sessions.import(facts, left.created_at).await?;
    }
    Ok(())
}

/// The files of rooms in a directory. A damaged file stays in place; the next plan in its chat replaces it.
async fn found(folder: PathBuf) -> Vec<(Room, InteractiveFile)> {
    let read = tokio::task::spawn_blocking(move || {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| {
            let room = file::room(entry.file_name().to_str()?)?;
            let left = serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()?;
            Some((room, left))
        });
        files.collect()
    });
    read.await.unwrap_or_default()
}

async fn conversations(sessions: &dyn Sessions) -> Result<HashSet<ConversationId>, DoorError> {
    let mut known = HashSet::new();
    for id in sessions.list().await? {
        let session = sessions.entries(&id, 0).await.ok().and_then(|entries| Session::replay(&entries));
        known.extend(session.map(|session| session.created().conversation.clone()));
    }
    Ok(known)
}
