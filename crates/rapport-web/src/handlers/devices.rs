//! The paired devices.

use std::io;
use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use maud::html;
use tokio::task::spawn_blocking;

use super::after;
use crate::access::{Posted, Visitor};
use crate::page::{self, Frame, Section, framed};
use crate::site::{DeviceNotice, Site};

/// `GET /devices`: all of them.
pub(crate) async fn list(State(site): State<Arc<Site>>, Extension(visitor): Extension<Visitor>) -> Response {
    let (stored, device) = (site.push.subscriptions.clone(), visitor.token.clone());
    let subscription = spawn_blocking(move || stored.of_device(&device)).await;
    // The devices can be listed and revoked even if that cannot be read.
    let subscription = subscription.map_err(io::Error::from).flatten();
    match site.devices.current().await {
        Ok(known) => {
            let content = html! {
                (page::devices::list(&site, &visitor, &known.devices))
                (page::notifications::section(&site, &visitor, &subscription))
            };
            let frame = Frame {
                site: &site,
                visitor: &visitor,
                section: Section::Devices,
                title: "Devices",
                session: None,
            };
            page::sent(&site, framed(&frame, content))
        }
        Err(error) => page::failure(&site, StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// `POST /devices`: revokes one.
pub(crate) async fn change(State(site): State<Arc<Site>>, posted: Posted) -> Response {
    let Posted { visitor, fields } = posted;
    let (devices, name) = (site.devices.devices.clone(), fields.get("name").to_owned());
    let revoked = site.devices.blocking(move || devices.revoke(&name)).await;
    let said = match revoked {
        Ok(()) => DeviceNotice::Done("Revoked. The device can no longer connect.".to_owned()),
        Err(error) => DeviceNotice::Refused(error.to_string()),
    };
    site.told.tell(&visitor.name, said);
    after("/devices")
}
