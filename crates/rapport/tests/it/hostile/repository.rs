//! Every command of ours in a repository that was made to harm. After each command the test looks for a program that
//! ran, a file outside, a process, a message and a request that no person approved, and finds none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::CommandFactory as _;

use super::Hostile;
use super::world::{Logs, NAMES, PIPE, PLANNED, READY, World};
use crate::foreign::CHAT;
use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};
use crate::support::scenarios::ONE_QUESTION;
use crate::telegram::{ANNA, Stage};

/// Commands that need more than a line: each has its part in the stories below.
const APART: [&str; 2] = ["run", "rehearse"];

/// What a person may type there, with the exit code where all logs can be read, and where some cannot.
fn commands(world: &World) -> Vec<(Vec<&str>, [i32; 2])> {
    let [signed, unsigned, done] =
        [&world.signed, &world.unsigned, &world.carried_out].map(|session| session.as_str());
    let mut all: Vec<(Vec<&str>, [i32; 2])> = vec![
        (vec!["status"], [0, 6]),
        (vec!["status", "--json", "--all"], [0, 6]),
        (vec!["log", "--tree"], [0, 0]),
        (vec!["log", NAMES[0]], [4, 4]),
        (vec!["log", "20260104-linked"], [4, 4]),
        (vec!["diff", "01", "02"], [4, 6]),
        (vec!["diff", done], [0, 0]),
        (vec!["doctor"], [0, 1]),
        (vec!["doctor", "--json"], [0, 1]),
        (vec!["doctor", "--report"], [0, 0]),
        (vec!["trust"], [3, 3]),
        (vec!["trust", "--json"], [0, 0]),
        (vec!["trust", "--all-mine"], [9, 9]),
        (vec!["trust", "20260101-000000"], [6, 6]),
        (vec!["trust", NAMES[2]], [4, 4]),
        (vec!["answer", "yes"], [4, 4]),
        (vec!["answer", NAMES[2], "yes"], [4, 4]),
        (vec!["resume", "-y"], [2, 2]),
        (vec!["resume"], [2, 2]),
        (vec!["plan", "-m", "greet"], [2, 2]),
        (vec!["plan", "-m", "greet", "--dry-run"], [2, 2]),
        (vec!["context", "show"], [2, 2]),
        (vec!["apply"], [4, 6]),
        (vec!["discard", "--yes"], [4, 6]),
        (vec!["stop"], [2, 2]),
        (vec!["cancel"], [2, 2]),
        (vec!["undo", "--yes"], [6, 6]),
        (vec!["undo", "--batch", "20260101-000000", "--force", "--yes"], [6, 6]),
        (vec!["undo", "--batch", "../precious", "--yes"], [4, 4]),
        (vec!["branch", "01"], [2, 2]),
        (vec!["execute", "plan.md", "-y"], [3, 3]),
        (vec!["execute", "linked.txt", "-y"], [3, 3]),
        (vec!["revoke"], [0, 0]),
        (vec!["project", "list"], [0, 0]),
        (vec!["project", "show"], [0, 0]),
        (vec!["project", "explore"], [0, 0]),
        (vec!["project", "explore", "--json"], [0, 0]),
        (vec!["project", "show", NAMES[0]], [4, 4]),
        (vec!["project", "learn"], [0, 0]),
        (vec!["project", "forget", "nothing"], [4, 4]),
        (vec!["project", "add", "../precious"], [2, 2]),
        (vec!["project", "remove", "../precious"], [4, 4]),
        (vec!["completions", "bash"], [0, 0]),
        (vec!["complete", "resume", ""], [0, 0]),
        (vec!["complete", "branch", "--session", PLANNED, ""], [0, 0]),
        (vec!["demo", "--help"], [0, 0]),
        // With words it starts the person's own agent, as `run` does.
        (vec!["chat"], [2, 2]),
        (vec!["mcp"], [0, 0]),
    ];
    for session in [signed, unsigned, done, PLANNED, READY] {
        all.extend([
            (vec!["status", session], [0, 0]),
            (vec!["log", "--tree", session], [0, 0]),
            (vec!["trust", session], [9, 9]),
            (vec!["trust", "--json", session], [0, 0]),
            (vec!["resume", session], [9, 9]),
            (vec!["resume", session, "-m", "go on"], [9, 9]),
            (vec!["run", "--resume", session], [9, 9]),
            (vec!["answer", session, "yes"], [9, 9]),
            (vec!["answer", "--session", session, "yes"], [9, 9]),
            (vec!["say", session, "yes"], [9, 9]),
            (vec!["revise", session, "yes"], [9, 9]),
            (vec!["cancel", session], [9, 9]),
            (vec!["stop", session], [9, 9]),
            (vec!["allow", session, "example.com"], [9, 9]),
            (vec!["shell", session, "--", "true"], [9, 9]),
            (vec!["apply", session], [9, 9]),
            (vec!["discard", session, "--yes"], [9, 9]),
            (vec!["undo", session, "--yes"], [9, 9]),
            (vec!["undo", session, "--force", "--yes"], [9, 9]),
            (vec!["branch", session, "--at", "q1"], [9, 9]),
            (vec!["context", "add", "README.md", "--session", session], [9, 9]),
            (vec!["context", "show", "--session", session], [9, 9]),
            (vec!["plan", "-m", "greet", "--session", session], [9, 9]),
        ]);
    }
    for verb in ["log", "resume", "cancel", "undo", "trust", "stop"] {
        all.push((vec![verb, PIPE], [4, 6]));
    }
    // Last, because from then on there is a session of their own.
    all.push((vec!["serve"], [2, 2]));
    all.push((vec!["new", "own"], [0, 0]));
    all.push((vec!["context", "show", "--session", "own"], [0, 0]));
    all.push((vec!["plan", "-m", "greet", "--dry-run", "--session", "own"], [0, 0]));
    all
}

