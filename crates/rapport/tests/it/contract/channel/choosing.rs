//! Channels are kinds in a list: the settings configure them, a name chooses among them, and several are served side
//! by side.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rapport::channels::{self, ChannelKinds};
use rapport::config::{self, Layer, Settings, Sources};
use rapport::engine::Sessions as _;
use rapport::error::{Code, Failure};
use rapport::stores::memory::Memory;
use rapport::wiring::Workspace;
use rapport::workers::WorkerKinds;
use rapport_core::SessionId;
use rapport_door::{Channel, ChannelError, ChannelKind, ChannelSetup, Diagnosis, Missing, Notices, Served};
use rapport_settings::{ConfigError, Declared, section};
use tokio::sync::watch;

use super::super::door::Process;
use super::super::dummy::{DummyChannel, DummyPeople};
use super::{ANNA, PATIENCE, People, created, round};
use crate::support::telegram::TelegramServer;

section! {
    /// Settings of a channel that listens, as a web page does.
    struct DummyLayer in "dummy.", blank variables: Unset {
        listen: SocketAddr, Trusted, Masked;
    }
    sections {}
}

/// The channel of `dummy.rs` as a kind. A test that opened it finds its people here.
#[derive(Clone, Default)]
struct Dummy(Arc<Mutex<Option<DummyPeople>>>);

impl ChannelKind for Dummy {
    fn name(&self) -> &'static str {
        DummyChannel::NAME
    }

    fn section(&self) -> Declared {
        Declared::of::<DummyLayer>()
    }

    fn help(&self) -> &'static str {
        "A channel for tests."
    }

    fn missing(&self, settings: &Sources) -> Result<Option<Missing>, ConfigError> {
        let is_missing = settings.load::<DummyLayer>()?.listen.is_none();
        Ok(is_missing.then_some(Missing { what: "there is no dummy.listen", advice: "Name an address." }))
    }

    fn open(&self, setup: ChannelSetup) -> BoxFuture<'static, Result<Box<dyn Channel>, ChannelError>> {
        let people = self.0.clone();
        Box::pin(async move {
            let address = setup.settings.load::<DummyLayer>()?.listen.unwrap();
            let listener = TcpListener::bind(address)
                .map_err(|error| ChannelError::Broken(format!("cannot listen on {address}: {error}")))?;
            let (channel, seen) = DummyChannel::open();
            *people.lock().unwrap() = Some(seen);
            Ok(Box::new(Listening(channel, listener)) as Box<dyn Channel>)
        })
    }

    fn diagnose(&self, _: ChannelSetup) -> BoxFuture<'static, Diagnosis> {
        Box::pin(async { Diagnosis::Good("it is a test".into()) })
    }
}

/// A channel that has its address for as long as it runs.
struct Listening(DummyChannel, TcpListener);

impl Channel for Listening {
    fn name(&self) -> &'static str {
        DummyChannel::NAME
    }

    fn run(self: Box<Self>, served: Served) -> BoxFuture<'static, Result<(), ChannelError>> {
        Box::pin(async move {
            let Listening(channel, _listener) = *self;
            Box::new(channel).run(served).await
        })
    }
}

/// A channel that ends in this way as soon as it runs.
struct Ending(&'static str, fn() -> Result<(), ChannelError>);

impl Channel for Ending {
    fn name(&self) -> &'static str {
        self.0
    }

    fn run(self: Box<Self>, _: Served) -> BoxFuture<'static, Result<(), ChannelError>> {
        Box::pin(async move { (self.1)() })
    }
}

/// A home with these settings, and a place that knows the dummy channel beside the usual ones.
struct Stage {
    place: Workspace,
    dummy: Dummy,
    sources: Sources,
    _folder: tempfile::TempDir,
}

