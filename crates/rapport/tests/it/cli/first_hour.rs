//! `docs/first-hour.md` is true: its commands are typed into a shell in order, and they print what the page quotes.
//! Only dates, paths, versions and process ids may differ.

use std::collections::BTreeMap;

use rapport_core::Event;

use crate::files::plan;
use crate::support::project::{Project, Ran};
use crate::support::pty::Pty;
use crate::support::scenarios::BUSY;
use crate::support::telegram::{ChatMessage, Rates, TelegramServer};

const PAGE: &str = include_str!("../../../../../docs/first-hour.md");

/// The steps that need no phone.
const STEPS: [u32; 10] = [1, 2, 3, 4, 6, 7, 8, 9, 10, 11];
/// The step with the phone.
const PHONE: u32 = 5;

/// The commands of the first step that get and build the program, which the tests have already.
const BUILD: [&str; 4] = [
    "git clone REPOSITORY rapport",
    "cd rapport",
    "cargo run --release -- demo",
    "cargo install --path crates/rapport --profile dist --features full",
];

/// The programs that the page's commands begin with; a block that begins with none of them is what a command prints.
const PROGRAMS: [&str; 5] = ["rapport", "git", "mkdir", "export", "cargo"];

/// A block of the page, with the number of its step.
struct Block {
    step: u32,
    lines: Vec<&'static str>,
}

impl Block {
    fn is_commands(&self) -> bool {
        let first = self.lines[0].split(' ').take(2).collect::<Vec<_>>();
        PROGRAMS.iter().any(|program| first[0] == *program || first.join(" ") == *program)
    }
}

/// The blocks of the steps, in order.
fn blocks() -> Vec<Block> {
    let (steps, _) = PAGE.split_once("\n## Twenty typical mistakes").unwrap();
    let (mut found, mut step, mut open) = (Vec::new(), 0, None);
    for line in steps.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            step = heading.split('.').next().unwrap().parse().unwrap();
        }
        match (&mut open, line == "```") {
            (None, true) => open = Some(Vec::new()),
            (Some(lines), false) => lines.push(line),
            (Some(lines), true) => {
                found.push(Block { step, lines: std::mem::take(lines) });
                open = None;
            }
            (None, false) => {}
        }
    }
    found
}

/// What has to be on the screen, and the keys that are pressed then.
type Pressed = (&'static [&'static str], &'static str);

const WORK: [Pressed; 4] = [
    (&["Which tone should it have?", "enter answer"], "1"),
    (&["enter or c confirm"], "c"),
    (&["How should the greeting end?", "enter answer"], "1"),
    (&["May the agent use Bash", "enter answer"], "1"),
];

/// What is typed while a command of the page asks.
fn keys(step: u32, command: &str) -> Vec<Pressed> {
    const LAST: [Pressed; 2] =
        [(&["Q3 of 3", "Whom should it greet?", "enter answer"], "1"), (&["Send these answers"], "\r")];
    const REST: [Pressed; 2] = [(&["Q2 of 3", "enter answer"], "1"), (&["[x]"], "\r")];
    const ESPERANTO: [Pressed; 1] = [(&["Q1 of 3", "enter answer"], "3")];
    const ENGLISH: [Pressed; 1] = [(&["Q1 of 3", "enter answer"], "1")];
    match (step, command) {
        (3, command) if command.starts_with("rapport run") => {
            vec![(&["Q1 of 3", "enter answer"], "2"), (&["Q2 of 3", "enter answer"], "d")]
        }
        (6, "rapport resume") => [&LAST[..], &WORK].concat(),
        (8, "rapport resume greeting-branch") => [&ESPERANTO[..], &LAST[1..], &WORK].concat(),
        (10, command) if command.starts_with("rapport run") => [&ENGLISH[..], &REST, &LAST, &WORK].concat(),
        (9 | 10, command) if command.starts_with("rapport undo") => vec![(&["(y)es / (n)o ›"], "y")],
        (11, "rapport resume") => vec![(&["(q)uit ›"], "m"), (&["[✅] EXECUTE"], "\r")],
        (11, "rapport undo") => vec![(&["(y)es / (n)o ›"], "y")],
        _ => Vec::new(),
    }
}

/// A shell at home, with `rapport` on its path and numbered prompts.
struct Shell {
    pty: Pty,
    prompts: usize,
    home: String,
}

