//! Without a terminal: only lines, and commands to answer with.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rapport::channels::terminal::plain::Plain;
use rapport::channels::terminal::{AutoAnswer, Effect, Front as _, Outcome, ScreenInput, Terminal};
use rapport::engine::Update;
use rapport_core::{
    Act, Activity, AgentDid, Ask, By, Entry, NewQuestion, OpenQuestion, Permission, Progress, Purpose,
    QuestionId, Reply, Status, ToolUse, World,
};

use super::config;
use crate::support::stage::{self, Stage, anna, usage};

/// A session told in plain lines.
pub(super) struct Telling {
    plain: Plain<Vec<u8>>,
    pub(super) stage: Stage,
    now: Duration,
    pub(super) text: String,
    outcome: Option<Outcome>,
}

impl Telling {
    fn new(auto: Option<AutoAnswer>) -> Self {
        Self::with(Terminal { auto, interactive: false, ..config() })
    }

    /// Where lines can be typed.
    fn typed() -> Self {
        Self::with(Terminal { interactive: true, ..config() })
    }

    fn with(config: Terminal) -> Self {
        Self::of(config, Stage::new("Add user authentication"))
    }

    /// The same of this session.
    pub(super) fn of(config: Terminal, (stage, first): (Stage, Entry)) -> Self {
        let plain = Plain::new(config, stage::id(), 0, Vec::new());
        let mut telling = Self { plain, stage, now: Duration::ZERO, text: String::new(), outcome: None };
        telling.see(first);
        telling
    }

    pub(super) fn act(&mut self, act: impl FnOnce(&mut Stage) -> Entry) {
        let entry = act(&mut self.stage);
        self.see(entry);
    }

    fn see(&mut self, entry: Entry) {
        self.step(ScreenInput::Update(Update::Entry(entry)));
    }

    fn step(&mut self, happening: ScreenInput) {
        for effect in self.plain.step(happening, self.now) {
            match effect {
                Effect::Print(lines) => {
                    lines.iter().for_each(|line| self.text.push_str(&format!("{}\n", line.text().trim_end())))
                }
                Effect::Notify(_) | Effect::Suspend => {}
                Effect::Leave(outcome) => self.outcome = Some(outcome),
                Effect::Submit { by, act } => {
                    let entry = self.stage.person(by, *act);
                    self.step(ScreenInput::Submitted(
                        entry.as_ref().map(|_| ()).map_err(ToString::to_string),
                    ));
                    entry.into_iter().for_each(|entry| self.see(entry));
                }
            }
        }
    }

    /// Types a line, and returns what is printed then.
    pub(super) fn line(&mut self, line: &str) -> String {
        let before = self.text.len();
        self.step(ScreenInput::Line(line.to_owned()));
        self.text[before..].to_owned()
    }

    pub(super) fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.step(ScreenInput::TimePassed);
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
    telling.act(|stage| {
        stage.agent(AgentDid::Use { tool: "Write".into(), what: "src/auth.rs".into(), kind: ToolUse::Writes })
    });
    telling.act(|stage| stage.agent(AgentDid::Spend { usage: usage(52_000, 900, 310_000) }));
    telling.act(|stage| stage.finish("All done."));
    telling.act(|stage| stage.world(World::Report { changes: None }));
    assert_eq!(telling.outcome, Some(Outcome::Ended(Status::Completed)));
    insta::assert_snapshot!("plain-story", telling.text);
}

/// The plan's file exists, and is named, before a person is asked to confirm it.
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
    let draft =
        NewQuestion { free_text: false, ..stage::draft("", "Which?", &[("$(rm -rf ~)", ""), ("b", "")]) };
    telling.act(|stage| stage.ask(Ask::Questions(vec![draft, stage::draft("", "Name?", &[])])));
    assert!(telling.text.contains("--question q1 1\n"), "{}", telling.text);
    assert!(telling.text.contains("--question q2 \"your words\"\n"), "{}", telling.text);
}

#[test]
fn nothing_but_text_is_written_and_every_line_at_once() {
    let mut telling = Telling::new(None);
    let evil = "\u{1b}[2Jred\r\u{7}";
    telling.act(|stage| {
        stage.agent(AgentDid::Use { tool: "Bash".into(), what: evil.into(), kind: ToolUse::Runs })
    });
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
    telling.step(ScreenInput::Key(super::key("enter")));
    assert_eq!(telling.stage.view().questions.len(), 1);
    telling.step(ScreenInput::Stopped);
    assert_eq!(telling.outcome, Some(Outcome::Detached));
    assert!(telling.text.ends_with("Answer from anywhere with: rapport answer 20260124-add-user-auth\n"));
}

