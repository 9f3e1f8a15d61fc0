//! How Claude Code is started: the program, its arguments, its environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rapport_core::{ConversationId, TurnKind};
use serde_json::json;

use super::channel::ChannelChoice;
use super::project_setup::{self, Own};
use super::{credentials, transcript};
use crate::agents::AgentContext;
use crate::clock::Clock;
use crate::projects::trust::{Trust, TrustLevel};
use crate::workers::{Workplace, variables_without_programs};

/// Variables for the CLI, besides the usual ones.
const VARIABLES: [&str; 2] = ["CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN"];
const VARIABLE_PREFIXES: [&str; 3] = ["ANTHROPIC_", "DISABLE_", "CLAUDE_CODE_DISABLE_"];

/// Whether a variable of the person's environment is meant for the CLI.
pub(super) fn takes_variable(name: &str) -> bool {
    VARIABLES.contains(&name) || VARIABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The configuration of the driver. The agent gets no variables but those of `env`.
#[derive(Clone, Debug)]
pub struct ClaudeConfig {
    /// The CLI, or a program that speaks its protocol.
    pub program: PathBuf,
    /// Arguments before Rapport's own, such as `rehearse --scenario X`.
    pub leading_args: Vec<OsString>,
    /// Arguments after Rapport's own.
    pub extra_args: Vec<OsString>,
    /// The agent's environment.
    pub env: Vec<(OsString, OsString)>,
    /// Rapport's own binary, which runs as the keeper.
    pub keeper: PathBuf,
    pub channel: ChannelChoice,
    /// The permission mode in which the agent works; planning uses plan mode.
    pub work_mode: String,
    /// How long the agent may be silent while it does not wait for a person.
    pub silence: Duration,
    /// How long the agent may take to end after the request to end.
    pub grace: Duration,
    /// Whether the project's own configuration of the CLI is trusted.
    pub trust: Trust,
    /// The file with the person's login, for a workplace without access to their home; it is read outside of it.
    pub login: Option<PathBuf>,
    /// The clock by which that login expires.
    pub clock: Clock,
    /// A private directory in which the driver may put files for the agent.
    pub private: Option<PathBuf>,
    /// Whether it is the scripted agent, which supports every channel and has no account.
    pub is_rehearsal: bool,
}

/// What the CLI uses of the project in which it is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromProject {
    /// Everything it finds.
    Everything,
    /// Nothing. It gets the project's instructions as text.
    Nothing {
        /// The instructions, if there are any.
        instructions: Option<String>,
    },
}

/// How a conversation is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    Fresh,
    Resumed,
}

