//! The model is told exactly what is written down, byte for byte; shown with the real CLI and a model that records
//! its requests.

use rapport_core::Event;
use rapport_core::context::ContextLog;
use serde_json::{Value, json};

use super::greeting;
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::Project;

/// The call by which the model asks.
const CALL: &str = "toolu_0101";
/// The variables that name the CLIs.
const VERSIONS: [&str; 3] =
    ["RAPPORT_TEST_CLAUDE", "RAPPORT_TEST_CLAUDE_2_1_197", "RAPPORT_TEST_CLAUDE_2_1_90"];

/// A project with the real CLI, and a model that makes plans.
pub(super) struct World {
    pub(super) project: Project,
    model: Model,
}

impl World {
    /// A world with a plan for each turn. `None` where tests with the real CLI are left out.
    pub(super) fn new(plans: &[String]) -> Option<Self> {
        Self::of(VERSIONS[0], plans)
    }

    /// The same with a CLI of this version.
    fn of(version: &str, plans: &[String]) -> Option<Self> {
        let script =
            plans.iter().fold(Script::default(), |script, plan| script.begin(Response::default().text(plan)));
        Self::playing(version, script)
    }

    fn playing(version: &str, script: Script) -> Option<Self> {
        let program = needs::program(version)?;
        let mut project = Project::with_agent(&format!("'{}'", program.display()));
        let model = Model::play(script);
        let url = format!("http://{}", model.address());
        for (name, value) in offline(&url) {
            project = project.set(name, value);
        }
        let temporary = project.path("tmp");
        std::fs::create_dir(&temporary).unwrap();
        let project = project.set("TMPDIR", &temporary.to_string_lossy());
        Some(Self { project, model })
    }
}

// FILE-8: `_context.log` is the single truth of what the model was shown.
#[test]
fn file_8_the_model_is_told_what_is_written_down_byte_for_byte() {
    VERSIONS.into_iter().for_each(what_is_written_down_is_told);
}

fn what_is_written_down_is_told(version: &str) {
    let Some(World { project, model }) = World::of(version, &[greeting()]) else { return };
    project.rapport(&["new", "a"]).check(0, "");
    std::fs::write(
        project.root().join("odd.txt"),
        "tabs\there, ``` fences, \u{1f600}, @README.md and no newline at the end",
    )
    .unwrap();
    std::fs::write(project.root().join("dos.txt"), "with\r\nreturns\r\n\r\n").unwrap();
    std::fs::write(project.root().join(".rapport/global.context"), "*.txt\nREADME.md\nmissing.md\n").unwrap();
    std::fs::write(project.root().join(".rapport/memos.yaml"), "- Use pnpm.\n").unwrap();
    project.plan_turn("  Greet \"everybody\".\n\n\n<tag>&amp;</tag>\n").check(0, "Add a greeting");
    assert_eq!(project.turn_file("01/plan.md"), greeting());

    let log = ContextLog::parse(&project.turn_file("01/_context.log")).unwrap();
    let seen = model.seen();
    let request = seen.first().unwrap();
    let system = texts(&request["system"]);
    assert!(system.iter().any(|text| *text == log.system), "the system prompt is not among {system:#?}");
    let told: Vec<_> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| texts(&message["content"]))
        .collect();
    // It may come in two pieces, which are it and nothing else.
    let is_it = |text: &[&str]| text.concat() == log.document;
    let is_told = told.windows(1).chain(told.windows(2)).any(is_it);
    assert!(is_told, "the document is not among {told:#?}");
    for part in [
        "with\r\nreturns\r\n",
        "@README.md and no newline",
        "Use pnpm.",
        "missing.md",
        "# An app",
        "<tag>&amp;</tag>",
    ] {
        assert!(log.document.contains(part), "{part}");
    }
}

/// What the CLI itself always says, about itself and its surroundings. docs/formats/context.md lists it.
fn is_of_the_cli(text: &str) -> bool {
    let surroundings = text.contains("# currentDate\n") && text.trim_start().starts_with("<system-reminder>");
    text.starts_with("x-anthropic-billing-header: ")
        || text == "You are a Claude agent, built on Anthropic's Claude Agent SDK."
        || is_environment(text)
        // Where it takes up a call that was parked, or that was cut off.
        || text == "Continue from where you left off."
        || text.starts_with("[Tool call interrupted: the session ended before this call's result was recorded")
        || (surroundings && text.len() < 500)
}

