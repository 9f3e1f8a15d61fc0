//! `rapport trust SESSION`: shows what a log from elsewhere would do, then trusts it exactly as it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport_core::{Aim, Entry, Event, FoundTurns, Input, Session, SessionId, World};
use serde_json::{Value, json};

use super::foreign_preview::Would;
use super::output::{say, say_json};
use super::workflow::{self, prompts};
use super::{Common, screen, session_choice, sessions};
use crate::actions::journal::Journal;
use crate::channels::terminal::terminal_text;
use crate::clock::Clock;
use crate::engine::CONVERSATION;
use crate::error::{Code, Failure, Outcome};
use crate::seals::{Seal, Verifier};
use crate::stores::blocking::{BlockingStore, wait};
use crate::stores::{Holder, InspectedSession, StoreError};
use crate::turns::batches::{self, BatchDir};
use crate::turns::discovery;
use crate::wiring::Workspace;

/// The named session or batch, if there is one.
pub(super) enum Named {
    Session(SessionId),
    Batch(PathBuf),
}

/// Finds a session, else a batch, by name.
pub(super) fn find(place: &Workspace, name: &str) -> Result<Named, Failure> {
    let batch = batches::all(&place.project)?.into_iter().find(|path| batches::name(path) == name);
    match (session_choice::by_name(place, name), batch) {
        (_, Some(batch)) => Ok(Named::Batch(batch)),
        (found, None) => found.map(Named::Session),
    }
}

/// Shows it, and trusts it if the person agrees.
pub(super) fn execute(common: &Common, place: &Workspace, named: Named, yes: bool) -> Outcome {
    let (what, findings) = match named {
        Named::Session(id) => (format!("session {id}"), vec![Finding::session(place, id)?]),
        Named::Batch(path) => {
            (format!("the batch {}", batches::name(&path)), vec![Finding::batch(place, path)?])
        }
    };
    if findings.iter().all(|finding| finding.seal().counts()) {
        return print_findings(
            common,
            &findings,
            &format!("There is nothing to trust: {what} is already trusted."),
        );
    }
    if common.json && !yes {
        return say_json(&findings.iter().map(Finding::json).collect::<Vec<_>>());
    }
    if !common.json {
        findings.iter().try_for_each(Finding::show)?;
    }
    let question = format!("Trust {what}, exactly as it is?");
    let names: Vec<_> = findings.iter().map(|finding| screen::word(&finding.name())).collect();
    let hint = format!("If you have looked at it, say so: rapport trust {} --yes", names.join(" "));
    if yes || ask(common, &question, &hint)? {
        return trust(common, place, &findings);
    }
    print_findings(common, &[], "It is not trusted, and nothing is started for it.")
}

/// Trusts, after one question, everything that was written before entries were signed, or by this person in another
/// checkout.
pub(super) fn all_mine(common: &Common, place: &Workspace, yes: bool) -> Outcome {
    let mut findings = Vec::new();
    // A damaged one must not prevent trusting the others.
    let mut add = |found: Result<Finding, Failure>| match found {
        Ok(finding) => findings.push(finding),
        Err(failure) => failure.print(common.json),
    };
    session_choice::ids(place)?.into_iter().for_each(|id| add(Finding::session(place, id)));
    batches::all(&place.project)?.into_iter().for_each(|path| add(Finding::batch(place, path)));
    let of_sessions: Vec<_> = findings.iter().flat_map(Finding::batches).cloned().collect();
    findings.retain(|finding| {
        let is_alone = !matches!(finding, Finding::Batch { path, .. } if of_sessions.contains(path));
        is_alone && matches!(finding.seal(), Seal::Unsigned | Seal::Elsewhere)
    });
    if findings.is_empty() {
        return print_findings(
            common,
            &[],
            "There is nothing here that was written before entries were signed.",
        );
    }
    if common.json && !yes {
        return say_json(&findings.iter().map(Finding::json).collect::<Vec<_>>());
    }
    if !common.json {
        findings.iter().try_for_each(Finding::brief)?;
    }
    let (these, were) = match findings.len() {
        1 => ("This one".to_owned(), "was"),
        many => (format!("These {many}"), "were"),
    };
    let question = format!(
        "{these} {were} written before entries were signed, or in another checkout. Yours, all of them?"
    );
    if yes || ask(common, &question, "If all of them are yours, say so: rapport trust --all-mine --yes")? {
        return trust(common, place, &findings);
    }
    print_findings(common, &[], "They are not trusted, and nothing is started for them.")
}

