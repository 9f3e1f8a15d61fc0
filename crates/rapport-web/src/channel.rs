//! The channel: a server that listens, and serves pages until it has to stop.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path};
use axum::middleware;
use axum::routing::{get, post};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rapport_core::authority::Role;
use rapport_door::{Channel, ChannelError, ChannelNotice, DoorError, ProjectSetup, Projects, Served};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::board::Board;
use crate::device_cache::DeviceCache;
use crate::devices::Devices;
use crate::push::{EndpointPolicy, Push, Pusher, VapidKey};
use crate::rates::Rates;
use crate::site::{Address, Begun, DeviceNotices, Secrets, Site, invitation};
use crate::{CHANNEL, access, assets, handlers, qr, stream};

/// The time limit for the head of a request, and for an idle connection.
const HEADERS_WITHIN: Duration = Duration::from_secs(30);
/// The time limit for open requests when the server stops.
const FAREWELL: Duration = Duration::from_secs(3);
/// The maximum length of a form without files.
const LONGEST_FORM: usize = 1024 * 1024;

/// A server that listens, and serves no requests yet.
pub struct Web {
    config: WebConfig,
}

/// What a server is made from.
pub struct WebConfig {
    pub listener: TcpListener,
    pub address: Address,
    /// The names by which it may be addressed.
    pub hosts: Vec<String>,
    /// The push services that may be in private networks.
    pub push_hosts: Vec<String>,
    /// Rapport's home, where the devices are.
    pub home: PathBuf,
    /// The projects that are served; the first one is the default.
    pub projects: Vec<ProjectSetup>,
    /// What is known about projects.
    pub knowledge: Arc<dyn Projects>,
    /// Secrets that no page shows.
    pub secrets: Vec<SecretString>,
    pub zone: TimeZone,
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Web {
    pub fn new(config: WebConfig) -> Self {
        Self { config }
    }

    async fn serve(self, mut served: Served) -> Result<(), ChannelError> {
        let WebConfig { listener, address, hosts, push_hosts, home, projects, knowledge, secrets, zone, now } =
            self.config;
        // A push service can find out whom to write to.
        let contact =
            if address.is_secure() { address.url.clone() } else { "mailto:rapport@localhost".to_owned() };
        let own = home.clone();
        let key = spawn_blocking(move || VapidKey::of(&own, contact)).await;
        let key = key.map_err(io::Error::from).flatten().map_err(|error| broken(&error))?;
        let names = projects.iter().map(|project| (project.path.clone(), project.name.clone())).collect();
        let site = Arc::new(Site {
            sessions: served.sessions.clone(),
            board: Board::new(served.sessions.clone(), names, zone.clone()),
            devices: DeviceCache::new(Devices::of(&home)),
            announcer: stream::Announcer::new(),
            push: Push::new(&home, EndpointPolicy::new(push_hosts), key),
            hosts,
            address: address.clone(),
            rates: Rates::default(),
            build: assets::build(),
            projects,
            knowledge,
            secrets: Secrets::new(secrets),
            told: DeviceNotices::default(),
            begun: Begun::default(),
            visited: Notify::new(),
            zone,
            now,
            stop: served.stop.clone(),
        });
        let (link, now) = (address.clone(), (site.now)());
        let prepared = spawn_blocking(move || {
            link.note(&home)
                .map_err(|error| broken(&format!("cannot write into {}: {error}", home.display())))?;
            let devices = Devices::of(&home);
            let has_devices = !devices.list().map_err(|error| broken(&error))?.is_empty();
            let code = devices.invite(Role::Answer, now).map_err(|error| broken(&error))?;
            Ok::<_, ChannelError>((code, has_devices))
        });
        let (code, has_devices) =
            prepared.await.map_err(|error| ChannelError::Broken(error.to_string()))??;
        served
            .notices
            .tell(ChannelNotice::Serving { channel: CHANNEL, name: format!("the page at {}", address.url) });
        let link = invitation(&address, &code);
        let picture = qr::picture(&link);
        served.notices.tell(ChannelNotice::Invitation { channel: CHANNEL, link, picture });
        let mut serving =
            tokio::spawn(rapport_http::serve(listener, routes(&site), HEADERS_WITHIN, served.stop.clone()));
        let (announced, changes) = (site.clone(), site.board.changes());
        let announcing =
            tokio::spawn(async move { announced.announcer.run(changes, &announced.devices).await });
        let followed = site.clone();
        let mut following = tokio::spawn(async move {
            // Reading thousands of sessions takes time, which a server without devices need not spend.
            if !has_devices {
                followed.visited.notified().await;
            }
            followed.board.follow().await
        });
        let resumed = tokio::spawn(resume_all(site.clone()));
        let pushing = tokio::spawn(Pusher::new(site.clone()).map_err(|error| broken(&error))?.run());
        let outcome = tokio::select! {
            () = served.stopped() => Ok(()),
            ended = &mut following => ended_early(ended),
        };
        resumed.abort();
        pushing.abort();
        announcing.abort();
        following.abort();
        // Streams end when the server stops; other responses get a moment to finish.
        if tokio::time::timeout(FAREWELL, &mut serving).await.is_err() {
            serving.abort();
        }
        outcome
    }
}

impl Channel for Web {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn run(self: Box<Self>, served: Served) -> BoxFuture<'static, Result<(), ChannelError>> {
        self.serve(served).boxed()
    }
}

