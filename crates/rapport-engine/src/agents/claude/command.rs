//! How Claude Code is started: the program, its arguments, its environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rapport_core::{ConversationId, TurnKind};

use super::brought::{self, Own};
use super::channel::ChannelChoice;
use super::{credentials, transcript};
use crate::projects::trust::{Standing, Trust};
use crate::workers::Workplace;

/// Variables that are meant for the CLI, beside the usual ones.
const VARIABLES: [&str; 2] = ["CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN"];
const VARIABLE_PREFIXES: [&str; 3] = ["ANTHROPIC_", "DISABLE_", "CLAUDE_CODE_DISABLE_"];

/// Whether a variable of the person's environment is meant for the CLI.
pub(super) fn takes_variable(name: &str) -> bool {
    VARIABLES.contains(&name) || VARIABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

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
    /// How it is talked to.
    pub channel: ChannelChoice,
    /// The permission mode in which the agent works; it plans in plan mode.
    pub work_mode: String,
    /// How long the agent may say nothing at all while nobody owes it a reply.
    pub silence: Duration,
    /// How long it may take to end when it is asked to.
    pub grace: Duration,
    /// Whether what the project brings for the CLI counts.
    pub trust: Trust,
    /// A folder for its owner alone, where the driver may put what the agent is to read.
    pub private: Option<PathBuf>,
}

/// What the CLI takes from the project that it is started in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromProject {
    /// Everything it finds.
    Everything,
    /// Nothing. It is told the project's instructions as text.
    Nothing {
        /// The instructions, if there are any.
        instructions: Option<String>,
    },
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
            channel: ChannelChoice::Live,
            work_mode: "default".into(),
            silence: Duration::from_secs(30 * 60),
            grace: Duration::from_secs(5),
            trust: Trust::none(),
            private: None,
        }
    }

    /// What the CLI takes from this directory, as things are just now: a file may have come since it was last started.
    pub fn from_project(&self, directory: &Path) -> FromProject {
        let own = self.own();
        match self.trust.standing(&brought::brought(directory, &own)) {
            Standing::Trusted => FromProject::Everything,
            Standing::Declined | Standing::Unseen => FromProject::nothing(directory, &own),
        }
    }

    /// The same for an agent that drafts a plan of actions: it is shown what `_context.log` has, and nothing is added.
    pub(super) fn for_drafts(&self) -> Self {
        let added = NOTHING_ADDED.iter().map(|name| (OsString::from(name), OsString::from("1")));
        Self { env: self.env.iter().cloned().chain(added).collect(), ..self.clone() }
    }

    /// The same in this place. May block.
    pub(super) fn at(&self, place: &dyn Workplace) -> Self {
        match place.home() {
            None => self.clone(),
            Some(home) => Self { env: credentials::away_from_home(&self.env, home), ..self.clone() },
        }
    }

    /// Where the person's own files are, in the agent's environment.
    pub(super) fn own(&self) -> Own {
        Own::new(
            transcript::variable(&self.env, "HOME"),
            transcript::variable(&self.env, "CLAUDE_CONFIG_DIR"),
        )
    }

    /// The arguments of the program for a turn over the live channel.
    pub fn arguments(
        &self,
        opening: Opening,
        conversation: &ConversationId,
        kind: TurnKind,
        system: Option<&str>,
        from_project: &FromProject,
    ) -> Vec<OsString> {
        const CHANNEL: [&str; 10] = [
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
            // A question is asked before its message is complete. Only the end of the message tells that it is alone in it.
            "--include-partial-messages",
        ];
        let naming = match opening {
            Opening::Fresh => "--session-id",
            Opening::Resumed => "--resume",
        };
        let ours =
            CHANNEL.into_iter().chain([naming, conversation.as_str(), "--permission-mode", self.mode(kind)]);
        let leading = self.leading_args.iter().cloned();
        let told = told(kind, system, from_project);
        let ours = ours.map(OsString::from).chain(told);
        leading.chain(ours).chain(self.extra_args.iter().cloned()).collect()
    }

    /// The arguments of the program for one message, which comes last (CLARIFY-10) unless it goes in over the input. A conversation that begins gets its
    /// name from the CLI.
    pub fn print_arguments(
        &self,
        opening: Opening,
        conversation: &ConversationId,
        kind: TurnKind,
        system: Option<&str>,
        from_project: &FromProject,
        message: Option<&str>,
    ) -> Vec<OsString> {
        let channel =
            ["-p", "--verbose", "--output-format", "stream-json", "--permission-mode", self.mode(kind)];
        let resume = match opening {
            Opening::Fresh => None,
            Opening::Resumed => Some(["--resume", conversation.as_str()]),
        };
        let ours = channel.into_iter().chain(resume.into_iter().flatten()).map(OsString::from);
        let extra = self.extra_args.iter().cloned().chain(told(kind, system, from_project));
        let leading = self.leading_args.iter().cloned();
        leading.chain(extra).chain(ours).chain(message.map(OsString::from)).collect()
    }

    /// Resuming does not bring a permission mode back, so it is said every time.
    fn mode(&self, kind: TurnKind) -> &str {
        match kind {
            TurnKind::Plan => PLAN,
            TurnKind::Work | TurnKind::Chat => &self.work_mode,
            TurnKind::Draft => DEFAULT,
        }
    }
}

