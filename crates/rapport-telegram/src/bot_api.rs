//! The part of Telegram's Bot API that Rapport uses, as types.
//!
//! Incoming objects are parsed field by field, and only the fields that are used, so that additions by Telegram cannot
//! make an update unparsable. The test server checks every call against the complete types of the `frankenstein` crate,
//! which takes too long to build to be a dependency.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// An update: something that happened in a chat.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "UpdateFields")]
pub struct Update {
    /// The number of the update, which increases with every update.
    pub update_id: u32,
    pub content: UpdateContent,
}

/// The content of an update.
#[derive(Clone, Debug, PartialEq)]
pub enum UpdateContent {
    Message(Box<Message>),
    /// A person edited a message.
    EditedMessage(Box<Message>),
    /// A person pressed a button.
    CallbackQuery(Box<CallbackQuery>),
    /// The bot's rights in a chat have changed.
    MyChatMember(Box<ChatMemberUpdated>),
}

/// The wire format: one field for each kind of update.
#[derive(Deserialize)]
struct UpdateFields {
    update_id: u32,
    message: Option<Box<Message>>,
    edited_message: Option<Box<Message>>,
    callback_query: Option<Box<CallbackQuery>>,
    my_chat_member: Option<Box<ChatMemberUpdated>>,
}

impl TryFrom<UpdateFields> for Update {
    type Error = &'static str;

    fn try_from(fields: UpdateFields) -> Result<Self, Self::Error> {
        let message = fields.message.map(UpdateContent::Message);
        let content = message
            .or_else(|| fields.edited_message.map(UpdateContent::EditedMessage))
            .or_else(|| fields.callback_query.map(UpdateContent::CallbackQuery))
            .or_else(|| fields.my_chat_member.map(UpdateContent::MyChatMember))
            .ok_or("it is of an unknown kind")?;
        Ok(Self { update_id: fields.update_id, content })
    }
}

/// A message. Of attachments that are not files, only the presence is parsed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Message {
    pub message_id: i32,
    pub message_thread_id: Option<i32>,
    pub is_topic_message: Option<bool>,
    pub from: Option<User>,
    pub chat: Chat,
    pub date: u64,
    pub forward_origin: Option<MessageOrigin>,
    pub reply_to_message: Option<Box<Message>>,
    pub text: Option<String>,
    pub caption: Option<String>,
    pub reply_markup: Option<InlineKeyboardMarkup>,
    /// The topic that this message created.
    pub forum_topic_created: Option<TopicFields>,
    /// The changes that this message made to its topic.
    pub forum_topic_edited: Option<TopicFields>,
    pub migrate_to_chat_id: Option<i64>,
    pub migrate_from_chat_id: Option<i64>,
    /// The album that this message is part of.
    pub media_group_id: Option<String>,
    /// The same picture in several sizes.
    pub photo: Option<Vec<FileFields>>,
    pub voice: Option<FileFields>,
    pub sticker: Option<IgnoredAny>,
    pub video: Option<FileFields>,
    pub video_note: Option<FileFields>,
    pub animation: Option<FileFields>,
    pub audio: Option<FileFields>,
    pub document: Option<FileFields>,
    pub contact: Option<IgnoredAny>,
    pub location: Option<IgnoredAny>,
    pub venue: Option<IgnoredAny>,
    pub poll: Option<IgnoredAny>,
    pub dice: Option<IgnoredAny>,
    /// The messages that were joined to this one: the rest of a long text, or of an album.
    #[serde(skip)]
    pub joined: Vec<Message>,
}

/// The attributes of a topic that were set or changed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TopicFields {
    /// The name of the topic; missing if only other attributes changed.
    pub name: Option<String>,
}

/// A file that was sent with a message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct FileFields {
    pub file_id: String,
    pub file_size: Option<u64>,
    pub file_name: Option<String>,
}

/// The author of a forwarded message. Exactly one field is present.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct MessageOrigin {
    pub sender_user: Option<User>,
    pub sender_user_name: Option<String>,
    pub sender_chat: Option<Chat>,
    pub chat: Option<Chat>,
}

