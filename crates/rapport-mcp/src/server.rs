//! The server: the protocol around the tools.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use rapport_core::authority::Role;
use rapport_core::{By, QuestionId, SessionId};
use rapport_door::{DoorError, Projects, Sessions, projects_for, sessions_for};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ContentBlock, CreateTaskResult, ErrorData, GetTaskParams,
    GetTaskResult, Implementation, InputRequiredResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    UpdateTaskParams,
};
#[cfg(feature = "conformance")]
use rmcp::model::{GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse};
use rmcp::service::RequestContext;
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::watch;

use crate::changes::Changes;
#[cfg(feature = "conformance")]
use crate::conformance::Fixtures;
use crate::person::PersonAtClient;
use crate::report::{Mark, Report};
use crate::state_seal::StateSeal;
use crate::tool_error::ToolError;
use crate::tools::{self, ToolCall};
use crate::{McpSetup, lead, tasks};

/// The server's instructions for the model.
const INSTRUCTIONS: &str = "Rapport runs coding agents (workers) in workplaces of their own, which may ask. Start one with \
task_worker, then call wait: it returns when a worker asks, finishes or fails. Answer its questions with \
answer_worker_question. Permissions, plans and secrets are for the person: wait shows them in a dialog where this client has \
dialogs. Otherwise tell the person what is asked and where to answer, then wait again. When a worker is done, look at review_changes; then apply_changes, reject_changes or request_revision.";

/// The maximum number of remembered reports, and of remembered dialogs. Beyond it, a client may be told or asked
/// twice.
const MOST_MARKS: usize = 10_000;

/// A server for any number of clients, and the client that this handle serves, with its role. Clones share their state.
#[derive(Clone)]
pub(crate) struct Server(Arc<Inner>, ClientKey, Role);

/// Identifies a client by its MCP session over HTTP. The client at standard input and output has no session, and
/// neither has one that speaks the protocol without sessions; these are identified by the name of their program.
type ClientKey = Option<Arc<str>>;

struct Inner {
    setup: McpSetup,
    sessions: Arc<dyn Sessions>,
    /// The same for a client that may only look.
    seen_sessions: Arc<dyn Sessions>,
    seen_projects: Arc<dyn Projects>,
    changes: Changes,
    /// The last report of each task that each client's lead got.
    told: Mutex<HashMap<(ClientKey, String, SessionId), Mark>>,
    /// The outcome of dialogs at each client.
    dialogs: Mutex<HashMap<(ClientKey, String, SessionId, QuestionId), DialogNote>>,
    /// Becomes true when waiting calls have to end.
    stop: watch::Receiver<bool>,
    seal: StateSeal,
    #[cfg(feature = "conformance")]
    fixtures: Option<Fixtures>,
}

/// The outcome of a dialog without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DialogNote {
    /// The person did not decide, and is not asked again at this client.
    Declined,
    /// The person's answer was refused, for this reason.
    Refused(String),
}

impl Server {
    /// A server over these sessions.
    pub(crate) async fn new(
        setup: McpSetup,
        sessions: Arc<dyn Sessions>,
        stop: watch::Receiver<bool>,
        seal: StateSeal,
    ) -> Result<Self, DoorError> {
        let changes = Changes::watch(sessions.clone()).await?;
        let inner = Inner {
            seen_sessions: sessions_for(Role::Look, sessions.clone()),
            seen_projects: projects_for(Role::Look, setup.projects.clone()),
            setup,
            sessions,
            changes,
            told: Mutex::default(),
            dialogs: Mutex::default(),
            stop,
            seal,
            #[cfg(feature = "conformance")]
            fixtures: Fixtures::of_this_process(),
        };
        Ok(Self(Arc::new(inner), None, Role::Answer))
    }

