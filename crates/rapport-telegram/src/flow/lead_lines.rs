//! The lines on cards that say what the lead does with a question. They change while the card stays where it is, so the
//! card is edited: the time that the lead has left, that it asks its person, that it passed the question on.

use std::collections::HashMap;

use jiff::Timestamp;
use rapport_core::SessionId;

use super::card;
use super::cards::CardKey;
use super::notes::Notes;
use super::shown_sessions::{ShownSession, ShownSessions};

/// The lines as the cards show them.
#[derive(Debug, Default)]
pub(super) struct LeadLines {
    drawn: HashMap<CardKey, Option<String>>,
}

impl LeadLines {
    /// The cards whose line is out of date, of all sessions with a lead. From now on they count as drawn.
    pub(super) fn outdated_in_all(
        &mut self,
        sessions: &ShownSessions,
        notes: &Notes,
        now: Timestamp,
    ) -> Vec<CardKey> {
        let ids: Vec<_> =
            sessions.iter().filter(|(_, shown)| is_led(shown)).map(|(id, _)| id.clone()).collect();
        ids.iter().flat_map(|id| self.outdated(sessions, notes, id, now)).collect()
    }

    /// The same for one session.
    pub(super) fn outdated(
        &mut self,
        sessions: &ShownSessions,
        notes: &Notes,
        id: &SessionId,
        now: Timestamp,
    ) -> Vec<CardKey> {
        let Some(shown) = sessions.get(id).filter(|shown| is_led(shown)) else { return Vec::new() };
        let keys: Vec<_> = shown.presenter.focus().iter().map(|focus| CardKey::of(id, focus)).collect();
        self.drawn.retain(|key, _| key.session != *id || keys.contains(key));
        let mut outdated = Vec::new();
        for key in keys {
            let line = card::lead_line(&shown.presenter, &key.question, now);
            let has_arrived = notes.is_known(&key);
            match self.drawn.get(&key) {
                // It is being drawn with this line.
                None if !has_arrived => drop(self.drawn.insert(key, line)),
                // An earlier process has drawn it.
                None if line.is_none() => drop(self.drawn.insert(key, line)),
                Some(drawn) if *drawn == line => {}
                // It changes again when it has arrived.
                Some(_) if !has_arrived => {}
                None | Some(_) => {
                    self.drawn.insert(key.clone(), line);
                    outdated.push(key);
                }
            }
        }
        outdated
    }

    /// Forgets the cards of a session.
    pub(super) fn forget(&mut self, id: &SessionId) {
        self.drawn.retain(|key, _| key.session != *id);
    }
}

fn is_led(shown: &ShownSession) -> bool {
    shown.presenter.session().created().lead.is_some()
}
