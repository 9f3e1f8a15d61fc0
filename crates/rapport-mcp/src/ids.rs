//! The ids that clients see: `task-<session>` for a session, `diff-<session>-<n>` for the changes when its work ended
//! for the n-th time.

use std::fmt;

use rapport_core::SessionId;
use rapport_core::lead_ids::{DIFF, TASK};

use crate::tool_error::ToolError;

/// The id of a session, as clients see it.
pub(crate) fn task(session: &SessionId) -> String {
    format!("{TASK}{session}")
}

/// The changes of a session when its work ended for the n-th time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffId {
    pub(crate) session: SessionId,
    /// Which end of the work, from 1.
    pub(crate) number: u32,
}

impl fmt::Display for DiffId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{DIFF}{}-{}", self.session, self.number)
    }
}

impl DiffId {
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let text = text.trim();
        let parts = text.strip_prefix(DIFF).and_then(|rest| rest.rsplit_once('-'));
        let parsed = parts.and_then(|(session, number)| Some((session_id(session)?, number.parse().ok()?)));
        let (session, number) = parsed.ok_or_else(|| {
            ToolError::invalid(format!(
                "{text:?} is not the id of a diff: those are like diff-20260124-add-auth-1"
            ))
        })?;
        Ok(Self { session, number })
    }
}

/// The session that an id names: a task's id, a diff's id or a session's own id.
pub(crate) fn session(text: &str) -> Result<SessionId, ToolError> {
    let text = text.trim();
    if text.starts_with(DIFF) {
        return DiffId::parse(text).map(|diff| diff.session);
    }
    session_id(text.strip_prefix(TASK).unwrap_or(text)).ok_or_else(|| {
        ToolError::invalid(format!("{text:?} is not the id of a task: those are like task-20260124-add-auth"))
    })
}

/// A session's id, unless the name could be a path.
fn session_id(name: &str) -> Option<SessionId> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain);
    is_name.then(|| SessionId::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WORK-22: ids are printed whole, and accepted in every form.
    #[test]
    fn ids_survive_being_written_and_read() {
        let id = SessionId::new("20260124-add-2");
        for text in ["task-20260124-add-2", "20260124-add-2", " diff-20260124-add-2-7 "] {
            assert_eq!(session(text).unwrap(), id, "{text}");
        }
        let diff = DiffId { session: id, number: 12 };
        assert_eq!(diff.to_string(), "diff-20260124-add-2-12");
        assert_eq!(DiffId::parse(&diff.to_string()).unwrap(), diff);
    }

    #[test]
    fn what_could_be_a_path_is_no_id() {
        for text in
            ["", "task-", "../x", "task-../../etc", "task-a/b", "task-.git", "diff-x", "diff-x-y", "a\0b"]
        {
            assert!(session(text).is_err(), "{text:?}");
        }
        assert!(DiffId::parse("task-20260124-add").is_err());
    }
}
