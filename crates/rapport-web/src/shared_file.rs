//! A file of the home that several processes change: JSON with a format number, replaced as a whole, under a lock. Every
//! function here blocks.

use std::io;
use std::path::{Path, PathBuf};

use rapport_durable::{Lock, private_folder, read_own, replace_private};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The content of such a file.
pub(crate) trait Versioned: Serialize + DeserializeOwned {
    /// The newest format that this program knows.
    const FORMAT: u32;

    /// The content of a new file.
    fn empty() -> Self;

    /// The format in which it was written.
    fn format(&self) -> u32;
}

/// Such a file.
#[derive(Clone, Debug)]
pub(crate) struct SharedFile {
    path: PathBuf,
}

impl SharedFile {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its content, if there is such a file. A newer format is refused.
    pub(crate) fn read<T: Versioned>(&self) -> io::Result<Option<T>> {
        let content = match read_own(&self.path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let content: T = serde_json::from_slice(&content)?;
        if content.format() > T::FORMAT {
            let (found, known) = (content.format(), T::FORMAT);
            return Err(io::Error::other(format!(
                "it has format {found}, this program knows formats up to {known}"
            )));
        }
        Ok(Some(content))
    }

    /// Changes the content; durable when this returns. If `change` fails, the file stays as it is.
    pub(crate) fn change<T: Versioned, R, E>(
        &self,
        broken: impl Fn(io::Error) -> E,
        change: impl FnOnce(&mut T) -> Result<R, E>,
    ) -> Result<R, E> {
        if let Some(folder) = self.path.parent() {
            private_folder(folder).map_err(&broken)?;
        }
        let lock = Lock::wait(&self.path.with_extension("lock")).map_err(&broken)?;
        let mut content = self.read().map_err(&broken)?.unwrap_or_else(T::empty);
        let outcome = change(&mut content)?;
        let written = serde_json::to_vec_pretty(&content).map_err(|error| broken(error.into()))?;
        replace_private(&self.path, &written).map_err(&broken)?;
        drop(lock);
        Ok(outcome)
    }
}
