//! The inputs and effects of the chat state. Both are plain data, so a step can be tested without a network, a clock or
//! a disk. `outbound` executes effects and returns their results as inputs.

use std::path::PathBuf;

use rapport_core::{Act, Aim, By, Entry, QuestionRound, Rule, Seed, SessionId};
use rapport_door::{Content, DoorError, NewFile, Seen};

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

/// An update of Telegram that is being handled. [`Effect::Finish`] marks it as safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket(pub(super) u64);

/// An input of the chat state.
#[derive(Debug)]
pub(super) enum Input {
    /// Somebody wrote, gave a command or tapped a button.
    Update(Box<Incoming>, Ticket),
    /// The bot may write in a chat again.
    Opened(i64),
    /// A group became a supergroup, which is another chat.
    Moved { from: i64, to: i64 },
    /// Somebody made a topic of this name, or gave it this name.
    TopicNamed { room: Room, by: u64, name: String },
    /// At the start: the log of one session.
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
    /// The changes of a session whose end, in this entry, is to be announced, as a diff.
    Changes { session: SessionId, seq: u64, diff: Result<Vec<u8>, DoorError> },
    /// How many other sessions are at work in the directory of this one.
    Beside(SessionId, usize),
    /// The rules of the project, or why they cannot be read.
    Rules(AfterRules, Result<Vec<Rule>, DoorError>),
    /// The files of a message, or why they could not be fetched.
    Fetched(Box<AfterFetch>, Result<Vec<NewFile>, String>),
    /// The transcription of a voice message, or why there is none.
    Heard(Box<AfterHear>, Result<String, String>),
    /// A new user was added to the file of users, or it could not be written.
    UserAdded(NewUser, Result<(), String>),
    /// A few seconds have passed. The random bytes are for a pairing code.
    Tick { chance: [u8; 8] },
    /// [`super::chat_state::ChatState::deadline`] has passed.
    DeadlinePassed,
    /// The channel is stopping.
    Stopping,
}

/// An action outside of the chat state.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Queue messages for a chat, in order. The results come back as [`Input::Sent`] if `then` is given.
    Send { chat: i64, messages: Vec<Outgoing>, then: Option<AfterSend> },
    /// Show that a message was received, by a reaction to it.
    React { chat: i64, message: i32 },
    /// Answer a callback query.
    AnswerTap { query: String, words: String },
    /// Execute operations in order. [`Input::Operated`] follows.
    Operate { by: By, ops: Vec<SessionOp>, then: AfterOps },
    /// Read a log after this entry. [`Input::Read`] follows if there is anything, [`Input::Unfollowed`] on failure.
    Read { session: SessionId, after: u64 },
    /// Read every log from its beginning. [`Input::Found`] follows for each, then [`Input::AllFound`].
    ReadAll,
    /// Read content of a session. [`Input::Content`] follows.
    ReadContent { session: SessionId, content: Content, then: AfterContent },
    /// Read the changes of a session whose end is to be announced. [`Input::Changes`] follows.
    ReadChanges { session: SessionId, seq: u64 },
    /// Find out how many other sessions are at work in the directory of this one. [`Input::Beside`] follows, unless that
    /// cannot be known.
    LookBeside(SessionId),
    /// Read the rules of the project in this directory. [`Input::Rules`] follows.
    ReadRules { project: String, then: AfterRules },
    /// Revoke a rule of that project. [`Input::Operated`] follows.
    Forget { project: String, rule: Rule, then: AfterOps },
    /// Fetch the files of a message. [`Input::Fetched`] follows.
    Fetch { files: Vec<FileRef>, then: Box<AfterFetch> },
    /// Transcribe a voice message. [`Input::Heard`] follows.
    Hear { voice: NewFile, then: Box<AfterHear> },
    /// Run a session in this process, unless another one does. [`Input::Unfollowed`] follows on failure.
    Resume(SessionId),
    /// Stop running a session in this process, unless something is still in progress.
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

/// What sent messages were for.
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
    /// Edits that remove the buttons of a card.
    Close(CardKey),
    /// The announcement of a session's entry.
    Announce { session: SessionId, seq: u64 },
    /// The message about an agent's activity.
    Progress(SessionId),
    /// An edit of that message.
    ProgressEdit(SessionId),
}

/// What operations were for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AfterOps {
    /// A person's request in a room. The tap is confirmed when they are durable.
    Request {
        room: Room,
        ticket: Ticket,
        thanks: Option<Thanks>,
        /// What the person's message becomes, if more than that.
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

/// What content was read for: a person wants to see it in a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterContent {
    pub(super) room: Room,
    pub(super) ticket: Ticket,
    pub(super) form: ContentForm,
    /// The work that waits for a decision, if these are its changes.
    pub(super) work: Option<Tag>,
}

/// The form in which content is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContentForm {
    Markdown,
    /// Verbatim, below a title; as a file of this name if it is long.
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
    /// Whether it is a session's changes, of which there may be none yet.
    pub(super) fn is_changes(&self) -> bool {
        matches!(self, Self::Block { file: CHANGES, .. })
    }
}

/// What files are fetched for: the message that they came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterFetch {
    pub(super) visit: Visit,
    pub(super) what: What,
    /// Whether it is to be transcribed.
    pub(super) is_voice: bool,
}

/// What the rules of the project are read for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AfterRules {
    /// A person wants to see the rules.
    List(Box<Visit>),
    /// A person revokes the rule with this tag.
    Revoke(Box<Revoking>),
}

/// A rule that a person revokes, which is looked for in one project after the other: the list that was tapped may be of another
/// one than the room is about now.
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
    /// Those that are looked at after it.
    pub(super) others: Vec<Project>,
}

/// The voice message that is being transcribed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterHear {
    pub(super) visit: Visit,
    /// The message it replies to.
    pub(super) reply_to: Option<i32>,
}

/// What a person's message becomes once it is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    Answer(TypedAnswer),
    /// It revises the work about which its room was asked.
    Revision,
    /// It waits for an agent that is at work. The person sees that it was received.
    Queued {
        message: i32,
    },
}

/// A message whose text became the answer to a question. If it is edited, so is the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypedAnswer {
    pub(super) message: i32,
    pub(super) card: CardKey,
}

/// The callback query to answer, and the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thanks {
    pub(super) query: String,
    pub(super) words: String,
}

/// An operation on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionOp {
    /// In an existing session.
    Act(SessionId, Act),
    /// The same, with the files of the message.
    ActWithFiles(SessionId, Act, Vec<NewFile>),
    /// In an existing session; the following operations are executed even if it is refused.
    TryAct(SessionId, Act),
    /// Creates a session, optionally with its first questions.
    Create(Box<NewSession>, Option<QuestionRound>),
}

/// A session to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewSession {
    /// Its task, or its first message.
    pub(super) task: String,
    pub(super) aim: Aim,
    /// The directory of its project.
    pub(super) project: String,
    pub(super) room: Room,
    pub(super) owner: u64,
    /// The update that asked for it, for de-duplication after a kill.
    pub(super) request: Option<String>,
    /// The turn of the conversation that it came from.
    pub(super) grown_from: Option<Seed>,
    /// The files of the message.
    pub(super) files: Vec<NewFile>,
}

/// A user who sent the pairing code, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewUser {
    pub(super) user: Paired,
    pub(super) room: Room,
    pub(super) ticket: Ticket,
}
