//! The card of one question: the cursor, the choices, the typed text, and what each key does.

use crossterm::event::{KeyCode, KeyEvent};
use rapport_core::{OpenQuestion, Purpose, Reply};

use super::editor::{Editor, Typed};
use super::keys::{Intent, Number, Picked, moved, plain_char};

/// The card of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionCard {
    pub question: OpenQuestion,
    /// The row of the cursor: an option, or the free-text row after the last one.
    pub cursor: usize,
    /// The checked options, if several may be chosen.
    pub chosen: Vec<usize>,
    /// The free text.
    pub own: Editor,
    /// Whether the free text is being typed.
    pub typing: bool,
    /// Whether no row is selected yet: Enter alone must never allow an agent something.
    pub undecided: bool,
    number: Number,
}

impl QuestionCard {
    /// A new card. The cursor starts at the question's previous answer, if there is one.
    pub fn new(question: OpenQuestion) -> Self {
        let typing = question.options.is_empty();
        let mut card = Self {
            question,
            cursor: 0,
            chosen: Vec::new(),
            own: Editor::default(),
            typing,
            undecided: false,
            number: Number::default(),
        };
        card.undecided = card.question.purpose != Purpose::Clarify;
        if let Some(previous) = card.question.previous.clone() {
            card.preselect(&previous);
        }
        card
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> Intent {
        if self.typing { self.key_typing(key) } else { self.key_choosing(key) }
    }

    /// Handles pasted text: it becomes free text, if that is accepted.
    pub fn paste(&mut self, text: &str) -> Intent {
        if !self.question.free_text {
            return Intent::Refused("this question accepts one of its options, not free text");
        }
        self.start_typing();
        self.own.paste(text);
        Intent::Nothing
    }

    /// The number of rows that can be chosen.
    pub fn rows(&self) -> usize {
        self.question.options.len() + usize::from(self.question.free_text)
    }

    /// Whether the cursor is on the free-text row.
    fn is_on_own(&self) -> bool {
        self.cursor >= self.question.options.len() && !self.undecided
    }

    fn key_choosing(&mut self, key: KeyEvent) -> Intent {
        if let Some(c) = plain_char(key).filter(|c| self.is_on_own() && *c != ' ') {
            self.start_typing();
            self.own.paste(&c.to_string());
            return Intent::Nothing;
        }
        if let Some(digit) = plain_char(key).and_then(|c| c.to_digit(10)) {
            return self.digit(digit);
        }
        self.number.clear();
        if let Some(row) = moved(self.cursor, self.rows(), key) {
            self.cursor = if self.undecided && row == 1 { 0 } else { row };
            self.undecided = false;
            return Intent::Nothing;
        }
        match (key.code, plain_char(key)) {
            (_, Some('s')) if self.question.draft.is_some() => Intent::SendDraft,
            (_, Some('r')) if self.question.offer.is_some() => Intent::TakeOffer,
            (KeyCode::Enter, _) if self.undecided => Intent::Refused("choose first: ↑↓ or a number"),
            (KeyCode::Enter, _) => self.enter(),
            (_, Some('p')) => Intent::Whole,
            (_, Some(' ')) => self.space(),
            (KeyCode::Left | KeyCode::Backspace, _) | (_, Some('b')) => Intent::Back,
            (KeyCode::Esc, _) => self.leave(),
            (_, Some('o')) if self.question.free_text => self.start_typing(),
            (_, Some('q')) => Intent::Cancel,
            (_, Some('d')) => Intent::Detach,
            (_, Some('?')) => Intent::Help,
            _ => Intent::Nothing,
        }
    }

    fn key_typing(&mut self, key: KeyEvent) -> Intent {
        if key.code == KeyCode::Enter && key.modifiers.is_empty() {
            return self.answer();
        }
        if key.code == KeyCode::Tab && self.own.is_empty() && self.question.draft.is_some() {
            return Intent::SendDraft;
        }
        if key.code == KeyCode::BackTab && self.own.is_empty() && self.question.offer.is_some() {
            return Intent::TakeOffer;
        }
        if self.own.key(key) == Typed::Taken {
            return Intent::Nothing;
        }
        let goes_back = matches!(key.code, KeyCode::Left | KeyCode::Backspace) && self.own.is_empty();
        let Some(last) = self.question.options.len().checked_sub(1) else {
            return match key.code {
                KeyCode::Esc => self.leave(),
                _ if goes_back => Intent::Back,
                _ => Intent::Nothing,
            };
        };
        if goes_back || matches!(key.code, KeyCode::Esc | KeyCode::Up) {
            self.cursor = last;
            self.typing = false;
        }
        Intent::Nothing
    }

    fn digit(&mut self, digit: u32) -> Intent {
        match self.number.digit(digit, self.question.options.len()) {
            Picked::None => Intent::Refused("there is no option with that number"),
            Picked::SoFar(row) => {
                self.cursor = row;
                Intent::Nothing
            }
            Picked::Row(row) => {
                self.cursor = row;
                if self.question.multi { self.space() } else { Intent::Answer(Reply::Choices(vec![row])) }
            }
        }
    }

    fn space(&mut self) -> Intent {
        if self.is_on_own() {
            return self.start_typing();
        }
        if self.question.multi {
            match self.chosen.iter().position(|row| *row == self.cursor) {
                Some(place) => drop(self.chosen.remove(place)),
                None => self.chosen.push(self.cursor),
            }
            self.chosen.sort_unstable();
        }
        Intent::Nothing
    }

    fn enter(&mut self) -> Intent {
        if self.is_on_own() && self.own.is_blank() {
            return self.start_typing();
        }
        if self.question.multi || self.is_on_own() {
            return self.answer();
        }
        Intent::Answer(Reply::Choices(vec![self.cursor]))
    }

    /// The checked options and the free text, as an answer.
    fn answer(&self) -> Intent {
        let words = self.own.text().trim().to_owned();
        let chosen = if self.question.multi { self.chosen.clone() } else { Vec::new() };
        match (chosen.is_empty(), words.is_empty()) {
            (true, true) if self.typing => Intent::Refused("nothing is typed yet"),
            (true, true) => Intent::Refused("nothing is chosen yet: space chooses"),
            (false, true) => Intent::Answer(Reply::Choices(chosen)),
            (true, false) => Intent::Answer(Reply::Text(words)),
            (false, false) => Intent::Answer(Reply::Both(chosen, words)),
        }
    }

    fn start_typing(&mut self) -> Intent {
        self.undecided = false;
        self.cursor = self.question.options.len();
        self.typing = true;
        Intent::Nothing
    }

    fn leave(&self) -> Intent {
        if self.question.previous.is_some() { Intent::Keep } else { Intent::Cancel }
    }

    /// Splits a previous answer: labels joined by commas, free text last. Labels may contain commas themselves.
    fn preselect(&mut self, previous: &str) {
        let mut rest = previous;
        while let Some((row, left)) = self.leading_label(rest) {
            self.chosen.push(row);
            rest = left;
        }
        self.chosen.sort_unstable();
        self.own = Editor::with(rest);
        self.cursor = match self.chosen.first() {
            Some(row) => *row,
            None if rest.is_empty() => 0,
            None => self.question.options.len(),
        };
    }

    fn leading_label<'a>(&self, words: &'a str) -> Option<(usize, &'a str)> {
        let found = self.question.options.iter().enumerate().filter_map(|(row, option)| {
            let rest = words.strip_prefix(option.label.as_str()).filter(|_| !option.label.is_empty())?;
            let rest = if rest.is_empty() { rest } else { rest.strip_prefix(", ")? };
            Some((row, rest))
        });
        found.filter(|(row, _)| !self.chosen.contains(row)).min_by_key(|(_, rest)| rest.len())
    }
}
