//! Branches at a question: another session in which the question is open again, for `rapport branch` and for channels
//! in which people overrule a lead.

use std::path::Path;
use std::sync::Arc;

use rapport_core::{
    Branch, BranchPoint, ConversationId, Destination, QuestionId, Session, SessionId, StateWanted, slug,
};

use crate::agents::{Cut, Whereabouts};
use crate::clock::{self, Clock};
use crate::config::{self, AgentLayer, Layer};
use crate::engine::CONVERSATION;
use crate::error::{Code, Failure};
use crate::stores::blocking::BlockingStore;
use crate::wiring::{self, SessionKind, Workspace};
use crate::workers::local::Directory;
use crate::workers::worktrees::{self, WorktreeStart, Worktrees};
use crate::workers::{Worker as _, WorkerError};

/// The maximum length of the task in the branch's name, so that the rest of the name fits.
const NAME: usize = 48;

/// A session in which a question of another one is open again.
pub(crate) struct Branched {
    pub(crate) session: SessionId,
    pub(crate) origin: BranchPoint,
    /// The directory of its worktree.
    pub(crate) worktree: String,
}

/// Opens a question of a session again, with the agent that the session has.
pub(crate) fn open_again(
    place: &Workspace,
    origin: &SessionId,
    question: &QuestionId,
) -> Result<Branched, Failure> {
    let store = BlockingStore::from(wiring::faulty(place.store_in(&SessionKind::Sessions)));
    make(place, &store, origin, question, None)
}

/// Opens a question again in another session. Creates the worktree first and the session last, as a whole: an interruption leaves no session, and at most a
/// reserved name with an unused worktree, which `rapport discard` removes. A failure removes what was created.
pub(crate) fn make(
    place: &Workspace,
    store: &BlockingStore,
    origin: &SessionId,
    at: &QuestionId,
    agent: Option<&str>,
) -> Result<Branched, Failure> {
    let entries = store.counted(origin, 0)?;
    let session = store.replay(origin, &entries)?;
    let branch = Branch::at(&entries, at)?;
    let name = &session.created().worker;
    if place.worker_kinds.is_wall(name) {
        let what = format!("a session in a {name} cannot be branched: the branch would not be confined");
        return Err(Failure::new(Code::Refused, what)
            .hint(format!("Begin another with the same task and the worker {name}")));
    }
    let project = Path::new(&branch.project);
    let workplace = place.workers().find(origin, session.created()).map_err(failed)?;
    let workplace = workplace.unwrap_or_else(|| Arc::new(Directory::at(project)));
    let state = match &branch.state {
        StateWanted::Noted(state) => state.clone(),
        StateWanted::AsItIs => match workplace.snapshot().map_err(failed)? {
            Some(state) => state,
            None => return Err(failed(WorkerError::NoRepository { directory: project.to_owned() })),
        },
    };
    let now = Clock::system().now();
    let task = slug::part(&session.view(origin).task);
    let reserved = store.reserve(&format!("{}-branch", &task[..task.len().min(NAME)]), now)?;
    let id = reserved.id().clone();
    let worktrees = Worktrees::new(config::worktrees(&place.project));
    let start = WorktreeStart { base: branch.base.clone().unwrap_or_else(|| state.clone()), state };
    let worktree = worktrees.make_at(&id, &place.project, &start).map_err(failed)?;
    let worktree = worktree.directory().to_string_lossy().into_owned();
    let destination = Destination {
        origin: BranchPoint::at_question(origin.clone(), branch.question().clone()),
        project: place.project.to_string_lossy().into_owned(),
        worker: worktrees::NAME.into(),
        conversation: clock::new_conversation(),
    };
    let whereabouts = [&*workplace.directory().to_string_lossy(), &worktree];
    let filled = conversation(place, store, agent, (&session, &branch), &destination, whereabouts).and_then(
        |conversation| {
            let entries = branch.entries(&destination, now);
            Ok(reserved.fill(&entries, &[(CONVERSATION, &conversation)])?)
        },
    );
    if let Err(failure) = filled {
        // `rapport doctor` lists what cannot be removed.
        let _ = worktrees.remove(&id, &place.project);
        return Err(failure);
    }
    Ok(Branched { session: id, worktree, origin: destination.origin })
}

/// The conversation of the branch: from the agent's own copy, else from the stored one.
fn conversation(
    place: &Workspace,
    store: &BlockingStore,
    agent: Option<&str>,
    (session, branch): (&Session, &Branch),
    to: &Destination,
    [from_directory, to_directory]: [&str; 2],
) -> Result<Vec<u8>, Failure> {
    let layer = AgentLayer { command: agent.map(str::to_owned), ..AgentLayer::default() };
    let settings = place.settings(Layer { agent: layer, ..Layer::default() })?;
    let agents = wiring::agents(place, &settings)?;
    let agent = agents.find(session.agent()).map_err(|why| Failure::new(Code::Refused, why))?;
    let Some(conversations) = agent.conversations() else {
        return Err(Failure::new(Code::Refused, "this agent cannot begin in the middle of a conversation"));
    };
    let branched = conversations.branch(&Cut {
        call: &branch.call,
        is_waited_for: branch.is_waited_for,
        from: Whereabouts { conversation: &branch.conversation, directory: from_directory },
        to: Whereabouts { conversation: &to.conversation, directory: to_directory },
        kept: store.attached(&to.origin.session, CONVERSATION)?,
    })?;
    branched.ok_or_else(|| not_told(&branch.conversation, branch.question()))
}

fn not_told(conversation: &ConversationId, question: &QuestionId) -> Failure {
    let why = format!("the agent's conversation {conversation} is gone, or does not have that question");
    Failure::new(Code::Refused, format!("cannot branch at {question}: {why}"))
        .hint("If its agent is run with another command now, name that: --agent COMMAND")
}

fn failed(error: WorkerError) -> Failure {
    let message = format!("cannot make a worktree for the branch: {error}");
    match error {
        WorkerError::NoRepository { .. } | WorkerError::NoCommit { .. } => Failure::new(Code::Refused, message)
            .hint("Branches are kept apart by git. Put the project into a repository: git init && git add --all && git commit -m Begin"),
        WorkerError::FilesElsewhere { .. } => Failure::new(Code::Refused, message)
            .hint("If you did not set that, remove it: git config --unset core.worktree"),
        WorkerError::RepositoryElsewhere { .. } => Failure::new(Code::Refused, message),
        WorkerError::StateGone { .. } => Failure::new(Code::Refused, message)
            .hint("Git removes what nothing refers to after two weeks, or when `git gc --prune` is run."),
        _ => Failure::new(Code::Trouble, message),
    }
}
