//! The notes: which message shows which question, up to which entry each session was announced, and other state that is
//! not in the logs. The file has one line per note and is compacted at every start.
//!
//! After a kill between sending a message and noting that, the message is sent again; no message is ever lost.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::room::Room;
use jiff::Timestamp;
use rapport_core::{QuestionId, SessionId};
use serde::{Deserialize, Serialize};

use super::button::{self, Tag};
use super::cards::CardKey;
use super::effect::Effect;
use super::quiet_hours::Quiet;
use super::step_effects::Effects;
use crate::bot_api::InlineKeyboardMarkup;

/// The maximum number of cards of ended sessions to remember, for replies to late taps.
const MOST_OLD: usize = 2000;
/// The maximum number of messages to remember that became answers.
const MOST_ANSWERS: usize = 1000;
/// The maximum number of voice messages to remember.
const MOST_HEARD: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// A session is announced up to this entry.
    Told { session: SessionId, seq: u64 },
    /// A message shows a question, with buttons.
    Shown { session: SessionId, question: QuestionId, since: u64, message: i32 },
    /// A message asks for free text.
    Prompted { session: SessionId, question: QuestionId, since: u64, message: i32 },
    /// The check boxes of a question, or of the list of a plan; `None` if the list is no longer shown.
    Picked { session: SessionId, question: QuestionId, since: u64, picks: Option<Picks> },
    /// A question is no longer in front of the person, and its messages show that.
    Closed { session: SessionId, question: QuestionId, since: u64 },
    /// A reminder was put off until this time.
    Snoozed { session: SessionId, question: QuestionId, since: u64, until: Timestamp },
    /// When a chat is quiet.
    Quiet { chat: i64, quiet: Quiet },
    /// A reminder was sent.
    Reminded { session: SessionId, question: QuestionId, since: u64 },
    /// A message shows the agent's activity.
    Progress { session: SessionId, message: Option<i32> },
    /// A session is over, and its end was announced.
    Over { session: SessionId },
    /// The outcome of a card of an ended session.
    Old { chat: i64, tag: String, answer: Option<String> },
    /// The id of a chat changed.
    Moved { from: i64, to: i64 },
    /// The messages of a session can no longer be edited, because its chat moved.
    Left { session: SessionId },
    /// The transcription of a voice message, until its sender confirms it.
    Heard { tag: String, words: HeardWords },
    /// The text of a message became the answer to a question.
    Answered { chat: i64, message: i32, session: SessionId, question: QuestionId },
    /// A room is about the project in this directory.
    About { room: Room, project: String },
    /// A person was asked in a room what to change about finished work; `None` once they have answered.
    Revising { room: Room, asked: Option<Revising> },
    /// Whether a guest may answer for the owner in a room.
    Guest { room: Room, owner: u64, guest: u64, may: bool },
}

/// The request to a person to say what to change about finished work. `message` is the message that asks, once it has
/// arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Revising {
    pub(super) session: SessionId,
    pub(super) by: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<i32>,
}

/// The transcription of a voice message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeardWords {
    pub(super) room: Room,
    pub(super) sender: u64,
    /// The update with the voice message.
    pub(super) update: String,
    pub(super) message: i32,
    /// The message that the voice message replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reply_to: Option<i32>,
    pub(super) text: String,
}

/// The selected check boxes, and the page of the list that is shown. The buttons of a message encode the same, but a
/// tap carries the buttons that the person saw, which may be out of date: after a kill, several taps may be handled
/// again in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Picks {
    pub(super) chosen: BTreeSet<usize>,
    #[serde(default)]
    pub(super) page: usize,
}

/// The notes about one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// The last announced entry.
    pub(super) told: u64,
    pub(super) cards: Vec<CardNote>,
    /// The message that shows the activity of the session's agent.
    pub(super) progress: Option<i32>,
}

/// The notes about one showing of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CardNote {
    pub(super) question: QuestionId,
    /// The entry since which the question is in front of the person.
    pub(super) since: u64,
    /// The messages that show the question, the newest at the end. Empty while the first one is being sent.
    pub(super) shown: Vec<i32>,
    /// The messages that ask for free text.
    pub(super) prompts: Vec<i32>,
    pub(super) closed: bool,
    /// The check boxes, once a person has tapped one.
    pub(super) picks: Option<Picks>,
    /// Whether a reminder was sent.
    pub(super) reminded: bool,
    /// When the reminder is sent again, if a person put it off.
    pub(super) snoozed: Option<Timestamp>,
}

