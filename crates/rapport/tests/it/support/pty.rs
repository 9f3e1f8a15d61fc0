//! A program in its own terminal: type keys, wait for what the screen shows, read it as text.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// How long anything may take to appear.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a terminal waits for the rest of a frame, at most.
const FRAME: Duration = Duration::from_secs(1);

/// A program in a terminal.
pub(crate) struct Pty {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    raw: Vec<u8>,
    frames: Frames,
}

/// Output that is shown frame by frame, as by a terminal with synchronised output: a frame is on the screen as a
/// whole or not at all.
#[derive(Default)]
struct Frames {
    held: Vec<u8>,
}

impl Frames {
    const BEGIN: &[u8] = b"\x1b[?2026h";
    const END: &[u8] = b"\x1b[?2026l";

    /// What can be shown now that these bytes came.
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let mut shown = 0;
        while let Some(begin) = position(&self.held[shown..], Self::BEGIN) {
            let Some(length) = position(&self.held[shown + begin..], Self::END) else {
                return self.held.drain(..shown + begin).collect();
            };
            shown += begin + length + Self::END.len();
        }
        // The beginning of a frame may be cut in two.
        let is_cut = |length: &usize| self.held[shown..].ends_with(&Self::BEGIN[..*length]);
        let cut = (1..Self::BEGIN.len()).rev().find(is_cut).unwrap_or(0);
        self.held.drain(..self.held.len() - cut).collect()
    }

    /// A frame whose end is missing, because the program was killed.
    fn unfinished(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

impl Pty {
    /// Starts a program (by absolute path) with these arguments and variables in a terminal of so many columns and
    /// rows.
    pub(crate) fn spawn(program: &str, args: &[&str], env: &[(&str, &str)], columns: u16, rows: u16) -> Self {
        Self::spawn_in(&std::env::temp_dir(), program, args, env, (columns, rows))
    }

    /// The same in this directory.
    pub(crate) fn spawn_in(
        folder: &Path,
        program: &str,
        args: &[&str],
        env: &[(&str, &str)],
        (columns, rows): (u16, u16),
    ) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).expect("a pty");
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(folder);
        // The user who runs the tests may have any locale, or none.
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        env.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).expect("the program starts");
        let output = reader(pair.master.try_clone_reader().expect("a reader"));
        let keys = pair.master.take_writer().expect("a writer");
        let screen = vt100::Parser::new(at_least_one(rows), at_least_one(columns), 1000);
        Self { master: pair.master, child, keys, output, screen, raw: Vec::new(), frames: Frames::default() }
    }

    /// Types these characters. `\r` is Enter, `\x1b[A` the up arrow, `\x03` Ctrl-C.
    pub(crate) fn send(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the program reads");
        self.keys.flush().expect("the program reads");
    }

    /// Waits until the screen contains this text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until the screen no longer contains this text.
    #[track_caller]
    pub(crate) fn wait_gone(&mut self, text: &str) {
        self.wait_until(text, |screen| !screen.contains(text));
    }

    /// Waits until the screen is as wanted; fails, with the screen, if it never is.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, is: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is(&self.text()) {
            let left = deadline.saturating_duration_since(Instant::now());
            let pause = if self.frames.held.is_empty() { left } else { left.min(FRAME) };
            match self.output.recv_timeout(pause) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Timeout) if pause < left => self.take_unfinished(),
                Err(RecvTimeoutError::Timeout) => panic!("waited in vain for {what:?} on:\n{}", self.text()),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended before {what:?} was on:\n{}", self.text())
                }
            }
        }
    }

    /// Types these characters ten times a second for this long, as a key does that is held down.
    pub(crate) fn hold(&mut self, keys: &str, time: Duration) {
        const REPEAT: Duration = Duration::from_millis(100);
        let released = Instant::now() + time;
        while Instant::now() < released {
            self.send(keys);
            let again = Instant::now() + REPEAT;
            while let Ok(bytes) = self.output.recv_timeout(again.saturating_duration_since(Instant::now())) {
                self.take(&bytes);
            }
        }
    }

    /// Types these keys, and once more after a second if nothing came of it: some prompts ignore what was typed
    /// before they can have been read.
    #[track_caller]
    pub(crate) fn insist(&mut self, keys: &str, what: &str, is: impl Fn(&str) -> bool) {
        self.send(keys);
        let again = Instant::now() + Duration::from_secs(1);
        while let Ok(bytes) = self.output.recv_timeout(again.saturating_duration_since(Instant::now())) {
            self.take(&bytes);
            if is(&self.text()) {
                return;
            }
        }
        self.send(keys);
        self.wait_until(what, is);
    }

    /// The screen as text, without blanks at the ends of rows and of the screen.
    pub(crate) fn text(&self) -> String {
        let (_, columns) = self.screen.screen().size();
        let rows: Vec<String> =
            self.screen.screen().rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// What is on the screen, with the colours of the terminal's theme and what is bold: `[magenta bold: needs input]`.
    pub(crate) fn coloured(&self) -> String {
        const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
        let screen = self.screen.screen();
        let (rows, columns) = (screen.size().0.get(), screen.size().1.get());
        let style = |cell: &vt100::Cell| {
            let colour = match cell.fgcolor() {
                vt100::Color::Idx(number) => NAMES.get(usize::from(number)).copied().unwrap_or("other"),
                vt100::Color::Rgb(..) => "other",
                vt100::Color::Default => "",
            };
            [colour, if cell.bold() { "bold" } else { "" }].join(" ").trim().to_owned()
        };
        let row = |row: u16| {
            let (mut runs, mut last) = (Vec::<(String, String)>::new(), String::new());
            for cell in (0..columns).filter_map(|column| screen.cell(row, column)) {
                let text = if cell.has_contents() { cell.contents() } else { " " };
                if cell.is_wide_continuation() {
                    continue;
                }
                // A blank has the style of what is before it.
                let style = if text == " " { last.clone() } else { style(cell) };
                match runs.last_mut().filter(|(of, _)| *of == style) {
                    Some((_, run)) => run.push_str(text),
                    None => runs.push((style.clone(), text.to_owned())),
                }
                last = style;
            }
            let run = |(style, run): (String, String)| match style.is_empty() {
                true => run,
                false => {
                    let words = run.trim_end();
                    format!("[{style}: {words}]{}", &run[words.len()..])
                }
            };
            runs.into_iter().map(run).collect::<String>().trim_end().to_owned()
        };
        (0..rows).map(row).collect::<Vec<_>>().join("\n")
    }

    /// What scrolled out of the screen, and the screen.
    pub(crate) fn everything(&mut self) -> String {
        let (rows, columns) = self.screen.screen().size();
        let mut lines = Vec::new();
        self.screen.screen_mut().set_scrollback(usize::MAX);
        let mut above = self.screen.screen().scrollback();
        while above > 0 {
            self.screen.screen_mut().set_scrollback(above);
            let shown = self.screen.screen().rows(0, columns.get()).take(above);
            lines.extend(shown.map(|row| row.trim_end().to_owned()));
            above = above.saturating_sub(usize::from(rows.get()));
        }
        self.screen.screen_mut().set_scrollback(0);
        format!("{}\n{}", lines.join("\n"), self.text())
    }

    /// Every byte the program wrote.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Whether the cursor is hidden.
    pub(crate) fn is_cursor_hidden(&self) -> bool {
        self.screen.screen().hide_cursor()
    }

    /// Whether the screen is the one that programs borrow.
    pub(crate) fn is_alternate(&self) -> bool {
        self.screen.screen().alternate_screen()
    }

    /// The process that was started.
    pub(crate) fn id(&self) -> u32 {
        self.child.process_id().expect("it runs")
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.master.resize(size(columns, rows)).expect("the terminal has another size");
        self.screen.screen_mut().set_size(at_least_one(rows), at_least_one(columns));
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let id = self.child.process_id().expect("it runs");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(id as i32), signal).expect("it runs");
    }

    /// Waits until the program has ended, and takes in the rest of what it wrote.
    #[track_caller]
    pub(crate) fn wait_end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Disconnected) => {
                    self.take_unfinished();
                    return self.child.wait().expect("it has ended");
                }
                Err(RecvTimeoutError::Timeout) => panic!("it did not end:\n{}", self.text()),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        let shown = self.frames.take(bytes);
        self.screen.process(&shown);
    }

    fn take_unfinished(&mut self) {
        let shown = self.frames.unfinished();
        self.screen.process(&shown);
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn at_least_one(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).expect("a terminal has at least one row and column")
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn reader(mut from: Box<dyn Read + Send>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if send.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    receive
}

#[test]
fn shows_what_a_program_writes_and_takes_keys_to_it() {
    let script = "printf 'name? '; read name; printf 'hello %s\\n' \"$name\"; exit 3";
    let mut pty = Pty::spawn("/bin/sh", &["-c", script], &[], 40, 10);
    pty.wait_for("name?");
    pty.send("anna\n");
    pty.wait_for("hello anna");
    assert_eq!(pty.wait_end().exit_code(), 3);
    assert_eq!(pty.text(), "name? anna\nhello anna");
}

#[test]
fn a_program_sees_the_size_and_the_environment() {
    let mut pty = Pty::spawn("/bin/sh", &["-c", "stty size; echo $COLOUR"], &[("COLOUR", "blue")], 50, 12);
    assert!(pty.wait_end().success());
    assert_eq!(pty.text(), "12 50\nblue");
}