fn trust(common: &Common, place: &Workspace, findings: &[Finding]) -> Outcome {
    findings.iter().try_for_each(|finding| finding.trust(place))?;
    print_findings(common, findings, "It is trusted from now on, exactly as it is.")
}

/// Asks whether to trust something. Anything but a yes means no.
fn ask(common: &Common, question: &str, hint: &str) -> Result<bool, Failure> {
    if !prompts::is_possible(common) {
        return Err(Failure::new(Code::Untrusted, "nobody can be asked here whether to trust it").hint(hint));
    }
    Ok(prompts::decision(question)? == Some(true))
}

fn print_findings(common: &Common, findings: &[Finding], words: &str) -> Outcome {
    if common.json {
        let names: Vec<_> = findings.iter().map(Finding::name).collect();
        return say_json(&json!({ "counts": names, "message": words }));
    }
    say(words)
}

/// Something that may be trusted, as it was shown.
enum Finding {
    Session(Box<FoundSession>),
    Batch { path: PathBuf, verifier: Box<Verifier>, story: Vec<String> },
}

/// A session as it was found: its log, and the content of its directory.
struct FoundSession {
    id: SessionId,
    /// Its log; `None` if it came without one.
    inspected: Option<Arc<InspectedSession>>,
    /// The first facts of a new log, if it came without one.
    first: Vec<Event>,
    /// The content of its turns' directories, if some of it is in no trusted log.
    unknown: Option<FoundTurns>,
    seal: Seal,
    would: Would,
    batches: Vec<(PathBuf, Verifier)>,
}

impl FoundSession {
    fn look(place: &Workspace, id: SessionId) -> Result<Self, Failure> {
        let (store, folder) = (place.store(), place.folder(&id));
        let mut found = match store.look(&id) {
            Ok(inspected) => {
                let (seal, inspected) = (inspected.seal.clone(), Some(Arc::new(inspected)));
                Self::with(id, inspected, Vec::new(), seal)
            }
            // A session without a log is not signed.
            Err(StoreError::NotFound(_)) => {
                let first = workflow::first_facts(place, &folder)?;
                Self::with(id, None, first, Seal::Unsigned)
            }
            Err(error) => return Err(error.into()),
        };
        for path in batches::all(&place.project)? {
            if batches::turn_of(&folder.id, &path).is_some() {
                let (_, verifier) = look(&path, place)?;
                found.batches.push((path, verifier));
            }
        }
        let mut session = found.session(&store)?;
        let mut turns = None;
        if session.created().aim == Aim::Files {
            let counted = wait(workflow::found(place, &folder, found.seal.counts()))?;
            found.seal = discovery::seal(found.seal.clone(), &session, &counted);
            // What is trusted as a whole is shown completely.
            let shown = match found.seal.counts() {
                true => counted,
                false => wait(workflow::found(place, &folder, false))?,
            };
            take_in(&mut session, &shown)?;
            turns = Some(shown);
        }
        found.would = Would::of(place, &folder, session, turns.as_ref(), found.attachments())?;
        found.unknown = turns.filter(|_| !found.seal.counts());
        Ok(found)
    }

    fn with(id: SessionId, inspected: Option<Arc<InspectedSession>>, first: Vec<Event>, seal: Seal) -> Self {
        let (unknown, would, batches) = (None, Would::default(), Vec::new());
        Self { id, inspected, first, unknown, seal, would, batches }
    }

    /// The session, from its log or from the first facts of a new one.
    fn session(&self, store: &BlockingStore) -> Result<Session, Failure> {
        let first = Entry { seq: 1, at: Clock::system().now(), facts: self.first.clone() };
        let first = [first];
        let entries =
            self.inspected.as_ref().map_or(first.as_slice(), |inspected| inspected.entries.as_slice());
        Ok(sessions::replay(store, &self.id, entries)?)
    }

    fn attachments(&self) -> &[(String, Vec<u8>)] {
        self.inspected.as_ref().map_or(&[], |inspected| inspected.attachments.as_slice())
    }

    /// Trusts it exactly as it was shown: the log, and the content of the directories, which becomes facts.
    fn trust(&self, place: &Workspace) -> Outcome {
        let (store, seals, now) = (place.store(), place.seals(), Clock::system().now());
        self.batches.iter().try_for_each(|(_, verifier)| seals.trust(verifier, &[]))?;
        match &self.inspected {
            Some(inspected) if inspected.seal.counts() => {}
            Some(inspected) => store.trust(inspected.clone())?,
            None => store.enlist(&self.id, now, self.first.clone())?,
        }
        let Some(found) = &self.unknown else { return Ok(()) };
        let (entries, mut log) = store.hold(&self.id, &Holder::this_process(None))?;
        let session = sessions::replay(&store, &self.id, &entries)?;
        let facts = session.decide(&Input::World(World::Found(found.clone())), now)?;
        if !facts.is_empty() {
            log.append(now, facts)?;
        }
        Ok(())
    }
}

