//! Output to be read: lines in tones, with colour according to `--color`, and through a pager if they do not fit the
//! terminal. Prose is wrapped at blanks; commands and diffs are not, so that they can be copied.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use nix::sys::signal::{SigSet, Signal};
use rapport_core::ActionPlan;

use super::{Common, When, output, screen};
use crate::channels::terminal::style::Theme;
use crate::channels::terminal::text::{Line, Tone};
use crate::channels::terminal::{self, Size, review};
use crate::error::Outcome;

/// The default pager and its default options: it exits if everything fits, shows colours, and leaves the text on the
/// screen.
const PAGER: &str = "less";
const LESS: &str = "FRX";

/// The exit code of a shell that found no such program.
const NO_SUCH_PROGRAM: i32 = 127;

/// Lines to be read, in order.
pub(super) struct Page {
    theme: Theme,
    size: Option<Size>,
    lines: Vec<Line>,
}

impl Page {
    pub(super) fn new(common: &Common) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let theme = match common.color {
            When::Auto | When::Never if !is_terminal || terminal::lines_only() => Theme::Bare,
            when => Theme::choose(screen::colour(when), |name| std::env::var(name).ok()),
        };
        Self { theme, size: is_terminal.then(terminal::size), lines: Vec::new() }
    }

    /// The number of columns; `None` without a terminal, where lines may have any length.
    pub(super) fn columns(&self) -> Option<usize> {
        self.size.map(|size| size.columns)
    }

    /// Adds a line.
    pub(super) fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Adds a line in the default tone.
    pub(super) fn say(&mut self, text: &str) {
        self.push(Line::new(Tone::Text, text));
    }

    /// Adds a next step with its command.
    pub(super) fn next_step(&mut self, why: &str, command: &str) {
        let why = if why.is_empty() { String::new() } else { format!("{why}: ") };
        self.push(Line::new(Tone::Dim, &why).and(Tone::Text, command).indented(4));
    }

    pub(super) fn print(self) -> Outcome {
        output::show(self.theme, &self.rows())
    }

    /// The lines as rows of the terminal, if there is one.
    fn rows(&self) -> Vec<Line> {
        match self.columns() {
            Some(columns) => self.lines.iter().flat_map(|line| output::fitted(line, columns)).collect(),
            None => self.lines.clone(),
        }
    }

    /// Prints it, through a pager if it does not fit the terminal.
    pub(super) fn print_paged(self) -> Outcome {
        let Some(size) = self.size else { return self.print() };
        let rows: usize =
            self.rows().iter().map(|line| line.width().max(1).div_ceil(size.columns.max(1))).sum();
        match pager() {
            Some(pager) if rows >= size.rows && !terminal::lines_only() => self.hand_to(&pager),
            _ => self.print(),
        }
    }

    fn hand_to(self, pager: &str) -> Outcome {
        // Ctrl-C is for the pager while it runs. The new process starts with no signal blocked.
        let mut interrupt = SigSet::empty();
        interrupt.add(Signal::SIGINT);
        let _ = interrupt.thread_block();
        let mut command = Command::new("sh");
        command.args(["-c", pager]).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", LESS);
        }
        let ended = command.spawn().and_then(|mut child| {
            if let Some(mut to) = child.stdin.take() {
                // A pager that is left early reads no more.
                let _ = to.write_all(output::painted(self.theme, &self.rows()).as_bytes());
            }
            child.wait()
        });
        let _ = interrupt.thread_unblock();
        match ended {
            Ok(status) if status.code() != Some(NO_SUCH_PROGRAM) => Ok(()),
            // If the pager fails, the text is printed directly.
            Ok(_) | Err(_) => self.print(),
        }
    }
}

/// Prints a plan without a review.
pub(super) fn plan(common: &Common, plan: &ActionPlan) -> Outcome {
    let mut page = Page::new(common);
    let columns = page.columns().unwrap_or(usize::MAX);
    review::overview(plan, &[], columns).into_iter().for_each(|line| page.push(line));
    page.print()
}

/// Prints what an agent said instead of a plan.
pub(super) fn reply(common: &Common, words: &str) -> Outcome {
    let mut page = Page::new(common);
    page.say("The agent replied in words:");
    page.push(Line::empty());
    terminal::prose(words, Tone::Text).into_iter().for_each(|line| page.push(line.indented(2)));
    page.push(Line::empty());
    page.print()
}

/// The pager from the environment; `None` if it is disabled there.
fn pager() -> Option<String> {
    let named = ["RAPPORT_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
    Some(named.unwrap_or_else(|| PAGER.into())).filter(|pager| !pager.trim().is_empty() && pager != "cat")
}
