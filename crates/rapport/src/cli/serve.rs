//! `rapport serve`: the daemon. Telegram is its first channel.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rapport_core::{Aim, By, Clarifier, InteractiveFile, InteractiveState, Session};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::Common;
use super::agent_flags::AgentFlags;
use super::output::{say, say_json};
use super::screen::StopSignal;
use crate::channels::telegram::access::Access;
use crate::channels::telegram::api::{Api, Me};
use crate::channels::telegram::api_error::ApiError;
use crate::channels::telegram::backoff::Backoff;
use crate::channels::telegram::flow::{self, RunError, Template, file};
use crate::channels::telegram::lease::{Lease, LeaseError};
use crate::channels::telegram::notice::{Notice, Notices};
use crate::channels::telegram::rates::Limits;
use crate::channels::telegram::users::Users;
use crate::channels::telegram::webhook::WebhookConfig;
use crate::channels::telegram::{BotFiles, Now};
use crate::clock::Clock;
use crate::config::{Settings, TelegramSettings};
use crate::engine::ChannelLease;
use crate::error::{Code, Failure, Outcome};
use crate::stores::{Holder, Store};
use crate::wiring::{Host, Place};

/// How many rounds of questions a plan in a chat takes, where nobody says otherwise (CHAT-8).
const ROUNDS: u32 = 3;

/// How many files are written at once. More only cost memory: the disk is not faster for it.
const WRITERS: usize = 64;

/// How long what is still to be told here gets when it ends.
const LAST_NOTICES: Duration = Duration::from_secs(1);

/// How to get a bot.
pub(super) const GET_A_BOT: &str = "Make a bot: write /newbot to @BotFather in Telegram, then \
    export TELEGRAM_BOT_TOKEN=TOKEN (docs/telegram.md tells more).";

/// Serve a Telegram bot: plan tasks in a chat, and answer agents from the phone
///
/// Takes the token of the bot from TELEGRAM_BOT_TOKEN (or telegram.token in config.yaml) and the ids of those who may
/// use it from TELEGRAM_USER_ID (or telegram.users). Where nobody may yet, a code is shown here: whoever sends it to the
/// bot may. It can be stopped at any moment, even killed; started again, it goes on with the same buttons.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  TELEGRAM_BOT_TOKEN=123:abc rapport serve      pair with the code it shows
  TELEGRAM_BOT_TOKEN=123:abc TELEGRAM_USER_ID=42 rapport serve
  rapport serve --json                          what happens, as lines of JSON
  rapport serve --agent rehearsal               with the scripted agent")]
pub(super) struct Args {
    #[command(flatten)]
    agent: AgentFlags,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let mut place = Place::find(common)?;
    let settings = place.settings(args.agent.layer())?;
    if let (None, Some(project)) = (&common.project, &settings.telegram.project) {
        place.project = project.canonicalize().map_err(|error| {
            Failure::new(Code::Usage, format!("cannot use {} as the project: {error}", project.display()))
        })?;
    }
    let api = api(&settings.telegram)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(WRITERS)
        .enable_all()
        .build()?;
    runtime.block_on(serve(common, &place, &settings, api))
}

/// The bot of the settings; without a token, how to get one.
pub(super) fn api(settings: &TelegramSettings) -> Result<Api, Failure> {
    let Some(token) = settings.token.clone() else {
        return Err(Failure::new(Code::Usage, "there is no token of a Telegram bot").hint(GET_A_BOT));
    };
    Api::new(&settings.api_url, token.into_inner()).map_err(refused)
}

async fn serve(common: &Common, place: &Place, settings: &Settings, api: Api) -> Outcome {
    let mut signal = StopSignal::listen()?;
    let (stop, stopped) = watch::channel(false);
    let stopping = tokio::spawn(async move {
        signal.received().await;
        let _ = stop.send(true);
        stop.closed().await;
    });
    let files = BotFiles::new(&place.home, api.bot());
    let lease = Lease::take(&files.lock()).map_err(busy)?;
    let people = ChannelLease::take(&place.home.join("run"), "telegram")?;
    let (notices, heard) = mpsc::unbounded_channel();
    let telling = tokio::spawn(tell(heard, Shown::of(common)));
    let outcome = host(common, place, settings, (api, files), notices, stopped).await;
    let _ = tokio::time::timeout(LAST_NOTICES, telling).await;
    stopping.abort();
    drop((people, lease));
    outcome
}

