//! The last known head of a log, in Rapport's home.
//!
//! It is written after the log is synced, in one small write at the beginning of its file, so it is behind the log or
//! level with it, never ahead, whatever is killed. It is not synced with every entry, which would double the cost of an
//! answer: a power cut may revert it to an earlier head, and the entries since are then checked by their signatures.
//! This leaves one gap, restoring an older copy of the log right after a power cut; so the head is synced when an agent
//! starts or ends, and when a session is resumed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rapport_durable::{Flush, hex, overwrite, remove, sha256};

use super::chain::Chain;
use super::key::is_absent;

/// The number of digits of a line number, so that every head has the same length.
const SEQ: usize = 20;
/// The length of a head: the number, a space, a digest.
const LENGTH: usize = SEQ + 1 + 64;

/// The file with the head of one log.
#[derive(Debug)]
pub(super) struct HeadFile(PathBuf);

impl HeadFile {
    /// The head of a log of a checkout. The log's name is hashed, so that it never becomes a path.
    pub(super) fn of(folder: &Path, scope: &str) -> Self {
        Self(folder.join(hex::encode(&sha256(scope.as_bytes())[..16])))
    }

    /// Reads the head. One that cannot be parsed becomes a position that no log reaches, so that it confirms nothing.
    pub(super) fn read(&self) -> io::Result<Option<Chain>> {
        let file = match File::open(&self.0) {
            Err(error) if is_absent(&error) => return Ok(None),
            opened => opened?,
        };
        let text = settled(&file)?;
        if text.is_empty() {
            // A writer was killed before it wrote the first head.
            return Ok(None);
        }
        Ok(Some(parse(&text).unwrap_or(Chain { seq: u64::MAX, hash: [0; 32] })))
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        remove(&self.0)
    }

    pub(super) fn write(&self, scope: &str, chain: &Chain, flush: Flush) -> io::Result<()> {
        // The name after the head is for people.
        let line = format!("{:0SEQ$} {} {scope}\n", chain.seq, hex::encode(&chain.hash));
        overwrite(&self.0, line.as_bytes(), flush)
    }
}

/// Reads the head while the writer of the log may be changing it: half of one head and half of the next would look like
/// a different log. A head that reads the same twice is consistent.
fn settled(file: &File) -> io::Result<Vec<u8>> {
    let mut before = at_once(file)?;
    loop {
        let now = at_once(file)?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
}

/// One call, because several could interleave with writes.
fn at_once(file: &File) -> io::Result<Vec<u8>> {
    let mut text = vec![0; LENGTH];
    let length = file.read_at(&mut text, 0)?;
    text.truncate(length);
    Ok(text)
}

fn parse(text: &[u8]) -> Option<Chain> {
    let (seq, rest) = text.split_at_checked(SEQ)?;
    let seq = str::from_utf8(seq).ok()?.parse().ok()?;
    let hash = hex::decode(rest.strip_prefix(b" ")?)?;
    Some(Chain { seq, hash })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A process that follows a session reads the head while another one writes it.
    #[test]
    fn a_head_is_never_half_of_one_and_half_of_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let head = HeadFile::of(folder.path(), "session one");
        let write = |seq: u8| {
            let chain = Chain { seq: seq.into(), hash: [seq; 32] };
            head.write("session one", &chain, Flush::Later).unwrap();
        };
        write(1);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..)
                    .map(|n: u32| (n % 200) as u8)
                    .take_while(|_| !done.load(Ordering::SeqCst))
                    .for_each(write);
            });
            let torn = (0..20_000).find_map(|_| {
                let chain = head.read().unwrap().unwrap();
                (chain.hash != [chain.seq as u8; 32]).then_some(chain)
            });
            done.store(true, Ordering::SeqCst);
            assert_eq!(torn, None);
        });
    }
}
