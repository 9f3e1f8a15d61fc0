//! A question answered twice: in the session that asked it, and in a branch with its own files.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use rapport_core::{Event, SessionId, Status, View};
use serde::Deserialize;
use serde_json::Value;

use crate::support::project::{Project, Running, unsigned};
use crate::support::scenarios::{ONE_QUESTION, PERMISSION};

/// A plan without a question; work that writes, asks, and writes again.
const ASKS_AT_WORK: &str = r##"
version: 1
name: asks at work
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: before.txt, content: "begun\n" }
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
      - write: { path: before.txt, content: "gone on\n" }
      - write: { path: paint.txt, content: "{{answer:1}}\n" }
    result: "Painted in {{answer:1}}."
"##;

#[derive(Deserialize)]
struct Branched {
    session: SessionId,
    worktree: PathBuf,
}

impl Branched {
    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.worktree.join(name)).unwrap_or_default()
    }
}

fn branch(project: &Project, session: &str, at: &str) -> Branched {
    project.json(&["branch", session, "--at", at, "--json"])
}

fn view(project: &Project, session: &str) -> View {
    project.json(&["status", session, "--json"])
}

fn log(project: &Project, session: &SessionId) -> Vec<u8> {
    std::fs::read(project.root().join(".rapport/sessions").join(session.as_str()).join("log.jsonl")).unwrap()
}

/// Every conversation of the agent, as bytes.
fn conversations(project: &Project) -> Vec<String> {
    project.transcripts().iter().map(|lines| format!("{lines:?}")).collect()
}

/// Answers the question, resumes the session, and confirms its plan if it has one.
fn finish(project: &Project, session: &SessionId, answer: &str) {
    let id = session.as_str();
    project.rapport(&["answer", id, "--question", "q1", answer]).check(0, "Answered.");
    let running = project.start(&["--resume", id], &[]);
    confirm(project, running, id);
    assert_eq!(view(project, id).status, Status::Completed);
}

fn confirm(project: &Project, mut running: Running, id: &str) {
    if view(project, id).phase == rapport_core::PhaseView::Clarifying {
        running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
        project.rapport(&["answer", id, "confirm"]).check(0, "Answered.");
    }
    assert_eq!(running.finish(), 0);
}

/// Works until it asks, and until the files at the question are noted.
fn asked_at_work(project: &Project) -> Running {
    let mut running = project.start(&["paint"], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, Event::Snapshotted { state: Some(_), .. }));
    running
}

#[test]
fn a_parked_question_is_answered_two_ways_side_by_side() {
    let project = Project::with_scenario(ONE_QUESTION).recorded().set("RAPPORT_AGENT_HOT", "0s");
    let mut running = project.start(&["paint"], &[]);
    running.until(|fact| matches!(fact, Event::Parked { .. }));
    running.kill();
    let original = project.session();
    let (before, told) = (log(&project, &original), conversations(&project));

    let ran = project.rapport(&["branch", "paint", "--at", "q1"]);
    ran.check(0, "q1 is open again there")
        .check(0, "go on with: rapport resume 2")
        .check(0, "rapport diff 2");
    let branch = project.store().list().unwrap().into_iter().find(|id| *id != original).unwrap();
    assert_eq!(log(&project, &original), before, "the original is not touched");
    assert_eq!(conversations(&project), told, "nor is its agent's conversation");
    assert_eq!(project.git(&["status", "--porcelain", "--", ".rapport/worktrees"]), "");
    project
        .rapport(&["status"])
        .check(0, "paint-branch  needs input")
        .check(0, &format!("(branch of {original} at q1)"));

    finish(&project, &original, "Red");
    finish(&project, &branch, "Blue");
    assert_eq!(Path::new(&view(&project, branch.as_str()).project), project.root());
    let worktree = project.root().join(".rapport/worktrees").join(branch.as_str());
    assert_eq!(project.file("paint.txt"), "Red\n");
    assert_eq!(std::fs::read_to_string(worktree.join("paint.txt")).unwrap(), "Blue\n");
    assert_eq!(view(&project, branch.as_str()).result.unwrap(), "Painted in Blue.");
    let changed = view(&project, branch.as_str()).changes.unwrap().files;
    let changed: Vec<_> = changed.iter().map(|file| file.path.as_str()).collect();
    assert!(changed.contains(&"paint.txt"), "{changed:?}");

    // Both continued at the very same call, without a message about it.
    let messages =
        |input: &Vec<serde_json::Value>| input.iter().filter(|line| line["type"] == "user").count();
    assert_eq!(project.agent_inputs().iter().map(messages).collect::<Vec<_>>(), [1, 0, 1, 0, 1]);
}

