//! Asks the person at a client, during a call. In the older protocol a dialog is a request of this server within the
//! call. In the newer one the call returns a result that asks for input, and the client calls again with the reply.

use std::future::pending;

use rapport_core::{By, SessionId};
use rapport_door::DoorError;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitResult, ElicitationAction, InputRequest, InputRequests, InputRequiredResult,
    InputResponses, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RequestHandle};
use serde_json::Value;

use crate::dialog::{self, Dialog, FilledIn};
use crate::report::Report;
use crate::server::{DialogNote, Server};
use crate::tool_error::ToolError;
use crate::{CHANNEL, ids};

/// How often a call may ask for input. Clients give up after ten times.
const MOST_ROUNDS: u32 = 8;

/// The person at the client of a call.
pub(crate) struct PersonAtClient<'a> {
    pub(crate) server: &'a Server,
    /// The client's model.
    pub(crate) lead: &'a By,
    pub(crate) context: &'a RequestContext<RoleServer>,
    /// What the person replied to the dialogs that an earlier result of this call asked for.
    pub(crate) replies: InputResponses,
    /// How often this call asked for input before.
    pub(crate) round: u32,
}

/// The outcome of a reply to a dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DialogOutcome {
    /// The question is answered, no longer open, or now asked in other words.
    Changed,
    /// The person did not decide, and is not asked again here.
    Undecided,
}

impl<'a> PersonAtClient<'a> {
    /// The person at the client, for a request that is not a tool call.
    pub(crate) fn beside_calls(
        server: &'a Server,
        lead: &'a By,
        context: &'a RequestContext<RoleServer>,
    ) -> Self {
        Self { server, lead, context, replies: InputResponses::new(), round: 0 }
    }

    /// Whether the client follows tasks itself, and shows their questions to the person.
    pub(crate) fn follows_tasks(&self) -> bool {
        self.can_ask() && self.context.client_capabilities().is_some_and(|client| client.supports_tasks())
    }

    /// The questions to show to the person at this client: only a person may answer them, and this person has not
    /// declined to.
    pub(crate) fn dialogs(&self, report: &Report) -> Vec<Dialog> {
        if !report.is_led() || !self.can_ask() {
            return Vec::new();
        }
        let open = report.view.questions.iter().filter(|open| report.needs_person(open));
        open.filter_map(|open| match self.server.dialog_note(self.lead, &report.view.id, &open.id) {
            Some(DialogNote::Declined) => None,
            Some(DialogNote::Refused(why)) => Dialog::of(&report.view, open, Some(&why)),
            None => Dialog::of(&report.view, open, None),
        })
        .collect()
    }

    /// Whether the client can show dialogs, and the settings let them count as decisions of the person.
    pub(crate) fn can_ask(&self) -> bool {
        let client = self.context.client_capabilities();
        self.server.setup().dialogs && dialog::are_shown_by(client.as_ref())
    }

    /// As whom a reply is recorded.
    pub(crate) fn person(&self) -> By {
        let name = match &self.server.setup().person {
            By::Person { id, .. } => id.clone(),
            other => other.to_string(),
        };
        let client = match self.lead {
            By::Lead { name } => name.clone(),
            other => other.to_string(),
        };
        By::Person { channel: CHANNEL.into(), id: format!("{name} at {client}") }
    }

    /// Records the replies that came with this call. Returns the sessions in which the person did not decide.
    pub(crate) async fn settle_replies(&self) -> Result<Vec<SessionId>, ToolError> {
        let mut undecided = Vec::new();
        for (key, reply) in &self.replies {
            if self.settle(key, &read(reply)).await? == DialogOutcome::Undecided {
                undecided.extend(session_of(key));
            }
        }
        Ok(undecided)
    }

