//! The host's proxy at the door of a sandbox or container (`keeper/door.rs`).
//!
//! There are two kinds of requests. Those for the agent's own service are forwarded with the person's credentials,
//! which are not in the sandbox: the agent has a stand-in for each, which is replaced only here. All others name a
//! host, and are allowed or refused by that name.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream as StdStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use reqwest::{Body, Client, Url, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::io::{AsyncRead, AsyncWrite, Interest, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream, lookup_host};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::sleep;
use tracing::warn;

use super::descriptors;
use super::keeper::door;
use super::network::{Network, NetworkAccess};

/// A service that a program uses with a person's credentials.
#[derive(Clone, Debug)]
pub struct Service {
    /// The variable with its address.
    pub variable: &'static str,
    pub url: String,
    /// The variables with the credentials, and their values.
    pub credentials: Vec<(&'static str, CredentialValue)>,
}

/// The value of a credential.
#[derive(Clone)]
pub enum CredentialValue {
    Fixed(SecretString),
    /// Read anew for every request, because a program on the host renews it. The error says why there is no value,
    /// and what to do. Blocks.
    Renewed(Arc<dyn Fn() -> Result<SecretString, String> + Send + Sync>),
}

impl CredentialValue {
    async fn value(&self) -> Result<SecretString, String> {
        match self {
            CredentialValue::Fixed(secret) => Ok(secret.clone()),
            CredentialValue::Renewed(read) => {
                let read = read.clone();
                spawn_blocking(move || read()).await.map_err(|error| error.to_string())?
            }
        }
    }
}

impl From<String> for CredentialValue {
    fn from(secret: String) -> Self {
        Self::Fixed(secret.into())
    }
}

impl fmt::Debug for CredentialValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CredentialValue::Fixed(_) => "Fixed(..)",
            CredentialValue::Renewed(_) => "Renewed(..)",
        })
    }
}

const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Addresses that are always reached without a proxy: the sandbox itself, and its door.
const HERE: &str = "127.0.0.1,localhost,::1";

/// The pause after a connection could not be accepted.
pub(super) const PAUSE: Duration = Duration::from_millis(100);
/// The maximum number of refused hosts to report, because a program could try any number.
const MOST_REPORTED: usize = 100;