/// A branch is applied like any work in a worktree: all of it, from where the original began. What the original left
/// in the project is in the way until it is undone.
#[test]
fn a_branch_in_the_middle_of_work_is_applied_with_what_was_done_before() {
    let project = Project::with_scenario(ASKS_AT_WORK);
    let running = asked_at_work(&project);
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    let (original, branch) = (project.session(), branch(&project, "paint", "q1"));
    project.rapport(&["apply", branch.session.as_str()]).check(3, "applying is not possible now");
    finish(&project, &branch.session, "Blue");
    let id = branch.session.as_str();
    project.rapport(&["status", id]).check(0, &format!("rapport apply {id}"));
    let diff = project.rapport(&["diff", id]);
    diff.check(0, "+gone on").check(0, "+Blue");
    let compared = project.rapport(&["diff", original.as_str(), id]);
    compared.check(0, "-Red\n+Blue");
    project.rapport(&["apply", id]).check(3, "conflict: paint.txt").check(3, "Nothing was changed.");
    assert_eq!(project.file("paint.txt"), "Red\n");

    project.rapport(&["undo", original.as_str(), "--yes"]).check(0, "removed: paint.txt");
    project.rapport(&["apply", id]).check(0, "Applied to").check(0, "worktree and its branch are gone");
    assert_eq!(
        (project.file("paint.txt").as_str(), project.file("before.txt").as_str()),
        ("Blue\n", "gone on\n")
    );
    assert!(!branch.worktree.exists());
    project.rapport(&["log", "--tree"]).check(0, &format!("{id}  completed")).check(0, "(branched at q1)");
    project.rapport(&["undo", id, "--yes"]).check(0, "removed: before.txt").check(0, "removed: paint.txt");
    assert_eq!((project.file("paint.txt").as_str(), project.file("before.txt").as_str()), ("", ""));
}

/// A branch of an older version works in a worktree as if that were its project. It continues, and git takes it over.
#[test]
fn a_branch_of_an_older_version_goes_on_and_says_how_it_is_taken_over() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    let branch = branch(&project, "paint", "q1");
    let id = branch.session.as_str();
    // As the older version left it: no branch, no ref, and the worktree as the project.
    project.git(&["-C", branch.worktree.to_str().unwrap(), "checkout", "--quiet", "--detach"]);
    project.git(&["branch", "--quiet", "-D", &format!("rapport/{id}")]);
    project.git(&["update-ref", "-d", &format!("refs/rapport/{id}")]);
    let path = project.root().join(".rapport/sessions").join(id).join("log.jsonl");
    let log = std::fs::read_to_string(&path).unwrap();
    let root = format!("\"project\":\"{}\"", project.root().display());
    let older = log.replacen(&root, &format!("\"project\":\"{}\"", branch.worktree.display()), 1).replacen(
        "\"worker\":\"worktree\",\"apart\":true",
        "\"apart\":false",
        1,
    );
    assert_ne!(log, older);
    let lines = older.lines().map(|line| unsigned(serde_json::from_str(line).unwrap()));
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    project.rapport(&["trust", "--yes", id]).check(0, "is trusted from now on");
    finish(&project, &branch.session, "Blue");
    assert_eq!(branch.file("paint.txt"), "Blue\n");
    for verb in ["apply", "discard"] {
        project
            .rapport(&[verb, id])
            .check(3, "is a branch of an older version")
            .check(3, "git worktree remove");
    }
    let said = project.rapport(&["apply", id]).err();
    let command = said.lines().find(|line| line.contains("git apply")).unwrap();
    project.sh(command).check(0, "");
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

#[test]
fn a_question_answered_in_the_middle_of_work_has_its_files_back() {
    let project = Project::with_scenario(ASKS_AT_WORK);
    let running = asked_at_work(&project);
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("before.txt"), "gone on\n");
    let original = project.session();
    let before = log(&project, &original);

    let branch = branch(&project, "paint", "q1");
    assert_eq!(branch.file("before.txt"), "begun\n");
    assert_eq!(branch.file("paint.txt"), "");
    assert_eq!(branch.file("README.md"), "# An app\n");
    finish(&project, &branch.session, "Blue");
    assert_eq!(branch.file("paint.txt"), "Blue\n");
    assert_eq!(branch.file("before.txt"), "gone on\n");
    assert_eq!(project.file("paint.txt"), "Red\n");
    assert_eq!(log(&project, &original), before);
    assert_eq!(view(&project, original.as_str()).result.unwrap(), "Painted in Red.");
}

