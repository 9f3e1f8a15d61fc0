//! As whom a client's model acts: as a lead, named after the client's program, or as the lead whose agent it is.

use rapport_core::{By, SessionId};
use rmcp::RoleServer;
use rmcp::service::RequestContext;

/// The maximum number of characters of a client's name.
const LONGEST: usize = 64;

/// The lead behind a request: the lead that the server serves, or one named after the client.
pub(crate) fn of(context: &RequestContext<RoleServer>, known: Option<&SessionId>) -> By {
    let named = || name(context.client_info().map(|info| info.name).as_deref());
    By::Lead { name: known.map_or_else(named, SessionId::to_string) }
}

/// The client's name on one line. The client chose it, so hidden characters are removed.
fn name(said: Option<&str>) -> String {
    let is_shown = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | '@' | ':');
    let name: String = said.unwrap_or_default().chars().filter(is_shown).take(LONGEST).collect();
    match name.trim() {
        // Rapport's own leads are named after their sessions; a client must not pass as one.
        name if name.is_empty() || SessionId::is_in(name) => crate::CHANNEL.to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_named_in_one_plain_line() {
        for (said, expected) in [
            (Some("claude-code"), "claude-code"),
            (Some("evil\u{202e}\u{1b}[31m\nclient"), "evil31mclient"),
            (Some("  "), "mcp"),
            (Some("20260124-hello"), "mcp"),
            (Some("shop 20260124-hello"), "mcp"),
            (None, "mcp"),
        ] {
            assert_eq!(name(said), expected);
        }
        assert_eq!(name(Some(&"x".repeat(1000))).len(), LONGEST);
    }
}
