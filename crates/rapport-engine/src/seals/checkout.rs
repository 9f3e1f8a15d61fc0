//! Identifies the checkout of a project. A clone is a different checkout, whatever it contains: a checkout is
//! identified by its directory (inode and birth time), which a move within a file system keeps and which cloning,
//! unpacking or copying cannot choose. A copy on another file system is a different checkout, and asks once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rapport_durable::{hex, private_folder};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

use super::key::{ID, about, is_absent, lock, write_private};

/// One checkout of this person.
#[derive(Clone, Debug)]
pub(super) struct Checkout {
    /// Its id in seals. It is not a secret: it is useless without the key.
    pub(super) id: String,
    accepts: BTreeSet<(String, String)>,
    /// Whether team mates write here as well.
    is_shared: bool,
}

impl Checkout {
    /// The sessions of a project in a store that several machines share. Whoever has a known key writes there as well,
    /// which the person accepted by choosing that store.
    pub(super) fn shared(id: String) -> Self {
        Self { id, accepts: BTreeSet::new(), is_shared: true }
    }

    /// Whether signatures of this key in that checkout are trusted here.
    pub(super) fn accepts(&self, key: &str, checkout: &str) -> bool {
        (self.is_shared && checkout == self.id)
            || self.accepts.contains(&(key.to_owned(), checkout.to_owned()))
    }
}

/// All checkouts of this person.
#[derive(Debug)]
pub(super) struct Checkouts {
    folder: PathBuf,
}

/// The stored record of a checkout.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    path: PathBuf,
    #[serde(flatten)]
    directory: Directory,
    /// Keys and checkouts of others whose signatures are trusted here.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    accepts: BTreeSet<(String, String)>,
}

/// The identity of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Directory {
    inode: u64,
    /// Its birth time, in nanoseconds; missing if the file system does not provide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<u64>,
}

type Records = BTreeMap<String, Record>;

impl Checkouts {
    pub(super) fn at(home: &Path) -> Self {
        Self { folder: home.join("seals") }
    }

    /// The checkout in this directory, if it is known.
    pub(super) fn find(&self, project: &Path) -> io::Result<Option<Checkout>> {
        let directory = Directory::of(project)?;
        Ok(known(&self.read()?, project, &directory))
    }

    /// The checkout in this directory; registers it if necessary.
    pub(super) fn find_or_make(&self, project: &Path) -> io::Result<Checkout> {
        if let Some(checkout) = self.find(project)? {
            return Ok(checkout);
        }
        let directory = Directory::of(project)?;
        self.change(|records| {
            if let Some(checkout) = known(records, project, &directory) {
                return Ok(checkout);
            }
            let mut id = [0; ID / 2];
            let failed = |_| io::Error::other("the system provides no random numbers");
            SystemRandom::new().fill(&mut id).map_err(failed)?;
            let (id, accepts) = (hex::encode(&id), BTreeSet::new());
            let record = Record { path: project.to_owned(), directory, accepts: accepts.clone() };
            records.insert(id.clone(), record);
            Ok(Checkout { id, accepts, is_shared: false })
        })
    }

    /// Trusts the signatures of a key in another checkout.
    pub(super) fn accept(&self, here: &str, key: &str, theirs: &str) -> io::Result<()> {
        self.change(|records| {
            let record = records.get_mut(here).ok_or(io::ErrorKind::NotFound)?;
            record.accepts.insert((key.to_owned(), theirs.to_owned()));
            Ok(())
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Records) -> io::Result<T>) -> io::Result<T> {
        private_folder(&self.folder).map_err(about("create the directory", &self.folder))?;
        let _lock = lock(&self.folder.join("lock"))?;
        let mut records = self.read()?;
        let changed = change(&mut records)?;
        write_private(&self.file(), &serde_json::to_vec_pretty(&records)?)?;
        Ok(changed)
    }

    fn read(&self) -> io::Result<Records> {
        let path = self.file();
        match fs::read(&path) {
            Err(error) if is_absent(&error) => Ok(Records::new()),
            read => Ok(serde_json::from_slice(&read.map_err(about("read", &path))?)
                .map_err(|error| about("read", &path)(error.into()))?),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("checkouts.json")
    }
}

fn known(records: &Records, project: &Path, directory: &Directory) -> Option<Checkout> {
    // Without a birth time, the inode may have been reused; then the path has to be the same too.
    let is_it = |record: &&Record| {
        record.directory == *directory && (directory.born.is_some() || record.path == project)
    };
    let (id, record) = records.iter().find(|(_, record)| is_it(record))?;
    Some(Checkout { id: id.clone(), accepts: record.accepts.clone(), is_shared: false })
}

impl Directory {
    fn of(project: &Path) -> io::Result<Self> {
        let about_it = fs::metadata(project).map_err(about("look at", project))?;
        let since = |born: SystemTime| born.duration_since(UNIX_EPOCH).ok();
        let born =
            about_it.created().ok().and_then(since).and_then(|since| u64::try_from(since.as_nanos()).ok());
        Ok(Self { inode: about_it.ino(), born: born.filter(|born| *born > 0) })
    }
}
