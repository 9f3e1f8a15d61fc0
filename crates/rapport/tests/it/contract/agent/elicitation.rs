//! Questions of an MCP server that the agent uses: they are questions like any other, held until a person replies.
//! Run with the real CLI and a real server over stdio; the scripted agent has no servers.

use std::path::{Path, PathBuf};

use rapport::agents::{Command, Patience};
use rapport_core::{
    ACCEPT, AgentDid, Ask, CallId, CallReply, Consent, Event, FieldKind, Leave, NewQuestion, Purpose,
    Question,
};
use serde_json::{Map, Value, json};

use super::actor::{Actor, Stage};
use super::asking::finished;
use super::{on_every_agent, on_every_version};
use crate::support::driven::Driven;
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::Project;

/// The tool of the server.
const TOOL: &str = "mcp__desk__ask_person";

on_every_version! {
    a_form_is_filled_in [Servers]
    declined_and_cancelled_are_told_apart [Servers]
    it_is_held_and_never_parked [Servers]
}

async fn a_form_is_filled_in(actor: Actor) {
    let stage = set(&actor, &form());
    let mut run = stage.start();
    let (call, drafts, parkable) = asked(&mut run).await;
    assert!(!parkable);
    let of = |key: &str| {
        let is_it = |draft: &&NewQuestion| {
            draft.field.as_ref().is_some_and(|field| field.key.as_deref() == Some(key))
        };
        drafts.iter().find(is_it).unwrap_or_else(|| panic!("{key} is not asked: {drafts:#?}"))
    };
    let kind = |key: &str| of(key).field.as_ref().map(|field| field.kind.clone()).unwrap();
    assert!(matches!(kind("name"), FieldKind::Text { shortest: Some(2), longest: None, .. }));
    assert!(matches!(kind("count"), FieldKind::Number { whole: true, least: Some(_), most: Some(_) }));
    assert_eq!((kind("ok"), kind("colour")), (FieldKind::Flag, FieldKind::One));
    assert_eq!(kind("many"), FieldKind::Several { fewest: Some(1), most: None });
    assert_eq!(of("name").text, "desk asks: Where should it go?\nName: Whose it is (at least 2 characters)");
    assert_eq!(of("colour").options[1].label, "Green");
    assert!(!offers(of("name"), "Leave it out") && offers(of("count"), "Leave it out"));
    let content = json!({"name": "Ada", "count": 3, "ok": true, "colour": "green", "many": ["a", "c"]});
    reply(&run, &call, Consent::Accept, &content);
    let (did, leave) = run.rest().await;
    assert_eq!((did.contains(&AgentDid::Take { call }), leave), (true, finished("Done.")));
    assert_eq!(told(&stage), json!({"action": "accept", "content": content}));
}

const PAGE: &str = "https://example.org/pay?order=7";

fn page() -> Value {
    json!({"mode": "url", "message": "Please pay.", "url": PAGE, "elicitationId": "e1"})
}

/// In url mode the person is sent to a page, and says whether they went there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_visited() {
    let Some(actor) = Actor::claude() else { return };
    for action in [Consent::Accept, Consent::Decline] {
        let stage = set(&actor, &page());
        let mut run = stage.start();
        let (call, drafts, _) = asked(&mut run).await;
        assert_eq!(drafts.len(), 1, "{drafts:?}");
        assert_eq!(drafts[0].text, format!("desk asks: Please pay.\n{PAGE}"));
        reply(&run, &call, action, &json!({}));
        assert_eq!(run.leave().await, finished("Done."));
        assert_eq!(told(&stage)["action"], action.as_str());
    }
}

/// Older CLIs do not know that mode. They tell the server so, which is not an answer of the person.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_refused_by_older_versions() {
    for variable in ["RAPPORT_TEST_CLAUDE_2_1_197", "RAPPORT_TEST_CLAUDE_2_1_90"] {
        let Some(actor) = Actor::named(variable) else { return };
        let stage = set(&actor, &page());
        assert_eq!(stage.start().leave().await, finished("Done."));
        let told = told(&stage);
        assert_eq!((&told["action"], told["code"].is_number()), (&Value::Null, true), "{variable}: {told}");
    }
}

