//! What every worker must do: the same story is run in the project's own directory, in worktrees, sandboxes and
//! containers, and with a dummy that shows what another kind of worker needs.

mod choosing;
mod container;
mod dummy;
mod kept;
mod sandbox;

use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use rapport::workers::container_kind::ContainerSettings;
use rapport::workers::containers::Containers;
use rapport::workers::keeper::mark::Mark;
use rapport::workers::local::Local;
use rapport::workers::network::Network;
use rapport::workers::process::{Launch, ProcessKind, no_input};
use rapport::workers::sandboxes::Sandboxes;
use rapport::workers::worktrees::Worktrees;
use rapport::workers::{Worker, WorkerKind, WorkerKinds, WorkerSetup, Workers, Workplace};
use rapport_core::{ApplyTo, By, ChangeStatus, ConversationId, Created, SessionId};
use tempfile::TempDir;

use crate::support::{needs, remote};
use dummy::Copies;

#[tokio::test]
async fn the_directory_itself() {
    story(&Local, "local").await;
}

#[tokio::test]
async fn a_worktree_for_each_session() {
    let folder = tempfile::tempdir().unwrap();
    story(&Worktrees::new(folder.path().join("worktrees")), "worktree").await;
}

#[tokio::test]
async fn a_sandbox_for_each_session() {
    if needs::sandbox() {
        let folder = tempfile::tempdir().unwrap();
        story(&Sandboxes::new(folder.path().join("worktrees"), None), "sandbox").await;
    }
}

/// WORK-8, WORK-16: the same container for the session from its beginning to its end.
#[tokio::test]
async fn a_container_for_each_session() {
    if let Some(engine) = needs::engine() {
        let folder = tempfile::tempdir().unwrap();
        let containers = containers(folder.path(), engine, Network::None);
        story(&containers, "container").await;
        too_much(&containers);
    }
}

/// The same with an engine on another machine.
#[tokio::test]
async fn a_container_on_another_machine_for_each_session() {
    if let Some(engine) = remote::engine() {
        let folder = tempfile::tempdir().unwrap();
        let containers = containers(folder.path(), engine, Network::None);
        story(&containers, "container").await;
        too_much(&containers);
    }
}

fn containers(folder: &Path, engine: String, network: Network) -> Containers {
    let containers = ContainerSettings {
        engine: Some(engine),
        image: Some(needs::IMAGE.into()),
        ..ContainerSettings::default()
    };
    Containers::new(
        &WorkerSetup {
            home: folder.into(),
            keeper: env!("CARGO_BIN_EXE_rapport").into(),
            worktrees: folder.join("worktrees"),
            network,
            ..WorkerSetup::default()
        },
        &containers,
    )
}

/// The agent decides how large its files are, and the host's memory is not its own.
fn too_much(containers: &Containers) {
    let (project, created) = project("container");
    let place = containers.open(&id(), &created).unwrap();
    let made = place
        .way_in(&["dd", "if=/dev/null", "of=large", "bs=1", "count=0", "seek=1T"].map(OsString::from))
        .unwrap()
        .status();
    assert!(made.unwrap().success());
    let refused = place.read("large").unwrap_err().to_string();
    assert!(refused.contains("it is larger than"), "{refused}");
    drop(place);
    containers.clear(&id(), &created).unwrap();
    drop(project);
}

#[tokio::test]
async fn a_dummy() {
    let folder = tempfile::tempdir().unwrap();
    story(&Copies::new(folder.path()), "copies").await;
}

#[test]
fn each_session_says_which_is_its() {
    let (project, created) = project("cloud");
    let error = Workers::default().with("local", Local).open(&id(), &created).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "there is no worker called cloud; there are: local");
    drop(project);
}

/// What is registered can be named in the settings, says what it is, and is there for the sessions that name it.
#[test]
fn every_kind_can_be_chosen_and_opened_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let setup = WorkerSetup { worktrees: folder.path().into(), ..WorkerSetup::default() };
    let kinds = WorkerKinds::builtin();
    let workers = kinds.workers(&setup);
    let names: Vec<_> = kinds.iter().map(WorkerKind::name).collect();
    assert_eq!(names, ["local", "worktree", "sandbox", "container"]);
    assert_eq!(kinds.usual().name(), "local");
    for kind in kinds.iter() {
        assert!(!kind.in_brief().is_empty());
        let (_project, created) = project(kind.name());
        assert!(workers.find(&id(), &created).is_ok(), "{}", kind.name());
    }
    let walls: Vec<_> = kinds.iter().filter(|kind| kind.is_wall()).map(WorkerKind::name).collect();
    assert_eq!(walls, ["sandbox", "container"]);
    let bare = tempfile::tempdir().unwrap();
    let none = kinds.find("worktree").unwrap().check(bare.path(), &setup).unwrap_err();
    assert!(none.why.starts_with("cannot make a worktree: ") && none.advice.len() == 2, "{none:?}");
}

async fn story(worker: &dyn Worker, name: &str) {
    let (project, created) = project(name);
    let is_apart = created.works_apart();
    let place = worker.open(&id(), &created).unwrap();
    files(&*place);
    states(&*place);
    processes(&*place).await;

    let again = worker.find(&id(), &created).unwrap().expect("it is there");
    assert_eq!(again.directory(), place.directory());
    assert_eq!(again.read("made.txt").unwrap().as_deref(), Some(&b"made\n"[..]));
    let there = |path: &str| std::fs::read_to_string(project.path().join(path)).ok();
    assert_eq!(there("made.txt").is_some(), !is_apart);

    if is_apart {
        taken_over(&*place, project.path());
        assert_eq!(there("made.txt").as_deref(), Some("made\n"));
    } else {
        assert!(place.merge(false).is_err(), "there is nothing to take over");
    }
    let directory = place.directory().to_owned();
    worker.clear(&id(), &created).unwrap();
    worker.clear(&id(), &created).unwrap();
    assert_eq!(directory.exists(), !is_apart, "what is apart is gone, and nothing else");
    assert_eq!(there("made.txt").as_deref(), Some("made\n"), "the project stays");
}

