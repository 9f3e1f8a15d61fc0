//! The ids under which leads know a session and its work: `task-SESSION`, and `diff-SESSION-N` for the changes when
//! its work ended for the n-th time.

/// The prefix of a task's id.
pub const TASK: &str = "task-";
/// The prefix of a diff's id.
pub const DIFF: &str = "diff-";

/// The name of the session in such an id; any other text is returned as it is.
pub fn session_in(text: &str) -> &str {
    let of_diff = || {
        let (session, number) = text.strip_prefix(DIFF)?.rsplit_once('-')?;
        number.parse::<u32>().ok().map(|_| session)
    };
    text.strip_prefix(TASK).or_else(of_diff).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WORK-22.
    #[test]
    fn a_session_is_found_in_the_ids_of_leads() {
        for (text, session) in [
            ("task-20260124-add", "20260124-add"),
            ("diff-20260124-add-2-12", "20260124-add-2"),
            ("diff-viewer", "diff-viewer"),
            ("20260124-add", "20260124-add"),
            ("add", "add"),
        ] {
            assert_eq!(session_in(text), session);
        }
    }
}
