//! A push service (RFC 8030) for the tests, and a browser that subscribes there: it checks the signature of every
//! message (RFC 8292) and decrypts it (RFC 8291) as a browser does.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::ECDSA_P256_SHA256_FIXED;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);

/// A message as it came.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

#[derive(Default)]
struct Received {
    messages: Mutex<Vec<Message>>,
    /// What the next messages are answered; afterwards, they are taken.
    answers: Mutex<VecDeque<StatusCode>>,
}

/// The service.
pub(super) struct PushServer {
    /// Its origin.
    pub(super) origin: String,
    received: Arc<Received>,
}

impl PushServer {
    pub(super) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Received::default());
        let router = Router::new().route("/{*path}", post(take)).with_state(received.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { origin, received }
    }

    /// Answers the next messages like this.
    pub(super) fn answer(&self, statuses: &[u16]) {
        let statuses = statuses.iter().map(|status| StatusCode::from_u16(*status).unwrap());
        self.received.answers.lock().unwrap().extend(statuses);
    }

    /// The messages to this browser so far.
    pub(super) fn messages(&self, of: &Subscriber) -> Vec<Message> {
        let all = self.received.messages.lock().unwrap();
        all.iter().filter(|message| message.path == of.path).cloned().collect()
    }

    /// Waits until there are this many messages to a browser, and gives the last of them.
    pub(super) async fn message(&self, of: &Subscriber, number: usize) -> Message {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let messages = self.messages(of);
            if let Some(message) = messages.get(number - 1) {
                return message.clone();
            }
            assert!(Instant::now() < deadline, "message {number} to {} did not come", of.path);
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn take(
    State(received): State<Arc<Received>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    received.messages.lock().unwrap().push(Message { path: uri.path().to_owned(), headers, body });
    received.answers.lock().unwrap().pop_front().unwrap_or(StatusCode::CREATED)
}

/// A browser that is subscribed.
pub(super) struct Subscriber {
    path: String,
    private: [u8; 32],
    public: Vec<u8>,
    auth: [u8; 16],
}

impl Subscriber {
    pub(super) fn new(name: &str) -> Self {
        let (mut private, mut auth) = ([0; 32], [0; 16]);
        SystemRandom::new().fill(&mut private).unwrap();
        SystemRandom::new().fill(&mut auth).unwrap();
        let public = key(&private).compute_public_key().unwrap().as_ref().to_vec();
        Self { path: format!("/push/{name}"), private, public, auth }
    }

    /// The fields of the form that subscribes it at this service.
    pub(super) fn fields(&self, service: &PushServer) -> [(&'static str, String); 3] {
        let endpoint = format!("{}{}", service.origin, self.path);
        [("endpoint", endpoint), ("p256dh", encoded(&self.public)), ("auth", encoded(&self.auth))]
    }

    /// Decrypts a message.
    pub(super) fn read(&self, message: &Message) -> Value {
        let (salt, rest) = message.body.split_at(16);
        let (size, rest) = rest.split_at(4);
        assert_eq!(u32::from_be_bytes(size.try_into().unwrap()), 4096);
        assert_eq!(rest[0], 65);
        let (sender, record) = rest[1..].split_at(65);
        let theirs = UnparsedPublicKey::new(&ECDH_P256, sender);
        let input = agree_ephemeral(key(&self.private), &theirs, |shared| {
            let about = [&b"WebPush: info\0"[..], &self.public, sender];
            derived(&self.auth, shared, &about, 32)
        });
        let input = input.unwrap();
        let key = derived(salt, &input, &[b"Content-Encoding: aes128gcm\0"], 16);
        let nonce = derived(salt, &input, &[b"Content-Encoding: nonce\0"], 12);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
        let nonce = Nonce::try_assume_unique_for_key(&nonce).unwrap();
        let mut record = record.to_vec();
        let opened = key.open_in_place(nonce, Aad::empty(), &mut record).unwrap();
        let end = opened.iter().rposition(|byte| *byte != 0).unwrap();
        assert_eq!(opened[end], 2, "the delimiter of the last record");
        serde_json::from_slice(&opened[..end]).unwrap()
    }
}

/// Checks that a message was signed by the server with this key, for this service; gives who can be written to.
pub(super) fn check_signature(message: &Message, service: &PushServer, known: &str) -> String {
    let header = message.headers["authorization"].to_str().unwrap();
    let (token, key) = header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
    assert_eq!(key, known);
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let key = ring::signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decoded(key));
    key.verify(signed.as_bytes(), &decoded(signature)).expect("the signature is right");
    let (head, claims) = signed.split_once('.').unwrap();
    let read = |part: &str| -> Value { serde_json::from_slice(&decoded(part)).unwrap() };
    assert_eq!(read(head)["alg"], "ES256");
    let claims = read(claims);
    assert_eq!(claims["aud"], service.origin);
    let left = claims["exp"].as_i64().unwrap() - jiff::Timestamp::now().as_second();
    assert!((1..=24 * 60 * 60).contains(&left), "{left}");
    claims["sub"].as_str().unwrap().to_owned()
}

/// The same key every time: `ring` keeps a key only for one agreement.
#[expect(deprecated, reason = "ring has no other way to use a key twice")]
fn key(private: &[u8; 32]) -> EphemeralPrivateKey {
    let random = ring::test::rand::FixedSliceRandom { bytes: private };
    EphemeralPrivateKey::generate(&ECDH_P256, &random).unwrap()
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derived(salt: &[u8], secret: &[u8], about: &[&[u8]], length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let secret = Salt::new(HKDF_SHA256, salt).extract(secret);
    secret.expand(about, Length(length)).unwrap().fill(&mut bytes).unwrap();
    bytes
}

pub(super) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decoded(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}