impl CardNote {
    /// A card that is being sent.
    pub(super) fn new(question: QuestionId, since: u64) -> Self {
        Self {
            question,
            since,
            shown: Vec::new(),
            prompts: Vec::new(),
            closed: false,
            picks: None,
            reminded: false,
            snoozed: None,
        }
    }

    /// Whether the card was shown, or no longer has to be.
    pub(super) fn is_known(&self) -> bool {
        self.closed || !self.shown.is_empty()
    }

    /// Whether this is the note about this showing of this question.
    pub(super) fn is(&self, question: &QuestionId, since: u64) -> bool {
        self.since == since && self.question == *question
    }

    /// The lines for this note.
    fn lines(&self, session: &SessionId) -> Vec<Line> {
        let name = || (session.clone(), self.question.clone(), self.since);
        let shown = self.shown.iter().map(|message| {
            let (session, question, since) = name();
            Line::Shown { session, question, since, message: *message }
        });
        let prompted = self.prompts.iter().map(|message| {
            let (session, question, since) = name();
            Line::Prompted { session, question, since, message: *message }
        });
        let picked = self.picks.clone().map(|picks| {
            let (session, question, since) = name();
            Line::Picked { session, question, since, picks: Some(picks) }
        });
        let closed = self.closed.then(name);
        let closed = closed.map(|(session, question, since)| Line::Closed { session, question, since });
        let reminded = self.reminded.then(name);
        let reminded = reminded.map(|(session, question, since)| Line::Reminded { session, question, since });
        let snoozed = self.snoozed.map(|until| {
            let (session, question, since) = name();
            Line::Snoozed { session, question, since, until }
        });
        shown.chain(prompted).chain(picked).chain(closed).chain(reminded).chain(snoozed).collect()
    }
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    sessions: HashMap<SessionId, Noted>,
    guests: BTreeSet<(Room, u64, u64)>,
    /// The directories of the projects that rooms are about.
    projects: BTreeMap<Room, String>,
    /// Whom rooms ask what to change about finished work.
    revising: BTreeMap<Room, Revising>,
    heard: VecDeque<(String, HeardWords)>,
    /// The questions that messages answered, by chat and message, and the order in which they did.
    typed: HashMap<(i64, i32), (SessionId, QuestionId)>,
    typed_order: VecDeque<(i64, i32)>,
    quiet: BTreeMap<i64, Quiet>,
    old: VecDeque<(i64, String)>,
    answers: HashMap<(i64, String), Option<String>>,
    moved: BTreeMap<i64, i64>,
    /// Lines of unknown kinds, kept verbatim.
    unknown: Vec<String>,
}

impl Notes {
    /// Parses notes. A line that was cut off by a kill is dropped; a line of an unknown kind is kept.
    pub(super) fn parse(text: &str) -> Self {
        let mut notes = Self::default();
        for text in text.lines() {
            match serde_json::from_str(text) {
                Ok(line) => notes.take(line),
                Err(error) if error.is_data() => notes.unknown.push(text.to_owned()),
                Err(_) => {}
            }
        }
        notes
    }

    /// The compacted text that replaces the file.
    pub(super) fn text(&self) -> String {
        let lines = self.lines();
        let lines = lines.iter().filter_map(|line| serde_json::to_string(line).ok());
        lines.chain(self.unknown.iter().cloned()).map(|line| line + "\n").collect()
    }

    pub(super) fn of(&self, session: &SessionId) -> Option<&Noted> {
        self.sessions.get(session)
    }

    /// The notes about a card.
    pub(super) fn of_card(&self, key: &CardKey) -> Option<&CardNote> {
        self.of(&key.session)?.cards.iter().find(|card| card.is(&key.question, key.since))
    }

    /// Whether a card was shown, or no longer has to be.
    pub(super) fn is_known(&self, key: &CardKey) -> bool {
        self.of_card(key).is_some_and(CardNote::is_known)
    }

    /// Whether a message with this card was in the chat before the given message.
    pub(super) fn is_shown_before(&self, key: &CardKey, message: i32) -> bool {
        self.of_card(key).is_some_and(|note| note.shown.iter().any(|shown| *shown < message))
    }

    /// The options or items of a card that are selected so far. Before the first tap, the buttons of the message define
    /// them.
    pub(super) fn chosen(&self, key: &CardKey, seen: Option<&InlineKeyboardMarkup>) -> BTreeSet<usize> {
        let noted = self.of_card(key).and_then(|note| note.picks.as_ref());
        noted.map_or_else(|| button::chosen_on(seen), |picks| picks.chosen.clone())
    }