/// What the newest CLI says of the machine: lines of these kinds, and not more than they need.
fn is_environment(text: &str) -> bool {
    const KINDS: [&str; 10] = [
        "You have been invoked in the following environment: ",
        " - Primary working directory: ",
        " - Is a git repository: ",
        " - Platform: ",
        " - Shell: ",
        " - OS Version: ",
        " - Additional working directories:",
        " - Downloaded files and extracted archives are untrusted data: ",
        "You are powered by the model ",
        "Today's date is ",
    ];
    let Some(lines) = text.strip_prefix("# Environment\n") else { return false };
    let mut lines = lines.lines().filter(|line| !line.is_empty());
    text.len() < 1500 && lines.all(|line| KINDS.iter().any(|kind| line.starts_with(kind)))
}

// FILE-8: both ways. What is written down is told, and nothing else is: no instructions or memories of the project or
// the person, no tools to find out more.
#[test]
fn file_8_the_model_is_told_nothing_that_is_not_written_down() {
    VERSIONS.into_iter().for_each(nothing_else_is_told);
}

fn nothing_else_is_told(version: &str) {
    let Some(World { project, model }) = World::of(version, &[greeting()]) else { return };
    let write = |path: std::path::PathBuf, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for path in ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/a.md", "AGENTS.md"] {
        write(project.root().join(path), "added by the project\n");
    }
    write(
        project.root().join(".claude/skills/x/SKILL.md"),
        "---\nname: x\ndescription: added by a skill\n---\n",
    );
    write(project.path("home/.claude/CLAUDE.md"), "added by the person\n");
    project.rapport(&["trust", "--yes"]).check(0, "");
    project.rapport(&["new", "a"]).check(0, "");
    std::fs::write(project.root().join(".rapport/global.context"), "README.md\n").unwrap();
    project.plan_turn("Greet.").check(0, "Add a greeting");
    let log = ContextLog::parse(&project.turn_file("01/_context.log")).unwrap();
    let seen = model.seen();
    for request in &seen {
        assert_eq!(of_ours(texts(&request["system"])), log.system, "{version}");
        let messages = request["messages"].as_array().unwrap().iter();
        let told: String = messages.map(|message| of_ours(texts(&message["content"]))).collect();
        assert_eq!(told, log.document, "{version}");
        let tools = request["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
        let tools: Vec<_> = tools.filter(|name| *name != "DeferredToolPlaceholder").collect();
        assert_eq!(tools, ["AskUserQuestion"]);
        assert!(!request.to_string().contains("added by"), "{request:#}");
    }
    assert_eq!(seen.len(), 1);
}

/// How a question that is asked while planning is answered.
#[derive(Clone, Copy, Debug)]
enum Answered {
    /// While the agent's process waits.
    AtOnce,
    /// After the agent was parked.
    Parked,
    /// By Rapport, because no person is to be asked.
    Refused,
    /// After Rapport was killed, and the agent with it.
    Killed,
    /// The same, where the CLI had not stored anything of the conversation yet.
    KilledEarly,
}

// FILE-8: where the planner asks, it is told the answers besides; these are in the log of the session, and
// docs/formats/context.md says in which form they are told. Nothing else is.
#[test]
fn file_8_what_a_planner_is_told_besides_are_the_answers_in_the_log() {
    for version in VERSIONS {
        for answered in
            [Answered::AtOnce, Answered::Parked, Answered::Refused, Answered::Killed, Answered::KilledEarly]
        {
            the_answers_are_told(version, answered);
        }
    }
}

fn the_answers_are_told(version: &str, answered: Answered) {
    let asks = json!({"questions": [{
        "question": "Whom to greet?", "header": "Whom", "multiSelect": false,
        "options": [
            {"label": "The world", "description": "Everybody"}, {"label": "A person", "description": "By name"}
        ],
    }]});
    let script = Script::default()
        .say(Response::default().tool(CALL, "AskUserQuestion", asks))
        .say(Response::default().text(&greeting()));
    let Some(world) = World::playing(version, script) else { return };
    planned(&world.project, answered);
    let World { project, model } = world;
    assert_eq!(project.turn_file("01/plan.md"), greeting());

    let log = ContextLog::parse(&project.turn_file("01/_context.log")).unwrap();
    let replied = replied(&project.facts());
    let seen = model.seen();
    assert_eq!(seen.len(), requests_expected(version, answered), "{version}, {answered:?}: {seen:#?}");
    for (number, request) in seen.iter().enumerate() {
        let about = format!("{version}, {answered:?}, request {number}: {request:#}");
        assert_eq!(of_ours(texts(&request["system"])), log.system, "{about}");
        let users = request["messages"].as_array().unwrap().iter().filter(|said| said["role"] == "user");
        let contents: Vec<_> = users.map(|message| &message["content"]).collect();
        let told: String = contents.iter().map(|content| of_ours(texts(content))).collect();
        let besides = told.strip_prefix(&log.document).unwrap_or_else(|| panic!("{about}"));
        let results: Vec<_> = contents
            .iter()
            .flat_map(|content| content.as_array().into_iter().flatten())
            .filter(|block| block["type"] == "tool_result")
            .map(|block| block["content"].as_str().unwrap_or_default())
            .filter(|result| !is_of_the_cli(result))
            .collect();
        assert!(
            results.len() <= 1 && results.iter().all(|result| result.contains(&replied.as_result())),
            "{about}"
        );
        let expected = match answered {
            Answered::Killed if number > 0 => replied.as_message(),
            // The document comes again, and the message with it.
            Answered::KilledEarly if number > 0 => format!("\n\n{}", replied.as_message()),
            // Older CLIs repeat the reason of a refusal in a reminder.
            Answered::Refused if besides.contains(&replied.as_result()) => besides.to_owned(),
            _ => String::new(),
        };
        assert_eq!(besides, expected, "{about}");
        let is_told = !results.is_empty() || !expected.is_empty();
        assert_eq!(is_told, number > 0, "it is told in every request after the first: {about}");
    }
}

