//! The player of a story: the rehearsal agent with a scenario, the real CLI with a model that plays the same
//! scenario, or an agent that does as little as the trait allows.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport::agents::claude::{Claude, ClaudeConfig};
use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Call, Scenario, Step};
use rapport::agents::{Abilities, Agent, Parking};
use rapport_core::{CallReply, Order};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::plain::PlainAgent;
use crate::support::driven::{CONVERSATION, Driven, order};
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;

/// An agent that can play a story.
#[derive(Clone, Debug)]
pub(super) enum Actor {
    Rehearsal,
    Claude(PathBuf),
    Dummy,
}

/// What a story needs of an agent, beyond what every agent does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    Parking,
    SeveralQuestions,
    Previews,
    Travelling,
    Permissions,
    Listening,
    Staying,
    Servers,
    /// Agents of its own that it waits for, as the CLI has them. The scripted one has only those in the background.
    SubAgents,
}

impl Need {
    fn is_met(self, by: Abilities) -> bool {
        match self {
            Self::Parking => by.parking != Parking::Never,
            Self::SeveralQuestions => by.several_questions,
            Self::Previews => by.previews,
            Self::Travelling => by.travels,
            Self::Permissions => by.permissions,
            Self::Listening => by.listens,
            Self::Staying => by.stays,
            Self::Servers | Self::SubAgents => by.servers,
        }
    }
}

/// Tells a story to an agent, unless that lacks what the story needs.
pub(super) async fn tell<Told: Future<Output = ()>>(
    actor: Option<Actor>,
    story: impl FnOnce(Actor) -> Told,
    needs: &[Need],
) {
    let Some(actor) = actor else { return };
    let can = actor.abilities();
    let lacks: Vec<_> = needs.iter().filter(|need| !need.is_met(can)).collect();
    if lacks.is_empty() {
        return story(actor).await;
    }
    assert!(lacks.iter().all(|need| actor.may_lack(**need)), "{actor:?} was to have {lacks:?}");
    println!("LEFT OUT: {actor:?} has no {lacks:?}");
}

impl Actor {
    /// Whether it lacks this by design. Anything else that it lacks is an ability it has lost.
    fn may_lack(&self, need: Need) -> bool {
        match self {
            Self::Claude(_) => false,
            Self::Rehearsal => matches!(need, Need::Servers | Need::SubAgents),
            Self::Dummy => true,
        }
    }

    /// The real CLI, unless tests with it are left out.
    #[track_caller]
    pub(super) fn claude() -> Option<Self> {
        needs::claude().map(Self::Claude)
    }

    /// The real CLI of another version, named by this variable.
    pub(super) fn named(variable: &str) -> Option<Self> {
        needs::program(variable).map(Self::Claude)
    }

    /// What it can do. The scripted CLI knows no servers, although its driver does.
    fn abilities(&self) -> Abilities {
        let cli = || Claude::new(ClaudeConfig::new("claude", "rapport")).abilities();
        match self {
            Self::Rehearsal => Abilities { servers: false, ..cli() },
            Self::Claude(_) => cli(),
            Self::Dummy => PlainAgent::playing(Scenario::new("nothing").build()).abilities(),
        }
    }

    /// Sets the stage for a story.
    pub(super) fn with(&self, scenario: ScenarioBuilder) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "app", "tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let scenario = scenario.build();
        match self {
            Self::Rehearsal => {
                let mut stage = Stage::new(folder, env!("CARGO_BIN_EXE_rapport").as_ref());
                let path = scenario.write_into(stage.folder.path()).unwrap();
                stage.set("RAPPORT_REHEARSAL_RECORD", stage.path("records"));
                stage.cli_mut().leading_args = vec!["rehearse".into(), "--scenario".into(), path.into()];
                stage
            }
            Self::Dummy => Stage { cast: Cast::Dummy(PlainAgent::playing(scenario)), model: None, folder },
            Self::Claude(program) => {
                let script = as_script(&scenario, &folder.path().join("app"));
                Stage::new(folder, program).with_model(Model::play(script))
            }
        }
    }
}

/// The place where a story is played: a home, a project, and the model if there is one.
pub(super) struct Stage {
    cast: Cast,
    pub(super) model: Option<Model>,
    folder: TempDir,
}

/// Who is on it.
enum Cast {
    /// A program, under its driver.
    Cli(Box<ClaudeConfig>),
    Dummy(PlainAgent),
}

impl Stage {
    /// A stage for this program, without a model.
    pub(super) fn new(folder: TempDir, program: &Path) -> Self {
        let mut config = ClaudeConfig::new(program, env!("CARGO_BIN_EXE_rapport"));
        config.grace = Duration::from_secs(10);
        config.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let mut stage = Self { cast: Cast::Cli(Box::new(config)), model: None, folder };
        stage.set("HOME", stage.path("home"));
        // The CLI leaves sockets there when it is killed.
        stage.set("TMPDIR", stage.path("tmp"));
        stage
    }

