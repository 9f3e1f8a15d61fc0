//! The webhook, to which updates are sent instead of being polled.

use reqwest::Url;
use serde_json::{Value, json};

use super::super::refusal::Refusal;
use super::super::request::Parameters;
use super::super::state::{State, Webhook};
use super::Result;

pub(super) fn set_webhook(state: &mut State, parameters: &Parameters) -> Result {
    let url = parameters.text("url");
    if url.is_empty() {
        return delete_webhook(state, parameters);
    }
    // Telegram wants HTTPS here. Its own server takes HTTP when it runs locally, and so does this one.
    if !Url::parse(url).is_ok_and(|url| ["http", "https"].contains(&url.scheme())) {
        return Err(Refusal::bad_request("invalid webhook URL specified"));
    }
    let secret = parameters.text("secret_token");
    if secret.len() > 256 {
        return Err(Refusal::bad_request("secret token is too long"));
    }
    if !secret.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return Err(Refusal::bad_request("secret token contains unallowed characters"));
    }
    state.webhook = Some(Webhook {
        url: url.to_owned(),
        secret: secret.to_owned(),
        max_connections: parameters.number("max_connections").unwrap_or(40),
        last_error: None,
    });
    allow(state, parameters);
    drop_pending(state, parameters);
    Ok(true.into())
}

pub(super) fn delete_webhook(state: &mut State, parameters: &Parameters) -> Result {
    state.webhook = None;
    drop_pending(state, parameters);
    Ok(true.into())
}

pub(super) fn get_webhook_info(state: &mut State, _: &Parameters) -> Result {
    let pending = state.updates.pending();
    let mut info = json!({ "url": "", "has_custom_certificate": false, "pending_update_count": pending });
    if let Some(webhook) = &state.webhook {
        info["url"] = webhook.url.clone().into();
        info["max_connections"] = webhook.max_connections.into();
        if let Some((date, message)) = &webhook.last_error {
            info["last_error_date"] = (*date).into();
            info["last_error_message"] = message.clone().into();
        }
    }
    if !state.updates.allowed.is_empty() {
        info["allowed_updates"] = state.updates.allowed.clone().into();
    }
    Ok(info)
}

/// Remembers which kinds of updates the bot wants; what it does not say stays.
pub(in super::super) fn allow(state: &mut State, parameters: &Parameters) {
    let Some(allowed) = parameters.value("allowed_updates").and_then(Value::as_array) else { return };
    state.updates.allowed = allowed.iter().filter_map(Value::as_str).map(str::to_owned).collect();
}

fn drop_pending(state: &mut State, parameters: &Parameters) {
    if parameters.is("drop_pending_updates") {
        state.updates.drop_pending();
    }
}
