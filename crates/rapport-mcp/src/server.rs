//! The server: the protocol's side of the tools.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use rapport_core::{By, SessionId};
use rapport_door::{DoorError, Sessions};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::watch;

use crate::changes::Changes;
use crate::report::{Mark, Report};
use crate::tools::{self, ToolCall};
use crate::trouble::Trouble;
use crate::{McpSetup, lead};

/// What the model is told about this server.
const INSTRUCTIONS: &str = "Rapport runs coding agents (workers) in workplaces of their own, which may ask. Start one with \
task_worker, then call wait: it returns when a worker asks, finishes or fails. Answer its questions with \
answer_worker_question. Permissions, plans and secrets are for the person: tell them what is asked and where to answer, \
then wait again. When a worker is done, look at review_changes; then apply_changes, reject_changes or request_revision.";

/// The number of last reports to remember. A client that waits for more tasks than this hears of some twice.
const MOST_MARKS: usize = 10_000;

/// A server for any number of clients. Clones share their state. Beside it: the client that it serves.
#[derive(Clone)]
pub(crate) struct Server(Arc<Inner>, ClientKey);

/// What tells one client from the others: its MCP session over HTTP. The only client at standard input and output has none, and neither
/// has one that speaks the protocol without sessions; there, the name of its program has to do.
type ClientKey = Option<Arc<str>>;

struct Inner {
    setup: McpSetup,
    sessions: Arc<dyn Sessions>,
    changes: Changes,
    /// What each client's lead was last told of each task.
    told: Mutex<HashMap<(ClientKey, String, SessionId), Mark>>,
    /// Becomes true when calls that wait have to end.
    stop: watch::Receiver<bool>,
}

impl Server {
    /// A server over these sessions.
    pub(crate) async fn new(
        setup: McpSetup,
        sessions: Arc<dyn Sessions>,
        stop: watch::Receiver<bool>,
    ) -> Result<Self, DoorError> {
        let changes = Changes::watch(sessions.clone()).await?;
        Ok(Self(Arc::new(Inner { setup, sessions, changes, told: Mutex::default(), stop }), None))
    }

    /// The same server for the client of a request.
    fn of_client(&self, context: &RequestContext<RoleServer>) -> Self {
        let parts = context.extensions.get::<Parts>();
        let session = parts.and_then(|parts| parts.headers.get(HEADER_SESSION_ID)?.to_str().ok());
        Self(self.0.clone(), session.map(Into::into))
    }

    pub(crate) fn setup(&self) -> &McpSetup {
        &self.0.setup
    }

    pub(crate) fn sessions(&self) -> &dyn Sessions {
        &*self.0.sessions
    }

    pub(crate) fn changes(&self) -> &Changes {
        &self.0.changes
    }

    pub(crate) fn stop(&self) -> watch::Receiver<bool> {
        self.0.stop.clone()
    }

    /// Remembers what a lead is told of a task.
    pub(crate) fn note_told(&self, lead: &By, report: &Report) {
        let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST_MARKS {
            told.clear();
        }
        told.insert(self.told_key(lead, report), report.mark());
    }

    /// Whether a lead was told something else of this task, or nothing yet.
    pub(crate) fn is_news(&self, lead: &By, report: &Report) -> bool {
        let told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.get(&self.told_key(lead, report)) != Some(&report.mark())
    }

    fn told_key(&self, lead: &By, report: &Report) -> (ClientKey, String, SessionId) {
        (self.1.clone(), lead.to_string(), report.view.id.clone())
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
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
        Ok(ListToolsResult::with_all_items(tools::all(&self.setup().workers.kinds)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.clone();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let call = match ToolCall::read(&name, arguments) {
            Some(Ok(call)) => call,
            Some(Err(trouble)) => return Ok(refused(&trouble)),
            None => return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None)),
        };
        let lead = lead::of(&context);
        tracing::debug!(tool = %name, "called");
        Ok(match call.carry_out(&self.of_client(&context), &lead, &context).await {
            Ok(told) => told.into(),
            Err(trouble) => {
                tracing::debug!(tool = %name, kind = ?trouble.kind(), "refused");
                refused(&trouble)
            }
        })
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

/// What a tool says: words for the model, and the same as data.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) data: Value,
}

impl From<Told> for CallToolResponse {
    fn from(told: Told) -> Self {
        let mut result = CallToolResult::success(vec![ContentBlock::text(told.text)]);
        result.structured_content = Some(told.data);
        result.into()
    }
}

fn refused(trouble: &Trouble) -> CallToolResponse {
    let mut result = CallToolResult::error(vec![ContentBlock::text(trouble.message())]);
    result.structured_content = Some(trouble.data());
    result.into()
}
