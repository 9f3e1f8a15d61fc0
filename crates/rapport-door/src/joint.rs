//! The sessions of several projects behind one door. Two projects may have sessions of the same name, so those of all
//! projects but the first are named after their project, too.

use std::path::Path;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{self, BoxStream};
use jiff::Timestamp;
use rapport_core::{Act, By, Created, Entry, Event, QuestionRound, Rule, SessionId, View};

use crate::{Content, DoorError, Holder, NewFile, Pieces, Reached, Reply, Seen, Sessions, Update};

/// Between the name of a project and that of its session.
const MARK: char = ':';

/// The sessions of several projects.
pub struct JointSessions {
    first: Arc<dyn Sessions>,
    others: Vec<OtherSessions>,
}

/// The sessions of one project among several.
pub struct ProjectDoor {
    /// Its name, which no other project has.
    pub name: String,
    /// Its directory, as its sessions name it.
    pub path: String,
    pub sessions: Arc<dyn Sessions>,
}

/// The sessions of a project that is not the first.
struct OtherSessions {
    door: ProjectDoor,
    /// What the names of its sessions begin with here.
    prefix: Arc<str>,
}

impl JointSessions {
    /// The sessions of the first project keep their names; those of the others begin with the name of their project.
    pub fn new(first: Arc<dyn Sessions>, others: impl IntoIterator<Item = ProjectDoor>) -> Self {
        let other = |door: ProjectDoor| OtherSessions { prefix: format!("{}{MARK}", door.name).into(), door };
        Self { first, others: others.into_iter().map(other).collect() }
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
        other.unwrap_or_else(|| (&*self.first, id.clone(), "".into()))
    }

    /// Every door, with the prefix of its names.
    fn all(&self) -> impl Iterator<Item = (&dyn Sessions, Arc<str>)> {
        let others = self.others.iter().map(|other| (&*other.door.sessions, other.prefix.clone()));
        [(&*self.first, Arc::from(""))].into_iter().chain(others)
    }

    /// The door of the project in this directory. What belongs to none of the others goes to the first.
    fn of(&self, path: &str) -> (&dyn Sessions, Arc<str>) {
        let other = self.others.iter().find(|other| other.door.path == path);
        other.map_or_else(|| (&*self.first, "".into()), |other| (&*other.door.sessions, other.prefix.clone()))
    }

    /// The reply of the door that has a session, which knows it by its own name.
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
            let mut all = Vec::new();
            for (door, prefix) in self.all() {
                all.extend(door.list().await?.iter().map(|id| outer(&prefix, id)));
            }
            Ok(all)
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

    fn follow<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, BoxStream<'static, Update>> {
        async move {
            let (door, inner, prefix) = self.find(id);
            let updates = door.follow(&inner, after).await?;
            Ok(updates.map(move |update| told(&prefix, update)).boxed())
        }
        .boxed()
    }

    fn watch(&self) -> Reply<'_, BoxStream<'static, Seen>> {
        async move {
            let mut all = Vec::new();
            for (door, prefix) in self.all() {
                let seen = door.watch().await?.map(move |seen| Seen {
                    session: outer(&prefix, &seen.session),
                    updates: seen.updates.into_iter().map(|update| told(&prefix, update)).collect(),
                });
                all.push(seen.boxed());
            }
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
                all.extend(door.rules().await?);
            }
            Ok(all)
        }
        .boxed()
    }

    /// Revokes it in every project.
    fn forget_rule<'a>(&'a self, rule: &'a Rule) -> Reply<'a, ()> {
        async move {
            for (door, _) in self.all() {
                door.forget_rule(rule).await?;
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
        Some(other.map_or_else(|| self.first.clone(), |other| other.door.sessions.clone()))
    }
}

/// The name of a session here.
fn outer(prefix: &str, id: &SessionId) -> SessionId {
    SessionId::new(format!("{prefix}{id}"))
}

fn told(prefix: &str, update: Update) -> Update {
    match update {
        Update::Entry(entry) => Update::Entry(named(prefix, entry)),
        update @ (Update::Progress(_) | Update::Action(_) | Update::Lost(_)) => update,
    }
}

/// An entry in which the conversation that a session grew from has its name of here.
fn named(prefix: &str, mut entry: Entry) -> Entry {
    for fact in &mut entry.facts {
        if let Event::Created(created) = fact
            && let Some(seed) = &mut created.grown_from
        {
            seed.session = outer(prefix, &seed.session);
        }
    }
    entry
}

/// The first fact of a session as its own project stores it.
fn unnamed(prefix: &str, mut created: Created) -> Created {
    if let Some(seed) = &mut created.grown_from
        && let Some(inner) = seed.session.as_str().strip_prefix(prefix)
    {
        seed.session = SessionId::new(inner);
    }
    created
}
