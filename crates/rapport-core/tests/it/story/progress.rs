//! Sessions whose aim is a progress file.

use rapport_core::{
    Act, AgentDid, Aim, Ask, Asking, Changes, Created, Event, Existing, Leave, PlanMode, ProgressAim,
    ProgressFile, Status, Terms, TurnId, Want, World, plan_prompt,
};

use crate::support::{Story, call, created, draft};

const FILE: &str = "# Progress: Todo App\n\n## Status\n\nIn Progress\n\n## Tasks\n\n### Phase 1: Setup\n\n- [ ] Begin\n\n\
    ## Testing Strategy\n\nUnit tests.\n";

fn aimed(asking: Asking) -> Created {
    let aim = ProgressAim {
        path: "progress.md".into(),
        asking,
        mode: PlanMode::Basic,
        existing: Existing::Refuse,
        stack: Some("- Rust (Cargo.toml)".into()),
    };
    Created { aim: Aim::Progress(aim), ..created("a todo app", Terms::default()) }
}

fn planning(asking: Asking) -> Story {
    let mut story = Story::begun(aimed(asking));
    story.connects();
    story
}

#[track_caller]
fn saves(story: &mut Story) {
    if let Some(Want::Baseline(turn)) = story.play.session.wants().first().cloned() {
        let world = World::Baseline { turn, baseline: Some("b1".into()) };
        story.world(world, &format!("turn {turn} baselined at b1"));
    }
    story.wants(&["plan 1 saved at progress.md"]);
    let world = World::PlanSaved { revision: 1, path: "progress.md".into() };
    story.world(world, "plan 1 saved");
    let changes = Changes { result: Some("r1".into()), ..Changes::default() };
    story.world(World::Report { changes: Some(changes) }, "reported").wants(&[]);
    let view = story.play.view();
    assert_eq!(view.status, Status::Completed);
    assert_eq!(view.plan.unwrap().path.as_deref(), Some("progress.md"));
    assert_eq!(view.result.as_deref(), Some("1 task in 1 phase; next: Begin"));
    assert_eq!(view.changes.unwrap().files[0].path, "progress.md");
    let states = story.play.session.undoable_work();
    assert_eq!((states[0].from.as_str(), states[0].to.as_str()), ("r1", "b1"), "it can be undone");
}

// CLARIFY-1, CLARIFY-17, CLARIFY-18: only the line of the active mode is there, and only adaptive names the tool.
#[test]
fn clarify_17_the_prompt_is_of_its_mode_and_asks_only_where_it_may() {
    for mode in [PlanMode::Basic, PlanMode::Gsd] {
        let (standard, adaptive) =
            (plan_prompt(mode, Asking::Assume, 5), plan_prompt(mode, Asking::Adaptive, 5));
        assert!(standard.contains("Do NOT ask") && standard.contains("assume"));
        assert!(!standard.contains("your question tool"));
        assert!(adaptive.contains("your question tool") && adaptive.contains("2 to 5 questions"));
        assert!(adaptive.contains("5 rounds") && !adaptive.contains("Do NOT ask"));
        assert!(adaptive.contains("Do not ask for the sake of asking"));
        for prompt in [standard, adaptive] {
            assert!(!prompt.contains("{{"), "{prompt}");
            assert!(prompt.contains("no code fence") && prompt.contains("`# Progress:`"));
            assert!(prompt.contains("no testing phase"));
            assert_eq!(prompt.contains("## Must-Haves"), mode == PlanMode::Gsd);
            // The form that is shown is a form that is taken.
            let form = prompt.split("```").nth(1).unwrap().trim_start();
            assert_eq!(ProgressFile::parse(form).unwrap().problems(), []);
        }
    }
}

#[test]
fn clarify_18_the_first_message_has_the_stack_and_the_request() {
    for (asking, says) in [(Asking::Assume, "Do NOT ask"), (Asking::Adaptive, "your question tool")] {
        let prompt = Story::begun(aimed(asking)).order().prompt;
        assert!(prompt.contains(says));
        assert!(
            prompt.ends_with("## Detected Stack\n\n- Rust (Cargo.toml)\n\n## User Request\n\na todo app\n")
        );
    }
}