async fn host(
    common: &Common,
    place: &Place,
    settings: &Settings,
    (api, files): (Api, BotFiles),
    notices: Notices,
    mut stop: watch::Receiver<bool>,
) -> Outcome {
    let now: Now = Arc::new(|| Clock::system().now());
    let me = tokio::select! {
        me = me(&api, &notices, &now) => me.map_err(refused)?,
        _ = stop.wait_for(|stop| *stop) => return Ok(()),
    };
    let users = Users::new(&files.users());
    let paired = users.load().map_err(|error| Failure::new(Code::Usage, error.to_string()))?;
    let known = settings.telegram.users.iter().copied().chain(paired.iter().map(|user| user.id));
    let known: Vec<u64> = known.collect();
    let template = template(place, settings)?;
    let folder = chat_files(place);
    let store = place.store();
    for left in [Some(folder.clone()), older_relay()].into_iter().flatten() {
        take_over(&left, &*store, &template, known.first().copied())?;
    }
    let host = Host::start(place, settings)?;
    hello(common, &me, place)?;
    let parts = flow::Parts {
        sessions: host.sessions(),
        api: Arc::new(api),
        me,
        files,
        folder,
        template,
        access: Access::new(known.iter().copied()),
        users,
        owner: known.first().copied(),
        remind: settings.telegram.remind,
        webhook: settings.telegram.webhook.clone().map(|webhook| WebhookConfig {
            url: webhook.url,
            listen: webhook.listen,
            secret: webhook.secret.map(|secret| secret.into_inner()),
        }),
        limits: Limits::faster(settings.telegram.faster),
        now,
        notices,
    };
    let outcome = flow::run(parts, stop).await;
    host.stop().await;
    outcome.map_err(ended)
}

/// Who the bot is. Where Telegram cannot be reached, it is asked until it can.
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
            Err(ApiError::Unreachable(why)) => {
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
fn take_over(folder: &Path, store: &dyn Store, template: &Template, owner: Option<u64>) -> Outcome {
    let Ok(found) = std::fs::read_dir(folder) else { return Ok(()) };
    let names = found.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let files: Vec<_> = names.filter_map(|name| Some((file::room(&name)?, folder.join(&name)))).collect();
    if files.is_empty() {
        return Ok(());
    }
    let mut known = std::collections::HashSet::new();
    for id in store.list()? {
        let session = store.counted(&id, 0).ok().and_then(|entries| Session::replay(&entries));
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
        store.create(&left.task, left.created_at, facts, &holder)?;
    }
    Ok(())
}

/// A file that is damaged stays where it is: the next plan in its chat replaces it.
fn read_left(path: &PathBuf) -> Option<InteractiveFile> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// How what happens is shown.
#[derive(Clone, Copy)]
enum Shown {
    Words,
    Json,
}

impl Shown {
    fn of(common: &Common) -> Self {
        if common.json { Shown::Json } else { Shown::Words }
    }
}

fn hello(common: &Common, me: &Me, place: &Place) -> Outcome {
    let name = me.username.as_deref().unwrap_or(&me.first_name);
    if common.json {
        return say_json(&json!({ "event": "serving", "bot": name, "project": place.project }));
    }
    say(format_args!("Serving @{name} for {}. Stop with Ctrl-C; nothing is lost.", place.project.display()))
}

async fn tell(mut heard: mpsc::UnboundedReceiver<Notice>, shown: Shown) {
    while let Some(notice) = heard.recv().await {
        // Who reads no more has their reasons.
        let _ = match shown {
            Shown::Json => say_json(&json!({ "event": "notice", "message": notice.to_string() })),
            Shown::Words => say(notice),
        };
    }
}

fn busy(error: LeaseError) -> Failure {
    match error {
        LeaseError::Busy { .. } => Failure::new(Code::Busy, error.to_string()),
        LeaseError::Io { .. } => Failure::new(Code::Trouble, error.to_string()),
    }
}

pub(super) fn refused(error: ApiError) -> Failure {
    match error {
        ApiError::Unauthorized(_) => Failure::new(Code::Usage, error.to_string())
            .hint("Look at the token: @BotFather shows it with /mybots, and gives a new one with /revoke."),
        error => Failure::new(Code::Trouble, error.to_string()),
    }
}

fn ended(error: RunError) -> Failure {
    match error {
        RunError::Api(error) => refused(error),
        RunError::Door(error) => error.into(),
        error @ (RunError::Webhook(_)
        | RunError::Ledger(_)
        | RunError::Receiving(_)
        | RunError::Notes { .. }) => Failure::new(Code::Trouble, error.to_string()),
    }
}
