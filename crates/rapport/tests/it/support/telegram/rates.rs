//! How much a bot may send: about a message a second into a chat, with small bursts; twenty a minute into a group;
//! thirty a second in all. Edits have the same limits, and count apart.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// How the limits are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rates {
    /// Nothing is limited.
    Off,
    /// As Telegram does.
    Real,
    /// The same, with the limits' time running so many times as fast. The wait that is told stays whole seconds.
    Faster(u32),
}

const BURST: f64 = 6.0;
const CHAT_EVERY: Duration = Duration::from_secs(1);
const GROUP: (usize, Duration) = (20, Duration::from_secs(60));
const ALL: (usize, Duration) = (30, Duration::from_secs(1));

/// Whom a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// One chat.
    Chat(i64),
    /// Everything the bot sends.
    All,
}

impl Sending {
    /// What a method sends.
    pub(crate) fn by(method: &str) -> Self {
        if method.starts_with("edit") { Self::Edits } else { Self::Posts }
    }
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sending {
    /// New messages.
    Posts,
    /// Changes to messages.
    Edits,
}

/// A message that may not be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limited {
    /// How many seconds to wait.
    pub(crate) retry_after: u64,
    /// Whether it came although the bot had been told to wait longer.
    pub(crate) early: bool,
}

/// What was sent when.
pub(crate) struct Limiter {
    rates: Rates,
    chats: BTreeMap<(i64, Sending), Bucket>,
    groups: BTreeMap<(i64, Sending), VecDeque<Instant>>,
    all: BTreeMap<Sending, VecDeque<Instant>>,
    closed: BTreeMap<Scope, Closed>,
}

/// Until when the bot has to wait.
struct Closed {
    until: Instant,
    /// What it was told so about. One call of the other kind may have been on its way.
    about: Sending,
    excused: bool,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Limiter {
    /// Nothing sent yet.
    pub(crate) fn new(rates: Rates) -> Self {
        Self {
            rates,
            chats: BTreeMap::new(),
            groups: BTreeMap::new(),
            all: BTreeMap::new(),
            closed: BTreeMap::new(),
        }
    }

    /// Tells the bot to wait, whatever it has sent; what it sends before is early.
    pub(crate) fn close(&mut self, about: Sending, scope: Scope, now: Instant, seconds: u64) {
        let until = now + Duration::from_secs(seconds);
        self.closed.insert(scope, Closed { until, about, excused: false });
    }

    /// Whether one more message may go into this chat; if so, it counts.
    pub(crate) fn ask(&mut self, chat: i64, now: Instant) -> Result<(), Limited> {
        self.ask_to(Sending::Posts, chat, now)
    }

    /// The same for a message or an edit.
    pub(crate) fn ask_to(&mut self, sending: Sending, chat: i64, now: Instant) -> Result<(), Limited> {
        let scopes = [Scope::All, Scope::Chat(chat)];
        let closed =
            self.closed.iter_mut().filter(|(scope, _)| scopes.contains(scope)).map(|(_, closed)| closed);
        if let Some(closed) = closed.max_by_key(|closed| closed.until).filter(|closed| closed.until > now) {
            let is_excused = closed.about != sending && !std::mem::replace(&mut closed.excused, true);
            return Err(Limited { retry_after: seconds(closed.until - now), early: !is_excused });
        }
        let Some(speed) = self.speed() else { return Ok(()) };
        let all = wait_in(self.all.entry(sending).or_default(), ALL, speed, now);
        let group = self.groups.entry((chat, sending)).or_default();
        let group = if chat < 0 { wait_in(group, GROUP, speed, now) } else { None };
        let bucket = self.chats.entry((chat, sending)).or_insert(Bucket { left: BURST, at: now });
        let waits =
            [(Scope::All, all), (Scope::Chat(chat), group), (Scope::Chat(chat), bucket.wait(speed, now))];
        let longest = waits.into_iter().filter_map(|(scope, wait)| Some((wait?, scope))).max();
        if let Some((wait, scope)) = longest {
            let retry_after = seconds(wait);
            self.close(sending, scope, now, retry_after);
            return Err(Limited { retry_after, early: false });
        }
        bucket.left -= 1.0;
        self.all.entry(sending).or_default().push_back(now);
        self.groups.entry((chat, sending)).or_default().push_back(now);
        Ok(())
    }

    fn speed(&self) -> Option<u32> {
        match self.rates {
            Rates::Off => None,
            Rates::Real => Some(1),
            Rates::Faster(times) => Some(times),
        }
    }
}

impl Bucket {
    /// How long until there is room for one.
    fn wait(&mut self, speed: u32, now: Instant) -> Option<Duration> {
        let every = CHAT_EVERY / speed;
        let gained = now.duration_since(self.at).as_secs_f64() / every.as_secs_f64();
        self.left = (self.left + gained).min(BURST);
        self.at = now;
        (self.left < 1.0).then(|| every.mul_f64(1.0 - self.left))
    }
}

/// How long until fewer than so many were sent in the time before.
fn wait_in(
    sent: &mut VecDeque<Instant>,
    (most, within): (usize, Duration),
    speed: u32,
    now: Instant,
) -> Option<Duration> {
    let within = within / speed;
    sent.retain(|at| now.duration_since(*at) < within);
    let oldest = sent.len().checked_sub(most).and_then(|over| sent.get(over))?;
    Some(within - now.duration_since(*oldest))
}

fn seconds(wait: Duration) -> u64 {
    (wait.as_secs_f64().ceil() as u64).max(1)
}