impl Shell {
    fn at_home(project: &Project, (columns, rows): (u16, u16), more: &[(&str, &str)]) -> Self {
        let home = project.path("home").display().to_string();
        let programs = std::path::Path::new(env!("CARGO_BIN_EXE_rapport")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let env = [
            ("HOME", home.as_str()),
            ("PATH", &path),
            ("PS1", "[\\#]> "),
            ("PAGER", "cat"),
            // What the page shows is without a container engine.
            ("DOCKER_HOST", "unix:///nowhere"),
            ("GIT_AUTHOR_NAME", "Ada"),
            ("GIT_AUTHOR_EMAIL", "ada@localhost"),
            ("GIT_COMMITTER_NAME", "Ada"),
            ("GIT_COMMITTER_EMAIL", "ada@localhost"),
        ];
        let env = [&env[..], more].concat();
        let mut pty = Pty::spawn("/bin/bash", &["--norc", "--noprofile", "-i"], &env, columns, rows);
        pty.wait_for("[1]>");
        Self { pty, prompts: 1, home }
    }

    /// Types a command and these keys, and waits for the next prompt.
    fn give(&mut self, command: &str, keys: &[Pressed]) {
        self.prompts += 1;
        let prompt = format!("[{}]>", self.prompts);
        self.pty.send(&format!("{command}\n"));
        for (wanted, keys) in keys {
            let what = format!("{wanted:?} after {command}");
            self.pty.wait_until(&what, |screen| wanted.iter().all(|text| screen.contains(text)));
            self.pty.send(keys);
        }
        self.pty.wait_until(&format!("the end of {command}"), |screen| screen.ends_with(&prompt));
    }

    fn screen(&self) -> String {
        masked(&self.pty.text(), &self.home)
    }
}

/// A text without what differs from one machine and one day to another.
fn masked(text: &str, home: &str) -> String {
    let text = text.replace(home, "/home/ada");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let is_begun = out.chars().last().is_some_and(|c| c.is_ascii_alphanumeric() || c == '.');
        if digits == 0 || is_begun {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (number, after) = rest.split_at(digits);
        let version = after.len() - after.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit()).len();
        let is_time = number.len() == 6 && out.ends_with("DATE-");
        let is_age = after.starts_with("s ago") || after.starts_with("m ago");
        match number.len() {
            8 if after.starts_with('-') => out.push_str("DATE"),
            _ if is_time || is_age || out.ends_with("process ") => out.push('N'),
            _ if after.starts_with('.') && after[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                out.push_str("VERSION");
                rest = &after[version..];
                continue;
            }
            _ => out.push_str(number),
        }
        rest = after;
    }
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Whether the lines are in the text, one below the other.
#[track_caller]
fn assert_quoted(page: &str, shown: &str, what: &str) {
    let page = masked(page.trim_end(), "/nowhere");
    assert!(
        format!("\n{shown}").contains(&format!("\n{page}")),
        "{what}: the page says\n{page}\nand this is shown:\n{shown}"
    );
}

/// Large enough that nothing is wrapped and nothing scrolls away.
const LARGE: (u16, u16) = (160, 90);

#[test]
fn the_steps_are_typed_in_order_and_print_what_is_quoted() {
    follow(LARGE, |shell, page, what| assert_quoted(page, &shell.screen(), what));
}

/// In the usual terminal the same is shown, wrapped; every card that asks is there as a whole.
#[test]
fn the_steps_are_typed_in_a_terminal_of_the_usual_size() {
    let words = |text: &str| masked(text, "/nowhere").split_whitespace().collect::<Vec<_>>().join(" ");
    follow((80, 24), |shell, page, what| {
        let shown = words(&shell.pty.everything().replace(&shell.home, "/home/ada"));
        assert!(shown.contains(&words(page)), "{what}: the page says\n{page}\nand this is shown:\n{shown}");
    });
}

/// Types the steps of the page, and has each quotation checked.
fn follow(size: (u16, u16), is_quoted: impl Fn(&mut Shell, &str, &str)) {
    let project = Project::with_agent("");
    let mut shell = Shell::at_home(&project, size, &[]);
    let (mut typed, mut quoted) = (0, 0);
    for block in blocks().iter().filter(|block| STEPS.contains(&block.step)) {
        if !block.is_commands() {
            quoted += 1;
            is_quoted(&mut shell, &block.lines.join("\n"), &format!("step {}", block.step));
            continue;
        }
        for command in block.lines.iter().filter(|command| !BUILD.contains(command)) {
            typed += 1;
            shell.give("clear", &[]);
            shell.give(command, &keys(block.step, command));
            assert!(
                !shell.screen().contains("\nrapport: ") || *command == block.lines[0],
                "{}",
                shell.screen()
            );
        }
    }
    assert!(typed > 30 && quoted >= 4, "{typed} commands, {quoted} quotations");
    // What came of it: the branch is taken over, the third was applied and undone.
    let hello =
        |path: &str| std::fs::read_to_string(project.path("home/hello").join(path)).unwrap_or_default();
    assert!(hello("greeting.sh").contains("language='Esperanto'"), "{}", hello("greeting.sh"));
    let completions = project.path("home/.local/share/bash-completion/completions/rapport");
    assert!(std::fs::read_to_string(completions).unwrap().contains("complete "), "completions are installed");
    shell.pty.send("exit\n");
    assert!(shell.pty.wait_end().success());
}

/// What `serve` prints, without the name of the bot, the time and the code.
fn masked_serving(text: &str) -> String {
    let mask = |word: &str| {
        let is_code = word.len() == 8 && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        let is_time = word.contains(|c: char| c.is_ascii_digit()) && word.contains(['-', ':']);
        match word {
            _ if word.starts_with('@') => "@BOT".to_owned(),
            _ if is_code => "CODE".to_owned(),
            _ if is_time => "TIME".to_owned(),
            _ => word.to_owned(),
        }
    };
    text.lines().map(|line| line.split(' ').map(mask).collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// A card as the page shows it: its text, then its buttons row by row.
fn drawn(card: &ChatMessage) -> String {
    let row =
        |labels: &Vec<String>| labels.iter().map(|label| format!("[{label}]")).collect::<Vec<_>>().join(" ");
    let rows: Vec<_> = card.buttons().iter().map(row).collect();
    format!("{}\n\n{}\n", card.text(), rows.join("\n"))
}

/// Step 5, on a phone: the bot is paired and asks the open question, and the session continues at the terminal.
#[tokio::test]
async fn the_step_with_the_phone_is_followed() {
    let blocks: Vec<_> = blocks().into_iter().filter(|block| block.step == PHONE).collect();
    let [commands, serving, asked] = blocks.as_slice() else { panic!("{} blocks", blocks.len()) };
    let project = Project::called("home/hello", "rehearsal");
    ask(&project);
    project.rapport(&["answer", "greeting", "--question", "q1", "German"]).check(0, "");
    project.rapport(&["answer", "greeting", "--question", "q2", "Date", "Smile"]).check(0, "");
    let server = TelegramServer::start().await;
    let (url, faster) = (server.url(), "20");
    server.rates(Rates::Faster(20));
    let more = [
        ("RAPPORT_AGENT_COMMAND", "rehearsal"),
        ("RAPPORT_TELEGRAM_API_URL", url.as_str()),
        ("RAPPORT_TELEGRAM_FASTER", faster),
    ];
    let mut shell = Shell::at_home(&project, LARGE, &more);
    shell.give("cd ~/hello", &[]);
    let [export, serve] = commands.lines.as_slice() else { panic!("{:?}", commands.lines) };
    shell.give(&export.replace("123456:the-token", server.token()), &[]);
    shell.pty.send(&format!("clear; {serve}\n"));
    shell.pty.wait_for("send it this code until");
    let shown = shell.pty.text();
    let page = masked_serving(&serving.lines.join("\n"));
    let said = masked_serving(&shown.replace(&shell.home, "/home/ada"));
    assert!(said.contains(page.trim_end()), "the page says\n{page}\nand this is shown:\n{said}");

    let code = shown.split_whitespace().rfind(|word| masked_serving(word) == "CODE\n").unwrap();
    let anna = server.person(42, "Anna");
    anna.types(code);
    let card = anna.sees("Whom should it greet?").await;
    assert_eq!(drawn(&card).trim_end(), asked.lines.join("\n"));
    anna.taps("World").await;
    anna.sees("Which tone should it have?").await;
    anna.taps("Friendly").await;
    anna.sees("Greeting").await;
    assert!(anna.on_screen_button("✅ Confirm & Start"), "{}", anna.screen());

    shell.prompts += 1;
    let prompt = format!("[{}]>", shell.prompts);
    shell.pty.send("\x03");
    shell.pty.wait_until("the prompt", |screen| screen.ends_with(&prompt));
    shell.give("rapport resume", &WORK[1..]);
    shell.give("clear", &[]);
    shell.give("rapport log greeting", &[]);
    let fact = "q3 is answered by 42 (telegram): World";
    assert!(PAGE.contains(&format!("`{fact}`")) && shell.screen().contains(fact), "{}", shell.screen());
    assert_eq!(server.violations(), []);
}

/// The mistakes of the page by number: the command, and what it prints.
fn mistakes() -> BTreeMap<u32, (&'static str, &'static str)> {
    let (_, mistakes) = PAGE.split_once("\n## Twenty typical mistakes").unwrap();
    let mut found = BTreeMap::new();
    for part in mistakes.split("\n**").skip(1) {
        let Some((number, rest)) = part.split_once(". ") else { continue };
        let command = rest.split("`rapport ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
        let printed = rest.split("```\n").nth(1).unwrap();
        found.insert(number.parse().unwrap(), (command, printed));
    }
    found
}

/// A question, a plan, and a script.
const GREET: &str = r##"
version: 1
name: greet
invocations:
  - steps:
      - ask: { questions: [{ question: "Which language?", header: Language, options: [{ label: English }, { label: German }] }] }
    result: "# Greet\n\n1. Greet."
  - steps:
      - write: { path: greeting.sh, content: "echo {{answer:1}}\n" }
    result: "Greets."
"##;

/// Begins the task, and leaves it while it asks.
fn ask(project: &Project) {
    let mut running = project.start(&["add a greeting"], &[]);
    running.until_asked();
    running.kill();
}

fn finish(project: &Project, id: &str) {
    project.rapport(&["answer", id, "--question", "q1", "German"]).check(0, "");
    let mut running = project.start(&["--resume", id], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", id, "confirm"]).check(0, "");
    assert_eq!(running.finish(), 0);
}

/// A project in which the task was done.
fn done() -> Project {
    let project = Project::called("hello", "").playing(GREET);
    ask(&project);
    finish(&project, project.session().as_str());
    project
}

fn asking() -> Project {
    let project = Project::called("hello", "rehearsal");
    ask(&project);
    project
}

/// What the command of a mistake prints in this project.
#[track_caller]
fn check_in(number: u32, project: &Project) {
    let (command, _) = mistakes()[&number];
    check(number, project, &project.sh(&format!("rapport {command}")));
}

#[track_caller]
fn check(number: u32, project: &Project, ran: &Ran) {
    let (command, printed) = mistakes()[&number];
    // The page is about a person's home; the test's projects are beside theirs.
    let beside = project.path("").display().to_string();
    let said = masked(&format!("{}{}", ran.out(), ran.err()), beside.trim_end_matches('/'));
    assert_quoted(printed, &said, &format!("mistake {number}, rapport {command}"));
}

#[test]
fn the_page_has_twenty_mistakes() {
    assert_eq!(mistakes().into_keys().collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
}

#[test]
fn mistakes_1_to_4_before_anything_runs() {
    let project = Project::called("hello", "rehearsal");
    check_in(1, &project);
    check_in(4, &project);
    // Only git and a shell are installed.
    let programs = project.path("programs");
    std::fs::create_dir(&programs).unwrap();
    let path = std::env::var("PATH").unwrap();
    for name in ["git", "sh"] {
        let mut real = std::env::split_paths(&path).map(|dir| dir.join(name));
        std::os::unix::fs::symlink(real.find(|path| path.exists()).unwrap(), programs.join(name)).unwrap();
    }
    let bare = project.set("PATH", &programs.display().to_string()).set("RAPPORT_AGENT_COMMAND", "claude");
    check_in(2, &bare);
    let logged_out = "version: 1\nname: out\ninvocations:\n  - result: \"Not logged in · Please run /login\"\n    is_error: true\n";
    check_in(3, &Project::called("hello", "").playing(logged_out));
}

#[test]
fn mistakes_5_and_6_about_a_session_that_is_over() {
    let project = Project::called("hello", "").playing(GREET);
    ask(&project);
    let original = project.session();
    let branched: serde_json::Value = project.json(&["branch", "greeting", "--at", "q1", "--json"]);
    finish(&project, original.as_str());
    check_in(6, &done());
    finish(&project, branched["session"].as_str().unwrap());
    check_in(5, &project);
}

#[test]
fn mistakes_7_to_10_with_an_answer() {
    check_in(8, &asking());
    let project = asking();
    check_in(7, &project);
    check_in(9, &project);
    check_in(10, &project);
}

#[test]
fn mistakes_11_12_and_14_with_a_session_that_goes_on() {
    let project = Project::called("hello", "").playing(BUSY);
    let mut running = project.start(&["add a greeting"], &[]);
    running.until(|fact| matches!(fact, Event::Said { .. }));
    check_in(11, &project);
    running.kill();
    check_in(12, &project);
    check_in(14, &project);
}

#[test]
fn mistake_13_without_git() {
    let project = Project::called("hello", "rehearsal");
    std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    check_in(13, &project);
}

#[test]
fn mistake_15_undo_of_a_file_that_was_changed_since() {
    let project = done();
    std::fs::write(project.root().join("greeting.sh"), "echo mine\n").unwrap();
    let (command, _) = mistakes()[&15];
    check(15, &project, &project.sh(&format!("rapport {command} --yes")));
}

#[test]
fn mistake_16_apply_where_both_changed_the_same() {
    let project = done();
    let mut running = project.start(&["--worker", "worktree", "add a greeting"], &[]);
    running.until_asked();
    project.rapport(&["answer", "greeting-2", "English"]).check(0, "");
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", "greeting-2", "confirm"]).check(0, "");
    assert_eq!(running.finish(), 0);
    std::fs::write(project.root().join("greeting.sh"), "echo mine\n").unwrap();
    check_in(16, &project);
}

#[test]
fn mistakes_17_and_18_in_a_plan() {
    let project = Project::called("hello", "rehearsal");
    let create = "### `CREATE`\n\n- **File Path:** [a.txt](/a.txt)\n\n```text\na\n```\n".to_owned();
    let wrong = plan("Wrong", &[], &[], std::slice::from_ref(&create)).replace("### `CREATE`", "### `CREAT`");
    let line = wrong.lines().position(|line| line.contains("CREAT")).unwrap();
    let wrong = match line {
        line if line < 10 => wrong.replacen("\n\n", &format!("\n\n{}", "\n".repeat(10 - line)), 1),
        _ => (10..line).fold(wrong, |wrong, _| wrong.replacen("\n\n", "\n", 1)),
    };
    std::fs::write(project.root().join("plan.md"), wrong).unwrap();
    check_in(17, &project);
    let run = "### `EXECUTE`\n\n- **Description:** Fail.\n\n```sh\necho no; false\n```\n".to_owned();
    let delete = "### `DELETE`\n\n- **File Path:** [a.txt](/a.txt)\n".to_owned();
    std::fs::write(project.root().join("plan.md"), plan("Fail", &[], &[], &[create, run, delete])).unwrap();
    check_in(18, &project);
}

#[test]
fn mistake_19_in_the_settings() {
    let project = Project::called("hello", "rehearsal");
    std::fs::create_dir_all(project.root().join(".rapport")).unwrap();
    std::fs::write(project.root().join(".rapport/config.yaml"), "agent:\n  comand: claude\n").unwrap();
    check_in(19, &project);
}

#[test]
fn mistake_20_with_a_copy() {
    let project = asking();
    let copy = project.path("copy");
    let copied = std::process::Command::new("cp").arg("-r").args([&project.root(), &copy]).status().unwrap();
    assert!(copied.success());
    let (command, _) = mistakes()[&20];
    check(20, &project, &project.sh(&format!("cd {} && rapport {command}", copy.display())));
}

#[test]
fn what_differs_is_masked() {
    for (text, expected) in [
        ("rapport resume 20261117-add-a-greeting", "rapport resume DATE-add-a-greeting\n"),
        ("--batch 20261117-011505", "--batch DATE-N\n"),
        ("git version 2.47.3, in /here/hello", "git version VERSION, in /home/ada/hello\n"),
        ("held by process 1942", "held by process N\n"),
        ("stopped   1s ago  add", "stopped   Ns ago  add\n"),
        ("plan.md:11: 1 of 3", "plan.md:11: 1 of 3\n"),
        ("config.yaml:2:3: unknown", "config.yaml:2:3: unknown\n"),
    ] {
        assert_eq!(masked(text, "/here"), expected);
    }
}
