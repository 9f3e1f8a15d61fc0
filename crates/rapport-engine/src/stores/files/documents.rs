//! The documents of a session as files in its directory, which people read and edit: `session.context`, and those in
//! the directories of turns. All of this blocks.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use rapport_core::{SessionId, slug};
use rapport_durable as durable;

use super::dirs;
use super::disk::{Disk, KEPT, OpenAttachment, if_there, io_error, refuse_links, replace};
use crate::stores::{DocumentFolder, SESSION_CONTEXT, StoreError, is_folder};

impl Disk {
    /// The directory of a session, with or without a log. A link, or a name that is more than a plain name, is not
    /// found.
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
                // A link counts if its target exists. Whether it may be followed is checked when it is read.
                let is_document = file.file_type().is_ok_and(|kind| match kind.is_symlink() {
                    true => file.path().exists(),
                    false => kind.is_file(),
                });
                file.file_name().into_string().ok().filter(|_| is_document)
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
        if !is_folder(name, documents) || name == KEPT {
            return Err(io_error("use", &path)(outside("it is not a folder of documents")));
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
            // No other process knows of the folder yet. If it cannot be removed, it lacks some of its documents, as
            // after a kill.
            let _ = durable::remove_folder(&path);
        }
        made.map(|()| true)
    }

    pub(super) fn documented(&self) -> Result<Vec<SessionId>, StoreError> {
        let all = self.directories()?.into_iter().filter(|(_, path)| has_documents(path));
        Ok(all.map(|(id, _)| id).collect())
    }

    /// The directories with the name of a session, sorted by name.
    pub(super) fn directories(&self) -> Result<Vec<(SessionId, PathBuf)>, StoreError> {
        let all = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            all => all.map_err(io_error("list the sessions in", &self.root))?,
        };
        // A link could lead anywhere, and names are printed and pasted into shells.
        let directories = all.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let named = directories.filter_map(|entry| {
            let name = entry.file_name().into_string().ok().filter(|name| slug::is_name(name))?;
            Some((SessionId::new(name), entry.path()))
        });
        let mut all: Vec<_> = named.collect();
        all.sort_unstable();
        Ok(all)
    }

    /// A document of the session in this directory; `None` if it does not exist. People may put a link in its place,
    /// unless it leads out of the project.
    pub(super) fn document(&self, dir: &Path, name: &str) -> Result<Option<OpenAttachment>, StoreError> {
        let path = inside(dir, name)?;
        let opened = durable::open_inside(&path, self.project.as_deref().unwrap_or(dir));
        Ok(if_there(&path, opened)?.map(|file| OpenAttachment { path, file, left: u64::MAX }))
    }

    /// The session whose directory contains a path, if any.
    pub(super) fn session_at(&self, path: &Path) -> Option<SessionId> {
        let (root, path) = (self.root.canonicalize().ok()?, path.canonicalize().ok()?);
        let name = path.strip_prefix(root).ok()?.iter().next()?.to_str()?;
        Some(SessionId::new(name))
    }
}

/// Writes a document of the session in this directory.
pub(super) fn write(dir: &Path, name: &str, content: &[u8]) -> Result<(), StoreError> {
    let path = inside(dir, name)?;
    path.parent().map_or(Ok(()), dirs::make_all)?;
    replace(&path, content)
}

/// The path of a document; neither through a link, nor among the sealed attachments.
fn inside(dir: &Path, name: &str) -> Result<PathBuf, StoreError> {
    if name.split('/').next() == Some(KEPT) {
        return Err(io_error("use", &dir.join(name))(outside("it is not the directory of a turn")));
    }
    if let Some((folders, _)) = name.rsplit_once('/') {
        refuse_links(dir, folders)?;
    }
    Ok(dir.join(name))
}

/// The name of a folder of documents. The directory of sealed attachments is not one, and a link could lead anywhere.
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

/// When a directory was last changed; the epoch if that is unknown.
fn modified(path: &Path) -> Timestamp {
    let modified = fs::metadata(path).and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    Timestamp::try_from(modified).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn outside(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_neither_out_of_the_project_nor_to_another_folder() {
        let (project, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
        let root = project.path().join(".rapport/sessions");
        let disk = Disk { root: root.clone(), project: Some(project.path().to_owned()), seals: None };
        let (id, dir) = (SessionId::new("20260124-x"), root.join("20260124-x"));
        for folder in ["01/meta.yaml", KEPT] {
            fs::create_dir_all(dir.join(folder)).unwrap();
        }
        fs::write(project.path().join("shared.context"), "src\n").unwrap();
        fs::write(dir.join("01/plan.md"), "# A plan\n").unwrap();
        symlink(project.path().join("shared.context"), dir.join("01/turn.context")).unwrap();
        symlink(elsewhere.path(), dir.join("01/_context.log")).unwrap();
        symlink("nowhere", dir.join("01/report.md")).unwrap();
        symlink("01", dir.join("02")).unwrap();
        let folders = disk.folders(&id).unwrap();
        let [turn] = folders.as_slice() else { panic!("{folders:?}") };
        assert_eq!((turn.name.as_str(), turn.documents.len()), ("01", 3), "{turn:?}");
        assert_eq!(turn.documents, ["_context.log", "plan.md", "turn.context"]);
        let read = |name: &str| {
            let opened = disk.document(&dir, name).map_err(|error| error.to_string())?;
            Ok::<_, String>(opened.map(|opened| opened.whole().unwrap()))
        };
        assert_eq!(read("01/turn.context"), Ok(Some(b"src\n".to_vec())));
        assert_eq!(read("01/report.md"), Ok(None));
        assert!(read("01/_context.log").unwrap_err().contains("leads out of the project"));
        assert!(read("02/plan.md").unwrap_err().contains("symbolic link"));
        assert!(read("kept/conversation").unwrap_err().contains("not the directory of a turn"));
        let documents = [("meta.yaml".to_owned(), Vec::new())];
        assert!(disk.new_folder(&id, KEPT, &documents).is_err());
        assert!(disk.new_folder(&id, "../y", &documents).is_err() && !root.join("y").exists());
        assert!(!disk.new_folder(&id, "02", &documents).unwrap(), "a link takes the name");
    }
}
