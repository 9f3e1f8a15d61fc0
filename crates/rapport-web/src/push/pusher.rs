//! The loop that wakes devices. It never blocks the page: it runs beside it, every message is sent in a task of its own,
//! and what fails is tried again later, with what then still waits.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::Instant;

use super::schedule::{Due, due};
use super::service::{PushService, Sent};
use super::{Alert, Subscription, Subscriptions, Wake, alerts};
use crate::board::BoardChange;
use crate::site::Site;

/// How long several changes are taken together.
const SETTLE: Duration = Duration::from_millis(500);
/// The first pause after a failure. Each further one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
/// The longest sleep while something is to be sent later: a machine that was suspended meanwhile looks at the clock again.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// The loop, and what it has to remember.
pub(crate) struct Pusher {
    site: Arc<Site>,
    service: PushService,
    changes: Receiver<BoardChange>,
    sending: JoinSet<Attempt>,
    /// The devices to which a message is under way.
    busy: HashSet<String>,
    /// When a device is tried again after failures.
    pauses: HashMap<String, Pause>,
    /// What devices have been told and what could not be stored, so that a full disk does not repeat messages.
    unsaved: HashMap<String, Told>,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    failures: u32,
    until: Instant,
}

/// What a message tells a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Told {
    ids: BTreeSet<String>,
    ended_until: Option<Timestamp>,
}

/// A message that was sent or not.
struct Attempt {
    device: String,
    told: Told,
    sent: Sent,
}

impl Pusher {
    pub(crate) fn new(site: Arc<Site>) -> Result<Self, String> {
        let service = PushService::new(site.push.policy.clone()).map_err(|error| error.to_string())?;
        let changes = site.board.changes();
        Ok(Self {
            site,
            service,
            changes,
            sending: JoinSet::new(),
            busy: HashSet::new(),
            pauses: HashMap::new(),
            unsaved: HashMap::new(),
        })
    }

    /// Wakes devices, until this future is dropped.
    pub(crate) async fn run(mut self) {
        // What has not been read yet would seem to be answered.
        self.site.board.all_read().await;
        let site = self.site.clone();
        loop {
            let next = match self.look().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(%error, "notifications are not sent");
                    Some(LONGEST_SLEEP)
                }
            };
            let later = async {
                match next {
                    Some(next) => tokio::time::sleep(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = has_changed(&mut self.changes) => {
                    tokio::time::sleep(SETTLE).await;
                    // The next look sees everything that came until now.
                    self.changes = self.changes.resubscribe();
                }
                // A person changed a subscription, and wants to see the effect at once.
                () = site.push.changed.notified() => self.pauses.clear(),
                Some(done) = self.sending.join_next() => match done {
                    Ok(attempt) => self.on_sent(attempt).await,
                    // What it was about is still to be told.
                    Err(error) => {
                        tracing::warn!(%error, "a notification was not sent");
                        self.busy.clear();
                    }
                },
                () = later => {}
            }
        }
    }

    /// Sends what is due; returns after which time to look again, if time alone changes something.
    async fn look(&mut self) -> io::Result<Option<Duration>> {
        let all = self.current().await?;
        if all.is_empty() {
            return Ok(None);
        }
        let since = all.iter().map(|one| one.ended_until).min().unwrap_or(Timestamp::MAX);
        let found = alerts(&self.site.board, since);
        let (now, mut next) = ((self.site.now)(), None);
        let mut sooner = |wait: Duration| {
            let wait = wait.min(LONGEST_SLEEP);
            next = Some(next.map_or(wait, |known: Duration| known.min(wait)));
        };
        for subscription in all {
            self.forget_ended(&subscription, &found).await?;
            let device = &subscription.device;
            if self.busy.contains(device) {
                continue;
            }
            let is_test = self.is_test(device);
            if let Some(pause) = self.pauses.get(device).filter(|pause| pause.until > Instant::now()) {
                sooner(pause.until.duration_since(Instant::now()));
                continue;
            }
            if is_test {
                self.send(subscription, Told::default(), json!({ "count": 0 }), now);
                continue;
            }
            match due(&subscription, &found, now, &self.site.zone) {
                Due::Never => {}
                Due::At(then) => sooner(Duration::try_from(then.duration_since(now)).unwrap_or_default()),
                Due::Now(pending) => {
                    let told = Told::of(&pending, device);
                    let message = message(&pending, device);
                    self.send(subscription, told, message, now);
                }
            }
        }
        Ok(next)
    }

    /// The subscriptions of paired devices, with what could not be stored. Those of revoked devices are removed.
    async fn current(&mut self) -> io::Result<Vec<Subscription>> {
        let mut all = self.stored(Subscriptions::list).await?;
        if all.is_empty() {
            return Ok(all);
        }
        let known = self.site.devices.current().await.map_err(io::Error::other)?;
        let revoked: Vec<String> = all
            .iter()
            .filter(|one| known.find_digest(&one.device).is_none())
            .map(|one| one.device.clone())
            .collect();
        if !revoked.is_empty() {
            all.retain(|one| !revoked.contains(&one.device));
            self.stored(move |stored| stored.remove(&revoked)).await?;
        }
        for (device, told) in std::mem::take(&mut self.unsaved) {
            self.save(&device, told).await;
        }
        for one in &mut all {
            self.unsaved.get(&one.device).into_iter().for_each(|told| told.clone().add_to(one));
        }
        Ok(all)
    }

