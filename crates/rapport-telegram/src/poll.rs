//! Fetches updates by long polling. Errors are reported once and retried with backoff; only a token that is rejected again
//! and again ends it.

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

/// How long to wait for the updates of one call before the ledger is written with those not done. Most are done by then, so
/// that they are written once instead of twice.
const GRACE: Duration = Duration::from_millis(100);

/// The shortest time between two calls that bring nothing: a server that does not hold a call must not be asked without pause.
const SHORTEST: Duration = Duration::from_secs(1);
/// How often in a row the token may be rejected. Telegram has hiccups.
const MOST_REFUSALS: u32 = 5;
/// How often Telegram may fail to tell which webhook is set before updates are fetched all the same.
const MOST_FAILURES: u32 = 5;

/// Where updates are fetched. Tests bring their own.
pub trait Source: Send + Sync + 'static {
    /// Waits for updates from this id on, and confirms all before it.
    fn updates(&self, offset: Option<i64>) -> BoxFuture<'_, Result<Vec<Box<RawValue>>, ApiError>>;
}

impl Source for Api {
    fn updates(&self, offset: Option<i64>) -> BoxFuture<'_, Result<Vec<Box<RawValue>>, ApiError>> {
        Box::pin(self.get_updates(offset))
    }
}

/// Removes a webhook that is set: while there is one, Telegram refuses to have updates fetched. Retries while Telegram cannot
/// be reached.
pub async fn remove_webhook(api: &Api, notices: &Notices, now: Now) -> Result<(), ApiError> {
    let mut trouble = Trouble::new(notices.clone(), now);
    let mut failures = 0;
    loop {
        match try_to_remove_webhook(api, notices).await {
            Err(error @ (ApiError::Unreachable(_) | ApiError::TooMany { .. })) => {
                trouble.wait_out(error).await
            }
            Err(error @ ApiError::Failing(_)) if failures + 1 < MOST_FAILURES => {
                failures += 1;
                trouble.wait_out(error).await;
            }
            removed => {
                trouble.over();
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

/// Fetches until it is told to stop. An error is a token that is not accepted several times in a row, or an intake
/// that was closed.
pub async fn run(
    source: Arc<dyn Source>,
    intake: Intake,
    notices: Notices,
    now: Now,
    mut stop: watch::Receiver<bool>,
) -> Result<(), ApiError> {
    let fetching = fetch(&*source, &intake, Trouble::new(notices, now));
    tokio::select! {
        error = fetching => Err(error),
        // A dropped sender means stop as well.
        _ = stop.wait_for(|stop| *stop) => Ok(()),
    }
}

async fn fetch(source: &dyn Source, intake: &Intake, mut trouble: Trouble) -> ApiError {
    let mut refusals = 0;
    loop {
        // Only what is on disk is confirmed.
        let Some(point) = intake.checkpoint().await else { return ApiError::Stopped };
        let asked = Instant::now();
        match source.updates(point.offset).await {
            Ok(updates) if updates.is_empty() => {
                refusals = 0;
                trouble.over();
                sleep_until(asked + SHORTEST).await;
            }
            Ok(updates) => {
                refusals = 0;
                trouble.over();
                let done = updates.into_iter().map(|raw| intake.take(raw));
                // Those that take longer go on; they are kept in the ledger.
                let _ = timeout(GRACE, join_all(done)).await;
            }
            Err(error @ ApiError::Unauthorized(_)) if refusals + 1 >= MOST_REFUSALS => return error,
            Err(error) => {
                refusals = if matches!(error, ApiError::Unauthorized(_)) { refusals + 1 } else { 0 };
                trouble.wait_out(error).await;
            }
        }
    }
}

/// What is wrong with the way to Telegram at the moment, and what was told about it.
pub(super) struct Trouble {
    notices: Notices,
    now: Now,
    unreachable: Option<Timestamp>,
    conflict: bool,
    backoff: Backoff,
}

impl Trouble {
    pub(super) fn new(notices: Notices, now: Now) -> Self {
        Self { notices, now, unreachable: None, conflict: false, backoff: Backoff::default() }
    }

    /// It worked.
    pub(super) fn over(&mut self) {
        self.backoff.reset();
        if let Some(since) = self.unreachable.take() {
            self.tell(Notice::Reachable { since });
        }
        if std::mem::take(&mut self.conflict) {
            self.tell(Notice::ConflictOver);
        }
    }

    /// It did not work: tells so once, and waits.
    pub(super) async fn wait_out(&mut self, error: ApiError) {
        warn!(%error, "Telegram asked again after a pause");
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
        // Nobody has to listen.
        let _ = self.notices.send(notice);
    }
}
