//! Serves clients over HTTP, in `serve`. A client has to present the token. A request from a page of another origin,
//! or to a host name that is not this machine's, is refused before its token is looked at.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rapport_core::authority::Role;
use rapport_door::{Channel, ChannelError, ChannelNotice, Served};
use rapport_http::{is_origin_of, own_host, own_names};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::net::TcpListener;

use crate::server::Server;
use crate::state_seal::StateSeal;
use crate::{CHANNEL, McpSetup, resumption, token};

/// Where the protocol is served.
pub(crate) const PATH: &str = "/mcp";
/// The time limit for the head of a request, and for an idle connection.
const HEADERS_WITHIN: Duration = Duration::from_secs(20);
/// How long a silent client is remembered. A client may be silent for hours while its workers work, and many never
/// close their session.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);
/// The time limit for open requests when the server stops.
const FAREWELL: Duration = Duration::from_secs(3);

/// A server that listens, and serves no requests yet.
pub(crate) struct McpHttp {
    pub(crate) listener: TcpListener,
    pub(crate) token: SecretString,
    /// The token of clients that may only look, if there is one.
    pub(crate) look_token: Option<SecretString>,
    /// Where the token is, for the person who gives it to a client.
    pub(crate) token_at: String,
    /// The names by which it may be addressed.
    pub(crate) hosts: Vec<String>,
    pub(crate) setup: McpSetup,
}

impl Channel for McpHttp {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn serves_leads(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, served: Served) -> BoxFuture<'static, Result<(), ChannelError>> {
        self.serve(served).boxed()
    }
}

impl McpHttp {
    async fn serve(self: Box<Self>, mut served: Served) -> Result<(), ChannelError> {
        let Self { listener, token, look_token, token_at, hosts, setup } = *self;
        let address = listener.local_addr().map_err(|error| ChannelError::Broken(error.to_string()))?;
        // Workers begin in this project, and clients see its sessions only, by their own names.
        let own = served.sessions.of_project(&setup.project).unwrap_or_else(|| served.sessions.clone());
        // A later server with the same token has to accept the state of calls that this one signed.
        let seal = StateSeal::new(token.expose_secret().as_bytes());
        let clock = setup.clock.clone();
        let server = Server::new(setup, own, served.stop.clone(), seal).await?;
        // Workers of all projects, because the servers that started them may have ended.
        let resumed = tokio::spawn(resumption::all(served.sessions.clone(), clock));
        // `admit` checks host and origin before it checks the token.
        let config = StreamableHttpServerConfig::default().disable_allowed_hosts().disable_allowed_origins();
        let open = config.cancellation_token.clone();
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(REMEMBERED);
        let service = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(sessions), config);
        let router = Router::new()
            .route_service(PATH, service)
            .layer(middleware::from_fn_with_state(Arc::new(Admission { hosts, token, look_token }), admit));
        let name = format!("MCP at http://{address}{PATH} (token: {token_at})");
        served.notices.tell(ChannelNotice::Serving { channel: CHANNEL, name });
        let mut serving =
            tokio::spawn(rapport_http::serve(listener, router, HEADERS_WITHIN, served.stop.clone()));
        served.stopped().await;
        resumed.abort();
        // Streams to clients stay open unless they are cancelled.
        open.cancel();
        if tokio::time::timeout(FAREWELL, &mut serving).await.is_err() {
            serving.abort();
        }
        Ok(())
    }
}

/// Which requests are served.
struct Admission {
    /// The names by which this server may be addressed.
    hosts: Vec<String>,
    token: SecretString,
    look_token: Option<SecretString>,
}

impl Admission {
    /// The role of a request, by the token that it presents.
    fn role(&self, presented: Option<&[u8]>) -> Option<Role> {
        let is_looking = self.look_token.as_ref().is_some_and(|token| token::is_presented(presented, token));
        let is_answering = token::is_presented(presented, &self.token);
        is_answering.then_some(Role::Answer).or(is_looking.then_some(Role::Look))
    }
}

/// Refuses requests to another host name or from a page of another origin, and after that requests without the token.
/// This order keeps a page that points its own name at this machine (DNS rebinding) from learning that there is a
/// token.
async fn admit(State(admission): State<Arc<Admission>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let Some(host) = own_host(headers, &admission.hosts) else {
        return (StatusCode::FORBIDDEN, "this server does not have that name; mcp.hosts has its names\n")
            .into_response();
    };
    if !headers.get_all(header::ORIGIN).iter().all(|origin| is_origin_of(origin, host)) {
        return (StatusCode::FORBIDDEN, "requests from pages of other sites are refused\n").into_response();
    }
    let presented = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes());
    if let Some(role) = admission.role(presented) {
        request.extensions_mut().insert(role);
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, challenge, "present the token of this server: Authorization: Bearer TOKEN\n")
        .into_response()
}

/// The names by which a server at this address may be addressed, or why it may not listen there.
pub(crate) fn hosts(listen: SocketAddr, named: &[String]) -> Result<Vec<String>, String> {
    own_names(listen, named).ok_or_else(|| {
        format!(
            "mcp.listen: {listen} can be reached from other machines; if that is meant, name the hosts by which clients reach it: mcp.hosts"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::wait;

    /// A call that waits is silent, too.
    #[test]
    fn a_client_is_remembered_for_longer_than_it_may_wait_and_not_forever() {
        assert!(REMEMBERED > 2 * Duration::from_secs(wait::LONGEST));
        assert!(REMEMBERED <= Duration::from_secs(7 * 24 * 60 * 60));
    }

    #[test]
    fn other_machines_need_a_name() {
        assert!(hosts("127.0.0.1:0".parse().unwrap(), &[]).is_ok());
        assert!(hosts("0.0.0.0:0".parse().unwrap(), &[]).unwrap_err().contains("mcp.hosts"));
    }
}
