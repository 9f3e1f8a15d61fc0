//! What a session's log says about its turns.

use rapport_core::{Asker, Entry, Event, Question, QuestionId, TurnId};

/// A turn that the agent is at, or was when it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Drafting {
    /// The turn's directory.
    pub(in crate::cli) folder: String,
}

/// The turn that was begun and has no plan yet.
pub(in crate::cli) fn drafting(entries: &[Entry]) -> Option<Drafting> {
    let mut open: Option<(TurnId, String)> = None;
    for fact in facts(entries) {
        match fact {
            Event::DraftStarted { turn, folder, .. } => open = Some((*turn, folder.clone())),
            Event::Filed { turn, .. } => drop(open.take_if(|(begun, _)| begun == turn)),
            _ => {}
        }
    }
    open.map(|(_, folder)| Drafting { folder })
}

/// What planning a turn took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Taken {
    /// The model that did it.
    pub(in crate::cli) model: Option<String>,
    /// In millionths of a dollar.
    pub(in crate::cli) cost_micros: u64,
}

/// What planning the turn in this directory took.
pub(in crate::cli) fn taken(entries: &[Entry], folder: &str) -> Taken {
    let of_folder = |fact: &Event| match fact {
        Event::DraftStarted { turn, folder: in_folder, .. } if in_folder == folder => Some(*turn),
        _ => None,
    };
    let turns: Vec<_> = facts(entries).filter_map(of_folder).collect();
    let mut taken = Taken::default();
    for fact in facts(entries) {
        match fact {
            Event::Connected { turn, model: Some(model), .. } if turns.contains(turn) => {
                taken.model = Some(model.clone());
            }
            Event::Spent { turn, usage } if turns.contains(turn) => taken.cost_micros += usage.cost_micros,
            _ => {}
        }
    }
    taken
}

/// The question that was asked in the session's name with this header and text, and is not closed.
pub(in crate::cli) fn asked<'a>(entries: &'a [Entry], header: &str, text: &str) -> Option<&'a Question> {
    let closed: Vec<_> = facts(entries)
        .filter_map(|fact| match fact {
            Event::Closed { round, .. } => Some(*round),
            _ => None,
        })
        .collect();
    let mut found = None;
    for fact in facts(entries) {
        if let Event::Asked { round, asker: Asker::Rapport, questions } = fact
            && !closed.contains(round)
        {
            let is_it =
                |question: &&Question| question.header.as_deref() == Some(header) && question.text == text;
            found = questions.iter().find(is_it).or(found);
        }
    }
    found
}

/// The header of the question that an action of a batch asks. A batch that is begun anew asks anew.
pub(in crate::cli) fn header(batch: &str, n: usize) -> String {
    format!("{batch} action {}", n + 1)
}

/// The questions of a batch that still wait for an answer.
pub(in crate::cli) fn waiting(entries: &[Entry], batch: &str) -> Vec<QuestionId> {
    let mut waiting = Vec::new();
    for fact in facts(entries) {
        match fact {
            Event::Asked { round, asker: Asker::Rapport, questions } => {
                let is_of_batch = |question: &&Question| {
                    let header = question.header.as_deref().and_then(|header| header.strip_prefix(batch));
                    header.is_some_and(|rest| rest.starts_with(" action "))
                };
                waiting.extend(questions.iter().filter(is_of_batch).map(|q| (*round, q.id.clone())));
            }
            Event::Closed { round, .. } => waiting.retain(|(asked, _)| asked != round),
            Event::Answered { question, .. } => waiting.retain(|(_, asked)| asked != question),
            _ => {}
        }
    }
    waiting.into_iter().map(|(_, question)| question).collect()
}

/// What was answered to a question, in words.
pub(in crate::cli) fn answer(entries: &[Entry], question: &Question) -> Option<String> {
    let given = facts(entries).filter_map(|fact| match fact {
        Event::Answered { question: answered, answer, .. } if *answered == question.id => {
            Some(question.words(answer))
        }
        _ => None,
    });
    given.last()
}

fn facts(entries: &[Entry]) -> impl Iterator<Item = &Event> {
    entries.iter().flat_map(|entry| &entry.facts)
}
