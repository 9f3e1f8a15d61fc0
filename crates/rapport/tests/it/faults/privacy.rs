//! What is private stays with its owner: modes, git, and the environment of commands.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{greeting, plan, planning, run};
use crate::support::needs;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// A session that was run to its end, with what it leaves.
fn after_a_run() -> Project {
    after_a_run_in("local")
}

fn after_a_run_in(worker: &str) -> Project {
    let project = Project::with_scenario(ONE_QUESTION).working_in(worker);
    let mut run = project.start(&["paint"], &[]);
    run.until_asked();
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    run.until_asked();
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(run.finish(), 0);
    project
}

fn all(folder: &Path, found: &mut Vec<PathBuf>) {
    found.push(folder.to_owned());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => all(&entry.path(), found),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

// Logs, conversations and the home are for their owner alone; so are the documents of turns and the journals of
// batches.
#[test]
fn only_the_owner_reads_what_rapport_keeps() {
    let plans = serde_json::to_string(&planning(&[&greeting()]).build()).unwrap();
    let project = after_a_run().playing(&plans);
    project.rapport(&["new", "files"]).check(0, "");
    project.rapport(&["plan", "-m", "Greet.", "--session", "files"]).check(0, "");
    project.rapport(&["resume", "files", "-y"]).check(0, "3 of 3 actions done");
    let mut found = Vec::new();
    all(&project.root().join(".rapport"), &mut found);
    for name in ["config", "projects", "run", "seals", "keys", "telegram"] {
        all(&project.path("home/.rapport").join(name), &mut found);
    }
    found.push(project.path("home/.rapport"));
    for part in ["01/_context.log", "01/plan.md", "01/report.md", "journal.jsonl"] {
        assert!(found.iter().any(|path| path.ends_with(part)), "{part} in {found:?}");
    }
    let (log, conversation) = are_for_the_owner(&found);
    if !nix::unistd::geteuid().is_root() {
        return needs::missing("root", "only root can read as another user");
    }
    let_others_in(&project);
    for path in [log, conversation] {
        assert!(!reads(path), "{}", path.display());
        // Not only because of the folders above.
        let copy = project.path("copy");
        std::fs::copy(path, &copy).unwrap();
        assert!(!reads(&copy), "{}", path.display());
    }
}

/// Checks that others have no rights to any of these, and finds the log and the conversation among them.
#[track_caller]
fn are_for_the_owner(found: &[PathBuf]) -> (&PathBuf, &PathBuf) {
    let of = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in found.iter().filter(|path| path.exists()) {
        assert_eq!(of(path) & 0o077, 0, "{} is {:o}", path.display(), of(path));
    }
    let log = found.iter().find(|path| path.ends_with("log.jsonl")).unwrap();
    let conversation = found.iter().find(|path| path.ends_with("kept/conversation")).unwrap();
    assert_eq!((of(log), of(conversation)), (0o600, 0o600));
    (log, conversation)
}

/// Lets others through the test's own folder, so that it is Rapport that keeps them out.
fn let_others_in(project: &Project) {
    for folder in [project.path(""), project.root()] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert!(reads(&project.root().join("README.md")));
}

/// Whether another user can read this.
fn reads(path: &Path) -> bool {
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "cat"];
    Command::new("setpriv").args(nobody).arg(path).output().unwrap().status.success()
}

// The same for an agent in a sandbox: no other user can read its worktree or its home.
#[test]
fn only_the_owner_reads_what_a_sandbox_keeps() {
    if !needs::sandbox() {
        return;
    }
    let project = after_a_run_in("sandbox");
    let tree = project.root().join(".rapport/worktrees").join(project.session().as_str());
    let home = tree.with_extension("home");
    assert!(tree.join("paint.txt").exists() && home.exists());
    let mut found = Vec::new();
    all(&project.root().join(".rapport"), &mut found);
    // What the agent writes has the modes that the agent gives it.
    found.retain(|path| !path.starts_with(&tree) && !path.starts_with(&home));
    found.extend([home.clone(), project.path("home/.rapport")]);
    are_for_the_owner(&found);
    if !nix::unistd::geteuid().is_root() {
        return needs::missing("root", "only root can read as another user");
    }
    let_others_in(&project);
    all(&tree, &mut found);
    all(&home, &mut found);
    for path in found.iter().filter(|path| path.is_file()) {
        assert!(!reads(path), "{}", path.display());
    }
}

// `git add -A` takes what is for others, and no conversation.
#[test]
fn git_takes_logs_and_no_conversations() {
    let project = after_a_run();
    let added = project.git(&["add", "--all", "--dry-run"]);
    assert!(added.contains("/log.jsonl'"), "{added}");
    assert!(!added.contains("/kept/") && !added.contains("/lock'"), "{added}");
}

