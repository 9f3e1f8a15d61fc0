//! A session of files that this process holds: nobody else plans or carries out in it meanwhile.

use std::sync::Arc;

use rapport_core::{Act, Aim, Entry, Input, Session, View, World};

use super::record;
use crate::cli::screen::{self, Answering, StopSignal};
use crate::cli::{Common, follow, sessions};
use crate::clock::Clock;
use crate::config::Settings;
use crate::engine::{Sessions, socket};
use crate::error::{Code, Failure, Outcome};
use crate::stores::files::Files;
use crate::stores::{Holder, Store as _, StoreError};
use crate::turns::Folder;
use crate::wiring::{Host, Place};

/// A session of files, held.
pub(in crate::cli) struct Held<'a> {
    pub(in crate::cli) common: &'a Common,
    pub(in crate::cli) place: &'a Place,
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) folder: Folder,
    pub(in crate::cli) sessions: Arc<dyn Sessions>,
    store: Arc<Files>,
}

/// Holds a session while something is done in it. What its agent was at when it was last held goes on at once.
pub(in crate::cli) fn hold<T>(
    common: &Common,
    place: &Place,
    settings: &Settings,
    folder: Folder,
    work: impl AsyncFnOnce(&Held<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(async {
        let store = place.store();
        enlist(place, &store, settings, &folder)?;
        let is_gone = |under_way: record::Drafting| !folder.path.join(under_way.folder).is_dir();
        if record::drafting(&store.read(&folder.id, 0)?).is_some_and(is_gone) {
            leave(place, &folder)?;
        }
        let host = Host::start(place, settings)?;
        let held = Held { common, place, settings, folder, sessions: host.sessions(), store };
        let outcome = match held.sessions.resume(&held.folder.id).await {
            Ok(()) => work(&held).await,
            Err(error) => Err(error.into()),
        };
        host.stop().await;
        outcome
    });
    // Somebody may still be asked for a line that nobody waits for any more.
    runtime.shutdown_background();
    outcome
}

/// Leaves what is being planned, as long as nobody is at it: once the session is held, its agent goes on.
pub(in crate::cli) fn leave(place: &Place, folder: &Folder) -> Outcome {
    let store = place.store();
    let holder = Holder { pid: std::process::id(), address: None };
    let (entries, mut log) = match store.hold(&folder.id, &holder) {
        // One without a log was never planned by us.
        Err(StoreError::NotFound(_)) => return Ok(()),
        held => held?,
    };
    let session = sessions::replay(&*store, &folder.id, &entries)?;
    if record::drafting(&entries).is_none() || session.is_failed() || session.is_over() {
        return Ok(());
    }
    let now = Clock::system().now();
    let left = World::Failed { reason: "what was being planned was left for something else".into() };
    log.append(now, session.decide(&Input::World(left), now)?)?;
    Ok(())
}

/// A directory that came without a log gets one.
fn enlist(place: &Place, store: &Files, settings: &Settings, folder: &Folder) -> Outcome {
    if store.read(&folder.id, 0).is_ok() {
        return Ok(());
    }
    let task = folder.id.as_str().split_once('-').map_or(folder.id.as_str(), |(_, name)| name);
    let facts = Session::begin(place.session(task.to_owned(), Aim::Files, settings)?)?;
    Ok(store.enlist(&folder.id, Clock::system().now(), facts)?)
}

impl<'a> Held<'a> {
    /// Another session, held beside this one.
    pub(in crate::cli) async fn beside(&self, folder: Folder) -> Result<Held<'a>, Failure> {
        self.sessions.resume(&folder.id).await?;
        let Self { common, place, settings, .. } = *self;
        Ok(Held {
            common,
            place,
            settings,
            folder,
            sessions: self.sessions.clone(),
            store: self.store.clone(),
        })
    }

    /// The session as it stands.
    pub(in crate::cli) async fn view(&self) -> Result<View, Failure> {
        Ok(self.sessions.view(&self.folder.id).await?)
    }

    /// Everything that is in its log.
    pub(in crate::cli) fn entries(&self) -> Result<Vec<Entry>, Failure> {
        Ok(self.store.read(&self.folder.id, 0)?)
    }

    /// Does something in it, in the name of who sits here. Durable when this returns.
    pub(in crate::cli) async fn submit(&self, act: Act) -> Outcome {
        self.sessions.act(&self.folder.id, &socket::person_here(), &act).await?;
        Ok(())
    }

    /// Shows it from after this entry until its agent has done its part and nothing waits for an answer.
    pub(in crate::cli) async fn show(&self, after: u64) -> Outcome {
        let (stop, id) = (StopSignal::listen()?, &self.folder.id);
        let view = self.view().await?;
        let shown = if self.common.json && screen::is_over(view.status) && view.seq <= after {
            // Nothing more comes by itself.
            screen::ended(&view)
        } else if self.common.json {
            follow::as_json(self.common, &self.sessions, id, &Answering::Person, after, stop).await
        } else {
            screen::show(self.common, &self.sessions, id, Answering::Person, stop).await
        };
        shown.map_err(|failure| match failure.code {
            Code::Interrupted => Failure::new(Code::Interrupted, failure.message)
                .hint(format!("Go on with: rapport resume --session {id}")),
            _ => failure,
        })
    }
}
