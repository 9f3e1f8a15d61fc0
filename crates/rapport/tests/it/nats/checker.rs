//! Checks what hosts and servers left behind against what people were told. It reads logs as text, and shares nothing
//! with the code that writes them: it would not notice an error that both make.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a person was told about an answer.
#[derive(Clone, Debug)]
pub(super) struct AnswerRecord {
    pub(super) session: String,
    pub(super) question: String,
    /// What the person answered.
    pub(super) value: String,
    pub(super) how: How,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// "Answered."
    Thanked,
    /// That another answer came first, in these words.
    TooLate(String),
    /// Nothing that counts: an error, or no reply.
    Unsure,
}

/// What is wrong with the log of a session: its chain, and answers that are there more than once.
pub(super) fn check_log(session: &str, log: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut answers: BTreeMap<String, u32> = BTreeMap::new();
    for (number, line) in (1..).zip(log.lines()) {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            wrong.push(format!("{session}: line {number} is not JSON"));
            continue;
        };
        if entry["seq"].as_u64() != Some(number) {
            wrong.push(format!("{session}: entry {} where {number} belongs", entry["seq"]));
        }
        for (question, _) in answered(&entry) {
            *answers.entry(question).or_default() += 1;
        }
    }
    let twice = answers.into_iter().filter(|(_, count)| *count > 1);
    wrong.extend(twice.map(|(question, count)| format!("{session}: {question} is answered {count} times")));
    wrong
}

/// What people were told that the log does not bear out.
pub(super) fn check_records(session: &str, log: &str, told: &[AnswerRecord]) -> Vec<String> {
    let entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let winners: BTreeMap<String, String> = entries.flat_map(|entry| answered(&entry)).collect();
    let mut wrong = Vec::new();
    for told in told.iter().filter(|told| told.session == session) {
        let winner = winners.get(&told.question);
        match &told.how {
            How::Thanked if winner != Some(&told.value) => wrong.push(format!(
                "{session}: thanked for {:?} to {}, but the log has {winner:?}",
                told.value, told.question
            )),
            How::TooLate(words) if !winner.is_some_and(|winner| words.contains(winner.as_str())) => {
                wrong.push(format!(
                    "{session}: {} was told {words:?}, but the log has {winner:?}",
                    told.question
                ));
            }
            How::Thanked | How::TooLate(_) | How::Unsure => {}
        }
    }
    wrong
}

/// What is wrong with a copy of a log.
pub(super) fn check_copy(session: &str, log: &str, copy: &str) -> Option<String> {
    let whole = copy.rfind('\n').map_or("", |end| &copy[..=end]);
    (!log.starts_with(whole)).then(|| format!("{session}: a copy differs from the log"))
}

/// The questions that an entry answers, and with what.
fn answered(entry: &Value) -> Vec<(String, String)> {
    let facts = entry["facts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let answers = facts.iter().map(|fact| &fact["answered"]).filter(|fact| fact.is_object());
    let words = |answer: &Value| {
        let values = answer["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
        values.chain(answer["text"].as_str()).collect::<Vec<_>>().join(", ")
    };
    answers
        .map(|fact| (fact["question"].as_str().unwrap_or_default().to_owned(), words(&fact["answer"])))
        .collect()
}

#[test]
fn the_checker_sees_what_is_wrong() {
    let line = |seq: u64, question: &str, value: &str| {
        let answer = serde_json::json!({ "question": question, "answer": { "values": [value] } });
        format!("{}\n", serde_json::json!({ "seq": seq, "facts": [{ "answered": answer }] }))
    };
    let right = line(1, "q1", "Red") + &line(2, "q2", "Blue");
    assert_eq!(check_log("s", &right), Vec::<String>::new());
    assert_eq!(check_log("s", &(line(1, "q1", "Red") + &line(1, "q2", "Blue"))).len(), 1, "a fork");
    assert_eq!(check_log("s", &(line(1, "q1", "Red") + &line(3, "q2", "Blue"))).len(), 1, "a gap");
    assert_eq!(check_log("s", &(line(1, "q1", "Red") + &line(2, "q1", "Blue"))).len(), 1, "answered twice");
    let told = |value: &str, how: How| {
        vec![AnswerRecord { session: "s".into(), question: "q1".into(), value: value.into(), how }]
    };
    assert_eq!(check_records("s", &right, &told("Red", How::Thanked)), Vec::<String>::new());
    assert_eq!(check_records("s", &right, &told("Blue", How::Thanked)).len(), 1, "thanked and lost");
    assert_eq!(check_records("s", &right, &told("Blue", How::TooLate("with \"Red\"".into()))).len(), 0);
    assert_eq!(check_records("s", &right, &told("Blue", How::TooLate("with \"Green\"".into()))).len(), 1);
    assert_eq!(check_copy("s", &right, &right[..right.len() - 3]), None, "a copy may be behind");
    assert!(check_copy("s", &right, &right.replace("Red", "Rot")).is_some());
}
