//! The diagnostic log of a daemon: complete enough to follow a story, without words of people and without the token.

use super::Stage;
use crate::support::patience::wait_for;
use crate::support::telegram::Fault;

const STORY: &str = r##"
version: 1
name: words
invocations:
  - steps:
      - text: "the-agents-words"
      - ask: { questions: [{ question: "Is the-question-text clear?", options: [{ label: "the-label" }, { label: "Other" }] }] }
    result: "the-result-text"
"##;

#[tokio::test]
async fn the_log_of_serve_tells_the_story_without_its_words_and_without_the_token() {
    let mut stage = Stage::quiet(STORY).await;
    let file = stage.project.path("log.txt");
    stage.server.fault_times("sendMessage", 2, Fault::Status(502));
    stage.serve_with(&[("RAPPORT_LOG", "trace"), ("RAPPORT_LOG_FILE", file.to_str().unwrap())]);
    let anna = stage.anna();
    anna.types("the-task-text");
    anna.sees("Is the-question-text clear?").await;
    // The address of a server that fails has the token in it.
    stage.server.fault_times("getUpdates", 2, Fault::Status(502));
    anna.types("the-typed-words");
    anna.sees("the-result-text").await;
    let log = || std::fs::read_to_string(&file).unwrap();
    wait_for("the fault", || log().contains("Telegram is retried after a pause").then_some(()));
    assert_eq!(stage.stop(), 0);
    let log = log();
    for part in [
        "command=\"Serve\"",
        "the bot is served",
        "input=\"Update\"",
        "effect=\"Operate\"",
        "effect=\"Send\"",
        "facts=\"Asked\"",
        "facts=\"Answered\"",
        "not sent",
        "agent started",
        "agent ended",
    ] {
        assert!(log.contains(part), "{part} is not in:\n{log}");
    }
    // A session is named after its task.
    let rest = log.replace("-the-task-text", "");
    let token = stage.server.token();
    let words = [
        "the-task-text",
        "the-agents-words",
        "the-question-text",
        "the-label",
        "the-typed-words",
        "the-result-text",
    ];
    for secret in words.into_iter().chain([token]) {
        assert!(!rest.contains(secret), "{secret} is in:\n{log}");
    }
}
