//! The command line: one file per subcommand. A subcommand's doc comment is its help.

mod agent_flags;
mod allow;
mod answer;
mod apply;
mod ask;
mod branch;
mod branch_turn;
mod branch_worktree;
mod cancel;
mod chat;
mod clipboard;
mod cluster;
mod complete;
mod completions;
mod context;
mod demo;
mod detachment;
#[cfg(feature = "web")]
mod devices;
mod diff;
mod diff_sessions;
mod diff_turns;
mod digest;
mod discard;
mod doctor;
mod execute;
mod follower;
mod foreign_preview;
mod graph;
mod handover;
mod host;
mod hosts;
mod leftovers;
mod log;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(not(feature = "mcp"))]
#[path = "without_mcp.rs"]
mod mcp;
mod message;
mod new;
#[cfg(feature = "web")]
mod open;
mod page;
mod plan;
mod plan_turn;
mod project;
mod queue;
mod report;
mod resume;
mod revise;
mod revoke;
mod run;
mod runtime;
mod say;
mod screen;
mod serve;
mod session_choice;
mod sessions;
mod shell;
mod status;
mod stop;
mod store;
mod store_migration;
mod task;
mod tree;
mod trust;
mod trust_session;
mod typed_lines;
mod undo;
mod undo_work;
#[cfg(not(feature = "web"))]
mod without_web;
mod workflow;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
#[cfg(not(feature = "web"))]
use {without_web as devices, without_web as open};

use clap::{Parser, Subcommand};
use rapport_engine::variant;
use tracing::info;

use crate::agents::{keeper, rehearsal};
use crate::channels::terminal;
use crate::error::{Code, Failure, Outcome};
use crate::options::{Common, When};
use crate::{logging, output};

/// Makes coding agents ask instead of guess.
///
/// Rapport takes an agent's questions to whoever can answer them, waits as long as it takes at no cost, and carries the
/// answer back into the very tool call that asked.
#[derive(Debug, Parser)]
#[command(name = "rapport", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  rapport demo                           see it all, without an account
  rapport run \"add a greeting\"           clarify, plan, confirm, work, report
  rapport status                         what waits, and for whom
  rapport answer add-a-greeting English  answer from any terminal
  rapport resume add-a-greeting          go on, whatever comes next
  rapport apply add-a-greeting           take over what was done in a worktree
  rapport plan idea.md --as progress     a plan of phases, in progress.md
  rapport serve                          the same in a browser or in Telegram: docs/web.md
  rapport mcp                            for another assistant: docs/mcp.md

Turn by turn, as files:
  rapport new add-auth                   a session of files
  rapport context add README.md src      what the agent is shown
  rapport plan -m \"Add a login page\"     the agent proposes; nothing is done
  rapport resume                         review it, run what you approve
  rapport undo                           take back what that did to files
  rapport branch 02; rapport log --tree  another way from the same point

