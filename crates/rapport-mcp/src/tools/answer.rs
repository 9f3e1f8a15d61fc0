//! `answer_worker_question`: a lead answers what a worker asks, where it may.

use rapport_core::{Act, By, OpenQuestion, QuestionId, Refusal, Reply, Status};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::report::{Report, TaskStatus};
use crate::server::{Server, ToolReply};
use crate::tool_error::{ToolError, ToolErrorKind};
use crate::{ids, words};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AnswerArguments {
    task_id: String,
    answer: Value,
    question_id: Option<String>,
}

/// Answers, and returns the updated state at once; the worker continues meanwhile (WORK-10).
pub(crate) async fn answer(
    server: &Server,
    lead: &By,
    arguments: AnswerArguments,
) -> Result<ToolReply, ToolError> {
    let id = ids::session(&arguments.task_id)?;
    let before = server.report(&id).await?;
    before.refuse_foreign()?;
    let acts = acts(&before, &arguments).map_err(|trouble| trouble.about(before.data()))?;
    for (stored, act) in acts.iter().enumerate() {
        if let Err(error) = server.sessions().act(&id, lead, act).await {
            let now = server.report(&id).await?;
            let trouble = refused(&now, ToolError::from(error));
            let before = in_words(&acts[..stored]);
            return Err(before.iter().fold(trouble, |trouble, before| trouble.and(before)));
        }
    }
    let after = server.report(&id).await?;
    server.note_told(lead, &after);
    let text = format!(
        "{}\n{}",
        done(lead, &acts, &drafted(&acts, &after.view.questions), after.status()),
        words::report(&after, false)
    );
    Ok(ToolReply { text, data: after.data() })
}

/// The answers that were stored before another one was refused, so that the lead does not repeat them.
fn in_words(stored: &[Act]) -> Option<String> {
    let questions = stored.iter().filter_map(|act| match act {
        Act::Answer { question: Some(question), .. } => Some(question.as_str()),
        _ => None,
    });
    let questions: Vec<_> = questions.collect();
    (!questions.is_empty()).then(|| format!("These answers are stored: {}.", questions.join(", ")))
}

/// What was done, and what follows: the worker may not continue, for example if it is over its budget. An answer that
/// the session's policy made a draft has decided nothing yet.
fn done(lead: &By, acts: &[Act], drafts: &[&str], status: TaskStatus) -> String {
    let done = match acts {
        [Act::Restart] => format!("{lead} wants it to go on."),
        [Act::Say { .. }] => format!("{lead} told it what to do next."),
        _ if drafts.is_empty() => format!("Answered by {lead}."),
        _ => {
            let drafts = drafts.join(", ");
            format!(
                "Drafted for a person, who sends it or answers otherwise: {drafts}. Nothing is answered yet."
            )
        }
    };
    match status {
        TaskStatus::Started | TaskStatus::Running => format!("{done} The worker continues."),
        TaskStatus::NeedsInput => format!("{done} The worker waits:"),
        TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => done,
    }
}

/// The questions whose answers wait as drafts.
fn drafted<'a>(acts: &'a [Act], open: &[OpenQuestion]) -> Vec<&'a str> {
    let is_draft = |id: &&QuestionId| open.iter().any(|open| open.id == **id && open.draft.is_some());
    let answered = acts.iter().filter_map(|act| match act {
        Act::Answer { question, .. } => question.as_ref(),
        _ => None,
    });
    answered.filter(is_draft).map(QuestionId::as_str).collect()
}

/// A refusal with the state of the task, and with where a person can decide if one has to.
fn refused(report: &Report, trouble: ToolError) -> ToolError {
    let trouble = match trouble.kind() {
        ToolErrorKind::NeedsPerson => trouble.and(&words::where_a_person_answers(&report.view)),
        ToolErrorKind::Invalid | ToolErrorKind::Unknown | ToolErrorKind::NotNow | ToolErrorKind::Failed => {
            trouble
        }
    };
    trouble.about(report.data())
}

fn acts(report: &Report, arguments: &AnswerArguments) -> Result<Vec<Act>, ToolError> {
    match report.view.status {
        // The core knows the state of this question, and refuses it if need be.
        _ if arguments.question_id.is_some() => answers(report, arguments),
        _ if report.view.has_failed() => message(&arguments.answer),
        Status::NeedsInput => answers(report, arguments),
        Status::Idle | Status::Failed => message(&arguments.answer),
        Status::Started | Status::Running | Status::Completed | Status::Cancelled => {
            let what =
                format!("{} is not waiting for input (status: {})", report.task_id(), report.status().word());
            let last = report.view.answers.last();
            let last = last
                .map(|last| format!("Its last question was answered with {:?} by {}.", last.answer, last.by));
            let trouble = ToolError::new(ToolErrorKind::NotNow, what);
            let trouble = last.iter().fold(trouble, |trouble, last| trouble.and(last));
            Err(match report.diff() {
                Some(diff) => trouble.and(&format!("To have more done, call request_revision with {diff}.")),
                None => trouble,
            })
        }
    }
}

