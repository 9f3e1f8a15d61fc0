//! The agent's activity, from facts and from the progress reports between them.

use std::time::Duration;

use rapport_core::{Activity, Event, Progress, Usage, View};

use super::render::progress;
use super::text::Line;
use super::words;

#[derive(Debug, Default)]
pub(super) struct Work {
    doing: Option<Activity>,
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
            Event::Used { tool, what, kind, .. } => self.doing = Some(Activity::tool(tool, what, *kind)),
            Event::Said { text, .. } => self.doing = Some(Activity::words(text)),
            Event::Asked { .. } | Event::Answered { .. } | Event::TurnEnded { .. } => self.doing = None,
            Event::Spent { .. } => self.usage = Usage::default(),
            _ => {}
        }
    }

    /// Applies a progress report.
    pub(super) fn progress(&mut self, progress: Progress) {
        self.usage = progress.usage;
        if let Some(doing) = progress.doing {
            self.doing = Some(doing);
        }
    }

    pub(super) fn line(&self, view: Option<&View>, now: Duration) -> Line {
        let mut usage = view.map(|view| view.usage).unwrap_or_default();
        usage += self.usage;
        let told = self.doing.as_ref().map(|doing| words::activity(doing, view));
        let doing = told.or_else(|| view.map(|view| progress::doing(view).to_owned()));
        progress::line(doing.as_deref().unwrap_or("Starting"), &usage, now.saturating_sub(self.since))
    }

    /// When the spinner's next frame is due.
    pub(super) fn next_frame(&self, now: Duration) -> Duration {
        now + progress::FRAME
    }
}
