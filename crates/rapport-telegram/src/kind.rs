//! Telegram as a kind of channel: its settings, how a channel is made from them, and the checks of `doctor`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rapport_core::{Aim, Clarifier, Created, QuietHours};
use rapport_door::{
    Channel, ChannelError, ChannelKind, ChannelSetup, Diagnosis, Missing, NewWork, ProjectSetup,
};
use rapport_settings::{ConfigError, Declared, Secret, Sources};
use tokio::task::spawn_blocking;

use crate::api::Api;
use crate::channel::{Telegram, TelegramConfig, refused};
use crate::flow::{NewBranch, NewQuickWork, Project, Template};
use crate::lease::{Lease, LeaseError};
use crate::rates::Limits;
use crate::settings::{TelegramLayer, TelegramSettings};
use crate::users::Users;
use crate::webhook::{HEADERS_WITHIN, WebhookConfig};
use crate::{BotFiles, CHANNEL, relay, transcriber};

/// The default number of rounds of questions for a plan in a chat (CHAT-8).
const ROUNDS: u32 = 3;

/// The message if no bot is configured.
const NO_BOT: Missing = Missing {
    what: "there is no token of a Telegram bot",
    advice: "Make a bot: write /newbot to @BotFather in Telegram, then export TELEGRAM_BOT_TOKEN=TOKEN \
             (docs/telegram.md tells more).",
};

/// The hint for a bot that another program serves.
const OTHER_PROGRAM: &str =
    "Stop the other program that uses this token, or give it another with @BotFather.";

/// The kind of this channel.
#[derive(Clone, Copy, Debug)]
pub struct TelegramKind;

impl ChannelKind for TelegramKind {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn section(&self) -> Declared {
        Declared::of::<TelegramLayer>()
    }

    fn help(&self) -> &'static str {
        "A Telegram bot: plan tasks in a chat, and answer agents from the phone. Takes the token of the bot from \
TELEGRAM_BOT_TOKEN (or telegram.token in config.yaml) and the ids of its users from TELEGRAM_USER_ID (or \
telegram.users). If nobody has access yet, a code is shown here: whoever sends it to the bot gets access.

  TELEGRAM_BOT_TOKEN=123:abc rapport serve      pair with the code it shows
  TELEGRAM_BOT_TOKEN=123:abc TELEGRAM_USER_ID=42 rapport serve"
    }

    fn missing(&self, settings: &Sources) -> Result<Option<Missing>, ConfigError> {
        Ok(TelegramSettings::load(settings)?.token.is_none().then_some(NO_BOT))
    }

    fn project(&self, settings: &Sources) -> Result<Option<PathBuf>, ConfigError> {
        Ok(settings.load::<TelegramLayer>()?.project)
    }

    fn open(&self, setup: ChannelSetup) -> BoxFuture<'static, Result<Box<dyn Channel>, ChannelError>> {
        async move {
            let opened = spawn_blocking(move || open(&setup)).await;
            let channel = opened.unwrap_or_else(|error| Err(ChannelError::Broken(error.to_string())))?;
            Ok(Box::new(channel) as Box<dyn Channel>)
        }
        .boxed()
    }

    fn diagnose(&self, setup: ChannelSetup) -> BoxFuture<'static, Diagnosis> {
        async move {
            let found = diagnose(&setup).await;
            found.map_or_else(|(found, advice)| Diagnosis::Bad { found, advice }, Diagnosis::Good)
        }
        .boxed()
    }
}

/// Takes the lease on the bot, and loads the users with access. Blocks.
fn open(setup: &ChannelSetup) -> Result<Telegram, ChannelError> {
    let settings = TelegramSettings::load(&setup.settings)?;
    let api = api(&settings)?;
    let secrets = secrets(setup, &settings);
    let folder = relay::chat_files(&setup.home, &setup.settings);
    Telegram::open(TelegramConfig {
        files: BotFiles::new(&setup.home, api.bot()),
        api,
        left: [Some(folder.clone()), relay::default_folder(&setup.settings)].into_iter().flatten().collect(),
        folder,
        template: template(setup)?,
        new_quick_work: new_quick_work(setup),
        new_branch: new_branch(setup),
        known_projects: setup.projects.clone(),
        has_lead: settings.lead && setup.has_lead_tools,
        project: project(&setup.project),
        others: setup.others.iter().map(project).collect(),
        users: settings.users,
        lookers: settings.lookers,
        remind: settings.remind,
        webhook: settings.webhook.map(|webhook| WebhookConfig {
            url: webhook.url,
            listen: webhook.listen,
            secret: webhook.secret.map(Secret::into_inner),
            headers_within: HEADERS_WITHIN,
        }),
        limits: Limits::faster(settings.faster),
        transcriber: transcriber::of(&settings.transcriber, &setup.home, &setup.environment),
        quiet: settings.quiet.as_deref().map(quiet_hours).transpose()?,
        zone: TimeZone::system(),
        budget: settings.budget.map(|budget| budget.0).or(setup.daily_budget),
        secrets,
        now: Arc::new(Timestamp::now),
    })
}

/// The bot's client; without a token, an error that says how to get one.
fn api(settings: &TelegramSettings) -> Result<Api, ChannelError> {
    let Some(token) = settings.token.clone() else {
        return Err(wrong(NO_BOT.what, NO_BOT.advice));
    };
    Api::new(&settings.api_url, token.into_inner()).map_err(refused)
}

