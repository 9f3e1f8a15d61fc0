//! `rapport run` and `rapport undo` at a terminal, killed with `kill -9` around every write: facts, heads, the plan's
//! file, the stored conversation, what git writes for us, the project's files. Repeated, they reach the same end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rapport_core::{Event, Status};

use super::told;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::scenarios::ONE_QUESTION;

/// What a person types about what is on the screen of a run.
fn keys(screen: &str) -> Option<&'static str> {
    const KEYS: [(&str, &str); 3] =
        [("enter or c confirm", "c"), ("Undo these changes?", "y"), ("enter answer", "2")];
    KEYS.into_iter().find(|(shown, _)| screen.contains(shown)).map(|(_, keys)| keys)
}

/// Said by the shell when the command is over.
const OVER: &str = "over with ";

/// How a command ends that was killed, as shells say it.
pub(super) const KILLED: i32 = 128 + 9;

#[test]
fn a_run_killed_around_any_write_comes_to_the_same_end() {
    let points = every_point(|point| {
        let project = Project::with_scenario(ONE_QUESTION);
        let code = sit(&mut command(&project, "run --hot 0s 'paint it'", Some(point)));
        finish(&project, &format!("killed at point {point}"));
        code == KILLED
    });
    assert!(points >= 60, "there were only {points} points to be killed at");
}

#[test]
fn an_undo_killed_around_any_write_comes_to_the_same_end() {
    let points = every_point(|point| {
        let project = Project::with_scenario(ONE_QUESTION);
        assert_eq!(sit(&mut command(&project, "run 'paint it'", None)), 0);
        let code = sit(&mut command(&project, "undo", Some(point)));
        undo(&project, &format!("killed at point {point}"));
        code == KILLED
    });
    assert!(points >= 10, "there were only {points} points to be killed at");
}

/// One after the other in one terminal, by keys alone.
#[test]
fn a_run_and_its_undo_in_one_terminal() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut terminal = project.interactive_shell(100, 40);
    terminal.wait_for("shell:");
    terminal.send(&format!("'{}' run 'paint it'\n", env!("CARGO_BIN_EXE_rapport")));
    terminal.wait_for("enter answer");
    terminal.send("2");
    terminal.wait_for("enter or c confirm");
    terminal.send("c");
    terminal.wait_for("✓ Done");
    terminal.wait_until("the shell", |screen| screen.ends_with("shell:"));
    assert_eq!(project.file("paint.txt"), "Blue\n");
    terminal.send(&format!("clear; '{}' undo\n", env!("CARGO_BIN_EXE_rapport")));
    terminal.wait_for("Undo these changes?");
    terminal.send("y");
    terminal.wait_for("removed: paint.txt");
    terminal.wait_until("the shell", |screen| screen.ends_with("shell:"));
    assert_eq!(files(&project), [".claude/todos/paint/paint-it.md", "README.md"]);
    assert_eq!(undone(&project), 1);
    terminal.send("exit\n");
    terminal.wait_end();
}

