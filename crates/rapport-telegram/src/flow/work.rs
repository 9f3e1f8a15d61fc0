//! Work that was done in a separate workplace: the owner of the session sees its changes here, and then applies it,
//! discards it, or has it revised. The session is over, so it is not among those that are shown. The tag of such work
//! is derived from the session and the end of the work that the person saw.

use std::collections::{BTreeSet, HashMap};

use rapport_core::{Act, ApplyTo, Entry, Event, NotMerged, QuestionId, Session, SessionId, WorkplaceState};
use rapport_door::Content;

use super::button::{Button, Grave, Tag};
use super::callbacks::{NOT_YOURS, Tap, prompt};
use super::card;
use super::effect::{AfterContent, AfterSend, Becomes, CHANGES, ContentForm, Effect, SessionOp, Thanks};
use super::messages::Visit;
use super::notes::{Notes, Revising};
use super::shown_sessions::ShownSessions;
use super::step_effects::Effects;
use crate::outgoing::Outgoing;
use crate::room::Room;

/// The pseudo question what to do with the work.
const WORK: &str = "work";
const DECIDED: &str = "This work was decided about, or has changed since.";
const SOMEBODY_ELSES: &str = "Only whoever tapped ✍️ Revise can say what to change.";
/// The maximum lengths of another work's task, and of the list of files that both change.
const LONGEST_TASK: usize = 100;
const LONGEST_FILES: usize = 300;

/// Work that waits for a decision, and decisions made here whose outcome is not known yet.
#[derive(Debug, Default)]
pub(super) struct Works {
    waiting: HashMap<Tag, WaitingWork>,
    /// The rooms in which the outcome of a decision is announced.
    deciding: HashMap<SessionId, Room>,
}

#[derive(Clone, Debug)]
struct WaitingWork {
    session: SessionId,
    task: String,
    room: Room,
    owner: u64,
    /// The end of the work that the person saw. If the work was revised since then, its end is another one.
    end: u32,
    project: String,
    /// The files that it changes.
    files: BTreeSet<String>,
}

/// The tag of the current work of a session, if it waits for a decision.
pub(super) fn tag(id: &SessionId, session: &Session) -> Option<Tag> {
    let place = session.view(id).workplace?;
    let waits = place.state == WorkplaceState::Waiting;
    waits.then(|| Tag::of(id, &QuestionId::new(WORK), u64::from(session.ends())))
}

impl Works {
    /// Records whether the work of a session waits for a decision.
    pub(super) fn note(&mut self, id: &SessionId, session: &Session, (room, owner): (Room, u64)) {
        self.waiting.retain(|_, work| work.session != *id);
        if let Some(tag) = tag(id, session) {
            let (task, project) =
                (card::title(session.created()).to_owned(), session.created().project.clone());
            let changes = session.view(id).changes.into_iter().flat_map(|changes| changes.files);
            let files = changes.map(|file| file.path).collect();
            let end = session.ends();
            let work = WaitingWork { session: id.clone(), task, room, owner, end, project, files };
            self.waiting.insert(tag, work);
        }
    }

    /// The same, for a session that is shown.
    pub(super) fn note_shown(&mut self, sessions: &ShownSessions, id: &SessionId) {
        let Some(shown) = sessions.get(id) else { return };
        let session = shown.presenter.session();
        if session.created().works_apart() && session.is_over() {
            self.note(id, session, (shown.room, shown.owner));
        }
    }

    /// The tag of a session's work, if it waits for a decision.
    pub(super) fn tag_of(&self, id: &SessionId) -> Option<&Tag> {
        self.waiting.iter().find(|(_, work)| work.session == *id).map(|(tag, _)| tag)
    }

    /// Whether the tag belongs to work that waits for a decision.
    pub(super) fn is_waiting(&self, tag: &Tag) -> bool {
        self.waiting.contains_key(tag)
    }

    /// Warnings about other waiting work that changes the same files of the project: once one of them is applied, the
    /// other may no longer merge. The task is named only if the owner of this work may steer it.
    pub(super) fn overlaps(&self, notes: &Notes, tag: &Tag) -> Vec<String> {
        let Some(own) = self.waiting.get(tag) else { return Vec::new() };
        let is_beside = |other: &&WaitingWork| other.session != own.session && other.project == own.project;
        let line = |other: &WaitingWork| {
            let both: Vec<_> = own.files.intersection(&other.files).map(String::as_str).collect();
            let may_know = notes.may(own.owner, other.room, other.owner);
            let name = if may_know { card::short(&other.task, LONGEST_TASK) } else { "Other work".into() };
            let files = card::short(&both.join(", "), LONGEST_FILES);
            let line = format!("⚠️ {name} waits too, and changes the same files: {files}");
            (!both.is_empty()).then_some(line)
        };
        let mut lines: Vec<_> = self.waiting.values().filter(is_beside).filter_map(line).collect();
        lines.sort();
        lines
    }