/// A message for an agent that was stopped or has failed: it continues with it. Without one, it tries again.
fn message(answer: &Value) -> Result<Vec<Act>, ToolError> {
    match answer {
        Value::String(text) if text.trim().is_empty() => Ok(vec![Act::Restart]),
        Value::String(text) => Ok(vec![Act::Say { text: text.clone(), id: None }]),
        _ => Err(ToolError::invalid(
            "no question is open: give the answer as text, and the worker continues with it",
        )),
    }
}

fn answers(report: &Report, arguments: &AnswerArguments) -> Result<Vec<Act>, ToolError> {
    let answer = |question: QuestionId, value: &Value| {
        let open = report.view.questions.iter().find(|open| open.id == question);
        let reply = apart(open, reply(value)?);
        Ok(Act::Answer { question: Some(question), reply })
    };
    if let Some(named) = &arguments.question_id {
        return Ok(vec![answer(QuestionId::new(named.trim()), &arguments.answer)?]);
    }
    if let Value::Object(map) = &arguments.answer {
        return by_question(report, map)?.into_iter().map(|(id, value)| answer(id, value)).collect();
    }
    match (report.for_lead().as_slice(), report.view.questions.as_slice()) {
        ([only], _) => Ok(vec![answer(only.id.clone(), &arguments.answer)?]),
        // The core refuses it, and says why.
        ([], [person, ..]) => Ok(vec![answer(person.id.clone(), &arguments.answer)?]),
        ([], []) => Err(ToolError::new(ToolErrorKind::NotNow, "no question is open")),
        (several, _) => Err(which(several)),
    }
}

/// The answers in the order of their questions. Ids that do not name an open question are refused before anything is
/// answered.
fn by_question<'a>(
    report: &Report,
    map: &'a Map<String, Value>,
) -> Result<Vec<(QuestionId, &'a Value)>, ToolError> {
    let open = &report.view.questions;
    if let Some(other) = map.keys().find(|name| open.iter().all(|open| open.id.as_str() != name.as_str())) {
        let names: Vec<_> = open.iter().map(|open| open.id.as_str()).collect();
        return Err(ToolError::invalid(format!(
            "{other:?} is not an open question; open are {}",
            names.join(", ")
        )));
    }
    let found: Vec<_> =
        open.iter().filter_map(|open| Some((open.id.clone(), map.get(open.id.as_str())?))).collect();
    if found.is_empty() {
        return Err(ToolError::invalid("the answer is empty: give an object from question id to answer"));
    }
    Ok(found)
}

fn which(open: &[&OpenQuestion]) -> ToolError {
    let names: Vec<_> = open.iter().map(|open| format!("{:?}: ...", open.id.as_str())).collect();
    let questions: String = open.iter().map(|open| words::question(open)).collect();
    ToolError::invalid(format!(
        "{} questions are open. Answer each by its id: {{ {} }}\n{questions}",
        open.len(),
        names.join(", ")
    ))
}

/// An answer: a label, value, number, or own words; several of them in a list.
fn reply(value: &Value) -> Result<Reply, ToolError> {
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let words = match value {
        Value::Array(list) => list.iter().map(word).collect(),
        one => word(one).map(|one| vec![one]),
    };
    words.map(Reply::Words).ok_or_else(|| {
        ToolError::invalid(format!("{value} is not an answer: give text, a number, or a list of those"))
    })
}

/// A list separates its elements, so what follows the options in it is free text, even if it is a single word.
fn apart(open: Option<&OpenQuestion>, reply: Reply) -> Reply {
    let (Some(open), Reply::Words(words)) = (open, &reply) else { return reply };
    match (open.question().resolve(&reply), words.split_last()) {
        (Err(Refusal::OptionsOrText { .. }), Some((text, options))) => {
            Reply::NamedAndText(options.to_vec(), text.clone())
        }
        _ => reply,
    }
}

#[cfg(test)]
mod tests {
    use rapport_core::{Answer, Asker, CallId, Choice, Event, Purpose, Question, RoundId, TurnId};
    use serde_json::json;

    use super::*;
    use crate::test_door::{TestDoor, lead, session};

