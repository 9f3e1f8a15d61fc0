//! The log of what Rapport does, and the report for developers: complete enough to help, and without secrets.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::patience::wait_for;
use crate::support::project::Project;

/// What must not be seen, in every place where one can be: variables of ours, of agents and of others, and settings.
const SECRETS: [(&str, &str); 6] = [
    ("ANTHROPIC_API_KEY", "sk-ant-secret-one"),
    ("TELEGRAM_BOT_TOKEN", "4242:secret-two"),
    ("RAPPORT_PLANNER_API_KEY", "sk-secret-three"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "oauth-secret-four"),
    ("AWS_SECRET_ACCESS_KEY", "secret-five"),
    ("HTTPS_PROXY", "http://anna:secret-six@proxy"),
];
/// In the home's settings.
const SETTINGS: &str = "telegram:\n  token: 4243:secret-seven\n  webhook:\n    url: https://example.org/secret-eight\n    listen: 127.0.0.1:0\n    \
    secret: secret-nine\nplanner:\n  api_key: secret-ten\nagent:\n  hot: 7m\n  env: [AWS_SECRET_ACCESS_KEY]\n";

/// What people and agents say in the story.
const WORDS: [&str; 6] = [
    "the-task-text",
    "the-question-text",
    "the-chosen-answer",
    "the-own-words",
    "the-plan-text",
    "the-result-text",
];

const STORY: &str = r##"
version: 1
name: words
invocations:
  - steps:
      - ask: { questions: [{ question: "Is the-question-text clear?", header: "A", options: [{ label: "the-chosen-answer" }, { label: "Other" }] }] }
      - ask: { questions: [{ question: "And the-question-text again?", header: "B", options: [{ label: "One" }, { label: "Two" }] }] }
    result: "# Plan\n\n1. the-plan-text"
  - result: "the-result-text"
"##;

fn project() -> Project {
    let project = Project::with_scenario(STORY);
    let project = SECRETS.iter().fold(project, |project, (name, value)| project.set(name, value));
    let home = project.path("home/.rapport");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.yaml"), SETTINGS).unwrap();
    project
}

#[track_caller]
fn says_nothing_secret(text: &str) {
    assert!(!text.contains("secret-"), "a secret is in:\n{text}");
    for words in WORDS {
        // A session is named after its task, so that name alone is known.
        let rest = text.replace("-the-task-text", "");
        assert!(!rest.contains(words), "{words} is in:\n{text}");
    }
}

/// A fault of a daemon can be traced: with everything switched on, the log of a whole story says what happened in which
/// session and run, up to the keepers, and nothing of what was said, nor any secret.
#[test]
fn the_log_tells_the_story_without_its_words_and_without_secrets() {
    let project = project();
    let file = project.path("log.txt").display().to_string();
    let project = project.set("RAPPORT_LOG", "trace").set("RAPPORT_LOG_FILE", &file);
    let mut running = project.start(&["the-task-text"], &[]);
    let session = || project.session().to_string();
    for answer in [&["the-chosen-answer"][..], &["--text", "the-own-words"], &["confirm"]] {
        let open = project.wait_asked();
        let session = session();
        let args = [&["answer", session.as_str(), "--question", open[0].id.as_str()], answer].concat();
        project.rapport(&args).check(0, "");
        let id = open[0].id.clone();
        wait_for("the next question", || {
            let view: Vec<rapport_core::View> = project.json(&["status", "--json"]);
            view[0].questions.iter().all(|open| open.id != id).then_some(())
        });
    }
    while running.next().is_some() {}
    assert_eq!(running.finish(), 0);
    let log = std::fs::read_to_string(&file).unwrap();
    says_nothing_secret(&log);
    for part in [
        "started version=",
        "command=\"Run\"",
        "session{id=",
        "session resumed",
        "run{run=1 turn=1}: rapport_engine",
        "agent started",
        "process started",
        "kept process started",
        "facts=\"Asked\"",
        "facts=\"Answered\"",
        "call done",
        "agent told command=\"Reply\"",
        "agent ended",
        "kept process ended",
        "process ended",
        "done",
    ] {
        assert!(log.contains(part), "{part} is not in:\n{log}");
    }
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let of_libraries = log.lines().find(|line| line.contains("hyper") || line.contains("rustls"));
    assert_eq!(of_libraries, None, "only our own modules are heard");
}

/// Logging is off by default, and goes to stderr if no file is named. It does not change the output of a command. An
/// invalid filter is refused.
#[test]
fn nothing_is_logged_unless_it_is_asked_for() {
    let project = project();
    assert_eq!(project.rapport(&["status"]).err(), "");
    let logged = project.rapport(&["--log", "debug", "status", "--json"]);
    logged.check(0, "[]");
    assert!(logged.err().contains("started version="), "{}", logged.err());
    project.rapport(&["--log", "no=such=level", "status"]).check(2, "is not a log level");
    project.rapport(&["--log", "!!!", "status"]).check(2, "is not a log level");
    project.rapport(&["--log-file", "/no/such/place", "status"]).check(2, "cannot log to /no/such/place");
    let pipe = project.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.display().to_string();
    project.rapport(&["--log-file", &pipe, "status"]).check(2, "cannot log to");
}

/// The screen is not drawn into; how much was left out is told when it is gone.
#[test]
fn on_a_terminal_the_log_stays_out_of_the_screen() {
    let project = project().set("RAPPORT_LOG", "trace");
    let mut pty = project.terminal(&["run", "the-task-text"], 100, 40);
    pty.wait_for("Is the-question-text clear?");
    let seen = pty.text();
    assert!(!seen.contains("stored seq="), "{seen}");
    pty.send("\x03");
    pty.wait_for("lines of the log were left out while the screen was drawn");
}

/// `doctor --report` has versions, settings with their sources, counts, limits and the last errors; no secret, no
/// words.
#[test]
fn the_report_has_what_helps_and_nothing_secret() {
    let project = project();
    let log = project.path("log.txt").display().to_string();
    let run =
        project.rapport(&["--log-file", &log, "run", "--json", "--agent", "no-such-agent", "the-task-text"]);
    assert_ne!(run.code(), 0);
    std::fs::write(&log, std::fs::read_to_string(&log).unwrap() + "2026 ERROR rapport_engine: not stored\n")
        .unwrap();
    let printed = project.rapport(&["--log-file", &log, "doctor", "--report"]);
    printed.check(0, concat!("rapport ", env!("CARGO_PKG_VERSION")));
    let file = project.path("report.txt").display().to_string();
    project.rapport(&["--log-file", &log, "doctor", "--report", &file]).check(0, "Wrote");
    let written = std::fs::read_to_string(&file).unwrap();
    for text in [printed.out(), written] {
        says_nothing_secret(&text);
        for part in [
            "git: git version",
            "agent.hot (home): 7m",
            "telegram.token (home): ***",
            "RAPPORT_PLANNER_API_KEY (environment): ***",
            "Failed at ",
            "open files: ",
            " MB, ",
            "ERROR rapport_engine: not stored",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
    }
    let json: serde_json::Value = project.json(&["doctor", "--report", "--json"]);
    assert_eq!(json["rapport"], env!("CARGO_PKG_VERSION"));
}
