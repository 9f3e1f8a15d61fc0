//! Fetches updates by long polling. Errors are reported once and retried with backoff. Only a token that Telegram
//! rejects repeatedly ends the polling.

use std::sync::Arc;
use std::time::Duration;

use crate::bot_api::DeleteWebhookParams;
use futures_util::future::{BoxFuture, join_all};
use jiff::Timestamp;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::warn;

use super::Now;
use super::api::Api;
use super::api_error::ApiError;
use super::backoff::Backoff;
use super::intake::Intake;
use super::notice::{Notice, Notices};

/// How long to wait for the updates of one call before the ledger is written with the unfinished ones. Most of them are
/// done by then, and are written once instead of twice.
const GRACE: Duration = Duration::from_millis(100);

/// The minimum time between two empty responses. A server that does not hold the call must not be polled without a
/// pause.
const SHORTEST: Duration = Duration::from_secs(1);
/// The number of consecutive rejections of the token that are tolerated, because Telegram sometimes fails in this way.
pub(super) const MOST_REFUSALS: u32 = 5;
/// The number of failed queries for the webhook before updates are fetched anyway.
const MOST_FAILURES: u32 = 5;

/// The source of updates. Tests replace it.
pub trait Source: Send + Sync + 'static {
    /// Waits for updates from this id on, and confirms all earlier ones.
    fn updates(&self, offset: Option<i64>) -> BoxFuture<'_, Result<Vec<Box<RawValue>>, ApiError>>;
}

impl Source for Api {
    fn updates(&self, offset: Option<i64>) -> BoxFuture<'_, Result<Vec<Box<RawValue>>, ApiError>> {
        Box::pin(self.get_updates(offset))
    }
}

/// Removes a webhook, because Telegram refuses long polling while one is set. Retries while Telegram cannot be reached.
pub async fn remove_webhook(api: &Api, notices: &Notices, now: Now) -> Result<(), ApiError> {
    let mut connection = Connection::new(notices.clone(), now);
    let mut failures = 0;
    loop {
        match try_to_remove_webhook(api, notices).await {
            Err(error @ (ApiError::Unreachable(_) | ApiError::TooMany { .. })) => {
                connection.wait_out(error).await
            }
            Err(error @ ApiError::Failing(_)) if failures + 1 < MOST_FAILURES => {
                failures += 1;
                connection.wait_out(error).await;
            }
            removed => {
                connection.recovered();
                return removed;
            }
        }
    }
}

async fn try_to_remove_webhook(api: &Api, notices: &Notices) -> Result<(), ApiError> {
    let url = api.get_webhook_info().await?.url;
    if url.is_empty() {
        return Ok(());
    }
    api.delete_webhook(&DeleteWebhookParams { drop_pending_updates: false }).await?;
    let _ = notices.send(Notice::WebhookRemoved { url });
    Ok(())
}

/// Fetches updates until it is told to stop. It fails if the token is rejected several times in a row, or if the intake
/// is closed.
pub async fn run(
    source: Arc<dyn Source>,
    intake: Intake,
    notices: Notices,
    now: Now,
    mut stop: watch::Receiver<bool>,
) -> Result<(), ApiError> {
    let fetching = fetch(&*source, &intake, Connection::new(notices, now));
    tokio::select! {
        error = fetching => Err(error),
        // A dropped sender also means stop.
        _ = stop.wait_for(|stop| *stop) => Ok(()),
    }
}

async fn fetch(source: &dyn Source, intake: &Intake, mut connection: Connection) -> ApiError {
    let mut refusals = 0;
    loop {
        // Only updates that are on disk are confirmed.
        let Some(point) = intake.checkpoint().await else { return ApiError::Stopped };
        let asked = Instant::now();
        match source.updates(point.offset).await {
            Ok(updates) if updates.is_empty() => {
                refusals = 0;
                connection.recovered();
                sleep_until(asked + SHORTEST).await;
            }
            Ok(updates) => {
                refusals = 0;
                connection.recovered();
                let done = updates.into_iter().map(|raw| intake.take(raw));
                // Updates that take longer continue in the background; they are in the ledger.
                let _ = timeout(GRACE, join_all(done)).await;
            }
            Err(error @ ApiError::Unauthorized(_)) if refusals + 1 >= MOST_REFUSALS => return error,
            Err(error) => {
                refusals = if matches!(error, ApiError::Unauthorized(_)) { refusals + 1 } else { 0 };
                connection.wait_out(error).await;
            }
        }
    }
}

/// The state of the connection to Telegram, and what was reported about it.
pub(super) struct Connection {
    notices: Notices,
    now: Now,
    unreachable: Option<Timestamp>,
    conflict: bool,
    backoff: Backoff,
}

impl Connection {
    pub(super) fn new(notices: Notices, now: Now) -> Self {
        Self { notices, now, unreachable: None, conflict: false, backoff: Backoff::default() }
    }

    /// Handles a success.
    pub(super) fn recovered(&mut self) {
        self.backoff.reset();
        if let Some(since) = self.unreachable.take() {
            self.tell(Notice::Reachable { since });
        }
        if std::mem::take(&mut self.conflict) {
            self.tell(Notice::ConflictOver);
        }
    }

    /// Handles a failure: reports it once, and waits.
    pub(super) async fn wait_out(&mut self, error: ApiError) {
        warn!(%error, "Telegram is retried after a pause");
        match error {
            ApiError::TooMany { retry_after } => return sleep(retry_after).await,
            ApiError::Conflict(why) => {
                if !std::mem::replace(&mut self.conflict, true) {
                    self.tell(Notice::Conflict { why });
                }
            }
            other => {
                if self.unreachable.is_none() {
                    let since = (self.now)();
                    self.unreachable = Some(since);
                    let why = match other {
                        ApiError::Unreachable(why) | ApiError::Failing(why) => why,
                        other => other.to_string(),
                    };
                    self.tell(Notice::Unreachable { since, why });
                }
            }
        }
        sleep(self.backoff.grow()).await;
    }

    fn tell(&self, notice: Notice) {
        // The receiver may be gone.
        let _ = self.notices.send(notice);
    }
}
