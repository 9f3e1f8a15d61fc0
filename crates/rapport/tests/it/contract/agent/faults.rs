//! Failures around the real CLI: of its key, the network, its conversation, its workplace. And malformed questions.

use std::fs;
use std::path::Path;

use rapport::agents::rehearsal::scenario::{Ask as Round, FullQuestion, Scenario};
use rapport_core::{AgentDid, Ask, CallReply, Leave, Order, TurnKind};
use serde_json::{Value, json};

use super::actor::{Actor, Stage, conversations_of};
use super::asking::{finished, spent};
use crate::support::driven::{CONVERSATION, Driven, answers, failure, order};
use crate::support::model::{Fault, Model, Response, Script};

/// The variables that name the CLIs.
const VERSIONS: [&str; 3] =
    ["RAPPORT_TEST_CLAUDE", "RAPPORT_TEST_CLAUDE_2_1_197", "RAPPORT_TEST_CLAUDE_2_1_90"];

/// The real CLI with this model, if there is one to be tested. It tries everything twice, not eleven times.
fn stage(script: Script) -> Option<Stage> {
    stage_of(VERSIONS[0], script)
}

/// The same with a CLI of this version.
fn stage_of(version: &str, script: Script) -> Option<Stage> {
    let mut stage = Actor::named(version)?.with(Scenario::new("nothing")).with_model(Model::play(script));
    stage.set("CLAUDE_CODE_MAX_RETRIES", "1");
    Some(stage)
}

fn done() -> Script {
    Script::default().say(Response::default().text("Done."))
}

#[tokio::test]
async fn a_wrong_key_is_told_in_the_words_of_the_cli() {
    let refusal = || Fault::refusal(401, "authentication_error", "invalid x-api-key");
    let Some(stage) = stage(done().after(refusal()).after(refusal())) else { return };
    let mut run = stage.start();
    assert_eq!(failure(run.leave().await), "Invalid API key · Fix external API key");
    assert_glance(&run, "the model's API said 401 authentication_failed; trying again in ");
    stage.assert_nothing_runs();
}

#[tokio::test]
async fn no_key_at_all() {
    let Some(mut stage) = stage(done()) else { return };
    stage.cli_mut().env.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
    assert_eq!(failure(stage.start().leave().await), "Not logged in · Please run /login");
}

#[tokio::test]
async fn too_many_requests_and_an_overloaded_model_are_progress_and_no_failure() {
    let faults = [
        (Fault::refusal(429, "rate_limit_error", "slow down").header("retry-after", "0"), "429 rate_limit"),
        (Fault::refusal(529, "overloaded_error", "Overloaded"), "529 overloaded"),
    ];
    for (fault, words) in faults {
        let Some(stage) = stage(done().after(fault)) else { return };
        let mut run = stage.start();
        let (did, leave) = run.rest().await;
        assert!(matches!(&did[1], AgentDid::Delay { why } if why.contains(words)), "{did:?}");
        assert_eq!(did[2..], [AgentDid::Say { text: "Done.".into() }, spent(1)]);
        assert_eq!(leave, finished("Done."));
        assert_glance(&run, &format!("the model's API said {words}; trying again in "));
    }
}

#[tokio::test]
async fn nobody_answers_at_the_models_address() {
    let Some(mut stage) = stage(done()) else { return };
    stage.set("ANTHROPIC_BASE_URL", format!("http://{}", Model::nobody()));
    let mut run = stage.start();
    let reason = failure(run.leave().await);
    assert!(reason.contains("ECONNREFUSED"), "{reason}");
    assert_glance(&run, "the model cannot be reached; trying again in ");
}

