//! Recently ended sessions: the files that they produced, and the list with costs in `/status`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rapport_core::{Aim, Session, SessionId, Status};
use rapport_door::Content;

use super::backlog::Backlog;
use super::button::Tag;
use super::callbacks::{NOT_YOURS, Tap};
use super::card;
use super::effect::{AfterContent, ContentForm, Effect, Ticket};
use super::notes::Notes;
use super::shown_sessions::{ShownSession, ShownSessions};
use super::step_effects::Effects;
use crate::room::Room;

/// How long a session counts as recent after its end.
const LATELY: SignedDuration = SignedDuration::from_hours(24);

/// An ended session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedWork {
    /// The room and the owner of the session.
    pub(super) place: (Room, u64),
    /// The task of the session; `None` for a conversation.
    pub(super) task: Option<String>,
    pub(super) status: Status,
    pub(super) at: Timestamp,
    pub(super) cost_micros: u64,
    /// The files for which the message about the end of the session has buttons.
    pub(super) files: Vec<String>,
}

/// The sessions that ended within the last day, the oldest first.
#[derive(Debug, Default)]
pub(super) struct RecentWork {
    ended: BTreeMap<(Timestamp, SessionId), EndedWork>,
}

impl RecentWork {
    /// Records an ended session for a day.
    pub(super) fn note(&mut self, id: &SessionId, session: &Session, place: (Room, u64), now: Timestamp) {
        let view = session.view(id);
        if !is_lately(view.updated_at, now) {
            return;
        }
        self.ended.retain(|(at, known), _| known != id && is_lately(*at, now));
        let task = (view.aim != Aim::Chat).then_some(view.task);
        let (status, at, cost_micros) = (view.status, view.updated_at, view.usage.cost_micros);
        let files = card::offered_files(view.changes.as_ref());
        self.ended.insert((at, id.clone()), EndedWork { place, task, status, at, cost_micros, files });
    }

    /// Records a session that is shown, if it is over.
    pub(super) fn note_shown(&mut self, sessions: &ShownSessions, id: &SessionId, now: Timestamp) {
        if let Some(shown) = sessions.get(id).filter(|shown| shown.presenter.session().is_over()) {
            self.note(id, shown.presenter.session(), (shown.room, shown.owner), now);
        }
    }

    /// Handles a tap on a file that ended work produced, and sends the file.
    pub(super) fn on_tap(&self, notes: &Notes, effects: &mut Effects, tap: Tap, tag: &Tag, place: usize) {
        let ended = self.ended.iter().find(|((_, id), _)| Tag::files(id) == *tag);
        let found = ended.and_then(|((_, id), ended)| Some((id, ended.place, ended.files.get(place)?)));
        let Some((id, (room, owner), path)) = found else {
            return effects.only_answer(tap, "That was more than a day ago. /file <path> sends any file.");
        };
        if !notes.may(tap.by, room, owner) {
            return effects.only_answer(tap, NOT_YOURS);
        }
        effects.answer_tap(tap.query, "");
        send_file(effects, id.clone(), path.clone(), tap.room, tap.ticket);
    }

    /// A user's recent sessions in rooms that may be shown, the latest first.
    pub(super) fn lately(
        &self,
        notes: &Notes,
        user: u64,
        now: Timestamp,
        is_shown: impl Fn(Room) -> bool,
    ) -> Vec<EndedWork> {
        let theirs = |ended: &&EndedWork| {
            let (room, owner) = ended.place;
            ended.task.is_some() && is_shown(room) && notes.may(user, room, owner)
        };
        let lately = self.ended.values().rev().filter(|ended| is_lately(ended.at, now));
        lately.filter(theirs).cloned().collect()
    }

    /// The sessions that a user may steer and that ended in rooms that may be shown.
    pub(super) fn ids<'a>(
        &'a self,
        notes: &'a Notes,
        user: u64,
        is_shown: impl Fn(Room) -> bool + 'a,
    ) -> impl Iterator<Item = &'a SessionId> {
        let theirs = move |ended: &EndedWork| {
            let (room, owner) = ended.place;
            ended.task.is_some() && is_shown(room) && notes.may(user, room, owner)
        };
        self.ended.iter().filter(move |(_, ended)| theirs(ended)).map(|((_, id), _)| id)
    }

    /// The cost of the last day, in millionths of a dollar, of all sessions of a user: ended, shown and held back.
    pub(super) fn spent(
        &self,
        sessions: &ShownSessions,
        backlog: &Backlog,
        user: u64,
        now: Timestamp,
    ) -> u64 {
        let ended = self.ended.values().filter(|ended| is_lately(ended.at, now) && ended.place.1 == user);
        let open = sessions.iter().filter(|(_, shown)| shown.owner == user);
        let cost = |(id, shown): (&SessionId, &ShownSession)| {
            let view = shown.presenter.session().view(id);
            let is_noted = self.ended.contains_key(&(view.updated_at, id.clone()));
            (is_lately(view.updated_at, now) && !is_noted).then_some(view.usage.cost_micros)
        };
        let held_back = backlog.spent(user, now - LATELY);
        ended.map(|ended| ended.cost_micros).sum::<u64>() + open.filter_map(cost).sum::<u64>() + held_back
    }
}