#[test]
fn while_the_original_runs_and_waits() {
    let project = Project::with_scenario(ASKS_AT_WORK);
    let running = asked_at_work(&project);
    let original = project.session();
    let branch = branch(&project, "paint", "q1");
    assert_eq!(branch.file("before.txt"), "begun\n");
    finish(&project, &branch.session, "Blue");
    assert_eq!(view(&project, original.as_str()).questions.len(), 1, "the original still waits");
    project.rapport(&["answer", original.as_str(), "Red"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!((project.file("paint.txt").as_str(), branch.file("paint.txt").as_str()), ("Red\n", "Blue\n"));
}

/// Permission is a question too: what is denied here may be allowed there.
#[test]
fn a_permission_is_given_in_one_and_not_in_the_other() {
    let project = Project::with_scenario(PERMISSION);
    let running = asked_at_work(&project);
    let original = project.session();
    let branch = branch(&project, original.as_str(), "q1");
    project.rapport(&["answer", original.as_str(), "--question", "q1", "deny"]).check(0, "Answered.");
    running.finish();
    finish(&project, &branch.session, "allow");
    assert_eq!((project.file("built.txt").as_str(), branch.file("built.txt").as_str()), ("", "built\n"));
    let asked = project.store().read(&branch.session, 0).unwrap();
    let asked = asked.iter().flat_map(|entry| &entry.facts);
    let agent_asked =
        |fact: &&Event| matches!(fact, Event::Asked { asker: rapport_core::Asker::Agent { .. }, .. });
    assert_eq!(asked.filter(agent_asked).count(), 1, "nobody is asked twice");
}

/// Some keep what Rapport writes in git; a worktree has it as it was committed.
#[test]
fn what_rapport_wrote_and_somebody_committed_is_there_too() {
    let project = Project::with_scenario(ASKS_AT_WORK);
    std::fs::create_dir_all(project.root().join(".rapport")).unwrap();
    std::fs::write(project.root().join(".rapport/memos.yaml"), "- be kind\n").unwrap();
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "A memo"]);
    let running = asked_at_work(&project);
    let branch = branch(&project, "paint", "q1");
    assert_eq!(branch.file(".rapport/memos.yaml"), "- be kind\n");
    let status = std::process::Command::new("git")
        .args(["status", "--porcelain", "--untracked-files=all"])
        .current_dir(&branch.worktree)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "", "the files at the question are committed there");
    assert_eq!(branch.file("before.txt"), "begun\n");
    drop(running);
}

#[test]
fn two_branches_at_one_question_and_a_branch_of_a_branch() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let original = project.session();
    let first = branch(&project, original.as_str(), "q1");
    let second = branch(&project, original.as_str(), "q1");
    let third = branch(&project, second.session.as_str(), "q1");
    for (branch, answer) in [(&first, "Blue"), (&second, "Red"), (&third, "Green")] {
        finish(&project, &branch.session, answer);
        assert_eq!(branch.file("paint.txt"), format!("{answer}\n"));
    }
    assert_eq!(project.file("paint.txt"), "");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 4);
}

#[test]
fn killed_with_the_question_open_it_branches_all_the_same() {
    let project = Project::with_scenario(ASKS_AT_WORK);
    asked_at_work(&project).kill();
    project.wait_alone(std::time::Duration::from_secs(2));
    let original = project.session();
    let branch = branch(&project, "paint", "q1");
    finish(&project, &branch.session, "Blue");
    finish(&project, &original, "Red");
    assert_eq!((project.file("paint.txt").as_str(), branch.file("paint.txt").as_str()), ("Red\n", "Blue\n"));
}

