//! The channel as a whole: its configuration, the lease on the bot, and serving it until it has to stop.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use rapport_core::QuietHours;
use rapport_door::{Channel, ChannelError, ChannelNotice, Projects, Served};
use secrecy::SecretString;
use tokio::sync::mpsc;

use crate::access::Access;
use crate::api::{Api, Me};
use crate::api_error::ApiError;
use crate::backoff::Backoff;
use crate::flow::{self, NewBranch, NewQuickWork, Project, RunError, Template};
use crate::lease::{Lease, LeaseError};
use crate::notice::{Notice, Notices};
use crate::poll::MOST_REFUSALS;
use crate::rates::Limits;
use crate::users::Users;
use crate::webhook::WebhookConfig;
use crate::{BotFiles, CHANNEL, Now, Transcriber, relay};

/// The time limit for delivering the last notices when the channel ends.
const LAST_NOTICES: Duration = Duration::from_secs(1);

/// The hint for a token that Telegram does not accept.
const WRONG_TOKEN: &str =
    "Check the token: @BotFather shows it with /mybots, and gives a new one with /revoke.";

/// The hint for an address of the Bot API that is not usable.
const WRONG_ADDRESS: &str = "Set telegram.api_url (RAPPORT_TELEGRAM_API_URL) to the address of your Bot API server, \
     such as https://example.org, or remove it to use https://api.telegram.org.";

/// The hint for a user id that no user can have.
const WRONG_USER: &str = "Set TELEGRAM_USER_ID to your own id, or leave it out: then a code is shown that you can \
     send to the bot.";

/// The configuration of the channel.
pub struct TelegramConfig {
    /// The client for the bot.
    pub api: Api,
    /// The bot's files.
    pub files: BotFiles,
    /// The directory for the files of planned tasks.
    pub folder: PathBuf,
    /// The directories in which an older relay may have left such files. The channel imports their sessions.
    pub left: Vec<PathBuf>,
    /// Creates the first facts of sessions.
    pub template: Template,
    /// Creates the first facts of work without planning.
    pub new_quick_work: NewQuickWork,
    /// Opens a question again in a branch.
    pub new_branch: NewBranch,
    /// What is known about projects, served or not.
    pub known_projects: Arc<dyn Projects>,
    /// Whether the conversation with the bot is a lead.
    pub has_lead: bool,
    /// The project that is served, or the first of several.
    pub project: Project,
    /// The other projects that are served.
    pub others: Vec<Project>,
    /// The ids of users with access, in addition to those who paired with a code.
    pub users: Vec<u64>,
    /// The ids of users who may only look.
    pub lookers: Vec<u64>,
    /// The time after which a person is reminded of an open question; zero for never.
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
}

/// A bot on which this process has the lease.
pub struct Telegram {
    config: TelegramConfig,
    users: Users,
    known: Vec<u64>,
    _lease: Lease,
}

impl Telegram {
    /// Takes the lease on the bot, and loads the users with access. Blocks.
    pub fn open(config: TelegramConfig) -> Result<Self, ChannelError> {
        // No user has the id 0, so no one could use the bot. No pairing code would be shown either, because the list is
        // not empty.
        if config.users.contains(&0) {
            let message = "0 is not the id of anybody in Telegram".to_owned();
            return Err(ChannelError::Settings { message, hint: Some(WRONG_USER.into()) });
        }
        let lease = Lease::take(&config.files.lock()).map_err(busy)?;
        let users = Users::new(&config.files.users());
        let wrong = |error: &dyn std::error::Error| settings(error.to_string());
        let paired = users.load().map_err(|error| wrong(&error))?;
        let known = config.users.iter().copied().chain(paired.iter().map(|user| user.id));
        let known = known.filter(|user| !config.lookers.contains(user)).collect();
        Ok(Self { config, users, known, _lease: lease })
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
        // The owner of sessions that began elsewhere.
        let owner = known.first().copied();
        for folder in &config.left {
            let projects = std::iter::once(&config.project).chain(&config.others);
            relay::import(folder, &*sessions, (&config.template, projects), owner).await?;
        }
        let me = tokio::select! {
            me = me(&config.api, &notices, &config.now) => me.map_err(refused)?,
            _ = stop.wait_for(|stop| *stop) => return Ok(()),
        };
        let name = format!("@{}", me.username.as_deref().unwrap_or(&me.first_name));
        told.tell(ChannelNotice::Serving { channel: CHANNEL, name });
        let parts = flow::ChannelParts {
            sessions,
            api: Arc::new(config.api),
            me,
            files: config.files,
            folder: config.folder,
            template: config.template,
            new_quick_work: config.new_quick_work,
            new_branch: config.new_branch,
            known_projects: config.known_projects,
            has_lead: config.has_lead,
            project: config.project,
            others: config.others,
            access: Access::new(known.iter().copied()).with_lookers(config.lookers.iter().copied().collect()),
            lookers: config.lookers.into_iter().collect(),
            users,
            owner,
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

/// Fetches the bot's own account. Retries for as long as Telegram cannot be reached, and a few times if Telegram
/// rejects the token.
async fn me(api: &Api, notices: &Notices, now: &Now) -> Result<Me, ApiError> {
    let mut backoff = Backoff::default();
    let (mut since, mut refusals) = (None, 0);
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
            // A Bot API server that is restarting may reject a valid token.
            Err(ApiError::Unauthorized(_)) if refusals + 1 < MOST_REFUSALS => {
                refusals += 1;
                backoff.grow()
            }
            Err(error) => return Err(error),
        };
        tokio::time::sleep(wait.max(Duration::from_millis(100))).await;
    }
}

/// Passes notices on at once. Sending them never blocks, so they do not pile up in this queue.
async fn pass_on(mut heard: mpsc::UnboundedReceiver<Notice>, to: rapport_door::Notices) {
    while let Some(notice) = heard.recv().await {
        to.tell(ChannelNotice::Message { channel: CHANNEL, message: notice.to_string() });
    }
}

/// Converts an error of the Bot API to a channel error with a hint.
pub fn refused(error: ApiError) -> ChannelError {
    match error {
        ApiError::Unauthorized(_) => {
            ChannelError::Settings { message: error.to_string(), hint: Some(WRONG_TOKEN.into()) }
        }
        ApiError::Address => {
            ChannelError::Settings { message: error.to_string(), hint: Some(WRONG_ADDRESS.into()) }
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
        error @ (RunError::Webhook(_) | RunError::Ledger(_) | RunError::Task(_) | RunError::Notes { .. }) => {
            ChannelError::Broken(error.to_string())
        }
    }
}
