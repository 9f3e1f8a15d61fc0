//! An MCP client over real pipes. Every line that the server prints has to be a message of the protocol.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::patience::wait_at_most;
use crate::support::project::Project;

/// How long a reply may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client, and the server that it started.
pub(crate) struct Client {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Result<Value, String>>,
    /// What came, and was not asked for yet.
    kept: Vec<Value>,
    next: u64,
}

/// What a tool said.
#[derive(Debug)]
pub(crate) struct ToolReply {
    pub(crate) text: String,
    pub(crate) data: Value,
    pub(crate) is_error: bool,
}

impl ToolReply {
    #[track_caller]
    pub(crate) fn read(reply: &Value) -> Self {
        let result = &reply["result"];
        assert!(result.is_object(), "{reply}");
        Self {
            text: result["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            data: result["structuredContent"].clone(),
            is_error: result["isError"] == true,
        }
    }

    pub(crate) fn status(&self) -> &str {
        self.data["status"].as_str().unwrap_or_default()
    }

    pub(crate) fn task(&self) -> String {
        self.data["taskId"].as_str().unwrap_or_else(|| panic!("no task: {self:?}")).to_owned()
    }

    pub(crate) fn diff(&self) -> String {
        self.data["diffId"].as_str().unwrap_or_else(|| panic!("no diff: {self:?}")).to_owned()
    }

    /// That it did what it was called for, and said this.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(!self.is_error && self.text.contains(words), "{words:?} was expected in {self:?}");
        self
    }

    /// That it refused, for this kind of reason, and said this.
    #[track_caller]
    pub(crate) fn refuses(self, kind: &str, words: &str) -> Self {
        assert!(self.is_error, "{self:?}");
        assert_eq!((&self.data["error"], &self.data["success"]), (&json!(kind), &json!(false)), "{self:?}");
        assert!(self.text.contains(words), "{words:?} was expected in {self:?}");
        self
    }
}

impl Client {
    /// A client of this name, greeted by its server.
    pub(crate) fn start(project: &Project, args: &[&str]) -> Self {
        Self::start_with(project, args, &json!({}))
    }

    /// The same with these capabilities.
    pub(crate) fn start_with(project: &Project, args: &[&str], capabilities: &Value) -> Self {
        Self::start_in(project, args, capabilities, &[])
    }

    /// The same with these variables for the server.
    pub(crate) fn start_in(
        project: &Project,
        args: &[&str],
        capabilities: &Value,
        env: &[(&str, &str)],
    ) -> Self {
        let client = Self::try_start(project, args, capabilities, env);
        client.expect("the server died")
    }

    /// The same with a server that may die; `None` if it did.
    pub(crate) fn try_start(
        project: &Project,
        args: &[&str],
        capabilities: &Value,
        env: &[(&str, &str)],
    ) -> Option<Self> {
        let mut client = Self::connect_in(project, args, env);
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "test-client", "version": "1" },
        });
        let greeting = client.try_request("initialize", &params, &json!({}))?;
        assert_eq!(greeting["result"]["protocolVersion"], "2025-11-25", "{greeting}");
        assert_eq!(greeting["result"]["serverInfo"]["name"], "rapport");
        client.try_send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Some(client)
    }

    /// A client that has not said anything yet.
    pub(crate) fn connect(project: &Project, args: &[&str]) -> Self {
        Self::connect_in(project, args, &[])
    }

    fn connect_in(project: &Project, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = project.command();
        command.arg("mcp").args(args).envs(env.iter().copied());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let parsed = serde_json::from_str::<Value>(&line).ok().filter(|it| it["jsonrpc"] == "2.0");
                let _ = send.send(parsed.ok_or(line));
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, kept: Vec::new(), next: 0 }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Sends a request, and gives its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.reply(id)
    }

    /// Calls a tool, and gives the id of the call.
    pub(crate) fn ask_tool(&mut self, tool: &str, arguments: &Value) -> u64 {
        let params =
            json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": self.next + 1 } });
        self.ask("tools/call", &params)
    }

    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> ToolReply {
        let id = self.ask_tool(tool, &arguments);
        self.told(id)
    }

    /// What a call of a tool gave.
    #[track_caller]
    pub(crate) fn told(&mut self, id: u64) -> ToolReply {
        let reply = self.reply(id);
        ToolReply::read(&reply)
    }

    /// Calls a tool of a server that may die; `None` if it did. Dialogs that come meanwhile are accepted with this
    /// content.
    pub(crate) fn try_call(&mut self, tool: &str, arguments: &Value, accepts: &Value) -> Option<ToolReply> {
        let params = json!({ "name": tool, "arguments": arguments });
        self.try_request("tools/call", &params, accepts).map(|reply| ToolReply::read(&reply))
    }

    fn try_request(&mut self, method: &str, params: &Value, accepts: &Value) -> Option<Value> {
        self.next += 1;
        let id = self.next;
        self.try_send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let message = self.lines.recv_timeout(PATIENCE).ok()?.unwrap_or_else(|line| panic!("{line:?}"));
            if message["method"] == "elicitation/create" {
                let result = json!({ "action": "accept", "content": accepts });
                self.try_send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))?;
            } else if message["id"] == id {
                return Some(message);
            }
        }
    }

    fn try_send(&mut self, message: &Value) -> Option<()> {
        self.stdin.as_mut()?.write_all(format!("{message}\n").as_bytes()).ok()
    }

    /// The reply to a request.
    #[track_caller]
    pub(crate) fn reply(&mut self, id: u64) -> Value {
        self.find("a reply", |message| {
            message["id"] == id && (message["result"].is_object() || message["error"].is_object())
        })
    }

    /// The first message that came, or comes, and is like this.
    #[track_caller]
    pub(crate) fn find(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.kept.iter().position(&is_it) {
                return self.kept.remove(at);
            }
            match self.lines.recv_timeout(PATIENCE) {
                Ok(Ok(message)) => self.kept.push(message),
                Ok(Err(line)) => panic!("this is not MCP: {line:?}"),
                Err(_) => panic!("{what} was expected; there is {:#?}", self.kept),
            }
        }
    }

    /// Waits until a task has this status.
    #[track_caller]
    pub(crate) fn until(&mut self, task: &str, status: &str) -> ToolReply {
        let told = self.call("wait", json!({ "taskId": task, "seconds": 50 }));
        assert_eq!(told.status(), status, "{told:?}");
        told
    }

    /// Closes the server's input, and gives its exit code and what it said on stderr.
    pub(crate) fn close(mut self) -> (Option<i32>, String) {
        drop(self.stdin.take());
        let status =
            wait_at_most(Duration::from_secs(20), "the server to end", || self.child.try_wait().unwrap());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            assert!(line.is_ok(), "this is not MCP: {line:?}");
        }
        (status.code(), said)
    }

    /// `kill -9` of the server.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
