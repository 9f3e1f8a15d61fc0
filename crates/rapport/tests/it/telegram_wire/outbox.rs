//! What goes out, on a clock that stands still until everybody waits: order, rates, pauses, and nothing lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use rapport::channels::telegram::api::Document;
use rapport::channels::telegram::api_error::ApiError;
use rapport::channels::telegram::bot_api::{ChatAction, InlineKeyboardButton, InlineKeyboardMarkup};
use rapport::channels::telegram::outbox::{Outbox, Report};
use rapport::channels::telegram::outgoing::{Deliver, Edit, Outgoing, OutgoingMessage, Sent};
use rapport::channels::telegram::rates::Limits;
use tokio::time::Instant;

type Answer = Result<Sent, ApiError>;

/// Notes what is sent when, and answers as it was told to.
struct Telegram {
    began: Instant,
    sent: Mutex<Vec<(Duration, i64, String)>>,
    answers: Mutex<VecDeque<(i64, Answer)>>,
    down_until: Mutex<Duration>,
    /// On these words Telegram always fails.
    fails_on: Mutex<Option<&'static str>>,
    takes: Duration,
}

impl Telegram {
    fn new() -> Arc<Self> {
        Self::slow(Duration::ZERO)
    }

    fn slow(takes: Duration) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            sent: Mutex::default(),
            answers: Mutex::default(),
            down_until: Mutex::default(),
            fails_on: Mutex::default(),
            takes,
        })
    }

    fn will_answer(&self, chat: i64, answer: Answer) {
        self.answers.lock().unwrap().push_back((chat, answer));
    }

    /// What was sent to a chat: seconds since the beginning, and what.
    fn sent(&self, chat: i64) -> Vec<(f64, String)> {
        let sent = self.sent.lock().unwrap();
        let here = sent.iter().filter(|(_, to, _)| *to == chat);
        here.map(|(at, _, what)| ((at.as_secs_f64() * 10.0).round() / 10.0, what.clone())).collect()
    }

    fn words(&self, chat: i64) -> Vec<String> {
        self.sent(chat).into_iter().map(|(_, what)| what).collect()
    }

    fn times(&self) -> Vec<Duration> {
        self.sent.lock().unwrap().iter().map(|(at, ..)| *at).collect()
    }

    fn answer(&self, chat: i64, what: &Outgoing) -> Answer {
        let at = self.began.elapsed();
        self.sent.lock().unwrap().push((at, chat, words(what)));
        if at < *self.down_until.lock().unwrap() {
            return Err(ApiError::Unreachable("down".into()));
        }
        if self.fails_on.lock().unwrap().is_some_and(|on| words(what) == on) {
            return failing();
        }
        let mut answers = self.answers.lock().unwrap();
        let told = answers.iter().position(|(to, _)| *to == chat).and_then(|at| answers.remove(at));
        told.map_or(Ok(Sent::Posted(1)), |(_, answer)| answer)
    }
}

impl Deliver for Telegram {
    fn deliver<'a>(&'a self, chat: i64, what: &'a Outgoing) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let answer = self.answer(chat, what);
            tokio::time::sleep(self.takes).await;
            answer
        })
    }
}

fn failing() -> Answer {
    Err(ApiError::Failing("Internal Server Error".into()))
}

fn words(what: &Outgoing) -> String {
    match what {
        Outgoing::Message(message) | Outgoing::Aside(message) => message.text.clone(),
        Outgoing::Edit(edit) | Outgoing::Progress(edit) => {
            format!("{}={}{}", edit.message, edit.text, if edit.keyboard.is_some() { "+" } else { "" })
        }
        Outgoing::Buttons { message, keyboard } => {
            format!("{message}{}", if keyboard.is_some() { "+" } else { "-" })
        }
        Outgoing::Document(document) => document.name.clone(),
        Outgoing::Action { .. } => "typing".into(),
        Outgoing::Delete { message } => format!("{message}x"),
    }
}

