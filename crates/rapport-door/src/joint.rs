//! The sessions of several projects behind one door. Two projects may have sessions of the same name, so the names of
//! sessions of all projects but the first begin with the name of their project.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{self, BoxStream};
use jiff::Timestamp;
use rapport_core::{Act, By, Created, Entry, Event, QuestionRound, Rule, SessionId, View};

use crate::{
    ChannelNotice, Content, DoorError, Holder, NewFile, Notices, Pieces, Reached, Reply, Seen, Sessions,
    Update, WorkplaceNow,
};

/// The separator between a project's name and its session's name.
const MARK: char = ':';

/// The sessions of several projects.
pub struct JointSessions {
    first: ProjectDoor,
    others: Vec<OtherSessions>,
    notices: Notices,
    /// The last reported reason why the sessions of a project are left out, by the project's name.
    left_out: Mutex<HashMap<String, String>>,
}

/// The sessions of one project among several.
pub struct ProjectDoor {
    /// Its unique name.
    pub name: String,
    /// Its directory, as its sessions name it.
    pub path: String,
    pub sessions: Arc<dyn Sessions>,
}

/// The sessions of a project that is not the first.
struct OtherSessions {
    door: ProjectDoor,
    /// The prefix of its sessions' names behind this door.
    prefix: Arc<str>,
}

impl JointSessions {
    /// The sessions of the first project keep their names; those of the others get the name of their project as a
    /// prefix. If the sessions of a project cannot be listed or watched, that is reported, and the other projects are
    /// still served.
    pub fn new(first: ProjectDoor, others: impl IntoIterator<Item = ProjectDoor>, notices: Notices) -> Self {
        let other = |door: ProjectDoor| OtherSessions { prefix: format!("{}{MARK}", door.name).into(), door };
        let others = others.into_iter().map(other).collect();
        Self { first, others, notices, left_out: Mutex::default() }
    }

    /// The name of a session's project, if it is not the first, and the session's name there.
    pub fn split(id: &SessionId) -> (Option<&str>, &str) {
        match id.as_str().split_once(MARK) {
            Some((project, own)) => (Some(project), own),
            None => (None, id.as_str()),
        }
    }

    /// The door of a session, its name there, and the prefix of its name here.
    fn find(&self, id: &SessionId) -> (&dyn Sessions, SessionId, Arc<str>) {
        let mut others = self.others.iter();
        let other = others.find_map(|other| {
            let inner = id.as_str().strip_prefix(&*other.prefix)?;
            Some((&*other.door.sessions, SessionId::new(inner), other.prefix.clone()))
        });
        other.unwrap_or_else(|| (&*self.first.sessions, id.clone(), "".into()))
    }

    /// Every door, with the prefix of its names.
    fn all(&self) -> impl Iterator<Item = (&ProjectDoor, Arc<str>)> {
        let others = self.others.iter().map(|other| (&other.door, other.prefix.clone()));
        [(&self.first, Arc::from(""))].into_iter().chain(others)
    }

    /// The replies of all doors, each with the prefix of its names. Doors that fail are left out, unless all do.
    async fn each<'a, T>(
        &'a self,
        ask: impl Fn(&'a dyn Sessions) -> Reply<'a, T>,
    ) -> Result<Vec<(T, Arc<str>)>, DoorError> {
        let (mut replies, mut failure) = (Vec::new(), None);
        for (door, prefix) in self.all() {
            match ask(&*door.sessions).await {
                Ok(reply) => {
                    self.known().remove(&door.name);
                    replies.push((reply, prefix));
                }
                Err(error) => {
                    self.leave_out(&door.name, &error);
                    failure = failure.or(Some(error));
                }
            }
        }
        match failure {
            Some(error) if replies.is_empty() => Err(error),
            _ => Ok(replies),
        }
    }

