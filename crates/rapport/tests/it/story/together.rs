//! Several terminals at once: one runs a session, and one answer wins.

use std::thread;

use rapport_core::Event;

use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

#[test]
fn a_session_that_runs_is_not_run_twice() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let id = project.session();
    let refused = project.rapport(&["run", "--resume", "paint"]);
    refused.check(5, &format!("session {id} is held by process {}", running.child.id()));
    refused.check(5, &format!("rapport answer {id}"));
    let refused = project.rapport(&["run", "--json", "--resume", "paint"]);
    let error: serde_json::Value = serde_json::from_str(&refused.err()).unwrap();
    assert_eq!(error["error"]["code"], 5);

    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
}

/// An answer while another process resumes the session: both succeed, whichever comes first.
#[test]
fn answering_and_resuming_at_once() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    project.rapport(&["answer", "paint", "--question", "q1", "Red"]).check(0, "Answered.");
    for _ in 0..8 {
        let running = thread::scope(|scope| {
            let changed = (0..6)
                .map(|_| scope.spawn(|| project.rapport(&["answer", "paint", "--question", "q1", "Blue"])));
            let changed: Vec<_> = changed.collect();
            let mut running = project.start(&["--resume", "paint"], &[]);
            assert!(running.next().is_some(), "it is resumed: {:?}", running.finish_saying());
            for answer in changed {
                answer.join().unwrap().check(3, "was already answered with \"Red\"");
            }
            running
        });
        running.signal(nix::sys::signal::Signal::SIGTERM);
        let (code, said) = running.finish_saying();
        assert_eq!(code, 130, "{said}");
    }
}

/// Many people answer at once: one wins, the others are told who did.
fn one_answer_wins(project: &Project) {
    const PEOPLE: usize = 12;
    let answer = |n: usize| {
        let value = format!("answer number {n}");
        (value.clone(), project.rapport(&["answer", "paint", "--question", "q1", "--text", &value]))
    };
    let answers = thread::scope(|scope| {
        let people: Vec<_> = (0..PEOPLE).map(|n| scope.spawn(move || answer(n))).collect();
        people.into_iter().map(|person| person.join().unwrap()).collect::<Vec<_>>()
    });
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(_, ran)| ran.code() == 0);
    assert_eq!(won.len(), 1);
    let (winner, _) = &won[0];
    for (_, ran) in &lost {
        ran.check(3, &format!("q1 was already answered with \"{winner}\" by "));
    }
    let given: Vec<_> = project
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Event::Answered { answer, .. } => answer.text,
            _ => None,
        })
        .collect();
    assert_eq!(given, std::slice::from_ref(winner));
}

#[test]
fn one_of_many_answers_wins_in_a_session_that_runs() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    one_answer_wins(&project);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
}

#[test]
fn one_of_many_answers_wins_in_a_session_nobody_runs() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    one_answer_wins(&project);
}

#[test]
fn two_sessions_of_one_name_keep_apart() {
    let project = Project::with_scenario(ONE_QUESTION);
    for colour in ["Red", "Blue"] {
        let mut running = project.start(&["paint"], &[]);
        running.until_asked();
        let ids = project.store().list().unwrap();
        let id = ids.last().unwrap().as_str();
        project.rapport(&["answer", id, colour]).check(0, "Answered.");
        running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
        project.rapport(&["answer", id, "confirm"]).check(0, "Answered.");
        assert_eq!(running.finish(), 0);
    }
    let [first, second] = ["", "-2"].map(|n| project.file(&format!(".claude/todos/paint/paint{n}.md")));
    assert!(first.contains("A: Red\n"), "the first plan is still there:\n{first}");
    assert!(second.contains("A: Blue\n"), "{second}");
    let ids = project.store().list().unwrap();
    let second: rapport_core::View = project.json(&["status", "--json", ids[1].as_str()]);
    assert_eq!(second.plan.unwrap().path.as_deref(), Some(".claude/todos/paint/paint-2.md"));
    project.rapport(&["status", "paint"]).check(0, ids[0].as_str());
    let unclear = project.rapport(&["status", "pain"]);
    unclear.check(2, "Name one of them");
    ids.iter().for_each(|id| assert!(unclear.err().contains(id.as_str()), "{}", unclear.err()));
}