    /// The same server, for the client of this request.
    fn of_client(&self, context: &RequestContext<RoleServer>) -> Self {
        let parts = context.extensions.get::<Parts>();
        let session = parts.and_then(|parts| parts.headers.get(HEADER_SESSION_ID)?.to_str().ok());
        // Over HTTP, the token of a request decides; the client at standard input and output is the person's own.
        let role = parts.and_then(|parts| parts.extensions.get::<Role>().copied()).unwrap_or(self.2);
        Self(self.0.clone(), session.map(Into::into), role)
    }

    pub(crate) fn setup(&self) -> &McpSetup {
        &self.0.setup
    }

    pub(crate) fn sessions(&self) -> &dyn Sessions {
        match self.2 {
            Role::Answer => &*self.0.sessions,
            Role::Look => &*self.0.seen_sessions,
        }
    }

    /// What is known about projects.
    pub(crate) fn projects(&self) -> &dyn Projects {
        match self.2 {
            Role::Answer => &*self.0.setup.projects,
            Role::Look => &*self.0.seen_projects,
        }
    }

    /// The report of a session now.
    pub(crate) async fn report(&self, id: &SessionId) -> Result<Report, ToolError> {
        Report::of(self.sessions(), id, &self.setup().clock).await
    }

    pub(crate) fn changes(&self) -> &Changes {
        &self.0.changes
    }

    pub(crate) fn stop(&self) -> watch::Receiver<bool> {
        self.0.stop.clone()
    }

    pub(crate) fn seal(&self) -> &StateSeal {
        &self.0.seal
    }

    /// How often a call asked for input, from the state that the client sent back.
    fn round(&self, state: Option<&str>) -> Result<u32, ErrorData> {
        let Some(state) = state else { return Ok(0) };
        let foreign = "this requestState is not one that this server gave out; call again without it";
        self.0.seal.open(state).ok_or_else(|| ErrorData::invalid_params(foreign, None))
    }

    #[cfg(feature = "conformance")]
    fn fixtures(&self) -> Option<&Fixtures> {
        self.0.fixtures.as_ref()
    }

    /// Remembers the report that a lead got.
    pub(crate) fn note_told(&self, lead: &By, report: &Report) {
        let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST_MARKS {
            told.clear();
        }
        told.insert(self.told_key(lead, report), report.mark());
    }

    /// Whether the report differs from the last one that the lead got, or is the first.
    pub(crate) fn is_news(&self, lead: &By, report: &Report) -> bool {
        let told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.get(&self.told_key(lead, report)) != Some(&report.mark())
    }

    fn told_key(&self, lead: &By, report: &Report) -> (ClientKey, String, SessionId) {
        (self.1.clone(), lead.to_string(), report.view.id.clone())
    }

    /// Remembers the outcome of a dialog at the client of a lead.
    pub(crate) fn note_dialog(&self, lead: &By, id: &SessionId, question: &QuestionId, note: DialogNote) {
        let mut dialogs = self.0.dialogs.lock().unwrap_or_else(PoisonError::into_inner);
        if dialogs.len() >= MOST_MARKS {
            dialogs.clear();
        }
        dialogs.insert((self.1.clone(), lead.to_string(), id.clone(), question.clone()), note);
    }

    /// The outcome of a dialog at the client of a lead, if it ended without an answer.
    pub(crate) fn dialog_note(&self, lead: &By, id: &SessionId, question: &QuestionId) -> Option<DialogNote> {
        let dialogs = self.0.dialogs.lock().unwrap_or_else(PoisonError::into_inner);
        dialogs.get(&(self.1.clone(), lead.to_string(), id.clone(), question.clone())).cloned()
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        #[cfg(feature = "conformance")]
        let capabilities = Fixtures::declared(self.fixtures(), capabilities);
        let info = Implementation::new("rapport", self.setup().version).with_title("Rapport");
        let mut config = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        config.server_info = info;
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let all = tools::all(&self.setup().workers.kinds);
        #[cfg(feature = "conformance")]
        let all = Fixtures::beside(self.fixtures(), all);
        Ok(ListToolsResult::with_all_items(all))
    }

