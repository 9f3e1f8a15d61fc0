//! Many chats at once: nothing lost, nothing doubled, nothing sent too fast, and no more memory than a few messages
//! need.

use crate::support::crowd::{Crowd, Fingers, refused};
use crate::support::rounds_api::{QUESTIONS, RoundsApi};
use crate::support::serving::Serving;
use crate::support::telegram::{Rates, TelegramServer};

const PEOPLE: usize = 100;
/// Time runs faster for the limits, here and there: what keeps to them keeps to them exactly.
const FASTER: u32 = 20;
/// Megabytes. A debug build is larger than what people have.
const MOST_RESIDENT: f64 = 128.0;

// CHAT-5, CHAT-16, CHAT-19, CHAT-24: whoever answers is heard once, in their own chat, however many do at once.
#[tokio::test]
async fn chat_19_a_hundred_chats_answer_at_once_and_every_answer_counts_once() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Faster(FASTER));
    let planner = RoundsApi::start(1).await;
    let faster = FASTER.to_string();
    let more = [("RAPPORT_TELEGRAM_FASTER", faster.as_str())];
    let mut crowd = Crowd::new(&server, PEOPLE);
    let mut serving = Serving::start(&server, &planner.url(), Crowd::ids(PEOPLE), &more);
    let waited = crowd.plan(Fingers::Nervous).await;
    let peak = serving.peak();
    serving.stop();
    assert_eq!(crowd.complaints(&serving), [""; 0]);
    assert_eq!(refused(&server), 0, "nothing was sent too fast");
    assert_eq!(waited.next.len(), PEOPLE * QUESTIONS);
    assert_eq!(planner.asked(), PEOPLE * 2, "CHAT-5: once for each round");
    assert!(peak < MOST_RESIDENT, "{peak} MB");
}
