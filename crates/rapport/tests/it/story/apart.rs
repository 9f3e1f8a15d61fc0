//! Work in a worktree: the project does not change until the work is applied or discarded; after that nothing of the
//! worktree is left, whatever was killed on the way.

use std::collections::BTreeSet;
use std::path::Path;

use rapport::workers::WorkerKinds;
use rapport_core::{Event, Status};

use crate::support::needs;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// The agent changes the end of a file, adds one, and removes one.
const WORK: &str = r##"
version: 1
name: apart
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: long.txt, content: "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n" }
      - write: { path: deep/down/new.txt, content: "new\n" }
      - bash: { command: "rm gone.txt; ls -a > seen.txt" }
    result: "Painted."
"##;

const LONG: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// A project with some files, one of which is not committed.
fn project() -> Project {
    let project = Project::with_scenario(WORK).reaching_the_engine();
    for (path, content) in [("long.txt", LONG), ("gone.txt", "gone\n"), (".gitignore", "*.secret\nbuild/\n")]
    {
        std::fs::write(project.root().join(path), content).unwrap();
    }
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "Files"]);
    std::fs::write(project.root().join("draft.txt"), "not committed\n").unwrap();
    project
}

/// Each story, in a worktree, in a sandbox around one, and in a container.
macro_rules! in_every_place {
    ($($story:ident)*; $($of_worktrees:ident)*) => {
        mod worktree {
            $(#[test]
            fn $story() {
                super::$story("worktree");
            })*
            $(#[test]
            fn $of_worktrees() {
                super::$of_worktrees("worktree");
            })*
        }
        mod sandbox {
            $(#[test]
            fn $story() {
                if super::needs::sandbox() {
                    super::$story("sandbox");
                }
            })*
            $(#[test]
            fn $of_worktrees() {
                if super::needs::sandbox() {
                    super::$of_worktrees("sandbox");
                }
            })*
        }
        mod container {
            $(#[test]
            fn $story() {
                if super::needs::engine().is_some() {
                    super::$story("container");
                }
            })*
        }
    };
}

in_every_place! {
    the_work_is_apart_until_it_is_applied_and_leaves_nothing
    discarded_it_leaves_nothing
    discarding_a_session_that_goes_on_ends_it;
    killed_while_it_is_made_it_is_made_again
}

/// Has the work done in a worktree, and gives what was said at the end.
fn work(project: &Project) -> String {
    work_in(project, "worktree")
}

fn work_in(project: &Project, worker: &str) -> String {
    let run = project.spawn(&["run", "--worker", worker, "paint"]);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    let ran = crate::support::project::Ran(run.wait_with_output().unwrap());
    let word = if worker == "container" { worker } else { "worktree" };
    ran.check(0, &format!("This was done in a {word}")).out()
}

/// Everything that a worktree could leave: in git, among the files, among the processes.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    worktrees: String,
    refs: String,
    config: String,
    in_git: BTreeSet<String>,
    files: BTreeSet<String>,
    mounts: Vec<String>,
    containers: Vec<String>,
    processes: Vec<String>,
}

fn traces(project: &Project) -> Traces {
    let git = project.root().join(".git");
    // Git keeps what the work consisted of until it collects garbage, and a log of what it did.
    // It also keeps the empty directories of deleted refs.
    let of_git = |path: &String| {
        path.starts_with("objects/")
            || path.starts_with("logs/")
            || path == "index"
            || path.starts_with("refs/") && path.ends_with('/')
    };
    let in_git = files(&git).into_iter().filter(|path| !of_git(path));
    let ours = |path: &String| {
        path.starts_with(".git/")
            || path.starts_with(".rapport/sessions/")
            || path.starts_with(".rapport/.git")
    };
    Traces {
        worktrees: project.git(&["worktree", "list"]),
        refs: project.git(&["for-each-ref"]),
        config: project.git(&["config", "--local", "--list"]),
        // It is empty between two states that a session in the project records.
        in_git: in_git.filter(|path| path != "rapport/").collect(),
        files: files(&project.root()).into_iter().filter(|path| !ours(path)).collect(),
        // Other tests have containers at the same time.
        mounts: std::fs::read_to_string("/proc/self/mounts")
            .unwrap()
            .lines()
            .filter(|line| !line.contains("rapport-engine-"))
            .map(str::to_owned)
            .collect(),
        containers: containers(project),
        processes: project.processes().into_iter().map(|(_, words)| words).collect(),
    }
}