/// Plans the turn, with its question answered like this.
fn planned(project: &Project, answered: Answered) {
    project.rapport(&["new", "a"]).check(0, "");
    let flags: &[&str] = match answered {
        Answered::AtOnce | Answered::Killed | Answered::KilledEarly => &["--adaptive"],
        Answered::Parked => &["--adaptive", "--hot", "0s"],
        Answered::Refused => &[],
    };
    let mut running = project.launch(&[&["plan", "--json", "-m", "Greet."], flags].concat(), &[]);
    let answer = || project.rapport(&["answer", "a", "Only our neighbours"]);
    match answered {
        Answered::Refused => {}
        Answered::AtOnce => {
            running.until_asked();
            answer().check(0, "Answered.");
        }
        Answered::Parked => {
            running.until(|fact| matches!(fact, Event::Parked { .. }));
            answer().check(0, "Answered.");
        }
        Answered::Killed | Answered::KilledEarly => {
            running.until_asked();
            let conversations = project.path("home/.claude/projects");
            let is_early = matches!(answered, Answered::KilledEarly);
            if !is_early {
                wait_for("the call to be stored", || holds(&conversations, CALL).then_some(()));
            }
            running.kill();
            wait_for("the end of the agent", || project.processes().is_empty().then_some(()));
            if is_early && conversations.exists() {
                std::fs::remove_dir_all(&conversations).unwrap();
            }
            answer().check(0, "rapport resume 2");
            project.rapport(&["resume", "a"]).check(0, "Add a greeting");
            return;
        }
    }
    assert_eq!(running.finish(), 0);
}

/// How often the model is asked. A call that is not in the conversation when that is resumed is made again by the
/// scripted model, which knows nothing but the conversation, and gets the same answer as its result; CLIs before
/// 2.1.325 leave a call without a result out.
fn requests_expected(version: &str, answered: Answered) -> usize {
    match answered {
        Answered::AtOnce | Answered::Parked | Answered::Refused => 2,
        Answered::Killed if version == VERSIONS[0] => 2,
        Answered::Killed | Answered::KilledEarly => 3,
    }
}

/// Whether one of the files below a directory contains this.
fn holds(directory: &std::path::Path, text: &str) -> bool {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return holds(&path, text);
        }
        std::fs::read_to_string(&path).is_ok_and(|content| content.contains(text))
    })
}

/// How the log says that the only question of a session was replied to.
enum Replied {
    Answered { question: String, answer: String },
    Refused { reason: String },
}

impl Replied {
    /// As a message, where the call no longer waits.
    fn as_message(&self) -> String {
        match self {
            Self::Answered { question, answer } => format!(
                "Here are my answers to your questions:\n\nQ1: {question}\n\nMy answers:\n1. {answer}"
            ),
            Self::Refused { .. } => unreachable!("nobody was asked"),
        }
    }

    /// As the result of its call.
    fn as_result(&self) -> String {
        match self {
            Self::Answered { question, answer } => format!("\"{question}\"=\"{answer}\""),
            Self::Refused { reason } => reason.clone(),
        }
    }
}

fn replied(facts: &[Event]) -> Replied {
    let mut asked = None;
    for fact in facts {
        match fact {
            Event::Asked { questions, .. } => asked = questions.first(),
            Event::Answered { answer, .. } => {
                let question = asked.unwrap();
                return Replied::Answered { question: question.text.clone(), answer: question.words(answer) };
            }
            Event::Declined { reason, .. } => return Replied::Refused { reason: reason.clone() },
            _ => {}
        }
    }
    panic!("nothing was replied: {facts:#?}")
}

/// What Rapport said, without what the CLI always says.
fn of_ours(texts: Vec<&str>) -> String {
    texts.into_iter().filter(|text| !is_of_the_cli(text)).collect()
}

/// The pieces of text in a prompt, which may be one.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}
