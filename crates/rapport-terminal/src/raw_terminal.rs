//! The real terminal: put into raw mode, drawn on, and restored at the end, on an error and on a panic.

use std::fs::File;
use std::io::{self, IsTerminal as _, Stdout, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::thread;
use std::time::Duration;

use crossterm::event::{Event, KeyEventKind};
use crossterm::terminal;
use futures_util::{Stream, StreamExt as _, stream};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{FlushArg, tcflush};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::region::Region;
use super::review::canvas;
use super::screen::Screen;
use super::style::Theme;
use super::text::Line;
use super::{Block, Effect, Front, ScreenInput, Size, notice};

/// The interactive screen on a real terminal.
pub(super) struct Live {
    screen: Screen,
    region: Region<Stdout>,
    _raw: Raw,
}

impl Live {
    pub(super) fn new(screen: Screen, theme: Theme) -> io::Result<Self> {
        let raw = Raw::enter()?;
        Ok(Self { screen, region: Region::new(io::stdout(), theme, size()), _raw: raw })
    }
}

impl Live {
    /// Clears what is drawn below the history, so that later output begins on a new row.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.region.show(&[], Block::default(), self.screen.size())
    }

    fn leave_for_a_while(&mut self) -> io::Result<()> {
        self.clear()?;
        restore();
        suspend()?;
        // What was typed for the shell must not become an answer.
        discard_typed();
        switch_to_raw()?;
        self.region.begin_anew();
        Ok(())
    }
}

impl Front for Live {
    fn notify(&mut self, what: &str) -> io::Result<()> {
        let env = |name: &str| std::env::var(name).ok();
        io::stdout().write_all(notice::chosen().sequence(what, env).as_bytes())?;
        io::stdout().flush()
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.leave_for_a_while()
    }

    fn step(&mut self, happening: ScreenInput, now: Duration) -> Vec<Effect> {
        self.screen.step(happening, now)
    }

    fn wake(&self, now: Duration) -> Option<Duration> {
        self.screen.wake(now)
    }

    fn show(&mut self, lines: &[Line], now: Duration) -> io::Result<()> {
        // A panic elsewhere in the program restored the terminal; take it again.
        if !IS_RAW.load(Ordering::SeqCst) {
            switch_to_raw()?;
            self.region.begin_anew();
        }
        self.region.show(lines, self.screen.frame(now), self.screen.size())
    }
}

/// How long this program may take to end by itself after its terminal was closed.
const ENDING: Duration = Duration::from_secs(3);
/// The exit code of a program that was stopped and can be resumed.
const STOPPED: i32 = 130;

/// How large the terminal is.
pub fn size() -> Size {
    match terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => Size { columns: columns.into(), rows: rows.into() },
        _ => Size { columns: 80, rows: 24 },
    }
}

/// The typed keys. The end of the input means leaving; it is never an answer.
pub(super) fn keys() -> impl Stream<Item = ScreenInput> {
    end_with_the_terminal();
    let happenings = stream::unfold(KeyReader::new(), |mut reader| async {
        reader.next().await.map(|happening| (happening, reader))
    });
    happenings.chain(stream::once(std::future::ready(ScreenInput::Stopped)))
}

/// Reads keys when there are some, and never in between. Crossterm's own stream reads on a thread, which may keep the
/// lock on the terminal until the next key is typed, even after its stream was dropped.
struct KeyReader {
    /// The terminal that crossterm reads from. `None` if it cannot be watched; then only its size changes.
    input: Option<AsyncFd<OwnedFd>>,
    resized: Option<Signal>,
}

impl KeyReader {
    fn new() -> Self {
        let input = watched_input().and_then(|input| watch(input).ok());
        Self { input, resized: signal(SignalKind::window_change()).ok() }
    }

    /// The next key or change of size; `None` once the terminal was closed.
    async fn next(&mut self) -> Option<ScreenInput> {
        loop {
            if is_hung_up() {
                #[cfg(debug_assertions)]
                stay_if_told_to();
                return None;
            }
            if crossterm::event::poll(Duration::ZERO).ok()? {
                let happening = happening(crossterm::event::read().ok()?);
                if happening.is_some() {
                    return happening;
                }
            } else {
                self.wait().await?;
            }
        }
    }

