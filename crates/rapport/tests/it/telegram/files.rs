//! What people send beside words: pictures, documents, albums, voice messages.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rapport_core::Aim;

use super::{ANNA, AUTH, Stage};
use crate::support::patience::wait_for;
use crate::support::telegram::{Fault, PHOTO};

/// An agent that talks.
const TALK: &str = r##"
version: 1
name: talk
invocations:
  - result: "Seen."
  - result: "Seen again."
"##;

/// The files that a text names.
fn named_in(text: &str) -> Vec<PathBuf> {
    let listed = text.split("Files that came with this message:").nth(1).unwrap_or_default();
    let lines = listed.split(['\n', '"']).map(|line| line.replace("\\n", "\n"));
    let paths = lines.flat_map(|line| line.lines().map(str::to_owned).collect::<Vec<_>>());
    paths.filter_map(|line| line.strip_prefix("- ").map(|path| path.trim().into())).collect()
}

impl Stage {
    /// Everything that its agents were told by people.
    fn told(&self) -> Vec<String> {
        if !self.project.path("records").exists() {
            return Vec::new();
        }
        let lines = self.project.agent_inputs().into_iter().flatten();
        let said = lines.filter(|line| line["type"] == "user");
        let text = said.map(|line| match line["message"]["content"].as_str() {
            Some(text) => text.to_owned(),
            None => line["message"]["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
        });
        text.collect()
    }

    /// Waits until an agent was told this much; the last of it.
    #[track_caller]
    fn told_last(&self, times: usize) -> String {
        wait_for("what the agent is told", || Some(self.told()).filter(|told| told.len() >= times))
            .pop()
            .unwrap()
    }
}

/// A document begins a conversation, and a picture goes on with it: kept with the session, for its owner alone, and
/// named to the agent.
#[tokio::test]
async fn files_are_kept_with_the_session_and_named_to_the_agent() {
    let stage = Stage::playing(TALK).await;
    let anna = stage.anna();
    anna.sends_document("../my plan;rm.txt", b"the plan", "");
    anna.sees("Seen.").await;
    let [(id, session, _)] = &stage.sessions()[..] else { panic!("one conversation") };
    let folder = stage.project.path(&format!("app/.rapport/sessions/{id}/files"));
    let [path] = &named_in(&session.created().task)[..] else { panic!("{}", session.created().task) };
    assert_eq!(path.parent(), Some(folder.canonicalize().unwrap().as_path()));
    assert!(path.to_str().unwrap().ends_with("-..-my-plan-rm.txt"), "{}", path.display());
    assert_eq!(std::fs::read(path).unwrap(), b"the plan");
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(stage.told_last(1).contains(path.to_str().unwrap()));
    anna.sends_photo("and this?");
    anna.sees("Seen again.").await;
    let told = stage.told_last(2);
    assert!(told.starts_with("and this?"), "{told}");
    assert_eq!(std::fs::read(&named_in(&told)[0]).unwrap(), PHOTO);
    assert_eq!(stage.sessions().len(), 1);
    assert_eq!(stage.server.violations(), []);
}

/// A picture may come with a command or with an answer; both name it.
#[tokio::test]
async fn a_plan_and_an_answer_take_pictures() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.sends_photo("/plan build what you see here");
    anna.sees("Q1 of 3").await;
    let (_, session, _) = &stage.sessions()[0];
    assert_eq!(session.created().aim, Aim::Work);
    assert_eq!(std::fs::read(&named_in(&session.created().task)[0]).unwrap(), PHOTO);
    anna.sends_photo("as here");
    anna.sees("Q2 of 3").await;
    let answered = |file: &serde_json::Value| {
        let answer = file["answers"][0].as_str().unwrap_or_default();
        answer.starts_with("as here\n") && named_in(answer).len() == 1
    };
    stage.filed(ANNA, "the answer with its picture", answered);
}

/// Pictures that are sent at once are one message.
#[tokio::test]
async fn an_album_is_one_message() {
    let stage = Stage::playing(TALK).await;
    let anna = stage.anna();
    anna.sends_album(3, "what are these?");
    anna.sees("Seen.").await;
    let told = stage.told_last(1);
    assert!(told.starts_with("what are these?"), "{told}");
    assert_eq!(named_in(&told).len(), 3);
    assert_eq!(stage.told().len(), 1);
}

/// What Telegram does not give to a bot is told, and nothing of the message is taken.
#[tokio::test]
async fn what_cannot_be_fetched_is_told() {
    let stage = Stage::playing(TALK).await;
    let anna = stage.anna();
    anna.sends_document("film.mp4", &vec![0; (20 << 20) + 1], "look at this");
    anna.sees("larger than 20 MB").await;
    assert_eq!(stage.server.calls("getFile").len(), 0);
    let description = "Bad Request: wrong file_id or the file is temporarily unavailable".to_owned();
    stage.server.fault("getFile", Fault::Refuse { code: 400, description });
    anna.sends_photo("and this");
    let told = anna.sees("I could not fetch that").await;
    assert!(told.text().contains("Please send it again"), "{}", told.text());
    assert_eq!(stage.sessions().len(), 0);
    stage.server.fault("download", Fault::Status(502));
    anna.sends_photo("once more");
    anna.sees("Seen.").await;
}