// What an older version told git is brought up to date; what a person wrote there stays.
#[test]
fn what_git_was_told_is_brought_up_to_date() {
    let older = "!_context.log\n!log.jsonl\n!plan.md\n!report.md\n/sessions/*/lock\n";
    for (before, is_kept) in [(older, false), ("mine\n", true)] {
        let project = Project::with_scenario(ONE_QUESTION);
        std::fs::create_dir(project.root().join(".rapport")).unwrap();
        std::fs::write(project.root().join(".rapport/.gitignore"), before).unwrap();
        project.rapport(&["new", "x"]).check(0, "");
        let after = project.file(".rapport/.gitignore");
        assert_eq!(after == before, is_kept, "{after}");
        assert_eq!(after.contains("/sessions/*/kept/"), !is_kept);
    }
}

// Commands of a plan see neither the bot's token nor the model's key, unless the person names them.
#[test]
fn commands_of_a_plan_see_no_secrets() {
    let secrets = [
        "TELEGRAM_BOT_TOKEN",
        "ANTHROPIC_API_KEY",
        "RAPPORT_TELEGRAM_TOKEN",
        "GITHUB_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
    ];
    let plan = plan("Look", &[], &[], &[run("env")]);
    let report = |named: Option<&str>| {
        let project = Project::with_agent("rehearsal");
        let mut command = project.command();
        command.envs(secrets.map(|name| (name, "a-secret"))).env("LC_CTYPE", "C");
        command.envs(named.map(|named| ("RAPPORT_EXECUTION_ENV", named)));
        std::fs::write(project.root().join("plan.md"), &plan).unwrap();
        let ran = command.args(["execute", "plan.md", "-y"]).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        project.file("report.md")
    };
    let told = report(None);
    assert!(told.contains("PATH=") && told.contains("HOME=") && told.contains("LC_CTYPE=C"), "{told}");
    assert!(!told.contains("a-secret"), "{told}");
    let told = report(Some("GITHUB_TOKEN"));
    assert_eq!(told.matches("a-secret").count(), 1, "{told}");
}

/// Everybody on the machine can read arguments; settings may hold secrets.
#[test]
fn settings_of_ones_own_are_in_a_file_for_their_owner_while_the_agent_runs() {
    let project = Project::with_scenario(ONE_QUESTION).recorded();
    let command =
        format!("rehearsal --scenario {} --settings own.json", project.path("scenario.yaml").display());
    let project = project.set("RAPPORT_AGENT_COMMAND", &command);
    std::fs::write(project.root().join("own.json"), r#"{"env":{"KEY":"a secret"}}"#).unwrap();
    let settings = || {
        let entries = std::fs::read_dir(project.path("home/.rapport/run")).unwrap().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.to_string_lossy().contains("/settings-")).collect::<Vec<_>>()
    };
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let files = settings();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(std::fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&files[0]).unwrap().contains("a secret"));
    let arguments = project.agent_arguments();
    let is_safe = |arguments: &String| arguments.contains("/settings-") && !arguments.contains("a secret");
    assert!(!arguments.is_empty() && arguments.iter().all(is_safe), "{arguments:?}");
    project.rapport(&["cancel", "paint"]).check(0, "Cancelled");
    running.finish();
    assert_eq!(settings(), [""; 0].map(PathBuf::from));

    std::fs::remove_file(project.root().join("own.json")).unwrap();
    let ran = project.rapport(&["run", "another"]);
    assert!(ran.err().contains("own.json: No such file"), "{}{}", ran.out(), ran.err());
}

// So is everything that `serve` keeps: its ledger, its notes, who may use it, and the files of plans for other tools.
#[tokio::test]
async fn only_the_owner_reads_what_serve_keeps() {
    let mut stage = crate::telegram::Stage::playing(crate::telegram::AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    anna.taps("Express").await;
    anna.sees("Q2 of 3").await;
    stage.filed(crate::telegram::ANNA, "the file of the plan", |file| {
        file["answers"][0] != serde_json::Value::Null
    });
    assert_eq!(stage.stop(), 0);
    let mut found = Vec::new();
    all(&stage.project.path("home/.rapport"), &mut found);
    all(&stage.project.root().join(".rapport"), &mut found);
    let of = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in &found {
        assert_eq!(of(path) & 0o077, 0, "{} is {:o}", path.display(), of(path));
    }
    let is_there = |end: &str| found.iter().any(|path| path.to_string_lossy().ends_with(end));
    for end in ["42-interactive.json", "/log.jsonl"] {
        assert!(is_there(end), "{end}: {found:#?}");
    }
    let is_of_the_bot = |path: &&PathBuf| path.is_file() && path.to_string_lossy().contains("telegram");
    assert!(found.iter().filter(is_of_the_bot).count() >= 2, "the ledger and the notes: {found:#?}");
}
