//! The content of a session's directory, for a session that was just replayed from its log: turns that an older program
//! or a person made, and the state of journals. The core decides which of it is new.

use rapport_core::report::Report;
use rapport_core::{FoundTurn, FoundTurns, Session, SessionId, TurnOrigin};

use super::batches::Batches;
use super::{CONTEXT_LOG, Folder, PLAN, REPORT, Standing, Turn, TurnError, checksum, notes, read, text};
use crate::seals::Seal;
use crate::stores::blocking::BlockingStore;

/// The turns found in a session's directory.
pub fn found(folder: &Folder, batches: &Batches, store: &BlockingStore) -> Result<FoundTurns, TurnError> {
    let turns = folder.turns()?;
    let found = turns.iter().map(|turn| {
        let batches = batches.found(&folder.id, &turn.name.to_string(), turn.created)?;
        let is_ours = is_ours(turn, &folder.id, store)?;
        Ok(FoundTurn { batches, is_ours, ..found_turn(turn, &turns)? })
    });
    Ok(FoundTurns { turns: found.collect::<Result<_, TurnError>>()? })
}

/// Whose word a session is whose log is this one: where a turn came from elsewhere, the whole session waits for a person to look
/// at it.
pub fn seal(of_log: Seal, session: &Session, found: &FoundTurns) -> Seal {
    let unknown = session.unknown_turns(found);
    if of_log.counts() && !unknown.is_empty() { Seal::Added(unknown) } else { of_log }
}

/// Whether Rapport wrote what is in the directory of a turn, and would run or send.
fn is_ours(turn: &Turn, id: &SessionId, store: &BlockingStore) -> Result<bool, TurnError> {
    // A report is never written before the facts tell of it.
    if turn.standing() == Standing::Complete {
        return Ok(false);
    }
    let mut there = Vec::new();
    for name in [PLAN, CONTEXT_LOG] {
        let path = turn.file(name);
        match read(&path) {
            Ok(content) => there.push(rapport_durable::digest(&content)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(super::io_error("read", &path)(error)),
        }
    }
    if there.is_empty() {
        return Ok(true);
    }
    let noted = notes::of(store, id, &turn.name.to_string())?;
    Ok(there.iter().all(|digest| noted.contains(digest)))
}

fn found_turn(turn: &Turn, all: &[Turn]) -> Result<FoundTurn, TurnError> {
    let is_complete = turn.standing() == Standing::Complete;
    let report = if is_complete { text(&turn.file(REPORT))? } else { None };
    // A new branch has a copy of the context, and no agent yet.
    let is_own = turn.name.branch == 0 || turn.meta.agent_name.is_some();
    let parent = turn.meta.parent_turn_id.clone();
    // Turns of a tool without parents follow each other.
    let parent = parent.or_else(|| turn.before(all).map(|before| before.name.to_string()));
    let shown = if is_complete { None } else { checksum::shown(&turn.path)? };
    Ok(FoundTurn {
        folder: turn.name.to_string(),
        origin: TurnOrigin {
            parent,
            created: turn.created,
            agent: turn.meta.agent_name.clone(),
            is_replan: turn.meta.is_replan,
        },
        is_ready: is_own && turn.file(CONTEXT_LOG).exists(),
        shown,
        plan: if is_complete { None } else { text(&turn.file(PLAN))? },
        is_complete,
        status: report.as_deref().and_then(|report| Report::applied(report).status),
        files: if is_complete { checksum::sums(&turn.path)? } else { Default::default() },
        batches: Vec::new(),
        is_ours: false,
    })
}