fn is_lately(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) < LATELY
}

/// Sends a file of a session's workplace to a room.
pub(super) fn send_file(effects: &mut Effects, session: SessionId, path: String, room: Room, ticket: Ticket) {
    let name = path.rsplit('/').next().unwrap_or(&path);
    let form = ContentForm::File { caption: card::short(&path, 200), file: card::short(name, 100) };
    let then = AfterContent { room, ticket, form, work: None };
    effects.want(Effect::ReadContent { session, content: Content::File(path), then });
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNA: u64 = 42;
    const BERT: u64 = 43;
    const HOME: Room = Room { chat: 42, topic: None };
    const GROUP: Room = Room { chat: -7, topic: None };

    fn hours(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours)
    }

    /// The name of a session, the hour of its end, its room and owner, and its task.
    type Ended<'a> = (&'a str, i64, (Room, u64), Option<&'a str>);

    fn ended(all: &[Ended<'_>]) -> RecentWork {
        let ended = all.iter().map(|(name, at, place, task)| {
            let work = EndedWork {
                place: *place,
                task: task.map(str::to_owned),
                status: Status::Completed,
                at: hours(*at),
                cost_micros: 10,
                files: vec!["src/main.rs".into()],
            };
            ((hours(*at), SessionId::new(*name)), work)
        });
        RecentWork { ended: ended.collect() }
    }

    #[test]
    fn work_is_listed_for_a_day_to_those_who_may_see_it() {
        let recent = ended(&[
            ("a", 0, (HOME, ANNA), Some("old")),
            ("b", 10, (HOME, ANNA), Some("new")),
            ("c", 11, (HOME, ANNA), None),
            ("d", 12, (GROUP, ANNA), Some("in a group")),
            ("e", 13, (GROUP, BERT), Some("of another person")),
        ]);
        let tasks = |user, now, is_shown: fn(Room) -> bool| {
            let lately = recent.lately(&Notes::default(), user, hours(now), is_shown);
            lately.into_iter().filter_map(|ended| ended.task).collect::<Vec<_>>()
        };
        assert_eq!(
            tasks(ANNA, 20, |_| true),
            ["in a group", "new", "old"],
            "the latest first, no conversations"
        );
        assert_eq!(tasks(ANNA, 24, |_| true), ["in a group", "new"]);
        assert_eq!(tasks(ANNA, 20, |room| room == GROUP), ["in a group"]);
        assert_eq!(tasks(BERT, 20, |_| true), ["of another person"]);
    }

    #[test]
    fn the_cost_of_a_day_includes_conversations_and_ends_with_it() {
        let recent = ended(&[("a", 0, (HOME, ANNA), Some("x")), ("c", 11, (HOME, ANNA), None)]);
        let spent =
            |user, now| recent.spent(&ShownSessions::default(), &Backlog::default(), user, hours(now));
        assert_eq!([spent(ANNA, 12), spent(ANNA, 24), spent(ANNA, 36), spent(BERT, 12)], [20, 10, 0, 0]);
    }

    #[test]
    fn only_those_who_may_see_work_get_its_files() {
        let recent = ended(&[("a", 0, (HOME, ANNA), Some("x"))]);
        let tapped = |by, place| {
            let (message, query, data) = (Some(7), Some("q".to_owned()), String::new());
            let tap =
                Tap { room: HOME, by, query, data, message, seen: None, about: None, ticket: Ticket(1) };
            let (mut effects, tag) = (Effects::default(), Tag::files(&SessionId::new("a")));
            recent.on_tap(&Notes::default(), &mut effects, tap, &tag, place);
            let kinds = effects.take(|_| false);
            kinds.iter().map(|effect| rapport_door::variant(effect)).collect::<Vec<_>>()
        };
        assert_eq!(tapped(ANNA, 0), ["AnswerTap", "ReadContent"]);
        assert_eq!(tapped(ANNA, 1), ["AnswerTap", "Finish"], "there is no second file");
        assert_eq!(tapped(BERT, 0), ["AnswerTap", "Finish"]);
    }
}
