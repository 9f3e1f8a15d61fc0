//! Disk space that is reserved for what has to be written even when the disk is full.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use crate::crash_points::counted;

/// A file that only occupies space.
#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
    size: u64,
}

impl Reserve {
    /// The reserve at this path.
    pub fn at(path: PathBuf) -> Self {
        let size = fs::metadata(&path).map_or(0, |file| file.len());
        Self { path, size }
    }

    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Grows the reserve to this size, if it is smaller; on failure it keeps its old size.
    pub fn grow(&mut self, size: u64) -> io::Result<()> {
        if size <= self.size {
            return Ok(());
        }
        let grown = counted(&self.path, || {
            let mut file = File::options().append(true).create(true).mode(0o600).open(&self.path)?;
            io::copy(&mut io::repeat(b'.').take(size - self.size), &mut file)?;
            file.sync_all()
        });
        match grown {
            Ok(()) => self.size = size,
            // A partial reserve would only fill the disk.
            Err(_) => {
                let _ = File::options().write(true).open(&self.path).and_then(|file| file.set_len(self.size));
            }
        }
        grown
    }

    /// Frees the space. A file that cannot be removed is freed the next time.
    pub fn release(&mut self) {
        let _ = counted(&self.path, || fs::remove_file(&self.path));
        self.size = 0;
    }
}
