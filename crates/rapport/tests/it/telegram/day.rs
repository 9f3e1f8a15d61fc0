//! A day on the phone: what ended and what it cost, quiet hours, files to take along, rules that are taken back.

use rapport_core::{Event, Rule};

use super::{ANNA, AUTH, Stage};
use crate::support::telegram::{ChatMessage, Content, Sound, State};

/// Work that costs something, and says a secret.
const COSTLY: &str = r##"
version: 1
name: costly
invocations:
  - steps:
      - text: "The key is sk-test-0123456789."
      - write: { path: notes/made.txt, content: "made\n", permission: true }
    result: "Finished."
"##;

/// An agent that wants to do the same in every turn.
pub(super) const REPEATS: &str = r##"
version: 1
name: repeats
invocations:
  - steps:
      - bash: { command: "echo one >> built.txt", permission: true }
    result: "Built {{message}}."
  - steps:
      - bash: { command: "echo one >> built.txt", permission: true }
    result: "Built {{message}}."
  - steps:
      - bash: { command: "echo one >> built.txt", permission: true }
    result: "Built {{message}}."
"##;

fn document(message: &ChatMessage) -> (String, String) {
    let Content::Document { name, bytes } = &message.content else { panic!("{message:?}") };
    (name.clone(), String::from_utf8_lossy(bytes).into_owned())
}

/// `/status` lists what ended lately and compares what was spent with the budget; after a restart too.
#[tokio::test]
async fn status_tells_what_ended_and_what_it_cost() {
    let mut stage = Stage::quiet(AUTH).await;
    // The limit that all sessions have is what counts, unless the chat has a figure of its own.
    let env = [("RAPPORT_AGENT_DAILY_BUDGET", "7.50")];
    let own = [env[0], ("RAPPORT_TELEGRAM_BUDGET", "2.50")];
    stage.serve_with(&own);
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    super::cases::answer_all(&anna).await;
    anna.taps("✅ Confirm & Start").await;
    anna.sees("🏁 Done").await;
    for budget in [" of $2.50", " of $7.50"] {
        anna.types("/status");
        let status = anna.sees("Ended lately").await;
        let text = status.text();
        assert!(text.starts_with("Nothing waits for you"), "{text}");
        assert!(text.contains("🏁 add JWT authentication (just now"), "{text}");
        assert!(text.contains("Spent in 24 hours: $") && text.contains(budget), "{text}");
        assert_eq!(stage.stop(), 0);
        stage.serve_with(&env);
    }
}

/// In quiet hours a question comes without a sound and nobody is reminded; nothing is lost, and it can be answered as
/// ever.
#[tokio::test]
async fn quiet_hours_hush_and_hold_reminders() {
    let mut stage = Stage::quiet(AUTH).await;
    stage.serve_with(&[("RAPPORT_TELEGRAM_REMIND", "1s")]);
    let anna = stage.anna();
    anna.types("/quiet tomorrow");
    anna.sees("I do not understand that").await;
    anna.types("/quiet 2h");
    anna.sees("messages make no sound").await;
    anna.types("/plan add JWT authentication");
    let card = anna.sees("Q1 of 3").await;
    assert_eq!(card.sound, Sound::Silent);
    assert_eq!(stage.stop(), 0);
    stage.serve_with(&[("RAPPORT_TELEGRAM_REMIND", "1s")]);
    anna.types("/status");
    let list = anna.sees("Waiting for you").await;
    assert_eq!(list.sound, Sound::Silent, "a restart changes nothing");
    // A later question in a chat without quiet hours has its reminder, so the earlier one would have been reminded of.
    let team = anna.in_group(stage.server.group("Team"), None);
    team.types("/plan add a search");
    team.sees("Q1 of 3").await;
    team.sees("Still waiting for your answer").await;
    assert!(!anna.shows("Still waiting"), "{}", anna.screen());
    anna.types("/quiet off");
    anna.sees("No quiet hours").await;
    let reminder = anna.sees("Still waiting for your answer").await;
    assert_eq!(reminder.sound, Sound::Heard);
    anna.taps_on(&reminder, "💤 In an hour");
    assert_eq!(anna.toast().await, "💤 I will remind you in an hour.");
    anna.taps_on(&reminder, "Express");
    anna.sees("Q2 of 3").await;
}