    /// Notes that a session is announced up to this entry.
    pub(super) fn note_announced(&mut self, effects: &mut Effects, session: &SessionId, seq: u64) {
        self.note(effects, Line::Told { session: session.clone(), seq });
    }

    /// Notes that a message shows a question.
    pub(super) fn shown(&mut self, effects: &mut Effects, key: &CardKey, message: i32) {
        let CardKey { session, question, since } = key.clone();
        self.note(effects, Line::Shown { session, question, since, message });
    }

    /// Notes that a message asks for free text.
    pub(super) fn prompted(&mut self, effects: &mut Effects, key: &CardKey, message: i32) {
        let CardKey { session, question, since } = key.clone();
        self.note(effects, Line::Prompted { session, question, since, message });
    }

    /// Notes which check boxes of a card are checked.
    pub(super) fn picked(&mut self, effects: &mut Effects, key: &CardKey, picks: Option<Picks>) {
        let CardKey { session, question, since } = key.clone();
        self.note(effects, Line::Picked { session, question, since, picks });
    }

    /// Notes that a question is no longer in front of the person.
    pub(super) fn closed(&mut self, effects: &mut Effects, key: &CardKey) {
        let CardKey { session, question, since } = key.clone();
        self.note(effects, Line::Closed { session, question, since });
    }

    /// Notes that a reminder was sent.
    pub(super) fn reminded(&mut self, effects: &mut Effects, key: &CardKey) {
        let CardKey { session, question, since } = key.clone();
        self.note(effects, Line::Reminded { session, question, since });
    }

    /// Notes that a reminder was put off.
    pub(super) fn snoozed(&mut self, effects: &mut Effects, key: &CardKey, until: Timestamp) {
        let CardKey { session, question, since } = key.clone();
        self.note(effects, Line::Snoozed { session, question, since, until });
    }

    /// When a chat is quiet, if a person has set that.
    pub(super) fn quiet(&self, chat: i64) -> Option<Quiet> {
        self.quiet.get(&chat).copied()
    }

    /// Notes when a chat is quiet.
    pub(super) fn set_quiet(&mut self, effects: &mut Effects, chat: i64, quiet: Quiet) {
        self.note(effects, Line::Quiet { chat, quiet });
    }

    /// Notes that this message shows the agent's activity.
    pub(super) fn progress(&mut self, effects: &mut Effects, session: &SessionId, message: Option<i32>) {
        self.note(effects, Line::Progress { session: session.clone(), message });
    }

    /// Notes that a session is over. Of its cards, only the answers are kept.
    pub(super) fn over(
        &mut self,
        effects: &mut Effects,
        session: &SessionId,
        chat: i64,
        answers: Vec<(Tag, Option<String>)>,
    ) {
        for (tag, answer) in answers {
            self.note(effects, Line::Old { chat, tag: tag.to_string(), answer });
        }
        self.note(effects, Line::Over { session: session.clone() });
    }

    /// The answer to a card of an ended session. The outer `None` means that the card is unknown.
    pub(super) fn old(&self, chat: i64, tag: &Tag) -> Option<Option<&str>> {
        self.answers.get(&(chat, tag.to_string())).map(Option::as_deref)
    }

    /// Whether a card of a current session has this tag.
    pub(super) fn is_open(&self, tag: &Tag) -> bool {
        let cards =
            self.sessions.iter().flat_map(|(id, noted)| noted.cards.iter().map(move |card| (id, card)));
        let mut open = cards.filter(|(_, card)| !card.closed);
        open.any(|(id, card)| Tag::of(id, &card.question, card.since) == *tag)
    }

    /// Notes the transcription of a voice message.
    pub(super) fn heard(&mut self, effects: &mut Effects, tag: &Tag, words: HeardWords) {
        self.note(effects, Line::Heard { tag: tag.to_string(), words });
    }

    /// The transcription of a voice message, if it is known.
    pub(super) fn heard_words(&self, tag: &Tag) -> Option<&HeardWords> {
        let tag = tag.to_string();
        self.heard.iter().find(|(known, _)| *known == tag).map(|(_, words)| words)
    }

    /// Notes that the text of a message became the answer to a question.
    pub(super) fn answered(
        &mut self,
        effects: &mut Effects,
        chat: i64,
        message: i32,
        session: SessionId,
        question: QuestionId,
    ) {
        self.note(effects, Line::Answered { chat, message, session, question });
    }

    /// The question that a message answered.
    pub(super) fn answer_by(&self, chat: i64, message: i32) -> Option<&(SessionId, QuestionId)> {
        self.typed.get(&(chat, message))
    }

