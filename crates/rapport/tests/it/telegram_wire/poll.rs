//! Fetching: what is confirmed is on disk, trouble is waited out and told once, a wrong token ends it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rapport::channels::telegram::api_error::ApiError;
use rapport::channels::telegram::notice::Notice;
use rapport::channels::telegram::poll::{self, Source, remove_webhook};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::fake::Fake;
use super::intake::{World, now, raw};

type Batch = Result<Vec<Box<RawValue>>, ApiError>;

/// Keeps updates until they are confirmed, as Telegram does, and fails where it was told to.
#[derive(Default)]
struct Telegram {
    waiting: Mutex<Vec<(u32, Box<RawValue>)>>,
    failures: Mutex<VecDeque<ApiError>>,
    offsets: Mutex<Vec<Option<i64>>>,
    seen: tokio::sync::Notify,
    /// It cannot be reached before then.
    down_until: Option<Instant>,
}

impl Telegram {
    fn with(updates: Vec<(u32, Box<RawValue>)>) -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::new(updates), ..Self::default() })
    }

    fn next(&self, offset: Option<i64>) -> Option<Batch> {
        self.offsets.lock().unwrap().push(offset);
        if self.down_until.is_some_and(|until| Instant::now() < until) {
            return Some(Err(ApiError::Unreachable("no route".into())));
        }
        if let Some(error) = self.failures.lock().unwrap().pop_front() {
            return Some(Err(error));
        }
        let mut waiting = self.waiting.lock().unwrap();
        waiting.retain(|(id, _)| offset.is_none_or(|offset| i64::from(*id) >= offset));
        let batch: Vec<_> = waiting.iter().take(100).map(|(_, raw)| raw.clone()).collect();
        (!batch.is_empty()).then_some(Ok(batch))
    }
}

impl Source for Telegram {
    fn updates(&self, offset: Option<i64>) -> BoxFuture<'_, Batch> {
        Box::pin(async move {
            let batch = self.next(offset);
            if batch.is_none() {
                // Nothing there: the call hangs.
                self.seen.notify_one();
                tokio::time::sleep(Duration::from_secs(50)).await;
            }
            batch.unwrap_or(Ok(Vec::new()))
        })
    }
}

/// Fetches until there is nothing more, then stops.
async fn fetch_all(world: &World, telegram: &Arc<Telegram>) -> Result<(), ApiError> {
    let (stop, stopped) = watch::channel(false);
    let running =
        tokio::spawn(poll::run(telegram.clone(), world.begin(), world.tell.clone(), now(), stopped));
    tokio::select! {
        () = telegram.seen.notified() => stop.send_replace(true),
        () = tokio::time::sleep(Duration::from_secs(3600)) => stop.send_replace(true),
    };
    running.await.unwrap()
}