#[test]
fn clarify_14_without_a_question_the_file_is_written_and_that_is_all() {
    let mut story = planning(Asking::Adaptive);
    story.finishes(FILE, "turn 1 ended; plan proposed: todo-app/progress");
    story.wants(&["baseline of turn 1"]).baseline();
    let Some(Want::PlanSaved(file)) = story.play.session.wants().pop() else { panic!("the file is wanted") };
    assert_eq!((file.content.as_str(), file.existing), (FILE, Existing::Refuse));
    saves(&mut story);
}

#[test]
fn clarify_12_rounds_are_asked_up_to_the_limit_and_not_beyond() {
    let mut story = planning(Asking::Adaptive);
    for n in 1..=5 {
        let (call, question) = (format!("c{n}"), format!("q{n}"));
        story
            .asks(&call, &[draft("Which?", &["A", "B"])], &format!("{call} asked round {n}: {question}"))
            .answer(&question, "A", &format!("{question} answered a by ann (terminal)"))
            .takes(&call);
    }
    let over = "c6 declined: The 5 rounds of questions that were agreed on are used up";
    story.asks("c6", &[draft("And?", &[])], over);
    let view = story.play.view();
    assert_eq!((view.rounds.asked, view.rounds.max, view.unasked), (5, 5, vec!["And?".to_owned()]));
    story.takes("c6").finishes(FILE, "turn 1 ended; plan proposed: todo-app/progress");
    saves(&mut story);
}

#[test]
fn clarify_18_who_may_not_ask_is_told_to_assume() {
    let mut story = planning(Asking::Assume);
    let ask = [draft("Which language?", &["Rust"]), draft("Which database?", &[])];
    story.asks("c1", &ask, "c1 declined: Do not ask: nobody answers questions here").told(
        "c1",
        "Which language? Which database? denied: Do not ask: nobody answers questions here. Assume what is most \
         likely, write each assumption under Analysis, and reply with the file.",
    );
    assert_eq!(story.play.view().unasked, ["Which language?", "Which database?"]);
    story.open(&[]).takes("c1").finishes(FILE, "turn 1 ended; plan proposed: todo-app/progress");
    saves(&mut story);
}

#[test]
fn what_is_no_valid_file_is_asked_for_once_more() {
    let mut story = planning(Asking::Assume);
    story.finishes("I will make a plan.", "turn 1 ended; turn 2 started to plan");
    let prompt = story.order().prompt;
    assert!(prompt.contains("line 1: there is no heading `# Progress: Name`"), "{prompt}");
    story.connects().finishes(FILE, "turn 2 ended; plan proposed: todo-app/progress");
    saves(&mut story);
}

#[test]
fn what_is_no_valid_file_twice_has_failed_and_can_be_tried_again() {
    let mut story = planning(Asking::Assume);
    let bad = FILE.replace("## Testing Strategy", "## Tests");
    let why = "failed: the agent's reply is no valid progress file, not even when told what is wrong (line 15: the \
        section `## Testing Strategy` is missing); its words are in the log";
    story.finishes(&bad, "turn 1 ended; turn 2 started to plan").connects();
    story.finishes(&bad, &format!("turn 2 ended; {why}")).wants(&[]);
    assert_eq!(story.play.view().status, Status::Failed);
    story.play.replay();
    story.act(Act::Restart, "restarted by ann (terminal); turn 3 started to plan");
    assert!(story.order().prompt.contains("Testing Strategy"));
    story.connects().finishes(FILE, "turn 3 ended; plan proposed: todo-app/progress");
    saves(&mut story);
}

/// That a turn is the last try is a fact, and not told by its number. Logs of older versions do not say it: one more try.
#[test]
fn the_last_try_is_a_fact_of_its_turn() {
    let mut story = planning(Asking::Assume);
    story.finishes("no file", "turn 1 ended; turn 2 started to plan").connects();
    let is_last = |fact: &Event| matches!(fact, Event::TurnStarted { turn: TurnId(2), mends: true, .. });
    assert!(story.play.log.iter().flat_map(|entry| &entry.facts).any(is_last));
    for fact in story.play.log.iter_mut().flat_map(|entry| &mut entry.facts) {
        if let Event::TurnStarted { mends, .. } = fact {
            *mends = false;
        }
    }
    story.play.replay();
    story.finishes("no file", "turn 2 ended; turn 3 started to plan").connects();
    story.finishes(FILE, "turn 3 ended; plan proposed: todo-app/progress");
    saves(&mut story);
}

