//! Writes a report as Markdown. Text from outside is either one line, or in a fence longer than any run of backticks
//! in it.

use std::fmt;

use jiff::SignedDuration;

use super::{Detail, Judged, Outcome, Overall, Report, ReportEntry, Verdict};
use crate::action_plan::{Change, as_path, changes_as_lines, fact, fenced, one_line};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts();
        writeln!(f, "# Execution Report: {}\n", one_line(&self.title))?;
        writeln!(f, "- **Overall Status:** {}", self.status)?;
        writeln!(f, "- **Original Plan:** [{0}]({0})", one_line(&self.plan))?;
        writeln!(f, "- **Started:** {}", self.started)?;
        writeln!(f, "- **Ended:** {}", self.ended)?;
        writeln!(f, "- **Duration:** {}", milliseconds(self.started.duration_until(self.ended)))?;
        writeln!(
            f,
            "- **Actions:** {} Total / {} Approved / {} Skipped",
            counts.total, counts.approved, counts.skipped
        )?;
        writeln!(f, "- **Outcomes:** {} Success / {} Failure", counts.succeeded, counts.failed)?;
        if !self.problems.is_empty() {
            let problems = self.problems.join("\n\n");
            write!(f, "\n## Validation Errors\n\n{}", fenced(&problems, "text"))?;
        }
        if let Some(message) = &self.message {
            write!(f, "\n## Message\n\n{}", fenced(message, "markdown"))?;
        }
        writeln!(f, "\n## Applied State Changes")?;
        write!(
            f,
            "\n### Active Context\n\n{}",
            judged(self.context.as_deref().unwrap_or_default(), as_path)
        )?;
        write!(f, "\n### Memos\n\n{}", judged(&self.memos, fact))?;
        writeln!(f, "\n## Action Log")?;
        self.entries.iter().try_for_each(|entry| write!(f, "\n{entry}"))
    }
}

impl fmt::Display for Overall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Overall::Completed => "Completed 🟢",
            Overall::Partial => "Partial 🟡",
            Overall::Failed => "Failed 🔴",
            Overall::Skipped => "Skipped 🟡",
            Overall::ValidationFailed => "Validation Failed 🔴",
        })
    }
}

impl fmt::Display for ReportEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### `{}`\n", one_line(&self.action))?;
        verdict(f, &self.verdict)?;
        if let Some(execution) = &self.execution {
            let outcome = match execution.outcome {
                Outcome::Success => "Success 🟢",
                Outcome::Failure => "Failure 🔴",
            };
            writeln!(f, "- **Execution:** {outcome}")?;
            writeln!(f, "- **Duration:** {}", milliseconds(execution.duration))?;
        }
        let (long, short): (Vec<_>, Vec<_>) =
            self.parameters.iter().partition(|(_, value)| value.trim_end().contains('\n'));
        for (key, value) in short {
            writeln!(f, "- **{}:** {}", one_line(key), one_line(value))?;
        }
        // A command on one line could be a different command, so it gets a block.
        for (key, value) in long {
            let block = Detail { label: key.clone(), language: "text".to_owned(), text: value.clone() };
            write!(f, "\n{block}")?;
        }
        if !self.details.is_empty() {
            writeln!(f, "\n#### Execution Details")?;
        }
        self.details.iter().try_for_each(|detail| write!(f, "\n{detail}"))
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.strip_suffix('\n').unwrap_or(&self.text);
        write!(f, "**{}:**\n\n{}", one_line(&self.label), fenced(text, &one_line(&self.language)))
    }
}

fn verdict(f: &mut impl fmt::Write, verdict: &Verdict) -> fmt::Result {
    match verdict {
        Verdict::Approved => writeln!(f, "- **Status:** Approved ✅"),
        Verdict::Skipped { reason } => {
            writeln!(f, "- **Status:** Skipped 🟡")?;
            reason.as_ref().map_or(Ok(()), |reason| writeln!(f, "- **Reason:** {}", one_line(reason)))
        }
    }
}

/// Changes grouped by verdict, in their order.
fn judged(judged: &[Judged], what: fn(&str) -> String) -> String {
    if judged.is_empty() {
        return "None.\n".to_owned();
    }
    let groups = judged.chunk_by(|one, next| one.verdict == next.verdict).map(|group| {
        let changes: Vec<Change> = group.iter().map(|judged| judged.change.clone()).collect();
        let mut head = String::new();
        let written = group.first().map(|first| verdict(&mut head, &first.verdict));
        debug_assert!(written.is_none_or(|result| result.is_ok()), "a text can always be written to");
        format!("{head}\n{}", fenced(&changes_as_lines(&changes, what), "text"))
    });
    groups.collect::<Vec<_>>().join("\n")
}

fn milliseconds(duration: SignedDuration) -> String {
    format!("{} ms", duration.as_millis())
}
