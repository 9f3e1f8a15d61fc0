//! A reply of the agent in words instead of a plan, on the page: shown, answered, left.

use rapport_core::{By, Event};

use super::WebSite;
use crate::files::{greeting, project};
use crate::support::patience::wait_for;

const REPLY: &str = "Which **language** do you greet in?\n\n<b>I cannot tell</b> from the code.";

fn answers(site: &WebSite) -> Vec<(String, By)> {
    let facts = site.project.facts().into_iter();
    let answers = facts.filter_map(|fact| match fact {
        Event::ReplyAnswered { text, by, .. } => Some((text, by)),
        _ => None,
    });
    answers.collect()
}

/// FILE-20: the words are on the card as Markdown; the answer is stored with who gave it, the agent plans with it, and the
/// session is free for a terminal again.
#[tokio::test]
async fn file_20_a_reply_in_words_is_answered_on_the_page() {
    let site = WebSite::start(project(&[REPLY, &greeting()]));
    let phone = site.pair("phone").await;
    site.project.plan_turn("Greet.").check(3, "I cannot tell");
    let card = phone.sees("/", "The agent replied in words instead of a plan").await;
    card.check(200, "Which <strong>language</strong> do you greet in?").check(200, "badge is-reply");
    card.check(200, "&lt;b&gt;I cannot tell&lt;/b&gt;").check(200, "Leave it unanswered");
    phone.press(&card, "reply", &[("text", " ")]).await.check(200, "Nothing was written.");
    let sent = phone.press(&card, "reply", &[("text", "In English.\r\nPlease.")]).await;
    sent.check(200, "Answered. The agent plans again.");
    phone.sees("/", "Review: Add a greeting").await;
    let by = By::Person { channel: "web".into(), id: "phone".into() };
    assert_eq!(answers(&site), [("In English.\nPlease.".to_owned(), by)]);
    let told = site.project.turn_file("02/_context.log");
    for words in [REPLY, "In English.\nPlease.", "Greet."] {
        assert!(told.contains(words), "{words:?} in {told}");
    }
    // A second answer is refused in words, and what was written is shown again.
    let late = phone.press(&card, "reply", &[("text", "In German.")]).await;
    late.check(200, "Not done: ").check(200, "You wrote this, and it was not sent").check(200, "In German.");
    // The story says who answered what.
    phone
        .page(&format!("/s/{}", site.project.session()))
        .await
        .check(200, "answers the reply in words to turn 01: In English.");
    wait_for("the session to be free for a terminal", || {
        (site.project.rapport(&["resume", "-y"]).code() == 0).then_some(())
    });
    assert_eq!(site.project.file("hello.txt"), "Hello\n");
    assert_eq!(site.project.turn_names(), ["01", "02"]);
}

/// A reply that is left without an answer no longer waits, and something else can be planned.
#[tokio::test]
async fn a_reply_in_words_is_left_on_the_page() {
    let site = WebSite::start(project(&[REPLY, &greeting()]));
    let phone = site.pair("phone").await;
    site.project.plan_turn("Greet.").check(3, "I cannot tell");
    let card = phone.sees("/", "Leave it unanswered").await;
    phone.press(&card, "skip", &[]).await.check(200, "Skipped.").check(200, "Nothing waits for you.");
    let status = site.project.rapport(&["status"]);
    assert!(!status.out().contains("needs input"), "{}", status.out());
    wait_for("the session to be free for a terminal", || {
        (site.project.plan_turn("Greet in English.").code() == 0).then_some(())
    });
    phone.sees("/", "Review: Add a greeting").await;
    assert!(answers(&site).is_empty());
}

/// What would be sent with the answer is limited as at a terminal: it is not sent, the answer is kept, and it is tried
/// again once the limit allows it.
#[tokio::test]
async fn an_answer_that_would_send_too_much_waits() {
    let site = WebSite::start_with(
        project(&[REPLY, &greeting()]).set("RAPPORT_CONTEXT_MAX_TOKENS", "100000"),
        &[("RAPPORT_CONTEXT_MAX_TOKENS", "10")],
    );
    let phone = site.pair("phone").await;
    site.project.plan_turn("Greet.").check(3, "I cannot tell");
    let card = phone.sees("/", "The agent replied in words instead of a plan").await;
    phone.press(&card, "reply", &[("text", "In English.")]).await;
    let failed = phone.sees("/", "more than the 10 of context.max_tokens").await;
    failed.check(200, "Try again");
    assert_eq!(answers(&site).len(), 1);
    // At a terminal, with another limit.
    let status = wait_for("the session to be free for a terminal", || {
        Some(site.project.rapport(&["resume", "-y"])).filter(|ran| ran.code() == 0)
    });
    status.check(0, "");
    assert_eq!(site.project.file("hello.txt"), "Hello\n");
    let told = site.project.turn_file("02/_context.log");
    assert!(told.contains("In English."), "{told}");
}

/// At a terminal that asks for the answer, too: the first answer wins, and the terminal says that there is one.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_answered_on_the_page_is_answered_at_the_terminal() {
    let site = WebSite::start(project(&[REPLY, &greeting()]));
    let phone = site.pair("phone").await;
    let mut terminal = site.project.terminal(&["plan", "-m", "Greet."], 100, 30);
    tokio::task::block_in_place(|| terminal.wait_for("enter send"));
    let card = phone.sees("/", "The agent replied in words instead of a plan").await;
    phone.press(&card, "reply", &[("text", "In English.")]).await.check(200, "Answered.");
    phone.sees("/", "Review: Add a greeting").await;
    tokio::task::block_in_place(|| {
        terminal.send("In German.\r");
        terminal.wait_for("answering the reply is not possible now");
        terminal.wait_for("left ");
    });
    assert_eq!(answers(&site).len(), 1);
    assert_eq!(site.project.turn_names(), ["01", "02"]);
}
