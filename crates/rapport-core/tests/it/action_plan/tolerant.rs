//! What models do to Markdown, and what is meant by it all the same.

use jiff::SignedDuration;
use rapport_core::{Action, ActionKind, ActionPlan, Change, Replacement, Resource, Sign};

use super::{content, only, parse, plan};

/// All of the format in one plan.
const WHOLE: &str = "\
# Bootstrap a component

- **Status:** Green 🟢
- **Plan Type:** Implementation
- **Agent:** Developer
- **Goal:** Have it

## Rationale

````text
### Why
It is # needed.
```
````

## Active Context

```
[+] [src/core.py](/src/core.py) # The core.
[-] docs/old.md
[+] https://example.com/a#b
```

## Memos

```text
[+] Issue #12 is settled # by Ann
[-] Use npm
```

## Action Plan

### `CREATE`

- **File Path:** [src/core.py](/src/core.py)
- **Description:** The core
  of it.
- **Overwrite:** true

```python
print(1)
```

### `READ`

- **Resource:** [README.md](/README.md)

### `READ`

- **Resource:** https://example.com/page

### `EDIT`

- **File Path:** `pyproject.toml`
- **Description:** Name it

#### FIND:

```toml
name = \"a\"
```

#### REPLACE:

```toml
name = \"b\"
```

### `EXECUTE`

- **Description:** Lock
- **Expected Outcome:** It is locked
- **cwd:** sub/dir
- **env:**
  - `A=1`
  - B: \"two words\"
- **Allow Failure:** yes
- **Timeout:** 2m

```sh
poetry lock
```

### `RESEARCH`

- **Description:** Find out

```text
rust tui
python tui
```

```
third
```

### `CHAT_WITH_USER`

Which **one**?

- **Option A:** this
- that

### `INVOKE`

- **Agent:** `architect`

Go on with [it](/src/core.py).
";

fn whole() -> ActionPlan {
    let change = |sign, what: &str, comment: Option<&str>, line| Change {
        sign,
        what: what.into(),
        comment: comment.map(Into::into),
        line,
    };
    let action = |kind, description: Option<&str>, line| Action {
        kind,
        description: description.map(Into::into),
        line,
        remark: None,
    };
    ActionPlan {
        title: "Bootstrap a component".into(),
        metadata: [
            ("Status", "Green 🟢"),
            ("Plan Type", "Implementation"),
            ("Agent", "Developer"),
            ("Goal", "Have it"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec(),
        rationale: "### Why\nIt is # needed.\n```".into(),
        context: Some(vec![
            change(Sign::Add, "src/core.py", Some("The core."), 19),
            change(Sign::Remove, "docs/old.md", None, 20),
            change(Sign::Add, "https://example.com/a#b", None, 21),
        ]),
        memos: vec![
            change(Sign::Add, "Issue #12 is settled", Some("by Ann"), 27),
            change(Sign::Remove, "Use npm", None, 28),
        ],
        actions: vec![
            action(
                ActionKind::Create {
                    path: "src/core.py".into(),
                    content: "print(1)\n".into(),
                    overwrite: true,
                },
                Some("The core of it."),
                33,
            ),
            action(ActionKind::Read { resource: Resource::File("README.md".into()) }, None, 44),
            action(ActionKind::Read { resource: Resource::Url("https://example.com/page".into()) }, None, 48),
            action(
                ActionKind::Edit {
                    path: "pyproject.toml".into(),
                    edits: vec![Replacement {
                        find: "name = \"a\"".into(),
                        replace: "name = \"b\"".into(),
                        line: 59,
                    }],
                },
                Some("Name it"),
                52,
            ),
            action(
                ActionKind::Execute {
                    command: "poetry lock".into(),
                    shell: rapport_core::Shell::Sh,
                    cwd: Some("sub/dir".into()),
                    env: [("A", "1"), ("B", "two words")].map(|(k, v)| (k.into(), v.into())).into(),
                    expected: Some("It is locked".into()),
                    allow_failure: true,
                    timeout: Some(SignedDuration::from_secs(120)),
                },
                Some("Lock"),
                69,
            ),
            action(
                ActionKind::Research {
                    queries: ["rust tui", "python tui", "third"].map(Into::into).to_vec(),
                },
                Some("Find out"),
                84,
            ),
            action(
                ActionKind::ChatWithUser { message: "Which **one**?\n\n- **Option A:** this\n- that".into() },
                None,
                97,
            ),
            action(
                ActionKind::Invoke {
                    agent: "architect".into(),
                    message: "Go on with [it](/src/core.py).".into(),
                },
                None,
                104,
            ),
        ],
    }
}

