//! The alternate screen in raw mode. It is restored at the end, on an error and on a panic. When the process is killed it
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

/// The whole screen, for as long as this lives.
pub(super) struct Canvas {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    size: Size,
    _raw: Raw,
}

impl Canvas {
    /// Takes the screen.
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
        // A panic elsewhere in the program gave the screen back; here it goes on.
        if !IS_ALTERNATE.load(Ordering::SeqCst) || live::size() != self.size {
            self.begin_anew()?;
        }
        self.terminal.draw(draw).map(drop)
    }

    /// Takes the screen again, whatever is on it now.
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

/// From now on a panic gives the screen back before it is told. To be called in raw mode: hooks are called in the opposite
/// order of putting them up, and this one has to come before the one that leaves that mode.
pub(super) fn watch_panics() {
    HOOK.call_once(leave_on_panic);
}

/// Returns when a panic somewhere in the program gave the terminal back, and was told.
pub(super) async fn given_back() {
    GIVEN_BACK.notified().await;
}

/// A screen of this size with nothing on it. The size is ours to tell, because some terminals say they have none.
fn blank(size: Size) -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let viewport = Viewport::Fixed(Rect::new(0, 0, cells(size.columns), cells(size.rows)));
    Terminal::with_options(CrosstermBackend::new(io::stdout()), TerminalOptions { viewport })
}

/// Undoes what a review that was killed left behind: its screen, and the hidden cursor.
pub(super) fn tidy_up() -> io::Result<()> {
    // Unlike 1049, leaving by 1047 moves no cursor where there is nothing to leave.
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
