//! A token that is wrong, a Telegram that is away, a disk that is full of something else.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rapport_core::Event;

use super::{ANNA, AUTH, Stage};
use crate::support::patience::{wait_at_most, wait_for};
use crate::support::project::Project;
use crate::support::telegram::{BOT_ID, ChatMessage, Content, Door, Fault, State};

/// No token, a wrong one, and one that another process serves: told, with what to do.
#[tokio::test]
async fn tokens_that_do_not_work_are_told() {
    let mut stage = Stage::quiet(AUTH).await;
    let none = stage.project.command().args(["serve"]).env_remove("TELEGRAM_BOT_TOKEN").output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("@BotFather"));
    for wrong in ["111:not-the-right-one", "nonsense"] {
        let ran = stage.project.command().args(["serve"]).env("TELEGRAM_BOT_TOKEN", wrong).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains("does not accept the bot's token") && !said.contains(wrong), "{said}");
    }
    stage.serve();
    wait_for("the bot to be served", || stage.printed().contains("serving").then_some(()));
    let second = stage.project.rapport(&["serve"]);
    second.check(5, "this bot is already served by process");
    stage.project.rapport(&["doctor"]).check(0, "one person may use it, served on this machine");
    assert_eq!(stage.stop(), 0);
    stage.project.rapport(&["doctor"]).check(0, "not served just now");
}

/// A machine that starts before its network, and a Telegram that stumbles: it is waited for, and told. A token that
/// Telegram does not know ends it, with words.
#[tokio::test]
async fn a_machine_may_start_before_its_network() {
    let mut stage = Stage::quiet(AUTH).await;
    stage.server.goes_down(Door::Refusing).await;
    stage.serve();
    wait_for("it to be told", || stage.printed().contains("cannot be reached since").then_some(()));
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    stage.server.comes_back().await;
    anna.sees("Q1 of 3").await;
    wait_for("the good news", || stage.printed().contains("Telegram is back").then_some(()));
    assert_eq!(stage.stop(), 0);

    stage.server.fault_times("getMe", 2, Fault::Status(502));
    stage.serve();
    anna.types("/help");
    anna.sees("I plan tasks with you").await;
    assert_eq!(stage.stop(), 0);

    // One refusal at the start may come from a server that is being restarted; a token that is wrong stays wrong.
    let refusal = || Fault::Refuse { code: 404, description: "Not Found".into() };
    stage.server.fault("getMe", refusal());
    stage.serve();
    anna.types("/help");
    anna.sees("I plan tasks with you").await;
    assert_eq!(stage.stop(), 0);

    let known = stage.server.calls("getMe").len();
    stage.server.fault_times("getMe", 20, refusal());
    stage.serve();
    assert_eq!(stage.ended(), 2);
    assert!(stage.printed().contains("does not accept the bot's token"), "{}", stage.printed());
    assert_eq!(stage.server.calls("getMe").len(), known + 5, "a few times are enough");
}

/// Telegram refuses the token once, while it is served, and gives empty answers at once: neither ends it, nor makes
/// it spin.
#[tokio::test]
async fn one_refusal_and_empty_answers_end_nothing() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/help");
    anna.sees("I plan tasks with you").await;
    for (code, description) in [(401, "Unauthorized"), (404, "Not Found")] {
        stage.server.fault("getUpdates", Fault::Refuse { code, description: description.into() });
        anna.types("/status");
        anna.sees_last("Nothing waits for you").await;
    }
    let (before, began) = (stage.server.calls("getUpdates").len(), Instant::now());
    stage.server.fault_times("getUpdates", 4, Fault::Empty);
    stage.server.called("getUpdates", before + 5).await;
    assert!(began.elapsed() > Duration::from_secs(2), "four empty answers in {:?}", began.elapsed());
    anna.types("/help");
    anna.sees_last("I plan tasks with you").await;
    assert_eq!(stage.stop(), 0);
}

/// A tap whose answer cannot be stored is not thanked for.
#[tokio::test]
async fn nobody_is_thanked_for_an_answer_that_is_not_stored() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    assert_eq!(stage.stop(), 0);
    // The first line that is written to the log from now on does not reach the disk.
    stage.serve_with(&[("RAPPORT_TRIAL_SYNC", "log.jsonl:1")]);
    let card = anna.sees_last("Q1 of 3").await;
    let tap = anna.taps_on(&card, "Express");
    let toast = anna.toast_of(&tap).await;
    assert!(!toast.contains("Express") && !toast.contains('✓'), "{toast}");
    anna.sees("❌ That failed: cannot write to").await;
    stage.kill();
    stage.serve();
    anna.taps("Express").await;
    anna.sees("Q2 of 3").await;
}