/// Where a conversation is kept follows from the directory, and a worktree's is a long one.
#[test]
fn in_a_directory_with_a_long_and_unusual_name() {
    let long = "a rather long name_with.all+sorts ü ".repeat(5);
    let project = Project::called(&format!("{long}/app"), "").playing(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let branch = branch(&project, "paint", "q1");
    finish(&project, &branch.session, "Blue");
    assert_eq!(branch.file("paint.txt"), "Blue\n");
    drop(running);
}

/// What is not committed goes along, what git ignores does not, and a project may be a part of a repository.
#[test]
fn the_files_as_they_are_also_below_the_root_of_a_repository() {
    let project = Project::called("app/part", "").playing(ONE_QUESTION);
    std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    let above = project.path("app");
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
        assert!(
            std::process::Command::new("git")
                .args(identity)
                .args(args)
                .current_dir(&above)
                .status()
                .unwrap()
                .success()
        );
    };
    git(&["init", "--quiet"]);
    std::fs::write(above.join(".gitignore"), "*.o\n").unwrap();
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "-m", "An app"]);
    std::fs::write(project.root().join("README.md"), "# Another\n").unwrap();
    std::fs::write(project.root().join("new.txt"), "new\n").unwrap();
    std::fs::write(project.root().join("a.o"), "built\n").unwrap();
    let here = project.root().display().to_string();
    let mut running = project.start(&["paint", "--project", &here], &[]);
    running.until_asked();
    let branch: Branched = project.json(&["branch", "paint", "--at", "q1", "--json", "--project", &here]);
    assert!(branch.worktree.ends_with("part"), "{}", branch.worktree.display());
    assert_eq!(branch.file("README.md"), "# Another\n");
    assert_eq!(branch.file("new.txt"), "new\n");
    assert_eq!(branch.file("a.o"), "");
}

#[test]
fn what_cannot_branch_says_so_and_leaves_nothing_behind() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let original = project.session();
    project.rapport(&["branch", "nothing", "--at", "q1"]).check(4, "there is no session nothing");
    project.rapport(&["branch", "paint"]).check(2, "--at");
    project.rapport(&["branch", "paint", "--at", "q7"]).check(3, "there is no question q7 in this session");
    let conversations = project.path("home/.rapport/rehearsal");
    let moved = project.path("elsewhere");
    std::fs::rename(&conversations, &moved).unwrap();
    project.rapport(&["branch", "paint", "--at", "q1"]).check(3, "is gone, or does not have that question");
    std::fs::rename(&moved, &conversations).unwrap();
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    assert!(is_empty(&project.root().join(".rapport/worktrees")));

    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    project.wait_asked_for("confirm");
    project.rapport(&["branch", "paint", "--at", "confirm"]).check(3, "Rapport itself asked it");
    let git = project.root().join(".git");
    std::fs::rename(&git, &moved).unwrap();
    project.rapport(&["branch", "paint", "--at", "q1"]).check(3, "is not in a git repository");
    std::fs::create_dir(project.path("new")).unwrap();
    project.git(&["init", "--quiet"]);
    project.rapport(&["branch", "paint", "--at", "q1"]).check(3, "has no commit yet");
    assert_eq!(project.store().list().unwrap(), [original]);
    let sessions = std::fs::read_dir(project.root().join(".rapport/sessions")).unwrap();
    assert_eq!(sessions.count(), 1, "no name stays taken");
}

/// Of a round of three, the question that was named is open again; the other answers are kept, and are the agent's.
#[test]
fn the_other_answers_of_the_round_are_kept() {
    let project = Project::with_agent("rehearsal");
    let mut running = project.start(&["add a greeting"], &[]);
    running.until_asked();
    for (question, answer) in [("q1", "German"), ("q2", "Wish"), ("q3", "Team")] {
        project.rapport(&["answer", "greeting", "--question", question, answer]).check(0, "Answered.");
    }
    running.until(|fact| matches!(fact, Event::Asked { questions, .. } if questions[0].id.as_str() == "q4"));
    running.kill();
    let branched = branch(&project, "greeting", "q2");
    let id = branched.session.as_str();
    let open: Vec<_> = view(&project, id).questions.iter().map(|open| open.id.to_string()).collect();
    assert_eq!(open, ["q2"]);
    project.rapport(&["answer", id, "--question", "q2", "Smile"]).check(0, "Answered.");
    let mut running = project.start(&["--resume", id], &[]);
    running.until(|fact| matches!(fact, Event::Asked { questions, .. } if questions[0].id.as_str() == "q4"));
    let given: Vec<_> = view(&project, id).answers.into_iter().map(|given| given.answer).collect();
    assert_eq!(given, ["German", "Smile", "Team"]);
    running.kill();
}

