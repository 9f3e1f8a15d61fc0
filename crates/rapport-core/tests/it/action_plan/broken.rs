//! What is no plan: where, why, and what to do.

use rapport_core::ActionPlan;

use super::plan;

#[track_caller]
fn check(text: &str, expected: &[(usize, &str)]) {
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let errors = ActionPlan::parse(&text).expect_err("it is not a plan");
        let is: Vec<_> = errors.iter().map(|error| (error.line, error.what.as_str())).collect();
        assert_eq!(is, expected, "{text}");
        assert!(errors.iter().all(|error| error.hint.ends_with('.')), "{errors:?}");
    }
}

/// The first line of what `plan` puts the actions on.
const FIRST: usize = 9;

#[track_caller]
fn check_actions(actions: &str, expected: &[(usize, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(line, what)| (line + FIRST - 1, *what)).collect();
    check(&plan(actions), &expected);
}

const READ: &str = "### `READ`\n- **Resource:** a\n";

#[test]
fn file_9_a_plan_has_one_title() {
    let whole = plan(READ);
    check(&whole.replace("# Do it\n", "\n"), &[(3, "the plan has no title")]);
    check(&whole.replace("# Do it\n", "#\n"), &[(1, "the title is empty")]);
    check(&format!("{whole}\n# More\n"), &[(12, "there is a second title, \"More\"")]);
    check(&plan("### CHAT_WITH_USER\n\nHi\n\n# Big\n\nwords\n"), &[(13, "there is a second title, \"Big\"")]);
}

#[test]
fn file_9_a_plan_has_its_sections() {
    const EMPTY: &[(usize, &str)] = &[
        (1, "the plan is empty"),
        (1, "the section Rationale is missing"),
        (1, "the section Action Plan is missing"),
    ];
    for text in ["", "\n", "  \n"] {
        check(text, EMPTY);
    }
    check(
        "I cannot do that.\n",
        &[(1, "this is a reply in words, not a plan: it has neither sections nor actions")],
    );
    check("# A\n\n## Action Plan\n### READ\n- Resource: b\n", &[(5, "the section Rationale is missing")]);
    check("# A\n\n## Rationale\nb\n", &[(4, "the section Action Plan is missing")]);
    check(&plan(""), &[(7, "the plan has no action")]);
    check(
        "# A\n## Rationale\n## Rationale\n## Action Plan\n### READ\n- Resource: b\n",
        &[(3, "the section Rationale occurs twice")],
    );
    check(&plan(&format!("{READ}\n## Notes\n")), &[(12, "\"Notes\" is not a section of a plan")]);
    let context = plan(READ).replace("## Action", "## Active Context\n\nsrc/a.rs\n[+]\n\n## Action");
    check(&context, &[(9, "\"src/a.rs\" neither adds nor removes"), (10, "nothing is named here")]);
}

#[test]
fn file_40_only_known_actions_and_parameters() {
    check_actions("### `COPY`\n- **File Path:** a\n", &[(1, "`COPY` is not an action")]);
    check_actions(
        "### Tidy up\n\ntext\n\n### `READ`\n- **Resource:** a\n",
        &[(1, "Tidy up is not an action")],
    );
    check_actions("### READ\n- **Resource:** a\n- **Lines:** 3\n", &[(3, "READ has no parameter \"Lines\"")]);
    check_actions("### READ\n", &[(1, "READ has no Resource")]);
    check_actions("### READ\n- **Resource:** a\n- **File Path:** b\n", &[(3, "READ has Resource twice")]);
    check_actions("### READ\n- **Resource:** a\n\n```\nx\n```\n", &[(4, "READ does not take a fence")]);
    check_actions("### CREATE\n```\nx\n```\n", &[(1, "CREATE has no File Path")]);
    check_actions("### CREATE\n- **File Path:** a\n", &[(1, "CREATE has no fence with the file's content")]);
    check_actions(
        "### CREATE\n- **File Path:** [a](/b)\n- **Overwrite:** maybe\n```\n```\n",
        &[
            (2, "the link says \"a\" and leads to \"/b\""),
            (3, "Overwrite is \"maybe\", which is neither true nor false"),
        ],
    );
    check_actions("### INVOKE\n\nHello\n", &[(1, "INVOKE has no Agent")]);
    check_actions("### INVOKE\n- **Agent:** x\n", &[(1, "INVOKE has no message")]);
    check_actions("### CHAT_WITH_USER\n\n### READ\n- Resource: a\n", &[(1, "CHAT_WITH_USER has no message")]);
    check_actions("### RESEARCH\n- **Description:** a\n", &[(1, "RESEARCH has no query")]);
    check_actions(
        "### EXECUTE\n- **Timeout:** soon\n- **env:** A\n```\nls\n```\n",
        &[(2, "Timeout is \"soon\", which is not a duration"), (3, "\"A\" is not a variable")],
    );
    check_actions(
        "### EXECUTE\n- **Timeout:** -3s\n```\nls\n```\n",
        &[(2, "Timeout is \"-3s\", which is not a duration")],
    );
    let unknown = ActionPlan::parse(&plan("### `COPY`\n")).unwrap_err();
    for (heading, hint) in [("READ the docs", "READ"), ("Now `EDIT` it", "EDIT")] {
        let errors = ActionPlan::parse(&plan(&format!("### {heading}\n"))).unwrap_err();
        assert_eq!(errors[0].hint, format!("Write the name and nothing else: ### `{hint}`."));
    }
    assert_eq!(
        unknown[0].to_string(),
        "plan.md:9: `COPY` is not an action. The actions are CREATE, READ, EDIT, DELETE, MOVE, EXECUTE, RESEARCH, \
         CHAT_WITH_USER, INVOKE."
    );
}

/// What would be lost, or be part of something else, without anybody noticing.
#[test]
fn file_9_nothing_is_dropped_in_silence() {
    let ls = "```\nls\n```\n";
    check_actions(
        &format!("**EXECUTE**\n\n{ls}\n{READ}"),
        &[(1, "**EXECUTE** is an action, but not a heading of the third level")],
    );
    check_actions(
        &format!("**READ**\n- **Resource:** b\n\n{READ}"),
        &[(1, "**READ** is an action, but not a heading of the third level")],
    );
    check_actions(&format!("So:\n\n{ls}\n{READ}"), &[(3, "this fence does not belong to an action")]);
    check_actions(
        &format!("- **Resource:** b\n\n{READ}"),
        &[(1, "this parameter does not belong to an action")],
    );
    check_actions(
        &format!("### CHAT_WITH_USER\n\nHi\n\n**2. EXECUTE**\n\n{ls}"),
        &[(5, "**2. EXECUTE** is an action, but not a heading of the third level")],
    );
    for level in ["##", "####", "######"] {
        let what = "`EXECUTE` is an action, but not a heading of the third level";
        for before in
            [READ, "### RESEARCH\n```\nq\n```\n", "### CHAT_WITH_USER\n\nHi\n", "### EXECUTE\n```\na\n```\n"]
        {
            let line = before.lines().count() + 1;
            check_actions(&format!("{before}{level} `EXECUTE`\n{ls}\n{READ}"), &[(line, what)]);
        }
    }
    let create = |path: &str| format!("### CREATE\n- **File Path:** {path}\n```\n```\n");
    for path in ["[a](/a) (new)", "`a` (new)", "see [a](/a)", "[a](/a) and [b](/b)"] {
        check_actions(&create(path), &[(2, &format!("{path:?} is more than a path"))]);
    }
    for env in ["A=1, B=2", "A=1 B=2", "A: 1, B: 2"] {
        let what = format!("{env:?} may be one variable or several");
        check_actions(&format!("### EXECUTE\n- **env:** {env}\n{ls}"), &[(2, &what)]);
    }
    let context =
        |line: &str| plan(READ).replace("## Action", &format!("## Active Context\n{line}\n\n## Action"));
    check(
        &context("[+] [core](/src/core.py)"),
        &[(8, "the link says \"core\" and leads to \"/src/core.py\"")],
    );
    check(&context("[+] `a` - b"), &[(8, "\"`a` - b\" is more than a path")]);
}

#[test]
fn file_40_edits_come_in_pairs() {
    let edit = |rest: &str| format!("### EDIT\n- **File Path:** a\n\n{rest}");
    check_actions(&edit("#### FIND:\n```\nx\n```\n"), &[(5, "a FIND has no REPLACE")]);
    check_actions(
        &edit("#### REPLACE:\n```\nx\n```\n"),
        &[(1, "EDIT has nothing to change"), (5, "a REPLACE has no FIND before it")],
    );
    check_actions(
        &edit("#### FIND:\n```\nx\n```\n#### FIND:\n```\ny\n```\n#### REPLACE:\n```\nz\n```\n"),
        &[(5, "a FIND has no REPLACE")],
    );
    check_actions(
        &edit("#### FIND:\n```\nx\n```\n#### REPLACE:\n"),
        &[(5, "a FIND has no REPLACE"), (8, "a FIND or REPLACE has no fence below it")],
    );
    check_actions(
        &edit("```\nx\n```\n"),
        &[(1, "EDIT has nothing to change"), (4, "a fence is neither FIND nor REPLACE")],
    );
    check_actions(&edit(""), &[(1, "EDIT has nothing to change")]);
}

#[test]
fn file_9_fences_that_do_not_end_or_end_unclearly() {
    let never = |run: &str| format!("the fence {run} that opens here is never closed");
    let unclear = |line: usize| {
        let line = line + FIRST - 1;
        format!(
            "it is not clear where the fence ``` that opens here ends: line {line} closes it, and more follows"
        )
    };
    let create = |fence: &str| format!("### CREATE\n- **File Path:** a\n\n{fence}\n");
    let three = never("```");
    check_actions(&create("```\nx"), &[(4, &three)]);
    check_actions(&create(&format!("```\nx\n\n{READ}")), &[(4, &three)]);
    check_actions(&create("```\nx\n\n### `EXECUTE`\n\n```sh\nls\n```"), &[(4, &three)]);
    check_actions(&create("```\nx\n\n### `EXECUTE`\n\n```\nls\n```"), &[(4, &three)]);
    check_actions(&create("````\nx\n```"), &[(4, &never("````"))]);
    check_actions(&create("```text\n```sh\nls\n```"), &[(4, &unclear(7))]);
    check_actions("### CHAT_WITH_USER\n\nSee:\n\n```\nx\n", &[(5, &three)]);
    for edit in ["FIND:\n```\nx\nREPLACE:\n```\ny\n```\n", "FIND:\n```\nx\n```\nREPLACE:\n```\ny\n"] {
        let line = if edit.ends_with("y\n") { 7 } else { 3 };
        check_actions(&format!("### EDIT\n- **File Path:** a\n{edit}"), &[(line + 1, &three)]);
    }
    // A wrong guess would cut the file short, or make the next action a part of the message.
    check_actions(&create("```py\nx = \"\"\"\n```\n\"\"\"\n```"), &[(4, &unclear(6))]);
    check_actions(
        "### EDIT\n- **File Path:** a\n\nThis:\n```\nx\n```\nbecomes:\n```\ny\n```\n",
        &[(5, &unclear(7))],
    );
    check_actions("### CHAT_WITH_USER\n\n```\nx\n\n### EXECUTE\n\n```\nls\n```\n", &[(3, &three)]);
    check_actions(&create("```\nx\n```\n\n```\ny\n```"), &[(8, "CREATE has more than one fence")]);
    check_actions("### EXECUTE\n```sh\na\n```\n\n```sh\nb\n```\n", &[(6, "EXECUTE has more than one fence")]);
}

#[test]
fn file_9_not_every_mistake_is_told() {
    let errors = ActionPlan::parse(&plan(&"### `COPY`\n".repeat(1_000))).unwrap_err();
    assert_eq!(errors.len(), 50);
}
