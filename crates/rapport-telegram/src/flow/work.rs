//! Work that was done apart from the project: whoever owns the session sees its changes here, and then applies it, discards it, or has
//! it revised. Its session is over, so it is not among those that are shown; a tag of the session and of the end of its work that was
//! seen identifies it.

use std::collections::{BTreeSet, HashMap};

use rapport_core::{Act, ApplyTo, Entry, Event, NotMerged, QuestionId, Session, SessionId, WorkplaceState};
use rapport_door::Content;

use super::button::{Button, Grave, Tag};
use super::callbacks::{NOT_YOURS, Tap, prompt};
use super::card;
use super::chat_state::ChatState;
use super::effect::{AfterContent, AfterSend, Becomes, CHANGES, ContentForm, Effect, SessionOp, Thanks};
use super::messages::Visit;
use super::notes::Revising;
use crate::outgoing::Outgoing;
use crate::room::Room;

/// The pseudo question what becomes of the work.
const WORK: &str = "work";
const DECIDED: &str = "This work was decided about, or has changed since.";
const SOMEBODY_ELSES: &str = "Only whoever tapped ✍️ Revise can say what to change.";
/// The maximum length of the task of other work, and of the files that both change.
const LONGEST_TASK: usize = 100;
const LONGEST_FILES: usize = 300;

/// Work that waits for a decision, and work about which somebody has just decided here.
#[derive(Debug, Default)]
pub(super) struct Works {
    waiting: HashMap<Tag, WaitingWork>,
    /// The rooms that are told the outcome.
    deciding: HashMap<SessionId, Room>,
}

#[derive(Clone, Debug)]
struct WaitingWork {
    session: SessionId,
    task: String,
    room: Room,
    owner: u64,
    /// The end of the work that was seen.
    end: u32,
    project: String,
    /// The files that it changes.
    files: BTreeSet<String>,
}

/// The tag of the work of a session as it is now, if it waits for a decision.
pub(super) fn tag(id: &SessionId, session: &Session) -> Option<Tag> {
    let place = session.view(id).workplace?;
    let waits = place.state == WorkplaceState::Waiting;
    waits.then(|| Tag::of(id, &QuestionId::new(WORK), u64::from(session.ends())))
}

impl ChatState {
    /// Notes whether the work of a session waits for a decision.
    pub(super) fn note_work(&mut self, id: &SessionId, session: &Session, (room, owner): (Room, u64)) {
        self.works.waiting.retain(|_, work| work.session != *id);
        if let Some(tag) = tag(id, session) {
            let (task, project) = (session.created().task.clone(), session.created().project.clone());
            let changes = session.view(id).changes.into_iter().flat_map(|changes| changes.files);
            let files = changes.map(|file| file.path).collect();
            let end = session.ends();
            let work = WaitingWork { session: id.clone(), task, room, owner, end, project, files };
            self.works.waiting.insert(tag, work);
        }
    }

    /// The same for a session that is shown.
    pub(super) fn note_work_shown(&mut self, id: &SessionId) {
        let Some(shown) = self.sessions.get(id) else { return };
        let session = shown.presenter.session();
        if session.created().works_apart() && session.is_over() {
            let (session, place) = (session.clone(), (shown.room, shown.owner));
            self.note_work(id, &session, place);
        }
    }

    /// The tag of a session's work, if it waits for a decision.
    pub(super) fn work_of(&self, id: &SessionId) -> Option<Tag> {
        self.works.waiting.iter().find(|(_, work)| work.session == *id).map(|(tag, _)| tag.clone())
    }

    /// Whether a tag is that of work that waits for a decision.
    pub(super) fn is_work(&self, tag: &Tag) -> bool {
        self.works.waiting.contains_key(tag)
    }

    /// Which other work that waits in a chat changes the same files of the project as this one, in words: once one is applied, the
    /// other may not fit any more. Somebody else's task is not named.
    pub(super) fn overlaps(&self, tag: &Tag) -> Vec<String> {
        let Some(own) = self.works.waiting.get(tag) else { return Vec::new() };
        let is_beside = |other: &&WaitingWork| other.session != own.session && other.project == own.project;
        let line = |other: &WaitingWork| {
            let both: Vec<_> = own.files.intersection(&other.files).map(String::as_str).collect();
            let may_know = self.notes.may(own.owner, other.room, other.owner);
            let name = if may_know { card::short(&other.task, LONGEST_TASK) } else { "Other work".into() };
            let files = card::short(&both.join(", "), LONGEST_FILES);
            let line = format!("⚠️ {name} waits too, and changes the same files: {files}");
            (!both.is_empty()).then_some(line)
        };
        let mut lines: Vec<_> = self.works.waiting.values().filter(is_beside).filter_map(line).collect();
        lines.sort();
        lines
    }