const OF_THE_CONNECTION: [HeaderName; 7] = [
    header::CONNECTION,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// A running proxy, until it is dropped.
#[derive(Debug)]
pub(super) struct Proxying(JoinHandle<()>);

impl Drop for Proxying {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The proxy of one process.
#[derive(Debug)]
pub(super) struct Proxy {
    reach: Arc<NetworkAccess>,
    upstream: Option<Upstream>,
    refused: Option<UnboundedSender<String>>,
    /// Hosts that were refused and reported; each is reported once.
    reported: Mutex<BTreeSet<String>>,
}

#[derive(Debug)]
struct Upstream {
    variable: &'static str,
    origin: String,
    /// The prefix of every path.
    path: String,
    /// The stand-in of each credential, and its variable.
    stand_ins: Vec<StandIn>,
    client: Client,
}

#[derive(Debug)]
struct StandIn {
    variable: &'static str,
    word: String,
    credential: CredentialValue,
}

impl Proxy {
    /// A proxy for this network access, and for this service. Refused hosts are reported.
    pub(super) fn new(
        reach: Arc<NetworkAccess>,
        service: Option<Service>,
        refused: Option<UnboundedSender<String>>,
    ) -> io::Result<Self> {
        Ok(Self {
            reach,
            upstream: service.map(Upstream::new).transpose()?,
            refused,
            reported: Mutex::default(),
        })
    }

    /// The variables of a program behind the door; [`door::ADDRESS`] is a placeholder for the door's address.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let door = format!("http://{}", door::ADDRESS);
        let mut env = Vec::new();
        if let Some(upstream) = &self.upstream {
            env.push((upstream.variable, format!("{door}{}", upstream.path)));
            env.extend(upstream.stand_ins.iter().map(|one| (one.variable, one.word.clone())));
        }
        // With an open network, everything else is reached directly.
        if *self.reach.network() != Network::Open {
            env.extend(PROXIES.map(|name| (name, door.clone())));
        }
        env.extend(NO_PROXY.map(|name| (name, HERE.to_owned())));
        env
    }

    /// Serves the door that the keeper hands over on this socket, until the result is dropped. Requires a runtime.
    pub(super) fn serve(self, handed_over: StdStream) -> io::Result<Proxying> {
        handed_over.set_nonblocking(true)?;
        let handed_over = UnixStream::from_std(handed_over)?;
        let proxy = Arc::new(self);
        Ok(Proxying(tokio::spawn(async move {
            match door(&handed_over).await {
                Ok(Some(listener)) => proxy.answer_at(listener).await,
                // The keeper could not be started, which is reported elsewhere.
                Ok(None) => {}
                Err(error) => warn!(%error, "no door was handed over"),
            }
        })))
    }

    async fn answer_at(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = accept(&listener) => match accepted {
                    Ok((stream, here)) => drop(connections.spawn(self.clone().connection(stream, here))),
                    Err(error) => {
                        // Usually for lack of file descriptors, which become free again.
                        warn!(%error, "a connection was not accepted");
                        sleep(PAUSE).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }

    /// Answers requests on a connection to the door at this address.
    pub(super) async fn connection(
        self: Arc<Self>,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        here: SocketAddr,
    ) {
        let answer = service_fn(|request| {
            let proxy = self.clone();
            async move { Ok::<_, Infallible>(proxy.answer(request, here).await) }
        });
        let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
        // The client may be gone.
        let _ = serving.with_upgrades().await;
    }

    async fn answer(&self, request: Request<Incoming>, here: SocketAddr) -> Response<Body> {
        // A program that uses the door as a proxy also requests the door's own address.
        let is_elsewhere = request.uri().authority().is_some_and(|asked| *asked != *here.to_string());
        let answer = if request.method() == Method::CONNECT {
            self.tunnel(request).await
        } else if is_elsewhere {
            self.forward(request).await
        } else {
            match &self.upstream {
                Some(upstream) => upstream.forward(request).await,
                None => Err((StatusCode::NOT_FOUND, "this place has no service".to_owned())),
            }
        };
        answer.unwrap_or_else(|(status, why)| {
            let mut response = Response::new(Body::from(format!("Rapport: {why}\n")));
            *response.status_mut() = status;
            response
        })
    }

    /// Connects the program with a host, without looking at the data.
    async fn tunnel(&self, request: Request<Incoming>) -> Answer {
        let mut upstream =
            TcpStream::connect(&*self.reached(request.uri(), 443).await?).await.map_err(unreachable)?;
        tokio::spawn(async move {
            if let Ok(upgraded) = hyper::upgrade::on(request).await {
                // Either side may end it at any time.
                let _ = copy_bidirectional(&mut TokioIo::new(upgraded), &mut upstream).await;
            }
        });
        Ok(Response::new(Body::default()))
    }

    /// Forwards a request that is not encrypted.
    async fn forward(&self, request: Request<Incoming>) -> Answer {
        let addresses = self.reached(request.uri(), 80).await?;
        let host = request.uri().host().unwrap_or_default().to_owned();
        let client = client().resolve_to_addrs(&host, &addresses).no_proxy().build().map_err(unreachable)?;
        pass_on(&client, request).await
    }

    /// The addresses of the requested host, if it is allowed.
    async fn reached(&self, uri: &Uri, port: u16) -> Result<Vec<SocketAddr>, Refused> {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(port);
        if *self.reach.network() == Network::Open {
            return Err((StatusCode::FORBIDDEN, "the network is open: no proxy is needed".to_owned()));
        }
        if !self.reach.allows(&host, port) {
            let named =
                if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
            self.tell_refused(named);
            let why = format!("{host}:{port} is not among the hosts that can be reached from here");
            return Err((StatusCode::FORBIDDEN, why));
        }
        let found = lookup_host((host.as_str(), port)).await.map_err(unreachable)?;
        // A DNS name must not lead to addresses that only this machine may reach.
        let found: Vec<_> = found.filter(|found| names_itself(&host) || !is_own(found.ip())).collect();
        if found.is_empty() {
            return Err((StatusCode::FORBIDDEN, format!("{host} leads to this machine itself")));
        }
        Ok(found)
    }
}

impl Proxy {
    fn tell_refused(&self, host: String) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(refused) = &self.refused
            && reported.len() < MOST_REPORTED
            && reported.insert(host.clone())
        {
            // The receiver is gone with the session.
            let _ = refused.send(host);
        }
    }
}

type Refused = (StatusCode, String);
type Answer = Result<Response<Body>, Refused>;

impl Upstream {
    fn new(service: Service) -> io::Result<Self> {
        let wrong = |error: &dyn std::fmt::Display| {
            io::Error::other(format!("{} is not an address: {error}", service.variable))
        };
        let url = Url::parse(&service.url).map_err(|error| wrong(&error))?;
        let client = client().build().map_err(io::Error::other)?;
        let stand_in = |(variable, credential)| {
            // In the form of a key, for programs that check it.
            let word = format!("sk-ant-stand-in-{}", uuid::Uuid::new_v4().simple());
            StandIn { variable, word, credential }
        };
        Ok(Self {
            variable: service.variable,
            origin: url.origin().ascii_serialization(),
            path: url.path().trim_end_matches('/').to_owned(),
            stand_ins: service.credentials.into_iter().map(stand_in).collect(),
            client,
        })
    }

    async fn forward(&self, mut request: Request<Incoming>) -> Answer {
        let asked = request.uri().path_and_query().map_or("/", |asked| asked.as_str());
        let below = asked.strip_prefix(&*self.path);
        if !below.is_some_and(|below| below.is_empty() || below.starts_with(['/', '?'])) {
            return Err((StatusCode::NOT_FOUND, "there is nothing at this path".to_owned()));
        }
        let uri = format!("{}{asked}", self.origin).parse();
        *request.uri_mut() = uri.map_err(|error| (StatusCode::BAD_REQUEST, format!("{error}")))?;
        for stand_in in &self.stand_ins {
            stand_in.replace(request.headers_mut()).await?;
        }
        pass_on(&self.client, request).await
    }
}

impl StandIn {
    /// Puts the credential in its place.
    async fn replace(&self, headers: &mut HeaderMap) -> Result<(), Refused> {
        let has_it = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains(&self.word));
        if !headers.values().any(has_it) {
            return Ok(());
        }
        let secret = self.credential.value().await.map_err(|why| (StatusCode::UNAUTHORIZED, why))?;
        for value in headers.values_mut().filter(|value| has_it(value)) {
            let whole = value.to_str().unwrap_or_default().replace(&self.word, secret.expose_secret());
            if let Ok(mut whole) = HeaderValue::from_str(&whole) {
                whole.set_sensitive(true);
                *value = whole;
            }
        }
        Ok(())
    }
}

fn client() -> reqwest::ClientBuilder {
    // If another provider was installed before, it stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // A redirect would send the key elsewhere.
    Client::builder().redirect(redirect::Policy::none())
}

/// Sends a request to its address, and streams the response.
async fn pass_on(client: &Client, mut request: Request<Incoming>) -> Answer {
    without_the_connections(request.headers_mut());
    let request = reqwest::Request::try_from(request.map(Body::wrap)).map_err(unreachable)?;
    let mut response: Response<Body> = client.execute(request).await.map_err(unreachable)?.into();
    without_the_connections(response.headers_mut());
    Ok(response)
}

fn without_the_connections(headers: &mut HeaderMap) {
    for name in OF_THE_CONNECTION {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
}

fn unreachable(error: impl std::error::Error) -> Refused {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        why = format!("{why}: {error}");
        cause = error.source();
    }
    (StatusCode::BAD_GATEWAY, why)
}

/// Whether a host is given as an address, or as `localhost`: then an address of this machine is intended.
fn names_itself(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok()
}

/// Whether an address is only reachable from this machine, or has a different meaning on every machine.
fn is_own(address: IpAddr) -> bool {
    let (is_link_local, address) = match address.to_canonical() {
        IpAddr::V4(v4) => (v4.is_link_local(), IpAddr::V4(v4)),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), IpAddr::V6(v6)),
    };
    address.is_loopback() || address.is_unspecified() || is_link_local
}

/// The next connection, and the address that it was made to.
async fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, _) = listener.accept().await?;
    let here = stream.local_addr()?;
    Ok((stream, here))
}

/// The socket that the keeper hands over; `None` if the keeper ends without doing so.
pub(super) async fn door(handed_over: &UnixStream) -> io::Result<Option<TcpListener>> {
    loop {
        handed_over.readable().await?;
        match handed_over.try_io(Interest::READABLE, || receive(handed_over)) {
            Ok(None) => return Ok(None),
            Ok(Some(listener)) => {
                listener.set_nonblocking(true)?;
                return TcpListener::from_std(listener).map(Some);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

fn receive(handed_over: &UnixStream) -> io::Result<Option<std::net::TcpListener>> {
    Ok(descriptors::receive(handed_over)?.into_iter().next().map(Into::into))
}