    /// Handles a tap on a card about work that waits for a decision.
    pub(super) fn on_tap(
        &mut self,
        notes: &mut Notes,
        effects: &mut Effects,
        tap: Tap,
        button: Button,
        tag: &Tag,
    ) {
        let Some(work) = self.waiting.get(tag) else { return effects.too_late(tap, DECIDED) };
        if !notes.may(tap.by, work.room, work.owner) {
            return effects.only_answer(tap, NOT_YOURS);
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
                effects.send_card(tap.room, &card::sure(Grave::Discard, &work.task, tag));
                return effects.only_answer(tap, "");
            }
            Button::SeeWork => {
                effects.answer_tap(tap.query, "");
                let title = format!("Changes: {}", card::short(&work.task, 200));
                let form = ContentForm::Block { title, file: CHANGES };
                let then = AfterContent { room: tap.room, ticket: tap.ticket, form, work: Some(tag.clone()) };
                let session = work.session.clone();
                return effects.want(Effect::ReadContent { session, content: Content::Diff, then });
            }
            _ => return ask_what_to_change(notes, effects, tap, work.session.clone()),
        };
        if let Some(message) = tap.message {
            effects.strip(tap.room, message);
        }
        notes.revised(effects, tap.room);
        self.deciding.insert(work.session.clone(), tap.room);
        // An act takes effect only in a session that a process runs.
        effects.want(Effect::Resume(work.session.clone()));
        let query = tap.query.filter(|query| effects.is_first_answer(query));
        let thanks = query.map(|query| Thanks { query, words: words.to_owned() });
        let ops = vec![SessionOp::Act(work.session.clone(), act)];
        effects.operate((tap.room, tap.by), ops, thanks, tap.ticket);
    }

    /// Announces the outcome of a decision that was made here. Returns whether there was such a decision.
    pub(super) fn tell_decision(
        &mut self,
        effects: &mut Effects,
        (id, is_shown): (&SessionId, bool),
        entries: &[Entry],
    ) -> bool {
        let Some(room) = self.deciding.get(id).copied() else { return false };
        for fact in entries.iter().flat_map(|entry| &entry.facts) {
            match fact {
                Event::Applied { files, .. } => {
                    let files =
                        if files.len() == 1 { "1 file".into() } else { format!("{} files", files.len()) };
                    effects.say(room, &format!("✅ Applied to the project: {files}."));
                }
                Event::NotApplied(why) => {
                    effects.say(room, &not_applied(why));
                    self.forget_decision(effects, id, is_shown);
                }
                Event::Discarded { .. } => effects.say(room, "🗑 Discarded."),
                Event::Cleared { .. } => {
                    self.waiting.retain(|_, work| work.session != *id);
                    self.forget_decision(effects, id, is_shown);
                }
                _ => {}
            }
        }
        true
    }

    fn forget_decision(&mut self, effects: &mut Effects, id: &SessionId, is_shown: bool) {
        self.deciding.remove(id);
        if !is_shown {
            effects.want(Effect::Release(id.clone()));
        }
    }

    /// Whether a text that replies to no message says what to change: it does in a private chat in which the sender was
    /// asked.
    pub(super) fn is_asked_to_revise(&self, notes: &Notes, sessions: &ShownSessions, visit: &Visit) -> bool {
        let asked = notes.revising(visit.room).filter(|asked| asked.by == visit.sender.id);
        let is_there = |id: &SessionId| self.tag_of(id).is_some() || sessions.contains_key(id);
        visit.room.chat > 0 && asked.is_some_and(|asked| is_there(&asked.session))
    }

    /// Asks the agent of the newest work of a room to change it, in the same conversation.
    pub(super) fn on_revise(&self, effects: &mut Effects, visit: &Visit, newest: &SessionId, words: &str) {
        if self.tag_of(newest).is_none() {
            return effects.only_say(visit, "There is no work here that waits for a decision.");
        }
        let act = Act::Say { text: words.to_owned(), id: Some(visit.update.clone()) };
        effects.want(Effect::Resume(newest.clone()));
        effects.carry_out(visit, vec![SessionOp::Act(newest.clone(), act)]);
    }
}

