//! The conversation: what people in chats do, what they are shown, and when. `chat_state` holds all of it; its `step` takes an
//! input and returns effects (`effect`), and `outbound` executes those. `messages`, `callbacks` and `commands` are what people
//! do, `follow` what sessions do, `backlog` what waited before, `announce`, `cards`, `progress` and `remind` what is shown of it, `card` what is on a card,
//! `notes` what survives a restart beside the logs, `moved` a chat that became another.

pub mod button;
pub mod card;
pub mod file;
pub mod incoming;
pub mod quiet;

mod always;
mod announce;
mod backlog;
mod callbacks;
mod cards;
mod chat_state;
mod commands;
mod effect;
mod fetched;
mod follow;
mod messages;
mod moved;
mod notes;
mod outbound;
mod progress;
mod recent;
mod remind;
mod start;
mod turns;
mod voice;
mod writer;

#[cfg(test)]
mod step_tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::bot_api::BotCommand;
use crate::bot_api::SetMyCommandsParams;
use crate::bot_api::Update;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use rapport_core::{Aim, Created};
use rapport_door::{DoorError, Seen, Sessions};
use secrecy::SecretString;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, interval, sleep_until};

use self::chat_state::ChatState;
use self::effect::Input;
use self::outbound::{Outbound, Tickets};
use self::quiet::QuietHours;
use super::access::Access;
use super::api::{Api, Me};
use super::api_error::ApiError;
use super::file_error::FileError;
use super::intake::{self, Handled, Handler, Intake};
use super::ledger::Ledger;
use super::notice::Notices;
use super::pairing::Pairing;
use super::rates::Limits;
use super::users::Users;
use super::webhook::{Webhook, WebhookConfig, WebhookError};
use super::{BotFiles, Now, Transcriber, poll};

pub use commands::COMMANDS;

/// What a session of this channel starts from: its task and what it is for.
pub type Template = Arc<dyn Fn(String, Aim) -> Created + Send + Sync>;

/// How long the outbox may take to empty when the channel stops.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// The longest sleep: the wall clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(600);

/// What the channel is made of.
pub struct Parts {
    /// All sessions of the project.
    pub sessions: Arc<dyn Sessions>,
    /// The bot,
    pub api: Arc<Api>,
    /// and who it is.
    pub me: Me,
    /// Its files.
    pub files: BotFiles,
    /// Where the files of planned tasks are.
    pub folder: PathBuf,
    /// What sessions start from.
    pub template: Template,
    /// Who may use the bot,
    pub access: Access,
    /// where those are kept who were let in by a code,
    pub users: Users,
    /// and whose the sessions are that began elsewhere.
    pub owner: Option<u64>,
    /// After how long somebody is reminded; never where it is zero.
    pub remind: SignedDuration,
    /// Has updates delivered instead of fetching them.
    pub webhook: Option<WebhookConfig>,
    /// How fast it sends.
    pub limits: Limits,
    /// Who listens to voice messages, if anybody does.
    pub transcriber: Option<Transcriber>,
    /// When chats are quiet where nobody says otherwise there,
    pub quiet: Option<QuietHours>,
    /// and the time zone that this is meant in.
    pub zone: TimeZone,
    /// What may be spent in a day, in millionths of a dollar, if that is said.
    pub budget: Option<u64>,
    /// What must not be in anything that is sent as a file.
    pub secrets: Vec<SecretString>,
    /// What time it is.
    pub now: Now,
    /// Whom to tell about the way to Telegram.
    pub notices: Notices,
}

