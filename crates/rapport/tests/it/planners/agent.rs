//! Rounds through the agent's CLI: the rehearsal, the real CLI with a model that plays the same script, and programs
//! that fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::unistd::Pid;
use rapport::agents::claude::{Claude, ClaudeConfig};
use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::Scenario;
use rapport::planners::agent::AgentPlanner;
use rapport::planners::{Planner, PlannerError};
use rapport_core::Brief;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{brief, good, question, texts};
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_for;

/// A program in a project, with a home of its own.
struct Stage {
    folder: TempDir,
    config: ClaudeConfig,
    timeout: Duration,
    model: Option<Model>,
}

impl Stage {
    fn of(program: impl Into<PathBuf>, leading: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "app", "tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let mut config = ClaudeConfig::new(program, env!("CARGO_BIN_EXE_rapport"));
        config.leading_args = leading.iter().map(Into::into).collect();
        config.env = vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("HOME".into(), folder.path().join("home").into()),
            ("TMPDIR".into(), folder.path().join("tmp").into()),
            ("RAPPORT_REHEARSAL_RECORD".into(), folder.path().join("records").into()),
        ];
        Self { folder, config, timeout: Duration::from_secs(60), model: None }
    }

    /// The rehearsal agent.
    fn rehearsal(scenario: ScenarioBuilder) -> Self {
        let mut stage = Self::of(env!("CARGO_BIN_EXE_rapport"), &[]);
        let path = scenario.write_into(stage.folder.path()).unwrap();
        stage.config.leading_args = vec!["rehearse".into(), "--scenario".into(), path.into()];
        stage
    }

    /// The real CLI, unless tests with it are left out.
    fn claude(script: Script) -> Option<Self> {
        let mut stage = Self::of(needs::claude()?, &[]);
        let model = Model::play(script);
        let url = format!("http://{}", model.address());
        stage.config.env.extend(offline(&url).map(|(name, value)| (name.into(), value.into())));
        stage.model = Some(model);
        Some(stage)
    }

    fn planner(&self) -> AgentPlanner {
        AgentPlanner::new(
            Arc::new(Claude::new(self.config.clone())),
            self.app(),
            "haiku".into(),
            self.timeout,
        )
    }

    fn app(&self) -> PathBuf {
        self.folder.path().join("app")
    }

    /// What each process was started with and told, in order.
    fn records(&self) -> Vec<(Vec<String>, String)> {
        let mut stems: Vec<_> = files(&self.folder.path().join("records"))
            .into_iter()
            .filter_map(|path| path.to_str()?.strip_suffix(".argv.json").map(str::to_owned))
            .collect();
        stems.sort();
        let read = |stem: &String| {
            let argv: Value =
                serde_json::from_str(&fs::read_to_string(format!("{stem}.argv.json")).unwrap()).unwrap();
            let told = fs::read_to_string(format!("{stem}.stdin.ndjson")).unwrap();
            (serde_json::from_value(argv["argv"].clone()).unwrap(), told)
        };
        stems.iter().map(read).collect()
    }

    /// Everything that is at work in the project.
    fn processes(&self) -> Vec<Pid> {
        let ids = fs::read_dir("/proc").unwrap().flatten();
        let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let at_work = |id: &i32| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == self.app());
        ids.filter(at_work).map(Pid::from_raw).collect()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn second() -> Value {
    json!({"done": false, "questions": [question("Expiry?")]})
}