/// One file with everything, and no secret of Rapport's in it.
#[tokio::test]
async fn a_session_is_exported_without_secrets() {
    let mut stage = Stage::quiet(COSTLY).await;
    stage.serve_with(&[("ANTHROPIC_API_KEY", "sk-test-0123456789"), ("RAPPORT_PLANNER_VIA", "agent")]);
    let anna = stage.anna();
    anna.types("/export");
    anna.sees("There is no session in this chat yet.").await;
    anna.types("make notes");
    anna.sees("Finished.").await;
    anna.types("/export");
    let export = anna.sees("Conversation with the lead").await;
    let (name, text) = document(&export);
    assert!(name.ends_with("-make-notes.md"), "{name}");
    for part in
        ["## Task\n\nmake notes", "- Wanted by: 42 (telegram)", "## Log", "\"created\"", "The key is ***."]
    {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(!text.contains("sk-test-0123456789") && !text.contains(stage.server.token()), "{text}");
    assert_eq!(stage.server.violations(), []);
}

/// A file of the project comes as it is; nothing outside of it does, nor what git and Rapport keep.
#[tokio::test]
async fn a_file_of_the_project_is_sent() {
    let stage = Stage::playing(COSTLY).await;
    let anna = stage.anna();
    anna.types("make notes");
    anna.sees("Finished.").await;
    anna.types("/file notes/made.txt");
    let file = anna.sees("notes/made.txt").await;
    assert_eq!(document(&file), ("made.txt".into(), "made\n".into()));
    std::fs::write(stage.project.path("secret.txt"), "outside").unwrap();
    std::os::unix::fs::symlink(stage.project.path("secret.txt"), stage.project.path("app/link.txt")).unwrap();
    for path in
        ["../secret.txt", "/etc/passwd", "link.txt", ".git/config", "./.rapport/x", "notes", "none.txt"]
    {
        anna.types(&format!("/file {path}"));
        anna.sees("It cannot be shown now").await;
    }
    let mallory = stage.server.person(666, "Mallory");
    mallory.types("/file notes/made.txt");
    mallory.sees("private").await;
}

/// What the work left can be had by a tap, as a file; for a day, and after a restart too.
#[tokio::test]
async fn changed_files_are_sent_by_a_tap() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    super::cases::answer_all(&anna).await;
    anna.taps("✅ Confirm & Start").await;
    let done = anna.sees("🏁 Done").await;
    assert_eq!(done.buttons(), [["📄 auth.txt"]]);
    stage.kill();
    stage.serve();
    let mallory = stage.server.person(666, "Mallory");
    mallory.taps_on(&done, "📄 auth.txt");
    anna.taps_on(&done, "📄 auth.txt");
    let sent = |state: &State| {
        state.messages.iter().find(|message| matches!(message.content, Content::Document { .. })).cloned()
    };
    let file = stage.server.wait_for("the file", sent).await;
    assert_eq!(document(&file), ("auth.txt".into(), "done\n".into()));
    assert!(!mallory.shows("auth.txt"), "{}", mallory.screen());
    assert_eq!(stage.server.violations(), []);
}

/// What was allowed for good is listed with where it holds, and a tap takes it back, after a restart as well.
#[tokio::test]
async fn always_is_listed_and_taken_back() {
    let mut stage = Stage::playing(REPEATS).await;
    let anna = stage.anna();
    anna.types("/always");
    anna.sees("no permanent permission exists").await;
    anna.types("first");
    anna.taps("Allow for this session").await;
    anna.sees("Built").await;
    anna.types("/always");
    let list = anna.sees("Allowed without asking").await;
    assert!(list.text().contains("while this is worked on: first"), "{}", list.text());
    assert!(list.text().contains("Bash(echo one >> built.txt)"), "{}", list.text());
    assert_eq!(stage.stop(), 0);
    stage.serve();
    anna.taps_on(&list, "✖ 1. Bash(echo one >> built.txt)");
    assert_eq!(anna.toast().await, "From now on you are asked again.");
    anna.types("second");
    anna.taps("Allow for this project").await;
    anna.sees("Built").await;
    anna.types("/always");
    let list = anna.sees("Allowed without asking").await;
    assert!(list.text().contains("in every session of the project"), "{}", list.text());
    anna.taps("✖ 1. Bash(echo one >> built.txt)").await;
    assert_eq!(anna.toast().await, "From now on you are asked again.");
    anna.taps_on(&list, "✖ 1. Bash(echo one >> built.txt)");
    assert_eq!(anna.toast().await, "That permission no longer exists. /always lists the current ones.");
    anna.types("third");
    anna.taps("Deny").await;
    anna.sees("⛔ Deny").await;
    let revoked =
        stage.sessions().into_iter().flat_map(|(_, _, facts)| facts).filter_map(|fact| match fact {
            Event::Revoked { rule, .. } => Some(rule),
            _ => None,
        });
    assert_eq!(revoked.collect::<Vec<_>>(), [Rule::exactly("Bash", "echo one >> built.txt")]);
}

/// One message says what the agent does, with the last tools and words, and is edited in place.
#[tokio::test]
async fn words_and_tools_are_streamed_into_one_message() {
    let scenario = r##"
version: 1
name: streams
invocations:
  - steps:
      - text: "I look around first."
      - write: { path: src/greeting.txt, content: "hello\n" }
      - bash: { command: "echo hello" }
      - wait_message: true
    result: "Done with it."
"##;
    let stage = Stage::playing(scenario).await;
    let anna = stage.anna();
    anna.types("look");
    let progress = anna.sees("🔧 Bash").await;
    assert!(progress.text().contains("💬 I look around first."), "{}", progress.text());
    // Whoever reads it on a phone knows where the project is.
    assert!(progress.text().contains("🔧 Write src/greeting.txt\n"), "{}", progress.text());
    assert_eq!(progress.sound, Sound::Silent);
    let all = stage.server.messages(ANNA);
    assert_eq!(all.iter().filter(|message| message.text().starts_with('⏳')).count(), 1);
}