/// Commands without a line above, such as new ones: with and without a session, whatever they end with.
fn unlisted(world: &World) -> Vec<Vec<String>> {
    let listed: BTreeSet<_> = commands(world).iter().map(|(words, _)| words[0].to_owned()).collect();
    let cli = rapport::cli::Cli::command();
    let names = cli.get_subcommands().map(|command| command.get_name().to_owned());
    // A keeper is started by Rapport alone, and reads nothing of a project.
    let rest =
        names.filter(|name| !listed.contains(name) && !APART.contains(&name.as_str()) && name != "keep");
    rest.flat_map(|name| [vec![name.clone()], vec![name, world.signed.to_string()]]).collect()
}

#[test]
fn every_command_in_a_hostile_repository_does_nothing_that_nobody_approved() {
    holds(Logs::Readable);
}

#[test]
fn nor_where_some_logs_cannot_be_read() {
    holds(Logs::Unreadable);
}

fn holds(logs: Logs) {
    let world = World::unpack(logs);
    let (clone, before) = (&world.clone, Before::of(&world.clone));
    let mut wrong = Vec::new();
    let any = unlisted(&world);
    let any = any.iter().map(|words| (words.iter().map(String::as_str).collect(), None));
    let listed = commands(&world).into_iter().map(|(words, codes)| (words, Some(codes)));
    for (command, codes) in any.chain(listed) {
        let command: Vec<&str> = command;
        let ran = clone.rapport(&command);
        let said = format!("{}{}", ran.out(), ran.err());
        before.check(&world, &format!("{command:?}: {said}"));
        assert!(!clone.project.path("records").exists(), "{command:?} started an agent: {said}");
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{command:?}: {said:?}");
        let code = codes.map_or(ran.code(), |codes| codes[usize::from(logs == Logs::Unreadable)]);
        if ran.code() != code {
            wrong.push(format!("{command:?} ended with {} instead of {code}: {said}", ran.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The demo has an agent and a repository of its own, wherever it is started.
    clone.rapport(&["demo"]).check(0, "rapport-demo-");
    before.check(&world, "the demo");
    their_own_work_goes_on(&world);
    before.check(&world, "their own work");
}

/// What is outside of the repository, and what git has of its own.
struct Before {
    outside: BTreeMap<PathBuf, Vec<u8>>,
    git: String,
}

impl Before {
    fn of(clone: &Hostile) -> Self {
        Self { outside: clone.outside(), git: git_config(clone) }
    }

    /// Checks that nothing happened that no person approved.
    #[track_caller]
    fn check(&self, world: &World, what: &str) {
        let clone = &world.clone;
        assert_eq!(clone.marks(), [""; 0], "a program: {what}");
        assert_eq!(world.reached(), 0, "a request: {what}");
        let outside = clone.outside();
        let is_new = |(path, content): &(&PathBuf, &Vec<u8>)| self.outside.get(*path) != Some(content);
        let names = outside.iter().filter(is_new).map(|(path, _)| path.display().to_string());
        let news: Vec<_> = names.filter(|path| !path.contains("/records/")).collect();
        assert_eq!(news, Vec::<String>::new(), "a file outside: {what}");
        assert!(self.outside.keys().all(|path| outside.contains_key(path)), "a file is gone: {what}");
        wait_for("processes to be gone", || clone.project.processes().is_empty().then_some(()));
        assert_eq!(git_config(clone), self.git, "{what}");
        assert!(!clone.project.root().join(".git/hooks/pre-push").exists(), "{what}");
        assert!(!clone.project.root().join(".rapport/agents").exists(), "{what}");
    }
}

fn git_config(clone: &Hostile) -> String {
    std::fs::read_to_string(clone.project.root().join(".git/config")).unwrap()
}

/// The person's own agent asks and works there as ever, beside what the repository brings.
fn their_own_work_goes_on(world: &World) {
    let clone = &world.clone;
    // An agent that would write before there is a plan is asked about.
    let mut planning = clone.project.spawn(&["plan", "a todo app", "--as", "progress"]);
    clone.project.wait_asked_for("q1");
    clone.rapport(&["cancel", "a-todo-app"]).check(0, "Cancelled");
    assert!(!planning.wait().unwrap().success());
    let mut run = clone.project.start(&["paint"], &[]);
    run.until_asked();
    let session = run_session(clone);
    clone.rapport(&["answer", &session, "Blue"]).check(0, "Answered.");
    run.until_asked();
    clone.rapport(&["answer", &session, "confirm"]).check(0, "Answered.");
    assert_eq!(run.finish(), 0);
    assert_eq!(clone.project.file("paint.txt"), "Blue\n");
    clone.rapport(&["diff", &session]).check(0, "Blue");
    // And apart from the project: a worktree is made, applied and removed.
    let apart = clone.project.start(&["--worker", "worktree", "paint apart"], &[]);
    works_apart(clone, apart);
}

/// Answers work that is done in a worktree, and applies it.
fn works_apart(clone: &Hostile, mut run: Running) {
    run.until_asked();
    clone.rapport(&["answer", "paint-apart", "Red"]).check(0, "Answered.");
    run.until_asked();
    clone.rapport(&["answer", "paint-apart", "confirm"]).check(0, "Answered.");
    assert_eq!(run.finish(), 0);
    assert_eq!(clone.project.file("paint.txt"), "Blue\n", "the project is as it was");
    // Both sides change the same line, which the repository wants merged by a program of its own.
    std::fs::write(clone.project.root().join("paint.txt"), "Green\n").unwrap();
    clone.rapport(&["apply", "paint-apart", "--with-conflicts"]).check(0, "Applied to");
    let merged = clone.project.file("paint.txt");
    assert!(
        merged.contains("<<<<<<< ") && merged.contains("\nGreen\n") && merged.contains("\nRed\n"),
        "{merged}"
    );
}

fn run_session(clone: &Hostile) -> String {
    let all = clone.project.store().list().unwrap();
    let own = all.iter().map(ToString::to_string).find(|name| name.ends_with("-paint"));
    own.unwrap_or_else(|| panic!("no session of this run: {all:?}"))
}

/// A `.git` that declares the directory above the project its working tree: the files there, such as keys, are not
/// copied to a workplace for agents, and the person is told why there is no workplace.
#[test]
fn a_working_tree_above_the_project_is_refused() {
    for worker in ["worktree", "sandbox"] {
        if worker == "sandbox" && !needs::sandbox() {
            continue;
        }
        let clone = Hostile::of(Project::with_scenario(ONE_QUESTION));
        std::fs::write(clone.project.path("id_rsa"), "a-secret\n").unwrap();
        clone.project.git(&["config", "core.worktree", "../.."]);
        let ran = clone.rapport(&["run", "--json", "--worker", worker, "paint"]);
        ran.check(3, "(core.worktree), not beside its .git");
        assert!(ran.err().contains("git config --unset core.worktree"), "{}", ran.err());
        let files = files_below(&clone.project.root());
        assert!(!files.iter().any(|path| path.ends_with("id_rsa")), "{files:?}");
        assert!(!objects(&clone).contains("a-secret"));
        // In the project itself the agent works as ever, and nothing above it is looked at.
        let mut run = clone.project.start(&["paint"], &[]);
        run.until_asked();
        let session = run_session(&clone);
        clone.rapport(&["answer", &session, "Blue"]).check(0, "Answered.");
        run.until_asked();
        clone.rapport(&["answer", &session, "confirm"]).check(0, "Answered.");
        assert_eq!(run.finish(), 0);
        assert_eq!(clone.project.file("paint.txt"), "Blue\n");
        let changed = clone.rapport(&["diff", &session]);
        changed.check(0, "paint.txt");
        assert!(!changed.out().contains("id_rsa"), "{}", changed.out());
        assert!(!objects(&clone).contains("a-secret"));
    }
}

/// Everything that git stored there.
fn objects(clone: &Hostile) -> String {
    let mut git = std::process::Command::new("git");
    let all =
        git.current_dir(clone.project.root()).args(["cat-file", "--batch-all-objects", "--batch"]).output();
    String::from_utf8_lossy(&all.unwrap().stdout).into_owned()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

/// The daemon of a person with their own bot: it lists the hostile sessions, and sends no message about them.
#[tokio::test]
async fn the_daemon_in_a_hostile_repository_tells_nobody() {
    for logs in [Logs::Readable, Logs::Unreadable] {
        let world = World::unpack(logs);
        let World { clone: Hostile { project, marks }, signed, unsigned, reached, .. } = world;
        let mut stage = Stage::of(project).await;
        stage.serve();
        for session in [&signed, &unsigned] {
            wait_for("the session to be listed", || {
                stage.printed().contains(&format!("rapport trust {session}")).then_some(())
            });
        }
        let anna = stage.anna();
        anna.types("/status");
        anna.types("/help");
        anna.sees("/plan").await;
        assert_eq!(stage.stop(), 0);
        let texts: Vec<_> =
            stage.server.messages(ANNA).iter().map(|message| message.text().to_owned()).collect();
        for word in ["build", "Harmless", "secrets", "PWN"] {
            assert!(!texts.iter().any(|text| text.contains(word)), "{texts:?}");
        }
        for chat in [CHAT, 666] {
            assert!(stage.server.messages(chat).is_empty(), "a message to {chat}");
        }
        assert_eq!(std::fs::read_dir(&marks).unwrap().count(), 0, "a program");
        assert!(!stage.project.path("records").exists(), "an agent");
        assert_eq!(reached.load(Ordering::SeqCst), 0, "a request");
        assert_eq!(stage.project.processes(), [], "a process");
    }
}