/// The containers and volumes of this project.
fn containers(project: &Project) -> Vec<String> {
    let Some(engine) = needs::engine_if_any() else { return Vec::new() };
    let label = format!("label=rapport.project={}", project.root().display());
    let mut found = Vec::new();
    for what in [&["ps", "--all", "--quiet"][..], &["volume", "ls", "--quiet"]] {
        let mut docker = std::process::Command::new("docker");
        let listed = docker.args(["--host", &engine]).args(what).args(["--filter", &label]).output().unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        found.extend(String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned));
    }
    found
}

/// Every file below a folder, and every folder that is empty.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            let inside = files(&entry.path());
            found.extend(inside.iter().map(|path| format!("{name}/{path}")));
            found.extend(inside.is_empty().then(|| format!("{name}/")));
        } else {
            found.push(name);
        }
    }
    found
}

const PLAN: &str = ".claude/todos/paint/paint.md";

#[track_caller]
fn is_applied(project: &Project, before: &Traces) {
    assert_eq!(project.file("long.txt"), LONG.replace("10", "ten"));
    assert_eq!(project.file("deep/down/new.txt"), "new\n");
    assert_eq!(project.file("draft.txt"), "not committed\n");
    let mut expected: BTreeSet<_> = before.files.clone();
    expected.remove("gone.txt");
    expected.extend(["deep/down/new.txt", "seen.txt", PLAN].map(str::to_owned));
    let after = traces(project);
    assert_eq!(after.files, expected);
    assert_eq!(Traces { files: before.files.clone(), ..after }, *before);
}

fn the_work_is_apart_until_it_is_applied_and_leaves_nothing(worker: &str) {
    let project = project();
    let before = traces(&project);
    let said = work_in(&project, worker);
    assert!(said.contains("-10\n+ten\n") && said.contains("+new"), "{said}");
    assert!(said.contains("rapport apply 2") && said.contains("rapport discard 2"), "{said}");
    assert_eq!(project.file("long.txt"), LONG, "the project is as it was");
    assert!(!project.root().join("deep").exists() && project.root().join("gone.txt").exists());
    let session = project.session();
    let has_branch = project.git(&["branch", "--list"]).contains(&format!("rapport/{session}"));
    assert_eq!(has_branch, worker != "container");
    project.rapport(&["diff", "paint"]).check(0, "+ten").check(0, "deleted file mode");
    project.rapport(&["status", "paint"]).check(0, "rapport apply 2");
    project.rapport(&["status"]).check(0, "its work waits ").check(0, "rapport diff 2");

    let gone =
        if worker == "container" { "Its container is gone" } else { "worktree and its branch are gone" };
    project.rapport(&["apply", "paint"]).check(0, "Applied to").check(0, gone);
    is_applied(&project, &before);
    assert!(!project.root().join(".git/rapport").exists());
    assert!(project.file("seen.txt").contains("draft.txt"), "it began with the files as they were");
    assert_eq!(project.git(&["log", "--oneline"]).lines().count(), 2, "nothing is committed");
    let facts = project.facts();
    assert!(
        facts.iter().any(
            |fact| matches!(fact, Event::Applied { by, files } if by.is_at_terminal() && files.len() == 4)
        )
    );
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    project.rapport(&["discard", "paint", "--yes"]).check(3, "it was applied");
    project.rapport(&["diff", "paint"]).check(0, "+ten").check(0, "deleted file mode");
}

fn discarded_it_leaves_nothing(worker: &str) {
    let project = project();
    let before = traces(&project);
    work_in(&project, worker);
    project.rapport(&["discard", "paint", "--yes"]).check(0, "Discarded 2");
    assert_eq!(traces(&project), before);
    assert!(!project.root().join(".git/rapport").exists());
    assert!(
        project.facts().iter().any(|fact| matches!(fact, Event::Discarded { by, .. } if by.is_at_terminal()))
    );
    project.rapport(&["apply", "paint"]).check(3, "it was discarded");
    project.rapport(&["discard", "paint", "--yes"]).check(0, "Discarded 2");
    let diff = project.rapport(&["diff", "paint"]);
    assert!(diff.err().contains("was discarded"), "{}{}", diff.out(), diff.err());
}