#[test]
fn a_state_that_git_swept_away_is_told() {
    let project = Project::with_scenario(ASKS_AT_WORK);
    let running = asked_at_work(&project);
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    project.git(&["gc", "--quiet", "--prune=now"]);
    let ran = project.rapport(&["branch", "paint", "--at", "q1"]);
    ran.check(3, "is no longer in the git repository").check(3, "Git removes");
    assert_eq!(project.store().list().unwrap().len(), 1);
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

/// Killed before or after anything it stores, there is a whole branch or none, and the next attempt works.
#[test]
fn killed_while_it_branches_it_leaves_no_half_session() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let original = project.session();
    let before = log(&project, &original);
    // It takes a name, makes the worktree, and puts the session there.
    for (trial, branches) in
        [("kill-before:1", 0), ("kill-after:1", 0), ("kill-before:2", 0), ("kill-after:2", 1)]
    {
        let mut command = project.command();
        command.args(["branch", original.as_str(), "--at", "q1"]).env("RAPPORT_TRIAL", trial);
        let status = command.output().unwrap().status;
        assert_eq!(status.signal(), Some(9), "{trial}: {status}");
        let all: Vec<View> = project.json(&["status", "--json"]);
        let made: Vec<_> = all.iter().filter(|view| view.id != original).collect();
        assert_eq!(made.len(), branches, "{trial}");
        for view in made {
            assert_eq!(view.questions.len(), 1, "{view:?}");
            assert_eq!(view.branched_from.as_ref().unwrap().session, original);
            let worktree = project.root().join(".rapport/worktrees").join(view.id.as_str());
            assert!(worktree.join("README.md").exists());
            assert!(project.store().attached(&view.id, "conversation").unwrap().is_some());
        }
    }
    let branch = branch(&project, original.as_str(), "q1");
    finish(&project, &branch.session, "Blue");
    assert_eq!(branch.file("paint.txt"), "Blue\n");
    assert_eq!(log(&project, &original), before);
}

/// Killed before or after any of git's writes while the worktree is made, or while it is removed because there can be
/// no branch: there is a whole branch or none, the original and the project are as they were, and the next attempt
/// works.
#[test]
fn killed_around_what_git_writes_for_a_worktree_it_leaves_no_half_session() {
    let project = Project::with_scenario(ONE_QUESTION);
    // Files that Rapport wrote and a person committed are written in a separate step.
    std::fs::create_dir_all(project.root().join(".rapport")).unwrap();
    std::fs::write(project.root().join(".rapport/memos.yaml"), "- be kind\n").unwrap();
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "A memo"]);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let original = project.session();
    let conversations = project.path("home/.rapport/rehearsal");
    let moved = project.path("elsewhere");
    let state = || {
        (log(&project, &original), project.git(&["status", "--porcelain"]), project.git(&["stash", "list"]))
    };
    let before = state();
    // With the conversation there is a branch; without it what was made is removed again.
    for (code, least) in [(0, 10), (3, 12)] {
        if code != 0 {
            std::fs::rename(&conversations, &moved).unwrap();
        }
        let mut point = 1;
        loop {
            let known = project.store().list().unwrap();
            let mut command = project.command();
            command.args(["branch", original.as_str(), "--at", "q1"]);
            let ran = command.env("RAPPORT_TRIAL_WRITES", format!("/worktrees/:{point}")).output().unwrap();
            if ran.status.code() == Some(code) {
                assert!(point > least, "only {point} points with exit code {code}");
                break;
            }
            assert_eq!(ran.status.signal(), Some(9), "{point}: {ran:?}");
            assert_eq!(
                project.store().list().unwrap(),
                known,
                "{point}: it was killed before there is a session"
            );
            assert_eq!(state(), before, "{point}");
            point += 1;
        }
    }
    std::fs::rename(&moved, &conversations).unwrap();
    project.git(&["fsck", "--no-dangling"]);
    removes_what_is_left(&project);
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 2, "the project, and the branch");
    let branch = branch(&project, original.as_str(), "q1");
    assert_eq!(branch.file(".rapport/memos.yaml"), "- be kind\n");
    finish(&project, &branch.session, "Blue");
    assert_eq!(branch.file("paint.txt"), "Blue\n");
    assert_eq!(state(), before);
}

/// `doctor` finds what killed branches left, and the commands that it prints remove exactly that.
fn removes_what_is_left(project: &Project) {
    let checks = || project.json::<Value>(&["doctor", "--json"]);
    let left = |checks: &Value| {
        let mut all = checks.as_array().unwrap().iter();
        all.find(|check| check["name"] == "branches").cloned()
    };
    let sessions = project.store().list().unwrap();
    let check = left(&checks()).unwrap();
    assert_eq!(check["state"], "unused");
    let found = check["found"].as_str().unwrap();
    assert!(found.contains("worktrees and ") && found.ends_with("that no session uses"), "{found}");
    for command in check["advice"].as_str().unwrap().lines().skip(1) {
        project.sh(command).check(0, "");
    }
    assert_eq!(left(&checks()), None);
    assert_eq!(project.store().list().unwrap(), sessions, "what is used stays");
}

/// But for the file that has git ignore it.
fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().all(|entry| entry.unwrap().file_name() == ".gitignore")
}
