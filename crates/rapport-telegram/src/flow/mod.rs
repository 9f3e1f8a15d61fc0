//! The flow of the channel. `chat_state` holds the state; its `step` takes an input and returns effects (`effect`), and
//! `outbound` executes those. `messages`, `callbacks` and `commands` handle input from people, `session_updates` input
//! from sessions; `announcements`, `cards`, `progress` and `reminders` decide what is shown, and `card` renders it;
//! `notes` is the state besides the logs that survives a restart, and `chat_moves` handles a chat whose id changed.

pub mod button;
pub mod card;
pub mod file;
pub mod incoming;
pub mod quiet_hours;

mod announcements;
mod backlog;
mod callbacks;
mod cards;
mod chat_moves;
mod chat_state;
mod claude_command;
mod commands;
mod digest;
mod downloads;
mod early_texts;
mod effect;
mod lead_lines;
mod leads;
mod messages;
mod notes;
mod outbound;
mod progress;
mod projects;
mod recent_work;
mod reminders;
mod session_updates;
mod shown_sessions;
mod standing_rules;
mod start;
mod step_effects;
mod turns;
mod unaddressed_texts;
mod voice;
mod work;
mod writer;

#[cfg(test)]
mod step_tests;

use std::collections::BTreeSet;
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
use rapport_core::{Aim, Created, QuestionId, QuietHours, SessionId};
use rapport_door::{DoorError, Projects as KnownProjects, Seen, Sessions, WorkWish, variant};
use secrecy::SecretString;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, interval, sleep_until};
use tracing::{debug, info};

use self::chat_state::ChatState;
use self::effect::Input;
use self::outbound::{Outbound, Tickets};
use super::access::Access;
use super::api::{Api, Me};
use super::api_error::ApiError;
use super::file_error::FileError;
use super::intake::{self, Handled, Handler, Intake};
use super::notice::Notices;
use super::pairing::Pairing;
use super::rates::Limits;
use super::users::Users;
use super::webhook::{Webhook, WebhookConfig, WebhookError};
use super::{BotFiles, Now, Transcriber, poll};

pub use commands::COMMANDS;
pub use projects::Project;

/// Creates the first fact of a session of this channel, from the directory of its project, its task and its aim.
pub type Template = Arc<dyn Fn(&str, String, Aim) -> Created + Send + Sync>;

/// Creates the first fact of work that begins without planning, from the directory of its project and the wish. An
/// error says why it cannot be created.
pub type NewQuickWork = Arc<dyn Fn(&str, WorkWish) -> Result<Created, String> + Send + Sync>;

/// Opens a question of a session again in another session, a branch, in the project of this directory. Returns the
/// branch, or why there is none. Blocks.
pub type NewBranch = Arc<dyn Fn(&str, &SessionId, &QuestionId) -> Result<SessionId, String> + Send + Sync>;

/// The time limit for emptying the outbox when the channel stops.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// The number of logs that may be in memory before the state has handled them.
const WAITING_LOGS: usize = 16;
/// The maximum sleep. It is limited because the wall clock may be changed during a sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(600);

/// What the channel consists of.
pub struct ChannelParts {
    /// All sessions of the projects.
    pub sessions: Arc<dyn Sessions>,
    pub api: Arc<Api>,
    /// The bot's own account.
    pub me: Me,
    pub files: BotFiles,
    /// The directory for the files of planned tasks.
    pub folder: PathBuf,
    /// Creates the first facts of sessions.
    pub template: Template,
    /// Creates the first facts of work without planning.
    pub new_quick_work: NewQuickWork,
    /// Opens a question again in a branch.
    pub new_branch: NewBranch,
    /// What is known about projects, served or not.
    pub known_projects: Arc<dyn KnownProjects>,
    /// Whether the conversation with the bot is a lead.
    pub has_lead: bool,
    /// The project that is served, or the first of several.
    pub project: Project,
    /// The other projects that are served.
    pub others: Vec<Project>,
    /// The users with access.
    pub access: Access,
    /// The users who may only look.
    pub lookers: BTreeSet<u64>,
    /// The file of users who paired with a code.
    pub users: Users,
    /// The owner of sessions that began elsewhere.
    pub owner: Option<u64>,
    /// The time after which a person is reminded; zero for never.
    pub remind: SignedDuration,
    /// If set, updates are delivered by webhook instead of being fetched.
    pub webhook: Option<WebhookConfig>,
    /// The rate limits for sending.
    pub limits: Limits,
    /// Transcribes voice messages, if configured.
    pub transcriber: Option<Transcriber>,
    /// The default quiet hours of chats.
    pub quiet: Option<QuietHours>,
    /// The time zone of the quiet hours.
    pub zone: TimeZone,
    /// The daily budget, in millionths of a dollar, if set.
    pub budget: Option<u64>,
    /// Secrets that are removed from every file that is sent.
    pub secrets: Vec<SecretString>,
    pub now: Now,
    /// Receives notices about the connection to Telegram.
    pub notices: Notices,
}

