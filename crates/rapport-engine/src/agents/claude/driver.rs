//! One run of an agent, from order to leave: the loop that connects the process with the protocol (`talk`).
//!
//! Reports wait in a queue, so that a slow engine never delays a command; if the queue is long, the agent's output is
//! not read until it is shorter. `Leave` is reported once, last, when no process is left.

mod calls;
mod ending;
mod flight;
mod opening;
mod permission;
mod talk;
mod words;

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rapport_core::context::ContextLog;
use rapport_core::{AgentDid, Ask, CallId, ConversationId, Leave, Order, TurnKind};
use tokio::sync::mpsc::{self, Permit};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::channel::CliChannel;
use super::command::{ClaudeConfig, FromProject};
use super::process::{AgentProcess, Heard};
use super::settings;
use super::transcript::{self, Growing, Transcript};
use super::wire;
use crate::agents::{AgentContext, AgentReport, Command, Patience, Report, RunId};
use crate::workers::Workplace;
use ending::Ending;
use talk::{Stay, Talk};

pub use opening::answers_message;

/// The maximum length of a message on the command line, in bytes.
const LONGEST_ARGUMENT: usize = 100_000;
/// The maximum number of queued reports before reading the agent pauses.
const MAX_QUEUED: usize = 256;

/// The warning if the conversation or the work could not be copied: the session continues, but not on another
/// machine, nor once the originals are gone.
const UNKEPT: &str = "no copy of the agent's conversation and work could be kept with the session";

/// The pause before the transcript is read again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Runs an agent for an order, and reports what it does.
pub(super) async fn drive(
    config: Arc<ClaudeConfig>,
    channel: CliChannel,
    run: RunId,
    order: Order,
    context: AgentContext,
    commands: mpsc::UnboundedReceiver<Command>,
    reports: mpsc::Sender<Report>,
) {
    let mut order = order;
    let workplace = context.workplace.clone();
    let given = config.clone();
    // If this fails, the configuration stays unchanged, and the start reports the error.
    let config = spawn_blocking(move || Arc::new(config.at(&*workplace))).await.unwrap_or(given);
    let (leave, rest) = match begin(&config, channel, &mut order, &context).await {
        Ok((process, lines, talk, refused)) => {
            let driver = Driver {
                config: &config,
                run,
                process,
                talk,
                lines: Some(lines),
                refused: Some(refused),
                commands: Some(commands),
                reports: &reports,
                heard_at: Instant::now(),
                ending: Ending::default(),
                workplace: context.workplace.clone(),
                conversation: Conversation {
                    config: config.clone(),
                    workplace: context.workplace.clone(),
                    id: order.conversation.clone(),
                    growing: Growing::default(),
                },
                proving: None,
                linger: order.linger.and_then(|time| Duration::try_from(time).ok()).unwrap_or_default(),
            };
            driver.run().await
        }
        Err(leave) => (leave, Vec::new()),
    };
    let unkept = clean_up(&config, &order, context).await.err();
    let unkept = unkept.map(|error| AgentDid::Unkept { why: format!("{UNKEPT}: {error}") });
    let last = unkept.into_iter().chain([AgentDid::Leave(leave)]).map(AgentReport::Did);
    for what in rest.into_iter().chain(last) {
        // The engine may be gone.
        let _ = reports.send(Report { run, what }).await;
    }
}

type Lines = mpsc::Receiver<Heard>;
/// Receives the hosts that the workplace refused, at every attempt.
type Refused = mpsc::UnboundedReceiver<String>;

