//! Announces the events of a session to the people in its room: each entry once, in order.

use std::collections::{BTreeMap, BTreeSet};

use rapport_core::{
    Act, Aim, Answer, Entry, Event, PhaseView, Question, QuestionId, QuestionRound, Seed, SessionId, TurnId,
    TurnKind, View, signal,
};
use rapport_door::{DoorError, diff_names};

use super::card::{self, Card, thread};
use super::chat_state::{ChatState, person};
use super::effect::{AfterOps, AfterSend, Effect, NewSession, SessionOp, SessionStart};
use super::shown_sessions::{ShownSession, ShownSessions};
use super::work;
use crate::api::Document;
use crate::api_error::ApiError;
use crate::notice::Notice;
use crate::outgoing::{Outgoing, OutgoingMessage, Sent};
use crate::room::Room;
use crate::split::{self, Reply};
use crate::text::Text;

const STARTING: &str = "🚀 Starting...";
/// The announcement of the end of a conversation.
pub(super) const NEW_CONVERSATION: &str = "🆕 A new conversation begins with your next message.";
const CANCELLED: &str = "❌ Planning cancelled.";
/// The reason that the log records for cancelling a plan without questions.
const NO_QUESTIONS: &str = "no questions could be made";

/// The announcements of a session: which ones are being sent, and the last one that arrived.
#[derive(Debug, Default)]
pub(super) struct Announcements {
    /// The number of entries that are being announced.
    under_way: usize,
    /// The messages of each entry, until they have arrived.
    messages: BTreeMap<u64, Vec<Outgoing>>,
    /// Entries whose messages Telegram refused. They are announced when the chat accepts messages again.
    refused: BTreeSet<u64>,
    /// The last announced entry.
    last: u64,
    /// Whether the host was already told that an announcement failed.
    is_reported: bool,
}

impl Announcements {
    /// Whether the announcement of any entry has not arrived yet.
    pub(super) fn are_pending(&self) -> bool {
        self.under_way > 0 || !self.messages.is_empty()
    }

    /// Whether Telegram refused the announcement of any entry.
    pub(super) fn are_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    fn begin(&mut self, seq: u64, messages: Vec<Outgoing>) {
        self.under_way += 1;
        self.messages.insert(seq, messages);
    }

    /// Ends the announcement of an entry, and returns its messages.
    fn end(&mut self, seq: u64) -> Vec<Outgoing> {
        self.under_way = self.under_way.saturating_sub(1);
        self.messages.remove(&seq).unwrap_or_default()
    }

    fn refuse(&mut self, seq: u64, messages: Vec<Outgoing>) {
        if !messages.is_empty() {
            self.messages.insert(seq, messages);
            self.refused.insert(seq);
        }
    }

    /// Starts the refused announcements once more.
    fn begin_again(&mut self) -> Vec<(u64, Vec<Outgoing>)> {
        let refused = std::mem::take(&mut self.refused).into_iter();
        let again: Vec<_> = refused.filter_map(|seq| Some((seq, self.messages.get(&seq)?.clone()))).collect();
        self.under_way += again.len();
        again
    }

    /// Records that an entry is announced. Returns the last entry up to which there is no gap.
    fn note(&mut self, seq: u64) -> u64 {
        self.last = self.last.max(seq);
        let first = self.messages.keys().next().map_or(u64::MAX, |first| first - 1);
        self.last.min(first)
    }
}

impl ChatState {
    /// Announces an entry to the people in its room, if it concerns them.
    pub(super) fn announce(&mut self, id: &SessionId, entry: &Entry) {
        let Some(shown) = self.sessions.get(id) else { return };
        let (room, is_chat) = (shown.room, shown.presenter.is_chat());
        let mut outgoing = Vec::new();
        let (mut grown, mut is_cut_off) = (None, false);
        for fact in entry.facts.iter().filter(|fact| is_told(shown, fact, entry)) {
            match fact {
                Event::TurnEnded { turn, result } if is_chat => match signal::detect(result) {
                    Some(batch) => grown = Some((*turn, batch)),
                    // A lead that answered an agent has nothing to say to the person.
                    None if result.trim().is_empty() && shown.presenter.session().created().is_lead => {}
                    None => outgoing.extend(reply(room, result)),
                },
                Event::Reported { .. } => {
                    let session = shown.presenter.session();
                    let task = card::title(session.created()).to_owned();
                    let view = View { task, ..session.view(id) };
                    let work = work::tag(id, session);
                    let card = card::ended(&view, session.history().waited(), work.as_ref());
                    outgoing.push(Outgoing::Message(card.message(room)));
                    outgoing.extend(view.result.iter().flat_map(|words| reply(room, words)));
                }
                Event::Failed { reason } => {
                    outgoing.push(Outgoing::Message(self.failed(id, entry.seq, reason).message(room)));
                }
                Event::Stopped { .. } => {
                    let card = card::stopped(id, entry.seq, &shown.presenter);
                    outgoing.push(Outgoing::Message(card.message(room)));
                }
                Event::Cancelled { reason: None, .. }
                    if !is_chat && shown.presenter.session().has_worked() =>
                {
                    is_cut_off = true;
                }
                Event::Cancelled { reason: None, .. } if !is_chat => {
                    outgoing.push(text(room, &cancelled(&self.sessions, id, shown)));
                }
                Event::Answered { question, answer, .. } => {
                    let asked = shown.question(question).filter(|_| is_changed(entry, question));
                    let words = asked.map(|asked| changed(asked, answer));
                    outgoing.extend(words.map(|words| text(room, &words)));
                }
                fact => {
                    let words = said(shown, fact, entry);
                    outgoing.extend(words.map(|words| text(room, &words)));
                }
            }
        }
        match grown {
            Some((turn, batch)) => self.grow(id, turn, batch, entry.seq),
            None if is_cut_off => self.look_for_changes(id, outgoing, entry.seq),
            None => self.tell(id, room, outgoing, entry.seq),
        }
        self.clear_failed_plan(id, entry);
    }