    /// Forgets what a device was told about and what no longer waits: if it waits again, that is news.
    async fn forget_ended(&self, subscription: &Subscription, found: &[Alert]) -> io::Result<()> {
        if subscription.told.is_empty() {
            return Ok(());
        }
        let waiting: BTreeSet<String> = found.iter().map(|alert| alert.id(&subscription.device)).collect();
        if subscription.told.is_subset(&waiting) {
            return Ok(());
        }
        let device = subscription.device.clone();
        self.stored(move |stored| stored.update(&device, |one| one.told.retain(|id| waiting.contains(id))))
            .await
    }

    /// Whether this device asked for a test; the request is used up.
    fn is_test(&self, device: &str) -> bool {
        let mut tests = self.site.push.tests.lock().unwrap_or_else(PoisonError::into_inner);
        let before = tests.len();
        tests.retain(|asked| asked != device);
        tests.len() < before
    }

    fn send(&mut self, subscription: Subscription, told: Told, message: Value, now: Timestamp) {
        let (site, service) = (self.site.clone(), self.service.clone());
        self.busy.insert(subscription.device.clone());
        self.sending.spawn(async move {
            let message = message.to_string();
            let sent = service.send(&site.push.key, &subscription, message.as_bytes(), now).await;
            Attempt { device: subscription.device, told, sent }
        });
    }

    async fn on_sent(&mut self, attempt: Attempt) {
        let Attempt { device, told, sent } = attempt;
        let push = &self.site.clone().push;
        self.busy.remove(&device);
        match sent {
            Sent::Taken => {
                self.pauses.remove(&device);
                push.set_trouble(&device, None);
                self.save(&device, told).await;
            }
            Sent::Gone => {
                push.set_trouble(&device, Some("the browser has ended the subscription".to_owned()));
                let removed = self.stored(move |stored| stored.remove(&[device])).await;
                removed.unwrap_or_else(|error| tracing::warn!(%error, "a subscription was not removed"));
            }
            Sent::Failed { why, wait } => {
                tracing::info!(%why, "a notification was not sent");
                push.set_trouble(&device, Some(why));
                let failures = self.pauses.get(&device).map_or(1, |pause| pause.failures.saturating_add(1));
                let usual = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures - 1));
                let wait = wait.unwrap_or_default().max(usual).min(LONGEST_PAUSE);
                self.pauses.insert(device, Pause { failures, until: Instant::now() + wait });
            }
        }
    }

    /// Stores what a device has been told. If that fails, it is remembered until it succeeds.
    async fn save(&mut self, device: &str, told: Told) {
        if told == Told::default() {
            return;
        }
        let (name, stored_told) = (device.to_owned(), told.clone());
        let saved = self.stored(move |stored| stored.update(&name, |one| stored_told.add_to(one))).await;
        if let Err(error) = saved {
            tracing::warn!(%error, "it was not stored what a device was told");
            let known = self.unsaved.entry(device.to_owned()).or_default();
            known.ids.extend(told.ids);
            known.ended_until = known.ended_until.max(told.ended_until);
        }
    }

    /// Runs a function on the file, on a thread for blocking ones.
    async fn stored<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Subscriptions) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let stored = self.site.push.subscriptions.clone();
        spawn_blocking(move || work(&stored)).await?
    }
}

impl Told {
    fn of(alerts: &[&Alert], device: &str) -> Self {
        let (ended, waiting): (Vec<&Alert>, Vec<&Alert>) =
            alerts.iter().copied().partition(|alert| alert.wake == Wake::Finished);
        Self {
            ids: waiting.iter().map(|alert| alert.id(device)).collect(),
            ended_until: ended.iter().map(|alert| alert.at).max(),
        }
    }

    fn add_to(self, subscription: &mut Subscription) {
        subscription.told.extend(self.ids);
        let until = self.ended_until.unwrap_or(subscription.ended_until);
        subscription.ended_until = subscription.ended_until.max(until);
    }
}

/// What a message says: how many items there are; of a single one, also its kind and the id of its card.
fn message(alerts: &[&Alert], device: &str) -> Value {
    match alerts {
        [only] => json!({ "count": 1, "kind": only.wake.word(), "open": only.id(device) }),
        several => json!({ "count": several.len() }),
    }
}

/// Waits until something changed in the sessions.
async fn has_changed(changes: &mut Receiver<BoardChange>) {
    loop {
        match changes.recv().await {
            Ok(BoardChange::Facts(..) | BoardChange::All) | Err(RecvError::Lagged(_)) => return,
            Ok(BoardChange::Doing(..)) => {}
            // The board is gone, and with it this loop.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
