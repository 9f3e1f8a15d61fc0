//! What is in a session's directory, for a session that was just read from its log: turns that an older program or a person
//! made, and what the journals of batches know. The core decides what of it is news.

use rapport_core::report::Report;
use rapport_core::{FoundTurn, FoundTurns, TurnOrigin};

use super::batches::Batches;
use super::{CONTEXT_LOG, Folder, PLAN, REPORT, Standing, Turn, TurnError, checksum, text};

/// What is there of a session's turns.
pub fn found(folder: &Folder, batches: &Batches) -> Result<FoundTurns, TurnError> {
    let turns = folder.turns()?;
    let found = turns.iter().map(|turn| {
        let batches = batches.found(&folder.id, &turn.name.to_string(), turn.created)?;
        Ok(FoundTurn { batches, ..found_turn(turn, &turns)? })
    });
    Ok(FoundTurns { turns: found.collect::<Result<_, TurnError>>()? })
}

fn found_turn(turn: &Turn, all: &[Turn]) -> Result<FoundTurn, TurnError> {
    let is_complete = turn.standing() == Standing::Complete;
    let report = if is_complete { text(&turn.file(REPORT))? } else { None };
    // In a new branch what the agent is to be shown is a copy, and nobody was named yet to plan it.
    let is_own = turn.name.branch == 0 || turn.meta.agent_name.is_some();
    let parent = turn.meta.parent_turn_id.clone();
    // Turns of a tool that kept no parents follow each other.
    let parent = parent.or_else(|| turn.before(all).map(|before| before.name.to_string()));
    Ok(FoundTurn {
        folder: turn.name.to_string(),
        origin: TurnOrigin {
            parent,
            created: turn.created,
            agent: turn.meta.agent_name.clone(),
            is_replan: turn.meta.is_replan,
        },
        is_ready: is_own && turn.file(CONTEXT_LOG).exists(),
        plan: if is_complete { None } else { text(&turn.file(PLAN))? },
        is_complete,
        status: report.as_deref().and_then(|report| Report::applied(report).status),
        files: if is_complete { checksum::sums(&turn.path)? } else { Default::default() },
        batches: Vec::new(),
    })
}