    /// Reports that the sessions of a project are left out, once for each reason.
    fn leave_out(&self, project: &str, error: &DoorError) {
        let message = error.to_string();
        let before = self.known().insert(project.to_owned(), message.clone());
        if before.as_ref() != Some(&message) {
            self.notices.tell(ChannelNotice::LeftOut { project: project.to_owned(), message });
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The door of the project in this directory; the first project's if no other matches.
    fn of(&self, path: &str) -> (&dyn Sessions, Arc<str>) {
        let other = self.others.iter().find(|other| other.door.path == path);
        let other = other.map(|other| (&*other.door.sessions, other.prefix.clone()));
        other.unwrap_or_else(|| (&*self.first.sessions, "".into()))
    }

    /// The reply of the door with this session, called with the session's name there.
    fn at<'a, T>(
        &'a self,
        id: &'a SessionId,
        ask: impl FnOnce(&'a dyn Sessions, SessionId) -> BoxFuture<'a, Result<T, DoorError>>,
    ) -> Reply<'a, T> {
        let (door, inner, _) = self.find(id);
        ask(door, inner)
    }
}

impl Sessions for JointSessions {
    fn list(&self) -> Reply<'_, Vec<SessionId>> {
        async move {
            let lists = self.each(|door| door.list()).await?;
            let mut all: Vec<_> = lists
                .into_iter()
                .flat_map(|(ids, prefix)| ids.into_iter().map(move |id| (outer(&prefix, &id), id)))
                .collect();
            // The name of a session within its project begins with the date. The sort is stable, so sessions with the
            // same name keep the order of their projects.
            all.sort_by(|(_, one), (_, other)| one.cmp(other));
            Ok(all.into_iter().map(|(id, _)| id).collect())
        }
        .boxed()
    }

    fn view<'a>(&'a self, id: &'a SessionId) -> Reply<'a, View> {
        async move {
            let (door, inner, _) = self.find(id);
            Ok(View { id: id.clone(), ..door.view(&inner).await? })
        }
        .boxed()
    }

    fn entries<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, Vec<Entry>> {
        async move {
            let (door, inner, prefix) = self.find(id);
            let entries = door.entries(&inner, after).await?;
            Ok(entries.into_iter().map(|entry| named(&prefix, entry)).collect())
        }
        .boxed()
    }

    fn holder<'a>(&'a self, id: &'a SessionId) -> Reply<'a, Option<Holder>> {
        self.at(id, |door, inner| async move { door.holder(&inner).await }.boxed())
    }

    fn beside<'a>(&'a self, id: &'a SessionId) -> Reply<'a, usize> {
        self.at(id, |door, inner| async move { door.beside(&inner).await }.boxed())
    }

    fn workplace<'a>(&'a self, id: &'a SessionId) -> Reply<'a, Option<WorkplaceNow>> {
        self.at(id, |door, inner| async move { door.workplace(&inner).await }.boxed())
    }

