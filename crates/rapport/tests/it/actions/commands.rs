//! EXECUTE: commands that hang, ask, flood, fail or leave processes behind.

use std::fs;
use std::path::Path;

use jiff::SignedDuration;
use rapport::actions::{BatchOutcome, Details, Interrupted, Output, Stop};
use rapport_core::{ActionKind, ActionPlan};
use tokio::sync::mpsc;

use super::{Nobody, Seen, Stage, details, execute, execute_within, plan, told};
use crate::support::patience::wait_for;

/// What a command that ran alone came to: exit code, output, what was left behind.
fn command(ran: &BatchOutcome) -> (Option<i32>, &Output, &[String]) {
    match details(ran, 0) {
        Details::Command { exit, output, left_behind } => (*exit, output, left_behind),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn commands_are_what_they_say() {
    let stage = Stage::new().with("sub/file", "");
    stage.write("a.txt", "a");
    let cases = [
        ("echo out; echo err >&2; echo out", "done", Some(0), "out\nerr\nout"),
        ("cat; echo end", "done", Some(0), "end"),
        ("read answer || echo nobody", "done", Some(0), "nobody"),
        ("echo no; exit 7", "failed: exit code 7", Some(7), "no"),
        ("kill -9 $$", "failed: exit code 137", Some(137), ""),
        ("false | true", "done", Some(0), ""),
        ("printf '\\033[31mred\\033[0m\\n1%%\\r2%%\\n'", "done", Some(0), "red\n2%"),
        ("printf 'no newline'", "done", Some(0), "no newline"),
        ("ls", "done", Some(0), "a.txt\nsub"),
        ("echo x > /dev/tty || echo no terminal", "done", Some(0), "no terminal"),
    ];
    for (n, (line, said, exit, output)) in cases.into_iter().enumerate() {
        let mut stage = Stage::at(stage.site.project.parent().unwrap());
        stage.site.journal = stage.site.journal.join(n.to_string());
        let ran = stage.run(&plan([execute(line)])).await;
        assert_eq!(told(&ran), [said], "{line}");
        let found = command(&ran);
        assert_eq!(found.0, exit, "{line}");
        // The shell complains in its own words about what it cannot open.
        assert!(found.1.text.ends_with(output), "{line}: {}", found.1.text);
        assert_eq!(found.2, &[] as &[String], "{line}");
    }
}

/// The fence's language chooses the shell, and what would wait for a person fails at once or prints.
#[tokio::test]
async fn commands_get_the_shell_of_their_fence_and_no_editor() {
    let stage = Stage::new();
    let bash = match execute("set -o pipefail; a=(1 2); [[ ${#a[@]} == 2 ]] && echo ${a[1]}") {
        ActionKind::Execute { command, cwd, env, expected, allow_failure, timeout, .. } => {
            let shell = rapport_core::Shell::Bash;
            ActionKind::Execute { command, shell, cwd, env, expected, allow_failure, timeout }
        }
        _ => unreachable!(),
    };
    let git =
        "git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty 2>&1; echo $? $PAGER";
    let ran = stage.run(&plan([bash, execute(git)])).await;
    assert_eq!(command(&ran).1.text, "2");
    match details(&ran, 1) {
        Details::Command { output, .. } => {
            assert!(
                output.text.contains("editor 'false'") && output.text.ends_with("1 cat"),
                "{}",
                output.text
            );
        }
        other => panic!("{other:?}"),
    }
}

/// A session of its own has no terminal, so that what would ask a person there fails at once.
#[tokio::test]
async fn commands_are_not_in_the_session_of_a_terminal() {
    let stage = Stage::new();
    let ran = stage.run(&plan([execute("cut -d' ' -f6 /proc/$$/stat")])).await;
    let session: i32 = command(&ran).1.text.parse().unwrap();
    assert_ne!(session, nix::unistd::getsid(None).unwrap().as_raw());
}

#[tokio::test]
async fn commands_run_where_and_with_what_the_plan_says() {
    let stage = Stage::new().with("sub/file", "").with("../outside/file", "");
    let kind = |cwd: &str| ActionKind::Execute {
        command: "pwd; echo \"$COLOUR $HOME\"".into(),
        shell: rapport_core::Shell::Sh,
        cwd: Some(cwd.into()),
        env: [("COLOUR".to_owned(), "blue $x; `y`".to_owned())].into(),
        expected: None,
        allow_failure: true,
        timeout: None,
    };
    let ran = stage.run(&plan([kind("sub/"), kind("../outside"), kind("none"), kind("sub/file")])).await;
    let said = told(&ran);
    let root = stage.site.project.canonicalize().unwrap();
    let home = std::env::var("HOME").unwrap();
    assert_eq!(command(&ran).1.text, format!("{}/sub\nblue $x; `y` {home}", root.display()));
    assert_eq!(said[1], "failed: cannot run it there: ../outside is outside the project");
    assert!(
        said[2].starts_with("failed: cannot run it in ") && said[2].contains("No such file"),
        "{}",
        said[2]
    );
    assert!(said[3].contains("Not a directory"), "{}", said[3]);
}

#[tokio::test]
async fn a_command_that_hangs_is_ended_with_what_it_said_so_far() {
    let stage = Stage::new();
    let hangs = "echo begun; sleep 1000 & echo $! > child.pid; trap '' TERM; sleep 1000; echo never";
    let ran =
        stage.run(&plan([execute_within(hangs, SignedDuration::from_millis(300)), execute("true")])).await;
    let after = "skipped: after EXECUTE echo begun; sleep 1000 & echo $! > child.pid; trap '' TERM; … failed";
    assert_eq!(told(&ran), ["failed: it took longer than 0.3 s and was ended", after]);
    let (exit, output, _) = command(&ran);
    assert_eq!((exit, output.text.as_str()), (Some(124), "begun"));
    assert!(is_gone(&stage.path("child.pid")));
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_ended_and_told() {
    let stage = Stage::new();
    let leaves = "sleep 1000 & echo $! > child.pid
        setsid sleep 1000 & echo $! > daemon.pid
        for pid in $(cat child.pid daemon.pid); do
            while [ \"$(cat /proc/$pid/comm)\" != sleep ]; do :; done
        done; echo over";
    let ran = stage.run(&plan([execute(leaves)])).await;
    let (exit, output, left) = command(&ran);
    assert_eq!((exit, output.text.as_str()), (Some(0), "over"));
    assert_eq!(left, ["sleep", "sleep"]);
    assert!(is_gone(&stage.path("child.pid")) && is_gone(&stage.path("daemon.pid")));
}

/// What is kept, what is shown and what is held in memory have limits; `Tail` has its own tests.
#[tokio::test]
async fn a_gigabyte_of_output_is_counted_and_not_kept() {
    let stage = Stage::new();
    let before = peak_memory();
    let ran = stage.run(&plan([execute_within("yes | head -c 1G", SignedDuration::from_mins(30))])).await;
    assert_eq!(told(&ran), ["done"]);
    let (_, output, _) = command(&ran);
    let lines = (1 << 30) / 2;
    assert_eq!((output.bytes, output.lines, output.left_out), (1 << 30, lines, lines - 100));
    assert_eq!(output.text, ["y"; 100].join("\n"));
    assert!(peak_memory() - before < 64 << 20, "{} bytes more", peak_memory() - before);
}

#[tokio::test]
async fn output_comes_while_the_command_runs() {
    let stage = Stage::new();
    let plan = plan([execute("echo first; while [ ! -e seen ]; do sleep 0.02; done; echo second")]);
    let seen = Seen::default();
    let mut observer = |live: rapport::actions::Live<'_>| {
        if let rapport::actions::Live::Output { line: "first", .. } = live {
            fs::write(stage.path("seen"), "").unwrap();
        }
        seen.see(live);
    };
    let choices = [rapport::actions::Choice::Run];
    let batch = stage.batch(&plan);
    let ran = batch.run(&choices, &Nobody, &mut observer, &Stop::never()).await.unwrap();
    assert_eq!(told(&ran), ["done"]);
    assert_eq!(seen.all(), ["0 EXECUTE", "0 > first", "0 > second", "0 done"]);
}

#[tokio::test]
async fn ctrl_c_stops_the_command_and_the_batch_goes_on_when_told() {
    let stage = Stage::new();
    let plan: ActionPlan = plan([
        execute(
            "test -e again || { echo $$ > shell.pid; sleep 1000 & echo $! > child.pid; echo ready; wait; }",
        ),
        execute("echo later > later"),
    ]);
    let (stopper, stop) = Stop::new();
    let (ready, mut is_ready) = mpsc::unbounded_channel();
    let mut observer = |live: rapport::actions::Live<'_>| {
        if let rapport::actions::Live::Output { .. } = live {
            ready.send(()).unwrap();
        }
    };
    let stopping = async {
        is_ready.recv().await.unwrap();
        stopper.stop();
    };
    let choices = [rapport::actions::Choice::Run, rapport::actions::Choice::Run];
    let batch = stage.batch(&plan);
    let (ran, ()) = tokio::join!(batch.run(&choices, &Nobody, &mut observer, &stop), stopping);
    let ran = ran.unwrap();
    assert_eq!(told(&ran)[0], "failed: interrupted");
    assert_eq!(told(&ran)[1], "skipped: the batch was stopped before it");
    assert!(ran.unfinished);
    let (exit, output, _) = command(&ran);
    assert_eq!((exit, output.text.as_str()), (None, "ready"));
    assert!(is_gone(&stage.path("shell.pid")) && is_gone(&stage.path("child.pid")));
    let ran = stage.resume(&plan, Interrupted::Halt).await;
    assert_eq!(told(&ran)[0], "failed: interrupted: it may have run", "a person decides");
    assert_eq!(stage.text("later"), None);
    stage.write("again", "");
    let ran = stage.resume(&plan, Interrupted::Again).await;
    assert_eq!((told(&ran), ran.unfinished), (vec!["done".into(), "done".into()], false));
    assert_eq!(stage.text("later").unwrap(), "later\n");
}

#[tokio::test]
async fn a_command_ends_with_its_host() {
    let stage = Stage::new();
    let plan = plan([execute("sleep 1000 & echo $! > child.pid; echo ready; wait")]);
    let (ready, mut is_ready) = mpsc::unbounded_channel();
    let mut observer = |live: rapport::actions::Live<'_>| {
        if let rapport::actions::Live::Output { .. } = live {
            ready.send(()).unwrap();
        }
    };
    let batch = stage.batch(&plan);
    let stop = Stop::never();
    tokio::select! {
        ran = batch.run(&[rapport::actions::Choice::Run], &Nobody, &mut observer, &stop) => panic!("{ran:?}"),
        _ = is_ready.recv() => {}
    }
    // The process that ran it is gone, and with it the pipe to the keeper.
    wait_for("the end of the command", || is_gone(&stage.path("child.pid")).then_some(()));
    let ran = stage.resume(&plan, Interrupted::Halt).await;
    assert_eq!(told(&ran), ["failed: interrupted: it may have run"]);
    assert!(ran.unfinished);
}

fn is_gone(file: &Path) -> bool {
    let pid: i32 = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')),
        Err(_) => true,
    }
}

/// The most memory this process ever had.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
