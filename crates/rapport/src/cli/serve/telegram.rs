//! Telegram as `serve` starts it: made from the settings, after what an older relay left behind was taken over.

mod transcriber;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport_core::{Aim, By, Clarifier, InteractiveFile, InteractiveState, Session};

use crate::channels::telegram::BotFiles;
use crate::channels::telegram::api::Api;
use crate::channels::telegram::api_error::ApiError;
use crate::channels::telegram::channel::{self, Telegram, TelegramConfig};
use crate::channels::telegram::flow::quiet::QuietHours;
use crate::channels::telegram::flow::{Template, file};
use crate::channels::telegram::rates::Limits;
use crate::channels::telegram::webhook::{HEADERS_WITHIN, WebhookConfig};
use crate::clock::Clock;
use crate::config::{Secret, Settings, TelegramSettings};
use crate::error::{Code, Failure, Outcome};
use crate::stores::{Holder, Store};
use crate::wiring::{Place, Shelf};

/// How many rounds of questions a plan in a chat takes, where nobody says otherwise (CHAT-8).
const ROUNDS: u32 = 3;

/// How to get a bot.
pub(in crate::cli) const GET_A_BOT: &str = "Make a bot: write /newbot to @BotFather in Telegram, then \
    export TELEGRAM_BOT_TOKEN=TOKEN (docs/telegram.md tells more).";

/// The channel, ready to run. It takes over what an older relay left behind.
pub(super) async fn channel(place: &Place, settings: &Settings) -> Result<Telegram, Failure> {
    let api = api(&settings.telegram)?;
    let telegram = &settings.telegram;
    let (template, folder) = (template(place, settings)?, chat_files(place));
    let channel = Telegram::open(TelegramConfig {
        files: BotFiles::new(&place.home, api.bot()),
        api,
        folder: folder.clone(),
        template: template.clone(),
        users: telegram.users.clone(),
        remind: telegram.remind,
        webhook: telegram.webhook.clone().map(|webhook| WebhookConfig {
            url: webhook.url,
            listen: webhook.listen,
            secret: webhook.secret.map(|secret| secret.into_inner()),
            headers_within: HEADERS_WITHIN,
        }),
        limits: Limits::faster(telegram.faster),
        transcriber: transcriber::of(&telegram.transcriber, &place.home),
        quiet: telegram.quiet.as_deref().map(quiet_hours).transpose()?,
        zone: jiff::tz::TimeZone::system(),
        budget: telegram.budget.map(|budget| budget.0),
        secrets: secrets(place, settings).into_iter().map(Secret::into_inner).collect(),
        now: Arc::new(|| Clock::system().now()),
    })?;
    let store = place.store_in(&Shelf::Sessions);
    for left in [Some(folder), older_relay()].into_iter().flatten() {
        take_over(&left, &*store, &template, channel.owner()).await?;
    }
    Ok(channel)
}

/// The bot of the settings; without a token, how to get one.
pub(in crate::cli) fn api(settings: &TelegramSettings) -> Result<Api, Failure> {
    let Some(token) = settings.token.clone() else {
        return Err(Failure::new(Code::Usage, "there is no token of a Telegram bot").hint(GET_A_BOT));
    };
    Api::new(&settings.api_url, token.into_inner()).map_err(refused)
}

fn quiet_hours(words: &str) -> Result<QuietHours, Failure> {
    QuietHours::parse(words).ok_or_else(|| {
        Failure::new(Code::Usage, format!("telegram.quiet: {words:?} is not hours of the day"))
            .hint("Say from when to when, in your time zone: 22:00-07:00")
    })
}

/// What is never sent to a chat, whoever wrote it down where.
fn secrets(place: &Place, settings: &Settings) -> Vec<Secret> {
    let telegram = &settings.telegram;
    let webhook = telegram.webhook.as_ref().and_then(|webhook| webhook.secret.clone());
    let said = [telegram.token.clone(), webhook, settings.planner.api_key.clone()].into_iter().flatten();
    let named = place.agents.credentials().filter_map(|name| std::env::var(name).ok()).map(Secret::new);
    said.chain(named).collect()
}

/// Why Telegram does not accept the bot.
pub(in crate::cli) fn refused(error: ApiError) -> Failure {
    channel::refused(error).into()
}

/// What sessions in chats start from.
fn template(place: &Place, settings: &Settings) -> Result<Template, Failure> {
    let (place, settings) = (place.clone(), settings.clone());
    // Whatever could be wrong with the place is told now.
    let blank = place.session(String::new(), Aim::Chat, &settings)?;
    Ok(Arc::new(move |task: String, aim: Aim| {
        let mut created = place
            .session(task.clone(), aim.clone(), &settings)
            .unwrap_or_else(|_| rapport_core::Created { task, aim: aim.clone(), ..blank.clone() });
        if aim == Aim::Work {
            created.terms.clarifier = Clarifier::Planner;
            created.terms.max_rounds = settings.max_rounds.unwrap_or(ROUNDS);
        }
        created
    }))
}

/// Where the files of chats are: older relays and their tools look there, so their variable comes first.
fn chat_files(place: &Place) -> PathBuf {
    relay_dir().unwrap_or_else(|| place.home.clone()).join("sessions")
}

/// Where an older relay has its files if nobody says otherwise.
fn older_relay() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty() && relay_dir().is_none())?;
    Some(Path::new(&home).join(".claude-relay/sessions"))
}

fn relay_dir() -> Option<PathBuf> {
    std::env::var_os("RELAY_DIR").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Takes over what an older relay left behind: its sessions go on here, with all their answers.
async fn take_over(folder: &Path, store: &dyn Store, template: &Template, owner: Option<u64>) -> Outcome {
    let Ok(found) = std::fs::read_dir(folder) else { return Ok(()) };
    let names = found.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let files: Vec<_> = names.filter_map(|name| Some((file::room(&name)?, folder.join(&name)))).collect();
    if files.is_empty() {
        return Ok(());
    }
    let mut known = std::collections::HashSet::new();
    for id in store.list().await? {
        let session = store.counted(&id, 0).await.ok().and_then(|entries| Session::replay(&entries));
        known.extend(session.map(|session| session.created().conversation.clone()));
    }
    for (room, path) in files {
        let Some(left) = read_left(&path) else { continue };
        let conversation = rapport_core::ConversationId::new(left.session_id.clone());
        if left.state == InteractiveState::Done || known.contains(&conversation) {
            continue;
        }
        let person = u64::try_from(room.chat).ok().or(owner);
        let mut created = template(left.task.clone(), Aim::Work);
        // It goes on where it was begun, when that project is served again.
        if left.project.as_ref().is_some_and(|project| *project != created.project) {
            continue;
        }
        created.conversation = conversation;
        created.origin = Some(room.into());
        if let Some(person) = person {
            created.by = By::Person { channel: "telegram".into(), id: person.to_string() };
        }
        let facts = left.revive(created)?;
        let holder = Holder::this_process(None);
        store.create(&left.task, left.created_at, facts, &holder).await?;
    }
    Ok(())
}

/// A file that is damaged stays where it is: the next plan in its chat replaces it.
fn read_left(path: &PathBuf) -> Option<InteractiveFile> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
