//! Writes the picture at the top of the README: a real session in a terminal, as SVG. `cargo xtask picture` runs it.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const COLUMNS: u16 = 80;
const ROWS: u16 = 22;
/// How large a cell is, in pixels.
const CELL: (f32, f32) = (8.4, 18.0);
const BORDER: f32 = 16.0;
/// How long anything may take to appear.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is on the screen, then what is typed; at the last one the picture is taken.
const STORY: [(&str, &str); 3] = [("enter answer", "2"), ("Q2 of 3", "12"), ("[x] 2.", "")];

/// The sixteen colours of a terminal, as far as Rapport uses them.
const INK: [(u8, &str); 4] = [(1, "#f7768e"), (2, "#9ece6a"), (3, "#e0af68"), (6, "#7dcfff")];

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let (Some(program), Some(to)) = (args.next(), args.next()) else {
        return Err("usage: picture PROGRAM FILE".into());
    };
    Ok(std::fs::write(Path::new(&to), svg(&played(&program)?))?)
}

/// The screen after the story.
fn played(program: &str) -> Outcome<vt100::Parser> {
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("hello");
    std::fs::create_dir(&project)?;
    // As in any project: without a repository Rapport would warn of that.
    std::process::Command::new("git").args(["init", "--quiet"]).current_dir(&project).status()?;
    let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size)?;
    let mut command = CommandBuilder::new(program);
    command.args(["run", "--agent", "rehearsal", "add a greeting"]);
    command.cwd(&project);
    command.env("HOME", folder.path());
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command)?;
    let (send, output) = mpsc::channel();
    let mut from = pair.master.try_clone_reader()?;
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let _ = send.send(buffer[..length].to_vec());
        }
    });
    let mut keys = pair.master.take_writer()?;
    let mut screen = vt100::Parser::new(ROWS.try_into()?, COLUMNS.try_into()?, 0);
    for (shown, typed) in STORY {
        while !screen.screen().contents().contains(shown) {
            let bytes = output.recv_timeout(PATIENCE)?;
            // Where it was played is nobody's business.
            let text = String::from_utf8_lossy(&bytes).replace(&folder.path().display().to_string(), "~");
            screen.process(text.as_bytes());
        }
        keys.write_all(typed.as_bytes())?;
    }
    child.kill()?;
    Ok(screen)
}

fn svg(screen: &vt100::Parser) -> String {
    let (width, height) =
        (f32::from(COLUMNS) * CELL.0 + 2.0 * BORDER, f32::from(ROWS) * CELL.1 + 2.0 * BORDER);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-size=\"14\" \
         font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\">\n\
         <title>Rapport asks three questions before the agent begins</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"#1a1b26\"/>\n\
         <g fill=\"#c0caf5\" xml:space=\"preserve\">\n"
    );
    for row in 0..ROWS {
        let pieces = pieces(screen, row);
        if pieces.iter().all(|piece| piece.text.trim().is_empty()) {
            continue;
        }
        let y = BORDER + (f32::from(row) + 0.75) * CELL.1;
        let _ = write!(out, "<text y=\"{y:.1}\">");
        for piece in pieces.iter().filter(|piece| !piece.text.trim().is_empty()) {
            let x = BORDER + f32::from(piece.column) * CELL.0;
            let long = piece.text.chars().count() as f32 * CELL.0;
            let text = piece.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let _ = write!(out, "<tspan x=\"{x:.1}\" textLength=\"{long:.1}\"{}>{text}</tspan>", piece.look);
        }
        out.push_str("</text>\n");
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Cells of a row that look alike.
struct Piece {
    column: u16,
    text: String,
    look: String,
}

fn pieces(screen: &vt100::Parser, row: u16) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for column in 0..COLUMNS {
        let Some(cell) = screen.screen().cell(row, column) else { continue };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let look = look(cell);
        match pieces.last_mut().filter(|piece| piece.look == look) {
            Some(piece) => piece.text.push_str(text),
            None => pieces.push(Piece { column, text: text.to_owned(), look }),
        }
    }
    pieces.iter_mut().for_each(|piece| piece.text.truncate(piece.text.trim_end().len()));
    pieces
}

fn look(cell: &vt100::Cell) -> String {
    let ink = INK.iter().find(|(number, _)| cell.fgcolor() == vt100::Color::Idx(*number));
    let fill = ink.map(|(_, ink)| format!(" fill=\"{ink}\"")).unwrap_or_default();
    let bold = if cell.bold() { " font-weight=\"bold\"" } else { "" };
    let dim = if cell.dim() { " opacity=\".6\"" } else { "" };
    format!("{fill}{bold}{dim}")
}
