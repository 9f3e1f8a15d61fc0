//! The file format of older relays, `{chatId}-interactive.json`: written from the log for people and tools, and read if
//! such a relay left one behind.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::created::Created;
use crate::event::{Asker, Entry, Event};
use crate::id::{QuestionId, RoundId};
use crate::question::{Choice, Purpose, Question};
use crate::refusal::Refusal;
use crate::session::{QuestionView, Session};
use crate::view::PhaseView;

/// A session in that file. Fields that older relays lack have defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InteractiveFile {
    /// The id of the conversation, a UUID.
    pub session_id: String,
    /// The number of the chat.
    pub chat_id: i64,
    /// Its state.
    pub state: InteractiveState,
    /// The task, in the person's words.
    pub task: String,
    /// The folder of the plan's file.
    #[serde(default)]
    pub goal: String,
    /// The name of the plan's file.
    #[serde(default)]
    pub description: String,
    /// Everything asked so far.
    pub questions: Vec<InteractiveQuestion>,
    /// The value of the chosen option or the words typed, question by question.
    pub answers: Vec<Option<String>>,
    /// The index of the current question, from 0.
    #[serde(default)]
    pub current_question_index: usize,
    /// What was answered in rounds that are complete.
    #[serde(default, rename = "completedQA")]
    pub completed_qa: Vec<AnsweredPair>,
    /// The index of the first question of the current round.
    #[serde(default)]
    pub current_batch_start: usize,
    /// The number of the current round, from 1.
    #[serde(default = "first_round")]
    pub round: u32,
    /// The plan's file, once it is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_path: Option<String>,
    /// The project that it belongs to, if the file says so. Older relays had only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum InteractiveState {
    /// Questions are answered.
    Collecting,
    /// The plan waits for confirmation.
    Confirming,
    /// The agent works.
    Executing,
    /// It is over.
    Done,
}

/// A question in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InteractiveQuestion {
    /// `q1`, `q2`, ...
    pub id: String,
    /// The full text of the question.
    pub question: String,
    /// The options to choose from.
    #[serde(default)]
    pub options: Vec<InteractiveOption>,
    /// Whether free text is accepted.
    #[serde(default)]
    pub allow_free_text: bool,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub multi_select: bool,
}

/// An option in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InteractiveOption {
    /// The text that people read.
    pub label: String,
    /// The value that is stored.
    pub value: String,
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredPair {
    /// What was asked.
    pub question: String,
    /// What was answered.
    pub answer: String,
}

fn first_round() -> u32 {
    1
}

impl InteractiveFile {
    /// The file for a session in this chat; `None` if it has asked nothing.
    pub fn of(session: &Session, chat_id: i64) -> Option<Self> {
        let created = session.created();
        let rounds: Vec<_> = session.rounds().filter(|round| *round.asker == Asker::Planner).collect();
        let items: Vec<_> = rounds.iter().flat_map(|round| round.items.iter()).collect();
        let answers: Vec<_> = items.iter().map(|item| stored(item)).collect();
        let last = rounds.last().map_or(0, |round| round.items.len());
        let is_open = rounds.last().is_some_and(|round| round.is_open());
        let batch_start = items.len() - last;
        let is_in_hand = is_open && session.phase() == PhaseView::Clarifying;
        let complete = if is_in_hand { batch_start } else { items.len() };
        let pairs = items.iter().zip(&answers).take(complete);
        let pair = |(item, answer): (&&QuestionView<'_>, &Option<String>)| {
            let answer = answer.clone()?;
            Some(AnsweredPair { question: item.question.text.clone(), answer })
        };
        let (goal, description) = session.plan_name().unwrap_or_default();
        let (created_at, updated_at) = session.times();
        Some(Self {
            session_id: created.conversation.as_str().to_owned(),
            chat_id,
            state: state(session.phase()),
            task: created.task.clone(),
            goal: goal.to_owned(),
            description: description.to_owned(),
            current_question_index: items.iter().position(|item| item.given.is_none()).unwrap_or(items.len()),
            completed_qa: pairs.filter_map(pair).collect(),
            current_batch_start: batch_start,
            round: u32::try_from(rounds.len()).unwrap_or(u32::MAX).max(1),
            plan_path: session.plan_path().map(str::to_owned),
            project: None,
            questions: items.iter().map(|item| written(item.question)).collect(),
            answers,
            created_at,
            updated_at,
        })
    }

