//! Recently ended sessions: their files, and with the costs for `/status`.

use jiff::{SignedDuration, Timestamp};
use rapport_core::{Aim, Session, SessionId, Status};
use rapport_door::Content;

use super::button::Tag;
use super::callbacks::{NOT_YOURS, Tap};
use super::card;
use super::chat_state::ChatState;
use super::effect::{AfterContent, ContentForm, Effect, Ticket};
use super::shown_sessions::ShownSession;
use crate::room::Room;

/// How far back "recently" goes.
const LATELY: SignedDuration = SignedDuration::from_hours(24);

/// A session that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedWork {
    /// Its room and its owner.
    pub(super) place: (Room, u64),
    /// Its task; `None` for a conversation.
    pub(super) task: Option<String>,
    pub(super) status: Status,
    pub(super) at: Timestamp,
    pub(super) cost_micros: u64,
    /// The files that the message about its end offers.
    pub(super) files: Vec<String>,
}

impl ChatState {
    /// Records an ended session, for a day.
    pub(super) fn note_ended(&mut self, id: &SessionId, session: &Session, place: (Room, u64)) {
        let view = session.view(id);
        let is_lately = |at: Timestamp, now: Timestamp| now.duration_since(at) < LATELY;
        if !is_lately(view.updated_at, self.now) {
            return;
        }
        let now = self.now;
        self.ended.retain(|(at, known), _| known != id && is_lately(*at, now));
        let task = (view.aim != Aim::Chat).then_some(view.task);
        let (status, at, cost_micros) = (view.status, view.updated_at, view.usage.cost_micros);
        let files = card::offered_files(view.changes.as_ref());
        self.ended.insert((at, id.clone()), EndedWork { place, task, status, at, cost_micros, files });
    }

    /// The same for a session that is shown.
    pub(super) fn note_if_over(&mut self, id: &SessionId) {
        let Some(shown) = self.sessions.get(id).filter(|shown| shown.presenter.session().is_over()) else {
            return;
        };
        let (session, place) = (shown.presenter.session().clone(), (shown.room, shown.owner));
        self.note_ended(id, &session, place);
    }

    /// Sends a file that ended work left.
    pub(super) fn on_file_tap(&mut self, tap: Tap, tag: &Tag, place: usize) {
        let ended = self.ended.iter().find(|((_, id), _)| Tag::files(id) == *tag);
        let found = ended.and_then(|((_, id), ended)| Some((id, ended.place, ended.files.get(place)?)));
        let Some((id, (room, owner), path)) = found else {
            return self
                .effects
                .only_answer(tap, "That was more than a day ago. /file <path> sends any file.");
        };
        if !self.notes.may(tap.by, room, owner) {
            return self.effects.only_answer(tap, NOT_YOURS);
        }
        let (session, path) = (id.clone(), path.clone());
        self.effects.answer_tap(tap.query, "");
        self.send_file(session, path, tap.room, tap.ticket);
    }

    /// Sends a file of a session's workplace to a room.
    pub(super) fn send_file(&mut self, session: SessionId, path: String, room: Room, ticket: Ticket) {
        let name = path.rsplit('/').next().unwrap_or(&path);
        let form = ContentForm::File { caption: card::short(&path, 200), file: card::short(name, 100) };
        let then = AfterContent { room, ticket, form, work: None };
        self.effects.want(Effect::ReadContent { session, content: Content::File(path), then });
    }

    /// The recently ended sessions of a user in rooms that are to be shown, the latest first.
    pub(super) fn ended_lately(&self, user: u64, is_shown: impl Fn(Room) -> bool) -> Vec<EndedWork> {
        let is_lately = |ended: &&EndedWork| self.now.duration_since(ended.at) < LATELY;
        let theirs = |ended: &&EndedWork| {
            let (room, owner) = ended.place;
            ended.task.is_some() && is_shown(room) && self.notes.may(user, room, owner)
        };
        self.ended.values().rev().filter(is_lately).filter(theirs).cloned().collect()
    }

    /// The cost of the last day, in millionths of a dollar, of all the user's sessions.
    pub(super) fn spent(&self, user: u64) -> u64 {
        let is_lately = |at: Timestamp| self.now.duration_since(at) < LATELY;
        let ended = self.ended.values().filter(|ended| is_lately(ended.at) && ended.place.1 == user);
        let open = self.sessions.iter().filter(|(_, shown)| shown.owner == user);
        let cost = |(id, shown): (&SessionId, &ShownSession)| {
            let view = shown.presenter.session().view(id);
            let is_noted = self.ended.contains_key(&(view.updated_at, id.clone()));
            (is_lately(view.updated_at) && !is_noted).then_some(view.usage.cost_micros)
        };
        let held_back = self.backlog.spent(user, self.now - LATELY);
        ended.map(|ended| ended.cost_micros).sum::<u64>() + open.filter_map(cost).sum::<u64>() + held_back
    }
}
