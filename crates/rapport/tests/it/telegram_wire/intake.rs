//! What comes in: in order within a chat, once each, and not lost whatever happens in between.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use jiff::Timestamp;
use rapport::channels::telegram::bot_api::{Update, UpdateContent};
use rapport::channels::telegram::file_error::FileError;
use rapport::channels::telegram::intake::{Handled, Handler, Intake, Parts};
use rapport::channels::telegram::ledger::{Confirming, Ledger, WINDOW};
use rapport::channels::telegram::notice::Notice;
use rapport::channels::telegram::{BotFiles, Now};
use serde_json::json;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

/// Notes what it handles. A text `slow` waits until it is let go on, `again` fails twice, `panic` breaks off.
pub(super) struct Notes {
    pub(super) handled: Mutex<Vec<(u32, String)>>,
    tries: Mutex<BTreeMap<u32, u32>>,
    pub(super) go_on: watch::Sender<bool>,
    begun: tokio::sync::Notify,
}

impl Notes {
    pub(super) fn new() -> Arc<Self> {
        let (go_on, _) = watch::channel(false);
        Arc::new(Self {
            handled: Mutex::default(),
            tries: Mutex::default(),
            go_on,
            begun: tokio::sync::Notify::new(),
        })
    }

    pub(super) fn ids(&self) -> Vec<u32> {
        self.handled.lock().unwrap().iter().map(|(id, _)| *id).collect()
    }

    /// Until a slow one is being handled.
    pub(super) async fn begun(&self) {
        self.begun.notified().await;
    }

    fn try_number(&self, id: u32) -> u32 {
        let mut tries = self.tries.lock().unwrap();
        let number = tries.entry(id).or_default();
        *number += 1;
        *number
    }
}

impl Handler for Notes {
    fn handle(&self, update: Update) -> BoxFuture<'_, Handled> {
        Box::pin(async move {
            let UpdateContent::Message(message) = update.content else { return Handled::Durable };
            let text = message.text.unwrap_or_default();
            if text == "slow" {
                self.begun.notify_one();
            }
            match text.as_str() {
                "slow" => drop(self.go_on.subscribe().wait_for(|go_on| *go_on).await.unwrap()),
                "again" if self.try_number(update.update_id) < 3 => return Handled::Again,
                "panic" => panic!("this is part of the test"),
                _ => {}
            }
            self.handled.lock().unwrap().push((update.update_id, text));
            Handled::Durable
        })
    }
}

pub(super) fn raw(id: u32, chat: i64, text: &str) -> Box<RawValue> {
    let user = json!({ "id": 42, "is_bot": false, "first_name": "Ada" });
    let message = json!({ "message_id": 1, "date": 1, "chat": { "id": chat, "type": "private" }, "from": user, "text": text });
    serde_json::value::to_raw_value(&json!({ "update_id": id, "message": message })).unwrap()
}

pub(super) fn now() -> Now {
    Arc::new(|| "2026-01-24T12:00:00Z".parse::<Timestamp>().unwrap())
}

pub(super) struct World {
    pub(super) home: TempDir,
    pub(super) notes: Arc<Notes>,
    pub(super) notices: mpsc::UnboundedReceiver<Notice>,
    pub(super) tell: mpsc::UnboundedSender<Notice>,
}

impl World {
    pub(super) fn new() -> Self {
        let (tell, notices) = mpsc::unbounded_channel();
        Self { home: TempDir::new().unwrap(), notes: Notes::new(), notices, tell }
    }

    pub(super) fn files(&self) -> BotFiles {
        BotFiles::new(self.home.path(), 7001)
    }

    /// A process that begins, with what the last one left.
    pub(super) fn begin(&self) -> Intake {
        let files = self.files();
        let ledger = Ledger::open(&files.offset()).unwrap();
        let handler = self.notes.clone();
        Intake::start(Parts { ledger, files, handler, notices: self.tell.clone(), now: now() })
    }

