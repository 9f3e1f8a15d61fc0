//! Ordinary messages: the agent of the chat.

use rapport_core::Aim;

use super::{ANNA, Stage};
use crate::support::telegram::State;

/// One conversation, one process, formatted replies; `/new` begins another. CHAT-34: broken JSON is an ordinary reply.
#[tokio::test]
async fn messages_go_to_the_agent_of_the_chat() {
    let scenario = r##"
version: 1
name: chatting
invocations:
  - result: "It is **fine**, see `main.rs`."
  - result: '{"interactive": true, "questions": [oops'
  - result: "Third."
"##;
    let stage = Stage::playing(scenario).await;
    let anna = stage.anna();
    anna.types("how is it?");
    let reply = anna.sees("It is fine").await;
    assert_eq!(
        (reply.marked("bold"), reply.marked("code")),
        (vec!["fine".to_owned()], vec!["main.rs".to_owned()])
    );
    anna.types("and now?");
    anna.sees("questions").await;
    assert_eq!(
        (stage.sessions_for(&Aim::Chat), stage.prompts().len()),
        (1, 1),
        "one conversation, one process"
    );
    anna.types("/new");
    anna.sees("A new conversation begins").await;
    anna.types("again");
    anna.sees("It is fine").await;
    assert_eq!(stage.sessions_for(&Aim::Chat), 2);
    assert_eq!(stage.server.violations(), []);
}

/// Long replies are split, very long ones are a file.
#[tokio::test]
async fn long_replies_are_split_or_sent_as_a_file() {
    let long: String = (1..=400).map(|n| format!("Line {n} of a long reply. ")).collect();
    let huge: String = (1..=2000).map(|n| format!("Line {n} of a huge reply. ")).collect();
    let scenario =
        format!("version: 1\nname: long\ninvocations:\n  - result: \"{long}\"\n  - result: \"{huge}\"\n");
    let stage = Stage::playing(&scenario).await;
    let anna = stage.anna();
    anna.types("tell me");
    anna.sees("Line 400 of a long reply.").await;
    assert!(stage.server.messages(ANNA).iter().filter(|message| message.is_by_bot()).count() > 1);
    anna.types("more");
    stage.server.called("sendDocument", 1).await;
    assert_eq!(stage.server.violations(), []);
}

/// The agent of a conversation may change files: what it changed is shown, and undone.
#[tokio::test]
async fn what_a_conversation_changed_is_shown_and_undone() {
    let scenario = r##"
version: 1
name: writing
invocations:
  - steps:
      - write: { path: notes.txt, content: "one\n" }
    result: "Written."
  - result: "Nothing to do."
"##;
    let stage = Stage::playing(scenario).await;
    let anna = stage.anna();
    anna.types("write a note");
    anna.sees("Written.").await;
    anna.types("/diff");
    let diff = anna.sees("+one").await;
    assert!(diff.text().contains("notes.txt"), "{}", diff.text());
    anna.types("and now?");
    anna.sees("Nothing to do.").await;
    let id = stage.project.session();
    stage.project.rapport(&["diff", id.as_str()]).check(0, "+one");
    stage.project.rapport(&["undo", id.as_str(), "--yes"]).check(0, "removed: notes.txt");
    assert_eq!(stage.project.file("notes.txt"), "");
    assert_eq!(stage.server.violations(), []);
}

/// CHAT-45: the commands are listed, in the menu and in `/help`.
#[tokio::test]
async fn help_lists_the_commands() {
    let stage = Stage::playing(super::AUTH).await;
    let anna = stage.anna();
    for command in ["/start", "/help"] {
        anna.types(command);
        let help = anna.sees("/plan — ").await;
        for name in ["/status", "/cancel", "/new", "/help"] {
            assert!(help.text().contains(name), "{}", help.text());
        }
    }
    let menu = stage.server.called("setMyCommands", 1).await;
    let commands = menu[0].parameters["commands"].as_array().unwrap();
    let mut names: Vec<_> = commands.iter().map(|command| command["command"].as_str().unwrap()).collect();
    assert!(names.contains(&"plan") && names.contains(&"help"), "{names:?}");
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "each name is taken once");
    anna.types("/nonsense");
    anna.sees("I do not know /nonsense").await;
    anna.types("/cancel");
    anna.sees("There is nothing to cancel here.").await;
}

