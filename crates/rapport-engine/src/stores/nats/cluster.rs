//! The servers, as the store uses them: compare-and-set, the last message of a subject, messages in order, objects.
//!
//! A write whose outcome is unknown is looked up before anything else is done: if the message is there, it is written;
//! if another one is there, it is refused. It is sent again only while neither is there, under the same condition, so
//! it is stored once at most.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream::{
    self, DiscardPolicy, RawMessageError, RawMessageErrorKind, StorageType, Stream,
};
use async_nats::jetstream::{self, Context, object_store};
use async_nats::{Client, ConnectOptions, Event, HeaderMap, Request, ServerAddr};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::debug;
use uuid::Uuid;

use super::NAME;
use super::settings::NatsSettings;
use super::site::HostName;
use crate::stores::StoreError;

/// How long the servers may take to answer one request.
const ANSWER: Duration = Duration::from_secs(2);
/// How long a request is repeated until the servers have agreed on a leader, or can be reached again.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(100);
/// How long the first connection may take.
const CONNECTING: Duration = Duration::from_secs(5);
/// The pause before the next attempt to connect.
const RECONNECTING: Duration = Duration::from_millis(200);
/// The longest content of a message. Longer content is an object, which is stored in pieces.
const LONGEST: usize = 256 * 1024;
/// The number of messages that are read in one request.
const BATCH: u32 = 2000;
/// How long an ended lease is remembered, for those who wait for its end.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Identifies a write, so that it is recognised when its outcome is looked up.
const WRITE: &str = "Rapport-Write";
/// The object with the content of a message.
const OBJECT: &str = "Rapport-Object";
/// The lease of the process that began to hold a session with this message. It has no entry.
const HELD: &str = "Rapport-Held";
/// The id and the name of the host that wrote a message.
const HOST: &str = "Rapport-Host";

/// The error codes of the servers for a condition that does not hold.
const WRONG_LAST: [u64; 2] = [10071, 10164];

/// The condition of a write: the last message of this subject.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) subject: String,
    /// Its number in the stream; 0 if there is none.
    pub(super) sequence: u64,
}

/// What a write is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose<'a> {
    /// It is one more message of its subject.
    Add,
    /// It replaces the messages of its subject.
    Replace,
    /// It lets the process with this lease hold a session.
    Hold(&'a str),
    /// It is removed after this time.
    Lease(Duration),
}

/// The content of a message.
#[derive(Debug)]
pub(super) enum Body {
    Whole(Vec<u8>),
    /// The name of an object.
    Object(String),
}

/// The reply of the servers to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteReply {
    /// It is stored, as the message of this number.
    At(u64),
    /// The condition does not hold, and nothing was stored.
    Refused,
}

/// A stored message.
#[derive(Clone, Debug)]
pub(super) struct StoredMessage {
    pub(super) sequence: u64,
    pub(super) content: Vec<u8>,
    /// Whether it has no content of its own: it marks a hold, or that a message was removed.
    pub(super) is_mark: bool,
    /// The host that wrote it.
    pub(super) host: Option<HostName>,
    object: Option<String>,
    write: Option<String>,
}

/// The connection of this process to the servers.
pub(super) struct Cluster {
    client: Client,
    /// The logs and attachments.
    pub(super) sessions: Stream<()>,
    /// The owners of sessions, and the leases of processes.
    pub(super) owners: Stream<()>,
    objects: ObjectStore,
    stream: String,
    host: HostName,
    /// The last complaint of a server, which explains why a request was not answered.
    complaint: Arc<Mutex<Option<String>>>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cluster({})", self.stream)
    }
}

/// The outcome of sending a message once.
enum Attempt {
    Stored(u64),
    Refused,
    Unknown(String),
}

