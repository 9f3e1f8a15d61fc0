//! A running check of finished work: a command from the person's settings, run in the workplace beside the loop. To a
//! session it is like a batch: it reports its end, and is stopped when no want needs it. An interrupted check is
//! wanted again.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rapport_core::{SessionId, TurnId, WorkCheck, World};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tracing::warn;

use super::conversation_store::WORK;
use super::event_loop::Done;
use crate::actions::{ActionConfig, Stop, Stopper, of_commands, of_confined_commands};
use crate::stores::Attacher;
use crate::workers::Workplace;
use crate::workers::command::{self, CommandCall, CommandEnding};
use crate::workers::keeper::mark::Mark;

/// How long a check may take.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// How much of its output becomes part of the log.
const MOST_LINES: usize = 40;
const MOST_BYTES: usize = 8 * 1024;

/// A check that was started for a session.
pub(super) struct CheckRun {
    pub(super) turn: TurnId,
    stopper: Stopper,
}

impl CheckRun {
    /// Stops it. It counts as running until its process has ended.
    pub(super) fn end(&self) {
        self.stopper.stop();
    }
}

/// Where a check is run.
pub(super) struct CheckContext {
    pub(super) session: SessionId,
    pub(super) workplace: Arc<dyn Workplace>,
    pub(super) attacher: Arc<dyn Attacher>,
    pub(super) config: ActionConfig,
    pub(super) done: mpsc::UnboundedSender<Done>,
}

/// Starts a check of a turn's work.
pub(super) fn start(turn: TurnId, command: String, context: CheckContext) -> CheckRun {
    let (stopper, stop) = Stop::new();
    tokio::spawn(async move {
        let check = run(command, &context, &stop).await;
        if check.is_some() {
            keep_work(&context).await;
        }
        let world = check.map(|check| World::Checked { turn, check });
        let _ = context.done.send(Done::Check { id: context.session, turn, world });
    });
    CheckRun { turn, stopper }
}

/// Runs the command; `None` if it was stopped.
async fn run(command: String, context: &CheckContext, stop: &Stop) -> Option<WorkCheck> {
    let began = Instant::now();
    let named = &context.config.command_env;
    let env = match context.workplace.home() {
        Some(_) => of_confined_commands(named),
        None => of_commands(named),
    };
    let args: [OsString; 2] = ["-c".into(), (&command).into()];
    let call = CommandCall {
        keeper: &context.config.keeper,
        program: "sh",
        args: &args,
        env,
        mark: Mark::of(&context.session),
        timeout: TIMEOUT,
    };
    let ran = command::run(&*context.workplace, call, stop, &mut |_| {}).await;
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let check = WorkCheck { command, millis, ..WorkCheck::default() };
    let ended = match ran {
        Ok(ended) => ended,
        Err(error) => return Some(WorkCheck { problem: Some(error.to_string()), ..check }),
    };
    let (output, more) = end_of(&ended.output.text);
    let check = WorkCheck { output, left_out: ended.output.left_out + more, ..check };
    Some(match ended.ending {
        CommandEnding::Exited(code) => WorkCheck { exit: Some(code), ..check },
        CommandEnding::TimedOut => {
            let problem = format!("it took longer than {} minutes and was ended", TIMEOUT.as_secs() / 60);
            WorkCheck { problem: Some(problem), ..check }
        }
        CommandEnding::Lost(why) => WorkCheck { problem: Some(why), ..check },
        CommandEnding::Stopped => return None,
    })
}

/// The end of the output, and the number of lines before it.
fn end_of(text: &str) -> (String, u64) {
    let lines: Vec<_> = text.lines().collect();
    let mut first = lines.len().saturating_sub(MOST_LINES);
    let size = |from: usize| lines[from..].iter().map(|line| line.len() + 1).sum::<usize>();
    while first + 1 < lines.len() && size(first) > MOST_BYTES {
        first += 1;
    }
    let mut kept = lines[first..].join("\n");
    // A single line may be longer than the limit.
    let too_much = kept.len().saturating_sub(MOST_BYTES);
    kept.drain(..kept.ceil_char_boundary(too_much));
    (kept, first as u64)
}

/// Stores the work again, because a check may change files. If this fails, the work stays stored as it was when the
/// agent ended.
async fn keep_work(context: &CheckContext) {
    let workplace = context.workplace.clone();
    let kept = match spawn_blocking(move || workplace.work()).await {
        Ok(Ok(Some(work))) => context.attacher.attach(WORK, work).await.map_err(|error| error.to_string()),
        Ok(Ok(None)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = kept {
        warn!(%error, "the work was not stored after its check");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_output_is_short() {
        assert_eq!(end_of(""), (String::new(), 0));
        assert_eq!(end_of("a\nb"), ("a\nb".into(), 0));
        let many: Vec<_> = (0..100).map(|n| n.to_string()).collect();
        let (kept, left_out) = end_of(&many.join("\n"));
        assert_eq!((kept.lines().count(), left_out), (MOST_LINES, 60));
        assert!(kept.starts_with("60\n") && kept.ends_with("\n99"));
        let long = ["ä".repeat(5000), "é".repeat(3000)].join("\n");
        assert_eq!(end_of(&long), ("é".repeat(3000), 1));
        assert!(end_of(&"ö".repeat(50_000)).0.len() <= MOST_BYTES);
    }
}
