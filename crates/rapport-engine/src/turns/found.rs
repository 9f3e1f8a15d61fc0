//! The content of a session's directory, for a session that was just replayed from its log: turns that an older program
//! or a person made, and the state of journals. The core decides which of it is new.

use rapport_core::report::Report;
use rapport_core::{FoundTurn, FoundTurns, TurnOrigin};

use super::batches::Batches;
use super::{CONTEXT_LOG, Folder, PLAN, REPORT, Standing, Turn, TurnError, checksum, text};

/// The turns found in a session's directory.
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
    // A new branch has a copy of the context, and no agent yet.
    let is_own = turn.name.branch == 0 || turn.meta.agent_name.is_some();
    let parent = turn.meta.parent_turn_id.clone();
    // Turns of a tool without parents follow each other.
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
