//! A worker that copies the project: the least that a kind of worker has to do. States are whole copies of the files,
//! in memory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rapport::workers::local::Directory;
use rapport::workers::process::{KeptProcess, Launch};
use rapport::workers::{Worker, WorkerError, Workplace};
use rapport_core::{ApplyTo, ChangeStatus, Changes, Created, FileChange, Merged, NotMerged, SessionId};

type Files = BTreeMap<String, Vec<u8>>;

/// Copies of projects in one folder.
pub(super) struct Copies {
    folder: PathBuf,
    states: Arc<Mutex<Vec<Files>>>,
}

impl Copies {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), states: Arc::default() }
    }

    fn place(&self, session: &SessionId, created: &Created) -> Copy {
        Copy {
            project: Directory::at(&created.project),
            here: Directory::at(self.folder.join(session.as_str())),
            states: self.states.clone(),
        }
    }
}

impl Worker for Copies {
    fn open(&self, session: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        let place = self.place(session, created);
        if !place.directory().exists() {
            let files = read(&place.project)?;
            let made = fs::create_dir_all(place.directory());
            let filled = || files.iter().try_for_each(|(path, content)| place.here.replace(path, content));
            made.and_then(|()| filled()).map_err(failed("copy", place.directory()))?;
            place.states.lock().unwrap().push(files);
        }
        Ok(Arc::new(place))
    }

    fn find(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        let place = self.place(session, created);
        Ok(place.directory().exists().then(|| Arc::new(place) as Arc<dyn Workplace>))
    }

    fn clear(&self, session: &SessionId, created: &Created) -> Result<(), WorkerError> {
        match fs::remove_dir_all(self.place(session, created).directory()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &self.folder)(error))
            }
            _ => Ok(()),
        }
    }
}

struct Copy {
    project: Directory,
    here: Directory,
    states: Arc<Mutex<Vec<Files>>>,
}

fn read(place: &Directory) -> Result<Files, WorkerError> {
    let paths = place.list()?;
    let read = |path: String| Ok::<_, io::Error>((path.clone(), place.read(&path)?.unwrap_or_default()));
    paths.into_iter().map(read).collect::<Result<_, _>>().map_err(failed("read", place.directory()))
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WorkerError {
    move |error| WorkerError::File { what, path: path.to_owned(), error }
}

impl Copy {
    fn note(&self, files: Files) -> String {
        let mut states = self.states.lock().unwrap();
        let known = states.iter().position(|state| *state == files);
        let number = known.unwrap_or_else(|| {
            states.push(files);
            states.len() - 1
        });
        number.to_string()
    }

    fn state(&self, name: &str) -> Files {
        self.states.lock().unwrap()[name.parse::<usize>().unwrap()].clone()
    }
}

fn between(from: &Files, to: &Files) -> Vec<FileChange> {
    let mut paths: Vec<_> = from.keys().chain(to.keys()).collect();
    paths.sort_unstable();
    paths.dedup();
    let change = |path: &&String| match (from.get(*path), to.get(*path)) {
        (Some(old), Some(new)) if old == new => None,
        (Some(_), Some(_)) => Some(ChangeStatus::Modified),
        (None, _) => Some(ChangeStatus::Added),
        (Some(_), None) => Some(ChangeStatus::Deleted),
    };
    let changed = paths.iter().filter_map(|path| Some((*path, change(path)?)));
    changed
        .map(|(path, status)| FileChange { path: path.clone(), status, added: None, removed: None })
        .collect()
}

impl Workplace for Copy {
    fn directory(&self) -> &Path {
        self.here.directory()
    }

    fn spawn(&self, launch: Launch<'_>) -> io::Result<KeptProcess> {
        self.here.spawn(launch)
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.here.read(path)
    }

    fn replace(&self, path: &str, content: &[u8]) -> io::Result<()> {
        self.here.replace(path, content)
    }

    fn list(&self) -> Result<Vec<String>, WorkerError> {
        self.here.list()
    }

    fn snapshot(&self) -> Result<Option<String>, WorkerError> {
        Ok(Some(self.note(read(&self.here)?)))
    }

    fn work(&self) -> Result<Option<Vec<u8>>, WorkerError> {
        let files = read(&self.here)?;
        Ok(Some(
            files.into_iter().flat_map(|(path, content)| [path.into_bytes(), content].concat()).collect(),
        ))
    }

    fn changes(&self, since: &str) -> Result<Changes, WorkerError> {
        let files = between(&self.state(since), &read(&self.here)?);
        Ok(Changes { files, ..Changes::default() })
    }

    fn patch(&self, since: Option<&str>, out: &mut dyn io::Write) -> Result<(), WorkerError> {
        let (from, to) = (self.state(since.unwrap_or("0")), read(&self.here)?);
        let mut changed = between(&from, &to).into_iter().filter_map(|change| to.get(&change.path));
        let written = changed.try_for_each(|content| write!(out, "+{}", String::from_utf8_lossy(content)));
        written.map_err(|error| WorkerError::Unread { what: "diff".into(), error })
    }

    fn merge(&self, _: bool) -> Result<Result<Merged, NotMerged>, WorkerError> {
        let (base, ours, theirs) = (self.state("0"), read(&self.project)?, read(&self.here)?);
        let mut merged = ours.clone();
        let mut conflicts = Vec::new();
        for FileChange { path, .. } in between(&base, &theirs) {
            if ours.get(&path) != base.get(&path) && ours.get(&path) != theirs.get(&path) {
                conflicts.push(path);
            } else {
                merged.extend(
                    theirs.get_key_value(&path).map(|(path, content)| (path.clone(), content.clone())),
                );
            }
        }
        if !conflicts.is_empty() {
            return Ok(Err(NotMerged { conflicts, ..NotMerged::default() }));
        }
        Ok(Ok(Merged { from: self.note(ours), to: self.note(merged), conflicts, ..Merged::default() }))
    }

    fn apply(&self, merged: &Merged, _: &ApplyTo, _: &str) -> Result<Vec<FileChange>, WorkerError> {
        let (from, to) = (self.state(&merged.from), self.state(&merged.to));
        let changed = between(&from, &to);
        for change in &changed {
            let content = to.get(&change.path).map_or(&[][..], Vec::as_slice);
            let replaced = self.project.replace(&change.path, content);
            replaced.map_err(failed("write", Path::new(&change.path)))?;
        }
        Ok(changed)
    }
}
