//! No door trusts a session that came with a clone.

use std::fs;

use super::{CHAT, clone, clone_unsigned, log_of, strangers_session, victim, was_started};
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::PERMISSION;
use crate::telegram::{ANNA, Stage};

/// Every command that would start something says no, and nothing is started or changed.
fn refuse_all(victim: &Project, session: &str, says: &str) {
    let doors: [&[&str]; 6] = [
        &["run", "--resume", session],
        &["answer", session, "--question", "q1", "Deny"],
        &["cancel", session],
        &["branch", session, "--at", "confirm-1"],
        &["run", "--json", "--resume", session],
        &["answer", session, "allow"],
    ];
    for door in doors {
        let ran = victim.rapport(door);
        ran.check(9, says);
        assert!(ran.err().contains(&format!("rapport trust {session}")), "{door:?}: {}", ran.err());
    }
    assert!(!was_started(victim));
}

#[test]
fn a_session_that_a_stranger_signed_starts_nothing() {
    let (stranger, session) = strangers_session();
    let victim = victim();
    clone(&stranger, &victim);
    let before = fs::read(log_of(&victim, &session)).unwrap();
    refuse_all(&victim, session.as_str(), "is not signed by anybody you know");
    assert_eq!(fs::read(log_of(&victim, &session)).unwrap(), before);
}

#[test]
fn a_session_without_seals_starts_nothing() {
    let (stranger, session) = strangers_session();
    let victim = victim();
    let session = clone_unsigned(&stranger, &session, &victim);
    let before = fs::read(log_of(&victim, &session)).unwrap();
    refuse_all(&victim, session.as_str(), "is not signed: ");
    assert_eq!(fs::read(log_of(&victim, &session)).unwrap(), before);
}

#[test]
fn it_can_be_read_and_says_whose_it_is() {
    let (stranger, session) = strangers_session();
    let victim = victim();
    clone(&stranger, &victim);
    victim.rapport(&["status"]).check(0, "is not signed by anybody you know");
    let all: serde_json::Value = victim.json(&["status", "--json"]);
    assert_eq!(all[0]["sealed"], "unknown");
    let ours: serde_json::Value = stranger.json(&["status", "--json"]);
    assert_eq!(ours[0]["sealed"], "ours");
    let log = victim.rapport(&["log", session.as_str()]);
    log.check(0, "is not signed by anybody you know").check(0, "echo built > built.txt");
    let shown = victim.rapport(&["status", session.as_str()]);
    assert!(!shown.out().contains("rapport resume"), "{}", shown.out());
}

/// What would be refused is not proposed: before it is trusted it takes no answer.
#[test]
fn status_proposes_to_trust_it_and_not_to_answer_it() {
    let stranger = Project::with_scenario(PERMISSION);
    let mut running = stranger.start(&["build"], &[]);
    running.until_asked();
    running.kill();
    let victim = victim();
    clone(&stranger, &victim);
    let session = victim.session();
    for args in [&["status"][..], &["status", session.as_str()]] {
        let shown = victim.rapport(args);
        shown.check(0, &format!("nothing runs for it; look at it first: rapport trust {session}\n"));
        assert!(!shown.out().contains("rapport answer"), "{}", shown.out());
    }
    victim.rapport(&["answer", "yes"]).check(9, &format!("rapport trust {session}"));
}

/// The daemon lists the session and does nothing else: no agent, and no message to the chat that the log names, or to
/// any other.
#[tokio::test]
async fn the_daemon_resumes_no_session_of_a_stranger() {
    let (stranger, session) = strangers_session();
    let mut stage = Stage::of(victim()).await;
    clone(&stranger, &stage.project);
    let unsigned = clone_unsigned(&stranger, &session, &stage.project);
    stage.serve();
    for session in [&session, &unsigned] {
        wait_for("the session to be listed", || {
            stage.printed().contains(&format!("rapport trust {session}")).then_some(())
        });
    }
    // A person who may use the bot gets an answer: the bot works, and has nothing else to say.
    let anna = stage.anna();
    anna.types("/help");
    anna.sees("/plan").await;
    // A session that comes while the daemon runs, by `git pull`, is not trusted either.
    let later = clone_unsigned(&stranger, &session, &stage.project);
    assert_ne!(later, unsigned);
    anna.types("/status");
    anna.types("/help");
    wait_for("the second help", || {
        let messages = stage.server.messages(ANNA);
        (messages.iter().filter(|message| message.text().contains("/plan")).count() > 1).then_some(())
    });
    assert_eq!(stage.stop(), 0);
    let texts: Vec<_> = stage.server.messages(ANNA).iter().map(|message| message.text().to_owned()).collect();
    assert!(!texts.iter().any(|text| text.contains("build") && text.contains("Bash")), "{texts:?}");
    assert!(stage.server.messages(CHAT).is_empty());
    assert!(!was_started(&stage.project));
}
