//! The player: one conversation, one process. It owns all state; other files of this folder add methods.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;

use super::Problem;
use super::arguments::{Arguments, Input};
use super::background::Background;
use super::counter;
use super::host::Host;
use super::inbox::Inbox;
use super::loader::Loaded;
use super::output::Output;
use super::record::Recorder;
use super::scenario::{Counter, Entry, Step};
use super::stream::{Session, new_uuid};
use super::transcript::{Transcript, about, in_use, not_found};
use super::turn::Turn;

/// Why the play ends early.
#[derive(Debug)]
pub(super) enum Stop {
    OutputClosed,
    /// The process ends with this code.
    Exit(u8),
    Failed(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Failed(error.to_string())
    }
}

/// One conversation being played.
pub(super) struct Player {
    pub(super) arguments: Arguments,
    pub(super) loaded: Loaded,
    pub(super) cwd: PathBuf,
    pub(super) session: Session,
    pub(super) transcript: Transcript,
    pub(super) output: Output,
    pub(super) inbox: Inbox,
    pub(super) stdin_record: Option<File>,
    /// Unprocessed input from the host.
    pub(super) host: Host,
    pub(super) turn: Turn,
    pub(super) results: u64,
    pub(super) runs: u64,
    pub(super) background: Background,
    /// The number of this invocation, until its first message uses it.
    invocation: Option<usize>,
    /// Whether the scenario's own session id was played before: then its script starts again.
    starts_again: bool,
}

impl Player {
    /// Finds or begins the conversation that the command line names.
    pub(super) fn start(arguments: Arguments, loaded: Loaded, recorder: Recorder) -> Result<Self, Problem> {
        let outside = |error: io::Error| Problem::refused(error.to_string());
        let cwd = std::env::current_dir().map_err(outside)?;
        let id = session_id(&arguments, &loaded, &cwd)?;
        let transcript = Transcript::open(&cwd, &id).map_err(outside)?;
        let invocation = match loaded.counter {
            Counter::Invocations => Some(count(&loaded).map_err(outside)?),
            Counter::Conversation => None,
        };
        let session = Session {
            id,
            cwd: cwd.to_string_lossy().into_owned(),
            model: arguments.model.clone().unwrap_or_else(|| "claude-rehearsal-1".to_owned()),
            permission_mode: arguments.permission_mode.clone().unwrap_or_else(|| "default".to_owned()),
        };
        Ok(Self {
            starts_again: arguments.resume.is_none() && transcript.history.last_uuid.is_some(),
            output: Output::new(arguments.output, recorder.stdout),
            arguments,
            loaded,
            cwd,
            session,
            transcript,
            inbox: Inbox::new(),
            stdin_record: recorder.stdin,
            host: Host::default(),
            turn: Turn::default(),
            results: 0,
            runs: 0,
            background: Background::default(),
            invocation,
        })
    }

    /// Whether this process talks to a host that can answer.
    pub(super) fn is_live(&self) -> bool {
        self.arguments.input == Input::Stream
    }

    /// The entry and the step for the next message.
    pub(super) fn next_place(&mut self) -> Result<(usize, usize), Stop> {
        if self.starts_again {
            self.starts_again = false;
            self.transcript.note("new_conversation", Default::default())?;
        }
        if self.loaded.counter == Counter::Conversation {
            let history = &self.transcript.history;
            return Ok(history.playing.unwrap_or((history.next_entry, 0)));
        }
        let number = match self.invocation.take() {
            Some(number) => number,
            None => count(&self.loaded)?,
        };
        if number >= self.loaded.scenario.invocations.len() {
            return Err(Stop::Exit(0));
        }
        Ok((number, 0))
    }

    /// An entry of the script, or a closing remark after its end.
    pub(super) fn entry(&self, index: usize) -> Entry {
        let scripted = self.loaded.scenario.invocations.get(index).cloned();
        scripted.unwrap_or_else(|| Entry {
            steps: vec![Step::Text("The script of this rehearsal ends here.".to_owned())],
            ..Entry::default()
        })
    }

    /// Whether the script has no entry for this invocation.
    pub(super) fn is_unconfigured(&self) -> bool {
        self.invocation.is_some_and(|number| number >= self.loaded.scenario.invocations.len())
    }

    /// Prints an event of the turn, after its pause.
    pub(super) fn emit(&mut self, event: &impl Serialize) -> Result<(), Stop> {
        self.pace()?;
        self.emit_at_once(event)
    }

    /// Prints an event whose pause is over: nothing may come between recording it and printing it.
    pub(super) fn emit_at_once(&mut self, event: &impl Serialize) -> Result<(), Stop> {
        self.output.event(event)?;
        self.count_event()
    }

    /// Pauses between events, as the entry says.
    pub(super) fn pace(&mut self) -> Result<(), Stop> {
        let entry = &self.turn.entry;
        self.pause(if self.turn.events == 0 { entry.initial_delay_ms } else { entry.delay_ms })
    }

    /// Counts a line of output, and crashes if the script says so.
    pub(super) fn count_event(&mut self) -> Result<(), Stop> {
        self.turn.events += 1;
        let place = self.turn.place;
        if self.turn.entry.crash_after_events == Some(self.turn.events)
            && !self.transcript.history.has_crashed(place.entry)
        {
            self.transcript.note("crashed", place)?;
            crash();
        }
        Ok(())
    }

    /// Pauses while handling input; an interrupt ends it early.
    pub(super) fn pause(&mut self, milliseconds: u64) -> Result<(), Stop> {
        let Some(until) = Instant::now().checked_add(Duration::from_millis(milliseconds)) else {
            return Ok(());
        };
        while milliseconds > 0 && Instant::now() < until && !self.host.interrupted {
            self.pump(Some(until))?;
        }
        Ok(())
    }
}

/// Ends this process like `kill -9`.
pub(super) fn crash() -> ! {
    let _ = kill(Pid::this(), Signal::SIGKILL);
    std::process::abort()
}

fn session_id(arguments: &Arguments, loaded: &Loaded, cwd: &std::path::Path) -> Result<String, Problem> {
    let wanted = arguments.session_id.clone();
    let taken = |id: &String| Transcript::exists(cwd, id);
    if let Some(id) = wanted.as_ref().filter(|id| taken(id)) {
        return Err(in_use(id));
    }
    let Some(resumed) = &arguments.resume else {
        return Ok(wanted.or(loaded.scenario.session_id.clone()).unwrap_or_else(new_uuid));
    };
    if !taken(resumed) {
        // Counted invocations need no conversation to continue (CLARIFY-25).
        return if loaded.counter == Counter::Invocations {
            Ok(resumed.clone())
        } else {
            Err(not_found(resumed))
        };
    }
    if !arguments.fork {
        return Ok(resumed.clone());
    }
    let id = wanted.unwrap_or_else(new_uuid);
    Transcript::fork(cwd, resumed, &id)
        .map_err(|error| Problem::refused(format!("cannot fork {resumed}: {error}")))?;
    Ok(id)
}

fn count(loaded: &Loaded) -> io::Result<usize> {
    match &loaded.counter_path {
        Some(path) => counter::next(path).map_err(|error| about(path, &error)),
        None => Ok(0),
    }
}
