//! What a tool reports of a task: the session's view, the id of its diff, and the same as data.

use jiff::SignedDuration;
use rapport_core::authority::{Authority, Matter, authority};
use rapport_core::{
    AgentState, Assignment, By, Clarified, Entry, Event, FileChange, OpenQuestion, QuestionId, QuestionView,
    Session, SessionId, Status, View, WorkplaceState,
};
use rapport_door::{Clock, DoorError, Sessions, StoreError, WorkplaceNow};
use serde_json::{Value, json};

use crate::ids::{self, DiffId};
use crate::tool_error::{ToolError, ToolErrorKind};
use crate::{CHANNEL, words};

/// The statuses that clients see (WORK-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskStatus {
    Started,
    Running,
    NeedsInput,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Running => "running",
            Self::NeedsInput => "needs_input",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The state of a task.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) view: View,
    session: Session,
    /// Its workplace, if it was asked for and can start and stop.
    workplace: Option<WorkplaceNow>,
    /// Whether its worker was ever at work.
    has_run: bool,
    clock: Clock,
}

/// The part of a report that a waiting client compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    status: &'static str,
    open: Vec<QuestionId>,
    workplace: Option<(WorkplaceState, bool)>,
    ends: u32,
}

impl Report {
    /// The report of a session. A session that does not exist, or whose log is not trusted here, is refused.
    pub(crate) async fn of(
        sessions: &dyn Sessions,
        id: &SessionId,
        clock: &Clock,
    ) -> Result<Self, ToolError> {
        let report = Self::replay(id, &entries(sessions, id).await?, clock)?;
        // If the worker does not answer, the report omits the workplace.
        let workplace = sessions.workplace(id).await.ok().flatten();
        Ok(Self { workplace, ..report })
    }

    /// The same, with the report of when its work ended for the first time.
    pub(crate) async fn with_end(
        sessions: &dyn Sessions,
        id: &SessionId,
        clock: &Clock,
    ) -> Result<(Self, Option<Self>), ToolError> {
        let entries = entries(sessions, id).await?;
        let mut ended = None;
        for (at, entry) in entries.iter().enumerate() {
            if ended.is_none() && entry.facts.iter().any(is_end) {
                let until_then = entries.get(..=at).unwrap_or_default();
                ended = Some(Self::replay(id, until_then, clock)?).filter(Self::has_ended);
            }
        }
        Ok((Self::replay(id, &entries, clock)?, ended))
    }

    /// The report of a session with these facts.
    pub(crate) fn replay(id: &SessionId, entries: &[Entry], clock: &Clock) -> Result<Self, ToolError> {
        let session = Session::replay(entries).ok_or_else(|| unknown(id))?;
        let mut facts = entries.iter().flat_map(|entry| &entry.facts);
        let has_run = facts.any(|fact| matches!(fact, Event::Connected { .. }));
        Ok(Self { view: session.view(id), session, workplace: None, has_run, clock: clock.clone() })
    }