impl Stage {
    fn with(said: &str, env: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (home, app): (PathBuf, PathBuf) = (folder.path().join("home"), folder.path().join("app"));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(&app).unwrap();
        std::fs::write(home.join("config.yaml"), said).unwrap();
        let dummy = Dummy::default();
        let place =
            Workspace { channels: ChannelKinds::builtin().with(dummy.clone()), ..Workspace::new(home, app) };
        // The page is served unless the settings switch it off.
        let env = env.iter().chain(&[("RAPPORT_WEB_ENABLED", "false")]);
        let env = env.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let sources = config::sources(&place.home, &place.project, env, &place.known_settings()).unwrap();
        Self { place, dummy, sources, _folder: folder }
    }

    fn chosen(&self, names: &[&str]) -> Result<ChannelKinds, Failure> {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        self.place.channels.chosen(&names, &self.sources)
    }

    fn names(&self, names: &[&str]) -> Vec<&'static str> {
        self.chosen(names).unwrap().iter().map(ChannelKind::name).collect()
    }

    async fn open(&self) -> Result<Vec<Box<dyn Channel>>, Failure> {
        let settings = Settings::load(&self.sources, Layer::default(), &WorkerKinds::builtin()).unwrap();
        let setup = self.place.channel_setup(&settings, Arc::new(self.sources.clone()));
        self.chosen(&[]).unwrap().open(&setup).await
    }
}

const LISTEN: &str = "dummy: { listen: '127.0.0.1:0' }\n";
const TOKEN: (&str, &str) = ("TELEGRAM_BOT_TOKEN", "1:a");

#[test]
fn what_is_configured_is_served_and_a_name_chooses() {
    assert_eq!(Stage::with(LISTEN, &[]).names(&[]), ["dummy"]);
    assert_eq!(Stage::with("", &[TOKEN]).names(&[]), ["telegram"]);
    let both = Stage::with(LISTEN, &[TOKEN]);
    assert_eq!(both.names(&[]), ["telegram", "dummy"]);
    assert_eq!(both.names(&["dummy"]), ["dummy"]);
    assert_eq!(both.names(&["dummy", "telegram", "dummy"]), ["telegram", "dummy"]);
}

#[test]
fn what_is_missing_is_told_with_how_to_get_it() {
    let stage = Stage::with("", &[]);
    let none = stage.chosen(&[]).unwrap_err();
    assert_eq!(none.code, Code::Usage);
    // No kind is configured by itself, so each says what it needs.
    let missing: Vec<_> =
        stage.place.channels.iter().map(|kind| kind.missing(&stage.sources).unwrap().unwrap()).collect();
    let what: Vec<_> = missing.iter().map(|missing| missing.what).collect();
    assert_eq!(what.last(), Some(&"there is no dummy.listen"));
    assert!(what.contains(&"there is no token of a Telegram bot"), "{what:?}");
    assert_eq!(none.message, format!("no channel is configured: {}", what.join("; ")));
    assert_eq!(none.hints, missing.iter().map(|missing| missing.advice).collect::<Vec<_>>());
    let named = Stage::with("", &[TOKEN]).chosen(&["telegram", "dummy"]).unwrap_err();
    assert_eq!(named.code, Code::Usage);
    assert_eq!(named.message, "the channel dummy is not configured: there is no dummy.listen");
    assert_eq!(named.hints, ["Name an address."]);
}

#[test]
fn a_mistake_in_the_section_of_a_channel_is_told_with_its_place() {
    let stage = Stage::with("dummy:\n  listen: here\n", &[]);
    let wrong = stage.chosen(&[]).unwrap_err();
    assert_eq!(wrong.code, Code::Usage);
    assert!(wrong.message.contains("config.yaml:2:11: \"here\" is not an address"), "{}", wrong.message);
}

#[tokio::test]
async fn a_channel_that_cannot_start_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let stage = Stage::with(&format!("dummy: {{ listen: '{address}' }}\n"), &[]);
    let failure = stage.open().await.err().unwrap();
    assert!(
        failure.message.starts_with(&format!("dummy: cannot listen on {address}: ")),
        "{}",
        failure.message
    );
}