    /// With this model.
    pub(super) fn with_model(mut self, model: Model) -> Self {
        for (name, value) in offline(&format!("http://{}", model.address())) {
            self.set(name, value);
        }
        self.model = Some(model);
        self
    }

    /// With a variable for the agent.
    pub(super) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        let env = &mut self.cli_mut().env;
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value.into()));
    }

    /// How the CLI is started, for stories about that.
    pub(super) fn cli(&self) -> &ClaudeConfig {
        let Cast::Cli(config) = &self.cast else { panic!("it is no program") };
        config
    }

    /// The same, to be changed.
    pub(super) fn cli_mut(&mut self) -> &mut ClaudeConfig {
        let Cast::Cli(config) = &mut self.cast else { panic!("it is no program") };
        config
    }

    pub(super) fn agent(&self) -> Box<dyn Agent> {
        match &self.cast {
            Cast::Cli(config) => Box::new(Claude::new((**config).clone())),
            Cast::Dummy(agent) => Box::new(agent.clone()),
        }
    }

    /// Lets it use these tools without asking.
    pub(super) fn allow(&mut self, tools: &str) {
        self.cli_mut().extra_args = vec!["--allowedTools".into(), tools.into()];
    }

    pub(super) fn start(&self) -> Driven {
        self.start_with(order())
    }

    pub(super) fn start_with(&self, order: Order) -> Driven {
        self.start_in("app", order)
    }

    pub(super) fn start_in(&self, directory: &str, order: Order) -> Driven {
        Driven::with(&*self.agent(), order, self.path(directory))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file of the project.
    pub(super) fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path("app").join(name)).ok()
    }

    /// Where the agent keeps the conversation of [`order`], if it does.
    pub(super) fn transcript(&self) -> PathBuf {
        let name = format!("{CONVERSATION}.jsonl");
        let all = files(&self.path("home/.claude/projects"));
        all.into_iter().find(|path| path.ends_with(&name)).unwrap_or_default()
    }

    /// Waits until the agent has read a message from its input.
    pub(super) async fn until_heard(&self, text: &str) {
        let folder = if self.model.is_some() { "home/.claude/projects" } else { "records" };
        until(&format!("the agent has read {text:?}"), || {
            files(&self.path(folder))
                .iter()
                .any(|file| fs::read_to_string(file).is_ok_and(|lines| lines.contains(text)))
        })
        .await;
    }

    /// How often the conversation holds these words: as the model read it last, or as the scripted agent wrote it down.
    pub(super) fn times_held(&self, words: &str) -> usize {
        let last = self.model.as_ref().map(|model| model.seen().pop().unwrap()["messages"].to_string());
        last.unwrap_or_else(|| fs::read_to_string(self.transcript()).unwrap()).matches(words).count()
    }

    /// Waits until the agent has written down that it made this call.
    pub(super) async fn until_written(&self, call: &str) {
        until(&format!("{call} is in the transcript"), || {
            fs::read_to_string(self.transcript()).is_ok_and(|lines| lines.contains(call))
        })
        .await;
    }

    /// The model was told these answers, by a CLI in its own words.
    #[track_caller]
    pub(super) fn assert_answered(&self, call: &str, pairs: &[(&str, &str)], words: impl Fn(&str) -> String) {
        let pairs = in_quotes(pairs);
        let expected = if let Cast::Dummy(_) = &self.cast { pairs } else { words(&pairs) };
        assert_eq!(self.tool_result(call), Some((expected, false)));
    }

    /// The processes that are at work in the project: the agent, its keeper, and what they started.
    pub(super) fn processes(&self) -> Vec<i32> {
        processes_in(&self.path("app"))
    }

    #[track_caller]
    pub(super) fn assert_nothing_runs(&self) {
        assert_eq!(self.processes(), Vec::<i32>::new(), "processes are left");
    }

    /// `kill -9` of the agent and everything around it.
    pub(super) fn kill(&self) {
        for process in self.processes() {
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
        }
    }

    /// What the model was told a tool gave back: the words, and whether they are an error.
    pub(super) fn tool_result(&self, call: &str) -> Option<(String, bool)> {
        if let Cast::Dummy(agent) = &self.cast {
            let CallReply::Answers(told) = agent.told(call)? else { return None };
            let pairs: Vec<_> = told.iter().map(|told| (&*told.question, &*told.answer)).collect();
            return Some((in_quotes(&pairs), false));
        }
        if let Some(model) = &self.model {
            return model.tool_result(call);
        }
        let lines = fs::read_to_string(self.transcript()).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let blocks =
            lines.flat_map(|line| line["message"]["content"].as_array().cloned().unwrap_or_default());
        let mut results =
            blocks.filter(|block| block["type"] == "tool_result" && block["tool_use_id"] == call);
        results.next().map(|block| (block["content"].as_str().unwrap().to_owned(), block["is_error"] == true))
    }
}