/// After the last words no line is read, so the shell's own prompt is the next one.
#[test]
fn no_prompt_follows_the_last_words() {
    let written = Written::default();
    let (mut stage, first) = Stage::new("Add user authentication");
    let config = Terminal { interactive: true, ..config() };
    let mut plain = Plain::new(config, stage::id(), 0, written.clone());
    let asked = stage.ask(Ask::Questions(vec![stage::auth()]));
    let seen = [first, asked].map(|entry| ScreenInput::Update(Update::Entry(entry)));
    for input in seen.into_iter().chain([ScreenInput::Stopped]) {
        for effect in plain.step(input, Duration::ZERO) {
            let Effect::Print(lines) = effect else { continue };
            plain.show(&lines, Duration::ZERO).unwrap();
        }
    }
    let text = written.text();
    assert!(text.contains(" > \n"), "there was a prompt before: {text}");
    assert!(text.ends_with("rapport answer 20260124-add-user-auth\n"), "{text}");
}

/// What was written, for the test to read.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn progress_is_told_where_no_fact_tells_it() {
    let mut telling = Telling::new(None);
    let doing = |what: Activity| {
        ScreenInput::Update(Update::Progress(Progress { doing: Some(what), usage: usage(1, 1, 1) }))
    };
    let used = |what: &str| AgentDid::Use { tool: "Read".into(), what: what.into(), kind: ToolUse::Reads };
    let before = telling.text.len();
    telling.step(doing(Activity::tool("Read", "a", ToolUse::Reads)));
    telling.act(|stage| stage.agent(used("a")));
    telling.step(doing(Activity::tool("Read", "a", ToolUse::Reads)));
    telling.pass(6);
    telling.step(doing(Activity::words("thinks")));
    telling.pass(4);
    telling.step(doing(Activity::words("thinks hard")));
    telling.pass(4);
    telling.pass(1);
    telling.step(doing(Activity::words("thinks hard")));
    telling.pass(6);
    telling.step(doing(Activity::tool("Read", "b", ToolUse::Reads)));
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
    let by = By::written_rule("demo");
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

/// With a screen reader, a person hears one question at a time, can hear it again, and can change an answer.
#[test]
fn lines_ask_one_question_at_a_time_and_go_back() {
    let mut telling = Telling::typed();
    telling.act(Stage::connect);
    telling.act(|stage| stage.ask(Ask::Questions(vec![stage::auth(), stage::tests(), stage::language()])));
    assert!(telling.text.contains("? q1 (1 of 3)") && !telling.text.contains("? q2"), "{}", telling.text);
    let again = telling.line("?");
    assert!(again.contains("? q1 (1 of 3)") && again.contains("? shows this again"), "{again}");
    assert_eq!(telling.line("<"), "! there is no earlier question to go back to in this round\n");
    let next = telling.line("1");
    assert!(next.starts_with("✓ Auth method → JWT\n? q2 (2 of 3)"), "{next}");
    assert!(next.contains("< goes back") && !next.contains("? q3"), "{next}");
    let back = telling.line("<");
    assert!(back.contains("? q1 (1 of 3)") && back.contains("answered before: JWT; an empty line keeps it"));
    let kept = telling.line("");
    assert!(kept.contains("? q2 (2 of 3)"), "{kept}");
    telling.line("1");
    let refused = telling.line("1 2 = and more");
    assert!(refused.starts_with("! q3 "), "a single choice takes no list as free text: {refused}");
    telling.line("1");
    telling.line("y");
    assert_eq!(telling.stage.view().questions.len(), 0);
}

/// Several numbers at a single choice are not free text by accident.
#[test]
fn several_options_at_a_single_choice_are_refused() {
    let mut telling = Telling::typed();
    telling.act(Stage::connect);
    telling.act(|stage| stage.ask(Ask::Questions(vec![stage::auth()])));
    for line in ["1 3", "1, 3", "JWT 3"] {
        let refused = telling.line(line);
        assert!(refused.starts_with("! q1 accepts one choice, not several"), "{line}: {refused}");
    }
    assert_eq!(telling.stage.view().questions.len(), 1);
    telling.line("=1 3");
    assert_eq!(telling.stage.view().answers[0].answer, "1 3");
}