#[test]
fn file_9_file_40_all_of_the_format_is_read() {
    assert_eq!(parse(WHOLE), whole());
}

#[test]
fn file_9_the_same_plan_whatever_is_around_it() {
    let moved = |lines: usize| {
        let mut plan = whole();
        plan.context.iter_mut().flatten().chain(&mut plan.memos).for_each(|change| change.line += lines);
        for action in &mut plan.actions {
            action.line += lines;
            if let ActionKind::Edit { edits, .. } = &mut action.kind {
                edits.iter_mut().for_each(|edit| edit.line += lines);
            }
        }
        plan
    };
    for (text, lines) in [
        (format!("\u{feff}{WHOLE}"), 0),
        (WHOLE.replace('\n', "\r\n"), 0),
        (format!("Here is the plan:\n\n```sh\n# not a title\n```\n\n{WHOLE}"), 6),
        (format!("## Thinking\n{WHOLE}"), 1),
        (format!("`````markdown\n{WHOLE}`````\n"), 1),
        (format!("Sure!\n```markdown\n{WHOLE}\n```\n"), 2),
        (format!("~~~\n{WHOLE}\n~~~\n"), 1),
        (format!("```markdown\nHere it is:\n\n{WHOLE}```\n"), 3),
        (format!("```\n# no title\nls\n```\n{WHOLE}"), 4),
    ] {
        assert_eq!(parse(&text), moved(lines), "{text}");
    }
}

/// A fence around the plan without an end: the rest may be missing, so the review says so.
#[test]
fn a_fence_around_everything_that_is_never_closed_is_remarked() {
    let remark = |text: &str| ActionPlan::parse(text).unwrap().actions.pop().unwrap().remark;
    let last = plan("### `EXECUTE`\n\n- **Description:** Do it.\n\n```sh\nls\n```\n");
    for plan in [WHOLE, last.as_str()] {
        let said = remark(&format!("```markdown\n{plan}"));
        assert_eq!(
            said.as_deref(),
            Some("the fence around the plan is never closed, so its end may be missing")
        );
        assert_eq!(remark(&format!("```markdown\n{plan}```\n")), None, "{plan}");
        assert_eq!(remark(plan), None, "{plan}");
    }
}

#[test]
fn file_9_the_end_of_a_fence_around_everything_ends_no_file() {
    let inner = plan("### `CREATE`\n- **File Path:** a\n\n```\nx\n```\n");
    let after = "\nTell me what you think!\n\n- Next: the tests\n\n### Notes\n";
    for text in [format!("```markdown\n{inner}```\n"), format!("```\n{inner}```\n{after}")] {
        let kind = &parse(&text).actions[0].kind;
        assert!(matches!(kind, ActionKind::Create { content, .. } if content == "x\n"), "{text}\n{kind:?}");
    }
    let text = format!("```markdown\n{}```\n{after}", plan("### `CHAT_WITH_USER`\n\nWhich?\n"));
    assert_eq!(parse(&text).actions[0].kind, ActionKind::ChatWithUser { message: "Which?".into() });
}

#[test]
fn file_40_names_and_keys_however_they_are_dressed() {
    for heading in [
        "### `READ`",
        "### READ",
        "### **READ**",
        "### 1. `READ`",
        "### Action 2: READ",
        "### `READ`: the readme",
        "### Read",
        "   ### READ ###",
        "###`READ`",
        "###\u{a0}READ",
    ] {
        for line in [
            "- **Resource:** [a b.md](/a%20b.md)",
            "* **Resource**: `a b.md`",
            "- Resource: a b.md",
            "**Resource:** [`a b.md`](</a b.md>)",
            "+ **resource:** a b.md",
            "- **File Path:** [a b.md](a b.md)",
            "Resource: a b.md",
            "- **Resource:** `[a b.md](/a b.md)`",
            "1. **Resource:** a b.md",
            "• **Resource:** **a b.md**",
            "-\u{a0}**Resource:**\u{a0}\"a b.md\"",
            "- **Description:** b\n    - **Resource:** a b.md",
            "- **Resource:** a b.md\nThat is the file.",
            "- **Resource:**\n  a b.md",
        ] {
            let kind = only(&format!("{heading}\n{line}\n"));
            assert_eq!(
                kind,
                ActionKind::Read { resource: Resource::File("a b.md".into()) },
                "{heading} {line}"
            );
        }
    }
    for line in ["<https://x.y/z>", "[page](https://x.y/z)", "`https://x.y/z`", "https://x.y/z"] {
        let kind = only(&format!("### READ\n- **Resource:** {line}\n"));
        assert_eq!(kind, ActionKind::Read { resource: Resource::Url("https://x.y/z".into()) }, "{line}");
    }
    for path in ["app/(auth)/page.tsx", "app/[id]/page.tsx", "ä/🟢.md", "a(b).c"] {
        let kind = only(&format!("### READ\n- **Resource:** [{path}](/{path})\n"));
        assert_eq!(kind, ActionKind::Read { resource: Resource::File(path.into()) });
    }
    let described = parse(&plan("### READ\n- Resource: a\n- **Description:** b\n- \n  c\n"));
    assert_eq!(described.actions[0].description.as_deref(), Some("b c"));
    let kind = only("### READ\n- **Resource:** [page](https://x.y/z_(w))\n");
    assert_eq!(kind, ActionKind::Read { resource: Resource::Url("https://x.y/z_(w)".into()) });
    let kind = only("### READ\n- **Resource:** [src/\\_\\_init\\_\\_.py](/src/__init__.py)");
    assert_eq!(kind, ActionKind::Read { resource: Resource::File("src/__init__.py".into()) });
}

