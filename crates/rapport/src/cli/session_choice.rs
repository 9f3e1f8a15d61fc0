//! Chooses the session of a command, by one rule for all verbs: the named session, else the one around the current
//! directory, else the only one that fits the verb; if several fit, they are listed, and none is chosen.

use std::collections::BTreeSet;
use std::path::Path;

use rapport_core::{Aim, Session, SessionId, Status, View, lead_ids};

use super::output::shorten;
use super::{handover, sessions, workflow};
use crate::channels::terminal::terminal_text;
use crate::channels::terminal::text::Tone;
use crate::config;
use crate::error::{Candidate, Code, Failure, Outcome};
use crate::seals::Seal;
use crate::stores::StoreError;
use crate::wiring::Workspace;

/// The maximum length of a listed task or question.
const SHOWN: usize = 60;

/// The maximum number of sessions to list where several may be meant.
const MOST_LISTED: usize = 10;

/// The session argument of commands.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Which {
    /// The session: its name, or a unique part of it (default: the one around the current directory, else the only one
    /// that fits)
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// The same as a flag
    #[arg(long = "session", value_name = "SESSION", conflicts_with = "session", hide_short_help = true)]
    flag: Option<String>,
}

impl Which {
    /// The given name.
    pub(super) fn name(&self) -> Option<&str> {
        self.session.as_deref().or(self.flag.as_deref())
    }
}

/// A session, for verbs to choose from.
pub(super) struct Known {
    pub(super) id: SessionId,
    pub(super) session: Session,
    pub(super) view: View,
    /// The result of checking its signature.
    pub(super) seal: Seal,
    is_held: bool,
}

/// Which sessions a verb applies to.
pub(super) struct Verb<'a> {
    /// The usage with a session name.
    usage: &'static str,
    /// The description of matching sessions, as in "no session SUCH".
    such: String,
    fits: &'a dyn Fn(&Known) -> bool,
    /// Preferences among those that fit, the most important first.
    rather: Vec<fn(&Known) -> bool>,
    /// Whether it only shows something, even of untrusted sessions.
    shows: bool,
    /// A candidate that matches and is stored elsewhere.
    beside: Option<Candidate>,
    hint: &'static str,
}

impl<'a> Verb<'a> {
    /// A verb that acts on such sessions. An untrusted one is chosen only if no other matches; then the verb reports
    /// what to do about that.
    pub(super) fn new(
        usage: &'static str,
        such: impl Into<String>,
        fits: &'a dyn Fn(&Known) -> bool,
    ) -> Self {
        let hint = "See what there is with: rapport status --all";
        Self { usage, such: such.into(), fits, rather: Vec::new(), shows: false, beside: None, hint }
    }

    /// A verb that only shows something of such sessions.
    pub(super) fn showing(
        usage: &'static str,
        such: impl Into<String>,
        fits: &'a dyn Fn(&Known) -> bool,
    ) -> Self {
        Self { shows: true, ..Self::new(usage, such, fits) }
    }

    /// Adds a preference among those that fit.
    pub(super) fn rather(mut self, rather: fn(&Known) -> bool) -> Self {
        self.rather.push(rather);
        self
    }

    /// Adds a candidate that is not a session of the project.
    pub(super) fn beside(self, beside: Option<Candidate>) -> Self {
        Self { beside, ..self }
    }

    /// Sets the hint if nothing fits.
    pub(super) fn else_try(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }
}

/// The session that is meant. A verb that does more than show is refused for an untrusted session.
pub(super) fn choose(place: &Workspace, named: Option<&str>, verb: &Verb<'_>) -> Result<SessionId, Failure> {
    let id = choose_any(place, named, verb)?;
    let is_beside = verb.beside.as_ref().is_some_and(|beside| beside.id == id.as_str());
    if !verb.shows && !is_beside {
        check_counts(place, &id)?;
    }
    Ok(id)
}

/// Refuses an untrusted session: nothing is done in it before the person has looked at it.
pub(super) fn check_counts(place: &Workspace, id: &SessionId) -> Outcome {
    known(place, id)?.check_counts()
}

