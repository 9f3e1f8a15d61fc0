//! How the flow begins: everything it knows comes from the logs and the notes, whatever ended the process before.

use std::collections::{BTreeSet, HashMap, HashSet};

use rapport_core::Session;
use rapport_door::{DoorError, StoreError};
use tokio::sync::mpsc;

use super::chat_state::{ChatState, Input};
use super::notes::Notes;
use super::outbound::Outbound;
use super::writer::Writer;
use super::{Parts, RunError, turns};
use crate::notice::Notice;
use crate::outbox::Outbox;
use crate::room::Room;

/// A desk with nothing on it yet.
pub(super) fn desk(parts: Parts, back: mpsc::UnboundedSender<Input>) -> Result<ChatState, RunError> {
    let writer = Writer::start(parts.notices.clone());
    let path = parts.files.cards();
    let notes = Notes::open(&path, writer.clone())
        .map_err(|source| RunError::Notes { path: path.display().to_string(), source })?;
    let tell = back.clone();
    let moves = Box::new(move |from, to| drop(tell.send(Input::Moved { from, to })));
    let outbound = Outbound {
        sessions: parts.sessions,
        outbox: Outbox::start_within(parts.limits, parts.api.clone(), moves),
        api: parts.api,
        template: parts.template,
        back,
    };
    Ok(ChatState {
        outbound,
        access: parts.access,
        owner: parts.owner,
        users: parts.users,
        remind: parts.remind,
        now: parts.now,
        notices: parts.notices,
        writer,
        notes,
        folder: parts.folder,
        sessions: HashMap::new(),
        rooms: HashMap::new(),
        tags: HashMap::new(),
        messages: HashMap::new(),
        pending: HashSet::new(),
        early: Vec::new(),
        refused: HashSet::new(),
        closing: HashSet::new(),
        telling: HashMap::new(),
        untold: HashSet::new(),
        grown: HashSet::new(),
        requests: HashSet::new(),
        reminders: BTreeSet::new(),
        busy: HashMap::new(),
        is_stopping: false,
        answered: HashSet::new(),
    })
}

impl ChatState {
    /// Takes up what there is: shows what is not shown yet, and lets go on what should.
    pub(super) async fn take_up(&mut self) -> Result<(), RunError> {
        self.offer_code();
        let (mut going, mut logs) = (Vec::new(), Vec::new());
        for id in self.outbound.sessions.list().await? {
            let entries = match self.outbound.sessions.entries(&id, 0).await {
                Ok(entries) => entries,
                Err(DoorError::Store(StoreError::NotOurs { id, seal })) => {
                    let notice = Notice::NotOurs { session: id.to_string(), why: seal.to_string() };
                    let _ = self.notices.send(notice);
                    continue;
                }
                // One damaged log must not keep the others from being served; `rapport doctor` tells of it.
                Err(_) => continue,
            };
            let Some(session) = Session::replay(&entries) else { continue };
            if let Some(seed) = &session.created().grown_from {
                self.grown.insert((seed.session.clone(), seed.turn));
            }
            self.requests.extend(session.created().request.clone());
            let goes_on = !session.wants().is_empty() || session.deadline().is_some();
            let in_a_chat = session.created().origin.as_ref().and_then(Room::of).is_some();
            let is_ours = in_a_chat && !session.is_over();
            if goes_on && (is_ours || turns::is_ours(&session, &entries)) {
                going.push(id.clone());
            }
            // Of most there is nothing to show any more.
            if !session.is_over() || self.notes.of(&id).is_some() {
                logs.push((id, entries));
            }
        }
        for (id, entries) in logs {
            self.entries(&id, &entries);
        }
        for id in going {
            // Where another process runs it, that one carries on with it.
            let _ = self.outbound.sessions.resume(&id).await;
        }
        Ok(())
    }
}
