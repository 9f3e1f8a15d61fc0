//! The progress file: what is read from it, what is wrong with it, and that nothing is lost on the way (CLARIFY-16).

use proptest::prelude::*;
use rapport_core::{ProgressFile, cut_out};

const FULL: &str = "\
# Progress: Todo App

A word of its owner.

## Status

In Progress

## Current Position

Phase 1 of 2.

## Analysis

It has `main.rs` and nothing else.

## Must-Haves

### Truths

- A todo can be added

## Tasks

### Phase 1: Model

- [x] Write `src/todo.rs` with `Todo` (verify: cargo check, done: it compiles)
- [ ] Test it
  - [ ] with an empty title

### Phase 2: Screen

* [ ] Show the list

## Testing Strategy

Unit tests with cargo test.

```
## Tasks
- [ ] not a task
```

## Completed This Iteration

- [x] Write `src/todo.rs`

## Recent Attempts

### Iteration 1

- Tried: a vector
- Result: slow
- Next: a map

## Iteration Log

| Iteration | Started | Duration | Tasks Completed | Notes |
|---|---|---|---|---|
| 1 | 2026-01-24 | 3m | 1 | it went well |

## Decisions

| Decision | Reason |
|---|---|
| a map | speed |";

fn full() -> ProgressFile {
    ProgressFile::parse(FULL).unwrap()
}

#[test]
fn clarify_16_everything_that_means_something_is_read() {
    let file = full();
    assert_eq!(file.name(), Some("Todo App"));
    assert_eq!(file.status(), Some("In Progress"));
    assert!(!file.is_done());
    assert_eq!(file.analysis(), Some("It has `main.rs` and nothing else."));
    assert_eq!(file.phases(), ["Phase 1: Model", "Phase 2: Screen"]);
    let tasks: Vec<_> =
        file.tasks().into_iter().map(|t| (t.line, t.phase.unwrap(), t.done, t.text)).collect();
    let (model, screen) = ("Phase 1: Model".to_owned(), "Phase 2: Screen".to_owned());
    let written = "Write `src/todo.rs` with `Todo` (verify: cargo check, done: it compiles)".to_owned();
    assert_eq!(
        tasks,
        [
            (27, model.clone(), true, written),
            (28, model.clone(), false, "Test it".into()),
            (29, model, false, "with an empty title".into()),
            (33, screen, false, "Show the list".into()),
        ]
    );
    assert_eq!(file.next_task().unwrap().text, "Test it");
    assert_eq!(file.summary(), "4 tasks in 2 phases, 1 done; next: Test it");
    assert_eq!(file.problems(), []);
}

#[test]
fn what_was_not_touched_is_kept_byte_for_byte() {
    assert_eq!(full().to_string(), FULL);
    let windows = FULL.replace('\n', "\r\n");
    let file = ProgressFile::parse(&windows).unwrap();
    assert_eq!(file.to_string(), windows);
    assert_eq!((file.name(), file.tasks().len(), file.problems().len()), (Some("Todo App"), 4, 0));
}

#[test]
fn clarify_16_ralph_done_in_the_status_is_the_end() {
    let file = ProgressFile::parse(&FULL.replace("In Progress", "RALPH_DONE - all green")).unwrap();
    assert!(file.is_done() && !full().is_done());
    assert_eq!(file.status(), Some("RALPH_DONE - all green"));
    let elsewhere = FULL.replace("A word of its owner.", "RALPH_DONE");
    assert!(!ProgressFile::parse(&elsewhere).unwrap().is_done(), "only the status counts");
}

#[test]
fn a_new_file_keeps_the_sections_of_the_old_one_that_only_its_owner_knows() {
    let new = "# Progress: New\n\n## Status\n\nNew\n\n## Decisions\n\nNone.\n";
    let kept = ProgressFile::parse(new).unwrap().keeping(&full()).to_string();
    let expected =
        "\n## Current Position\n\nPhase 1 of 2.\n\n## Must-Haves\n\n### Truths\n\n- A todo can be added\n\n";
    assert_eq!(kept, format!("{new}{expected}"));
    let again = ProgressFile::parse(new).unwrap().keeping(&ProgressFile::parse(&kept).unwrap());
    assert_eq!(again.to_string(), kept, "twice does no harm");
}

#[test]
fn a_text_with_nothing_of_it_is_no_progress_file() {
    for text in [
        "",
        "Hello.",
        "# A title\n\nwords\n",
        "# Progress:\n",
        "## Tasks\n\n- no task\n",
        "```\n# Progress: X\n```\n",
    ] {
        assert!(ProgressFile::parse(text).is_err(), "{text:?}");
    }
    for text in ["# Progress: X", "## Status\nfine", "## Analysis\nfine", "## Tasks\n- [ ] x"] {
        assert!(ProgressFile::parse(text).is_ok(), "{text:?}");
    }
}

