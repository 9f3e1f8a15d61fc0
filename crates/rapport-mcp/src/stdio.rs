//! One client over standard input and output. Nothing but the protocol is written there.

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
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use crate::McpSetup;
use crate::resuming;
use crate::server::Server;

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
    let (stop, stopping) = watch::channel(false);
    let stop = Arc::new(stop);
    let server = Server::new(setup, sessions.clone(), stopping).await?;
    // The client need not wait for sessions of earlier servers.
    let resumed = tokio::spawn(resuming::all(sessions));
    let (read, write) = stdio_pipes();
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
    resumed.abort();
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
