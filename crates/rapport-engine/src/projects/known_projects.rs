//! The known projects of this person: a directory for each in Rapport's home, `projects/<name>/`. A project is found
//! by its path, by its name, or as a directory in one of the configured places.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rapport_core::{
    By, EarlierAnswer, Learning, LearningKind, Observed, PastSession, ProjectContext, SessionId, Stale, View,
    slug,
};
use rapport_door::{ContextUpdate, KnownProject, LoadedProject, ProjectError, Sessions};
use rapport_durable as durable;
use serde_json::Value;

use super::context_file::{ContextFile, Finding, FoundFile, io_error};
use super::earlier_answers::EarlierAnswers;
use super::exploration::Exploration;
use super::history::HistoryOf;
use super::past_sessions;
use crate::clock::Clock;

/// The maximum number of pending proposals.
const MOST_PROPOSED: usize = 100;
/// The number of past sessions to report.
const REPORTED_SESSIONS: usize = 10;
/// The files of a project in its directory here. Other files there are not touched.
const FILES: [&str; 5] = ["context.yaml", "exploration.md", "sessions.jsonl", "found.json", "lock"];

/// The sessions of a project, by its directory.
pub type SessionsOf = Arc<dyn Fn(&Path) -> Option<Arc<dyn Sessions>> + Send + Sync>;

/// The known projects. Clones share them.
#[derive(Clone)]
pub struct KnownProjects {
    home: PathBuf,
    /// Where projects are looked for by name.
    places: Vec<PathBuf>,
    clock: Clock,
    /// Reads the history of a project.
    history: HistoryOf,
    /// Opens the sessions of a project, if they can be read here.
    pub(super) sessions: Option<SessionsOf>,
}

/// A project that a caller named.
#[derive(Clone, Debug)]
struct Named {
    /// Its directory in Rapport's home, which need not exist.
    folder: PathBuf,
    name: String,
    /// The directory of the project itself.
    path: PathBuf,
}

impl KnownProjects {
    /// The projects that this home knows.
    pub fn new(home: PathBuf, clock: Clock, history: HistoryOf) -> Self {
        Self { home, places: Vec::new(), clock, history, sessions: None }
    }

    /// Also finds projects by name in these directories.
    #[must_use]
    pub fn looking_in(self, places: Vec<PathBuf>) -> Self {
        Self { places, ..self }
    }

    /// Adds the history of their sessions.
    #[must_use]
    pub fn with_sessions(self, sessions: SessionsOf) -> Self {
        Self { sessions: Some(sessions), ..self }
    }

    /// All known projects, by name. Blocks.
    pub fn all(&self) -> Result<Vec<KnownProject>, ProjectError> {
        let now = self.clock.now();
        let known = |(name, folder): (String, PathBuf)| match ContextFile::read(&folder) {
            Ok(None) => None,
            Ok(Some(file)) => {
                let stale = self.stale(&folder, &file.context, now).ok().flatten();
                let ProjectContext { path, found, .. } = file.context;
                let is_missing = !Path::new(&path).is_dir();
                Some(KnownProject { name, path, kind: found.kind, stale, is_missing, problem: None })
            }
            Err(error) => Some(KnownProject {
                name,
                path: String::new(),
                kind: None,
                stale: None,
                is_missing: false,
                problem: Some(error.to_string()),
            }),
        };
        Ok(self.folders()?.into_iter().filter_map(known).collect())
    }

    /// What is known about a project. Blocks.
    pub fn loaded(&self, named: &str) -> Result<LoadedProject, ProjectError> {
        let named = self.find(named)?;
        match ContextFile::read(&named.folder)? {
            Some(file) => self.loaded_from(&named.folder, file.context, Vec::new()),
            None => {
                let path = named.path.display().to_string();
                let context = ProjectContext { name: named.name, path, ..ProjectContext::default() };
                self.loaded_from(&named.folder, context, Vec::new())
            }
        }
    }