/// Kills at every point there is, on as many threads as there are cores; how many points there were. `dies` plays the
/// story with a kill at this point, and says whether it came that far.
pub(crate) fn every_point(dies: impl Fn(usize) -> bool + Sync) -> usize {
    const MOST: usize = 1000;
    let (next, last) = (AtomicUsize::new(1), AtomicUsize::new(MOST));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let point = next.fetch_add(1, Ordering::SeqCst);
                    if point >= last.load(Ordering::SeqCst) {
                        return;
                    }
                    if !dies(point) {
                        last.fetch_min(point, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let points = last.into_inner() - 1;
    println!("{points} points to be killed at");
    assert!(points + 1 < MOST, "there is no end of points to be killed at");
    points
}

/// A command in a terminal of its own, to be killed at this point. The shell stays afterwards, so that keys always
/// arrive somewhere.
pub(super) fn command(project: &Project, words: &str, point: Option<usize>) -> Pty {
    let trial = point.map(|point| format!("RAPPORT_TRIAL_WRITES={point} ")).unwrap_or_default();
    let rapport = env!("CARGO_BIN_EXE_rapport");
    // A killed process leaves the terminal in the mode for single keys.
    let over = format!("code=$?; stty sane; printf '\\r\\n{OVER}%s.\\r\\n' $code; cat > /dev/null");
    project.shell(&format!("{trial}'{rapport}' {words}; {over}"), 100, 40)
}

/// Types what the screen asks for until the command is over; its exit code.
fn sit(terminal: &mut Pty) -> i32 {
    sit_with(terminal, keys)
}

pub(super) fn sit_with(terminal: &mut Pty, keys: fn(&str) -> Option<&'static str>) -> i32 {
    loop {
        terminal.wait_until("something to do", |screen| over(screen).is_some() || keys(screen).is_some());
        let screen = terminal.text();
        if let Some(code) = over(&screen) {
            return code;
        }
        // The screen may have changed since.
        let Some(typed) = keys(&screen) else { continue };
        terminal.send(typed);
        terminal.wait_until("the keys to be taken", |screen| {
            over(screen).is_some() || keys(screen) != Some(typed)
        });
    }
}

fn over(screen: &str) -> Option<i32> {
    screen.rsplit_once(OVER)?.1.split_once('.')?.0.parse().ok()
}

/// Resumes the work until it is completed, checks its result, and undoes it.
fn finish(project: &Project, story: &str) {
    const ENOUGH: usize = 3;
    for _ in 0..ENOUGH {
        let sessions = project.store().list().unwrap();
        let words = match sessions.as_slice() {
            [] => "run --hot 0s 'paint it'".to_owned(),
            [_] if project.view().status == Status::Completed => break,
            [one] => format!("resume --hot 0s {one}"),
            several => panic!("{story}: {several:?}"),
        };
        sit(&mut command(project, &words, None));
    }
    assert_eq!(project.view().status, Status::Completed, "{story}");
    assert_eq!(project.agents_alive(), [], "{story}");
    assert_eq!(project.file("paint.txt"), "Blue\n", "{story}");
    let plan = project.file(".claude/todos/paint/paint-it.md");
    assert!(plan.contains("1. Paint it Blue.") && plan.contains("A: Blue\n"), "{story}: {plan}");
    let count = |is: fn(&Event) -> bool| project.facts().iter().filter(|fact| is(fact)).count();
    assert_eq!(count(|fact| matches!(fact, Event::Asked { .. })), 2, "{story}: the question and the plan");
    assert_eq!(count(|fact| matches!(fact, Event::Answered { .. })), 2, "{story}");
    assert_eq!(count(|fact| matches!(fact, Event::PlanProposed { .. })), 1, "{story}");
    assert_eq!(count(|fact| matches!(fact, Event::Reported { .. })), 1, "{story}");
    let blue = BTreeMap::from([("Which colour?".to_owned(), vec!["Blue".to_owned()])]);
    assert_eq!(told(project), blue, "{story}: the agent was told once");
    assert_eq!(files(project), [".claude/todos/paint/paint-it.md", "README.md", "paint.txt"], "{story}");
    // Everything that was written can be read and has our seal, and the record of the work suffices to undo it.
    project.rapport(&["doctor"]).check(0, "ok       sessions   1 in ");
    undo(project, story);
}

/// Undoes the work, again after each kill, and checks that the project is as it was.
fn undo(project: &Project, story: &str) {
    if undone(project) == 0 {
        assert_eq!(sit(&mut command(project, "undo", None)), 0, "{story}");
    }
    // Given again, it comes to the same end.
    project.rapport(&["undo", project.session().as_str(), "--yes"]).check(0, "paint.txt");
    assert_eq!(undone(project), 1, "{story}");
    assert_eq!(files(project), [".claude/todos/paint/paint-it.md", "README.md"], "{story}");
    assert_eq!(project.file("README.md"), "# An app\n", "{story}");
}

fn undone(project: &Project) -> usize {
    project.facts().iter().filter(|fact| matches!(fact, Event::WorkUndone { .. })).count()
}

/// Every file of the project, without what is in Rapport's own directory and git's.
fn files(project: &Project) -> Vec<String> {
    let known = project.git(&["ls-files", "--cached", "--others"]);
    let mut files: Vec<_> =
        known.lines().filter(|path| !path.starts_with(".rapport/")).map(str::to_owned).collect();
    files.sort();
    files
}
