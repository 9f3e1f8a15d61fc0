//! MCP over HTTP in `serve`: for clients on this machine with the token, and for no web page.

use std::ffi::OsString;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use nix::sys::signal::Signal;
use rapport_core::Event;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::WORKER;
use super::client::ToolReply;
use super::story::confirm;
use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};
use crate::support::scenarios::ONE_QUESTION;
use crate::support::web;

/// A `rapport serve` that listens for MCP, and a client.
pub(crate) struct Site {
    pub(crate) project: Project,
    serving: Running,
    client: WebClient,
}

/// A client over HTTP.
pub(crate) struct WebClient {
    pub(crate) url: String,
    pub(crate) token: String,
    session: Option<String>,
    next: u64,
}

impl Deref for Site {
    type Target = WebClient;

    fn deref(&self) -> &WebClient {
        &self.client
    }
}

impl DerefMut for Site {
    fn deref_mut(&mut self) -> &mut WebClient {
        &mut self.client
    }
}

impl Site {
    pub(crate) fn start(project: Project) -> Self {
        Self::start_for(project, &[])
    }

    /// The same for these projects, the first of which is the one that clients work in.
    fn start_for(project: Project, projects: &[PathBuf]) -> Self {
        Self::start_in(project, projects, &[])
    }

    /// The same with these variables for the server.
    pub(crate) fn start_in(project: Project, projects: &[PathBuf], env: &[(&str, &str)]) -> Self {
        let (serving, client) = serve(&project, projects, env).expect("it did not serve");
        Self { project, serving, client }
    }
}

/// A server for MCP, and a client that has not said anything yet; `None` if the server died before it served.
pub(crate) fn serve(
    project: &Project,
    projects: &[PathBuf],
    env: &[(&str, &str)],
) -> Option<(Running, WebClient)> {
    let own = [("RAPPORT_MCP_LISTEN", "127.0.0.1:0"), ("RAPPORT_MCP_APPLY", "lead")];
    let env = [&own, env].concat();
    let words = ["serve", "--json"].into_iter().map(Into::into);
    let words: Vec<OsString> = words.chain(projects.iter().map(Into::into)).collect();
    let mut serving = project.launch(&words, &env);
    let told = Some(serving.line()).filter(|told| !told.is_empty())?;
    let told: Value = serde_json::from_str(&told).unwrap();
    let name = told["name"].as_str().unwrap_or_else(|| panic!("{told}"));
    let url = name.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    let token = std::fs::read_to_string(project.path("home/.rapport/mcp.token")).unwrap();
    Some((serving, WebClient::at(url, token.trim().to_owned())))
}

impl WebClient {
    /// A client that has not said anything yet.
    pub(crate) fn at(url: String, token: String) -> Self {
        Self { url, token, session: None, next: 0 }
    }

    /// Another client of the same program.
    async fn another(&self) -> Self {
        let mut other = Self::at(self.url.clone(), self.token.clone());
        other.greet().await;
        other
    }

    /// A message, ready to be sent.
    fn post(&self, message: &Value) -> RequestBuilder {
        let request = web::client().post(&self.url).bearer_auth(&self.token);
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("content-type", "application/json").body(message.to_string());
        match &self.session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        }
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.try_request(method, params).await.expect("the server died")
    }

    /// The same with a server that may die; `None` if it did.
    async fn try_request(&mut self, method: &str, params: Value) -> Option<Value> {
        self.next += 1;
        let id = self.next;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = self.post(&message).send().await.ok()?;
        assert_eq!(response.status(), StatusCode::OK);
        if let Some(session) = response.headers().get("mcp-session-id") {
            self.session = Some(session.to_str().unwrap().to_owned());
        }
        found(&response.text().await.ok()?, id)
    }

    pub(crate) async fn greet(&mut self) {
        self.try_greet().await.expect("the server died");
    }

    pub(crate) async fn try_greet(&mut self) -> Option<()> {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "web-client", "version": "1" },
        });
        let greeting = self.try_request("initialize", params).await?;
        assert_eq!(greeting["result"]["serverInfo"]["name"], "rapport", "{greeting}");
        let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert!(self.post(&done).send().await.ok()?.status().is_success());
        Some(())
    }

    /// Calls a tool of a server that may die; `None` if it did.
    pub(crate) async fn try_call(&mut self, tool: &str, arguments: &Value) -> Option<ToolReply> {
        let params = json!({ "name": tool, "arguments": arguments });
        self.try_request("tools/call", params).await.map(|reply| ToolReply::read(&reply))
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        reply["result"]["structuredContent"].clone()
    }

    async fn until(&mut self, task: &str, status: &str) -> Value {
        let told = self.call("wait", json!({ "taskId": task, "seconds": 50 })).await;
        assert_eq!(told["status"], status, "{told}");
        told
    }
}

