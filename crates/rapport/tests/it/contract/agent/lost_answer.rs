//! Questions that were parked beside another call, as an earlier Rapport did: the real CLI runs the other call, the
//! model reads that the result of its question is missing, and continues. Such a conversation is told the answer by
//! message, once.

use std::process::Command;

use rapport::agents::claude::transcript::Transcript;
use rapport_core::{AgentDid, CallId, Leave};
use serde_json::{Value, json};

use super::actor::{Actor, Stage};
use super::asking::database;
use super::parking::answered;
use super::{on_every_agent, on_every_version};
use crate::support::driven::{CONVERSATION, order};
use crate::support::model::{Model, Response, Script};
use crate::support::rehearsal::{LIVE, Live, ask_hook, hook};

// The scripted agent does not lose answers.
on_every_version! {
    parked_too_early_it_is_told_by_message [Parking SubAgents]
    taken_up_by_the_cli_it_is_not_told_again [Parking SubAgents]
    closed_in_the_cli_it_is_told_by_message [Parking SubAgents]
}

const CALL: &str = "toolu_0101a";
const ANSWER: &str = "SQLite";

async fn parked_too_early_it_is_told_by_message(actor: Actor) {
    let stage = set(&actor);
    put_away(&stage);
    let (_, by_message) = told(&stage).await;
    // The scripted model, which reads nothing, may make the call again, and gets the answer as its result, too.
    assert_eq!(by_message, 1);
}

/// The CLI repeats the deferred call, and takes the answer: an answer that the conversation contains is not told
/// again.
async fn taken_up_by_the_cli_it_is_not_told_again(actor: Actor) {
    let stage = set(&actor);
    put_away(&stage);
    let answers = json!({"Which database?": ANSWER});
    raw(&stage, &["--resume", CONVERSATION], None, |live, request| live.answer(request, answers.clone()));
    assert_eq!(told(&stage).await, (1, 0));
}

/// A person resumes the conversation with the CLI itself and answers nothing: the CLI records that as a result, and
/// the answer that was given to Rapport is still told.
async fn closed_in_the_cli_it_is_told_by_message(actor: Actor) {
    let stage = set(&actor);
    put_away(&stage);
    raw(&stage, &["--resume", CONVERSATION], None, |live, request| live.answer(request, json!({})));
    let (as_result, by_message) = told(&stage).await;
    assert_eq!((as_result, by_message), (0, 1));
}

fn set(actor: &Actor) -> Stage {
    let mut stage = actor.with(super::parking::one_question());
    let write = json!({"file_path": stage.path("app").join("written.txt"), "content": "x\n"});
    let asks = json!({"questions": database().questions});
    let both = Response::default().tool(CALL, "AskUserQuestion", asks).tool("toolu_0101b", "Write", write);
    let says = ["I went on.", "Now I know.", "I knew."].map(|words| Response::default().text(words));
    stage = stage.with_model(Model::play(says.into_iter().fold(Script::default().say(both), Script::say)));
    stage.allow("Write");
    stage.cli_mut().work_mode = "acceptEdits".into();
    stage
}

/// Defers the question while another call of its message has not run.
fn put_away(stage: &Stage) {
    let prompt = order().prompt;
    raw(stage, &["--session-id", CONVERSATION], Some(&prompt), |live, request| {
        live.respond(request, hook("defer", Value::Null));
    });
    let lines = std::fs::read(stage.transcript()).unwrap();
    let transcript = Transcript::read(&*lines).unwrap();
    assert!(!transcript.answered(&CallId::new(CALL)), "it was not answered");
}

/// Talks to the CLI as a host does that knows nothing of what is in flight.
fn raw(stage: &Stage, flags: &[&str], message: Option<&str>, about: impl Fn(&mut Live, &Value)) {
    let mut command = Command::new(&stage.cli().program);
    command.args(LIVE).args(["--permission-mode", "acceptEdits", "--allowedTools", "Write"]).args(flags);
    command.current_dir(stage.path("app")).env_clear();
    command.envs(stage.cli().env.iter().map(|(name, value)| (name, value)));
    let mut live = Live::start(command);
    live.initialize(ask_hook());
    message.into_iter().for_each(|message| live.message(message));
    loop {
        let event = live.event();
        match event["type"].as_str() {
            // A resumed CLI may ask before it knows of the hook: then it asks for permission.
            Some("control_request") if is_about_questions(&event["request"]) => about(&mut live, &event),
            Some("control_request") => {
                let input = &event["request"]["input"];
                live.respond(&event, json!({"behavior": "allow", "updatedInput": input}));
            }
            Some("result") => break,
            _ => {}
        }
    }
    live.finish();
}

fn is_about_questions(request: &Value) -> bool {
    request["subtype"] == "hook_callback" || request["tool_name"] == "AskUserQuestion"
}

/// Takes the session up with the answer. How often the model was told it in the end: as a call's result, and by
/// message.
async fn told(stage: &Stage) -> (usize, usize) {
    let call = CallId::new(CALL);
    let model = stage.model.as_ref().unwrap();
    let before = model.seen().len();
    let (did, leave) = stage.start_with(answered(&call, ANSWER)).rest().await;
    let taken = did.iter().filter(|did| **did == AgentDid::Take { call: call.clone() }).count();
    assert_eq!(taken, 1, "{did:#?}");
    assert!(matches!(leave, Leave::Finished { .. }), "{leave:?}");
    assert!(model.seen().len() > before, "the model was asked");
    let last = model.seen().pop().unwrap()["messages"].to_string();
    let as_result = last.matches(&format!("\\\"=\\\"{ANSWER}\\\"")).count();
    let by_message = last.matches(&format!("1. {ANSWER}")).count();
    assert!(!last.contains("Tool result missing") || by_message > 0, "{last}");
    println!("the last request: {last}");
    (as_result, by_message)
}
