//! The whole program with each agent: from a task to its report, also when Rapport is killed while a question is open.

mod beside_apart;
mod killed_beside;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Ask as Round, Call, ExitPlan, FullQuestion, Scenario, Step};
use rapport_core::{AgentDid, Event, Purpose, Question, SessionId, View};
use serde_json::Value;

use super::actor::{Actor, as_script, processes_at_home, processes_in};
use super::asking::{database, storage};
use super::ending::WAIT;
use crate::support;
use crate::support::model::{Model, offline};
use crate::support::needs;
use crate::support::patience::wait_at_most;
use crate::support::project::{Project, Running};

/// Each story, on each agent, in each of these places.
macro_rules! on_every_agent {
    (@ $row:ident ($actor:expr) $worker:ident: $($story:ident)*) => {
        mod $row {
            use super::super::{Actor, Cast};
            $(#[test]
            fn $story() {
                if let Some(cast) = Cast::of($actor, stringify!($worker)) {
                    super::super::$story(cast);
                }
            })*
        }
    };
    ($worker:ident: $($story:ident)*) => {
        mod $worker {
            crate::contract::agent::agents! { on_every_agent $worker: $($story)* }
        }
    };
}

on_every_agent! {
    local:
    from_a_task_to_its_report
    parked_at_every_question
    killed_with_a_question_open
    killed_while_a_question_is_parked
    swept_away_while_a_question_is_parked
    branched_in_the_middle_of_work
    branched_before_the_plan
    options_and_free_text_from_a_command
}

// The same in a worktree of its own.
on_every_agent! {
    worktree:
    from_a_task_to_its_report
    parked_at_every_question
    killed_with_a_question_open
    killed_while_a_question_is_parked
    swept_away_while_a_question_is_parked
}

// An agent behind walls is an agent like any other (WORK-1, WORK-16).
on_every_agent! {
    sandbox:
    from_a_task_to_its_report
    parked_at_every_question
    killed_with_a_question_open
    killed_while_a_question_is_parked
    swept_away_while_a_question_is_parked
}

// The same in a container (WORK-1, WORK-5, WORK-8, WORK-16).
on_every_agent! {
    container:
    from_a_task_to_its_report
    parked_at_every_question
    killed_with_a_question_open
    killed_while_a_question_is_parked
    swept_away_while_a_question_is_parked
    removed_while_a_question_is_parked
}

// The same in a container on another machine (WORK-1, WORK-8, WORK-16).
on_every_agent! {
    remote:
    from_a_task_to_its_report
    parked_at_every_question
    killed_with_a_question_open
    killed_while_a_question_is_parked
    swept_away_while_a_question_is_parked
    removed_while_a_question_is_parked
}

/// The project with agents that work there.
fn at_work(project: Project, worker: &str) -> Project {
    match worker {
        "remote" => project.working_in("container").set("DOCKER_HOST", &support::remote::engine().unwrap()),
        worker => project.working_in(worker),
    }
}

/// Who plays a story, and where they work.
#[derive(Clone)]
struct Cast {
    actor: Actor,
    worker: &'static str,
}

impl Cast {
    /// `None` only where what is missing was left out on purpose.
    #[track_caller]
    fn of(actor: Option<Actor>, worker: &'static str) -> Option<Self> {
        let actor = actor?;
        let is_possible = match worker {
            "sandbox" => needs::sandbox(),
            "container" | "remote" => needs::engine().is_some(),
            _ => true,
        };
        is_possible.then_some(Self { actor, worker })
    }
}

impl From<&Actor> for Cast {
    fn from(actor: &Actor) -> Self {
        Self { actor: actor.clone(), worker: "local" }
    }
}

const ANSWERS: [(&str, &str); 3] =
    [("Which database?", "SQLite"), ("Which storage?", "Cookie"), ("Which name?", "auth, for short")];
