//! A tour of the terminal channel: a canned session, played through the real thing. No engine, no agent, no files.
//!
//! `cargo run --example terminal_tour` to answer yourself, `-- demo` to watch it answer, `-- plain` without a terminal.
//! `-- panic` and `-- die` let the agent's part or the answering itself panic.
//! `TOUR_PACE=10` makes it ten times as fast.

#![expect(clippy::expect_used, reason = "an example")]

#[path = "../tests/it/support/stage.rs"]
mod stage;

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rapport::channels::terminal::{AutoAnswer, ColourChoice, Link, Outcome, Terminal, run_with};
use rapport::engine::{DoorError, Update};
use rapport_core::{
    Act, Activity, AgentDid, Ask, By, ChangeStatus, Changes, Entry, FileChange, OpenQuestion, Permission,
    Progress, Purpose, Reply, ToolUse, World,
};
use rapport_core::{Status, View};
use stage::{PLAN, Stage, auth, language, tests, usage};
use tokio::sync::{Notify, mpsc, watch};

#[tokio::main]
async fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let (stage, first) =
        Stage::new("Add user authentication to the API, with tests, without breaking existing clients");
    let (send, updates) = mpsc::unbounded_channel();
    let play = Play { stage: Arc::new(Mutex::new(stage)), send, changed: Arc::new(Notify::new()) };
    play.tell(first);
    let script = tokio::spawn(agent(play.clone()));
    let config = Terminal {
        by: stage::me(),
        interactive: mode != "plain" && std::io::stdin().is_terminal() && std::io::stdout().is_terminal(),
        colour: ColourChoice::Auto,
        answer_hint: format!("rapport answer {}", stage::id()),
        auto: match mode.as_str() {
            "demo" | "plain" => Some(demo()),
            "die" => Some(AutoAnswer { pick: Box::new(|_| panic!("as wished")), ..demo() }),
            _ => None,
        },
    };
    let (_shutdown, stop) = watch::channel(false);
    let link = TourLink { play, updates };
    let outcome = run_with(config, link, stage::id(), 0, stop).await.expect("a terminal");
    script.abort();
    match outcome {
        Outcome::Ended(status) => println!("\nThe tour is over: {}.", status.as_str()),
        Outcome::Detached => println!("\nYou left the tour."),
    }
}

fn pace() -> u64 {
    std::env::var("TOUR_PACE").ok().and_then(|pace| pace.parse().ok()).unwrap_or(1).max(1)
}

fn demo() -> AutoAnswer {
    let pick = |question: &OpenQuestion| match &question.purpose {
        Purpose::Confirm => Reply::Words(vec!["confirm".into()]),
        _ if question.multi => Reply::Choices(vec![0, 1]),
        _ => Reply::Choices(vec![0]),
    };
    AutoAnswer {
        by: By::written_rule("demo"),
        pause: Duration::from_millis(1500 / pace()),
        pick: Box::new(pick),
    }
}