/// A kill while a file is on its way loses neither the file nor the words, and takes them once.
#[tokio::test]
async fn a_kill_while_a_file_is_fetched_loses_nothing() {
    let mut stage = Stage::playing(TALK).await;
    let anna = stage.anna();
    stage.server.fault("download", Fault::Hang);
    anna.sends_photo("what is this?");
    stage.server.wait_for("the download", |state| (state.downloads == 1).then_some(())).await;
    stage.kill();
    assert_eq!(stage.sessions().len(), 0);
    stage.serve();
    anna.sees("Seen.").await;
    assert_eq!(std::fs::read(&named_in(&stage.told_last(1))[0]).unwrap(), PHOTO);
    assert_eq!((stage.sessions().len(), stage.told().len()), (1, 1));
}

/// Killed at every write around a conversation that begins with a picture: it begins once, and its picture is there.
#[tokio::test]
async fn a_kill_at_any_write_keeps_a_conversation_and_its_picture() {
    let mut point = 1;
    loop {
        let mut stage = Stage::quiet(TALK).await;
        stage.serve_with(&[("RAPPORT_TRIAL_WRITES", &format!("sessions/:{point}"))]);
        let anna = stage.anna();
        anna.sends_photo("what is this?");
        let seen = wait_for("an answer or a kill", || {
            (anna.shows("Seen.") || stage.has_died()).then(|| anna.shows("Seen."))
        });
        if !stage.has_died() {
            assert!(seen && point > 3, "killed {point} times");
            return;
        }
        stage.serve();
        anna.sees_last("Seen.").await;
        let sessions = stage.sessions();
        let [(_, session, _)] = &sessions[..] else { panic!("{point}: {} sessions", sessions.len()) };
        let path = &named_in(&session.created().task)[0];
        assert_eq!(std::fs::read(path).unwrap(), PHOTO, "{point}");
        point += 1;
    }
}

/// Nothing is fetched for strangers.
#[tokio::test]
async fn files_of_strangers_stay_where_they_are() {
    let stage = Stage::playing(TALK).await;
    let mallory = stage.server.person(666, "Mallory");
    mallory.sends_document("evil.sh", b"#!/bin/sh", "/plan run this");
    mallory.sees("private").await;
    assert_eq!((stage.server.calls("getFile").len(), stage.sessions().len()), (0, 0));
}

/// Without a program that listens, a person is told so.
#[tokio::test]
async fn a_voice_message_nobody_can_hear_is_told() {
    let stage = Stage::playing(TALK).await;
    let anna = stage.anna();
    anna.sends_voice();
    anna.sees("I cannot read a voice message").await;
    assert_eq!((stage.server.calls("getFile").len(), stage.sessions().len()), (0, 0));
}

/// A program that hears these words in every voice message.
fn transcriber(stage: &Stage, words: &str) -> String {
    let listens = stage.project.path("listens");
    std::fs::write(&listens, format!("#!/bin/sh\ncase $(cat \"$2\") in OggS*) echo \"{words}\";; esac\n"))
        .unwrap();
    std::fs::set_permissions(&listens, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{} please", listens.display())
}

/// What is said answers the question that waits, as what is typed does.
#[tokio::test]
async fn a_voice_message_answers_the_open_question() {
    let scenario = r##"
version: 1
name: ask
invocations:
  - steps:
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
    result: "Painted in {{answer:1}}."
"##;
    let mut stage = Stage::quiet(scenario).await;
    let command = transcriber(&stage, "Blue");
    stage.serve_with(&[("RAPPORT_TELEGRAM_TRANSCRIBER", command.as_str())]);
    let anna = stage.anna();
    anna.types("paint the door");
    anna.sees("Which colour?").await;
    anna.sends_voice();
    anna.sees("I heard:").await;
    anna.taps("✅ Use it").await;
    anna.sees("Painted in Blue.").await;
    assert_eq!(stage.sessions().len(), 1, "nothing else was begun");
}

/// What was understood is shown first, and counts when its sender says so, after a restart as well.
#[tokio::test]
async fn a_voice_message_counts_when_it_was_understood() {
    let mut stage = Stage::quiet(TALK).await;
    let command = transcriber(&stage, "$1, add dark mode");
    let env = [("RAPPORT_TELEGRAM_TRANSCRIBER", command.as_str())];
    stage.serve_with(&env);
    let anna = stage.anna();
    anna.sends_voice();
    let heard = anna.sees("I heard:").await;
    assert!(heard.text().ends_with("please, add dark mode"), "{}", heard.text());
    let ask = anna.sees("Is that what you want to say?").await;
    assert_eq!(stage.sessions().len(), 0);
    assert_eq!(stage.stop(), 0);
    stage.serve_with(&env);
    anna.taps_on(&ask, "✅ Use it");
    anna.sees("Seen.").await;
    assert_eq!(stage.told_last(1), "please, add dark mode");
    anna.sees_no_button("✅ Use it").await;
    // A second tap on the old button says nothing again.
    anna.taps_on(&ask, "✅ Use it");
    anna.toast().await;
    assert_eq!(stage.told().len(), 1);
    anna.sends_voice();
    anna.taps("✖ Drop it").await;
    assert_eq!(anna.toast().await, "Dropped.");
    assert_eq!(stage.told().len(), 1);
    let left = std::fs::read_dir(stage.project.path("home/.rapport/run")).unwrap().flatten();
    let left: Vec<_> = left.filter(|file| file.file_name().to_string_lossy().starts_with("voice-")).collect();
    assert!(left.is_empty(), "{left:?}");
}