fn discarding_a_session_that_goes_on_ends_it(worker: &str) {
    let project = project();
    let before = traces(&project);
    let run = project.spawn(&["run", "--worker", worker, "paint"]);
    project.wait_asked_for("confirm");
    project.rapport(&["apply", "paint"]).check(3, "applying is not possible now");
    project.rapport(&["discard", "paint", "--yes"]).check(0, "Discarded 2");
    let ran = crate::support::project::Ran(run.wait_with_output().unwrap());
    assert_eq!(ran.code(), 8, "{}{}", ran.out(), ran.err());
    assert_eq!(project.view().status, Status::Cancelled);
    assert_eq!(traces(&project), before);
}

/// What the project became meanwhile is merged; where both changed the same, the files are named and nothing is
/// changed.
#[test]
fn it_is_merged_with_what_the_project_became() {
    let project = project();
    work(&project);
    std::fs::write(project.root().join("long.txt"), LONG.replacen('1', "one", 1)).unwrap();
    std::fs::write(project.root().join("deep"), "a file in the way\n").unwrap();
    let before = traces(&project);
    project.rapport(&["apply", "paint"]).check(3, "conflict: deep").check(3, "Nothing was changed.");
    assert_eq!(traces(&project), before);
    std::fs::remove_file(project.root().join("deep")).unwrap();
    project.git(&["commit", "--quiet", "-am", "Meanwhile"]);
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    assert_eq!(project.file("long.txt"), LONG.replacen('1', "one", 1).replace("10", "ten"));
}

#[test]
fn conflicts_are_named_by_file_and_marked_only_where_asked_for() {
    let project = project();
    work(&project);
    std::fs::write(project.root().join("long.txt"), LONG.replace("10", "dix")).unwrap();
    let before = traces(&project);
    project.rapport(&["apply", "paint"]).check(3, "conflict: long.txt").check(3, "rapport apply 2");
    assert_eq!((traces(&project), project.file("long.txt")), (before, LONG.replace("10", "dix")));
    project
        .rapport(&["apply", "paint", "--with-conflicts"])
        .check(0, "Applied to")
        .check(0, "conflict  long.txt")
        .check(0, "Merge them by hand");
    let applied: serde_json::Value = project.json(&["apply", "paint", "--json"]);
    assert_eq!(applied["conflicts"], serde_json::json!(["long.txt"]));
    let marked = project.file("long.txt");
    let (begin, end) = ("<<<<<<< the project\n", format!(">>>>>>> {}\n", project.session()));
    assert!(marked.contains(begin) && marked.contains("dix\n") && marked.contains("ten\n"), "{marked}");
    assert!(marked.contains(&end), "{marked}");
}

/// Lines of binary files and links cannot be marked: what the agent made of them is put beside the project's version
/// before its workplace goes.
#[test]
fn no_version_of_a_file_is_lost_where_lines_cannot_be_marked() {
    const CHANGES: &str =
        r"printf 'work\\000' > pixels.bin; ln -sfn long.txt link; echo mine >> gone.txt; rm kept.txt";
    let project = Project::with_scenario(&WORK.replace("rm gone.txt; ls -a > seen.txt", CHANGES));
    let write = |path: &str, content: &[u8]| std::fs::write(project.root().join(path), content).unwrap();
    let link = |to: &str| {
        let _ = std::fs::remove_file(project.root().join("link"));
        std::os::unix::fs::symlink(to, project.root().join("link")).unwrap();
    };
    write("pixels.bin", b"plain\0");
    for path in ["gone.txt", "kept.txt"] {
        write(path, b"gone\n");
    }
    write("long.txt", LONG.as_bytes());
    link("gone.txt");
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "Files"]);
    work(&project);
    write("pixels.bin", b"project\0");
    write("kept.txt", b"the project's\n");
    std::fs::remove_file(project.root().join("gone.txt")).unwrap();
    link("kept.txt");
    let session = project.session();
    let (pixels, other_link) = (format!("pixels.bin.{session}"), format!("link.{session}"));
    project
        .rapport(&["apply", "paint", "--with-conflicts"])
        .check(0, &format!("version   {pixels}"))
        .check(0, &format!("version   {other_link}"))
        .check(0, "Keep one of the two.");
    assert_eq!(project.file("pixels.bin"), "project\0");
    assert_eq!(project.file(&pixels), "work\0");
    let leads_to = |name: &str| std::fs::read_link(project.root().join(name)).unwrap();
    assert_eq!((leads_to("link"), leads_to(&other_link)), ("kept.txt".into(), "long.txt".into()));
    assert_eq!(project.file("kept.txt"), "the project's\n", "the agent only removed it");
    assert_eq!(project.file("gone.txt"), "gone\nmine\n", "the project only removed it");
    let applied: serde_json::Value = project.json(&["apply", "paint", "--json"]);
    assert_eq!(applied["versions"], serde_json::json!([other_link, pixels]));
    project.rapport(&["undo", "paint", "--yes"]).check(0, "");
    assert!(!project.root().join(&pixels).exists());
}