    /// The facts of a session that continues from this file. A plan that was being carried out waits for confirmation
    /// again, because it is unknown how far it got.
    pub fn revive(&self, created: Created) -> Result<Vec<Event>, Refusal> {
        let (by, max_rounds) = (created.by.clone(), created.terms.max_rounds);
        let mut facts = Session::begin(created)?;
        if !self.goal.trim().is_empty() {
            let part = crate::slug::part;
            let (goal, description) = (part(&self.goal), part(&self.description));
            facts.push(Event::Outlined { goal, description });
        }
        let mut rest = self.items();
        let is_complete = rest.iter().all(|(_, answer)| answer.is_some());
        let mut rounds = Vec::new();
        let last = rest.split_off(self.current_batch_start.min(rest.len()));
        let earlier = usize::try_from(self.round.saturating_sub(1)).unwrap_or(0).clamp(1, rest.len().max(1));
        let size = rest.len().div_ceil(earlier).max(1);
        while !rest.is_empty() {
            let next = rest.split_off(size.min(rest.len()));
            rounds.push(std::mem::replace(&mut rest, next));
        }
        rounds.push(last);
        for (place, round) in rounds.into_iter().filter(|round| !round.is_empty()).enumerate() {
            let number = u32::try_from(place).unwrap_or(u32::MAX).saturating_add(1);
            let questions = round.iter().map(|(question, _)| question.clone()).collect();
            facts.push(Event::Asked { round: RoundId(number), asker: Asker::Planner, questions });
            facts.extend(round.into_iter().filter_map(|(question, answer)| {
                Some(Event::Answered { question: question.id, answer: answer?, by: by.clone() })
            }));
        }
        let is_confirming = matches!(self.state, InteractiveState::Confirming | InteractiveState::Executing);
        if is_confirming || is_complete && self.round >= max_rounds {
            let entry = Entry { seq: 1, at: self.created_at, facts: facts.clone() };
            facts.extend(Session::open(&entry).iter().flat_map(Session::sum_up));
        }
        Ok(facts)
    }

    /// The questions with new ids and their answers. The current question has no answer: it is asked again.
    fn items(&self) -> Vec<(Question, Option<Answer>)> {
        let collecting = self.state == InteractiveState::Collecting;
        let item = |(place, asked): (usize, &InteractiveQuestion)| {
            let question = read(place, asked);
            let given = self.answers.get(place).cloned().flatten();
            let given = given.filter(|_| !(collecting && place == self.current_question_index));
            let answer = given.map(|given| answer(&question, given));
            (question, answer)
        };
        let said = self.questions.iter().filter(|asked| !asked.question.trim().is_empty());
        said.enumerate().map(item).collect()
    }
}

fn state(phase: PhaseView) -> InteractiveState {
    match phase {
        PhaseView::Clarifying => InteractiveState::Collecting,
        PhaseView::Confirming => InteractiveState::Confirming,
        PhaseView::Working | PhaseView::Reporting | PhaseView::Reviewing | PhaseView::Resting => {
            InteractiveState::Executing
        }
        PhaseView::Ended => InteractiveState::Done,
    }
}

/// The current answer: the values of options, or else the typed words.
fn stored(item: &QuestionView<'_>) -> Option<String> {
    let answer = item.given.map(|(answer, _)| answer).or(item.previous)?;
    let words = answer.values.iter().map(String::as_str).chain(answer.text.as_deref());
    Some(words.collect::<Vec<_>>().join(", "))
}

fn written(question: &Question) -> InteractiveQuestion {
    let option =
        |choice: &Choice| InteractiveOption { label: choice.label.clone(), value: choice.value.clone() };
    InteractiveQuestion {
        id: question.id.as_str().to_owned(),
        question: question.text.clone(),
        options: question.options.iter().map(option).collect(),
        allow_free_text: question.free_text,
        multi_select: question.multi,
    }
}

fn read(place: usize, asked: &InteractiveQuestion) -> Question {
    let choice = |option: &InteractiveOption| Choice {
        label: option.label.clone(),
        value: option.value.clone(),
        description: None,
        preview: None,
        recommended: false,
    };
    let options: Vec<_> = asked.options.iter().filter(|o| !o.label.trim().is_empty()).map(choice).collect();
    Question {
        id: QuestionId::new(format!("q{}", place + 1)),
        text: asked.question.clone(),
        header: None,
        free_text: asked.allow_free_text || options.is_empty(),
        options,
        multi: asked.multi_select,
        purpose: Purpose::Clarify,
    }
}

fn answer(question: &Question, given: String) -> Answer {
    let is_option = |value: &str| question.options.iter().any(|option| option.value == value);
    if is_option(&given) {
        return Answer { values: vec![given], text: None };
    }
    let parts: Vec<_> = given.split(", ").map(str::to_owned).collect();
    if question.multi && parts.iter().all(|part| is_option(part)) {
        return Answer { values: parts, text: None };
    }
    Answer { values: Vec::new(), text: Some(given) }
}