impl ClaudeConfig {
    /// This program with defaults and an empty environment.
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
            login: None,
            clock: Clock::system(),
            private: None,
            is_rehearsal: false,
        }
    }

    /// What the CLI may use of this directory, checked at every start, because files may have been added.
    pub fn from_project(&self, directory: &Path) -> FromProject {
        let own = self.own();
        match self.trust.standing(&project_setup::brought(directory, &own)) {
            TrustLevel::Trusted => FromProject::Everything,
            TrustLevel::Declined | TrustLevel::Unseen => FromProject::nothing(directory, &own),
        }
    }

    /// What the CLI may use of the project in a workplace. If the files are on another machine, the agent may have
    /// changed the configuration there that the person trusted here. So the configuration counts only while it is
    /// unchanged there; if the project has none here, none counts.
    pub(super) fn of_project_at(&self, workplace: &dyn Workplace) -> FromProject {
        let seen = workplace.seen_at();
        let from_project = self.from_project(seen);
        let own = self.own();
        let is_elsewhere = seen != workplace.directory() && from_project == FromProject::Everything;
        if is_elsewhere
            && (project_setup::brought(seen, &own).is_empty() || !project_setup::is_unchanged(workplace))
        {
            return FromProject::nothing(seen, &own);
        }
        from_project
    }

    /// The configuration for an agent that drafts a plan of actions: it is shown only the content of `_context.log`.
    pub(super) fn for_drafts(&self) -> Self {
        let added = NOTHING_ADDED.iter().map(|name| (OsString::from(name), OsString::from("1")));
        Self { env: self.env.iter().cloned().chain(added).collect(), ..self.clone() }
    }

    /// The configuration for a project whose own configuration does not count: the CLI calls git as soon as it
    /// starts, and git then runs no program that comes with the repository. Blocks.
    pub(super) fn without_git_programs(&self, directory: &Path) -> Self {
        let count = transcript::variable(&self.env, "GIT_CONFIG_COUNT");
        let count = count.and_then(|count| count.to_str()?.parse().ok()).unwrap_or(0);
        let added =
            variables_without_programs(directory, count).map(|(name, value)| (name.into(), value.into()));
        let kept = self.env.iter().filter(|(name, _)| name != "GIT_CONFIG_COUNT").cloned();
        Self { env: kept.chain(added).collect(), ..self.clone() }
    }

    /// The configuration for this workplace. Blocks.
    pub(super) fn at(&self, workplace: &dyn Workplace) -> Self {
        match workplace.home() {
            None => self.clone(),
            Some(home) => Self {
                env: credentials::away_from_home(&self.env, home),
                login: credentials::login(&self.env),
                ..self.clone()
            },
        }
    }

    /// The person's own files, according to the agent's environment.
    pub(super) fn own(&self) -> Own {
        Own::new(
            transcript::variable(&self.env, "HOME"),
            transcript::variable(&self.env, "CLAUDE_CONFIG_DIR"),
        )
    }

    /// The arguments for a turn over the live channel.
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
            // The CLI echoes a message when the model reads it: so the driver knows which ones were read.
            "--replay-user-messages",
            // The CLI asks a question before the message with it is complete. Only the end of that message shows
            // whether it is the only call.
            "--include-partial-messages",
        ];
        let naming = match opening {
            Opening::Fresh => "--session-id",
            Opening::Resumed => "--resume",
        };
        let ours =
            CHANNEL.into_iter().chain([naming, conversation.as_str(), "--permission-mode", self.mode(kind)]);
        let leading = self.leading_args.iter().cloned();
        let prompt = prompt_arguments(kind, system, from_project);
        let ours = ours.map(OsString::from).chain(prompt);
        leading.chain(ours).chain(self.extra_args.iter().cloned()).collect()
    }

    /// The arguments for one message, which is the last argument (CLARIFY-10) unless it is sent over stdin. The CLI
    /// names a new conversation itself.
    pub(crate) fn print_arguments(
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
        let extra = self.extra_args.iter().cloned().chain(prompt_arguments(kind, system, from_project));
        let leading = self.leading_args.iter().cloned();
        leading.chain(extra).chain(ours).chain(message.map(OsString::from)).collect()
    }

    /// The arguments that attach Rapport's own tools: the agent starts this program, which connects it to the process
    /// that runs the session. That process recognizes its caller by the caller's ancestors, so the arguments contain
    /// no secret.
    pub(super) fn tools(&self, context: &AgentContext) -> Option<[OsString; 2]> {
        let (address, session) = (context.reached_at.as_ref()?, context.mark.session()?);
        let server = json!({
            "type": "stdio",
            "command": self.keeper.to_str()?,
            "args": ["mcp", "--relay", address, "--lead", session],
        });
        let servers = json!({ "mcpServers": { OWN_SERVER: server } });
        Some([OsString::from("--mcp-config"), servers.to_string().into()])
    }

    /// The permission mode. Resuming does not restore it, so it is passed every time.
    fn mode(&self, kind: TurnKind) -> &str {
        match kind {
            TurnKind::Plan => PLAN,
            TurnKind::Work | TurnKind::Chat => &self.work_mode,
            TurnKind::TurnPlan => DEFAULT,
        }
    }
}

/// The name of Rapport's own server, by which the agent names its tools.
pub(super) const OWN_SERVER: &str = "rapport";

/// The permission mode in which the CLI changes nothing.
pub(super) const PLAN: &str = "plan";
/// The permission mode in which the CLI asks before every change.
pub(super) const DEFAULT: &str = "default";

/// Tools that an agent cannot use while it drafts a plan of actions: those that change a file, run a command, or act
/// elsewhere or later.
pub(super) const NOT_FOR_DRAFTS: &str = "Edit,Write,MultiEdit,NotebookEdit,Bash,BashOutput,KillShell,Task,Agent,\
    EnterPlanMode,ExitPlanMode,EnterWorktree,ExitWorktree,CronCreate,CronDelete,ScheduleWakeup,SendMessage,Workflow,\
    Monitor,TaskStop";

