//! A group that becomes a supergroup is another chat: the plan, what is asked and who may answer go along.

use rapport::channels::telegram::BotFiles;

use super::{AUTH, Stage};
use crate::support::patience::wait_for;
use crate::support::telegram::{BOT_ID, ChatMessage, Person, TelegramServer};

/// A group in which Anna plans and Bert may answer for her, with the first question open.
async fn planning(stage: &mut Stage) -> (i64, ChatMessage, Person, Person) {
    stage.serve_with(&[("TELEGRAM_USER_ID", "42,43")]);
    let group = stage.server.group("Team");
    let anna = stage.anna().in_group(group, None);
    let bert = stage.server.person(43, "Bert").in_group(group, None);
    anna.types("/plan add JWT authentication");
    let card = anna.sees("Q1 of 3").await;
    let message = bert.types("/help");
    anna.replies_to(message, "/allow");
    anna.sees("Bert may now answer for you in this chat.").await;
    stage.filed(group, "the file", |file| file["chatId"] == group);
    (group, card, anna, bert)
}

fn cards(server: &TelegramServer, chat: i64, text: &str) -> usize {
    server
        .messages(chat)
        .iter()
        .filter(|message| message.is_by_bot() && message.text().contains(text))
        .count()
}

/// Waits until it is noted that a message shows a question: from then on not even a kill has it sent again.
fn noted(stage: &Stage, message: i32) {
    let path = BotFiles::new(&stage.project.path("home/.rapport"), BOT_ID.unsigned_abs()).cards();
    let ending = format!("\"message\":{message}}}}}");
    wait_for("the note of the card", || {
        let notes = std::fs::read_to_string(&path).ok()?;
        let is_it = |line: &str| line.starts_with("{\"shown\"") && line.ends_with(&ending);
        notes.lines().any(is_it).then_some(())
    });
}

/// Nothing says so but the refusal of the next message: that one is sent to the new chat, once, and the plan goes on
/// there.
#[tokio::test]
async fn a_plan_goes_on_in_the_supergroup() {
    let mut stage = Stage::quiet(AUTH).await;
    let (group, old, anna, bert) = planning(&mut stage).await;
    let new = stage.server.upgrade(group);
    let (anna_there, bert_there) = (anna.in_group(new, None), bert.in_group(new, None));
    anna.taps_on(&old, "Express");
    anna_there.sees("Q2 of 3").await;
    bert_there.taps("No").await;
    let third = anna_there.sees("Q3 of 3").await;
    let file = stage.filed(new, "both answers", |file| file["answers"][1] == "no");
    assert_eq!((&file["chatId"], &file["answers"][0]), (&new.into(), &"express".into()));
    stage.unfiled(group);
    assert_eq!(cards(&stage.server, new, "Q2 of 3"), 1);

    noted(&stage, third.id);
    stage.kill();
    stage.serve_with(&[("TELEGRAM_USER_ID", "42,43")]);
    bert_there.taps("None").await;
    anna_there.taps("Cookies").await;
    anna_there.sees("Plan Ready").await;
    stage.filed(new, "the plan", |file| file["state"] == "CONFIRMING");
    assert_eq!(cards(&stage.server, new, "Q3 of 3"), 1, "not shown again");
    anna_there.types("/cancel");
    anna_there.sees("❌ Planning cancelled.").await;
    stage.unfiled(new);
    assert_eq!(stage.server.violations(), []);
}

/// Telegram says so: what is open is shown in the new chat at once, and the old card knows what became of it.
#[tokio::test]
async fn what_is_open_is_shown_in_the_supergroup() {
    let mut stage = Stage::quiet(AUTH).await;
    let (group, old, anna, _) = planning(&mut stage).await;
    let new = stage.server.upgrade(group);
    anna.has_moved(new);
    let there = anna.in_group(new, None);
    there.taps("Fastify").await;
    there.sees("Q2 of 3").await;
    stage.filed(new, "the answer", |file| file["answers"][0] == "fastify");
    stage.unfiled(group);
    anna.taps_on(&old, "Express");
    assert_eq!(anna.toast().await, "Already answered: Fastify");
    assert_eq!(cards(&stage.server, new, "Q1 of 3"), 1);
    assert_eq!(stage.server.violations(), []);
}