/// Cleans up before the end of the agent is reported: removes the files that the agent was started with, and stores a
/// copy of its conversation with the session, and of its work if the workplace could be gone later. The copies are
/// not essential: without them the session continues as long as the CLI and the workplace have their own, so a
/// failure is a warning, not an error.
async fn clean_up(config: &Arc<ClaudeConfig>, order: &Order, context: AgentContext) -> io::Result<()> {
    let workplace = context.workplace.clone();
    let work = spawn_blocking(move || workplace.work()).await?.map_err(io::Error::other);
    let kept = match work {
        Ok(Some(work)) => context.conversation_store.keep_work(work).await,
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    let (config, conversation, workplace) =
        (config.clone(), order.conversation.clone(), context.workplace.clone());
    let read = move || {
        settings::clear(&config, &conversation);
        fetch(&config, &*workplace, &conversation)?;
        stays_at_home(&config, &*workplace, &conversation)?;
        transcript::content(&config.env, workplace.directory(), &conversation)
    };
    if let Some(content) = spawn_blocking(read).await?? {
        context.conversation_store.keep(content).await?;
    }
    kept
}

/// Copies the conversation to this machine, if the workplace is on another one.
fn fetch(config: &ClaudeConfig, workplace: &dyn Workplace, conversation: &ConversationId) -> io::Result<()> {
    let file = transcript::expected(&config.env, workplace.directory(), conversation);
    file.map_or(Ok(()), |file| workplace.fetch(&file))
}

/// Refuses a conversation outside of the home of its workplace: the agent can create links there, and the host can
/// read files that the agent cannot.
fn stays_at_home(
    config: &ClaudeConfig,
    workplace: &dyn Workplace,
    conversation: &ConversationId,
) -> io::Result<()> {
    match workplace.home() {
        Some(home) => transcript::stays_in(home, &config.env, workplace.directory(), conversation),
        None => Ok(()),
    }
}

async fn begin(
    config: &Arc<ClaudeConfig>,
    channel: CliChannel,
    order: &mut Order,
    context: &AgentContext,
) -> Result<(AgentProcess, Lines, Talk, Refused), Leave> {
    let failed = |reason: String| Leave::Failed { reason };
    let not_started = |why: String| {
        let (program, directory) = (config.program.display(), context.directory().display());
        Leave::NotStarted { reason: format!("cannot start {program} in {directory}: {why}") }
    };
    let shown = context.conversation_store.shown().await.map_err(|error| failed(error.to_string()))?;
    let Found { transcript, from_project, config: found } =
        find_conversation(config, order, context).await.map_err(|error| {
            failed(format!("cannot read the conversation {}: {error}", order.conversation))
        })?;
    show(order, shown).map_err(failed)?;
    let config = &found.map_err(not_started)?;
    let start = opening::start(order, &transcript, channel);
    let mode = opening::work_mode(&config.work_mode, order, &transcript);
    let config = &ClaudeConfig { work_mode: mode.to_owned(), ..config.clone() };
    let (opening, system) = (start.opening, order.system.as_deref());
    let (printed, printed_messages) = opening::printed_message(&start);
    let args = match channel {
        CliChannel::Live => {
            let args = config.arguments(opening, &order.conversation, order.kind, system, &from_project);
            let tools = order.tools.then(|| config.tools(context)).flatten();
            // The flag takes all arguments up to the next flag, so it comes last.
            args.into_iter().chain(tools.into_iter().flatten()).collect()
        }
        CliChannel::Print => {
            let said = Some(printed.as_str()).filter(|message| can_be_argument(message));
            config.print_arguments(opening, &order.conversation, order.kind, system, &from_project, said)
        }
    };
    let for_drafts = (order.kind == TurnKind::TurnPlan).then(|| config.for_drafts());
    let config = for_drafts.as_ref().unwrap_or(config);
    let (refused_to, refused) = mpsc::unbounded_channel();
    let spawned =
        AgentProcess::spawn(config, &args, &*context.workplace, context.mark.clone(), Some(refused_to));
    let (mut process, lines) = spawned.map_err(|error| not_started(error.to_string()))?;
    let read = opening::read(order, &start);
    let mut talk = match channel {
        CliChannel::Live => Talk::live(start, order.replies.iter().cloned(), stays(order)),
        CliChannel::Print => {
            if !can_be_argument(&printed) {
                process.tell(printed);
            }
            process.close_input();
            Talk::printed(start.arriving, printed_messages)
        }
    };
    read.into_iter().for_each(|message| talk.has_read(message));
    Ok((process, lines, talk, refused))
}

/// Whether a message can be the last argument: if it begins with a hyphen, the CLI would take it for a flag.
fn can_be_argument(message: &str) -> bool {
    message.len() < LONGEST_ARGUMENT && !message.starts_with('-') && !message.contains('\0')
}

/// What is known before the agent is started.
struct Found {
    /// The state of the conversation.
    transcript: Transcript,
    /// What the CLI may use of the project.
    from_project: FromProject,
    /// The configuration with the settings for this start, or why they could not be made.
    config: Result<ClaudeConfig, String>,
}

async fn find_conversation(
    config: &Arc<ClaudeConfig>,
    order: &Order,
    context: &AgentContext,
) -> io::Result<Found> {
    let (config, workplace, conversation) =
        (config.clone(), context.workplace.clone(), order.conversation.clone());
    let is_missing = {
        let (config, workplace, conversation) = (config.clone(), workplace.clone(), conversation.clone());
        move || {
            fetch(&config, &*workplace, &conversation)?;
            Ok::<_, io::Error>(transcript::is_missing(&config.env, workplace.directory(), &conversation))
        }
    };
    let kept = match spawn_blocking(is_missing).await?? {
        true => context.conversation_store.kept().await?,
        false => None,
    };
    let is_draft = order.kind == TurnKind::TurnPlan;
    let find = move || {
        let directory = workplace.directory();
        stays_at_home(&config, &*workplace, &conversation)?;
        transcript::restore(&config.env, directory, &conversation, kept)?;
        if let Some(file) = transcript::expected(&config.env, directory, &conversation) {
            workplace.provide(&file)?;
        }
        let transcript = Transcript::find(&config.env, directory, &conversation)?;
        let from_project = config.of_project_at(&*workplace);
        let is_own = is_draft || from_project != FromProject::Everything;
        let config = settings::asking_in_plan_mode(&config, workplace.seen_at(), &conversation);
        let without = |config: ClaudeConfig| config.without_git_programs(workplace.seen_at());
        let config = if is_own { config.map(without) } else { config };
        Ok(Found { transcript, from_project, config })
    };
    spawn_blocking(find).await?
}

/// Sets the prompt of this turn from its file, if it has one.
fn show(order: &mut Order, shown: Option<Vec<u8>>) -> Result<(), String> {
    let Some(folder) = &order.folder else { return Ok(()) };
    let shown = shown.ok_or_else(|| format!("the context log of {folder} is missing"))?;
    let shown =
        String::from_utf8(shown).map_err(|_| format!("the context log of {folder} is not UTF-8 text"))?;
    let log = ContextLog::parse(&shown)
        .map_err(|error| format!("the context log of {folder} cannot be parsed: {error}"))?;
    order.system = Some(log.system);
    order.prompt = log.document;
    Ok(())
}

fn stays(order: &Order) -> Stay {
    if order.linger.is_some() { Stay::Lingers } else { Stay::Leaves }
}

struct Driver<'a> {
    config: &'a ClaudeConfig,
    run: RunId,
    process: AgentProcess,
    talk: Talk,
    /// `None` at the end of its output.
    lines: Option<Lines>,
    /// `None` once no more hosts can be refused.
    refused: Option<Refused>,
    /// `None` once the sender is gone.
    commands: Option<mpsc::UnboundedReceiver<Command>>,
    reports: &'a mpsc::Sender<Report>,
    /// When the agent last printed a line, or got what it waited for.
    heard_at: Instant,
    ending: Ending,
    /// How long the agent waits after the end of a turn.
    linger: Duration,
    conversation: Conversation,
    /// Where it works.
    workplace: Arc<dyn Workplace>,
    /// While the transcript is checked for what the agent printed: until when, and when the next time.
    proving: Option<(Instant, Instant)>,
}

