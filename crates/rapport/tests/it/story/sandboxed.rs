//! Work in a sandbox, from the command line: for root and for ordinary users, with and without bubblewrap, and killed.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use nix::unistd::Uid;
use rapport_core::Event;
use serde_json::Value;

use crate::support::ordinary::by_an_ordinary_user;
use crate::support::patience::wait_at_most;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;
use crate::support::{needs, remote};

/// The agent tells what it has, and tries what it may not.
const LOOK: &str = r##"
version: 1
name: look
invocations:
  - result: "# Look\n\n1. Look around."
  - steps:
      - bash: { command: "(id -u; env | grep -c 'sk-secret'; cat ../../../README.md ~/../../../config.yaml; ls /proc | grep -c '^[0-9]') > seen.txt 2>&1; true" }
      - write: { path: made.txt, content: "made\n" }
    result: "Looked."
"##;

#[test]
fn root_gets_a_sandbox() {
    if needs::sandbox() {
        looks_around(&Project::with_scenario(LOOK), Uid::current());
    }
}

/// What a person types is theirs, and what the agent writes reaches no terminal unseen.
#[test]
fn the_terminal_of_the_person_cannot_be_reached() {
    if !needs::sandbox() {
        return;
    }
    let project = Project::with_scenario(
        r##"
version: 1
name: terminal
invocations:
  - result: "# Look\n\n1. Look around."
  - steps:
      - bash: { command: "if (: < /dev/tty) 2> /dev/null; then echo open; else echo shut; fi > seen.txt" }
    result: "Looked."
"##,
    );
    for (worker, seen) in [("worktree", "open\n"), ("sandbox", "shut\n")] {
        let mut terminal = project.terminal(&["run", "--worker", worker, worker], 100, 40);
        terminal.wait_for("enter or c confirm");
        terminal.send("c");
        terminal.wait_for("left 0");
        project.rapport(&["apply", worker]).check(0, "Applied to");
        assert_eq!(project.file("seen.txt"), seen, "{worker}");
    }
}

/// Nothing that an ordinary user does here needs a right that only root has.
#[test]
fn an_ordinary_user_gets_a_sandbox() {
    if !needs::sandbox() {
        return;
    }
    let (project, user) = by_an_ordinary_user(Project::with_scenario(LOOK));
    looks_around(&project, user);
}

#[track_caller]
fn looks_around(project: &Project, user: Uid) {
    let mut run = project.command();
    run.args(["run", "--json", "--worker", "sandbox", "look"]).env("ANTHROPIC_API_KEY", "sk-secret");
    let run = run.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "look", "confirm"]).check(0, "Answered.");
    let ran = crate::support::project::Ran(run.wait_with_output().unwrap());
    assert_eq!(ran.code(), 0, "{}{}", ran.out(), ran.err());
    assert!(!project.root().join("made.txt").exists());
    project.rapport(&["apply", "look"]).check(0, "Applied to");
    assert_eq!(project.file("made.txt"), "made\n");
    let seen = project.file("seen.txt");
    let lines: Vec<_> = seen.lines().collect();
    assert_eq!(lines[..2], [user.to_string().as_str(), "0"], "{seen}");
    assert!(lines[2].contains("No such file") && lines[3].contains("No such file"), "{seen}");
    assert!(lines[4].parse::<u32>().unwrap() < 10, "{seen}");
}

