//! What a bot costs: a task clarified in a chat beside one CLI for every message, and five hundred chats at once.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::support::crowd::{Crowd, Fingers, Waited, refused, sent};
use crate::support::model::{Model, Response, Script, offline};
use crate::support::rounds_api::{QUESTIONS, RoundsApi};
use crate::support::serving::Serving;
use crate::support::telegram::{Rates, TelegramServer};
use crate::{Outcome, children_cpu, row, stage};

/// How many rounds of questions the task takes.
const ROUNDS: usize = 3;
/// What the person writes and taps: the task, an answer for each question, the confirmation.
const MESSAGES: usize = 1 + ROUNDS * QUESTIONS + 1;
/// What the agent says in the end.
const RESULT: &str = "The way is built.";
/// How many answer at once.
const CHATS: usize = 500;
/// At thirty messages a second there may be none but edits for half a minute.
const PATIENCE: Duration = Duration::from_secs(120);
/// Megabytes that it may take to serve them.
const MOST_RESIDENT: f64 = 64.0;

pub(crate) fn measure() -> Outcome {
    tokio::runtime::Runtime::new()?.block_on(async {
        story().await?;
        load("at Telegram's limits", Rates::Real, 1).await?;
        load("without limits", Rates::Off, 1000).await
    })
}

// --- one task ---

/// Clarifies a task over three rounds, and has it done.
async fn story() -> Outcome {
    let counted = Counted::new()?;
    let ours = in_chat(&counted).await?;
    let name = format!("a task of {MESSAGES} messages in a chat, CPU of all");
    row(&name, format!("{ours:.2} s"), "(one agent, none for the questions)");
    let Some(cli) = &counted.cli else {
        println!("  not compared, without a Claude Code CLI: the scripted agent did the task");
        return Ok(());
    };
    let theirs = one_each(cli)?;
    row(
        "  one CLI for every message, CPU",
        format!("{theirs:.2} s"),
        &format!("({MESSAGES} times `claude -p`)"),
    );
    row("  as a share of one CLI for every message", format!("{:.3}", ours / theirs), "target: under 0.25");
    Ok(())
}

/// CPU seconds of `rapport serve` and all it started.
async fn in_chat(counted: &Counted) -> Outcome<f64> {
    let server = TelegramServer::start().await;
    server.rates(Rates::Faster(40));
    let planner = RoundsApi::start(ROUNDS).await;
    let model = Model::play(Script::default().say(Response::default().text(RESULT)));
    let url = format!("http://{}", model.address());
    let command = format!("'{}'", counted.program().display());
    let mut more = vec![("RAPPORT_TELEGRAM_FASTER", "20"), ("RAPPORT_AGENT_COMMAND", &*command)];
    more.extend(offline(&url));
    let before = children_cpu()?;
    let mut serving = Serving::start(&server, &planner.url(), Crowd::ids(1), &more);
    let mut crowd = Crowd::new(&server, 1);
    crowd.plan(Fingers::Calm).await;
    let for_questions = counted.agents()?;
    let ann = server.person(Crowd::ids(1).next().unwrap_or_default(), "Ann");
    ann.taps("✅ Confirm & Start").await;
    ann.sees(if counted.cli.is_some() { RESULT } else { "Done" }).await;
    serving.stop();
    let cpu = children_cpu()? - before;
    let agents = counted.agents()?;
    if (for_questions, agents, planner.asked()) != (0, 1, ROUNDS) {
        let asked = planner.asked();
        return Err(format!("{for_questions} agents for questions, {agents} in all, {asked} rounds").into());
    }
    complain(crowd.wrong_logs(&serving))?;
    Ok(cpu.as_secs_f64())
}

/// CPU seconds of a CLI for each message of the same conversation.
fn one_each(cli: &Path) -> Outcome<f64> {
    let replies = (1..=MESSAGES).map(|n| Response::default().text(&format!("Which way should step {n} go?")));
    let model = Model::play(replies.fold(Script::default(), Script::say));
    let url = format!("http://{}", model.address());
    let folder = tempfile::tempdir()?;
    let conversation = "5b0c8d0a-6f0e-4d52-9a43-0d1f3c1a7e11";
    let before = children_cpu()?;
    for n in 0..MESSAGES {
        let mut command = Command::new(cli);
        let which = if n == 0 { "--session-id" } else { "--resume" };
        command.args(["-p", "To the left", "--output-format", "json", which, conversation]);
        command.current_dir(folder.path()).env_clear().envs(offline(&url)).env("HOME", folder.path());
        command.env("PATH", "/usr/bin:/bin").env("TMPDIR", folder.path()).stdin(Stdio::null());
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !said.contains(&format!("step {} go", n + 1)) {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("message {n} ended with {}: {said} {why}", output.status).into());
        }
    }
    Ok((children_cpu()? - before).as_secs_f64())
}

