//! No round, one, two, three, too many; an agent that may not ask; invalid files; existing files.

use rapport::agents::rehearsal::prebuilt;
use rapport::agents::rehearsal::scenario::{Scenario, Usage};
use rapport_core::{Event, Status};

use super::{IDEA, file, last_view, project, rounds};
use crate::support::project::Project;

const CALCULATOR: &str = "# Progress: Calculator\n\n## Status\n\nIn Progress\n\n## Analysis\n\nFour operations on numbers.\n\n\
    ## Tasks\n\n### Phase 1: Arithmetic\n\n- [ ] Write `add`, `sub`, `mul`, `div` in `src/lib.rs`\n- [ ] Test them, also \
    division by zero\n\n### Phase 2: Command line\n\n- [ ] Read an expression from the arguments\n- [ ] Test it end to end\n\n\
    ## Testing Strategy\n\nUnit tests with cargo test; no final phase.\n";

// CLARIFY-14, CLARIFY-28: the calculator; CLARIFY-19: both flags are there.
#[test]
fn clarify_14_without_questions_the_file_is_written_in_every_mode() {
    for flags in [&[][..], &["--adaptive"], &["--mode=gsd"], &["--adaptive", "--mode", "gsd"]] {
        let project = project(Scenario::new("calculator").respond_with_text(CALCULATOR));
        std::fs::write(project.root().join("Cargo.toml"), "").unwrap();
        let ran = project.plan(flags);
        ran.check(0, "4 tasks in 2 phases; next: Write `add`, `sub`, `mul`, `div` in `src/lib.rs`");
        ran.check(0, "(Accumulated across 0 round(s) of Q&A)");
        assert_eq!(project.progress(), CALCULATOR);
        assert_eq!(rounds(&project), 0);
        let facts = project.facts();
        let Event::TurnStarted { prompt, .. } = &facts[1] else { panic!("{facts:?}") };
        assert_eq!(prompt.contains("your question tool"), flags.contains(&"--adaptive"), "CLARIFY-18");
        assert_eq!(prompt.contains("Must-Haves"), flags.iter().any(|flag| flag.contains("gsd")));
        assert!(prompt.contains("## Detected Stack\n\n- Rust (Cargo.toml)"));
        assert!(prompt.ends_with(&format!("## User Request\n\n{IDEA}\n")));
        assert_eq!(project.view().status, Status::Completed);
    }
}

// CLARIFY-15, CLARIFY-28: totals over all rounds, and how many there were.
#[test]
fn clarify_12_one_two_and_three_rounds_lead_to_the_file() {
    for count in 1..=3 {
        let mut scenario = Scenario::new("rounds").usage(Usage {
            input_tokens: 2_600,
            output_tokens: 300,
            cache_creation_input_tokens: 100,
            cache_read_input_tokens: 600_000,
        });
        let mut analysis = String::new();
        for n in 1..=count {
            scenario = scenario.asks_questions(&[&*format!("What is {n}?"), &*format!("And {n}, why?")]);
            analysis.push_str(&format!("{{{{answer:What is {n}?}}}} because {{{{answer:And {n}, why?}}}}. "));
        }
        let project = project(scenario.respond_with_text(&file("Rounds", &analysis)));
        let mut running = project.plan_adaptively(&[]);
        for n in 1..=count {
            running.until_asked();
            let first = 2 * n - 1;
            project.answer(&format!("q{first}"), &format!("thing {n}"));
            project.answer(&format!("q{}", first + 1), &format!("reason {n}"));
        }
        assert_eq!(running.finish(), 0);
        let expected: String = (1..=count).map(|n| format!("thing {n} because reason {n}. ")).collect();
        assert!(project.progress().contains(expected.trim_end()), "{}", project.progress());
        let view = project.view();
        assert_eq!((view.rounds.asked as usize, view.answers.len()), (count, 2 * count));
        // Each round is a response of the model, and so is the file.
        let responses = count as u64 + 1;
        assert_eq!((view.usage.input, view.usage.output), (2_600 * responses, 300 * responses));
        let shown = project.rapport(&["run", "--resume", view.id.as_str()]);
        let tokens = |number: u64| match number {
            0..1_000 => number.to_string(),
            1_000..999_950 => format!("{:.1}k", number as f64 / 1e3),
            _ => format!("{:.1}M", number as f64 / 1e6),
        };
        shown.check(
            0,
            &format!(
                "Total tokens used: In: {} | Out: {} | CacheW: {} | CacheR: {}\n(Accumulated across {count} round(s) of Q&A)",
                tokens(2_600 * responses),
                tokens(300 * responses),
                tokens(100 * responses),
                tokens(600_000 * responses),
            ),
        );
    }
}

