//! `review_changes`, `apply_changes`, `reject_changes` and `request_revision`: a lead decides about the work.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::StreamExt as _;
use rapport_core::{Act, ApplyTo, By, FileChange, SessionId, WorkplaceState, WorkplaceView};
use rapport_door::Content;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::start::refuse_elsewhere;
use super::status::recent;
use crate::ids::DiffId;
use crate::report::Report;
use crate::server::{Server, ToolReply};
use crate::tool_error::{ToolError, ToolErrorKind};
use crate::words;

/// The maximum number of bytes of a diff to show, because a model reads all of it.
const LONGEST: usize = 60_000;

/// How long a call waits for work to be applied or cleared away, which continues in the background after that.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReviewArguments {
    diff_id: Option<String>,
    show_content: Option<bool>,
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    Summary,
    Detailed,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ApplyArguments {
    diff_id: String,
    target_workspace: Option<String>,
    confirm: Option<bool>,
    #[serde(default)]
    with_conflicts: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RejectArguments {
    diff_id: String,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReviseArguments {
    diff_id: String,
    feedback: String,
    preserve_correct_parts: Option<bool>,
    additional_context: Option<String>,
}

/// Shows a diff, or lists all that wait for a decision.
pub(crate) async fn review(server: &Server, arguments: ReviewArguments) -> Result<ToolReply, ToolError> {
    let Some(named) = &arguments.diff_id else { return waiting(server).await };
    let (report, diff) = current(server, named).await?;
    let mut data = report.data();
    let mut said = summary(&report, &diff);
    let others = overlapping(server, &report).await?;
    said.push_str(&others.words());
    data["overlaps"] = others.data();
    let shows = arguments.show_content.unwrap_or(true) && arguments.format != Some(Format::Summary);
    if shows {
        let patch = text(server, &report.view.id, Content::Diff).await?;
        let (shown, left_out) = cut(&patch);
        said = format!("{said}\n{shown}");
        if left_out > 0 {
            said = format!(
                "{said}\n... {left_out} more bytes. A person sees all of it with: rapport diff {}",
                report.view.id
            );
        }
        data["diff"] = json!(shown);
        data["diffLeftOut"] = json!(left_out);
    }
    Ok(ToolReply { text: said, data })
}

/// The other waiting diffs that change the same files, with those files: they may no longer apply after this one is
/// applied.
struct Overlaps(Vec<(DiffId, Vec<String>)>);

impl Overlaps {
    fn words(&self) -> String {
        let line = |(other, files): &(DiffId, Vec<String>)| {
            format!("{other} waits too, and changes the same files: {}\n", files.join(", "))
        };
        self.0.iter().map(line).collect()
    }

    fn data(&self) -> Value {
        self.0.iter().map(|(other, files)| json!({ "diffId": other.to_string(), "files": files })).collect()
    }
}

async fn overlapping(server: &Server, report: &Report) -> Result<Overlaps, ToolError> {
    let own: BTreeSet<_> = files_of(report).collect();
    let recent = recent(server).await?;
    let others = recent.iter().filter(|other| other.view.id != report.view.id);
    let overlaps = others.filter_map(|other| {
        let both: Vec<_> = files_of(other).filter(|file| own.contains(file)).map(str::to_owned).collect();
        Some((other.diff()?, both))
    });
    Ok(Overlaps(overlaps.filter(|(_, both)| !both.is_empty()).collect()))
}

fn files_of(report: &Report) -> impl Iterator<Item = &str> {
    report.view.changes.iter().flat_map(|changes| &changes.files).map(|file| file.path.as_str())
}

async fn waiting(server: &Server) -> Result<ToolReply, ToolError> {
    let recent = recent(server).await?;
    let open: Vec<_> = recent.iter().filter_map(|report| Some((report, report.diff()?))).collect();
    let lines: Vec<_> =
        open.iter().map(|(report, diff)| format!("{diff}  {}", words::line(report))).collect();
    let text = if lines.is_empty() { "No changes wait for a decision.".to_owned() } else { lines.join("\n") };
    let data: Vec<_> = open.iter().map(|(report, _)| report.data()).collect();
    Ok(ToolReply { text, data: json!({ "success": true, "diffs": data }) })
}

fn summary(report: &Report, diff: &DiffId) -> String {
    let files = report.view.changes.iter().flat_map(|changes| &changes.files);
    let lines: Vec<_> = files.map(file_line).collect();
    let files = match lines.is_empty() {
        true => "No files are listed.".to_owned(),
        false => lines.join("\n"),
    };
    let check = words::check(&report.view);
    format!("{diff} of {} ({})\n{files}\n{check}", report.task_id(), report.status().word())
}

fn file_line(file: &FileChange) -> String {
    let count =
        |sign: &str, lines: Option<u64>| lines.map(|lines| format!(" {sign}{lines}")).unwrap_or_default();
    format!("  {} {}{}{}", file.status, file.path, count("+", file.added), count("-", file.removed))
}

/// The task of a diff, if the diff is its current one; otherwise an error that says why it is not.
async fn current(server: &Server, named: &str) -> Result<(Report, DiffId), ToolError> {
    let diff = DiffId::parse(named)?;
    let report = server.report(&diff.session).await?;
    let (task, latest) = (report.task_id(), report.latest_diff());
    let not_now = |what: String| Err(ToolError::new(ToolErrorKind::NotNow, what).about(report.data()));
    if diff.number == 0 || diff.number > latest.number {
        let what = format!("there is no {diff}: {task} has had {} diffs", latest.number);
        return Err(ToolError::new(ToolErrorKind::Unknown, what).about(report.data()));
    }
    match report.diff() {
        Some(current) if current == diff => Ok((report, diff)),
        Some(current) => not_now(format!("{diff} is out of date: {task} has {current} now")),
        None => match report.view.workplace.as_ref().map(|place| place.state) {
            None => not_now(format!("{task} worked in the project itself, so there is nothing to decide")),
            Some(WorkplaceState::Applied) => not_now(format!("{diff} was applied already")),
            Some(WorkplaceState::Applying) => not_now(format!("{diff} is being applied")),
            Some(WorkplaceState::Discarded) => not_now(format!("{diff} was rejected already")),
            Some(WorkplaceState::Open | WorkplaceState::Waiting) => not_now(format!(
                "{task} works on (status: {}), so {diff} is out of date",
                report.status().word()
            )),
        },
    }
}

async fn text(server: &Server, id: &SessionId, what: Content) -> Result<String, ToolError> {
    let mut pieces = server.sessions().read(id, what).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend(piece?);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The beginning of a diff, up to a whole line, and how many bytes are left out.
fn cut(patch: &str) -> (&str, usize) {
    if patch.len() <= LONGEST {
        return (patch, 0);
    }
    let end = patch.floor_char_boundary(LONGEST);
    let end = patch[..end].rfind('\n').map_or(end, |line| line + 1);
    (&patch[..end], patch.len() - end)
}

/// Applies the work, or asks a person to.
pub(crate) async fn apply(
    server: &Server,
    lead: &By,
    arguments: ApplyArguments,
) -> Result<ToolReply, ToolError> {
    let (project, target) = (server.setup().project.clone(), arguments.target_workspace.clone());
    let checked = spawn_blocking(move || refuse_elsewhere(&project, target.as_deref(), "targetWorkspace"));
    checked.await.map_err(|error| ToolError::new(ToolErrorKind::Failed, error.to_string()))??;
    let (report, diff) = current(server, &arguments.diff_id).await?;
    let others = overlapping(server, &report).await?;
    let with_overlaps = |report: &Report| {
        let mut data = report.data();
        data["overlaps"] = others.data();
        data
    };
    if arguments.confirm == Some(false) {
        let text = format!(
            "{}{}Nothing was applied, because confirm is false.\n",
            summary(&report, &diff),
            others.words()
        );
        return Ok(ToolReply { text, data: with_overlaps(&report) });
    }
    report.refuse_foreign()?;
    let id = &report.view.id;
    // The work may be revised in between; only what the lead has seen is applied.
    let act =
        Act::Apply { with_conflicts: arguments.with_conflicts, end: Some(diff.number), to: ApplyTo::Files };
    let ended = settle(server, lead, id, &act).await?;
    let Some(place) = &ended.view.workplace else { return Err(unclear(&ended)) };
    match place.state {
        WorkplaceState::Applied => {
            let (project, told) = (&ended.view.project, words::report(&ended, false));
            let text = format!("Applied {diff} to {project}.\n{}{told}", others.words());
            Ok(ToolReply { text, data: with_overlaps(&ended) })
        }
        WorkplaceState::Applying => {
            let text = format!("{diff} is being applied. Call wait to hear how it ends.\n");
            Ok(ToolReply { text, data: ended.data() })
        }
        WorkplaceState::Open | WorkplaceState::Waiting if place.requested_by.is_some() => {
            let text = format!(
                "applying {diff} needs a person, {lead} cannot decide it. The person was asked.\n{}{}",
                others.words(),
                words::where_a_person_applies(id, &ended.view.project)
            );
            Err(ToolError::new(ToolErrorKind::NeedsPerson, text).about(with_overlaps(&ended)))
        }
        WorkplaceState::Open | WorkplaceState::Waiting | WorkplaceState::Discarded => {
            Err(not_applied(&ended, &diff))
        }
    }
}

fn not_applied(report: &Report, diff: &DiffId) -> ToolError {
    let place = report.view.workplace.as_ref();
    let why = match place {
        Some(place) if !place.conflicts.is_empty() => {
            format!("the project changed the same lines in {}", place.conflicts.join(", "))
        }
        Some(place) => place.failure.clone().unwrap_or_else(|| place.state.word().to_owned()),
        None => "its workplace is gone".to_owned(),
    };
    ToolError::new(ToolErrorKind::NotNow, format!("{diff} was not applied: {why}. Nothing was changed."))
        .and("Have the worker adapt it with request_revision, or apply it with conflict markers: withConflicts.")
        .about(report.data())
}

fn unclear(report: &Report) -> ToolError {
    ToolError::new(ToolErrorKind::Failed, "the workplace of this task is unknown").about(report.data())
}

/// Discards the work.
pub(crate) async fn reject(
    server: &Server,
    lead: &By,
    arguments: RejectArguments,
) -> Result<ToolReply, ToolError> {
    let (report, diff) = current(server, &arguments.diff_id).await?;
    report.refuse_foreign()?;
    let id = &report.view.id;
    let reason = arguments.reason.filter(|reason| !reason.trim().is_empty());
    let act = Act::Discard { reason, end: Some(diff.number) };
    let ended = settle(server, lead, id, &act).await?;
    let Some(place) = &ended.view.workplace else { return Err(unclear(&ended)) };
    let text = format!("Rejected {diff}. {}\n{}", cleared(id, place), words::report(&ended, false));
    Ok(ToolReply { text, data: ended.data() })
}

/// The state of the workplace of rejected work.
fn cleared(id: &SessionId, place: &WorkplaceView) -> String {
    match &place.left {
        Some(why) => {
            format!("Part of its workplace is left: {why}. A person can remove it with: rapport discard {id}")
        }
        None if place.cleared => "Its workplace is removed.".into(),
        None => "Its workplace is being removed.".into(),
    }
}

/// Asks the worker for a revision, in the same conversation.
pub(crate) async fn revise(
    server: &Server,
    lead: &By,
    arguments: ReviseArguments,
) -> Result<ToolReply, ToolError> {
    let (report, diff) = current(server, &arguments.diff_id).await?;
    report.refuse_foreign()?;
    let id = &report.view.id;
    let act = Act::Say { text: message(&arguments), id: None };
    if let Err(error) = server.sessions().act(id, lead, &act).await {
        return Err(ToolError::from(error).about(report.data()));
    }
    let after = server.report(id).await?;
    server.note_told(lead, &after);
    let text = format!(
        "{} was asked to revise {diff}. Its next diff has another id.\n{}",
        after.task_id(),
        words::report(&after, false)
    );
    Ok(ToolReply { text, data: after.data() })
}

/// The message to the worker.
fn message(arguments: &ReviseArguments) -> String {
    let keep = arguments.preserve_correct_parts.unwrap_or(true);
    let keep = keep.then(|| "Keep what is right, and change only what this asks for.".to_owned());
    let more = arguments.additional_context.clone().filter(|more| !more.trim().is_empty());
    [Some(arguments.feedback.clone()), keep, more].into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

/// Submits an act about the work, and waits a while for its outcome.
async fn settle(server: &Server, lead: &By, id: &SessionId, act: &Act) -> Result<Report, ToolError> {
    let mut changes = server.changes().subscribe();
    if let Err(error) = server.sessions().act(id, lead, act).await {
        let now = server.report(id).await?;
        return Err(ToolError::from(error).about(now.data()));
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        let report = server.report(id).await?;
        let is_under_way = report.view.workplace.as_ref().is_some_and(|place| match place.state {
            WorkplaceState::Applying => true,
            WorkplaceState::Applied | WorkplaceState::Discarded => !place.cleared && place.left.is_none(),
            WorkplaceState::Open | WorkplaceState::Waiting => false,
        });
        if !is_under_way || !changed(&mut changes, id, deadline).await {
            server.note_told(lead, &report);
            return Ok(report);
        }
    }
}

/// Waits until a session changes; false if that takes too long, or the watch ended.
async fn changed(changes: &mut Receiver<SessionId>, id: &SessionId, deadline: Instant) -> bool {
    loop {
        match timeout_at(deadline, changes.recv()).await {
            Ok(Ok(changed)) if changed != *id => {}
            Ok(Ok(_) | Err(RecvError::Lagged(_))) => return true,
            Ok(Err(RecvError::Closed)) | Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use rapport_core::Event;
    use tokio::sync::broadcast;

    use super::*;
    use crate::test_door::{TestDoor, lead, session, work};
    use crate::tools::logs;

    #[test]
    fn a_long_diff_is_cut_at_a_line() {
        assert_eq!(cut("a\nb\n"), ("a\nb\n", 0));
        let long = "+ä line\n".repeat(20_000);
        let (shown, left_out) = cut(&long);
        assert!(shown.ends_with("line\n") && shown.len() <= LONGEST);
        assert_eq!(shown.len() + left_out, long.len());
    }

    /// The work is revised between the look at a diff and the act: what the lead has not seen is neither applied nor
    /// rejected, and the reply does not claim that it was.
    #[tokio::test]
    async fn what_changed_after_the_review_is_neither_applied_nor_rejected() {
        let diff = json!(format!("diff-{}-1", session()));
        let door = TestDoor::new(work(1), [work(2)]);
        let server = door.server().await;
        let arguments = serde_json::from_value(json!({ "diffId": diff })).unwrap();
        let refused = apply(&server, &lead(), arguments).await.unwrap_err();
        assert_eq!(refused.kind(), ToolErrorKind::NotNow);
        assert!(refused.message().contains("the work has changed since"), "{}", refused.message());
        assert_eq!(refused.data()["diffId"], json!(format!("diff-{}-2", session())));
        assert!(!door.facts().iter().any(|fact| matches!(fact, Event::Applying { .. })));

        let door = TestDoor::new(work(1), [work(2)]);
        let server = door.server().await;
        let arguments = serde_json::from_value(json!({ "diffId": diff, "reason": "Too blue." })).unwrap();
        let refused = reject(&server, &lead(), arguments).await.unwrap_err();
        assert!(refused.message().contains("the work has changed since"), "{}", refused.message());
        let arguments = serde_json::from_value(json!({ "identifier": session() })).unwrap();
        let log = logs::view(&server, arguments).await.unwrap();
        assert!(!log.text.contains("Too blue.") && !log.text.contains("ejected"), "{}", log.text);
    }

    /// After a rejection, the reply says what is known of the workplace.
    #[test]
    fn the_workplace_of_rejected_work_is_gone_going_or_left() {
        let id = SessionId::new("20260124-add-auth");
        let said = |cleared, left: Option<&str>| {
            let place =
                json!({ "worker": "worktree", "state": "discarded", "cleared": cleared, "left": left });
            super::cleared(&id, &serde_json::from_value(place).unwrap())
        };
        assert_eq!(said(true, None), "Its workplace is removed.");
        assert_eq!(said(false, None), "Its workplace is being removed.");
        let left = said(false, Some("it is busy"));
        assert!(left.contains("it is busy") && left.ends_with("rapport discard 20260124-add-auth"), "{left}");
    }

    /// Only a change of this session ends the wait, or the end of the watch.
    #[tokio::test]
    async fn a_wait_for_a_session_ends_with_its_change_its_time_or_the_news() {
        let (ours, other) = (SessionId::new("ours"), SessionId::new("other"));
        let (news, mut changes) = broadcast::channel(8);
        let soon = || Instant::now() + Duration::from_millis(20);
        let late = Instant::now() + Duration::from_secs(60);
        news.send(other.clone()).unwrap();
        assert!(!changed(&mut changes, &ours, soon()).await, "another session changed");
        news.send(other).unwrap();
        news.send(ours.clone()).unwrap();
        assert!(changed(&mut changes, &ours, late).await);
        drop(news);
        assert!(!changed(&mut changes, &ours, late).await, "nobody tells of changes any more");
    }

    #[test]
    fn a_revision_says_what_to_keep_unless_all_may_change() {
        let arguments = |keep| ReviseArguments {
            diff_id: String::new(),
            feedback: "Use tabs.".into(),
            preserve_correct_parts: keep,
            additional_context: Some("See style.md.".into()),
        };
        assert_eq!(
            message(&arguments(None)),
            "Use tabs.\n\nKeep what is right, and change only what this asks for.\n\nSee style.md."
        );
        assert_eq!(message(&arguments(Some(false))), "Use tabs.\n\nSee style.md.");
    }
}
