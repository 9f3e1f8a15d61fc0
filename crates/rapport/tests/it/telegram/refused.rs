//! Questions that Telegram does not take: nobody is left without knowing, and they are shown as soon as they can be.

use super::{ANNA, AUTH, Stage};
use crate::support::patience::wait_for;
use crate::support::telegram::{Privacy, Standing};

/// Waits until the host was told that a question cannot be shown, and gives what it was told.
fn told(stage: &Stage) -> String {
    wait_for("the host to be told", || {
        let printed = stage.printed();
        printed.lines().find(|line| line.contains("cannot be shown in its chat")).map(str::to_owned)
    })
}

/// In a topic that was closed nothing can be said any more; the question comes beside it, and works there.
#[tokio::test]
async fn a_closed_topic_does_not_hide_a_question() {
    let stage = Stage::playing(AUTH).await;
    stage.server.privacy(Privacy::Off);
    let forum = stage.server.forum("Team");
    let topic = stage.server.topic(forum, "Auth");
    let (inside, beside) = (stage.anna().in_group(forum, Some(topic)), stage.anna().in_group(forum, None));
    inside.types("/plan add JWT authentication");
    let first = inside.sees("Q1 of 3").await;
    stage.server.close_topic(forum, topic);
    inside.taps_on(&first, "Express");
    let second = beside.sees("Q2 of 3").await;
    beside.taps_on(&second, "No");
    beside.sees("Q3 of 3").await;
}

/// Somebody who blocked the bot and comes back sees what waits, whatever they come with. Their words are no answer to
/// what they were never shown.
#[tokio::test]
async fn who_comes_back_sees_what_waits() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    stage.server.stand(ANNA, Standing::Blocked);
    anna.types("/plan add JWT authentication");
    assert!(told(&stage).contains("blocked by the user"), "{}", stage.printed());
    stage.server.stand(ANNA, Standing::Member);
    anna.types("I am back");
    anna.sees("Q1 of 3").await;
    anna.types("Koa");
    anna.sees("Q2 of 3").await;
    stage.filed(ANNA, "the answer", |file| file["answers"][0] == "Koa");
    assert_eq!(stage.stop(), 0);
    assert_eq!(stage.printed().matches("cannot be shown in its chat").count(), 1, "{}", stage.printed());
}

/// A person who unblocks the bot sees what waits without writing anything.
#[tokio::test]
async fn who_unblocks_the_bot_sees_what_waits() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    let first = anna.sees("Q1 of 3").await;
    anna.blocks_the_bot();
    anna.taps_on(&first, "Express");
    told(&stage);
    anna.unblocks_the_bot();
    anna.sees("Q2 of 3").await;
}

/// Where the bot was thrown out of a group, whose question it is hears of it in the chat with the bot.
#[tokio::test]
async fn who_asked_in_a_group_is_told_elsewhere() {
    let stage = Stage::playing(AUTH).await;
    let alone = stage.anna();
    let group = stage.server.group("Team");
    let anna = alone.in_group(group, None);
    anna.types("/plan add JWT authentication");
    let first = anna.sees("Q1 of 3").await;
    stage.server.stand(group, Standing::Kicked);
    anna.taps_on(&first, "Express");
    let words = alone.sees("waits, and I cannot show it in its chat").await;
    assert!(
        words.text().contains("kicked") && words.text().contains("rapport answer 20"),
        "{}",
        words.text()
    );
    stage.server.stand(group, Standing::Member);
    anna.types("/help");
    anna.sees("Q2 of 3").await;
}

/// What happened while nobody could be told is said to the host, once of each session.
#[tokio::test]
async fn what_cannot_be_told_is_said_to_the_host() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    super::cases::answer_all(&anna).await;
    stage.server.stand(ANNA, Standing::Blocked);
    anna.taps("✅ Confirm & Start").await;
    wait_for("the work to be done", || {
        stage.sessions().iter().all(|(_, session, _)| session.is_over()).then_some(())
    });
    wait_for("the host to be told", || {
        stage.printed().contains("could not be told in its chat").then_some(())
    });
    assert_eq!(stage.stop(), 0);
    assert_eq!(stage.printed().matches("could not be told in its chat").count(), 1, "{}", stage.printed());
}