async fn declined_and_cancelled_are_told_apart(actor: Actor) {
    for action in [Consent::Decline, Consent::Cancel] {
        let stage = set(
            &actor,
            &json!({"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}),
        );
        let mut run = stage.start();
        let (call, drafts, _) = asked(&mut run).await;
        assert_eq!((drafts.len(), drafts[0].options[0].value.as_str()), (1, ACCEPT));
        reply(&run, &call, action, &json!({}));
        assert_eq!(run.leave().await, finished("Done."));
        assert_eq!(told(&stage)["action"], action.as_str());
    }
}

async fn it_is_held_and_never_parked(actor: Actor) {
    let stage = set(&actor, &form());
    let mut run = stage.start();
    let (call, ..) = asked(&mut run).await;
    let requests = stage.model.as_ref().unwrap().seen().len();
    // What an impatient engine would do; the call stays where it is.
    run.send(Command::Park { call: call.clone(), patience: Patience::Wait });
    reply(&run, &call, Consent::Accept, &json!({"name": "Ada", "ok": false}));
    assert_eq!(run.leave().await, finished("Done."));
    assert_eq!(stage.model.as_ref().unwrap().seen().len(), requests + 1, "the model heard nothing before");
    assert_eq!(told(&stage)["content"]["ok"], false);

    let stage = set(&actor, &form());
    let mut run = stage.start();
    asked(&mut run).await;
    run.send(Command::Stop);
    assert_eq!(run.leave().await, Leave::Stopped);
    stage.assert_nothing_runs();
    assert_eq!(stage.model.as_ref().unwrap().seen().len(), 1, "nothing goes on without the answer");
}

/// The whole program: a server asks in the middle of work, the answers come by `rapport answer`, one of them after a
/// refusal, and the server is told.
#[test]
fn a_form_is_filled_in_from_the_command_line() {
    filled_in_from_the_command_line("local");
}

/// WORK-1: the same where the agent and its server are behind walls.
#[test]
fn in_a_sandbox_a_form_is_filled_in_from_the_command_line() {
    if needs::sandbox() {
        filled_in_from_the_command_line("sandbox");
    }
}

/// WORK-1: the same in a container.
#[test]
fn in_a_container_a_form_is_filled_in_from_the_command_line() {
    if needs::engine().is_some() {
        filled_in_from_the_command_line("container");
    }
}

fn filled_in_from_the_command_line(worker: &str) {
    let filled = json!({"name": "Ada", "count": 3, "ok": true, "colour": "green", "many": ["a", "c"]});
    let whole: [(&str, &[&str]); 5] = [
        ("name", &["Ada"]),
        ("count", &["3"]),
        ("ok", &["Yes"]),
        ("colour", &["Green"]),
        ("many", &["a", "c"]),
    ];
    let told = json!({"action": "accept", "content": filled});
    for (answers, told) in [(&whole[..], told), (&[("name", &["Decline"][..])], json!({"action": "decline"}))]
    {
        let Some(Actor::Claude(program)) = Actor::claude() else { return };
        let call = Response::default().tool("toolu_1", TOOL, json!({"params": form()}));
        let (project, model) = project_with_desk(&program, worker, [call]);
        let mut run = project.start(&["fill in"], &[]);
        run.until_asked();
        project.rapport(&["answer", "fill-in", "confirm"]).check(0, "Answered.");
        let Event::Asked { questions, .. } = run.until_asked() else { unreachable!() };
        let id_of = |key: &str| id_of(&questions, key);
        project.rapport(&["status", "fill-in"]).check(0, "desk asks: Where should it go?");
        let name = id_of("name");
        project.rapport(&["answer", "fill-in", "--question", &name, "A"]).check(3, "at least 2 characters");
        for (key, values) in answers {
            let id = id_of(key);
            let args = [&["answer", "fill-in", "--question", &id], *values].concat();
            project.rapport(&args).check(0, "Answered.");
        }
        assert_eq!(run.finish(), 0);
        let (result, is_error) = model.tool_result("toolu_1").unwrap();
        assert!(!is_error, "{result}");
        assert_eq!(serde_json::from_str::<Value>(&result).unwrap(), told);
        project.rapport(&["status", "--json", "fill-in"]).check(0, "\"Done.\"");
    }
}

/// Nothing of a form is lost when its host is killed: a later answer is for the server, which asks again when the
/// agent calls it again. No person is asked twice. With a CLI that forgets the call that was cut off, the scripted
/// model makes the same call again; with one that remembers it, the model makes its next call.
fn killed_with_a_form_open(actor: Option<Actor>, calls: &[&str]) {
    let Some(Actor::Claude(program)) = actor else { return };
    let call = |id: &&str| Response::default().tool(id, TOOL, json!({"params": form()}));
    let (project, model) = project_with_desk(&program, "local", calls.iter().map(call));
    let mut run = project.start(&["fill in"], &[]);
    run.until_asked();
    project.rapport(&["answer", "fill-in", "confirm"]).check(0, "Answered.");
    let Event::Asked { questions, .. } = run.until_asked() else { unreachable!() };
    // The CLI writes the call into its transcript a moment after it made it, and what it remembers depends on that.
    wait_for("the call in the transcript", || {
        let transcripts = project.transcripts_below("home/.claude/projects");
        transcripts.iter().flatten().any(|line| line.to_string().contains(r#""id":"toolu_1""#)).then_some(())
    });
    run.kill();
    let answers: [(&str, &[&str]); 5] = [
        ("name", &["Ada"]),
        ("count", &["Leave it out"]),
        ("ok", &["Yes"]),
        ("colour", &["Green"]),
        ("many", &["a", "c"]),
    ];
    for (key, values) in answers {
        let id = id_of(&questions, key);
        project.rapport(&[&["answer", "fill-in", "--question", &id], values].concat()).check(0, "Answered.");
    }
    let session = project.session();
    let run = project.start(&["--resume", session.as_str()], &[]);
    assert_eq!(run.finish(), 0);
    let (result, is_error) = model.tool_result(calls.last().unwrap()).unwrap();
    assert!(!is_error, "{result}");
    let filled = json!({"name": "Ada", "ok": true, "colour": "green", "many": ["a", "c"]});
    assert_eq!(
        serde_json::from_str::<Value>(&result).unwrap(),
        json!({"action": "accept", "content": filled})
    );
    let is_of_desk = |question: &Question| matches!(question.purpose, Purpose::Elicit(_));
    let asks =
        |fact: &&Event| matches!(fact, Event::Asked { questions, .. } if questions.iter().any(is_of_desk));
    assert_eq!(project.facts().iter().filter(asks).count(), 1, "nobody is asked twice");
    // A model that does not know of the reply would have no reason to call again. The values are for the server alone.
    let resumed =
        model.seen().into_iter().find(|request| request.to_string().contains("Call the tool again"));
    let resumed = resumed.expect("the model is told to call again").to_string();
    assert!(!resumed.contains("Ada"), "{resumed}");
}

#[test]
fn a_form_outlives_its_host() {
    killed_with_a_form_open(Actor::claude(), &["toolu_1", "toolu_2"]);
}

#[test]
fn a_form_outlives_its_host_on_2_1_197() {
    killed_with_a_form_open(Actor::named("RAPPORT_TEST_CLAUDE_2_1_197"), &["toolu_1"]);
}

#[test]
fn a_form_outlives_its_host_on_2_1_90() {
    killed_with_a_form_open(Actor::named("RAPPORT_TEST_CLAUDE_2_1_90"), &["toolu_1"]);
}

/// A project whose agent has the server at hand, with a model that plans, says this, and is done.
fn project_with_desk(
    program: &Path,
    worker: &str,
    says: impl IntoIterator<Item = Response>,
) -> (Project, Model) {
    let project = Project::with_agent("").working_in(worker);
    let servers = project.path("servers.json");
    std::fs::copy(server(), project.root().join("elicits.mjs")).unwrap();
    std::fs::write(&servers, desk_of(Path::new("elicits.mjs")).to_string()).unwrap();
    let command =
        format!("'{}' --allowedTools {TOOL} --mcp-config '{}'", program.display(), servers.display());
    let text = |text: &str| Response::default().text(text);
    let script = says.into_iter().fold(Script::default().say(text("A plan.")), Script::say);
    let model = Model::play(script.say(text("Done.")));
    let url = format!("http://{}", model.address());
    let project = project.set("RAPPORT_AGENT_COMMAND", &command);
    let project = offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value));
    (project, model)
}

/// The id of the question about this field.
fn id_of(questions: &[Question], key: &str) -> String {
    let is_it = |question: &&Question| matches!(&question.purpose, Purpose::Elicit(field) if field.key.as_deref() == Some(key));
    questions.iter().find(is_it).unwrap_or_else(|| panic!("{questions:#?}")).id.to_string()
}

fn form() -> Value {
    json!({"message": "Where should it go?", "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "Whose it is", "minLength": 2},
            "count": {"type": "integer", "minimum": 1, "maximum": 5},
            "ok": {"type": "boolean"},
            "colour": {"type": "string", "enum": ["red", "green"], "enumNames": ["Red", "Green"]},
            "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 1},
        },
        "required": ["name", "ok"],
    }})
}

