//! `rapport log`: the facts of a session, in words or as JSON.

use jiff::tz::TimeZone;
use rapport_core::{ActionResult, Asker, Changes, Entry, Event, Mark, NotMerged, Permission, Purpose};

use super::choose::{self, Verb, Which};
use super::output::{say_json, warn};
use super::page::Page;
use super::{Common, tree};
use crate::channels::terminal::safe;
use crate::channels::terminal::text::{Line, Tone};
use crate::error::Outcome;
use crate::wiring::Place;

/// Print what happened in a session, fact by fact
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport log add-auth
  rapport log --tree                  sessions, their branches and turns
  rapport log add-auth --json | jq -c '.facts[] | .answered // empty'")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// Draw sessions with their branches and turns, as one tree (default: all sessions)
    #[arg(long)]
    tree: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    if args.tree {
        return tree::execute(common, &place, args.which.name());
    }
    let store = place.store();
    let id = choose::choose(
        &place,
        args.which.name(),
        &Verb::showing("rapport log SESSION", "with a log", &|_| true),
    )?;
    let (entries, seal) = store.sealed(&id, 0)?;
    if !seal.counts() {
        warn(format_args!("session {} {seal}", safe::line(id.as_str())));
    }
    if common.json {
        return entries.iter().try_for_each(say_json);
    }
    let (mut page, zone) = (Page::new(common), TimeZone::system());
    entries.iter().for_each(|entry| in_words(&mut page, entry, &zone));
    page.print_paged()
}

/// The facts of an entry, one per line, with the local time.
fn in_words(page: &mut Page, entry: &Entry, zone: &TimeZone) {
    let at = entry.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S  ").to_string();
    for fact in &entry.facts {
        page.push(Line::new(Tone::Dim, &at).and(tone(fact), &words(fact)));
        for line in permissions(fact).flat_map(Permission::lines) {
            page.push(
                Line::new(mark_tone(line.mark), &format!("{}{}", line.mark.sign(), line.text)).indented(22),
            );
        }
    }
}

/// The tone of a fact: questions, answers and failures stand out.
fn tone(fact: &Event) -> Tone {
    let is_bad = matches!(
        fact,
        Event::Failed { .. }
            | Event::CutOff { .. }
            | Event::Unreadable { .. }
            | Event::NotApplied(_)
            | Event::UndoRefused { .. }
            | Event::WorkUndoRefused { .. }
    );
    let is_good = matches!(fact, Event::Answered { .. } | Event::Approved { .. } | Event::Reported { .. });
    match fact {
        Event::Created(_) => Tone::Strong,
        Event::Asked { .. } | Event::ActionAsked { .. } => Tone::Care,
        _ if is_bad => Tone::Bad,
        _ if is_good => Tone::Good,
        _ => Tone::Text,
    }
}

/// The tone of a permission's line.
pub(super) fn mark_tone(mark: Mark) -> Tone {
    match mark {
        Mark::Added => Tone::Good,
        Mark::Removed => Tone::Bad,
        Mark::Care => Tone::Care,
        Mark::Note | Mark::Folded => Tone::Dim,
        Mark::Plain => Tone::Text,
    }
}

/// The permissions that a fact asks for, which are shown in full.
fn permissions(fact: &Event) -> impl Iterator<Item = &Permission> {
    let questions = match fact {
        Event::Asked { questions, .. } => questions.as_slice(),
        _ => &[],
    };
    questions.iter().filter_map(|question| match &question.purpose {
        Purpose::Permission(asked) => Some(asked),
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::LeavePlanMode { .. } | Purpose::Confirm => None,
    })
}