#[test]
fn file_40_find_and_replace_however_they_are_marked() {
    for (find, replace) in [
        ("#### FIND:", "#### REPLACE:"),
        ("#### `FIND`", "#### `REPLACE`"),
        ("`FIND:`", "`REPLACE:`"),
        ("**FIND:**", "**REPLACE:**"),
        ("FIND:", "REPLACE:"),
        ("- **Find**:", "- **Replace**:"),
        ("##### FIND 1", "##### REPLACE 1"),
        ("#### FIND (line 7):", "#### REPLACE WITH:"),
    ] {
        let edit = |a: &str, b: &str| format!("{find}\n```\n{a}\n```\n\n{replace}\n```\n{b}\n```\n");
        let kind = only(&format!(
            "### EDIT\n- **File Path:** a\n\n{}{}---\n",
            edit("x\ny", ""),
            edit(".*[a-z]+$", " z ")
        ));
        let ActionKind::Edit { edits, .. } = kind else { panic!("{kind:?}") };
        let pairs: Vec<_> = edits.iter().map(|edit| (edit.find.as_str(), edit.replace.as_str())).collect();
        assert_eq!(pairs, [("x\ny", ""), (".*[a-z]+$", " z ")], "{find}");
    }
}

#[test]
fn file_9_what_a_fence_holds_is_every_byte_between() {
    for (fence, expected) in [
        ("```\n```", ""),
        ("```\n\n```", "\n"),
        ("```\n a \n```", " a \n"),
        ("```text\r\na\r\n```", "a\r\n"),
        ("````\n```\nx\n```\n````", "```\nx\n```\n"),
        ("~~~\n```\n~~~", "```\n"),
        ("```\n---\n# Not a title\n## Rationale\n```", "---\n# Not a title\n## Rationale\n"),
        ("``````\n### `READ`\n```\nx\n```\n``````", "### `READ`\n```\nx\n```\n"),
        ("  ```\n  a\n    b\n c\n  ```", "a\n  b\nc\n"),
        ("\t```\n\ta\n\t\tb\n\t```", "a\n\tb\n"),
        ("```\nthe end has no line of its own\n```", "the end has no line of its own\n"),
    ] {
        let is = content(
            &format!("### CREATE\n- **File Path:** a\n\n{fence}\n\n### READ\n- Resource: b\n")
                .replace("\n\n### READ\n- Resource: b\n", "\n"),
        );
        assert_eq!(is, expected, "{fence}");
    }
    let cut = "### CREATE\n- **File Path:** a\n- **Final Newline:** false\n\n```\na\n```\n";
    assert_eq!(content(cut), "a");
}

/// Models put fences into fences of the same length. Where only one reading makes a plan, it is taken.
#[test]
fn file_9_fences_in_fences_of_the_same_length() {
    for (fence, expected) in [
        ("```markdown\n# A\n```sh\nls\n```\nend\n```", "# A\n```sh\nls\n```\nend\n"),
        (
            "```text\n```sh\nls\n```\n\n## Usage\n\n```py\n1\n```\n```",
            "```sh\nls\n```\n\n## Usage\n\n```py\n1\n```\n",
        ),
        ("```md\n# A\n```\nls\n```\nend\n```", "# A\n```\nls\n```\nend\n"),
        ("```\nx\n```\n```", "x\n"),
        ("```\nx\n```\nThat makes the file.", "x\n"),
        ("Here it is:\n```\nx\n```", "x\n"),
        ("```\nx\n```\n\n---\n\n```\n\n---", "x\n"),
        ("````````rust\nx\n````````rust", "x\n"),
        ("`````\nx\n`````` the end", "x\n"),
    ] {
        for after in ["", "\n\n### READ\n\n- Resource: b\n", "\n\n---\n\n### `CHAT_WITH_USER`\n\nDone.\n"] {
            let parsed = parse(&plan(&format!("### CREATE\n- **File Path:** a\n\n{fence}\n{after}")));
            let ActionKind::Create { content, .. } = &parsed.actions[0].kind else { panic!("{parsed:?}") };
            assert_eq!(content, expected, "{fence}{after}");
            assert_eq!(parsed.actions.len(), 1 + usize::from(!after.is_empty()));
        }
    }
}