fn message(text: &str) -> Outgoing {
    Outgoing::Message(OutgoingMessage { text: text.into(), ..OutgoingMessage::default() })
}

fn edit(message: i32, text: &str) -> Outgoing {
    Outgoing::Edit(Edit { message, text: text.into(), ..Edit::default() })
}

fn progress(message: i32, text: &str) -> Outgoing {
    Outgoing::Progress(Edit { message, text: text.into(), ..Edit::default() })
}

fn keyboard() -> Option<InlineKeyboardMarkup> {
    let button = InlineKeyboardButton::new("a", "iq:a:0:0");
    Some(InlineKeyboardMarkup { inline_keyboard: vec![vec![button]] })
}

/// The most that were sent within any span of this length.
fn most_within(times: &[Duration], span: Duration) -> usize {
    times
        .iter()
        .map(|start| times.iter().filter(|at| *at >= start && **at - *start < span).count())
        .max()
        .unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn a_chat_gets_six_at_once_and_then_one_a_second_in_order() {
    let telegram = Telegram::new();
    let outbox = Outbox::start(telegram.clone());
    let sent: Vec<_> = (0..9).map(|n| outbox.send(5, message(&n.to_string()))).collect();
    assert!(join_all(sent).await.into_iter().all(|sent| sent == Ok(Sent::Posted(1))));
    assert_eq!(telegram.words(5), ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
    let times: Vec<_> = telegram.sent(5).into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    // What was not used is saved up, but never more than one burst.
    tokio::time::sleep(Duration::from_secs(600)).await;
    join_all((0..8).map(|n| outbox.send(5, message(&n.to_string()))).collect::<Vec<_>>()).await;
    assert!(keeps_to_one_a_second(&telegram.times(), 6));
}

/// Whether messages at these times are never more than one a second and such a burst.
fn keeps_to_one_a_second(times: &[Duration], burst: usize) -> bool {
    let (mut left, mut before) = (burst as f64, Duration::ZERO);
    times.iter().all(|at| {
        left = (left + (*at - before).as_secs_f64()).min(burst as f64) - 1.0;
        before = *at;
        left > -1e-6
    })
}

#[tokio::test(start_paused = true)]
async fn a_group_gets_twenty_a_minute_and_as_many_edits() {
    for what in [|_| message("m"), |n| edit(n, "e")] {
        let telegram = Telegram::new();
        let outbox = Outbox::start(telegram.clone());
        join_all((0..45).map(|n| outbox.send(-5, what(n))).collect::<Vec<_>>()).await;
        assert_eq!(most_within(&telegram.times(), Duration::from_secs(60)), 20);
        assert!(telegram.times().last().unwrap() < &Duration::from_secs(135));
    }
}

/// The next card never waits behind edits or progress, in a group neither: twelve questions, each card with the edit
/// of the one before it and some toggles, are there at once as far as messages may be sent at all.
#[tokio::test(start_paused = true)]
async fn a_card_does_not_wait_behind_edits() {
    let telegram = Telegram::new();
    let outbox = Outbox::start(telegram.clone());
    let mut last = Vec::new();
    for n in 0..12 {
        for toggle in 0..4 {
            last.push(outbox.send(-5, edit(1000 + 10 * n + toggle, "☑")));
        }
        last.push(outbox.send(-5, progress(n, "working")));
        let before = telegram.began.elapsed();
        outbox.send(-5, message(&format!("Q{n}"))).await.unwrap();
        assert_eq!(telegram.began.elapsed(), before, "Q{n} waited");
        // The person thinks.
        tokio::time::sleep(Duration::from_millis(1100)).await;
    }
    assert!(join_all(last).await.into_iter().all(|sent| sent.is_ok()), "edits are late, not lost");
}

/// A plan of twelve questions in a group, in three rounds with what is said between them, at the pace of somebody who
/// reads: a tap every two seconds. A group takes 20 messages a minute, which these are not.
#[tokio::test(start_paused = true)]
async fn a_plan_in_a_group_is_not_held_up() {
    let telegram = Telegram::slow(Duration::from_millis(20));
    let outbox = Outbox::start(telegram.clone());
    let mut passing = Vec::new();
    for n in 0..12 {
        passing.push(outbox.send(-5, edit(100 + n, "✅")));
        if n % 4 == 0 {
            passing.push(outbox.send(-5, message("🔍 Reviewing your answers…")));
        }
        let before = telegram.began.elapsed();
        outbox.send(-5, message(&format!("Q{n}"))).await.unwrap();
        let waited = telegram.began.elapsed() - before;
        assert!(waited < Duration::from_millis(300), "Q{n} waited for {waited:?}");
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert!(join_all(passing).await.iter().all(Result::is_ok));
}

/// With the limits as they are, the next card waits for nothing that a person does not wait for: neither for edits
/// and toggles, nor for what an agent does, be that a new message, an edit, "typing", or a message that goes. In a
/// private chat with a tap every second, and in a group with one every four.
#[tokio::test(start_paused = true)]
async fn a_card_does_not_wait_behind_what_an_agent_does() {
    for (chat, pause) in [(5, 1000), (-5, 4000)] {
        let telegram = Telegram::slow(Duration::from_millis(20));
        let outbox = Outbox::start(telegram.clone());
        let aside = || Outgoing::Aside(OutgoingMessage { text: "⏳".into(), ..OutgoingMessage::default() });
        let typing = || Outgoing::Action { action: ChatAction::Typing, thread: None };
        let mut passing = Vec::new();
        for n in 0..40 {
            let around = [
                typing(),
                aside(),
                progress(1, &format!("working {n}")),
                edit(100 + n, "✅"),
                Outgoing::Buttons { message: 200 + n, keyboard: keyboard() },
                Outgoing::Delete { message: 300 + n },
            ];
            passing.extend(around.map(|what| outbox.send(chat, what)));
            let before = telegram.began.elapsed();
            outbox.send(chat, message(&format!("Q{n}"))).await.unwrap();
            // It is sent at once, or right after a message that was being sent just then.
            let waited = telegram.began.elapsed() - before;
            assert!(waited <= Duration::from_millis(40), "Q{n} in {chat} waited for {waited:?}");
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        let ended = join_all(passing).await;
        assert!(ended.iter().all(Result::is_ok), "what has to be done is late, not lost");
        let shown = telegram.words(chat).iter().filter(|what| what.starts_with("1=")).count();
        assert!(shown > 0, "and something is shown of the agent");
    }
}

/// What always fails holds up nothing but itself, and is given back; Telegram being away altogether is waited for.
#[tokio::test(start_paused = true)]
async fn what_always_fails_does_not_block_its_chat() {
    let telegram = Telegram::new();
    *telegram.fails_on.lock().unwrap() = Some("bad");
    let outbox = Outbox::start(telegram.clone());
    let (bad, next) = (outbox.send(1, message("bad")), outbox.send(1, message("next")));
    assert_eq!(next.await, Ok(Sent::Posted(1)));
    assert!(telegram.began.elapsed() < Duration::from_secs(1), "{:?}", telegram.began.elapsed());
    assert_eq!(telegram.words(1)[..3], ["bad", "bad", "next"]);
    // What comes while the bad one waits does not wait for it either.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = telegram.began.elapsed();
    assert_eq!(outbox.send(1, message("later")).await, Ok(Sent::Posted(1)));
    assert_eq!(telegram.began.elapsed(), before);
    assert_eq!(bad.await, failing());
    assert_eq!(telegram.words(1).iter().filter(|words| *words == "bad").count(), 6);
    assert!(telegram.began.elapsed() < Duration::from_secs(60));
    // If Telegram fails on everything, that is waited for, and all arrives; only the first two may change places.
    (0..4).for_each(|_| telegram.will_answer(3, failing()));
    let all: Vec<_> = (1..=3).map(|n| outbox.send(3, message(&n.to_string()))).collect();
    assert!(join_all(all).await.into_iter().all(|sent| sent == Ok(Sent::Posted(1))));
    assert_eq!(telegram.words(3), ["1", "1", "2", "2", "2", "1", "3"]);
    // One failure, or one refusal of the token, is a hiccup.
    for hiccup in [failing(), Err(ApiError::Unauthorized("Unauthorized".into()))] {
        telegram.will_answer(2, hiccup);
        assert_eq!(outbox.send(2, message("again")).await, Ok(Sent::Posted(1)));
    }
}

/// A thousand strangers are refused when there is room for it, and the owner's card does not wait for that.
#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_keeps_no_card_waiting() {
    let telegram = Telegram::slow(Duration::from_millis(20));
    let outbox = Outbox::start(telegram.clone());
    let aside = || {
        Outgoing::Aside(OutgoingMessage { text: "This bot is private.".into(), ..OutgoingMessage::default() })
    };
    let refusals: Vec<_> = (1000..2000).map(|chat| outbox.send(chat, aside())).collect();
    outbox.send(42, message("Q1")).await.unwrap();
    assert!(telegram.began.elapsed() < Duration::from_millis(100), "{:?}", telegram.began.elapsed());
    let refused = join_all(refusals).await;
    assert_eq!(refused.iter().filter(|sent| **sent == Ok(Sent::Posted(1))).count(), 10);
    assert!(refused.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn all_chats_together_get_thirty_a_second_and_none_is_left_out() {
    let telegram = Telegram::new();
    let outbox = Outbox::start(telegram.clone());
    let sent: Vec<_> = (1..=600).map(|chat| outbox.send(chat, message("hello"))).collect();
    join_all(sent).await;
    assert_eq!(most_within(&telegram.times(), Duration::from_secs(1)), 30);
    assert_eq!(telegram.times().last().unwrap().as_secs(), 19);
    assert!((1..=600).all(|chat| telegram.words(chat) == ["hello"]));
}

/// A network that is quick now and slow then: notes when a message is there, not when it left.
struct Uneven {
    began: Instant,
    there: Mutex<Vec<Duration>>,
}

impl Deliver for Uneven {
    fn deliver<'a>(&'a self, _: i64, _: &'a Outgoing) -> BoxFuture<'a, Answer> {
        // The first of all are slow, and those that leave when a second is over are quick.
        let way =
            Duration::from_millis(if self.began.elapsed() < Duration::from_millis(500) { 400 } else { 5 });
        Box::pin(async move {
            tokio::time::sleep(way).await;
            self.there.lock().unwrap().push(self.began.elapsed());
            tokio::time::sleep(way).await;
            Ok(Sent::Posted(1))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn however_long_messages_take_telegram_never_gets_too_many_at_once() {
    let to_one = |outbox: &Outbox| (0..9).map(|_| outbox.send(5, message("m"))).collect::<Vec<_>>();
    let to_all = |outbox: &Outbox| (1..=120).map(|chat| outbox.send(chat, message("m"))).collect::<Vec<_>>();
    for many in [9, 120] {
        let telegram = Arc::new(Uneven { began: Instant::now(), there: Mutex::default() });
        let outbox = Outbox::start(telegram.clone());
        join_all(if many == 9 { to_one(&outbox) } else { to_all(&outbox) }).await;
        let there = telegram.there.lock().unwrap().clone();
        assert_eq!(there.len(), many);
        match many {
            9 => assert!(keeps_to_one_a_second(&there, 6), "{there:?}"),
            _ => assert_eq!(most_within(&there, Duration::from_secs(1)), 30),
        }
        assert!(there.last().unwrap() < &Duration::from_secs(10), "and no slower than it has to be");
    }
}

#[tokio::test(start_paused = true)]
async fn chats_do_not_wait_for_one_another() {
    let telegram = Telegram::slow(Duration::from_secs(10));
    let outbox = Outbox::start(telegram.clone());
    let first = outbox.send(1, message("slow"));
    let behind = outbox.send(1, message("behind"));
    let other = outbox.send(2, message("other"));
    let _ = (first.await, behind.await, other.await);
    assert_eq!(telegram.sent(1), [(0.0, "slow".into()), (10.0, "behind".into())]);
    assert_eq!(telegram.sent(2), [(0.0, "other".into())]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_that_chat_exactly_so_long_and_the_same_message_goes_again() {
    let telegram = Telegram::new();
    telegram.will_answer(1, Err(ApiError::TooMany { retry_after: Duration::from_secs(35) }));
    let outbox = Outbox::start(telegram.clone());
    let (first, second) = (outbox.send(1, message("a")), outbox.send(1, message("b")));
    let other = outbox.send(2, message("c"));
    assert_eq!(
        (first.await, second.await, other.await),
        (Ok(Sent::Posted(1)), Ok(Sent::Posted(1)), Ok(Sent::Posted(1)))
    );
    assert_eq!(telegram.sent(1), [(0.0, "a".into()), (35.0, "a".into()), (35.0, "b".into())]);
    assert_eq!(telegram.sent(2), [(0.0, "c".into())]);
}

/// A chat that may not be written to for a day is reported; one that may in half a minute is not.
#[tokio::test(start_paused = true)]
async fn a_long_pause_is_reported() {
    for (seconds, is_reported) in [(30, false), (86_400, true)] {
        let telegram = Telegram::new();
        telegram.will_answer(1, Err(ApiError::TooMany { retry_after: Duration::from_secs(seconds) }));
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let reports = Box::new(move |report| {
            let _ = tell.send(report);
        });
        let outbox = Outbox::start_within(Limits::TELEGRAM, telegram.clone(), reports);
        outbox.send(1, message("a")).await.unwrap();
        assert_eq!(telegram.began.elapsed().as_secs(), seconds, "it is sent when the pause is over");
        let expected = Report::Paused { chat: 1, length: Duration::from_secs(seconds) };
        assert_eq!(told.try_recv().ok(), is_reported.then_some(expected));
        assert!(told.try_recv().is_err(), "once");
    }
}

/// CHAT-48: the card of an answered question is edited, then the next card is too much; both are there in the end,
/// once.
#[tokio::test(start_paused = true)]
async fn a_pause_of_thirty_seconds_in_the_middle_of_a_round_loses_and_repeats_nothing() {
    let telegram = Telegram::new();
    let outbox = Outbox::start(telegram.clone());
    outbox.send(1, message("Q1")).await.unwrap();
    let answered = outbox.send(1, edit(7, "Q1: Express"));
    telegram.will_answer(1, Ok(Sent::Done));
    telegram.will_answer(1, Err(ApiError::TooMany { retry_after: Duration::from_secs(30) }));
    let next = outbox.send(1, message("Q2"));
    answered.await.unwrap();
    // Meanwhile somebody else goes on, and what the paused chat gets next waits its turn.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let (behind, other) = (outbox.send(1, message("Please use the buttons")), outbox.send(2, message("Q5")));
    assert_eq!(other.await, Ok(Sent::Posted(1)));
    assert_eq!((next.await, behind.await), (Ok(Sent::Posted(1)), Ok(Sent::Posted(1))));
    assert_eq!(
        telegram.sent(1),
        [
            (0.0, "Q1".into()),
            (0.0, "7=Q1: Express".into()),
            (0.0, "Q2".into()),
            (30.0, "Q2".into()),
            (30.0, "Please use the buttons".into()),
        ]
    );
    assert_eq!(telegram.sent(2), [(10.0, "Q5".into())]);
}

/// A pause holds even where nothing is left to send when it is told.
#[tokio::test(start_paused = true)]
async fn a_pause_is_not_forgotten_with_what_it_was_about() {
    let telegram = Telegram::new();
    telegram.will_answer(1, Err(ApiError::TooMany { retry_after: Duration::from_secs(35) }));
    let outbox = Outbox::start(telegram.clone());
    let aside = Outgoing::Aside(OutgoingMessage { text: "aside".into(), ..OutgoingMessage::default() });
    assert_eq!(outbox.send(1, aside).await, Ok(Sent::Dropped));
    tokio::time::sleep(Duration::from_secs(20)).await;
    let _ = (outbox.send(1, message("a")).await, outbox.send(1, edit(7, "b")).await);
    assert_eq!(telegram.sent(1), [(0.0, "aside".into()), (35.0, "a".into()), (35.0, "7=b".into())]);
}

#[tokio::test(start_paused = true)]
async fn two_chats_told_to_pause_pause_all() {
    let telegram = Telegram::new();
    for chat in [1, 2] {
        telegram.will_answer(chat, Err(ApiError::TooMany { retry_after: Duration::from_secs(20) }));
    }
    let outbox = Outbox::start(telegram.clone());
    let (first, second) = (outbox.send(1, message("a")), outbox.send(2, message("b")));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let third = outbox.send(3, message("c"));
    let _ = (first.await, second.await, third.await);
    assert_eq!(telegram.sent(1), [(0.0, "a".into()), (20.0, "a".into())]);
    assert_eq!(telegram.sent(3), [(20.0, "c".into())]);
}

#[tokio::test(start_paused = true)]
async fn telegram_down_for_ten_minutes_loses_nothing_and_keeps_the_order() {
    let telegram = Telegram::new();
    *telegram.down_until.lock().unwrap() = Duration::from_secs(600);
    let outbox = Outbox::start(telegram.clone());
    let sent: Vec<_> = (0..40).map(|n| outbox.send(n % 4 + 1, message(&n.to_string()))).collect();
    assert!(join_all(sent).await.into_iter().all(|sent| sent == Ok(Sent::Posted(1))));
    let late = |chat: i64| {
        let sent = telegram.sent(chat);
        sent.into_iter().filter(|(at, _)| *at >= 600.0).map(|(_, what)| what).collect::<Vec<_>>()
    };
    assert_eq!(late(1), ["0", "4", "8", "12", "16", "20", "24", "28", "32", "36"]);
    assert_eq!(late(4), ["3", "7", "11", "15", "19", "23", "27", "31", "35", "39"]);
    // Tried again and again, but ever less often.
    let tries = telegram.sent(1).iter().filter(|(at, _)| *at < 600.0).count();
    assert!((20..40).contains(&tries), "{tries} tries");
    assert!(telegram.sent(1).iter().find(|(at, _)| *at >= 600.0).unwrap().0 < 631.0);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_is_given_back_and_what_is_so_already_is_done() {
    let cases = [
        (Err(ApiError::NotModified), Ok(Sent::Done)),
        (Err(ApiError::MessageGone("gone".into())), Err(ApiError::MessageGone("gone".into()))),
        (Err(ApiError::Blocked("no".into())), Err(ApiError::Blocked("no".into()))),
        (
            Err(ApiError::Refused { code: 400, description: "x".into() }),
            Err(ApiError::Refused { code: 400, description: "x".into() }),
        ),
    ];
    for (answer, expected) in cases {
        let telegram = Telegram::new();
        telegram.will_answer(1, answer);
        let outbox = Outbox::start(telegram.clone());
        let (first, second) = (outbox.send(1, edit(7, "a")), outbox.send(1, message("next")));
        assert_eq!((first.await, second.await), (expected, Ok(Sent::Posted(1))));
        assert_eq!(telegram.words(1), ["7=a", "next"]);
    }
}

/// A group that became a supergroup: what can be said there is, in order; what is about messages of the group ends.
#[tokio::test(start_paused = true)]
async fn what_waits_for_a_chat_that_became_another_is_sent_there() {
    let telegram = Telegram::new();
    // An edit is on its way beside the message.
    for _ in 0..2 {
        telegram.will_answer(-1, Err(ApiError::Moved { to: -9 }));
    }
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let reports = Box::new(move |report| {
        let _ = tell.send(report);
    });
    let outbox = Outbox::start_within(Limits::TELEGRAM, telegram.clone(), reports);
    let reply = OutgoingMessage { text: "a".into(), reply_to: Some(7), ..OutgoingMessage::default() };
    let sent: Vec<_> =
        [Outgoing::Message(reply), edit(7, "b"), message("c"), Outgoing::Delete { message: 8 }]
            .into_iter()
            .map(|what| outbox.send(-1, what))
            .collect();
    let (posted, gone) = (Ok(Sent::Posted(1)), Err(ApiError::Moved { to: -9 }));
    assert_eq!(join_all(sent).await, [posted.clone(), gone.clone(), posted, gone]);
    assert_eq!(
        (telegram.words(-1), telegram.words(-9)),
        (vec!["a".to_owned(), "7=b".into()], vec!["a".into(), "c".into()])
    );
    let told: Vec<_> = std::iter::from_fn(|| told.try_recv().ok()).collect();
    assert_eq!(told, [Report::Moved { from: -1, to: -9 }; 2], "once for each that was on its way");
    outbox.flush().await;
}

#[tokio::test(start_paused = true)]
async fn edits_that_were_not_sent_yet_become_one() {
    let buttons = |keyboard| Outgoing::Buttons { message: 7, keyboard };
    let cases: [(Vec<Outgoing>, &[&str]); 6] = [
        (vec![edit(7, "a"), edit(7, "b"), edit(8, "c"), edit(7, "d")], &["7=d", "8=c"]),
        (vec![edit(7, "a"), buttons(keyboard())], &["7=a+"]),
        (vec![buttons(keyboard()), edit(7, "a")], &["7=a"]),
        (vec![buttons(keyboard()), buttons(None)], &["7-"]),
        (vec![edit(7, "a"), progress(7, "b")], &["7=b"]),
        (vec![edit(7, "a"), message("m"), Outgoing::Delete { message: 7 }], &["7=a", "m", "7x"]),
    ];
    for (given, expected) in cases {
        let telegram = Telegram::new();
        telegram.will_answer(1, Err(ApiError::TooMany { retry_after: Duration::from_secs(5) }));
        let outbox = Outbox::start(telegram.clone());
        let held = outbox.send(1, message("held"));
        tokio::task::yield_now().await;
        let sent: Vec<_> = given.into_iter().map(|what| outbox.send(1, what)).collect();
        let _ = held.await;
        assert!(join_all(sent).await.into_iter().all(|sent| sent.is_ok()));
        assert_eq!(telegram.words(1)[2..], *expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_under_way_is_not_changed_by_the_next() {
    let telegram = Telegram::slow(Duration::from_secs(1));
    let outbox = Outbox::start(telegram.clone());
    let first = outbox.send(1, edit(7, "a"));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let second = outbox.send(1, edit(7, "b"));
    let _ = (first.await, second.await);
    assert_eq!(telegram.words(1), ["7=a", "7=b"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_of_passing_interest_is_left_out_where_much_waits() {
    let telegram = Telegram::new();
    *telegram.down_until.lock().unwrap() = Duration::from_secs(60);
    let outbox = Outbox::start(telegram.clone());
    let kept: Vec<_> = (0..12).map(|n| outbox.send(1, message(&n.to_string()))).collect();
    let typing = Outgoing::Action { action: ChatAction::Typing, thread: None };
    assert_eq!(outbox.send(1, progress(7, "half")).await, Ok(Sent::Dropped));
    assert_eq!(outbox.send(1, typing.clone()).await, Ok(Sent::Dropped));
    assert!(join_all(kept).await.into_iter().all(|sent| sent.is_ok()));
    assert!(!telegram.words(1).contains(&"7=half".to_owned()));
    outbox.send(1, typing).await.unwrap();
    outbox.send(1, progress(7, "done")).await.unwrap();
    assert_eq!(telegram.words(1)[telegram.words(1).len() - 2..], ["typing", "7=done"]);
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_for_many_chats_keep_no_message_waiting() {
    let telegram = Telegram::new();
    let outbox = Outbox::start(telegram.clone());
    let typing = |chat| outbox.send(chat, Outgoing::Action { action: ChatAction::Typing, thread: None });
    let typed = join_all((1..=500).map(typing)).await;
    assert_eq!(typed.iter().filter(|sent| **sent == Ok(Sent::Posted(1))).count(), 30);
    assert_eq!(typed.iter().filter(|sent| **sent == Ok(Sent::Dropped)).count(), 470);
    let cards: Vec<_> = (1..=30).map(|chat| outbox.send(chat, message("card"))).collect();
    join_all(cards).await;
    assert_eq!(telegram.times().last().unwrap().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_chat_has_a_bound_and_other_chats_are_not_affected() {
    let telegram = Telegram::new();
    *telegram.down_until.lock().unwrap() = Duration::from_secs(60);
    let outbox = Outbox::start(telegram.clone());
    let waiting: Vec<_> = (0..500).map(|n| outbox.send(1, message(&n.to_string()))).collect();
    assert_eq!(outbox.send(1, message("too many")).await, Err(ApiError::Full));
    let other = outbox.send(2, message("other"));
    let big = Document { name: "big".into(), bytes: vec![0; 40 << 20], ..Document::default() };
    let first = outbox.send(3, Outgoing::Document(big.clone()));
    assert_eq!(outbox.send(3, Outgoing::Document(big)).await, Err(ApiError::Full));
    assert_eq!((other.await, first.await), (Ok(Sent::Posted(1)), Ok(Sent::Posted(1))));
    assert!(join_all(waiting).await.into_iter().all(|sent| sent.is_ok()));
}

/// However many chats there are, what waits for all of them has a bound; what is of passing interest is left out
/// before.
#[tokio::test(start_paused = true)]
async fn what_waits_for_all_chats_together_has_a_bound() {
    let telegram = Telegram::new();
    *telegram.down_until.lock().unwrap() = Duration::from_secs(5);
    let outbox = Outbox::start(telegram.clone());
    let waiting: Vec<_> = (0..20_000).map(|n| outbox.send(n % 100 + 1, message("card"))).collect();
    assert_eq!(outbox.send(7, message("one more")).await, Err(ApiError::Full));
    let typing = Outgoing::Action { action: ChatAction::Typing, thread: None };
    assert_eq!(outbox.send(7, typing).await, Ok(Sent::Dropped));
    assert!(join_all(waiting).await.into_iter().all(|sent| sent.is_ok()), "none of those is lost");
    assert_eq!(outbox.send(7, message("one more")).await, Ok(Sent::Posted(1)));
}

#[tokio::test(start_paused = true)]
async fn an_idle_chat_is_forgotten_and_what_waits_is_sent_after_the_last_handle_is_gone() {
    let telegram = Telegram::new();
    let outbox = Outbox::start(telegram.clone());
    let sent: Vec<_> =
        (1..=300).map(|n| outbox.send(if n % 2 == 0 { n } else { -n }, message("hello"))).collect();
    outbox.flush().await;
    assert!(outbox.chats().await > 0);
    join_all(sent).await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(outbox.chats().await, 0);
    let last: Vec<_> = (0..5).map(|_| outbox.send(1, message("bye"))).collect();
    drop(outbox);
    assert!(join_all(last).await.into_iter().all(|sent| sent.is_ok()));
}
