//! A question with something else in flight beside it: it is parked only when it waits alone. If a CLI is parked
//! sooner, it continues with the rest, and the model reads that the answer is missing.

use std::fs;
use std::path::Path;

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{
    Bash, Call, EditFile, ExitPlan, OtherTool, Scenario, Step, SubAgent, WriteFile,
};
use rapport::agents::{Command, Patience};
use rapport_core::{AgentDid, Ask, Beside, CallId, CallReply, Consent, Leave, Order, TurnKind};
use serde_json::{Value, json};

use super::actor::{Actor, Stage};
use super::asking::{database, finished, storage};
use super::parking::answered;
use super::{on_every_agent, on_every_version};
use crate::support::driven::{Driven, answers, order, said};
use crate::support::model::{Model, Response, Script};

on_every_version! {
    a_question_before_a_write [Parking]
    a_question_before_a_command [Parking]
    a_question_after_a_write [Parking]
    a_question_before_a_read [Parking]
    a_question_between_reads [Parking]
    two_questions [Parking]
    a_question_beside_a_background_agent [Parking]
    a_question_beside_a_background_command [Parking]
    a_question_beside_a_message_that_was_not_read [Parking]
    a_question_before_a_call_that_needs_a_permission [Parking Permissions]
    a_question_before_a_call_where_none_is_needed [Parking]
    a_question_before_an_edit [Parking]
    a_question_before_leaving_plan_mode [Parking Permissions]
    a_question_before_a_tool_of_a_server [Parking Servers]
    a_question_before_an_agent_that_is_waited_for [Parking SubAgents]
    a_question_within_an_agent [Parking SubAgents]
    a_question_after_a_command [Parking]
    a_question_after_an_edit [Parking]
    a_question_after_a_call_that_needs_a_permission [Parking Permissions]
    a_question_after_leaving_plan_mode [Parking Permissions]
    a_question_after_a_tool_of_a_server [Parking Servers]
    a_question_after_an_agent_that_is_waited_for [Parking SubAgents]
    a_question_beside_searches [Parking SubAgents]
    a_question_beside_a_list_of_todos [Parking SubAgents]
    a_question_beside_an_edit_of_a_notebook [Parking SubAgents]
    a_question_beside_a_page [Parking SubAgents]
    a_background_agent_ends_while_a_question_waits [Parking]
    a_background_command_ends_while_a_question_waits [Parking]
}

/// What the background waits for before it ends.
const WORKS: &str = "until [ -f go ]; do sleep 0.05; done";
/// The same, with a trace of its end.
const ENDS: &str = "until [ -f go ]; do sleep 0.05; done; echo x > ended.txt";
const WRITTEN: &str = "written.txt";

async fn a_question_before_a_write(actor: Actor) {
    stays(&actor, || together(vec![Call::Ask(database()), write()]), Beside::Call).await;
}

async fn a_question_before_a_command(actor: Actor) {
    let command = Bash { command: format!("echo x > {WRITTEN}"), ..Bash::default() };
    stays(&actor, || together(vec![Call::Ask(database()), Call::Bash(command.clone())]), Beside::Call).await;
}

async fn a_question_after_a_write(actor: Actor) {
    goes(&actor, || together(vec![write(), Call::Ask(database())])).await;
}

async fn a_question_before_a_read(actor: Actor) {
    goes(&actor, || together(vec![Call::Ask(database()), read()])).await;
}

async fn a_question_between_reads(actor: Actor) {
    goes(&actor, || together(vec![read(), Call::Ask(database()), read()])).await;
}

/// The permission is asked once the question has its answer.
async fn a_question_before_a_call_that_needs_a_permission(actor: Actor) {
    let command = Bash { command: format!("echo x > {WRITTEN}"), permission: true, ..Bash::default() };
    let calls = || together(vec![Call::Ask(database()), Call::Bash(command.clone())]);
    stays_on(|| actor.with(calls()), order, Beside::Call).await;
}