/// A question about a file has nothing that the agent itself cannot read: it is stored, and an agent could read it
/// there.
#[test]
fn a_question_shows_nothing_from_outside_of_the_walls() {
    if !needs::sandbox() {
        return;
    }
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_WORKER", "sandbox");
    let key = project.path("home/.ssh/id_rsa");
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    fs::write(&key, "PRECIOUS\n").unwrap();
    let key = key.display();
    let project = project.playing(&format!(
        r##"
version: 1
name: steals
invocations:
  - result: "# Plan\n\n1. Steal."
  - steps:
      - bash: {{ command: "ln -s {key} notes.txt" }}
      - write: {{ path: "{key}", content: "x\n", permission: true }}
      - write: {{ path: notes.txt, content: "x\n", permission: true }}
    result: "Done."
"##
    ));
    let mut running = project.start(&["steal"], &[]);
    running.until_asked();
    project.rapport(&["answer", "steal", "confirm"]).check(0, "Answered.");
    running.until_asked();
    let first = project.rapport(&["status", "--json", "steal"]).out();
    assert!(first.contains("id_rsa"), "{first}");
    project.rapport(&["answer", "steal", "deny"]).check(0, "Answered.");
    running.until_asked();
    let second = project.rapport(&["status", "--json", "steal"]).out();
    assert!(second.contains(&format!("it is a link that leads to {key}")), "{second}");
    project.rapport(&["answer", "steal", "deny"]).check(0, "Answered.");
    running.finish();
    let log = project.root().join(".rapport/sessions").join(project.session().as_str()).join("log.jsonl");
    for text in [first, second, fs::read_to_string(log).unwrap()] {
        assert!(!text.contains("PRECIOUS"), "{text}");
    }
}

