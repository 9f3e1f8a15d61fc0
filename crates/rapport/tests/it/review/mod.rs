//! Reviewing a plan of actions.

mod checklist;
mod depends;
mod plans;
mod previews;
mod settings;
mod story;
mod summary;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rapport::channels::terminal::Size;
use rapport::channels::terminal::review::appearance::{Appearance, Signs};
use rapport::channels::terminal::review::checklist::{Checklist, ChecklistCommand};
use rapport::channels::terminal::style::Theme;
use rapport_core::ActionPlan;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

const LOOK: Appearance = Appearance { theme: Theme::Mono, signs: Signs::Unicode };

fn checklist(plan: &ActionPlan, columns: usize, rows: usize) -> Checklist {
    Checklist::new(plan, LOOK, Size { columns, rows })
}

/// Presses keys: names, or single characters, with blanks between.
fn press(checklist: &mut Checklist, keys: &str) -> ChecklistCommand {
    keys.split(' ').map(key).fold(ChecklistCommand::Nothing, |_, key| checklist.key(key))
}

fn key(name: &str) -> KeyEvent {
    let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
    match name {
        "up" => plain(KeyCode::Up),
        "down" => plain(KeyCode::Down),
        "home" => plain(KeyCode::Home),
        "end" => plain(KeyCode::End),
        "pageup" => plain(KeyCode::PageUp),
        "pagedown" => plain(KeyCode::PageDown),
        "enter" => plain(KeyCode::Enter),
        "esc" => plain(KeyCode::Esc),
        "backspace" => plain(KeyCode::Backspace),
        "space" => plain(KeyCode::Char(' ')),
        "ctrl-c" => KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
        _ => plain(KeyCode::Char(name.chars().next().expect("a key has a name"))),
    }
}

/// The screen as text, without blanks at the ends of rows.
fn screen(columns: usize, rows: usize, draw: impl FnOnce(&mut ratatui::Frame)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns as u16, rows as u16)).expect("a screen");
    terminal.draw(draw).expect("it draws");
    let buffer = terminal.backend().buffer();
    let rows = (0..buffer.area.height).map(|row| {
        let (mut text, mut column) = (String::new(), 0);
        while column < buffer.area.width {
            let symbol = buffer[(column, row)].symbol();
            text.push_str(symbol);
            column += unicode_width::UnicodeWidthStr::width(symbol).max(1) as u16;
        }
        text.trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n")
}
