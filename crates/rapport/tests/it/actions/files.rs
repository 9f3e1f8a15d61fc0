//! CREATE and EDIT: atomic, inside the project, and only as the plan says.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use rapport::actions::{ActionBatch, Choice, Details, FileChange, LaterChanges, OnDisk, Stop, undo};
use rapport_core::ActionKind;
use rapport_core::check::{Contents, Lead, PathKind, Project as _};

use super::{Nobody, Stage, create, details, edit, overwrite, plan, told};

/// Carries out one action in a project with a few files, and checks what is said and what the file is then.
async fn check(kind: ActionKind, said: &str, file: &str, content: Option<&str>) {
    let stage = Stage::new()
        .with("a.txt", "one\ntwo\nthree\n")
        .with("regex.txt", "a.*b [x] (y) $1 \\d+ ^\n")
        .with("dos.txt", "one\r\ntwo\r\nthree\r\n")
        .with("twice.txt", "x x")
        .with("aaa.txt", "aaa")
        .with("binary", b"one\0two")
        .with("latin", b"caf\xe9 one")
        .with("folder/inner.txt", "inner")
        .with("../outside/secret.txt", "secret");
    symlink(stage.path("../outside"), stage.path("way_out")).unwrap();
    symlink(stage.path("../outside/secret.txt"), stage.path("secret_link")).unwrap();
    symlink("folder", stage.path("way_in")).unwrap();
    symlink("a.txt", stage.path("link.txt")).unwrap();
    symlink("nowhere", stage.path("dangling")).unwrap();
    let before = stage.everything();
    let ran = stage.run(&plan([kind.clone()])).await;
    assert_eq!(told(&ran), [said], "{kind:?}");
    assert_eq!(stage.text(file).as_deref(), content, "{kind:?}");
    assert_eq!(stage.text("../outside/secret.txt").unwrap(), "secret");
    assert_eq!(fs::read_dir(stage.path("../outside")).unwrap().count(), 1, "{kind:?}");
    if said != "done" {
        assert_eq!(stage.everything(), before, "a failure changes nothing: {kind:?}");
    }
    stage.undo();
    assert_eq!(stage.everything(), before, "undone: {kind:?}");
}

#[tokio::test]
async fn file_40_create_makes_files_and_folders() {
    check(create("new.txt", "new\n"), "done", "new.txt", Some("new\n")).await;
    check(create("x/y/z/new.txt", "new"), "done", "x/y/z/new.txt", Some("new")).await;
    check(create("way_in/new.txt", "new"), "done", "folder/new.txt", Some("new")).await;
    check(create("./folder/../new.txt", "new"), "done", "new.txt", Some("new")).await;
    check(create("Ünï cödé.txt", "new"), "done", "Ünï cödé.txt", Some("new")).await;
    check(overwrite("a.txt", "new"), "done", "a.txt", Some("new")).await;
    check(overwrite("link.txt", "new"), "done", "a.txt", Some("new")).await;
    check(overwrite("binary", "text"), "done", "binary", Some("text")).await;
    let there = "failed: a.txt already exists, and the plan does not say Overwrite";
    check(create("a.txt", "new"), there, "a.txt", Some("one\ntwo\nthree\n")).await;
    check(
        overwrite("folder", "new"),
        "failed: folder is a directory, not a file",
        "folder/inner.txt",
        Some("inner"),
    )
    .await;
}