/// A press of a button.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CallbackQuery {
    pub id: String,
    pub from: User,
    /// The message with the button. If Telegram no longer has it, only its id and chat are present.
    pub message: Option<Box<Message>>,
    pub data: Option<String>,
}

/// A change of a member's rights in a chat.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ChatMemberUpdated {
    pub chat: Chat,
    pub new_chat_member: ChatMember,
}

/// The status of a member of a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct ChatMember {
    pub status: MemberStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    Creator,
    Administrator,
    Member,
    Restricted,
    Left,
    Kicked,
    #[serde(other)]
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Chat {
    pub id: i64,
    #[serde(rename = "type")]
    pub type_field: ChatType,
    pub title: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatType {
    Private,
    Group,
    Supergroup,
    Channel,
    #[serde(other)]
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct User {
    pub id: u64,
    pub is_bot: bool,
    pub first_name: String,
    pub last_name: Option<String>,
    pub username: Option<String>,
}

/// The kinds of update that the bot can subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedUpdate {
    Message,
    EditedMessage,
    CallbackQuery,
    MyChatMember,
}

/// A formatted part of a text, in UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MessageEntity {
    #[serde(rename = "type")]
    pub type_field: MessageEntityType,
    pub offset: u16,
    pub length: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageEntityType {
    Bold,
    Italic,
    Strikethrough,
    Code,
    Pre,
    TextLink,
    Blockquote,
    ExpandableBlockquote,
}

/// The buttons below a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ReplyMarkup {
    InlineKeyboardMarkup(InlineKeyboardMarkup),
    ForceReply(ForceReply),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InlineKeyboardMarkup {
    pub inline_keyboard: Vec<Vec<InlineKeyboardButton>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InlineKeyboardButton {
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_data: Option<String>,
}

impl InlineKeyboardButton {
    /// A button that sends this data when it is pressed.
    pub fn new(text: impl Into<String>, data: impl Into<String>) -> Self {
        Self { text: text.into(), callback_data: Some(data.into()) }
    }
}

/// Makes the person's app open the reply field for this message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForceReply {
    pub force_reply: bool,
    pub input_field_placeholder: String,
    pub selective: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinkPreviewOptions {
    pub is_disabled: bool,
}

impl LinkPreviewOptions {
    pub const DISABLED: Self = Self { is_disabled: true };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReplyParameters {
    pub message_id: i32,
    pub allow_sending_without_reply: bool,
}

/// The bot's activity that a chat shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatAction {
    Typing,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BotCommand {
    pub command: String,
    pub description: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GetUpdatesParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    pub limit: u32,
    pub timeout: u64,
    pub allowed_updates: Vec<AllowedUpdate>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SendMessageParams {
    pub chat_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_thread_id: Option<i32>,
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<MessageEntity>,
    pub link_preview_options: LinkPreviewOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_notification: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_parameters: Option<ReplyParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<ReplyMarkup>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EditMessageTextParams {
    pub chat_id: i64,
    pub message_id: i32,
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<MessageEntity>,
    pub link_preview_options: LinkPreviewOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<InlineKeyboardMarkup>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EditMessageReplyMarkupParams {
    pub chat_id: i64,
    pub message_id: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<InlineKeyboardMarkup>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeleteMessageParams {
    pub chat_id: i64,
    pub message_id: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerCallbackQueryParams {
    pub callback_query_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SendChatActionParams {
    pub chat_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_thread_id: Option<i32>,
    pub action: ChatAction,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GetFileParams {
    pub file_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetMessageReactionParams {
    pub chat_id: i64,
    pub message_id: i32,
    pub reaction: Vec<ReactionType>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReactionType {
    #[serde(rename = "type")]
    pub type_field: &'static str,
    pub emoji: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetMyCommandsParams {
    pub commands: Vec<BotCommand>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetWebhookParams {
    pub url: String,
    pub allowed_updates: Vec<AllowedUpdate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_token: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DeleteWebhookParams {
    pub drop_pending_updates: bool,
}