/// In a mode in which nothing is asked but questions.
async fn a_question_before_a_call_where_none_is_needed(actor: Actor) {
    let command = Bash { command: format!("echo x > {WRITTEN}"), ..Bash::default() };
    let calls = || together(vec![Call::Ask(database()), Call::Bash(command.clone())]);
    let bypassing = || {
        let mut stage = actor.with(calls());
        stage.cli_mut().work_mode = "bypassPermissions".into();
        // Without it, the CLI refuses this mode to root.
        stage.set("IS_SANDBOX", "1");
        stage
    };
    stays_on(bypassing, order, Beside::Call).await;
}

/// The CLI changes no file that the model has not read.
async fn a_question_before_an_edit(actor: Actor) {
    let edit = EditFile {
        path: "read.txt".into(),
        find: "Hello.".into(),
        replace: "Bye.".into(),
        ..EditFile::default()
    };
    let Call::Tool(read) = read() else { unreachable!() };
    let scenario = || {
        Scenario::new("edit")
            .step(Step::Tool(read.clone()))
            .together(vec![Call::Ask(database()), Call::Edit(edit.clone())])
    };
    let stage = || set(&actor, scenario().respond_with_text("Done."));
    stays_on(stage, order, Beside::Call).await;
    let stage = set(&actor, scenario().respond_with_text("Done."));
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    park(&run, &call, Patience::Wait);
    until_kept(&mut run, Beside::Call).await;
    assert_eq!(stage.file("read.txt").as_deref(), Some("Hello.\n"), "nothing is changed before the answer");
    answer_and_finish(&stage, &mut run, &call).await;
    assert_eq!(stage.file("read.txt").as_deref(), Some("Bye.\n"));
}

async fn a_question_before_leaving_plan_mode(actor: Actor) {
    let plan = || Call::ExitPlan(ExitPlan { plan: "# Auth\n\n1. Add JWT".into(), id: None });
    let planning = || Order { kind: TurnKind::Plan, ..order() };
    let stage = || actor.with(together(vec![Call::Ask(database()), plan()]));
    stays_on(stage, planning, Beside::Call).await;
}

async fn a_question_before_a_tool_of_a_server(actor: Actor) {
    let asks =
        json!({"params": {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}});
    let questions = Response::default().tool(
        "toolu_0101a",
        "AskUserQuestion",
        json!({"questions": database().questions}),
    );
    let script = Script::default()
        .say(questions.tool("toolu_0101b", "mcp__desk__ask_person", asks))
        .say(Response::default().text("Done."));
    stays_on(|| super::elicitation::with_server(&actor, script.clone()), order, Beside::Call).await;
}

/// It begins its work only after the answer, or before: either way the question does not wait alone.
async fn a_question_before_an_agent_that_is_waited_for(actor: Actor) {
    let looks = json!({"description": "Looks around", "prompt": "Look into the corner", "subagent_type": "general-purpose"});
    let questions = Response::default().tool(
        "toolu_0101a",
        "AskUserQuestion",
        json!({"questions": database().questions}),
    );
    let script = Script::default()
        .say(questions.tool("toolu_0101b", "Task", looks))
        .say(Response::default().text("Done."));
    let works = json!({"command": WORKS, "description": "Does its part"});
    let does = Script::default()
        .say(Response::default().tool("toolu_does", "Bash", works))
        .say(Response::default().text("My part is done."));
    let script = script.apart("Look into the corner", does);
    let stage = || {
        let mut stage = actor.with(Scenario::new("agent")).with_model(Model::play(script.clone()));
        stage.allow("Bash,Task,Agent");
        stage
    };
    stays_on(stage, order, Beside::Call).await;
}

async fn a_question_after_a_command(actor: Actor) {
    let command = Bash { command: format!("echo x > {WRITTEN}"), ..Bash::default() };
    goes(&actor, || together(vec![Call::Bash(command.clone()), Call::Ask(database())])).await;
}

async fn a_question_after_an_edit(actor: Actor) {
    let edit = EditFile {
        path: "read.txt".into(),
        find: "Hello.".into(),
        replace: "Bye.".into(),
        ..EditFile::default()
    };
    let Call::Tool(read) = read() else { unreachable!() };
    goes(&actor, || {
        Scenario::new("edit")
            .step(Step::Tool(read.clone()))
            .together(vec![Call::Edit(edit.clone()), Call::Ask(database())])
            .respond_with_text("Done.")
    })
    .await;
}

