//! The real terminal: put into raw mode, drawn on, and restored at the end, on an error and on a panic.

use std::io::{self, IsTerminal as _, Stdout, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::task::Poll;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyEventKind};
use crossterm::terminal;
use futures_util::{Stream, StreamExt as _, stream};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{FlushArg, tcflush};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::region::Region;
use super::screen::Screen;
use super::style::Theme;
use super::text::Line;
use super::{Block, Effect, Front, Happening, Size, notice};

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

    fn step(&mut self, happening: Happening, now: Duration) -> Vec<Effect> {
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

/// How long the previous key reader may take to stop.
const OLD_READER: Duration = Duration::from_millis(100);

/// How large the terminal is.
pub fn size() -> Size {
    match terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => Size { columns: columns.into(), rows: rows.into() },
        _ => Size { columns: 80, rows: 24 },
    }
}

/// The typed keys. The end of the input means leaving; it is never an answer.
pub(super) fn keys() -> impl Stream<Item = Happening> {
    static READ_BEFORE: AtomicBool = AtomicBool::new(false);
    // The previous reader was woken to stop. Until it has consumed that event, the event would arrive together with the
    // first key, and hide it until the second.
    let patience = if READ_BEFORE.swap(true, Ordering::SeqCst) { OLD_READER } else { Duration::ZERO };
    let _ = !is_hung_up() && crossterm::event::poll(patience).is_ok();
    let mut events = EventStream::new();
    let mut end = Box::pin(hung_up());
    let events = stream::poll_fn(move |context| match end.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => events.poll_next_unpin(context),
    });
    let events = events.take_while(|event| std::future::ready(event.is_ok()));
    let happenings = events.filter_map(|event| std::future::ready(event.ok().and_then(happening)));
    happenings.chain(stream::once(std::future::ready(Happening::Stopped)))
}

/// Waits until the terminal is gone. The system signals that only to the session that the terminal belongs to, and
/// crossterm's reader never returns from it, so the terminal itself is watched.
#[expect(deprecated, reason = "it owns its descriptor, which is what the unsafe replacement asks for")]
async fn hung_up() {
    let input = io::stdin().as_fd().try_clone_to_owned();
    let watched = input.and_then(|input| AsyncFd::with_interest(input, Interest::READABLE));
    while !is_hung_up() {
        let Ok(watched) = &watched else { return std::future::pending().await };
        match watched.readable().await {
            Ok(mut ready) => ready.clear_ready(),
            Err(_) => return std::future::pending().await,
        }
    }
}

/// Whether the terminal is gone, as when its window was closed. Crossterm would read its end again and again, and never
/// return.
fn is_hung_up() -> bool {
    static IS_TERMINAL: OnceLock<bool> = OnceLock::new();
    let input = io::stdin();
    // Keys come from elsewhere if it is a pipe, whose end says nothing. A terminal that is gone no longer counts as one.
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

fn happening(event: Event) -> Option<Happening> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(Happening::Key(key)),
        Event::Paste(text) => Some(Happening::Paste(text)),
        Event::Resize(..) => Some(Happening::Resized(size())),
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

fn restore_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if IS_RAW.load(Ordering::SeqCst) {
            let _ = io::stdout().write_all(b"\r\n\x1b[J");
        }
        restore();
        before(panic);
    }));
}
