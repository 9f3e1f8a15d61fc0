//! The documents of a session, for a session that was just replayed from its log: turns that an older program or a
//! person made, and the state of journals. The core decides which of it is new.

use rapport_core::report::Report;
use rapport_core::{FoundTurn, FoundTurns, Session, SessionId, TurnOrigin};

use super::batches::Batches;
use super::{CONTEXT_LOG, Folder, PLAN, REPORT, Turn, TurnError, checksum, notes};
use crate::seals::Seal;

/// The turns found among a session's documents, without their batches.
pub async fn turns(folder: &Folder) -> Result<Vec<FoundTurn>, TurnError> {
    let turns = folder.turns().await?;
    let mut found = Vec::new();
    for turn in &turns {
        found.push(found_turn(folder, turn, &turns).await?);
    }
    Ok(found)
}

/// The same with the state of the journals of their batches. Blocks.
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

/// The seal of a session, from the seal of its log and the turns in its directories. If one turn is not from this
/// person's Rapport, the whole session is foreign until a person looks at it.
pub fn seal(of_log: Seal, session: &Session, found: &FoundTurns) -> Seal {
    let unknown = session.unknown_turns(found);
    if of_log.counts() && !unknown.is_empty() { Seal::Added(unknown) } else { of_log }
}

async fn found_turn(folder: &Folder, turn: &Turn, all: &[Turn]) -> Result<FoundTurn, TurnError> {
    let name = turn.name.to_string();
    let is_complete = turn.has(REPORT);
    let report = if is_complete { turn.text(REPORT).await? } else { None };
    // A new branch has a copy of the context, and no agent yet.
    let is_own = turn.name.branch == 0 || turn.meta.agent_name.is_some();
    let parent = turn.meta.parent_turn_id.clone();
    // Turns of a tool without parents follow each other.
    let parent = parent.or_else(|| turn.before(all).map(|before| before.name.to_string()));
    let (plan, shown, is_ours) = match is_complete {
        // A report is never written before the facts tell of it.
        true => (None, None, false),
        false => {
            let plan = turn.text(PLAN).await?;
            let shown = checksum::shown(folder, &name).await?;
            let is_ours = is_ours(folder, &name, plan.as_deref(), shown.as_deref()).await?;
            (plan, shown, is_ours)
        }
    };
    Ok(FoundTurn {
        origin: TurnOrigin {
            parent,
            created: turn.created,
            agent: turn.meta.agent_name.clone(),
            is_replan: turn.meta.is_replan,
        },
        is_ready: is_own && turn.has(CONTEXT_LOG),
        shown,
        plan,
        is_complete,
        status: report.as_deref().and_then(|report| Report::applied(report).status),
        files: if is_complete { checksum::sums(folder, &name).await? } else { Default::default() },
        batches: Vec::new(),
        is_ours,
        folder: name,
    })
}

/// Whether Rapport wrote the plan of a turn, and the context with this check sum, which it would run or send.
async fn is_ours(
    folder: &Folder,
    turn: &str,
    plan: Option<&str>,
    shown: Option<&str>,
) -> Result<bool, TurnError> {
    let plan = plan.map(|plan| rapport_durable::digest(plan.as_bytes()));
    let there: Vec<_> = plan.as_deref().into_iter().chain(shown).collect();
    if there.is_empty() {
        return Ok(true);
    }
    let noted = notes::of(folder, turn).await?;
    Ok(there.iter().all(|digest| noted.iter().any(|noted| noted == digest)))
}
