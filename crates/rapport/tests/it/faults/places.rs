//! Disks that are full or read-only, directories that are gone, and links that lead elsewhere.

use super::finish;
use crate::support::disk::Disk;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// A project on a disk of its own.
fn on_a_disk(size: &str) -> Option<(Disk, Project)> {
    let project = Project::with_scenario(ONE_QUESTION);
    let disk = Disk::at(&project.root(), size)?;
    project.begin();
    Some((disk, project))
}

#[test]
fn a_disk_that_is_full_while_somebody_answers() {
    let Some((disk, project)) = on_a_disk("512k") else { return };
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let filler = disk.fill();
    let long = "x".repeat(60_000);
    for _ in 0..2 {
        let ran = project.rapport(&["answer", "paint", "--text", &long]);
        ran.check(6, "No space left on device").check(6, "Nothing that was confirmed is lost.");
    }
    assert_eq!(project.view().questions.len(), 1, "it is not answered");
    std::fs::remove_file(filler).unwrap();
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

#[test]
fn a_disk_that_is_full_while_the_agent_works() {
    let Some((disk, project)) = on_a_disk("512k") else { return };
    let filler = disk.fill();
    let size = std::fs::metadata(&filler).unwrap().len();
    std::fs::File::options().write(true).open(&filler).unwrap().set_len(size - 64 * 1024).unwrap();
    let talkative = ONE_QUESTION.replace("One thing first.", &"word ".repeat(40_000));
    let project = project.playing(&talkative);
    let running = project.start(&["paint"], &[]);
    let (code, said) = running.finish_saying();
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("No space left on device") && said.contains("rapport resume "), "{said}");
    assert_eq!(project.agents_alive(), []);
    disk.fill();
    project.rapport(&["run", "more"]).check(6, "No space left on device");
    std::fs::remove_file(filler).unwrap();
    finish(&project);
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

#[test]
fn a_project_that_can_only_be_read() {
    let Some((disk, project)) = on_a_disk("512k") else { return };
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    disk.read_only();
    project.rapport(&["status"]).check(0, "needs input");
    project.rapport(&["log", "paint"]).check(0, "the agent asks");
    for command in [
        &["answer", "paint", "Red"][..],
        &["run", "--resume", "paint"],
        &["run", "more"],
        &["cancel", "paint"],
    ] {
        project.rapport(command).check(6, "Read-only file system");
    }
    disk.writable();
    finish(&project);
}

#[test]
fn a_home_that_can_only_be_read() {
    let project = Project::with_scenario(ONE_QUESTION);
    let Some(home) = Disk::at(&project.path("home"), "512k") else { return };
    home.read_only();
    let place = project.path("home/.rapport/run").display().to_string();
    let ran = project.rapport(&["run", "paint"]);
    ran.check(1, &format!("cannot listen in {place}: Read-only file system")).check(1, "RAPPORT_HOME");
    project.rapport(&["doctor"]).check(1, "bad      home");
    project.rapport(&["status"]).check(0, "No sessions here yet.");
    home.writable();
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    finish(&project);
}

#[test]
fn a_project_that_is_moved_away_is_not_made_anew() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let elsewhere = project.path("elsewhere");
    std::fs::rename(project.root(), &elsewhere).unwrap();
    let moved = ["--project", elsewhere.to_str().unwrap()];
    let args = [&["answer", "paint", "Blue"][..], &moved].concat();
    let ran = project.command().current_dir("/").args(args).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let (code, said) = running.finish_saying();
    assert_eq!(code, 7);
    assert!(
        said.contains(&format!("the project's directory {} is gone", project.root().display())),
        "{said}"
    );
    assert!(!project.root().exists());
    std::fs::rename(&elsewhere, project.root()).unwrap();
    finish(&project);
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

#[test]
fn a_project_that_is_removed_is_missed() {
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_AGENT_HOT", "2s");
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    std::fs::remove_dir_all(project.root()).unwrap();
    let (code, said) = running.finish_saying();
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("log.jsonl"), "{said}");
    assert_eq!(project.agents_alive(), []);
    let gone = project.root().display().to_string();
    let ran = project.command().current_dir("/").args(["status", "--project", &gone]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
}

/// What is written stays in the project, and what is in the way is named.
#[test]
fn a_folder_for_plans_that_cannot_be_one() {
    type Spoil = fn(&Project);
    let link: Spoil = |project| {
        std::fs::create_dir_all(project.root().join(".claude")).unwrap();
        std::fs::create_dir_all(project.path("outside")).unwrap();
        std::os::unix::fs::symlink(project.path("outside"), project.root().join(".claude/todos")).unwrap();
    };
    let dangling: Spoil = |project| {
        std::fs::create_dir_all(project.root().join(".claude")).unwrap();
        std::os::unix::fs::symlink(project.path("outside"), project.root().join(".claude/todos")).unwrap();
    };
    let file: Spoil = |project| std::fs::write(project.root().join(".claude"), "mine").unwrap();
    for (spoil, says) in [
        (link, "its folder is a link that leads out of the project"),
        (dangling, "File exists"),
        (file, "Not a directory"),
    ] {
        let project = Project::with_scenario(ONE_QUESTION);
        spoil(&project);
        let mut running = project.start(&["paint"], &[]);
        running.until_asked();
        project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
        let (code, said) = running.finish_saying();
        assert_eq!(code, 7, "{said}");
        assert!(said.contains("cannot write the plan to ") && said.contains(says), "{said}");
        let outside = std::fs::read_dir(project.path("outside")).into_iter().flatten().count();
        assert_eq!(outside, 0, "nothing was made out there");
        let claude = project.root().join(".claude");
        if claude.is_file() {
            std::fs::remove_file(claude).unwrap();
        } else {
            std::fs::remove_dir_all(claude).unwrap();
        }
        finish(&project);
        assert!(project.file(".claude/todos/paint/paint.md").contains("A: Blue\n"));
    }
}
