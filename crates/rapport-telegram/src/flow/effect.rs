//! What the chat state takes in and what it wants done. Both are plain data, so a step can be tested without a network, a
//! clock or a disk. `outbound` executes effects and brings their results back as inputs.

use std::path::PathBuf;

use rapport_core::{Act, Aim, By, Entry, QuestionRound, Rule, Seed, SessionId};
use rapport_door::{Content, DoorError, NewFile, Seen};

use super::button::Tag;
use super::cards::CardKey;
use super::incoming::{FileRef, Incoming, What};
use super::messages::Visit;
use crate::api_error::ApiError;
use crate::notice::Notice;
use crate::outgoing::{Outgoing, Sent};
use crate::room::Room;
use crate::users::Paired;

/// An update of Telegram that is being handled. [`Effect::Finish`] says that it cannot be lost any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket(pub(super) u64);

/// Something that happened.
#[derive(Debug)]
pub(super) enum Input {
    /// Somebody wrote, gave a command or tapped a button.
    Update(Box<Incoming>, Ticket),
    /// The bot may write in a chat again.
    Opened(i64),
    /// A group became a supergroup, which is another chat.
    Moved { from: i64, to: i64 },
    /// At the start: the log of one of the sessions there are.
    Found(SessionId, Result<Vec<Entry>, DoorError>),
    /// At the start: all sessions were found.
    AllFound,
    /// A session went on, in this process or in another one.
    Seen(Seen),
    /// The part of a log that was asked for.
    Read(SessionId, Vec<Entry>),
    /// A session cannot be read or run here.
    Unfollowed(SessionId, DoorError),
    /// The sessions cannot be listed.
    Unlisted(DoorError),
    /// Messages arrived or were not taken: one result for each, in order.
    Sent(AfterSend, Vec<Result<Sent, ApiError>>),
    /// Operations on sessions are durable, or one was not taken and the rest left out.
    Operated(AfterOps, Result<(), DoorError>),
    /// Something that belongs to a session was read.
    Content(AfterContent, Result<Vec<u8>, DoorError>),
    /// The rules of the project, or why they cannot be read.
    Rules(AfterRules, Result<Vec<Rule>, DoorError>),
    /// The files of a message are here, or could not be fetched, and why.
    Fetched(Box<AfterFetch>, Result<Vec<NewFile>, String>),
    /// What somebody said in a voice message, or why nobody could listen to it.
    Heard(Box<AfterHear>, Result<String, String>),
    /// The file of users holds somebody who sent the code, or cannot be written.
    UserAdded(NewUser, Result<(), String>),
    /// A few seconds have passed. A pairing code may be made of these random bytes.
    Tick { chance: [u8; 8] },
    /// [`super::chat_state::ChatState::deadline`] has passed.
    DeadlinePassed,
    /// The channel is about to stop.
    Stopping,
}

/// Something to be done outside.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Queue messages for a chat, in order. The results come back as [`Input::Sent`] if `then` is given.
    Send { chat: i64, messages: Vec<Outgoing>, then: Option<AfterSend> },
    /// Answer the tap on a button.
    AnswerTap { query: String, words: String },
    /// Carry out operations, one after the other. [`Input::Operated`] follows.
    Operate { by: By, ops: Vec<SessionOp>, then: AfterOps },
    /// Read a log after this entry. [`Input::Read`] follows if there is anything, [`Input::Unfollowed`] where it cannot be read.
    Read { session: SessionId, after: u64 },
    /// Read every log from its beginning. [`Input::Found`] follows for each, then [`Input::AllFound`].
    ReadAll,
    /// Read something that belongs to a session. [`Input::Content`] follows.
    ReadContent { session: SessionId, content: Content, then: AfterContent },
    /// Read the rules of the project. [`Input::Rules`] follows.
    ReadRules(AfterRules),
    /// Take a rule of the project back. [`Input::Operated`] follows.
    Forget { rule: Rule, then: AfterOps },
    /// Fetch the files of a message. [`Input::Fetched`] follows.
    Fetch { files: Vec<FileRef>, then: Box<AfterFetch> },
    /// Listen to a voice message. [`Input::Heard`] follows.
    Hear { voice: NewFile, then: Box<AfterHear> },
    /// Run a session in this process, unless another one does. [`Input::Unfollowed`] follows where it cannot be run.
    Resume(SessionId),
    /// Run a session here no longer, unless something still goes on in it.
    Release(SessionId),
    /// Append a line to the file of notes.
    Note(String),
    /// Replace a file, or remove it where there is no content.
    Write { path: PathBuf, content: Option<Vec<u8>> },
    /// Add somebody to the file of users, durably. [`Input::UserAdded`] follows.
    AddUser(NewUser),
    /// Tell the host.
    Notify(Notice),
    /// An update cannot be lost any more.
    Finish(Ticket),
}

