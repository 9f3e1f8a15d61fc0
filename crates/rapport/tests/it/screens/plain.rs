//! Without a terminal: lines, commands to answer with, and nothing else.

use std::time::Duration;

use rapport::channels::terminal::plain::Plain;
use rapport::channels::terminal::{AutoAnswer, Effect, Front as _, Happening, Outcome, Terminal};
use rapport::engine::Update;
use rapport_core::{
    Act, AgentDid, Ask, By, Draft, Entry, OpenQuestion, Permission, Progress, Purpose, QuestionId, Reply,
    Status, World,
};

use super::config;
use crate::support::stage::{self, Stage, anna, usage};

/// A session told in plain lines.
struct Telling {
    plain: Plain<Vec<u8>>,
    stage: Stage,
    now: Duration,
    text: String,
    outcome: Option<Outcome>,
}

impl Telling {
    fn new(auto: Option<AutoAnswer>) -> Self {
        let (stage, first) = Stage::new("Add user authentication");
        let plain = Plain::new(Terminal { auto, interactive: false, ..config() }, stage::id(), 0, Vec::new());
        let mut telling = Self { plain, stage, now: Duration::ZERO, text: String::new(), outcome: None };
        telling.see(first);
        telling
    }

    fn act(&mut self, act: impl FnOnce(&mut Stage) -> Entry) {
        let entry = act(&mut self.stage);
        self.see(entry);
    }

    fn see(&mut self, entry: Entry) {
        self.step(Happening::Update(Update::Entry(entry)));
    }

    fn step(&mut self, happening: Happening) {
        for effect in self.plain.step(happening, self.now) {
            match effect {
                Effect::Print(lines) => {
                    lines.iter().for_each(|line| self.text.push_str(&format!("{}\n", line.text().trim_end())))
                }
                Effect::Notify(_) | Effect::Suspend => {}
                Effect::Leave(outcome) => self.outcome = Some(outcome),
                Effect::Submit { by, act } => {
                    let entry = self.stage.person(by, act);
                    self.step(Happening::Submitted(entry.as_ref().map(|_| ()).map_err(ToString::to_string)));
                    entry.into_iter().for_each(|entry| self.see(entry));
                }
            }
        }
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.step(Happening::TimePassed);
    }
}

#[test]
fn the_whole_story() {
    let mut telling = Telling::new(None);
    telling.act(Stage::connect);
    telling.act(|stage| stage.ask(Ask::Questions(vec![stage::auth(), stage::tests()])));
    let one = |id: &str| Act::Answer { question: Some(QuestionId::new(id)), reply: Reply::Choices(vec![0]) };
    telling.act(|stage| stage.person(anna(), one("q1")).expect("she may"));
    telling.act(|stage| stage.person(anna(), one("q2")).expect("she may"));
    telling.act(|stage| stage.finish(stage::PLAN));
    telling.act(Stage::save_plan);
    telling.act(|stage| stage.person(anna(), Act::Confirm).expect("she may"));
    telling.act(Stage::connect);
    telling.act(|stage| stage.agent(AgentDid::Use { tool: "Write".into(), what: "src/auth.rs".into() }));
    telling.act(|stage| stage.agent(AgentDid::Spend { usage: usage(52_000, 900, 310_000) }));
    telling.act(|stage| stage.finish("All done."));
    telling.act(|stage| stage.world(World::Report { changes: None }));
    assert_eq!(telling.outcome, Some(Outcome::Ended(Status::Completed)));
    insta::assert_snapshot!("plain-story", telling.text);
}

/// The plan's file is there, and named, before anybody is asked to confirm it.
#[test]
fn the_confirmation_waits_for_the_file_of_the_plan() {
    let mut telling = Telling::new(None);
    telling.act(Stage::connect);
    telling.act(|stage| stage.finish(stage::PLAN));
    assert!(!telling.text.contains("? confirm"), "{}", telling.text);
    telling.act(Stage::save_plan);
    let (before, _) = telling.text.split_once("? confirm").expect("it is asked");
    assert!(before.contains("✓ Plan ready") && before.contains("Saved to: .claude/todos/"), "{before}");
}

