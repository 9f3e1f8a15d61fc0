//! The terminal channel: the screen and keyboard of a person while a session runs.
//!
//! Everything but the loop below is pure. [`screen::Screen`] (with a terminal) and [`plain::Plain`] (without one) take
//! events and return effects; [`story`] converts facts to lines; `render` draws cards; [`region`] writes. History
//! scrolls in the normal screen, and only the few rows below it are ever redrawn.

pub mod cards;
pub mod composer;
pub mod confirmation_card;
pub mod editor;
pub mod keys;
pub mod last_look;
pub mod line_input;
pub mod one_key;
pub mod plain;
pub mod question_card;
pub mod region;
pub mod review;
pub mod screen;
pub mod story;
pub mod style;
pub mod terminal_text;
pub mod text;

mod notice;
mod raw_terminal;
mod render;
mod words;
mod work;

use std::fmt;
use std::future::Future;
use std::io::{self, IsTerminal as _};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::KeyEvent;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};
use rapport_core::{Act, By, OpenQuestion, Reply, SessionId, Status};
use rapport_door::{DoorError, Sessions, Update};
use thiserror::Error;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

pub use notice::{Notice, notify_by};
pub use raw_terminal::{screen_is_up, size};
pub use render::block::Block;
pub use render::ending::check as check_lines;
pub use render::prose::lines as prose;
pub use style::ColourChoice;
use style::Theme;
use text::Line;

/// The maximum number of updates to apply before the screen is redrawn.
const AT_ONCE: usize = 256;

/// How long the keyboard must be silent before pasted input is considered complete.
const QUIET: Duration = Duration::from_millis(50);

static LINES_ONLY: AtomicBool = AtomicBool::new(false);

/// Use plain lines even where a screen would be possible, as screen readers need it.
pub fn use_lines() {
    LINES_ONLY.store(true, Ordering::SeqCst);
}

/// Whether plain lines were requested, or are all that the terminal supports.
pub fn lines_only() -> bool {
    LINES_ONLY.load(Ordering::SeqCst) || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// How the terminal is used.
#[derive(Debug)]
pub struct Terminal {
    /// The person at the terminal.
    pub by: By,
    /// Whether a person can see and type: input and output are terminals.
    pub interactive: bool,
    /// Whether to use colour.
    pub colour: ColourChoice,
    /// The command that answers this session from elsewhere, such as `rapport answer 20260124-add-user-auth`.
    pub answer_hint: String,
    /// Answers questions automatically, in a demonstration.
    pub auto: Option<AutoAnswer>,
}

/// An automatic answer to every question after it was shown, in its own name.
pub struct AutoAnswer {
    /// As whom it answers, which is shown with the answer.
    pub by: By,
    /// How long a question is shown before.
    pub pause: Duration,
    /// Picks the answer.
    pub pick: Box<dyn Fn(&OpenQuestion) -> Reply + Send + Sync>,
}

/// How the channel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The session is over, or waits for a person to continue it.
    Ended(Status),
    /// The person left, or the program was stopped. The session is unchanged.
    Detached,
}

