//! A last look over the answers of a round, before the last of them is sent and the agent gets the round.

use crossterm::event::{KeyCode, KeyEvent};
use rapport_core::{OpenQuestion, Purpose, QuestionId, Reply, View};

use super::keys::{moved, plain_char};
use super::story::Asked;
use super::text::{Line, Tone};
use super::words;

/// The note after an answer that is not sent.
pub(super) const UNSENT: &str = " (not sent yet)";

/// The unsent answer, and the cursor: on sending, or on an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastLook {
    pub question: QuestionId,
    pub reply: Reply,
    pub cursor: usize,
}

/// What a key at the last look asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLookCommand {
    Nothing,
    /// To send the answers.
    Send,
    /// To change the answer at this index, from 0.
    Change(usize),
    /// To go back to the question.
    Back,
    /// To leave; everything stays as it is.
    Detach,
    /// To end the session, after a confirmation.
    Cancel,
}

/// Whether the answer to this question completes a round of several. If the round was complete before and the answer is
/// being changed, the summary with the plan serves as the last look.
pub(super) fn is_due(question: &OpenQuestion, view: &View) -> bool {
    let is_last = view.questions.iter().filter(|other| other.round == question.round).count() == 1;
    question.of > 1 && is_last && question.previous.is_none() && question.purpose == Purpose::Clarify
}

impl LastLook {
    pub(super) fn new(question: QuestionId, reply: Reply) -> Self {
        Self { question, reply, cursor: 0 }
    }

    pub(super) fn key(&mut self, key: KeyEvent, answers: usize) -> LastLookCommand {
        if let Some(row) = moved(self.cursor, answers + 1, key) {
            self.cursor = row;
            return LastLookCommand::Nothing;
        }
        let number = plain_char(key).and_then(|c| c.to_digit(10)).map(|digit| digit as usize);
        match (key.code, plain_char(key)) {
            (KeyCode::Enter, _) => {
                self.cursor.checked_sub(1).map_or(LastLookCommand::Send, LastLookCommand::Change)
            }
            (KeyCode::Left | KeyCode::Backspace | KeyCode::Esc, _) | (_, Some('b')) => LastLookCommand::Back,
            (_, Some('d')) => LastLookCommand::Detach,
            (_, Some('q')) => LastLookCommand::Cancel,
            _ => match number.filter(|number| (1..=answers).contains(number)) {
                Some(number) => LastLookCommand::Change(number - 1),
                None => LastLookCommand::Nothing,
            },
        }
    }

    /// What a person who leaves now has to know about the unsent answer, and the command that sends it. `answering` is
    /// the command without its arguments.
    pub(super) fn farewell(&self, question: &OpenQuestion, view: &View, answering: &str) -> Vec<Line> {
        let asked = question.question();
        let Ok(answer) = asked.resolve(&self.reply) else { return Vec::new() };
        let (title, given) = (words::title(question, Some(view)), asked.words(&answer));
        let told = format!("Your last answer was not sent: {title} → {given}");
        let stays = "The question stays open. Send that answer from anywhere with:";
        let command = words::arguments(&asked, &answer).unwrap_or_default();
        let command = format!("{answering} --question {} {command}", question.id);
        [Line::warning(&told), Line::new(Tone::Text, stays), Line::command(command.trim_end())].into()
    }

    /// The unsent answer in words, for its question in the round.
    pub(crate) fn words(&self, asked: &Asked<'_>) -> Option<String> {
        let answer =
            asked.question.resolve(&self.reply).ok().filter(|_| asked.question.id == self.question)?;
        Some(asked.question.words(&answer))
    }
}
