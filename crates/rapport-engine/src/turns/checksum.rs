//! Check sums of a complete turn, which reveal later changes to its documents.

use std::collections::BTreeMap;

use rapport_durable as durable;

use super::{CONTEXT_LOG, Folder, META, PLAN, REPORT, TURN_CONTEXT, TurnError};

/// The documents of a turn that get check sums.
const SEALED: [&str; 5] = [TURN_CONTEXT, CONTEXT_LOG, PLAN, REPORT, META];

/// The check sums of a turn's documents.
pub async fn sums(folder: &Folder, turn: &str) -> Result<BTreeMap<String, String>, TurnError> {
    let mut sums = BTreeMap::new();
    for name in SEALED {
        if let Some(content) = folder.read(&format!("{turn}/{name}")).await? {
            sums.insert(name.to_owned(), durable::digest(&content));
        }
    }
    Ok(sums)
}

/// The check sum of what the agent is shown in a turn, once that is written.
pub async fn shown(folder: &Folder, turn: &str) -> Result<Option<String>, TurnError> {
    let content = folder.read(&format!("{turn}/{CONTEXT_LOG}")).await?;
    Ok(content.as_deref().map(durable::digest))
}

/// The documents that differ from their check sums, in words for a person.
pub async fn broken(
    folder: &Folder,
    turn: &str,
    sealed: &BTreeMap<String, String>,
) -> Result<Vec<String>, TurnError> {
    let now = sums(folder, turn).await?;
    if now.is_empty() && !sealed.is_empty() {
        return Ok(vec![format!("{} is gone", folder.place(turn))]);
    }
    let differs = SEALED.iter().filter_map(|name| {
        let place = folder.place(&format!("{turn}/{name}"));
        match (sealed.get(*name), now.get(*name)) {
            (Some(_), None) => Some(format!("{place} is gone")),
            (None, Some(_)) => Some(format!("{place} was added")),
            (Some(was), Some(is)) if was != is => Some(format!("{place} was changed")),
            (Some(_) | None, _) => None,
        }
    });
    Ok(differs.collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use rapport_core::SessionId;

    use super::*;
    use crate::stores::files::Files;

    #[tokio::test]
    async fn a_changed_file_is_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(Arc::new(Files::new(root.path().to_owned())), &SessionId::new("20260124-x"));
        let turn = root.path().join("20260124-x/01");
        fs::create_dir_all(&turn).unwrap();
        let write = |name: &str, content: &str| fs::write(turn.join(name), content).unwrap();
        write(PLAN, "a plan");
        write(REPORT, "a report");
        let sealed = sums(&folder, "01").await.unwrap();
        write("notes.txt", "somebody's own");
        assert_eq!(broken(&folder, "01", &sealed).await.unwrap(), Vec::<String>::new());
        write(PLAN, "another plan");
        fs::remove_file(turn.join(REPORT)).unwrap();
        write(META, "x: 1");
        let name = |name: &str, how: &str| format!("{} {how}", turn.join(name).display());
        let expected = [name(PLAN, "was changed"), name(REPORT, "is gone"), name(META, "was added")];
        assert_eq!(broken(&folder, "01", &sealed).await.unwrap(), expected);
        let gone = root.path().join("20260124-x/02");
        assert_eq!(broken(&folder, "02", &sealed).await.unwrap(), [format!("{} is gone", gone.display())]);
    }
}