    /// Records what the person made of a dialog. A dialog that is not the current one of its question changes
    /// nothing: another person answered first, or what this person saw has changed.
    pub(crate) async fn settle(&self, key: &str, result: &ElicitResult) -> Result<DialogOutcome, ToolError> {
        let Some(session) = session_of(key) else { return Ok(DialogOutcome::Changed) };
        let report = self.server.report(&session).await?;
        let Some(dialog) = self.dialogs(&report).into_iter().find(|dialog| dialog.key == key) else {
            return Ok(DialogOutcome::Changed);
        };
        let Some(open) = report.view.questions.iter().find(|open| open.id == dialog.question) else {
            return Ok(DialogOutcome::Changed);
        };
        let why = match dialog::read(open, result) {
            FilledIn::Nothing => {
                self.decline(&dialog);
                return Ok(DialogOutcome::Undecided);
            }
            FilledIn::Nonsense(why) => why,
            FilledIn::Answer(reply) => {
                let act = rapport_core::Act::Answer { question: Some(open.id.clone()), reply };
                match self.server.sessions().act(&session, &self.person(), &act).await {
                    Ok(_) => return Ok(DialogOutcome::Changed),
                    Err(DoorError::Refused(refusal)) => refusal.to_string(),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        Ok(self.refuse(&dialog, why))
    }

    /// Shows a dialog again, once, with the reason why the answer was refused. Without that limit, a client that
    /// always fills in the same invalid value would be asked forever.
    fn refuse(&self, dialog: &Dialog, why: String) -> DialogOutcome {
        let Dialog { session, question, .. } = dialog;
        match self.server.dialog_note(self.lead, session, question) {
            None => {
                self.server.note_dialog(self.lead, session, question, DialogNote::Refused(why));
                DialogOutcome::Changed
            }
            Some(DialogNote::Refused(_) | DialogNote::Declined) => {
                self.decline(dialog);
                DialogOutcome::Undecided
            }
        }
    }

    fn decline(&self, dialog: &Dialog) {
        self.server.note_dialog(self.lead, &dialog.session, &dialog.question, DialogNote::Declined);
    }

    /// Whether a task waits for the person at this client only.
    pub(crate) fn decides(&self, report: &Report) -> bool {
        !self.dialogs(report).is_empty() && report.for_lead().is_empty()
    }

    /// Withdraws a dialog whose question is no longer open as it is shown.
    pub(crate) async fn withdraw_settled(&self, shown: &mut Option<ShownDialog>, watched: &[Report]) {
        let is_current = |shown: &ShownDialog| {
            let mut dialogs = watched.iter().flat_map(|report| self.dialogs(report));
            dialogs.any(|dialog| dialog.key == shown.dialog.key)
        };
        if let Some(old) = shown.take_if(|shown| !is_current(shown)) {
            old.withdraw().await;
        }
    }

    /// Shows the person one of the questions that they have to decide. If the client's protocol has dialogs as
    /// results, returns the result that the call has to end with.
    pub(crate) async fn show(
        &self,
        shown: &mut Option<ShownDialog>,
        watched: &[Report],
    ) -> Option<InputRequiredResult> {
        let dialogs: Vec<_> = watched.iter().flat_map(|report| self.dialogs(report)).collect();
        if self.asks_by_result() {
            return self.asks(dialogs);
        }
        for dialog in dialogs {
            let request = ServerRequest::ElicitRequest(dialog.request.clone());
            let sent =
                self.context.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
            match sent {
                Ok(request) => {
                    *shown = Some(ShownDialog { dialog, request });
                    return None;
                }
                Err(error) => {
                    tracing::info!(%error, "a dialog cannot be shown");
                    self.decline(&dialog);
                }
            }
        }
        None
    }

    /// Whether the client's protocol has dialogs as results of calls, instead of requests of the server.
    fn asks_by_result(&self) -> bool {
        let version = self.context.protocol_version();
        version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
    }

    /// A result that asks for these dialogs; `None` if this call has asked too often.
    fn asks(&self, dialogs: Vec<Dialog>) -> Option<InputRequiredResult> {
        if self.round >= MOST_ROUNDS {
            return None;
        }
        let state = self.server.seal().seal(self.round + 1);
        Some(InputRequiredResult::new(Some(requests(dialogs)), Some(state)))
    }

    /// Ends a dialog without a reply: the client cannot show it, or has disconnected.
    pub(crate) fn give_up(&self, shown: &ShownDialog) -> DialogOutcome {
        self.decline(&shown.dialog);
        DialogOutcome::Undecided
    }
}

/// Dialogs as requests to a client, by their keys.
pub(crate) fn requests(dialogs: Vec<Dialog>) -> InputRequests {
    dialogs.into_iter().map(|dialog| (dialog.key, InputRequest::Elicitation(dialog.request))).collect()
}

/// Parses the reply to a dialog. An unreadable reply counts as cancelled: the person did not decide.
pub(crate) fn read(reply: &Value) -> ElicitResult {
    serde_json::from_value(reply.clone()).unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel))
}

/// The session of a dialog's key. The key comes back from the client, so it is not trusted.
fn session_of(key: &str) -> Option<SessionId> {
    key.split_once('/').and_then(|(session, _)| ids::session(session).ok())
}

/// A dialog that the client shows now.
#[derive(Debug)]
pub(crate) struct ShownDialog {
    pub(crate) dialog: Dialog,
    request: RequestHandle<RoleServer>,
}

impl ShownDialog {
    /// Waits for the person's reply; `None` if the client does not show the dialog.
    async fn reply(&mut self) -> Option<ElicitResult> {
        match (&mut self.request.rx).await {
            Ok(Ok(ClientResult::ElicitResult(result))) => Some(result),
            _ => None,
        }
    }

    /// Withdraws the dialog, because the question no longer has to be decided here.
    pub(crate) async fn withdraw(self) {
        // A client that disconnected has no dialog to close.
        let _ = self.request.cancel(Some("this no longer has to be decided".into())).await;
    }
}

/// Waits for the reply to the shown dialog; forever if none is shown.
pub(crate) async fn reply(shown: &mut Option<ShownDialog>) -> Option<ElicitResult> {
    match shown {
        Some(shown) => shown.reply().await,
        None => pending().await,
    }
}