/// A stage on which the agent uses a server that asks this.
fn set(actor: &Actor, asks: &Value) -> Stage {
    let call = Response::default().tool("toolu_1", TOOL, json!({"params": asks}));
    with_server(actor, Script::default().say(call).say(Response::default().text("Done.")))
}

/// A stage on which a model plays this and has the server at hand.
pub(super) fn with_server(actor: &Actor, script: Script) -> Stage {
    let Actor::Claude(program) = actor else { panic!("the scripted agent has no servers") };
    let folder = tempfile::tempdir().unwrap();
    for name in ["home", "app", "tmp"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("servers.json"), desk().to_string()).unwrap();
    let mut stage = Stage::new(folder, program).with_model(Model::play(script));
    stage.cli_mut().extra_args =
        vec!["--allowedTools".into(), TOOL.into(), "--mcp-config".into(), stage.path("servers.json").into()];
    stage
}

/// The server, as the CLI is told of it.
fn desk() -> Value {
    desk_of(&server())
}

fn desk_of(server: &Path) -> Value {
    json!({"mcpServers": {"desk": {"command": "node", "args": [server]}}})
}

fn server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/contract/agent/server/elicits.mjs")
}

async fn asked(run: &mut Driven) -> (CallId, Vec<NewQuestion>, bool) {
    match run.asked().await {
        (call, Ask::Questions(drafts), parkable) => (call, drafts, parkable),
        (_, other, _) => panic!("{other:?}"),
    }
}

fn reply(run: &Driven, call: &CallId, action: Consent, content: &Value) {
    let content: Map<String, Value> = content.as_object().unwrap().clone();
    run.reply(call.as_str(), CallReply::Elicited { questions: Vec::new(), action, content });
}

/// What the server was told, as it told the model.
fn told(stage: &Stage) -> Value {
    let (told, is_error) = stage.tool_result("toolu_1").unwrap();
    assert!(!is_error, "{told}");
    serde_json::from_str(&told).unwrap()
}

fn offers(draft: &NewQuestion, label: &str) -> bool {
    draft.options.iter().any(|option| option.label == label)
}
