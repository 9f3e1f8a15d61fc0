//! Any plan is written so that it reads back as it was, and so that everybody else who reads Markdown sees the same.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use rapport_core::{Action, ActionKind, ActionPlan, Change, Replacement, Resource, Shell, Sign};

use super::{parse, placeless};

/// Any text, mostly of what means something somewhere.
pub(super) fn text() -> impl Strategy<Value = String> {
    const PIECES: [&str; 40] = [
        "a",
        "b c",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        " ",
        "  ",
        "\t",
        "`",
        "```",
        "````",
        "```rust\n",
        "~~~",
        "~~~\n",
        "#",
        "# x\n",
        "### `CREATE`\n",
        "## Rationale\n",
        "## Action Plan",
        "#### FIND:\n",
        "`REPLACE:`",
        "---",
        "---\n",
        "- **File Path:** x\n",
        "**Description:** y",
        "[+] ",
        " # ",
        "[a](/a)",
        "\\",
        "é",
        "🟢",
        "\u{feff}",
        "\r",
        "*",
        "***\n",
        "<!--",
        "    indented",
        "1. ",
        "> ",
    ];
    vec(prop_oneof![4 => proptest::sample::select(&PIECES[..]).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)], 0..12)
        .prop_map(|pieces| pieces.concat())
}

/// Anything that is one line and not empty.
fn line() -> impl Strategy<Value = String> {
    text().prop_map(|text| {
        let line = text.replace(['\n', '\r'], "").trim().to_owned();
        if line.is_empty() { "x".to_owned() } else { line }
    })
}

fn change() -> impl Strategy<Value = Change> {
    (any::<bool>(), line(), option::of(line())).prop_map(|(add, what, comment)| Change {
        sign: if add { Sign::Add } else { Sign::Remove },
        what,
        comment,
        line: 0,
    })
}

fn kind() -> impl Strategy<Value = ActionKind> {
    let replacement = || (text(), text()).prop_map(|(find, replace)| Replacement { find, replace, line: 0 });
    let seconds = (1_i64..100_000, 0..2).prop_map(|(ms, whole)| {
        if whole == 0 { SignedDuration::from_secs(ms) } else { SignedDuration::from_millis(ms) }
    });
    prop_oneof![
        (line(), text(), any::<bool>()).prop_map(|(path, content, overwrite)| ActionKind::Create {
            path,
            content,
            overwrite
        }),
        line().prop_map(|path| ActionKind::Read { resource: Resource::File(path) }),
        "https://[a-z]{1,9}/[a-z#?=&)(]{0,9}"
            .prop_map(|url| ActionKind::Read { resource: Resource::Url(url) }),
        (line(), vec(replacement(), 1..4)).prop_map(|(path, edits)| ActionKind::Edit { path, edits }),
        (
            text(),
            option::of(line()),
            btree_map("[A-Z_]{1,4}", text().prop_map(|text| text.replace(['\n', '\r'], "")), 0..3),
            option::of(line()),
            any::<bool>(),
            option::of(seconds),
            prop_oneof![Just(Shell::Sh), Just(Shell::Bash)],
        )
            // A prompt is no command.
            .prop_filter("prompts", |(command, ..)| !command
                .lines()
                .any(|line| line.trim_start().starts_with("$ ")))
            .prop_map(
                |(command, cwd, env, expected, allow_failure, timeout, shell): (
                    _,
                    _,
                    BTreeMap<_, _>,
                    _,
                    _,
                    _,
                    _
                )| {
                    ActionKind::Execute { command, shell, cwd, env, expected, allow_failure, timeout }
                }
            ),
        line().prop_map(|path| ActionKind::Delete { path }),
        (line(), line()).prop_map(|(from, to)| ActionKind::Move { from, to }),
        vec(line(), 1..4).prop_map(|queries| ActionKind::Research { queries }),
        text().prop_map(|message| ActionKind::ChatWithUser { message }),
        (line(), text()).prop_map(|(agent, message)| ActionKind::Invoke { agent, message }),
    ]
}

