//! Serves HTTP, for channels that listen. Connections that send no request are dropped, so that nobody can exhaust the file descriptors by being
//! silent.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{debug, warn};

/// The pause before the next connection is accepted if the system could not accept one.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until it has to stop; requests in progress are still answered.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    headers_within: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let (mut connections, told) = (JoinSet::new(), stop.clone());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(answer(stream, router.clone(), headers_within, told.clone()));
                }
                // Too many files are open, or the client is gone: retry with the next.
                Err(error) => {
                    warn!(%error, "connection not accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = stopped(&mut stop) => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn answer(
    stream: TcpStream,
    router: Router,
    headers_within: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(headers_within);
    let connection = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "connection dropped");
    }
}

/// Waits until the server has to stop, or the sender is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