#[test]
fn file_40_a_message_is_all_that_follows() {
    for (text, expected) in [
        ("Hello\n\n### Options\n\n1. a\n", "Hello\n\n### Options\n\n1. a"),
        ("Look:\n\n```\n### `CREATE`\n```\n\nOk?\n\n---\n", "Look:\n\n```\n### `CREATE`\n```\n\nOk?"),
        ("```message\n# All\n\n  of it \n```\n", "# All\n\n  of it "),
        ("- **Description:** why\n\nWell?", "Well?"),
        ("> quoted\n```\n\n", "> quoted"),
    ] {
        for after in ["", "\n### READ\n- Resource: b\n"] {
            let parsed = parse(&plan(&format!("### `CHAT_WITH_USER`\n\n{text}{after}")));
            let ActionKind::ChatWithUser { message } = &parsed.actions[0].kind else { panic!("{parsed:?}") };
            assert_eq!(message, expected);
        }
    }
}

#[test]
fn file_40_commands_and_their_parameters() {
    let timeout = |value: &str| match only(&format!("### EXECUTE\n- **Timeout:** {value}\n```\nls\n```")) {
        ActionKind::Execute { timeout, .. } => timeout,
        other => panic!("{other:?}"),
    };
    for (value, seconds) in
        [("60", 60), ("60s", 60), ("2m", 120), ("`90s`", 90), ("1h 30m", 5400), ("2 minutes", 120)]
    {
        assert_eq!(timeout(value), Some(SignedDuration::from_secs(seconds)), "{value}");
    }
    for (env, expected) in [
        ("- **env:** A=1", vec![("A", "1")]),
        ("- **env:** `A=1`, `B=x y`", vec![("A", "1"), ("B", "x y")]),
        ("- **env:**\n  - A=a=b\n  - `B`: `2`\n  - **C:** '3'", vec![("A", "a=b"), ("B", "2"), ("C", "3")]),
        ("- env:\n    * `A=\"kept\"`", vec![("A", "\"kept\"")]),
        ("- **env:**\n  A=1\n  B=2 3", vec![("A", "1"), ("B", "2 3")]),
        ("- **env:**\n- A=1\n- B=2", vec![("A", "1"), ("B", "2")]),
        ("- **env:** A=1\n- **cwd:** [.](/)", vec![("A", "1")]),
        ("  - **env:**\n    - A=1\n  - **cwd:** src", vec![("A", "1")]),
    ] {
        let ActionKind::Execute { env: is, .. } =
            only(&format!("### EXECUTE\n{env}\n\n**Command:**\n```\nls\n```"))
        else {
            panic!("no command")
        };
        let is: Vec<_> = is.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(is, expected, "{env}");
    }
}

#[test]
fn file_15_file_16_context_said_and_unsaid() {
    let with = |section: &str| {
        parse(&plan("### READ\n- Resource: a\n").replace("## Action", &format!("{section}## Action")))
    };
    assert_eq!(with("").context, None);
    assert_eq!(with("## Active Context\n\n").context, Some(vec![]));
    assert_eq!(with("## Active Context\n\nNone.\n\n").context, Some(vec![]));
    let fenced = with(
        "## Active Context\n```\n# The code\n[+] [docs](https://x.y/z)\n[-] [a/(b).c](/a/(b).c) # why\n```\n",
    )
    .context
    .unwrap();
    let words: Vec<_> = fenced.iter().map(|change| change.what.as_str()).collect();
    assert_eq!(words, ["https://x.y/z", "a/(b).c"]);
    let listed = with("## Active Context\n- [+] `a # b.md` # why\n- [-] c#d.md\n\n").context.unwrap();
    let words: Vec<_> =
        listed.iter().map(|change| (change.what.as_str(), change.comment.as_deref())).collect();
    assert_eq!(words, [("a # b.md", Some("why")), ("c#d.md", None)]);
}
