//! One stream of bytes for everything between a host and the keeper of a process on another machine: its input and
//! output, its lifeline, and the connections through its door. Both ends use the same code: `keeper/relay.rs` inside,
//! `containers/stream.rs` on the host.
//!
//! Each channel has a window: its sender may be so many bytes ahead of its receiver, and the receiver gives credit
//! for the bytes that it has passed on. So a channel that is not read neither delays the others nor fills the memory.
//! Data from the container is not trusted: a sender that breaks these rules loses the stream.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

/// The input of the process.
pub(super) const INPUT: u32 = 0;
/// The standard output of the process.
pub(super) const OUTPUT: u32 = 1;
/// Its error output.
pub(super) const ERRORS: u32 = 2;
/// The report of a command's keeper: the names of leftover processes.
pub(super) const BESIDE: u32 = 3;
/// Why the process was not started.
pub(super) const OUTCOME: u32 = 4;
/// The host's requests; its end ends the process.
pub(super) const LIFELINE: u32 = 5;
/// The first connection through the door.
pub(super) const FIRST_CONNECTION: u32 = 16;

/// How often each side sends a sign of life.
pub(super) const BEAT: Duration = Duration::from_secs(2);

/// How many bytes of a channel may be under way.
const WINDOW: usize = 256 * 1024;
/// The most bytes in a frame.
const LARGEST: usize = 64 * 1024;
/// The bytes before the content of a frame: its kind, its channel, its length.
const HEADER: usize = 9;
/// How many frames may wait to be written.
const AHEAD: usize = 32;

/// What goes over the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// The sender is alive.
    Beat,
    Data(u32, Vec<u8>),
    /// There is no more data.
    End(u32),
    /// The sender wants no more data.
    Refuse(u32),
    /// The sender has passed on so many bytes.
    Credit(u32, u32),
    /// A program connected to the door.
    Open(u32),
    /// The address of the door inside.
    Door(SocketAddr),
    /// The keeper has ended, with this code.
    Exit(u8),
}

impl Frame {
    /// The frame as bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let number = |number: u32| number.to_be_bytes().to_vec();
        let (kind, channel, content) = match self {
            Self::Beat => (0, 0, Vec::new()),
            Self::Data(channel, data) => (1, *channel, data.clone()),
            Self::End(channel) => (2, *channel, Vec::new()),
            Self::Refuse(channel) => (3, *channel, Vec::new()),
            Self::Credit(channel, bytes) => (4, *channel, number(*bytes)),
            Self::Open(channel) => (5, *channel, Vec::new()),
            Self::Door(address) => (6, 0, address.to_string().into_bytes()),
            Self::Exit(code) => (7, 0, vec![*code]),
        };
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        [&[kind][..], &channel.to_be_bytes(), &length.to_be_bytes(), &content].concat()
    }

    fn decode(kind: u8, channel: u32, content: &[u8]) -> Option<Self> {
        Some(match (kind, content) {
            (0, []) => Self::Beat,
            (1, data) => Self::Data(channel, data.to_vec()),
            (2, []) => Self::End(channel),
            (3, []) => Self::Refuse(channel),
            (4, bytes) => Self::Credit(channel, u32::from_be_bytes(bytes.try_into().ok()?)),
            (5, []) => Self::Open(channel),
            (6, address) => Self::Door(std::str::from_utf8(address).ok()?.parse().ok()?),
            (7, [code]) => Self::Exit(*code),
            _ => return None,
        })
    }
}

/// Finds the frames in the bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    rest: Vec<u8>,
}

impl Decoder {
    /// Adds bytes, and returns the frames that are now complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<Frame>> {
        self.rest.extend_from_slice(bytes);
        let mut frames = Vec::new();
        let mut at = 0;
        while let Some(&[kind, a, b, c, d, e, f, g, h]) = self.rest[at..].first_chunk::<HEADER>() {
            let (channel, length) =
                (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]) as usize);
            if length > LARGEST {
                return Err(broken("a frame is too long"));
            }
            let Some(content) = self.rest.get(at + HEADER..at + HEADER + length) else { break };
            frames.push(
                Frame::decode(kind, channel, content).ok_or_else(|| broken("a frame is of no known kind"))?,
            );
            at += HEADER + length;
        }
        self.rest.drain(..at);
        Ok(frames)
    }
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// One end of the stream. Needs a runtime.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    out: mpsc::Sender<Frame>,
    channels: Arc<Mutex<HashMap<u32, Channel>>>,
}

/// What this end has of a channel.
#[derive(Debug, Default)]
struct Channel {
    /// How many bytes this end may still send.
    credit: Option<Arc<Semaphore>>,
    received: Option<Received>,
}