    /// Notes that a room asks a person what to change about finished work.
    pub(super) fn revise(&mut self, effects: &mut Effects, room: Room, asked: Revising) {
        self.note(effects, Line::Revising { room, asked: Some(asked) });
    }

    /// Notes that a room no longer asks that.
    pub(super) fn revised(&mut self, effects: &mut Effects, room: Room) {
        if self.revising.contains_key(&room) {
            self.note(effects, Line::Revising { room, asked: None });
        }
    }

    /// The request to say what to change about finished work, if there is one in this room.
    pub(super) fn revising(&self, room: Room) -> Option<&Revising> {
        self.revising.get(&room)
    }

    /// Notes that a room is about the project in this directory.
    pub(super) fn about(&mut self, effects: &mut Effects, room: Room, project: String) {
        self.note(effects, Line::About { room, project });
    }

    /// The directory of the project that was chosen in a room.
    pub(super) fn project(&self, room: Room) -> Option<&str> {
        self.projects.get(&room).map(String::as_str)
    }

    /// The rooms that are about the project in this directory.
    pub(super) fn rooms_about(&self, project: &str) -> impl Iterator<Item = Room> {
        self.projects.iter().filter(move |(_, about)| *about == project).map(|(room, _)| *room)
    }

    /// Notes whether a guest may answer for an owner in a room.
    pub(super) fn guest(&mut self, effects: &mut Effects, room: Room, owner: u64, guest: u64, may: Guest) {
        self.note(effects, Line::Guest { room, owner, guest, may: may == Guest::May });
    }

    /// Whether a user may answer and steer the sessions of this owner in a room.
    pub(super) fn may(&self, user: u64, room: Room, owner: u64) -> bool {
        owner == user || self.guests.contains(&(room, owner, user))
    }

    /// Whether a guest may answer for any owner in a room.
    pub(super) fn is_any_guest(&self, room: Room, guest: u64) -> bool {
        let all = (room, 0, 0)..=(room, u64::MAX, u64::MAX);
        self.guests.range(all).any(|(_, _, known)| *known == guest)
    }

