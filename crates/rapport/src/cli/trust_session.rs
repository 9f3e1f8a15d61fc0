//! `rapport trust SESSION`: look at what a log from elsewhere would do, then let it count, just as it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport_core::{ActionPlan, Entry, Input, Part, Purpose, Session, SessionId, Want, World};
use serde_json::{Value, json};

use super::files::asking;
use super::output::{say, say_json};
use super::{Common, choose, screen, sessions};
use crate::actions::journal::Journal;
use crate::channels::terminal::safe;
use crate::clock::Clock;
use crate::config::Layer;
use crate::engine::CONVERSATION;
use crate::error::{Code, Failure, Outcome};
use crate::seals::{Seal, Seals, Verifier};
use crate::stores::Looked;
use crate::stores::blocking::{BlockingStore, wait};
use crate::turns::batches::{self, BatchDir};
use crate::turns::{Folder, PLAN, REPORT};
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
    place.store().list()?.into_iter().for_each(|id| add(Finding::session(place, id)));
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
    let (store, seals) = (place.store(), place.seals());
    for finding in findings {
        finding.trust(&store, &seals)?;
    }
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
    Session { id: SessionId, looked: Arc<Looked>, would: Would, batches: Vec<(PathBuf, Verifier)> },
    Batch { path: PathBuf, verifier: Verifier, story: Vec<String> },
}

/// What a session would do.
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
    /// The calls that its agent would continue with.
    pending: Vec<String>,
    origin: Option<String>,
}

impl Finding {
    fn session(place: &Place, id: SessionId) -> Result<Self, Failure> {
        let store = place.store();
        let looked = Arc::new(store.look(&id)?);
        let session = sessions::replay(&store, &id, &looked.entries)?;
        let folder = place.folder(&id);
        let mut batches = Vec::new();
        for path in batches::all(&place.project)? {
            if batches::turn_of(&folder.id, &path).is_some() {
                let (_, verifier) = look(&path, place)?;
                batches.push((path, verifier));
            }
        }
        let would = Would {
            task: session.created().task.clone(),
            program: session.created().agent.as_ref().map(|agent| agent.command.join(" ")),
            at_once: at_once(session.clone(), &looked.entries),
            allowed: allowed(&session),
            planned: planned(&folder)?,
            pending: pending(place, &session, &looked)?,
            origin: session.created().origin.as_ref().map(|at| format!("{} {}", at.channel, at.key)),
        };
        Ok(Self::Session { id, looked, would, batches })
    }

    fn batch(place: &Place, path: PathBuf) -> Result<Self, Failure> {
        let (facts, verifier) = look(&path, place)?;
        let story = BatchDir { path: path.clone(), facts }.story();
        Ok(Self::Batch { path, verifier, story })
    }

    fn seal(&self) -> Seal {
        match self {
            Self::Session { looked, batches, .. } => {
                let worst = batches.iter().map(|(_, verifier)| verifier.seal()).find(|seal| !seal.counts());
                Some(looked.seal.clone())
                    .filter(|seal| !seal.counts())
                    .or(worst)
                    .unwrap_or_else(|| looked.seal.clone())
            }
            Self::Batch { verifier, .. } => verifier.seal(),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Session { id, .. } => id.to_string(),
            Self::Batch { path, .. } => batches::name(path).to_owned(),
        }
    }

    /// The batches that are trusted with it.
    fn batches(&self) -> impl Iterator<Item = &PathBuf> {
        let batches = match self {
            Self::Session { batches, .. } => batches.as_slice(),
            Self::Batch { .. } => &[],
        };
        batches.iter().map(|(path, _)| path)
    }

    fn trust(&self, store: &BlockingStore, seals: &Seals) -> Outcome {
        match self {
            Self::Session { looked, batches, .. } => {
                batches.iter().try_for_each(|(_, verifier)| seals.trust(verifier, &[]))?;
                Ok(store.trust(looked.clone())?)
            }
            Self::Batch { verifier, .. } => Ok(seals.trust(verifier, &[])?),
        }
    }

    fn brief(&self) -> Outcome {
        let does = match self {
            Self::Session { would, .. } if would.at_once.is_empty() => "starts nothing by itself".to_owned(),
            Self::Session { would, .. } => would.at_once.join("; "),
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
        let Self::Session { looked, would, batches, .. } = self else {
            let Self::Batch { story, .. } = self else { return Vec::new() };
            return vec![("did", story.clone())];
        };
        let nothing = || vec!["nothing by itself".to_owned()];
        let kept =
            looked.attachments.iter().map(|(name, content)| format!("{name}, {} bytes", content.len()));
        vec![
            ("task", vec![would.task.clone()]),
            ("program", would.program.iter().cloned().collect()),
            ("would do", if would.at_once.is_empty() { nothing() } else { would.at_once.clone() }),
            ("allowed", would.allowed.clone()),
            ("in a plan", would.planned.clone()),
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
fn at_once(mut session: Session, entries: &[Entry]) -> Vec<String> {
    let now = Clock::system().now();
    if let Ok(facts) = session.decide(&Input::World(World::Lost), now) {
        let seq = entries.last().map_or(0, |entry| entry.seq) + 1;
        session.apply_entry(&Entry { seq, at: now, facts });
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
fn pending(place: &Place, session: &Session, looked: &Looked) -> Result<Vec<String>, Failure> {
    let kept = looked.attachments.iter().filter(|(name, _)| name.starts_with(CONVERSATION));
    let agents = wiring::agents(place, &place.settings(Layer::default())?)?;
    // A log of somebody else may name an agent that there is none of here; nothing of it would be started either.
    let Ok(agent) = agents.find(session.agent()) else { return Ok(Vec::new()) };
    let Some(conversations) = agent.conversations() else { return Ok(Vec::new()) };
    Ok(kept.flat_map(|(_, content)| conversations.pending(content)).collect())
}

/// What plans would do that were not carried out yet.
fn planned(folder: &Folder) -> Result<Vec<String>, Failure> {
    let mut planned = Vec::new();
    for turn in wait(folder.turns())? {
        if !turn.has(PLAN) || turn.has(REPORT) {
            continue;
        }
        let source = wait(turn.text(PLAN))?.unwrap_or_default();
        let plan = ActionPlan::parse(&source);
        let actions = plan.iter().flat_map(|plan| &plan.actions);
        planned.extend(actions.map(|action| format!("{}: {}", turn.name, action.kind.in_brief())));
    }
    Ok(planned)
}