    /// Explores a project, and stores the findings. Blocks.
    pub fn explored(&self, named: &str) -> Result<LoadedProject, ProjectError> {
        let named = self.find(named)?;
        let path = named.path.display().to_string();
        if !named.path.is_dir() {
            return Err(ProjectError::Missing { name: named.name, path });
        }
        let _lock = self.lock(&named.folder)?;
        // A file that cannot be read is reported before the project is explored.
        let known = ContextFile::read(&named.folder)?;
        let found = FoundFile::read(&named.folder)?;
        let exploration =
            Exploration::of(&named.path, self.history).map_err(io_error("explore", &named.path))?;
        let mut file = known.unwrap_or_else(|| ContextFile::new(&named.folder, &named.name, &path));
        let before = found.under(&file.context);
        let now = Finding::new(self.clock.now(), &path, &exploration.found, &exploration.conventions);
        file.take(before, &now);
        let notes = named.folder.join("exploration.md");
        durable::replace_private(&notes, exploration.notes(&named.name).as_bytes())
            .map_err(io_error("write", &notes))?;
        // The context names its finding by the time, so a kill between the two writes does no harm.
        FoundFile::write(&named.folder, before, &now)?;
        let context = file.write()?;
        self.loaded_from(&named.folder, context, exploration.remarks)
    }

    /// Adds learnings: those of a person take effect, those of others are proposals. Blocks.
    pub fn updated(
        &self,
        named: &str,
        by: &By,
        update: &ContextUpdate,
    ) -> Result<LoadedProject, ProjectError> {
        let now = self.clock.now();
        let mut learnings = Vec::new();
        for (kind, text) in &update.learnings {
            let learning = Learning::new(text).ok_or_else(|| {
                ProjectError::Wrong(format!("a learning has to be one short text, not {text:?}"))
            })?;
            let from = update.from.clone();
            learnings.push(Learning { kind: Some(*kind), from, ..learning }.said(by, now));
        }
        let holds = matches!(by, By::Person { .. });
        self.changed(named, |context| {
            for learning in learnings {
                if holds { keep(context, learning) } else { propose(context, learning) }
            }
            Ok(())
        })
    }

    /// Accepts a proposal. Blocks.
    pub fn learned(&self, named: &str, by: &By, id: &str) -> Result<LoadedProject, ProjectError> {
        refuse_others(by, "decide what is kept in mind")?;
        self.changed(named, |context| {
            let at = context.proposed.iter().position(|learning| learning.id == id);
            let Some(at) = at else { return Err(no_learning(context, id)) };
            let learning = context.proposed.remove(at);
            keep(context, learning);
            Ok(())
        })
    }

    /// Revokes a learning, or declines a proposal. Blocks.
    pub fn forgotten(&self, named: &str, by: &By, learning: &str) -> Result<LoadedProject, ProjectError> {
        refuse_others(by, "decide what is forgotten")?;
        self.changed(named, |context| {
            let is_it = |known: &Learning| known.id == learning || known.text.trim() == learning.trim();
            let lists = [&mut context.preferences, &mut context.conventions, &mut context.proposed];
            let mut gone = Vec::new();
            for list in lists {
                gone.extend(list.extract_if(.., |known| is_it(known)));
            }
            if gone.is_empty() {
                return Err(no_learning(context, learning));
            }
            // A declined proposal is not proposed again.
            for known in gone {
                if !context.declined.contains(&known.id) {
                    context.declined.push(known.id);
                }
            }
            Ok(())
        })
    }

    /// Registers a directory under a name. Blocks.
    pub fn registered(&self, name: &str, path: &str, by: &By) -> Result<LoadedProject, ProjectError> {
        refuse_others(by, "add projects")?;
        let name = name.trim();
        if !slug::is_name(name) || name.len() > 64 {
            return Err(ProjectError::Wrong(format!(
                "{name:?} is not a valid name: use letters, digits, hyphens, underscores and dots, at most 64 of them"
            )));
        }
        let given = Path::new(path);
        let found = given.canonicalize().map_err(io_error("use", given))?;
        if !found.is_dir() {
            return Err(ProjectError::Wrong(format!("{path:?} is not a directory")));
        }
        let Some(path) = found.to_str() else {
            return Err(ProjectError::Wrong(format!("the path {} is not UTF-8 text", found.display())));
        };
        if let Some((other, _)) = self.at_path(&found)?.filter(|(other, _)| other != name) {
            return Err(ProjectError::Taken { name: other, path: path.to_owned() });
        }
        let folder = self.folder(name);
        let _lock = self.lock(&folder)?;
        let mut file = match ContextFile::read(&folder)? {
            None => ContextFile::new(&folder, name, path),
            Some(file) if file.context.path == path => {
                return self.loaded_from(&folder, file.context, Vec::new());
            }
            // A project that moved keeps what is known; if its directory still exists, its name is taken.
            Some(file) if Path::new(&file.context.path).is_dir() => {
                return Err(ProjectError::Taken { name: name.to_owned(), path: file.context.path });
            }
            Some(file) => file,
        };
        file.set("path", path.into());
        let context = file.write()?;
        self.loaded_from(&folder, context, Vec::new())
    }

