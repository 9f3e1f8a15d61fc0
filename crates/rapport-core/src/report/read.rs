//! Parses from a report what the next turn needs: the result, and the approved changes. The parser is tolerant, because
//! people may have edited the report.

use super::{Overall, Report};
use crate::action_plan::{Change, Kind, Lines, Subject, change_on_line, parameter, skip_block};

/// The applied part of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The overall result, if it can be parsed.
    pub status: Option<Overall>,
    /// The changes to the Active Context that were approved.
    pub context: Vec<Change>,
    /// The memos that were approved.
    pub memos: Vec<Change>,
    /// The person's message.
    pub message: Option<String>,
}

/// The part of a report that a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportPart {
    Head,
    Message,
    Changes(Option<Subject>),
    Elsewhere,
}

impl Report {
    /// Parses the applied part of a report.
    pub fn applied(text: &str) -> Applied {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = Lines::new(text);
        let mut applied = Applied::default();
        let (mut part, mut is_approved) = (ReportPart::Head, false);
        let mut at = 0;
        while at < lines.len() {
            let line = lines.line(at);
            let mut next = at + 1;
            match lines.kind(at) {
                Kind::Heading { level, text } => (part, is_approved) = (entered(part, level, text), false),
                Kind::Fence(fence) => {
                    next = skip_block(&lines, at, fence);
                    let within = at + 1..next.saturating_sub(1);
                    match part {
                        ReportPart::Changes(Some(subject)) if is_approved => {
                            let changes = within.filter_map(|at| change_on_line(lines.line(at), at, subject));
                            applied.list(subject).extend(changes);
                        }
                        ReportPart::Message if applied.message.is_none() => {
                            let words: Vec<_> = within.map(|at| lines.line(at)).collect();
                            applied.message = Some(words.join("\n"));
                        }
                        ReportPart::Head
                        | ReportPart::Message
                        | ReportPart::Changes(_)
                        | ReportPart::Elsewhere => {}
                    }
                }
                Kind::Text => match (parameter(line), part) {
                    (Some((key, value)), ReportPart::Head) if key.eq_ignore_ascii_case("overall status") => {
                        applied.status = applied.status.or_else(|| status(value));
                    }
                    (Some((key, value)), ReportPart::Changes(_)) if key.eq_ignore_ascii_case("status") => {
                        is_approved = value.to_ascii_lowercase().starts_with("approved");
                    }
                    (_, ReportPart::Changes(Some(subject))) if is_approved => {
                        applied.list(subject).extend(change_on_line(line, at, subject));
                    }
                    (
                        _,
                        ReportPart::Head
                        | ReportPart::Message
                        | ReportPart::Changes(_)
                        | ReportPart::Elsewhere,
                    ) => {}
                },
                Kind::Blank | Kind::Rule => {}
            }
            at = next;
        }
        applied
    }
}

impl Applied {
    fn list(&mut self, subject: Subject) -> &mut Vec<Change> {
        match subject {
            Subject::Paths => &mut self.context,
            Subject::Facts => &mut self.memos,
        }
    }
}

fn entered(part: ReportPart, level: usize, heading: &str) -> ReportPart {
    let heading = heading.to_ascii_lowercase();
    match (level, part) {
        (1, _) => ReportPart::Head,
        (2, _) if heading.starts_with("applied state changes") => ReportPart::Changes(None),
        (2, _) if heading == "message" => ReportPart::Message,
        (2, _) => ReportPart::Elsewhere,
        (3, ReportPart::Changes(_)) => ReportPart::Changes(match heading.as_str() {
            "active context" => Some(Subject::Paths),
            "memos" => Some(Subject::Facts),
            _ => None,
        }),
        (_, part) => part,
    }
}

fn status(value: &str) -> Option<Overall> {
    let value = value.trim_start_matches(['*', '`']).to_ascii_lowercase();
    [
        ("completed", Overall::Completed),
        ("partial", Overall::Partial),
        ("failed", Overall::Failed),
        ("skipped", Overall::Skipped),
        ("validation failed", Overall::ValidationFailed),
    ]
    .into_iter()
    .find_map(|(name, status)| value.starts_with(name).then_some(status))
}