#[test]
fn what_git_ignores_comes_along_where_the_project_says_so() {
    let project = project();
    for (path, content) in [
        (".worktreeinclude", "*.secret\n!not.secret\nbuild/keep/**\ndraft.txt\n"),
        ("one.secret", "1\n"),
        ("not.secret", "2\n"),
        ("build/keep/cache", "3\n"),
        ("build/other", "4\n"),
    ] {
        let path = project.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let run = project.spawn(&["run", "--worker", "worktree", "paint"]);
    project.wait_asked_for("confirm");
    let worktree = project.root().join(".rapport/worktrees").join(project.session().as_str());
    let there = |path: &str| std::fs::read_to_string(worktree.join(path)).ok();
    assert_eq!(there("one.secret").as_deref(), Some("1\n"));
    assert_eq!(there("build/keep/cache").as_deref(), Some("3\n"));
    assert_eq!((there("not.secret"), there("build/other")), (None, None));
    project.rapport(&["discard", "paint", "--yes"]).check(0, "Discarded");
    run.wait_with_output().unwrap();
    assert_eq!(project.file("one.secret"), "1\n", "the project's own stays");
}

/// A repository within the project has a history that no merge of files brings over, and that would go with the
/// worktree.
#[test]
fn work_in_a_repository_within_it_is_never_dropped() {
    let commit = "git -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m Paint";
    let get = "git -c protocol.file.allow=always submodule --quiet update --init library";
    for (command, named) in [
        (format!("{get} && cd library && {commit}"), Some("library")),
        (format!("{get} && echo painted > library/paint.txt"), Some("library")),
        ("echo painted > library/paint.txt".to_owned(), Some("library")),
        (format!("git init --quiet tool && cd tool && {commit}"), Some("tool")),
        ("git init --quiet tool && echo painted > tool/paint.txt".to_owned(), Some("tool")),
        (get.to_owned(), None),
    ] {
        let project = Project::with_scenario(&format!(
            r##"
version: 1
name: repositories
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: {{ command: "{command}" }}
      - write: {{ path: new.txt, content: "new\n" }}
    result: "Painted."
"##
        ));
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.git", "library"];
        project.git(&add);
        project.git(&["commit", "--quiet", "-m", "Library"]);
        work(&project);
        let worktree = project.root().join(".rapport/worktrees").join(project.session().as_str());
        let applied = project.rapport(&["apply", "paint"]);
        let Some(named) = named else {
            applied.check(0, "Applied to");
            continue;
        };
        applied.check(1, &format!("{named} has changes")).check(1, "Nothing was changed.");
        assert!(worktree.join(named).read_dir().unwrap().next().is_some(), "{command}");
        assert!(!project.root().join("new.txt").exists(), "{command}");
        std::fs::remove_dir_all(worktree.join(named)).unwrap();
        std::fs::create_dir(worktree.join(named)).unwrap();
        project.rapport(&["apply", "paint"]).check(0, "Applied to");
        assert_eq!(project.file("new.txt"), "new\n");
    }
}

/// A branch of such a session begins where its agent works, and has a worktree of its own.
#[test]
fn a_question_of_work_apart_can_be_branched_at() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.launch(&["run", "--json", "--worker", "worktree", "paint"], &[]);
    running.until_asked();
    let original = project.session();
    let made: serde_json::Value = project.json(&["branch", original.as_str(), "--at", "q1", "--json"]);
    let branch = made["session"].as_str().unwrap();
    project.rapport(&["answer", branch, "--question", "q1", "Red"]).check(0, "Answered.");
    let mut branched = project.start(&["--resume", branch], &[]);
    branched.until(|fact| matches!(fact, Event::PlanProposed { .. }));
    project.rapport(&["answer", branch, "--question", "confirm", "confirm"]).check(0, "Answered.");
    assert_eq!(branched.finish(), 0);
    let painted = Path::new(made["worktree"].as_str().unwrap()).join("paint.txt");
    assert_eq!(std::fs::read_to_string(painted).unwrap(), "Red\n");
    project.rapport(&["discard", original.as_str(), "--yes"]).check(0, "Discarded");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 2, "that of the branch stays");
}