    /// Reads the changes of work that was cut off, before these messages and the end of the work are announced.
    fn look_for_changes(&mut self, id: &SessionId, messages: Vec<Outgoing>, seq: u64) {
        let Some(shown) = self.sessions.get_mut(id) else { return };
        shown.announcements.begin(seq, messages);
        self.effects.want(Effect::ReadChanges { session: id.clone(), seq });
    }

    /// Announces the end of work that was cut off, with the files that the work had changed.
    pub(super) fn on_changes(&mut self, id: &SessionId, seq: u64, diff: Result<Vec<u8>, DoorError>) {
        let Some(shown) = self.sessions.get_mut(id) else { return };
        let mut messages = shown.announcements.end(seq);
        let Some(shown) = self.sessions.get(id) else { return };
        let (room, address) = (shown.room, self.projects.address(id));
        let names = diff.ok().map(|diff| diff_names(&String::from_utf8_lossy(&diff)));
        let is_apart = shown.presenter.session().view(id).workplace.is_some();
        let is_newest = self.sessions.newest(room).is_some_and(|one| one.id == *id);
        let first = cancelled(&self.sessions, id, shown);
        let words = card::cancelled(&first, names.as_deref(), &address, is_apart, is_newest);
        messages.push(Outgoing::Message(Card::plain(words).message(room)));
        self.tell(id, room, messages, seq);
    }

    /// Updates the card of an answer that was changed afterwards.
    pub(super) fn rewrite_changed(&mut self, id: &SessionId, entry: &Entry) {
        for fact in &entry.facts {
            let Event::Answered { question, .. } = fact else { continue };
            let Some(shown) = self.sessions.get(id).filter(|_| is_changed(entry, question)) else { continue };
            let cards = self.notes.of(id).map(|noted| noted.cards.as_slice()).unwrap_or_default();
            let last = cards.iter().rfind(|card| card.question == *question && !card.shown.is_empty());
            let (Some(last), Some(text)) = (last, card::closed(&shown.presenter, question)) else { continue };
            let (chat, card) =
                (shown.room.chat, Card::plain(self.projects.labelled(&self.notes, id, shown.room, text)));
            let messages = last.shown.iter().map(|message| Outgoing::Edit(card.edit(*message))).collect();
            self.effects.want(Effect::Send { chat, messages, then: None });
        }
    }

    /// Sends the messages of an entry. The entry counts as announced when all of them have arrived.
    fn tell(&mut self, id: &SessionId, room: Room, mut messages: Vec<Outgoing>, seq: u64) {
        if let Some(name) = self.projects.foreign(&self.notes, id, room).filter(|_| !messages.is_empty()) {
            messages.insert(0, text(room, &format!("📁 {name}:")));
        }
        let Some(shown) = self.sessions.get_mut(id).filter(|_| !messages.is_empty()) else { return };
        shown.announcements.begin(seq, messages.clone());
        let then = Some(AfterSend::Announce { session: id.clone(), seq });
        self.effects.want(Effect::Send { chat: room.chat, messages, then });
    }

