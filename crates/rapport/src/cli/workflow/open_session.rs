//! A session of turns that this process holds: no other process plans or runs anything in it meanwhile.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use rapport_core::{Act, Entry, FileBatch, Session, UndoState, View};

use crate::cli::runtime;
use crate::cli::screen::{self, Answering, StopSignal};
use crate::cli::{Common, follower, host};
use crate::config::Settings;
use crate::engine::{Sessions, Update, socket};
use crate::error::{Code, Failure, KEPT, Outcome};
use crate::stores::Store;
use crate::turns::Folder;
use crate::turns::preparation::TurnPreparation;
use crate::wiring::{SessionKind, Workspace};

pub(in crate::cli) struct OpenSession<'a> {
    pub(in crate::cli) common: &'a Common,
    pub(in crate::cli) place: &'a Workspace,
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) folder: Folder,
    pub(in crate::cli) sessions: Arc<dyn Sessions>,
    store: Arc<dyn Store>,
    pub(in crate::cli) kind: SessionKind,
}

/// Holds a session while something is done in it. Interrupted activity is resumed at once.
pub(in crate::cli) fn hold<T>(
    common: &Common,
    place: &Workspace,
    settings: &Settings,
    folder: Folder,
    work: impl AsyncFnOnce(&OpenSession<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    hold_in(common, place, settings, (SessionKind::Sessions, folder), work)
}

/// The same for a session that may be stored elsewhere.
pub(in crate::cli) fn hold_in<T>(
    common: &Common,
    place: &Workspace,
    settings: &Settings,
    (kind, folder): (SessionKind, Folder),
    work: impl AsyncFnOnce(&OpenSession<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let settings = &with_agent(place, settings, (&kind, &folder));
    let runtime = runtime::of_two_threads()?;
    let outcome = runtime.block_on(async {
        let store = place.store_in(&kind);
        let host = host::start_in(place, settings, &kind).await?;
        let held = OpenSession { common, place, settings, folder, sessions: host.sessions(), store, kind };
        let outcome = match held.sessions.resume(&held.folder.id).await {
            Ok(()) => work(&held).await,
            Err(error) => Err(error.into()),
        };
        host.stop().await;
        outcome
    });
    // A thread may still wait for a line.
    runtime.shutdown_background();
    outcome
}

/// The settings with the agent of this session, which also searches the web for its actions and plans for the agents
/// that they name. An agent that the command names is the session's from now on.
fn with_agent(place: &Workspace, settings: &Settings, (kind, folder): (&SessionKind, &Folder)) -> Settings {
    let mut settings = settings.clone();
    // A session that cannot be read, or is not trusted, is refused when it is held.
    if *kind == SessionKind::Sessions
        && !settings.agent_is_named
        && let Ok((session, seal)) = super::sealed_state(place, folder)
        && let Some(agent) = session.agent().filter(|_| seal.counts())
    {
        settings.agent_name = Some(agent.name.clone());
        settings.agent_command = Some(agent.command.clone());
    }
    settings
}

/// The log cannot be followed, so the state of the session is unknown here.
fn lost(why: String) -> Failure {
    Failure::new(Code::Store, why).hint(KEPT)
}

impl<'a> OpenSession<'a> {
    /// Another session, held beside this one.
    pub(in crate::cli) async fn beside(&self, folder: Folder) -> Result<OpenSession<'a>, Failure> {
        self.sessions.resume(&folder.id).await?;
        let Self { common, place, settings, .. } = *self;
        Ok(OpenSession {
            common,
            place,
            settings,
            folder,
            sessions: self.sessions.clone(),
            store: self.store.clone(),
            kind: self.kind.clone(),
        })
    }

    pub(in crate::cli) async fn view(&self) -> Result<View, Failure> {
        Ok(self.sessions.view(&self.folder.id).await?)
    }

    /// The session's current state, from its whole log.
    pub(in crate::cli) async fn session(&self) -> Result<Session, Failure> {
        Ok(self.store.replay(&self.folder.id, &self.entries().await?)?)
    }

    async fn entries(&self) -> Result<Vec<Entry>, Failure> {
        // Asked for first: a session that can no longer be stored reports why.
        self.view().await?;
        Ok(self.store.read(&self.folder.id, 0).await?)
    }

    /// What prepares its turns.
    pub(in crate::cli) async fn preparation(&self) -> Result<TurnPreparation, Failure> {
        super::preparation(self.place, self.settings, &self.folder, &self.session().await?).await
    }

    /// Submits an act of the person at the terminal. Durable when this returns.
    pub(in crate::cli) async fn submit(&self, act: Act) -> Outcome {
        self.sessions.act(&self.folder.id, &socket::person_here(), &act).await?;
        Ok(())
    }

    /// Follows it from after this entry.
    pub(in crate::cli) async fn follow(&self, after: u64) -> Result<BoxStream<'static, Update>, Failure> {
        Ok(self.sessions.follow(&self.folder.id, after).await?)
    }

    /// Waits until nothing continues by itself.
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

    /// Waits until undoing a batch has ended, whatever else happens in the session.
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

    /// Waits for the next fact.
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
                    // A session that can no longer be stored is no longer followed; asking for it reports why.
                    None => {
                        self.view().await?;
                        return Err(self.interrupted("the session is followed no longer"));
                    }
                },
                () = stop.received() => return Err(self.interrupted("left; nothing is lost")),
            }
        }
    }

    /// The error if the person left in the middle.
    pub(in crate::cli) fn interrupted(&self, what: impl Into<String>) -> Failure {
        Failure::new(Code::Interrupted, what.into()).hint(self.next_step())
    }

    /// The next possible step. A plan without a session has no next turn: it can only be undone.
    pub(in crate::cli) fn next_step(&self) -> String {
        let id = &self.folder.id;
        match &self.kind {
            SessionKind::Sessions => format!("Go on with: rapport resume {id}"),
            SessionKind::Plans(_) => format!("Undo its changes to files with: rapport undo --batch {id}"),
        }
    }

    /// Shows it from after this entry until its agent is done and no question is open.
    pub(in crate::cli) async fn show(&self, after: u64) -> Outcome {
        let (stop, id) = (StopSignal::listen()?, &self.folder.id);
        let view = self.view().await?;
        let shown = if self.common.json && screen::is_over(&view) && view.seq <= after {
            // Nothing more happens by itself.
            screen::ended(&view)
        } else if self.common.json {
            follower::as_json(self.common, &self.sessions, id, &Answering::Person, after, stop).await
        } else {
            screen::show(self.common, &self.sessions, id, Answering::Person, stop).await
        };
        shown.map_err(|failure| match failure.code {
            Code::Interrupted => self.interrupted(failure.message),
            _ => failure,
        })
    }
}