// CLARIFY-18, and of CLARIFY-29: basic mode suggests `--adaptive` when the agent asks.
#[test]
fn clarify_29_an_agent_that_may_not_ask_assumes_and_people_are_told() {
    let scenario = Scenario::new("asks")
        .asks_questions(&["Which language?", "Which database?"])
        .respond_with_text(&file("Assumed", "Assumed Rust."));
    let project = project(scenario);
    let ran = project.plan(&[]);
    ran.check(
        0,
        "The agent wanted to ask, and assumes instead; --adaptive lets it ask:\n  - Which language?",
    );
    assert!(project.progress().contains("Assumed Rust."));
    assert_eq!(rounds(&project), 0);
    let told = project.facts().into_iter().find_map(|fact| match fact {
        Event::Declined { reason, asked, .. } => Some((reason, asked)),
        _ => None,
    });
    let (reason, asked) = told.expect("it was declined");
    assert!(reason.contains("Assume what is most likely"), "{reason}");
    assert_eq!(asked, ["Which language?", "Which database?"]);
    assert_eq!(project.view().unasked, asked);
}

#[test]
fn clarify_12_beyond_the_limit_it_goes_on_with_what_there_is() {
    let mut scenario = Scenario::new("insatiable");
    for n in 1..=6 {
        scenario = scenario.asks_questions(&[&*format!("What is {n}?")]);
    }
    let project = project(scenario.respond_with_text(&file("Enough", "{{answer:What is 5?}}")));
    let mut running = project.plan_adaptively(&[]);
    for n in 1..=5 {
        running.until_asked();
        project.answer(&format!("q{n}"), &format!("it is {n}"));
    }
    let next = running.until(|fact| matches!(fact, Event::Asked { .. } | Event::Declined { .. }));
    assert!(matches!(next, Event::Declined { .. }), "{next:?}");
    assert_eq!(running.finish(), 0);
    assert!(project.progress().contains("it is 5"));
    assert_eq!(rounds(&project), 5);
    assert_eq!(project.view().unasked, ["What is 6?"]);
}

#[test]
fn clarify_12_people_are_told_that_the_limit_is_reached() {
    let scenario =
        Scenario::new("insatiable").asks_questions(&["What?"]).respond_with_text(&file("Enough", "."));
    let project = project(scenario);
    let ran = project.plan(&["--adaptive", "--max-rounds", "0"]);
    ran.check(0, "Maximum clarification rounds (0) reached. Proceeding with available context.");
    project.progress();
}

#[test]
fn clarify_16_a_wrong_file_is_mended_once() {
    let wrong = file("Wrong", "x").replace("- [ ] Begin\n- [ ] Test it\n", "- Begin\n");
    let project = project(
        Scenario::new("mended")
            .respond_with_text(&wrong)
            .next_invocation()
            .respond_with_text(&format!("Here it is:\n\n```markdown\n{}```\nDone.", file("Right", "x"))),
    );
    project.plan(&[]).check(0, "The progress file is invalid; the agent is told what is wrong");
    assert_eq!(project.progress(), file("Right", "x"));
    let facts = project.facts();
    let mut mend = facts.iter().filter_map(|fact| match fact {
        Event::TurnStarted { prompt, .. } => Some(prompt),
        _ => None,
    });
    let mend = mend.next_back().unwrap();
    assert!(mend.contains("- line 11: there is no task (`- [ ] …`) under `## Tasks`"), "{mend}");
}

#[test]
fn clarify_16_a_file_that_is_wrong_twice_is_not_written_and_nothing_is_lost() {
    let scenario = Scenario::new("hopeless")
        .respond_with_text("I would begin with a database.")
        .next_invocation()
        .respond_with_text("As I said.")
        .next_invocation()
        .respond_with_text(&file("At last", "x"));
    let project = project(scenario);
    let ran = project.plan(&[]);
    ran.check(7, "no valid progress file, not even when told what is wrong (line 1: there is no heading");
    assert!(!project.root().join("progress.md").exists());
    let kept = |words: &str| {
        project.facts().iter().any(|fact| matches!(fact, Event::TurnEnded { result, .. } if result == words))
    };
    assert!(kept("I would begin with a database.") && kept("As I said."), "the raw words are in the log");
    project
        .rapport(&["run", "--resume", project.session().as_str()])
        .check(0, "2 tasks in 1 phase; next: Begin");
    assert_eq!(project.progress(), file("At last", "x"));
}