    pub(super) fn on_work_tap(&mut self, tap: Tap, button: Button, tag: &Tag) {
        let Some(work) = self.works.waiting.get(tag).cloned() else {
            return self.effects.too_late(tap, DECIDED);
        };
        if !self.notes.may(tap.by, work.room, work.owner) {
            return self.effects.only_answer(tap, NOT_YOURS);
        }
        let (words, act) = match button {
            Button::ApplyWork => {
                let act = Act::Apply { with_conflicts: false, end: Some(work.end), to: ApplyTo::Files };
                ("✅ Applying…", act)
            }
            Button::Sure(Grave::Discard) => {
                ("🗑 Discarding…", Act::Discard { reason: None, end: Some(work.end) })
            }
            Button::DiscardWork => {
                self.effects.send_card(tap.room, &card::sure(Grave::Discard, &work.task, tag));
                return self.effects.only_answer(tap, "");
            }
            Button::SeeWork => {
                self.effects.answer_tap(tap.query, "");
                let title = format!("Changes: {}", card::short(&work.task, 200));
                let form = ContentForm::Block { title, file: CHANGES };
                let then = AfterContent { room: tap.room, ticket: tap.ticket, form, work: Some(tag.clone()) };
                return self.effects.want(Effect::ReadContent {
                    session: work.session,
                    content: Content::Diff,
                    then,
                });
            }
            _ => return self.ask_what_to_change(tap, work.session),
        };
        if let Some(message) = tap.message {
            self.effects.strip(tap.room, message);
        }
        self.notes.revised(&mut self.effects, tap.room);
        self.works.deciding.insert(work.session.clone(), tap.room);
        // Somebody has to run it, to bring that about.
        self.effects.want(Effect::Resume(work.session.clone()));
        let query = tap.query.filter(|query| self.effects.is_first_answer(query));
        let thanks = query.map(|query| Thanks { query, words: words.to_owned() });
        let ops = vec![SessionOp::Act(work.session, act)];
        self.effects.operate((tap.room, tap.by), ops, thanks, tap.ticket);
    }

    /// Tells what became of a decision that was made here. Returns whether nothing else is to be shown of these entries.
    pub(super) fn tell_decision(&mut self, id: &SessionId, entries: &[Entry]) -> bool {
        let Some(room) = self.works.deciding.get(id).copied() else { return false };
        for fact in entries.iter().flat_map(|entry| &entry.facts) {
            match fact {
                Event::Applied { files, .. } => {
                    let files =
                        if files.len() == 1 { "1 file".into() } else { format!("{} files", files.len()) };
                    self.effects.say(room, &format!("✅ Applied to the project: {files}."));
                }
                Event::NotApplied(why) => {
                    self.effects.say(room, &not_applied(why));
                    self.forget_decision(id);
                }
                Event::Discarded { .. } => self.effects.say(room, "🗑 Discarded."),
                Event::Cleared { .. } => {
                    self.works.waiting.retain(|_, work| work.session != *id);
                    self.forget_decision(id);
                }
                _ => {}
            }
        }
        !self.sessions.contains_key(id)
    }

    fn forget_decision(&mut self, id: &SessionId) {
        self.works.deciding.remove(id);
        if !self.sessions.contains_key(id) {
            self.effects.want(Effect::Release(id.clone()));
        }
    }

    /// Asks what to change about work, and notes that: the next words of this person here say it.
    fn ask_what_to_change(&mut self, tap: Tap, session: SessionId) {
        self.notes.revise(&mut self.effects, tap.room, Revising { session, by: tap.by, message: None });
        let asked = prompt(tap.room, tap.message, "✍️ Type what to change:", "What to change");
        self.effects.send_then(tap.room, Outgoing::Message(asked), AfterSend::RevisionPrompt(tap.room));
        self.effects.only_answer(tap, "");
    }

    pub(super) fn on_revision_prompted(&mut self, room: Room, message: Option<i32>) {
        if let Some(asked) = self.notes.revising(room).cloned().filter(|_| message.is_some()) {
            self.notes.revise(&mut self.effects, room, Revising { message, ..asked });
        }
    }

    /// Whether a reply is one to the message that asks what to change. It may come before that message's id is known.
    pub(super) fn is_reply_about_revision(&self, room: Room, reply_to: Option<i32>) -> bool {
        let asked = self.notes.revising(room).filter(|_| reply_to.is_some());
        asked.is_some_and(|asked| asked.message.is_none() || asked.message == reply_to)
    }

    /// Whether words that are no reply say what to change: in a private chat, where the sender was asked.
    pub(super) fn is_asked_to_revise(&self, visit: &Visit) -> bool {
        let asked = self.notes.revising(visit.room).filter(|asked| asked.by == visit.sender.id);
        let is_there = |id: &SessionId| self.work_of(id).is_some() || self.sessions.contains_key(id);
        visit.room.chat > 0 && asked.is_some_and(|asked| is_there(&asked.session))
    }

    /// Has the work changed about which the room was asked.
    pub(super) fn revise_asked(&mut self, visit: &Visit, words: String) {
        let Some(asked) = self.notes.revising(visit.room).cloned() else {
            return self.effects.finish(visit.ticket);
        };
        if asked.by != visit.sender.id {
            return self.effects.only_say(visit, SOMEBODY_ELSES);
        }
        let act = Act::Say { text: words, id: Some(visit.update.clone()) };
        self.effects.want(Effect::Resume(asked.session.clone()));
        let (who, ops) = ((visit.room, visit.sender.id), vec![visit.op(&asked.session, act)]);
        self.effects.operate_for(who, ops, None, visit.ticket, Some(Becomes::Revision));
    }

    /// Has the newest work of a room changed: its agent continues in the same conversation.
    pub(super) fn revise(&mut self, visit: &Visit, words: &str) {
        if words.is_empty() {
            return self.effects.only_say(visit, "Usage: /revise <what to change>");
        }
        let Some(newest) = self.newest(visit) else { return };
        if self.work_of(&newest.id).is_none() {
            return self.effects.only_say(visit, "There is no work here that waits for a decision.");
        }
        let act = Act::Say { text: words.to_owned(), id: Some(visit.update.clone()) };
        self.effects.want(Effect::Resume(newest.id.clone()));
        self.effects.carry_out(visit, vec![SessionOp::Act(newest.id, act)]);
    }
}

fn not_applied(why: &NotMerged) -> String {
    let reason = match &why.reason {
        Some(reason) => card::short(reason, 600),
        None => {
            format!("the project changed the same lines of {}", card::short(&why.conflicts.join(", "), 600))
        }
    };
    format!(
        "⚠️ Not applied, and nothing was changed: {reason}. Change the project so that they agree; /diff shows the work again."
    )
}