/// A page and a bot of one program: a question is shown in both, and answered in one it is gone from the other.
#[tokio::test]
async fn two_channels_are_served_side_by_side() {
    let server = TelegramServer::start().await;
    let (url, anna) = (server.url(), ANNA.to_string());
    let env = [
        ("TELEGRAM_BOT_TOKEN", server.token()),
        ("RAPPORT_TELEGRAM_API_URL", url.as_str()),
        ("TELEGRAM_USER_ID", anna.as_str()),
    ];
    let stage = Stage::with(LISTEN, &env);
    let channels = stage.open().await.unwrap();
    let page = stage.dummy.0.lock().unwrap().take().unwrap();
    let phone = server.person(i64::try_from(ANNA).unwrap(), "Anna");
    let process = Process::start(Arc::new(Memory::new()));
    let (stop, stopped) = watch::channel(false);
    let (notices, _told) = Notices::channel();
    let served = Served { sessions: Arc::new(process.sessions.clone()), stop: stopped, notices };
    let story = async {
        let asked = |task: &'static str, question: &'static str| {
            process.sessions.create(created(task), Some(round(question)))
        };
        let door = asked("paint the door", "Which shape?").await.unwrap();
        seen_by_both(&page, &phone, &door, "Which shape?").await;
        page.choose(&door, "Blue").await;
        phone.see_it_gone(&door, "Which shape?").await;
        let wall = asked("paint the wall", "Which colour?").await.unwrap();
        seen_by_both(&page, &phone, &wall, "Which colour?").await;
        phone.choose(&wall, "Blue").await;
        page.see_it_gone(&wall, "Which colour?").await;
        stop.send(true).unwrap();
    };
    let (outcome, ()) = tokio::join!(channels::run(channels, served, &stop), story);
    outcome.unwrap();
    process.stop().await;
}

async fn seen_by_both(page: &dyn People, phone: &dyn People, id: &SessionId, question: &str) {
    page.see(id, question).await;
    phone.see(id, question).await;
}

#[tokio::test]
async fn a_channel_that_fails_stops_the_others_and_is_named() {
    let broken: fn() -> Result<(), ChannelError> = || Err(ChannelError::Broken("the line is cut".into()));
    let panics: fn() -> Result<(), ChannelError> = || panic!("on purpose");
    for (ends, says) in [(broken, "broken: the line is cut"), (panics, "broken: task ")] {
        let process = Process::start(Arc::new(Memory::new()));
        let (stop, stopped) = watch::channel(false);
        let (notices, _told) = Notices::channel();
        let served = Served { sessions: Arc::new(process.sessions.clone()), stop: stopped, notices };
        let (other, _people) = DummyChannel::open();
        let channels: Vec<Box<dyn Channel>> = vec![Box::new(other), Box::new(Ending("broken", ends))];
        let running = channels::run(channels, served, &stop);
        let failure = tokio::time::timeout(PATIENCE, running).await.unwrap().unwrap_err();
        assert!(failure.message.starts_with(says), "{}", failure.message);
        assert_eq!(failure.code, Code::Trouble);
        process.stop().await;
    }
}

/// A page that ends by itself leaves the bot alone.
#[tokio::test]
async fn a_channel_that_ends_well_does_not_stop_the_others() {
    let process = Process::start(Arc::new(Memory::new()));
    let (stop, stopped) = watch::channel(false);
    let (notices, _told) = Notices::channel();
    let served = Served { sessions: Arc::new(process.sessions.clone()), stop: stopped, notices };
    let (other, people) = DummyChannel::open();
    let channels: Vec<Box<dyn Channel>> = vec![Box::new(Ending("done", || Ok(()))), Box::new(other)];
    let story = async {
        let id = process.sessions.create(created("paint it"), Some(round("Which colour?"))).await.unwrap();
        people.see(&id, "Which colour?").await;
        stop.send(true).unwrap();
    };
    let both = async { tokio::join!(channels::run(channels, served, &stop), story).0 };
    tokio::time::timeout(PATIENCE + Duration::from_secs(5), both).await.unwrap().unwrap();
    process.stop().await;
}