/// An id that nobody has would let nobody in, and show no code.
#[tokio::test]
async fn an_id_that_nobody_has_is_told() {
    let stage = Stage::quiet(AUTH).await;
    let mut command = stage.project.command();
    let ran = command.args(["serve"]).env("TELEGRAM_USER_ID", "0").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(said.contains("0 is not the id of anybody") && said.contains("TELEGRAM_USER_ID"), "{said}");
}

/// An address that nothing can be sent to is told at once, instead of being tried for ever; it may contain a password.
#[tokio::test]
async fn an_address_that_is_none_is_told() {
    let stage = Stage::quiet(AUTH).await;
    for wrong in
        ["ftp://me:secret@x", "api.telegram.org", "file:///etc/secret", "https://", "https://x/?secret"]
    {
        for (command, code) in [("serve", 2), ("doctor", 1)] {
            let mut ran = stage.project.command();
            ran.arg(command).env("RAPPORT_TELEGRAM_API_URL", wrong);
            let mut ran = ran.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let what = format!("{command} with {wrong:?} to end");
            let ended = wait_at_most(Duration::from_secs(30), &what, || ran.try_wait().unwrap());
            let ran = ran.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
            assert_eq!(ended.code(), Some(code), "{command}, {wrong:?}: {said}");
            assert!(said.contains("is not a plain http or https URL"), "{wrong:?}: {said}");
            assert!(said.contains("telegram.api_url") && !said.contains("secret"), "{wrong:?}: {said}");
        }
    }
}

/// A message that Telegram always fails to take blocks nothing behind it, after a kill neither, and is told to the
/// host.
#[tokio::test]
async fn what_always_fails_does_not_block_its_chat() {
    let scenario = format!(
        "version: 1\nname: long\ninvocations:\n  - result: \"{}\"\n  - result: \"Short.\"\n",
        "A long story. ".repeat(3000)
    );
    let mut stage = Stage::playing(&scenario).await;
    stage.server.patience(Duration::from_secs(60));
    let anna = stage.anna();
    stage.server.fault_times("sendDocument", 1000, Fault::Status(500));
    anna.types("tell me a story");
    stage.server.called("sendDocument", 1).await;
    anna.types("/help");
    anna.sees("I plan tasks with you").await;
    wait_for("the host to be told", || {
        stage.printed().contains("could not be told in its chat").then_some(())
    });
    stage.kill();
    let before = stage.server.calls("sendDocument").len();
    stage.serve();
    stage.server.called("sendDocument", before + 1).await;
    anna.types("/help");
    anna.sees("I plan tasks with you").await;
    // What could not be sent is sent when it can be.
    stage.server.clear_faults();
    anna.types("and a short one");
    let sent = |state: &State| {
        let is_file = |message: &&ChatMessage| matches!(message.content, Content::Document { .. });
        state.messages_in(ANNA, None).find(is_file).map(|message| message.id)
    };
    stage.server.wait_for("the long story", sent).await;
}

/// A tap that cannot be answered for a moment is answered after it.
#[tokio::test]
async fn a_tap_is_answered_after_a_pause() {
    for trouble in [
        Fault::Refuse { code: 429, description: "Too Many Requests: retry after 1".into() },
        Fault::Status(502),
    ] {
        let stage = Stage::playing(AUTH).await;
        let anna = stage.anna();
        anna.types("/plan add JWT authentication");
        stage.server.fault("answerCallbackQuery", trouble);
        anna.taps("Express").await;
        anna.sees("Q2 of 3").await;
        assert_eq!(anna.toast().await, "✓ Express");
    }
}

/// A chat that may not be written to for a day is told to the host; nothing is said before the time is over.
#[tokio::test]
async fn a_long_pause_is_told() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    stage.server.fault("sendMessage", Fault::TooManyRequests { retry_after: 86_400 });
    anna.types("/plan add JWT authentication");
    wait_for("the host to be told", || {
        stage.printed().contains("Telegram demands a pause of 24 hours in chat 42").then_some(())
    });
    assert_eq!(stage.server.violations(), []);
}

