//! `rapport diff SESSION SESSION`: what two sessions made of the same files, such as two branches of one session.

use std::collections::BTreeSet;

use rapport_core::{SessionId, Stretch, Unrecorded};
use serde_json::json;

use super::output::say_json;
use super::page::Page;
use super::session_choice::{self, Known};
use super::{Common, diff, sessions};
use crate::channels::terminal::text::{Line, Tone};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;
use crate::workers::local::Directory;
use crate::workers::{Worker as _, WorkerError, check_states};

/// The work of a session, for comparing.
struct Work {
    known: Known,
    /// The state of the files after it.
    to: String,
    /// The files that it changed.
    files: BTreeSet<String>,
}

/// Compares the files that either session changed, as the two left them.
pub(super) fn execute(common: &Common, place: &Workspace, names: [&str; 2]) -> Outcome {
    let [one, other] = names.map(|name| session_choice::by_name(place, name));
    let (one, other) = (one?, other?);
    let work = |id: &SessionId| {
        let known = session_choice::known(place, id)?;
        sessions::restore_states(place, &known)?;
        let cannot = |why: &str| not_comparable(&one, &other, &format!("{id}: {why}"));
        work(place, known).map_err(|why| cannot(&why))
    };
    let (left, right) = (work(&one)?, work(&other)?);
    let paths: Vec<_> = left.files.union(&right.files).cloned().collect();
    let diff = match paths.as_slice() {
        [] => String::new(),
        paths => Directory::at(&place.project)
            .diff_of(&left.to, &right.to, paths)
            .map_err(|error| not_comparable(&one, &other, &error.to_string()))?,
    };
    if common.json {
        return say_json(&json!({ "sessions": [one, other], "diff": diff }));
    }
    let mut page = Page::new(common);
    for (sign, Work { known, .. }) in [("---", &left), ("+++", &right)] {
        let task = known.view.task.lines().next().unwrap_or_default();
        page.push(Line::new(Tone::Strong, &format!("{sign} {}  {}  {task}", known.id, known.word())));
    }
    page.push(Line::empty());
    if diff.is_empty() {
        page.push(Line::new(Tone::Dim, "  the files that they changed are the same in both"));
    }
    diff::lines(&diff).for_each(|line| page.push(line));
    page.print_paged()
}

/// The work of a session, or why it is unknown.
fn work(place: &Workspace, known: Known) -> Result<Work, String> {
    let directory = Directory::of_project(known.session.created());
    let stretches = known.session.stretches();
    let Some(Stretch { from, to, .. }) = stretches.last() else {
        let why = if known.has_turns() { "it works in turns" } else { "it has not changed anything yet" };
        return Err(why.into());
    };
    if from.is_none() {
        return Err(Unrecorded::NoRepository.to_string());
    }
    let now = || {
        let workplace = place.workers().find(&known.id, known.session.created()).map_err(in_words)?;
        let workplace = workplace.ok_or("it has not changed anything yet")?;
        workplace.snapshot().map_err(in_words)?.ok_or_else(|| Unrecorded::NoRepository.to_string())
    };
    let to = to.clone().map_or_else(now, Ok)?;
    let mut files = BTreeSet::new();
    for stretch in &stretches {
        let Some(from) = &stretch.from else { continue };
        check_states(&directory, &[from, stretch.to.as_ref().unwrap_or(&to)]).map_err(in_words)?;
        let changed = directory.files_between(from, stretch.to.as_ref().unwrap_or(&to)).map_err(in_words)?;
        files.extend(changed.into_iter().map(|file| file.path));
    }
    Ok(Work { known, to, files })
}

fn in_words(error: WorkerError) -> String {
    error.to_string()
}

fn not_comparable(one: &SessionId, other: &SessionId, why: &str) -> Failure {
    Failure::new(Code::Refused, format!("cannot compare {one} and {other}: {why}"))
        .hint(format!("See the changes of each: rapport diff {one}"))
        .hint(format!("and: rapport diff {other}"))
        .hint("Compare two turns of one session: rapport diff --session SESSION 01 02")
}
