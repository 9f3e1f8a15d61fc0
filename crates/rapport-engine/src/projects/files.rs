//! Files of a project that Rapport reads and writes for people, beside those of sessions: `memos.yaml`, `global.context` and others.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rapport_durable as durable;
use thiserror::Error;

/// What can go wrong with a file of a project.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system said no.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {what}", path.display())]
    Wrong {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// Says what was tried and with what, beside what the system said.
pub fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    move |source| FileError::Io { what, path: path.to_owned(), source }
}

/// Either the old file or the whole new one, whatever happens in between. Durable when this returns.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), FileError> {
    durable::replace_private(path, content).map_err(io_error("write", path))
}

/// A file as text; `None` where there is none. One behind a link that leads out of the project is refused.
pub fn text(path: &Path) -> Result<Option<String>, FileError> {
    match read(path) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes);
            text.map(Some)
                .map_err(|_| FileError::Wrong { path: path.to_owned(), what: "it is not UTF-8 text".into() })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let is_ours =
        |place: &&Path| place.file_name().is_some_and(|name| name == ".rapport" || name == ".teddy");
    let project = path.ancestors().find(is_ours).and_then(Path::parent);
    if let (Some(project), Ok(about)) = (project, path.symlink_metadata())
        && about.is_symlink()
        && !path.canonicalize()?.starts_with(project.canonicalize()?)
    {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a link that leads out of the project",
        ));
    }
    let mut content = Vec::new();
    durable::open_file(path)?.read_to_end(&mut content)?;
    Ok(content)
}