/// The reply with this id, as JSON or in a stream of events; `None` if that broke off.
fn found(body: &str, id: u64) -> Option<Value> {
    let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut messages =
        events.chain([body]).filter_map(|text| serde_json::from_str::<Value>(text.trim()).ok());
    messages.find(|message| message["id"] == id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_led_over_http() {
    let mut site = Site::start(Project::with_scenario(WORKER));
    site.greet().await;
    let task = site.call("task_worker", json!({ "task": "paint" })).await;
    let task = task["taskId"].as_str().unwrap().to_owned();
    site.until(&task, "needs_input").await;
    site.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" })).await;
    let asked = site.until(&task, "needs_input").await;
    assert_eq!(asked["needsPerson"], true);
    let refused = site.call("answer_worker_question", json!({ "taskId": task, "answer": "confirm" })).await;
    assert_eq!(refused["error"], "needs_person");
    confirm(&site.project);
    site.until(&task, "needs_input").await;
    site.call("answer_worker_question", json!({ "taskId": task, "answer": "paint.txt" })).await;
    let ended = site.until(&task, "completed").await;
    let applied = site.call("apply_changes", json!({ "diffId": ended["diffId"] })).await;
    assert_eq!(applied["changes"], "applied", "{applied}");
    assert_eq!(site.project.file("paint.txt"), "Blue\n");
    let by: Vec<_> = site.project.facts().iter().map(rapport_core::Event::words).collect();
    assert!(by.iter().any(|fact| fact.contains("the lead web-client")), "{by:#?}");
    // A stream that stays open does not keep it from ending.
    let get = web::client().get(&site.url).bearer_auth(&site.token).header("accept", "text/event-stream");
    let _open = get.header("mcp-session-id", site.session.as_deref().unwrap()).send().await.unwrap();
    site.serving.signal(Signal::SIGINT);
    assert_eq!(tokio::task::spawn_blocking(move || site.serving.finish()).await.unwrap(), 0);
}

/// Two windows of one program are two clients: what the one was told is news for the other.
#[tokio::test(flavor = "multi_thread")]
async fn clients_of_one_name_are_told_each_for_itself() {
    let mut site = Site::start(Project::with_scenario(WORKER));
    site.greet().await;
    let mut other = site.another().await;
    let task = site.call("task_worker", json!({ "task": "paint" })).await;
    let task = task["taskId"].as_str().unwrap().to_owned();
    site.until(&task, "needs_input").await;
    for arguments in [json!({ "taskId": task, "seconds": 5 }), json!({ "seconds": 5 })] {
        let mut third = site.another().await;
        let told = third.call("wait", arguments).await;
        assert_eq!((&told["changed"], &told["status"]), (&json!(true), &json!("needs_input")), "{told}");
    }
    let told = other.until(&task, "needs_input").await;
    assert_eq!(told["changed"], true);
    for client in [&mut *site, &mut other] {
        let again = client.call("wait", json!({ "taskId": task, "seconds": 0 })).await;
        assert_eq!(again["changed"], false, "{again}");
    }
}

/// Where several projects are served, clients work in the first: they see its tasks, and can use every id that they
/// are shown.
#[tokio::test(flavor = "multi_thread")]
async fn clients_see_the_tasks_of_the_project_that_they_work_in() {
    let project = Project::with_scenario(WORKER);
    let (app, blog) = (project.root(), project.path("blog"));
    std::fs::create_dir_all(blog.join(".rapport")).unwrap();
    let at_blog = blog.display().to_string();
    let mut elsewhere = project.launch(&["run", "--json", "--project", &at_blog, "write"], &[]);
    wait_for("the session of the other project", || {
        let list = std::fs::read_dir(rapport::config::sessions(&blog)).ok()?;
        (list.count() > 0).then_some(())
    });
    let mut site = Site::start_for(project, &[app, blog]);
    site.greet().await;
    let task = site.call("task_worker", json!({ "task": "paint" })).await;
    let task = task["taskId"].as_str().unwrap().to_owned();
    site.until(&task, "needs_input").await;
    let all = site.call("work_status", json!({})).await;
    let ids: Vec<_> = all["tasks"].as_array().unwrap().iter().map(|task| task["taskId"].clone()).collect();
    assert_eq!(ids, [json!(task)]);
    let logs = site.call("list_container_logs", json!({})).await;
    assert_eq!(logs["logs"].as_array().unwrap().len(), 1, "{logs}");
    let told = site.call("work_status", json!({ "taskId": ids[0] })).await;
    assert_eq!(told["status"], "needs_input", "{told}");
    elsewhere.child.kill().unwrap();
}

/// A client with the token for looking sees everything and changes nothing, also in the session of another client.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_may_only_look_changes_nothing() {
    let looking = [("RAPPORT_MCP_LOOK_TOKEN", "only-to-look-0123456789")];
    let mut site = Site::start_in(Project::with_scenario(WORKER), &[], &looking);
    site.greet().await;
    let task = site.call("task_worker", json!({ "task": "paint" })).await;
    let task = task["taskId"].as_str().unwrap().to_owned();
    site.until(&task, "needs_input").await;
    let mut looker = WebClient::at(site.url.clone(), "only-to-look-0123456789".to_owned());
    looker.greet().await;
    let told = looker.call("work_status", json!({ "taskId": task })).await;
    assert_eq!(told["status"], "needs_input", "{told}");
    let before = site.project.facts().len();
    for (tool, arguments) in [
        ("answer_worker_question", json!({ "taskId": task, "answer": "Blue" })),
        ("task_worker", json!({ "task": "something else" })),
        ("project_context", json!({ "action": "explore" })),
    ] {
        let refused = looker.call(tool, arguments).await;
        assert_eq!(refused["success"], false, "{tool}: {refused}");
        assert!(refused["message"].as_str().unwrap().contains("only look"), "{tool}: {refused}");
    }
    // The token counts, not the session of the protocol.
    looker.session.clone_from(&site.session);
    let refused = looker.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" })).await;
    assert!(refused["message"].as_str().unwrap().contains("only look"), "{refused}");
    assert_eq!(site.project.facts().len(), before);
    site.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" })).await;
    assert!(site.project.facts().len() > before);
    let same = [
        ("RAPPORT_MCP_LISTEN", "127.0.0.1:0"),
        ("RAPPORT_MCP_TOKEN", "one-token"),
        ("RAPPORT_MCP_LOOK_TOKEN", "one-token"),
    ];
    let ran = site.project.command().args(["serve", "--channel", "mcp"]).envs(same).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code() == Some(2) && said.contains("mcp.look_token"), "{said}");
}

