//! Changing a file at once or not at all, after the journal has it as it was. What is written lies beside the file under
//! a name that follows from the batch, so that a kill leaves nothing that cannot be found and removed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rapport_durable::{digest, make_folder, put, put_new, remove, remove_if_empty, write_beside};

use super::diff::unified;
use super::journal::{Fact, Image, Intent, Journal};
use super::outcome::{Details, FileChange, Outcome};
use super::project::{PathError, Resolved, content, resolve};

/// What changing files takes.
#[derive(Debug)]
pub(super) struct Desk {
    /// The project, as the system calls it.
    pub(super) root: PathBuf,
    /// The journal of the batch.
    pub(super) journal: Journal,
    /// The name of the batch.
    pub(super) id: String,
}

/// How a file is, compared with what was to be done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// As it was before.
    Before,
    /// As it was to be.
    After,
    /// Neither.
    Other,
}

/// One change, worked out and not made.
struct Prepared {
    place: Resolved,
    before: Option<Vec<u8>>,
    after: Vec<u8>,
    mode: Option<u32>,
}

/// Changes the file at a path of the plan to what `make` makes of what is there.
pub(super) fn change(
    desk: &mut Desk,
    n: usize,
    what: String,
    path: &str,
    make: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, String>,
) -> Outcome {
    let done =
        |change, diff| Outcome::Done { details: Details::File { path: path.to_owned(), change, diff } };
    let prepared = match prepare(desk, path, make) {
        Ok(prepared) if prepared.before.as_ref() == Some(&prepared.after) => {
            return done(FileChange::Unchanged, None);
        }
        Ok(prepared) => prepared,
        Err(why) => return Outcome::failed(why),
    };
    let noted = intent(desk, &prepared).and_then(|intent| {
        let fact = Fact::Began { n, what, intent: Some(intent), irreversible: Some(false) };
        Ok(desk.journal.note(fact)?)
    });
    if let Err(why) = noted {
        return Outcome::failed(why);
    }
    match make_it_so(desk, n, path, &prepared) {
        Ok(()) => match &prepared.before {
            None => done(FileChange::Made, None),
            Some(before) => done(FileChange::Changed, unified(path, before, &prepared.after)),
        },
        Err(why) => Outcome::failed(why),
    }
}

fn prepare(
    desk: &Desk,
    path: &str,
    make: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, String>,
) -> Result<Prepared, String> {
    let words = |error: PathError| error.to_string();
    let place = resolve(&desk.root, path).map_err(words)?;
    let journal = desk.journal.directory();
    let journal = journal.canonicalize().map_err(|error| cannot("find the journal in", journal, error))?;
    if place.real.starts_with(&journal) {
        return Err(words(PathError::Journal { path: path.to_owned() }));
    }
    let before = content(path, &place).map_err(words)?;
    let mode =
        before.as_ref().and_then(|_| fs::metadata(&place.real).ok()).map(|about| about.mode() & 0o7777);
    let after = make(before.as_deref())?;
    Ok(Prepared { place, before, after, mode })
}

fn intent(desk: &mut Desk, change: &Prepared) -> Result<Intent, Box<dyn std::error::Error>> {
    let before = match (&change.before, change.mode) {
        (Some(before), Some(mode)) => Some(Image { sha256: desk.journal.keep(before)?, mode }),
        _ => None,
    };
    let inside = |path: &PathBuf| {
        let inside = path.strip_prefix(&desk.root).ok().and_then(Path::to_str);
        inside.map(str::to_owned).ok_or_else(|| format!("the path {} is not UTF-8 text", path.display()))
    };
    Ok(Intent {
        file: inside(&change.place.real)?,
        before,
        after: digest(&change.after),
        directories: change.place.missing.iter().map(inside).collect::<Result<_, _>>()?,
    })
}

/// Writes it; where that fails, takes back what was made on the way.
fn make_it_so(desk: &Desk, n: usize, path: &str, change: &Prepared) -> Result<(), String> {
    let real = &change.place.real;
    let temporary = temporary(&desk.id, n, real);
    let written = (|| {
        for directory in &change.place.missing {
            make_folder(directory).map_err(|error| cannot("create the directory", directory, error))?;
        }
        write_beside(&temporary, &change.after, change.mode.map(|mode| (mode, real.as_path())))
            .map_err(|error| cannot("write", real, error))?;
        check_untouched(&desk.root, path, change)?;
        let placed = match change.before {
            Some(_) => put(&temporary, real),
            None => put_new(&temporary, real),
        };
        placed.map_err(|error| cannot("write", real, error))
    })();
    if written.is_err() {
        let _ = remove(&temporary);
        remove_empty(change.place.missing.iter().rev());
    }
    written
}

/// Between planning this and now somebody may have changed the file, or made a symbolic link of a directory.
fn check_untouched(root: &Path, path: &str, change: &Prepared) -> Result<(), String> {
    let now = resolve(root, path).map_err(|error| error.to_string())?;
    let content = content(path, &now).map_err(|error| error.to_string())?;
    if now.real != change.place.real || content != change.before {
        return Err(format!("{path} was changed by somebody else at this very moment"));
    }
    Ok(())
}

/// The name under which something is written before it takes its place.
pub(super) fn temporary(id: &str, n: usize, real: &Path) -> PathBuf {
    real.with_file_name(format!(".rapport-{id}-{n}"))
}

/// How the file is now, compared with what was to be done to it.
pub(super) fn state(root: &Path, intent: &Intent) -> Result<State, PathError> {
    let now = digest_of(root, &intent.file)?;
    let before = intent.before.as_ref().map(|image| &image.sha256);
    Ok(match now.as_ref() {
        Some(now) if *now == intent.after => State::After,
        now if now == before => State::Before,
        _ => State::Other,
    })
}

/// What came of a change that was made, and after which nothing was noted.
pub(super) fn made(desk: &Desk, path: String, intent: &Intent) -> Details {
    let Some(image) = &intent.before else {
        return Details::File { path, change: FileChange::Made, diff: None };
    };
    let before = desk.journal.kept(&image.sha256).ok();
    let after = fs::read(desk.root.join(&intent.file)).ok();
    let diff = before.zip(after).and_then(|(before, after)| unified(&path, &before, &after));
    Details::File { path, change: FileChange::Changed, diff }
}

/// The digest of a file named from the root without symbolic links; nothing where there is none.
pub(super) fn digest_of(root: &Path, file: &str) -> Result<Option<String>, PathError> {
    Ok(content_of(root, file)?.map(|content| digest(&content)))
}

/// Its content.
pub(super) fn content_of(root: &Path, file: &str) -> Result<Option<Vec<u8>>, PathError> {
    let place = resolve(root, file)?;
    if place.real != root.join(file) {
        return Err(PathError::NotAFile { path: file.to_owned(), what: "behind a symbolic link now" });
    }
    content(file, &place)
}

/// Removes directories that are empty, and stops at the first that is not.
pub(super) fn remove_empty<'a>(directories: impl Iterator<Item = &'a PathBuf>) -> Vec<&'a PathBuf> {
    directories.take_while(|directory| remove_if_empty(directory)).collect()
}

fn cannot(what: &str, path: &Path, error: io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}