/// A question that is answered another way in a branch, whose work is finished.
fn branched(project: &Project) -> String {
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    project.wait_alone(std::time::Duration::from_secs(2));
    let made: serde_json::Value = project.json(&["branch", "paint", "--at", "q1", "--json"]);
    let branch = made["session"].as_str().unwrap().to_owned();
    work_on(project, &branch);
    branch
}

/// Answers the question of a branch, and lets it work to its end.
fn work_on(project: &Project, branch: &str) {
    project.rapport(&["answer", branch, "--question", "q1", "Blue"]).check(0, "Answered.");
    let mut running = project.start(&["--resume", branch], &[]);
    running.until(|fact| matches!(fact, Event::PlanProposed { .. }));
    project.rapport(&["answer", branch, "--question", "confirm", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
}

/// A branch that was applied has left its work and its plan, and nothing else.
#[track_caller]
fn is_branch_applied(project: &Project, before: &Traces) {
    assert_eq!(project.file("paint.txt"), "Blue\n");
    let after = traces(project);
    let made: Vec<_> = after.files.difference(&before.files).collect();
    assert!(made.iter().all(|file| *file == "paint.txt" || file.starts_with(".claude/todos/")), "{made:?}");
    assert_eq!(Traces { files: before.files.clone(), ..after }, *before);
}

/// The command that ends a session in this way, without a person who could be asked.
fn ending<'a>(verb: &'a str, session: &'a str) -> Vec<&'a str> {
    let yes = (verb == "discard").then_some("--yes");
    [verb, session].into_iter().chain(yes).collect()
}

#[test]
fn a_branch_is_applied_or_discarded_and_leaves_nothing() {
    for verb in ["apply", "discard"] {
        let project = Project::with_scenario(ONE_QUESTION);
        let before = traces(&project);
        let branch = branched(&project);
        assert_ne!(traces(&project), before);
        project.rapport(&ending(verb, &branch)).check(0, "Its worktree and its branch are gone.");
        match verb {
            "apply" => is_branch_applied(&project, &before),
            _ => assert_eq!(traces(&project), before),
        }
    }
}

#[test]
fn killed_while_a_branch_is_applied_it_comes_out_the_same() {
    branch_killed_at_the_end("apply");
}

#[test]
fn killed_while_a_branch_is_discarded_it_comes_out_the_same() {
    branch_killed_at_the_end("discard");
}

/// Killed anywhere while a branch is applied or discarded, the same command brings it to its end.
fn branch_killed_at_the_end(verb: &str) {
    let mut point = 1;
    loop {
        let project = Project::with_scenario(ONE_QUESTION);
        let before = traces(&project);
        let branch = branched(&project);
        let mut command = project.command();
        let killed = command.args(ending(verb, &branch)).env("RAPPORT_TRIAL_WRITES", point.to_string());
        let killed = killed.output().unwrap();
        let is_over = killed.status.code() == Some(0);
        if !is_over {
            assert_eq!(killed.status.code(), None, "{verb} {point}: {killed:?}");
            project.rapport(&ending(verb, &branch)).check(0, "");
        }
        match verb {
            "apply" => is_branch_applied(&project, &before),
            _ => assert_eq!(traces(&project), before, "{verb} {point}"),
        }
        if is_over {
            assert!(point > 10, "{verb}: only {point} points");
            return;
        }
        point += 1;
    }
}

/// Killed anywhere while it is branched: the original is as it was, what `doctor` says removes what is left, and the
/// next attempt is a whole branch.
#[test]
fn killed_while_it_branches_what_is_left_is_removed() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    project.wait_alone(std::time::Duration::from_secs(2));
    let before = traces(&project);
    let (original, mut point) = (project.session(), 1);
    loop {
        let mut command = project.command();
        command.args(["branch", original.as_str(), "--at", "q1", "--json"]);
        let killed = command.env("RAPPORT_TRIAL_WRITES", point.to_string()).output().unwrap();
        if killed.status.code() == Some(0) {
            assert!(point > 20, "only {point} points");
            break;
        }
        assert_eq!(killed.status.code(), None, "{point}: {killed:?}");
        let checks: serde_json::Value = project.json(&["doctor", "--json"]);
        let left = checks.as_array().unwrap().iter().find(|check| check["name"] == "branches");
        for command in left.iter().flat_map(|check| check["advice"].as_str().unwrap().lines().skip(1)) {
            project.sh(command).check(0, "");
        }
        let made = project.store().list().unwrap().into_iter().filter(|id| *id != original);
        for branch in made {
            project.rapport(&["discard", branch.as_str(), "--yes"]).check(0, "Discarded");
            std::fs::remove_dir_all(project.root().join(".rapport/sessions").join(branch.as_str())).unwrap();
        }
        let mut left = traces(&project);
        // The next command that records a state replaces its scratch index.
        left.in_git.retain(|path| !["rapport/index", "rapport/lock"].contains(&path.as_str()));
        assert_eq!(left, before, "{point}");
        point += 1;
    }
    let branch = project.store().list().unwrap().into_iter().find(|id| *id != original).unwrap();
    work_on(&project, branch.as_str());
    project.rapport(&["apply", branch.as_str()]).check(0, "Applied to");
    is_branch_applied(&project, &before);
}

#[test]
fn a_project_without_a_history_is_refused_before_anything_is_made() {
    let project = Project::with_scenario(WORK).reaching_the_engine();
    std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    let ran = project.rapport(&["run", "--worker", "worktree", "paint"]);
    ran.check(3, "cannot make a worktree").check(3, "--worker local");
    assert!(!project.root().join(".rapport").exists());
    project.git(&["init", "--quiet"]);
    for worker in ["worktree", "container"] {
        if worker == "container" && needs::engine().is_none() {
            continue;
        }
        let refused = project.command().args(["run", "--worker", worker, "paint"]).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(3), "{worker}: {said}");
        assert!(said.contains("has no commit"), "{worker}: {said}");
        assert!(!project.root().join(".rapport").exists(), "{worker}");
    }
    let kinds = WorkerKinds::builtin();
    let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
    assert!(names.starts_with(&["local", "worktree"]));
    let says = format!("[possible values: {}]", names.join(", "));
    project.rapport(&["run", "--worker", "cloud", "paint"]).check(2, &says);
}