impl Cluster {
    /// Connects to the servers, and makes the streams that are missing.
    pub(super) async fn connect(settings: &NatsSettings, host: HostName) -> Result<Self, StoreError> {
        let unavailable = |why: String| StoreError::Unavailable { store: NAME, why };
        let complaint = Arc::new(Mutex::new(None));
        let options =
            options(settings, complaint.clone()).await.map_err(|error| unavailable(error.to_string()))?;
        let servers: Result<Vec<ServerAddr>, _> =
            settings.servers.iter().map(|server| server.parse()).collect();
        let servers = servers.map_err(|error| unavailable(error.to_string()))?;
        let connected = timeout(CONNECTING, options.connect(servers)).await;
        let client = match connected {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => {
                return Err(unavailable(format!("no server of {}: {error}", settings.servers.join(", "))));
            }
            Err(_) => {
                let servers = settings.servers.join(", ");
                return Err(unavailable(format!("no server of {servers} answers")));
            }
        };
        let mut jetstream = jetstream::new(client.clone());
        jetstream.set_timeout(ANSWER);
        let sessions = ensure(&jetstream, sessions_of(settings)).await.map_err(&unavailable)?;
        let owners = ensure(&jetstream, owners_of(settings)).await.map_err(&unavailable)?;
        let objects = ensure_objects(&jetstream, settings).await.map_err(&unavailable)?;
        let stream = settings.stream.clone();
        Ok(Self { client, sessions, owners, objects, stream, host, complaint })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The subject of a lease, or with another word that of the acts for its sessions.
    pub(super) fn of_lease(&self, word: &str, lease: &str) -> String {
        format!("{}.{word}.{lease}", self.stream)
    }

    /// Writes a message if the condition holds.
    pub(super) async fn write(
        &self,
        subject: &str,
        expected: Option<&Expected>,
        purpose: Purpose<'_>,
        body: &Body,
    ) -> Result<WriteReply, StoreError> {
        let write = Uuid::new_v4().to_string();
        let mut headers = HeaderMap::new();
        headers.insert(WRITE, write.as_str());
        headers.insert(HOST, format!("{} {}", self.host.id, self.host.name));
        if let Some(expected) = expected {
            headers.insert("Nats-Expected-Last-Subject-Sequence", expected.sequence.to_string());
            if expected.subject != subject {
                headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", expected.subject.as_str());
            }
        }
        match purpose {
            Purpose::Add => {}
            Purpose::Replace => headers.insert("Nats-Rollup", "sub"),
            Purpose::Hold(lease) => headers.insert(HELD, lease),
            Purpose::Lease(time) => headers.insert("Nats-TTL", format!("{}s", time.as_secs())),
        }
        let content = match body {
            Body::Whole(content) => content.as_slice(),
            Body::Object(name) => {
                headers.insert(OBJECT, name.as_str());
                &[]
            }
        };
        let written = self.write_once(subject, expected, &write, &headers, content).await;
        if let (Body::Object(name), Ok(WriteReply::Refused)) = (body, &written) {
            // If this fails, the object takes up space and nothing else.
            let _ = self.objects.delete(name).await;
        }
        written
    }

    /// Prepares content for a message. Long content is stored as an object, before the message that names it.
    pub(super) async fn body(&self, content: Vec<u8>) -> Result<Body, StoreError> {
        if content.len() <= LONGEST {
            return Ok(Body::Whole(content));
        }
        let name = Uuid::new_v4().to_string();
        self.put_object(&name, &content).await?;
        Ok(Body::Object(name))
    }

    async fn write_once(
        &self,
        subject: &str,
        expected: Option<&Expected>,
        write: &str,
        headers: &HeaderMap,
        content: &[u8],
    ) -> Result<WriteReply, StoreError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let attempt = self.send(subject, headers, content).await;
            if let Attempt::Stored(sequence) = attempt {
                return Ok(WriteReply::At(sequence));
            }
            // Looks up what happened. An earlier attempt may have been stored without an answer.
            let found = self.last(self.stream_of(subject), subject).await?;
            if let Some(found) = found.filter(|found| found.write.as_deref() == Some(write)) {
                return Ok(WriteReply::At(found.sequence));
            }
            let why = match attempt {
                Attempt::Refused => return Ok(WriteReply::Refused),
                Attempt::Unknown(why) => why,
                Attempt::Stored(sequence) => return Ok(WriteReply::At(sequence)),
            };
            if let Some(expected) = expected {
                let last = self.last(self.stream_of(&expected.subject), &expected.subject).await?;
                if last.map_or(0, |last| last.sequence) != expected.sequence {
                    return Ok(WriteReply::Refused);
                }
            }
            debug!(subject, why, "write without an answer");
            if Instant::now() >= until {
                return Err(self.unreachable("write to", subject, &why));
            }
            sleep(PAUSE).await;
        }
    }

    /// Sends a message, and waits for the answer of the servers.
    async fn send(&self, subject: &str, headers: &HeaderMap, content: &[u8]) -> Attempt {
        #[derive(Deserialize)]
        struct Answer {
            seq: Option<u64>,
            error: Option<Refusal>,
        }
        #[derive(Deserialize)]
        struct Refusal {
            #[serde(default)]
            err_code: u64,
            #[serde(default)]
            description: String,
        }
        let request =
            Request::new().headers(headers.clone()).payload(content.to_vec().into()).timeout(Some(ANSWER));
        let answer = match self.client.send_request(subject.to_owned(), request).await {
            Ok(answer) => answer,
            Err(error) => return Attempt::Unknown(error.to_string()),
        };
        match serde_json::from_slice(&answer.payload) {
            Ok(Answer { error: Some(refusal), .. }) if WRONG_LAST.contains(&refusal.err_code) => {
                Attempt::Refused
            }
            Ok(Answer { error: Some(refusal), .. }) => Attempt::Unknown(refusal.description),
            Ok(Answer { seq: Some(sequence), .. }) => Attempt::Stored(sequence),
            Ok(Answer { seq: None, error: None }) => Attempt::Unknown("the answer has no number".into()),
            Err(error) => Attempt::Unknown(error.to_string()),
        }
    }

    /// Repeats a request until the servers answer, or until that has taken too long. An attempt fails with the reason.
    async fn repeat<T, F: Future<Output = Result<T, String>>>(
        &self,
        what: &'static str,
        subject: &str,
        attempt: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let until = Instant::now() + PATIENCE;
        loop {
            match attempt().await {
                Ok(found) => return Ok(found),
                Err(why) if Instant::now() >= until => return Err(self.unreachable(what, subject, &why)),
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// The last message of a subject, according to the leader of the servers.
    pub(super) async fn last(
        &self,
        stream: &Stream<()>,
        subject: &str,
    ) -> Result<Option<StoredMessage>, StoreError> {
        let last = || async move { found(stream.get_last_raw_message_by_subject(subject).await) };
        self.repeat("read", subject, last).await
    }

    /// The first message of a subject, according to the leader of the servers.
    pub(super) async fn first(&self, subject: &str) -> Result<Option<StoredMessage>, StoreError> {
        let first = || async move { found(self.sessions.get_first_raw_message_by_subject(subject, 1).await) };
        self.repeat("read", subject, first).await
    }

    /// All messages of a subject, in order, up to this number. Any server answers, perhaps one that is behind; the
    /// request is repeated until the messages up to that number are there.
    pub(super) async fn all(
        &self,
        subject: &str,
        until_number: u64,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let mut found: Vec<StoredMessage> = Vec::new();
        let until = Instant::now() + PATIENCE;
        loop {
            let after = found.last().map_or(0, |last| last.sequence);
            let why = match self.batch(subject, after + 1).await {
                Ok(batch) => {
                    found.extend(batch);
                    if found.last().is_some_and(|last| last.sequence >= until_number) {
                        found.retain(|message| message.sequence <= until_number);
                        return Ok(found);
                    }
                    if found.last().is_some_and(|last| last.sequence > after) {
                        continue;
                    }
                    "a server is behind".to_owned()
                }
                Err(why) => why,
            };
            if Instant::now() >= until {
                return Err(self.unreachable("read", subject, &why));
            }
            sleep(PAUSE).await;
        }
    }

    /// Some messages of a subject, in order, from this number on.
    async fn batch(&self, subject: &str, from: u64) -> Result<Vec<StoredMessage>, String> {
        let say = |error: &dyn std::fmt::Display| error.to_string();
        let inbox = self.client.new_inbox();
        let mut answers = self.client.subscribe(inbox.clone()).await.map_err(|error| say(&error))?;
        let request = json!({ "seq": from, "next_by_subj": subject, "batch": BATCH }).to_string();
        let to = format!("$JS.API.DIRECT.GET.{}", self.stream);
        self.client.publish_with_reply(to, inbox, request.into()).await.map_err(|error| say(&error))?;
        let until = Instant::now() + ANSWER;
        let mut found = Vec::new();
        loop {
            let answer = timeout_at(until, answers.next()).await.map_err(|error| say(&error))?;
            let answer = answer.ok_or("the connection was closed")?;
            match answer.status.map(|status| status.as_u16()) {
                // The end of the batch; or there is nothing.
                Some(204 | 404) => return Ok(found),
                Some(status) => return Err(format!("a server answers with status {status}")),
                None => {}
            }
            let headers = answer.headers.ok_or("a message has no number")?;
            let number = headers.get("Nats-Sequence").and_then(|number| number.as_str().parse().ok());
            let number = number.ok_or("a message has no number")?;
            found.push(StoredMessage::new(number, &headers, answer.payload.to_vec()));
        }
    }

    /// The content of a message, wherever it is stored.
    pub(super) async fn content(&self, message: StoredMessage) -> Result<Vec<u8>, StoreError> {
        let Some(object) = &message.object else { return Ok(message.content) };
        self.repeat("read the object", object, || self.object(object)).await
    }

    async fn object(&self, name: &str) -> Result<Vec<u8>, String> {
        let mut object = self.objects.get(name).await.map_err(|error| error.to_string())?;
        let mut content = Vec::new();
        object.read_to_end(&mut content).await.map_err(|error| error.to_string())?;
        Ok(content)
    }

    /// Stores an object. A name is used once, so sending an object again changes nothing.
    async fn put_object(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let put = || async move {
            let mut rest = content;
            self.objects.put(name, &mut rest).await.map(drop).map_err(|error| error.to_string())
        };
        self.repeat("write the object", name, put).await
    }

    /// Removes the object of a message that was replaced. If this fails, it takes up space and nothing else.
    pub(super) async fn discard(&self, message: Option<StoredMessage>) {
        if let Some(object) = message.and_then(|message| message.object) {
            let _ = self.objects.delete(&object).await;
        }
    }

    /// Removes the message of this number, and no other one. Does nothing if it is gone.
    pub(super) async fn remove(&self, stream: &Stream<()>, number: u64) -> Result<(), StoreError> {
        let remove = || async move {
            let Err(error) = stream.delete_message(number).await else { return Ok(()) };
            // The servers report one that is gone in the same way as a failure.
            match stream.get_raw_message(number).await {
                Err(found) if found.kind() == RawMessageErrorKind::NoMessageFound => Ok(()),
                _ => Err(error.to_string()),
            }
        };
        self.repeat("remove a message of", &self.stream, remove).await
    }

    /// Removes all messages of the sessions' stream that match.
    pub(super) async fn purge(&self, matching: &str) -> Result<(), StoreError> {
        let purge = || async move {
            self.sessions.purge().filter(matching).await.map(drop).map_err(|error| error.to_string())
        };
        self.repeat("remove", matching, purge).await
    }

    /// The subjects that have messages, among those that match.
    pub(super) async fn subjects(
        &self,
        stream: &Stream<()>,
        matching: &str,
    ) -> Result<Vec<String>, StoreError> {
        let list = || async move {
            let found = stream.info_with_subjects(matching).await.map_err(|error| error.to_string())?;
            let found: Vec<(String, usize)> = found.try_collect().await.map_err(|error| error.to_string())?;
            Ok(found.into_iter().map(|(subject, _)| subject).collect())
        };
        self.repeat("list", matching, list).await
    }

    fn stream_of(&self, subject: &str) -> &Stream<()> {
        match subject.split('.').nth(1) {
            Some("owner" | "lease") => &self.owners,
            _ => &self.sessions,
        }
    }

    /// The error of a request that the servers did not answer in time. What was to be written may still be stored.
    pub(super) fn unreachable(&self, what: &'static str, subject: &str, why: &str) -> StoreError {
        let complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let why = complaint.map_or_else(|| why.to_owned(), |complaint| format!("{why} ({complaint})"));
        let source = io::Error::new(io::ErrorKind::TimedOut, why);
        StoreError::Io { what, place: format!("{subject} in NATS"), source }
    }
}

impl StoredMessage {
    fn new(sequence: u64, headers: &HeaderMap, content: Vec<u8>) -> Self {
        let word = |name: &str| headers.get(name).map(|value| value.as_str().to_owned());
        let is_mark = headers.get(HELD).is_some() || headers.get("Nats-Marker-Reason").is_some();
        let host = word(HOST).and_then(|host| {
            let (id, name) = host.split_once(' ')?;
            Some(HostName { id: id.to_owned(), name: name.to_owned() })
        });
        Self { sequence, content, is_mark, host, object: word(OBJECT), write: word(WRITE) }
    }
}

/// The message that the servers found, if there is one.
fn found(message: Result<StreamMessage, RawMessageError>) -> Result<Option<StoredMessage>, String> {
    match message {
        Ok(message) => {
            let content = message.payload.to_vec();
            Ok(Some(StoredMessage::new(message.sequence, &message.headers, content)))
        }
        Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

async fn options(
    settings: &NatsSettings,
    complaint: Arc<Mutex<Option<String>>>,
) -> io::Result<ConnectOptions> {
    let mut options = ConnectOptions::new()
        .name(format!("rapport on {}", settings.host))
        .request_timeout(Some(ANSWER))
        .connection_timeout(ANSWER)
        // Half of the connections of a cut-off network are only noticed because nothing comes back.
        .ping_interval(ANSWER)
        .max_reconnects(None)
        .reconnect_delay_callback(|_| RECONNECTING)
        // The addresses that servers tell one another may not be those by which a host reaches them.
        .ignore_discovered_servers()
        .event_callback(move |event| {
            let complaint = complaint.clone();
            async move {
                debug!(%event, "connection to NATS");
                let mut complaint = complaint.lock().unwrap_or_else(PoisonError::into_inner);
                match event {
                    Event::ServerError(_) | Event::ClientError(_) => *complaint = Some(event.to_string()),
                    Event::Connected => *complaint = None,
                    _ => {}
                }
            }
        });
    if let Some(ca) = &settings.ca {
        options = options.add_root_certificates(ca.clone()).require_tls(true);
    }
    if let Some((certificate, key)) = &settings.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone()).require_tls(true);
    }
    let Some(path) = &settings.credentials else { return Ok(options) };
    let about = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let file = path.clone();
    let words = tokio::task::spawn_blocking(move || std::fs::read_to_string(file)).await?.map_err(about)?;
    match login(&words) {
        Some((user, password)) => Ok(options.user_and_password(user, password)),
        None => options.credentials(&words).map_err(about),
    }
}

/// The user and the password in a file of two lines; `None` for a file in the format of NATS.
fn login(words: &str) -> Option<(String, String)> {
    let value = |name: &str| {
        let found =
            words.lines().find_map(|line| line.trim().strip_prefix(name)?.trim_start().strip_prefix(':'));
        found.map(|value| value.trim().to_owned())
    };
    Some((value("user")?, value("password")?))
}

fn sessions_of(settings: &NatsSettings) -> stream::Config {
    let stream = &settings.stream;
    stream::Config {
        name: stream.clone(),
        subjects: ["log", "doc", "folder"].map(|word| format!("{stream}.{word}.>")).to_vec(),
        // A full stream refuses new messages, and forgets none.
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: settings.replicas,
        allow_direct: true,
        allow_rollup: true,
        ..stream::Config::default()
    }
}

fn owners_of(settings: &NatsSettings) -> stream::Config {
    let stream = &settings.stream;
    stream::Config {
        name: format!("{stream}-owners"),
        subjects: ["owner", "lease"].map(|word| format!("{stream}.{word}.>")).to_vec(),
        max_messages_per_subject: 1,
        storage: StorageType::File,
        num_replicas: settings.replicas,
        allow_rollup: true,
        allow_message_ttl: true,
        subject_delete_marker_ttl: Some(REMEMBERED),
        ..stream::Config::default()
    }
}

/// The stream with this configuration; makes it if it does not exist.
async fn ensure(jetstream: &Context, config: stream::Config) -> Result<Stream<()>, String> {
    let name = config.name.clone();
    let until = Instant::now() + PATIENCE;
    loop {
        let made = jetstream.get_or_create_stream(config.clone()).await;
        let why = match made {
            Ok(_) => return jetstream.get_stream_no_info(&name).await.map_err(|error| error.to_string()),
            Err(error) => format!("no stream {name}: {error}"),
        };
        if Instant::now() >= until {
            return Err(why);
        }
        sleep(PAUSE).await;
    }
}

async fn ensure_objects(jetstream: &Context, settings: &NatsSettings) -> Result<ObjectStore, String> {
    let bucket = format!("{}-objects", settings.stream);
    let until = Instant::now() + PATIENCE;
    loop {
        if let Ok(objects) = jetstream.get_object_store(&bucket).await {
            return Ok(objects);
        }
        let config = object_store::Config {
            bucket: bucket.clone(),
            storage: StorageType::File,
            num_replicas: settings.replicas,
            ..object_store::Config::default()
        };
        let why = match jetstream.create_object_store(config).await {
            Ok(objects) => return Ok(objects),
            Err(error) => format!("no stream for objects: {error}"),
        };
        if Instant::now() >= until {
            return Err(why);
        }
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::login;

    #[test]
    fn a_file_of_two_lines_is_a_login() {
        let found = login("user: desk\npassword: a b: c\n").unwrap();
        assert_eq!(found, ("desk".to_owned(), "a b: c".to_owned()));
        assert_eq!(login("-----BEGIN NATS USER JWT-----\n"), None);
    }
}