    /// The ledger as a next process would find it.
    pub(super) fn on_disk(&self) -> Ledger {
        Ledger::open(&self.files().offset()).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_chat_is_handled_in_order_and_others_do_not_wait() {
    let world = World::new();
    let intake = world.begin();
    let slow: Vec<_> = [(1, "slow"), (2, "b"), (3, "again"), (4, "d")]
        .map(|(id, text)| intake.take(raw(id, 1, text)))
        .into();
    let quick: Vec<_> = (5..9).map(|id| intake.take(raw(id, i64::from(id), "x"))).collect();
    join_all(quick).await;
    let first: HashSet<_> = world.notes.ids().into_iter().collect();
    assert_eq!(first, HashSet::from([5, 6, 7, 8]));
    world.notes.go_on.send_replace(true);
    join_all(slow).await;
    assert_eq!(world.notes.ids()[4..], [1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn the_same_update_three_times_or_out_of_order_is_handled_once() {
    let world = World::new();
    let intake = world.begin();
    let taken: Vec<_> =
        [3, 1, 3, 2, 1, 3, 2, 2].into_iter().map(|id| intake.take(raw(id, 1, "slow"))).collect();
    world.notes.go_on.send_replace(true);
    assert!(join_all(taken).await.into_iter().all(|done| done.is_ok()));
    assert_eq!(world.notes.ids(), [3, 1, 2]);
    // A later process knows them as well.
    intake.close().await;
    let intake = world.begin();
    join_all([1, 2, 3, 4].map(|id| intake.take(raw(id, 1, "x")))).await;
    assert_eq!(world.notes.ids(), [3, 1, 2, 4]);
    assert_eq!(intake.checkpoint().await.unwrap().offset, Some(5));
}

/// Rule 2: a kill at any instant loses nothing. What was not done is in the file before it is confirmed to Telegram.
#[tokio::test(start_paused = true)]
async fn what_was_not_done_when_the_process_was_killed_is_handled_by_the_next() {
    let world = World::new();
    let intake = world.begin();
    let done = intake.take(raw(10, 1, "quick"));
    done.await.unwrap();
    let _never = [intake.take(raw(11, 2, "slow")), intake.take(raw(12, 2, "after"))];
    let point = intake.checkpoint().await.unwrap();
    assert_eq!((point.offset, point.unfinished), (Some(13), 2));
    assert!(world.on_disk().is_unfinished(11) && world.on_disk().is_unfinished(12));
    // The process is gone; another one takes over with what is on disk.
    let next = World { notes: Notes::new(), ..world };
    next.notes.go_on.send_replace(true);
    let intake = next.begin();
    join_all([intake.take(raw(11, 2, "slow")), intake.take(raw(12, 2, "after"))]).await;
    assert_eq!(next.notes.ids(), [11, 12]);
    assert_eq!(intake.checkpoint().await.unwrap().unfinished, 0);
    assert_eq!(next.on_disk().unfinished_count(), 0);
    assert_eq!(next.on_disk().offset(now()()), Some(13));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_or_handled_is_kept_and_holds_up_nobody() {
    let mut world = World::new();
    let intake = world.begin();
    let strange = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let taken = [
        intake.take(strange(r#"{"update_id": 1, "hologram": {"x": 1}}"#)),
        intake.take(strange("{\"update_id\": 2,\n \"message\": {\"chat\": 5}}")),
        intake.take(strange(r#"{"no": "id"}"#)),
        intake.take(strange("17")),
        intake.take(raw(3, 1, "panic")),
        intake.take(raw(4, 1, "after")),
    ];
    assert!(join_all(taken).await.into_iter().all(|done| done.is_ok()));
    assert_eq!(world.notes.ids(), [4]);
    assert_eq!(intake.checkpoint().await.unwrap().offset, Some(5));
    let kept = std::fs::read_to_string(world.files().unread()).unwrap();
    assert_eq!(kept.lines().count(), 5);
    assert!(kept.contains("hologram") && kept.contains("\"panic\""));
    let told = std::iter::from_fn(|| world.notices.try_recv().ok()).collect::<Vec<_>>();
    assert_eq!(told.len(), 5);
    assert!(told.iter().all(|notice| matches!(notice, Notice::Unread { .. })));
}

#[tokio::test(start_paused = true)]
async fn the_file_of_what_cannot_be_read_does_not_grow_without_end() {
    let world = World::new();
    let intake = world.begin();
    let large = format!(r#"{{"no": "{}"}}"#, "x".repeat(400_000));
    for _ in 0..7 {
        intake.take(RawValue::from_string(large.clone()).unwrap()).await.unwrap();
    }
    let size = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
    let unread = world.files().unread();
    assert!(size(&unread) <= 1 << 20);
    assert!(size(&unread.with_added_extension("old")) <= 1 << 20);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_confirmed_while_it_cannot_be_written() {
    let mut world = World::new();
    let intake = world.begin();
    // A folder where the file should be.
    std::fs::create_dir_all(world.files().offset().join("in the way")).unwrap();
    let _done = intake.take(raw(1, 1, "x"));
    let waiting = tokio::time::timeout(Duration::from_secs(100), intake.checkpoint()).await;
    assert!(waiting.is_err());
    assert!(matches!(world.notices.try_recv(), Ok(Notice::Unwritten { .. })));
    assert!(world.notices.try_recv().is_err(), "told once");
    std::fs::remove_dir_all(world.files().offset()).unwrap();
    assert_eq!(intake.checkpoint().await.unwrap().offset, Some(2));
}

#[test]
fn an_old_offset_is_not_used_because_telegram_chooses_ids_anew_after_a_week() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("7001.offset");
    let mut ledger = Ledger::open(&path).unwrap();
    let monday: Timestamp = "2026-01-05T00:00:00Z".parse().unwrap();
    let after = |hours| monday + jiff::SignedDuration::from_hours(hours);
    assert_eq!(ledger.offset(monday), None);
    ledger.take(900, raw(900, 1, "x"), monday);
    ledger.finish(900);
    assert_eq!(ledger.offset(after(24)), Some(901));
    assert_eq!(ledger.offset(after(7 * 24)), None);
    ledger.take(5, raw(5, 1, "x"), after(8 * 24));
    assert_eq!(ledger.offset(after(8 * 24)), Some(6));
}

#[test]
fn the_ledger_remembers_a_window_and_refuses_what_it_does_not_understand() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("telegram/7001.offset");
    let mut ledger = Ledger::open(&path).unwrap();
    let last = u32::try_from(WINDOW).unwrap() + 10;
    for id in 1..=last {
        ledger.take(id, raw(id, 1, "x"), Timestamp::UNIX_EPOCH);
        ledger.finish(id);
    }
    ledger.writing(Confirming::No).unwrap().write().unwrap();
    assert!(ledger.writing(Confirming::Yes).is_none());
    let ledger = Ledger::open(&path).unwrap();
    assert!(ledger.is_done(last) && ledger.is_done(11) && !ledger.is_done(10));
    std::fs::write(&path, "{\"version\": 3, \"more\": {}}").unwrap();
    assert!(matches!(Ledger::open(&path), Err(FileError::Newer { version: 3, .. })));
    std::fs::write(&path, "{\"version\": 1").unwrap();
    assert!(matches!(Ledger::open(&path), Err(FileError::Damaged { .. })));
}

/// What is between two pages is a line each, and only what is confirmed before it is done waits for the disk. However
/// the process ends, the next one knows the same.
#[test]
fn what_is_between_two_pages_is_found_again() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("telegram/7001.offset");
    let lines = path.with_added_extension("jsonl");
    let at = now()();
    let mut ledger = Ledger::open(&path).unwrap();
    ledger.take(1, raw(1, 1, "x"), at);
    ledger.writing(Confirming::Yes).unwrap().write().unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"version\":2"));
    assert_eq!(std::fs::read_to_string(&lines).unwrap(), "", "the first is a page");
    ledger.finish(1);
    let broken = "{\"update_id\": 2,\n \"message\": {}}".to_owned();
    ledger.take(2, RawValue::from_string(broken).unwrap(), at);
    ledger.writing(Confirming::No).unwrap().write().unwrap();
    assert_eq!(std::fs::read_to_string(&lines).unwrap().lines().count(), 2);
    assert!(ledger.writing(Confirming::Yes).is_some(), "it is confirmed, so it has to be on the disk");
    assert!(ledger.writing(Confirming::Yes).is_none());
    let known = |ledger: &Ledger| (ledger.is_done(1), ledger.is_unfinished(2), ledger.offset(at));
    assert_eq!(known(&Ledger::open(&path).unwrap()), (true, true, Some(3)));
    // Killed in the middle of a line: it was not confirmed.
    let whole = std::fs::read(&lines).unwrap();
    std::fs::write(&lines, [&whole[..], b"{\"done\":2"].concat()).unwrap();
    assert_eq!(known(&Ledger::open(&path).unwrap()), (true, true, Some(3)));
    // Killed between the page and the end of its lines: they are read once more, and change nothing.
    for id in 3..2000 {
        ledger.take(id, raw(id, 1, "x"), at);
        ledger.finish(id);
        if let Some(writing) = ledger.writing(Confirming::No) {
            writing.write().unwrap();
        }
    }
    assert!(std::fs::read_to_string(&lines).unwrap().lines().count() <= WINDOW / 2 + 2, "it does not grow");
    let before = std::fs::read(&lines).unwrap();
    ledger.unwritten();
    ledger.writing(Confirming::No).unwrap().write().unwrap();
    assert_eq!(std::fs::read(&lines).unwrap(), b"");
    std::fs::write(&lines, before).unwrap();
    let again = Ledger::open(&path).unwrap();
    assert_eq!((again.is_done(1999), again.unfinished_count(), again.offset(at)), (true, 1, Some(2000)));
    assert!(again.is_unfinished(2), "it is not done");
    // A line that is damaged is said to be, and nothing is guessed.
    std::fs::write(&lines, "{\"took\": {}}\n").unwrap();
    assert!(matches!(Ledger::open(&path), Err(FileError::Damaged { .. })));
}
