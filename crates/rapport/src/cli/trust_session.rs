//! `rapport trust SESSION`: look at what a log from elsewhere would do, then let it count, just as it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport_core::{
    ActionPlan, Aim, Entry, Event, FileTurn, FoundTurn, FoundTurns, Input, Part, Purpose, Session, SessionId,
    TurnStage, Want, World,
};
use serde_json::{Value, json};

use super::files::{self, asking, sessions_of, told};
use super::output::{say, say_json};
use super::{Common, choose, screen, sessions};
use crate::actions::journal::Journal;
use crate::channels::terminal::safe;
use crate::clock::Clock;
use crate::config::Layer;
use crate::engine::CONVERSATION;
use crate::error::{Code, Failure, Outcome};
use crate::seals::{Seal, Verifier};
use crate::stores::blocking::BlockingStore;
use crate::stores::{Holder, Looked, StoreError};
use crate::turns::batches::{self, BatchDir};
use crate::turns::{CONTEXT_LOG, Folder, found, text};
use crate::wiring::{self, Place};

/// The session or batch that is meant, if there is one of that name.
pub(super) enum Named {
    Session(SessionId),
    Batch(PathBuf),
}

/// Finds what is meant by a name: a session, else a batch.
pub(super) fn find(place: &Place, name: &str) -> Result<Named, Failure> {
    let batch = batches::all(&place.project)?.into_iter().find(|path| batches::name(path) == name);
    match (choose::by_name(place, name), batch) {
        (_, Some(batch)) => Ok(Named::Batch(batch)),
        (found, None) => found.map(Named::Session),
    }
}

/// Shows what is meant, and lets it count if the person says so.
pub(super) fn execute(common: &Common, place: &Place, named: Named, yes: bool) -> Outcome {
    let (what, findings) = match named {
        Named::Session(id) => (format!("session {id}"), vec![Finding::session(place, id)?]),
        Named::Batch(path) => {
            (format!("the batch {}", batches::name(&path)), vec![Finding::batch(place, path)?])
        }
    };
    if findings.iter().all(|finding| finding.seal().counts()) {
        return told(common, &findings, &format!("There is nothing to trust: {what} counts already."));
    }
    if common.json && !yes {
        return say_json(&findings.iter().map(Finding::json).collect::<Vec<_>>());
    }
    if !common.json {
        findings.iter().try_for_each(Finding::show)?;
    }
    let question = format!("Let {what} count, just as it is?");
    let names: Vec<_> = findings.iter().map(|finding| screen::word(&finding.name())).collect();
    let hint = format!("If you have looked at it, say so: rapport trust {} --yes", names.join(" "));
    if yes || ask(common, &question, &hint)? {
        return trust(common, place, &findings);
    }
    told(common, &[], "It does not count, and nothing is started for it.")
}