    /// Notes that a chat moved. The messages of these sessions do not exist in the new chat.
    pub(super) fn moved<'a>(
        &mut self,
        effects: &mut Effects,
        from: i64,
        to: i64,
        sessions: impl Iterator<Item = &'a SessionId>,
    ) {
        self.note(effects, Line::Moved { from, to });
        for session in sessions {
            self.note(effects, Line::Left { session: session.clone() });
        }
    }

    /// The current room of a room whose chat may have moved.
    pub(super) fn now(&self, room: Room) -> Room {
        Room { chat: self.moved.get(&room.chat).copied().unwrap_or(room.chat), ..room }
    }

    /// Applies a note, and has it written to the file.
    fn note(&mut self, effects: &mut Effects, line: Line) {
        if let Ok(text) = serde_json::to_string(&line) {
            effects.want(Effect::Note(text));
        }
        self.take(line);
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Told { session, seq } => self.session(session).told = seq,
            Line::Shown { session, question, since, message } => {
                self.card(session, question, since).shown.push(message);
            }
            Line::Prompted { session, question, since, message } => {
                self.card(session, question, since).prompts.push(message);
            }
            Line::Picked { session, question, since, picks } => {
                self.card(session, question, since).picks = picks;
            }
            Line::Closed { session, question, since } => {
                let card = self.card(session, question, since);
                (card.closed, card.picks) = (true, None);
            }
            Line::Reminded { session, question, since } => {
                let card = self.card(session, question, since);
                (card.reminded, card.snoozed) = (true, None);
            }
            Line::Snoozed { session, question, since, until } => {
                let card = self.card(session, question, since);
                (card.reminded, card.snoozed) = (false, Some(until));
            }
            Line::Quiet { chat, quiet } => drop(self.quiet.insert(chat, quiet)),
            Line::Progress { session, message } => self.session(session).progress = message,
            Line::Over { session } => drop(self.sessions.remove(&session)),
            Line::Old { chat, tag, answer } => self.remember(chat, tag, answer),
            Line::Moved { from, to } => self.take_move(from, to),
            Line::Left { session } => {
                let noted = self.session(session);
                noted.progress = None;
                for card in &mut noted.cards {
                    card.shown.clear();
                    card.prompts.clear();
                }
            }
            Line::Heard { tag, words } => {
                self.heard.retain(|(known, _)| *known != tag);
                self.heard.push_back((tag, words));
                if self.heard.len() > MOST_HEARD {
                    self.heard.pop_front();
                }
            }
            Line::Answered { chat, message, session, question } => {
                if self.typed.insert((chat, message), (session, question)).is_none() {
                    self.typed_order.push_back((chat, message));
                }
                if self.typed_order.len() > MOST_ANSWERS
                    && let Some(oldest) = self.typed_order.pop_front()
                {
                    self.typed.remove(&oldest);
                }
            }
            Line::About { room, project } => drop(self.projects.insert(room, project)),
            Line::Revising { room, asked: Some(asked) } => drop(self.revising.insert(room, asked)),
            Line::Revising { room, asked: None } => drop(self.revising.remove(&room)),
            Line::Guest { room, owner, guest, may: true } => drop(self.guests.insert((room, owner, guest))),
            Line::Guest { room, owner, guest, may: false } => drop(self.guests.remove(&(room, owner, guest))),
        }
    }

    fn take_move(&mut self, from: i64, to: i64) {
        self.moved.insert(from, to);
        // A chat may move twice, and one lookup has to find its current id.
        self.moved.values_mut().filter(|now| **now == from).for_each(|now| *now = to);
        let now = |chat: i64| if chat == from { to } else { chat };
        self.guests = std::mem::take(&mut self.guests)
            .into_iter()
            .map(|(room, owner, guest)| (Room { chat: now(room.chat), ..room }, owner, guest))
            .collect();
        self.projects = std::mem::take(&mut self.projects)
            .into_iter()
            .map(|(room, project)| (Room { chat: now(room.chat), ..room }, project))
            .collect();
        self.revising = std::mem::take(&mut self.revising)
            .into_iter()
            .map(|(room, asked)| (Room { chat: now(room.chat), ..room }, asked))
            .collect();
        self.old.iter_mut().for_each(|(chat, _)| *chat = now(*chat));
        self.answers = std::mem::take(&mut self.answers)
            .into_iter()
            .map(|((chat, tag), answer)| ((now(chat), tag), answer))
            .collect();
    }

    fn session(&mut self, session: SessionId) -> &mut Noted {
        self.sessions.entry(session).or_default()
    }

    fn card(&mut self, session: SessionId, question: QuestionId, since: u64) -> &mut CardNote {
        let cards = &mut self.session(session).cards;
        let place = cards.iter().position(|card| card.is(&question, since));
        let place = place.unwrap_or_else(|| {
            cards.push(CardNote::new(question, since));
            cards.len() - 1
        });
        &mut cards[place]
    }

    fn remember(&mut self, chat: i64, tag: String, answer: Option<String>) {
        if self.answers.insert((chat, tag.clone()), answer).is_none() {
            self.old.push_back((chat, tag));
        }
        while self.old.len() > MOST_OLD {
            if let Some(oldest) = self.old.pop_front() {
                self.answers.remove(&oldest);
            }
        }
    }

    fn lines(&self) -> Vec<Line> {
        let mut lines: Vec<_> =
            self.moved.iter().map(|(from, to)| Line::Moved { from: *from, to: *to }).collect();
        for (session, noted) in &self.sessions {
            lines.push(Line::Told { session: session.clone(), seq: noted.told });
            if noted.progress.is_some() {
                lines.push(Line::Progress { session: session.clone(), message: noted.progress });
            }
            lines.extend(noted.cards.iter().flat_map(|card| card.lines(session)));
        }
        lines.extend(self.old.iter().map(|(chat, tag)| Line::Old {
            chat: *chat,
            tag: tag.clone(),
            answer: self.answers.get(&(*chat, tag.clone())).cloned().flatten(),
        }));
        lines.extend(self.typed_order.iter().filter_map(|(chat, message)| {
            let (session, question) = self.typed.get(&(*chat, *message)).cloned()?;
            Some(Line::Answered { chat: *chat, message: *message, session, question })
        }));
        let heard =
            |(tag, words): &(String, HeardWords)| Line::Heard { tag: tag.clone(), words: words.clone() };
        lines.extend(self.heard.iter().map(heard));
        lines.extend(self.quiet.iter().map(|(chat, quiet)| Line::Quiet { chat: *chat, quiet: *quiet }));
        let about = |(room, project): (&Room, &String)| Line::About { room: *room, project: project.clone() };
        lines.extend(self.projects.iter().map(about));
        let revising = self.revising.iter();
        lines
            .extend(revising.map(|(room, asked)| Line::Revising { room: *room, asked: Some(asked.clone()) }));
        lines.extend(self.guests.iter().map(|(room, owner, guest)| Line::Guest {
            room: *room,
            owner: *owner,
            guest: *guest,
            may: true,
        }));
        lines
    }
}

/// Whether a guest may answer for an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guest {
    May,
    MayNot,
}
