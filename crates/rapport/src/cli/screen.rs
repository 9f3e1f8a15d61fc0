//! How a session is shown while a command runs it, and what its end means for the exit code.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rapport_core::{Aim, By, OpenQuestion, Reply, SessionId, Status, View};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::doctor::OTHER_AGENTS;
use super::{Common, When};
use crate::agents::{AgentKind, AgentKinds};
use crate::channels::terminal::{self, AutoAnswer, ColourChoice, Terminal, TerminalError, safe};
use crate::engine::{Sessions, socket};
use crate::error::{Code, Failure, Outcome};

/// How long a question is looked at before a rule answers it.
const LOOK: Duration = Duration::from_millis(400);

/// Who answers at this screen.
pub(super) enum Answering {
    /// The person in front of it.
    Person,
    /// A rule that picks, and says that it did.
    Rule { name: &'static str, pick: fn(&OpenQuestion) -> Reply },
}

/// Shows a session until it ends or the person leaves.
pub(super) async fn show(
    common: &Common,
    sessions: &Arc<dyn Sessions>,
    id: &SessionId,
    answering: Answering,
    mut told_to_stop: StopSignal,
) -> Outcome {
    let (stop, shutdown) = watch::channel(false);
    let signals = tokio::spawn(async move {
        // The terminal has to be left as it was found; it is told to stop rather than cut off.
        told_to_stop.received().await;
        let _ = stop.send(true);
        stop.closed().await;
    });
    let auto = match answering {
        Answering::Person => None,
        Answering::Rule { name, pick } => {
            Some(AutoAnswer { by: By::Rule { name: name.into() }, pause: LOOK, pick: Box::new(pick) })
        }
    };
    let config = Terminal {
        by: socket::person_here(),
        interactive: is_terminal(),
        colour: colour(common.color),
        answer_hint: format!("rapport answer {id}{}", of_project(common)),
        auto,
    };
    let outcome = terminal::run(config, sessions.clone(), id.clone(), shutdown).await;
    signals.abort();
    match outcome {
        Ok(terminal::Outcome::Ended(_)) => ended_on_screen(&sessions.view(id).await?),
        Ok(terminal::Outcome::Detached) => Err(stopped(common, id)),
        // Whoever read it has had enough.
        Err(TerminalError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Err(error.into()),
        // Whoever read has had enough, as with every other command.
        Err(terminal::TerminalError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Code::Quiet, ""))
        }
        Err(error) => {
            // The session may be the reason, and knows better.
            sessions.view(id).await?;
            let resume = format!("Nothing is lost. Go on with: rapport resume {id}{}", of_project(common));
            Err(Failure::new(Code::Trouble, error.to_string()).hint(resume))
        }
    }
}

/// Whether somebody sits there, whose terminal can show cards.
pub(super) fn is_interactive() -> bool {
    is_terminal() && !terminal::lines_only()
}

/// Whether somebody sits there, who can at least type lines.
pub(super) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// What tells this process to stop. From when it listens on, nothing else happens because of it.
pub(super) struct StopSignal([Signal; 3]);

impl StopSignal {
    /// Listens.
    pub(super) fn listen() -> io::Result<Self> {
        let (term, int, hup) = (SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup());
        Ok(Self([signal(term)?, signal(int)?, signal(hup)?]))
    }

    /// Waits for it.
    pub(super) async fn received(&mut self) {
        let [term, int, hup] = &mut self.0;
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
            _ = hup.recv() => {}
        }
    }
}

/// What the end of a session means for the exit code.
pub(super) fn ended(view: &View) -> Outcome {
    match view.status {
        Status::Failed => {
            let reason = view.failure.clone().unwrap_or_else(|| "failed".into());
            let failure = Failure::new(Code::Agent, reason)
                .hint(format!("Everything up to here is kept. Try again with: rapport resume {}", view.id));
            Err(advice(view).fold(failure, Failure::hint))
        }
        Status::Idle if matches!(view.aim, Aim::Work | Aim::Progress(_)) => {
            let what = format!("the agent of {} was stopped; the conversation is kept", view.id);
            Err(Failure::new(Code::Interrupted, what)
                .hint(format!("Say what to do next: rapport say {} WORDS", view.id))
                .hint(format!("Or let it go on: rapport resume {}", view.id)))
        }
        Status::Cancelled => Err(Failure::new(Code::Cancelled, format!("{} was cancelled", view.id))),
        Status::Completed | Status::Idle | Status::Started | Status::Running | Status::NeedsInput => Ok(()),
    }
}

/// The same, where the screen has told the end already: on a terminal only what is new is said.
fn ended_on_screen(view: &View) -> Outcome {
    let is_seen = io::stdout().is_terminal() && io::stderr().is_terminal();
    ended(view).map_err(|failure| match is_seen {
        true => advice(view).fold(Failure::new(failure.code, ""), Failure::hint),
        false => failure,
    })
}

/// What helps against this failure, beside trying again.
fn advice(view: &View) -> impl Iterator<Item = &'static str> {
    let helps = view.agent.is_not_started && Path::new(&view.project).is_dir();
    let kinds = AgentKinds::builtin();
    let name = view.agent.name.as_deref().filter(|_| helps);
    let installation = name.and_then(|name| kinds.find(name).ok()).map(AgentKind::installation);
    installation.into_iter().chain(helps.then_some(OTHER_AGENTS)).flat_map(str::lines)
}

/// Whether nothing more comes by itself.
pub(super) fn is_over(view: &View) -> bool {
    match view.status {
        Status::Completed | Status::Cancelled | Status::Failed | Status::Idle => true,
        Status::Started | Status::Running | Status::NeedsInput => view.is_at_rest(),
    }
}

/// How it is told that a session waits.
pub(super) fn stopped(common: &Common, id: &SessionId) -> Failure {
    Failure::new(Code::Interrupted, format!("{id} waits; nothing is lost"))
        .hint(format!("Go on with: rapport resume {id}{}", of_project(common)))
}

/// What a command needs beside the session's name: the project, where it had to be named here as well.
fn of_project(common: &Common) -> String {
    let named =
        common.project.as_ref().map(|project| project.canonicalize().unwrap_or_else(|_| project.clone()));
    named.map(|project| format!(" --project {}", word(&project.to_string_lossy()))).unwrap_or_default()
}

/// A path as one word of a shell's command line.
pub(super) fn word(path: &str) -> String {
    let path = safe::line(path);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

pub(super) fn colour(when: When) -> ColourChoice {
    match when {
        When::Auto => ColourChoice::Auto,
        When::Always => ColourChoice::Always,
        When::Never => ColourChoice::Never,
    }
}
