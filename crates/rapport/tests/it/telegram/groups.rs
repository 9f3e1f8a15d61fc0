//! Groups and topics: whoever asked owns the session.

use super::{ANNA, AUTH, Stage};
use crate::support::telegram::{Privacy, State};

/// Only the person who asked may answer or cancel, until they let somebody else.
#[tokio::test]
async fn in_a_group_only_the_owner_answers() {
    let mut stage = Stage::quiet(AUTH).await;
    stage.serve_with(&[("TELEGRAM_USER_ID", "42,43")]);
    let group = stage.server.group("Team");
    let anna = stage.anna().in_group(group, None);
    let bert = stage.server.person(43, "Bert").in_group(group, None);
    anna.types("/plan add JWT authentication");
    let card = anna.sees("Q1 of 3").await;
    bert.taps_on(&card, "Express");
    assert_eq!(bert.toast().await, "Only whoever asked for this task can do that.");
    bert.taps_on(&card, "✖ Cancel");
    assert_eq!(bert.toast().await, "Only whoever asked for this task can do that.");
    bert.types("/cancel");
    bert.sees("Only whoever asked for this task can cancel it.").await;
    bert.types("/plan something else");
    bert.sees("Somebody else is planning here.").await;
    let before = stage.filed(group, "the file", |file| file["currentQuestionIndex"] == 0);
    assert_eq!(stage.file(group), Some(before));
    let message = bert.types("/help");
    anna.replies_to(message, "/allow");
    anna.sees("Bert may now answer for you in this chat.").await;
    bert.taps_on(&card, "Express");
    bert.sees("Q2 of 3").await;
}

/// Two topics of one group are two rooms.
#[tokio::test]
async fn topics_are_apart() {
    let stage = Stage::playing(AUTH).await;
    stage.server.privacy(Privacy::Off);
    let forum = stage.server.forum("Team");
    let (one, two) = (stage.server.topic(forum, "Auth"), stage.server.topic(forum, "Search"));
    let anna = stage.anna();
    let (here, there) = (anna.in_group(forum, Some(one)), anna.in_group(forum, Some(two)));
    here.types("/plan add JWT authentication");
    here.sees("Q1 of 3").await;
    there.types("/plan add a search");
    there.sees("Q1 of 3").await;
    here.types("Koa");
    here.sees("Q2 of 3").await;
    let path =
        |topic: i32| stage.project.path(&format!("home/.rapport/sessions/{forum}_{topic}-interactive.json"));
    let read = |topic| std::fs::read_to_string(path(topic)).unwrap_or_default();
    crate::support::patience::wait_for("the answer", || read(one).contains("Koa").then_some(()));
    assert!(read(two).contains("add a search") && !read(two).contains("Koa"));
    assert!(stage.file(ANNA).is_none());
}

/// What `/status` lists alone with the bot may be asked in a group; its buttons work after a restart as well.
#[tokio::test]
async fn what_status_lists_can_be_jumped_to_after_a_restart() {
    let mut stage = Stage::playing(AUTH).await;
    let group = stage.server.group("Team");
    let anna = stage.anna();
    let here = anna.in_group(group, None);
    here.types("/plan add JWT authentication");
    here.sees("Q1 of 3").await;
    anna.types("/status");
    let list = anna.sees("Waiting for you").await;
    assert_eq!(stage.stop(), 0);
    stage.serve();
    anna.taps_on(&list, "1. Which framework?");
    anna.sees("I have shown it again in its own chat.").await;
    let asked = |state: &State| {
        let cards = state.messages_in(group, None).filter(|card| card.text().contains("Q1 of 3"));
        (cards.count() == 2).then_some(())
    };
    stage.server.wait_for("the card once more", asked).await;
}
