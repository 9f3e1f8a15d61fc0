//! One client over standard input and output, or the agent of a lead over a stream. Nothing but the protocol is written there.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rapport_door::{DoorError, Sessions};
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, split};
use tokio::sync::watch;
use uuid::Uuid;

use crate::McpSetup;
use crate::resumption;
use crate::server::Server;
use crate::state_seal::StateSeal;

/// Why a client could not be served.
#[derive(Debug, Error)]
pub enum StdioError {
    /// The sessions cannot be followed.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// The client did not begin with the protocol.
    #[error("the client does not speak MCP: {0}")]
    Client(String),
}

/// Serves the client at standard input and output until it goes, or until `stopped`.
pub async fn serve_stdio(
    setup: McpSetup,
    sessions: Arc<dyn Sessions>,
    stopped: impl Future<Output = ()>,
) -> Result<(), StdioError> {
    // The client need not wait for sessions of earlier servers.
    let resumed = tokio::spawn(resumption::all(sessions.clone()));
    let outcome = serve_client(setup, sessions, stdio_pipes(), stopped).await;
    resumed.abort();
    outcome
}

/// Serves the agent of a lead over a stream until it goes. The sessions of the lead run where it runs.
pub async fn serve_lead(
    setup: McpSetup,
    sessions: Arc<dyn Sessions>,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<(), StdioError> {
    serve_client(setup, sessions, split(stream), std::future::pending()).await
}

async fn serve_client(
    setup: McpSetup,
    sessions: Arc<dyn Sessions>,
    (read, write): (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static),
    stopped: impl Future<Output = ()>,
) -> Result<(), StdioError> {
    let (stop, stopping) = watch::channel(false);
    let stop = Arc::new(stop);
    // A call ends with its connection, so no later server has to read what this one signed.
    let secret = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes).concat();
    let server = Server::new(setup, sessions, stopping, StateSeal::new(&secret)).await?;
    let read = NoticingEnd { read, ended: stop.clone() };
    let served = async {
        let running = match server.serve((read, write)).await {
            Ok(running) => running,
            // It went before it said anything.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return Ok(());
            }
            Err(error) => return Err(StdioError::Client(error.to_string())),
        };
        // Its task was not cancelled, and a panic in it was reported.
        let _ = running.waiting().await;
        Ok(())
    };
    let outcome = tokio::select! {
        outcome = served => outcome,
        () = stopped => Ok(()),
    };
    let _ = stop.send(true);
    outcome
}

/// A reader that says when its end is reached, so that calls that wait end with their client.
struct NoticingEnd<R> {
    read: R,
    ended: Arc<watch::Sender<bool>>,
}

impl<R: AsyncRead + Unpin> AsyncRead for NoticingEnd<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.read).poll_read(context, buffer);
        if matches!(read, Poll::Ready(Err(_))) || (read.is_ready() && buffer.filled().len() == before) {
            // Nobody may be waiting.
            let _ = self.ended.send(true);
        }
        read
    }
}
