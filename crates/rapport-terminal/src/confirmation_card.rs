//! The card that asks whether to start: confirm, change an answer, tell the agent what to change, cancel.

use crossterm::event::{KeyCode, KeyEvent};
use rapport_core::{OpenQuestion, QuestionId, Reply};

use super::editor::{Editor, Typed};
use super::keys::{Intent, Number, Picked, moved, plain_char};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Start the work.
    Confirm,
    /// Change an answer.
    Edit,
    /// Tell the agent what to change.
    Tell,
    /// End the session.
    Cancel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmationCard {
    pub question: OpenQuestion,
    /// The questions whose answers can be changed, in order.
    pub answers: Vec<QuestionId>,
    /// The current mode.
    pub mode: Mode,
    /// The row of the cursor.
    pub cursor: usize,
    /// The message to the agent.
    pub wish: Editor,
    number: Number,
}

/// The mode of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Choosing what to do.
    Choosing,
    /// Choosing the answer to change.
    Picking,
    /// Typing a message to the agent.
    Telling,
}

impl ConfirmationCard {
    pub fn new(question: OpenQuestion, answers: Vec<QuestionId>) -> Self {
        let (mode, cursor, wish, number) = (Mode::Choosing, 0, Editor::default(), Number::default());
        Self { question, answers, mode, cursor, wish, number }
    }

    /// The choices, in order.
    pub fn choices(&self) -> Vec<Choice> {
        let all = [Choice::Confirm, Choice::Edit, Choice::Tell, Choice::Cancel];
        all.into_iter().filter(|choice| *choice != Choice::Edit || !self.answers.is_empty()).collect()
    }

    pub fn key(&mut self, key: KeyEvent) -> Intent {
        match self.mode {
            Mode::Choosing => self.key_choosing(key),
            Mode::Picking => self.key_picking(key),
            Mode::Telling => self.key_telling(key),
        }
    }

    /// Handles pasted text, which goes into the message to the agent.
    pub fn paste(&mut self, text: &str) -> Intent {
        self.enter(Mode::Telling);
        self.wish.paste(text);
        Intent::Nothing
    }

    fn key_choosing(&mut self, key: KeyEvent) -> Intent {
        if let Some(row) = moved(self.cursor, self.choices().len(), key) {
            self.cursor = row;
            return Intent::Nothing;
        }
        match (key.code, plain_char(key)) {
            (KeyCode::Enter, _) => {
                let choice = self.choices().get(self.cursor).copied();
                choice.map_or(Intent::Nothing, |choice| self.choose(choice))
            }
            (_, Some('c')) => self.choose(Choice::Confirm),
            (_, Some('e')) => self.choose(Choice::Edit),
            (_, Some('t')) => self.choose(Choice::Tell),
            (KeyCode::Esc, _) | (_, Some('q')) => self.choose(Choice::Cancel),
            (_, Some('d')) => Intent::Detach,
            (_, Some('?')) => Intent::Help,
            _ => Intent::Nothing,
        }
    }

    fn choose(&mut self, choice: Choice) -> Intent {
        match choice {
            Choice::Confirm => return Intent::Answer(Reply::Words(vec!["confirm".into()])),
            Choice::Edit if self.answers.is_empty() => {
                return Intent::Refused("there is no answer to change");
            }
            Choice::Edit => self.enter(Mode::Picking),
            Choice::Tell => self.enter(Mode::Telling),
            Choice::Cancel => return Intent::Cancel,
        }
        Intent::Nothing
    }

    fn key_picking(&mut self, key: KeyEvent) -> Intent {
        if let Some(digit) = plain_char(key).and_then(|c| c.to_digit(10)) {
            return match self.number.digit(digit, self.answers.len()) {
                Picked::None => Intent::Refused("there is no answer with that number"),
                Picked::SoFar(row) => {
                    self.cursor = row;
                    Intent::Nothing
                }
                Picked::Row(row) => self.pick(row),
            };
        }
        self.number.clear();
        if let Some(row) = moved(self.cursor, self.answers.len(), key) {
            self.cursor = row;
            return Intent::Nothing;
        }
        match (key.code, plain_char(key)) {
            (KeyCode::Enter, _) => self.pick(self.cursor),
            (KeyCode::Esc | KeyCode::Left | KeyCode::Backspace, _) | (_, Some('b' | 'q')) => {
                self.enter(Mode::Choosing);
                Intent::Nothing
            }
            (_, Some('d')) => Intent::Detach,
            (_, Some('?')) => Intent::Help,
            _ => Intent::Nothing,
        }
    }

    fn pick(&mut self, row: usize) -> Intent {
        let Some(id) = self.answers.get(row).cloned() else { return Intent::Nothing };
        self.enter(Mode::Choosing);
        Intent::Edit(id)
    }

    fn key_telling(&mut self, key: KeyEvent) -> Intent {
        if key.code == KeyCode::Enter && key.modifiers.is_empty() {
            let wish = self.wish.text().trim().to_owned();
            let nothing = Intent::Refused("nothing is typed yet");
            return if wish.is_empty() { nothing } else { Intent::Answer(Reply::Text(wish)) };
        }
        if self.wish.key(key) == Typed::Ignored {
            let leaves = matches!(key.code, KeyCode::Left | KeyCode::Backspace) && self.wish.is_empty();
            if key.code == KeyCode::Esc || leaves {
                self.enter(Mode::Choosing);
            }
        }
        Intent::Nothing
    }

    fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        self.cursor = 0;
    }
}