/// Killed while the worktree is made: the next process makes it anew.
fn killed_while_it_is_made_it_is_made_again(worker: &str) {
    killed_at_the_beginning(worker, "/worktrees/:", 5);
}

/// The same before and after every change at the container engine, and when the work is applied or discarded.
#[test]
fn killed_around_a_change_at_the_container_engine_it_comes_out_the_same() {
    if needs::engine().is_some() {
        killed_at_the_beginning("container", "container-engine:", 5);
        killed_at_the_end("container", "container-engine:", 3);
    }
}

/// Killed at each of these points while the place is made, of which there are more than so many.
fn killed_at_the_beginning(worker: &str, points: &str, least: usize) {
    let mut point = 1;
    loop {
        let project = project();
        let before = traces(&project);
        let args = ["run", "--json", "--worker", worker, "paint"];
        let killed = project.launch(&args, &[("RAPPORT_TRIAL_WRITES", &format!("{points}{point}"))]);
        let mut killed = killed;
        let asked = std::iter::from_fn(|| killed.next())
            .any(|entry| entry.facts.iter().any(|fact| matches!(fact, Event::Asked { .. })));
        if asked {
            // It has passed all of them.
            killed.kill();
            assert!(point > least, "only {point} points");
            return;
        }
        let mut resumed = project.start(&["--resume", project.session().as_str()], &[]);
        project.wait_asked_for("confirm");
        project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
        resumed.until(|fact| matches!(fact, Event::Reported { .. }));
        assert_eq!(resumed.finish(), 0, "{point}");
        project.rapport(&["apply", "paint"]).check(0, "Applied to");
        is_applied(&project, &before);
        point += 1;
    }
}

