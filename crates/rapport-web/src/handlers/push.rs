//! Notifications on this device: its subscription, and what a notification opens.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::response::Response;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rapport_core::QuietHours;
use tokio::task::spawn_blocking;

use super::after;
use crate::access::{OwnForm, Visitor};
use crate::fields::Fields;
use crate::page::notifications::BUNDLES;
use crate::push::{Subscription, SubscriptionKeys, Wake, Wishes, alerts, find};
use crate::site::{DeviceNotice, Site};

/// The maximum length of the name of a time zone.
const LONGEST_ZONE: usize = 64;

/// `POST /push`: subscribes this device, changes what wakes it, sends it a test, or ends the subscription. Being woken
/// changes nothing in any session, so a device that may only look can do it, too.
pub(crate) async fn change(State(site): State<Arc<Site>>, posted: OwnForm) -> Response {
    let OwnForm { visitor, fields } = posted;
    let done = match fields.get("do") {
        "subscribe" => subscribe(&site, &visitor, &fields).await,
        "save" => save(&site, &visitor, &fields).await,
        "test" => {
            site.push.test(&visitor.token);
            Ok("A test notification is on its way.")
        }
        "off" => {
            let (stored, device) = (site.push.subscriptions.clone(), visitor.token.clone());
            let removed = blocking(move || stored.remove(&[device])).await;
            removed.map(|()| "This device gets no more notifications.")
        }
        _ => Err("This page is from another version. Load it again.".to_owned()),
    };
    site.push.changed.notify_one();
    let said = match done {
        Ok(words) => DeviceNotice::Done(words.to_owned()),
        Err(why) => DeviceNotice::Refused(why),
    };
    site.told.tell(&visitor.name, said);
    after("/devices")
}

/// `GET /o/ID`: what a notification is about.
pub(crate) async fn open(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Response {
    site.board.soon_read().await;
    // Nothing is called `-`, so the inbox says that it no longer waits, and shows no other card in its place.
    after(&find(&site.board, &visitor.token, &id).unwrap_or_else(|| "/?s=-&q=-".to_owned()))
}

async fn subscribe(site: &Site, visitor: &Visitor, fields: &Fields) -> Result<&'static str, String> {
    let endpoint = fields.get("endpoint").to_owned();
    site.push.policy.read(&endpoint)?;
    let keys = SubscriptionKeys::read(fields.get("p256dh"), fields.get("auth"));
    let keys = keys.ok_or("The browser gave no keys for notifications.")?;
    let (now, device) = ((site.now)(), visitor.token.clone());
    let wishes = Wishes::usual(zone(fields));
    // What waits already is on the page that the person looks at.
    let told = alerts(&site.board, Timestamp::MAX).iter().map(|alert| alert.id(&device)).collect();
    let new = Subscription { device, endpoint, keys, since: now, wishes, told, ended_until: now };
    let stored = site.push.subscriptions.clone();
    blocking(move || stored.subscribe(new)).await?;
    Ok("This device gets notifications.")
}

async fn save(site: &Site, visitor: &Visitor, fields: &Fields) -> Result<&'static str, String> {
    let wake: BTreeSet<Wake> =
        Wake::ALL.into_iter().filter(|wake| fields.all("wake").any(|word| word == wake.word())).collect();
    let quiet = match (fields.get("from").trim(), fields.get("to").trim()) {
        ("", "") => None,
        (from, to) => {
            let hours = QuietHours::between(from, to);
            Some(hours.ok_or("Quiet hours need a beginning and an end, such as 22:00 and 07:00.")?)
        }
    };
    let bundle = fields.number::<u32>("bundle").filter(|minutes| BUNDLES.iter().any(|one| one.0 == *minutes));
    let bundle = bundle.ok_or("There is no such choice.")?;
    let (stored, device, now, zone) =
        (site.push.subscriptions.clone(), visitor.token.clone(), (site.now)(), zone(fields));
    let waiting: Vec<_> = alerts(&site.board, Timestamp::MAX)
        .into_iter()
        .map(|alert| (alert.wake, alert.id(&device)))
        .collect();
    let changed = move || {
        stored.update(&device, |one| {
            // What it was not to be woken for until now wakes it from now on, not afterwards.
            let is_new = |kind: Wake| wake.contains(&kind) && !one.wishes.wake.contains(&kind);
            one.told.extend(waiting.into_iter().filter(|(kind, _)| is_new(*kind)).map(|(_, id)| id));
            if is_new(Wake::Finished) {
                one.ended_until = now;
            }
            let zone = zone.or_else(|| one.wishes.zone.take());
            one.wishes = Wishes { wake, quiet, bundle, zone };
        })
    };
    blocking(changed).await?;
    Ok("Saved.")
}

/// The time zone that a browser names, if it is a known one.
fn zone(fields: &Fields) -> Option<String> {
    let name = fields.get("zone");
    (name.len() <= LONGEST_ZONE && TimeZone::get(name).is_ok()).then(|| name.to_owned())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, String> {
    let done = spawn_blocking(work).await.map_err(|error| error.to_string())?;
    done.map_err(|error| format!("Not stored, so nothing has changed: {error}"))
}