    /// Forgets a project. Blocks.
    pub fn unregistered(&self, name: &str, by: &By) -> Result<(), ProjectError> {
        refuse_others(by, "remove projects")?;
        let known = self.folders()?.into_iter().find(|(known, _)| known == name);
        let Some((_, folder)) = known else { return Err(self.unknown(name)) };
        let lock = self.lock(&folder)?;
        // The context is removed first: without it the project is unknown, whatever a kill leaves behind.
        for file in FILES.into_iter().filter(|file| *file != "lock") {
            let path = folder.join(file);
            durable::remove(&path).map_err(io_error("remove", &path))?;
        }
        lock.remove();
        // The directory may contain other files, which stay.
        durable::remove_if_empty(&folder);
        Ok(())
    }

    /// The directory of a project. Blocks.
    pub fn resolved(&self, named: &str) -> Result<PathBuf, ProjectError> {
        let named = self.find(named)?;
        match named.path.is_dir() {
            true => Ok(named.path),
            false => Err(ProjectError::Missing { name: named.name, path: named.path.display().to_string() }),
        }
    }

    /// The name and directory here of the known project at this path. Blocks.
    pub fn at_path(&self, path: &Path) -> Result<Option<(String, PathBuf)>, ProjectError> {
        let is_it = |folder: &Path| {
            let file = ContextFile::read(folder).ok().flatten();
            file.is_some_and(|file| same(Path::new(&file.context.path), path))
        };
        Ok(self.folders()?.into_iter().find(|(_, folder)| is_it(folder)))
    }

    /// A preference of the project in this directory, by its id, if it is in effect. Blocks.
    pub fn preference(&self, project: &Path, id: &str) -> Option<Learning> {
        let (_, folder) = self.at_path(project).ok()??;
        let context = ContextFile::read(&folder).ok()??.context;
        context.preferences.into_iter().find(|learning| learning.id == id)
    }

    /// Records how a session ended, and proposes what people said there, if its project is known. Each end is
    /// recorded once. Blocks.
    pub fn record(&self, view: &View, ends: Vec<PastSession>) -> Result<(), ProjectError> {
        let Some((_, folder)) = self.at_path(Path::new(&view.project))? else { return Ok(()) };
        self.record_in(&folder, view, ends)
    }

    /// Keeps the answers of people in a session of a project, to offer them later. Blocks.
    pub(super) fn keep_answers(
        &self,
        project: &str,
        answers: Vec<EarlierAnswer>,
    ) -> Result<(), ProjectError> {
        let project = Path::new(project);
        // The answers belong to the directory; if it is gone, nothing can be asked there again.
        if !project.is_dir() {
            return Ok(());
        }
        EarlierAnswers::of(&self.home, project).add(answers).map_err(io_error("keep the answers of", project))
    }

    fn record_in(&self, folder: &Path, view: &View, ends: Vec<PastSession>) -> Result<(), ProjectError> {
        let _lock = self.lock(folder)?;
        let proposals = if ends.is_empty() { Vec::new() } else { Learning::proposed_by(view) };
        // Proposals first: after a kill in between, the missing record leads here again, and known proposals are not
        // repeated.
        self.change_in(folder, |context| {
            proposals.into_iter().for_each(|learning| propose(context, learning));
            Ok(())
        })?;
        past_sessions::add(folder, ends).map(drop)
    }