/// The variables that name the CLIs.
const VERSIONS: [&str; 3] =
    ["RAPPORT_TEST_CLAUDE", "RAPPORT_TEST_CLAUDE_2_1_197", "RAPPORT_TEST_CLAUDE_2_1_90"];
/// Parks a waiting agent at once.
const PARKED: &[&str] = &["--hot", "0s"];
const PLAN: &str = "# Auth\n\n1. Write it down\n2. Ask for a name";

fn from_a_task_to_its_report(cast: Cast) {
    let world = World::new(&cast);
    let running = world.project.start(&["add", "auth"], &[]);
    world.answer_everything(running);
    world.assert_done();
}

fn parked_at_every_question(cast: Cast) {
    let world = World::new(&cast);
    let mut running = world.project.start(&[PARKED, &["add", "auth"]].concat(), &[]);
    while let Some(entry) = running.next() {
        let asked = entry.facts.into_iter().filter_map(|fact| match fact {
            Event::Asked { questions, .. } => questions.into_iter().next(),
            _ => None,
        });
        for question in asked {
            if question.purpose == Purpose::Clarify {
                running.until(|fact| matches!(fact, Event::Parked { .. }));
            }
            world.answer(&question);
        }
    }
    assert_eq!(running.finish(), 0);
    world.assert_done();
    let facts = world.project.facts();
    let parked = facts.iter().filter(|fact| matches!(fact, Event::Parked { .. })).count();
    // The permission too, unless its answer comes before the agent has written down that it asked.
    assert!((3..=4).contains(&parked), "{facts:#?}");
}

fn killed_with_a_question_open(cast: Cast) {
    for question in ANSWERS.map(|(question, _)| question) {
        let world = World::new(&cast);
        let question = world.killed_at(question, &[]);
        world.resumed_with(&question, &[]);
    }
}

fn killed_while_a_question_is_parked(cast: Cast) {
    let world = World::new(&cast);
    let question = world.killed_at("Which name?", PARKED);
    world.resumed_with(&question, PARKED);
}

/// Agents sweep their conversations away after a month; the session has its own copy.
fn swept_away_while_a_question_is_parked(cast: Cast) {
    let world = World::new(&cast);
    let question = world.killed_at("Which name?", PARKED);
    // All the agent has of its own: conversations, settings, caches.
    for gone in ["home/.claude", "home/.cache", "home/.config", "home/.local", "home/.rapport/rehearsal"] {
        let _ = std::fs::remove_dir_all(world.project.path(gone));
    }
    let _ = std::fs::remove_file(world.project.path("home/.claude.json"));
    let home = world.workplace().with_extension("home");
    if home.exists() {
        std::fs::remove_dir_all(&home).unwrap();
    }
    world.resumed_with(&question, PARKED);
}

