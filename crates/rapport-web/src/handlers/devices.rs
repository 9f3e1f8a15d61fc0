//! The paired devices.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::after;
use crate::access::{Posted, Visitor};
use crate::page::{self, Frame, Section, framed};
use crate::site::{DeviceNotice, Site};

/// `GET /devices`: all of them.
pub(crate) async fn list(State(site): State<Arc<Site>>, Extension(visitor): Extension<Visitor>) -> Response {
    match site.devices.current().await {
        Ok(known) => {
            let frame = Frame {
                site: &site,
                visitor: &visitor,
                section: Section::Devices,
                title: "Devices",
                session: None,
            };
            page::sent(&site, framed(&frame, page::devices::list(&site, &visitor, &known.devices)))
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