fn broken(error: &dyn std::fmt::Display) -> ChannelError {
    ChannelError::Broken(error.to_string())
}

fn ended_early(ended: Result<Result<(), DoorError>, tokio::task::JoinError>) -> Result<(), ChannelError> {
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(error.into()),
        Err(error) => Err(ChannelError::Broken(error.to_string())),
    }
}

/// Every address of the page.
fn routes(site: &Arc<Site>) -> Router {
    Router::new()
        .route("/", get(handlers::inbox::inbox))
        .route("/events", get(stream::events))
        .route("/sessions", get(handlers::sessions::sessions))
        .route(
            "/new",
            get(handlers::start::form)
                .post(handlers::start::start)
                .layer(DefaultBodyLimit::max(handlers::start::LONGEST)),
        )
        .route("/devices", get(handlers::devices::list).post(handlers::devices::change))
        .route("/push", post(handlers::push::change))
        .route("/o/{id}", get(handlers::push::open))
        .route("/pair", get(handlers::pairing::form).post(handlers::pairing::pair))
        .route("/projects", get(handlers::projects::list))
        .route("/projects/{name}", get(handlers::projects::project).post(handlers::projects::change))
        .route("/s/{id}", get(handlers::session::story))
        .route("/s/{id}/turns", get(handlers::session::turns))
        .route("/s/{id}/plan", get(handlers::session::plan))
        .route("/s/{id}/changes", get(handlers::session::changes))
        .route("/s/{id}/log", get(handlers::session::log))
        .route("/s/{id}/preview", get(handlers::session::preview).post(handlers::session::fetched_preview))
        .route("/s/{id}/act", post(handlers::session::act))
        .fallback(handlers::nothing)
        .method_not_allowed_fallback(handlers::wrong_method)
        .layer(DefaultBodyLimit::max(LONGEST_FORM))
        .route(assets::WORKER, get(assets::worker))
        .route(
            "/assets/{build}/{name}",
            get(|Path((_, name)): Path<(String, String)>| async move { assets::file(&name) }),
        )
        .layer(middleware::from_fn_with_state(site.clone(), access::admit))
        .with_state(site.clone())
}

/// Resumes the sessions that were started here and that no process runs, because the previous server ended. The board
/// does not have a session whose log is damaged or not trusted, so such a log starts no agent.
async fn resume_all(site: Arc<Site>) {
    site.board.all_read().await;
    for summary in site.board.summaries(|one| one.is_resumed_here) {
        let id = &summary.id;
        if !matches!(site.sessions.holder(id).await, Ok(None)) {
            continue;
        }
        match site.sessions.resume(id).await {
            Ok(()) => {
                tracing::info!(session = %id, "resumed");
                site.board.resumed_here(id).await;
            }
            // Another process resumed it first.
            Err(error) => tracing::info!(session = %id, %error, "not resumed"),
        }
    }
}
