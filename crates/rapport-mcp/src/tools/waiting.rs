//! `wait`: returns when something changed that this lead has not been told, and reports progress until then.

use std::time::Duration;

use rapport_core::{By, SessionId};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::looking::recent;
use crate::report::Report;
use crate::server::{Server, Told};
use crate::trouble::{Trouble, TroubleKind};
use crate::{ids, take_up, words};

/// How long to wait unless a call says so, and at most, in seconds.
const USUAL: u64 = 300;
pub(crate) const LONGEST: u64 = 3600;

/// How often progress is reported. Clients give up on a silent call after minutes.
const PROGRESS: Duration = Duration::from_secs(20);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WaitArguments {
    task_id: Option<String>,
    seconds: Option<u64>,
}

/// Waits for news of a task, or of any that was begun over MCP.
pub(crate) async fn wait(
    server: &Server,
    lead: &By,
    context: &RequestContext<RoleServer>,
    arguments: WaitArguments,
) -> Result<Told, Trouble> {
    let session = arguments.task_id.as_deref().map(ids::session).transpose()?;
    let seconds = arguments.seconds.unwrap_or(USUAL).min(LONGEST);
    // Before the first look, so that no change is missed in between.
    let mut changes = server.changes().subscribe();
    let mut stop = server.stop();
    let (began, token) = (Instant::now(), context.meta.get_progress_token());
    let deadline = began + Duration::from_secs(seconds);
    let mut tick = interval_at(began + PROGRESS, PROGRESS);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut watched = look(server, session.as_ref()).await?;
    // The server that ran one may be gone.
    for report in &watched {
        take_up::one(server.sessions(), report).await;
    }
    loop {
        let news: Vec<_> =
            watched.iter().filter(|report| report.is_settled() && server.is_news(lead, report)).collect();
        if !news.is_empty() {
            return Ok(tell(server, lead, &news, true));
        }
        tokio::select! {
            changed = changes.recv() => match changed {
                Ok(id) => renew(server, session.as_ref(), &mut watched, &id).await?,
                Err(RecvError::Lagged(_)) => watched = look(server, session.as_ref()).await?,
                // This server stops, or the sessions cannot be followed any more: nothing would end this call.
                Err(RecvError::Closed) => return Err(deaf()),
            },
            _ = tick.tick() => report_progress(context, token.as_ref(), began.elapsed(), &watched).await,
            () = sleep_until(deadline) => break,
            () = context.ct.cancelled() => break,
            () = stopped(&mut stop) => break,
        }
    }
    let all: Vec<_> = watched.iter().collect();
    Ok(tell(server, lead, &all, false))
}

/// Waits until the server stops, or whoever would say so is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// The tasks that are waited for.
async fn look(server: &Server, session: Option<&SessionId>) -> Result<Vec<Report>, Trouble> {
    match session {
        Some(id) => Ok(vec![Report::of(server.sessions(), id).await?]),
        None => Ok(recent(server).await?.into_iter().filter(Report::is_led).collect()),
    }
}

/// Reads a session again that changed, if it is one of those that are waited for.
async fn renew(
    server: &Server,
    session: Option<&SessionId>,
    watched: &mut Vec<Report>,
    changed: &SessionId,
) -> Result<(), Trouble> {
    if session.is_some_and(|session| session != changed) {
        return Ok(());
    }
    let report = match (Report::of(server.sessions(), changed).await, session) {
        (Ok(report), _) => Some(report).filter(|report| session.is_some() || report.is_led()),
        (Err(trouble), Some(_)) => return Err(trouble),
        // Somebody else's session, such as one that came with a `git pull`, or a damaged log: the first look leaves those out,
        // too.
        (Err(trouble), None) => {
            tracing::debug!(session = %changed, kind = ?trouble.kind(), "left out");
            None
        }
    };
    watched.retain(|known| known.view.id != *changed);
    watched.splice(0..0, report);
    Ok(())
}

fn deaf() -> Trouble {
    Trouble::new(
        TroubleKind::Failed,
        "this server no longer hears of changes. work_status shows how the tasks are; to wait for them, the person has to restart \
         the server",
    )
}

async fn report_progress(
    context: &RequestContext<RoleServer>,
    token: Option<&ProgressToken>,
    elapsed: Duration,
    watched: &[Report],
) {
    let Some(token) = token else { return };
    let at_work = watched.iter().find(|report| !report.is_settled()).or(watched.first());
    let message = at_work.map(words::line).unwrap_or_else(|| "no task runs".to_owned());
    let progress = ProgressNotificationParam::new(token.clone(), elapsed.as_secs_f64()).with_message(message);
    // A client that is gone ends the call in another way.
    let _ = context.peer.notify_progress(progress).await;
}

fn tell(server: &Server, lead: &By, reports: &[&Report], changed: bool) -> Told {
    reports.iter().for_each(|report| server.note_told(lead, report));
    let text = match (changed, reports) {
        (_, []) => "There is no task to wait for.".to_owned(),
        (true, reports) => {
            reports.iter().map(|report| words::report(report, false)).collect::<Vec<_>>().join("\n")
        }
        (false, reports) => {
            let lines: Vec<_> = reports.iter().map(|report| words::line(report)).collect();
            format!("Nothing changed. Call wait again.\n{}", lines.join("\n"))
        }
    };
    let mut data = match reports {
        [only] => only.data(),
        _ => json!({ "success": true }),
    };
    data["changed"] = json!(changed);
    data["tasks"] = reports.iter().map(|report| report.data()).collect();
    Told { text, data }
}
