//! Content in pieces: the next ones are made while one is read, so that the whole is never in memory.

use std::io::{self, Write};

use futures_util::StreamExt as _;
use futures_util::stream;
use rapport_door::{DoorError, Pieces};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::sessions::broken;
use crate::stores::PIECE;

/// The number of pieces that are made before they are read.
const AHEAD: usize = 2;

/// Content that is in memory as a whole.
pub(super) fn of(content: Vec<u8>) -> Pieces {
    crate::stores::pieces(content).map(|piece| Ok(piece?)).boxed()
}

/// Content that a blocking task writes. The task waits while its pieces are not read, and its writes fail once the
/// reader is dropped. A failure before the first piece is returned at once.
pub(super) async fn written(
    work: impl FnOnce(&mut dyn Write) -> Result<(), String> + Send + 'static,
) -> Result<Pieces, DoorError> {
    let (sender, pieces) = mpsc::channel(AHEAD);
    let work = spawn_blocking(move || {
        let mut writer = PieceWriter { sender, piece: Vec::new() };
        work(&mut writer)?;
        writer.flush().map_err(|error| error.to_string())
    });
    let mut production = Production { pieces, work: Some(work) };
    let first = production.next().await.transpose()?;
    let rest = stream::unfold(production, async |mut rest| rest.next().await.map(|piece| (piece, rest)));
    Ok(stream::iter(first.map(Ok)).chain(rest).boxed())
}

/// A blocking task whose output is read.
struct Production {
    pieces: mpsc::Receiver<Vec<u8>>,
    /// The work, until its outcome is known.
    work: Option<JoinHandle<Result<(), String>>>,
}

impl Production {
    async fn next(&mut self) -> Option<Result<Vec<u8>, DoorError>> {
        if let Some(piece) = self.pieces.recv().await {
            return Some(Ok(piece));
        }
        match self.work.take()?.await {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(Err(DoorError::Failed(why))),
            Err(error) => Some(Err(broken(io::Error::other(error)).into())),
        }
    }
}

/// Sends what is written as soon as it fills a piece.
struct PieceWriter {
    sender: mpsc::Sender<Vec<u8>>,
    piece: Vec<u8>,
}

impl PieceWriter {
    fn send(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.piece);
        self.sender.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for PieceWriter {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        let taken = content.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&content[..taken]);
        if self.piece.len() == PIECE {
            self.send()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() { Ok(()) } else { self.send() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::TryStreamExt as _;

    use super::*;

    const MANY: usize = 1000;

    /// A task that writes many pieces, each a line, and counts them.
    async fn counted() -> (Arc<AtomicUsize>, Pieces, mpsc::Receiver<Result<(), String>>) {
        let made = Arc::new(AtomicUsize::new(0));
        let (sender, outcome) = mpsc::channel(1);
        let count = made.clone();
        let pieces = written(move |out| {
            let done = (0..MANY).try_for_each(|n| {
                out.write_all(&[n.to_le_bytes()[0]; PIECE])?;
                count.fetch_add(1, Ordering::SeqCst);
                Ok::<_, io::Error>(())
            });
            let done = done.map_err(|error| error.to_string());
            let _ = sender.blocking_send(done.clone());
            done
        });
        (made, pieces.await.unwrap(), outcome)
    }

    #[tokio::test]
    async fn the_work_is_never_far_ahead_of_its_reader() {
        let (made, mut pieces, mut outcome) = counted().await;
        for n in 0..MANY {
            // One piece is being sent, and another was already received as the first.
            assert!(made.load(Ordering::SeqCst) <= n + AHEAD + 2, "{made:?} were made when {n} were read");
            let piece = pieces.try_next().await.unwrap().unwrap();
            assert_eq!(piece, vec![n.to_le_bytes()[0]; PIECE]);
        }
        assert!(pieces.try_next().await.unwrap().is_none());
        assert_eq!(outcome.recv().await, Some(Ok(())));
    }

    #[tokio::test]
    async fn without_a_reader_the_work_ends() {
        let (made, mut pieces, mut outcome) = counted().await;
        pieces.try_next().await.unwrap().unwrap();
        drop(pieces);
        assert_eq!(outcome.recv().await, Some(Err("broken pipe".into())));
        assert!(made.load(Ordering::SeqCst) <= AHEAD + 2, "{made:?}");
    }

    #[tokio::test]
    async fn a_failure_is_told_at_once_or_after_what_was_written() {
        let failed = written(|_| Err("no".into())).await;
        assert!(matches!(failed, Err(DoorError::Failed(why)) if why == "no"));
        let pieces = written(|out| {
            out.write_all(&[1; PIECE + 1]).map_err(|error| error.to_string())?;
            Err("no more".into())
        });
        let mut pieces = pieces.await.unwrap();
        assert_eq!(pieces.try_next().await.unwrap(), Some(vec![1; PIECE]));
        let failed = pieces.try_next().await;
        assert!(matches!(failed, Err(DoorError::Failed(why)) if why == "no more"));
        assert!(pieces.try_next().await.unwrap().is_none());
        let empty = written(|_| Ok(())).await.unwrap();
        assert_eq!(empty.try_concat().await.unwrap(), b"");
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_and_no_end() {
        let pieces = written(|out| {
            out.write_all(&[1; PIECE]).map_err(|error| error.to_string())?;
            panic!("it broke");
        });
        assert!(pieces.await.unwrap().try_concat().await.is_err());
    }
}
