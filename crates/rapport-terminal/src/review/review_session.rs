//! Reviews a plan on a real terminal: shows the summary and asks its question, by key or by line.

use std::io::{self, Write as _};

use rapport_core::ActionPlan;

use super::super::one_key::{Offer, Pressed};
use super::super::raw_terminal::{self, Raw};
use super::super::style::Theme;
use super::super::text::{Line, Tone, width};
use super::super::words::count;
use super::appearance::Appearance;
use super::canvas::tidy_up;
use super::checklist::Checklist;
use super::checklist_session::{self, ChecklistEnd};
use super::external_viewer::Signals;
use super::numbered_lines::{self, Request};
use super::preview::preview;
use super::viewer::TempFiles;
use super::{Review, ReviewError, Verdict, summary};
use crate::line_input;
use rapport_core::review::Selection;

/// The reply to a key or a line that is not an answer.
const EXPLAINED: &str = "a approves all, m modifies, s skips, q quits; nothing else decides.";

/// The columns that a prompt leaves for what is typed.
const ROOM: usize = 6;
/// What is between the question of a prompt and its keys.
const ASKED: &str = "? ";

/// The answer to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Approve,
    Modify,
    Skip,
    Quit,
}

/// The keys that answer, and what is shown then.
const ANSWERS: [(char, Answer, &str); 4] = [
    ('a', Answer::Approve, "approve all"),
    ('m', Answer::Modify, "modify"),
    ('s', Answer::Skip, "skip"),
    ('q', Answer::Quit, "quit"),
];

/// How answers are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Keys,
    /// By a line, if the terminal supports no more.
    Lines,
}

struct ReviewSession<'a> {
    plan: &'a ActionPlan,
    config: &'a Review,
    appearance: Appearance,
    manner: Manner,
    signals: Signals,
    temp_files: TempFiles,
}

pub(super) async fn run(
    plan: &ActionPlan,
    problems: &[String],
    config: &Review,
    signals: Signals,
) -> Result<Verdict, ReviewError> {
    let env = |name: &str| std::env::var(name).ok();
    let mut appearance = Appearance::choose(config.colour, env);
    let manner = if crate::lines_only() { Manner::Lines } else { Manner::Keys };
    match manner {
        Manner::Keys => tidy_up()?,
        Manner::Lines => appearance.theme = Theme::Bare,
    }
    let session =
        ReviewSession { plan, config, appearance, manner, signals, temp_files: TempFiles::default() };
    session.decide(problems).await
}

