//! `claude_code_digest`: what leads did while the person was away. It only tells; a person overrules.

use jiff::{SignedDuration, Timestamp};
use rapport_core::{DigestLine, LeadDid, display_text};
use serde::Deserialize;
use serde_json::json;

use crate::server::{Server, ToolReply};
use crate::tool_error::{ToolError, ToolErrorKind};

/// The time that is looked back by default.
const A_DAY: i64 = 24;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DigestArguments {
    hours: Option<u32>,
}

/// The digest of the last hours.
pub(crate) async fn digest(server: &Server, arguments: DigestArguments) -> Result<ToolReply, ToolError> {
    let hours = arguments.hours.map_or(A_DAY, i64::from);
    let since = server.setup().clock.now().checked_sub(SignedDuration::from_hours(hours));
    let since = since.unwrap_or(Timestamp::UNIX_EPOCH);
    let digest = rapport_door::digest(server.sessions(), since).await?;
    let lines: Vec<_> = digest.lines.iter().map(line).collect();
    let said = if lines.is_empty() { "No lead did anything.".to_owned() } else { lines.join("\n") };
    let cost = digest.usage.cost_micros as f64 / 1e6;
    let data = serde_json::to_value(&digest)
        .map_err(|error| ToolError::new(ToolErrorKind::Failed, error.to_string()))?;
    Ok(ToolReply {
        text: format!("{said}\nLeads cost ${cost:.2} in that time.\n"),
        data: json!({ "digest": data }),
    })
}

/// A line of the digest, in words. Text of others stays in one line.
fn line(line: &DigestLine) -> String {
    let what = match &line.what {
        LeadDid::Answered { answer, because, .. } | LeadDid::Drafted { answer, because, .. } => {
            let verb = if matches!(line.what, LeadDid::Answered { .. }) { "answered" } else { "drafted" };
            let because = because.as_ref().map(|because| format!(", because of {}", because.ground));
            format!("{verb} {}{}", display_text::line(answer), because.unwrap_or_default())
        }
        LeadDid::PassedOn { why } => format!("passed on, because {}", display_text::line(why)),
    };
    format!("{} {} \"{}\": {what}", line.session, line.question, display_text::line(&line.text))
}