/// Neither of the two is parked while both wait.
async fn a_question_after_a_call_that_needs_a_permission(actor: Actor) {
    let command = Bash { command: format!("echo x > {WRITTEN}"), permission: true, ..Bash::default() };
    let calls = || together(vec![Call::Bash(command.clone()), Call::Ask(database())]);
    goes_after(1, || actor.with(calls()), order).await;
}

async fn a_question_after_leaving_plan_mode(actor: Actor) {
    let plan = || Call::ExitPlan(ExitPlan { plan: "# Auth\n\n1. Add JWT".into(), id: None });
    let planning = || Order { kind: TurnKind::Plan, ..order() };
    goes_after(1, || actor.with(together(vec![plan(), Call::Ask(database())])), planning).await;
}

async fn a_question_after_a_tool_of_a_server(actor: Actor) {
    let asks =
        json!({"params": {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}});
    let script = in_one_message(Script::default(), &[("mcp__desk__ask_person", asks), question()]);
    goes_after(0, || super::elicitation::with_server(&actor, script.clone()), order).await;
}

async fn a_question_after_an_agent_that_is_waited_for(actor: Actor) {
    let looks = json!({"description": "Looks around", "prompt": "Look into the corner", "subagent_type": "general-purpose"});
    let does = Script::default().say(Response::default().text("My part is done."));
    let script = in_one_message(Script::default(), &[("Task", looks), question()]);
    let script = script.apart("Look into the corner", does);
    either_way(|| set(&actor, Scenario::new("agent")).with_model(Model::play(script.clone()))).await;
}

async fn a_question_beside_searches(actor: Actor) {
    beside_a_tool(&actor, "Glob", |_| json!({"pattern": "*.txt"})).await;
    beside_a_tool(&actor, "Grep", |_| json!({"pattern": "Hello"})).await;
}

async fn a_question_beside_a_list_of_todos(actor: Actor) {
    let todo = json!({"content": "Look", "status": "pending", "activeForm": "Looking"});
    beside_a_tool(&actor, "TodoWrite", |_| json!({"todos": [todo.clone()]})).await;
}

async fn a_question_beside_an_edit_of_a_notebook(actor: Actor) {
    let edit =
        |notebook: &Path| json!({"notebook_path": notebook, "cell_id": "one", "new_source": "print(2)"});
    beside_a_tool(&actor, "NotebookEdit", edit).await;
}

/// No server is at this address, which is the result of the call.
async fn a_question_beside_a_page(actor: Actor) {
    beside_a_tool(&actor, "WebFetch", |_| json!({"url": "https://localhost:1/", "prompt": "What is it?"}))
        .await;
}

/// A call of this tool before the question and after it. A notebook was read before.
async fn beside_a_tool(actor: &Actor, tool: &'static str, input: impl Fn(&Path) -> Value) {
    for is_first in [true, false] {
        println!("{tool}, before the question: {is_first}");
        let stage = || {
            let stage = set(actor, Scenario::new("script"));
            let notebook = stage.path("app").join("notes.ipynb");
            fs::write(&notebook, notebook_of_one_cell()).unwrap();
            let other = (tool, input(&notebook));
            let calls = if is_first { [other, question()] } else { [question(), other] };
            let read = Response::default().tool("toolu_read", "Read", json!({"file_path": notebook}));
            stage.with_model(Model::play(in_one_message(Script::default().say(read), &calls)))
        };
        either_way(stage).await;
    }
}