/// A wrong token, a page of another origin, a name that is not this machine's: each is refused before anything is
/// read. Who comes under another name, or from another page, is not even told whether the token is right.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_refused() {
    let site = Site::start(Project::with_scenario(WORKER));
    let mode = std::fs::metadata(site.project.path("home/.rapport/mcp.token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } },
    });
    let status = async |request: RequestBuilder| request.send().await.unwrap().status();
    let known = || site.post(&hello);
    assert_eq!(status(known()).await, StatusCode::OK);
    let stranger =
        || web::client().post(&site.url).header("content-type", "application/json").body(hello.to_string());
    assert_eq!(status(stranger()).await, StatusCode::UNAUTHORIZED);
    for wrong in ["", "x", &site.token[1..], &format!("{}x", site.token)] {
        assert_eq!(status(stranger().bearer_auth(wrong)).await, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    for origin in ["https://evil.example", "null", "http://127.0.0.1:7777", "http://localhost", "x"] {
        for request in [known(), stranger(), stranger().bearer_auth("x")] {
            assert_eq!(status(request.header("origin", origin)).await, StatusCode::FORBIDDEN, "{origin}");
        }
    }
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example"] {
        let own_page = format!("http://{host}");
        for request in [known(), stranger(), known().header("origin", own_page)] {
            assert_eq!(status(request.header("host", host)).await, StatusCode::FORBIDDEN, "{host}");
        }
    }
    let own = site.url.trim_end_matches("/mcp");
    assert_eq!(status(known().header("origin", own)).await, StatusCode::OK);
    assert_eq!(status(stranger().header("origin", own)).await, StatusCode::UNAUTHORIZED);
    let elsewhere = site.url.replace("/mcp", "/");
    let other = web::client().get(&elsewhere).bearer_auth(&site.token).send().await.unwrap();
    assert_eq!(other.status(), StatusCode::NOT_FOUND);
    assert!(site.project.store().list().unwrap().is_empty());
}