/// The CLI makes the model continue, or repeat itself: either nothing of the question arrives, or all of it.
#[tokio::test]
async fn the_stream_breaks_off_in_the_middle_of_a_tool_call() {
    let options = json!([{"label": "A", "description": ""}, {"label": "B", "description": ""}]);
    let question = json!({"question": "Which?", "header": "W", "multiSelect": false, "options": options});
    let input = json!({"questions": [question]});
    let asking = Response::default().text("I need to know.").tool("toolu_1", "AskUserQuestion", input);
    let script =
        Script::default().say(asking).after(Fault::CutAfter(6)).say(Response::default().text("Done."));
    for version in VERSIONS {
        let Some(stage) = stage_of(version, script.clone()) else { return };
        let mut run = stage.start();
        loop {
            match run.did().await.expect("a leave") {
                AgentDid::Ask { call, ask: Ask::Questions(drafts), .. } => {
                    assert!(drafts[0].text == "Which?" && drafts[0].options.len() == 2, "{drafts:?}");
                    run.reply(call.as_str(), answers(&[("Which?", "A")]));
                }
                // Older CLIs do not try again.
                AgentDid::Leave(Leave::Failed { .. }) => break assert_ne!(version, VERSIONS[0]),
                AgentDid::Leave(leave) => {
                    assert!(stage.model.as_ref().unwrap().seen().len() >= 2, "{version}: it was tried again");
                    break assert_eq!(leave, finished("Done."), "{version}");
                }
                _ => {}
            }
        }
    }
}

/// A reply that broke off is tried again, or is a failure; half of it is never a plan or a result, whether it is the
/// first message of a turn or follows a whole one.
#[tokio::test]
async fn half_a_reply_is_no_result() {
    const HALF: &str = "The first half.";
    let halves = || Response::default().text(HALF).text("The second half.");
    let first = || Script::default().say(Response::default().text("I look.").tool("toolu_1", "Bash", look()));
    let cut = |script: Script, times: usize, events: usize| {
        (0..times).fold(script.say(halves()), |script, _| script.after(Fault::CutAfter(events)))
    };
    let mut failed = 0;
    for version in VERSIONS {
        for kind in [TurnKind::Plan, TurnKind::Work] {
            for (begins, is_first) in [(Script::default(), true), (first(), false)] {
                for (times, events) in [(1, 4), (20, 4)] {
                    let Some(mut stage) = stage_of(version, cut(begins.clone(), times, events)) else {
                        return;
                    };
                    stage.allow("Bash");
                    let mut run = stage.start_with(Order { kind, ..order() });
                    let leave = loop {
                        match run.did().await.expect("a leave") {
                            AgentDid::Ask { call, .. } => {
                                run.reply(call.as_str(), CallReply::Allow { asked: "May it?".into() });
                            }
                            AgentDid::Leave(leave) => break leave,
                            _ => {}
                        }
                    };
                    let about = format!(
                        "{version}, {kind:?}, the first message: {is_first}, {times} after {events}: {leave:?}"
                    );
                    match &leave {
                        Leave::Finished { result } => assert!(!result.ends_with(HALF), "{about}"),
                        Leave::Failed { .. } => failed += 1,
                        _ => panic!("{about}"),
                    }
                }
            }
        }
    }
    assert!(failed > 0, "no reply broke off for good");
}

/// A command that is run without asking.
fn look() -> Value {
    json!({"command": "true", "description": "Looks"})
}

/// Rapport does not guess how long a model may think: the setting `silence` decides.
#[tokio::test]
async fn a_model_that_says_nothing() {
    let Some(mut stage) = stage(done().after(Fault::Stall)) else { return };
    stage.cli_mut().silence = std::time::Duration::from_secs(2);
    let reason = failure(stage.start().leave().await);
    assert!(reason.ends_with(" was silent for 2s"), "{reason}");
    stage.assert_nothing_runs();
}