/// Asks a person what to change about work, and notes that. The person's next text in this room is the answer.
fn ask_what_to_change(notes: &mut Notes, effects: &mut Effects, tap: Tap, session: SessionId) {
    notes.revise(effects, tap.room, Revising { session, by: tap.by, message: None });
    let asked = prompt(tap.room, tap.message, "✍️ Type what to change:", "What to change");
    effects.send_then(tap.room, Outgoing::Message(asked), AfterSend::RevisionPrompt(tap.room));
    effects.only_answer(tap, "");
}

/// Handles the arrival of the message that asks what to change.
pub(super) fn on_revision_prompted(
    notes: &mut Notes,
    effects: &mut Effects,
    room: Room,
    message: Option<i32>,
) {
    if let Some(asked) = notes.revising(room).cloned().filter(|_| message.is_some()) {
        notes.revise(effects, room, Revising { message, ..asked });
    }
}

/// Whether a message replies to the one that asks what to change. The reply may arrive before the id of that message is
/// known.
pub(super) fn is_reply_about_revision(notes: &Notes, room: Room, reply_to: Option<i32>) -> bool {
    let asked = notes.revising(room).filter(|_| reply_to.is_some());
    asked.is_some_and(|asked| asked.message.is_none() || asked.message == reply_to)
}

/// Passes the person's answer to the agent of the work about which the room was asked.
pub(super) fn on_revision(notes: &Notes, effects: &mut Effects, visit: &Visit, words: String) {
    let Some(asked) = notes.revising(visit.room) else { return effects.finish(visit.ticket) };
    if asked.by != visit.sender.id {
        return effects.only_say(visit, SOMEBODY_ELSES);
    }
    let act = Act::Say { text: words, id: Some(visit.update.clone()) };
    effects.want(Effect::Resume(asked.session.clone()));
    let (who, ops) = ((visit.room, visit.sender.id), vec![visit.op(&asked.session, act)]);
    effects.operate_for(who, ops, None, visit.ticket, Some(Becomes::Revision));
}