fn words(fact: &Event) -> String {
    match fact {
        Event::Created(created) => match &created.branched_from {
            Some(origin) => format!("{} wants, as a branch of {origin}: {}", created.by, created.task),
            None => format!("{} wants: {}", created.by, created.task),
        },
        Event::TurnStarted { turn, kind, .. } => format!("turn {turn} begins: {kind:?}").to_lowercase(),
        Event::DraftStarted { turn, folder, .. } => format!("turn {turn} begins: a plan for {folder}"),
        Event::Filed { path, .. } => format!("the plan is in {path}"),
        Event::Sealed { folder, by: Some(by), .. } => format!("{by} accepts turn {folder} as it is now"),
        Event::Sealed { folder, .. } => format!("turn {folder} is complete"),
        Event::DraftLeft { folder, by } => format!("{by} wants something else planned than {folder}"),
        Event::TurnFound(found) => format!("the directory of turn {} is found", found.folder),
        Event::TurnGone { folder } => format!("the directory of turn {folder} is gone"),
        Event::ReviewStarted { folder, by } => format!("{by} looks at the plan of turn {folder}"),
        Event::PlanChecked { folder, problems, .. } if problems.is_empty() => {
            format!("the plan of turn {folder} can be carried out")
        }
        Event::PlanChecked { folder, problems, .. } => {
            format!("the plan of turn {folder} cannot be carried out: {}", problems.join("; "))
        }
        Event::PlanDiffers { folder, .. } => format!("{folder}/plan.md differs from the plan"),
        Event::PlanAccepted { folder, by } => format!("{by} accepts {folder}/plan.md as it is"),
        Event::PlanRestored { folder, by } => format!("{by} restores {folder}/plan.md"),
        Event::Approved { folder, batch, chosen, by, .. } => {
            let taken = chosen.actions.iter().filter(|left| left.is_none()).count();
            let all = chosen.actions.len();
            format!("{by} approves {taken} of {all} actions of turn {folder}, as batch {batch}")
        }
        Event::Skipped { folder, message, by } => match message {
            Some(message) => format!("{by} skips the plan of turn {folder}: {message}"),
            None => format!("{by} skips the plan of turn {folder}"),
        },
        Event::ActionAsked { batch, action, question } => {
            format!("action {} of batch {batch} asks {question}", action + 1)
        }
        Event::ActionEnded { batch, end } => {
            let how = match end.result {
                ActionResult::Done => "is done",
                ActionResult::Failed => "failed",
                ActionResult::Skipped => "is left out",
            };
            let why = end.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("action {} of batch {batch} {how}{why}", end.action + 1)
        }
        Event::BatchPaused { batch, reason, .. } => format!("batch {batch} pauses: {reason}"),
        Event::BatchResumed { batch, by, .. } => format!("{by} resumes batch {batch}"),
        Event::BatchEnded { batch, status, .. } => format!("batch {batch} is over: {status}"),
        Event::UndoStarted { batch, by, .. } => format!("{by} wants batch {batch} undone"),
        Event::UndoRefused { batch, problem } => format!("batch {batch} is not undone: {}", problem.reason),
        Event::Undone { batch, files } => {
            format!("batch {batch} is undone: {} restored", count(files.restored.len() + files.removed.len()))
        }
        Event::Heard { text, by, .. } => format!("{by} says: {text}"),
        Event::Read { .. } => "the agent has read the message".into(),
        Event::Stopped { by, .. } => format!("{by} stops the agent"),
        Event::Outlined { goal, description } => format!("the plan is to be called {goal}/{description}"),
        Event::Unchecked { reason } => format!("it is unknown whether more has to be asked: {reason}"),
        Event::Baselined { .. } => "the state of the files before the work is recorded".into(),
        Event::Snapshotted { round, .. } => format!("the state of the files at round {round} is recorded"),
        Event::Connected { conversation, .. } => {
            format!("the agent is connected, in conversation {conversation}")
        }
        Event::Said { text, .. } => format!("the agent says: {text}"),
        Event::Used { tool, what, .. } => format!("the agent uses {tool}: {what}"),
        Event::Noted { line, .. } => format!("the agent sent a message of an unknown kind: {line}"),
        Event::Unreadable { line, .. } => format!("the agent printed a line outside of its protocol: {line}"),
        Event::Asked { asker, questions, .. } => {
            let who = match asker {
                Asker::Rapport => "Rapport",
                Asker::Planner => "the planner",
                Asker::Agent { .. } => "the agent",
            };
            let asked = questions.iter().map(|q| match &q.purpose {
                Purpose::Permission(asked) => format!("{} May it use {} for this?", q.id, asked.tool),
                _ => format!("{} {}", q.id, q.text),
            });
            format!("{who} asks: {}", asked.collect::<Vec<_>>().join(" / "))
        }
        Event::AskedAgain { round, .. } => format!("the resumed agent asks round {round} again"),
        Event::Declined { reason, .. } => format!("the agent is told: {reason}"),
        Event::Answered { question, answer, by } => {
            let words = answer.values.iter().chain(&answer.text).cloned().collect::<Vec<_>>();
            format!("{question} is answered by {by}: {}", words.join(", "))
        }
        Event::Granted { question } => {
            format!("what {question} allowed for the project is kept in Rapport's home")
        }
        Event::HostRefused { host, .. } => format!("{host} cannot be reached from the workplace"),
        Event::HostAllowed { host, by } => format!("{by} lets the agent reach {host}"),
        Event::Revoked { rule, by } => format!("{by} revokes {rule}"),
        Event::Reopened { question, by } => format!("{by} opens {question} again"),
        Event::Kept { question, by } => format!("{by} leaves {question} as it was"),
        Event::Taken { .. } => "the agent has the answer".into(),
        Event::Closed { round, how } => format!("round {round} is closed: {how}"),
        Event::Delayed { why, .. } => why.clone(),
        Event::StayedHot { beside, .. } => format!("the agent is kept running: {beside}"),
        Event::Cooled { .. } => "the agent has waited for long; its process is to end".into(),
        Event::Parked { .. } => "the agent is parked; waiting costs nothing".into(),
        Event::CutOff { reason, .. } => format!("the agent was cut off: {reason}"),
        Event::Spent { usage, .. } => {
            let dollars = usage.cost_micros as f64 / 1e6;
            format!("{} tokens in, {} out, ${dollars:.4}", usage.input, usage.output)
        }
        Event::PlanProposed { goal, description, .. } => format!("a plan is proposed: {goal}/{description}"),
        Event::PlanSaved { path, .. } => format!("the plan is saved to {path}"),
        // The text of a plan is long, and is in its own file.
        Event::TurnEnded { turn, result } => {
            let result = result.trim();
            let first = result.lines().next().unwrap_or_default();
            let more = if first.len() < result.len() { " …" } else { "" };
            format!("turn {turn} ends: {first}{more}")
        }
        Event::Failed { reason } => format!("failed: {reason}"),
        Event::Restarted { by } => format!("restarted by {by}"),
        Event::Reported { changes: Some(Changes { unknown: Some(why), .. }) } => {
            format!("completed; the changes are unknown: {why}")
        }
        Event::Reported { changes: Some(changes) } => {
            format!("completed; {} changed", count(changes.files.len()))
        }
        Event::Reported { changes: None } => "completed".into(),
        Event::Applying { by, .. } => format!("{by} wants the work applied to the project"),
        Event::Merged(merged) if !merged.conflicts.is_empty() => {
            format!("merged with the project, with conflicts in {}", merged.conflicts.join(", "))
        }
        Event::Merged(_) => "merged with the project; nothing is changed yet".into(),
        Event::NotApplied(NotMerged { reason: Some(reason), .. }) => format!("not applied: {reason}"),
        Event::NotApplied(NotMerged { conflicts, .. }) => {
            format!("not applied: conflicts in {}", conflicts.join(", "))
        }
        Event::Applied { by, files } => format!("applied by {by}: {}", count(files.len())),
        Event::Discarded { by } => format!("discarded by {by}"),
        Event::Cleared { left: None } => "the workplace was removed".into(),
        Event::Cleared { left: Some(why) } => format!("the workplace was only partly removed: {why}"),
        Event::WorkUndoStarted { by, .. } => format!("{by} wants the work undone"),
        Event::WorkUndoRefused { problem } => format!("the work is not undone: {}", problem.reason),
        Event::WorkUndone { files } => format!(
            "the work is undone: {} restored, {} removed, {} left as they are",
            files.restored.len(),
            files.removed.len(),
            files.kept.len()
        ),
        Event::WorkLeft { .. } => "the state in which the agent left the files is recorded".into(),
        Event::Cancelled { by, reason, .. } => match reason {
            Some(reason) => format!("cancelled by {by}: {reason}"),
            None => format!("cancelled by {by}"),
        },
        Event::Unknown(fact) => format!("a fact of a newer kind: {fact}"),
    }
}

/// A number of files: `1 file`, `3 files`.
fn count(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}