#[tokio::test]
async fn a_conversation_that_is_not_one() {
    let Some(stage) = stage(done()) else { return };
    let folder = conversations_of(&stage.path("home"), &stage.path("app"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{CONVERSATION}.jsonl")), "{\"some\": \"thing\"}\n").unwrap();
    let reason = failure(stage.start().leave().await);
    assert_eq!(reason, format!("No conversation found with session ID: {CONVERSATION}"));
}

#[tokio::test]
async fn a_directory_that_is_gone() {
    let Some(stage) = stage(done()) else { return };
    fs::remove_dir(stage.path("app")).unwrap();
    let reason = failure(stage.start().leave().await);
    let place = stage.path("app").display().to_string();
    assert!(reason.starts_with("cannot start ") && reason.contains(&place), "{reason}");
}

#[tokio::test]
async fn a_program_that_is_not_there() {
    let mut stage = Stage::new(tempfile::tempdir().unwrap(), Path::new("no-such-claude"));
    fs::create_dir(stage.path("app")).unwrap();
    let reason = failure(stage.start().leave().await);
    assert_eq!(reason, "cannot start no-such-claude: No such file or directory (os error 2)");
    stage.cli_mut().program = stage.path("app");
    let reason = failure(stage.start().leave().await);
    assert!(reason.contains("Permission denied"), "{reason}");
}

/// The CLI makes sure that questions have two to four options; people are not asked any other.
#[tokio::test]
async fn too_few_or_too_many_options_are_refused_by_the_cli() {
    let options = |count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({"label": format!("Option {n}"), "description": "It"})).collect()
    };
    let counts = [0, 1, 5, 100];
    let asking = |(n, count): (usize, &usize)| {
        let question =
            json!({"question": "Which?", "header": "W", "multiSelect": false, "options": options(*count)});
        Response::default().tool(&format!("toolu_{n}"), "AskUserQuestion", json!({"questions": [question]}))
    };
    let script = counts.iter().enumerate().map(asking).fold(Script::default(), Script::say);
    let Some(stage) = stage(script.say(Response::default().text("Done."))) else { return };
    let (did, leave) = stage.start().rest().await;
    assert!(!did.iter().any(|did| matches!(did, AgentDid::Ask { .. })), "{did:?}");
    assert_eq!(leave, finished("Done."));
    for n in 0..counts.len() {
        let (told, is_error) = stage.tool_result(&format!("toolu_{n}")).unwrap();
        assert!(is_error && told.contains("InputValidationError"), "{told}");
    }
}

/// Agents that are less strict get any number through.
#[tokio::test]
async fn any_number_of_options_comes_through_the_driver() {
    for count in [0, 1, 5, 100] {
        let labels: Vec<String> = (0..count).map(|n| format!("Option {n}")).collect();
        let options: Vec<_> = labels.iter().map(|label| (label.as_str(), "")).collect();
        let question = FullQuestion::new("Which?", "W", &options);
        let scenario = Scenario::new("options").asks(Round::one(question)).respond_with_text("Done.");
        let stage = Actor::Rehearsal.with(scenario);
        let mut run = stage.start();
        let (call, ask, _) = run.asked().await;
        assert!(matches!(ask, Ask::Questions(drafts) if drafts[0].options.len() == count));
        run.reply(call.as_str(), answers(&[("Which?", "Own words")]));
        assert_eq!(run.leave().await, finished("Done."));
    }
}

/// A question without words does not count: the core refuses it, and the agent is told.
#[tokio::test]
async fn a_question_without_words() {
    let options = json!([{"label": "A", "description": ""}, {"label": "B", "description": ""}]);
    let question = json!({"question": " ", "header": "W", "multiSelect": false, "options": options});
    let asking = Response::default().tool("toolu_1", "AskUserQuestion", json!({"questions": [question]}));
    let script = Script::default().say(asking).say(Response::default().text("Done."));
    let Some(stage) = stage(script) else { return };
    let mut run = stage.start();
    let (call, ask, _) = run.asked().await;
    assert_eq!(ask, Ask::Questions(Vec::new()));
    run.reply(
        call.as_str(),
        CallReply::Deny { asked: String::new(), message: "There was no question.".into() },
    );
    assert_eq!(run.leave().await, Leave::Finished { result: "Done.".into() });
    let (told, is_error) = stage.tool_result("toolu_1").unwrap();
    assert!(is_error && told.contains("There was no question."), "{told}");
}

#[track_caller]
fn assert_glance(run: &Driven, begin: &str) {
    let mut glances = run.glances.iter().filter_map(|glance| Some(glance.doing.as_ref()?.to_string()));
    assert!(glances.any(|glance| glance.starts_with(begin)), "{begin:?} is not in {:#?}", run.glances);
}
