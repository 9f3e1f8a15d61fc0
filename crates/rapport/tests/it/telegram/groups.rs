//! Groups and topics: whoever asked owns the session.

use rapport_core::Aim;

use super::{ANNA, AUTH, Stage};
use crate::support::patience::wait_for;
use crate::support::telegram::{BOT_NAME, Privacy, State};

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
    let second = bert.sees("Q2 of 3").await;
    anna.replies_to(message, "/deny");
    anna.sees("Bert may no longer answer for you in this chat.").await;
    bert.taps_on(&second, "✖ Cancel");
    assert_eq!(bert.toast().await, "Only whoever asked for this task can do that.");
    bert.types("/cancel");
    bert.sees("Only whoever asked for this task can cancel it.").await;
    let before = stage.filed(group, "the file", |file| file["currentQuestionIndex"] == 1);
    assert_eq!(stage.file(group), Some(before));
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
    let card = here.card().await;
    here.replies_to(card.id, "Koa");
    here.sees("Q2 of 3").await;
    let path =
        |topic: i32| stage.project.path(&format!("home/.rapport/sessions/{forum}_{topic}-interactive.json"));
    let read = |topic| std::fs::read_to_string(path(topic)).unwrap_or_default();
    crate::support::patience::wait_for("the answer", || read(one).contains("Koa").then_some(()));
    assert!(read(two).contains("add a search") && !read(two).contains("Koa"));
    assert!(stage.file(ANNA).is_none());
}

/// People in a group talk to each other: only replies to the bot, mentions and commands are for it.
#[tokio::test]
async fn in_a_group_only_what_is_addressed_to_the_bot_counts() {
    let mut stage = Stage::quiet(AUTH).await;
    stage.serve_with(&[("TELEGRAM_USER_ID", "42,43")]);
    stage.server.privacy(Privacy::Off);
    let group = stage.server.group("Team");
    let anna = stage.anna().in_group(group, None);
    let bert = stage.server.person(43, "Bert").in_group(group, None);
    anna.types("/plan add JWT authentication");
    let card = anna.sees("Q1 of 3").await;
    let said = bert.types("me too");
    anna.replies_to(said, "please not now");
    anna.types("hm, Express perhaps");
    anna.sends_photo("lunch");
    anna.types("/etc/hosts");
    // What comes in order is handled in order: all of it was passed over when this is answered.
    anna.types(&format!("@{BOT_NAME} Koa"));
    anna.sees("Q2 of 3").await;
    let file = stage.filed(group, "the answer", |file| file["currentQuestionIndex"] == 1);
    assert_eq!(file["answers"][0], "Koa");
    assert_eq!(stage.sessions().len(), 1, "nothing else began");
    let all = anna.screen();
    assert!(!all.contains("I cannot accept") && !all.contains("buttons to answer"), "{all}");
    let mention = format!("what do you think, @{}?", BOT_NAME.to_uppercase());
    anna.replies_to(card.id, "too late");
    anna.sees("Already answered").await;
    bert.types(&mention);
    wait_for("a conversation", || (stage.sessions_for(&Aim::Chat) == 1).then_some(()));
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