/// The agent's part.
async fn agent(play: Play) {
    play.rest(600).await;
    play.act(Stage::connect);
    play.say("I will look at the API first.").await;
    for file in ["src/main.rs", "src/routes/orders.rs", "src/routes/customers.rs"] {
        play.use_tool("Read", file).await;
    }
    play.act(|stage| stage.ask(Ask::Questions(vec![auth(), tests(), language()])));
    assert!(std::env::args().all(|arg| arg != "panic"), "as wished");
    play.until(|view| view.questions.is_empty()).await;
    play.rest(1200).await;
    loop {
        play.act(|stage| stage.agent(AgentDid::Spend { usage: usage(48_200, 3_100, 210_000) }));
        play.act(|stage| stage.finish(PLAN));
        play.act(Stage::save_plan);
        play.until(|view| view.questions.is_empty() && view.status != Status::NeedsInput).await;
        if play.view().phase == rapport_core::PhaseView::Working {
            break;
        }
        play.rest(800).await;
    }
    play.act(Stage::connect);
    play.use_tool("Write", "migrations/20260124_users.sql").await;
    let what = "cargo test --workspace --all-features -- --include-ignored auth::login auth::refresh\nrm -rf target/tmp";
    play.act(|stage| stage.ask(Ask::Permission(Permission::new("Bash", what))));
    play.until(|view| view.questions.is_empty()).await;
    for file in
        ["src/auth/mod.rs", "src/auth/a/very/deeply/nested/module/with/a/long/name/that/does/not/fit/jwt.rs"]
    {
        play.use_tool("Write", file).await;
    }
    play.say("The middleware is in place. Now the tests.").await;
    play.use_tool("Bash", "cargo test").await;
    play.act(|stage| stage.agent(AgentDid::Spend { usage: usage(80_000, 9_200, 340_000) }));
    play.act(|stage| stage.finish("The API has JWT logins now. All 42 tests pass.\n\nRun `cargo run` and POST to `/login` to try it."));
    play.rest(300).await;
    play.act(|stage| stage.world(World::Report { changes: Some(changes()) }));
}

fn changes() -> Changes {
    let file = |status, path: &str, added, removed| FileChange { path: path.into(), status, added, removed };
    Changes {
        files: vec![
            file(ChangeStatus::Added, "migrations/20260124_users.sql", Some(12), Some(0)),
            file(ChangeStatus::Added, "src/auth/mod.rs", Some(120), Some(0)),
            file(ChangeStatus::Modified, "src/main.rs", Some(14), Some(3)),
            file(ChangeStatus::Deleted, "src/basic_auth.rs", Some(0), Some(88)),
            file(ChangeStatus::Added, "assets/logo.png", None, None),
        ],
        ..Changes::default()
    }
}

/// The session, and who has to hear of what happens in it.
#[derive(Clone)]
struct Play {
    stage: Arc<Mutex<Stage>>,
    send: mpsc::UnboundedSender<Update>,
    changed: Arc<Notify>,
}

impl Play {
    fn tell(&self, entry: Entry) {
        let _ = self.send.send(Update::Entry(entry));
        self.changed.notify_one();
    }

    fn act(&self, act: impl FnOnce(&mut Stage) -> Entry) {
        let entry = act(&mut self.stage.lock().expect("a stage"));
        self.tell(entry);
    }

    fn view(&self) -> View {
        self.stage.lock().expect("a stage").view()
    }

    async fn say(&self, text: &str) {
        self.act(|stage| stage.agent(AgentDid::Say { text: text.into() }));
        self.rest(700).await;
    }

    async fn use_tool(&self, tool: &str, what: &str) {
        let progress = Progress {
            doing: Some(Activity::tool(tool, what, ToolUse::Other)),
            usage: usage(5_200, 310, 30_000),
        };
        let _ = self.send.send(Update::Progress(progress));
        self.rest(700).await;
        self.act(|stage| {
            stage.agent(AgentDid::Use { tool: tool.into(), what: what.into(), kind: ToolUse::Other })
        });
    }

    async fn until(&self, is: impl Fn(&View) -> bool) {
        while !is(&self.view()) {
            self.changed.notified().await;
        }
    }

    async fn rest(&self, milliseconds: u64) {
        tokio::time::sleep(Duration::from_millis(milliseconds / pace())).await;
    }
}

struct TourLink {
    play: Play,
    updates: mpsc::UnboundedReceiver<Update>,
}

impl Link for TourLink {
    async fn next(&mut self) -> Option<Update> {
        self.updates.recv().await
    }

    fn submit(&self, by: By, act: Act) -> impl Future<Output = Result<(), DoorError>> + Send + 'static {
        let play = self.play.clone();
        async move {
            let entry = play.stage.lock().expect("a stage").person(by, act)?;
            play.tell(entry);
            if play.view().plan.is_some_and(|plan| !plan.saved) {
                play.act(Stage::save_plan);
            }
            Ok(())
        }
    }
}
