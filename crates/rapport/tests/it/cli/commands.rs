//! What all commands have in common, and the small commands one by one.

use std::process::Stdio;

use serde_json::Value;

use crate::support::project::{Project, Ran};
use crate::support::scenarios::ONE_QUESTION;

/// A project with a session that waits for `q1`, and that no process runs.
fn waiting() -> Project {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    project
}

#[test]
fn every_command_has_help_with_examples() {
    let project = Project::with_agent("rehearsal");
    for command in
        ["demo", "run", "plan", "status", "answer", "log", "cancel", "serve", "doctor", "completions"]
    {
        let help = project.rapport(&[command, "--help"]);
        help.check(0, &format!("Usage: rapport {command}"));
        let text = help.out();
        let (_, examples) = text.split_once("Example").unwrap_or_else(|| panic!("no examples: {text}"));
        assert!(examples.contains(&format!("rapport {command}")), "{text}");
    }
    let help = project.rapport(&["--help"]);
    for code in ["0 done", "1 trouble", "2 wrong usage", "3 refused", "5 held", "8 cancelled", "130 stopped"]
    {
        help.check(0, code);
    }
    project.rapport(&["--version"]).check(0, "rapport 0.");
}

/// `rapport run ... | head -1` ends like every command whose reader is gone, and nothing continues.
#[test]
fn a_run_whose_reader_is_gone_ends_quietly() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut command = project.command();
    command.args(["run", "paint"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    drop(running.stdout.take());
    let output = running.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(141), ""));
    assert_eq!(project.agents_alive(), []);
}

#[test]
fn failures_are_json_where_json_is_asked_for() {
    let project = waiting();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["run", "--json", ""], 3, "the task is empty"),
        (&["run", "--json"], 2, "required arguments were not provided"),
        (&["run", "--json", "--hot", "soon", "x"], 2, "\"soon\" is not a time such as 30s, 5m or 2h"),
        (&["--json", "frobnicate"], 2, "unrecognized subcommand 'frobnicate'"),
        (&["status", "--json", "nothing"], 4, "there is no session nothing"),
        (&["answer", "--json", "paint", "9"], 3, "there is no option 9"),
        (&["log", "--json", "nothing"], 4, "there is no session nothing"),
        (&["cancel", "--json", "nothing"], 4, "there is no session nothing"),
        (&["demo", "--json", "--scenario", "none"], 2, "cannot read the scenario none"),
    ];
    for (args, code, says) in cases {
        let ran = project.rapport(args);
        ran.check(code, "");
        assert_eq!(ran.out(), "", "{args:?}");
        let said: Value =
            serde_json::from_str(&ran.err()).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", ran.err()));
        assert_eq!(said["error"]["code"], code, "{args:?}");
        assert!(said["error"]["message"].as_str().unwrap().contains(says), "{args:?}: {said}");
        assert!(said["error"]["hints"].is_array());
    }
    project.rapport(&["--json", "--help"]).check(0, "Usage: rapport");
}

#[test]
fn success_is_json_where_json_is_asked_for() {
    let project = waiting();
    let id = project.session();
    let view: Value = project.json(&["status", "--json", "paint"]);
    assert_eq!(view["id"], id.as_str());
    let answered: Value = project.json(&["answer", "--json", "paint", "Red"]);
    assert_eq!(
        answered,
        serde_json::json!({ "session": id, "answered": true, "running": false, "question": "q1", "answer": "Red" })
    );
    let checks: Value = project.json(&["doctor", "--json"]);
    assert!(checks.as_array().unwrap().iter().all(|check| check["state"] == "good"), "{checks}");
    let cancelled: Value = project.json(&["cancel", "--json", "paint"]);
    assert_eq!(cancelled, serde_json::json!({ "session": id, "status": "cancelled" }));
    for line in project.rapport(&["log", "--json", "paint"]).check(0, "").out().lines() {
        serde_json::from_str::<rapport_core::Entry>(line).unwrap();
    }
}

#[test]
fn sessions_are_named_by_a_part_that_no_other_has() {
    let project = waiting();
    let id = project.session();
    for name in [id.as_str(), "paint", "ain"] {
        project.rapport(&["status", name]).check(0, id.as_str());
    }
    for name in ["nothing", "", "..", "../app", "/", "paint/../paint"] {
        project.rapport(&["status", name]).check(4, "there is no session");
        project.rapport(&["run", "--resume", name]).check(4, "See what there is with: rapport status\n");
    }
    let mut second = project.start(&["paint", "more"], &[]);
    second.until_asked();
    second.kill();
    project.rapport(&["status", "pain"]).check(2, "several session names contain pain");
    project.rapport(&["status", "more"]).check(0, "paint-more");
}