    /// Waits until there may be something to read; `None` if the terminal can no longer be watched, as when the program
    /// ends. Trying again would fail at once, over and over, and the caller would never see that it has to stop.
    async fn wait(&mut self) -> Option<()> {
        let Self { input, resized } = self;
        let typed = async {
            match input {
                Some(input) => input.readable().await.ok().map(|mut ready| ready.clear_ready()),
                None => std::future::pending().await,
            }
        };
        let resized = async {
            match resized {
                Some(resized) => resized.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            typed = typed => typed,
            resized = resized => resized,
        }
    }
}

/// The input that crossterm reads keys from: the standard input, or the controlling terminal if that is something else.
fn watched_input() -> Option<OwnedFd> {
    let input = io::stdin();
    if input.is_terminal() {
        return input.as_fd().try_clone_to_owned().ok();
    }
    File::open("/dev/tty").ok().map(OwnedFd::from)
}

#[expect(deprecated, reason = "it owns its descriptor, which is what the unsafe replacement asks for")]
fn watch(input: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(input, Interest::READABLE)
}

/// `RAPPORT_TRIAL_KEYS=stay` simulates crossterm's reader at the end of a terminal, for the tests: it never returns.
#[cfg(debug_assertions)]
fn stay_if_told_to() {
    while std::env::var_os("RAPPORT_TRIAL_KEYS").is_some_and(|told| told == "stay") {
        thread::park();
    }
}

/// Ends this program a while after its terminal was closed, whatever it does at that time. If the terminal is closed
/// while crossterm reads, its reader never returns, and the thread that would end the program is busy forever. What
/// is stored is safe, and agents end with their host.
fn end_with_the_terminal() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // Without the thread, only that rare case is worse.
        let _ = thread::Builder::new().name("terminal".into()).spawn(|| {
            if !io::stdin().is_terminal() {
                return;
            }
            loop {
                // The end is reported although nothing is asked for.
                let input = io::stdin();
                let mut input = [PollFd::new(input.as_fd(), PollFlags::empty())];
                match poll(&mut input, PollTimeout::NONE) {
                    Ok(0) | Err(Errno::EINTR) => {}
                    Ok(_) if input[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)) => {
                        break;
                    }
                    // It cannot be watched, and polling again would fail at once.
                    Ok(_) | Err(_) => return,
                }
            }
            thread::sleep(ENDING);
            std::process::exit(STOPPED);
        });
    });
}

/// Whether the terminal was closed, with its window for example. Crossterm would read its end again and again, and
/// never return.
fn is_hung_up() -> bool {
    static IS_TERMINAL: OnceLock<bool> = OnceLock::new();
    let input = io::stdin();
    // If standard input is a pipe, keys come from elsewhere, and its end says nothing. A closed terminal no longer
    // counts as a terminal.
    if !IS_TERMINAL.get_or_init(|| input.is_terminal()) {
        return false;
    }
    let mut input = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
    let found = poll(&mut input, PollTimeout::ZERO).is_ok_and(|found| found > 0);
    found && input[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP))
}

/// Drops typed input, including what previous readers have read.
pub(super) fn discard_all() {
    discard_typed();
    while !is_hung_up() && crossterm::event::poll(Duration::ZERO).is_ok_and(|is_there| is_there) {
        let _ = crossterm::event::read();
    }
}

/// Drops typed input that is not read yet.
pub(super) fn discard_typed() {
    // This fails if stdin is not a terminal, which has no such buffer.
    let _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
}

/// Stops this process until the shell resumes it.
pub(super) fn suspend() -> io::Result<()> {
    Ok(nix::sys::signal::raise(nix::sys::signal::Signal::SIGTSTP)?)
}

fn happening(event: Event) -> Option<ScreenInput> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(ScreenInput::Key(key)),
        Event::Paste(text) => Some(ScreenInput::Paste(text)),
        Event::Resize(..) => Some(ScreenInput::Resized(size())),
        Event::Key(_) | Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    }
}

/// The terminal in raw mode, until this is dropped.
pub(super) struct Raw;

static IS_RAW: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

impl Raw {
    /// Enters raw mode.
    pub(super) fn enter() -> io::Result<Self> {
        HOOK.call_once(restore_on_panic);
        let raw = Self;
        switch_to_raw()?;
        Ok(raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether a screen is being drawn, so that nothing else may write to the terminal.
pub fn screen_is_up() -> bool {
    IS_RAW.load(Ordering::SeqCst)
}

/// Enters raw mode again, if a panic elsewhere in the program restored the terminal.
pub(super) fn raw_again() -> io::Result<()> {
    if IS_RAW.load(Ordering::SeqCst) { Ok(()) } else { switch_to_raw() }
}

fn switch_to_raw() -> io::Result<()> {
    IS_RAW.store(true, Ordering::SeqCst);
    terminal::enable_raw_mode()?;
    // Bracketed paste, so that a pasted line break does not act as Enter.
    io::stdout().write_all(b"\x1b[?2004h")?;
    io::stdout().flush()
}

fn restore() {
    if IS_RAW.swap(false, Ordering::SeqCst) {
        let _ = io::stdout().write_all(b"\x1b[?2026l\x1b[?2004l\x1b[?25h");
        let _ = io::stdout().flush();
        let _ = terminal::disable_raw_mode();
    }
}

/// Restores the terminal on a panic before the panic is printed: first the screen of a review, then the mode.
fn restore_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        canvas::leave();
        if IS_RAW.load(Ordering::SeqCst) {
            let _ = io::stdout().write_all(b"\r\n\x1b[J");
        }
        restore();
        before(panic);
        canvas::give_back();
    }));
}
