//! The progress file: a name, a status, phases of tasks to tick off, and lessons learned.
//!
//! The file is parsed line by line and kept as it was written. Unknown lines stay in place, byte for byte; a change
//! touches only the section or line that it concerns.

mod extraction;
mod rows;

use std::fmt;

use thiserror::Error;

pub use extraction::cut_out;
use rows::{TextRow, rows};

/// The word in the status that says that nothing is left to do.
pub const DONE: &str = "RALPH_DONE";

/// The prefix of a file's heading.
const HEADING: &str = "# Progress:";

/// A progress file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressFile {
    /// Everything before the first section, with the heading.
    head: String,
    sections: Vec<Section>,
}

/// A section: its heading line and its body, as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Section {
    heading: String,
    body: String,
}

/// The sections that Rapport interprets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Status,
    Analysis,
    Tasks,
    Testing,
    Completed,
    Attempts,
    Iterations,
}

/// A task of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The line of the file it is on, from 1.
    pub line: usize,
    /// The heading it is under.
    pub phase: Option<String>,
    /// The task's text, as it is written.
    pub text: String,
    /// Whether it is done.
    pub done: bool,
}

/// A reason why a file is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressProblem {
    /// The line it is about, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// The text contains nothing of a progress file: no name, status, task or analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there is no progress file in it: no name, status, tasks or analysis")]
pub struct NoProgress;

impl ProgressFile {
    /// Parses a file. Only a text without anything of a progress file is an error; [`ProgressFile::problems`] reports
    /// smaller mistakes.
    pub fn parse(text: &str) -> Result<Self, NoProgress> {
        let file = Self::split(text);
        let nothing = file.name().is_none()
            && file.status().is_none()
            && file.analysis().is_none()
            && file.tasks().is_empty();
        if nothing { Err(NoProgress) } else { Ok(file) }
    }

    fn split(text: &str) -> Self {
        let mut file = Self::default();
        for row in rows(text) {
            if row.heading(2).is_some() {
                file.sections.push(Section { heading: row.raw.to_owned(), body: String::new() });
                continue;
            }
            match file.sections.last_mut() {
                Some(section) => section.body.push_str(row.raw),
                None => file.head.push_str(row.raw),
            }
        }
        file
    }

    /// The project's name.
    pub fn name(&self) -> Option<&str> {
        let headings = rows(&self.head).filter(|row| !row.is_code);
        let mut names = headings.filter_map(|row| name_in(row.raw));
        names.next().filter(|name| !name.is_empty())
    }

    /// The status section.
    pub fn status(&self) -> Option<&str> {
        self.words_of(Known::Status)
    }

    /// The analysis section.
    pub fn analysis(&self) -> Option<&str> {
        self.words_of(Known::Analysis)
    }

    /// Whether the status says that there is nothing left to do.
    pub fn is_done(&self) -> bool {
        self.status().is_some_and(|status| status.contains(DONE))
    }

    /// All tasks, in order.
    pub fn tasks(&self) -> Vec<Task> {
        self.tasks_in(Known::Tasks)
    }

    /// The first task that is not done.
    pub fn next_task(&self) -> Option<Task> {
        self.tasks().into_iter().find(|task| !task.done)
    }

    /// The headings in the tasks, in order.
    pub fn phases(&self) -> Vec<String> {
        let body = self.section(Known::Tasks).map_or("", |section| &section.body);
        rows(body).filter_map(|row| row.heading(3).map(str::to_owned)).collect()
    }

    /// A summary: the number of tasks, and the next one.
    pub fn summary(&self) -> String {
        let (tasks, phases) = (self.tasks(), self.phases().len());
        let done = tasks.iter().filter(|task| task.done).count();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let mut words =
            format!("{} task{} in {phases} phase{}", tasks.len(), plural(tasks.len()), plural(phases));
        if done > 0 {
            words.push_str(&format!(", {done} done"));
        }
        match self.next_task().filter(|_| !self.is_done()) {
            Some(next) => format!("{words}; next: {}", next.text),
            None => format!("{words}; nothing is left to do"),
        }
    }

    /// The reasons why this is not a valid file, in the order of its lines.
    pub fn problems(&self) -> Vec<ProgressProblem> {
        let last = self.to_string().lines().count().max(1);
        let mut problems = Vec::new();
        if self.name().is_none() {
            problems.push(ProgressProblem::new(1, "the heading `# Progress: Name` is missing"));
        }
        // Finished work needs no section on tests.
        let is_needed = |known: Known| known.is_needed() && !(known == Known::Testing && self.is_done());
        for known in Known::ALL {
            let mut places = self.places(known);
            let Some((line, section)) = places.next() else {
                if is_needed(known) {
                    problems.push(ProgressProblem::new(
                        last,
                        format!("the section `## {}` is missing", known.title()),
                    ));
                }
                continue;
            };
            if is_needed(known) && section.body.trim().is_empty() {
                problems
                    .push(ProgressProblem::new(line, format!("the section `## {}` is empty", known.title())));
            }
            let again =
                |(line, _)| ProgressProblem::new(line, format!("`## {}` occurs twice", known.title()));
            problems.extend(places.map(again));
        }
        problems.extend(self.problems_of_tasks());
        problems.sort_by_key(|problem| problem.line);
        problems
    }