fn files(place: &dyn Workplace) {
    assert_eq!(place.read("README.md").unwrap().as_deref(), Some(&b"# An app\n"[..]));
    assert_eq!(
        place.read("draft.txt").unwrap().as_deref(),
        Some(&b"draft\n"[..]),
        "also what is not committed"
    );
    assert_eq!(place.read("nothing.txt").unwrap(), None);
    assert!(place.read("../outside.txt").is_err(), "what is outside is not read");
    place.replace("notes/a.txt", b"a\n").unwrap();
    place.replace("notes/a.txt", b"b\n").unwrap();
    assert_eq!(place.read("notes/a.txt").unwrap().as_deref(), Some(&b"b\n"[..]));
    let listed = place.list().unwrap();
    assert!(
        ["README.md", "draft.txt", "notes/a.txt"].iter().all(|path| listed.contains(&(*path).to_owned()))
    );
    assert!(!listed.iter().any(|path| path.starts_with(".git/")), "{listed:?}");
}

fn states(place: &dyn Workplace) {
    let before = place.snapshot().unwrap().expect("a state");
    assert_eq!(place.snapshot().unwrap().as_ref(), Some(&before), "nothing changed");
    assert_eq!(place.changes(&before).unwrap().files, []);
    place.replace("README.md", b"# Another app\n").unwrap();
    place.replace("notes/c.txt", b"c\n").unwrap();
    place.replace(".rapport/ours.txt", b"ours\n").unwrap();
    let changes = place.changes(&before).unwrap();
    let mut files: Vec<_> =
        changes.files.iter().map(|file| (file.path.as_str(), file.status.as_str())).collect();
    files.sort_unstable();
    assert_eq!(files, [("README.md", "modified"), ("notes/c.txt", "added")]);
    let mut patch = Vec::new();
    place.patch(Some(&before), &mut patch).unwrap();
    let patch = String::from_utf8(patch).unwrap();
    assert!(patch.contains("+# Another app") && patch.contains("+c"), "{patch}");
}

async fn processes(place: &dyn Workplace) {
    let (mut output, written) = std::io::pipe().unwrap();
    let (mut left, told) = std::io::pipe().unwrap();
    let script = "pwd; echo \"mark $RAPPORT_RUN\" | cut -c1-6; echo made > made.txt
        sleep 1000 & while [ \"$(cat /proc/$!/comm)\" != sleep ]; do sleep 0.01; done; exit 3";
    let mut kept = place
        .spawn(Launch {
            keeper: Path::new(env!("CARGO_BIN_EXE_rapport")),
            kind: ProcessKind::Command,
            program: "sh".as_ref(),
            args: &[OsString::from("-c"), OsString::from(script)],
            env: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
            mark: Mark::unnamed(),
            stdin: no_input().unwrap(),
            stdout: written.try_clone().unwrap().into(),
            stderr: written.into(),
            beside: told.into(),
            tools: &[],
            service: None,
            refused: None,
        })
        .unwrap();
    assert_eq!(kept.gone().await.unwrap().code(), Some(3));
    let (mut said, mut names) = (String::new(), String::new());
    output.read_to_string(&mut said).unwrap();
    left.read_to_string(&mut names).unwrap();
    // That of a container is not on this machine.
    let directory = place.directory().canonicalize().unwrap_or_else(|_| place.directory().to_owned());
    assert_eq!(said, format!("{}\nmark /\n", directory.display()));
    assert_eq!(names, "sleep\n", "what it left behind is ended, and told");
}

fn taken_over(place: &dyn Workplace, project: &Path) {
    let merged = place.merge(false).unwrap().expect("no conflicts");
    assert!(!project.join("made.txt").exists(), "merging changes nothing");
    let files = place.apply(&merged, &ApplyTo::Files, "a task").unwrap();
    assert!(
        files.iter().any(|file| file.path == "made.txt" && file.status == ChangeStatus::Added),
        "{files:?}"
    );
    place.apply(&merged, &ApplyTo::Files, "a task").unwrap();
    std::fs::write(project.join("README.md"), "# Mine\n").unwrap();
    place.replace("README.md", b"# Yours\n").unwrap();
    let conflicts = place.merge(false).unwrap().expect_err("both changed it").conflicts;
    assert_eq!(conflicts, ["README.md"]);
    assert_eq!(std::fs::read_to_string(project.join("README.md")).unwrap(), "# Mine\n");
}

fn id() -> SessionId {
    SessionId::new("20260124-story")
}

/// A repository with a commit and a file that is not committed.
fn project(worker: &str) -> (TempDir, Created) {
    let project = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
        assert!(
            Command::new("git")
                .args(identity)
                .args(args)
                .current_dir(project.path())
                .status()
                .unwrap()
                .success()
        );
    };
    std::fs::write(project.path().join("README.md"), "# An app\n").unwrap();
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "-m", "An app"]);
    std::fs::write(project.path().join("draft.txt"), "draft\n").unwrap();
    let by = By::Person { channel: "terminal".into(), id: "me".into() };
    let directory = project.path().canonicalize().unwrap().to_str().unwrap().to_owned();
    let created = Created::new("a story".into(), directory, ConversationId::new("c-1"), by);
    let created = Created { worker: worker.to_owned(), ..created };
    (project, created)
}
