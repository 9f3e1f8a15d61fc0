//! Looks up what a lead's answer is based on. A ground counts if it exists and was shown to the lead: lines of a file
//! that it read, an answer that a person gave in a session of its own tree, a preference of the project. A ground is
//! quoted to an agent and on cards, so a secret does not count, and neither does text that the asking agent may have
//! written itself. An answer with any other ground is a draft.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rapport_core::routing::{Class, Ground, Grounding};
use rapport_core::{By, Entry, Event, QuestionId, Session, SessionId, ToolUse, visible};
use tokio::task::spawn_blocking;

use super::sessions::file_in;
use crate::projects::known_projects::KnownProjects;
use crate::stores::Store;

/// The maximum length of a quote, in characters.
const LONGEST_QUOTE: usize = 300;
/// The maximum number of lines of a file in a ground.
const MOST_LINES: u32 = 40;
/// Rapport's own tool by which a lead reads what is known about a project. Agents add a prefix to its name.
const LOOKING: &str = "project_context";

/// Where a ground is looked up.
pub(super) struct GroundSite {
    pub(super) store: Arc<dyn Store>,
    /// The lead that names it.
    pub(super) lead: SessionId,
    /// The directory of the project.
    pub(super) project: PathBuf,
    /// When the session with the question began.
    pub(super) began: Timestamp,
    /// What is known about projects.
    pub(super) known: KnownProjects,
}

impl GroundSite {
    /// The text of a ground; `None` if it does not exist, or was not shown to the lead.
    pub(super) async fn find(&self, ground: &Ground) -> Option<Grounding> {
        let quote = match ground {
            Ground::Preference(id) => self.preference(id).await,
            Ground::Answer { session, question } => self.answer(session, question).await,
            Ground::File { path, first, last } => self.lines(path, *first, *last).await,
        };
        let quote =
            quote.map(|quote| short(&visible::line(quote.trim()))).filter(|quote| !quote.is_empty())?;
        Some(Grounding { ground: ground.clone(), quote })
    }

    /// A preference of the project that is in effect, and was when the lead last read what is known about the
    /// project.
    async fn preference(&self, id: &str) -> Option<String> {
        let seen = self.store.counted(&self.lead, 0).await.ok()?;
        let (known, project, id) = (self.known.clone(), self.project.clone(), id.to_owned());
        let found = spawn_blocking(move || known.preference(&project, &id)).await.ok()??;
        let is_look = |fact: &Event| matches!(fact, Event::Used { tool, kind: ToolUse::Own, .. } if tool.ends_with(LOOKING));
        let looks = seen.iter().filter(|entry| entry.facts.iter().any(is_look));
        // A preference that people wrote into the file has no time; it counts as older than all facts.
        let is_shown =
            looks.map(|entry| entry.at).max().is_some_and(|at| found.since.is_none_or(|since| since <= at));
        is_shown.then_some(found.text)
    }

    /// An answer that a person gave, to the lead itself or in a session that it leads.
    async fn answer(&self, id: &SessionId, question: &QuestionId) -> Option<String> {
        let entries = self.store.counted(id, 0).await.ok()?;
        let session = Session::replay(&entries)?;
        let is_shown = *id == self.lead || session.created().lead.as_ref() == Some(&self.lead);
        let rounds = session.rounds().filter(|_| is_shown);
        let found = rounds.flat_map(|round| round.items).find(|item| item.question.id == *question)?;
        let (answer, by) = found.given?;
        // Answers to forms, and answers about secrets, are not quoted elsewhere.
        let may_be_quoted = Class::alone(found.question) == Class::Clarification;
        let is_a_persons = matches!(by, By::Person { .. });
        (is_a_persons && may_be_quoted)
            .then(|| format!("{} {}", found.question.text, found.question.words(answer)))
    }

    /// Lines of a file that the lead has read.
    async fn lines(&self, path: &str, first: u32, last: u32) -> Option<String> {
        if last - first >= MOST_LINES {
            return None;
        }
        let seen = self.store.counted(&self.lead, 0).await.ok()?;
        let (project, path, began) = (self.project.clone(), path.to_owned(), self.began);
        let read = move || {
            let is_shown = !may_hold_secrets(&path)
                && is_older(&project.join(&path), began)
                && has_read(&seen, &project, &path);
            let content = is_shown.then(|| file_in(&project, &path).ok()).flatten()?;
            let text = String::from_utf8(content).ok()?;
            let (from, count) = (first as usize - 1, (last - first) as usize + 1);
            let lines: Vec<_> = text.lines().skip(from).take(count).collect();
            // A range beyond the end of the file is not what the lead has read.
            (lines.len() == count).then(|| lines.join("\n"))
        };
        spawn_blocking(read).await.ok().flatten()
    }
}

/// Whether a session has read this file of the project with its reading tool. Blocks.
fn has_read(entries: &[Entry], project: &Path, path: &str) -> bool {
    let Ok(wanted) = project.join(path).canonicalize() else { return false };
    let is_it = |what: &str| project.join(what).canonicalize().is_ok_and(|read| read == wanted);
    let facts = entries.iter().flat_map(|entry| &entry.facts);
    let mut read = facts.filter_map(|fact| match fact {
        Event::Used { what, kind: ToolUse::Reads, .. } => Some(what.as_str()),
        _ => None,
    });
    read.any(is_it)
}

/// Whether a file was last changed before this time. A file that changed later may contain text of the asking agent.
/// Blocks.
fn is_older(file: &Path, than: Timestamp) -> bool {
    let changed = file.metadata().and_then(|file| file.modified());
    changed.ok().and_then(|changed| Timestamp::try_from(changed).ok()).is_some_and(|changed| changed <= than)
}

/// Whether people usually keep secrets in a file of this name.
fn may_hold_secrets(path: &str) -> bool {
    const ENDS: [&str; 6] = [".pem", ".key", ".p12", ".pfx", ".keystore", ".secret"];
    let path = path.to_lowercase();
    path.split(['/', '\\']).any(|part| {
        let names_secret = ["secret", "credential", "password"].iter().any(|word| part.contains(word));
        part.starts_with(".env") || part.starts_with("id_") || part == ".git" || names_secret
    }) || ENDS.iter().any(|end| path.ends_with(end))
}

fn short(line: &str) -> String {
    match line.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