    /// The sessions whose ends may be missing here: those without a record, and the newest, which may have continued.
    /// Blocks.
    pub(super) fn unrecorded(
        &self,
        folder: &Path,
        all: Vec<SessionId>,
    ) -> Result<Vec<SessionId>, ProjectError> {
        let known: std::collections::HashSet<_> =
            past_sessions::read(folder)?.into_iter().map(|past| past.session).collect();
        let newest = all.len().saturating_sub(REPORTED_SESSIONS);
        let wanted = all.into_iter().enumerate().filter(|(at, id)| *at >= newest || !known.contains(id));
        Ok(wanted.map(|(_, id)| id).collect())
    }

    /// The directory here of a known project, and its path. Blocks.
    pub(super) fn known_folder(&self, named: &str) -> Result<Option<(PathBuf, PathBuf)>, ProjectError> {
        let named = self.find(named)?;
        let is_known = ContextFile::read(&named.folder)?.is_some();
        Ok(is_known.then_some((named.folder, named.path)))
    }

    fn changed(
        &self,
        named: &str,
        change: impl FnOnce(&mut ProjectContext) -> Result<(), ProjectError>,
    ) -> Result<LoadedProject, ProjectError> {
        let named = self.find(named)?;
        let _lock = self.lock(&named.folder)?;
        if ContextFile::read(&named.folder)?.is_none() {
            let path = named.path.display().to_string();
            ContextFile::new(&named.folder, &named.name, &path).write()?;
        }
        let context = self.change_in(&named.folder, change)?;
        self.loaded_from(&named.folder, context, Vec::new())
    }

    /// Changes the learnings of a project; the caller holds its lock.
    fn change_in(
        &self,
        folder: &Path,
        change: impl FnOnce(&mut ProjectContext) -> Result<(), ProjectError>,
    ) -> Result<ProjectContext, ProjectError> {
        let Some(mut file) = ContextFile::read(folder)? else {
            return Err(ProjectError::Failed(format!("{} is gone", folder.display())));
        };
        let mut context = file.context.clone();
        change(&mut context)?;
        if context == file.context {
            return Ok(context);
        }
        file.set("preferences", written(&context.preferences, false));
        file.set("conventions", written(&context.conventions, false));
        file.set("proposed", written(&context.proposed, true));
        let declined = Value::from(context.declined.clone());
        file.set("declined", if context.declined.is_empty() { Value::Null } else { declined });
        file.write()
    }

    fn loaded_from(
        &self,
        folder: &Path,
        context: ProjectContext,
        remarks: Vec<String>,
    ) -> Result<LoadedProject, ProjectError> {
        let stale = self.stale(folder, &context, self.clock.now())?;
        let is_missing = !Path::new(&context.path).is_dir();
        let past = past_sessions::read(folder)?;
        let recent_sessions = past.into_iter().rev().take(REPORTED_SESSIONS).collect();
        Ok(LoadedProject { context, stale, is_missing, recent_sessions, remarks })
    }

    /// Whether what is known is still current (LEAD-27).
    fn stale(
        &self,
        folder: &Path,
        context: &ProjectContext,
        now: Timestamp,
    ) -> Result<Option<Stale>, ProjectError> {
        let found = FoundFile::read(folder)?;
        let under = found.under(context);
        let seen = Observed {
            explored_in: under.map(|finding| finding.path.clone()),
            explored_version: under.and_then(Finding::version),
            version: Exploration::version_of(Path::new(&context.path)),
        };
        Ok(Stale::of(context, &seen, now))
    }

    /// The project that a caller named.
    fn find(&self, named: &str) -> Result<Named, ProjectError> {
        let named = named.trim();
        if let Some((name, folder)) = self.folders()?.into_iter().find(|(name, _)| name == named) {
            let path = match ContextFile::read(&folder)? {
                Some(file) => PathBuf::from(file.context.path),
                None => return Err(self.unknown(named)),
            };
            return Ok(Named { folder, name, path });
        }
        let as_path = Path::new(named);
        let found = match as_path.is_absolute() {
            true => as_path.is_dir().then(|| as_path.to_owned()),
            false => self.in_places(named)?,
        };
        let path = found.ok_or_else(|| self.unknown(named))?;
        let path = path.canonicalize().map_err(io_error("use", &path))?;
        if path.to_str().is_none() {
            return Err(ProjectError::Wrong(format!("the path {} is not UTF-8 text", path.display())));
        }
        if let Some((name, folder)) = self.at_path(&path)? {
            return Ok(Named { folder, name, path });
        }
        let name = self.free_name(&path)?;
        Ok(Named { folder: self.folder(&name), name, path })
    }

