//! The API when it is slow, busy or broken, or its replies make no sense.

use std::time::Duration;

use rapport::planners::messages::{Messages, MessagesConfig};
use rapport::planners::{Planner, PlannerError};
use rapport_core::{QuestionRound, Usage};
use serde_json::{Value, json};

use super::server::{AT_ONCE, Answer, Server};
use super::{KEY, api, brief, config, good, question, texts};
use crate::support::model::Model;

/// Asks for this round of a server that gives these answers; tells what came of it and how often it was asked.
async fn ask(round: u32, answers: &[Answer]) -> (Result<QuestionRound, PlannerError>, Server) {
    let server = Server::giving(answers).await;
    let answered: &[_] = if round == 1 { &[] } else { &[("Which library?", "B")] };
    (api(&server.url).next(brief(round, answered)).await, server)
}

/// How it failed: at once, without a second try, and without the key.
async fn told(answers: &[Answer]) -> String {
    let (outcome, server) = ask(1, answers).await;
    assert_eq!(server.asked().len(), answers.len(), "of {answers:?}");
    let error = outcome.unwrap_err();
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    match error {
        PlannerError::Unreachable(words) => format!("unreachable: {words}"),
        PlannerError::Senseless(words) => format!("senseless: {words}"),
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    for fault in [
        Answer::Refuses(429, "", "slow down"),
        Answer::Refuses(529, "", "Overloaded"),
        Answer::Refuses(500, "", ""),
        Answer::Refuses(503, "", ""),
        Answer::Refuses(408, "", ""),
        Answer::Breaks,
    ] {
        let answers = [fault.clone(), fault.clone(), fault.clone(), Answer::json(&good())];
        let (outcome, server) = ask(1, &answers).await;
        assert_eq!(texts(&outcome.unwrap()), ["Which library?"], "after {fault:?}");
        assert_eq!(server.asked().len(), 4);
        let prompts: Vec<_> = server.asked().iter().map(|asked| asked.prompt().to_owned()).collect();
        assert!(prompts.iter().all(|prompt| *prompt == prompts[0]), "the very same request");
    }
}

#[tokio::test]
async fn what_does_not_pass_is_told_after_the_last_try() {
    let busy = Answer::Refuses(529, "", "Overloaded");
    assert_eq!(
        told(&[busy.clone(), busy.clone(), busy.clone(), busy]).await,
        "unreachable: the model API is overloaded (529); tried 4 times"
    );
    let broken = told(&[Answer::Breaks, Answer::Breaks, Answer::Breaks, Answer::Breaks]).await;
    assert!(broken.starts_with("unreachable: cannot reach the model API at 127.0.0.1:"), "{broken}");
    assert!(broken.ends_with("; tried 4 times"), "{broken}");
}

/// With an hour between tries this ends only where the server's word counts.
#[tokio::test]
async fn retry_after_is_honoured() {
    let patient = |url: &str| MessagesConfig { first_pause: Duration::from_secs(3600), ..config(url) };
    let server =
        Server::giving(&[Answer::Refuses(429, "retry-after: 0", "slow down"), Answer::json(&good())]).await;
    let batch = Messages::new(patient(&server.url)).unwrap().next(brief(1, &[])).await.unwrap();
    assert_eq!(texts(&batch), ["Which library?"]);
    assert_eq!(
        told(&[Answer::Refuses(429, "retry-after: 3600", "slow down")]).await,
        "unreachable: too many requests to the model API (429): slow down; it asks to wait 3600 seconds"
    );
}

#[tokio::test]
async fn what_cannot_get_better_is_told_at_once() {
    for (answer, expected) in [
        (
            Answer::Refuses(401, "", "invalid x-api-key sk-ant-very-secret"),
            "the model API does not accept the key (401); check planner.api_key, ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
        ),
        (
            Answer::Refuses(403, "", "sk-ant-very-secret may not"),
            "the model API does not allow this with this key (403): *** may not",
        ),
        (
            Answer::Refuses(400, "", "Your credit balance is too low\u{1b}[31m"),
            "the model API refused the request (400): Your credit balance is too low [31m",
        ),
        (
            Answer::Refuses(404, "", "model: x"),
            "the model API does not know claude-haiku-4-5 (404): model: x; check planner.model and planner.base_url",
        ),
        (
            Answer::Refuses(302, "location: http://127.0.0.1:9/", ""),
            "the model API refused the request (302)",
        ),
        (Answer::Says("refusal", String::new()), "the model declined to ask about this task"),
    ] {
        assert_eq!(told(&[answer]).await, format!("unreachable: {expected}"));
    }
    let babble = told(&[Answer::Babbles]).await;
    assert!(babble.contains("is not the Messages API (expected value at line 1 column 1)"), "{babble}");
}

#[tokio::test]
async fn nobody_there_and_nobody_speaking_are_told_apart() {
    let nobody = api(&format!("http://someone:hidden@{}", Model::nobody()));
    let words = nobody.next(brief(1, &[])).await.unwrap_err().to_string();
    assert!(words.starts_with("cannot reach the model API at 127.0.0.1:"), "{words}");
    assert!(words.contains("refused") && !words.contains("hidden"), "{words}");
    let server = Server::giving(&[const { Answer::Stalls }; 4]).await;
    let hasty = MessagesConfig { timeout: AT_ONCE, ..config(&server.url) };
    let words = Messages::new(hasty).unwrap().next(brief(1, &[])).await.unwrap_err().to_string();
    assert!(words.ends_with("did not answer within 200ms; tried 4 times"), "{words}");
}

#[tokio::test]
async fn chat_43_what_makes_no_sense_is_asked_for_once_more_with_the_reason() {
    for (round, answer, reason) in [
        (1, Answer::words("Sure, which library do you want?"), "there is no JSON object in it"),
        (1, Answer::words(""), "there is no JSON object in it"),
        (
            1,
            Answer::words("{\"questions\": [{\"question\": \"Wh"),
            "it is not the JSON object that was asked for: EOF",
        ),
        (
            1,
            Answer::json(&json!({"questions": [], "done": false})),
            "there is no question in it that could be asked",
        ),
        (1, Answer::Says("max_tokens", "{\"questions\"".into()), "it was cut off because it was too long"),
        (2, Answer::words("No more questions."), "there is no JSON object in it"),
    ] {
        let good = json!({"done": false, "questions": [question("Expiry?")]});
        let (outcome, server) = ask(round, &[answer.clone(), Answer::json(&good)]).await;
        let batch = outcome.unwrap();
        assert_eq!(texts(&batch), ["Expiry?"], "after {answer:?}");
        assert_eq!(
            batch.usage,
            Usage { input: 200, output: 14, cache_read: 6, ..Usage::default() },
            "both are paid"
        );
        let again = server.asked()[1].prompt().to_owned();
        let said = again.rsplit_once("\n\nYour last reply could not be used: ").unwrap().1;
        assert!(said.starts_with(reason), "{said}");
        let (outcome, server) = ask(round, &[answer.clone(), answer]).await;
        assert!(matches!(outcome, Err(PlannerError::Senseless(words)) if words.contains(reason)));
        assert_eq!(server.asked().len(), 2, "and not a third time");
    }
}

#[tokio::test]
async fn chat_7_an_empty_list_in_a_later_round_is_enough() {
    let (outcome, server) = ask(2, &[Answer::json(&json!({"questions": [], "done": false}))]).await;
    assert!(outcome.unwrap().done);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn chat_7_chat_15_too_much_is_cut_and_repeats_are_dropped() {
    let options: Vec<Value> = (1..=12).map(|n| json!({"label": format!("L{n}"), "value": n})).collect();
    let many = json!({"done": false, "questions": [
        {"question": "Which of twelve?", "options": options},
        question("Expiry?"), question("expiry"), question("WHICH LIBRARY"),
        question("Q3?"), question("Q4?"), question("Q5?"),
    ]});
    let (outcome, server) = ask(2, &[Answer::json(&many)]).await;
    let batch = outcome.unwrap();
    assert_eq!(texts(&batch), ["Which of twelve?", "Expiry?", "Q3?", "Q4?"]);
    let labels: Vec<_> = batch.questions[0].options.iter().map(|option| option.label.as_str()).collect();
    assert_eq!(labels, ["L1", "L2", "L3", "L4"]);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn addresses_and_keys_that_cannot_be_are_told_before_anything_is_sent() {
    for (base_url, expected) in [
        ("", "the address of the model API is wrong"),
        ("api.anthropic.com", "the address of the model API is wrong"),
        ("file:///etc", "begins with neither https:// nor http://"),
    ] {
        let error = Messages::new(config(base_url)).unwrap_err().to_string();
        assert!(error.contains(expected), "{base_url}: {error}");
    }
    let key = "secret\nkey";
    let credential = rapport::planners::messages::Credential::Key(key.into());
    let error = Messages::new(MessagesConfig { credential, ..config("https://x") }).unwrap_err().to_string();
    assert_eq!(error, "the key for the model API has characters that no key has");
    assert!(!format!("{:?}", api("https://x")).contains(KEY));
}