#[tokio::test]
async fn file_40_edit_changes_what_is_there_exactly_once() {
    let a = Some("one\ntwo\nthree\n");
    check(edit("a.txt", &[("two\n", "2\n")]), "done", "a.txt", Some("one\n2\nthree\n")).await;
    check(edit("a.txt", &[("one", "1"), ("1\ntwo", "12")]), "done", "a.txt", Some("12\nthree\n")).await;
    check(edit("link.txt", &[("two\n", "")]), "done", "a.txt", Some("one\nthree\n")).await;
    check(edit("regex.txt", &[("a.*b [x] (y) $1 \\d+ ^", "$0 \\1")]), "done", "regex.txt", Some("$0 \\1\n"))
        .await;
    let dos = Some("one\r\n2\r\n2b\r\nthree\r\n");
    check(edit("dos.txt", &[("one\ntwo\n", "one\n2\n2b\n")]), "done", "dos.txt", dos).await;
    let absent = "failed: a.txt: edit 2 (plan.md:7): FIND does not occur";
    check(edit("a.txt", &[("one", "1"), ("four", "4")]), absent, "a.txt", a).await;
    let twice =
        |file: &str| format!("failed: {file}: edit 1 (plan.md:7): FIND occurs 2 times, on lines 1, 1");
    check(edit("twice.txt", &[("x", "y")]), &twice("twice.txt"), "twice.txt", Some("x x")).await;
    check(edit("aaa.txt", &[("aa", "y")]), &twice("aaa.txt"), "aaa.txt", Some("aaa")).await;
    check(edit("none.txt", &[("x", "y")]), "failed: none.txt does not exist", "none.txt", None).await;
    for file in ["binary", "latin"] {
        let said = format!("failed: {file} is not text, and only text can be edited");
        check(edit(file, &[("one", "two")]), &said, "a.txt", a).await;
    }
}

#[tokio::test]
async fn nothing_leads_out_of_the_project() {
    let outside = [
        "../outside/secret.txt",
        "folder/../../outside/secret.txt",
        "way_out/secret.txt",
        "way_out/new.txt",
        "secret_link",
        "/etc/passwd",
        "way_in/../../outside/secret.txt",
    ];
    for path in outside {
        let said = format!("failed: {path} is outside the project");
        check(overwrite(path, "new"), &said, "a.txt", Some("one\ntwo\nthree\n")).await;
        check(edit(path, &[("secret", "x")]), &said, "a.txt", Some("one\ntwo\nthree\n")).await;
    }
    for path in ["", ".", "folder/"] {
        let said = format!("failed: {path:?} is not the path of a file");
        check(overwrite(path, "new"), &said, "a.txt", Some("one\ntwo\nthree\n")).await;
    }
}

#[tokio::test]
async fn a_link_that_leads_nowhere_is_not_written_through() {
    let stage = Stage::new();
    symlink("/nonexistent/place", stage.path("dangling")).unwrap();
    let ran = stage.run(&plan([overwrite("dangling", "x")])).await;
    assert!(told(&ran)[0].ends_with("a symbolic link that leads nowhere"), "{:?}", told(&ran));
}

#[tokio::test]
async fn the_journal_is_not_for_plans() {
    let mut stage = Stage::new();
    stage.site.journal = stage.path(".rapport/batch");
    let ran = stage.run(&plan([overwrite(".rapport/batch/journal.jsonl", "x")])).await;
    let said = "failed: .rapport/batch/journal.jsonl is in the journal of this batch";
    assert_eq!(told(&ran), [said]);
}

