//! Hands the terminal to a program that shows a preview, takes it back when that ends, and handles signals meanwhile.

use std::io::{self, Write as _};
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt as _};
use nix::sys::signal::{Signal as Number, kill};
use nix::sys::termios::{SetArg, tcgetattr, tcsetattr};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::super::raw_terminal::{self, Raw};
use super::super::{ScreenInput, any_signal, one_signal};
use super::canvas::tidy_up;
use super::viewer::Viewer;

/// A program that ends sooner than this has printed its output instead of using a screen of its own.
const GLANCE: Duration = Duration::from_secs(1);
/// How long a program may take to end after it was told to.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) type Keys = Pin<Box<dyn Stream<Item = ScreenInput> + Send>>;

/// What ends a review from outside: signals, or a caller that was dropped.
pub(super) struct Signals {
    signals: [io::Result<Signal>; 3],
    gone: watch::Receiver<()>,
}

/// The result of handing the terminal over.
pub(super) enum HandedOver {
    /// The terminal is back; the program's result.
    Returned(Result<(), String>),
    Stopped,
}

impl Signals {
    /// Starts listening. The caller was dropped if the sender of `gone` is.
    pub(super) fn new(gone: watch::Receiver<()>) -> Self {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        Self { signals: kinds.map(signal), gone }
    }

    /// Returns when one of them occurs.
    pub(super) async fn any(&mut self) {
        tokio::select! {
            () = any_signal(&mut self.signals) => {}
            _ = self.gone.changed() => {}
        }
    }

    /// The same without SIGINT, which Ctrl-C sends to the program that has the terminal.
    async fn all_but_interrupt(&mut self) {
        let [_, terminate, hangup] = &mut self.signals;
        tokio::select! {
            () = one_signal(terminate) => {}
            () = one_signal(hangup) => {}
            _ = self.gone.changed() => {}
        }
    }

    /// Ignores SIGINT from now on. One that was meant for the program can arrive here after it ended, and must not end
    /// the review; while the review has the terminal, Ctrl-C is a key and sends no signal.
    fn ignore_interrupts(&mut self) {
        self.signals[0] = Err(io::ErrorKind::Interrupted.into());
    }
}

/// A new stream of keys.
pub(super) fn fresh_keys() -> Keys {
    Box::pin(raw_terminal::keys())
}

/// Gives the terminal to a program, and restores its mode when that has ended.
pub(super) async fn hand_over(viewer: &Viewer, file: &Path, signals: &mut Signals) -> io::Result<HandedOver> {
    let before = tcgetattr(io::stdin()).ok();
    let start = Instant::now();
    let mut child = match viewer.command(file).kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(error) => return Ok(HandedOver::Returned(viewer.judge(Err(error), None))),
    };
    let ended = tokio::select! {
        ended = child.wait() => Some(ended),
        () = signals.all_but_interrupt() => None,
    };
    if ended.is_none() {
        end(&mut child).await;
        tidy_up()?;
    }
    // A program that was killed or crashed may have left it in any mode.
    if let Some(before) = before {
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, &before);
    }
    signals.ignore_interrupts();
    let Some(ended) = ended else { return Ok(HandedOver::Stopped) };
    let result = viewer.judge(ended, None);
    if result.is_ok() && start.elapsed() < GLANCE {
        return wait_for_key(signals).await;
    }
    Ok(HandedOver::Returned(result))
}

async fn end(child: &mut Child) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(id) = id {
        let _ = kill(Pid::from_raw(id), Number::SIGTERM);
    }
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

/// Leaves the program's output visible until a key is pressed.
async fn wait_for_key(signals: &mut Signals) -> io::Result<HandedOver> {
    let _raw = Raw::enter()?;
    let mut keys: Keys = fresh_keys();
    io::stdout().write_all("\r\n[any key: back to the checklist] ".as_bytes())?;
    io::stdout().flush()?;
    loop {
        let happening = tokio::select! {
            happening = keys.next() => happening.unwrap_or(ScreenInput::Stopped),
            () = signals.any() => ScreenInput::Stopped,
        };
        match happening {
            ScreenInput::Key(_) => break,
            ScreenInput::Stopped => return Ok(HandedOver::Stopped),
            ScreenInput::Update(_)
            | ScreenInput::Paste(_)
            | ScreenInput::Resized(_)
            | ScreenInput::Submitted(_)
            | ScreenInput::Line(_)
            | ScreenInput::Resumed
            | ScreenInput::TimePassed => {}
        }
    }
    io::stdout().write_all(b"\r\n")?;
    Ok(HandedOver::Returned(Ok(())))
}