#[test]
fn status_tells_what_waits_and_what_nobody_runs() {
    let project = Project::with_agent("rehearsal");
    project.rapport(&["status"]).check(0, "No sessions here yet.");
    let project = waiting();
    let id = project.session();
    let status = project.rapport(&["status"]);
    status.check(0, &format!("{id}  needs input  "));
    status.check(0, &format!("        2. Blue\n    rapport answer {id} --question q1 VALUE\n"));
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    for args in [&["status"][..], &["status", "paint"]] {
        project.rapport(args).check(0, "  stopped  ").check(0, &format!("go on with: rapport resume {id}"));
    }
    project.rapport(&["status", "paint"]).check(0, "  q1  Which colour? -> Red (by ");
}

/// Both ways to plan are named where it is not clear which is meant.
#[test]
fn plan_says_what_it_needs() {
    let project = Project::with_agent("rehearsal");
    for (args, what) in [(&["plan"][..], "nothing to plan"), (&["plan", "x"], "the kind of plan is missing")]
    {
        let ran = project.rapport(args);
        ran.check(2, what).check(2, "rapport plan -m \"").check(2, "--as progress");
    }
}

#[test]
fn a_project_is_a_directory() {
    let project = Project::with_agent("rehearsal");
    project.rapport(&["status", "--project", "README.md"]).check(2, "as the project: it is not a directory");
    project.rapport(&["status", "--project", "nowhere"]).check(2, "No such file or directory");
}

/// What a command takes of its own comes first, what all of them take below; examples fit an ordinary terminal.
#[test]
fn help_is_laid_out_for_people() {
    let project = Project::with_agent("rehearsal");
    let all = [
        "demo", "run", "new", "context", "plan", "resume", "execute", "undo", "status", "answer", "say",
        "stop", "revise", "revoke", "branch", "log", "diff", "apply", "discard", "serve", "cancel", "doctor",
        "project",
    ];
    for command in all {
        let help = project.rapport(&[command, "--help"]).out();
        let (own, everywhere) = help.split_once("Options of every command:").unwrap();
        assert!(!own.contains("--json") && everywhere.contains("--json"), "{command}: {own}");
        let examples = everywhere.split_once("Examples:").map(|(_, examples)| examples).unwrap_or_default();
        let wide: Vec<_> = examples.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{command}: {wide:#?}");
    }
    let help = project.rapport(&["--help"]);
    help.check(0, "rapport resume").check(0, "rapport undo");
}

#[test]
fn the_log_is_told_in_words() {
    let project = waiting();
    let log = project.rapport(&["log", "paint"]);
    log.check(0, " wants: paint\n");
    log.check(0, "  the agent says: One thing first.\n");
    log.check(0, "  the agent asks: q1 Which colour?\n");
}

#[test]
fn completions_for_the_usual_shells() {
    let project = Project::with_agent("rehearsal");
    for (shell, says) in
        [("bash", "-F _rapport rapport"), ("zsh", "#compdef rapport"), ("fish", "complete -c rapport")]
    {
        project.rapport(&["completions", shell]).check(0, says);
    }
    project.rapport(&["completions", "tea"]).check(2, "invalid value 'tea'");
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure_and_a_full_disk_is_one() {
    let project = waiting();
    let sh = |script: &str| {
        let mut command = std::process::Command::new("sh");
        let env: Vec<_> =
            project.command().get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())).collect();
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_rapport")]).env_clear().envs(env);
        Ran(command.current_dir(project.root()).stdin(Stdio::null()).output().unwrap())
    };
    for command in
        ["log paint", "status", "log --json paint", "doctor", "completions bash", "--help", "run --help"]
    {
        for (script, code) in [
            (format!("\"$1\" {command} | head -0"), 0),
            (format!("\"$1\" {command} >&-"), 0),
            (format!("\"$1\" nonsense {command} 2>/dev/full"), 2),
            ("\"$1\" status nothing 2>/dev/full".into(), 4),
        ] {
            let ran = sh(&script);
            assert_eq!((ran.code(), ran.err().as_str()), (code, ""), "{script}");
        }
        if !command.contains("help") {
            sh(&format!("\"$1\" {command} >/dev/full")).check(1, "No space left on device");
        }
    }
}

/// `rapport log | head -1` has what it wanted: quietly, and told apart from a failure.
#[test]
fn output_that_was_closed_ends_a_command_with_141() {
    let project = waiting();
    let commands: [&[&str]; 10] = [
        &["log", "paint"],
        &["log", "--json"],
        &["status"],
        &["status", "--json"],
        &["answer"],
        &["resume", "paint"],
        &["doctor"],
        &["completions", "bash"],
        &["--help"],
        &["cancel", "paint"],
    ];
    for args in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = Ran(project.command().args(args).stdout(writer).output().unwrap());
        assert_eq!((ran.code(), ran.err().as_str()), (141, ""), "{args:?}");
    }
}

