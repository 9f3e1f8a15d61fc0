//! The stream of changes for open pages. It only says that something changed: the page then fetches itself again, so
//! that only the server draws it. The exception is what an agent does at the moment, which the stream sends, because
//! it is not stored.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, State};
use axum::http::header;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, Stream};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::access::Visitor;
use crate::board::BoardChange;
use crate::device_cache::DeviceCache;
use crate::devices::DeviceList;
use crate::site::Site;

/// The time between two heartbeats. A page without one for longer knows that it is disconnected.
const BEAT: Duration = Duration::from_secs(15);

/// The number of announcements that may wait for a page. A page that falls further behind is told to catch up.
const WAITING_ANNOUNCEMENTS: usize = 256;

/// A change, and the devices that were paired after it. One look at the devices serves all pages.
#[derive(Clone, Debug)]
struct Announcement {
    change: BoardChange,
    /// `None` if they cannot be read.
    devices: Option<Arc<DeviceList>>,
}

/// Tells all open pages what changed.
pub(crate) struct Announcer(broadcast::Sender<Announcement>);

impl Announcer {
    pub(crate) fn new() -> Self {
        Self(broadcast::channel(WAITING_ANNOUNCEMENTS).0)
    }

    /// Passes these changes on, until there are no more.
    pub(crate) async fn run(&self, mut changes: Receiver<BoardChange>, devices: &DeviceCache) {
        loop {
            let change = match changes.recv().await {
                Ok(change) => change,
                Err(RecvError::Lagged(_)) => BoardChange::All,
                Err(RecvError::Closed) => return,
            };
            if self.0.receiver_count() > 0 {
                let devices = devices.current().await.ok();
                // Sending fails if the last page was closed meanwhile.
                let _ = self.0.send(Announcement { change, devices });
            }
        }
    }
}

/// A page that follows the stream.
struct Follower {
    site: Arc<Site>,
    visitor: Visitor,
    changes: Receiver<Announcement>,
    stop: watch::Receiver<bool>,
    beat: Interval,
    is_greeted: bool,
}

/// `GET /events`: the changes from now on.
pub(crate) async fn events(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
) -> Response {
    let mut beat = tokio::time::interval_at(Instant::now() + BEAT, BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (changes, stop) = (site.announcer.0.subscribe(), site.stop.clone());
    let follower = Follower { site, visitor, changes, stop, beat, is_greeted: false };
    // Proxies would otherwise buffer the stream.
    ([(header::HeaderName::from_static("x-accel-buffering"), "no")], Sse::new(follower.stream()))
        .into_response()
}

impl Follower {
    fn stream(self) -> impl Stream<Item = Result<Event, Infallible>> + Send {
        stream::unfold(self, |mut follower| async move {
            let event = follower.next().await?;
            Some((Ok(event), follower))
        })
    }

    /// The next event; `None` if the server stops, or the device was revoked.
    async fn next(&mut self) -> Option<Event> {
        if !self.is_greeted {
            self.is_greeted = true;
            return Some(event("hello", &json!({ "build": self.site.build })));
        }
        let (next, known) = tokio::select! {
            announced = self.changes.recv() => match announced {
                Ok(Announcement { change, devices }) => (event_of(&self.site, change), Some(devices?)),
                // Some changes were missed, so the page has to fetch everything again.
                Err(RecvError::Lagged(_)) => (event_of(&self.site, BoardChange::All), None),
                Err(RecvError::Closed) => return None,
            },
            _ = self.beat.tick() => (event("beat", &json!({})), None),
            _ = self.stop.wait_for(|stop| *stop) => return None,
        };
        let known = match known {
            Some(known) => known,
            None => self.site.devices.current().await.ok()?,
        };
        known.find_digest(&self.visitor.token).map(|_| next)
    }
}

/// What a page is told of a change.
fn event_of(site: &Site, change: BoardChange) -> Event {
    match change {
        BoardChange::Facts(session, waiting) => {
            event("changed", &json!({ "session": session, "waiting": waiting }))
        }
        BoardChange::Doing(session, doing) => {
            event("doing", &json!({ "session": session, "doing": site.secrets.hide(doing) }))
        }
        BoardChange::All => event("changed", &json!({})),
    }
}

fn event(name: &str, data: &serde_json::Value) -> Event {
    Event::default().event(name).data(data.to_string())
}