#[derive(Debug)]
struct Received {
    queue: mpsc::UnboundedSender<Vec<u8>>,
    /// How many bytes have not been passed on yet.
    waiting: Arc<AtomicUsize>,
}

impl Wire {
    /// One end, and the frames that it wants written to the stream.
    pub(super) fn new() -> (Self, mpsc::Receiver<Frame>) {
        let (out, frames) = mpsc::channel(AHEAD);
        (Self { out, channels: Arc::default() }, frames)
    }

    /// Sends a frame.
    pub(super) async fn tell(&self, frame: Frame) {
        // If the stream is gone, its reader notices.
        let _ = self.out.send(frame).await;
    }

    /// Sends a sign of life at regular intervals.
    pub(super) fn beat(&self) -> JoinHandle<()> {
        let wire = self.clone();
        tokio::spawn(async move {
            let mut beats = tokio::time::interval(BEAT);
            while !wire.out.is_closed() {
                beats.tick().await;
                wire.tell(Frame::Beat).await;
            }
        })
    }

    /// Sends everything from this source on this channel, and then the channel's end.
    pub(super) fn send(
        &self,
        channel: u32,
        source: impl AsyncRead + Send + Unpin + 'static,
    ) -> JoinHandle<()> {
        let credit = Arc::new(Semaphore::new(WINDOW));
        self.channels().entry(channel).or_default().credit = Some(credit.clone());
        let wire = self.clone();
        tokio::spawn(async move {
            if wire.send_all(channel, source, &credit).await {
                wire.tell(Frame::End(channel)).await;
            }
            wire.change(channel, |channel| channel.credit = None);
        })
    }

    /// Whether everything was sent; `false` if the other side wants no more.
    async fn send_all(&self, channel: u32, mut source: impl AsyncRead + Unpin, credit: &Semaphore) -> bool {
        let mut buffer = vec![0; LARGEST];
        while let Ok(size @ 1..) = source.read(&mut buffer).await {
            let Ok(allowed) = credit.acquire_many(u32::try_from(size).unwrap_or(u32::MAX)).await else {
                return false;
            };
            allowed.forget();
            self.tell(Frame::Data(channel, buffer[..size].to_vec())).await;
        }
        true
    }

    /// Writes everything that arrives on this channel to this sink.
    pub(super) fn receive(
        &self,
        channel: u32,
        mut sink: impl AsyncWrite + Send + Unpin + 'static,
    ) -> JoinHandle<()> {
        let (queue, mut data) = mpsc::unbounded_channel::<Vec<u8>>();
        let waiting = Arc::new(AtomicUsize::default());
        self.channels().entry(channel).or_default().received =
            Some(Received { queue, waiting: waiting.clone() });
        let wire = self.clone();
        tokio::spawn(async move {
            while let Some(data) = data.recv().await {
                if sink.write_all(&data).await.is_err() {
                    wire.change(channel, |channel| channel.received = None);
                    wire.tell(Frame::Refuse(channel)).await;
                    return;
                }
                waiting.fetch_sub(data.len(), Ordering::Relaxed);
                wire.tell(Frame::Credit(channel, u32::try_from(data.len()).unwrap_or(u32::MAX))).await;
            }
            // The reader may be gone.
            let _ = sink.shutdown().await;
        })
    }

    /// Ends receiving on this channel, as the other side would.
    pub(super) fn end(&self, channel: u32) {
        self.change(channel, |channel| channel.received = None);
    }

    /// Ends every channel, because the stream is gone.
    pub(super) fn close(&self) {
        let channels = std::mem::take(&mut *self.channels());
        channels.into_values().filter_map(|channel| channel.credit).for_each(|credit| credit.close());
    }

    /// Handles a frame about a channel from the other side; returns any other frame.
    pub(super) fn take(&self, frame: Frame) -> io::Result<Option<Frame>> {
        match frame {
            Frame::Data(channel, data) => self.take_data(channel, data)?,
            Frame::End(channel) => self.end(channel),
            Frame::Refuse(channel) => self.change(channel, |channel| {
                channel.credit.take().into_iter().for_each(|credit| credit.close());
            }),
            Frame::Credit(channel, bytes) => self.take_credit(channel, bytes as usize)?,
            other => return Ok(Some(other)),
        }
        Ok(None)
    }

    fn take_data(&self, channel: u32, data: Vec<u8>) -> io::Result<()> {
        let channels = self.channels();
        // This end no longer reads the channel, and tells the other side so.
        let Some(received) = channels.get(&channel).and_then(|channel| channel.received.as_ref()) else {
            return Ok(());
        };
        let before = received.waiting.fetch_add(data.len(), Ordering::Relaxed);
        if before + data.len() > WINDOW {
            return Err(broken("more was sent than allowed"));
        }
        let _ = received.queue.send(data);
        Ok(())
    }