/// The permission mode in which the CLI changes nothing.
pub(super) const PLAN: &str = "plan";
/// The permission mode in which the CLI asks about everything that changes something.
pub(super) const DEFAULT: &str = "default";

/// What an agent that only drafts a plan of actions cannot use: whatever changes a file, runs a command, or has something
/// done elsewhere or later.
pub(super) const NOT_FOR_DRAFTS: &str = "Edit,Write,MultiEdit,NotebookEdit,Bash,BashOutput,KillShell,Task,Agent,\
    EnterPlanMode,ExitPlanMode,EnterWorktree,ExitWorktree,CronCreate,CronDelete,ScheduleWakeup,SendMessage,Workflow,\
    Monitor,TaskStop";

/// What an agent that plans cannot use beside what plan mode asks about: these change something without asking anybody, or begin
/// what has begun.
const NOT_FOR_PLANS: &str =
    "EnterPlanMode,EnterWorktree,ExitWorktree,CronCreate,CronDelete,ScheduleWakeup,Workflow";

/// The flags with which the CLI takes settings, hooks and servers from the person alone. The versions from 2.1.90 to 2.1.325
/// then pass over the project's servers as well.
pub(super) const OWN_SETTINGS: [&str; 2] = ["--setting-sources", "user"];

/// The flags with which an agent that drafts a plan of actions knows nothing but what it is shown, and can only ask: no files,
/// commands, servers or settings of the project.
const FOR_DRAFTS: [&str; 5] =
    ["--disallowedTools", NOT_FOR_DRAFTS, "--tools", "AskUserQuestion", "--strict-mcp-config"];

/// With these the CLI adds no instructions and memories of its own to what an agent is shown.
const NOTHING_ADDED: [&str; 2] = ["CLAUDE_CODE_DISABLE_CLAUDE_MDS", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"];

/// What is said before a project's instructions that are told as text.
const INSTRUCTIONS: &str = "The project you work in has instructions for agents. They came with the project:";

impl FromProject {
    /// Nothing is taken from this directory but its instructions, as text.
    pub(super) fn nothing(directory: &Path, own: &Own) -> Self {
        Self::Nothing { instructions: brought::instructions(directory, own) }
    }

    /// A system prompt with what has to be told because of this.
    pub(super) fn with_instructions(&self, system: Option<&str>) -> Option<String> {
        let system = system.filter(|system| !system.is_empty()).map(str::to_owned);
        let Self::Nothing { instructions: Some(instructions) } = self else { return system };
        let before = system.map(|system| format!("{system}\n\n")).unwrap_or_default();
        Some(format!("{before}{INSTRUCTIONS}\n{instructions}"))
    }
}

/// What it is told as its system prompt, and what it may not use. A draft is made of just what it is shown.
fn told(kind: TurnKind, system: Option<&str>, from_project: &FromProject) -> Vec<OsString> {
    let (naming, system) = match kind {
        TurnKind::Draft => ("--system-prompt", system.filter(|system| !system.is_empty()).map(str::to_owned)),
        TurnKind::Plan | TurnKind::Work | TurnKind::Chat => {
            ("--append-system-prompt", from_project.with_instructions(system))
        }
    };
    let system = system.map(|system| [naming.to_owned(), system]);
    let without: &[&str] = match kind {
        TurnKind::Draft => &FOR_DRAFTS,
        TurnKind::Plan => &["--disallowedTools", NOT_FOR_PLANS],
        TurnKind::Work | TurnKind::Chat => &[],
    };
    let is_own = kind == TurnKind::Draft || *from_project != FromProject::Everything;
    let own: &[&str] = if is_own { &OWN_SETTINGS } else { &[] };
    let flags = without.iter().chain(own).map(OsString::from);
    system.into_iter().flatten().map(OsString::from).chain(flags).collect()
}
