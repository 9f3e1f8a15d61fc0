//! A strict Telegram on loopback: the Bot API with its refusals, limits and words, and people who use it.
//!
//! Its replies and their timing follow the documentation of the Bot API and the sources of its server. It records
//! everything that the bot does, and a test can wait for any of it ([`TelegramServer::wait_for`]) without sleeping;
//! if it waits in vain, it prints the chats as people see them. Faults can be requested ([`Fault`], [`Door`],
//! [`Order`]).
//!
//! The server has its own thread and clock, because tests may stop theirs.
#![allow(dead_code, unused_imports, reason = "measurements share it with the tests; neither uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod chat;
mod delivery;
mod faults;
mod html;
mod keyboard;
mod markdown;
mod methods;
mod notice;
mod person;
mod rates;
mod refusal;
mod request;
mod serve;
mod shown;
mod state;
mod text;
mod updates;
mod wire;

use std::fmt::Write as _;
use std::future::Future;
use std::net::SocketAddr;
use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

pub(crate) use chat::{Author, Came, Chat, ChatKind, ChatMessage, Content, PHOTO, Sound, Standing, Version};
pub(crate) use faults::Fault;
pub(crate) use keyboard::{Button, Markup};
pub(crate) use person::{Person, Tap};
pub(crate) use rates::{Limited, Limiter, Rates, Scope, Sending};
pub(crate) use refusal::Refusal;
use request::Parameters;
pub(crate) use state::{Answer, BOT_ID, BOT_NAME, Call, Callback, Outcome, Privacy, State, TOKEN, Violation};
pub(crate) use updates::Order;
pub(crate) use wire::Door;
use wire::{Lines, Wire};

/// How long anything may take to become true.
const PATIENCE: Duration = Duration::from_secs(30);

/// A Telegram, until it is dropped.
pub(crate) struct TelegramServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Gone only while being dropped.
    runtime: Option<Runtime>,
}

/// What the server, its people and the tests hold in common.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Counts the changes.
    changed: watch::Sender<u64>,
    door: watch::Sender<Door>,
    in_force: watch::Receiver<Door>,
    lines: Arc<Lines>,
    /// Its clock runs, whatever the clock of the test does.
    clock: Handle,
    patience: Mutex<Duration>,
}

