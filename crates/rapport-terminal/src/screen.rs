//! The interactive screen as a pure state: events go in, effects come out, and [`Screen::frame`] is the bottom of the
//! screen. The time is an argument.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rapport_core::{
    Act, Aim, By, Entry, Event, OpenQuestion, Purpose, QuestionId, Reply, RoundId, SessionId,
};

use super::cards::{Card, Cards, News, TextAt};
use super::editor::Editor;
use super::keys::{Intent, plain_char};
use super::last_look::{self, LastLook, LastLookCommand};
use super::one_key;
use super::render::{block::Block, ending, frame, prose, summary};
use super::story::Story;
use super::text::{Line, Tone};
use super::words;
use super::work::Work;
use super::{AutoAnswer, Effect, Outcome, ScreenInput, Size, Terminal};
use rapport_door::Update;

/// The interactive screen.
#[derive(Debug)]
pub struct Screen {
    pub(super) story: Story,
    pub(super) cards: Cards,
    pub(super) work: Work,
    pub(super) auto: Option<AutoAnswer>,
    pub(super) over: Over,
    /// Whether an act is being submitted; the next one has to wait.
    pub(super) sending: bool,
    /// What was wrong with the last key or answer.
    pub(super) notice: Option<String>,
    pub(super) size: Size,
    /// The message to the agent that is typed while no card is shown.
    pub(super) words: Editor,
    /// The message that is being submitted.
    said: Option<String>,
    /// The last answer of a round, which is shown for a last look before it is sent.
    pub(super) look: Option<LastLook>,
    /// The card from which it was sent.
    sent_from: Option<QuestionId>,
    /// A decision on the next card that was made meanwhile.
    held: Option<Act>,
    me: By,
    answer_hint: String,
    /// Questions for which an automatic answer was tried.
    tried: Vec<QuestionId>,
    rounds_told: Vec<RoundId>,
    path_told: Option<String>,
    left: bool,
}

/// The number of rows of a permission's card, which has to be visible together with the text above it.
const CARD_ROWS: usize = 16;

/// An overlay on the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Nothing,
    /// The keys, from this row on.
    Help {
        top: usize,
    },
    Cancel,
    /// A last look over the answers of a round.
    LastLook,
    /// The full text of the card, from this row on.
    Whole {
        top: usize,
    },
}

impl Screen {
    /// An empty screen; entries up to `past` are shown in brief.
    pub fn new(config: Terminal, session: SessionId, past: u64, size: Size) -> Self {
        let auto_by = config.auto.as_ref().map(|auto| auto.by.clone());
        let story = Story::new(session, config.by.clone(), auto_by, past);
        Self {
            story: if config.auto.is_none() { story.asking_next() } else { story },
            cards: Cards::default(),
            work: Work::default(),
            auto: config.auto,
            over: Over::Nothing,
            sending: false,
            notice: None,
            size,
            words: Editor::default(),
            said: None,
            look: None,
            sent_from: None,
            held: None,
            me: config.by,
            answer_hint: config.answer_hint,
            tried: Vec::new(),
            rounds_told: Vec::new(),
            path_told: None,
            left: false,
        }
    }

    /// Handles an event, and returns the effects.
    pub fn step(&mut self, happening: ScreenInput, now: Duration) -> Vec<Effect> {
        match happening {
            ScreenInput::Update(Update::Entry(entry)) => self.entry(&entry, now),
            ScreenInput::Update(Update::Action(_) | Update::Lost(_)) => Vec::new(),
            ScreenInput::Update(Update::Progress(progress)) => {
                self.work.progress(progress);
                Vec::new()
            }
            ScreenInput::Key(key) => self.key(key, now),
            ScreenInput::Paste(text) => self.paste(&text, now),
            ScreenInput::Resized(size) => {
                self.size = size;
                self.scroll_back();
                Vec::new()
            }
            ScreenInput::Submitted(result) => self.submitted(result),
            ScreenInput::TimePassed => self.answer_by_itself(now).into_iter().collect(),
            ScreenInput::Stopped => self.detach(),
            ScreenInput::Resumed => {
                if let Some(shown) = self.cards.shown_mut() {
                    shown.guard(now);
                }
                Vec::new()
            }
            ScreenInput::Line(_) => Vec::new(),
        }
    }