fn choose_any(place: &Workspace, named: Option<&str>, verb: &Verb<'_>) -> Result<SessionId, Failure> {
    if let Some(id) = named_or_around(place, named)? {
        return Ok(id);
    }
    let (mut fitting, damaged) = all(place)?;
    fitting.retain(|known| (verb.fits)(known));
    if !verb.shows && (verb.beside.is_some() || fitting.iter().any(Known::counts)) {
        fitting.retain(Known::counts);
    }
    for rather in &verb.rather {
        if fitting.iter().any(rather) {
            fitting.retain(rather);
        }
    }
    let fitting: Vec<_> = fitting.iter().map(Known::candidate).chain(verb.beside.clone()).collect();
    match fitting.as_slice() {
        [only] => Ok(SessionId::new(&only.id)),
        [] => {
            // A session that cannot be read may be the intended one.
            let none = || {
                let what = format!("there is no session {} in {}", verb.such, place.project.display());
                verb.hint.lines().fold(Failure::new(Code::NotFound, what), Failure::hint)
            };
            Err(damaged.into_iter().next().unwrap_or_else(none))
        }
        several => {
            let what = format!("there are {} sessions {}", several.len(), verb.such);
            let newest = &several[several.len().saturating_sub(MOST_LISTED)..];
            let failure = newest.iter().cloned().fold(Failure::new(Code::Usage, what), Failure::candidate);
            let failure = left_out(failure, several.len() - newest.len());
            Err(failure.hint(format!("Name the one you mean: {}", verb.usage)))
        }
    }
}

/// The named session, else the one around the current directory, if any.
pub(super) fn named_or_around(place: &Workspace, named: Option<&str>) -> Result<Option<SessionId>, Failure> {
    match named {
        Some(name) => by_name(place, name).map(Some),
        None => around(place),
    }
}

/// The session of this name, or the only one whose name contains it.
pub(super) fn by_name(place: &Workspace, name: &str) -> Result<SessionId, Failure> {
    let ids = ids(place)?;
    if let Some(exact) = ids.iter().find(|id| id.as_str() == name) {
        return Ok(exact.clone());
    }
    // An exact name without its date is preferred to a longer name that contains it.
    let is_given = |id: &&SessionId| id.as_str().split_once('-').is_some_and(|(_, given)| given == name);
    if let [only] = ids.iter().filter(is_given).collect::<Vec<_>>().as_slice() {
        return Ok((*only).clone());
    }
    let alike: Vec<_> = ids.into_iter().filter(|id| !name.is_empty() && id.as_str().contains(name)).collect();
    match alike.as_slice() {
        // WORK-22: a lead over MCP knows a session as a task, and its work as a diff.
        [] if lead_ids::session_in(name) != name => by_name(place, lead_ids::session_in(name)),
        [] => Err(StoreError::NotFound(SessionId::new(name)).into()),
        [only] => Ok(only.clone()),
        several => {
            let what = format!("several session names contain {name}");
            // Only the listed sessions are read, because there may be thousands.
            let newest = &several[several.len().saturating_sub(MOST_LISTED)..];
            let known = newest.iter().filter_map(|id| known(place, id).ok());
            let failure = known
                .map(|known| known.candidate())
                .fold(Failure::new(Code::Usage, what), Failure::candidate);
            let failure = left_out(failure, several.len() - newest.len());
            Err(failure.hint("Name one of them, in full or by a unique part."))
        }
    }
}

/// The failure, with the number of further candidates.
fn left_out(failure: Failure, left: usize) -> Failure {
    match left {
        0 => failure,
        left => failure.hint(format!("{left} more are listed by: rapport status --all")),
    }
}

/// The session whose directory, or whose worktree, contains the current directory.
fn around(place: &Workspace) -> Result<Option<SessionId>, Failure> {
    let Ok(here) = std::env::current_dir() else { return Ok(None) };
    let around = place.store().session_at(&here)?.or_else(|| with_worktree(place, &here));
    around.map(|id| by_name(place, id.as_str())).transpose()
}

/// The session whose worktree contains this directory.
fn with_worktree(place: &Workspace, directory: &Path) -> Option<SessionId> {
    let worktrees = config::worktrees(&place.project).canonicalize().ok()?;
    let inside = directory.canonicalize().ok()?;
    Some(SessionId::new(inside.strip_prefix(worktrees).ok()?.iter().next()?.to_str()?))
}

/// All readable sessions, and why others cannot be read.
pub(super) fn all(place: &Workspace) -> Result<(Vec<Known>, Vec<Failure>), Failure> {
    let (mut readable, mut damaged) = (Vec::new(), Vec::new());
    for id in ids(place)? {
        match known(place, &id) {
            Ok(known) => readable.push(known),
            Err(failure) => damaged.push(failure),
        }
    }
    Ok((readable, damaged))
}

/// The names of all sessions, including directories of an older tool without a log.
pub(super) fn ids(place: &Workspace) -> Result<Vec<SessionId>, Failure> {
    let logged = place.store().list()?;
    let folders = place.folders()?;
    let ids: BTreeSet<_> = logged.into_iter().chain(folders.into_iter().map(|folder| folder.id)).collect();
    Ok(ids.into_iter().collect())
}