impl TelegramServer {
    /// Starts on a free port. Limits are as strict as the real ones, until [`Self::rates`] says otherwise.
    pub(crate) async fn start() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (door, doors) = watch::channel(Door::Open);
        let (now_in_force, in_force) = watch::channel(Door::Open);
        let lines = Arc::new(Lines::default());
        let wire = {
            let _inside = runtime.enter();
            Wire::open(doors, now_in_force, lines.clone())
        };
        let address = wire.address();
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new()),
            changed: watch::Sender::new(0),
            door,
            in_force,
            lines,
            clock: runtime.handle().clone(),
            patience: Mutex::new(PATIENCE),
        });
        runtime.spawn(serve::serve(wire, shared.clone()));
        runtime.spawn(delivery::deliver(shared.clone()));
        Self { address, shared, runtime: Some(runtime) }
    }

    /// What stands before `/bot<token>/<method>`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bot's token.
    pub(crate) fn token(&self) -> &'static str {
        TOKEN
    }

    /// The address of a method.
    pub(crate) fn method_url(&self, method: &str) -> String {
        format!("{}/bot{TOKEN}/{method}", self.url())
    }

    /// A person, who has started the bot before.
    pub(crate) fn person(&self, id: i64, name: &str) -> Person {
        self.shared.change(|state| state.add_chat(id, name, ChatKind::Private));
        Person::new(self.shared.clone(), id, name)
    }

    /// A basic group with the bot in it.
    pub(crate) fn group(&self, title: &str) -> i64 {
        self.add_group(-900_100, title, ChatKind::Group)
    }

    /// A supergroup with the bot in it.
    pub(crate) fn supergroup(&self, title: &str) -> i64 {
        self.add_group(-1_001_900_000_100, title, ChatKind::Supergroup)
    }

    /// A supergroup with topics.
    pub(crate) fn forum(&self, title: &str) -> i64 {
        self.add_group(-1_001_900_000_100, title, ChatKind::Forum)
    }

    fn add_group(&self, from: i64, title: &str, kind: ChatKind) -> i64 {
        self.shared.change(|state| {
            let id = from - i64::try_from(state.chats.len()).unwrap();
            state.add_chat(id, title, kind);
            id
        })
    }

    /// A topic in a forum, by its thread.
    pub(crate) fn topic(&self, forum: i64, name: &str) -> i32 {
        self.shared.change(|state| state.add_topic(forum, name))
    }

    /// A topic that takes no more messages.
    pub(crate) fn close_topic(&self, forum: i64, topic: i32) {
        self.shared.change(|state| {
            state.chats.get_mut(&forum).unwrap().topics.get_mut(&topic).unwrap().open = false;
        });
    }

    /// Makes a group a supergroup, which is another chat; that one's id.
    pub(crate) fn upgrade(&self, group: i64) -> i64 {
        let title = self.shared.look(|state| state.chats[&group].name.clone());
        let to = self.supergroup(&title);
        self.shared.change(|state| state.chats.get_mut(&group).unwrap().kind = ChatKind::Upgraded(to));
        to
    }

    /// How the bot stands in a chat from now on, without its being told.
    pub(crate) fn stand(&self, chat: i64, standing: Standing) {
        self.shared.change(|state| state.chats.get_mut(&chat).unwrap().bot = standing);
    }

    /// How the limits are held from now on; what was sent so far is forgotten.
    pub(crate) fn rates(&self, rates: Rates) {
        self.shared.change(|state| state.limiter = Limiter::new(rates));
    }

    /// Which messages of groups reach the bot.
    pub(crate) fn privacy(&self, privacy: Privacy) {
        self.shared.change(|state| state.privacy = privacy);
    }

    /// How long a tap can be answered.
    pub(crate) fn callback_lifetime(&self, lifetime: Duration) {
        self.shared.change(|state| state.callback_lifetime = lifetime);
    }

    /// No tap so far can be answered any more.
    pub(crate) fn expire_callbacks(&self) {
        self.shared.change(|state| state.callbacks.iter_mut().for_each(|callback| callback.expired = true));
    }

    /// How long the server waits before it tries the webhook again.
    pub(crate) fn webhook_retry(&self, wait: Duration) {
        self.shared.change(|state| state.webhook_retry = wait);
    }

    /// The next call of this method (`*`: of any) meets with trouble.
    pub(crate) fn fault(&self, method: &str, fault: Fault) {
        self.fault_times(method, 1, fault);
    }

    /// The next so many do.
    pub(crate) fn fault_times(&self, method: &str, times: u32, fault: Fault) {
        self.shared.change(|state| state.faults.plan(method, times, fault));
    }

    /// No trouble is to come any more.
    pub(crate) fn clear_faults(&self) {
        self.shared.change(|state| state.faults.clear());
    }

    /// From now on it refuses or hangs; when this returns, it does.
    pub(crate) async fn goes_down(&self, door: Door) {
        self.shared.door.send_replace(door);
        let mut in_force = self.shared.in_force.clone();
        in_force.wait_for(|now| *now == door).await.unwrap();
    }

    /// From now on it answers again, on the same port.
    pub(crate) async fn comes_back(&self) {
        self.goes_down(Door::Open).await;
    }

    /// Ends every connection there is.
    pub(crate) fn cut_connections(&self) {
        self.shared.lines.cut();
    }

    /// From now on nothing reaches the bot.
    pub(crate) fn hold_updates(&self) {
        self.shared.change(|state| state.updates.hold());
    }

    /// What was held reaches it now, and everything after.
    pub(crate) fn release_updates(&self, order: Order) {
        self.shared.change(|state| state.updates.release(order));
    }

    /// The next update reaches the bot so many times, confirmed or not.
    pub(crate) fn repeat_next_update(&self, times: u32) {
        self.shared.change(|state| state.updates.repeat_next(times));
    }

    /// How many updates wait for the bot.
    pub(crate) fn pending_updates(&self) -> usize {
        self.shared.look(|state| state.updates.pending())
    }

    /// Looks at everything.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.shared.look(look)
    }

    /// How long anything may take to become true, from now on.
    pub(crate) fn patience(&self, patience: Duration) {
        *self.shared.patience.lock().unwrap() = patience;
    }

    /// Waits until this gives something; panics with all chats if it never does.
    #[track_caller]
    pub(crate) fn wait_for<T>(
        &self,
        what: &str,
        look: impl FnMut(&State) -> Option<T>,
    ) -> impl Future<Output = T> {
        self.shared.wait_for(what.to_owned(), look)
    }

    /// Waits until the bot has called this method this number of times, with or without success. Returns the calls.
    #[track_caller]
    pub(crate) fn called(&self, method: &str, times: usize) -> impl Future<Output = Vec<Call>> {
        let calls = move |state: &State| {
            let calls: Vec<_> = state.calls.iter().filter(|call| call.method == method).cloned().collect();
            (calls.len() >= times).then_some(calls)
        };
        self.shared.wait_for(format!("{times} calls of {method}"), calls)
    }

    /// The calls of a method so far.
    pub(crate) fn calls(&self, method: &str) -> Vec<Call> {
        self.look(|state| state.calls.iter().filter(|call| call.method == method).cloned().collect())
    }

    /// What a well-made bot would not have done.
    pub(crate) fn violations(&self) -> Vec<Violation> {
        self.look(|state| state.violations.clone())
    }

    /// The messages of a chat, oldest first.
    pub(crate) fn messages(&self, chat: i64) -> Vec<ChatMessage> {
        self.look(|state| state.messages_in(chat, None).cloned().collect())
    }

    /// Every chat as people see it.
    pub(crate) fn screens(&self) -> String {
        self.look(screens)
    }
}