fn told(notices: &mut mpsc::UnboundedReceiver<Notice>) -> Vec<String> {
    std::iter::from_fn(|| notices.try_recv().ok()).map(|notice| notice.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn all_updates_are_handled_once_and_confirmed_only_when_they_are_on_disk() {
    let world = World::new();
    let telegram = Telegram::with((1..=250).map(|id| (id, raw(id, i64::from(id % 7), "x"))).collect());
    fetch_all(&world, &telegram).await.unwrap();
    let mut ids = world.notes.ids();
    ids.sort_unstable();
    assert_eq!(ids, (1..=250).collect::<Vec<_>>());
    assert_eq!(*telegram.offsets.lock().unwrap(), [None, Some(101), Some(201), Some(251)]);
    assert_eq!(world.on_disk().offset(super::intake::now()()), Some(251));
    // Started again, it goes on where it was.
    let telegram = Telegram::with(vec![(250, raw(250, 1, "old")), (251, raw(251, 1, "new"))]);
    fetch_all(&world, &telegram).await.unwrap();
    assert_eq!(telegram.offsets.lock().unwrap()[0], Some(251));
    assert_eq!(world.notes.ids().len(), 251);
}

#[tokio::test(start_paused = true)]
async fn a_slow_chat_holds_up_nobody_and_is_confirmed_because_it_is_kept() {
    let world = World::new();
    let mut updates = vec![(1, raw(1, 9, "slow"))];
    updates.extend((2..=150).map(|id| (id, raw(id, 1, "x"))));
    let telegram = Telegram::with(updates);
    fetch_all(&world, &telegram).await.unwrap();
    assert_eq!(world.notes.ids(), (2..=150).collect::<Vec<_>>());
    assert_eq!(*telegram.offsets.lock().unwrap(), [None, Some(101), Some(151)]);
    assert!(world.on_disk().is_unfinished(1));
}

#[tokio::test(start_paused = true)]
async fn trouble_is_waited_out_and_told_once() {
    let mut world = World::new();
    let telegram = Telegram::with(vec![(1, raw(1, 1, "x"))]);
    let down = || ApiError::Unreachable("no route".into());
    let other = || ApiError::Conflict("terminated by other getUpdates request".into());
    telegram.failures.lock().unwrap().extend([down(), down(), down(), other(), other()]);
    telegram.failures.lock().unwrap().push_back(ApiError::TooMany { retry_after: Duration::from_secs(9) });
    fetch_all(&world, &telegram).await.unwrap();
    assert_eq!(world.notes.ids(), [1]);
    assert_eq!(
        told(&mut world.notices),
        [
            "Telegram cannot be reached since 2026-01-24 12:00 UTC: no route",
            "somebody else receives the updates of this bot: terminated by other getUpdates request",
            "Telegram is back; it could not be reached since 2026-01-24 12:00 UTC",
            "updates of this bot come here again",
        ]
    );
}

/// CHAT-48: what people did meanwhile waits at Telegram.
#[tokio::test(start_paused = true)]
async fn telegram_down_for_ten_minutes_loses_no_update_keeps_the_order_and_is_told_once() {
    let mut world = World::new();
    let updates = (1..=30).map(|id| (id, raw(id, 1, "x"))).collect();
    let began = Instant::now();
    let telegram = Arc::new(Telegram {
        waiting: Mutex::new(updates),
        down_until: Some(began + Duration::from_secs(600)),
        ..Telegram::default()
    });
    fetch_all(&world, &telegram).await.unwrap();
    assert_eq!(world.notes.ids(), (1..=30).collect::<Vec<_>>());
    assert!(began.elapsed() < Duration::from_secs(700), "{:?}", began.elapsed());
    // Tried again and again, but not without a pause.
    let tries = telegram.offsets.lock().unwrap().len();
    assert!((10..60).contains(&tries), "{tries} tries");
    assert_eq!(
        told(&mut world.notices),
        [
            "Telegram cannot be reached since 2026-01-24 12:00 UTC: no route",
            "Telegram is back; it could not be reached since 2026-01-24 12:00 UTC",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_accepted_ends_it() {
    let world = World::new();
    let telegram = Telegram::with(vec![]);
    let refusal = || ApiError::Unauthorized("Unauthorized".into());
    telegram.failures.lock().unwrap().extend((0..5).map(|_| refusal()));
    let error = fetch_all(&world, &telegram).await.unwrap_err();
    assert_eq!(error.to_string(), "Telegram does not accept the bot's token: Unauthorized");
    assert_eq!(telegram.offsets.lock().unwrap().len(), 5);
}

/// Telegram has hiccups: a token that is rejected now and then is a good one.
#[tokio::test(start_paused = true)]
async fn one_refusal_of_the_token_ends_nothing() {
    let world = World::new();
    let telegram = Telegram::with(vec![]);
    let refusal = || ApiError::Unauthorized("Not Found".into());
    for _ in 0..3 {
        let hiccup = (0..4).map(|_| refusal()).chain([ApiError::Failing("Bad Gateway".into())]);
        telegram.failures.lock().unwrap().extend(hiccup);
    }
    fetch_all(&world, &telegram).await.unwrap();
}

/// A server that answers at once with nothing is not asked without pause.
struct Hasty(Mutex<u32>);

impl Source for Hasty {
    fn updates(&self, _: Option<i64>) -> BoxFuture<'_, Batch> {
        *self.0.lock().unwrap() += 1;
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_that_comes_at_once_is_followed_by_a_pause() {
    let world = World::new();
    let (stop, stopped) = watch::channel(false);
    let hasty = Arc::new(Hasty(Mutex::default()));
    let running = tokio::spawn(poll::run(hasty.clone(), world.begin(), world.tell.clone(), now(), stopped));
    tokio::time::sleep(Duration::from_secs(60)).await;
    stop.send_replace(true);
    running.await.unwrap().unwrap();
    let calls = *hasty.0.lock().unwrap();
    assert!((50..=61).contains(&calls), "{calls} calls in a minute");
}

/// A webhook that cannot be asked about is given up on after a few tries; whoever fetches then says what is wrong.
#[tokio::test]
async fn a_webhook_that_cannot_be_asked_about_is_given_up_on() {
    let world = World::new();
    let (fake, api) = Fake::start().await;
    for _ in 0..5 {
        fake.will_answer(500, "{\"ok\":false,\"error_code\":500,\"description\":\"Internal\"}");
    }
    let refused = remove_webhook(&api, &world.tell, now()).await;
    assert_eq!(refused, Err(ApiError::Failing("Internal".into())));
    assert_eq!(fake.calls().len(), 5);
}

#[tokio::test]
async fn a_webhook_that_is_set_is_removed_and_that_is_told() {
    let mut world = World::new();
    let (fake, api) = Fake::start().await;
    let info =
        |url: &str| json!({ "ok": true, "result": { "url": url, "pending_update_count": 2 } }).to_string();
    fake.will_answer(200, &info(""));
    remove_webhook(&api, &world.tell, now()).await.unwrap();
    assert_eq!(fake.calls().len(), 1);
    fake.will_answer(200, &info("https://old.example/hook"));
    remove_webhook(&api, &world.tell, now()).await.unwrap();
    let calls = fake.calls();
    assert_eq!(calls[1].0, "deleteWebhook");
    // What waits there is still to be had.
    assert_eq!(calls[1].1, br#"{"drop_pending_updates":false}"#);
    assert_eq!(told(&mut world.notices).len(), 1);
}

#[tokio::test]
async fn over_http_an_update_is_confirmed_by_the_next_call() {
    let world = World::new();
    let (fake, api) = Fake::start().await;
    let batch =
        format!(r#"{{"ok":true,"result":[{},{{"update_id":8,"new":{{}}}}]}}"#, raw(7, 1, "hello").get());
    fake.will_answer(200, &batch);
    fake.will_refuse(429, "Too Many Requests: retry after 3600", json!({ "retry_after": 3600 }));
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(poll::run(Arc::new(api), world.begin(), world.tell.clone(), now(), stopped));
    fake.called(2).await;
    let offsets: Vec<_> = fake
        .calls()
        .iter()
        .map(|(_, body)| serde_json::from_slice::<serde_json::Value>(body).unwrap()["offset"].clone())
        .collect();
    assert_eq!(offsets, [json!(null), json!(9)]);
    assert_eq!(world.notes.ids(), [7]);
    assert_eq!(world.on_disk().offset(super::intake::now()()), Some(9));
    drop(stop);
    running.await.unwrap().unwrap();
}
