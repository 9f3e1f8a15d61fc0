//! Rounds that a model makes: what it is told, and what is made of what it says.

mod limits;
mod reading;
mod signal;
mod wording;

use rapport_core::{Brief, QuestionRound};

/// A brief for this round, with these questions answered.
fn brief(round: u32, answered: &[(&str, &str)]) -> Brief {
    let answered = answered.iter().map(|(q, a)| ((*q).to_owned(), (*a).to_owned())).collect();
    Brief { task: "add JWT auth".into(), round, max_rounds: 3, answered }
}

/// A batch in a line: its questions, each with its options and what else may be said; `done` where there are none.
fn outline(batch: &QuestionRound) -> String {
    let question = |draft: &rapport_core::NewQuestion| {
        let options: Vec<_> = draft
            .options
            .iter()
            .map(|option| {
                let value = if option.value == option.label { "" } else { &format!("={}", option.value) };
                let meaning = option.description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
                let star = if option.recommended { "*" } else { "" };
                format!("{}{value}{star}{meaning}", option.label)
            })
            .collect();
        let kind = match (draft.multi, draft.free_text) {
            (false, false) => "",
            (false, true) => " or words",
            (true, false) => " several",
            (true, true) => " several or words",
        };
        format!("{} [{}]{kind}", draft.text, options.join(", "))
    };
    let questions: Vec<_> = batch.questions.iter().map(question).collect();
    assert_eq!(batch.done, questions.is_empty(), "done exactly where nothing is asked");
    if batch.done { "done".into() } else { questions.join("; ") }
}
