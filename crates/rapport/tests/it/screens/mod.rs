//! The terminal channel as text: cards, keys, the scrolling history, the bytes that are written.

mod cards;
mod flow;
mod hostile;
mod keys;
mod last_look;
mod lead;
mod plain;
mod region;
mod tour;

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rapport::channels::terminal::screen::Screen;
use rapport::channels::terminal::text::{Line, Tone};
use rapport::channels::terminal::{ColourChoice, Effect, Outcome, ScreenInput, Size, Terminal};
use rapport::engine::Update;
use rapport_core::{Act, Ask, By, Entry, NewQuestion, Progress, TurnId, World};

use crate::support::stage::{self, Stage};

/// A person at a screen, with a session behind it.
struct Sitting {
    screen: Screen,
    stage: Stage,
    now: Duration,
    history: Vec<Line>,
    submitted: Vec<Act>,
    outcome: Option<Outcome>,
    /// How often the shell was to have the terminal.
    suspended: usize,
    /// The notifications for a person who looks elsewhere.
    notified: Vec<String>,
}

impl Sitting {
    fn new(columns: usize, rows: usize) -> Self {
        Self::before(columns, rows, Stage::new("Add user authentication"))
    }

    /// One before this session, of which the agent is there.
    fn before(columns: usize, rows: usize, (stage, first): (Stage, Entry)) -> Self {
        let screen = Screen::new(config(), stage::id(), 0, Size { columns, rows });
        let (now, history, submitted) = (Duration::ZERO, Vec::new(), Vec::new());
        let mut sitting = Self {
            screen,
            stage,
            now,
            history,
            submitted,
            outcome: None,
            suspended: 0,
            notified: Vec::new(),
        };
        sitting.see(first);
        sitting.act(Stage::connect);
        sitting
    }

    /// One whose agent has just asked this.
    fn asked(columns: usize, rows: usize, drafts: Vec<NewQuestion>) -> Self {
        let mut sitting = Self::new(columns, rows);
        sitting.act(|stage| stage.ask(Ask::Questions(drafts)));
        sitting.pass(1000);
        sitting
    }

    /// One whose plan waits for confirmation, after two answers.
    fn planned(columns: usize, rows: usize) -> Self {
        let mut sitting = Self::asked(columns, rows, vec![stage::auth(), stage::language()]);
        sitting.press("1 2 enter");
        sitting.act(|stage| stage.finish(stage::PLAN));
        sitting.act(Stage::save_plan);
        sitting.pass(1000);
        sitting
    }

    /// One whose agent is at work.
    fn working(columns: usize, rows: usize) -> Self {
        let mut sitting = Self::planned(columns, rows);
        sitting.press("c");
        sitting.act(Stage::save_plan);
        sitting.act(|stage| stage.world(World::Baseline { turn: TurnId(2), baseline: Some("b1".into()) }));
        sitting.act(Stage::connect);
        sitting.submitted.clear();
        sitting
    }

    fn act(&mut self, act: impl FnOnce(&mut Stage) -> Entry) {
        let entry = act(&mut self.stage);
        self.see(entry);
    }

    fn elsewhere(&mut self, by: By, act: Act) {
        let entry = self.stage.person(by, act).expect("they may");
        self.see(entry);
    }

    fn see(&mut self, entry: Entry) {
        self.step(ScreenInput::Update(Update::Entry(entry)));
    }

    fn progress(&mut self, progress: Progress) {
        self.step(ScreenInput::Update(Update::Progress(progress)));
    }

    fn pass(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
        self.step(ScreenInput::TimePassed);
    }

    /// Presses keys: names, or single characters, with blanks between.
    fn press(&mut self, keys: &str) {
        keys.split(' ').for_each(|name| self.step(ScreenInput::Key(key(name))));
    }

    fn type_in(&mut self, text: &str) {
        let keys = text.chars().map(|c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        keys.for_each(|key| self.step(ScreenInput::Key(key)));
    }

    fn paste(&mut self, text: &str) {
        self.step(ScreenInput::Paste(text.into()));
    }

    fn step(&mut self, happening: ScreenInput) {
        for effect in self.screen.step(happening, self.now) {
            match effect {
                Effect::Print(lines) => self.history.extend(lines),
                Effect::Leave(outcome) => self.outcome = Some(outcome),
                Effect::Suspend => self.suspended += 1,
                Effect::Notify(what) => self.notified.push(what),
                Effect::Submit { by, act } => self.submit(by, *act),
            }
        }
    }

    fn submit(&mut self, by: By, act: Act) {
        self.submitted.push(act.clone());
        let result = match self.stage.person(by, act) {
            Ok(entry) => {
                self.see(entry);
                Ok(())
            }
            Err(refusal) => Err(refusal.to_string()),
        };
        self.step(ScreenInput::Submitted(result));
    }

    /// What the bottom of the screen shows.
    fn frame(&self) -> String {
        picture(&self.screen.frame(self.now).rows)
    }

    /// The same with its tones.
    fn tones(&self) -> String {
        self.screen.frame(self.now).rows.iter().map(marked).collect::<Vec<_>>().join("\n")
    }

    /// Everything that scrolled by.
    fn history(&self) -> String {
        let columns = self.screen.size().columns - 1;
        picture(&self.history.iter().flat_map(|line| line.rows(columns)).collect::<Vec<_>>())
    }

    /// The last line of history.
    fn last(&self) -> String {
        self.history.last().map(Line::text).unwrap_or_default()
    }
}

fn config() -> Terminal {
    Terminal {
        by: stage::me(),
        interactive: true,
        colour: ColourChoice::Auto,
        answer_hint: "rapport answer 20260124-add-user-auth".into(),
        auto: None,
    }
}

fn picture(rows: &[Line]) -> String {
    rows.iter().map(|row| row.text().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn marked(line: &Line) -> String {
    let mark = |tone: Tone| match tone {
        Tone::Text => "",
        Tone::Strong => "strong",
        Tone::Dim => "dim",
        Tone::Here => "here",
        Tone::Good => "good",
        Tone::Code => "code",
        Tone::Care => "care",
        Tone::Bad => "bad",
    };
    let spans = line.spans.iter().map(|span| match mark(span.tone) {
        "" => span.text.clone(),
        mark => format!("<{mark}>{}</>", span.text),
    });
    spans.collect::<String>().trim_end().to_owned()
}

/// A key by its name.
fn key(name: &str) -> KeyEvent {
    let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
    let with = |modifier, c| KeyEvent::new(KeyCode::Char(c), modifier);
    match name {
        "up" => plain(KeyCode::Up),
        "down" => plain(KeyCode::Down),
        "left" => plain(KeyCode::Left),
        "right" => plain(KeyCode::Right),
        "home" => plain(KeyCode::Home),
        "end" => plain(KeyCode::End),
        "pagedown" => plain(KeyCode::PageDown),
        "enter" => plain(KeyCode::Enter),
        "alt-enter" => KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT),
        "esc" => plain(KeyCode::Esc),
        "space" => plain(KeyCode::Char(' ')),
        "backspace" => plain(KeyCode::Backspace),
        "delete" => plain(KeyCode::Delete),
        _ => match (name.strip_prefix("ctrl-").and_then(|c| c.chars().next()), name.chars().next()) {
            (Some(c), _) => with(KeyModifiers::CONTROL, c),
            (None, Some(c)) => plain(KeyCode::Char(c)),
            (None, None) => unreachable!("a key has a name"),
        },
    }
}
