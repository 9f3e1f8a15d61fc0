//! Starts an engine for a command, with the helpers that some actions of a plan need.

use std::sync::Arc;

use super::workflow::helpers::ProjectHelpers;
use crate::config::Settings;
use crate::error::Failure;
use crate::wiring::{Host, SessionKind, Workspace};

/// Starts an engine for this place.
pub(super) async fn start(place: &Workspace, settings: &Settings) -> Result<Host, Failure> {
    start_in(place, settings, &SessionKind::Sessions).await
}

/// Starts an engine for the sessions of a kind.
pub(super) async fn start_in(
    place: &Workspace,
    settings: &Settings,
    kind: &SessionKind,
) -> Result<Host, Failure> {
    let helpers = ProjectHelpers { place: place.clone(), settings: settings.clone() };
    Host::start(place, settings, kind, Arc::new(helpers)).await
}
