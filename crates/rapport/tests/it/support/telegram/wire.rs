//! The connections of the server, which can be cut at any byte, and its port, which can refuse, hang and come back.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

/// How the server meets whoever calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Answers.
    Open,
    /// Refuses connections, and has cut those there were.
    Refusing,
    /// Takes connections and requests, and never answers.
    Hanging,
}

/// The listening side. The port stays ours while it refuses, because a second socket holds it without listening.
pub(crate) struct Wire {
    address: SocketAddr,
    _holds_the_port: TcpSocket,
    listener: Option<TcpListener>,
    door: watch::Receiver<Door>,
    /// Says which door is in force, once it is.
    in_force: watch::Sender<Door>,
    lines: Arc<Lines>,
}

/// Every connection there is.
#[derive(Default)]
pub(crate) struct Lines(Mutex<Vec<Weak<Cut>>>);

/// One connection.
pub(crate) struct Line {
    stream: TcpStream,
    cut: Arc<Cut>,
}

/// Ends one connection, without another byte.
#[derive(Default)]
pub(crate) struct Cut {
    done: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// What a request knows about the connection it came over.
#[derive(Clone)]
pub(crate) struct Over(pub(crate) Arc<Cut>);

impl Wire {
    /// Listens on a free port of loopback.
    pub(crate) fn open(
        door: watch::Receiver<Door>,
        in_force: watch::Sender<Door>,
        lines: Arc<Lines>,
    ) -> Self {
        let holder = socket(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = holder.local_addr().unwrap();
        let listener = Some(listen(address));
        Self { address, _holds_the_port: holder, listener, door, in_force, lines }
    }

    /// Where it is.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Listener for Wire {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        loop {
            let door = *self.door.borrow_and_update();
            if door == Door::Refusing {
                self.listener = None;
                self.lines.cut();
            }
            let address = self.address;
            let listener = match door {
                Door::Refusing => None,
                Door::Open | Door::Hanging => Some(&*self.listener.get_or_insert_with(|| listen(address))),
            };
            self.in_force.send_replace(door);
            let accepted = async {
                match listener {
                    Some(listener) => listener.accept().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                changed = self.door.changed() => if changed.is_err() { pending::<()>().await },
                accepted = accepted => if let Ok((stream, from)) = accepted {
                    return (self.lines.add(stream), from);
                },
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}

fn listen(address: SocketAddr) -> TcpListener {
    socket(address).and_then(|socket| socket.listen(128)).unwrap()
}

impl Lines {
    fn add(&self, stream: TcpStream) -> Line {
        // Small answers must not wait for each other.
        let _ = stream.set_nodelay(true);
        let cut = Arc::new(Cut::default());
        let mut lines = self.0.lock().unwrap();
        lines.retain(|line| line.strong_count() > 0);
        lines.push(Arc::downgrade(&cut));
        Line { stream, cut }
    }

    /// Ends all of them.
    pub(crate) fn cut(&self) {
        for line in self.0.lock().unwrap().drain(..).filter_map(|line| line.upgrade()) {
            line.now();
        }
    }
}

impl Cut {
    /// From here on nothing is read or written.
    pub(crate) fn now(&self) {
        self.done.store(true, Ordering::SeqCst);
        if let Some(waker) = self.waker.lock().unwrap().take() {
            waker.wake();
        }
    }

    fn check(&self, cx: &Context<'_>) -> io::Result<()> {
        *self.waker.lock().unwrap() = Some(cx.waker().clone());
        if self.done.load(Ordering::SeqCst) { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.cut.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.cut.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Connected<IncomingStream<'_, Wire>> for Over {
    fn connect_info(stream: IncomingStream<'_, Wire>) -> Self {
        Self(stream.io().cut.clone())
    }
}