    /// The bottom of the screen.
    pub fn frame(&self, now: Duration) -> Block {
        if self.left { Block::default() } else { frame::block(self, now) }
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// When to wake up although nothing happens: for the spinner, or when a card starts to accept keys. Never while a
    /// question just waits.
    pub fn wake(&self, now: Duration) -> Option<Duration> {
        if self.left {
            return None;
        }
        if self.story.asks_next() {
            return None;
        }
        let Some(shown) = self.cards.shown() else { return Some(self.work.next_frame(now)) };
        let armed = Some(shown.armed_at()).filter(|at| *at > now);
        let auto = self.auto_due().map(|due| due.max(now));
        armed.into_iter().chain(auto).min()
    }

    /// When the current card is answered automatically, if ever.
    pub(super) fn auto_due(&self) -> Option<Duration> {
        let (auto, shown) = (self.auto.as_ref()?, self.cards.shown()?);
        let waits = !self.sending && !self.tried.contains(&shown.card.question().id);
        waits.then(|| shown.since + auto.pause)
    }

    fn entry(&mut self, entry: &Entry, now: Duration) -> Vec<Effect> {
        let mut lines = self.story.take(entry);
        entry.facts.iter().for_each(|fact| self.work.fact(fact, now));
        let before = self.cards.shown().map(|shown| shown.card.question().id.clone());
        lines.extend(self.settle(entry, now));
        let notice = self.notice_of(entry, before.as_ref());
        lines.extend(self.plan_saved().into_iter().flatten());
        let mut effects = vec![Effect::Print(lines)];
        effects.extend(notice);
        if let Some(status) = self.story.ended() {
            self.left = true;
            effects.push(Effect::Leave(Outcome::Ended(status)));
        }
        effects
    }

    /// The notification about a card that came up by itself.
    fn notice_of(&self, entry: &Entry, before: Option<&QuestionId>) -> Option<Effect> {
        let question = self.cards.shown()?.card.question();
        let is_news =
            before != Some(&question.id) && !news(entry, &self.me).by_me && !self.story.is_past(entry);
        (is_news && self.auto.is_none()).then(|| Effect::Notify(words::title(question, self.story.view())))
    }

    /// Puts the right card on top after these facts, and returns the lines to read before it.
    fn settle(&mut self, entry: &Entry, now: Duration) -> Vec<Line> {
        let Some(view) = self.story.view().filter(|_| self.story.is_present()) else { return Vec::new() };
        let news = News { in_front: self.story.in_front(), ..news(entry, &self.me) };
        if !self.cards.settle(view, news, now) {
            return Vec::new();
        }
        self.notice = None;
        self.over = Over::Nothing;
        self.look_again();
        self.preface()
    }

    /// Returns to the last look after an answer was changed from it. If its question is settled, the last look is over.
    fn look_again(&mut self) {
        let Some((look, view)) = self.look.as_mut().zip(self.story.view()) else { return };
        let question = view.questions.iter().find(|question| question.id == look.question);
        let Some(question) = question else {
            self.look = None;
            return;
        };
        let is_shown = self.cards.shown().is_some_and(|shown| shown.card.question().id == question.id);
        if is_shown && last_look::is_due(question, view) {
            look.cursor = 0;
            self.over = Over::LastLook;
        }
    }

    /// The lines to read before the card that has just come up.
    fn preface(&mut self) -> Vec<Line> {
        let Some((view, shown)) = self.story.view().zip(self.cards.shown_mut()) else { return Vec::new() };
        if let Card::Confirm(_) = shown.card {
            let path = view.plan.as_ref().filter(|plan| plan.saved).and_then(|plan| plan.path.clone());
            let saved = path.iter().flat_map(|path| summary::saved(path));
            let lines = summary::lines(view).into_iter().chain(saved).collect();
            self.path_told = path;
            return lines;
        }
        let question = shown.card.question();
        let mut lines = summary::preface(question);
        let room = self.size.rows.saturating_sub(CARD_ROWS).max(5);
        let rows: usize = lines.iter().map(|line| line.rows(frame::columns(self.size)).len()).sum();
        if matches!(question.purpose, Purpose::Permission { .. }) && rows > room {
            shown.unread = true;
            let hidden = shorten(&mut lines, room.saturating_sub(2), frame::columns(self.size));
            lines.push(Line::warning(&format!(
                "{hidden} more lines: press p to read on, then it can be allowed"
            )));
        }
        let told = matches!(view.aim, Aim::Progress(_)) || self.rounds_told.contains(&question.round);
        if lines.is_empty() && !told {
            self.rounds_told.push(question.round);
            lines.extend(summary::round(question.of));
        }
        if frame::is_long(question, self.size) {
            lines.extend(prose::lines(&question.text, Tone::Text));
            shown.text = TextAt::History;
        }
        lines
    }

    fn plan_saved(&mut self) -> Option<[Line; 2]> {
        let waits = matches!(self.cards.shown()?.card, Card::Confirm(_));
        let path = self.story.view()?.plan.as_ref().filter(|plan| plan.saved && waits)?.path.clone()?;
        if self.path_told.as_ref() == Some(&path) {
            return None;
        }
        let line = summary::saved(&path);
        self.path_told = Some(path);
        Some(line)
    }

    fn key(&mut self, key: KeyEvent, now: Duration) -> Vec<Effect> {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return self.detach();
        }
        if key.code == KeyCode::Char('z') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return vec![Effect::Suspend];
        }
        match self.over {
            Over::Whole { top } => return self.key_reading(key, top),
            Over::Help { top } => return self.key_helping(key, top),
            Over::Cancel => return self.key_cancelling(key),
            Over::LastLook => return self.key_looking(key),
            Over::Nothing => {}
        }
        let listens = self.listens();
        let intent = match self.cards.shown_mut() {
            Some(shown) if shown.armed_at() > now => {
                shown.pressed_ahead(now);
                Intent::Nothing
            }
            Some(shown) => {
                self.notice = None;
                shown.card.key(key)
            }
            None if listens => return self.key_for_words(key),
            None => key_while_working(key),
        };
        self.intend(intent)
    }

    /// Whether a message to the agent can be typed, because no card is shown.
    pub(super) fn listens(&self) -> bool {
        let has_agent = |aim: &Aim| matches!(aim, Aim::Work | Aim::Progress(_) | Aim::Chat);
        self.auto.is_none() && self.story.view().is_some_and(|view| has_agent(&view.aim))
    }

    /// Handles a key of the message to the agent; Esc stops the agent, or leaves if it is stopped.
    fn key_for_words(&mut self, key: KeyEvent) -> Vec<Effect> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        self.notice = None;
        match key.code {
            KeyCode::Char('x') if is_control => self.over = Over::Cancel,
            KeyCode::Char('d') if is_control && self.words.is_empty() => return self.detach(),
            KeyCode::Char('?') if self.words.is_empty() => self.over = Over::Help { top: 0 },
            KeyCode::Esc if !self.words.is_empty() => self.words = Editor::default(),
            KeyCode::Esc if self.story.asks_next() => return self.detach(),
            KeyCode::Esc => return self.submit(Act::Stop),
            KeyCode::Enter if is_plain => return self.say(),
            _ => drop(self.words.key(key)),
        }
        Vec::new()
    }

    /// Submits the message. While something else is being submitted, it stays in the editor.
    fn say(&mut self) -> Vec<Effect> {
        if self.sending || self.words.is_blank() {
            return Vec::new();
        }
        let text = std::mem::take(&mut self.words).text();
        self.said = Some(text.clone());
        self.submit(Act::Say { text, id: None })
    }

    fn key_looking(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(question) = self.cards.shown().map(|shown| shown.card.question().clone()) else {
            return Vec::new();
        };
        let round: Vec<QuestionId> = self
            .story
            .round(question.round, &question.id)
            .iter()
            .map(|asked| asked.question.id.clone())
            .collect();
        let Some(look) = &mut self.look else { return Vec::new() };
        let looked = look.key(key, round.len());
        match looked {
            LastLookCommand::Nothing => return Vec::new(),
            LastLookCommand::Cancel => self.over = Over::Cancel,
            LastLookCommand::Detach => return self.detach(),
            LastLookCommand::Send => {
                self.over = Over::Nothing;
                let sent = self.look.take();
                return sent.map_or_else(Vec::new, |look| {
                    self.submit(Act::Answer { question: Some(look.question), reply: look.reply })
                });
            }
            LastLookCommand::Change(place) => {
                self.over = Over::Nothing;
                if let Some(other) = round.get(place).filter(|id| **id != question.id) {
                    return self.submit(Act::Reopen { question: other.clone() });
                }
                self.look = None;
            }
            LastLookCommand::Back => {
                self.over = Over::Nothing;
                self.look = None;
            }
        }
        Vec::new()
    }

    /// Pages through the keys, if they do not fit the screen. Any other key goes back.
    fn key_helping(&mut self, key: KeyEvent, top: usize) -> Vec<Effect> {
        let page = frame::page(self.size);
        let last = frame::help(frame::columns(self.size)).len().saturating_sub(page);
        let to = paged(key, top, page, last).filter(|_| last > 0);
        self.over = to.map_or(Over::Nothing, |top| Over::Help { top });
        Vec::new()
    }

    /// Scrolls back what became shorter than the screen when the window grew.
    fn scroll_back(&mut self) {
        let (help, page) = (frame::help(frame::columns(self.size)).len(), frame::page(self.size));
        let whole =
            self.cards.shown().map_or(0, |shown| frame::whole(shown.card.question(), self.size).len());
        match &mut self.over {
            Over::Help { top } => *top = (*top).min(help.saturating_sub(page)),
            Over::Whole { top } => *top = (*top).min(whole.saturating_sub(page)),
            Over::Nothing | Over::Cancel | Over::LastLook => {}
        }
    }

    /// Pages through the full text of the card. Once its end was visible, it can be allowed.
    fn key_reading(&mut self, key: KeyEvent, top: usize) -> Vec<Effect> {
        let Some(shown) = self.cards.shown_mut() else { return Vec::new() };
        let (rows, page) = (frame::whole(shown.card.question(), self.size).len(), frame::page(self.size));
        let last = rows.saturating_sub(page);
        if key.code == KeyCode::Esc || matches!(plain_char(key), Some('q' | 'p')) {
            self.over = Over::Nothing;
            return Vec::new();
        }
        let to = paged(key, top, page, last).unwrap_or(top).min(last);
        shown.unread &= to < last;
        self.over = Over::Whole { top: to };
        Vec::new()
    }

    fn read_whole(&mut self) {
        let Some(shown) = self.cards.shown_mut() else { return };
        let rows = frame::whole(shown.card.question(), self.size).len();
        if rows == 0 {
            self.notice = Some("there is nothing more to show".into());
            return;
        }
        shown.unread &= rows > frame::page(self.size);
        self.over = Over::Whole { top: 0 };
    }

    /// Whether this answer allows something whose end was not visible.
    fn allows_unread(&self, question: &OpenQuestion, reply: &Reply) -> bool {
        let asked = question.question();
        let allows = asked.resolve(reply).is_ok_and(|answer| !asked.is_denied_by(&answer));
        allows && self.cards.shown().is_some_and(|shown| shown.unread)
    }

    fn key_cancelling(&mut self, key: KeyEvent) -> Vec<Effect> {
        match (key.code, plain_char(key)) {
            (_, Some('y' | 'Y')) => {
                (self.over, self.notice) = (Over::Nothing, None);
                self.submit(Act::Cancel { reason: None })
            }
            (KeyCode::Esc, _) | (_, Some('n' | 'N' | 'q')) => {
                (self.over, self.notice) = (Over::Nothing, None);
                Vec::new()
            }
            _ => {
                self.notice = Some(one_key::explained("yn"));
                Vec::new()
            }
        }
    }

    fn paste(&mut self, text: &str, now: Duration) -> Vec<Effect> {
        let listens = self.listens();
        match self.cards.shown_mut() {
            Some(shown) if self.over == Over::Nothing && shown.armed_at() <= now => {
                let intent = shown.card.paste(text);
                self.intend(intent)
            }
            None if self.over == Over::Nothing && listens => {
                self.words.paste(text);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn intend(&mut self, intent: Intent) -> Vec<Effect> {
        let question = self.cards.shown().map(|shown| shown.card.question().clone());
        match (intent, question) {
            (Intent::Nothing, _) => {}
            (Intent::Help, _) => self.over = Over::Help { top: 0 },
            (Intent::Whole, _) => self.read_whole(),
            (Intent::Answer(reply), Some(question)) if self.allows_unread(&question, &reply) => {
                self.notice = Some("part of it was not visible yet: press p and read to its end".into());
            }
            (Intent::Cancel, _) => self.over = Over::Cancel,
            (Intent::Detach, _) => return self.detach(),
            (Intent::Refused(why), _) => self.notice = Some(why.into()),
            (Intent::Edit(question), _) => return self.submit(Act::Reopen { question }),
            (Intent::Answer(reply), Some(question)) if self.is_last_of_round(&question) => {
                self.look = Some(LastLook::new(question.id, reply));
                self.over = Over::LastLook;
            }
            (Intent::Answer(reply), Some(question)) => {
                return self.submit(Act::Answer { question: Some(question.id), reply });
            }
            (Intent::Keep, Some(question)) => return self.submit(Act::Keep { question: question.id }),
            (Intent::SendDraft, Some(question)) => {
                return self.submit(Act::SendDraft { question: question.id });
            }
            (Intent::TakeOffer, Some(question)) => {
                return self.submit(Act::TakeOffer { question: question.id });
            }
            (Intent::Back, Some(question)) => return self.back(&question),
            (
                Intent::Answer(_) | Intent::Keep | Intent::SendDraft | Intent::TakeOffer | Intent::Back,
                None,
            ) => {}
        }
        Vec::new()
    }

    fn is_last_of_round(&self, question: &OpenQuestion) -> bool {
        self.story.view().is_some_and(|view| last_look::is_due(question, view))
    }

    fn back(&mut self, question: &OpenQuestion) -> Vec<Effect> {
        match self.story.before(question).cloned() {
            Some(question) => self.submit(Act::Reopen { question }),
            None => {
                self.notice = Some("there is no earlier question to go back to in this round".into());
                Vec::new()
            }
        }
    }

    fn submit(&mut self, act: Act) -> Vec<Effect> {
        let from = self.cards.shown().map(|shown| shown.card.question().id.clone());
        if self.sending {
            // The next card may come up before the last act is confirmed; pressing a key twice is a different case.
            if from != self.sent_from || matches!(act, Act::Cancel { .. } | Act::Stop) {
                self.held = Some(act);
            }
            return Vec::new();
        }
        (self.sending, self.sent_from) = (true, from);
        vec![Effect::Submit { by: self.me.clone(), act: Box::new(act) }]
    }

    fn submitted(&mut self, result: Result<(), String>) -> Vec<Effect> {
        self.sending = false;
        // A refused message returns to the editor.
        if let Some(said) = self.said.take().filter(|_| result.is_err() && self.words.is_empty()) {
            self.words = Editor::with(&said);
        }
        if let Some(act) = self.held.take() {
            return self.submit(act);
        }
        match result {
            Ok(()) => Vec::new(),
            Err(why) if self.cards.shown().is_some() => {
                self.notice = Some(why);
                Vec::new()
            }
            Err(why) => vec![Effect::Print(vec![Line::warning(&why)])],
        }
    }

    fn answer_by_itself(&mut self, now: Duration) -> Option<Effect> {
        self.auto_due().filter(|due| *due <= now)?;
        let (auto, shown) = (self.auto.as_ref()?, self.cards.shown()?);
        let question = shown.card.question();
        self.tried.push(question.id.clone());
        self.sending = true;
        let act = Act::Answer { question: Some(question.id.clone()), reply: (auto.pick)(question) };
        Some(Effect::Submit { by: auto.by.clone(), act: Box::new(act) })
    }

    fn detach(&mut self) -> Vec<Effect> {
        self.left = true;
        let open = self.story.view().map_or(0, |view| view.questions.len());
        let mut lines = self.story.last_words();
        if let Some(view) = self.story.view().filter(|_| self.story.asks_next()) {
            lines.extend(ending::left_at_rest(view));
            return vec![Effect::Print(lines), Effect::Leave(Outcome::Detached)];
        }
        if let Some((look, view)) = self.look.as_ref().zip(self.story.view())
            && let Some(question) = self.story.open(&look.question)
        {
            lines.push(Line::empty());
            lines.extend(look.farewell(question, view, &self.answer_hint));
            return vec![Effect::Print(lines), Effect::Leave(Outcome::Detached)];
        }
        let stays = match open {
            0 => return vec![Effect::Print(lines), Effect::Leave(Outcome::Detached)],
            1 => "The question stays open. Answer from anywhere with:",
            _ => "The questions stay open. Answer from anywhere with:",
        };
        let command = Line::command(&self.answer_hint);
        lines.extend([Line::empty(), Line::new(Tone::Text, stays), command]);
        vec![Effect::Print(lines), Effect::Leave(Outcome::Detached)]
    }
}

/// Keeps as many lines as fit this many rows, and returns the number of omitted ones.
fn shorten(lines: &mut Vec<Line>, room: usize, columns: usize) -> usize {
    let mut used = 0;
    let fits = |line: &&Line| {
        used += line.rows(columns).len();
        used <= room
    };
    let kept = lines.iter().take_while(fits).count();
    let hidden = lines.len() - kept;
    lines.truncate(kept);
    hidden
}

/// The first row that is shown after a key that pages; `None` for other keys.
fn paged(key: KeyEvent, top: usize, page: usize, last: usize) -> Option<usize> {
    let to = match (key.code, plain_char(key)) {
        (KeyCode::Up, _) | (_, Some('k')) => top.saturating_sub(1),
        (KeyCode::Down | KeyCode::Enter, _) | (_, Some('j')) => top + 1,
        (KeyCode::PageUp, _) | (_, Some('b')) => top.saturating_sub(page),
        (KeyCode::PageDown, _) | (_, Some(' ')) => top + page,
        (KeyCode::Home, _) | (_, Some('g')) => 0,
        (KeyCode::End, _) | (_, Some('G')) => last,
        _ => return None,
    };
    Some(to.min(last))
}

fn news<'a>(entry: &'a Entry, me: &By) -> News<'a> {
    let mut news = News { reopened: None, answered: false, by_me: false, in_front: None };
    for fact in &entry.facts {
        match fact {
            Event::Reopened { question, by } if by == me => {
                (news.reopened, news.by_me) = (Some(question), true)
            }
            Event::Answered { by, .. } => (news.answered, news.by_me) = (true, by == me),
            Event::Kept { by, .. } => news.by_me = by == me,
            _ => {}
        }
    }
    news
}

fn key_while_working(key: KeyEvent) -> Intent {
    match (key.code, plain_char(key)) {
        (KeyCode::Esc, _) | (_, Some('q')) => Intent::Cancel,
        (_, Some('d')) => Intent::Detach,
        (_, Some('?')) => Intent::Help,
        _ => Intent::Nothing,
    }
}