Exit codes:
  0 done   1 trouble   2 wrong usage   3 refused   4 no such session
  5 held by another process   6 log cannot be read or written
  7 the agent failed   8 cancelled   9 not trusted   130 stopped, can be resumed";

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Run(run::Args),
    Chat(chat::Args),
    Task(task::Args),
    Digest(digest::Args),
    New(new::Args),
    Context(context::Args),
    Plan(plan::Args),
    Resume(resume::Args),
    Execute(execute::Args),
    Undo(undo::Args),
    Status(status::Args),
    Answer(answer::Args),
    Say(say::Args),
    Queue(queue::Args),
    Revise(revise::Args),
    Stop(stop::Args),
    Revoke(revoke::Args),
    Allow(allow::Args),
    Shell(shell::Args),
    Branch(branch::Args),
    Log(log::Args),
    Diff(diff::Args),
    Apply(apply::Args),
    Discard(discard::Args),
    Serve(serve::Args),
    Open(open::Args),
    Devices(devices::Args),
    Mcp(mcp::Args),
    Hosts(hosts::Args),
    Store(store::Args),
    Cluster(cluster::Args),
    Cancel(cancel::Args),
    Trust(trust::Args),
    Project(project::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    /// Print what can come next on a command line, for the scripts of `rapport completions`
    #[command(hide = true, disable_help_flag = true)]
    Complete {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Play a scenario as if it were the agent's CLI (speaks Claude Code's stream-json)
    ///
    /// Takes --scenario FILE or the name of a built-in scenario, and then the agent's own flags. This is what
    /// `agent.command: rehearsal` runs; docs/formats/scenario.md describes scenarios.
    Rehearse {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Hold an agent's process, and end it with its host
    #[command(hide = true, disable_help_flag = true)]
    Keep {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

impl Cli {
    /// Parses the command line and runs the command.
    pub fn run() -> ExitCode {
        let args: Vec<_> = std::env::args_os().collect();
        // A keeper lives as long as its agent, so it avoids the memory that parsing a command line needs.
        if args.get(1).is_some_and(|arg| arg == "keep") {
            return keeper::run(args.into_iter().skip(2));
        }
        match Self::try_parse_from(&args) {
            Ok(cli) => cli.execute(),
            Err(error) => not_understood(&error, &args),
        }
    }

    fn execute(self) -> ExitCode {
        let common = &self.common;
        let logging = match logging::start(common, self.command.owns_stderr()) {
            Ok(logging) => logging,
            Err(failure) => return conclude(Err(failure), common.json),
        };
        info!(version = env!("CARGO_PKG_VERSION"), command = variant(&self.command), "started");
        if common.plain {
            terminal::use_lines();
        }
        let outcome = match self.command {
            Command::Demo(args) => demo::execute(common, args),
            Command::Run(args) => run::execute(common, args),
            Command::New(args) => new::execute(common, args),
            Command::Context(args) => context::execute(common, args),
            Command::Plan(args) => plan::execute(common, args),
            Command::Chat(args) => chat::execute(common, args),
            Command::Task(args) => task::execute(common, args),
            Command::Digest(args) => digest::execute(common, args),
            Command::Resume(args) => resume::execute(common, args),
            Command::Execute(args) => execute::execute(common, args),
            Command::Undo(args) => undo::execute(common, args),
            Command::Status(args) => status::execute(common, args),
            Command::Answer(args) => answer::execute(common, args),
            Command::Say(args) => say::execute(common, args),
            Command::Queue(args) => queue::execute(common, args),
            Command::Revise(args) => revise::execute(common, args),
            Command::Stop(args) => stop::execute(common, args),
            Command::Revoke(args) => revoke::execute(common, args),
            Command::Allow(args) => allow::execute(common, args),
            Command::Shell(args) => shell::execute(common, args),
            Command::Branch(args) => branch::execute(common, args),
            Command::Log(args) => log::execute(common, args),
            Command::Diff(args) => diff::execute(common, args),
            Command::Apply(args) => apply::execute(common, args),
            Command::Discard(args) => discard::execute(common, args),
            Command::Serve(args) => serve::execute(common, args),
            Command::Open(args) => open::execute(common, args),
            Command::Devices(args) => devices::execute(common, args),
            Command::Mcp(args) => mcp::execute(common, args),
            Command::Hosts(args) => hosts::execute(common, args),
            Command::Store(args) => store::execute(common, args),
            Command::Cluster(args) => cluster::execute(common, args),
            Command::Cancel(args) => cancel::execute(common, args),
            Command::Trust(args) => trust::execute(common, args),
            Command::Project(args) => project::execute(common, args),
            Command::Doctor(args) => doctor::execute(common, args),
            Command::Completions(args) => completions::execute(args),
            Command::Complete { words } => complete::execute(common, &words),
            Command::Rehearse { args } => return rehearsal::run(args.into_iter()),
            Command::Keep { args } => return keeper::run(args),
        };
        crate::workers::settle();
        crate::stores::leave();
        match &outcome {
            Ok(()) => info!("done"),
            // The message may quote texts of people or agents.
            Err(failure) => info!(code = failure.code as u8, why = variant(&failure.code), "failed"),
        }
        drop(logging);
        conclude(outcome, common.json)
    }
}

impl Command {
    /// Whether stderr belongs to this process: that of an agent or its keeper is read by the host.
    fn owns_stderr(&self) -> bool {
        !matches!(self, Command::Rehearse { .. } | Command::Keep { .. })
    }
}

/// Requested help, or an error in the command line; for scripts as JSON, like every other failure.
fn not_understood(error: &clap::Error, args: &[OsString]) -> ExitCode {
    let as_json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    if !as_json || !error.use_stderr() {
        let code = match error.print() {
            Err(closed) if closed.kind() == io::ErrorKind::BrokenPipe => Code::Quiet as u8,
            // Help that cannot be printed is not a failure.
            Ok(()) | Err(_) => error.exit_code() as u8,
        };
        return ExitCode::from(code);
    }
    let words = error.render().to_string();
    let mut parts = words.split("\n\n").map(str::trim).filter(|part| !part.is_empty());
    let what = parts.next().unwrap_or_default();
    let failure = Failure::new(Code::Usage, what.trim_start_matches("error: "));
    conclude(Err(parts.fold(failure, Failure::hint)), true)
}

fn conclude(outcome: Outcome, as_json: bool) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(as_json);
            ExitCode::from(failure.code as u8)
        }
    }
}

/// Arguments as text; invalid UTF-8 is refused rather than replaced.
fn text(words: &[OsString], what: &str) -> Result<Vec<String>, Failure> {
    let words = words.iter().map(|word| word.to_str().map(str::to_owned));
    words.collect::<Option<_>>().ok_or_else(|| not_text(what))
}

fn not_text(what: &str) -> Failure {
    Failure::new(Code::Usage, format!("{what} is not UTF-8 text"))
}
