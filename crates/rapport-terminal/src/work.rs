//! The agent's activity, from facts and from the progress reports between them.

use std::time::Duration;

use rapport_core::{Event, Progress, Usage, View};

use super::render::progress;
use super::text::Line;

#[derive(Debug, Default)]
pub(super) struct Work {
    doing: Option<String>,
    /// The usage of the process since the last fact about it.
    usage: Usage,
    since: Duration,
}

impl Work {
    pub(super) fn fact(&mut self, fact: &Event, now: Duration) {
        match fact {
            Event::TurnStarted { .. } => {
                self.since = now;
                self.doing = None;
            }
            Event::Used { tool, what, .. } => self.doing = Some(format!("{tool} {}", first_line(what))),
            Event::Said { text, .. } => self.doing = Some(first_line(text)),
            Event::Asked { .. } | Event::Answered { .. } | Event::TurnEnded { .. } => self.doing = None,
            Event::Spent { .. } => self.usage = Usage::default(),
            _ => {}
        }
    }

    /// Applies a progress report.
    pub(super) fn progress(&mut self, progress: Progress) {
        self.usage = progress.usage;
        if let Some(doing) = progress.doing {
            self.doing = Some(first_line(&doing));
        }
    }

    pub(super) fn line(&self, view: Option<&View>, now: Duration) -> Line {
        let mut usage = view.map(|view| view.usage).unwrap_or_default();
        usage += self.usage;
        let told = self
            .doing
            .as_deref()
            .map(|doing| view.map_or(doing.to_owned(), |view| view.seen_from().activity(doing)));
        let doing = told.or_else(|| view.map(|view| progress::doing(view).to_owned()));
        progress::line(doing.as_deref().unwrap_or("Starting"), &usage, now.saturating_sub(self.since))
    }

    /// When the spinner's next frame is due.
    pub(super) fn next_frame(&self, now: Duration) -> Duration {
        now + progress::FRAME
    }
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().to_owned()
}
