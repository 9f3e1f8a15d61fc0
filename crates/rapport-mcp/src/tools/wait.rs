//! `wait`: returns when something changed that this lead has not been told yet, and reports progress until then.

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

use super::status::recent;
use crate::person::{self, DialogOutcome, PersonAtClient, ShownDialog};
use crate::report::Report;
use crate::server::{Server, ToolOutcome, ToolReply};
use crate::tool_error::{ToolError, ToolErrorKind};
use crate::{ids, resumption, words};

/// The default and the maximum time to wait, in seconds.
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

/// Waits for news of a task, or of any task that was started over MCP. Questions that only a person may decide are
/// shown to the person at the client for as long as the call lasts. News of other tasks does not end the call
/// meanwhile, so that the dialog does not vanish while the person reads it.
pub(crate) async fn wait(
    person: &PersonAtClient<'_>,
    arguments: WaitArguments,
) -> Result<ToolOutcome, ToolError> {
    let mut shown = None;
    let outcome = watch(person, arguments, &mut shown).await;
    // The dialog ends with the call, whatever its outcome.
    if let Some(shown) = shown {
        shown.withdraw().await;
    }
    outcome
}

async fn watch(
    person: &PersonAtClient<'_>,
    arguments: WaitArguments,
    shown: &mut Option<ShownDialog>,
) -> Result<ToolOutcome, ToolError> {
    let PersonAtClient { server, lead, context, .. } = *person;
    let session = arguments.task_id.as_deref().map(ids::session).transpose()?;
    let seconds = arguments.seconds.unwrap_or(USUAL).min(LONGEST);
    // Subscribes before the first look, so that no change in between is missed.
    let mut changes = server.changes().subscribe();
    let mut stop = server.stop();
    let (began, token) = (Instant::now(), context.meta.get_progress_token());
    let deadline = began + Duration::from_secs(seconds);
    let mut tick = interval_at(began + PROGRESS, PROGRESS);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let undecided = person.settle_replies().await?;
    let mut watched = look(server, session.as_ref()).await?;
    // The server that ran a task may have ended.
    for report in &watched {
        resumption::one(server.sessions(), report).await;
    }
    if !undecided.is_empty() {
        return Ok(tell_undecided(server, lead, &watched, &undecided));
    }
    // A call that does not wait shows no dialog.
    let is_for_dialog = |report: &Report| seconds > 0 && person.decides(report);
    loop {
        person.withdraw_settled(shown, &watched).await;
        if shown.is_none() {
            let news = watched.iter().filter(|report| is_news(server, lead, report));
            let news: Vec<_> = news.filter(|report| !is_for_dialog(report)).collect();
            if !news.is_empty() {
                return Ok(ToolOutcome::Replied(tell(server, lead, &news, true)));
            }
            if watched.iter().any(&is_for_dialog)
                && let Some(asks) = person.show(shown, &watched).await
            {
                return Ok(ToolOutcome::Asks(asks));
            }
            if shown.is_none() && watched.iter().any(|report| is_news(server, lead, report)) {
                break;
            }
        }
        tokio::select! {
            reply = person::reply(shown) => {
                let Some(ended) = shown.take() else { continue };
                let settled = match reply {
                    Some(result) => person.settle(&ended.dialog.key, &result).await?,
                    None => person.give_up(&ended),
                };
                watched = look(server, session.as_ref()).await?;
                if settled == DialogOutcome::Undecided {
                    return Ok(tell_undecided(server, lead, &watched, &[ended.dialog.session]));
                }
            },
            changed = changes.recv() => match changed {
                Ok(id) => renew(server, session.as_ref(), &mut watched, &id).await?,
                Err(RecvError::Lagged(_)) => watched = look(server, session.as_ref()).await?,
                // This server stops, or the watch ended: no change would end this call.
                Err(RecvError::Closed) => return Err(deaf()),
            },
            _ = tick.tick() => report_progress(context, token.as_ref(), began.elapsed(), &watched).await,
            () = sleep_until(deadline) => break,
            () = context.ct.cancelled() => break,
            () = stopped(&mut stop) => break,
        }
    }
    let news: Vec<_> = watched.iter().filter(|report| is_news(server, lead, report)).collect();
    let told = match news.as_slice() {
        [] => tell(server, lead, &watched.iter().collect::<Vec<_>>(), false),
        news => tell(server, lead, news, true),
    };
    Ok(ToolOutcome::Replied(told))
}

/// Whether a task waits for a person or a lead, and the lead has not been told.
fn is_news(server: &Server, lead: &By, report: &Report) -> bool {
    report.is_settled() && server.is_news(lead, report)
}

/// Tells the lead that the person did not decide in these sessions.
fn tell_undecided(server: &Server, lead: &By, watched: &[Report], undecided: &[SessionId]) -> ToolOutcome {
    let reports: Vec<_> = watched.iter().filter(|report| undecided.contains(&report.view.id)).collect();
    let mut told = tell(server, lead, &reports, true);
    told.text = format!(
        "The person did not decide this in a dialog of this client. The question stays open.\n{}",
        told.text
    );
    ToolOutcome::Replied(told)
}

/// Waits until the server stops, or the sender of that signal is dropped.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// The tasks that this call waits for.
async fn look(server: &Server, session: Option<&SessionId>) -> Result<Vec<Report>, ToolError> {
    match session {
        Some(id) => Ok(vec![server.report(id).await?]),
        None => Ok(recent(server).await?.into_iter().filter(Report::is_led).collect()),
    }
}

/// Reads a changed session again, if this call waits for it.
async fn renew(
    server: &Server,
    session: Option<&SessionId>,
    watched: &mut Vec<Report>,
    changed: &SessionId,
) -> Result<(), ToolError> {
    if session.is_some_and(|session| session != changed) {
        return Ok(());
    }
    let report = match (server.report(changed).await, session) {
        (Ok(report), _) => Some(report).filter(|report| session.is_some() || report.is_led()),
        (Err(trouble), Some(_)) => return Err(trouble),
        // A session that is not trusted, such as one that came with a `git pull`, or a damaged log: the first look
        // omits those, too.
        (Err(trouble), None) => {
            tracing::debug!(session = %changed, kind = ?trouble.kind(), "left out");
            None
        }
    };
    watched.retain(|known| known.view.id != *changed);
    watched.splice(0..0, report);
    Ok(())
}

fn deaf() -> ToolError {
    ToolError::new(
        ToolErrorKind::Failed,
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
    // A client that disconnected ends the call in another way.
    let _ = context.peer.notify_progress(progress).await;
}

fn tell(server: &Server, lead: &By, reports: &[&Report], changed: bool) -> ToolReply {
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
    ToolReply { text, data }
}
