//! `claude_code_respond`: a lead answers the questions of a session that it leads, or passes one on to a person. Each
//! answer has its own result: sent, drafted for a person, needs a person, or there is no such open question.

use rapport_core::routing::{Class, Ground, Recipient};
use rapport_core::{Act, By, OpenQuestion, QuestionId, Refusal, Reply, SessionId, View};
use rapport_door::{DoorError, StoreError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ids;
use crate::server::{Server, ToolReply};
use crate::tool_error::ToolError;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RespondArguments {
    session_id: String,
    response: Option<String>,
    question: Option<String>,
    ground: Option<String>,
    #[serde(default)]
    answers: Vec<OneAnswer>,
    #[serde(default)]
    asking_user: bool,
    pass_on: Option<PassedOn>,
}

/// A question that the lead leaves to a person.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PassedOn {
    reason: String,
    /// What is at stake, if that is more than Rapport knows.
    class: Option<Class>,
}

/// An answer to one of several questions (LEAD-19).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneAnswer {
    question: Option<String>,
    response: String,
    ground: Option<String>,
}

/// The result of an answer.
#[derive(Debug)]
struct Responded {
    question: Option<QuestionId>,
    status: RespondStatus,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RespondStatus {
    Sent,
    Drafted,
    NotFound,
    NeedsPerson,
}

impl RespondStatus {
    fn word(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Drafted => "drafted",
            Self::NotFound => "not_found",
            Self::NeedsPerson => "needs_person",
        }
    }
}

/// Answers one question or several, each on its own.
pub(crate) async fn respond(
    server: &Server,
    lead: &By,
    arguments: RespondArguments,
) -> Result<ToolReply, ToolError> {
    let wanted = wanted(&arguments)?;
    // A malformed id names no session.
    let id = ids::session(&arguments.session_id).ok();
    let mut done = Vec::new();
    if arguments.asking_user {
        let one = arguments.question.as_deref();
        done.push(extend(server, lead, id.as_ref(), one).await?);
    }
    if let Some(passed) = &arguments.pass_on {
        done.push(pass_on(server, lead, id.as_ref(), (arguments.question.as_deref(), passed)).await?);
    }
    for one in &wanted {
        done.push(respond_once(server, lead, id.as_ref(), one).await?);
    }
    let text = done.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n");
    let results: Vec<Value> = done.iter().map(result).collect();
    let status = done.first().map_or("not_found", |one| one.status.word());
    let data = json!({ "sessionId": arguments.session_id, "status": status, "results": results });
    Ok(ToolReply { text, data })
}

fn result(done: &Responded) -> Value {
    let question = done.question.as_ref().map(QuestionId::as_str);
    json!({ "question": question, "status": done.status.word(), "message": done.text })
}

/// The answers that a call gives.
fn wanted(arguments: &RespondArguments) -> Result<Vec<OneAnswer>, ToolError> {
    let one = arguments.response.as_ref().map(|response| OneAnswer {
        question: arguments.question.clone(),
        response: response.clone(),
        ground: arguments.ground.clone(),
    });
    let all: Vec<_> = one.into_iter().chain(arguments.answers.iter().cloned()).collect();
    if all.is_empty() && !arguments.asking_user && arguments.pass_on.is_none() {
        return Err(ToolError::invalid(
            "give a response, or answers: [{question, response, ground}], or passOn: {reason}",
        ));
    }
    if arguments.response.is_some() && arguments.pass_on.is_some() {
        return Err(ToolError::invalid("either give a response or pass the question on"));
    }
    if arguments.pass_on.as_ref().is_some_and(|passed| passed.reason.trim().is_empty()) {
        return Err(ToolError::invalid("passOn: say in reason why the person has to decide it"));
    }
    Ok(all)
}