/// CHAT-29: an answer that was changed elsewhere is told as it is now.
#[test]
fn chat_29_a_changed_answer_is_told() {
    let mut telling = Telling::typed();
    telling.act(Stage::connect);
    telling.act(|stage| stage.ask(Ask::Questions(vec![stage::language(), stage::auth()])));
    telling.line("1");
    let change = Act::Change { question: QuestionId::new("q1"), reply: Reply::Choices(vec![1]) };
    let before = telling.text.len();
    telling.act(|stage| stage.person(stage::me(), change).expect("the change"));
    assert_eq!(&telling.text[before..], "✓ Language → German (instead of English)\n");
}

/// Whoever leaves at the last look is told that the last answer was not sent.
#[test]
fn the_last_answer_is_not_lost_in_silence() {
    let mut telling = Telling::typed();
    telling.act(Stage::connect);
    telling.act(|stage| stage.ask(Ask::Questions(vec![stage::auth(), stage::language()])));
    telling.line("1");
    telling.line("2");
    let before = telling.text.len();
    telling.step(ScreenInput::Stopped);
    let left = &telling.text[before..];
    assert!(left.contains("! Your last answer was not sent: Language → German\n"), "{left}");
    assert!(left.contains("rapport answer 20260124-add-user-auth --question q2 2\n"), "{left}");
}

/// The last answer of a round is not sent before all of them were seen once more, as on the screen.
#[test]
fn lines_have_a_last_look_over_a_round() {
    let mut telling = Telling::typed();
    telling.act(Stage::connect);
    telling.act(|stage| stage.ask(Ask::Questions(vec![stage::auth(), stage::language()])));
    telling.line("1");
    let look = telling.line("2");
    assert!(look.starts_with("? These are your answers:\n  1. "), "{look}");
    assert!(look.contains("→ JWT\n  2. ") && look.contains("→ German (not sent yet)\n"), "{look}");
    assert!(look.contains("y sends them; edit NUMBER changes that answer"), "{look}");
    assert_eq!(telling.stage.view().questions.len(), 1, "nothing is sent yet");
    for unclear in ["yesterday", "", "edit", "edit 7", "1"] {
        assert!(telling.line(unclear).starts_with("! "), "{unclear}");
        assert_eq!(telling.stage.view().questions.len(), 1, "{unclear}");
    }
    // The last answer, then one before it.
    let again = telling.line("edit 2");
    assert!(again.contains("? q2 (2 of 2)"), "{again}");
    telling.line("1");
    let changed = telling.line("edit 1");
    assert!(changed.contains("? q1 (1 of 2)") && changed.contains("answered before: JWT"), "{changed}");
    // The answer that was not sent is still there, as on the screen.
    let look = telling.line("2");
    assert!(look.contains("? These are your answers:"), "{look}");
    assert!(!look.contains("→ JWT") && look.contains("→ English (not sent yet)"), "{look}");
    assert!(!look.contains("? q2"), "{look}");
    telling.line("Yes");
    assert_eq!(telling.stage.view().questions.len(), 0);
}

#[test]
fn lines_edit_an_answer_at_the_confirmation() {
    let mut telling = Telling::typed();
    telling.act(Stage::connect);
    telling.act(|stage| stage.ask(Ask::Questions(vec![stage::auth()])));
    telling.line("1");
    telling.act(|stage| stage.finish(stage::PLAN));
    telling.act(Stage::save_plan);
    telling.pass(2);
    assert!(telling.text.contains("edit NUMBER changes that answer"), "{}", telling.text);
    for wrong in ["edit", "edit 7"] {
        assert_eq!(telling.line(wrong), "! name an answer by its number, as in: edit 1\n");
    }
    let asked = telling.line("edit 1");
    assert!(asked.contains("? q1") && asked.contains("answered before: JWT"), "{asked}");
    let before = telling.text.len();
    telling.line("2");
    telling.act(Stage::save_plan);
    let summary = &telling.text[before..];
    assert!(summary.contains("An answer came after this was proposed"), "{summary}");
    assert!(summary.contains("? confirm"), "{summary}");
    // Whole sentences decide nothing by accident; after a = they are for the agent.
    telling.pass(2);
    let refused = telling.line("edit the second step please");
    assert!(refused.starts_with("! confirm is a decision"), "{refused}");
    telling.line("=edit the second step please");
    assert!(telling.stage.view().questions.is_empty(), "the plan is made again: {}", telling.text);
}
