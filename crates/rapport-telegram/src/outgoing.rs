//! The jobs for a chat, and the API call for each.

use crate::bot_api::{
    ChatAction, InlineKeyboardMarkup, LinkPreviewOptions, MessageEntity, ReplyMarkup, ReplyParameters,
};
use crate::bot_api::{
    DeleteMessageParams, EditMessageReplyMarkupParams, EditMessageTextParams, SendChatActionParams,
    SendMessageParams,
};
use futures_util::future::BoxFuture;

use super::api::{Api, Document};
use super::api_error::ApiError;
use super::text::Text;

/// A job for a chat.
#[derive(Clone, Debug, PartialEq)]
pub enum Outgoing {
    Message(OutgoingMessage),
    /// A new message of low priority. It is dropped if it would have to wait or could delay other messages.
    Aside(OutgoingMessage),
    /// A new text and new buttons for a message.
    Edit(Edit),
    /// The same for a progress message, with low priority.
    Progress(Edit),
    /// New buttons for a message, or none.
    Buttons {
        message: i32,
        keyboard: Option<InlineKeyboardMarkup>,
    },
    Document(Document),
    /// A chat action such as "typing". It is dropped if anything is queued, because it would be shown too late.
    Action {
        action: ChatAction,
        /// The topic in which the action is shown.
        thread: Option<i32>,
    },
    /// Deletes a message.
    Delete {
        message: i32,
    },
}

/// New messages, or edits of existing ones. Each kind has its own queue and its own rates, so that a new card never
/// waits behind edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Post,
    Edit,
}

impl Kind {
    /// Both kinds, the more urgent one first.
    pub const ALL: [Self; 2] = [Self::Post, Self::Edit];
}

impl Outgoing {
    /// The same job without a sound.
    #[must_use]
    pub fn silently(self) -> Self {
        match self {
            Self::Message(message) => Self::Message(OutgoingMessage { silent: true, ..message }),
            Self::Aside(message) => Self::Aside(OutgoingMessage { silent: true, ..message }),
            Self::Document(document) => Self::Document(Document { silent: true, ..document }),
            change @ (Self::Edit(_)
            | Self::Progress(_)
            | Self::Buttons { .. }
            | Self::Action { .. }
            | Self::Delete { .. }) => change,
        }
    }

    pub fn kind(&self) -> Kind {
        match self {
            Self::Message(_) | Self::Aside(_) | Self::Document(_) | Self::Action { .. } => Kind::Post,
            Self::Edit(_) | Self::Progress(_) | Self::Buttons { .. } | Self::Delete { .. } => Kind::Edit,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutgoingMessage {
    pub text: String,
    pub entities: Vec<MessageEntity>,
    /// The buttons below the message, or a request to reply.
    pub keyboard: Option<ReplyMarkup>,
    /// The topic to which the message is sent.
    pub thread: Option<i32>,
    /// The message that this one replies to. If that message no longer exists, this one is sent anyway.
    pub reply_to: Option<i32>,
    /// Whether to send it without a sound.
    pub silent: bool,
}

/// The new content of a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edit {
    pub message: i32,
    pub text: String,
    pub entities: Vec<MessageEntity>,
    /// The new buttons; without them, the message loses its buttons.
    pub keyboard: Option<InlineKeyboardMarkup>,
}

/// The outcome of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// A message with this id was posted.
    Posted(i32),
    /// The message has the requested content.
    Done,
    /// The job was dropped, because it would have come too late.
    Dropped,
}

impl OutgoingMessage {
    /// A message of this text.
    pub fn new(text: &Text) -> Self {
        let (text, entities) = text.finish();
        Self { text, entities, ..Self::default() }
    }
}

impl Edit {
    /// An edit that gives this message this text.
    pub fn new(message: i32, text: &Text) -> Self {
        let (text, entities) = text.finish();
        Self { message, text, entities, keyboard: None }
    }
}

/// Executes jobs, one API call each. Tests replace it.
pub trait Deliver: Send + Sync + 'static {
    /// Executes a job for a chat.
    fn deliver<'a>(&'a self, chat: i64, what: &'a Outgoing) -> BoxFuture<'a, Result<Sent, ApiError>>;
}