/// Why the terminal failed.
#[derive(Debug, Error)]
pub enum TerminalError {
    /// The session cannot be followed.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// The terminal cannot be read or written.
    #[error("the terminal cannot be used: {0}")]
    Io(#[from] io::Error),
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

#[derive(Debug)]
pub enum ScreenInput {
    /// An update from the session.
    Update(Update),
    Key(KeyEvent),
    Paste(String),
    /// The terminal has another size.
    Resized(Size),
    /// A submitted act is durable, or was refused with this message.
    Submitted(Result<(), String>),
    /// A line was typed, if the terminal is not in raw mode.
    Line(String),
    /// The program was resumed after a suspend.
    Resumed,
    /// The wake-up time has come.
    TimePassed,
    /// The program has to stop, or the input has ended.
    Stopped,
}

/// An effect of an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Append lines to the history.
    Print(Vec<Line>),
    /// Submit an act to the session.
    Submit {
        by: By,
        act: Box<Act>,
    },
    /// Notify a person who may be looking elsewhere that this waits for them.
    Notify(String),
    /// Suspend the program.
    Suspend,
    Leave(Outcome),
}

/// What the terminal needs of a session.
pub trait Link: Send {
    /// The next update. Cancel safe: dropping the future loses nothing.
    fn next(&mut self) -> impl Future<Output = Option<Update>> + Send;
    /// Submits an act to the session.
    fn submit(&self, by: By, act: Act) -> impl Future<Output = Result<(), DoorError>> + Send + 'static;
    /// Whether the end of the updates means that everything was seen.
    fn is_complete(&self) -> bool {
        false
    }
}

/// A front end of any kind.
pub trait Front: Send {
    /// Handles an event, and returns the effects.
    fn step(&mut self, happening: ScreenInput, now: Duration) -> Vec<Effect>;
    /// When to wake up although nothing happens.
    fn wake(&self, now: Duration) -> Option<Duration>;
    /// Appends lines to the history, and shows the current state.
    fn show(&mut self, lines: &[Line], now: Duration) -> io::Result<()>;
    /// Notifies a person who may be looking elsewhere that this waits for them.
    fn notify(&mut self, _what: &str) -> io::Result<()> {
        Ok(())
    }
    /// Suspends the program, and takes the terminal again when it resumes.
    fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Shows a session until it ends or the person leaves.
pub async fn run(
    config: Terminal,
    sessions: Arc<dyn Sessions>,
    session: SessionId,
    shutdown: watch::Receiver<bool>,
) -> Result<Outcome, TerminalError> {
    let past = sessions.view(&session).await?.seq;
    let updates = sessions.follow(&session, 0).await?;
    let link = SessionLink { sessions, session: session.clone(), updates };
    run_with(config, link, session, past, shutdown).await
}

/// The same with any link.
pub async fn run_with(
    config: Terminal,
    link: impl Link,
    session: SessionId,
    past: u64,
    shutdown: watch::Receiver<bool>,
) -> Result<Outcome, TerminalError> {
    let env = |name: &str| std::env::var(name).ok();
    if config.interactive && !lines_only() {
        let theme = Theme::choose(config.colour, env);
        let screen = screen::Screen::new(config, session, past, raw_terminal::size());
        let mut live = raw_terminal::Live::new(screen, theme)?;
        let mut keys: Keys = Box::pin(raw_terminal::keys());
        let outcome = drive(&mut live, link, &mut keys, shutdown).await;
        // A terminal that was closed cannot be cleared.
        let _ = live.clear();
        forget_the_rest(&mut keys).await;
        return outcome;
    }
    let mut lines: Keys = if config.interactive { Box::pin(lines()) } else { Box::pin(stream::pending()) };
    let mut plain = plain::Plain::new(config, session, past, io::stdout());
    if io::stdout().is_terminal() {
        plain = plain.wrapped_at(|| raw_terminal::size().columns);
    }
    drive(&mut plain, link, &mut lines, shutdown).await
}

/// The typed lines. The end of the input means leaving.
fn lines() -> impl Stream<Item = ScreenInput> + Send {
    let typed =
        stream::unfold((), |()| async { Some((ScreenInput::Line(line_input::line().await.ok()??), ())) });
    typed.chain(stream::once(std::future::ready(ScreenInput::Stopped)))
}

type Keys = Pin<Box<dyn Stream<Item = ScreenInput> + Send>>;
type Submission = Pin<Box<dyn Future<Output = Result<(), DoorError>> + Send>>;

async fn drive(
    front: &mut impl Front,
    mut link: impl Link,
    keys: &mut Keys,
    mut shutdown: watch::Receiver<bool>,
) -> Result<Outcome, TerminalError> {
    let start = Instant::now();
    let mut signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let mut submission: Option<Submission> = None;
    loop {
        let mut happenings = Vec::new();
        let wake = front.wake(start.elapsed()).map(|at| start + at);
        tokio::select! {
            update = link.next() => match update {
                Some(update) => happenings.push(ScreenInput::Update(update)),
                None if link.is_complete() => return Ok(Outcome::Detached),
                None if *shutdown.borrow() => happenings.push(ScreenInput::Stopped),
                None => return Err(DoorError::Closed.into()),
            },
            key = keys.next() => happenings.push(key.unwrap_or(ScreenInput::Stopped)),
            result = maybe(submission.as_mut()) => {
                submission = None;
                happenings.push(ScreenInput::Submitted(result.map_err(|error| error.to_string())));
            }
            () = sleep_until(wake) => happenings.push(ScreenInput::TimePassed),
            () = stopped(&mut shutdown) => happenings.push(ScreenInput::Stopped),
            () = any_signal(&mut signals) => happenings.push(ScreenInput::Stopped),
        }
        while happenings.len() < AT_ONCE
            && let Some(Some(update)) = link.next().now_or_never()
        {
            happenings.push(ScreenInput::Update(update));
        }
        let lost = happenings.iter().find_map(|happening| match happening {
            ScreenInput::Update(Update::Lost(why)) => Some(why.clone()),
            _ => None,
        });
        let now = start.elapsed();
        let (mut lines, mut notices, mut outcome, mut suspends) = (Vec::new(), Vec::new(), None, false);
        for effect in happenings.into_iter().flat_map(|happening| front.step(happening, now)) {
            match effect {
                Effect::Print(more) => lines.extend(more),
                Effect::Submit { by, act } => submission = Some(Box::pin(link.submit(by, *act))),
                Effect::Notify(what) => notices.push(what),
                Effect::Suspend => suspends = true,
                Effect::Leave(how) => outcome = outcome.or(Some(how)),
            }
        }
        let shown = front.show(&lines, now);
        // If the terminal was closed, leaving still succeeds.
        if let Some(outcome) = outcome {
            return Ok(outcome);
        }
        shown?;
        // One notification is enough.
        if let Some(what) = notices.first() {
            front.notify(what)?;
        }
        if let Some(why) = lost {
            return Err(DoorError::Failed(why).into());
        }
        if suspends {
            front.suspend()?;
            front.step(ScreenInput::Resumed, start.elapsed());
        }
    }
}

/// Drains the keys that are still being typed, until it is quiet. If a terminal pastes key by key, one of the keys
/// may have meant leaving, and the shell would run those after it.
async fn forget_the_rest(keys: &mut Keys) {
    let more = async {
        loop {
            raw_terminal::discard_typed();
            let Ok(Some(_)) = tokio::time::timeout(QUIET, keys.next()).await else { break };
        }
    };
    // Even if the input never ends, the person wants to leave.
    let _ = tokio::time::timeout(QUIET * 50, more).await;
    raw_terminal::discard_typed();
}

async fn maybe<T>(future: Option<impl Future<Output = T> + Unpin>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Returns once the program has to stop. If the sender was dropped, it never returns.
async fn stopped(shutdown: &mut watch::Receiver<bool>) {
    if shutdown.wait_for(|stop| *stop).await.is_err() {
        std::future::pending().await
    }
}

async fn any_signal(signals: &mut [io::Result<Signal>; 3]) {
    let [interrupt, terminate, hangup] = signals;
    tokio::select! {
        () = one_signal(interrupt) => {}
        () = one_signal(terminate) => {}
        () = one_signal(hangup) => {}
    }
}

async fn one_signal(signal: &mut io::Result<Signal>) {
    match signal {
        Ok(signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

struct SessionLink {
    sessions: Arc<dyn Sessions>,
    session: SessionId,
    updates: BoxStream<'static, Update>,
}

impl Link for SessionLink {
    async fn next(&mut self) -> Option<Update> {
        self.updates.next().await
    }

    fn submit(&self, by: By, act: Act) -> impl Future<Output = Result<(), DoorError>> + Send + 'static {
        let (sessions, session) = (self.sessions.clone(), self.session.clone());
        async move { sessions.act(&session, &by, &act).await.map(drop) }
    }
}

impl fmt::Debug for AutoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoAnswer").field("by", &self.by).field("pause", &self.pause).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_spawned() {
        fn is_send<T: Send>(_: impl Fn(Terminal, Arc<dyn Sessions>, SessionId, watch::Receiver<bool>) -> T) {}
        is_send(run);
    }
}