/// What sent messages were for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AfterSend {
    /// One that shows a card.
    Card(CardKey),
    /// One that asks for words of one's own.
    Prompt(CardKey),
    /// What has to arrive before a card.
    Before(CardKey),
    /// Edits that take the buttons of a card away.
    Close(CardKey),
    /// What an entry of a session means.
    Announce { session: SessionId, seq: u64 },
    /// The message that says what an agent is doing.
    Progress(SessionId),
}

/// What operations were for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AfterOps {
    /// Somebody asked for them, in a room. A tap is thanked when they are durable.
    Request { room: Room, ticket: Ticket, thanks: Option<Thanks> },
    /// A turn of a conversation becomes a planned task; the entry that ended the turn.
    Grow { room: Room, session: SessionId, seq: u64 },
    /// Nobody waits for them.
    Nothing,
}

/// What content was read for: somebody wants to see it in a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterContent {
    pub(super) room: Room,
    pub(super) ticket: Ticket,
    pub(super) form: ContentForm,
}

/// How content is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContentForm {
    /// As Markdown.
    Markdown,
    /// As it is, below a title; as a file of this name where it is long.
    Block { title: String, file: &'static str },
    /// As a file, with this said about it.
    File { caption: String, file: String },
}

/// What files are fetched for: what somebody did with the message that they came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterFetch {
    pub(super) visit: Visit,
    pub(super) what: What,
    /// Whether it is to be listened to.
    pub(super) is_voice: bool,
}

/// What the rules of the project are read for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AfterRules {
    /// Somebody wants to see what is allowed.
    List(Box<Visit>),
    /// Somebody no longer allows the rule with this tag.
    Revoke { room: Room, by: u64, message: Option<i32>, thanks: Thanks, ticket: Ticket, tag: Tag },
}

/// The voice message that is listened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AfterHear {
    pub(super) visit: Visit,
    /// The message it replies to.
    pub(super) reply_to: Option<i32>,
}

/// The tap to answer, and what is said then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thanks {
    pub(super) query: String,
    pub(super) words: String,
}

/// Something to be done in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionOp {
    /// In one that is there.
    Act(SessionId, Act),
    /// The same, with files that its words came with.
    ActWithFiles(SessionId, Act, Vec<NewFile>),
    /// In one that is there, but what follows is done even if the session does not take it.
    TryAct(SessionId, Act),
    /// In one that is not there yet, perhaps with its first questions.
    Create(Box<NewSession>, Option<QuestionRound>),
}

/// What somebody wants a session for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewSession {
    /// What is to be done, or what is said first.
    pub(super) task: String,
    /// Whether it is to be done or talked about.
    pub(super) aim: Aim,
    pub(super) room: Room,
    pub(super) owner: u64,
    /// The update that asked for it: a kill may have the same one come again.
    pub(super) request: Option<String>,
    /// The turn of a conversation it came from.
    pub(super) grown_from: Option<Seed>,
    /// The files that came with the words.
    pub(super) files: Vec<NewFile>,
}

/// Somebody who sent the code, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewUser {
    pub(super) user: Paired,
    pub(super) room: Room,
    pub(super) ticket: Ticket,
}