/// Tools that an agent cannot use while it plans, besides those that plan mode asks about: they change something
/// without asking, or enter plan mode again.
const NOT_FOR_PLANS: &str =
    "EnterPlanMode,EnterWorktree,ExitWorktree,CronCreate,CronDelete,ScheduleWakeup,Workflow";

/// Tools that a working agent cannot use. Rapport reports, undoes and applies what changes in the session's
/// workplace. An agent that moved to a worktree of its own would change files elsewhere, and some versions of the CLI
/// (2.1.197) do not return there when they are resumed, which would split the work. `--worker worktree` is the way to
/// work separately.
const NOT_FOR_WORK: &str = "EnterWorktree,ExitWorktree";

/// The flags that make the CLI use only the person's settings, hooks and servers. Versions 2.1.90 to 2.1.325 then
/// ignore the project's servers too.
pub(super) const OWN_SETTINGS: [&str; 2] = ["--setting-sources", "user"];

/// The flags that restrict an agent that drafts a plan of actions to what it is shown and to asking: no files,
/// commands, servers or settings of the project.
const FOR_DRAFTS: [&str; 5] =
    ["--disallowedTools", NOT_FOR_DRAFTS, "--tools", "AskUserQuestion", "--strict-mcp-config"];

/// Names the tool that prompts call the question tool.
const QUESTION_TOOL: &str = "Your question tool is AskUserQuestion.";

/// These variables keep the CLI from adding its own instructions and memories.
const NOTHING_ADDED: [&str; 2] = ["CLAUDE_CODE_DISABLE_CLAUDE_MDS", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"];

/// The heading of a project's instructions that are passed as text.
const INSTRUCTIONS: &str = "The project you work in has instructions for agents. They came with the project:";

impl FromProject {
    /// Nothing of this directory but its instructions, as text.
    pub(super) fn nothing(directory: &Path, own: &Own) -> Self {
        Self::Nothing { instructions: project_setup::instructions(directory, own) }
    }

    /// The system prompt after the project's instructions, if these have to be passed: the project does not get the
    /// last word.
    pub(super) fn with_instructions(&self, system: Option<&str>) -> Option<String> {
        let system = system.filter(|system| !system.is_empty()).map(str::to_owned);
        let Self::Nothing { instructions: Some(instructions) } = self else { return system };
        let after = system.map(|system| format!("\n\n{system}")).unwrap_or_default();
        Some(format!("{INSTRUCTIONS}\n{instructions}{after}"))
    }
}

/// The arguments for the system prompt and the disallowed tools. A draft is made only from what it is shown.
fn prompt_arguments(kind: TurnKind, system: Option<&str>, from_project: &FromProject) -> Vec<OsString> {
    let (naming, system) = match kind {
        // The agent has no other tool, and its whole prompt is on record.
        TurnKind::TurnPlan => {
            ("--system-prompt", system.filter(|system| !system.is_empty()).map(str::to_owned))
        }
        TurnKind::Plan | TurnKind::Work | TurnKind::Chat => {
            let system = system.filter(|system| !system.is_empty()).map(|system| format!("\n\n{system}"));
            let system = format!("{QUESTION_TOOL}{}", system.unwrap_or_default());
            ("--append-system-prompt", from_project.with_instructions(Some(&system)))
        }
    };
    let system = system.map(|system| [naming.to_owned(), system]);
    let without: &[&str] = match kind {
        TurnKind::TurnPlan => &FOR_DRAFTS,
        TurnKind::Plan => &["--disallowedTools", NOT_FOR_PLANS],
        TurnKind::Work | TurnKind::Chat => &["--disallowedTools", NOT_FOR_WORK],
    };
    let is_own = kind == TurnKind::TurnPlan || *from_project != FromProject::Everything;
    let own: &[&str] = if is_own { &OWN_SETTINGS } else { &[] };
    let flags = without.iter().chain(own).map(OsString::from);
    system.into_iter().flatten().map(OsString::from).chain(flags).collect()
}