/// Telegram goes away in the middle of a round, and comes back: nothing is lost, and it is told once.
#[tokio::test]
async fn telegram_may_be_down_for_a_while() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    stage.server.goes_down(Door::Refusing).await;
    wait_for("it to be told", || stage.printed().contains("cannot be reached").then_some(()));
    anna.types("Koa");
    stage.server.comes_back().await;
    anna.sees("Q2 of 3").await;
    assert_eq!(stage.printed().matches("cannot be reached since").count(), 1, "{}", stage.printed());
    assert_eq!(stage.stop(), 0);
    let token = stage.server.token().split_once(':').unwrap().1;
    assert!(!stage.printed().contains(token));
}

/// Too many requests in the middle of a round: the card comes after the pause, once.
#[tokio::test]
async fn too_many_requests_are_waited_out() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    stage.server.fault("sendMessage", Fault::TooManyRequests { retry_after: 3 });
    anna.taps("Express").await;
    anna.sees("Q2 of 3").await;
    let cards = stage.server.messages(ANNA).iter().filter(|card| card.text().contains("Q2 of 3")).count();
    assert_eq!(cards, 1);
    assert_eq!(stage.server.violations(), []);
}

/// Notes of kinds that only a newer program knows are kept; one that a kill cut short is not.
#[tokio::test]
async fn notes_that_are_not_understood_are_kept() {
    let mut stage = Stage::quiet(AUTH).await;
    let folder = stage.project.path("home/.rapport/telegram");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{BOT_ID}.cards.jsonl"));
    let newer = r#"{"starred":{"session":"20260124-x","message":7}}"#;
    std::fs::write(&path, format!("{newer}\n{{\"told\":{{\"sess")).unwrap();
    stage.serve();
    let kept = format!("{newer}\n");
    wait_for("the notes to be written anew", || {
        (std::fs::read_to_string(&path).unwrap() == kept).then_some(())
    });
}

/// WORK-20: an answer from here is stored, and the agent cannot be started to take it. The chat says so, and trying
/// again delivers it.
#[tokio::test]
async fn an_answer_that_cannot_be_delivered_is_shown_as_stored() {
    let project = Project::with_scenario(&AUTH.replace(
        "    result: \"Auth is",
        "      - ask: { questions: [{ question: \"Which colour?\", options: [{ label: Red }, { label: Blue }] }] }\n    result: \"Auth is",
    ));
    let mut stage = Stage::of(project.recorded().set("RAPPORT_AGENT_HOT", "0s")).await;
    stage.serve();
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    super::cases::answer_all(&anna).await;
    anna.taps("✅ Confirm & Start").await;
    anna.sees("Which colour?").await;
    let parked = |fact: &Event| matches!(fact, Event::Parked { .. });
    wait_for("the agent to be parked", || stage.project.facts().iter().any(parked).then_some(()));
    let (scenario, away) = (stage.project.path("scenario.yaml"), stage.project.path("away.yaml"));
    std::fs::rename(&scenario, &away).unwrap();
    anna.taps("Blue").await;
    let told = anna.sees("Not delivered").await;
    for words in ["Which colour?", "Blue", "This answer is stored. The agent could not take it:"] {
        assert!(told.text().contains(words), "{}", told.text());
    }
    std::fs::rename(&away, &scenario).unwrap();
    anna.taps("🔁 Try again").await;
    anna.sees("Auth is in place.").await;
}

/// The plan cannot be written when it is confirmed: told, and tried again when it can.
#[tokio::test]
async fn a_plan_that_cannot_be_written_can_be_tried_again() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    super::cases::answer_all(&anna).await;
    let folder = stage.project.root().join(".claude/todos/jwt-auth");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    anna.taps("✅ Confirm & Start").await;
    let failed = anna.sees("❌").await;
    assert!(failed.text().contains("Cannot continue"), "{}", failed.text());
    assert!(failed.text().contains("cannot write the plan to"), "{}", failed.text());
    assert!(
        !failed.text().contains("saved") && !failed.text().contains("failed to start"),
        "{}",
        failed.text()
    );
    assert!(stage.prompts().is_empty(), "no agent without a plan");
    std::fs::remove_file(&folder).unwrap();
    anna.taps("🔁 Try again").await;
    anna.sees("Auth is in place.").await;
    let plan = stage.project.file(".claude/todos/jwt-auth/implement-jwt-auth-system.md");
    assert!(plan.contains("Cookies"), "{plan}");
}
