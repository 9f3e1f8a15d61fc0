//! The inputs and effects of the chat state. Both are plain data, so a step can be tested without a network, a clock or
//! a disk. `outbound` executes effects and returns their results as inputs.

use std::path::PathBuf;

use jiff::Timestamp;
use rapport_core::{Act, Aim, By, Digest, Entry, QuestionId, QuestionRound, Rule, Seed, SessionId};
use rapport_door::{Content, DoorError, KnownProject, LoadedProject, NewFile, Seen};

use super::button::Tag;
use super::cards::CardKey;
use super::incoming::{FileRef, Incoming, What};
use super::messages::Visit;
use super::projects::Project;
use crate::api_error::ApiError;
use crate::notice::Notice;
use crate::outgoing::{Outgoing, Sent};
use crate::room::Room;
use crate::users::Paired;

/// The handle of a Telegram update that is being handled. [`Effect::Finish`] marks the update as safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket(pub(super) u64);

/// An input of the chat state.
#[derive(Debug)]
pub(super) enum Input {
    /// A person wrote a message, gave a command or tapped a button.
    Update(Box<Incoming>, Ticket),
    /// The bot may write in a chat again.
    Opened(i64),
    /// A group became a supergroup, which has another chat id.
    Moved { from: i64, to: i64 },
    /// A person created a topic of this name, or renamed it.
    TopicNamed { room: Room, by: u64, name: String },
    /// At the start: the log of one session, or why it cannot be read.
    Found(SessionId, Result<Vec<Entry>, DoorError>),
    /// At the start: all sessions were found.
    AllFound,
    /// A session has new entries, in this process or in another one.
    Seen(Seen),
    /// The requested part of a log.
    Read(SessionId, Vec<Entry>),
    /// A session cannot be read or run here.
    Unfollowed(SessionId, DoorError),
    /// The sessions cannot be listed.
    Unlisted(DoorError),
    /// Messages arrived or failed: one result for each, in order.
    Sent(AfterSend, Vec<Result<Sent, ApiError>>),
    /// Operations on sessions are durable, or one was refused and the rest skipped.
    Operated(AfterOps, Result<(), DoorError>),
    /// The requested content of a session.
    Content(AfterContent, Result<Vec<u8>, DoorError>),
    /// The changes of a session as a diff. This entry of the session is its end, which is to be announced.
    Changes { session: SessionId, seq: u64, diff: Result<Vec<u8>, DoorError> },
    /// How many other sessions are at work in the directory of this one.
    Beside(SessionId, usize),
    /// The rules of the project, or why they cannot be read.
    Rules(AfterRules, Result<Vec<Rule>, DoorError>),
    /// The reply to a request about known projects, or why it was refused.
    Projects(AfterProjects, Result<ProjectsReply, String>),
    /// What leads did, or why that cannot be read.
    Digest(AfterDigest, Result<Digest, DoorError>),
    /// The branch in which a question is open again, or why there is none.
    Branched(AfterBranch, Result<SessionId, String>),
    /// The files of a message, or why they cannot be fetched.
    Fetched(Box<AfterFetch>, Result<Vec<NewFile>, String>),
    /// The transcription of a voice message, or why it failed.
    Heard(Box<AfterHear>, Result<String, String>),
    /// A new user was added to the file of users, or the file could not be written.
    UserAdded(NewUser, Result<(), String>),
    /// A few seconds have passed. The random bytes are for a pairing code.
    Tick { chance: [u8; 8] },
    /// [`super::chat_state::ChatState::deadline`] has passed.
    DeadlinePassed,
    /// The channel is stopping.
    Stopping,
}

