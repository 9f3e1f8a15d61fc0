//! What the flow does outside: acts in sessions, sends messages, answers taps. Each thing is done in a task of its own, and
//! what the flow has to know of it comes back as something that inputs.

use std::sync::Arc;

use crate::room::Room;
use frankenstein::methods::AnswerCallbackQueryParams;
use rapport_core::{Act, Aim, By, Created, QuestionRound, Refusal, Seed, SessionId};
use rapport_door::{DoorError, Sessions};
use tokio::sync::{mpsc, oneshot};

use super::card::{Card, thread};
use super::chat_state::{Input, Template, person};
use super::messages::Visit;
use crate::api::Api;
use crate::api_error::ApiError;
use crate::intake::Handled;
use crate::outbox::Outbox;
use crate::outgoing::{Message, Outgoing, Sent};
use crate::text::Text;

/// What is said where only buttons count.
pub(super) const USE_BUTTONS: &str = "Please use the buttons to answer ☝️";

/// Told when an update cannot be lost any more.
pub(super) type Done = oneshot::Sender<Handled>;

/// The ways out.
#[derive(Clone)]
pub(super) struct Outbound {
    /// All sessions of the project.
    pub(super) sessions: Arc<dyn Sessions>,
    /// The way to chats.
    pub(super) outbox: Outbox,
    /// The bot.
    pub(super) api: Arc<Api>,
    /// What sessions start from.
    pub(super) template: Template,
    /// The way back to the flow.
    pub(super) back: mpsc::UnboundedSender<Input>,
}

/// Something to be done in the sessions.
pub(super) enum SessionOp {
    /// In one that is there.
    Act(SessionId, Act),
    /// In one that is not, perhaps with its first questions.
    Create(NewSession, Option<QuestionRound>),
}

/// What somebody wants a session for.
pub(super) struct NewSession {
    /// What is to be done, or what is said first.
    pub(super) task: String,
    /// Whether it is to be done or talked about.
    pub(super) aim: Aim,
    /// Where.
    pub(super) room: Room,
    /// By whom.
    pub(super) owner: u64,
    /// What the new is known by.
    pub(super) request: Option<String>,
    /// The turn of a conversation it came from.
    pub(super) grown_from: Option<Seed>,
}

impl NewSession {
    /// What somebody wants who is here.
    pub(super) fn new(visit: &Visit, task: String, aim: Aim) -> Self {
        let (room, owner, request) = (visit.room, visit.sender.id, Some(visit.update.clone()));
        Self { task, aim, room, owner, request, grown_from: None }
    }
}

/// The tap to answer when something is done, and what is said then.
pub(super) type Thanks = (String, String);

impl Outbound {
    /// Answers a tap, at once.
    pub(super) fn toast(&self, query: String, words: &str) {
        let (api, words) = (self.api.clone(), (!words.is_empty()).then(|| words.to_owned()));
        tokio::spawn(async move {
            let params =
                AnswerCallbackQueryParams::builder().callback_query_id(query).maybe_text(words).build();
            // Too late or unreachable: the person sees the card change all the same.
            let _ = api.answer_callback_query(&params).await;
        });
    }

    /// Says something in a room.
    pub(super) fn say(&self, room: Room, words: &str) {
        self.send(room, &Card::plain(Text::new().plain(words)));
    }

    /// Sends a card nobody has to find again.
    pub(super) fn send(&self, room: Room, card: &Card) {
        drop(self.outbox.send(room.chat, Outgoing::Message(card.message(room))));
    }

    /// Takes the buttons of a message away.
    pub(super) fn strip(&self, room: Room, message: i32) {
        drop(self.outbox.send(room.chat, Outgoing::Buttons { message, keyboard: None }));
    }

    /// Sends something and tells the flow how it ended.
    pub(super) fn send_then(
        &self,
        room: Room,
        what: Outgoing,
        then: impl FnOnce(Result<Sent, ApiError>) -> Input + Send + 'static,
    ) {
        let (sending, back) = (self.outbox.send(room.chat, what), self.back.clone());
        tokio::spawn(async move {
            let _ = back.send(then(sending.await));
        });
    }

    /// Does one thing after the other, and then answers the tap it came from, if it did. What is not taken is told in the
    /// room, and ends it.
    pub(super) fn carry_out(
        &self,
        room: Room,
        by: By,
        ops: Vec<SessionOp>,
        thanks: Option<Thanks>,
        done: Done,
    ) {
        let outbound = self.clone();
        tokio::spawn(async move {
            let mut is_done = true;
            for op in ops {
                let outcome = match op {
                    SessionOp::Act(session, act) => {
                        outbound.sessions.act(&session, &by, &act).await.map(drop)
                    }
                    SessionOp::Create(new, first) => outbound.create(new, first).await,
                };
                if let Err(error) = outcome {
                    outbound.refused(room, &error);
                    is_done = false;
                    break;
                }
            }
            if let Some((query, words)) = thanks {
                outbound.toast(query, if is_done { &words } else { "" });
            }
            // Nobody waits any more where the program ends.
            let _ = done.send(Handled::Durable);
        });
    }

    /// Begins a session.
    pub(super) async fn create(
        &self,
        new: NewSession,
        first: Option<QuestionRound>,
    ) -> Result<(), DoorError> {
        let template = self.template.clone();
        // It looks at the project first.
        let created = tokio::task::spawn_blocking(move || {
            let NewSession { task, aim, room, owner, request, grown_from } = new;
            Created {
                origin: Some(room.into()),
                by: person(owner),
                request,
                grown_from,
                ..template(task, aim)
            }
        });
        let created = created.await.map_err(|error| DoorError::Failed(error.to_string()))?;
        self.sessions.create(created, first).await.map(drop)
    }

    fn refused(&self, room: Room, error: &DoorError) {
        let words = match error {
            DoorError::Refused(Refusal::OptionsOnly { .. }) => USE_BUTTONS.to_owned(),
            // The card shows it by then.
            DoorError::Refused(Refusal::AlreadyAnswered { .. }) => return,
            DoorError::Refused(refusal) => format!("That was not taken: {refusal}."),
            error => format!("❌ That could not be done: {error}. Please try again."),
        };
        self.say(room, &words);
    }
}

/// A request for words, as a reply to a card.
pub(super) fn prompt(room: Room, card: Option<i32>) -> Message {
    use frankenstein::types::{ForceReply, ReplyMarkup};
    let ask = ForceReply::builder()
        .force_reply(true)
        .selective(true)
        .input_field_placeholder("Your answer")
        .build();
    Message {
        keyboard: Some(ReplyMarkup::ForceReply(ask)),
        thread: thread(room),
        reply_to: card,
        ..Message::new(&Text::new().plain("✍️ Type your answer:"))
    }
}