    fn follow<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, BoxStream<'static, Update>> {
        async move {
            let (door, inner, prefix) = self.find(id);
            let updates = door.follow(&inner, after).await?;
            Ok(updates.map(move |update| named_update(&prefix, update)).boxed())
        }
        .boxed()
    }

    fn watch(&self) -> Reply<'_, BoxStream<'static, Seen>> {
        async move {
            let watched = self.each(|door| door.watch()).await?;
            let all = watched.into_iter().map(|(seen, prefix)| {
                let named = move |seen: Seen| Seen {
                    session: outer(&prefix, &seen.session),
                    updates: seen.updates.into_iter().map(|update| named_update(&prefix, update)).collect(),
                };
                seen.map(named).boxed()
            });
            Ok(stream::select_all(all).boxed())
        }
        .boxed()
    }

    fn read<'a>(&'a self, id: &'a SessionId, what: Content) -> Reply<'a, Pieces> {
        self.at(id, |door, inner| async move { door.read(&inner, what).await }.boxed())
    }

    fn attach<'a>(&'a self, id: &'a SessionId, name: &'a str, content: &'a [u8]) -> Reply<'a, ()> {
        self.at(id, |door, inner| async move { door.attach(&inner, name, content).await }.boxed())
    }

    fn receive<'a>(&'a self, id: &'a SessionId, files: &'a [NewFile]) -> Reply<'a, Vec<String>> {
        self.at(id, |door, inner| async move { door.receive(&inner, files).await }.boxed())
    }

    fn act<'a>(&'a self, id: &'a SessionId, by: &'a By, act: &'a Act) -> Reply<'a, Reached> {
        self.at(id, |door, inner| async move { door.act(&inner, by, act).await }.boxed())
    }

    fn create(&self, created: Created, first: Option<QuestionRound>) -> Reply<'_, SessionId> {
        async move {
            let (door, prefix) = self.of(&created.project);
            Ok(outer(&prefix, &door.create(unnamed(&prefix, created), first).await?))
        }
        .boxed()
    }

    fn create_with_files<'a>(&'a self, created: Created, files: &'a [NewFile]) -> Reply<'a, SessionId> {
        async move {
            let (door, prefix) = self.of(&created.project);
            Ok(outer(&prefix, &door.create_with_files(unnamed(&prefix, created), files).await?))
        }
        .boxed()
    }

    fn import(&self, facts: Vec<Event>, since: Timestamp) -> Reply<'_, SessionId> {
        async move {
            let project = facts.iter().find_map(|fact| match fact {
                Event::Created(created) => Some(created.project.clone()),
                _ => None,
            });
            let (door, prefix) = self.of(project.as_deref().unwrap_or_default());
            Ok(outer(&prefix, &door.import(facts, since).await?))
        }
        .boxed()
    }

    /// The rules of all projects; [`Sessions::of_project`] has those of one.
    fn rules(&self) -> Reply<'_, Vec<Rule>> {
        async move {
            let mut all = Vec::new();
            for (door, _) in self.all() {
                all.extend(door.sessions.rules().await?);
            }
            Ok(all)
        }
        .boxed()
    }

    /// Revokes the rule in every project.
    fn forget_rule<'a>(&'a self, rule: &'a Rule) -> Reply<'a, ()> {
        async move {
            for (door, _) in self.all() {
                door.sessions.forget_rule(rule).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn resume<'a>(&'a self, id: &'a SessionId) -> Reply<'a, ()> {
        self.at(id, |door, inner| async move { door.resume(&inner).await }.boxed())
    }

    fn release<'a>(&'a self, id: &'a SessionId) -> Reply<'a, ()> {
        self.at(id, |door, inner| async move { door.release(&inner).await }.boxed())
    }

    fn of_project(&self, path: &Path) -> Option<Arc<dyn Sessions>> {
        let other = self.others.iter().find(|other| Path::new(&other.door.path) == path);
        Some(other.map_or(&self.first, |other| &other.door).sessions.clone())
    }
}

/// The name of a session behind this door.
fn outer(prefix: &str, id: &SessionId) -> SessionId {
    SessionId::new(format!("{prefix}{id}"))
}

fn named_update(prefix: &str, update: Update) -> Update {
    match update {
        Update::Entry(entry) => Update::Entry(named(prefix, entry)),
        update @ (Update::Progress(_) | Update::Action(_) | Update::Lost(_)) => update,
    }
}

/// An entry in which the conversation that the session grew from, and its lead, have their names behind this door.
fn named(prefix: &str, mut entry: Entry) -> Entry {
    for fact in &mut entry.facts {
        if let Event::Created(created) = fact {
            for session in related(created) {
                *session = outer(prefix, session);
            }
        }
    }
    entry
}

/// The first fact of a session as its own project stores it.
fn unnamed(prefix: &str, mut created: Created) -> Created {
    for session in related(&mut created) {
        if let Some(inner) = session.as_str().strip_prefix(prefix) {
            *session = SessionId::new(inner);
        }
    }
    created
}

/// The other sessions that a session's first fact names.
fn related(created: &mut Created) -> impl Iterator<Item = &mut SessionId> {
    created.grown_from.iter_mut().map(|seed| &mut seed.session).chain(&mut created.lead)
}