    /// Several answers are several acts. If another person answers one of them meanwhile, the refusal names the
    /// answers that were stored.
    #[tokio::test]
    async fn what_was_stored_before_a_refusal_is_named() {
        let question = |id: &str| Question {
            id: QuestionId::new(id),
            text: format!("What about {id}?"),
            header: None,
            options: Vec::new(),
            multi: false,
            free_text: true,
            purpose: Purpose::Clarify,
        };
        let questions = ["q1", "q2", "q3"].map(question).into();
        let asker = Asker::Agent { turn: TurnId(1), call: CallId::new("c1"), parkable: true };
        let asked = Event::Asked { round: RoundId(1), asker, questions };
        let by = By::Person { channel: "terminal".into(), id: "ann".into() };
        let answer = Answer { values: Vec::new(), text: Some("Green".into()) };
        let others = Event::Answered { question: QuestionId::new("q3"), answer, by };
        let door = TestDoor::new(vec![asked], [vec![], vec![], vec![others]]);
        let server = door.server().await;
        let answers = json!({ "q1": "Red", "q2": "Blue", "q3": "Grey" });
        let arguments = serde_json::from_value(json!({ "taskId": session(), "answer": answers })).unwrap();
        let refused = super::answer(&server, &lead(), arguments).await.unwrap_err();
        let said = refused.message();
        assert!(said.contains("q3 was already answered with \"Green\" by ann"), "{said}");
        assert!(said.contains("These answers are stored: q1, q2."), "{said}");
        let arguments = json!({ "taskId": session(), "answer": "x", "questionId": "q1" });
        let refused = super::answer(&server, &lead(), serde_json::from_value(arguments).unwrap()).await;
        assert!(!refused.unwrap_err().message().contains("stored"));
    }

    /// The elements of a list are separate, so a single word after options is unambiguous.
    #[tokio::test]
    async fn options_and_own_words_come_in_a_list() {
        let question = Question {
            id: QuestionId::new("q1"),
            text: "Which colours?".into(),
            header: None,
            options: ["Red", "Blue"].map(Choice::plain).into(),
            multi: true,
            free_text: true,
            purpose: Purpose::Clarify,
        };
        let asker = Asker::Agent { turn: TurnId(1), call: CallId::new("c1"), parkable: true };
        for (answer, values, text) in [
            (json!(["Red", 2, "violet"]), vec!["Red", "Blue"], Some("violet")),
            (json!(["Red", "and violet"]), vec!["Red"], Some("and violet")),
            (json!(["Red", "Blue"]), vec!["Red", "Blue"], None),
            (json!("Red and violet"), vec![], Some("Red and violet")),
        ] {
            let asked =
                Event::Asked { round: RoundId(1), asker: asker.clone(), questions: vec![question.clone()] };
            let door = TestDoor::new(vec![asked], []);
            let server = door.server().await;
            let arguments = serde_json::from_value(json!({ "taskId": session(), "answer": answer })).unwrap();
            super::answer(&server, &lead(), arguments).await.unwrap();
            let given = door.facts().into_iter().find_map(|fact| match fact {
                Event::Answered { answer, .. } => Some(answer),
                _ => None,
            });
            let expected = Answer {
                values: values.into_iter().map(str::to_owned).collect(),
                text: text.map(str::to_owned),
            };
            assert_eq!(given, Some(expected), "{answer}");
        }
    }

    #[test]
    fn a_worker_that_does_not_continue_is_not_said_to() {
        let lead = By::Lead { name: "main".into() };
        let answer = [Act::Answer { question: None, reply: Reply::Words(vec!["Blue".into()]) }];
        let say = [Act::Say { text: "Go on.".into(), id: None }];
        for (acts, status, expected) in [
            (&answer[..], TaskStatus::Running, "Answered by the lead main. The worker continues."),
            (&answer, TaskStatus::NeedsInput, "Answered by the lead main. The worker waits:"),
            (&[Act::Restart], TaskStatus::NeedsInput, "the lead main wants it to go on. The worker waits:"),
            (&say, TaskStatus::Running, "the lead main told it what to do next. The worker continues."),
            (&say, TaskStatus::Failed, "the lead main told it what to do next."),
        ] {
            assert_eq!(done(&lead, acts, &[], status), expected);
        }
        let drafted = "Drafted for a person, who sends it or answers otherwise: q1. Nothing is answered yet. \
                       The worker waits:";
        assert_eq!(done(&lead, &answer, &["q1"], TaskStatus::NeedsInput), drafted);
    }

    #[test]
    fn an_answer_is_text_a_number_or_a_list() {
        let words = |words: &[&str]| Reply::Words(words.iter().map(|word| (*word).to_owned()).collect());
        for (value, expected) in [
            (json!("Blue"), words(&["Blue"])),
            (json!(2), words(&["2"])),
            (json!(true), words(&["true"])),
            (json!(["Blue", 3]), words(&["Blue", "3"])),
        ] {
            assert_eq!(reply(&value).unwrap(), expected);
        }
        for wrong in [json!(null), json!({ "a": 1 }), json!([["a"]])] {
            assert!(reply(&wrong).is_err(), "{wrong}");
        }
    }
}
