//! What an untrusted session would do. A person is shown this before they decide to trust it.

use rapport_core::{
    ActionPlan, Entry, FileTurn, FoundTurn, FoundTurns, Input, Part, Purpose, Session, TurnStage, Want, World,
};
use rapport_durable as durable;

use crate::clock::Clock;
use crate::config::Layer;
use crate::engine::CONVERSATION;
use crate::error::{Code, Failure};
use crate::stores::blocking::wait;
use crate::turns::{CONTEXT_LOG, Folder, preparation};
use crate::wiring::{self, Workspace};

/// How many steps ahead to look.
const MOST_STEPS: usize = 4;

/// What a session would do.
#[derive(Default)]
pub(super) struct Would {
    pub(super) task: String,
    /// The program that its log names as its agent.
    pub(super) program: Option<String>,
    /// What happens as soon as it is resumed, line by line.
    pub(super) at_once: Vec<String>,
    /// The permissions and hosts that its log says were allowed.
    pub(super) allowed: Vec<String>,
    /// What its plans would do that have not been run.
    pub(super) planned: Vec<String>,
    /// What its agent would be told for turns that wait to be planned.
    pub(super) told: Vec<String>,
    /// The calls that its agent would continue with.
    pub(super) pending: Vec<String>,
    pub(super) origin: Option<String>,
}

impl Would {
    /// What this session would do, given the turns in its directories and the data attached to it.
    pub(super) fn of(
        place: &Workspace,
        folder: &Folder,
        session: Session,
        found: Option<&FoundTurns>,
        attachments: &[(String, Vec<u8>)],
    ) -> Result<Self, Failure> {
        Ok(Self {
            task: session.created().task.clone(),
            program: session.created().agent.as_ref().map(|agent| agent.command.join(" ")),
            allowed: allowed(&session),
            planned: planned(&session),
            told: found.map_or_else(|| Ok(Vec::new()), |found| contexts(folder, &session, found))?,
            pending: pending(place, &session, attachments)?,
            origin: session.created().origin.as_ref().map(|at| format!("{} {}", at.channel, at.key)),
            at_once: at_once(session),
        })
    }

    /// A summary in one line.
    pub(super) fn brief(&self) -> String {
        let planned = self.planned.iter().map(|action| format!("plans {action}"));
        let does: Vec<_> = self.at_once.iter().cloned().chain(planned).collect();
        match (does.is_empty(), self.told.is_empty()) {
            (true, true) => "starts nothing by itself".to_owned(),
            (true, false) => "has an agent plan what it is told".to_owned(),
            (false, _) => does.join("; "),
        }
    }
}

/// What happens as soon as the session is resumed, including what follows without a person.
fn at_once(mut session: Session) -> Vec<String> {
    let now = Clock::system().now();
    let mut lines = Vec::new();
    let mut next = Some(World::Lost);
    // Before an agent runs, its plan is saved and the state before the work recorded, each once.
    for _ in 0..MOST_STEPS {
        let Some(world) = next.take() else { break };
        if let Ok(facts) = session.decide(&Input::World(world), now) {
            session.apply_entry(&Entry { seq: session.seq() + 1, at: now, facts });
        }
        let wants = session.wants();
        next = wants.iter().find_map(prepared);
        for line in wants.into_iter().flat_map(words) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// The result of a want that needs no person, so that the preview can look further ahead.
fn prepared(want: &Want) -> Option<World> {
    match want {
        Want::Baseline(turn) => Some(World::Baseline { turn: *turn, baseline: None }),
        Want::PlanSaved(file) => Some(World::PlanSaved { revision: file.revision, path: file.path.clone() }),
        _ => None,
    }
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
        Want::AnswerRuled { text, .. } => {
            vec![format!("answers from now on, in this project, always the same to: {text}")]
        }
        Want::LeadInformed { lead, .. } => vec![format!("tells the lead {lead} how its work ended")],
        Want::LeadTold { lead, question } => vec![format!("asks the lead {lead} about {question}")],
        Want::HostsAllowed(hosts) => vec![format!("lets the agent reach: {}", hosts.join(", "))],
        Want::Merged { .. } | Want::Applied { .. } => vec!["puts its work into the project".to_owned()],
        Want::WorkUndone(_) => vec!["undoes its work in the project".to_owned()],
        Want::Checked { command, .. } => vec![format!("runs a command that checks its work: {command}")],
        Want::Cleared => vec!["removes its worktree".to_owned()],
        Want::PlanSaved(_) => vec!["writes a plan".to_owned()],
        Want::Filed { path, .. } => vec![format!("writes {path}")],
        Want::TurnPrepared(next) => vec![format!("has the agent plan again, and tells it: {}", next.answer)],
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
        | Want::LeadReleased { .. }
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

/// The calls that the agent would continue with, from the conversation that is stored with the session.
fn pending(
    place: &Workspace,
    session: &Session,
    attachments: &[(String, Vec<u8>)],
) -> Result<Vec<String>, Failure> {
    let kept = attachments.iter().filter(|(name, _)| name.starts_with(CONVERSATION));
    let agents = wiring::agents(place, &place.settings(Layer::default())?)?;
    // The log of another person may name an agent that does not exist here; then nothing would be started.
    let Ok(agent) = agents.find(session.agent()) else { return Ok(Vec::new()) };
    let Some(conversations) = agent.conversations() else { return Ok(Vec::new()) };
    Ok(kept.flat_map(|(_, content)| conversations.pending(content)).collect())
}

/// What the plans would do that have not been run.
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

/// What the agent would be told for turns that wait to be planned: the message, and the size of the rest.
fn contexts(folder: &Folder, session: &Session, found: &FoundTurns) -> Result<Vec<String>, Failure> {
    let waits =
        |stage: &TurnStage| matches!(stage, TurnStage::Unplanned { is_ready: true } | TurnStage::Planning);
    let mut lines = Vec::new();
    for turn in session.file_turns().iter().filter(|turn| waits(&turn.stage)) {
        let documents = wait(folder.turn(&turn.folder))?;
        let place = documents.place(CONTEXT_LOG);
        let Some(log) = wait(documents.text(CONTEXT_LOG))? else { continue };
        let is_looked_at = |found: &FoundTurn| found.folder == turn.folder && found.shown.is_some();
        let looked_at = found.turns.iter().find(|found| is_looked_at(found));
        if looked_at.is_some_and(|found| found.shown != Some(durable::digest(log.as_bytes()))) {
            let what = format!("{place} was changed while it was looked at");
            return Err(Failure::new(Code::Refused, what).hint("Look again with the same command."));
        }
        let message = wait(preparation::message_to(&documents))?.unwrap_or_default();
        let shown = message.lines().map(|line| format!("{}: {line}", turn.folder));
        lines.extend(shown.collect::<Vec<_>>());
        let beside = format!("{}: with {} bytes in all, in {place}", turn.folder, log.len());
        lines.push(beside);
    }
    Ok(lines)
}
