//! The channel as a whole: what it is made from, the right to serve the bot, and serving it until it is told to stop.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use rapport_door::{Channel, ChannelError, ChannelNotice, Served};
use secrecy::SecretString;
use tokio::sync::mpsc;

use crate::access::Access;
use crate::api::{Api, Me};
use crate::api_error::ApiError;
use crate::backoff::Backoff;
use crate::flow::quiet::QuietHours;
use crate::flow::{self, RunError, Template};
use crate::lease::{Lease, LeaseError};
use crate::notice::{Notice, Notices};
use crate::rates::Limits;
use crate::users::Users;
use crate::webhook::WebhookConfig;
use crate::{BotFiles, CHANNEL, Now, Transcriber};

/// How long the last notices may take to be told when the channel ends.
const LAST_NOTICES: Duration = Duration::from_secs(1);

/// What to do about a token that Telegram does not accept.
const WRONG_TOKEN: &str =
    "Look at the token: @BotFather shows it with /mybots, and gives a new one with /revoke.";

/// What the channel is made from.
pub struct TelegramConfig {
    /// The way to the bot.
    pub api: Api,
    /// The bot's files.
    pub files: BotFiles,
    /// The directory for the files of planned tasks.
    pub folder: PathBuf,
    /// What sessions start from.
    pub template: Template,
    /// The ids of those who may use the bot, beside those who were let in by a code.
    pub users: Vec<u64>,
    /// After how long somebody is reminded of an open question; never where it is zero.
    pub remind: SignedDuration,
    /// Has updates delivered instead of fetching them.
    pub webhook: Option<WebhookConfig>,
    /// How fast messages are sent.
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
}

/// A bot that only this process serves.
pub struct Telegram {
    config: TelegramConfig,
    users: Users,
    known: Vec<u64>,
    _lease: Lease,
}

impl Telegram {
    /// Takes the right to serve the bot, and reads who may use it.
    pub fn open(config: TelegramConfig) -> Result<Self, ChannelError> {
        let lease = Lease::take(&config.files.lock()).map_err(busy)?;
        let users = Users::new(&config.files.users());
        let wrong = |error: &dyn std::error::Error| settings(error.to_string());
        let paired = users.load().map_err(|error| wrong(&error))?;
        let known = config.users.iter().copied().chain(paired.iter().map(|user| user.id)).collect();
        Ok(Self { config, users, known, _lease: lease })
    }

    /// Whose the sessions are that began elsewhere.
    pub fn owner(&self) -> Option<u64> {
        self.known.first().copied()
    }

    async fn serve(self, served: Served) -> Result<(), ChannelError> {
        let (notices, heard) = mpsc::unbounded_channel();
        let telling = tokio::spawn(pass_on(heard, served.notices.clone()));
        let outcome = self.converse(served, notices).await;
        let _ = tokio::time::timeout(LAST_NOTICES, telling).await;
        outcome
    }

    async fn converse(self, served: Served, notices: Notices) -> Result<(), ChannelError> {
        let Self { config, users, known, _lease } = self;
        let Served { sessions, mut stop, notices: told } = served;
        let me = tokio::select! {
            me = me(&config.api, &notices, &config.now) => me.map_err(refused)?,
            _ = stop.wait_for(|stop| *stop) => return Ok(()),
        };
        let name = format!("@{}", me.username.as_deref().unwrap_or(&me.first_name));
        let _ = told.send(ChannelNotice::Serving { channel: CHANNEL, name });
        let parts = flow::Parts {
            sessions,
            api: Arc::new(config.api),
            me,
            files: config.files,
            folder: config.folder,
            template: config.template,
            access: Access::new(known.iter().copied()),
            users,
            owner: known.first().copied(),
            remind: config.remind,
            webhook: config.webhook,
            limits: config.limits,
            transcriber: config.transcriber,
            quiet: config.quiet,
            zone: config.zone,
            budget: config.budget,
            secrets: config.secrets,
            now: config.now,
            notices,
        };
        flow::run(parts, stop).await.map_err(ended)
    }
}

impl Channel for Telegram {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn run(self: Box<Self>, served: Served) -> BoxFuture<'static, Result<(), ChannelError>> {
        Box::pin(self.serve(served))
    }
}

/// Asks Telegram who the bot is. Where Telegram cannot be reached, it asks until it can.
async fn me(api: &Api, notices: &Notices, now: &Now) -> Result<Me, ApiError> {
    let mut backoff = Backoff::default();
    let mut since = None;
    loop {
        let wait = match api.get_me().await {
            Ok(me) => {
                if let Some(since) = since {
                    let _ = notices.send(Notice::Reachable { since });
                }
                return Ok(me);
            }
            Err(ApiError::TooMany { retry_after }) => retry_after,
            Err(ApiError::Unreachable(why) | ApiError::Failing(why)) => {
                if since.is_none() {
                    let began = now();
                    since = Some(began);
                    let _ = notices.send(Notice::Unreachable { since: began, why });
                }
                backoff.grow()
            }
            Err(error) => return Err(error),
        };
        tokio::time::sleep(wait.max(Duration::from_millis(100))).await;
    }
}

async fn pass_on(mut heard: mpsc::UnboundedReceiver<Notice>, to: mpsc::UnboundedSender<ChannelNotice>) {
    while let Some(notice) = heard.recv().await {
        let _ = to.send(ChannelNotice::Told { channel: CHANNEL, message: notice.to_string() });
    }
}

/// Why Telegram does not accept the bot.
pub fn refused(error: ApiError) -> ChannelError {
    match error {
        ApiError::Unauthorized(_) => {
            ChannelError::Settings { message: error.to_string(), hint: Some(WRONG_TOKEN.into()) }
        }
        error => ChannelError::Broken(error.to_string()),
    }
}

fn settings(message: String) -> ChannelError {
    ChannelError::Settings { message, hint: None }
}

fn busy(error: LeaseError) -> ChannelError {
    match error {
        LeaseError::Busy { .. } => ChannelError::Busy(error.to_string()),
        LeaseError::Io { .. } => ChannelError::Broken(error.to_string()),
    }
}

fn ended(error: RunError) -> ChannelError {
    match error {
        RunError::Api(error) => refused(error),
        RunError::Door(error) => error.into(),
        error @ (RunError::Webhook(_)
        | RunError::Ledger(_)
        | RunError::Receiving(_)
        | RunError::Notes { .. }) => ChannelError::Broken(error.to_string()),
    }
}
