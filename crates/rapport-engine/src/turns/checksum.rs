//! Check sums of a complete turn, which reveal later changes to its files.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rapport_durable as durable;

use super::{CONTEXT_LOG, META, PLAN, REPORT, TURN_CONTEXT, TurnError, io_error, read};

/// The files of a turn that get check sums.
const SEALED: [&str; 5] = [TURN_CONTEXT, CONTEXT_LOG, PLAN, REPORT, META];

/// The check sums of the files in a turn's directory.
pub fn sums(turn: &Path) -> Result<BTreeMap<String, String>, TurnError> {
    let mut sums = BTreeMap::new();
    for name in SEALED {
        let path = turn.join(name);
        match read(&path) {
            Ok(content) => drop(sums.insert(name.to_owned(), durable::digest(&content))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("read", &path)(error)),
        }
    }
    Ok(sums)
}

/// The check sum of what the agent is shown in a turn, once that is written.
pub fn shown(turn: &Path) -> Result<Option<String>, TurnError> {
    let path = turn.join(CONTEXT_LOG);
    match read(&path) {
        Ok(content) => Ok(Some(durable::digest(&content))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", &path)(error)),
    }
}

/// The files that differ from their check sums, in words for a person.
pub fn broken(turn: &Path, sealed: &BTreeMap<String, String>) -> Result<Vec<String>, TurnError> {
    if !turn.is_dir() {
        return Ok(vec![format!("{} is gone", turn.display())]);
    }
    let now = sums(turn)?;
    let names = SEALED.iter().map(|name| (*name).to_owned());
    let differs = names.filter_map(|name| {
        let path = turn.join(&name).display().to_string();
        match (sealed.get(&name), now.get(&name)) {
            (Some(_), None) => Some(format!("{path} is gone")),
            (None, Some(_)) => Some(format!("{path} was added")),
            (Some(was), Some(is)) if was != is => Some(format!("{path} was changed")),
            (Some(_) | None, _) => None,
        }
    });
    Ok(differs.collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_changed_file_is_named() {
        let turn = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| fs::write(turn.path().join(name), content).unwrap();
        write(PLAN, "a plan");
        write(REPORT, "a report");
        let sealed = sums(turn.path()).unwrap();
        write("notes.txt", "somebody's own");
        assert_eq!(broken(turn.path(), &sealed).unwrap(), Vec::<String>::new());
        write(PLAN, "another plan");
        fs::remove_file(turn.path().join(REPORT)).unwrap();
        write(META, "x: 1");
        let name = |name: &str, how: &str| format!("{} {how}", turn.path().join(name).display());
        let expected = [name(PLAN, "was changed"), name(REPORT, "is gone"), name(META, "was added")];
        assert_eq!(broken(turn.path(), &sealed).unwrap(), expected);
        let gone = turn.path().join("01");
        assert_eq!(broken(&gone, &sealed).unwrap(), [format!("{} is gone", gone.display())]);
    }
}