#[test]
fn permissions_show_everything_that_would_run() {
    let mut telling = Telling::new(None);
    let what = format!("echo {}\nrm -rf /tmp/x", "long ".repeat(100));
    telling.act(|stage| stage.ask(Ask::Permission(Permission::new("Bash", what.clone()))));
    assert!(telling.text.contains("long long\n    rm -rf /tmp/x\n"), "{}", telling.text);
    assert!(telling.text.contains("--question q1 \"Allow once\""), "{}", telling.text);
}

#[test]
fn labels_that_mean_something_to_a_shell_are_named_by_number() {
    let mut telling = Telling::new(None);
    let draft = Draft { free_text: false, ..stage::draft("", "Which?", &[("$(rm -rf ~)", ""), ("b", "")]) };
    telling.act(|stage| stage.ask(Ask::Questions(vec![draft, stage::draft("", "Name?", &[])])));
    assert!(telling.text.contains("--question q1 1\n"), "{}", telling.text);
    assert!(telling.text.contains("--question q2 \"your words\"\n"), "{}", telling.text);
}

#[test]
fn nothing_but_text_is_written_and_every_line_at_once() {
    let mut telling = Telling::new(None);
    let evil = "\u{1b}[2Jred\r\u{7}";
    telling.act(|stage| stage.agent(AgentDid::Use { tool: "Bash".into(), what: evil.into() }));
    let lines: Vec<_> = telling.text.lines().map(str::to_owned).collect();
    assert_eq!(lines.last().map(String::as_str), Some("· Bash ␛[2Jred␍␇"));
    assert!(telling.text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn time_and_keys_answer_nothing() {
    let mut telling = Telling::new(None);
    telling.act(|stage| stage.ask(Ask::Questions(vec![stage::auth()])));
    assert_eq!(telling.plain.wake(telling.now), None);
    telling.pass(1_000_000);
    telling.step(Happening::Key(super::key("enter")));
    assert_eq!(telling.stage.view().questions.len(), 1);
    telling.step(Happening::Stopped);
    assert_eq!(telling.outcome, Some(Outcome::Detached));
    assert!(telling.text.ends_with("Answer from anywhere with: rapport answer 20260124-add-user-auth\n"));
}

#[test]
fn progress_is_told_where_no_fact_tells_it() {
    let mut telling = Telling::new(None);
    let doing = |what: &str| {
        Happening::Update(Update::Progress(Progress { doing: Some(what.into()), usage: usage(1, 1, 1) }))
    };
    let used = |what: &str| AgentDid::Use { tool: "Read".into(), what: what.into() };
    let before = telling.text.len();
    telling.step(doing("Read: a"));
    telling.act(|stage| stage.agent(used("a")));
    telling.step(doing("Read: a"));
    telling.pass(6);
    telling.step(doing("thinks"));
    telling.pass(4);
    telling.step(doing("thinks hard"));
    telling.pass(4);
    telling.pass(1);
    telling.step(doing("thinks hard"));
    telling.pass(6);
    telling.step(doing("Read: b"));
    telling.act(|stage| stage.agent(used("b")));
    telling.pass(60);
    assert_eq!(&telling.text[before..], "· Read a\n… thinks hard\n· Read b\n");
    assert_eq!(telling.plain.wake(telling.now), None);
}

#[test]
fn the_demo_answers_everything_in_its_own_name() {
    let pick = |question: &OpenQuestion| match question.purpose {
        Purpose::Confirm => Reply::Words(vec!["confirm".into()]),
        _ => Reply::Choices(vec![0]),
    };
    let by = By::Rule { name: "demo".into() };
    let mut telling =
        Telling::new(Some(AutoAnswer { by, pause: Duration::from_secs(1), pick: Box::new(pick) }));
    telling.act(|stage| stage.ask(Ask::Questions(vec![stage::auth(), stage::language()])));
    for _ in 0..3 {
        telling.pass(1);
    }
    assert!(telling.text.contains("✓ Auth method → JWT (answered by the demo itself)"), "{}", telling.text);
    assert!(telling.text.contains("✓ Language → English (answered by the demo itself)"), "{}", telling.text);
    telling.act(|stage| stage.finish(stage::PLAN));
    telling.act(Stage::save_plan);
    telling.pass(1);
    telling.pass(1);
    assert!(
        telling.text.contains("✓ Plan → Confirm & start (answered by the demo itself)"),
        "{}",
        telling.text
    );
}