/// CHAT-42 for those without a key: one call for each round, no tools, no conversation kept, nothing left running.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chat_5_rounds_come_from_the_rehearsal() {
    let stage = Stage::rehearsal(Scenario::new("rounds").replies_with(good()).replies_with(second()));
    let planner = stage.planner();
    let first = planner.next(brief(1, &[])).await.unwrap();
    assert_eq!(texts(&first), ["Which library?"]);
    assert_eq!(first.goal.as_deref(), Some("jwt-auth"));
    assert_eq!((first.usage.input, first.usage.output, first.usage.cost_micros), (1000, 50, 5000));
    let answered = [("Which library?", "B"), ("Expiry?", "one hour")];
    assert_eq!(texts(&planner.next(brief(2, &answered[..1])).await.unwrap()), ["Expiry?"]);
    assert!(planner.next(brief(3, &answered)).await.unwrap().done);
    let records = stage.records();
    assert_eq!(records.len(), 3);
    let (argv, told) = &records[1];
    let told: Value = serde_json::from_str(told).unwrap();
    assert_eq!(told["message"]["content"], brief(2, &answered[..1]).prompt());
    let after = |flag: &str| argv.iter().skip_while(|word| *word != flag).nth(1).map(String::as_str);
    assert_eq!(after("--tools"), Some(""));
    assert_eq!(after("--input-format"), Some("stream-json"));
    assert_eq!(after("--model"), Some("haiku"));
    assert_eq!(after("--system-prompt"), Some(Brief::INSTRUCTIONS));
    assert_eq!(after("--json-schema"), Some(&*brief(2, &[]).schema().to_string()));
    assert!(argv.contains(&"--no-session-persistence".to_owned()));
    assert_eq!(files(&stage.folder.path().join("home")), Vec::<PathBuf>::new(), "no conversation is kept");
    assert_eq!(stage.processes(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chat_43_prose_from_the_rehearsal_is_asked_for_once_more() {
    let prose = || json!("Which library would you like?");
    let stage = Stage::rehearsal(Scenario::new("prose").replies_with(prose()).replies_with(good()));
    let batch = stage.planner().next(brief(1, &[])).await.unwrap();
    assert_eq!(texts(&batch), ["Which library?"]);
    assert_eq!(batch.usage.input, 2000, "both are paid");
    assert!(
        stage.records()[1].1.contains("Your last reply could not be used: there is no JSON object in it")
    );
    let stage = Stage::rehearsal(Scenario::new("prose").replies_with(prose()).replies_with(prose()));
    let outcome = stage.planner().next(brief(1, &[])).await;
    assert!(matches!(outcome, Err(PlannerError::Senseless(_))), "{outcome:?}");
    assert_eq!(stage.records().len(), 2);
}

/// A scenario that says nothing about rounds has nothing to ask.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rehearsal_without_rounds_is_done_at_once() {
    let stage = Stage::rehearsal(Scenario::new("none"));
    assert!(stage.planner().next(brief(1, &[])).await.unwrap().done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chat_5_rounds_come_from_the_real_cli() {
    let say =
        |reply: Value| Script::default().say(Response::default().tool("toolu_1", "StructuredOutput", reply));
    let Some(stage) = Stage::claude(say(second())) else { return };
    let secret = stage.folder.path().join("secret.txt");
    fs::write(&secret, "squeamish ossifrage").unwrap();
    let answer = format!("see @{} for that", secret.display());
    let batch = stage.planner().next(brief(2, &[("Which library?", &answer)])).await.unwrap();
    assert_eq!(texts(&batch), ["Expiry?"]);
    assert_eq!((batch.usage.input, batch.usage.output), (1000, 50));
    let seen = stage.model.as_ref().unwrap().seen();
    assert_eq!(seen.len(), 1, "one call to the model for a whole round");
    let tools: Vec<_> =
        seen[0]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"StructuredOutput"), "{tools:?}");
    assert!(!tools.iter().any(|tool| ["Bash", "Read", "Write", "Edit"].contains(tool)), "{tools:?}");
    assert!(seen[0]["model"].as_str().unwrap().contains("haiku"), "{}", seen[0]["model"]);
    let all = seen[0].to_string();
    assert!(all.contains("You prepare a task for a coding agent") && all.contains("Task: add JWT auth"));
    assert!(
        all.contains(&answer) && !all.contains("squeamish"),
        "a file that is mentioned is not read: {all}"
    );
    let kept = files(&stage.folder.path().join("home/.claude/projects"));
    assert_eq!(kept, Vec::<PathBuf>::new(), "no conversation is kept");
    assert_eq!(stage.processes(), []);
}

/// The CLI itself insists a few times; what it gives up on is asked for once more and then told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chat_43_what_makes_no_sense_to_the_real_cli_is_told() {
    let wrong =
        |n: u32| Response::default().tool(&format!("toolu_{n}"), "StructuredOutput", json!({"dne": n}));
    let stubborn = (1..=12).fold(Script::default(), |script, n| script.say(wrong(n)));
    let chatty = Script::default()
        .say(Response::default().text("Which library?"))
        .say(Response::default().text("I said: which library?"));
    for (script, says) in
        [(stubborn, "must have required property"), (chatty, "there is no JSON object in it")]
    {
        let Some(stage) = Stage::claude(script) else { return };
        match stage.planner().next(brief(1, &[])).await {
            Err(PlannerError::Senseless(words)) => assert!(words.contains(says), "{words}"),
            other => panic!("{other:?}"),
        }
        assert!(stage.model.as_ref().unwrap().told().join("").contains("Your last reply could not be used:"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_fails_is_told_in_its_words() {
    for (script, says) in [
        (
            "echo 'error: unknown option --json-schema' >&2; exit 1",
            "sh ended without a reply: error: unknown option --json-schema",
        ),
        ("exit 0", "sh ended without a reply"),
        ("echo hello; echo '[]'", "sh ended without a reply"),
        (
            r#"echo '{"type":"result","is_error":true,"subtype":"success","result":"Not logged in · Please run /login"}'; exit 1"#,
            "Not logged in · Please run /login",
        ),
        (r#"echo '{"type":"result","subtype":"error_during_execution","errors":["it broke"]}'"#, "it broke"),
    ] {
        let stage = Stage::of("/bin/sh", &["-c", script]);
        match stage.planner().next(brief(1, &[])).await {
            Err(PlannerError::Unreachable(words)) => assert!(words.contains(says), "{words}"),
            other => panic!("{other:?}"),
        }
    }
    let stage = Stage::of("/nowhere/claude", &[]);
    let words = stage.planner().next(brief(1, &[])).await.unwrap_err().to_string();
    assert!(
        words.starts_with("no questions from the agent: cannot start /nowhere/claude: No such file"),
        "{words}"
    );
    let stage = Stage::of("/bin/sh", &["-c", "exit 0"]);
    fs::remove_dir(stage.app()).unwrap();
    let words = stage.planner().next(brief(1, &[])).await.unwrap_err().to_string();
    assert!(words.contains("app: No such file"), "{words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_hangs_is_ended_with_everything_it_started() {
    let mut stage = Stage::of("/bin/sh", &["-c", "sleep 1000 & sleep 1000"]);
    stage.timeout = Duration::from_millis(300);
    let words = stage.planner().next(brief(1, &[])).await.unwrap_err().to_string();
    assert_eq!(words, "no questions from the agent: /bin/sh did not answer within 300ms");
    assert_eq!(stage.processes(), []);
}

/// Dropping the request ends the program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letting_go_ends_the_program() {
    let stage = Stage::of("/bin/sh", &["-c", "sleep 1000 & echo > started; sleep 1000"]);
    let asking = tokio::spawn(stage.planner().next(brief(1, &[])));
    tokio::task::block_in_place(|| {
        wait_for("the program", || stage.app().join("started").exists().then_some(()))
    });
    assert_ne!(stage.processes(), []);
    asking.abort();
    tokio::task::block_in_place(|| wait_for("its end", || stage.processes().is_empty().then_some(())));
}