async fn respond_once(
    server: &Server,
    lead: &By,
    id: Option<&SessionId>,
    one: &OneAnswer,
) -> Result<Responded, ToolError> {
    let (id, open) = match find(server, lead, id, one.question.as_deref()).await? {
        Ok(found) => found,
        Err(none) => return Ok(none),
    };
    let ground = one.ground.as_deref().map(str::trim).filter(|ground| !ground.is_empty());
    let ground: Option<Ground> = ground.and_then(|ground| ground.parse().ok());
    let act = Act::Respond {
        question: open.id.clone(),
        reply: Reply::Words(vec![one.response.clone()]),
        ground,
        because: None,
    };
    let question = Some(open.id.clone());
    match server.sessions().act(&id, lead, &act).await {
        Ok(_) => {
            let now = server.sessions().view(&id).await?;
            let is_open = now.questions.iter().any(|other| other.id == open.id);
            Ok(match is_open {
                true => drafted(question, &id, &open),
                false => Responded {
                    question,
                    status: RespondStatus::Sent,
                    text: format!("Response sent to Claude Code session {id}"),
                },
            })
        }
        Err(DoorError::Refused(refusal)) => refused(question, &id, &open, refusal),
        Err(error) => Err(error.into()),
    }
}

/// Extends the time for a question, because the lead asks the person.
async fn extend(
    server: &Server,
    lead: &By,
    id: Option<&SessionId>,
    question: Option<&str>,
) -> Result<Responded, ToolError> {
    let (id, open) = match find(server, lead, id, question).await? {
        Ok(found) => found,
        Err(none) => return Ok(none),
    };
    let act = Act::AskPerson { question: open.id.clone() };
    server.sessions().act(&id, lead, &act).await?;
    let text = format!("{} of session {id} waits while you ask the person", open.id);
    Ok(Responded { question: Some(open.id), status: RespondStatus::NeedsPerson, text })
}

/// Leaves a question to the person, and says why; the lead may say that more is at stake than was known.
async fn pass_on(
    server: &Server,
    lead: &By,
    id: Option<&SessionId>,
    (question, passed): (Option<&str>, &PassedOn),
) -> Result<Responded, ToolError> {
    let (id, open) = match find(server, lead, id, question).await? {
        Ok(found) => found,
        Err(none) => return Ok(none),
    };
    let (reason, class) = (passed.reason.clone(), passed.class);
    let act = Act::PassOn { question: open.id.clone(), class, reason };
    let question = Some(open.id.clone());
    let text = format!("{} of session {id} is with the person now", open.id);
    match server.sessions().act(&id, lead, &act).await {
        Ok(_) => Ok(Responded { question, status: RespondStatus::NeedsPerson, text }),
        // In a session without routes, people are asked beside the assistant.
        Err(DoorError::Refused(Refusal::UnknownQuestion { .. })) if open.way.is_none() => {
            Ok(Responded { question, status: RespondStatus::NeedsPerson, text })
        }
        Err(DoorError::Refused(refusal)) => refused(question, &id, &open, refusal),
        Err(error) => Err(error.into()),
    }
}

/// The open question that a lead means: the named one, or else the oldest that is routed to it, or else the oldest.
async fn find(
    server: &Server,
    lead: &By,
    id: Option<&SessionId>,
    question: Option<&str>,
) -> Result<Result<(SessionId, OpenQuestion), Responded>, ToolError> {
    let Some(id) = id else { return Ok(Err(not_found(None))) };
    let view = match server.sessions().view(id).await {
        Ok(view) => view,
        Err(DoorError::Store(StoreError::NotFound(_))) => return Ok(Err(not_found(None))),
        Err(error) => return Err(error.into()),
    };
    if !is_led_by(&view, lead) {
        let text = format!("session {id} has another lead, or none; its questions are for a person");
        return Ok(Err(Responded { question: None, status: RespondStatus::NeedsPerson, text }));
    }
    let named = question.map(|question| QuestionId::new(question.trim()));
    let is_with_lead = |open: &&OpenQuestion| {
        open.way.as_ref().is_some_and(|way| way.to == Recipient::Lead) && open.draft.is_none()
    };
    let found = match &named {
        Some(named) => view.questions.iter().find(|open| open.id == *named),
        None => view.questions.iter().find(is_with_lead).or_else(|| view.questions.first()),
    };
    Ok(match found {
        Some(open) => Ok((id.clone(), open.clone())),
        None => Err(not_found(named)),
    })
}