fn wrong(message: impl Into<String>, hint: &str) -> ChannelError {
    ChannelError::Settings { message: message.into(), hint: Some(hint.into()) }
}

fn quiet_hours(words: &str) -> Result<QuietHours, ChannelError> {
    QuietHours::parse(words).ok_or_else(|| {
        wrong(
            format!("telegram.quiet: {words:?} is not hours of the day"),
            "Say from when to when, in your time zone: 22:00-07:00",
        )
    })
}

/// The secrets that are never sent to a chat, from the settings of Rapport and of this channel.
fn secrets(setup: &ChannelSetup, settings: &TelegramSettings) -> Vec<secrecy::SecretString> {
    let webhook = settings.webhook.as_ref().and_then(|webhook| webhook.secret.clone());
    let own = [settings.token.clone(), webhook].into_iter().flatten().map(Secret::into_inner);
    setup.secrets.iter().cloned().chain(own).collect()
}

fn project(setup: &ProjectSetup) -> Project {
    Project { name: setup.name.clone(), path: setup.path.clone(), has_quick_tasks: setup.quick_tasks }
}

/// Creates the first facts of sessions in chats.
fn template(setup: &ChannelSetup) -> Result<Template, ChannelError> {
    let first = template_of(&setup.project)?;
    let others = setup.others.iter().map(|other| Ok((other.path.clone(), template_of(other)?)));
    let others: HashMap<_, _> = others.collect::<Result<_, ChannelError>>()?;
    Ok(Arc::new(move |project, task, aim| others.get(project).unwrap_or(&first)(task, aim)))
}

/// Creates the first facts of work without planning, in any of the projects.
fn new_quick_work(setup: &ChannelSetup) -> NewQuickWork {
    let first = setup.project.new_work.clone();
    let others: HashMap<String, NewWork> =
        setup.others.iter().map(|other| (other.path.clone(), other.new_work.clone())).collect();
    Arc::new(move |project, wish| others.get(project).unwrap_or(&first)(wish))
}

/// Opens questions again in branches, in any of the projects.
fn new_branch(setup: &ChannelSetup) -> NewBranch {
    let first = setup.project.new_branch.clone();
    let others: HashMap<_, _> =
        setup.others.iter().map(|other| (other.path.clone(), other.new_branch.clone())).collect();
    Arc::new(move |project, session, question| others.get(project).unwrap_or(&first)(session, question))
}

/// Creates the first facts of sessions of one project.
fn template_of(
    project: &ProjectSetup,
) -> Result<impl Fn(String, Aim) -> Created + Send + Sync + use<>, ChannelError> {
    let (new_session, max_rounds) = (project.new_session.clone(), project.max_rounds.unwrap_or(ROUNDS));
    // Problems with the project are reported now, and not when the first session begins.
    let blank = new_session(String::new(), Aim::Chat)
        .map_err(|message| ChannelError::Settings { message, hint: None })?;
    Ok(move |task: String, aim: Aim| {
        let mut created = new_session(task.clone(), aim.clone()).unwrap_or_else(|_| Created {
            task,
            aim: aim.clone(),
            ..blank.clone()
        });
        if aim == Aim::Work {
            created.terms.clarifier = Clarifier::Planner;
            created.terms.max_rounds = max_rounds;
        }
        created
    })
}

/// Checks the bot, its users, and whether another program receives its updates. The error says what is wrong and what
/// to do about it.
async fn diagnose(setup: &ChannelSetup) -> Result<String, (String, String)> {
    let settings = TelegramSettings::load(&setup.settings)
        .map_err(|error| (error.to_string(), "Fix the settings first.".into()))?;
    if settings.token.is_none() {
        return Ok("no bot is set up; docs/telegram.md describes how to answer from a phone".into());
    }
    let api = api(&settings).map_err(|error| advised(&error))?;
    let me = api.get_me().await.map_err(|error| advised(&refused(error)))?;
    let files = BotFiles::new(&setup.home, api.bot());
    let name = me.username.unwrap_or(me.first_name);
    let looked =
        spawn_blocking(move || (Users::new(&files.users()).load(), Lease::take(&files.lock()))).await;
    let (paired, lease) =
        looked.map_err(|error| (format!("cannot read the bot's files: {error}"), String::new()))?;
    let paired = paired.map_err(|error| {
        (error.to_string(), "Nobody gets access by that file until it is fixed.".to_owned())
    })?;
    let users = match settings.users.len() + paired.len() {
        0 => "nobody has access yet: `rapport serve` shows a code".to_owned(),
        1 => "one person may use it".to_owned(),
        several => format!("{several} people may use it"),
    };
    let receives = match &lease {
        Err(LeaseError::Busy { .. }) => "served on this machine",
        Err(error) => {
            return Err((error.to_string(), "Set RAPPORT_HOME to a folder that can be written.".into()));
        }
        Ok(_) if settings.webhook.is_some() => "not served just now",
        Ok(_) => match api.try_updates().await {
            Ok(()) => "not served just now",
            Err(error) => return Err((format!("@{name}: {error}"), OTHER_PROGRAM.into())),
        },
    };
    Ok(format!("@{name}, {users}, {receives}"))
}

fn advised(error: &ChannelError) -> (String, String) {
    let hint = match error {
        ChannelError::Settings { hint, .. } => hint.clone().unwrap_or_default(),
        ChannelError::Busy(_) | ChannelError::Broken(_) | ChannelError::Door(_) => String::new(),
    };
    (error.to_string(), hint)
}
