//! Asking for updates: offsets, limits, long polls, and two who ask at once.

use frankenstein::updates::Update;
use serde_json::json;

use super::{Bot, id, keyboard, texts};
use crate::support::telegram::{Order, Outcome, TelegramServer};

const ANN: i64 = 7001;

#[tokio::test]
async fn an_update_comes_again_until_a_higher_offset_confirms_it() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    for text in ["one", "two", "three"] {
        ann.types(text);
    }
    let first = bot.updates(0).await;
    assert_eq!(texts(&first), ["one", "two", "three"]);
    assert_eq!(bot.updates(0).await, first, "nothing was confirmed");
    let limited = bot.done("getUpdates", json!({ "limit": 2 })).await;
    assert_eq!(texts(limited.as_array().unwrap()), ["one", "two"]);
    assert_eq!(texts(&bot.updates(id(&first[1])).await), ["two", "three"]);
    assert_eq!(texts(&bot.updates(0).await), ["two", "three"], "the first one is gone for good");
    assert_eq!(
        texts(&bot.updates(id(&first[2]) + 1000).await),
        ["two", "three"],
        "an offset out of nowhere counts as none"
    );
    assert_eq!(texts(&bot.updates(-1).await), ["three"]);
    assert_eq!(server.pending_updates(), 1, "a negative offset forgets what is before");
    assert!(bot.updates(id(&first[2]) + 1).await.is_empty());
    ann.types("four");
    assert_eq!(id(&bot.updates(0).await[0]), id(&first[2]) + 1, "numbers go on");
}

#[tokio::test]
async fn a_long_poll_waits_for_something_to_happen() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let poll = bot.done("getUpdates", json!({ "timeout": 50 }));
    let act = async {
        server.called("getUpdates", 1).await;
        ann.types("hello");
    };
    let (updates, ()) = tokio::join!(poll, act);
    assert_eq!(texts(updates.as_array().unwrap()), ["hello"]);
}

#[tokio::test]
async fn of_two_who_poll_at_once_the_earlier_is_ended() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let (first, second) = (Bot::of(&server), Bot::of(&server));
    let earlier = first.refused("getUpdates", json!({ "timeout": 50 }));
    let later = async {
        server.called("getUpdates", 1).await;
        second.done("getUpdates", json!({ "timeout": 50 })).await
    };
    let act = async {
        server
            .wait_for("the earlier one to end", |state| {
                matches!(state.calls.first()?.outcome, Outcome::Refused(_)).then_some(())
            })
            .await;
        ann.types("hello");
    };
    let (refused, updates, ()) = tokio::join!(earlier, later, act);
    let words =
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
    assert_eq!(refused, (409, words.to_owned()));
    assert_eq!(texts(updates.as_array().unwrap()), ["hello"]);
}

#[tokio::test]
async fn only_the_kinds_that_are_wanted_come() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    bot.done("getUpdates", json!({ "allowed_updates": ["callback_query"] })).await;
    bot.done(
        "sendMessage",
        json!({ "chat_id": ANN, "text": "?", "reply_markup": keyboard(&[("Yes", "y")]) }),
    )
    .await;
    ann.types("not wanted");
    ann.taps("Yes").await;
    let updates = bot.updates(0).await;
    assert_eq!(updates.len(), 1);
    assert_eq!(updates[0]["callback_query"]["data"], "y");
    bot.done("getUpdates", json!({ "allowed_updates": [] })).await;
    ann.types("wanted again");
    assert_eq!(bot.updates(0).await.len(), 2);
}

#[tokio::test]
async fn updates_can_be_held_back_turned_round_and_repeated() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    server.hold_updates();
    ann.types("one");
    ann.types("two");
    assert!(bot.updates(0).await.is_empty());
    server.release_updates(Order::Reversed);
    let updates = bot.updates(0).await;
    assert_eq!(texts(&updates), ["two", "one"]);
    assert_eq!(id(&updates[1]), id(&updates[0]) + 1);
    let next = id(&updates[1]) + 1;
    server.repeat_next_update(3);
    ann.types("again");
    for round in 0..3 {
        assert_eq!(texts(&bot.updates(next + i64::from(round > 0)).await), ["again"], "{round}");
    }
    assert!(bot.updates(next + 1).await.is_empty());
}

#[tokio::test]
async fn every_kind_of_update_is_one_that_bots_can_read() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let forum = server.forum("Forum");
    let topic = server.topic(forum, "Topic");
    let there = ann.in_group(forum, Some(topic));
    bot.done(
        "sendMessage",
        json!({ "chat_id": ANN, "text": "?", "reply_markup": keyboard(&[("Yes", "y")]) }),
    )
    .await;
    let first = ann.types("/plan it");
    ann.replies_to(first, "no");
    ann.edits_message(first, "/plan that");
    ann.sends_photo("look");
    ann.sends_voice();
    ann.sends_sticker("👍");
    ann.sends_document("a.txt", b"abc", "");
    ann.forwards("Zoe", "she said");
    ann.taps("Yes").await;
    ann.taps_data_on(9999, "gone");
    ann.blocks_the_bot();
    ann.unblocks_the_bot();
    there.types("in a topic");
    let updates = bot.updates(0).await;
    assert_eq!(updates.len(), 13);
    for update in updates {
        let read: Result<Update, _> = serde_json::from_value(update.clone());
        assert!(read.is_ok(), "{read:?} {update}");
    }
    let me: frankenstein::types::User = serde_json::from_value(bot.done("getMe", json!({})).await).unwrap();
    assert_eq!(me.username.as_deref(), Some("rapport_test_bot"));
    for chat in [ANN, forum] {
        let chat = bot.done("getChat", json!({ "chat_id": chat })).await;
        serde_json::from_value::<frankenstein::types::ChatFullInfo>(chat).unwrap();
    }
}