/// A question that is answered at once, and one that is to be parked. Whether the CLI runs the other call together
/// with it is its own business; either way the model hears the answer, and nothing before it.
async fn either_way(set: impl Fn() -> Stage) {
    for is_parked in [false, true] {
        let stage = set();
        let mut run = stage.start_with(order());
        let call = asked_among_others(&mut run, 0).await;
        let heard = own_requests(&stage).len();
        let mut leave = None;
        if is_parked {
            park(&run, &call, Patience::Wait);
            leave = until_kept_or_gone(&mut run).await;
        }
        assert_eq!(heard, own_requests(&stage).len(), "the model heard something before the answer");
        if leave.is_none() {
            run.reply(call.as_str(), answers(&[("Which database?", "SQLite")]));
            leave = Some(rest(&mut run).await.1);
        }
        match leave {
            // While the model spoke, it did not wait alone.
            Some(Leave::Deferred { .. }) if is_parked => resume_and_finish(&stage, &call, order()).await,
            // An agent of its own that ended last makes another turn.
            leave => assert!(matches!(leave, Some(Leave::Finished { .. })), "{leave:?}"),
        }
        assert_told(&stage, &call, "SQLite");
    }
}

fn notebook_of_one_cell() -> String {
    let cell = json!({"cell_type": "code", "id": "one", "metadata": {}, "outputs": [], "source": "print(1)"});
    json!({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string()
}

fn question() -> (&'static str, Value) {
    ("AskUserQuestion", json!({"questions": database().questions}))
}

/// A script that continues with these calls in one message.
fn in_one_message(script: Script, calls: &[(&str, Value)]) -> Script {
    let message = ('a'..).zip(calls).fold(Response::default(), |message, (letter, (tool, input))| {
        message.tool(&format!("toolu_0101{letter}"), tool, input.clone())
    });
    script.say(message).say(Response::default().text("Done."))
}

/// The CLI offers its sub-agents no tool to ask with. If the model calls it nevertheless, it reads that the tool does
/// not exist; no answer is made up.
async fn a_question_within_an_agent(actor: Actor) {
    let looks = json!({"description": "Looks around", "prompt": "Look into the corner", "subagent_type": "general-purpose"});
    let script = Script::default()
        .say(Response::default().tool("toolu_0101", "Task", looks))
        .say(Response::default().text("Done."));
    let asks = Response::default().tool(
        "toolu_inner",
        "AskUserQuestion",
        json!({"questions": database().questions}),
    );
    let script = script.apart(
        "Look into the corner",
        Script::default().say(asks).say(Response::default().text("My part is done.")),
    );
    let mut stage = actor.with(Scenario::new("agent")).with_model(Model::play(script));
    stage.allow("Task,Agent");
    let mut run = stage.start();
    let (did, leave) = run.rest().await;
    assert!(!did.iter().any(|did| matches!(did, AgentDid::Ask { .. })), "{did:?}");
    assert_eq!(leave, finished("Done."));
    let (told, is_error) = stage.tool_result("toolu_inner").unwrap();
    assert!(is_error && told.contains("AskUserQuestion"), "{told}");
}

/// When one of them has its answer, the other waits alone.
async fn two_questions(actor: Actor) {
    let calls = vec![Call::Ask(database()), Call::Ask(storage())];
    let stage = set(&actor, together(calls));
    let mut run = stage.start();
    let (first, ..) = run.asked().await;
    run.asked().await;
    park(&run, &first, Patience::Wait);
    until_kept(&mut run, Beside::Call).await;
    run.reply("toolu_0101b", answers(&[("Which storage?", "Cookie")]));
    assert_eq!(run.leave().await, Leave::Deferred { call: first.clone() });
    let mut run = stage.start_with(answered(&first, "SQLite"));
    assert_eq!(run.leave().await, finished("Done."));
    assert_told(&stage, &first, "SQLite");
    assert_told(&stage, &CallId::new("toolu_0101b"), "Cookie");
}

async fn a_question_beside_a_background_agent(actor: Actor) {
    let agent = SubAgent { prompt: "Look into the corner".into(), command: WORKS.into(), id: None };
    let scenario = || beside(Scenario::new("agent").step(Step::Agent(agent.clone())));
    stays(&actor, scenario, Beside::Agent).await;
}

async fn a_question_beside_a_background_command(actor: Actor) {
    let command = Bash { command: WORKS.into(), background: true, ..Bash::default() };
    let scenario = || beside(Scenario::new("command").step(Step::Bash(command.clone())));
    stays(&actor, scenario, Beside::Command).await;
}

/// It would begin another turn.
async fn a_question_beside_a_message_that_was_not_read(actor: Actor) {
    let stage = set(&actor, beside(Scenario::new("message")));
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    run.send(Command::Say(said(1, "and make it fast")));
    park(&run, &call, Patience::Wait);
    until_kept(&mut run, Beside::Message).await;
    run.reply(call.as_str(), answers(&[("Which database?", "SQLite")]));
    let (did, leave) = run.rest().await;
    assert!(did.contains(&AgentDid::Take { call: call.clone() }), "{did:?}");
    assert!(matches!(leave, Leave::Finished { .. }), "{leave:?}");
    assert_told(&stage, &call, "SQLite");
}

/// Its end waits in a queue of the CLI until the model is told. With the question parked, the CLI would begin another
/// turn for that, so the question is kept.
async fn a_background_agent_ends_while_a_question_waits(actor: Actor) {
    let agent = SubAgent { prompt: "Look into the corner".into(), command: ENDS.into(), id: None };
    ends_while_it_waits(&actor, Step::Agent(agent), Beside::Agent).await;
}

async fn a_background_command_ends_while_a_question_waits(actor: Actor) {
    let command = Bash { command: ENDS.into(), background: true, ..Bash::default() };
    ends_while_it_waits(&actor, Step::Bash(command), Beside::Command).await;
}

async fn ends_while_it_waits(actor: &Actor, step: Step, beside: Beside) {
    let stage = set(actor, self::beside(Scenario::new("ends").step(step)));
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    park(&run, &call, Patience::Wait);
    until_kept(&mut run, beside).await;
    fs::write(stage.path("app").join("go"), "").unwrap();
    super::actor::until("the background to end", || stage.file("ended.txt").is_some()).await;
    // The agent and its keeper remain.
    super::actor::until("its command to be gone", || commands_at_work(&stage) == 0).await;
    let own = own_requests(&stage);
    run.reply(call.as_str(), answers(&[("Which database?", "SQLite")]));
    let (did, leave) = rest(&mut run).await;
    assert_eq!(did.iter().filter(|did| **did == AgentDid::Take { call: call.clone() }).count(), 1, "{did:?}");
    assert!(matches!(leave, Leave::Finished { .. }), "{leave:?}");
    assert_told(&stage, &call, "SQLite");
    if stage.model.is_some() {
        assert_eq!(own.len(), 2, "the call, and the question; nothing before the answer: {own:#?}");
    }
}

/// What the model was asked in the agent's own conversation.
fn own_requests(stage: &Stage) -> Vec<String> {
    let seen = stage.model.iter().flat_map(|model| model.seen());
    let is_own = |request: &Value| !request["messages"][0]["content"].to_string().contains("Look into");
    seen.filter(is_own).map(|request| request["messages"].to_string()).collect()
}

/// The commands that run in the project.
fn commands_at_work(stage: &Stage) -> usize {
    let name = |id: &i32| fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    let is_command = |id: &i32| ["sleep", "sh", "bash"].contains(&name(id).trim());
    stage.processes().iter().filter(|id| is_command(id)).count()
}

/// A question that does not wait alone, with tools that are allowed.
async fn stays(actor: &Actor, scenario: impl Fn() -> ScenarioBuilder, beside: Beside) {
    stays_on(|| set(actor, scenario()), order, beside).await;
}

/// A question that does not wait alone: answered at once, kept and answered then, and cut off with its host.
async fn stays_on(set: impl Fn() -> Stage, order: impl Fn() -> Order, beside: Beside) {
    let stage = set();
    let mut run = stage.start_with(order());
    let (call, ..) = run.asked().await;
    answer_and_finish(&stage, &mut run, &call).await;

    let stage = set();
    let mut run = stage.start_with(order());
    let (call, ..) = run.asked().await;
    park(&run, &call, Patience::Wait);
    let asked = until_kept(&mut run, beside).await;
    assert_eq!(stage.file(WRITTEN), None, "nothing goes on before the answer");
    for call in &asked {
        run.reply(call.as_str(), CallReply::Allow { asked: "May it?".into() });
    }
    answer_and_finish(&stage, &mut run, &call).await;

    let stage = set();
    let mut run = stage.start_with(order());
    let (call, ..) = run.asked().await;
    stage.until_written(call.as_str()).await;
    park(&run, &call, Patience::None);
    assert_eq!(run.leave().await, Leave::Stopped);
    stage.assert_nothing_runs();
    assert_eq!(stage.file(WRITTEN), None, "nothing goes on without the answer");
    fs::write(stage.path("app").join("go"), "").unwrap();
    let mut run = stage.start_with(Order { replies: answered(&call, "SQLite").replies, ..order() });
    let (did, leave) = rest(&mut run).await;
    assert!(did.contains(&AgentDid::Take { call: call.clone() }), "{did:?}");
    assert_eq!(leave, finished("Done."));
    if let Some(model) = &stage.model {
        assert!(model.told().iter().any(|told| told.contains("1. SQLite")), "{:#?}", model.told());
    }
}

/// Everything it does until it is gone. What else it asks on its way is allowed, and a server is refused.
async fn rest(run: &mut Driven) -> (Vec<AgentDid>, Leave) {
    let mut all = Vec::new();
    loop {
        match run.did().await.expect("a leave") {
            AgentDid::Leave(leave) => return (all, leave),
            AgentDid::Ask { call, ask: Ask::Permission(_) | Ask::LeavePlanMode { .. }, .. } => {
                run.reply(call.as_str(), CallReply::Allow { asked: "May it?".into() });
            }
            AgentDid::Ask { call, ask: Ask::Questions(drafts), .. }
                if drafts.iter().all(|draft| draft.field.is_some()) =>
            {
                decline(run, &call);
            }
            did => all.push(did),
        }
    }
}

/// A question that waits alone as soon as the rest is done, with tools that are allowed.
async fn goes(actor: &Actor, scenario: impl Fn() -> ScenarioBuilder) {
    goes_after(0, || set(actor, scenario()), order).await;
}

/// A question that waits alone once the rest is done, with so many calls that a person decides about: answered at
/// once, and parked.
async fn goes_after(decisions: usize, set: impl Fn() -> Stage, order: impl Fn() -> Order) {
    let stage = set();
    let mut run = stage.start_with(order());
    let call = asked_among_others(&mut run, decisions).await;
    answer_and_finish(&stage, &mut run, &call).await;

    let stage = set();
    let mut run = stage.start_with(order());
    let call = asked_among_others(&mut run, decisions).await;
    park(&run, &call, Patience::Wait);
    assert_eq!(run.leave().await, Leave::Deferred { call: call.clone() });
    stage.assert_nothing_runs();
    resume_and_finish(&stage, &call, order()).await;
}

/// Takes up what was parked at this call, with its answer.
async fn resume_and_finish(stage: &Stage, call: &CallId, order: Order) {
    let mut run = stage.start_with(Order { replies: answered(call, "SQLite").replies, ..order });
    assert_eq!(run.asked().await.0, *call);
    let (did, leave) = rest(&mut run).await;
    assert!(did.contains(&AgentDid::Take { call: call.clone() }), "{did:?}");
    assert_eq!(leave, finished("Done."));
    assert_told(stage, call, "SQLite");
}

/// Waits for the question, and for so many other calls that a person decides about, in whichever order the CLI asks:
/// 2.1.90 asks the question first. The other calls are not parked, because the question is in the same message; they
/// are then allowed, and a server is refused.
async fn asked_among_others(run: &mut Driven, decisions: usize) -> CallId {
    let mut decided = 0;
    let mut open = None;
    let mut question = None;
    loop {
        match run.did().await.expect("a question") {
            AgentDid::Ask { call, ask: Ask::Questions(drafts), .. }
                if drafts.iter().all(|draft| draft.field.is_none()) =>
            {
                question = Some(call);
            }
            AgentDid::Ask { call, ask: Ask::Questions(_), .. } => decline(run, &call),
            AgentDid::Ask { call, .. } => {
                park(run, &call, Patience::Wait);
                open = Some(call);
            }
            AgentDid::StayHot { call, beside: Beside::Call } if open.as_ref() == Some(&call) => {
                run.reply(call.as_str(), CallReply::Allow { asked: "May it?".into() });
                open = None;
                decided += 1;
            }
            AgentDid::Leave(leave) => panic!("it left: {leave:?}"),
            _ => {}
        }
        if let (Some(question), None) = (&question, &open)
            && decided >= decisions
        {
            return question.clone();
        }
    }
}

/// Tells a server no.
fn decline(run: &Driven, call: &CallId) {
    let told = CallReply::Elicited {
        questions: Vec::new(),
        action: Consent::Decline,
        content: serde_json::Map::new(),
    };
    run.reply(call.as_str(), told);
}

async fn answer_and_finish(stage: &Stage, run: &mut Driven, call: &CallId) {
    fs::write(stage.path("app").join("go"), "").unwrap();
    run.reply(call.as_str(), answers(&[("Which database?", "SQLite")]));
    let (did, leave) = rest(run).await;
    assert!(did.contains(&AgentDid::Take { call: call.clone() }), "{did:?}");
    assert!(matches!(leave, Leave::Finished { .. }), "{leave:?}");
    assert_told(stage, call, "SQLite");
}

/// Waits until it says that this keeps it. While the model speaks, it is another call. Gives the calls for which it
/// wanted consent meanwhile, which still wait.
async fn until_kept(run: &mut Driven, beside: Beside) -> Vec<CallId> {
    let mut asked = Vec::new();
    loop {
        match run.did().await {
            Some(AgentDid::StayHot { beside: told, .. }) if told == beside => return asked,
            Some(AgentDid::Ask { call, ask: Ask::Permission(_) | Ask::LeavePlanMode { .. }, .. }) => {
                asked.push(call)
            }
            Some(AgentDid::Leave(leave)) => panic!("it left: {leave:?}"),
            Some(_) => {}
            None => panic!("it says nothing"),
        }
    }
}

/// Waits until it says that something in flight keeps it, or has left.
async fn until_kept_or_gone(run: &mut Driven) -> Option<Leave> {
    loop {
        match run.did().await {
            Some(AgentDid::StayHot { .. }) => return None,
            Some(AgentDid::Leave(leave)) => return Some(leave),
            Some(AgentDid::Ask { call, .. }) => {
                run.reply(call.as_str(), CallReply::Allow { asked: "May it?".into() });
            }
            Some(_) => {}
            None => panic!("it says nothing"),
        }
    }
}

#[track_caller]
fn assert_told(stage: &Stage, call: &CallId, answer: &str) {
    let (told, is_error) = stage.tool_result(call.as_str()).unwrap();
    assert!(told.contains(answer) && !is_error, "{told}");
    let requests = stage.model.iter().flat_map(|model| model.seen());
    for request in requests {
        let request = request["messages"].to_string();
        assert!(!request.contains("Tool result missing"), "the model went on without the answer: {request}");
    }
}

fn set(actor: &Actor, scenario: ScenarioBuilder) -> Stage {
    let mut stage = actor.with(scenario);
    fs::write(stage.path("app").join("read.txt"), "Hello.\n").unwrap();
    stage.cli_mut().work_mode = "acceptEdits".into();
    stage.allow("Bash,Task,Agent,Write");
    stage
}

fn park(run: &Driven, call: &CallId, patience: Patience) {
    run.send(Command::Park { call: call.clone(), patience });
}

fn together(calls: Vec<Call>) -> ScenarioBuilder {
    Scenario::new("together").together(calls).respond_with_text("Done.")
}

fn beside(scenario: ScenarioBuilder) -> ScenarioBuilder {
    scenario.asks(database()).respond_with_text("Done.")
}

fn write() -> Call {
    Call::Write(WriteFile { path: WRITTEN.into(), content: "x\n".into(), ..WriteFile::default() })
}

fn read() -> Call {
    let input = json!({"file_path": "read.txt"});
    Call::Tool(OtherTool { name: "Read".into(), input, result: "1\tHello.".into(), ..OtherTool::default() })
}
