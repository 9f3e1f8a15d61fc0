//! Unstages what an agent staged in git, after its work was undone: `git mv` and `git add` change the repository's
//! index too.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use rapport_durable::point;

use super::RepositoryPath;
use super::steps::{self, FileStep};
use crate::workers::git::{AT_ONCE, git};
use crate::workers::{WorkerError, local};

/// Unstages the paths whose index entry is what the work left there: such staged work is no longer in the files.
/// Other staged changes are not from the work, and stay. Returns what is still staged, in words.
pub(super) fn unstage(repository: &RepositoryPath<'_>, taken_back: &[&FileStep]) -> Vec<String> {
    let unstaged = staged(repository, taken_back).and_then(|staged| {
        let reset = ["reset", "--quiet", "HEAD", "--"].map(OsString::from);
        let paths: Vec<_> = staged.iter().map(|step| local::literally(&step.path)).collect();
        paths.chunks(AT_ONCE).try_for_each(|some| {
            point(&repository.top);
            git(&repository.top, None, &[&reset[..], some].concat())?;
            point(&repository.top);
            Ok(())
        })
    });
    match unstaged {
        Ok(()) => Vec::new(),
        Err(error) => vec![format!("what is staged in git ({error}); see git status")],
    }
}

/// The steps whose old state is staged, and differs from the commit.
fn staged<'a>(
    repository: &RepositoryPath<'_>,
    steps: &[&'a FileStep],
) -> Result<Vec<&'a FileStep>, WorkerError> {
    // Without a commit, everything that is staged is new.
    if git(&repository.top, None, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).is_err() {
        return Ok(Vec::new());
    }
    let args = ["diff-index", "--cached", "-r", "-z", "--no-renames", "HEAD", "--"].map(OsStr::new);
    let found = steps::parse(&git(&repository.top, None, &args)?);
    let staged: BTreeMap<_, _> = found.into_iter().map(|step| (step.path, step.new)).collect();
    Ok(steps.iter().copied().filter(|step| staged.get(&step.path) == Some(&step.old)).collect())
}
