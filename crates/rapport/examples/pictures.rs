//! Writes the pictures of the README and of `docs/first-hour.md`: what a terminal shows while somebody follows that page, as
//! SVG, and the first session there as an animated one. `cargo xtask pictures` runs it.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const COLUMNS: u16 = 80;
const ROWS: u16 = 24;
/// How large a cell is, in pixels.
const CELL: (f32, f32) = (8.4, 18.0);
const BORDER: f32 = 16.0;
/// How long anything may take to appear.
const PATIENCE: Duration = Duration::from_secs(60);
const PROMPT: &str = "$";

/// The colours of the paper and of the ink.
const PAPER: &str = "#1a1b26";
const INK: &str = "#c0caf5";
/// The sixteen colours of a terminal, as far as Rapport uses them.
const COLOURS: [(u8, &str); 4] = [(1, "#f7768e"), (2, "#9ece6a"), (5, "#bb9af7"), (6, "#7dcfff")];

/// A step of the story.
enum Step {
    /// Types a command at the prompt, and waits for this text.
    Command(&'static str, &'static str),
    /// Waits for all of these texts, then presses keys.
    Keys(&'static [&'static str], &'static str),
    /// Waits for the prompt.
    Prompt,
    /// Clears the screen.
    Clear,
    /// Takes a picture, with this name and title.
    Picture(&'static str, &'static str),
    /// Adds what the screen shows now to the recording, for this long.
    Frame(Duration),
    /// Writes the recording, with this name and title.
    Recording(&'static str, &'static str),
}

use Step::{Clear, Command, Frame, Keys, Picture, Prompt, Recording};

/// How long the letters of a command are shown while it is typed.
const LETTERS: Duration = Duration::from_millis(90);
/// How many letters are typed between two frames.
const LETTERS_IN_A_FRAME: usize = 2;
const SHORT: Duration = Duration::from_millis(900);
const LONG: Duration = Duration::from_millis(2600);
const LAST: Duration = Duration::from_millis(6000);

const PLAN: &str = r#"rapport plan -m "Add a greeting" --agent "rehearsal --scenario files""#;

/// The first hour, as far as there are pictures of it.
const STORY: &[Step] = &[
    Command("cd hello", ""),
    Clear,
    Command(r#"rapport run "add a greeting""#, "Q1 of 3"),
    Keys(&["enter answer"], ""),
    Frame(LONG),
    Keys(&[], "2"),
    Keys(&["Q2 of 3", "enter answer"], ""),
    Frame(SHORT),
    Keys(&[], "12"),
    Keys(&["[x] 1.", "[x] 2.", "? help"], ""),
    Frame(LONG),
    Picture("picture.svg", "Rapport asks three questions before the agent begins"),
    Keys(&[], "d"),
    Prompt,
    Frame(LONG),
    Clear,
    Command("rapport status", "--question q2 VALUE"),
    Prompt,
    Frame(LONG),
    Picture("pictures/status.svg", "rapport status lists the open questions"),
    Clear,
    Command("rapport answer greeting --question q2 Date Smile", "Answered."),
    Prompt,
    Frame(SHORT),
    Clear,
    Command("rapport resume", "Whom should it greet?"),
    Keys(&["Q3 of 3", "enter answer"], ""),
    Frame(LONG),
    Keys(&[], "1"),
    Keys(&["Send these answers"], ""),
    Frame(SHORT),
    Keys(&[], "\r"),
    Keys(&["Which tone should it have?", "enter answer"], ""),
    Frame(LONG),
    Keys(&[], "1"),
    Keys(&["enter or c confirm", "Saved to"], ""),
    Frame(LONG),
    Picture("pictures/plan.svg", "The plan waits for confirmation"),
    Keys(&[], "c"),
    Keys(&["How should the greeting end?", "enter answer"], ""),
    Frame(LONG),
    Keys(&[], "1"),
    Keys(&["May the agent use Bash", "enter answer", "? help"], ""),
    Frame(LONG),
    Picture("pictures/permission.svg", "A permission request shows the whole command"),
    Keys(&[], "1"),
    Keys(&["Plan: "], ""),
    Prompt,
    Frame(LAST),
    Recording("recording.svg", "A session from its task to its result, left in between and continued"),
    Picture("pictures/done.svg", "The work is done, with a summary of what changed"),
    Command("cd ../turns", ""),
    Command("rapport new add-a-wish", "-add-a-wish"),
    Prompt,
    Clear,
    Command(PLAN, "Review and run it"),
    Prompt,
    Clear,
    Command("rapport resume", "(q)uit ›"),
    Keys(&["(q)uit ›"], "m"),
    Keys(&["[✅] EDIT", "? help"], "\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B "),
    Keys(&["runs without EDIT"], ""),
    Picture("pictures/checklist.svg", "The checklist of a review"),
    Keys(&[], " "),
    Keys(&["5 of 5 checked"], "\r"),
    Keys(&["The report of turn 01"], ""),
    Prompt,
    Clear,
    Command("rapport undo", "(y)es / (n)o ›"),
    Keys(&[], "y"),
    Prompt,
    Clear,
    Command("rapport branch 01", "01-branch-01"),
    Prompt,
    Clear,
    Command(PLAN, "Review and run it"),
    Prompt,
    Clear,
    Command("rapport log --tree", "├─╯"),
    Prompt,
    Picture("pictures/tree.svg", "rapport log --tree shows sessions, turns and branches"),
];

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let (Some(program), Some(folder)) = (args.next(), args.next()) else {
        return Err("usage: pictures PROGRAM FOLDER".into());
    };
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(folder.join("pictures"))?;
    let mut shell = Shell::new(Path::new(&program))?;
    let mut film = Film::default();
    for step in STORY {
        match step {
            Command(command, expected) => {
                shell.type_in(command, |screen| film.add(screen, LETTERS))?;
                shell.enter(expected)?;
            }
            Keys(expected, keys) => {
                shell.wait_for(&format!("{expected:?}"), |text| {
                    expected.iter().all(|part| text.contains(part))
                })?;
                shell.keys(keys)?;
            }
            Prompt => shell.wait_for("the prompt", at_prompt)?,
            Clear => shell.clear()?,
            Picture(name, title) => std::fs::write(folder.join(name), svg(&shell.screen, title))?,
            Frame(time) => film.add(&shell.screen, *time),
            Recording(name, title) => std::fs::write(folder.join(name), film.svg(title))?,
        }
    }
    Ok(())
}

