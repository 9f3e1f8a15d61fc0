//! A session of files that this process holds: nobody else plans or carries out in it meanwhile.

use std::sync::Arc;

use rapport_core::{Act, Aim, Entry, Session, View};

use crate::cli::screen::{self, Answering, StopSignal};
use crate::cli::{Common, follow, run};
use crate::clock::Clock;
use crate::config::Settings;
use crate::engine::{Gateway, socket};
use crate::error::{Failure, Outcome};
use crate::stores::Store as _;
use crate::stores::files::Files;
use crate::turns::Folder;
use crate::wiring::{Host, Place};

/// A session of files, held.
pub(in crate::cli) struct Held<'a> {
    pub(in crate::cli) common: &'a Common,
    pub(in crate::cli) place: &'a Place,
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) folder: Folder,
    pub(in crate::cli) gateway: Gateway,
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
        let host = Host::start(place, settings)?;
        let held = Held { common, place, settings, folder, gateway: host.engine.gateway(), store };
        let outcome = match run::take_up(&held.gateway, &held.folder.id).await {
            Ok(()) => work(&held).await,
            Err(failure) => Err(failure),
        };
        host.stop().await;
        outcome
    });
    // Somebody may still be asked for a line that nobody waits for any more.
    runtime.shutdown_background();
    outcome
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

impl Held<'_> {
    /// The session as it stands.
    pub(in crate::cli) async fn view(&self) -> Result<View, Failure> {
        Ok(self.gateway.view(&self.folder.id).await?)
    }

    /// Everything that is in its log.
    pub(in crate::cli) fn entries(&self) -> Result<Vec<Entry>, Failure> {
        Ok(self.store.read(&self.folder.id, 0)?)
    }

    /// Does something in it, in the name of who sits here. Durable when this returns.
    pub(in crate::cli) async fn submit(&self, act: Act) -> Outcome {
        Ok(self.gateway.submit(&self.folder.id, socket::person_here(), act).await?)
    }

    /// Shows it from after this entry until its agent has done its part and nothing waits for an answer.
    pub(in crate::cli) async fn show(&self, after: u64) -> Outcome {
        let stop = StopSignal::listen()?;
        if self.common.json {
            return follow::as_json(&self.gateway, &self.folder.id, &Answering::Person, after, stop).await;
        }
        screen::show(self.common, &self.gateway, &self.folder.id, Answering::Person, stop).await
    }
}