/// An agent that notes every start of it.
struct Counted {
    cli: Option<PathBuf>,
    folder: TempDir,
}

impl Counted {
    /// The real CLI; the scripted agent where there is none.
    fn new() -> Outcome<Self> {
        let counted = Self { cli: stage::cli().ok(), folder: tempfile::tempdir()? };
        let agent = match &counted.cli {
            Some(cli) => format!("'{}'", cli.display()),
            None => concat!("'", env!("CARGO_BIN_EXE_rapport"), "' rehearse").to_owned(),
        };
        let starts = counted.folder.path().join("starts");
        let script = format!("#!/bin/sh\necho \"$*\" >> '{}'\nexec {agent} \"$@\"\n", starts.display());
        fs::write(counted.program(), script)?;
        fs::set_permissions(counted.program(), fs::Permissions::from_mode(0o755))?;
        Ok(counted)
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    /// How many were started, those left out that only tell their version.
    fn agents(&self) -> Outcome<usize> {
        let starts = match fs::read_to_string(self.folder.path().join("starts")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
            starts => starts?,
        };
        Ok(starts.lines().filter(|line| *line != "--version").count())
    }
}

// --- many chats ---

async fn load(how: &str, rates: Rates, faster: u32) -> Outcome {
    let server = TelegramServer::start().await;
    server.rates(rates);
    server.patience(PATIENCE);
    let planner = RoundsApi::start(1).await;
    let faster = faster.to_string();
    let before = children_cpu()?;
    let more = [("RAPPORT_TELEGRAM_FASTER", faster.as_str())];
    let mut serving = Serving::start(&server, &planner.url(), Crowd::ids(CHATS), &more);
    let mut crowd = Crowd::new(&server, CHATS);
    let waited = crowd.plan(Fingers::Calm).await;
    let (peak, threads) = (serving.peak(), serving.threads());
    serving.stop();
    let cpu = (children_cpu()? - before).as_secs_f64();
    let updates = CHATS * (1 + QUESTIONS);
    let total = waited.total.as_secs_f64();
    let rate = format!("{:.0}/s", updates as f64 / total);
    row(&format!("{CHATS} chats at once, {how}: updates"), rate, &format!("({updates} in {total:.1} s)"));
    if rates == Rates::Real {
        let floor = sent(&server) as f64 / 30.0;
        let figure = format!("{:.2}", total / floor);
        row("  times what 30 messages a second take", figure, &format!("({floor:.1} s for what was sent)"));
    }
    tell(&waited, &server);
    row("  CPU for each update", format!("{:.2} ms", cpu / updates as f64 * 1e3), "");
    row(
        "  most that was resident",
        format!("{peak:.1} MB"),
        &format!("target: under {MOST_RESIDENT} MB; {threads} threads"),
    );
    row("  refused by Telegram because it was too much", refused(&server).to_string(), "target: 0");
    complain(crowd.complaints(&serving))?;
    if refused(&server) > 0 {
        return Err("too much was sent".into());
    }
    Ok(())
}

fn tell(waited: &Waited, server: &TelegramServer) {
    let both = |times: &[Duration]| format!("{} / {}", millis(part(times, 0.5)), millis(part(times, 0.99)));
    row("  tap to its toast, median and 99 of 100", both(&toasts(server)), "");
    row("  task to first card", both(&waited.first), "");
    row("  tap to next card", both(&waited.next), "");
}

/// How long taps waited for a word.
fn toasts(server: &TelegramServer) -> Vec<Duration> {
    server.look(|state| {
        let answered = state.calls.iter().filter(|call| call.method == "answerCallbackQuery");
        let tapped: std::collections::HashMap<_, _> =
            state.callbacks.iter().map(|tap| (tap.id.as_str(), tap.at)).collect();
        let took = answered.filter_map(|call| {
            let id = call.parameters.get("callback_query_id")?.as_str()?;
            Some(call.at.saturating_duration_since(*tapped.get(id)?))
        });
        took.collect()
    })
}

fn complain(complaints: Vec<String>) -> Outcome {
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
}

/// The value that such a share of all is below.
pub(crate) fn part(times: &[Duration], share: f64) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = (times.len() as f64 * share) as usize;
    times.get(at.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

pub(crate) fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}
