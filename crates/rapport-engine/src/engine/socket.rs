//! The socket of a running engine, for other processes of the same user: one JSON line in, one JSON line out. The
//! operating system identifies the caller; the line can only add for whom it acts, such as a person in a chat, and
//! [`claims`](super::claims) checks that.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use nix::unistd::{Uid, User};
use rapport_core::{Act, By, Refusal, SessionId};
use rapport_door::variant;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tracing::{debug, warn};

pub use crate::stores::reach::Sent;

use super::claims::{Caller, Claims};
use super::gateway::{Gateway, GatewayError};

/// The maximum length of a line; an answer is far shorter.
const LONGEST_LINE: u64 = 4 * 1024 * 1024;
/// How long callers may take to get their responses when this process ends.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// How long a caller waits for the response, and how long it may take to send its request.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause before the next call is accepted if the system could not accept one.
const PAUSE: Duration = Duration::from_millis(50);
/// The maximum length of a socket's path on all systems.
const LONGEST_PATH: usize = 100;

/// The number of sockets that this process has bound so far.
static BOUND: AtomicU32 = AtomicU32::new(0);

#[derive(Serialize, Deserialize)]
struct Call {
    session: SessionId,
    act: Act,
    /// For whom the caller acts, if not for the person at its terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<By>,
}

/// A call for the tools of a lead. After this line, the stream carries their protocol.
#[derive(Serialize, Deserialize)]
struct ToolsCall {
    tools_of: SessionId,
}

/// A stream to the agent of a lead.
pub type ToolsStream = BufReader<UnixStream>;

/// Rapport's own tools, for the agents of leads.
pub trait LeadTools: Send + Sync {
    /// Serves the agent of this lead until it disconnects.
    fn serve(&self, lead: SessionId, stream: ToolsStream) -> BoxFuture<'static, ()>;
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Done,
    Refused(Refusal),
    Forbidden(String),
    NotHere,
    Failed(String),
}

/// A bound socket. Its file is removed on drop.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    claims: Claims,
}

impl Socket {
    /// Binds a socket of this process in that directory, or, if its path is too long, in a private temporary directory.
    pub fn bind(folder: &Path) -> io::Result<Self> {
        let claims = Claims::new(folder);
        // A process has one engine for each project that it serves.
        let name = match BOUND.fetch_add(1, Ordering::Relaxed) {
            0 => format!("{}.sock", std::process::id()),
            number => format!("{}-{number}.sock", std::process::id()),
        };
        let mut path = folder.join(&name);
        if path.as_os_str().len() > LONGEST_PATH {
            path = std::env::temp_dir().join(format!("rapport-{}", Uid::effective())).join(&name);
        }
        let folder = path.parent().unwrap_or(folder);
        rapport_durable::private_folder(folder)?;
        if std::fs::metadata(folder)?.uid() != Uid::effective().as_raw() {
            return Err(io::Error::other(format!("{} belongs to another user", folder.display())));
        }
        // A leftover of an earlier process with the same id, because the name begins with this process's id.
        let _ = std::fs::remove_file(&path);
        Ok(Self { listener: UnixListener::bind(&path)?, path, claims })
    }

    pub fn address(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// Serves calls until it is stopped.
    pub fn serve(self, gateway: Gateway, tools: Option<Arc<dyn LeadTools>>) -> Serving {
        let (stop, mut stopped) = oneshot::channel();
        let done = tokio::spawn(async move {
            let mut calls = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = self.listener.accept() => match accepted {
                        Ok((stream, _)) => {
                            let (gateway, claims) = (gateway.clone(), self.claims.clone());
                            let tools = tools.clone();
                            // A caller may hang up.
                            calls.spawn(async move { answer(stream, &gateway, claims, tools).await.ok() });
                        }
                        // Too many files are open, or the caller disconnected: retry with the next.
                        Err(error) => {
                            warn!(%error, "call not accepted");
                            tokio::time::sleep(PAUSE).await;
                        }
                    },
                    Some(_) = calls.join_next() => {}
                    _ = &mut stopped => break,
                }
            }
            drop(self);
            while calls.join_next().await.is_some() {}
        });
        Serving { stop, done }
    }
}

/// A socket that is being served.
#[derive(Debug)]
pub struct Serving {
    stop: oneshot::Sender<()>,
    done: JoinHandle<()>,
}