/// Whether a lead leads a session: it is the session's lead, or it started the session.
fn is_led_by(view: &View, lead: &By) -> bool {
    let By::Lead { name } = lead else { return false };
    match &view.lead {
        Some(known) => known.as_str() == name || view.by == *lead,
        None => matches!(view.by, By::Lead { .. }),
    }
}

fn not_found(question: Option<QuestionId>) -> Responded {
    let text = "No pending question for this session".to_owned();
    Responded { question, status: RespondStatus::NotFound, text }
}

fn drafted(question: Option<QuestionId>, id: &SessionId, open: &OpenQuestion) -> Responded {
    let text = format!(
        "A draft of the answer to {} of session {id} waits for the person, who sends it with one key. Nothing was sent: there is no \
         ground that counts, or the person sends what you draft here.",
        open.id
    );
    Responded { question, status: RespondStatus::Drafted, text }
}

/// The result for the lead, from a refusal.
fn refused(
    question: Option<QuestionId>,
    id: &SessionId,
    open: &OpenQuestion,
    refusal: Refusal,
) -> Result<Responded, ToolError> {
    let (status, text) = match &refusal {
        Refusal::AlreadyAnswered { .. } | Refusal::QuestionEnded { .. } | Refusal::UnknownQuestion { .. } => {
            (RespondStatus::NotFound, format!("No pending question for this session: {refusal}"))
        }
        Refusal::NeedsPerson { .. } => {
            (RespondStatus::NeedsPerson, format!("{refusal}. Tell the person what {id} asks: {}", open.text))
        }
        Refusal::NotNow { .. } if open.draft.is_some() => (RespondStatus::Drafted, refusal.to_string()),
        _ => return Err(DoorError::Refused(refusal).into()),
    };
    Ok(Responded { question, status, text })
}

#[cfg(test)]
mod tests {
    use rapport_core::{Answer, Asker, CallId, Choice, Event, Purpose, Question, RoundId, TurnId};

    use super::*;
    use crate::test_door::{TestDoor, lead, session};

    fn asked(round: u32, texts: &[&str]) -> Event {
        let question = |(place, text): (usize, &&str)| Question {
            id: QuestionId::new(format!("q{}", place + 1)),
            text: (*text).to_owned(),
            header: None,
            options: ["Red", "Blue"].map(Choice::plain).into(),
            multi: false,
            free_text: true,
            purpose: Purpose::Clarify,
        };
        let asker = Asker::Agent { turn: TurnId(1), call: CallId::new("c1"), parkable: true };
        let questions = texts.iter().enumerate().map(question).collect();
        Event::Asked { round: RoundId(round), asker, questions }
    }

    async fn respond_data(door: &std::sync::Arc<TestDoor>, arguments: Value) -> Value {
        let arguments = serde_json::from_value(arguments).unwrap();
        respond(&door.server().await, &lead(), arguments).await.unwrap().data
    }

    /// LEAD-12: a delivered answer is `sent`; every other name is `not_found`: another session, an invented one, a
    /// question that was answered or never asked.
    #[tokio::test]
    async fn lead_12_an_answer_is_sent_or_not_found() {
        let door = TestDoor::new(vec![asked(1, &["Which colour?"])], []);
        for invented in ["20200101-invented", "../../etc/passwd", ""] {
            let data = respond_data(&door, json!({ "sessionId": invented, "response": "Blue" })).await;
            assert_eq!(data["status"], "not_found", "{data}");
        }
        let data =
            respond_data(&door, json!({ "sessionId": session(), "question": "q9", "response": "Blue" }))
                .await;
        assert_eq!(data["results"][0]["message"], "No pending question for this session");
        let data = respond_data(&door, json!({ "sessionId": session(), "response": "Blue" })).await;
        let sent = format!("Response sent to Claude Code session {}", session());
        assert_eq!((&data["status"], &data["results"][0]["message"]), (&json!("sent"), &json!(sent)));
        let data =
            respond_data(&door, json!({ "sessionId": session(), "question": "q1", "response": "Red" })).await;
        assert_eq!(data["status"], "not_found", "{data}");
    }