/// What it does, in one message that is edited in place and goes when it is done.
#[tokio::test]
async fn a_long_turn_shows_what_it_does() {
    let scenario = r##"
version: 1
name: slow
invocations:
  - steps:
      - tool: { name: Read, input: { file_path: "src/main.rs" }, result: "fn main() {}" }
      - bash: { command: "while [ ! -e go ]; do sleep 0.05; done" }
    result: "Read it."
"##;
    let stage = Stage::playing(scenario).await;
    let anna = stage.anna();
    anna.types("read it");
    let progress = anna.sees("⏳").await;
    stage.server.called("sendChatAction", 2).await;
    std::fs::write(stage.project.root().join("go"), "").unwrap();
    anna.sees("Read it.").await;
    stage
        .server
        .wait_for("the message about progress to be gone", |state| {
            state
                .message(ANNA, progress.id)
                .is_none_or(|message| !state.messages_in(ANNA, None).any(|m| m.id == message.id))
                .then_some(())
        })
        .await;
}

/// Cancelling a conversation that is at work says that it was stopped; one that is not says only what comes next.
#[tokio::test]
async fn cancelling_says_what_was_stopped() {
    let scenario = r##"
version: 1
name: busy
invocations:
  - result: "Hello."
  - steps: [{ bash: { command: "while [ ! -e go ]; do sleep 0.05; done" } }]
    result: "First."
"##;
    let stage = Stage::playing(scenario).await;
    let anna = stage.anna();
    anna.types("hello");
    anna.sees("Hello.").await;
    anna.types("/new");
    let ended = anna.sees("A new conversation begins").await;
    assert_eq!(ended.text(), "🆕 A new conversation begins with your next message.");
    anna.types("begin");
    stage.server.called("sendChatAction", 2).await;
    anna.types("/cancel");
    let stopped = anna.sees("A new conversation begins").await;
    assert_eq!(stopped.text(), "⏹ Stopped. 🆕 A new conversation begins with your next message.");
}

/// LEAD-5: what is written while the agent works reaches it at its next step, in order, each once; at some point it is
/// too much.
#[tokio::test]
async fn lead_5_messages_reach_the_working_agent_up_to_a_limit() {
    let scenario = r##"
version: 1
name: queue
invocations:
  - steps: [{ bash: { command: "while [ ! -e go ]; do sleep 0.05; done" } }]
    result: "First."
"##;
    let stage = Stage::playing(scenario).await;
    let anna = stage.anna();
    anna.types("begin");
    stage.server.called("sendChatAction", 1).await;
    let first = anna.types("more 1");
    for number in 2..=51 {
        anna.types(&format!("more {number}"));
    }
    let seen = |state: &State| state.reactions.get(&(ANNA, first)).cloned();
    assert_eq!(stage.server.wait_for("a sign that it was received", seen).await, "👀");
    let full = anna.sees("Too many pending messages").await;
    assert_eq!(full.text(), "Too many pending messages. Please wait for the current ones to complete.");
    std::fs::write(stage.project.root().join("go"), "").unwrap();
    anna.sees("First.").await;
    let facts: Vec<_> = stage.sessions().into_iter().flat_map(|(_, _, facts)| facts).collect();
    let heard = facts.iter().filter_map(|fact| match fact {
        rapport_core::Event::Heard { turn: Some(_), text, .. } => Some(text.clone()),
        _ => None,
    });
    let expected: Vec<_> = (1..=50).map(|number| format!("more {number}")).collect();
    assert_eq!(heard.collect::<Vec<_>>(), expected);
    let count = |is: fn(&rapport_core::Event) -> bool| facts.iter().filter(|fact| is(fact)).count();
    assert_eq!(count(|fact| matches!(fact, rapport_core::Event::Read { .. })), 50, "each is read once");
    assert_eq!(
        count(|fact| matches!(fact, rapport_core::Event::TurnStarted { .. })),
        1,
        "and not told again"
    );
}
