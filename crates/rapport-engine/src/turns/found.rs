//! What is in a session's directory, for a session that was just read from its log: turns that an older program or a person
//! made, and what the journals of batches know. The core decides what of it is news.

use rapport_core::report::Report;
use rapport_core::{FoundTurn, FoundTurns, SessionId, TurnOrigin};

use super::batches::Batches;
use super::{CONTEXT_LOG, Folder, PLAN, REPORT, Turn, TurnError, checksum};

/// What the documents of a session say about its turns. Nothing of their batches is known by that.
pub async fn turns(folder: &Folder) -> Result<Vec<FoundTurn>, TurnError> {
    let turns = folder.turns().await?;
    let mut found = Vec::new();
    for turn in &turns {
        found.push(found_turn(folder, turn, &turns).await?);
    }
    Ok(found)
}

/// The same with what the journals of their batches say. May block.
pub fn with_batches(
    session: &SessionId,
    turns: Vec<FoundTurn>,
    batches: &Batches,
) -> Result<FoundTurns, TurnError> {
    let found = turns.into_iter().map(|turn| {
        let batches = batches.found(session, &turn.folder, turn.origin.created)?;
        Ok(FoundTurn { batches, ..turn })
    });
    Ok(FoundTurns { turns: found.collect::<Result<_, TurnError>>()? })
}

async fn found_turn(folder: &Folder, turn: &Turn, all: &[Turn]) -> Result<FoundTurn, TurnError> {
    let is_complete = turn.has(REPORT);
    let report = if is_complete { turn.text(REPORT).await? } else { None };
    // In a new branch what the agent is to be shown is a copy, and nobody was named yet to plan it.
    let is_own = turn.name.branch == 0 || turn.meta.agent_name.is_some();
    let parent = turn.meta.parent_turn_id.clone();
    // Turns of a tool that kept no parents follow each other.
    let parent = parent.or_else(|| turn.before(all).map(|before| before.name.to_string()));
    let name = turn.name.to_string();
    Ok(FoundTurn {
        origin: TurnOrigin {
            parent,
            created: turn.created,
            agent: turn.meta.agent_name.clone(),
            is_replan: turn.meta.is_replan,
        },
        is_ready: is_own && turn.has(CONTEXT_LOG),
        plan: if is_complete { None } else { turn.text(PLAN).await? },
        is_complete,
        status: report.as_deref().and_then(|report| Report::applied(report).status),
        files: if is_complete { checksum::sums(folder, &name).await? } else { Default::default() },
        batches: Vec::new(),
        folder: name,
    })
}