/// Takes over with one question all that was written before entries were signed, or by this person in another checkout.
pub(super) fn all_mine(common: &Common, place: &Place, yes: bool) -> Outcome {
    let mut findings = Vec::new();
    // One that is damaged must not keep the others from being taken over.
    let mut add = |found: Result<Finding, Failure>| match found {
        Ok(finding) => findings.push(finding),
        Err(failure) => failure.print(common.json),
    };
    choose::ids(place)?.into_iter().for_each(|id| add(Finding::session(place, id)));
    batches::all(&place.project)?.into_iter().for_each(|path| add(Finding::batch(place, path)));
    let of_sessions: Vec<_> = findings.iter().flat_map(Finding::batches).cloned().collect();
    findings.retain(|finding| {
        let is_alone = !matches!(finding, Finding::Batch { path, .. } if of_sessions.contains(path));
        is_alone && matches!(finding.seal(), Seal::Unsigned | Seal::Elsewhere)
    });
    if findings.is_empty() {
        return told(common, &[], "There is nothing here that was written before entries were signed.");
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
    told(common, &[], "They do not count, and nothing is started for them.")
}

fn trust(common: &Common, place: &Place, findings: &[Finding]) -> Outcome {
    findings.iter().try_for_each(|finding| finding.trust(place))?;
    told(common, findings, "It counts from now on, just as it is.")
}

/// Asks whether something counts. Nothing but a yes is one.
fn ask(common: &Common, question: &str, hint: &str) -> Result<bool, Failure> {
    if !asking::is_possible(common) {
        return Err(Failure::new(Code::Untrusted, "nobody can be asked here whether it counts").hint(hint));
    }
    Ok(asking::decision(question)? == Some(true))
}

fn told(common: &Common, findings: &[Finding], words: &str) -> Outcome {
    if common.json {
        let names: Vec<_> = findings.iter().map(Finding::name).collect();
        return say_json(&json!({ "counts": names, "message": words }));
    }
    say(words)
}

/// Something that may be trusted, as it was when it was looked at.
enum Finding {
    Session(Box<FoundSession>),
    Batch { path: PathBuf, verifier: Verifier, story: Vec<String> },
}

/// A session as it was found: its log, and what is in its directory.
struct FoundSession {
    id: SessionId,
    /// Its log; nothing where it came without one.
    looked: Option<Arc<Looked>>,
    /// What a log of its own begins with, where it came without one.
    first: Vec<Event>,
    /// What is in the directories of its turns, where something of that is in no log that counts.
    unknown: Option<FoundTurns>,
    seal: Seal,
    would: Would,
    batches: Vec<(PathBuf, Verifier)>,
}

/// What a session would do.
#[derive(Default)]
struct Would {
    task: String,
    /// The program that its log names as its agent.
    program: Option<String>,
    /// What happens as soon as it is taken up, line by line.
    at_once: Vec<String>,
    /// What its log says was allowed.
    allowed: Vec<String>,
    /// What its plans would do that nobody has run yet.
    planned: Vec<String>,
    /// What its agent would be told for turns that wait to be planned.
    told: Vec<String>,
    /// The calls that its agent would continue with.
    pending: Vec<String>,
    origin: Option<String>,
}

impl FoundSession {
    fn look(place: &Place, id: SessionId) -> Result<Self, Failure> {
        let (store, folder) = (place.store(), Folder::new(&sessions_of(place), &id));
        let mut found = match store.look(&id) {
            Ok(looked) => {
                let (seal, looked) = (looked.seal.clone(), Some(Arc::new(looked)));
                Self::with(id, looked, Vec::new(), seal)
            }
            // Nobody signed what has no log.
            Err(StoreError::NotFound(_)) => {
                let first = files::first_facts(place, &folder)?;
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
        if session.created().aim == Aim::Files {
            let counted = files::found(place, &folder, found.seal.counts())?;
            found.seal = found::seal(found.seal.clone(), &session, &counted);
            // What is trusted as a whole is shown as it says.
            let turns =
                if found.seal.counts() { counted } else { files::found(place, &folder, false)? };
            take_in(&mut session, &turns)?;
            found.would.told = contexts(&folder, &session, &turns)?;
            found.unknown = Some(turns).filter(|_| !found.seal.counts());
        }
        found.would = Would {
            task: session.created().task.clone(),
            program: session.created().agent.as_ref().map(|agent| agent.command.join(" ")),
            allowed: allowed(&session),
            planned: planned(&session),
            told: std::mem::take(&mut found.would.told),
            pending: pending(place, &session, found.attachments())?,
            origin: session.created().origin.as_ref().map(|at| format!("{} {}", at.channel, at.key)),
            at_once: at_once(session),
        };
        Ok(found)
    }

    fn with(id: SessionId, looked: Option<Arc<Looked>>, first: Vec<Event>, seal: Seal) -> Self {
        let (unknown, would, batches) = (None, Would::default(), Vec::new());
        Self { id, looked, first, unknown, seal, would, batches }
    }

    /// The session, from its log or from what that would begin with.
    fn session(&self, store: &BlockingStore) -> Result<Session, Failure> {
        let first = Entry { seq: 1, at: Clock::system().now(), facts: self.first.clone() };
        let first = [first];
        let entries = self.looked.as_ref().map_or(first.as_slice(), |looked| looked.entries.as_slice());
        Ok(sessions::replay(store, &self.id, entries)?)
    }

    fn attachments(&self) -> &[(String, Vec<u8>)] {
        self.looked.as_ref().map_or(&[], |looked| looked.attachments.as_slice())
    }

    /// Lets it count, just as it was looked at: the log, and what is in the directories as facts in it.
    fn trust(&self, place: &Place) -> Outcome {
        let (store, seals, now) = (place.store(), place.seals(), Clock::system().now());
        self.batches.iter().try_for_each(|(_, verifier)| seals.trust(verifier, &[]))?;
        match &self.looked {
            Some(looked) if looked.seal.counts() => {}
            Some(looked) => store.trust(looked.clone())?,
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

/// Has a session know what was found of its turns.
fn take_in(session: &mut Session, found: &FoundTurns) -> Outcome {
    let now = Clock::system().now();
    let facts = session.decide(&Input::World(World::Found(found.clone())), now)?;
    session.apply_entry(&Entry { seq: session.seq() + 1, at: now, facts });
    Ok(())
}

impl Finding {
    fn session(place: &Place, id: SessionId) -> Result<Self, Failure> {
        Ok(Self::Session(Box::new(FoundSession::look(place, id)?)))
    }

    fn batch(place: &Place, path: PathBuf) -> Result<Self, Failure> {
        let (facts, verifier) = look(&path, place)?;
        let story = BatchDir { path: path.clone(), facts }.story();
        Ok(Self::Batch { path, verifier, story })
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

    fn trust(&self, place: &Place) -> Outcome {
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
        say(format_args!("{}  {}", safe::line(&self.name()), safe::line(&does)))
    }

    fn show(&self) -> Outcome {
        say(format_args!("{} {}", safe::line(&self.name()), safe::line(&self.seal().to_string())))?;
        for (label, lines) in self.parts() {
            for line in lines {
                say(format_args!("  {label:<12} {}", safe::line(&line)))?;
            }
        }
        Ok(())
    }

    /// What is shown of it, each part with its label.
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

fn look(batch: &Path, place: &Place) -> Result<(Vec<crate::actions::journal::Fact>, Verifier), Failure> {
    Journal::look(batch, &place.seals()).map_err(|error| Failure::new(Code::Store, error.to_string()))
}

/// What happens as soon as somebody takes the session up.
fn at_once(mut session: Session) -> Vec<String> {
    let now = Clock::system().now();
    if let Ok(facts) = session.decide(&Input::World(World::Lost), now) {
        session.apply_entry(&Entry { seq: session.seq() + 1, at: now, facts });
    }
    session.wants().into_iter().flat_map(words).collect()
}

fn words(want: Want) -> Vec<String> {
    match want {
        Want::AgentRunning(order) => {
            let told = order.prompt.lines().next().unwrap_or_default().to_owned();
            let start = format!("starts the agent: {told}");
            let replies = order.replies.into_iter().map(|(_, reply)| reply_words(reply));
            std::iter::once(start).chain(replies).collect()
        }
        Want::Replied { reply, .. } => vec![reply_words(reply)],
        Want::Granted { rule, .. } => vec![format!("allows the agent from now on, in this project: {rule}")],
        Want::HostsAllowed(hosts) => vec![format!("lets the agent reach: {}", hosts.join(", "))],
        Want::Merged { .. } | Want::Applied { .. } => vec!["puts its work into the project".to_owned()],
        Want::WorkUndone(_) => vec!["undoes its work in the project".to_owned()],
        Want::Cleared => vec!["removes its worktree".to_owned()],
        Want::PlanSaved(_) => vec!["writes a plan".to_owned()],
        Want::Filed { path, .. } => vec![format!("writes {path}")],
        Want::PlanChecked { folder, .. } => vec![format!("looks at the plan of turn {folder}")],
        Want::BatchRunning(order) => vec![format!("runs what was approved of turn {}", order.folder)],
        Want::ActionReplied { .. } => Vec::new(),
        Want::ReportFiled { folder, .. } => vec![format!("writes the report of turn {folder}")],
        Want::Undone { batch, .. } => vec![format!("undoes batch {batch}")],
        Want::QuestionRound(_) => vec!["asks a model for questions".to_owned()],
        Want::Baseline(_)
        | Want::Snapshot(_)
        | Want::WorkLeft
        | Want::AgentParked { .. }
        | Want::Report { .. } => Vec::new(),
    }
}

fn reply_words(reply: rapport_core::CallReply) -> String {
    use rapport_core::CallReply::{Allow, Answers, Deny, Elicited};
    match reply {
        Allow { asked, .. } => format!("allows the agent: {asked}"),
        Elicited { .. } => "answers a server of the agent".to_owned(),
        Deny { asked, .. } => format!("denies the agent: {asked}"),
        Answers(told) => {
            let answers = told.iter().map(|told| format!("{} -> {}", told.question, told.answer));
            format!("answers the agent: {}", answers.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The permissions that the log says were given, whether or not they are used up, and the hosts that may be reached.
fn allowed(session: &Session) -> Vec<String> {
    let items = session.rounds().flat_map(|round| round.items);
    let words = items.filter_map(|item| {
        let Purpose::Permission(asked) = &item.question.purpose else { return None };
        let (answer, by) = item.given?;
        let words: Vec<_> = answer.values.iter().chain(&answer.text).map(String::as_str).collect();
        let command = asked.parts.iter().find_map(|part| match part {
            Part::Command(command) => Some(command),
            _ => None,
        });
        let (tool, what) = (&asked.tool, command.unwrap_or(&asked.what));
        Some(format!("{tool}: {what} -> {} (it says by {by})", words.join(", ")))
    });
    let hosts = session.allowed_hosts().iter().map(|host| format!("to reach {host}"));
    words.chain(hosts).collect()
}

/// What the agent would continue with, from the conversation that is kept with the session.
fn pending(
    place: &Place,
    session: &Session,
    attachments: &[(String, Vec<u8>)],
) -> Result<Vec<String>, Failure> {
    let kept = attachments.iter().filter(|(name, _)| name.starts_with(CONVERSATION));
    let agents = wiring::agents(place, &place.settings(Layer::default())?)?;
    // A log of somebody else may name an agent that there is none of here; nothing of it would be started either.
    let Ok(agent) = agents.find(session.agent()) else { return Ok(Vec::new()) };
    let Some(conversations) = agent.conversations() else { return Ok(Vec::new()) };
    Ok(kept.flat_map(|(_, content)| conversations.pending(content)).collect())
}

/// What plans would do that were not carried out yet.
fn planned(session: &Session) -> Vec<String> {
    let waits = |turn: &&FileTurn| matches!(turn.stage, TurnStage::Planned | TurnStage::Paused);
    let planned = session.file_turns().iter().filter(waits).flat_map(|turn| {
        let source = turn.plan.as_ref().map_or("", |plan| plan.text.as_str());
        match ActionPlan::parse(source) {
            Ok(plan) => plan
                .actions
                .iter()
                .map(|action| format!("{}: {}", turn.folder, action.kind.in_brief()))
                .collect(),
            Err(_) => vec![format!("{}: a plan that cannot be read", turn.folder)],
        }
    });
    planned.collect()
}

/// What the agent would be told for turns that wait to be planned: the message, and how much beside it.
fn contexts(folder: &Folder, session: &Session, found: &FoundTurns) -> Result<Vec<String>, Failure> {
    let waits = |stage: &TurnStage| {
        matches!(stage, TurnStage::Unplanned { is_ready: true } | TurnStage::Drafting)
    };
    let mut lines = Vec::new();
    for turn in session.file_turns().iter().filter(|turn| waits(&turn.stage)) {
        let directory = folder.turn(&turn.folder)?;
        let path = directory.file(CONTEXT_LOG);
        let Some(log) = text(&path)? else { continue };
        let is_looked_at = |found: &FoundTurn| found.folder == turn.folder && found.shown.is_some();
        let looked_at = found.turns.iter().find(|found| is_looked_at(found));
        if looked_at.is_some_and(|found| found.shown != Some(rapport_durable::digest(log.as_bytes()))) {
            let what = format!("{} was changed while it was looked at", path.display());
            return Err(Failure::new(Code::Refused, what).hint("Look again with the same command."));
        }
        let message = told::message_to(&directory)?.unwrap_or_default();
        let shown = message.lines().map(|line| format!("{}: {line}", turn.folder));
        lines.extend(shown.collect::<Vec<_>>());
        let beside = format!("{}: with {} bytes in all, in {}", turn.folder, log.len(), path.display());
        lines.push(beside);
    }
    Ok(lines)
}

impl Would {
    /// What matters most of it, in a line.
    fn brief(&self) -> String {
        let planned = self.planned.iter().map(|action| format!("plans {action}"));
        let does: Vec<_> = self.at_once.iter().cloned().chain(planned).collect();
        match (does.is_empty(), self.told.is_empty()) {
            (true, true) => "starts nothing by itself".to_owned(),
            (true, false) => "has an agent plan what it is told".to_owned(),
            (false, _) => does.join("; "),
        }
    }
}