/// Questions and answers, as the CLI tells them.
pub(super) fn in_quotes(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<_> =
        pairs.iter().map(|(question, answer)| format!("\"{question}\"=\"{answer}\"")).collect();
    pairs.join(", ")
}

/// The processes whose working directory this is.
pub(super) fn processes_in(directory: &Path) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    ids.filter(|id: &i32| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == directory))
        .collect()
}

/// The processes with this home.
pub(super) fn processes_at_home(home: &Path) -> Vec<i32> {
    let wanted = format!("HOME={}", home.display()).into_bytes();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let environment = |id: &i32| fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    ids.filter(|id| environment(id).split(|byte| *byte == 0).any(|pair| pair == wanted)).collect()
}

/// Waits until something is so; nothing tells when it is, so this looks again and again.
pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
    const PATIENCE: Duration = Duration::from_secs(20);
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Where the CLI with this home keeps the conversations of this directory.
pub(super) fn conversations_of(home: &Path, directory: &Path) -> PathBuf {
    let name = directory.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    home.join(".claude/projects").join(name)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// What a model has to say so that the CLI does what the scenario says: texts go with the calls that follow them.
pub(super) fn as_script(scenario: &Scenario, app: &Path) -> Script {
    let mut script = Script::default();
    for (entry, turn) in scenario.invocations.iter().enumerate() {
        let mut response = Response::default();
        for (step, what) in turn.steps.iter().enumerate() {
            if let Step::Text(text) = what {
                response = response.text(text);
                continue;
            }
            let calls = what.calls().unwrap_or_else(|| panic!("no model can do this: {what:?}"));
            let alone = calls.len() == 1;
            for (letter, call) in ('a'..).zip(&calls) {
                let place = format!("toolu_{:02}{:02}", entry + 1, step + 1);
                let place = if alone { place } else { format!("{place}{letter}") };
                let (id, name, input) = used(call, app);
                response = response.tool(id.as_deref().unwrap_or(&place), name, input);
            }
            script = sub_agents(&calls, script.say(std::mem::take(&mut response)));
        }
        let last_words = turn.result.iter().fold(response, |response, words| response.text(words));
        script = script.say(last_words);
    }
    script
}

/// The id a call is given, the tool, and its input.
fn used<'a>(call: &'a Call, app: &Path) -> (&'a Option<String>, &'static str, Value) {
    match call {
        Call::Ask(ask) => (&ask.id, "AskUserQuestion", json!({"questions": ask.questions})),
        Call::Write(write) => {
            (&write.id, "Write", json!({"file_path": app.join(&write.path), "content": write.content}))
        }
        Call::Bash(bash) => {
            let description = bash.description.as_deref().unwrap_or("Does it");
            let mut input = json!({"command": bash.command, "description": description});
            if bash.background {
                input["run_in_background"] = true.into();
            }
            (&bash.id, "Bash", input)
        }
        Call::Tool(tool) if tool.name == "Read" => {
            let path = app.join(tool.input["file_path"].as_str().unwrap());
            (&tool.id, "Read", json!({"file_path": path}))
        }
        Call::Agent(agent) => {
            let input = json!({
                "description": "Looks around", "prompt": agent.prompt, "subagent_type": "general-purpose",
                "run_in_background": true,
            });
            // Newer CLIs call it Agent, and know it by this name too.
            (&agent.id, "Task", input)
        }
        Call::ExitPlan(plan) => (&plan.id, "ExitPlanMode", json!({"plan": plan.plan})),
        Call::Edit(edit) => {
            let path = app.join(&edit.path);
            (
                &edit.id,
                "Edit",
                json!({"file_path": path, "old_string": edit.find, "new_string": edit.replace}),
            )
        }
        Call::Tool(tool) if tool.name == "EnterWorktree" => (&tool.id, "EnterWorktree", tool.input.clone()),
        Call::Tool(_) => panic!("no story needs this yet: {call:?}"),
    }
}

/// What the agents of an agent say, each in a conversation of its own.
fn sub_agents(calls: &[Call], mut script: Script) -> Script {
    for call in calls {
        let Call::Agent(agent) = call else { continue };
        let input = json!({"command": agent.command, "description": "Does its part"});
        let id = format!("{}_does", agent.id.as_deref().unwrap_or("toolu_agent"));
        let first = Response::default().tool(&id, "Bash", input);
        let says = Script::default().say(first).say(Response::default().text("My part is done."));
        script = script.apart(&agent.prompt, says);
    }
    script
}
