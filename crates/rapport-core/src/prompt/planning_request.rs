//! The message by which a person has a lead plan a task before an agent begins it: what the task is, and the way from
//! there to the start.

use crate::id::SessionId;

/// A task that a lead plans with its person before an agent begins it (LEAD-22, LEAD-25).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanningRequest {
    /// What the planning leads to.
    pub action: PlannedAction,
    /// The name of the project.
    pub project: String,
    /// The task, in the person's words.
    pub task: String,
    /// Whether the agent is to work in a git worktree.
    pub worktree: bool,
    /// Whether the project is to be explored again, even if what is known about it is current.
    pub refresh: bool,
}

/// What follows when a task is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedAction {
    /// A new session begins.
    Start,
    /// A session goes on with the task.
    Resume(SessionId),
}

impl PlanningRequest {
    /// The whole message to the lead.
    pub fn text(&self) -> String {
        let (action, resumed, last) = match &self.action {
            PlannedAction::Start => {
                let worktree = if self.worktree { ", with worktree: true" } else { "" };
                let last = format!(
                    "start the work with claude_code_start{worktree}: the task as its prompt, what you found out as its \
                     context, and the requirements with my answers."
                );
                ("start", String::new(), last)
            }
            PlannedAction::Resume(session) => {
                let last = "send the enriched task to that session with claude_code_say.".to_owned();
                ("resume", format!("Resume token: {session}\n"), last)
            }
        };
        let context = match self.refresh {
            true => "Explore the project again with the project_context tool (action: explore).",
            false => {
                "Load what is known about the project with the project_context tool (action: load); if that is missing \
                 or stale, explore it (action: explore)."
            }
        };
        format!(
            "[Claude Code Planning Request]\nAction: {action}\nProject: {}\n{resumed}Task: {}\n\n{context} Then ask me, with \
             your question tool, what the result depends on and the project does not tell; ask nothing else. Sum up the \
             requirements in a message to me, and {last} Later questions of that session come to you first.",
            self.project, self.task
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(action: PlannedAction) -> PlanningRequest {
        let (project, task) = ("juzi".into(), "implement dark mode".into());
        PlanningRequest { action, project, task, worktree: false, refresh: false }
    }

    #[test]
    fn lead_22_a_planning_request_names_project_task_and_the_tool_to_use() {
        let text = request(PlannedAction::Start).text();
        let head =
            "[Claude Code Planning Request]\nAction: start\nProject: juzi\nTask: implement dark mode\n";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("project_context tool (action: load)"), "{text}");
        assert!(text.contains("start the work with claude_code_start:"), "{text}");
    }

    #[test]
    fn lead_25_a_request_to_resume_carries_the_session() {
        let text = request(PlannedAction::Resume(SessionId::new("20260124-auth"))).text();
        assert!(text.contains("\nAction: resume\n"), "{text}");
        assert!(text.contains("\nResume token: 20260124-auth\nTask: implement dark mode\n"), "{text}");
        assert!(text.contains("claude_code_say") && !text.contains("claude_code_start"), "{text}");
    }

    #[test]
    fn lead_27_a_refresh_explores_whatever_is_known() {
        let fresh = PlanningRequest { refresh: true, worktree: true, ..request(PlannedAction::Start) };
        let text = fresh.text();
        assert!(text.contains("(action: explore)") && !text.contains("(action: load)"), "{text}");
        assert!(text.contains("claude_code_start, with worktree: true:"), "{text}");
    }
}