/// What is not MCP is refused, and what follows is served.
#[tokio::test(flavor = "multi_thread")]
async fn garbage_does_not_end_it() {
    let mut site = Site::start(Project::with_scenario(WORKER));
    site.greet().await;
    let raw = |body: Vec<u8>| site.post(&json!(null)).body(body);
    let huge = b"x".repeat(17 * 1024 * 1024);
    let nothing = br#"{"jsonrpc":"2.0","id":7}"#.to_vec();
    for garbage in
        [b"hello".to_vec(), b"{".to_vec(), b"\xff\xfe".to_vec(), b"[]".to_vec(), Vec::new(), nothing, huge]
    {
        let said = String::from_utf8_lossy(&garbage[..garbage.len().min(30)]).into_owned();
        // The server may refuse to read all of it.
        let Ok(reply) = raw(garbage).send().await else { continue };
        assert!(reply.status().is_client_error(), "{said:?}: {}", reply.status());
    }
    let none = site.request("no/such/method", json!({})).await;
    assert!(none["error"].is_object(), "{none}");
    let of_nobody =
        WebClient { session: Some("nobody's".into()), ..WebClient::at(site.url.clone(), site.token.clone()) };
    let listed = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list" });
    let of_nobody = of_nobody.post(&listed).send().await.unwrap();
    assert!(of_nobody.status().is_client_error(), "{}", of_nobody.status());
    let told = site.call("system_status", json!({})).await;
    assert_eq!(told["success"], true, "{told}");
}

/// A thousand calls at once, each over a connection of its own, are all answered; one answer to the worker counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_calls_at_once_are_answered() {
    let mut site = Site::start(Project::with_scenario(ONE_QUESTION));
    site.greet().await;
    let task = site.call("task_worker", json!({ "task": "paint" })).await;
    let task = task["taskId"].as_str().unwrap().to_owned();
    site.until(&task, "needs_input").await;
    let calls = (0..1000_u64).map(|number| {
        let (tool, arguments) = match number % 4 {
            0 => ("work_status", json!({ "taskId": task })),
            1 => ("answer_worker_question", json!({ "taskId": task, "answer": "Blue", "questionId": "q1" })),
            2 => ("wait", json!({ "taskId": task, "seconds": 0 })),
            _ => ("system_status", json!({})),
        };
        let params = json!({ "name": tool, "arguments": arguments });
        let id = 1_000_000 + number;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let sent = site.post(&message).send();
        tokio::spawn(async move {
            let reply = found(&sent.await.unwrap().text().await.unwrap(), id).unwrap();
            usize::from(number % 4 == 1 && reply["result"]["isError"] == false)
        })
    });
    let calls: Vec<_> = calls.collect();
    let mut answers = 0;
    for call in calls {
        answers += call.await.unwrap();
    }
    assert_eq!(answers, 1, "one answer counts");
    let stored = site.project.facts().iter().filter(|fact| matches!(fact, Event::Answered { .. })).count();
    assert_eq!(stored, 1);
}

/// A client that disconnects during a call leaves its worker at work, which the next client finds; the server ends
/// when it is told to, even if clients still wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_in_a_call_is_not_missed() {
    let mut site = Site::start(Project::with_scenario(ONE_QUESTION));
    site.greet().await;
    let task = site.call("task_worker", json!({ "task": "paint" })).await;
    let task = task["taskId"].as_str().unwrap().to_owned();
    site.until(&task, "needs_input").await;
    let wait = json!({ "name": "wait", "arguments": { "taskId": task, "seconds": 600 } });
    let call = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": wait });
    // The head of the reply has come, so that the call is being carried out.
    drop(site.post(&call(100)).send().await.unwrap());
    let mut other = site.another().await;
    other.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" })).await;
    let asked = other.until(&task, "needs_input").await;
    assert_eq!(asked["needsPerson"], true, "{asked}");
    other.call("wait", json!({ "taskId": task, "seconds": 0 })).await;
    let _waits = other.post(&call(101)).send().await.unwrap();
    site.serving.signal(Signal::SIGINT);
    let project = site.project;
    assert_eq!(tokio::task::spawn_blocking(move || site.serving.finish()).await.unwrap(), 0);
    assert!(
        !project.facts().iter().any(|fact| matches!(fact, Event::Failed { .. } | Event::Cancelled { .. }))
    );
}

/// It listens where other machines can reach it only if their names for it are named; a project cannot make it listen.
#[test]
fn it_listens_only_where_the_person_said() {
    let project = Project::with_scenario(WORKER);
    let open = project.command().env("RAPPORT_MCP_LISTEN", "0.0.0.0:0").arg("serve").output().unwrap();
    crate::support::project::Ran(open).check(2, "mcp.hosts");
    std::fs::create_dir_all(project.root().join(".rapport")).unwrap();
    let settings = "mcp: { listen: '127.0.0.1:0', apply: lead }\n";
    std::fs::write(project.root().join(".rapport/config.yaml"), settings).unwrap();
    project.rapport(&["trust", "--yes"]);
    project.rapport(&["serve"]).check(2, "no channel is configured");
}