impl ReviewSession<'_> {
    async fn decide(mut self, problems: &[String]) -> Result<Verdict, ReviewError> {
        self.print(&summary(self.plan, problems, raw_terminal::size().columns))?;
        self.discard()?;
        let mut checklist = Checklist::new(self.plan, self.appearance, raw_terminal::size());
        loop {
            let answer = match self.manner {
                Manner::Keys => self.ask_by_key().await?,
                Manner::Lines => self.ask_by_line().await?,
            };
            match answer {
                Answer::Approve => return Ok(Verdict::Approve(Selection::all(self.plan))),
                Answer::Skip => return Ok(Verdict::Skip),
                Answer::Quit => return Ok(Verdict::Quit),
                Answer::Modify => {}
            }
            let left = match self.manner {
                Manner::Keys => {
                    let (previewer, temp_files) = (&self.config.previewer, &mut self.temp_files);
                    checklist_session::run(
                        self.plan,
                        previewer,
                        self.appearance,
                        &mut checklist,
                        temp_files,
                        &mut self.signals,
                    )
                    .await?
                }
                Manner::Lines => self.modify_by_lines(&mut checklist).await?,
            };
            match left {
                ChecklistEnd::With(verdict) => return Ok(verdict),
                ChecklistEnd::ToSummary => self.remind(&checklist)?,
            }
        }
    }

    /// Drops input from before the question.
    fn discard(&self) -> io::Result<()> {
        match self.manner {
            Manner::Lines => line_input::discard(),
            Manner::Keys => {
                let _raw = Raw::enter()?;
                raw_terminal::discard_all();
                Ok(())
            }
        }
    }

    /// Reminds of unchecked items: they stay unchecked in the list, but approving all means all.
    fn remind(&self, checklist: &Checklist) -> io::Result<()> {
        let unchecked = checklist.unchecked();
        if unchecked == 0 {
            return Ok(());
        }
        let items = count(unchecked, "item");
        let words = format!(
            "{items} not checked: (m)odify goes back to the checklist, (a)pprove all runs everything."
        );
        self.print(&[Line::new(Tone::Care, &words)])
    }

    async fn ask_by_key(&mut self) -> io::Result<Answer> {
        let keys = ANSWERS.map(|(key, _, word)| (key, word.to_owned()));
        let appearance = self.appearance;
        let paint = move |line: Line| appearance.theme.paint(&appearance.signed(line));
        let offer =
            Offer { asked: vec![summary::prompt()], keys: &keys, explained: EXPLAINED, paint: &paint };
        let pressed = tokio::select! {
            pressed = offer.answer() => pressed?,
            () = self.signals.any() => {
                end_row();
                Pressed::End
            }
        };
        let answer = match pressed {
            Pressed::Key(key) => ANSWERS.into_iter().find(|(letter, ..)| *letter == key),
            Pressed::End | Pressed::Left => None,
        };
        Ok(answer.map_or(Answer::Quit, |(_, answer, _)| answer))
    }

    async fn ask_by_line(&mut self) -> io::Result<Answer> {
        loop {
            self.prompt("", summary::PROMPT)?;
            let Some(line) = self.next_line().await? else { return Ok(Answer::Quit) };
            match line.to_lowercase().as_str() {
                "a" | "approve" | "approve all" => return Ok(Answer::Approve),
                "m" | "modify" => return Ok(Answer::Modify),
                "s" | "skip" => return Ok(Answer::Skip),
                "q" | "quit" => return Ok(Answer::Quit),
                _ => self.print(&[Line::new(Tone::Care, EXPLAINED)])?,
            }
        }
    }

    async fn modify_by_lines(&mut self, checklist: &mut Checklist) -> io::Result<ChecklistEnd> {
        self.print(&checklist.numbered())?;
        loop {
            self.prompt("", numbered_lines::PROMPT)?;
            let Some(line) = self.next_line().await? else { return Ok(ChecklistEnd::With(Verdict::Quit)) };
            match numbered_lines::request(&line, checklist) {
                Request::Toggle(nodes) => {
                    nodes.into_iter().for_each(|node| checklist.toggle_node(node));
                    self.print(&checklist.numbered())?;
                }
                Request::ToggleAll => {
                    checklist.toggle_all();
                    self.print(&checklist.numbered())?;
                }
                Request::Preview(node) => {
                    let shown = preview(self.plan, checklist.checks(), node, &self.config.previewer).await;
                    self.print(&[Line::new(Tone::Strong, &shown.title)])?;
                    self.print(&shown.lines)?;
                }
                Request::Run => return Ok(ChecklistEnd::With(Verdict::Run(checklist.selection()))),
                Request::Back => return Ok(ChecklistEnd::ToSummary),
                Request::Quit => return Ok(ChecklistEnd::With(Verdict::Quit)),
                Request::Unclear(why) => self.print(&[Line::new(Tone::Care, &why)])?,
            }
        }
    }

    /// The next line; `None` at the end of the input, or after a signal.
    async fn next_line(&mut self) -> io::Result<Option<String>> {
        let line = tokio::select! {
            line = line_input::line() => line?,
            () = self.signals.any() => None,
        };
        if line.is_none() {
            end_row();
        }
        Ok(line)
    }

    /// Prints lines, each in as many rows as it needs.
    fn print(&self, lines: &[Line]) -> io::Result<()> {
        let columns = raw_terminal::size().columns;
        let rows = lines.iter().flat_map(|line| line.rows(columns));
        let text: String = rows
            .map(|row| format!("{}\n", self.appearance.theme.paint(&self.appearance.signed(row))))
            .collect();
        io::stdout().write_all(text.as_bytes())?;
        io::stdout().flush()
    }

    /// Writes a prompt after a verbatim string, in rows that leave room for the answer. One that does not fit has what it asks in
    /// a row before the keys.
    fn prompt(&self, before: &str, prompt: &str) -> io::Result<()> {
        let columns = raw_terminal::size().columns.saturating_sub(ROOM);
        let parts = match prompt.split_once(ASKED) {
            Some((asked, keys)) if width(prompt) > columns => vec![format!("{asked}?"), keys.to_owned()],
            _ => vec![prompt.to_owned()],
        };
        let rows = parts.iter().flat_map(|part| Line::new(Tone::Strong, part).rows(columns));
        let rows = rows.map(|row| self.appearance.theme.paint(&self.appearance.signed(row)));
        write!(io::stdout(), "{before}{} ", rows.collect::<Vec<_>>().join("\r\n"))?;
        io::stdout().flush()
    }
}

/// Ends the row of the question, so that what follows begins on a new one. If the terminal was closed, leaving still
/// succeeds.
fn end_row() {
    let _ = io::stdout().write_all(b"\n");
    let _ = io::stdout().flush();
}