impl Deliver for Api {
    fn deliver<'a>(&'a self, chat: i64, what: &'a Outgoing) -> BoxFuture<'a, Result<Sent, ApiError>> {
        Box::pin(async move {
            let sent = deliver(self, chat, what).await;
            let Err(ApiError::TopicGone(_)) = sent else { return sent };
            match beside_topic(what) {
                // The message may be a question, so it is sent to the chat outside of its topic, rather than not at
                // all.
                Some(beside) => deliver(self, chat, &beside).await,
                None => sent,
            }
        })
    }
}

/// A job for a topic, redirected to the chat as a whole.
fn beside_topic(what: &Outgoing) -> Option<Outgoing> {
    match what {
        Outgoing::Message(message) if message.thread.is_some() => {
            Some(Outgoing::Message(OutgoingMessage { thread: None, reply_to: None, ..message.clone() }))
        }
        Outgoing::Document(document) if document.thread.is_some() => {
            Some(Outgoing::Document(Document { thread: None, ..document.clone() }))
        }
        Outgoing::Message(_)
        | Outgoing::Aside(_)
        | Outgoing::Edit(_)
        | Outgoing::Progress(_)
        | Outgoing::Buttons { .. }
        | Outgoing::Document(_)
        | Outgoing::Action { .. }
        | Outgoing::Delete { .. } => None,
    }
}

async fn deliver(api: &Api, chat: i64, what: &Outgoing) -> Result<Sent, ApiError> {
    match what {
        Outgoing::Message(message) | Outgoing::Aside(message) => {
            api.send_message(&send(chat, message)).await.map(|posted| Sent::Posted(posted.message_id))
        }
        Outgoing::Edit(wanted) | Outgoing::Progress(wanted) => {
            api.edit_message_text(&edit(chat, wanted)).await.map(|()| Sent::Done)
        }
        Outgoing::Buttons { message, keyboard } => {
            let reply_markup = keyboard.clone();
            let params = EditMessageReplyMarkupParams { chat_id: chat, message_id: *message, reply_markup };
            api.edit_message_reply_markup(&params).await.map(|()| Sent::Done)
        }
        Outgoing::Document(document) => {
            api.send_document(chat, document).await.map(|posted| Sent::Posted(posted.message_id))
        }
        Outgoing::Action { action, thread } => {
            let params = SendChatActionParams { chat_id: chat, message_thread_id: *thread, action: *action };
            api.send_chat_action(&params).await.map(|()| Sent::Done)
        }
        Outgoing::Delete { message } => {
            let params = DeleteMessageParams { chat_id: chat, message_id: *message };
            api.delete_message(&params).await.map(|()| Sent::Done)
        }
    }
}

fn send(chat: i64, message: &OutgoingMessage) -> SendMessageParams {
    let reply = |to| ReplyParameters { message_id: to, allow_sending_without_reply: true };
    SendMessageParams {
        chat_id: chat,
        message_thread_id: message.thread,
        text: message.text.clone(),
        entities: message.entities.clone(),
        link_preview_options: LinkPreviewOptions::DISABLED,
        disable_notification: message.silent.then_some(true),
        reply_parameters: message.reply_to.map(reply),
        reply_markup: message.keyboard.clone(),
    }
}

fn edit(chat: i64, wanted: &Edit) -> EditMessageTextParams {
    EditMessageTextParams {
        chat_id: chat,
        message_id: wanted.message,
        text: wanted.text.clone(),
        entities: wanted.entities.clone(),
        link_preview_options: LinkPreviewOptions::DISABLED,
        reply_markup: wanted.keyboard.clone(),
    }
}