/// What git ignores is often secret: a clone does not decide that an agent behind walls gets it.
#[test]
fn ignored_files_come_inside_only_if_the_wish_for_them_is_trusted() {
    if !needs::sandbox() {
        return;
    }
    const READS: &str = r##"
version: 1
name: reads
invocations:
  - result: "# Plan\n\n1. Read."
  - steps:
      - bash: { command: "cat one.secret > seen.txt 2>&1; true" }
    result: "Done."
"##;
    let project = Project::with_scenario(READS).set("RAPPORT_WORKER", "sandbox");
    let write = |path: &str, text: &str| fs::write(project.root().join(path), text).unwrap();
    write(".gitignore", "*.secret\n");
    write(".worktreeinclude", "*.secret\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "Wish"]);
    write("one.secret", "PRECIOUS\n");
    let seen = |task: &str| {
        let mut running = project.start(&[task], &[]);
        running.until_asked();
        project.rapport(&["answer", task, "confirm"]).check(0, "Answered.");
        let mut stderr = running.child.stderr.take().unwrap();
        assert_eq!(running.finish(), 0);
        let mut said = String::new();
        std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
        (said, project.rapport(&["diff", task]).out())
    };
    let (said, changed) = seen("first");
    assert!(said.contains("the ignored files that .worktreeinclude names are left out"), "{said}");
    assert!(changed.contains("No such file") && !changed.contains("PRECIOUS"), "{changed}");
    project.rapport(&["trust", "--yes"]).check(0, "*.secret");
    let (said, changed) = seen("second");
    assert!(!said.contains("left out") && changed.contains("PRECIOUS"), "{said}{changed}");
}

/// What a workplace keeps beside its worktree is used as long as its session is: `doctor` advises to remove only what
/// no session has.
#[test]
fn the_home_of_a_living_agent_is_not_left_over() {
    if !needs::sandbox() {
        return;
    }
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_WORKER", "sandbox");
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let worktrees = project.root().join(".rapport/worktrees");
    let session = project.session();
    assert!(worktrees.join(format!("{session}.home")).is_dir());
    // Containers keep their sockets there.
    fs::create_dir(worktrees.join(format!("{session}.run"))).unwrap();
    let advice = || {
        let checks: Value = project.json(&["doctor", "--json"]);
        let all = checks.as_array().unwrap();
        all.iter().find(|check| check["name"] == "branches").map(|check| check["advice"].to_string())
    };
    assert_eq!(advice(), None);
    let left = ["20260101-gone", "20260101-gone.home", "20260101-gone.run"];
    left.iter().for_each(|name| fs::create_dir(worktrees.join(name)).unwrap());
    let told = advice().unwrap();
    assert_eq!(told.matches("rm -r ").count(), left.len(), "{told}");
    assert!(left.iter().all(|name| told.contains(name)) && !told.contains(session.as_str()), "{told}");
    // What cannot be read may be used.
    let sessions = project.root().join(".rapport/sessions");
    fs::rename(&sessions, project.root().join("sessions")).unwrap();
    fs::write(&sessions, "").unwrap();
    assert_eq!(advice(), None);
    running.kill();
}

/// kill -9 of the host with a question open: what is inside ends, and the question is answered and taken all the same.
#[test]
fn nothing_inside_outlives_a_host_that_is_killed() {
    if !needs::sandbox() {
        return;
    }
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_WORKER", "sandbox");
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let inside = |words: &str| words.contains(" rehearse ") && !words.starts_with("bwrap");
    assert!(project.processes().iter().any(|(_, words)| inside(words)), "{:?}", project.processes());
    running.kill();
    wait_at_most(Duration::from_secs(3), "the end of everything inside", || {
        project.processes().is_empty().then_some(())
    });
    project.rapport(&["answer", "paint", "--question", "q1", "Red"]).check(0, "Answered.");
    let mut resumed = project.start(&["--resume", project.session().as_str()], &[]);
    resumed.until(|fact| matches!(fact, Event::PlanProposed { .. }));
    project.rapport(&["answer", "paint", "--question", "confirm", "confirm"]).check(0, "Answered.");
    assert_eq!(resumed.finish(), 0);
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    assert_eq!(project.file("paint.txt"), "Red\n");
}

/// kill -9 of any process between the host and the agent: the agent is gone, and the session continues.
#[test]
fn nothing_inside_outlives_its_walls() {
    if !needs::sandbox() {
        return;
    }
    for killed in ["bwrap ", " keep -"] {
        let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_WORKER", "sandbox");
        let mut running = project.start(&["paint"], &[]);
        running.until_asked();
        let all = project.processes();
        let is_bwrap = |words: &str| words.starts_with("bwrap ");
        let (pid, _) = all
            .iter()
            .find(|(_, words)| words.contains(killed) && (is_bwrap(words) == (killed == "bwrap ")))
            .unwrap_or_else(|| panic!("no {killed} among {all:?}"));
        nix::sys::signal::kill(*pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        running.until(|fact| matches!(fact, Event::CutOff { .. } | Event::Failed { .. }));
        wait_at_most(Duration::from_secs(3), "the end of everything inside", || {
            let inside = |(_, words): &(_, String)| words.contains(" rehearse ");
            (!project.processes().iter().any(inside)).then_some(())
        });
        running.kill();
    }
}

/// The same project on a machine with only these programs.
fn without_bubblewrap(project: Project) -> Project {
    let programs = project.path("programs");
    fs::create_dir(&programs).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for name in ["git", "sh"] {
        let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
        symlink(found.find(|path| path.is_file()).unwrap(), programs.join(name)).unwrap();
    }
    project.set("PATH", programs.to_str().unwrap())
}

/// A session that began with bubblewrap installed, and is to get its sandbox where bubblewrap is missing, says which
/// worker is missing.
#[test]
fn a_machine_that_lost_bubblewrap_says_which_worker_cannot_be_used() {
    if !needs::sandbox() {
        return;
    }
    let project = Project::with_scenario(LOOK);
    let args = ["run", "--json", "--worker", "sandbox", "look"];
    let mut killed = project.launch(&args, &[("RAPPORT_TRIAL_WRITES", "/worktrees/:1")]);
    while killed.next().is_some() {}
    let session = project.session();
    let project = without_bubblewrap(project);
    project
        .rapport(&["resume", session.as_str()])
        .check(7, "the worker sandbox cannot be used here: there is no bubblewrap (bwrap) on the PATH")
        .check(7, "apt-get install bubblewrap");
}

/// Without bubblewrap it is said so, and how to get it, before anything is made.
#[test]
fn a_machine_without_bubblewrap_is_told_how_to_get_it() {
    let project = without_bubblewrap(Project::with_scenario(LOOK));
    let ran = project.rapport(&["run", "--worker", "sandbox", "look"]);
    ran.check(3, "there is no bubblewrap")
        .check(3, "apt-get install bubblewrap")
        .check(3, "--worker worktree");
    assert!(!project.root().join(".rapport").exists());
    let checks: Value = project.json(&["doctor", "--json"]);
    let sandbox = checks.as_array().unwrap().iter().find(|check| check["name"] == "sandbox").unwrap();
    assert_eq!(sandbox["state"], "missing");
    assert!(sandbox["advice"].as_str().unwrap().contains("apt-get install bubblewrap"), "{sandbox}");
}

/// A branch would work outside of the sandbox, so branching is refused.
#[test]
fn a_session_in_a_sandbox_has_no_branches() {
    if !needs::sandbox() {
        return;
    }
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_WORKER", "sandbox");
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    project.rapport(&["branch", "paint", "--at", "q1"]).check(3, "would not be confined");
    running.kill();
}

/// The agent tries to reach a host, and once more after it was asked something.
const REACH: &str = r##"
version: 1
name: reach
invocations:
  - result: "# Reach\n\n1. Reach out."
  - steps:
      - bash: { command: "REACH > first.txt; REACH > again.txt" }
      - ask:
          questions:
            - question: "Go on?"
              options: [{ label: "Yes" }, { label: "No" }]
      - bash: { command: "REACH > second.txt" }
    result: "Reached."
"##;

/// A host that was refused is a fact, which is shown; a person lets the agent reach it, while it runs.
#[test]
fn a_refused_host_is_told_and_can_be_allowed() {
    if needs::sandbox() {
        refused_and_allowed(|project| project.set("RAPPORT_WORKER", "sandbox"));
    }
}

/// The same for an ordinary user.
#[test]
fn for_an_ordinary_user_a_refused_host_is_told_and_can_be_allowed() {
    if needs::sandbox() {
        refused_and_allowed(|project| by_an_ordinary_user(project.set("RAPPORT_WORKER", "sandbox")).0);
    }
}

/// The same in a container.
#[test]
fn in_a_container_a_refused_host_is_told_and_can_be_allowed() {
    if needs::engine().is_some() {
        refused_and_allowed(|project| project.working_in("container"));
    }
}

/// The same in a container on another machine.
#[test]
fn on_another_machine_a_refused_host_is_told_and_can_be_allowed() {
    if let Some(engine) = remote::engine() {
        refused_and_allowed(|project| project.working_in("container").set("DOCKER_HOST", &engine));
    }
}

fn refused_and_allowed(working: impl FnOnce(Project) -> Project) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream)
        }
    });
    let reach = format!(
        r#"bash -c 'exec 9<>/dev/tcp/127.0.0.1/${{HTTPS_PROXY##*:}}; printf \"CONNECT {host} HTTP/1.1\\r\\nhost: a\\r\\n\\r\\n\" >&9; head -n 1 <&9'"#
    );
    let project = working(Project::with_scenario(&REACH.replace("REACH >", &format!("{reach} >"))));
    let mut running = project.start(&["reach"], &[]);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "reach", "confirm"]).check(0, "Answered.");
    running.until(
        |fact| matches!(fact, Event::HostRefused { host: refused, .. } if *refused == host.to_string()),
    );
    running.until_asked();
    let again = format!("rapport allow {} {host}", project.session());
    project.rapport(&["status", "reach"]).check(0, &again);
    assert_eq!(project.view().workplace.unwrap().refused_hosts, [host.to_string()]);
    project.rapport(&["allow", "reach", "not a host"]).check(2, "is not a host");
    project.rapport(&["allow", "reach", &host.to_string()]).check(0, "may reach");
    let question = project.wait_asked().remove(0).id;
    project.rapport(&["answer", "reach", "--question", question.as_str(), "Yes"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    let facts = project.facts();
    assert_eq!(facts.iter().filter(|fact| matches!(fact, Event::HostRefused { .. })).count(), 1, "told once");
    assert!(facts.iter().any(|fact| matches!(fact, Event::HostAllowed { by, .. } if by.is_at_terminal())));
    assert_eq!(project.view().workplace.unwrap().refused_hosts, [""; 0]);
    project.rapport(&["allow", "reach", "example.com"]).check(3, "the session is over");
    project.rapport(&["apply", "reach"]).check(0, "Applied to");
    assert!(project.file("first.txt").contains("403") && project.file("again.txt").contains("403"));
    assert!(project.file("second.txt").contains("200"), "{}", project.file("second.txt"));
}