/// Applies the turns that were found to a session.
fn take_in(session: &mut Session, found: &FoundTurns) -> Outcome {
    let now = Clock::system().now();
    let facts = session.decide(&Input::World(World::Found(found.clone())), now)?;
    session.apply_entry(&Entry { seq: session.seq() + 1, at: now, facts });
    Ok(())
}

impl Finding {
    fn session(place: &Workspace, id: SessionId) -> Result<Self, Failure> {
        Ok(Self::Session(Box::new(FoundSession::look(place, id)?)))
    }

    fn batch(place: &Workspace, path: PathBuf) -> Result<Self, Failure> {
        let (facts, verifier) = look(&path, place)?;
        let story = BatchDir { path: path.clone(), facts }.story();
        Ok(Self::Batch { path, verifier: Box::new(verifier), story })
    }

    fn seal(&self) -> Seal {
        match self {
            Self::Session(found) => {
                let of_batches = found.batches.iter().map(|(_, verifier)| verifier.seal());
                let mut seals = std::iter::once(found.seal.clone()).chain(of_batches);
                seals.find(|seal| !seal.counts()).unwrap_or_else(|| found.seal.clone())
            }
            Self::Batch { verifier, .. } => verifier.seal(),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Session(found) => found.id.to_string(),
            Self::Batch { path, .. } => batches::name(path).to_owned(),
        }
    }

    /// The batches that are trusted with it.
    fn batches(&self) -> impl Iterator<Item = &PathBuf> {
        let batches = match self {
            Self::Session(found) => found.batches.as_slice(),
            Self::Batch { .. } => &[],
        };
        batches.iter().map(|(path, _)| path)
    }

    fn trust(&self, place: &Workspace) -> Outcome {
        match self {
            Self::Session(found) => found.trust(place),
            Self::Batch { verifier, .. } => Ok(place.seals().trust(verifier, &[])?),
        }
    }

    fn brief(&self) -> Outcome {
        let does = match self {
            Self::Session(found) => found.would.brief(),
            Self::Batch { story, .. } => format!("a batch of {} actions", story.len()),
        };
        say(format_args!("{}  {}", terminal_text::line(&self.name()), terminal_text::line(&does)))
    }

    fn show(&self) -> Outcome {
        say(format_args!(
            "{} {}",
            terminal_text::line(&self.name()),
            terminal_text::line(&self.seal().to_string())
        ))?;
        for (label, lines) in self.parts() {
            for line in lines {
                say(format_args!("  {label:<12} {}", terminal_text::line(&line)))?;
            }
        }
        Ok(())
    }

    /// Its displayed parts, with labels.
    fn parts(&self) -> Vec<(&'static str, Vec<String>)> {
        let found = match self {
            Self::Session(found) => found,
            Self::Batch { story, .. } => return vec![("did", story.clone())],
        };
        let (would, batches) = (&found.would, &found.batches);
        let nothing = || vec!["nothing by itself".to_owned()];
        let kept = found.attachments().iter().filter(|(name, _)| name.starts_with(CONVERSATION));
        let kept = kept.map(|(name, content)| format!("{name}, {} bytes", content.len()));
        vec![
            ("task", vec![would.task.clone()]),
            ("program", would.program.iter().cloned().collect()),
            ("would do", if would.at_once.is_empty() { nothing() } else { would.at_once.clone() }),
            ("allowed", would.allowed.clone()),
            ("in a plan", would.planned.clone()),
            ("is told", would.told.clone()),
            ("conversation", kept.collect()),
            ("continues", would.pending.clone()),
            ("writes to", would.origin.iter().cloned().collect()),
            ("batch", batches.iter().map(|(path, _)| batches::name(path).to_owned()).collect()),
        ]
    }

    fn json(&self) -> Value {
        let parts: serde_json::Map<_, _> =
            self.parts().into_iter().map(|(label, lines)| (label.replace(' ', "_"), json!(lines))).collect();
        json!({ "name": self.name(), "sealed": self.seal().word(), "shows": parts })
    }
}

fn look(batch: &Path, place: &Workspace) -> Result<(Vec<crate::actions::journal::Fact>, Verifier), Failure> {
    Journal::look(batch, &place.seals()).map_err(|error| Failure::new(Code::Store, error.to_string()))
}
