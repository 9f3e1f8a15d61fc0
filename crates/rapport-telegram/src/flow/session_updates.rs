//! Follows sessions: reads the logs found at the start and new entries, and shows the current state of each session.
//! Every session is followed from its first entry.

use rapport_core::{
    Aim, By, Created, Entry, Event, Followed, PhaseView, Presenter, QuestionId, Session, SessionId, TurnKind,
};
use rapport_door::{DoorError, Seen, StoreError, Update};

use super::button::Tag;
use super::card;
use super::cards::CardKey;
use super::chat_state::{ChatState, FAILED, private};
use super::digest;
use super::effect::Effect;
use super::file;
use super::leads::Leads;
use super::shown_sessions::{Newest, ShownSessions};
use super::step_effects::Effects;
use super::turns;
use crate::CHANNEL;
use crate::notice::Notice;
use crate::room::Room;

/// The sessions found at the start.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Logs of conversations that have something to show.
    conversations: Vec<(SessionId, Vec<Entry>)>,
    /// Logs of sessions whose lead was not found before them, and may be found later.
    led: Vec<(SessionId, Vec<Entry>)>,
    /// Sessions that this process resumes.
    resuming: Vec<SessionId>,
    /// Whether all sessions are found.
    is_complete: bool,
}

impl ChatState {
    /// Records a session that was found at the start, and shows it. Conversations are shown once all sessions are
    /// found, because only then is it known which of their turns became sessions. Other logs are not kept in memory
    /// until then.
    pub(super) fn on_found(&mut self, id: SessionId, entries: Result<Vec<Entry>, DoorError>) {
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.on_unfollowed(&id, error),
        };
        if self.sessions.contains_key(&id) {
            // The session is already followed.
            return;
        }
        let Some(presenter) = Presenter::replay(&entries) else { return };
        let session = presenter.session();
        let created = session.created();
        if let Some(place) = self.place(&id, created) {
            self.leads.note_place(&id, created, place);
        }
        let is_unplaced = created.lead.is_some() && self.leads.place_of_led(created).is_none();
        if is_unplaced && !self.found.is_complete {
            self.found.led.push((id, entries));
            return;
        }
        self.dedup.note(created);
        if goes_on_here(session, &entries, &self.leads) {
            self.found.resuming.push(id.clone());
        }
        if let (Some(first), Some((room, owner))) = (entries.first(), self.place(&id, session.created())) {
            self.sessions.note_newest(
                room,
                Newest {
                    began: first.at,
                    id: id.clone(),
                    owner,
                    task: card::title(session.created()).to_owned(),
                },
            );
        }
        if let Some(place) = self.place(&id, session.created()).filter(|_| session.is_over()) {
            self.recent.note(&id, session, place, self.now);
            self.works.note(&id, session, place);
        }
        // Most ended sessions have nothing left to show.
        if session.is_over() && self.notes.of(&id).is_none() {
            return;
        }
        match session.created().aim {
            Aim::Chat => self.found.conversations.push((id, entries)),
            _ if self.is_held_back(&id, &presenter, &entries) => {}
            _ => self.on_replayed(&id, presenter, &entries),
        }
    }

    /// Whether a session is held back until other questions are answered. A session that has to be announced, or that
    /// continues in this process, is not held back.
    fn is_held_back(&mut self, id: &SessionId, presenter: &Presenter, entries: &[Entry]) -> bool {
        let session = presenter.session();
        let is_told = self.notes.of(id).is_none_or(|noted| noted.told >= session.seq());
        let Some(place) = self.place(id, session.created()) else { return false };
        is_told
            && !goes_on_here(session, entries, &self.leads)
            && self.backlog.hold_back(&self.notes, id, presenter, place)
    }

    /// Shows a session whose log was read to its end.
    fn on_replayed(&mut self, id: &SessionId, presenter: Presenter, entries: &[Entry]) {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
        if !self.is_shown(id, presenter.session(), entries) {
            return;
        }
        if self.notes.of(id).is_some_and(|noted| noted.told < last.seq) {
            // An announcement describes the session at its entry, so the entries have to be applied one by one.
            return self.on_entries(id, entries);
        }
        self.show_from(id, first, presenter);
        entries.iter().for_each(|entry| self.remember(id, entry));
        self.refresh(id);
    }

    /// Tells the host about a session that cannot be followed. The other sessions are still served.
    pub(super) fn on_unfollowed(&mut self, id: &SessionId, error: DoorError) {
        let chat = self.backlog.forget(id);
        let session = self.projects.address(id);
        let notice = match error {
            DoorError::Store(StoreError::NotOurs { seal, .. }) => {
                Notice::NotOurs { session, why: seal.to_string() }
            }
            error => Notice::Lost { session, why: error.to_string() },
        };
        self.effects.want(Effect::Notify(notice));
        if let Some(chat) = chat {
            self.backlog.show_next(&self.sessions, &mut self.effects, chat);
        }
    }

    /// Shows the remaining sessions, and resumes those that should continue.
    pub(super) fn on_all_found(&mut self) {
        self.found.is_complete = true;
        for (id, entries) in std::mem::take(&mut self.found.led) {
            self.on_found(id, Ok(entries));
        }
        let Found { conversations, resuming, .. } = std::mem::take(&mut self.found);
        for (id, entries) in conversations {
            self.on_entries(&id, &entries);
        }
        self.backlog.begin(&self.sessions, &mut self.effects);
        for id in resuming {
            self.effects.want(Effect::Resume(id));
        }
    }

    pub(super) fn on_seen(&mut self, seen: Seen) {
        let mut entries = Vec::with_capacity(seen.updates.len());
        for update in seen.updates {
            match update {
                Update::Entry(entry) => entries.push(entry),
                Update::Progress(progress) => {
                    if let Some(shown) = self.sessions.get_mut(&seen.session)
                        && let Some(busy) = &mut shown.busy
                    {
                        busy.note(progress, shown.presenter.session().seen_from(&seen.session));
                    }
                }
                Update::Action(_) => {}
                Update::Lost(why) => {
                    let session = self.projects.address(&seen.session);
                    self.effects.want(Effect::Notify(Notice::Lost { session, why }));
                }
            }
        }
        self.on_entries(&seen.session, &entries);
        self.progress.note_change(&self.sessions, &seen.session);
    }

    /// Applies new entries of a session, and shows the consequences.
    pub(super) fn on_entries(&mut self, id: &SessionId, entries: &[Entry]) {
        let is_shown = self.sessions.contains_key(id);
        if entries.is_empty()
            || self.works.tell_decision(&mut self.effects, (id, is_shown), entries) && !is_shown
        {
            return;
        }
        let chat = self.backlog.forget(id);
        if !self.sessions.contains_key(id) && !self.is_news(id, entries) {
            if let Some(chat) = chat {
                self.backlog.show_next(&self.sessions, &mut self.effects, chat);
            }
            return;
        }
        let mut changed = false;
        for entry in entries {
            match self.follow(id, entry) {
                Followed::Next => changed = true,
                Followed::Old => {}
                Followed::Gap => return self.read(id),
            }
        }
        if changed {
            self.refresh(id);
        }
    }

    /// Whether a session that is not shown yet has to be shown. Entries from before it was first shown are not
    /// announced, but its open questions are shown.
    fn is_news(&mut self, id: &SessionId, entries: &[Entry]) -> bool {
        // The log has to be read from the beginning first.
        if entries.first().is_some_and(|first| first.seq > 1) {
            return true;
        }
        Session::replay(entries).is_some_and(|session| self.is_shown(id, &session, entries))
    }

    /// The same, for a session whose log was read from the beginning.
    fn is_shown(&mut self, id: &SessionId, session: &Session, entries: &[Entry]) -> bool {
        // A session has no place while no user has access.
        if self.place(id, session.created()).is_none() {
            return false;
        }
        if self.notes.of(id).is_some() {
            return true;
        }
        if session.is_over() {
            return false;
        }
        self.notes.note_announced(&mut self.effects, id, if entries.len() == 1 { 0 } else { session.seq() });
        true
    }

    /// Reads the missing part of a session's log.
    fn read(&mut self, id: &SessionId) {
        let after = self.sessions.get(id).map_or(0, |shown| shown.presenter.session().seq());
        self.effects.want(Effect::Read { session: id.clone(), after });
    }

    fn follow(&mut self, id: &SessionId, entry: &Entry) -> Followed {
        let followed = match self.sessions.get_mut(id) {
            Some(shown) => shown.presenter.apply(entry),
            None if entry.seq > 1 => Followed::Gap,
            None => self.begin(id, entry),
        };
        if followed == Followed::Next {
            self.remember(id, entry);
            let told = self.notes.of(id).map_or(0, |noted| noted.told);
            if entry.seq > told {
                self.look_beside(id, entry);
                self.announce(id, entry);
                if let Some(shown) = self.sessions.get(id) {
                    let created = shown.presenter.session().created();
                    let asked = |question: &QuestionId| shown.question(question).cloned();
                    digest::propose(&mut self.effects, (id, created, shown.room), entry, asked);
                }
                self.rewrite_changed(id, entry);
            }
        }
        followed
    }

    /// When the agent of a session of this channel begins to work, looks for other sessions at work in the same
    /// directory.
    fn look_beside(&mut self, id: &SessionId, entry: &Entry) {
        let changes_files = |kind: &TurnKind| matches!(kind, TurnKind::Work | TurnKind::Chat);
        let begins = |fact: &Event| matches!(fact, Event::TurnStarted { kind, .. } if changes_files(kind));
        let Some(shown) = self.sessions.get_mut(id).filter(|shown| shown.at_home && !shown.is_looked_beside)
        else {
            return;
        };
        if entry.facts.iter().any(begins) {
            shown.is_looked_beside = true;
            self.effects.want(Effect::LookBeside(id.clone()));
        }
    }

    fn begin(&mut self, id: &SessionId, entry: &Entry) -> Followed {
        match Presenter::open(entry) {
            Some(presenter) => self.show_from(id, entry, presenter),
            None => Followed::Old,
        }
    }

    /// Shows a session that began with this entry.
    fn show_from(&mut self, id: &SessionId, first: &Entry, presenter: Presenter) -> Followed {
        let Some(place) = self.place(id, presenter.session().created()) else { return Followed::Old };
        let created = presenter.session().created();
        self.leads.note_place(id, created, place);
        let is_led = self.leads.place_of_led(created).is_some();
        self.sessions.show(id, presenter, place, first.at);
        if let Some(shown) = self.sessions.get_mut(id).filter(|_| is_led) {
            shown.at_home = true;
        }
        Followed::Next
    }

    /// The room and the owner of a session. A session that a lead of a room began belongs there. One that began elsewhere
    /// belongs to the first user with access, and is shown only to them: in the topic of its project, if their private
    /// chat has one.
    fn place(&self, id: &SessionId, created: &Created) -> Option<(Room, u64)> {
        if let Some((room, owner)) = self.leads.place_of_led(created) {
            return Some((self.notes.now(room), owner));
        }
        let owner = telegram_id(&created.by).or(self.settings.owner)?;
        let alone =
            || private(owner).map(|alone| self.projects.topic_for(&self.notes, id, alone).unwrap_or(alone));
        let room = created.origin.as_ref().and_then(Room::of).or_else(alone)?;
        Some((self.notes.now(room), owner))
    }

    fn remember(&mut self, id: &SessionId, entry: &Entry) {
        let project = self.projects.of(id).path.clone();
        if entry.facts.iter().any(|fact| matches!(fact, Event::Created(_))) {
            self.sessions.began(id, entry.at, &project);
        }
        let Some(shown) = self.sessions.get_mut(id) else { return };
        self.leads.note(id, shown.presenter.session(), entry);
        for fact in &entry.facts {
            match fact {
                Event::Created(created) => self.dedup.note(created),
                Event::TurnStarted { kind: TurnKind::Chat, prompt, .. } => shown.said = prompt.clone(),
                Event::Said { text, .. } => shown.busy.iter_mut().for_each(|busy| busy.said(text)),
                Event::Used { tool, what, kind, .. } => {
                    let seen_from = shown.presenter.session().seen_from(id);
                    let what = seen_from.subject(*kind, what);
                    shown.busy.iter_mut().for_each(|busy| busy.used(tool, what));
                }
                Event::Stopped { .. } => shown.failed_at = entry.seq,
                Event::Failed { .. } => {
                    let session = shown.presenter.session();
                    shown.failed_at = entry.seq;
                    shown.is_without_questions =
                        session.phase() == PhaseView::Clarifying && session.rounds().next().is_none();
                }
                Event::Answered { by, .. } => {
                    shown.is_answered_here = shown.is_answered_here || telegram_id(by).is_some();
                }
                Event::Restarted { .. } => shown.is_without_questions = false,
                _ => {}
            }
        }
    }

    /// Shows the current state of a session: its cards, its file, its activity.
    pub(super) fn refresh(&mut self, id: &SessionId) {
        let rests = |session: &Session| session.is_failed() || session.is_stopped();
        if let Some(shown) = self.sessions.get(id).filter(|shown| rests(shown.presenter.session())) {
            let key =
                CardKey { session: id.clone(), question: QuestionId::new(FAILED), since: shown.failed_at };
            self.cards.know_tag(shown.room.chat, &key);
        }
        let chat = self.sessions.get(id).map(|shown| shown.room.chat);
        self.recent.note_shown(&self.sessions, id, self.now);
        self.works.note_shown(&self.sessions, id);
        self.show_cards(id);
        let outdated = self.lead_lines.outdated(&self.sessions, &self.notes, id, self.now);
        self.redraw(outdated);
        file::write(&mut self.sessions, &mut self.effects, &self.settings.folder, id);
        self.look_busy(id);
        self.finish_if_over(id);
        turns::release_at_rest(&self.sessions, &mut self.effects, id);
        if let Some(chat) = chat {
            self.backlog.show_next(&self.sessions, &mut self.effects, chat);
        }
    }

    /// Forgets a session that is over, once everything about it is announced.
    pub(super) fn finish_if_over(&mut self, id: &SessionId) {
        let Some(shown) = self.sessions.get(id) else { return };
        if !shown.presenter.session().is_over()
            || shown.announcements.are_pending()
            || self.cards.are_pending_of(id)
        {
            return;
        }
        let cards = self.notes.of(id).map(|noted| noted.cards.clone()).unwrap_or_default();
        if cards.iter().any(|card| !card.closed) {
            return;
        }
        let answers = cards.iter().map(|card| {
            let tag = Tag::of(id, &card.question, card.since);
            (tag, super::card::answer(&shown.presenter, &card.question))
        });
        let (answers, room): (Vec<_>, _) = (answers.collect(), shown.room);
        self.notes.over(&mut self.effects, id, room.chat, answers);
        self.sessions.forget(id);
        self.cards.forget(id);
        self.leads.forget(id);
        self.lead_lines.forget(id);
        self.effects.want(Effect::Release(id.clone()));
    }
}