#[test]
fn a_file_that_is_there_is_replaced_only_by_force_and_keeps_what_its_owner_wrote() {
    let project = project(Scenario::new("again").respond_with_text(&file("New", "x")));
    let old = format!("{}\n## My Notes\n\nBuy milk.\n", file("Old", "y"));
    std::fs::write(project.root().join("progress.md"), &old).unwrap();
    project.plan(&[]).check(3, "progress.md already exists and is not changed");
    assert_eq!(project.progress(), old);
    assert!(project.store().list().unwrap().is_empty(), "nothing was begun");
    project.plan(&["--force"]).check(0, "2 tasks in 1 phase");
    assert_eq!(project.progress(), format!("{}\n## My Notes\n\nBuy milk.\n", file("New", "x")));
}

#[test]
fn a_file_that_appears_meanwhile_is_not_overwritten() {
    let scenario = Scenario::new("late").asks_questions(&["Sure?"]).respond_with_text(&file("New", "x"));
    let project = project(scenario);
    let mut running = project.plan_adaptively(&[]);
    running.until_asked();
    std::fs::write(project.root().join("progress.md"), "mine").unwrap();
    project.answer("q1", "sure");
    assert_eq!(running.finish(), 7);
    assert_eq!(std::fs::read_to_string(project.root().join("progress.md")).unwrap(), "mine");
    std::fs::remove_file(project.root().join("progress.md")).unwrap();
    project.rapport(&["run", "--resume", project.session().as_str()]).check(0, "2 tasks");
    assert_eq!(project.progress(), file("New", "x"));
}

#[test]
fn the_idea_is_a_file_if_there_is_one_or_comes_from_a_pipe() {
    let project = project(Scenario::new("idea").respond_with_text(&file("Idea", "x")));
    std::fs::write(project.root().join("idea.md"), "From a file.\nWith lines.").unwrap();
    for (idea, out, task) in [
        ("idea.md", "a.md", "From a file.\nWith lines."),
        ("no-such-file.md", "docs/b.md", "no-such-file.md"),
    ] {
        let ran = project.rapport(&["plan", idea, "--as", "progress", "--out", out, "--json"]);
        assert_eq!(last_view(&ran).task, task);
        assert_eq!(std::fs::read_to_string(project.root().join(out)).unwrap(), file("Idea", "x"));
    }
    let mut command = project.command();
    command.args(["plan", "-", "--as", "progress", "--out", "c.md", "--json"]);
    command.stdin(std::fs::File::open(project.root().join("idea.md")).unwrap());
    let ran = crate::support::project::Ran(command.output().unwrap());
    assert_eq!(last_view(&ran).task, "From a file.\nWith lines.");
}

#[test]
fn mistakes_are_told_before_anything_begins() {
    let project = Project::with_agent("rehearsal");
    std::fs::create_dir(project.root().join("docs")).unwrap();
    for (args, code, says) in [
        (&["plan", "x"][..], 2, "--as"),
        (&["plan", "x", "--as", "poem"], 2, "progress"),
        (&["plan", "--as", "progress"], 2, "nothing to plan"),
        (&["plan", "x", "--as", "progress", "--mode", "zen"], 2, "gsd"),
        (&["plan", "x", "--as", "progress", "--out", "../x.md"], 2, "is not within the project"),
        (&["plan", "x", "--as", "progress", "--out", "docs"], 2, "is a directory"),
        (&["plan", " ", "--as", "progress"], 3, "the task is empty"),
    ] {
        project.rapport(args).check(code, says);
    }
    assert!(project.store().list().unwrap().is_empty());
}

#[test]
fn clarify_26_the_prebuilt_stories_come_out_over_the_live_channel_too() {
    // Played live, an entry that only asks ends without a file, and the next message plays the next entry. The
    // message about the mistakes comes once, so the third entry needs a person who resumes.
    for (scenario, answers, name, code) in [
        (prebuilt::interactive_planning(), &["Rust", "SQLite"][..], "# Progress: Interactive Test", 0),
        (prebuilt::multi_round_qa(), &["one", "two"], "RALPH_DONE", 7),
    ] {
        let project = project(scenario);
        let mut running = project.plan_adaptively(&[]);
        let mut asked = 0;
        while asked < answers.len() {
            let Event::Asked { questions, .. } = running.until_asked() else { unreachable!() };
            for question in questions {
                project.answer(question.id.as_str(), answers[asked]);
                asked += 1;
            }
        }
        assert_eq!(running.finish(), code, "{name}: {:?}", project.view().failure);
        if code == 7 {
            project
                .rapport(&["run", "--resume", project.session().as_str()])
                .check(0, "nothing is left to do");
        }
        assert_eq!(project.view().status, Status::Completed, "{name}");
        assert!(project.progress().contains(name));
    }
}