/// A shell in a terminal, at home in a temporary directory with two projects.
struct Shell {
    home: tempfile::TempDir,
    screen: vt100::Parser,
    keys: Box<dyn std::io::Write + Send>,
    output: mpsc::Receiver<Vec<u8>>,
    /// Output that may be the beginning of the home's path.
    held: String,
    child: Box<dyn portable_pty::Child + Send + Sync>,
}

impl Shell {
    fn new(program: &Path) -> Outcome<Self> {
        let home = tempfile::tempdir()?;
        let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@localhost"];
        for name in ["hello", "turns"] {
            let project = home.path().join(name);
            std::fs::create_dir(&project)?;
            for step in [&["init", "--quiet"][..], &["commit", "--quiet", "--allow-empty", "-m", "Begin"]] {
                let git = std::process::Command::new("git")
                    .args(identity)
                    .args(step)
                    .current_dir(&project)
                    .status()?;
                if !git.success() {
                    return Err(format!("git {step:?} failed").into());
                }
            }
        }
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size)?;
        let mut command = CommandBuilder::new("/bin/bash");
        command.args(["--norc", "--noprofile", "-i"]);
        command.cwd(home.path());
        command.env_clear();
        let programs = program.canonicalize()?.parent().map(Path::to_owned).unwrap_or_default();
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", programs.display()));
        command.env("HOME", home.path());
        for (name, value) in [
            ("PS1", "$ "),
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("PAGER", "cat"),
            ("RAPPORT_AGENT_COMMAND", "rehearsal"),
        ] {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command)?;
        let (send, output) = mpsc::channel();
        let mut from = pair.master.try_clone_reader()?;
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                let _ = send.send(buffer[..length].to_vec());
            }
        });
        let keys = pair.master.take_writer()?;
        let screen = vt100::Parser::new(ROWS.try_into()?, COLUMNS.try_into()?, 0);
        let mut shell = Self { home, screen, keys, output, held: String::new(), child };
        shell.wait_for("the prompt", at_prompt)?;
        Ok(shell)
    }

    fn keys(&mut self, keys: &str) -> Outcome<()> {
        self.keys.write_all(keys.as_bytes())?;
        Ok(self.keys.flush()?)
    }

    /// Types a command, and shows the screen after every few letters. The whole command is on the screen before it is
    /// sent, so that the prompt after it is not the one before it.
    fn type_in(&mut self, command: &str, mut show: impl FnMut(&vt100::Parser)) -> Outcome<()> {
        let words = |text: &str| text.split_whitespace().collect::<String>();
        let letters: Vec<char> = command.chars().collect();
        for (number, typed) in letters.chunks(LETTERS_IN_A_FRAME).enumerate() {
            self.keys(&typed.iter().collect::<String>())?;
            let so_far: String = letters.iter().take((number + 1) * LETTERS_IN_A_FRAME).collect();
            self.wait_for(&so_far, |text| words(text).ends_with(&words(&so_far)))?;
            show(&self.screen);
        }
        Ok(())
    }

    /// Sends the command that was typed.
    fn enter(&mut self, expected: &str) -> Outcome<()> {
        self.keys("\r")?;
        match expected {
            "" => self.wait_for("the prompt", at_prompt),
            expected => self.wait_for(expected, |text| text.contains(expected)),
        }
    }

    fn clear(&mut self) -> Outcome<()> {
        self.keys("\x0c")?;
        self.wait_for("an empty screen", |text| text.trim() == PROMPT)
    }

    fn wait_for(&mut self, what: &str, is: impl Fn(&str) -> bool) -> Outcome<()> {
        let deadline = Instant::now() + PATIENCE;
        // Output that is held back has been written all the same.
        while !is(&format!("{}{}", self.screen.screen().contents(), self.held)) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.output.recv_timeout(left) else {
                return Err(
                    format!("waited in vain for {what} on:\n{}", self.screen.screen().contents()).into()
                );
            };
            self.take(&bytes);
        }
        Ok(())
    }

    /// Shows output. Where it was made is nobody's business.
    fn take(&mut self, bytes: &[u8]) {
        let home = self.home.path().display().to_string();
        self.held.push_str(&String::from_utf8_lossy(bytes));
        let text = self.held.replace(&home, "~");
        let split = (1..home.len().min(text.len() + 1)).rev().find(|length| text.ends_with(&home[..*length]));
        let (shown, held) = text.split_at(text.len() - split.unwrap_or(0));
        self.screen.process(shown.as_bytes());
        self.held = held.to_owned();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn at_prompt(text: &str) -> bool {
    text.trim_end().lines().next_back().is_some_and(|line| line.trim_end() == PROMPT)
}

/// The screen from its first row with text to its last, without a prompt at the end.
fn svg(screen: &vt100::Parser, title: &str) -> String {
    let rows: Vec<Vec<Piece>> = (0..ROWS).map(|row| pieces(screen, row)).collect();
    let text = |row: &Vec<Piece>| row.iter().map(|piece| piece.text.as_str()).collect::<String>();
    let is_shown = |row: &Vec<Piece>| !matches!(text(row).trim(), "" | PROMPT);
    let first = rows.iter().position(is_shown).unwrap_or(0);
    let last = rows.iter().rposition(is_shown).map_or(first, |last| last + 1);
    let shown = &rows[first..last];
    let (width, height) =
        (f32::from(COLUMNS) * CELL.0 + 2.0 * BORDER, shown.len() as f32 * CELL.1 + 2.0 * BORDER);
    let mut out = head(width, height, title);
    let _ = writeln!(out, "<g fill=\"{INK}\" xml:space=\"preserve\">");
    for (row, pieces) in shown.iter().enumerate() {
        out.push_str(&drawn(pieces, BORDER + row as f32 * CELL.1));
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// The beginning of a picture.
fn head(width: f32, height: f32, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-size=\"14\" \
         font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\">\n\
         <title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{PAPER}\"/>\n"
    )
}

/// A row of the screen.
fn drawn(pieces: &[Piece], top: f32) -> String {
    let mut out = String::new();
    for piece in pieces.iter().filter(|piece| piece.look.inverse) {
        let (x, long) = (piece.x(), piece.long());
        let fill = piece.look.ink;
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{long:.1}\" height=\"{}\" fill=\"{fill}\"/>",
            CELL.1
        );
    }
    if pieces.iter().all(|piece| piece.text.trim().is_empty()) {
        return out;
    }
    let _ = write!(out, "<text y=\"{:.1}\">", top + 0.75 * CELL.1);
    for piece in pieces.iter().filter(|piece| !piece.text.trim().is_empty()) {
        let text = piece.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let (x, long, look) = (piece.x(), piece.long(), piece.look.attributes());
        let _ = write!(out, "<tspan x=\"{x:.1}\" textLength=\"{long:.1}\"{look}>{text}</tspan>");
    }
    out.push_str("</text>\n");
    out
}

/// A recording of a terminal: what it showed, one after the other.
#[derive(Default)]
struct Film {
    /// Rows of the screen, each once.
    rows: Vec<String>,
    /// The rows of each frame, with their places on the screen, and how long it is shown.
    frames: Vec<(Vec<(usize, u16)>, Duration)>,
}

impl Film {
    fn add(&mut self, screen: &vt100::Parser, time: Duration) {
        let mut shown = Vec::new();
        for row in 0..ROWS {
            let drawn = drawn(&pieces(screen, row), 0.0);
            if drawn.is_empty() {
                continue;
            }
            let known = self.rows.iter().position(|known| *known == drawn);
            let place = known.unwrap_or(self.rows.len());
            if known.is_none() {
                self.rows.push(drawn);
            }
            shown.push((place, row));
        }
        self.frames.push((shown, time));
    }

    /// All frames in turn, for ever; the last one where motion is not wanted. It has no script.
    fn svg(&self, title: &str) -> String {
        let (width, height) =
            (f32::from(COLUMNS) * CELL.0 + 2.0 * BORDER, f32::from(ROWS) * CELL.1 + 2.0 * BORDER);
        let total: f64 = self.frames.iter().map(|(_, time)| time.as_secs_f64()).sum();
        let mut out = head(width, height, title);
        let _ = writeln!(out, "<style>\n.f{{visibility:hidden;animation:{total:.2}s step-end infinite}}");
        let mut at = 0.0;
        for (number, (_, time)) in self.frames.iter().enumerate() {
            let (from, to) = (100.0 * at / total, 100.0 * (at + time.as_secs_f64()) / total);
            let hidden = if number == 0 { "" } else { "0%{visibility:hidden}" };
            let _ = writeln!(
                out,
                "#f{number}{{animation-name:k{number}}}@keyframes k{number}{{{hidden}{from:.3}%{{visibility:visible}}\
                 {to:.3}%{{visibility:hidden}}}}"
            );
            at += time.as_secs_f64();
        }
        let last = self.frames.len().saturating_sub(1);
        let _ = writeln!(
            out,
            "@media (prefers-reduced-motion:reduce){{.f{{animation:none}}#f{last}{{visibility:visible}}}}\n</style>\n<defs>"
        );
        for (number, row) in self.rows.iter().enumerate() {
            let _ = writeln!(out, "<g id=\"r{number}\" fill=\"{INK}\" xml:space=\"preserve\">\n{row}</g>");
        }
        out.push_str("</defs>\n");
        for (number, (rows, _)) in self.frames.iter().enumerate() {
            let _ = write!(out, "<g class=\"f\" id=\"f{number}\">");
            for (row, place) in rows {
                let y = BORDER + f32::from(*place) * CELL.1;
                let _ = write!(out, "<use href=\"#r{row}\" y=\"{y}\"/>");
            }
            out.push_str("</g>\n");
        }
        out.push_str("</svg>\n");
        out
    }
}

/// Cells of a row that look alike.
struct Piece {
    column: u16,
    /// How many columns it takes.
    columns: u16,
    text: String,
    look: Look,
}

impl Piece {
    fn x(&self) -> f32 {
        BORDER + f32::from(self.column) * CELL.0
    }

    fn long(&self) -> f32 {
        f32::from(self.columns) * CELL.0
    }
}

#[derive(Clone, Copy, PartialEq)]
struct Look {
    ink: &'static str,
    bold: bool,
    dim: bool,
    inverse: bool,
}

impl Look {
    fn of(cell: &vt100::Cell) -> Self {
        let colour = COLOURS.iter().find(|(number, _)| cell.fgcolor() == vt100::Color::Idx(*number));
        let ink = colour.map_or(INK, |(_, ink)| ink);
        Self { ink, bold: cell.bold(), dim: cell.dim(), inverse: cell.inverse() }
    }

    fn attributes(self) -> String {
        let ink = if self.inverse { PAPER } else { self.ink };
        let fill = if ink == INK { String::new() } else { format!(" fill=\"{ink}\"") };
        let bold = if self.bold { " font-weight=\"bold\"" } else { "" };
        let dim = if self.dim { " fill-opacity=\".6\"" } else { "" };
        format!("{fill}{bold}{dim}")
    }
}

fn pieces(screen: &vt100::Parser, row: u16) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for column in 0..COLUMNS {
        let Some(cell) = screen.screen().cell(row, column) else { continue };
        if cell.is_wide_continuation() {
            if let Some(piece) = pieces.last_mut() {
                piece.columns += 1;
            }
            continue;
        }
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let look = Look::of(cell);
        match pieces.last_mut().filter(|piece| piece.look == look) {
            Some(piece) => {
                piece.text.push_str(text);
                piece.columns += 1;
            }
            None => pieces.push(Piece { column, columns: 1, text: text.to_owned(), look }),
        }
    }
    for piece in pieces.iter_mut().filter(|piece| !piece.look.inverse) {
        let kept = piece.text.trim_end().len();
        piece.columns -= piece.text[kept..].len() as u16;
        piece.text.truncate(kept);
    }
    pieces
}
