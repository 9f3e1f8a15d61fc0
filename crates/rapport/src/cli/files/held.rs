//! A session of files that this process holds: nobody else plans or carries out in it meanwhile.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use rapport_core::{Act, Aim, Entry, FileBatch, Session, UndoState, View};

use crate::cli::screen::{self, Answering, StopSignal};
use crate::cli::{Common, follow, host};
use crate::clock::Clock;
use crate::config::Settings;
use crate::engine::{Sessions, Update, socket};
use crate::error::{Code, Failure, KEPT, Outcome};
use crate::stores::Store;
use crate::turns::Folder;
use crate::wiring::{Place, Shelf};

/// A session of files, held.
pub(in crate::cli) struct Held<'a> {
    pub(in crate::cli) common: &'a Common,
    pub(in crate::cli) place: &'a Place,
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) folder: Folder,
    pub(in crate::cli) sessions: Arc<dyn Sessions>,
    store: Arc<dyn Store>,
    pub(in crate::cli) shelf: Shelf,
}

/// Holds a session while something is done in it. What it was at when it was last held goes on at once.
pub(in crate::cli) fn hold<T>(
    common: &Common,
    place: &Place,
    settings: &Settings,
    folder: Folder,
    work: impl AsyncFnOnce(&Held<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    enlist(place, settings, &folder)?;
    hold_in(common, place, settings, (Shelf::Sessions, folder), work)
}

/// The same for one that may be kept elsewhere.
pub(in crate::cli) fn hold_in<T>(
    common: &Common,
    place: &Place,
    settings: &Settings,
    (shelf, folder): (Shelf, Folder),
    work: impl AsyncFnOnce(&Held<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(async {
        let store = place.store_in(&shelf);
        let host = host::start_in(place, settings, &shelf)?;
        let held = Held { common, place, settings, folder, sessions: host.sessions(), store, shelf };
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

/// A directory that came without a log gets one. What is in it is found when it is held.
fn enlist(place: &Place, settings: &Settings, folder: &Folder) -> Outcome {
    let store = place.store();
    if store.read(&folder.id, 0).is_ok() {
        return Ok(());
    }
    let task = folder.id.as_str().split_once('-').map_or(folder.id.as_str(), |(_, name)| name);
    let facts = Session::begin(place.session(task.to_owned(), Aim::Files, settings)?)?;
    Ok(store.enlist(&folder.id, Clock::system().now(), facts)?)
}

/// Its log cannot be followed, and what happens in it is not known here.
fn lost(why: String) -> Failure {
    Failure::new(Code::Store, why).hint(KEPT)
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
            shelf: self.shelf.clone(),
        })
    }

    /// The session as it is shown.
    pub(in crate::cli) async fn view(&self) -> Result<View, Failure> {
        Ok(self.sessions.view(&self.folder.id).await?)
    }

    /// The session as it stands, from everything that is in its log.
    pub(in crate::cli) async fn session(&self) -> Result<Session, Failure> {
        Ok(self.store.replay(&self.folder.id, &self.entries().await?)?)
    }

    /// Everything that is in its log.
    async fn entries(&self) -> Result<Vec<Entry>, Failure> {
        // Asked for first: a session that cannot be stored any more says why.
        self.view().await?;
        Ok(self.store.read(&self.folder.id, 0).await?)
    }

    /// Does something in it, in the name of who sits here. Durable when this returns.
    pub(in crate::cli) async fn submit(&self, act: Act) -> Outcome {
        self.sessions.act(&self.folder.id, &socket::person_here(), &act).await?;
        Ok(())
    }

    /// Follows it from after this entry.
    pub(in crate::cli) async fn follow(&self, after: u64) -> Result<BoxStream<'static, Update>, Failure> {
        Ok(self.sessions.follow(&self.folder.id, after).await?)
    }

    /// Waits until nothing goes on in it by itself.
    pub(in crate::cli) async fn settle(&self) -> Result<View, Failure> {
        let mut stop = StopSignal::listen()?;
        let mut view = self.view().await?;
        let mut updates = self.follow(view.seq).await?;
        while !view.is_settled() {
            self.next_fact(&mut updates, &mut stop).await?;
            view = self.view().await?;
        }
        Ok(view)
    }

    /// Waits until a batch is no longer being undone, whatever else became of the session.
    pub(in crate::cli) async fn undone(&self, batch: &str) -> Result<Session, Failure> {
        let mut stop = StopSignal::listen()?;
        let mut session = self.session().await?;
        let mut updates = self.follow(session.seq()).await?;
        let is_under_way = |batch: &FileBatch| matches!(batch.undo, UndoState::UnderWay(_));
        while session.batch(batch).is_some_and(|(_, batch)| is_under_way(batch)) {
            self.next_fact(&mut updates, &mut stop).await?;
            session = self.session().await?;
        }
        Ok(session)
    }

    /// Waits until something more is known of it.
    async fn next_fact(
        &self,
        updates: &mut BoxStream<'static, Update>,
        stop: &mut StopSignal,
    ) -> Result<(), Failure> {
        loop {
            tokio::select! {
                update = updates.next() => match update {
                    Some(Update::Entry(_)) => return Ok(()),
                    Some(Update::Lost(why)) => return Err(lost(why)),
                    Some(Update::Progress(_) | Update::Action(_)) => {}
                    // One that cannot be stored is followed no longer; asked for, it says why.
                    None => {
                        self.view().await?;
                        return Err(self.interrupted("the session is followed no longer"));
                    }
                },
                () = stop.received() => return Err(self.interrupted("left; nothing is lost")),
            }
        }
    }

    /// How it is told that somebody left in the middle.
    pub(in crate::cli) fn interrupted(&self, what: impl Into<String>) -> Failure {
        Failure::new(Code::Interrupted, what.into()).hint(self.next_step())
    }

    /// What can be done with it next. A plan that is run alone has no next turn: what is left is to undo it.
    pub(in crate::cli) fn next_step(&self) -> String {
        let id = &self.folder.id;
        match &self.shelf {
            Shelf::Sessions => format!("Go on with: rapport resume {id}"),
            Shelf::Plans(_) => format!("Take back what was done to files with: rapport undo --batch {id}"),
        }
    }

    /// Shows it from after this entry until its agent has done its part and nothing waits for an answer.
    pub(in crate::cli) async fn show(&self, after: u64) -> Outcome {
        let (stop, id) = (StopSignal::listen()?, &self.folder.id);
        let view = self.view().await?;
        let shown = if self.common.json && screen::is_over(&view) && view.seq <= after {
            // Nothing more comes by itself.
            screen::ended(&view)
        } else if self.common.json {
            follow::as_json(self.common, &self.sessions, id, &Answering::Person, after, stop).await
        } else {
            screen::show(self.common, &self.sessions, id, Answering::Person, stop).await
        };
        shown.map_err(|failure| match failure.code {
            Code::Interrupted => self.interrupted(failure.message),
            _ => failure,
        })
    }
}
