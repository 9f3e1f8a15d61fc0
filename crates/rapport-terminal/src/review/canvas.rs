//! The alternate screen in raw mode. It is restored at the end, on an error and on a panic. If the process is killed it
//! cannot be; then [`tidy_up`] restores it at the next review.

use std::io::{self, Stdout, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use tokio::sync::Notify;

use super::super::Size;
use super::super::live::{self, Raw};

static IS_ALTERNATE: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();
static GIVEN_BACK: Notify = Notify::const_new();

/// The alternate screen, until this is dropped.
pub(super) struct Canvas {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    size: Size,
    _raw: Raw,
}

impl Canvas {
    /// Enters the alternate screen.
    pub(super) fn enter() -> io::Result<Self> {
        let raw = Raw::enter()?;
        watch_panics();
        let size = live::size();
        let canvas = Self { terminal: blank(size)?, size, _raw: raw };
        switch_to_alternate()?;
        Ok(canvas)
    }

    /// Draws what changed.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame)) -> io::Result<()> {
        // A panic elsewhere in the program restored the screen; take it again.
        if !IS_ALTERNATE.load(Ordering::SeqCst) || live::size() != self.size {
            self.begin_anew()?;
        }
        self.terminal.draw(draw).map(drop)
    }

    /// Enters the alternate screen again, whatever is on it now.
    pub(super) fn begin_anew(&mut self) -> io::Result<()> {
        self.size = live::size();
        self.terminal = blank(self.size)?;
        live::raw_again()?;
        switch_to_alternate()
    }
}

impl Drop for Canvas {
    fn drop(&mut self) {
        leave();
    }
}

/// Restores the screen on a panic before the panic is printed. To be called in raw mode: panic hooks run in reverse
/// order, and this one has to run before the one that leaves raw mode.
pub(super) fn watch_panics() {
    HOOK.call_once(leave_on_panic);
}

/// Returns after a panic somewhere in the program has restored the terminal and was printed.
pub(super) async fn given_back() {
    GIVEN_BACK.notified().await;
}

/// An empty screen of this size. The size is passed in, because some terminals report none.
fn blank(size: Size) -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let viewport = Viewport::Fixed(Rect::new(0, 0, cells(size.columns), cells(size.rows)));
    Terminal::with_options(CrosstermBackend::new(io::stdout()), TerminalOptions { viewport })
}

/// Restores what a killed review left behind: its screen, and the hidden cursor.
pub(super) fn tidy_up() -> io::Result<()> {
    // Unlike 1049, leaving by 1047 does not move the cursor if there is nothing to leave.
    io::stdout().write_all(b"\x1b[?1047l\x1b[?25h")?;
    io::stdout().flush()
}

fn switch_to_alternate() -> io::Result<()> {
    IS_ALTERNATE.store(true, Ordering::SeqCst);
    io::stdout().write_all(b"\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l")?;
    io::stdout().flush()
}

fn leave() {
    if IS_ALTERNATE.swap(false, Ordering::SeqCst) {
        let _ = io::stdout().write_all(b"\x1b[0m\x1b[?25h\x1b[?1049l");
        let _ = io::stdout().flush();
    }
}

fn leave_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        before(panic);
        GIVEN_BACK.notify_one();
    }));
}
