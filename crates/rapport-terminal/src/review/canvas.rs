//! The alternate screen in raw mode. It is restored at the end, on an error and on a panic. If the process is killed it
//! cannot be; then [`tidy_up`] restores it at the next review.

use std::io::{self, Stdout, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use tokio::sync::Notify;

use super::super::Size;
use super::super::raw_terminal::{self, Raw};
use super::super::region::TOGETHER;

static IS_ALTERNATE: AtomicBool = AtomicBool::new(false);
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
        let size = raw_terminal::size();
        let canvas = Self { terminal: blank(size)?, size, _raw: raw };
        switch_to_alternate()?;
        Ok(canvas)
    }

    /// Draws what changed, all at once.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame)) -> io::Result<()> {
        // A panic elsewhere in the program restored the screen; take it again.
        if !IS_ALTERNATE.load(Ordering::SeqCst) || raw_terminal::size() != self.size {
            self.begin_anew()?;
        }
        io::stdout().write_all(TOGETHER.0.as_bytes())?;
        let drawn = self.terminal.draw(draw).map(drop);
        // A terminal that waits for the end of a frame shows nothing meanwhile.
        io::stdout().write_all(TOGETHER.1.as_bytes()).and_then(|()| io::stdout().flush())?;
        drawn
    }

    /// Enters the alternate screen again, whatever is on it now.
    pub(super) fn begin_anew(&mut self) -> io::Result<()> {
        self.size = raw_terminal::size();
        self.terminal = blank(self.size)?;
        raw_terminal::raw_again()?;
        switch_to_alternate()
    }
}

impl Drop for Canvas {
    fn drop(&mut self) {
        leave();
    }
}

/// Returns after a panic somewhere in the program has restored the terminal and was printed.
pub(crate) async fn given_back() {
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

/// Leaves the screen of a review, if there is one.
pub(crate) fn leave() {
    if IS_ALTERNATE.swap(false, Ordering::SeqCst) {
        let _ = io::stdout().write_all(b"\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?1049l");
        let _ = io::stdout().flush();
    }
}

/// Tells the review that a panic was printed.
pub(crate) fn give_back() {
    GIVEN_BACK.notify_one();
}
