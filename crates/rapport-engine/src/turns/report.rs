//! Makes the report of a plan, from what was approved and the results of the batch.

use jiff::{SignedDuration, Timestamp};
use rapport_core::report::{Detail, Execution, Judged, Outcome, Report, ReportEntry, Verdict};
use rapport_core::{Action, ActionPlan, Change, Chosen};

use crate::actions::{BatchOutcome, Details, FileChange, Outcome as Ended, TimedOutcome};

/// A plan that was carried out, completely or partly.
#[derive(Debug)]
pub struct Carried<'a> {
    pub plan: &'a ActionPlan,
    /// Its path, relative to the report.
    pub at: &'a str,
    /// The items that were approved.
    pub chosen: &'a Chosen,
    pub approved_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// The results of the actions.
    pub ran: &'a BatchOutcome,
    /// Whether it belongs to no session. Then there is no next turn for its context.
    pub is_alone: bool,
}

/// The report of a plan that was carried out, completely or partly.
pub fn report(carried: &Carried<'_>) -> Report {
    let Carried { plan, ran, chosen, .. } = carried;
    let context: Option<Vec<_>> = plan.context.as_ref().map(|changes| judged(changes, &chosen.context));
    let mut memos = judged(&plan.memos, &chosen.memos);
    if ran.unfinished {
        // Memos of an interrupted batch are not stored.
        for judged in &mut memos {
            judged.verdict = Verdict::Skipped { reason: Some("the batch was interrupted".to_owned()) };
        }
    }
    let entries: Vec<_> =
        plan.actions.iter().zip(&ran.actions).map(|(action, settled)| entry(action, settled)).collect();
    let counted = context.iter().flatten().filter(|_| !carried.is_alone).chain(&memos);
    let verdicts: Vec<_> = counted.map(|judged| &judged.verdict).collect();
    let may_fail = |n: usize| plan.actions.get(n).is_some_and(|action| action.kind.may_fail());
    // A person decided to leave an action that may have run.
    let is_left = |n: usize| ran.actions.get(n).is_some_and(|settled| settled.outcome.may_have_run());
    let status = Report::overall(&verdicts, &entries, |n| may_fail(n) || is_left(n));
    Report {
        title: plan.title.clone(),
        status,
        plan: carried.at.to_owned(),
        started: carried.approved_at,
        ended: carried.ended_at,
        context,
        memos,
        entries,
        problems: Vec::new(),
        message: None,
    }
}

fn judged(changes: &[Change], left: &[Option<String>]) -> Vec<Judged> {
    let verdict = |place: usize| match left.get(place) {
        Some(None) => Verdict::Approved,
        Some(Some(reason)) => Verdict::Skipped { reason: Some(reason.clone()) },
        None => Verdict::Skipped { reason: None },
    };
    let judge =
        |(place, change): (usize, &Change)| Judged { change: change.clone(), verdict: verdict(place) };
    changes.iter().enumerate().map(judge).collect()
}

fn entry(action: &Action, settled: &TimedOutcome) -> ReportEntry {
    let execution = |outcome| Execution {
        outcome,
        duration: SignedDuration::try_from(settled.took).unwrap_or(SignedDuration::ZERO),
    };
    let (verdict, execution, details) = match &settled.outcome {
        Ended::Done { details } => {
            (Verdict::Approved, Some(execution(Outcome::Success)), detail_blocks(details))
        }
        Ended::Failed { why, details, .. } => {
            let why = Detail { label: "Error".into(), language: "text".into(), text: why.clone() };
            let details = [why].into_iter().chain(detail_blocks(details)).collect();
            (Verdict::Approved, Some(execution(Outcome::Failure)), details)
        }
        Ended::Skipped { reason } => (Verdict::Skipped { reason: Some(reason.clone()) }, None, Vec::new()),
    };
    let mut entry = ReportEntry { execution, details, ..ReportEntry::not_begun(action, verdict) };
    entry.parameters.extend(result(&settled.outcome));
    entry
}

fn result(outcome: &Ended) -> Vec<(String, String)> {
    let details = match outcome {
        Ended::Done { details } | Ended::Failed { details, .. } => details,
        Ended::Skipped { .. } => return Vec::new(),
    };
    let one = |name: &str, value: String| vec![(name.to_owned(), value)];
    match details {
        Details::File { change: FileChange::Unchanged, .. } => {
            one("Result", "it already had this content".into())
        }
        Details::Command { exit: Some(code), .. } => one("Exit Code", code.to_string()),
        Details::Session { name } => one("Session", name.clone()),
        Details::Nothing
        | Details::File { .. }
        | Details::Command { .. }
        | Details::Text { .. }
        | Details::Research { .. }
        | Details::Reply { .. } => Vec::new(),
    }
}

fn detail_blocks(details: &Details) -> Vec<Detail> {
    let one = |label: &str, language: &str, text: &str| Detail {
        label: label.to_owned(),
        language: language.to_owned(),
        text: text.to_owned(),
    };
    match details {
        Details::Nothing | Details::Session { .. } => Vec::new(),
        Details::File { diff, .. } => diff.iter().map(|diff| one("Diff", "diff", diff)).collect(),
        Details::Text { text, note } => {
            let note = note.iter().map(|note| one("Note", "text", note));
            let is_shown = !text.is_empty() || note.len() == 0;
            is_shown.then(|| one("Content", "", text)).into_iter().chain(note).collect()
        }
        Details::Command { output, left_behind, .. } => {
            let label = match output.left_out {
                0 => "Output".to_owned(),
                more => format!("Output (the last of {} lines; {more} are left out)", output.lines),
            };
            let ended = (!left_behind.is_empty())
                .then(|| one("Processes it left behind, which were ended", "text", &left_behind.join("\n")));
            let said = (!output.text.is_empty()).then(|| one(&label, "text", &output.text));
            said.into_iter().chain(ended).collect()
        }
        Details::Research { text } => vec![one("Findings", "markdown", text)],
        Details::Reply { text } => vec![one("Reply", "markdown", text)],
    }
}