    // Methods of capabilities that this server does not declare: rmcp would answer them with empty lists.

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        #[cfg(feature = "conformance")]
        if self.fixtures().is_some() {
            return Ok(Fixtures::prompts());
        }
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    #[cfg(feature = "conformance")]
    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if self.fixtures().is_none() {
            return Err(ErrorData::method_not_found::<GetPromptRequestMethod>());
        }
        let round = self.round(request.request_state.as_deref())?;
        let replies = request.input_responses.unwrap_or_default();
        let (server, lead) = (self.of_client(&context), lead::of(&context, self.setup().lead.as_ref()));
        let person = PersonAtClient { server: &server, lead: &lead, context: &context, replies, round };
        Fixtures::prompt(&person, &request.name)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.clone();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let round = self.round(request.request_state.as_deref())?;
        let replies = request.input_responses.unwrap_or_default();
        let (server, lead) = (self.of_client(&context), lead::of(&context, self.setup().lead.as_ref()));
        let person = PersonAtClient { server: &server, lead: &lead, context: &context, replies, round };
        #[cfg(feature = "conformance")]
        if let Some(fixtures) = self.fixtures()
            && let Some(result) = fixtures.call(&person, &name, &arguments).await
        {
            return result;
        }
        let call = match ToolCall::read(&name, arguments) {
            Some(Ok(call)) => call,
            Some(Err(trouble)) => return Ok(refused(&trouble)),
            None => return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None)),
        };
        tracing::debug!(tool = %name, "called");
        Ok(match call.carry_out(&person).await {
            Ok(outcome) => outcome.into(),
            Err(trouble) => {
                tracing::debug!(tool = %name, kind = ?trouble.kind(), "refused");
                refused(&trouble)
            }
        })
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let (server, lead) = (self.of_client(&context), lead::of(&context, self.setup().lead.as_ref()));
        let task =
            tasks::get(&PersonAtClient::beside_calls(&server, &lead, &context), &request.task_id).await;
        task.map(GetTaskResult::new).map_err(|trouble| tasks::error(&trouble))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (server, lead) = (self.of_client(&context), lead::of(&context, self.setup().lead.as_ref()));
        let person = PersonAtClient::beside_calls(&server, &lead, &context);
        let replies = request.input_responses;
        #[cfg(feature = "conformance")]
        let replies = Fixtures::translated(self.fixtures(), replies);
        let updated = tasks::update(&person, &request.task_id, &replies).await;
        updated.map_err(|trouble| tasks::error(&trouble))
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (server, lead) = (self.of_client(&context), lead::of(&context, self.setup().lead.as_ref()));
        let cancelled =
            tasks::cancel(&PersonAtClient::beside_calls(&server, &lead, &context), &request.task_id).await;
        cancelled.map_err(|trouble| tasks::error(&trouble))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

/// The reply of a tool: words for the model, and the same as data.
#[derive(Debug)]
pub(crate) struct ToolReply {
    pub(crate) text: String,
    pub(crate) data: Value,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) enum ToolOutcome {
    Replied(ToolReply),
    /// Dialogs that the client shows to the person before it calls again.
    Asks(InputRequiredResult),
    /// A task that the client follows itself.
    Task(CreateTaskResult),
}

impl From<ToolOutcome> for CallToolResponse {
    fn from(outcome: ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Replied(told) => told.into(),
            ToolOutcome::Asks(asks) => asks.into(),
            ToolOutcome::Task(task) => task.into(),
        }
    }
}

impl From<ToolReply> for CallToolResponse {
    fn from(told: ToolReply) -> Self {
        let mut result = CallToolResult::success(vec![ContentBlock::text(told.text)]);
        result.structured_content = Some(told.data);
        result.into()
    }
}

fn refused(trouble: &ToolError) -> CallToolResponse {
    let mut result = CallToolResult::error(vec![ContentBlock::text(trouble.message())]);
    result.structured_content = Some(trouble.data());
    result.into()
}
