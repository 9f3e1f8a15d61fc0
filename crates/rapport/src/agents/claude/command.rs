//! How Claude Code is started: the program, its arguments, its environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use rapport_core::{ConversationId, TurnKind};

/// What the driver has to know. The environment is all that the agent gets.
#[derive(Clone, Debug)]
pub struct ClaudeConfig {
    /// The CLI, or a program that speaks its protocol.
    pub program: PathBuf,
    /// Arguments before ours, such as `rehearse --scenario X`.
    pub leading_args: Vec<OsString>,
    /// Arguments after ours.
    pub extra_args: Vec<OsString>,
    /// The agent's environment.
    pub env: Vec<(OsString, OsString)>,
    /// Our own binary, which keeps the agent from outliving us.
    pub keeper: PathBuf,
    /// The permission mode in which the agent works; it plans in plan mode.
    pub work_mode: String,
    /// How long the agent may say nothing at all while nobody owes it a reply.
    pub silence: Duration,
    /// How long it may take to end when it is asked to.
    pub grace: Duration,
}

/// How a conversation is taken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It begins.
    Fresh,
    /// It goes on.
    Resumed,
}

impl ClaudeConfig {
    /// This program, with everything else as usual and an empty environment.
    pub fn new(program: impl Into<PathBuf>, keeper: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            leading_args: Vec::new(),
            extra_args: Vec::new(),
            env: Vec::new(),
            keeper: keeper.into(),
            work_mode: "default".into(),
            silence: Duration::from_secs(30 * 60),
            grace: Duration::from_secs(5),
        }
    }

    /// The arguments of the program for a turn.
    pub fn arguments(
        &self,
        opening: Opening,
        conversation: &ConversationId,
        kind: TurnKind,
    ) -> Vec<OsString> {
        const CHANNEL: [&str; 9] = [
            "-p",
            "--verbose",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--permission-prompt-tool",
            "stdio",
            // Messages come back when they are taken up: so it is known what was read.
            "--replay-user-messages",
        ];
        let naming = match opening {
            Opening::Fresh => "--session-id",
            Opening::Resumed => "--resume",
        };
        // Resuming does not bring a permission mode back, so it is said every time.
        let mode = match kind {
            TurnKind::Plan => "plan",
            TurnKind::Work => &self.work_mode,
        };
        let ours = CHANNEL.into_iter().chain([naming, conversation.as_str(), "--permission-mode", mode]);
        let leading = self.leading_args.iter().cloned();
        leading.chain(ours.map(OsString::from)).chain(self.extra_args.iter().cloned()).collect()
    }
}
