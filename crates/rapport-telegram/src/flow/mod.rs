//! The conversation: what people in chats do, what they are shown, and when. `chat_state` owns all of it; `messages`, `callbacks` and
//! `commands` are what people do, `announce`, `cards`, `progress` and `remind` what they see, `card` what is on a card, `notes` what survives a restart beside the logs,
//! `moved` a chat that became another.

pub mod button;
pub mod card;
pub mod file;
pub mod incoming;

mod announce;
mod callbacks;
mod cards;
mod chat_state;
mod commands;
mod messages;
mod moved;
mod notes;
mod outbound;
mod progress;
mod remind;
mod start;
mod turns;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use frankenstein::methods::SetMyCommandsParams;
use frankenstein::types::BotCommand;
use frankenstein::updates::Update;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use jiff::SignedDuration;
use rapport_door::{DoorError, Seen, Sessions};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, interval, sleep_until};

use self::chat_state::{ChatState, Input};
use super::access::Access;
use super::api::{Api, Me};
use super::api_error::ApiError;
use super::file_error::FileError;
use super::intake::{self, Handled, Handler, Intake};
use super::ledger::Ledger;
use super::notice::Notices;
use super::rates::Limits;
use super::users::Users;
use super::webhook::{Webhook, WebhookConfig, WebhookError};
use super::{BotFiles, Now, poll};

pub use chat_state::Template;
pub use commands::COMMANDS;

/// How long what waits to be sent gets when the program ends.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// How long to sleep at most: the clock on the wall may be set while we do.
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
    let mut desk = start::desk(parts, back.clone())?;
    desk.take_up().await?;
    let handler = Arc::new(Door { back, bot });
    let intake =
        Intake::start(intake::Parts { ledger, files, handler, notices: notices.clone(), now: now.clone() });
    tokio::spawn(announce_commands(api.clone()));
    let receiving = receive(api, webhook, intake.clone(), notices, now, stop.clone());
    let streams = Streams { seen, inputs };
    serve(desk, streams, intake, receiving, stop).await
}

/// What comes in, from two sides.
struct Streams {
    seen: BoxStream<'static, Seen>,
    inputs: mpsc::UnboundedReceiver<Input>,
}

async fn serve(
    mut desk: ChatState,
    mut streams: Streams,
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
        let wake = wake_at(&desk);
        // What a session did comes before what somebody does next: they may have been waiting for just that.
        tokio::select! {
            biased;
            Some(seen) = streams.seen.next() => desk.take(Input::Seen(seen)),
            Some(inputs) = streams.inputs.recv() => desk.take(inputs),
            ended = &mut receiving, if closing.is_none() => {
                outcome = ended.unwrap_or_else(|error| Err(RunError::Receiving(error.to_string())));
                desk.stop_waiting();
                closing = Some(close(&intake));
            }
            _ = stop.wait_for(|stop| *stop), if closing.is_none() => {
                desk.stop_waiting();
                closing = Some(close(&intake));
            }
            () = closed(&mut closing), if closing.is_some() => break,
            _ = ticks.tick() => desk.tick(),
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => desk.remind_now(),
        }
    }
    let last_words = async {
        desk.outbound.outbox.flush().await;
        // A card that was sent just now is noted as well, or it would be sent again, and words for it not be taken.
        while !desk.pending.is_empty()
            && let Some(inputs) = streams.inputs.recv().await
        {
            desk.take(inputs);
        }
    };
    let _ = tokio::time::timeout(LAST_WORDS, last_words).await;
    while let Ok(inputs) = streams.inputs.try_recv() {
        desk.take(inputs);
    }
    desk.writer.flush().await;
    outcome
}

/// Takes nothing more in; what is under way still needs the desk.
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

fn wake_at(desk: &ChatState) -> Option<Instant> {
    let wait = Duration::try_from(desk.next_reminder()?.duration_since(desk.time())).unwrap_or_default();
    Some(Instant::now() + wait.min(LONGEST_SLEEP))
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
    let removed = tokio::select! {
        removed = poll::remove_webhook(&api, &notices, now.clone()) => removed,
        _ = stop.wait_for(|stop| *stop) => return Ok(()),
    };
    // Whatever else is wrong, fetching says so.
    if let Err(error @ ApiError::Unauthorized(_)) = removed {
        return Err(error.into());
    }
    Ok(poll::run(api, intake, notices, now, stop).await?)
}

async fn announce_commands(api: Arc<Api>) {
    let command =
        |(name, what): &(&str, &str)| BotCommand::builder().command(*name).description(*what).build();
    let commands = COMMANDS.iter().map(command).collect::<Vec<_>>();
    // The menu is a convenience; what it lists works without it.
    let _ = api.set_my_commands(&SetMyCommandsParams::builder().commands(commands).build()).await;
}

/// Where updates come in.
struct Door {
    back: mpsc::UnboundedSender<Input>,
    bot: String,
}

impl Handler for Door {
    fn handle(&self, update: Update) -> BoxFuture<'_, Handled> {
        Box::pin(async move {
            if let Some((from, to)) = incoming::moved(&update) {
                // Should this be lost, the next message to the old chat tells it again.
                let _ = self.back.send(Input::Moved { from, to });
                return Handled::Durable;
            }
            if let Some(chat) = incoming::opened(&update) {
                // Should this be lost, whoever writes there next has the same done.
                let _ = self.back.send(Input::Opened(chat));
                return Handled::Durable;
            }
            let Some(incoming) = incoming::read(&update, &self.bot) else { return Handled::Durable };
            let (done, kept) = oneshot::channel();
            if self.back.send(Input::Came(Box::new(incoming), done)).is_err() {
                return Handled::Again;
            }
            kept.await.unwrap_or(Handled::Again)
        })
    }
}
