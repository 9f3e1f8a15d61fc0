//! Answers that people gave in the sessions of a project, so that they can be offered for the same question later; and
//! those that a person wants given always. They are stored in Rapport's home, so that a project cannot contain any.

use std::io;
use std::path::Path;

use rapport_core::EarlierAnswer;
use rapport_core::routing::tokens;

use super::record::Record;

/// The maximum number of answers that are kept for a project; the oldest give way.
const MOST: usize = 500;

/// The answers that people gave in a project.
#[derive(Clone, Debug)]
pub struct EarlierAnswers(Record);

impl EarlierAnswers {
    /// The answers of this project in this home.
    pub fn of(home: &Path, project: &Path) -> Self {
        Self(Record::new(home, project, "answers.json"))
    }

    /// All answers, the oldest first.
    pub fn list(&self) -> io::Result<Vec<EarlierAnswer>> {
        Ok(self.0.read()?.unwrap_or_default())
    }

    /// Adds answers, each once. An answer that was changed later replaces the one before.
    pub fn add(&self, answers: Vec<EarlierAnswer>) -> io::Result<()> {
        let known = self.list()?;
        if answers.iter().all(|answer| known.contains(answer)) {
            return Ok(());
        }
        self.0.change(|known: &mut Vec<EarlierAnswer>| {
            let place = |answer: &EarlierAnswer| (answer.session.clone(), answer.question.clone());
            known.retain(|old| !answers.iter().any(|new| place(new) == place(old)));
            known.extend(answers);
            known.sort_by_key(|answer| answer.at);
            known.drain(..known.len().saturating_sub(MOST));
        })
    }
}

/// The answers that are given always in a project.
#[derive(Clone, Debug)]
pub struct AnswerRules(Record);

impl AnswerRules {
    /// The rules of this project in this home.
    pub fn of(home: &Path, project: &Path) -> Self {
        Self(Record::new(home, project, "answer-rules.json"))
    }

    /// All rules, the oldest first.
    pub fn list(&self) -> io::Result<Vec<EarlierAnswer>> {
        Ok(self.0.read()?.unwrap_or_default())
    }

    /// Adds a rule, instead of an earlier one for the same question.
    pub fn add(&self, rule: EarlierAnswer) -> io::Result<()> {
        self.0.change(|rules: &mut Vec<EarlierAnswer>| {
            rules.retain(|known| tokens(&known.text) != tokens(&rule.text));
            rules.push(rule);
        })
    }

    /// Removes the rule for a question. Returns whether it existed.
    pub fn remove(&self, text: &str) -> io::Result<bool> {
        self.0.change(|rules: &mut Vec<EarlierAnswer>| {
            let before = rules.len();
            rules.retain(|rule| rule.text != text);
            rules.len() < before
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::Timestamp;
    use rapport_core::{Answer, By, QuestionId, SessionId};

    use super::*;

    fn answer(session: &str, text: &str, value: &str, at: i64) -> EarlierAnswer {
        EarlierAnswer {
            text: text.into(),
            answer: Answer { values: vec![value.into()], text: None },
            by: By::Person { channel: "terminal".into(), id: "ann".into() },
            session: SessionId::new(session),
            question: QuestionId::new("q1"),
            at: Timestamp::from_second(at).unwrap(),
        }
    }

    #[test]
    fn answers_are_kept_once_and_rules_replaced_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("app"));
        fs::create_dir(&project).unwrap();
        let answers = EarlierAnswers::of(&home, &project);
        let (old, new) = (answer("20260101-a", "Which?", "x", 1), answer("20260102-b", "Which?", "y", 2));
        for all in [vec![old.clone()], vec![new.clone(), old.clone()], vec![old.clone()]] {
            answers.add(all).unwrap();
        }
        assert_eq!(answers.list().unwrap(), [old.clone(), new.clone()]);
        let changed = answer("20260101-a", "Which?", "z", 3);
        answers.add(vec![changed.clone()]).unwrap();
        assert_eq!(answers.list().unwrap(), [new.clone(), changed]);
        let rules = AnswerRules::of(&home, &project);
        for rule in [&old, &new] {
            rules.add(rule.clone()).unwrap();
        }
        assert_eq!(rules.list().unwrap(), std::slice::from_ref(&new), "one rule for a question");
        assert!(rules.remove("Which?").unwrap());
        assert!(!rules.remove("Which?").unwrap());
        assert_eq!(rules.list().unwrap(), []);
    }
}
