//! Shows a session while a command runs it, and maps its end to an exit code.

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
use crate::channels::terminal::{self, AutoAnswer, ColourChoice, Terminal, TerminalError, terminal_text};
use crate::engine::{Sessions, socket};
use crate::error::{Code, Failure, Outcome};

/// How long a question is shown before a rule answers it.
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
        // The terminal has to be restored, so the screen is told to stop rather than cancelled.
        told_to_stop.received().await;
        let _ = stop.send(true);
        stop.closed().await;
    });
    let auto = match answering {
        Answering::Person => None,
        Answering::Rule { name, pick } => {
            Some(AutoAnswer { by: By::written_rule(name), pause: LOOK, pick: Box::new(pick) })
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
        // The reader closed the pipe, as with every other command.
        Err(TerminalError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Err(error.into()),
        Err(error) => {
            // The session may be the cause, and reports it better.
            sessions.view(id).await?;
            let resume = format!("Nothing is lost. Continue with: rapport resume {id}{}", of_project(common));
            Err(Failure::new(Code::Trouble, error.to_string()).hint(resume))
        }
    }
}

/// Whether a person is at a terminal that can show cards.
pub(super) fn is_interactive() -> bool {
    is_terminal() && !terminal::lines_only()
}

/// Whether a person is at a terminal that can at least read lines.
pub(super) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The signals that stop this process. Once it listens, they have no other effect.
pub(super) struct StopSignal([Signal; 3]);

impl StopSignal {
    pub(super) fn listen() -> io::Result<Self> {
        let (term, int, hup) = (SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup());
        Ok(Self([signal(term)?, signal(int)?, signal(hup)?]))
    }

    pub(super) async fn received(&mut self) {
        let [term, int, hup] = &mut self.0;
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
            _ = hup.recv() => {}
        }
    }
}

/// Maps the end of a session to an exit code.
pub(super) fn ended(view: &View) -> Outcome {
    match view.status {
        _ if view.has_failed() => {
            let reason = view.failure.clone().unwrap_or_else(|| "failed".into());
            let failure = Failure::new(Code::Agent, reason)
                .hint(format!("Everything up to here is kept. Try again with: rapport resume {}", view.id));
            let stored = view.undelivered.iter().map(|answer| {
                format!(
                    "The answer to {} is stored, and the agent does not have it: {}",
                    answer.id, answer.answer
                )
            });
            Err(advice(view).fold(stored.fold(failure, Failure::hint), Failure::hint))
        }
        Status::Failed => Err(Failure::new(Code::Agent, "failed")),
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

/// The same, if the screen has shown the end: on a terminal only additional information is printed.
fn ended_on_screen(view: &View) -> Outcome {
    let is_seen = io::stdout().is_terminal() && io::stderr().is_terminal();
    ended(view).map_err(|failure| match is_seen {
        true => advice(view).fold(Failure::new(failure.code, ""), Failure::hint),
        false => failure,
    })
}

/// Advice for this failure, besides retrying.
fn advice(view: &View) -> impl Iterator<Item = &'static str> {
    let helps = view.agent.is_not_started && Path::new(&view.project).is_dir();
    let kinds = AgentKinds::builtin();
    let name = view.agent.name.as_deref().filter(|_| helps);
    let installation = name.and_then(|name| kinds.find(name).ok()).map(AgentKind::installation);
    let remedy = view.agent.name.as_deref().and_then(|name| kinds.find(name).ok()).map(|kind| {
        let failure = view.failure.as_deref().unwrap_or_default();
        kind.remedy(failure)
    });
    remedy.into_iter().chain(installation).chain(helps.then_some(OTHER_AGENTS)).flat_map(str::lines)
}

/// Whether nothing more happens by itself.
pub(super) fn is_over(view: &View) -> bool {
    match view.status {
        _ if view.has_failed() => true,
        Status::Completed | Status::Cancelled | Status::Failed | Status::Idle => true,
        Status::Started | Status::Running | Status::NeedsInput => view.is_at_rest(),
    }
}

/// The error for a session that waits.
pub(super) fn stopped(common: &Common, id: &SessionId) -> Failure {
    Failure::new(Code::Interrupted, format!("{id} waits; nothing is lost"))
        .hint(format!("Go on with: rapport resume {id}{}", of_project(common)))
}

/// The project flag for a hint, if it was given here too.
fn of_project(common: &Common) -> String {
    let named =
        common.project.as_ref().map(|project| project.canonicalize().unwrap_or_else(|_| project.clone()));
    named.map(|project| format!(" --project {}", word(&project.to_string_lossy()))).unwrap_or_default()
}

/// A path as one word of a shell's command line.
pub(super) fn word(path: &str) -> String {
    let path = terminal_text::line(path);
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
