//! Archives in the format of `tar`, for files that cannot be mounted because the engine is on another machine.

use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The size of a block.
const BLOCK: usize = 512;
/// The longest name in a header.
const LONGEST: usize = 100;
/// The name of the entry that contains the long name of the next entry, as GNU tar writes it.
const LONG_NAME: &[u8] = b"././@LongLink";

/// Writes an archive in which one user owns all entries. The times of files are left out, so that equal content makes
/// an equal archive.
pub(super) struct Archive<W> {
    out: W,
    owner: (u32, u32),
}

impl<W: Write> Archive<W> {
    pub(super) fn new(out: W, owner: (u32, u32)) -> Self {
        Self { out, owner }
    }

    /// Adds a file, a link, or a folder with its content, under this name.
    pub(super) fn add(&mut self, source: &Path, name: &Path) -> io::Result<()> {
        let about = fs::symlink_metadata(source)?;
        let mode = about.permissions().mode() & 0o7777;
        if about.is_symlink() {
            let target = fs::read_link(source)?;
            return self.header(name, 0o777, 0, b'2', target.as_os_str().as_bytes());
        }
        if about.is_dir() {
            self.folder(name, mode)?;
            let mut names: Vec<_> = fs::read_dir(source)?
                .map(|entry| entry.map(|entry| entry.file_name()))
                .collect::<Result<_, _>>()?;
            names.sort();
            return names.iter().try_for_each(|inner| self.add(&source.join(inner), &name.join(inner)));
        }
        self.header(name, mode, about.len(), b'0', b"")?;
        let copied = io::copy(&mut File::open(source)?.take(about.len()), &mut self.out)?;
        if copied != about.len() {
            return Err(io::Error::other(format!("{} became shorter", source.display())));
        }
        self.fill(copied)
    }

    /// Adds a folder without its content.
    pub(super) fn folder(&mut self, name: &Path, mode: u32) -> io::Result<()> {
        self.header(name, mode, 0, b'5', b"")
    }

    /// The end of an archive.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&[0; 2 * BLOCK])?;
        self.out.flush()
    }

    fn header(&mut self, name: &Path, mode: u32, size: u64, kind: u8, target: &[u8]) -> io::Result<()> {
        let name = name.as_os_str().as_bytes();
        for (kind, long) in [(b'L', name), (b'K', target)] {
            if long.len() > LONGEST {
                self.block(LONG_NAME, 0, long.len() as u64 + 1, kind, b"")?;
                self.out.write_all(long)?;
                self.out.write_all(&[0])?;
                self.fill(long.len() as u64 + 1)?;
            }
        }
        self.block(&name[..name.len().min(LONGEST)], mode, size, kind, &target[..target.len().min(LONGEST)])
    }

    fn block(&mut self, name: &[u8], mode: u32, size: u64, kind: u8, target: &[u8]) -> io::Result<()> {
        let mut block = [0; BLOCK];
        block[..name.len()].copy_from_slice(name);
        let (user, group) = self.owner;
        let numbers = [
            (100, 8, mode.into()),
            (108, 8, user.into()),
            (116, 8, group.into()),
            (124, 12, size),
            (136, 12, 0),
        ];
        for (at, length, number) in numbers {
            put_number(&mut block[at..at + length], number);
        }
        block[156] = kind;
        block[157..157 + target.len()].copy_from_slice(target);
        block[257..265].copy_from_slice(b"ustar\x0000");
        // The checksum counts its own field as spaces.
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        put_number(&mut block[148..155], sum);
        self.out.write_all(&block)
    }

    /// Pads the last block of a content of this size.
    fn fill(&mut self, size: u64) -> io::Result<()> {
        let rest = (BLOCK - (size % BLOCK as u64) as usize) % BLOCK;
        self.out.write_all(&[0; BLOCK][..rest])
    }
}

/// Writes a number as octal digits with a terminator, or in binary if it is too large for that.
fn put_number(field: &mut [u8], number: u64) {
    let digits = format!("{number:0width$o}", width = field.len() - 1);
    if digits.len() < field.len() {
        field[..digits.len()].copy_from_slice(digits.as_bytes());
        return;
    }
    for (byte, value) in field.iter_mut().rev().zip(number.to_le_bytes()) {
        *byte = value;
    }
    field[0] |= 0x80;
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    /// The system's own `tar` extracts exactly what was added.
    #[test]
    fn an_archive_has_files_folders_links_modes_and_long_names() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        let deep = "a-folder-with-quite-a-long-name/".repeat(5);
        fs::create_dir_all(source.join(&deep)).unwrap();
        fs::write(source.join(&deep).join("file"), "deep\n").unwrap();
        fs::write(source.join("tool"), vec![7; 1000]).unwrap();
        fs::set_permissions(source.join("tool"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink(&deep, source.join("link")).unwrap();
        let archive = folder.path().join("archive.tar");
        let write = || {
            let mut writing = Archive::new(File::create(&archive).unwrap(), (3_000_000, 1000));
            writing.add(&source, Path::new("there")).unwrap();
            writing.finish().unwrap();
            fs::read(&archive).unwrap()
        };
        let first = write();
        File::open(source.join("tool")).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert!(write() == first, "the same content is the same archive");
        let listed = Command::new("tar").arg("--numeric-owner").arg("-tvf").arg(&archive).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(listed.contains("-rwxr-x--- 3000000/1000"), "{listed}");
        let to = folder.path().join("to");
        fs::create_dir(&to).unwrap();
        let mut tar = Command::new("tar");
        assert!(
            tar.arg("--no-same-owner")
                .arg("-C")
                .arg(&to)
                .arg("-xf")
                .arg(&archive)
                .status()
                .unwrap()
                .success()
        );
        let there = to.join("there");
        assert_eq!(fs::read_to_string(there.join(&deep).join("file")).unwrap(), "deep\n");
        assert_eq!(fs::read(there.join("tool")).unwrap(), vec![7; 1000]);
        assert_eq!(fs::read_link(there.join("link")).unwrap(), Path::new(&deep));
    }
}