pub(super) fn known(place: &Workspace, id: &SessionId) -> Result<Known, Failure> {
    let store = place.store();
    let folder = place.folder(id);
    let ((session, seal), logged) = match store.sealed(id, 0) {
        Ok((entries, seal)) => {
            let session = sessions::replay(&store, id, &entries)?;
            let logged = (session.seq(), session.view(id).updated_at);
            match session.created().aim {
                Aim::Files => (workflow::sealed_state(place, &folder)?, Some(logged)),
                Aim::Work | Aim::Progress(_) | Aim::Chat => ((session, seal), Some(logged)),
            }
        }
        Err(StoreError::NotFound(_)) => (workflow::sealed_state(place, &folder)?, None),
        Err(error) => return Err(error.into()),
    };
    let mut view = session.view(id);
    if let Some((seq, updated_at)) = logged {
        // Turns found in its directory are in no log yet.
        (view.seq, view.updated_at) = (seq, updated_at);
    }
    // A session of an older tool has no log, and so no holder.
    let is_held = store.holder(id).ok().flatten().is_some();
    Ok(Known { id: id.clone(), view, session, seal, is_held })
}

impl Known {
    /// Its status in a word or two. A status that needs a process becomes "stopped" if there is none.
    pub(super) fn word(&self) -> &'static str {
        match self.view.status {
            Status::NeedsInput => "needs input",
            Status::Started | Status::Running if !self.is_held => "stopped",
            status => status.as_str(),
        }
    }

    pub(super) fn tone(&self) -> Tone {
        match self.view.status {
            Status::NeedsInput => Tone::Care,
            Status::Started | Status::Running if !self.is_held => Tone::Care,
            Status::Started | Status::Running => Tone::Here,
            Status::Completed => Tone::Good,
            Status::Failed => Tone::Bad,
            Status::Idle | Status::Cancelled => Tone::Dim,
        }
    }

    /// Whether it is trusted.
    pub(super) fn counts(&self) -> bool {
        self.seal.counts()
    }

    /// Refuses it if it is not trusted.
    pub(super) fn check_counts(&self) -> Outcome {
        match &self.seal {
            seal if seal.counts() => Ok(()),
            seal => Err(StoreError::NotOurs { id: self.id.clone(), seal: seal.clone() }.into()),
        }
    }

    /// Whether it can continue.
    pub(super) fn goes_on(&self) -> bool {
        !matches!(self.view.status, Status::Completed | Status::Cancelled)
    }

    /// Whether a process runs it.
    pub(super) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Whether no process runs it.
    pub(super) fn is_free(&self) -> bool {
        !self.is_held
    }

    /// Whether it has turns.
    pub(super) fn has_turns(&self) -> bool {
        self.view.aim == Aim::Files
    }

    fn candidate(&self) -> Candidate {
        let task = self.view.task.lines().next().unwrap_or_default();
        Candidate {
            id: self.id.to_string(),
            status: self.view.status.as_str(),
            word: self.word(),
            task: shorten(&terminal_text::line(task), SHOWN),
            waits_for: self.waits_for(),
        }
    }

    fn waits_for(&self) -> Option<String> {
        let view = &self.view;
        if !self.counts() {
            return Some("somebody to trust it".into());
        }
        if let Some(question) = view.questions.first() {
            let more = match view.questions.len() {
                1 => String::new(),
                several => format!(" and {} more", several - 1),
            };
            return Some(format!(
                "{} {}{more}",
                question.id,
                shorten(&terminal_text::line(&question.text), SHOWN)
            ));
        }
        if let Some(review) = &view.review {
            let what = if review.paused.is_some() { "a decision about its batch" } else { "a review" };
            return Some(format!("{what}, turn {}", terminal_text::line(&review.turn)));
        }
        if let Some(turn) = self.session.reply() {
            return Some(format!(
                "an answer to the agent's reply, turn {}",
                terminal_text::line(&turn.folder)
            ));
        }
        if handover::awaits_decision(view) {
            return Some("apply or discard".into());
        }
        match view.status {
            _ if view.has_failed() => Some("another try".into()),
            Status::Completed | Status::Cancelled => None,
            Status::Failed => Some("another try".into()),
            Status::Idle => Some("a message".into()),
            Status::Started | Status::Running | Status::NeedsInput if self.is_held => None,
            Status::Started | Status::Running | Status::NeedsInput => Some("somebody to resume it".into()),
        }
    }
}