#[test]
fn a_file_that_cannot_be_written_is_written_after_a_restart() {
    let mut story = planning(Asking::Assume);
    story
        .finishes(FILE, "turn 1 ended; plan proposed: todo-app/progress")
        .world(World::Failed { reason: "no space left".into() }, "failed: no space left")
        .wants(&[])
        .act(Act::Restart, "restarted by ann (terminal)");
    saves(&mut story);
}

// CLARIFY-13, and what systems before found out: an earlier sentence must not swallow the heading.
#[test]
fn clarify_13_the_last_file_that_was_said_counts() {
    let said = |text: &str| AgentDid::Say { text: text.into() };
    let fenced = format!("```markdown\n{FILE}```");
    let older = FILE.replace("Todo App", "Older App");
    let both = format!("{older}\nNo, rather:\n\n{FILE}");
    for (words, result) in [
        (vec!["Let me see."], FILE.to_owned()),
        (vec!["Let me see.", FILE], "That is the plan.".to_owned()),
        (vec![&*fenced, "Anything else?"], "Anything else?".to_owned()),
        (vec![&FILE[..40], &FILE[40..]], FILE[40..].to_owned()),
        // Of several the last.
        (vec![&*older], FILE.to_owned()),
        (vec![&*older, FILE], "That is the plan.".to_owned()),
        (vec!["Let me see."], both),
    ] {
        let mut story = planning(Asking::Assume);
        for text in words {
            story.did(said(text), &format!("said {text}"));
        }
        story.finishes(&result, "turn 1 ended; plan proposed: todo-app/progress");
        saves(&mut story);
    }
}

#[test]
fn a_file_to_leave_plan_mode_with_is_the_file_unless_another_follows() {
    let leave = |plan: &str| AgentDid::Ask {
        call: call("c1"),
        ask: Ask::LeavePlanMode { plan: plan.into() },
        parkable: false,
    };
    let noted = "plan proposed: todo-app/progress; c1 declined: The file is noted and is being saved";
    let mut story = planning(Asking::Assume);
    story.did(leave(FILE), noted).wants(&[
        "turn 1 running to plan [c1]",
        "c1 replied: your question denied: The file is noted and is being saved. Stop here; nothing else is to be done.",
    ]);
    story.takes("c1").finishes("I wait.", "turn 1 ended");
    saves(&mut story);

    let mut story = planning(Asking::Assume);
    story.did(leave(FILE), noted).takes("c1");
    story.finishes(&FILE.replace("Todo", "New"), "turn 1 ended; plan proposed: new-app/progress");
    story.baseline().wants(&["plan 2 saved at progress.md"]);

    let mut story = planning(Asking::Assume);
    story.did(leave("my plan"), "c1 declined: Your reply (number 1) is no valid progress file:\n\n- line 1: there is no heading `# Progress: Name` to begin with\n\nReply with the whole file again, mended: the raw file and nothing else, beginning with `# Progress:`");
    story.takes("c1").finishes(FILE, "turn 1 ended; plan proposed: todo-app/progress");
    saves(&mut story);
}

#[test]
fn killed_with_a_question_open_it_goes_on_with_the_answer() {
    let mut story = planning(Asking::Adaptive);
    story
        .asks("c1", &[draft("Which?", &["A", "B"])], "c1 asked round 1: q1")
        .crash("cut off: Rapport was stopped")
        .wants(&[])
        .answer("q1", "B", "q1 answered b by ann (terminal)")
        .wants(&["turn 1 running to plan [c1]", "c1 replied: Which? B"])
        .leaves(Leave::Finished { result: FILE.into() }, "turn 1 ended; plan proposed: todo-app/progress");
    saves(&mut story);
}

#[test]
fn a_log_from_before_there_were_aims_is_about_work() {
    let json = r#"{"seq":1,"at":"2026-01-24T09:00:00Z","facts":[{"created":{"task":"t","project":"/p","conversation":"c",
        "by":{"person":{"channel":"terminal","id":"ann"}}}},{"declined":{"turn":1,"call":"c1","reason":"no"}}]}"#;
    let entry = rapport_core::Entry::from_json(json).unwrap();
    let rapport_core::Event::Created(created) = &entry.facts[0] else { panic!("{entry:?}") };
    assert_eq!(created.aim, Aim::Work);
    assert!(!serde_json::to_string(&entry).unwrap().contains("aim"));
}