/// Why the channel ended.
#[derive(Debug, Error)]
pub enum RunError {
    /// Telegram does not accept the bot.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The webhook failed.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// The ledger of updates cannot be written.
    #[error(transparent)]
    Ledger(#[from] FileError),
    /// The sessions cannot be read or followed.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// A task of the channel failed.
    #[error("{0}")]
    Task(String),
    /// The notes cannot be written.
    #[error("cannot use {path}: {source}")]
    Notes { path: String, source: std::io::Error },
}

/// Serves the bot until it is told to stop.
pub async fn run(parts: ChannelParts, stop: watch::Receiver<bool>) -> Result<(), RunError> {
    let seen = parts.sessions.watch().await?;
    let (back, inputs) = mpsc::unbounded_channel();
    let (ledger, notes) = start::read_files(parts.files.clone()).await?;
    let (api, bot) = (parts.api.clone(), parts.me.username.clone().unwrap_or_default());
    let (files, notices, now) = (parts.files.clone(), parts.notices.clone(), parts.now.clone());
    let webhook = match &parts.webhook {
        Some(config) => Some(Webhook::bind(config).await?),
        None => None,
    };
    let (log, logs) = mpsc::channel(WAITING_LOGS);
    let (mut state, outbound) = start::assemble(parts, notes, back.clone(), log);
    start::resume_sessions(&mut state, &outbound, &now).await?;
    let handler = Arc::new(UpdateHandler { inputs: back, tickets: outbound.tickets.clone(), bot });
    let intake =
        Intake::start(intake::Parts { ledger, files, handler, notices: notices.clone(), now: now.clone() });
    tokio::spawn(announce_commands(api.clone()));
    let receiving = receive(api, webhook, intake.clone(), notices, now.clone(), stop.clone());
    let channel = Channel { state, outbound, now, seen, inputs, logs };
    info!("the bot is served");
    channel.serve(intake, receiving, stop).await
}

/// Drives the state: feeds it inputs, and executes its effects.
struct Channel {
    state: ChatState,
    outbound: Outbound,
    now: Now,
    /// Updates of sessions.
    seen: BoxStream<'static, Seen>,
    /// All other inputs: results of effects, and updates from people. The queue needs no bound, because the intake
    /// waits until its updates are handled.
    inputs: mpsc::UnboundedReceiver<Input>,
    /// Whole logs, as inputs. There may be thousands, so this queue has a bound.
    logs: mpsc::Receiver<Input>,
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
            // Session updates come before a person's next input, because that person may have waited for just this
            // update.
            let input = tokio::select! {
                biased;
                Some(seen) = self.seen.next() => Input::Seen(seen),
                Some(input) = self.inputs.recv() => input,
                Some(input) = self.logs.recv() => input,
                ended = &mut receiving, if closing.is_none() => {
                    outcome = ended.unwrap_or_else(|error| Err(RunError::Task(error.to_string())));
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
        match input {
            Input::Tick { .. } | Input::DeadlinePassed => {}
            _ => debug!(input = variant(&input), "step"),
        }
        let effects = self.state.step(input, (self.now)());
        self.outbound.execute(effects);
    }

    fn wake_at(&self) -> Option<Instant> {
        let wait = self.state.deadline()?.duration_since((self.now)());
        Some(Instant::now() + Duration::try_from(wait).unwrap_or_default().min(LONGEST_SLEEP))
    }

    /// Sends all queued messages, and writes all notes.
    async fn end(mut self) {
        let last_words = async {
            self.outbound.outbox.flush().await;
            // A card that was just sent has to be noted, or the next start would send it again.
            while self.state.cards.are_pending()
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

/// A tick, with random bytes for a pairing code.
fn tick() -> Input {
    Input::Tick { chance: Pairing::chance() }
}

/// Stops accepting updates. Updates that are being handled still need the channel, so it runs until they are done.
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
        // If removing the webhook fails, fetching updates fails as well and reports the error.
        _ = poll::remove_webhook(&api, &notices, now.clone()) => {}
        _ = stop.wait_for(|stop| *stop) => return Ok(()),
    }
    Ok(poll::run(api, intake, notices, now, stop).await?)
}

async fn announce_commands(api: Arc<Api>) {
    let command =
        |(name, what): &(&str, &str)| BotCommand { command: (*name).into(), description: (*what).into() };
    let commands = COMMANDS.iter().map(command).collect::<Vec<_>>();
    // The menu is a convenience; the commands work without it.
    let _ = api.set_my_commands(&SetMyCommandsParams { commands }).await;
}

/// Converts updates to inputs, and waits until each update is safe.
struct UpdateHandler {
    inputs: mpsc::UnboundedSender<Input>,
    tickets: Tickets,
    bot: String,
}

impl Handler for UpdateHandler {
    fn handle(&self, update: Update) -> BoxFuture<'_, Handled> {
        Box::pin(async move {
            if let Some((from, to)) = incoming::moved(&update) {
                // If this input is lost, the next message to the old chat reports the move again.
                let _ = self.inputs.send(Input::Moved { from, to });
                return Handled::Durable;
            }
            if let Some(chat) = incoming::opened(&update) {
                // If this input is lost, the next message in that chat has the same effect.
                let _ = self.inputs.send(Input::Opened(chat));
                return Handled::Durable;
            }
            if let Some((room, by, name)) = incoming::topic_named(&update) {
                // If this input is lost, a person can still choose the project with `/project`.
                let _ = self.inputs.send(Input::TopicNamed { room, by, name });
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