    fn take_credit(&self, channel: u32, bytes: usize) -> io::Result<()> {
        let channels = self.channels();
        let Some(credit) = channels.get(&channel).and_then(|channel| channel.credit.as_ref()) else {
            return Ok(());
        };
        if credit.available_permits() + bytes > WINDOW {
            return Err(broken("more was received than sent"));
        }
        credit.add_permits(bytes);
        Ok(())
    }

    fn change(&self, number: u32, change: impl FnOnce(&mut Channel)) {
        let mut channels = self.channels();
        let Some(channel) = channels.get_mut(&number) else { return };
        change(channel);
        if channel.credit.is_none() && channel.received.is_none() {
            channels.remove(&number);
        }
    }

    /// The number of connections through the door.
    pub(super) fn connections(&self) -> usize {
        self.channels().keys().filter(|channel| **channel >= FIRST_CONNECTION).count()
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<u32, Channel>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_wherever_the_stream_is_cut() {
        let frames = [
            Frame::Beat,
            Frame::Data(OUTPUT, b"said".to_vec()),
            Frame::Data(INPUT, Vec::new()),
            Frame::End(ERRORS),
            Frame::Refuse(20),
            Frame::Credit(20, 70_000),
            Frame::Open(21),
            Frame::Door("127.0.0.1:3128".parse().unwrap()),
            Frame::Exit(3),
        ];
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
        for size in [1, 2, 7, bytes.len()] {
            let mut decoder = Decoder::default();
            let found: Vec<_> = bytes.chunks(size).flat_map(|some| decoder.push(some).unwrap()).collect();
            assert_eq!(found, frames, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let too_long = [1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        for wrong in [&too_long[..], &[9, 0, 0, 0, 0, 0, 0, 0, 0], &[7, 0, 0, 0, 0, 0, 0, 0, 0]] {
            assert!(Decoder::default().push(wrong).is_err(), "{wrong:?}");
        }
    }

    /// Passes frames on to the other end.
    fn carry(mut frames: mpsc::Receiver<Frame>, to: Wire) {
        tokio::spawn(async move {
            while let Some(frame) = frames.recv().await {
                to.take(frame).unwrap();
            }
        });
    }

    #[tokio::test]
    async fn a_channel_that_nobody_reads_delays_no_other() {
        let ((one, out), (other, back)) = (Wire::new(), Wire::new());
        carry(out, other.clone());
        carry(back, one.clone());
        let much = vec![7; 3 * WINDOW];
        let (unread, _kept) = tokio::io::duplex(1);
        other.receive(OUTPUT, unread);
        let (sink, mut read) = tokio::io::duplex(1024);
        other.receive(ERRORS, sink);
        one.send(OUTPUT, std::io::Cursor::new(much.clone()));
        one.send(ERRORS, std::io::Cursor::new(much.clone()));
        let mut found = Vec::new();
        read.read_to_end(&mut found).await.unwrap();
        assert!(found == much, "all of it came");
    }

    #[tokio::test]
    async fn whoever_sends_too_much_loses_the_stream() {
        let (wire, _out) = Wire::new();
        let (unread, _kept) = tokio::io::duplex(1);
        wire.receive(OUTPUT, unread);
        let piece = || Frame::Data(OUTPUT, vec![0; LARGEST]);
        for _ in 0..WINDOW / LARGEST {
            wire.take(piece()).unwrap();
        }
        assert!(wire.take(piece()).is_err());
        wire.send(INPUT, tokio::io::empty());
        assert!(wire.take(Frame::Credit(INPUT, 1)).is_err());
        // Frames of an unknown channel are ignored: it may just have been closed.
        assert_eq!(wire.take(Frame::Data(99, vec![1])).unwrap(), None);
        assert_eq!(wire.take(Frame::Credit(99, u32::MAX)).unwrap(), None);
    }

    #[tokio::test]
    async fn a_reader_that_leaves_stops_the_writer() {
        let ((one, out), (other, back)) = (Wire::new(), Wire::new());
        carry(out, other.clone());
        carry(back, one.clone());
        let (sink, read) = tokio::io::duplex(16);
        drop(read);
        other.receive(OUTPUT, sink);
        let (mut written, source) = tokio::io::duplex(16);
        let sending = one.send(OUTPUT, source);
        while written.write_all(&[0; 16]).await.is_ok() {}
        sending.await.unwrap();
        assert_eq!((one.channels().len(), other.channels().len()), (0, 0), "nothing is left of it");
    }
}