/// Killed anywhere while it is applied or discarded, the same command brings it to its end.
#[test]
fn killed_while_it_is_applied_or_discarded_it_comes_out_the_same() {
    killed_at_the_end("worktree", "", 10);
}

/// The same around what a sandbox has beside its worktree.
#[test]
fn killed_while_a_sandbox_is_cleared_it_comes_out_the_same() {
    if needs::sandbox() {
        killed_at_the_end("sandbox", ".home:", 1);
    }
}

/// Killed at each of these points, of which there are more than so many.
fn killed_at_the_end(worker: &str, points: &str, least: usize) {
    for verb in ["apply", "discard"] {
        let mut point = 1;
        loop {
            let project = project();
            let before = traces(&project);
            work_in(&project, worker);
            let how = format!("{points}{point}");
            let mut command = project.command();
            command.args(ending(verb, "paint")).env("RAPPORT_TRIAL_WRITES", &how);
            let killed = command.output().unwrap();
            if killed.status.code() == Some(0) {
                assert!(point > least, "{verb}: only {point} points");
                break;
            }
            assert_eq!(killed.status.code(), None, "{verb} {how}: {killed:?}");
            project
                .rapport(&ending(verb, "paint"))
                .check(0, if verb == "apply" { "Applied to" } else { "Discarded" });
            match verb {
                "apply" => is_applied(&project, &before),
                _ => assert_eq!(traces(&project), before, "{how}"),
            }
            point += 1;
        }
    }
}

/// Killed anywhere during an apply, with a file changed by a person before it continues: the work is applied as a
/// whole or not at all, and the person's change stays.
#[test]
fn killed_and_changed_before_it_goes_on_it_is_applied_as_a_whole_or_not_at_all() {
    let (mut point, mut refused) = (1, 0);
    loop {
        let project = project();
        work(&project);
        let mut command = project.command();
        command.args(["apply", "paint"]).env("RAPPORT_TRIAL_WRITES", point.to_string());
        if command.output().unwrap().status.code() == Some(0) {
            assert!(point > 10 && refused > 0, "{point} points, {refused} refused");
            return;
        }
        let edited = format!("mine\n{}", project.file("long.txt"));
        std::fs::write(project.root().join("long.txt"), &edited).unwrap();
        let again = project.rapport(&["apply", "paint"]);
        if again.code() != 0 {
            refused += 1;
            again.check(again.code(), "Nothing was changed.");
            let there = ["deep", "gone.txt", "seen.txt"].map(|path| project.root().join(path).exists());
            assert_eq!(there, [false, true, false], "{point}: {}", again.err());
            assert_eq!(project.file("long.txt"), edited, "{point}");
            project.rapport(&["apply", "paint", "--with-conflicts"]).check(0, "Applied to");
        }
        let long = project.file("long.txt");
        assert!(long.starts_with("mine\n") && long.contains("ten"), "{point}: {long}");
        assert_eq!(project.file("deep/down/new.txt"), "new\n", "{point}");
        assert!(!project.root().join("gone.txt").exists(), "{point}");
        point += 1;
    }
}

/// The agent of a project in a subdirectory of its repository changes what is outside of it, too.
const OUTSIDE: &str = r##"
version: 1
name: outside
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: inner.txt, content: "painted\n" }
      - bash: { command: "cd ..; sed -i s/10/ten/ lib/long.txt; echo new > new.txt; rm lib/gone.txt; echo w >> lib/draft.txt" }
    result: "Painted."
"##;

/// A repository with a project in `inner`, and files beside it, one of which is changed and not committed.
fn project_inside() -> Project {
    let project = Project::called("app", "").playing(OUTSIDE);
    for (path, content) in [
        ("inner/inner.txt", "plain\n"),
        ("lib/long.txt", LONG),
        ("lib/gone.txt", "gone\n"),
        ("lib/draft.txt", "committed\n"),
    ] {
        let path = project.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    std::fs::create_dir_all(project.root().join("inner/.rapport")).unwrap();
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "Files"]);
    std::fs::write(project.root().join("lib/draft.txt"), "not committed\n").unwrap();
    project
}