    /// Handles the arrival of an entry's messages, or Telegram's refusal of some. A message that Telegram would refuse
    /// again counts as announced; the others are sent when the chat accepts messages again. The host is told once.
    pub(super) fn on_announced(&mut self, id: &SessionId, seq: u64, results: &[Result<Sent, ApiError>]) {
        let Some(shown) = self.sessions.get_mut(id) else { return };
        let announcements = &mut shown.announcements;
        let messages = announcements.end(seq).into_iter().zip(results);
        let refused = messages.filter(|(_, sent)| sent.as_ref().is_err_and(passes));
        announcements.refuse(seq, refused.map(|(message, _)| message).collect());
        let error = results.iter().find_map(|sent| sent.as_ref().err());
        if let Some(why) = error.filter(|_| !std::mem::replace(&mut announcements.is_reported, true)) {
            let (session, why) = (self.projects.address(id), why.to_string());
            self.effects.want(Effect::Notify(Notice::Untold { session, why }));
        }
        self.note_told(id, seq);
        self.finish_if_over(id);
    }

    /// Records the entry up to which a session is announced without a gap.
    fn note_told(&mut self, id: &SessionId, seq: u64) {
        let Some(shown) = self.sessions.get_mut(id) else { return };
        let told = shown.announcements.note(seq);
        if self.notes.of(id).is_none_or(|noted| noted.told < told) {
            self.notes.note_announced(&mut self.effects, id, told);
        }
    }

    /// Sends the announcements that a chat refused before.
    pub(super) fn tell_again(&mut self, chat: i64) {
        let mut again = Vec::new();
        for (id, shown) in self.sessions.iter_mut().filter(|(_, shown)| shown.room.chat == chat) {
            for (seq, messages) in shown.announcements.begin_again() {
                again.push((messages, AfterSend::Announce { session: id.clone(), seq }));
            }
        }
        for (messages, then) in again {
            self.effects.want(Effect::Send { chat, messages, then: Some(then) });
        }
    }

    /// Turns a reply that consists of questions into a planned task. The task records the turn that it came from, so
    /// this happens exactly once.
    fn grow(&mut self, id: &SessionId, turn: TurnId, batch: QuestionRound, seq: u64) {
        let Some(shown) = self.sessions.get_mut(id) else { return };
        if !self.dedup.grown.insert((id.clone(), turn)) {
            return self.note_told(id, seq);
        }
        shown.announcements.under_way += 1;
        let (room, owner, task) = (shown.room, shown.owner, shown.said.clone());
        let grown_from = Some(Seed { session: id.clone(), turn });
        let (files, start) = (Vec::new(), SessionStart::Usual);
        let project = self.projects.of(id).path.clone();
        let (aim, request) = (Aim::Work, None);
        let is_of_other_user = self.settings.is_other_user(owner);
        let new = NewSession {
            task,
            aim,
            project,
            room,
            owner,
            is_of_other_user,
            request,
            grown_from,
            files,
            start,
        };
        // The new plan begins even if the old one cannot be cancelled.
        let older = self.sessions.replaced(room).map(|(id, act)| SessionOp::TryAct(id, act));
        let ops = older.into_iter().chain([SessionOp::Create(Box::new(new), Some(batch))]).collect();
        let then = AfterOps::Grow { room, session: id.clone(), seq };
        self.effects.want(Effect::Operate { by: person(owner), ops, then });
    }

    fn failed(&self, id: &SessionId, seq: u64, reason: &str) -> Card {
        let Some(shown) = self.sessions.get(id) else { return Card::default() };
        let session = shown.presenter.session();
        if shown.presenter.is_chat() {
            let words = format!(
                "❌ {}\n\nWrite again to try again, or /new to begin anew.",
                card::short(reason, 600)
            );
            return Card::plain(Text::new().plain(&words));
        }
        if is_given_up(shown) {
            return card::no_questions(reason);
        }
        let is_saved = session.plan_path().is_some();
        if session.phase() == PhaseView::Working && !session.was_connected() && is_saved {
            return card::failed_start(id, seq, &shown.presenter, reason);
        }
        card::failed(id, seq, &shown.presenter, reason)
    }

    /// Cancels a plan that has no questions, so that the next message in the chat is an ordinary one again.
    fn clear_failed_plan(&mut self, id: &SessionId, entry: &Entry) {
        let failed = entry.facts.iter().any(|fact| matches!(fact, Event::Failed { .. }));
        let is_ours = |shown: &&ShownSession| shown.at_home && failed && is_given_up(shown);
        let Some(shown) = self.sessions.get(id).filter(is_ours) else { return };
        let act = Act::Cancel { reason: Some(NO_QUESTIONS.into()) };
        let (by, ops) = (person(shown.owner), vec![SessionOp::TryAct(id.clone(), act)]);
        self.effects.want(Effect::Operate { by, ops, then: AfterOps::Nothing });
    }
}

/// The announcement that a task is cancelled. It names the plan, unless that is the only task.
fn cancelled(sessions: &ShownSessions, id: &SessionId, shown: &ShownSession) -> String {
    let session = shown.presenter.session();
    let is_only = sessions.tasks(shown.room).all(|(other, _)| other == id);
    let task = card::short(card::title(session.created()), 200);
    match (session.was_connected(), is_only) {
        (true, _) => format!("❌ Cancelled: {task}"),
        (false, false) => format!("❌ Planning cancelled: {task}"),
        (false, true) => CANCELLED.into(),
    }
}

