//! Records about one project in Rapport's home: files in a directory that only the person can read. A record belongs to
//! the directory it was made for: a different directory at the same path has none.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rapport_core::slug;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use rapport_durable as durable;

const FORMAT: u32 = 1;
/// The maximum size of a record.
const MOST: u64 = 16 * 1024 * 1024;

/// One file about a project.
#[derive(Clone, Debug)]
pub(super) struct Record {
    path: PathBuf,
    project: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Written<T> {
    v: u32,
    /// For people: the directory's name in the home is a digest.
    project: String,
    /// The inode of the directory.
    inode: u64,
    content: T,
}

impl Record {
    /// The record of this name about this project, which need not exist.
    pub(super) fn new(home: &Path, project: &Path, name: &str) -> Self {
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        let path = home.join("projects").join(folder_name(&project)).join(name);
        Self { path, project }
    }

    /// Reads the record; `None` if it does not exist, or is about a different directory.
    pub(super) fn read<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut text = String::new();
        file.take(MOST).read_to_string(&mut text)?;
        let wrong = |why: String| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", self.path.display()))
        };
        #[derive(Deserialize)]
        struct Format {
            v: u32,
        }
        let Format { v } = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if v > FORMAT {
            return Err(wrong(format!("it has format {v}, and this Rapport knows {FORMAT}")));
        }
        let written: Written<T> = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        Ok((written.inode == self.inode()?).then_some(written.content))
    }

    /// Changes the record, one process at a time. Durable when this returns.
    pub(super) fn change<T, R>(&self, change: impl FnOnce(&mut T) -> R) -> io::Result<R>
    where
        T: Default + Serialize + DeserializeOwned,
    {
        let folder = self.path.parent().unwrap_or(&self.path);
        durable::private_folder(folder)?;
        let _lock = durable::Lock::wait(&folder.join("lock"))?;
        let mut content: T = self.read()?.unwrap_or_default();
        let result = change(&mut content);
        let project = self.project.display().to_string();
        let written = Written { v: FORMAT, project, inode: self.inode()?, content };
        let mut text = serde_json::to_vec_pretty(&written)?;
        text.push(b'\n');
        durable::replace_private(&self.path, &text)?;
        Ok(result)
    }

    fn inode(&self) -> io::Result<u64> {
        fs::metadata(&self.project).map(|about| about.ino())
    }
}

/// A readable name with a digest that makes it unique.
fn folder_name(project: &Path) -> String {
    let name = project.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let digest = durable::hex::encode(&durable::sha256(project.as_os_str().as_bytes())[..8]);
    format!("{}-{digest}", slug::part(&name))
}