/// Why the channel ended.
#[derive(Debug, Error)]
pub enum RunError {
    /// Telegram does not accept the bot.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// Updates cannot be delivered.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// What was received cannot be noted.
    #[error(transparent)]
    Ledger(#[from] FileError),
    /// The sessions cannot be read or followed.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// The part that receives updates broke down.
    #[error("{0}")]
    Receiving(String),
    /// What was shown cannot be noted.
    #[error("cannot use {path}: {source}")]
    Notes {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Serves the bot until it is told to stop.
pub async fn run(parts: Parts, stop: watch::Receiver<bool>) -> Result<(), RunError> {
    let seen = parts.sessions.watch().await?;
    let (back, inputs) = mpsc::unbounded_channel();
    let ledger = Ledger::open(&parts.files.offset())?;
    let (api, bot) = (parts.api.clone(), parts.me.username.clone().unwrap_or_default());
    let (files, notices, now) = (parts.files.clone(), parts.notices.clone(), parts.now.clone());
    let webhook = match &parts.webhook {
        Some(config) => Some(Webhook::bind(config).await?),
        None => None,
    };
    let (mut state, outbound) = start::assemble(parts, back.clone())?;
    start::take_up(&mut state, &outbound, &now).await?;
    let handler = Arc::new(UpdateHandler { inputs: back, tickets: outbound.tickets.clone(), bot });
    let intake =
        Intake::start(intake::Parts { ledger, files, handler, notices: notices.clone(), now: now.clone() });
    tokio::spawn(announce_commands(api.clone()));
    let receiving = receive(api, webhook, intake.clone(), notices, now.clone(), stop.clone());
    let channel = Channel { state, outbound, now, seen, inputs };
    channel.serve(intake, receiving, stop).await
}

/// Drives the state: feeds it what happens, and executes what it wants.
struct Channel {
    state: ChatState,
    outbound: Outbound,
    now: Now,
    /// What happens in sessions,
    seen: BoxStream<'static, Seen>,
    /// and everything else.
    inputs: mpsc::UnboundedReceiver<Input>,
}

impl Channel {
    async fn serve(
        mut self,
        intake: Intake,
        receiving: impl Future<Output = Result<(), RunError>> + Send + 'static,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), RunError> {
        let receiving = tokio::spawn(receiving);
        tokio::pin!(receiving);
        let mut ticks = interval(progress::EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut closing: Option<oneshot::Receiver<()>> = None;
        let mut outcome = Ok(());
        loop {
            let wake = self.wake_at();
            // What a session did comes before what somebody does next: they may have been waiting for just that.
            let input = tokio::select! {
                biased;
                Some(seen) = self.seen.next() => Input::Seen(seen),
                Some(input) = self.inputs.recv() => input,
                ended = &mut receiving, if closing.is_none() => {
                    outcome = ended.unwrap_or_else(|error| Err(RunError::Receiving(error.to_string())));
                    closing = Some(close(&intake));
                    Input::Stopping
                }
                _ = stop.wait_for(|stop| *stop), if closing.is_none() => {
                    closing = Some(close(&intake));
                    Input::Stopping
                }
                () = closed(&mut closing), if closing.is_some() => break,
                _ = ticks.tick() => tick(),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => Input::DeadlinePassed,
            };
            self.step(input);
        }
        self.end().await;
        outcome
    }

    fn step(&mut self, input: Input) {
        let effects = self.state.step(input, (self.now)());
        self.outbound.execute(effects);
    }

    fn wake_at(&self) -> Option<Instant> {
        let wait = self.state.deadline()?.duration_since((self.now)());
        Some(Instant::now() + Duration::try_from(wait).unwrap_or_default().min(LONGEST_SLEEP))
    }

    /// Sends what waits to be sent, and writes all notes.
    async fn end(mut self) {
        let last_words = async {
            self.outbound.outbox.flush().await;
            // A card that was sent just now is noted as well, or the next start would send it again.
            while self.state.is_any_card_pending()
                && let Some(input) = self.inputs.recv().await
            {
                self.step(input);
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, last_words).await;
        while let Ok(input) = self.inputs.try_recv() {
            self.step(input);
        }
        self.outbound.writer.flush().await;
    }
}

/// A tick, with what a pairing code may be made of.
fn tick() -> Input {
    Input::Tick { chance: Pairing::chance() }
}

/// Takes no more updates; those being handled still need the channel.
fn close(intake: &Intake) -> oneshot::Receiver<()> {
    let (tell, closed) = oneshot::channel();
    let intake = intake.clone();
    tokio::spawn(async move {
        intake.close().await;
        let _ = tell.send(());
    });
    closed
}

async fn closed(closing: &mut Option<oneshot::Receiver<()>>) {
    if let Some(closed) = closing {
        let _ = closed.await;
    }
}

async fn receive(
    api: Arc<Api>,
    webhook: Option<Webhook>,
    intake: Intake,
    notices: Notices,
    now: Now,
    mut stop: watch::Receiver<bool>,
) -> Result<(), RunError> {
    if let Some(webhook) = webhook {
        return Ok(webhook.run(&api, intake, notices, now, stop).await?);
    }
    tokio::select! {
        // Whatever is wrong, fetching says so.
        _ = poll::remove_webhook(&api, &notices, now.clone()) => {}
        _ = stop.wait_for(|stop| *stop) => return Ok(()),
    }
    Ok(poll::run(api, intake, notices, now, stop).await?)
}

async fn announce_commands(api: Arc<Api>) {
    let command =
        |(name, what): &(&str, &str)| BotCommand { command: (*name).into(), description: (*what).into() };
    let commands = COMMANDS.iter().map(command).collect::<Vec<_>>();
    // The menu is a convenience; what it lists works without it.
    let _ = api.set_my_commands(&SetMyCommandsParams { commands }).await;
}

/// Turns updates into inputs, and waits until each is safe.
struct UpdateHandler {
    inputs: mpsc::UnboundedSender<Input>,
    tickets: Tickets,
    bot: String,
}

impl Handler for UpdateHandler {
    fn handle(&self, update: Update) -> BoxFuture<'_, Handled> {
        Box::pin(async move {
            if let Some((from, to)) = incoming::moved(&update) {
                // Should this be lost, the next message to the old chat tells it again.
                let _ = self.inputs.send(Input::Moved { from, to });
                return Handled::Durable;
            }
            if let Some(chat) = incoming::opened(&update) {
                // Should this be lost, the next message there has the same effect.
                let _ = self.inputs.send(Input::Opened(chat));
                return Handled::Durable;
            }
            let Some(incoming) = incoming::read(&update, &self.bot) else { return Handled::Durable };
            let (ticket, handled) = self.tickets.issue();
            if self.inputs.send(Input::Update(Box::new(incoming), ticket)).is_err() {
                return Handled::Again;
            }
            handled.await.unwrap_or(Handled::Again)
        })
    }
}