    /// A person who answers at the same moment wins, and the lead is told so.
    #[tokio::test]
    async fn a_question_that_was_just_answered_is_not_found() {
        let by = By::Person { channel: "terminal".into(), id: "ann".into() };
        let answer = Answer { values: vec!["Red".into()], text: None };
        let others = Event::Answered { question: QuestionId::new("q1"), answer, by };
        let door = TestDoor::new(vec![asked(1, &["Which colour?"])], [vec![others]]);
        let data = respond_data(&door, json!({ "sessionId": session(), "response": "Blue" })).await;
        assert_eq!(data["status"], "not_found");
        let message = data["results"][0]["message"].as_str().unwrap();
        assert!(message.contains("already answered with \"Red\" by ann"), "{message}");
    }

    /// LEAD-19: several answers at once, each with its own result.
    #[tokio::test]
    async fn lead_19_each_of_several_answers_has_its_own_result() {
        let texts = ["Which colour?", "Shall I drop the table?", "Which name?"];
        let door = TestDoor::new(vec![asked(1, &texts)], []);
        let answers = json!([
            { "question": "q1", "response": "Blue" },
            { "question": "q2", "response": "Red" },
            { "question": "q3", "response": "Paint", "ground": "because" },
            { "question": "q4", "response": "x" },
        ]);
        let data = respond_data(&door, json!({ "sessionId": session(), "answers": answers })).await;
        let statuses: Vec<_> =
            data["results"].as_array().unwrap().iter().map(|one| one["status"].clone()).collect();
        assert_eq!(statuses, ["sent", "needs_person", "sent", "not_found"], "{data}");
    }

    /// A lead that does not know leaves the question to the person, with a reason; nothing is answered.
    #[tokio::test]
    async fn lead_14_a_question_is_passed_on_with_a_reason() {
        let door = TestDoor::new(vec![asked(1, &["Which colour?"])], []);
        let passed = json!({ "reason": "A matter of taste", "class": "money" });
        let data =
            respond_data(&door, json!({ "sessionId": session(), "question": "q1", "passOn": passed })).await;
        assert_eq!(data["status"], "needs_person", "{data}");
        let data =
            respond_data(&door, json!({ "sessionId": session(), "question": "q1", "response": "Blue" }))
                .await;
        assert_eq!(data["status"], "sent", "it was still open: {data}");
        for wrong in [
            json!({ "sessionId": session(), "passOn": { "reason": " " } }),
            json!({ "sessionId": session(), "passOn": { "reason": "x" }, "response": "Blue" }),
        ] {
            let arguments = serde_json::from_value(wrong).unwrap();
            assert!(respond(&door.server().await, &lead(), arguments).await.is_err());
        }
        assert!(
            serde_json::from_value::<RespondArguments>(
                json!({ "sessionId": session(), "passOn": { "reason": "x", "class": "nothing" } })
            )
            .is_err()
        );
    }

    #[tokio::test]
    async fn a_call_without_an_answer_is_explained() {
        let door = TestDoor::new(vec![asked(1, &["Which colour?"])], []);
        let arguments = serde_json::from_value(json!({ "sessionId": session() })).unwrap();
        let refused = respond(&door.server().await, &lead(), arguments).await.unwrap_err();
        assert!(refused.message().contains("give a response"), "{}", refused.message());
    }
}
