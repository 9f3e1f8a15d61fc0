//! How updates reach the bot: asked for, with a long poll, or sent to its webhook.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::Shared;
use super::methods::{self, Result};
use super::refusal::Refusal;
use super::request::Parameters;
use super::state::{State, now};
use crate::support::web;

/// The longest poll.
const LONGEST: i64 = 50;
/// How long the bot may take with one update.
const WEBHOOK_PATIENCE: Duration = Duration::from_secs(30);

/// `getUpdates`. Of two that wait at once, the earlier one is ended.
pub(super) async fn get_updates(shared: &Shared, parameters: &Parameters) -> Result {
    let offset = parameters.number("offset").unwrap_or(0);
    let limit = parameters.number("limit").unwrap_or(100).clamp(1, 100) as usize;
    let timeout = parameters.number("timeout").unwrap_or(0).clamp(0, LONGEST);
    let mut changed = shared.changed.subscribe();
    let first = shared.change(|state| {
        check_webhook(state, "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")?;
        methods::allow(state, parameters);
        let updates = state.updates.take(offset, limit);
        if updates.is_empty() && timeout > 0 {
            state.updates.polls += 1;
        }
        Ok((updates, state.updates.polls))
    })?;
    let (updates, poll) = first;
    if !updates.is_empty() || timeout == 0 {
        return Ok(updates.into());
    }
    let over = tokio::time::sleep(Duration::from_secs(timeout.unsigned_abs()));
    tokio::pin!(over);
    loop {
        tokio::select! {
            _ = changed.changed() => {}
            () = &mut over => return Ok(Value::Array(Vec::new())),
        }
        // Only looks, or every poll would wake itself. What an offset confirms, it confirmed at first.
        let updates = shared.look(|state| {
            check_webhook(state, "terminated by setWebhook request")?;
            if state.updates.polls != poll {
                return Err(Refusal::conflict(
                    "terminated by other getUpdates request; make sure that only one bot instance is running",
                ));
            }
            Ok(state.updates.waiting(limit))
        })?;
        if !updates.is_empty() {
            return Ok(updates.into());
        }
    }
}

fn check_webhook(state: &State, why: &str) -> Result<()> {
    if state.webhook.is_some() { Err(Refusal::conflict(why)) } else { Ok(()) }
}

/// Sends updates to the webhook while there is one, again and again until they are taken.
pub(super) async fn deliver(shared: Arc<Shared>) {
    let client = web::client();
    let mut changed = shared.changed.subscribe();
    loop {
        let next = shared.look(|state| state.webhook.clone().zip(state.updates.first()));
        let Some((webhook, (id, update))) = next else {
            if changed.changed().await.is_err() {
                return;
            }
            continue;
        };
        let mut request = client.post(&webhook.url).timeout(WEBHOOK_PATIENCE).json(&update);
        if !webhook.secret.is_empty() {
            request = request.header("X-Telegram-Bot-Api-Secret-Token", &webhook.secret);
        }
        let problem = match request.send().await {
            Ok(response) if response.status().is_success() => {
                let body = response.bytes().await.unwrap_or_default();
                shared.change(|state| state.updates.confirm(id));
                do_what_was_answered(&shared, &body);
                continue;
            }
            Ok(response) => format!("Wrong response from the webhook: {}", response.status()),
            Err(error) if error.is_connect() => "Connection refused".to_owned(),
            Err(error) if error.is_timeout() => "Read timeout expired".to_owned(),
            Err(_) => "Webhook connection closed".to_owned(),
        };
        let wait = shared.change(|state| {
            if let Some(webhook) = &mut state.webhook {
                webhook.last_error = Some((now(), problem));
            }
            state.webhook_retry
        });
        tokio::time::sleep(wait).await;
    }
}

/// A bot can call one method by answering with it. It is not told what came of it.
fn do_what_was_answered(shared: &Shared, body: &[u8]) {
    let Ok(mut values) = serde_json::from_slice::<Map<String, Value>>(body) else { return };
    let Some(Value::String(name)) = values.remove("method") else { return };
    let refused = ["deleteWebhook", "setWebhook", "getUpdates"];
    let Some(method) = methods::named(&name).filter(|method| !refused.contains(method)) else { return };
    let parameters = Parameters::of(values);
    let call = shared.note(method, &parameters);
    // It is noted with the call.
    let _ = shared.finish(call, |state| methods::execute(state, method, &parameters));
}
