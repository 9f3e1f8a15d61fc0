//! Enforces roles, for all channels in one place: whoever may only look gets a door through which nothing is changed.
//! A channel decides whose door it opens, from the device, the user or the token of a request.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::stream::BoxStream;
use jiff::Timestamp;
use rapport_core::authority::Role;
use rapport_core::{Act, By, Created, Entry, Event, QuestionRound, Rule, SessionId, View};

use crate::{
    Content, ContextUpdate, DoorError, Holder, KnownProject, LoadedProject, NewFile, Pieces, ProjectError,
    ProjectReply, Projects, Reached, Reply, Seen, Sessions, Update, WorkplaceNow,
};

/// Why somebody with the role `Look` cannot do something.
pub const MAY_ONLY_LOOK: &str = "you may only look here";

/// The sessions, for somebody with this role.
pub fn sessions_for(role: Role, sessions: Arc<dyn Sessions>) -> Arc<dyn Sessions> {
    match role {
        Role::Answer => sessions,
        Role::Look => Arc::new(SeenSessions(sessions)),
    }
}

/// The projects, for somebody with this role.
pub fn projects_for(role: Role, projects: Arc<dyn Projects>) -> Arc<dyn Projects> {
    match role {
        Role::Answer => projects,
        Role::Look => Arc::new(SeenProjects(projects)),
    }
}

/// Sessions that can be seen, and not changed.
struct SeenSessions(Arc<dyn Sessions>);

fn refused<'a, T: Send + 'a>() -> Reply<'a, T> {
    Box::pin(std::future::ready(Err(DoorError::Forbidden(MAY_ONLY_LOOK.to_owned()))))
}

impl Sessions for SeenSessions {
    fn list(&self) -> Reply<'_, Vec<SessionId>> {
        self.0.list()
    }

    fn view<'a>(&'a self, id: &'a SessionId) -> Reply<'a, View> {
        self.0.view(id)
    }

    fn entries<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, Vec<Entry>> {
        self.0.entries(id, after)
    }

    fn holder<'a>(&'a self, id: &'a SessionId) -> Reply<'a, Option<Holder>> {
        self.0.holder(id)
    }

    fn beside<'a>(&'a self, id: &'a SessionId) -> Reply<'a, usize> {
        self.0.beside(id)
    }

    fn workplace<'a>(&'a self, id: &'a SessionId) -> Reply<'a, Option<WorkplaceNow>> {
        self.0.workplace(id)
    }

    fn follow<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, BoxStream<'static, Update>> {
        self.0.follow(id, after)
    }

    fn watch(&self) -> Reply<'_, BoxStream<'static, Seen>> {
        self.0.watch()
    }

    fn read<'a>(&'a self, id: &'a SessionId, what: Content) -> Reply<'a, Pieces> {
        self.0.read(id, what)
    }

    fn attach<'a>(&'a self, _: &'a SessionId, _: &'a str, _: &'a [u8]) -> Reply<'a, ()> {
        refused()
    }

    fn receive<'a>(&'a self, _: &'a SessionId, _: &'a [NewFile]) -> Reply<'a, Vec<String>> {
        refused()
    }

    fn act<'a>(&'a self, _: &'a SessionId, _: &'a By, _: &'a Act) -> Reply<'a, Reached> {
        refused()
    }

    fn create(&self, _: Created, _: Option<QuestionRound>) -> Reply<'_, SessionId> {
        refused()
    }

    fn create_with_files<'a>(&'a self, _: Created, _: &'a [NewFile]) -> Reply<'a, SessionId> {
        refused()
    }

    fn import(&self, _: Vec<Event>, _: Timestamp) -> Reply<'_, SessionId> {
        refused()
    }

    fn rules(&self) -> Reply<'_, Vec<Rule>> {
        self.0.rules()
    }

    fn forget_rule<'a>(&'a self, _: &'a Rule) -> Reply<'a, ()> {
        refused()
    }

    fn resume<'a>(&'a self, _: &'a SessionId) -> Reply<'a, ()> {
        refused()
    }

    fn release<'a>(&'a self, _: &'a SessionId) -> Reply<'a, ()> {
        refused()
    }

    fn of_project(&self, path: &Path) -> Option<Arc<dyn Sessions>> {
        Some(Arc::new(SeenSessions(self.0.of_project(path)?)))
    }
}

/// Projects that can be seen, and not changed.
struct SeenProjects(Arc<dyn Projects>);

fn unchanged<'a, T: Send + 'a>() -> ProjectReply<'a, T> {
    Box::pin(std::future::ready(Err(ProjectError::Forbidden(MAY_ONLY_LOOK))))
}

impl Projects for SeenProjects {
    fn list(&self) -> ProjectReply<'_, Vec<KnownProject>> {
        self.0.list()
    }

    fn load<'a>(&'a self, project: &'a str) -> ProjectReply<'a, LoadedProject> {
        self.0.load(project)
    }

    fn explore<'a>(&'a self, _: &'a str) -> ProjectReply<'a, LoadedProject> {
        unchanged()
    }

    fn update<'a>(&'a self, _: &'a str, _: &'a By, _: &'a ContextUpdate) -> ProjectReply<'a, LoadedProject> {
        unchanged()
    }

    fn learn<'a>(&'a self, _: &'a str, _: &'a By, _: &'a str) -> ProjectReply<'a, LoadedProject> {
        unchanged()
    }

    fn forget<'a>(&'a self, _: &'a str, _: &'a By, _: &'a str) -> ProjectReply<'a, LoadedProject> {
        unchanged()
    }

    fn register<'a>(&'a self, _: &'a str, _: &'a str, _: &'a By) -> ProjectReply<'a, LoadedProject> {
        unchanged()
    }

    fn unregister<'a>(&'a self, _: &'a str, _: &'a By) -> ProjectReply<'a, ()> {
        unchanged()
    }

    fn resolve<'a>(&'a self, project: &'a str) -> ProjectReply<'a, PathBuf> {
        self.0.resolve(project)
    }
}