    /// A directory of this name in one of the configured places. A name with separators is refused, so it cannot lead
    /// elsewhere.
    fn in_places(&self, name: &str) -> Result<Option<PathBuf>, ProjectError> {
        if !slug::is_name(name) {
            return Ok(None);
        }
        Ok(self.places.iter().map(|place| place.join(name)).find(|path| path.is_dir()))
    }

    /// A name for a new project: that of its directory, with a number if it is taken.
    fn free_name(&self, path: &Path) -> Result<String, ProjectError> {
        let own = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = if slug::is_name(&own) && own.len() <= 60 { own } else { slug::part(&own) };
        let folders = self.folders()?;
        let is_free =
            |name: &String| folders.iter().all(|(known, _)| known != name) && !self.folder(name).exists();
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let found = std::iter::once(name.clone()).chain(numbered).find(is_free);
        found.ok_or_else(|| ProjectError::Failed(format!("there is no free name for {name}")))
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.home.join("projects").join(name)
    }

    /// The directories of known projects with their names, sorted. Other directories here have no context.
    fn folders(&self) -> Result<Vec<(String, PathBuf)>, ProjectError> {
        let above = self.home.join("projects");
        let entries = match fs::read_dir(&above) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io_error("read", &above))?,
        };
        let entries = entries.filter_map(Result::ok);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let named = folders.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
        let mut known: Vec<_> =
            named.filter(|(_, folder)| folder.join("context.yaml").symlink_metadata().is_ok()).collect();
        known.sort();
        Ok(known)
    }

    fn lock(&self, folder: &Path) -> Result<durable::Lock, ProjectError> {
        durable::private_folder(folder).map_err(io_error("make", folder))?;
        durable::Lock::wait(&folder.join("lock")).map_err(io_error("lock", folder))
    }

    fn unknown(&self, named: &str) -> ProjectError {
        let known = self.folders().unwrap_or_default().into_iter().map(|(name, _)| name).collect();
        ProjectError::Unknown { named: named.to_owned(), known }
    }
}

/// Whether two paths are the same directory, with links resolved.
fn same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| one == other)
}

fn refuse_others(by: &By, what: &'static str) -> Result<(), ProjectError> {
    match by {
        By::Person { .. } => Ok(()),
        By::Lead { .. } | By::Model { .. } | By::Rule { .. } => Err(ProjectError::NeedsPerson(what)),
    }
}

fn no_learning(context: &ProjectContext, learning: &str) -> ProjectError {
    ProjectError::NoLearning { name: context.name.clone(), learning: learning.to_owned() }
}

/// Adds a learning that a person accepted.
fn keep(context: &mut ProjectContext, learning: Learning) {
    context.declined.retain(|id| *id != learning.id);
    context.proposed.retain(|known| known.id != learning.id);
    let list = match learning.kind.unwrap_or_default() {
        LearningKind::Preference => &mut context.preferences,
        LearningKind::Convention => &mut context.conventions,
    };
    if !list.iter().any(|known| known.id == learning.id) {
        list.push(Learning { kind: None, ..learning });
    }
}

/// Adds a proposal, unless a person decided about it already, or too many are pending.
fn propose(context: &mut ProjectContext, learning: Learning) {
    if !context.knows(&learning) && context.proposed.len() < MOST_PROPOSED {
        context.proposed.push(learning);
    }
}

/// Learnings as the file has them: one with nothing but a text is written as a plain string.
fn written(learnings: &[Learning], with_kind: bool) -> Value {
    let one = |learning: &Learning| {
        let Ok(Value::Object(mut map)) = serde_json::to_value(learning) else { return Value::Null };
        map.remove("id");
        if !with_kind {
            map.remove("kind");
        }
        if map.len() == 1 { learning.text.clone().into() } else { Value::Object(map) }
    };
    if learnings.is_empty() { Value::Null } else { learnings.iter().map(one).collect() }
}