#[tokio::test]
async fn modes_are_kept_and_new_files_get_the_usual_one() {
    let stage = Stage::new().with("run.sh", "echo one").with("private", "one");
    let mode = |file: &str| fs::metadata(stage.path(file)).unwrap().permissions().mode() & 0o7777;
    fs::set_permissions(stage.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(stage.path("private"), fs::Permissions::from_mode(0o600)).unwrap();
    stage.write("usual", "");
    let plan = plan([edit("run.sh", &[("one", "two")]), overwrite("private", "two"), create("new", "new")]);
    assert_eq!(told(&stage.run(&plan).await), ["done", "done", "done"]);
    assert_eq!((mode("run.sh"), mode("private"), mode("new")), (0o755, 0o600, mode("usual")));
    for kept in fs::read_dir(stage.site.journal.join("before")).unwrap() {
        let mode = kept.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "what only its owner may read stays so");
    }
    fs::set_permissions(stage.path("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    stage.undo();
    assert_eq!((mode("run.sh"), mode("private")), (0o755, 0o600));
}

#[tokio::test]
async fn a_file_changed_since_planning_is_looked_at_as_it_is() {
    let stage = Stage::new().with("a.txt", "one two");
    let plan = plan([edit("a.txt", &[("two", "2")])]);
    stage.write("a.txt", "zero one two");
    assert_eq!(told(&stage.run(&plan).await), ["done"]);
    assert_eq!(stage.text("a.txt").unwrap(), "zero one 2");
    stage.undo();
    assert_eq!(stage.text("a.txt").unwrap(), "zero one two");
}

#[tokio::test]
async fn what_changes_nothing_is_done_and_says_so() {
    let stage = Stage::new().with("a.txt", "one");
    let changed = edit("a.txt", &[("one", "1")]);
    let ran = stage.run(&plan([overwrite("a.txt", "one"), create("b.txt", "b"), changed])).await;
    let Details::File { change: FileChange::Changed, diff: Some(diff), .. } = details(&ran, 2) else {
        panic!()
    };
    assert!(diff.contains("-one") && diff.contains("+1"), "{diff}");
    let file = |path: &str, change| Details::File { path: path.into(), change, diff: None };
    assert_eq!(details(&ran, 0), &file("a.txt", FileChange::Unchanged));
    assert_eq!(details(&ran, 1), &file("b.txt", FileChange::Made));
}

#[test]
fn plans_are_checked_against_the_project_on_disk() {
    let stage =
        Stage::new().with("a.txt", "one").with("sub/b", b"\0").with("../outside/secret.txt", "secret");
    symlink(stage.path("../outside"), stage.path("way_out")).unwrap();
    let project = OnDisk::new(&stage.site.project).unwrap();
    let kinds = [
        ("a.txt", PathKind::File),
        ("sub", PathKind::Directory),
        ("", PathKind::Directory),
        ("sub/b", PathKind::File),
        ("A.txt", PathKind::Missing),
        ("c/d", PathKind::Missing),
        ("a.txt/x", PathKind::Missing),
    ];
    for (path, kind) in kinds {
        assert_eq!(project.exists(path), kind, "{path}");
        assert_eq!(project.follow(path), Lead::Inside(path.into()), "{path}");
    }
    symlink("sub", stage.path("other")).unwrap();
    symlink("a.txt", stage.path("same.txt")).unwrap();
    symlink("none", stage.path("dangling")).unwrap();
    for (path, lead) in [
        ("way_out", Lead::Outside),
        ("way_out/secret.txt", Lead::Outside),
        ("../x", Lead::Outside),
        ("dangling", Lead::Nowhere),
        ("dangling/x", Lead::Nowhere),
        ("./same.txt", Lead::Inside("a.txt".into())),
        ("other//new", Lead::Inside("sub/new".into())),
        (".", Lead::Inside(String::new())),
    ] {
        assert_eq!(project.follow(path), lead, "{path}");
    }
    for path in ["sub", "none", "way_out/secret.txt"] {
        assert_eq!(project.read(path), Contents::Missing, "{path}");
    }
    assert_eq!(project.read("sub/b"), Contents::Binary);
    assert_eq!(project.read("a.txt"), Contents::Text("one".into()));
    stage.write("a.txt", "two");
    assert_eq!(project.read("a.txt"), Contents::Text("one".into()), "one check sees one state");
}

#[test]
fn nothing_is_written_outside_while_a_directory_is_swapped_for_a_link() {
    let directory = tempfile::tempdir().unwrap();
    let (outside, spare) = (directory.path().join("outside"), directory.path().join("spare"));
    fs::create_dir(&outside).unwrap();
    let stage = Stage::at(directory.path()).with("d/there.txt", "before");
    symlink(&outside, &spare).unwrap();
    let is_over = AtomicBool::new(false);
    let plan = plan([create("d/new.txt", "new"), create("d/deep/new.txt", "new")]);
    let (d, root) = (stage.path("d"), directory.path());
    std::thread::scope(|scope| {
        let swaps = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat2(AT_FDCWD, &d, AT_FDCWD, &spare, RenameFlags::RENAME_EXCHANGE).unwrap();
            }
        });
        for n in 0..200 {
            let mut site = stage.site.clone();
            site.journal = root.join(format!("batch-{n}"));
            let batch = ActionBatch { plan: &plan, site: &site, config: &stage.config };
            let choices = [Choice::Run, Choice::Run];
            // It may succeed or fail, as the swaps go.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            drop(runtime.block_on(batch.run(&choices, &Nobody, &mut |_| {}, &Stop::never())));
            drop(undo(&site, LaterChanges::Keep));
        }
        is_over.store(true, Ordering::Relaxed);
        swaps.join().unwrap();
    });
    let strays: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(strays.is_empty(), "{strays:?}");
}