/// Warns that other sessions are at work in the directory of a session, because their changes cannot be told apart.
pub(super) fn on_beside(sessions: &ShownSessions, effects: &mut Effects, id: &SessionId, others: usize) {
    let Some(room) = sessions.get(id).map(|shown| shown.room).filter(|_| others > 0) else { return };
    let (what, each) = match others {
        1 => ("Another session is".to_owned(), "Either"),
        several => (format!("{several} other sessions are"), "Each"),
    };
    let words = format!(
        "⚠️ {what} at work in the same directory. {each} will list what the others change as its own. Worktrees \
         keep them apart: worker.kind: worktree in the settings."
    );
    effects.say(room, &words);
}

/// Whether this process runs a session after a restart.
fn goes_on_here(session: &Session, entries: &[Entry], leads: &Leads) -> bool {
    let goes_on = !session.wants().is_empty() || session.deadline().is_some();
    let in_a_chat = session.created().origin.as_ref().and_then(Room::of).is_some()
        || leads.place_of_led(session.created()).is_some();
    goes_on && (in_a_chat && !session.is_over() || turns::is_ours(session, entries))
}

fn telegram_id(by: &By) -> Option<u64> {
    match by {
        By::Person { channel, id } if channel == CHANNEL => id.parse().ok(),
        By::Person { .. } | By::Lead { .. } | By::Model { .. } | By::Rule { .. } => None,
    }
}