/// WORK-8: the container and all that is in it are removed while Rapport waits with the question: it is made again
/// from the store, and the agent continues at the call that asked.
fn removed_while_a_question_is_parked(cast: Cast) {
    let world = World::new(&cast);
    let mut running = world.project.start(&[PARKED, &["add", "auth"]].concat(), &[]);
    let question = world.answer_until(&mut running, "Which name?");
    running.until(|fact| matches!(fact, Event::Parked { .. }));
    let label = format!("label=rapport.project={}", world.project.root().display());
    let docker = |args: &[&str]| {
        let engine = needs::engine().unwrap();
        let ran = Command::new("docker").args(["--host", &engine]).args(args).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    let name = docker(&["ps", "--all", "--filter", &label, "--format", "{{.Names}}"]);
    docker(&["rm", "--force", &name]);
    docker(&["volume", "rm", &name]);
    world.answer(&question);
    world.answer_everything(running);
    let facts = world.project.facts();
    let broken = facts.iter().find(|fact| matches!(fact, Event::CutOff { .. } | Event::Failed { .. }));
    assert_eq!(broken, None, "it continued at its call");
    world.assert_done();
}

/// The same question, answered one way here and another way in a branch.
fn branched_in_the_middle_of_work(cast: Cast) {
    for flags in [PARKED, &[]] {
        let world = World::new(&cast);
        let question = world.killed_at("Which name?", flags);
        let (original, branch) = (world.project.session(), world.branch(&question));
        let args = ["answer", branch.as_str(), "--question", question.id.as_str(), "login"];
        world.project.rapport(&args).check(0, "Answered.");
        let resumed = [flags, &["--resume", branch.as_str()]].concat();
        assert_eq!(world.project.start(&resumed, &[]).finish(), 0);
        world.assert_told("login", "auth, for short");
        let view: View = world.project.json(&["status", branch.as_str(), "--json"]);
        assert_eq!(view.result.as_deref(), Some("All done."));
        assert_eq!(std::fs::read_to_string(format!("{}/auth.txt", view.project)).unwrap(), "Auth.\n");

        std::fs::remove_dir_all(world.project.root().join(".rapport/sessions").join(branch.as_str()))
            .unwrap();
        assert_eq!(world.project.session(), original);
        world.resumed_with(&question, flags);
    }
}

/// Long after it was answered.
fn branched_before_the_plan(cast: Cast) {
    let world = World::new(&cast);
    let running = world.project.start(&["add", "auth"], &[]);
    world.answer_everything(running);
    world.assert_done();
    let questions = world.project.facts().into_iter().filter_map(|fact| match fact {
        Event::Asked { questions, .. } => questions.into_iter().next(),
        _ => None,
    });
    let question = questions.into_iter().find(|question| question.text == "Which storage?").unwrap();
    let branch = world.branch(&question);
    let args = ["answer", branch.as_str(), "--question", question.id.as_str(), "Header"];
    world.project.rapport(&args).check(0, "Answered.");
    let mut running = world.project.start(&["--resume", branch.as_str()], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    world.assert_told("Header", "Cookie");
    world.assert_told("SQLite", "auth, for short");
}

/// CHAT-25. What a person says beside the options reaches the model beside them, not as one text with their numbers.
/// Where it is not clear what is meant, nothing is answered.
fn options_and_free_text_from_a_command(cast: Cast) {
    let extras = |text: &str| {
        Round::one(FullQuestion::new(text, "Extras", &[("Date", ""), ("Time", ""), ("Wish", "")]).multi())
    };
    let asking = Scenario::new("extras").asks(extras("Which extras?")).asks(extras("Which more?"));
    let world = World::playing(cast, asking.respond_with_text(PLAN));
    let mut running = world.project.start(&["add", "auth"], &[]);
    running.until_asked();
    let answer = |words: &[&str]| world.project.rapport(&[&["answer", "auth"], words].concat());
    for words in [&["1", "3", "smoke"][..], &["1", "3", "and", "a", "smoke", "test"]] {
        let all = words.join(" ");
        let beside = words[2..].join(" ");
        let refused = answer(words);
        refused.check(3, &format!("\"{all}\" can mean options of q1 and free text"));
        refused.check(3, &format!("Options and free text: 1 3 --text \"{beside}\""));
        refused.check(3, &format!("Free text only: --text \"{all}\""));
    }
    answer(&["1", "smoke", "--text", "test"]).check(3, "\"smoke\" is not one of its options");
    assert_eq!(world.project.view().questions.len(), 1, "nothing of that was an answer");
    answer(&["1", "3", "--text", "smoke"]).check(0, "q1 Extras: Date, Wish, smoke");
    running.until_asked();
    answer(&["Wish", "and a smoke test"]).check(0, "q2 Extras: Wish, and a smoke test");
    running.until_asked();
    let told = world.conversation();
    for pair in [
        "\\\"Which extras?\\\"=\\\"Date, Wish, smoke\\\"",
        "\\\"Which more?\\\"=\\\"Wish, and a smoke test\\\"",
    ] {
        assert_eq!(told.matches(pair).count(), 1, "{pair}: {told}");
    }
}

/// What was allowed while planning is in the report.
#[test]
fn a_file_written_while_planning_is_in_the_report() {
    for (actor, flags) in VERSIONS
        .into_iter()
        .filter_map(Actor::named)
        .flat_map(|actor| [(actor.clone(), PARKED), (actor, &[])])
    {
        let plan = Step::ExitPlan(ExitPlan { plan: PLAN.into(), id: None });
        let planning =
            Scenario::new("early").uses_write("early.txt", "Early.\n").with_permission().step(plan);
        let working = planning.respond_with_text("Planned.").next_invocation();
        let world = World::playing(&actor, working.uses_bash("true").respond_with_text("All done."));
        let running = world.project.start(&[flags, &["add", "auth"]].concat(), &[]);
        world.answer_everything(running);
        let facts = world.project.facts();
        let changed = facts.iter().find_map(|fact| match fact {
            Event::Reported { changes } => changes.clone(),
            _ => None,
        });
        assert!(format!("{changed:?}").contains("early.txt"), "{actor:?}, {flags:?}: {changed:?}");
    }
}

/// In plan mode newer versions let a model decide about commands, so that they run, or are refused, without asking a
/// person.
#[test]
fn a_command_while_planning_is_asked_about() {
    for actor in VERSIONS.into_iter().filter_map(Actor::named) {
        let plan = Step::ExitPlan(ExitPlan { plan: PLAN.into(), id: None });
        let planning =
            Scenario::new("early").uses_bash("echo early >> early.txt").with_permission().step(plan);
        let working = planning.respond_with_text("Planned.").next_invocation();
        let world = World::playing(&actor, working.uses_bash("true").respond_with_text("All done."));
        let running = world.project.start(&["add", "auth"], &[]);
        world.answer_everything(running);
        let facts = world.project.facts();
        let asked = facts.iter().filter_map(|fact| match fact {
            Event::Asked { questions, .. } => Some(questions),
            _ => None,
        });
        let asked: Vec<_> = asked.flatten().filter(|question| question.text.contains("early")).collect();
        assert_eq!(asked.len(), 1, "{facts:#?}");
        assert_eq!(world.project.file("early.txt"), "early\n");
    }
}

/// Two calls of one message wait for a person: neither is parked, and `status` says why. Once the agent may leave
/// plan mode, the question waits alone, and is parked.
#[test]
fn a_question_beside_leaving_plan_mode_is_parked_once_that_is_decided() {
    for actor in VERSIONS.into_iter().filter_map(Actor::named) {
        let plan = ExitPlan { plan: PLAN.into(), id: None };
        let name = Round::one(FullQuestion::new("Which name?", "Name", &[("auth", ""), ("login", "")]));
        let planning =
            Scenario::new("beside").step(Step::ExitPlan(plan.clone())).respond_with_text("Planned.");
        let working = planning.next_invocation().together(vec![Call::ExitPlan(plan), Call::Ask(name)]);
        let mut world = World::playing(&actor, working.respond_with_text("All done."));
        world.project = world.project.set("RAPPORT_AGENT_PERMISSION_MODE", "plan");
        let mut running = world.project.start(&[PARKED, &["add", "auth"]].concat(), &[]);
        let (mut leaving, mut asked) = (None, None);
        while leaving.is_none() || asked.is_none() {
            let Event::Asked { questions, .. } = running.until_asked() else { unreachable!() };
            let question = questions.into_iter().next().unwrap();
            match question.purpose {
                Purpose::LeavePlanMode { .. } => leaving = Some(question),
                Purpose::Clarify => asked = Some(question),
                _ => world.answer(&question),
            }
        }
        world.project.rapport(&["status"]).check(0, "kept running: another call is in flight");
        let heard = world.requests();
        world.answer(&leaving.unwrap());
        running.until(|fact| matches!(fact, Event::Parked { .. }));
        let status = world.project.rapport(&["status"]);
        assert!(!status.out().contains("kept running"), "{actor:?}: {}", status.out());
        assert_eq!(world.requests(), heard, "{actor:?}: the model heard something before the answer");
        world.answer(&asked.unwrap());
        world.answer_everything(running);
        assert_eq!(world.project.view().result.as_deref(), Some("All done."), "{actor:?}");
        let told = world.conversation();
        assert!(told.contains("auth, for short") && !told.contains("Tool result missing"), "{told}");
    }
}

/// The settings that count are those the CLI itself would count: the last, whichever form they have, and a path from
/// the directory it works in.
#[tokio::test]
async fn the_last_settings_of_ones_own_count() {
    let Some(actor) = Actor::claude() else { return };
    for (args, model) in [
        (&["--settings", "{\"model\":\"claude-one\"}", "--settings=own.json"][..], "claude-own"),
        (&["--settings=own.json", "--settings", "{\"model\":\"claude-one\"}"], "claude-one"),
    ] {
        let mut stage = actor.with(Scenario::new("settings").respond_with_text("Done."));
        std::fs::write(stage.path("app").join("own.json"), r#"{"model":"claude-own"}"#).unwrap();
        let private = stage.path("run");
        let cli = stage.cli_mut();
        cli.leading_args = args.iter().map(Into::into).collect();
        cli.private = Some(private);
        let (did, _) = stage.start().rest().await;
        let connected =
            |did: &AgentDid| matches!(did, AgentDid::Connect { model: Some(found), .. } if found == model);
        assert!(did.iter().any(connected), "{args:?}: {did:?}");
    }
}

/// Words reach the agent after it was stopped, and after its work is done: in one conversation, once.
#[test]
fn words_reach_an_agent_that_was_stopped_and_one_that_is_done() {
    let real = ["RAPPORT_TEST_CLAUDE", "RAPPORT_TEST_CLAUDE_2_1_197"].into_iter().filter_map(Actor::named);
    for actor in [Actor::Rehearsal].into_iter().chain(real) {
        let working = Scenario::new("steered").respond_with_text(PLAN).next_invocation().uses_bash(WAIT);
        let working = working.respond_with_text("Built.").next_invocation().respond_with_text("Painted.");
        let world = World::playing(&actor, working.next_invocation().respond_with_text("Polished."));
        let mut running = world.project.start(&["add", "auth"], &[]);
        running.until_asked();
        world.project.rapport(&["answer", "auth", "confirm"]).check(0, "Answered.");
        running.until(|fact| matches!(fact, Event::Used { .. }));
        world.project.rapport(&["stop", "auth"]).check(0, "Stopped");
        assert_eq!(running.finish(), 130, "{actor:?}");
        assert_eq!(world.processes(), Vec::<i32>::new(), "{actor:?}");
        std::fs::write(world.workplace().join("go"), "").unwrap();
        for words in ["Rather so.", "And more."] {
            world.project.rapport(&["say", "auth", words]).check(0, "");
        }
        let Some(model) = &world.model else { continue };
        let last = model.seen().last().unwrap()["messages"].to_string();
        let held = ["Rather so.", "And more.", "where you left off"].map(|words| last.matches(words).count());
        assert_eq!(held, [1, 1, 0], "{actor:?}: {last}");
    }
}

/// A project with an agent that plays the story.
struct World {
    project: Project,
    model: Option<Model>,
    worker: &'static str,
}

impl World {
    fn new(cast: &Cast) -> Self {
        Self::playing(cast.clone(), story(cast.worker))
    }

    fn playing(cast: impl Into<Cast>, scenario: ScenarioBuilder) -> Self {
        Self::with_arguments(cast, scenario, "")
    }

    /// The same, with a CLI that is given more arguments.
    fn with_arguments(cast: impl Into<Cast>, scenario: ScenarioBuilder, arguments: &str) -> Self {
        let (Cast { actor, worker }, scenario) = (cast.into(), scenario.build());
        let Actor::Claude(program) = actor else {
            let scenario = serde_json::to_string(&scenario).unwrap();
            let project = at_work(Project::with_scenario(&scenario), worker);
            return Self { project, model: None, worker };
        };
        let mut project = Project::with_agent(&format!("'{}' {arguments}", program.display()));
        project = at_work(project, worker);
        let model = Model::play(as_script(&scenario, &project.root()));
        let url = format!("http://{}", model.address());
        for (name, value) in offline(&url) {
            project = project.set(name, value);
        }
        // The CLI leaves things there when it is killed.
        let temporary = project.path("tmp");
        std::fs::create_dir(&temporary).unwrap();
        project = project.set("TMPDIR", &temporary.to_string_lossy());
        Self { project, model: Some(model), worker }
    }

    /// The directory that the agent works in.
    fn workplace(&self) -> PathBuf {
        match self.worker {
            "local" => self.project.root(),
            _ => self.project.root().join(".rapport/worktrees").join(self.project.session().as_str()),
        }
    }

    /// The processes of Rapport and of its agent.
    fn processes(&self) -> Vec<i32> {
        if matches!(self.worker, "container" | "remote") {
            // Every container has the same directory, and an agent's home is its own.
            let at_home = processes_at_home(&self.workplace().with_extension("home"));
            return at_home.into_iter().chain(processes_in(&self.project.root())).collect();
        }
        let places = BTreeSet::from([self.project.root(), self.workplace()]);
        places.iter().flat_map(|place| processes_in(place)).collect()
    }

    /// Plays until this question is open, or parked, and kills Rapport: the agent is gone with it, and did not
    /// continue.
    fn killed_at(&self, text: &str, flags: &[&str]) -> Question {
        let mut running = self.project.start(&[flags, &["add", "auth"]].concat(), &[]);
        let question = self.answer_until(&mut running, text);
        if flags == PARKED {
            running.until(|fact| matches!(fact, Event::Parked { .. }));
            // Beside Rapport there may be git for a moment, which notes the state of the files.
            wait_at_most(Duration::from_secs(5), "Rapport alone", || {
                (self.processes().len() == 1).then_some(())
            });
        } else {
            let alive = self.processes().len();
            assert!(alive >= 3, "Rapport, the keeper and the agent were expected, not {alive}");
        }
        let requests = self.requests();
        running.kill();
        wait_at_most(Duration::from_secs(1), "the end of the agent", || {
            self.processes().is_empty().then_some(())
        });
        assert_eq!(self.requests(), requests, "the agent continued without an answer");
        question
    }

    /// Answers it, and plays on to the end.
    fn resumed_with(&self, question: &Question, flags: &[&str]) {
        self.answer(question);
        let session = self.project.session();
        let running = self.project.start(&[flags, &["--resume", session.as_str()]].concat(), &[]);
        self.answer_everything(running);
        self.assert_done();
    }

    /// Another session in which this question is open.
    fn branch(&self, question: &Question) -> SessionId {
        let session = self.project.session();
        let args = ["branch", session.as_str(), "--at", question.id.as_str(), "--json"];
        let made: serde_json::Value = self.project.json(&args);
        SessionId::new(made["session"].as_str().unwrap())
    }

    /// What the model last saw has this answer and not the other.
    fn assert_told(&self, answer: &str, other: &str) {
        let Some(model) = &self.model else { return };
        let last = model.seen().last().unwrap()["messages"].to_string();
        let told = |answer: &str| {
            last.contains(&format!("=\\\"{answer}\\\"")) || last.contains(&format!(". {answer}"))
        };
        assert!(told(answer) && !told(other), "{answer} and not {other} was expected: {last}");
    }

    /// The agent's conversation: as the model last saw it, or as the scripted agent stored it.
    fn conversation(&self) -> String {
        match &self.model {
            Some(model) => model.seen().last().unwrap()["messages"].to_string(),
            None => Value::from(self.project.transcripts().concat()).to_string(),
        }
    }

    fn requests(&self) -> usize {
        self.model.as_ref().map_or(0, |model| model.seen().len())
    }

    /// Answers what is asked until this is asked.
    fn answer_until(&self, running: &mut Running, text: &str) -> Question {
        loop {
            let Event::Asked { questions, .. } = running.until_asked() else { unreachable!() };
            match questions.into_iter().next() {
                Some(question) if question.text == text => return question,
                Some(question) => self.answer(&question),
                None => {}
            }
        }
    }

    /// Answers what is asked until it is over.
    fn answer_everything(&self, mut running: Running) {
        while let Some(entry) = running.next() {
            for fact in entry.facts {
                if let Event::Asked { questions, .. } = fact {
                    questions
                        .iter()
                        .filter(|question| self.is_open(question))
                        .for_each(|question| self.answer(question));
                }
            }
        }
        assert_eq!(running.finish(), 0);
    }

    /// A run that is resumed tells its past first.
    fn is_open(&self, question: &Question) -> bool {
        self.project.view().questions.iter().any(|open| open.id == question.id)
    }

    fn answer(&self, question: &Question) {
        let value = match question.purpose {
            Purpose::Clarify => ANSWERS.iter().find(|(text, _)| *text == question.text).unwrap().1,
            Purpose::Confirm => "confirm",
            Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } => "allow",
            Purpose::Elicit(_) => unreachable!("no story has a server"),
            Purpose::Budget { .. } => unreachable!("no story has a budget"),
            Purpose::Idle => unreachable!("no story has a lead"),
        };
        let session = self.project.session();
        let args = ["answer", session.as_str(), "--question", question.id.as_str(), value];
        self.project.rapport(&args).check(0, "");
    }

    /// What has to come out, however often it was interrupted.
    fn assert_done(&self) {
        assert_eq!(self.processes(), Vec::<i32>::new());
        if self.worker != "local" {
            assert!(!self.project.root().join("auth.txt").exists(), "nothing is in the project yet");
            self.project.rapport(&["apply", self.project.session().as_str()]).check(0, "Applied to");
        }
        let written = std::fs::read_to_string(self.project.root().join("auth.txt")).unwrap();
        assert_eq!(written, "Auth.\n");
        let facts = self.project.facts();
        let results = facts.iter().filter_map(|fact| match fact {
            Event::TurnEnded { result, .. } => Some(result.as_str()),
            _ => None,
        });
        assert_eq!(results.collect::<Vec<_>>(), ["Planned.", "All done."]);
        assert!(facts.iter().any(|fact| matches!(fact, Event::PlanProposed { text, .. } if text == PLAN)));
        assert!(facts.iter().any(|fact| matches!(fact, Event::Reported { .. })));
        let Some(model) = &self.model else { return };
        assert_eq!(
            model.keys(),
            BTreeSet::from(["any".to_owned()]),
            "the person's key, wherever it was added"
        );
        let last = model.seen().last().unwrap()["messages"].to_string();
        for (question, answer) in ANSWERS {
            let by_call = last.contains(&format!("\\\"{question}\\\"=\\\"{answer}\\\""));
            let by_message =
                last.contains(&format!(": {question}\\n")) && last.contains(&format!(". {answer}"));
            assert!(by_call || by_message, "the model was not told {answer:?}: {last}");
        }
    }
}

fn story(worker: &str) -> ScenarioBuilder {
    let name = FullQuestion::new("Which name?", "Name", &[("auth", ""), ("login", "")]);
    let plan = Step::ExitPlan(ExitPlan { plan: PLAN.into(), id: None });
    let planning = Scenario::new("whole").respond_with_text("First this.").asks(database()).asks(storage());
    let working = planning.step(plan).respond_with_text("Planned.").next_invocation();
    let writing = match worker {
        "local" => working.uses_write("auth.txt", "Auth.\n"),
        // A model names files by their whole paths, and the script does not know where this one will be.
        _ => working.uses_bash("echo Auth. > auth.txt"),
    };
    writing.with_permission().asks(Round::one(name)).respond_with_text("All done.")
}
