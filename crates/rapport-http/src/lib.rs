//! Serves HTTP, for channels that listen. Connections that send no request are dropped, so that silent clients cannot
//! exhaust the file descriptors.

mod hosts;
mod timed_body;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tracing::{debug, warn};

pub use hosts::{is_origin_of, own_host, own_names};

use timed_body::TimedBody;

/// The address that a request came from: that of the client, or of the proxy before this server. Every request has it
/// as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// The pause before the next connection is accepted if the system could not accept one.
const PAUSE: Duration = Duration::from_millis(50);

/// The maximum number of simultaneous connections. Further ones wait in the system's queue, so that file descriptors
/// are left for the sessions.
const MOST_CONNECTIONS: usize = 512;

/// Serves until it has to stop; requests in progress are still answered.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    headers_within: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let (mut connections, told) = (JoinSet::new(), stop.clone());
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        tokio::select! {
            accepted = accept(&listener, &places) => match accepted {
                Ok((stream, from, place)) => {
                    let peer = Peer(from.ip());
                    let answered = answer(stream, peer, router.clone(), headers_within, told.clone());
                    connections.spawn(async move {
                        answered.await;
                        drop(place);
                    });
                }
                // Too many files are open, or the client disconnected: try again with the next.
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

/// The next connection, as soon as fewer than the maximum are open.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, from) = listener.accept().await?;
    Ok((stream, from, place))
}

async fn answer(
    stream: TcpStream,
    peer: Peer,
    router: Router,
    headers_within: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(headers_within);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer);
        router.call(request.map(TimedBody::new))
    });
    let connection = server.serve_connection(TokioIo::new(stream), service);
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

/// Waits until the server has to stop, or the sender was dropped.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