#[test]
fn clarify_16_what_is_wrong_is_told_with_its_line() {
    let check = |text: &str, expected: &[&str]| {
        let problems = ProgressFile::parse(text).unwrap().problems();
        let told: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(told, expected, "{text}");
    };
    let valid = "# Progress: X\n\n## Status\n\nNew\n\n## Tasks\n\n### Phase 1\n\n- [ ] a\n\n## Testing Strategy\n\nNone.\n";
    check(valid, &[]);
    check(&valid.replace("Progress: X", "X"), &["line 1: the heading `# Progress: Name` is missing"]);
    check(&valid.replace("New", ""), &["line 3: the section `## Status` is empty"]);
    check(&valid.replace("### Phase 1", ""), &["line 7: there is no `### Phase …` under `## Tasks`"]);
    check(&valid.replace("- [ ] a", "- a"), &["line 7: there is no task (`- [ ] …`) under `## Tasks`"]);
    check(
        &valid.replace("- [ ] a", "- [ ] a\n- [] b\n- [-] c\n- [x]d\n- [a](link)"),
        &[
            "line 12: a task begins with `- [ ] ` or `- [x] `, then words",
            "line 13: a task begins with `- [ ] ` or `- [x] `, then words",
            "line 14: a task begins with `- [ ] ` or `- [x] `, then words",
        ],
    );
    check(
        "# Progress: X\n\n## Status\n\nNew\n\n## Status\n\nOld\n",
        &[
            "line 7: `## Status` occurs twice",
            "line 9: the section `## Tasks` is missing",
            "line 9: the section `## Testing Strategy` is missing",
        ],
    );
}

#[test]
fn the_file_is_cut_out_of_what_the_agent_said() {
    let check = |reply: &str, file: Option<&str>| assert_eq!(cut_out(reply).as_deref(), file, "{reply}");
    check("# Progress: X\n\nwords", Some("# Progress: X\n\nwords\n"));
    check("Here it is:\n\n# Progress: X\nwords\n\n\n", Some("# Progress: X\nwords\n"));
    check("# Progress: Old\nold\n# Progress: New\nnew", Some("# Progress: New\nnew\n"));
    check("Sure!\n```markdown\n# Progress: X\nwords\n```\nAnything else?", Some("# Progress: X\nwords\n"));
    check("```\n# Progress: X\n```sh\nls\n```\nwords\n```\n", Some("# Progress: X\n```sh\nls\n```\nwords\n"));
    check("```\n# Progress: X\n```\nls\n```\nwords\n```", Some("# Progress: X\n```\nls\n```\nwords\n"));
    check("````md\n# Progress: X\nnever closed", Some("# Progress: X\nnever closed\n"));
    check("# Progress: X\n```\nls\n```\n", Some("# Progress: X\n```\nls\n```\n"));
    check("I made progress: # Progress: X", None);
    check("", None);
}

fn any_lines() -> impl Strategy<Value = String> {
    let lines = [
        "# Progress: X",
        "# Progress:",
        "## Status",
        "## status ",
        "## Tasks",
        "## Testing Strategy",
        "## Mine",
        "### Phase 1",
        "- [ ] a",
        "- [x] b",
        "  * [X] c",
        "- [] d",
        "- [",
        "-",
        "```",
        "```sh",
        "~~~",
        "#",
        "##",
        "| a | b |",
        "|---|---|",
        "- Tried: x",
        "RALPH_DONE",
        "",
        "\t",
        "words",
        "## Iteration Log",
        "## Recent Attempts",
    ];
    let ends = prop::sample::select(vec!["\n", "\r\n", "\n\n", ""]);
    prop::collection::vec((prop::sample::select(lines.to_vec()), ends), 0..30)
        .prop_map(|parts| parts.into_iter().map(|(line, end)| format!("{line}{end}")).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn whatever_is_read_is_written_as_it_was(text in prop_oneof![any_lines(), any::<String>()]) {
        let _ = cut_out(&text);
        if let Ok(file) = ProgressFile::parse(&text) {
            prop_assert_eq!(file.to_string(), text.as_str());
            let lines = text.lines().count().max(1);
            for problem in file.problems() {
                prop_assert!((1..=lines).contains(&problem.line));
            }
            let (open, done): (Vec<_>, Vec<_>) = file.tasks().into_iter().partition(|task| !task.done);
            for task in &open {
                let was = text.split_inclusive('\n').nth(task.line - 1).unwrap();
                prop_assert!(was.contains(&task.text));
            }
            prop_assert_eq!(file.tasks().len(), open.len() + done.len());
            prop_assert_eq!(file.next_task(), open.first().cloned());
            let _ = file.summary();
            let twice = file.clone().keeping(&file);
            prop_assert_eq!(twice.to_string(), file.to_string());
        }
    }

    #[test]
    fn what_is_cut_out_begins_with_the_heading_and_is_cut_out_of_itself(text in any_lines()) {
        if let Some(file) = cut_out(&text) {
            prop_assert!(file.starts_with("# Progress:") && file.ends_with('\n'));
            prop_assert_eq!(cut_out(&file), Some(file));
        }
    }
}