/// Names of files come from outside, and JSON is looked at in terminals as well.
#[test]
fn json_of_every_verb_moves_no_cursor() {
    let scenario = ONE_QUESTION.replace("path: paint.txt", r#"path: "a\u202eb\u009bc.txt""#);
    let project = Project::with_scenario(&scenario);
    let mut running = project.start(&["--worker", "worktree", "paint"], &[]);
    running.until_asked();
    project.rapport(&["answer", "Red"]).check(0, "");
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "yes"]).check(0, "");
    assert_eq!(running.finish(), 0);
    let ran = project.rapport(&["apply", "--json"]);
    ran.check(0, r"a\u202eb\u009bc.txt");
    let said: Value = serde_json::from_str(&ran.out()).unwrap();
    assert_eq!(said["files"][0]["path"], "a\u{202e}b\u{9b}c.txt");
    assert!(!ran.out().contains(['\u{202e}', '\u{9b}']));
    let failed = project.rapport(&["log", "--json", "a\u{202e}b"]);
    assert!(failed.code() == 4 && !failed.err().contains('\u{202e}'), "{}", failed.err());
}

/// A project need not be the top of its repository.
#[test]
fn doctor_finds_the_repository_around_a_project() {
    let project = Project::with_agent("rehearsal");
    std::fs::create_dir(project.root().join("part")).unwrap();
    let part = project.root().join("part").display().to_string();
    let doctor = project.rapport(&["doctor", "--project", &part]);
    assert!(doctor.out().contains("ok       git        git version "), "{}", doctor.out());
    assert!(!doctor.out().contains("not a git repository"), "{}", doctor.out());
    std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    let doctor = project.rapport(&["doctor", "--project", &part]);
    assert!(doctor.out().contains("is not in a git repository"), "{}", doctor.out());
}

#[test]
fn doctor_says_what_is_missing_and_how_to_get_it() {
    let project = Project::with_agent("no-such-agent");
    let doctor = project.rapport(&["doctor"]);
    doctor.check(1, "bad      agent      cannot start no-such-agent: No such file or directory");
    doctor.check(1, "npm install -g @anthropic-ai/claude-code");
    doctor.check(1, "ok       sessions   0 in ").check(1, "what needs fixing: agent");
    let project = Project::with_agent("rehearsal").set("PATH", "/nonexistent");
    project.rapport(&["doctor"]).check(0, "missing  git        no git on the PATH");
    let project = Project::with_agent("rehearsal").set("RAPPORT_AGENT_HOT", "soon");
    project.rapport(&["doctor"]).check(1, "bad      settings   RAPPORT_AGENT_HOT: \"soon\" is not a time");
    let project = Project::with_agent("");
    project.rapport(&["doctor"]).check(1, "bad      agent      agent.command is empty");
}

/// What the settings choose has to be installed; everything else may be missing.
#[test]
fn doctor_fails_where_the_chosen_worker_cannot_be_used() {
    let bare = |project: &Project| std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    let project = Project::with_agent("rehearsal");
    bare(&project);
    project.rapport(&["doctor"]).check(0, "missing  git");
    let project = project.set("RAPPORT_WORKER", "worktree");
    let doctor = project.rapport(&["doctor"]);
    doctor.check(1, "bad      worktree   cannot make a worktree").check(1, "git init && git add --all");
    doctor.check(1, "what needs fixing: worktree");
    let without_bubblewrap = Project::with_agent("rehearsal").set("PATH", "/nonexistent");
    without_bubblewrap.rapport(&["doctor"]).check(0, "missing  sandbox    there is no bubblewrap");
    let chosen = without_bubblewrap.set("RAPPORT_WORKER", "sandbox").rapport(&["doctor"]);
    chosen.check(1, "bad      sandbox    there is no bubblewrap").check(1, "what needs fixing: sandbox");
    assert!(!chosen.out().contains("Only a run with"), "{}", chosen.out());
}

#[test]
fn a_run_takes_as_many_descriptors_as_it_may() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", running.child.id())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<_> = files.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers[0], numbers[1], "{files}");
}

// "Rde" must not pass for an option, so the command says that it became free text. "yes" starts the work, and the
// command says so.
#[test]
fn words_that_name_no_option_are_told_to_be_words() {
    let project = waiting();
    project
        .rapport(&["answer", "paint", "Rde"])
        .check(0, "Answered. q1: Rde\nNo option has that name; it is taken as free text");
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let named = project.rapport(&["answer", "paint", "blue"]);
    assert!(!named.check(0, "Answered.").out().contains("No option"), "{}", named.out());
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "yes"]).check(0, "Answered. confirm Plan: Confirm & start\n");
    running.kill();
}

#[test]
fn a_session_of_another_project_is_not_found_and_where_it_may_be_is_said() {
    let project = waiting();
    let id = project.session();
    let answer = |words: &[&str]| {
        let ran = project
            .command()
            .current_dir("/")
            .args(["answer", id.as_str(), "Red"])
            .args(words)
            .output()
            .unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    let (code, said) = answer(&[]);
    assert!(code == Some(4) && said.contains("another project, name that one: --project DIR"), "{said}");
    assert_eq!(answer(&["--project", project.root().to_str().unwrap()]).0, Some(0));
}