/// Where the agent stores its conversation.
struct Conversation {
    config: Arc<ClaudeConfig>,
    workplace: Arc<dyn Workplace>,
    id: ConversationId,
    /// The part of the transcript that was read.
    growing: Growing,
}

impl Conversation {
    /// Reads new lines of the transcript. The agent may have given the conversation another name meanwhile.
    async fn read(&mut self, now_called: Option<&ConversationId>) -> io::Result<&Transcript> {
        let id = now_called.unwrap_or(&self.id).clone();
        let (config, workplace) = (self.config.clone(), self.workplace.clone());
        let mut growing = std::mem::take(&mut self.growing);
        let read = move || {
            let path = || transcript::path(&config.env, workplace.directory(), &id);
            let read = fetch(&config, &*workplace, &id).and_then(|()| growing.read(path()));
            (growing, read)
        };
        let (growing, read) = spawn_blocking(read).await?;
        self.growing = growing;
        read.map(|()| self.growing.transcript())
    }
}

enum Event<'a> {
    /// A command of the engine; `None` if the engine is gone.
    Command(Option<Command>),
    /// Room for a report; `None` if the receiver is gone.
    Room(Option<Permit<'a, Report>>),
    /// Output of the agent; `None` at its end.
    Heard(Option<Heard>),
    /// A refused host; `None` at the end.
    Refused(Option<String>),
    Gone(Option<ExitStatus>),
    /// A deadline passed.
    TimeIsUp,
    /// It is time to check whether the transcript contains what the agent printed.
    Prove,
}

