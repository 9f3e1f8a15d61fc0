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
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::access::Visitor;
use crate::board::BoardChange;
use crate::site::Site;

/// The time between two heartbeats. A page without one for longer knows that it is disconnected.
const BEAT: Duration = Duration::from_secs(15);

/// A page that follows the stream.
struct Follower {
    site: Arc<Site>,
    visitor: Visitor,
    changes: Receiver<BoardChange>,
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
    let (changes, stop) = (site.board.changes(), site.stop.clone());
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
        let next = tokio::select! {
            change = self.changes.recv() => match change {
                Ok(BoardChange::Facts(session, waiting)) => {
                    event("changed", &json!({ "session": session, "waiting": waiting }))
                }
                Ok(BoardChange::Doing(session, doing)) => {
                    event("doing", &json!({ "session": session, "doing": self.site.secrets.hide(doing) }))
                }
                // Some changes were missed, so the page has to fetch everything again.
                Ok(BoardChange::All) | Err(RecvError::Lagged(_)) => event("changed", &json!({})),
                Err(RecvError::Closed) => return None,
            },
            _ = self.beat.tick() => event("beat", &json!({})),
            _ = self.stop.wait_for(|stop| *stop) => return None,
        };
        let known = self.site.devices.current().await.ok()?;
        known.find_digest(&self.visitor.token).map(|_| next)
    }
}

fn event(name: &str, data: &serde_json::Value) -> Event {
    Event::default().event(name).data(data.to_string())
}