/// Whether a fact is announced in the room. Of a session that began elsewhere, the room is told only the end and
/// changed answers, and only if a person answered in the room.
fn is_told(shown: &ShownSession, fact: &Event, entry: &Entry) -> bool {
    let concerns_them = match fact {
        Event::Reported { .. } | Event::Failed { .. } => true,
        Event::Answered { question, .. } => is_changed(entry, question),
        _ => false,
    };
    shown.at_home || shown.is_answered_here && concerns_them
}

/// Whether an entry changes the answer to a question in one step, so that its card is not shown again.
fn is_changed(entry: &Entry, question: &QuestionId) -> bool {
    let reopens =
        |fact: &Event| matches!(fact, Event::Reopened { question: reopened, .. } if reopened == question);
    let answers =
        |fact: &Event| matches!(fact, Event::Answered { question: answered, .. } if answered == question);
    entry.facts.iter().any(reopens) && entry.facts.iter().any(answers)
}

/// The announcement of a changed answer.
fn changed(asked: &Question, answer: &Answer) -> String {
    format!("✏️ Changed: {} → {}", card::short(&asked.text, 200), card::short(&asked.words(answer), 600))
}

/// Whether a message that was not delivered may be delivered later.
fn passes(error: &ApiError) -> bool {
    match error {
        ApiError::Blocked(_)
        | ApiError::Full
        | ApiError::Stopped
        | ApiError::Address
        | ApiError::Unreachable(_)
        | ApiError::Failing(_)
        | ApiError::Unauthorized(_) => true,
        ApiError::Conflict(_)
        | ApiError::TooMany { .. }
        | ApiError::NotModified
        | ApiError::MessageGone(_)
        | ApiError::QueryTooOld
        | ApiError::Moved { .. }
        | ApiError::TopicGone(_)
        | ApiError::Refused { .. } => false,
    }
}

/// Whether a plan failed before its first question. The channel cancels such a plan, and announces only the failure.
fn is_given_up(shown: &ShownSession) -> bool {
    shown.presenter.is_planned() && shown.is_without_questions
}

/// The announcement of a fact, if people are told about it.
fn said(shown: &ShownSession, fact: &Event, entry: &Entry) -> Option<String> {
    let is_chat = shown.presenter.session().created().aim == Aim::Chat;
    match fact {
        Event::TurnStarted { kind: TurnKind::Work, .. } => Some(STARTING.into()),
        Event::TurnStarted { kind: TurnKind::Plan, turn, .. } if *turn > TurnId(1) || entry.seq > 1 => {
            Some("✏️ Planning again with your message...".into())
        }
        Event::Unchecked { reason } => Some(format!(
            "⚠️ Could not check for follow-up questions ({}). The plan is made of what is known.",
            card::short(reason, 300)
        )),
        Event::Cancelled { .. } if is_chat => {
            // The agent was at work, or waited for an answer.
            let is_stopped =
                shown.busy.is_some() || entry.facts.iter().any(|fact| matches!(fact, Event::Closed { .. }));
            let stopped = if is_stopped { "⏹ Stopped. " } else { "" };
            Some(format!("{stopped}{NEW_CONVERSATION}"))
        }
        Event::Cancelled { .. } if is_given_up(shown) => None,
        Event::Cancelled { reason: Some(reason), .. } => Some(format!("{CANCELLED} ({reason})")),
        _ => None,
    }
}

fn text(room: Room, words: &str) -> Outgoing {
    Outgoing::Message(Card::plain(Text::new().plain(words)).message(room))
}

/// An agent's text as messages, or as a file if the text is very long.
pub(super) fn reply(room: Room, markdown: &str) -> Vec<Outgoing> {
    if markdown.trim().is_empty() {
        return vec![text(room, "(The agent ended without a message.)")];
    }
    outgoing(room, split::reply(markdown, "reply"))
}

/// A reply as messages to a room, or as a file.
pub(super) fn outgoing(room: Room, reply: Reply) -> Vec<Outgoing> {
    match reply {
        Reply::Messages(parts) => {
            let message =
                |part: &Text| OutgoingMessage { thread: thread(room), ..OutgoingMessage::new(part) };
            parts.iter().map(|part| Outgoing::Message(message(part))).collect()
        }
        Reply::File { name, content, caption } => {
            let (caption, entities) = caption.finish();
            let thread = thread(room);
            vec![Outgoing::Document(Document {
                name,
                bytes: content.into_bytes(),
                caption,
                entities,
                thread,
                silent: false,
            })]
        }
    }
}