fn not_applied(why: &NotMerged) -> String {
    let reason = match &why.reason {
        Some(reason) => card::short(reason, 600),
        None => {
            format!("the project changed the same lines of {}", card::short(&why.conflicts.join(", "), 600))
        }
    };
    format!(
        "⚠️ Not applied, and nothing was changed: {reason}. Change the project so that they agree; \
         /diff shows the work again."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::effect::Ticket;
    use crate::flow::incoming::Sender;
    use crate::flow::notes::Guest;

    const ANNA: u64 = 42;
    const BERT: u64 = 43;
    const HOME: Room = Room { chat: 42, topic: None };

    fn id(name: &str) -> SessionId {
        SessionId::new(name)
    }

    fn tag(name: &str) -> Tag {
        Tag::of(&id(name), &QuestionId::new(WORK), 1)
    }

    fn works(all: &[(&str, u64, &[&str])]) -> Works {
        let waiting = all.iter().map(|(name, owner, files)| {
            let work = WaitingWork {
                session: id(name),
                task: format!("task {name}"),
                room: HOME,
                owner: *owner,
                end: 1,
                project: "/app".into(),
                files: files.iter().map(|file| (*file).to_owned()).collect(),
            };
            (tag(name), work)
        });
        Works { waiting: waiting.collect(), deciding: HashMap::new() }
    }

    fn tap(by: u64) -> Tap {
        let query = Some("q".to_owned());
        Tap {
            room: HOME,
            by,
            query,
            data: String::new(),
            message: Some(7),
            seen: None,
            about: None,
            ticket: Ticket(1),
        }
    }

    fn visit(user: u64) -> Visit {
        let sender = Sender { id: user, name: String::new() };
        let update = "u1".to_owned();
        Visit {
            update,
            room: HOME,
            sender,
            message: 9,
            ticket: Ticket(2),
            files: Vec::new(),
            is_joined: false,
        }
    }

    fn kinds(effects: &mut Effects) -> Vec<String> {
        effects.take(|_| false).iter().map(|effect| rapport_door::variant(effect)).collect()
    }

    fn tapped(works: &mut Works, by: u64, button: Button, tag: &Tag) -> Vec<String> {
        let (mut notes, mut effects) = (Notes::default(), Effects::default());
        works.on_tap(&mut notes, &mut effects, tap(by), button, tag);
        kinds(&mut effects)
    }

    #[test]
    fn other_work_on_the_same_files_is_told_and_named_only_to_those_who_may_know() {
        let works =
            works(&[("a", ANNA, &["x", "y"]), ("b", ANNA, &["y"]), ("c", BERT, &["x"]), ("d", ANNA, &["z"])]);
        let mut notes = Notes::default();
        let line =
            |what: &str, file: &str| format!("⚠️ {what} waits too, and changes the same files: {file}");
        let (other, own) = (line("Other work", "x"), line("task b", "y"));
        assert_eq!(works.overlaps(&notes, &tag("a")), [other, own.clone()]);
        notes.guest(&mut Effects::default(), HOME, BERT, ANNA, Guest::May);
        assert_eq!(works.overlaps(&notes, &tag("a")), [own, line("task c", "x")]);
        assert_eq!(works.overlaps(&notes, &tag("d")), Vec::<String>::new());
    }

    #[test]
    fn only_its_owner_decides_about_work_and_discarding_is_asked_first() {
        let mut works = works(&[("a", ANNA, &["x"])]);
        assert_eq!(tapped(&mut works, BERT, Button::ApplyWork, &tag("a")), ["AnswerTap", "Finish"]);
        assert_eq!(
            tapped(&mut works, ANNA, Button::ApplyWork, &tag("gone")),
            ["Send", "AnswerTap", "Finish"]
        );
        assert_eq!(tapped(&mut works, ANNA, Button::DiscardWork, &tag("a")), ["Send", "AnswerTap", "Finish"]);
        assert_eq!(tapped(&mut works, ANNA, Button::SeeWork, &tag("a")), ["AnswerTap", "ReadContent"]);
        assert!(works.deciding.is_empty());
        assert_eq!(tapped(&mut works, ANNA, Button::ApplyWork, &tag("a")), ["Send", "Resume", "Operate"]);
        assert_eq!(works.deciding.get(&id("a")), Some(&HOME));
    }

    /// The session runs only for the decision, so it is released when the decision is carried out or has failed.
    #[test]
    fn the_outcome_of_a_decision_is_told_where_it_was_made() {
        let conflict = NotMerged { conflicts: vec!["x".into()], reason: None, half_done: Vec::new() };
        for (facts, is_shown, told) in [
            (vec![Event::NotApplied(conflict.clone())], false, vec!["Send", "Release"]),
            (vec![Event::NotApplied(conflict)], true, vec!["Send"]),
        ] {
            let mut works = works(&[("a", ANNA, &["x"])]);
            let entry = Entry { seq: 5, at: jiff::Timestamp::UNIX_EPOCH, facts };
            let mut effects = Effects::default();
            assert!(!works.tell_decision(&mut effects, (&id("a"), is_shown), std::slice::from_ref(&entry)));
            works.deciding.insert(id("a"), HOME);
            assert!(works.tell_decision(&mut effects, (&id("a"), is_shown), &[entry]));
            assert_eq!(kinds(&mut effects), told);
            assert!(works.deciding.is_empty());
            assert!(works.is_waiting(&tag("a")), "it can be decided about again");
        }
    }

    #[test]
    fn who_was_asked_what_to_change_says_it() {
        let (mut notes, mut effects) = (Notes::default(), Effects::default());
        let (works, sessions) = (works(&[("a", ANNA, &["x"])]), ShownSessions::default());
        assert!(!works.is_asked_to_revise(&notes, &sessions, &visit(ANNA)));
        ask_what_to_change(&mut notes, &mut effects, tap(ANNA), id("a"));
        assert!(works.is_asked_to_revise(&notes, &sessions, &visit(ANNA)));
        assert!(!works.is_asked_to_revise(&notes, &sessions, &visit(BERT)));
        assert!(
            is_reply_about_revision(&notes, HOME, Some(8)),
            "the id of the message that asks is not known"
        );
        on_revision_prompted(&mut notes, &mut effects, HOME, Some(8));
        assert!(is_reply_about_revision(&notes, HOME, Some(8)));
        assert!(!is_reply_about_revision(&notes, HOME, Some(7)));
        kinds(&mut effects);
        on_revision(&notes, &mut effects, &visit(BERT), "shorter".into());
        assert_eq!(kinds(&mut effects), ["Send", "Finish"]);
        on_revision(&notes, &mut effects, &visit(ANNA), "shorter".into());
        assert_eq!(kinds(&mut effects), ["Resume", "Operate"]);
    }
}
