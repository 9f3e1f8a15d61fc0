//! Serves one client over standard input and output, or the agent of a lead over a stream. Only the protocol is
//! written there.

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

/// Serves the client at standard input and output until it disconnects, or until `stopped`.
pub async fn serve_stdio(
    setup: McpSetup,
    sessions: Arc<dyn Sessions>,
    stopped: impl Future<Output = ()>,
) -> Result<(), StdioError> {
    // In the background, so that the client does not wait for sessions of earlier servers.
    let resumed = tokio::spawn(resumption::all(sessions.clone(), setup.clock.clone()));
    let outcome = serve_client(setup, sessions, stdio_pipes(), stopped).await;
    resumed.abort();
    outcome
}

/// Serves the agent of a lead over a stream until it disconnects. The sessions that the lead starts run in the lead's
/// process.
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
    // The state is valid for this connection only, so a random secret is enough.
    let secret = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes).concat();
    let server = Server::new(setup, sessions, stopping, StateSeal::new(&secret)).await?;
    let read = NoticingEnd { read, ended: stop.clone() };
    let served = async {
        let running = match server.serve((read, write)).await {
            Ok(running) => running,
            // The client disconnected before it sent anything.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return Ok(());
            }
            Err(error) => return Err(StdioError::Client(error.to_string())),
        };
        // The task is not cancelled, and a panic in it has been reported already.
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

/// A reader that signals its end, so that waiting calls end with their client.
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
            // Sending fails if no call waits.
            let _ = self.ended.send(true);
        }
        read
    }
}