impl<'a> Driver<'a> {
    async fn run(mut self) -> (Leave, Vec<AgentReport>) {
        while !self.ending.is_over(self.lines.is_none()) {
            while let Some(line) = self.talk.lines.pop_front() {
                self.process.tell(line);
            }
            match self.next().await {
                Event::Command(command) => self.command(command),
                Event::Room(Some(permit)) => self.report(permit),
                Event::Room(None) => self.nobody_listens(),
                Event::Heard(Some(heard)) => {
                    let known = self.talk.reports.len();
                    self.heard(heard);
                    self.compare_files(known).await;
                    if self.proving.is_none() {
                        self.prove().await;
                    }
                }
                Event::Heard(None) => self.output_closed(),
                Event::Refused(Some(host)) => self.talk.miss_host(host),
                Event::Refused(None) => self.refused = None,
                Event::Gone(status) => self.ending.gone(status, self.config.grace),
                Event::TimeIsUp => self.time_is_up(),
                Event::Prove => self.prove().await,
            }
        }
        while let Some(host) = self.refused.as_mut().and_then(|refused| refused.try_recv().ok()) {
            self.talk.miss_host(host);
        }
        self.talk.end();
        let leave = self.ending.leave(&self.config.program, &mut self.process, self.config.grace).await;
        (leave, self.talk.reports.into())
    }

