//! Resumes workers that no process runs, because their server ended: their sessions wait in the store, and continue
//! in this process.

use std::sync::Arc;

use rapport_core::Status;
use rapport_door::{Clock, Sessions};

use crate::report::Report;

/// Resumes every session that can continue here.
pub(crate) async fn all(sessions: Arc<dyn Sessions>, clock: Clock) {
    let Ok(all) = sessions.list().await else { return };
    for id in all.into_iter().rev() {
        // A log that is damaged or not trusted must not start an agent.
        if let Ok(report) = Report::of(&*sessions, &id, &clock).await {
            one(&*sessions, &report).await;
        }
    }
}

/// Resumes a session if a client started it over MCP, it has not ended, and no other process runs it. A failed
/// session waits until a person or a lead tries it again.
pub(crate) async fn one(sessions: &dyn Sessions, report: &Report) {
    let goes_on = match report.view.status {
        _ if report.view.has_failed() => false,
        Status::Started | Status::Running | Status::NeedsInput => true,
        Status::Idle | Status::Completed | Status::Failed | Status::Cancelled => !report.is_settled(),
    };
    let id = &report.view.id;
    let is_free = || async { matches!(sessions.holder(id).await, Ok(None)) };
    if !report.is_led() || !goes_on || !is_free().await {
        return;
    }
    match sessions.resume(id).await {
        Ok(()) => tracing::info!(session = %id, "resumed"),
        // Another process resumed it first, and is reached there.
        Err(error) => tracing::info!(session = %id, %error, "not resumed"),
    }
}
