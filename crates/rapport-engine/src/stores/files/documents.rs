//! The documents of a session as files in its directory, which people read and change: `session.context`, and those in the folders
//! of turns. All of this blocks.

use std::fs::{self, DirEntry};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use rapport_core::{SessionId, slug};
use rapport_durable as durable;

use super::dirs;
use super::disk::{Disk, KEPT, io_error, refuse_links, replace};
use crate::stores::{DocumentFolder, SESSION_CONTEXT, StoreError, is_plain_name};

impl Disk {
    /// The directory of a session, with or without a log. A name that is not just a name leads nowhere, and neither does a link.
    pub(super) fn find_dir(&self, id: &SessionId) -> Result<PathBuf, StoreError> {
        let dir = self.root.join(id.as_str());
        if !slug::is_name(id.as_str()) || !dir.symlink_metadata().is_ok_and(|about| about.is_dir()) {
            return Err(StoreError::NotFound(id.clone()));
        }
        Ok(dir)
    }

    pub(super) fn folders(&self, id: &SessionId) -> Result<Vec<DocumentFolder>, StoreError> {
        let mut folders = Vec::new();
        for entry in entries(&self.find_dir(id)?)? {
            let Some(name) = folder_name(&entry) else { continue };
            let path = entry.path();
            let named = entries(&path)?.into_iter().filter_map(|file| {
                let is_folder = file.file_type().is_ok_and(|kind| kind.is_dir());
                file.file_name().into_string().ok().filter(|_| !is_folder)
            });
            let mut documents: Vec<_> = named.collect();
            documents.sort_unstable();
            folders.push(DocumentFolder { name, changed: modified(&path), documents });
        }
        folders.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(folders)
    }

    pub(super) fn new_folder(
        &self,
        id: &SessionId,
        name: &str,
        documents: &[(String, Vec<u8>)],
    ) -> Result<bool, StoreError> {
        let dir = self.find_dir(id)?;
        let path = dir.join(name);
        let is_name = is_plain_name(name) && name != KEPT;
        if let Some((wrong, _)) = documents.iter().find(|(document, _)| !is_name || !is_plain_name(document))
        {
            return Err(io_error("use", &path.join(wrong))(outside("it is no document of a folder")));
        }
        match durable::new_private_folder(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(io_error("create the directory", &path)(error)),
        }
        let written =
            documents.iter().try_for_each(|(document, content)| replace(&path.join(document), content));
        let made = written.and_then(|()| dirs::sync(&dir));
        if made.is_err() {
            // Nobody was told of it yet. What cannot be removed is a folder without documents.
            let _ = durable::remove_folder(&path);
        }
        made.map(|()| true)
    }

    pub(super) fn documented(&self) -> Result<Vec<SessionId>, StoreError> {
        let all = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            all => all.map_err(io_error("list the sessions in", &self.root))?,
        };
        // A link could lead anywhere; names are printed, and pasted into shells.
        let directories = all.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let named = directories.filter_map(|entry| {
            let name = entry.file_name().into_string().ok().filter(|name| slug::is_name(name))?;
            has_documents(&entry.path()).then(|| SessionId::new(name))
        });
        let mut ids: Vec<_> = named.collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The session whose directory a path is in, if it is in one.
    pub(super) fn session_at(&self, path: &Path) -> Option<SessionId> {
        let (root, path) = (self.root.canonicalize().ok()?, path.canonicalize().ok()?);
        let name = path.strip_prefix(root).ok()?.iter().next()?.to_str()?;
        Some(SessionId::new(name))
    }
}

/// Reads a document of the session in this directory.
pub(super) fn read(dir: &Path, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let path = inside(dir, name)?;
    match content(&path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", &path)(error)),
    }
}

/// Writes a document of the session in this directory.
pub(super) fn write(dir: &Path, name: &str, content: &[u8]) -> Result<(), StoreError> {
    let path = inside(dir, name)?;
    path.parent().map_or(Ok(()), dirs::make_all)?;
    replace(&path, content)
}

/// A document's path, which leads over no link, nor to where sealed things are.
fn inside(dir: &Path, name: &str) -> Result<PathBuf, StoreError> {
    if name.split('/').next() == Some(KEPT) {
        return Err(io_error("use", &dir.join(name))(outside("it is no folder of documents")));
    }
    if let Some((folders, _)) = name.rsplit_once('/') {
        refuse_links(dir, folders)?;
    }
    Ok(dir.join(name))
}

/// What is in a document. People may put a link in its place, as long as it stays in the project.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    if path.symlink_metadata()?.is_symlink() {
        let is_ours =
            |place: &&Path| place.file_name().is_some_and(|name| name == ".rapport" || name == ".teddy");
        let project = path.ancestors().find(is_ours).and_then(Path::parent);
        let inside = project
            .map(|project| Ok::<_, io::Error>(path.canonicalize()?.starts_with(project.canonicalize()?)));
        if !inside.transpose()?.unwrap_or(false) {
            return Err(outside("it is a link that leads out of the project"));
        }
    }
    let mut content = Vec::new();
    durable::open_file(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// What a folder of documents is called. A directory of sealed things is none, and a link could lead anywhere.
fn folder_name(entry: &DirEntry) -> Option<String> {
    let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
    entry.file_name().into_string().ok().filter(|name| is_folder && name != KEPT)
}

fn has_documents(dir: &Path) -> bool {
    dir.join(SESSION_CONTEXT).is_file()
        || entries(dir).is_ok_and(|entries| entries.iter().any(|entry| folder_name(entry).is_some()))
}

fn entries(dir: &Path) -> Result<Vec<DirEntry>, StoreError> {
    let entries = fs::read_dir(dir).and_then(Iterator::collect);
    entries.map_err(io_error("list the documents in", dir))
}

/// When a directory was last changed; long ago where nobody knows.
fn modified(path: &Path) -> Timestamp {
    let modified = fs::metadata(path).and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    Timestamp::try_from(modified).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn outside(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