impl Drop for TelegramServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock().unwrap())
    }

    /// Changes something, and wakes whoever waits.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.lock().unwrap());
        self.changed.send_modify(|changes| *changes += 1);
        changed
    }

    /// Notes a call that came in, and gives its place.
    fn note(&self, method: &str, parameters: &Parameters) -> usize {
        let noticed = notice::notice(method, parameters);
        self.change(|state| {
            state.violations.extend(noticed);
            let moment = state.tick();
            state.calls.push(Call {
                moment,
                at: Instant::now(),
                method: method.to_owned(),
                parameters: parameters.values.clone(),
                files: parameters.files.clone(),
                outcome: Outcome::Open,
            });
            state.calls.len() - 1
        })
    }

    /// Does it, and notes what came of it.
    fn finish(&self, call: usize, execute: impl FnOnce(&mut State) -> methods::Result) -> methods::Result {
        self.change(|state| {
            let result = execute(state);
            state.calls[call].outcome = match &result {
                Ok(value) => Outcome::Done(value.clone()),
                Err(refusal) => Outcome::Refused(refusal.clone()),
            };
            result
        })
    }

    /// The bot is not told what came of it.
    fn unheard(&self, call: usize) {
        self.change(|state| {
            let outcome = &mut state.calls[call].outcome;
            *outcome = match std::mem::replace(outcome, Outcome::Lost) {
                Outcome::Done(value) => Outcome::DoneUnheard(value),
                Outcome::Open | Outcome::DoneUnheard(_) | Outcome::Refused(_) | Outcome::Lost => {
                    Outcome::Lost
                }
            };
        });
    }

    #[track_caller]
    fn wait_for<T>(
        &self,
        what: String,
        mut look: impl FnMut(&State) -> Option<T>,
    ) -> impl Future<Output = T> {
        let from = Location::caller();
        async move {
            let mut changed = self.changed.subscribe();
            let most = *self.patience.lock().unwrap();
            // Made inside: outside, it would go by the clock of the test.
            let patience = self.clock.spawn(async move { tokio::time::sleep(most).await });
            tokio::pin!(patience);
            loop {
                if let Some(found) = self.look(&mut look) {
                    patience.abort();
                    return found;
                }
                tokio::select! {
                    _ = changed.changed() => {}
                    _ = &mut patience => panic!("{from} waited in vain for {what}\n{}", self.look(screens)),
                }
            }
        }
    }
}

fn screens(state: &State) -> String {
    let mut all = String::new();
    for chat in state.chats.values() {
        let _ = writeln!(all, "--- {} ({})", chat.name, chat.id);
        all.push_str(&chat::render(state.messages_in(chat.id, None)));
    }
    let _ = writeln!(all, "--- the last calls");
    for call in state.calls.iter().rev().take(8).rev() {
        let result = match &call.outcome {
            Outcome::Open => "open".to_owned(),
            Outcome::Done(_) => "done".to_owned(),
            Outcome::DoneUnheard(_) => "done, unheard".to_owned(),
            Outcome::Refused(refusal) => refusal.description.clone(),
            Outcome::Lost => "lost".to_owned(),
        };
        let _ = writeln!(all, "{} {}: {result}", call.method, Value::Object(call.parameters.clone()));
    }
    all
}
