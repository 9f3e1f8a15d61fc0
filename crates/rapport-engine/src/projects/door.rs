//! The door to the known projects, for channels. Every request runs on a blocking thread.

use std::path::PathBuf;

use futures_util::FutureExt as _;
use rapport_core::{By, EarlierAnswer, PastSession, Session};
use rapport_door::{
    ContextUpdate, KnownProject, LoadedProject, ProjectError, ProjectReply, Projects, Sessions,
};
use tokio::task::spawn_blocking;

use super::known_projects::KnownProjects;

impl Projects for KnownProjects {
    fn list(&self) -> ProjectReply<'_, Vec<KnownProject>> {
        self.blocking(KnownProjects::all)
    }

    fn load<'a>(&'a self, project: &'a str) -> ProjectReply<'a, LoadedProject> {
        async move {
            self.catch_up(project).await?;
            let project = project.to_owned();
            self.blocking(move |known| known.loaded(&project)).await
        }
        .boxed()
    }

    fn explore<'a>(&'a self, project: &'a str) -> ProjectReply<'a, LoadedProject> {
        async move {
            let named = project.to_owned();
            let explored = self.blocking(move |known| known.explored(&named)).await?;
            self.catch_up(&explored.context.name).await?;
            let name = explored.context.name.clone();
            let loaded = self.blocking(move |known| known.loaded(&name)).await?;
            Ok(LoadedProject { remarks: explored.remarks, ..loaded })
        }
        .boxed()
    }

    fn update<'a>(
        &'a self,
        project: &'a str,
        by: &'a By,
        update: &'a ContextUpdate,
    ) -> ProjectReply<'a, LoadedProject> {
        let (project, by, update) = (project.to_owned(), by.clone(), update.clone());
        self.blocking(move |known| known.updated(&project, &by, &update))
    }

    fn learn<'a>(&'a self, project: &'a str, by: &'a By, id: &'a str) -> ProjectReply<'a, LoadedProject> {
        let (project, by, id) = (project.to_owned(), by.clone(), id.to_owned());
        self.blocking(move |known| known.learned(&project, &by, &id))
    }

    fn forget<'a>(
        &'a self,
        project: &'a str,
        by: &'a By,
        learning: &'a str,
    ) -> ProjectReply<'a, LoadedProject> {
        let (project, by, learning) = (project.to_owned(), by.clone(), learning.to_owned());
        self.blocking(move |known| known.forgotten(&project, &by, &learning))
    }

    fn register<'a>(&'a self, name: &'a str, path: &'a str, by: &'a By) -> ProjectReply<'a, LoadedProject> {
        let (name, path, by) = (name.to_owned(), path.to_owned(), by.clone());
        self.blocking(move |known| known.registered(&name, &path, &by))
    }

    fn unregister<'a>(&'a self, name: &'a str, by: &'a By) -> ProjectReply<'a, ()> {
        let (name, by) = (name.to_owned(), by.clone());
        self.blocking(move |known| known.unregistered(&name, &by))
    }

    fn resolve<'a>(&'a self, project: &'a str) -> ProjectReply<'a, PathBuf> {
        let project = project.to_owned();
        self.blocking(move |known| known.resolved(&project))
    }
}

impl KnownProjects {
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ProjectError> + Send + 'static,
    ) -> ProjectReply<'_, T> {
        let known = self.clone();
        async move {
            let done = spawn_blocking(move || work(&known)).await;
            done.map_err(|error| ProjectError::Failed(error.to_string()))?
        }
        .boxed()
    }

    /// Records the ends of sessions that are not recorded yet: the process that ran a session may have been killed,
    /// or no process ran it when it ended. A session that cannot be read is left out.
    async fn catch_up(&self, project: &str) -> Result<(), ProjectError> {
        let Some(sessions_of) = self.sessions.clone() else { return Ok(()) };
        let named = project.to_owned();
        let Some((folder, path)) = self.blocking(move |known| known.known_folder(&named)).await? else {
            return Ok(());
        };
        let Some(sessions) = sessions_of(&path) else { return Ok(()) };
        let Ok(all) = sessions.list().await else { return Ok(()) };
        let wanted = self.blocking(move |known| known.unrecorded(&folder, all)).await?;
        for id in wanted {
            self.record_session(&*sessions, &id).await?;
        }
        Ok(())
    }

    /// Records how a session ended, if it did.
    pub async fn record_session(
        &self,
        sessions: &dyn Sessions,
        id: &rapport_core::SessionId,
    ) -> Result<(), ProjectError> {
        let Ok(entries) = sessions.entries(id, 0).await else { return Ok(()) };
        let ends = PastSession::all_of(id, &entries);
        let Some(session) = Session::replay(&entries).filter(|_| !ends.is_empty()) else { return Ok(()) };
        let (view, answers) = (session.view(id), EarlierAnswer::all_of(id, &session));
        self.blocking(move |known| {
            known.keep_answers(&view.project, answers)?;
            known.record(&view, ends)
        })
        .await
    }
}