fn work_inside(project: &Project) -> impl Fn(&[&str]) -> crate::support::project::Ran {
    let inner = project.root().join("inner").to_str().unwrap().to_owned();
    let run = project.spawn(&["run", "--worker", "worktree", "paint", "--project", &inner]);
    crate::support::patience::wait_for("the plan", || {
        let all: Vec<serde_json::Value> = project.json(&["status", "--json", "--project", &inner]);
        all.first().filter(|view| view["status"] == "needs_input").map(drop)
    });
    let rapport = move |args: &[&str]| project.rapport(&[args, &["--project", &inner]].concat());
    rapport(&["answer", "yes"]).check(0, "");
    assert!(run.wait_with_output().unwrap().status.success());
    rapport
}

/// What is outside of the project is merged, named, applied and undone like the rest.
#[test]
fn work_outside_of_a_project_in_a_subdirectory_is_merged_and_named() {
    let project = project_inside();
    let rapport = work_inside(&project);
    rapport(&["diff"]).check(0, "+painted").check(0, "lib/long.txt").check(0, "+w");
    std::fs::write(project.root().join("lib/long.txt"), LONG.replacen('1', "one", 1)).unwrap();
    let applied = rapport(&["apply"]);
    for line in [
        "modified  inner.txt",
        "modified  ../lib/long.txt",
        "modified  ../lib/draft.txt",
        "added     ../new.txt",
        "deleted   ../lib/gone.txt",
    ] {
        applied.check(0, line);
    }
    assert_eq!(project.file("inner/inner.txt"), "painted\n");
    assert_eq!(project.file("lib/long.txt"), LONG.replacen('1', "one", 1).replace("10", "ten"));
    assert_eq!(project.file("lib/draft.txt"), "not committed\nw\n");
    rapport(&["undo", "--yes"]).check(0, "restored: ../lib/long.txt").check(0, "removed: ../new.txt");
    assert_eq!(project.file("lib/long.txt"), LONG.replacen('1', "one", 1));
    assert_eq!(
        (project.file("lib/draft.txt"), project.file("lib/gone.txt")),
        ("not committed\n".into(), "gone\n".into())
    );
}

/// Edits outside of the project that are neither committed nor staged are never written over.
#[test]
fn edits_outside_of_a_project_in_a_subdirectory_are_conflicts() {
    let project = project_inside();
    let rapport = work_inside(&project);
    std::fs::write(project.root().join("lib/long.txt"), LONG.replace("10", "dix")).unwrap();
    std::fs::write(project.root().join("new.txt"), "mine\n").unwrap();
    rapport(&["apply"])
        .check(3, "conflict: ../lib/long.txt")
        .check(3, "conflict: ../new.txt")
        .check(3, "Nothing was changed.");
    assert_eq!(project.file("lib/long.txt"), LONG.replace("10", "dix"));
    assert_eq!(
        (project.file("new.txt"), project.file("inner/inner.txt")),
        ("mine\n".into(), "plain\n".into())
    );
}

/// A directory makes room for a file of its name, and the other way round.
#[test]
fn a_file_takes_the_place_of_a_directory() {
    let scenario = WORK.replace(
        "rm gone.txt; ls -a > seen.txt",
        "rm -r dir gone.txt; echo file > dir; mkdir gone.txt; echo x > gone.txt/x",
    );
    let project = Project::with_scenario(&scenario);
    std::fs::create_dir_all(project.root().join("dir/below")).unwrap();
    for (path, content) in
        [("dir/below/a.txt", "a\n"), ("dir/b.txt", "b\n"), ("gone.txt", "gone\n"), ("long.txt", LONG)]
    {
        std::fs::write(project.root().join(path), content).unwrap();
    }
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "Files"]);
    work(&project);
    project.rapport(&["apply", "paint"]).check(0, "");
    assert_eq!((project.file("dir"), project.file("gone.txt/x")), ("file\n".into(), "x\n".into()));
    project.rapport(&["undo", "paint", "--yes"]).check(0, "");
    assert_eq!((project.file("dir/below/a.txt"), project.file("gone.txt")), ("a\n".into(), "gone\n".into()));
}