    pub(crate) fn workplace(&self) -> Option<&WorkplaceNow> {
        self.workplace.as_ref()
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn task_id(&self) -> String {
        ids::task(&self.view.id)
    }

    pub(crate) fn status(&self) -> TaskStatus {
        match self.view.status {
            Status::Started => TaskStatus::Started,
            Status::Running => TaskStatus::Running,
            // A person stopped the agent, which waits for new instructions.
            Status::NeedsInput | Status::Idle => TaskStatus::NeedsInput,
            Status::Completed => TaskStatus::Completed,
            Status::Failed => TaskStatus::Failed,
            Status::Cancelled => TaskStatus::Cancelled,
        }
    }

    /// Whether it failed with answers that the worker has not received.
    pub(crate) fn is_undelivered(&self) -> bool {
        !self.view.undelivered.is_empty()
    }

    /// What the lead that began it said about it.
    fn assignment(&self) -> Option<&Assignment> {
        self.session.created().assignment.as_ref()
    }

    /// The task of which this one is a part.
    pub(crate) fn parent(&self) -> Option<&SessionId> {
        self.assignment().and_then(|assignment| assignment.parent.as_ref())
    }

    /// The lead's short description of the task.
    pub(crate) fn description(&self) -> Option<&String> {
        self.assignment().and_then(|assignment| assignment.description.as_ref())
    }

    /// Its result, as long as its lead wants it, and whether something was left out.
    pub(crate) fn result(&self, details: bool) -> Option<(String, bool)> {
        let result = self.view.result.as_ref().filter(|result| !result.trim().is_empty())?;
        let is_short = !details && self.assignment().is_some_and(|assignment| assignment.in_short);
        let told = if is_short { words::shorten(result) } else { result.clone() };
        let left_out = is_short && told != words::one_line(result);
        Some((told, left_out))
    }

    /// What is stored about a task while it is worked on (WORK-11).
    pub(crate) fn session_data(&self) -> Value {
        let view = &self.view;
        let last = self.session.rounds().flat_map(|round| round.items).last();
        json!({
            "taskId": self.task_id(),
            "sessionId": view.id,
            "containerId": self.workplace.as_ref().map(|now| &now.id),
            "containerRunning": self.workplace.as_ref().map(|now| now.is_running),
            "worker": view.workplace.as_ref().map_or("local", |place| place.worker.as_str()),
            "workerRunning": self.has_process(),
            "conversationId": self.session.created().conversation,
            "conversation": view.agent.state,
            "status": self.status().word(),
            "lastQuestion": last.map(|item| item.question.text.clone()),
            "startedAt": view.created_at,
            "updatedAt": view.updated_at,
        })
    }

    /// Whether it failed before its worker started, so that there is no result of the worker.
    pub(crate) fn failed_to_start(&self) -> bool {
        self.status() == TaskStatus::Failed && !self.has_run
    }

    /// Whether its work has ended, with any outcome.
    pub(crate) fn has_ended(&self) -> bool {
        match self.status() {
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => true,
            TaskStatus::Started | TaskStatus::Running | TaskStatus::NeedsInput => false,
        }
    }

    /// Whether nothing happens until a person or a lead acts.
    pub(crate) fn is_settled(&self) -> bool {
        let is_applying =
            self.view.workplace.as_ref().is_some_and(|place| place.state == WorkplaceState::Applying);
        self.view.is_settled() && !is_applying
    }

    /// What a waiting client compares.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            status: self.status().word(),
            open: self.view.questions.iter().map(|open| open.id.clone()).collect(),
            workplace: self.view.workplace.as_ref().map(|place| (place.state, place.requested_by.is_some())),
            ends: self.session.ends(),
        }
    }

    /// The changes that can be reviewed now: the work has ended, and is outside of the project.
    pub(crate) fn diff(&self) -> Option<DiffId> {
        let is_there = self.view.workplace.as_ref().is_some_and(|place| match place.state {
            WorkplaceState::Open | WorkplaceState::Waiting => true,
            WorkplaceState::Applying | WorkplaceState::Applied | WorkplaceState::Discarded => false,
        });
        let session = self.view.id.clone();
        let number = self.session.ends();
        (self.has_ended() && is_there && number > 0).then_some(DiffId { session, number })
    }

    /// The id of the latest diff, whether it still exists or not.
    pub(crate) fn latest_diff(&self) -> DiffId {
        DiffId { session: self.view.id.clone(), number: self.session.ends() }
    }

    /// Whether a client may act in it, because a lead started it. The questions of other sessions are for the people
    /// who started those.
    pub(crate) fn is_led(&self) -> bool {
        self.view.origin.as_ref().is_some_and(|origin| origin.channel == CHANNEL)
            && matches!(self.view.by, By::Lead { .. })
    }

    /// Refuses to act in a session that a lead did not start.
    pub(crate) fn refuse_foreign(&self) -> Result<(), ToolError> {
        if self.is_led() {
            return Ok(());
        }
        let (id, by) = (&self.view.id, &self.view.by);
        let message = format!(
            "session {id} was begun by {by}, not over MCP, so only people may act in it. You can look at it."
        );
        Err(ToolError::new(ToolErrorKind::NeedsPerson, message).about(self.data()))
    }

    /// Whether only a person may answer a question. A question with a draft waits for the person who sends it.
    pub(crate) fn needs_person(&self, question: &OpenQuestion) -> bool {
        if question.draft.is_some() {
            return true;
        }
        let lead = By::Lead { name: String::new() };
        let matter = Matter::of_question(&question.purpose);
        let is_for_people = self.session.class_of(&question.question()).is_for_people();
        is_for_people || authority(&lead, matter, &self.session.created().terms) != Authority::Given
    }

    /// The open questions that a lead may answer.
    pub(crate) fn for_lead(&self) -> Vec<&OpenQuestion> {
        self.view.questions.iter().filter(|open| !self.needs_person(open)).collect()
    }

    /// Whether something waits for a person: a question, or work that a lead wants applied.
    pub(crate) fn waits_for_person(&self) -> bool {
        let asked = self.view.questions.iter().any(|open| self.needs_person(open));
        asked || self.view.workplace.as_ref().is_some_and(|place| place.requested_by.is_some())
    }

    /// What the task waits for, as one text (WORK-3).
    pub(crate) fn pending_question(&self) -> Option<String> {
        if self.view.status == Status::Idle {
            return Some("The agent was stopped. What should it do next?".into());
        }
        if self.is_undelivered() {
            let why = self.view.failure.as_deref().unwrap_or_default();
            return Some(format!("An answer is stored, and the worker could not take it: {why}. Try again?"));
        }
        let texts: Vec<_> = self.view.questions.iter().map(|open| open.text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// The time since it started, until its last change if it has ended.
    pub(crate) fn duration(&self) -> SignedDuration {
        let (began, changed) = self.session.times();
        let until = if self.session.is_over() { changed } else { self.clock.now() };
        until.duration_since(began).max(SignedDuration::ZERO)
    }

    /// Whether its worker has a process at the moment.
    pub(crate) fn has_process(&self) -> bool {
        matches!(self.view.agent.state, AgentState::Working | AgentState::Hot)
    }

    /// The report as data, for clients that branch on it.
    pub(crate) fn data(&self) -> Value {
        let view = &self.view;
        let mut data = json!({
            "success": !matches!(self.status(), TaskStatus::Failed | TaskStatus::Cancelled),
            "status": self.status().word(),
            "taskId": self.task_id(),
            "sessionId": view.id,
            "task": view.task,
            "project": view.project,
            "worker": view.workplace.as_ref().map_or("local", |place| place.worker.as_str()),
            "workerRunning": self.has_process(),
            "durationSeconds": self.duration().as_secs(),
            "seq": view.seq,
        });
        if let Some(now) = &self.workplace {
            data["containerId"] = json!(now.id);
            data["containerRunning"] = json!(now.is_running);
        }
        if let Some(beside) = view.agent.kept_by {
            data["keptBy"] = json!(beside);
        }
        if let Some(question) = self.pending_question() {
            data["pendingQuestion"] = json!(question);
            data["questions"] = view.questions.iter().map(|open| self.question(open)).collect();
            data["needsPerson"] = json!(self.for_lead().is_empty() && !view.questions.is_empty());
        }
        if self.is_undelivered() {
            data["undelivered"] = view.undelivered.iter().map(answered).collect();
        }
        if let Some(doing) = &view.agent.doing {
            data["progress"] = json!(words::shorten(doing));
        }
        if let Some((result, left_out)) = self.result(false) {
            data["result"] = json!(result);
            data["resultIsShortened"] = json!(left_out);
        }
        if let Some(about) = self.description() {
            data["taskDescription"] = json!(about);
        }
        if let Some(parent) = self.parent() {
            data["parentTaskId"] = json!(ids::task(parent));
        }
        if let Some(template) = self.assignment().and_then(|assignment| assignment.template.as_ref()) {
            data["template"] = json!(template);
        }
        if let Some(assignment) = self.assignment().filter(|assignment| assignment.original_task.is_some()) {
            data["originalTask"] = json!(assignment.original_task);
            data["context"] = json!(assignment.context);
            data["requirements"] = json!(assignment.requirements);
        }
        if let Some(failure) = &view.failure {
            data["failure"] = json!(failure);
        }
        if let Some(diff) = self.diff() {
            data["diffId"] = json!(diff.to_string());
        }
        if let Some(changes) = &view.changes {
            data["filesChanged"] = json!(changes.files.len());
            data["files"] = json!(changes.files);
            let sum = |of: fn(&FileChange) -> Option<u64>| changes.files.iter().filter_map(of).sum::<u64>();
            data["diffSummary"] = json!({
                "filesChanged": changes.files.len(),
                "additions": sum(|file| file.added),
                "deletions": sum(|file| file.removed),
            });
        }
        if let Some(check) = &view.check {
            data["check"] = json!({
                "command": check.command,
                "passed": check.has_passed(),
                "exitCode": check.exit,
                "problem": check.problem,
                "output": check.output,
            });
        }
        if let Some(command) = &view.checking {
            data["checking"] = json!(command);
        }
        if let Some(place) = &view.workplace {
            data["changes"] = json!(place.state.word());
            if let Some(by) = &place.requested_by {
                data["applyRequestedBy"] = json!(by.to_string());
            }
            if !place.conflicts.is_empty() {
                data["conflicts"] = json!(place.conflicts);
            }
        }
        data["answers"] = view.answers.iter().map(answered).collect();
        data
    }

    fn question(&self, open: &OpenQuestion) -> Value {
        json!({
            "id": open.id,
            "text": open.text,
            "header": open.header,
            "options": open.options.iter().map(|option| json!({
                "label": option.label, "value": option.value, "description": option.description,
                "preview": option.preview,
            })).collect::<Vec<_>>(),
            "multi": open.multi,
            "freeText": open.free_text,
            "needsPerson": self.needs_person(open),
            "matter": Matter::of_question(&open.purpose).in_words(),
            "draft": open.draft.as_ref().map(|draft| draft.answer.as_str()),
        })
    }
}

/// The facts of a session. A session that does not exist, or whose log is not trusted here, is refused.
pub(crate) async fn entries(sessions: &dyn Sessions, id: &SessionId) -> Result<Vec<Entry>, ToolError> {
    match sessions.entries(id, 0).await {
        Ok(entries) => Ok(entries),
        Err(DoorError::Store(StoreError::NotFound(_))) => Err(unknown(id)),
        Err(error) => Err(error.into()),
    }
}

/// Whether the work ends with this fact, with any outcome.
fn is_end(fact: &Event) -> bool {
    matches!(fact, Event::Reported { .. } | Event::Failed { .. } | Event::Cancelled { .. })
}

/// A question as it is stored, with its answer if it has one.
pub(crate) fn stored(item: &QuestionView<'_>) -> Value {
    let given = item.given.map(|(answer, by)| (item.question.words(answer), by.to_string()));
    let (answer, by) = given.unzip();
    json!({ "questionId": item.question.id, "question": item.question.text, "answer": answer, "by": by })
}

fn answered(pair: &Clarified) -> Value {
    json!({ "questionId": pair.id, "question": pair.text, "answer": pair.answer, "by": pair.by.to_string() })
}

fn unknown(id: &SessionId) -> ToolError {
    ToolError::new(
        ToolErrorKind::Unknown,
        format!(
            "there is no task {} in this project; work_status without arguments lists those that there are",
            ids::task(id)
        ),
    )
}