impl Serving {
    /// Accepts no more calls, and answers those in progress: one of them may have asked this process to end.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let _ = tokio::time::timeout(LAST_ANSWERS, self.done).await;
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Submits an act to the process at that address.
pub async fn send(address: &str, session: &SessionId, act: &Act) -> Sent {
    deliver(address, Call { session: session.clone(), act: act.clone(), by: None }).await
}

/// Submits an act for someone other than the person at this terminal.
pub async fn send_for(address: &str, session: &SessionId, act: &Act, by: &By) -> Sent {
    deliver(address, Call { session: session.clone(), act: act.clone(), by: Some(by.clone()) }).await
}

async fn deliver(address: &str, call: Call) -> Sent {
    match tokio::time::timeout(PATIENCE, exchange(address, &call)).await {
        Ok(Ok(Outcome::Done)) => Sent::Done,
        Ok(Ok(Outcome::Refused(refusal))) => Sent::Refused(refusal),
        Ok(Ok(Outcome::Forbidden(why))) => Sent::Forbidden(why),
        Ok(Ok(Outcome::Failed(why))) => Sent::Failed(why),
        Ok(Ok(Outcome::NotHere) | Err(_)) => Sent::Nobody,
        Err(_) => Sent::Silent,
    }
}

/// The person at this terminal, according to the system.
pub fn person_here() -> By {
    person(Uid::current())
}

async fn exchange(address: &str, call: &Call) -> io::Result<Outcome> {
    let mut stream = UnixStream::connect(address).await?;
    stream.write_all(line(call)?.as_bytes()).await?;
    let mut reply = String::new();
    BufReader::new(stream).take(LONGEST_LINE).read_line(&mut reply).await?;
    Ok(serde_json::from_str(&reply)?)
}

async fn answer(
    stream: UnixStream,
    gateway: &Gateway,
    claims: Claims,
    tools: Option<Arc<dyn LeadTools>>,
) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    let caller =
        Caller { uid: Uid::from_raw(peer.uid()), pid: peer.pid().and_then(|pid| pid.try_into().ok()) };
    let mut stream = BufReader::new(stream);
    let mut call = String::new();
    tokio::time::timeout(PATIENCE, (&mut stream).take(LONGEST_LINE).read_line(&mut call)).await??;
    if let Ok(ToolsCall { tools_of }) = serde_json::from_str(&call) {
        return offer(stream, gateway, (tools_of, caller), tools).await;
    }
    let outcome = match serde_json::from_str::<Call>(&call) {
        Err(error) => Outcome::Failed(format!("not understood: {error}")),
        Ok(Call { session, act, by }) => {
            match tokio::task::spawn_blocking(move || claims.speaker(by, caller)).await? {
                Err(why) => Outcome::Forbidden(why),
                Ok(by) => submit(gateway, &session, by, act).await,
            }
        }
    };
    note(&outcome, caller);
    stream.get_mut().write_all(line(&outcome)?.as_bytes()).await
}

/// Offers the tools of a lead to a process of its agent only.
async fn offer(
    mut stream: ToolsStream,
    gateway: &Gateway,
    (lead, caller): (SessionId, Caller),
    tools: Option<Arc<dyn LeadTools>>,
) -> io::Result<()> {
    let session = lead.clone();
    let is_its_own = tokio::task::spawn_blocking(move || Claims::is_of_session(&session, caller)).await?;
    // Any agent can ask for tools as its own session, so the session has to be a lead.
    let is_lead = gateway.view(&lead).await.ok().map(|view| view.is_lead);
    let outcome = match tools.filter(|_| is_its_own) {
        Some(_) if is_lead.is_none() => Outcome::NotHere,
        Some(tools) if is_lead == Some(true) => {
            stream.get_mut().write_all(line(&Outcome::Done)?.as_bytes()).await?;
            tools.serve(lead, stream).await;
            return Ok(());
        }
        Some(_) => Outcome::Forbidden(format!("{lead} is not a lead, so its agent has no tools here")),
        None => Outcome::Forbidden(format!("only the agent of {lead} has its tools")),
    };
    note(&outcome, caller);
    stream.get_mut().write_all(line(&outcome)?.as_bytes()).await
}

/// Connects the agent of a lead to its tools at this address, in both directions.
pub async fn relay_tools(
    address: &str,
    lead: &SessionId,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut stream = BufReader::new(UnixStream::connect(address).await?);
    stream.get_mut().write_all(line(&ToolsCall { tools_of: lead.clone() })?.as_bytes()).await?;
    let mut reply = String::new();
    (&mut stream).take(LONGEST_LINE).read_line(&mut reply).await?;
    match serde_json::from_str(&reply)? {
        Outcome::Done => {}
        Outcome::Forbidden(why) | Outcome::Failed(why) => return Err(io::Error::other(why)),
        Outcome::NotHere => return Err(io::Error::other(format!("{lead} no longer runs there"))),
        Outcome::Refused(refusal) => return Err(io::Error::other(refusal.to_string())),
    }
    let (mut back, mut forth) = tokio::io::split(stream);
    // Either end may hang up first.
    tokio::select! {
        sent = tokio::io::copy(&mut from, &mut forth) => drop(sent?),
        received = tokio::io::copy(&mut back, &mut to) => drop(received?),
    }
    to.flush().await
}

/// Logs the outcome of a call, without its content.
fn note(outcome: &Outcome, Caller { uid, pid }: Caller) {
    match outcome {
        Outcome::Done => debug!(%uid, pid, "call done"),
        Outcome::Refused(refusal) => debug!(%uid, pid, refusal = variant(refusal), "call refused"),
        Outcome::Forbidden(why) => warn!(%uid, pid, why, "call forbidden"),
        Outcome::NotHere => debug!(%uid, pid, "call for a session that is not here"),
        Outcome::Failed(_) => warn!(%uid, pid, "call failed"),
    }
}

async fn submit(gateway: &Gateway, session: &SessionId, by: By, act: Act) -> Outcome {
    match gateway.submit(session, by, act).await {
        Ok(()) => Outcome::Done,
        Err(GatewayError::Refused(refusal)) => Outcome::Refused(refusal),
        Err(GatewayError::NotHere(_) | GatewayError::Closed) => Outcome::NotHere,
        Err(error @ (GatewayError::Store(_) | GatewayError::Broken(_))) => Outcome::Failed(error.to_string()),
    }
}

pub(super) fn person(uid: Uid) -> By {
    let name = User::from_uid(uid).ok().flatten().map(|user| user.name);
    By::Person { channel: "terminal".into(), id: name.unwrap_or_else(|| uid.to_string()) }
}

fn line(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}