    async fn next(&mut self) -> Event<'a> {
        let deadline = self.deadline();
        let is_to_end = self.talk.ends_at().is_some() && !self.ending.has_begun();
        let has_to_look = self.talk.unproven().is_some() || is_to_end;
        let prove_at = has_to_look.then(|| self.proving.map_or_else(Instant::now, |(_, next)| next));
        let has_reports = !self.talk.reports.is_empty();
        let may_read = self.talk.reports.len() < MAX_QUEUED;
        tokio::select! {
            command = receive(self.commands.as_mut()) => Event::Command(command),
            permit = self.reports.reserve(), if has_reports => Event::Room(permit.ok()),
            () = self.reports.closed(), if !self.ending.has_begun() => Event::Room(None),
            heard = receive_line(self.lines.as_mut()), if may_read => Event::Heard(heard),
            host = receive_refused(self.refused.as_mut()), if may_read => Event::Refused(host),
            status = self.process.gone(), if !self.ending.is_gone() => Event::Gone(status.ok()),
            () = until(prove_at) => Event::Prove,
            () = until(deadline) => Event::TimeIsUp,
        }
    }

    /// The current deadline. Waiting for a person has none.
    fn deadline(&self) -> Option<Instant> {
        match self.ending.deadline() {
            Some(deadline) => deadline,
            None if self.talk.anyone_waits() => None,
            None if self.talk.is_resting() => self.heard_at.checked_add(self.linger),
            None => Some(self.heard_at + self.config.silence),
        }
    }

    fn command(&mut self, command: Option<Command>) {
        match command {
            Some(Command::Reply { call, reply }) => {
                self.talk.reply(call, reply);
                self.heard_at = Instant::now();
            }
            Some(Command::Park { call, patience }) => {
                if patience == Patience::None && self.talk.beside(&call).is_some() {
                    return self.stop();
                }
                self.talk.park(&call);
                self.heard_at = Instant::now();
                if patience == Patience::None && self.talk.ends_at() == Some(&call) {
                    self.end_at(&call);
                }
            }
            // A process that is ending reads no messages: the next turn delivers this one.
            Some(Command::Say(_)) if self.ending.has_begun() => {}
            // Nor does a turn that is over: its end was reported before this message, which is in the next turn.
            Some(Command::Say(_)) if self.talk.is_resting() => {}
            Some(Command::Say(message)) => self.talk.say(message),
            Some(Command::Next { prompt }) => {
                self.talk.next(&prompt);
                self.heard_at = Instant::now();
            }
            Some(Command::Stop) => self.stop(),
            Some(Command::Kill) => {
                self.ending.begin(Leave::Stopped, self.config.grace);
                self.kill();
            }
            None => self.commands = None,
        }
    }

    /// Ends the agent gracefully. But an agent that waits for an answer is killed at once, because it would take a
    /// stop request or the end of its input for an answer; and one with unread messages would begin another turn with
    /// them.
    fn stop(&mut self) {
        if !self.ending.begin(Leave::Stopped, self.config.grace) {
            return;
        }
        if self.talk.anyone_waits() || self.talk.has_unread() {
            self.kill();
            return;
        }
        self.process.tell(wire::interrupt());
        self.process.close_input();
    }

    fn report(&mut self, permit: Permit<'_, Report>) {
        if let Some(what) = self.talk.reports.pop_front() {
            permit.send(Report { run: self.run, what });
        }
    }

    /// Without an engine nothing that the agent does can be stored, and no question can be answered.
    fn nobody_listens(&mut self) {
        self.talk.reports.clear();
        self.ending.begin(Leave::Stopped, self.config.grace);
        self.kill();
    }

    fn heard(&mut self, heard: Heard) {
        self.heard_at = Instant::now();
        let line = match &heard {
            Heard::Line(line) => std::str::from_utf8(line),
            Heard::TooLong(_) => return self.talk.babble(&heard.lossy()),
        };
        match line {
            Ok(line) if self.ending.has_begun() => self.talk.hear_out(line),
            Ok(line) => {
                if let Some(leave) = self.talk.hear(line) {
                    self.leave(leave);
                }
            }
            Err(_) => self.talk.babble(&heard.lossy()),
        }
    }

    /// Checks whether the transcript contains an answer that the agent printed as taken. The CLI writes the
    /// transcript a moment after it prints. An answer that does not appear there is lost, and is told by message.
    async fn prove(&mut self) {
        let Some(call) = self.talk.unproven().cloned() else { return self.park_by_ending().await };
        let now = Instant::now();
        let (until, _) = *self.proving.get_or_insert((now + self.config.grace, now));
        let transcript = self.conversation.read(self.talk.conversation()).await;
        let is_there = transcript.is_ok_and(|transcript| transcript.answered(&call));
        if !is_there && now < until && !self.ending.has_begun() {
            self.proving = Some((until, now + LOOK_AGAIN));
            return;
        }
        self.proving = None;
        match is_there {
            true => self.talk.proven().into_iter().for_each(|leave| self.leave(leave)),
            false => self.talk.lost(),
        }
    }

    /// Ends the process at a call that the CLI cannot defer, once the transcript contains that call: an agent that is
    /// resumed from there knows what it wanted.
    async fn park_by_ending(&mut self) {
        let Some(call) = self.talk.ends_at().cloned() else { return };
        let now = Instant::now();
        let (until, _) = *self.proving.get_or_insert((now + self.config.grace, now));
        let transcript = self.conversation.read(self.talk.conversation()).await;
        if transcript.is_ok_and(|transcript| transcript.has_call(&call)) {
            self.end_at(&call);
        } else {
            let pause = if now < until { LOOK_AGAIN } else { self.config.grace };
            self.proving = Some((until, now + pause));
        }
    }

    fn end_at(&mut self, call: &CallId) {
        self.proving = None;
        let leave = self.talk.end_at(call);
        self.ending.begin(leave, self.config.grace);
        self.kill();
    }

    fn leave(&mut self, leave: Leave) {
        self.ending.begin(leave, self.config.grace);
        self.process.close_input();
    }

    /// Compares a file to be written with the existing one, for the question about it.
    async fn compare_files(&mut self, known: usize) {
        for report in self.talk.reports.iter_mut().skip(known) {
            let AgentReport::Did(AgentDid::Ask { ask: Ask::Permission(asked), .. }) = report else {
                continue;
            };
            let (mut compared, workplace) = (asked.clone(), self.workplace.clone());
            let compare = move || {
                permission::compare(&mut compared, &*workplace);
                compared
            };
            if let Ok(compared) = spawn_blocking(compare).await {
                *asked = compared;
            }
        }
    }

    fn output_closed(&mut self) {
        self.lines = None;
        if self.talk.is_resting() {
            // The next turn starts another process.
            self.ending.begin(Leave::Stopped, self.config.grace);
        }
        self.ending.begin_unexplained(self.config.grace);
    }

    fn time_is_up(&mut self) {
        if self.ending.is_gone() {
            // Another process holds the output open. The agent itself cannot print anything more.
            self.lines = None;
            return;
        }
        if self.ending.deadline().is_none() && self.talk.is_resting() {
            self.ending.begin(Leave::Stopped, self.config.grace);
            self.process.close_input();
        } else if self.ending.deadline().is_none() {
            let silence = self.config.silence;
            let reason = format!("{} was silent for {silence:?}", self.config.program.display());
            self.ending.begin(Leave::Failed { reason }, self.config.grace);
            self.kill();
        } else if self.ending.out_of_patience() {
            self.kill();
        } else {
            self.process.ask_to_end();
        }
    }

    fn kill(&mut self) {
        self.ending.killed();
        self.process.kill();
    }
}

async fn receive(commands: Option<&mut mpsc::UnboundedReceiver<Command>>) -> Option<Command> {
    match commands {
        Some(commands) => commands.recv().await,
        None => std::future::pending().await,
    }
}

async fn receive_line(lines: Option<&mut Lines>) -> Option<Heard> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}

async fn receive_refused(refused: Option<&mut Refused>) -> Option<String> {
    match refused {
        Some(refused) => refused.recv().await,
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