/// An action that the chat state wants, and that `outbound` executes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Queue messages for a chat, in order. The results come back as [`Input::Sent`] if `then` is given.
    Send { chat: i64, messages: Vec<Outgoing>, then: Option<AfterSend> },
    /// Acknowledge a message by a reaction to it.
    React { chat: i64, message: i32 },
    /// Answer a callback query.
    AnswerTap { query: String, words: String },
    /// Execute operations in order. [`Input::Operated`] follows.
    Operate { by: By, ops: Vec<SessionOp>, then: AfterOps },
    /// Read a log after this entry. [`Input::Read`] follows if there are newer entries, [`Input::Unfollowed`] on
    /// failure.
    Read { session: SessionId, after: u64 },
    /// Read every log from its beginning. [`Input::Found`] follows for each, then [`Input::AllFound`].
    ReadAll,
    /// Read content of a session. [`Input::Content`] follows.
    ReadContent { session: SessionId, content: Content, then: AfterContent },
    /// Read the changes of a session whose end is to be announced. [`Input::Changes`] follows.
    ReadChanges { session: SessionId, seq: u64 },
    /// Find out how many other sessions are at work in the directory of this one. [`Input::Beside`] follows, unless the
    /// number cannot be determined.
    LookBeside(SessionId),
    /// Read the rules of the project in this directory. [`Input::Rules`] follows.
    ReadRules { project: String, then: AfterRules },
    /// Revoke a rule of the project in this directory. [`Input::Operated`] follows.
    Forget { project: String, rule: Rule, then: AfterOps },
    /// Make a request about known projects in a person's name. [`Input::Projects`] follows.
    AskProjects { by: By, request: ProjectsRequest, then: AfterProjects },
    /// Read what leads did since this time. [`Input::Digest`] follows.
    ReadDigest { since: Timestamp, then: AfterDigest },
    /// Open a question of a session of the project in this directory again in a branch, and run the branch.
    /// [`Input::Branched`] follows.
    Branch { project: String, session: SessionId, question: QuestionId, then: AfterBranch },
    /// Fetch the files of a message. [`Input::Fetched`] follows.
    Fetch { files: Vec<FileRef>, then: Box<AfterFetch> },
    /// Transcribe a voice message. [`Input::Heard`] follows.
    Hear { voice: NewFile, then: Box<AfterHear> },
    /// Run a session in this process, unless another one does. [`Input::Unfollowed`] follows on failure.
    Resume(SessionId),
    /// Stop running a session in this process, unless something in it is still in progress.
    Release(SessionId),
    /// Append a line to the file of notes.
    Note(String),
    /// Replace a file, or remove it if there is no content.
    Write { path: PathBuf, content: Option<Vec<u8>> },
    /// Add a user to the file of users, durably. [`Input::UserAdded`] follows.
    AddUser(NewUser),
    /// Send the host a notice.
    Notify(Notice),
    /// Mark an update as safe.
    Finish(Ticket),
}

/// What to do after messages were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AfterSend {
    /// A message that shows a card.
    Card(CardKey),
    /// A message that asks for free text.
    Prompt(CardKey),
    /// A message that asks what to change about finished work.
    RevisionPrompt(Room),
    /// The text that has to arrive before a card.
    Before(CardKey),
    /// Edits that replace a closed card and remove its buttons.
    Close(CardKey),
    /// The announcement of a session's entry.
    Announce { session: SessionId, seq: u64 },
    /// The message about an agent's activity.
    Progress(SessionId),
    /// An edit of the message about an agent's activity.
    ProgressEdit(SessionId),
}

/// What to do after operations on sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AfterOps {
    /// A person's request in a room. The tap is confirmed when the operations are durable.
    Request {
        room: Room,
        ticket: Ticket,
        thanks: Option<Thanks>,
        /// The further effect of the person's message, if it has one.
        becomes: Option<Becomes>,
    },
    /// A turn of a conversation becomes a planned task; `seq` is the entry that ended the turn.
    Grow {
        room: Room,
        session: SessionId,
        seq: u64,
    },
    Nothing,
}

/// The room in which a person wants to see content, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterContent {
    pub(super) room: Room,
    pub(super) ticket: Ticket,
    pub(super) form: ContentForm,
    /// The tag of the work that waits for a decision, if the content is the changes of that work.
    pub(super) work: Option<Tag>,
}

/// The form in which content is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContentForm {
    Markdown,
    /// Verbatim below a title, or as a file of this name if the content is long.
    Block {
        title: String,
        file: &'static str,
    },
    /// As a file, with this caption.
    File {
        caption: String,
        file: String,
    },
}

/// The name of the file with a session's changes.
pub(super) const CHANGES: &str = "changes.diff";

impl ContentForm {
    /// Whether the content is a session's changes, which may be empty.
    pub(super) fn is_changes(&self) -> bool {
        matches!(self, Self::Block { file: CHANGES, .. })
    }
}

/// A request about the projects that Rapport knows, served or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProjectsRequest {
    List,
    /// Explores the project in this directory.
    Explore(String),
    Register {
        name: String,
        path: String,
    },
    Unregister(String),
    /// Proposes something to learn about the project in this directory, which came from this session.
    Propose {
        project: String,
        text: String,
        from: String,
    },
    /// Keeps or declines the proposal with this tag, in one of the projects in these directories.
    Decide {
        projects: Vec<String>,
        tag: Tag,
        keeps: bool,
    },
}