    fn problems_of_tasks(&self) -> Vec<ProgressProblem> {
        let Some((line, section)) = self.places(Known::Tasks).next() else { return Vec::new() };
        if section.body.trim().is_empty() {
            return Vec::new();
        }
        let mut problems = Vec::new();
        if self.phases().is_empty() {
            problems.push(ProgressProblem::new(line, "there is no `### Phase …` under `## Tasks`"));
        }
        if self.tasks().is_empty() {
            problems.push(ProgressProblem::new(line, "there is no task (`- [ ] …`) under `## Tasks`"));
        }
        for row in rows(&section.body).filter(TextRow::is_odd_task) {
            problems.push(ProgressProblem::new(
                line + row.number,
                "a task begins with `- [ ] ` or `- [x] `, then words",
            ));
        }
        problems
    }

    /// This file with the unknown sections of an older one appended, unless this one has a section of the same name.
    #[must_use]
    pub fn keeping(mut self, older: &ProgressFile) -> Self {
        for section in &older.sections {
            let mine = self.sections.iter().any(|mine| mine.title().eq_ignore_ascii_case(section.title()));
            if Known::of(section).is_some() || mine {
                continue;
            }
            let gap = match self.to_string() {
                text if text.is_empty() || text.ends_with("\n\n") => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            match self.sections.last_mut() {
                Some(last) if last.body.is_empty() => last.heading.push_str(gap),
                Some(last) => last.body.push_str(gap),
                None => self.head.push_str(gap),
            }
            self.sections.push(section.clone());
        }
        self
    }

    fn section(&self, known: Known) -> Option<&Section> {
        self.sections.iter().find(|section| section.is(known))
    }

    /// The sections of a kind, with their first lines.
    fn places(&self, known: Known) -> impl Iterator<Item = (usize, &Section)> {
        let mut next = self.head.lines().count() + 1;
        let placed = self.sections.iter().map(move |section| {
            let line = next;
            next += 1 + section.body.lines().count();
            (line, section)
        });
        placed.filter(move |(_, section)| section.is(known))
    }

    fn words_of(&self, known: Known) -> Option<&str> {
        let body = self.section(known)?.body.trim();
        Some(body).filter(|body| !body.is_empty())
    }

    fn tasks_in(&self, known: Known) -> Vec<Task> {
        let Some((above, section)) = self.places(known).next() else { return Vec::new() };
        let mut phase = None;
        let mut tasks = Vec::new();
        for row in rows(&section.body) {
            if let Some(title) = row.heading(3) {
                phase = Some(title.to_owned());
            }
            if let Some((done, text)) = row.task() {
                let (line, text) = (above + row.number, text.to_owned());
                tasks.push(Task { line, phase: phase.clone(), text, done });
            }
        }
        tasks
    }
}

impl fmt::Display for ProgressFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head)?;
        self.sections.iter().try_for_each(|section| write!(f, "{}{}", section.heading, section.body))
    }
}

impl Section {
    fn title(&self) -> &str {
        self.heading.trim().trim_start_matches('#').trim()
    }

    fn is(&self, known: Known) -> bool {
        self.title().eq_ignore_ascii_case(known.title())
    }
}

impl Known {
    const ALL: [Known; 7] = [
        Known::Status,
        Known::Analysis,
        Known::Tasks,
        Known::Testing,
        Known::Completed,
        Known::Attempts,
        Known::Iterations,
    ];

    fn of(section: &Section) -> Option<Known> {
        Known::ALL.into_iter().find(|known| section.is(*known))
    }

    fn title(self) -> &'static str {
        match self {
            Known::Status => "Status",
            Known::Analysis => "Analysis",
            Known::Tasks => "Tasks",
            Known::Testing => "Testing Strategy",
            Known::Completed => "Completed This Iteration",
            Known::Attempts => "Recent Attempts",
            Known::Iterations => "Iteration Log",
        }
    }

    fn is_needed(self) -> bool {
        match self {
            Known::Status | Known::Tasks | Known::Testing => true,
            Known::Analysis | Known::Completed | Known::Attempts | Known::Iterations => false,
        }
    }
}

impl ProgressProblem {
    fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

impl fmt::Display for ProgressProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// The project's name, if this line is a file's heading.
fn name_in(line: &str) -> Option<&str> {
    line.strip_prefix(HEADING).map(str::trim)
}