pub(super) fn plans() -> impl Strategy<Value = ActionPlan> {
    let action = (kind(), option::of(line())).prop_map(|(kind, description)| Action {
        kind,
        description,
        line: 0,
        remark: None,
    });
    (
        line(),
        vec(("[A-Za-z]{1,9}( [A-Z]{1,3})?", line()), 0..4),
        text(),
        option::of(vec(change(), 0..4)),
        vec(change(), 0..3),
        vec(action, 1..6),
    )
        .prop_map(|(title, metadata, rationale, context, memos, actions)| ActionPlan {
            title,
            metadata,
            rationale,
            context,
            memos,
            actions,
        })
}

/// What somebody else sees: the headings down to the third level, and every block of code.
fn seen(markdown: &str) -> Vec<String> {
    let (mut seen, mut within) = (Vec::new(), None::<String>);
    for event in Parser::new(markdown) {
        match event {
            Event::Start(
                Tag::Heading { level: HeadingLevel::H2 | HeadingLevel::H3, .. } | Tag::CodeBlock(_),
            ) => {
                within = Some(String::new());
            }
            Event::End(TagEnd::Heading(HeadingLevel::H2 | HeadingLevel::H3) | TagEnd::CodeBlock) => {
                seen.extend(within.take());
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(within) = &mut within {
                    within.push_str(&text);
                }
            }
            _ => {}
        }
    }
    seen
}

/// What is to be seen of a plan.
fn to_see(plan: &ActionPlan) -> Vec<String> {
    let block = |text: &str| {
        let text = if text.is_empty() { String::new() } else { format!("{text}\n") };
        text.replace("\r\n", "\n")
    };
    let mut expected = vec!["Rationale".to_owned(), block(&plan.rationale), "Action Plan".to_owned()];
    for action in &plan.actions {
        expected.push(action.kind.name().to_owned());
        match &action.kind {
            ActionKind::Create { content, .. } => {
                expected.push(block(content.strip_suffix('\n').unwrap_or(content)));
                if content == "\n" {
                    expected.pop();
                    expected.push("\n".to_owned());
                }
            }
            ActionKind::Edit { edits, .. } => {
                expected.extend(edits.iter().flat_map(|edit| [block(&edit.find), block(&edit.replace)]));
            }
            ActionKind::Execute { command, .. } => expected.push(block(command)),
            ActionKind::Research { queries } => expected.extend(queries.iter().map(|query| block(query))),
            ActionKind::Read { .. }
            | ActionKind::Delete { .. }
            | ActionKind::Move { .. }
            | ActionKind::ChatWithUser { .. }
            | ActionKind::Invoke { .. } => {}
        }
    }
    expected
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn file_9_any_plan_reads_back_as_it_was(plan in plans()) {
        let written = plan.to_string();
        let read = parse(&written);
        prop_assert_eq!(placeless(read), plan, "{}", written);
    }

    /// Messages are free text, and lists are not code, so the others are looked at.
    #[test]
    fn file_9_others_see_the_same(mut plan in plans()) {
        plan.context = None;
        plan.memos.clear();
        plan.metadata.clear();
        plan.actions.retain(|action| !matches!(action.kind, ActionKind::ChatWithUser { .. } | ActionKind::Invoke { .. }));
        for action in &mut plan.actions {
            action.description = None;
            if let ActionKind::Execute { expected, cwd, env, .. } = &mut action.kind {
                (*expected, *cwd) = (None, None);
                env.clear();
            }
            if let ActionKind::Create { path, .. } | ActionKind::Edit { path, .. } | ActionKind::Read { resource: Resource::File(path) } = &mut action.kind {
                *path = "a".to_owned();
            }
        }
        // A lone CR is a line end to others, and a NUL is replaced.
        let written = plan.to_string();
        prop_assume!(!written.replace("\r\n", "").contains(['\r', '\0']));
        prop_assert_eq!(seen(&written), to_see(&plan), "{}", written);
    }
}