/// The reply to such a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ProjectsReply {
    Listed(Vec<KnownProject>),
    Explored(Box<LoadedProject>),
    Registered(Box<LoadedProject>),
    Unregistered(String),
    /// The id and the text of a proposal for the project in this directory; `None` if it was known or declined before.
    Proposed(String, Option<(String, String)>),
    /// The text of the proposal that was kept or declined, if there was one.
    Decided {
        text: Option<String>,
        keeps: bool,
    },
}

/// The room in which a person wants to see the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterProjects {
    pub(super) room: Room,
    /// The update that the request finishes; `None` if something else does.
    pub(super) ticket: Option<Ticket>,
}

/// What a person wants of a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AfterDigest {
    /// To see it in this room.
    Show { room: Room, by: u64, ticket: Ticket },
    /// To overrule the answer with this tag.
    Overrule { room: Room, by: u64, ticket: Ticket, tag: Tag },
}

/// The room in which a person opened a question again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterBranch {
    pub(super) room: Room,
    pub(super) ticket: Ticket,
    /// The text of the question.
    pub(super) question: String,
}

/// The message whose files are being fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterFetch {
    pub(super) visit: Visit,
    pub(super) what: What,
    /// Whether the file is a voice message, which is transcribed.
    pub(super) is_voice: bool,
}

/// What to do with the rules of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AfterRules {
    /// A person wants to see the rules.
    List(Box<Visit>),
    /// A person revokes the rule with this tag.
    Revoke(Box<Revoking>),
}

/// A rule that a person revokes. It is looked for in one project after the other, because the tapped list may be of
/// another project than the current one of the room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Revoking {
    pub(super) room: Room,
    pub(super) by: u64,
    pub(super) message: Option<i32>,
    pub(super) thanks: Thanks,
    pub(super) ticket: Ticket,
    pub(super) tag: Tag,
    /// The project whose rules are read.
    pub(super) project: Project,
    /// The projects that are searched after it.
    pub(super) others: Vec<Project>,
}

/// The voice message that is being transcribed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterHear {
    pub(super) visit: Visit,
    /// The message that the voice message replies to.
    pub(super) reply_to: Option<i32>,
}

/// The further effect of a person's message once its operations are durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    Answer(TypedAnswer),
    /// The message revises the work about which its room was asked.
    Revision,
    /// The message waits for an agent that is at work. The person sees a reaction to it.
    Queued {
        message: i32,
    },
    /// The person is told this.
    Told(String),
}

/// A message whose text became the answer to a question. An edit of the message changes the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypedAnswer {
    pub(super) message: i32,
    pub(super) card: CardKey,
}

/// A callback query to answer, and the words of that answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thanks {
    pub(super) query: String,
    pub(super) words: String,
}

/// An operation on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionOp {
    /// Acts in an existing session.
    Act(SessionId, Act),
    /// Acts in an existing session, with the files of the message.
    ActWithFiles(SessionId, Act, Vec<NewFile>),
    /// Acts in an existing session. The following operations are executed even if this one is refused.
    TryAct(SessionId, Act),
    /// Creates a session, optionally with its first questions.
    Create(Box<NewSession>, Option<QuestionRound>),
}

/// A session to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewSession {
    /// The task, or the first message of a conversation.
    pub(super) task: String,
    pub(super) aim: Aim,
    /// The directory of the project.
    pub(super) project: String,
    pub(super) room: Room,
    pub(super) owner: u64,
    /// Whether the owner is not the person whose machine this is.
    pub(super) is_of_other_user: bool,
    /// The update that asked for it, for de-duplication after a kill.
    pub(super) request: Option<String>,
    /// The turn of a conversation from which the session grew.
    pub(super) grown_from: Option<Seed>,
    /// The files of the message.
    pub(super) files: Vec<NewFile>,
    pub(super) start: SessionStart,
}

/// How a session begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionStart {
    /// As a planned task or a conversation, by its aim.
    Usual,
    /// As a conversation that leads.
    Lead,
    /// As work without planning. Its agent's questions go to this lead first, if there is one.
    Quick { lead: Option<SessionId>, worktree: bool },
}

/// A user who sent the pairing code, and the room where they did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewUser {
    pub(super) user: Paired,
    pub(super) room: Room,
    pub(super) ticket: Ticket,
}
