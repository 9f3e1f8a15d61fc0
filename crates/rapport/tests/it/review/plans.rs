//! Plans to review, made by hand.

use std::collections::BTreeMap;

use rapport_core::{Action, ActionKind, ActionPlan, Change, Replacement, Resource, Sign};

/// The plan of the document that describes the review.
pub(crate) fn bootstrap() -> ActionPlan {
    ActionPlan {
        title: "Bootstrap New Project Component".into(),
        context: Some(vec![
            add("src/components/new_component/core.py", Some("Add new core logic file to context.")),
            add("tests/components/test_new_component.py", Some("Add new test file to context.")),
        ]),
        memos: vec![add("All new components must have a core.py file.", Some("Establish a new convention."))],
        actions: vec![
            create("src/components/new_component/core.py", "def core():\n    return 1\n"),
            edit("pyproject.toml", &[("version = \"0.1\"", "version = \"0.2\"")]),
            execute("poetry lock"),
        ],
        ..ActionPlan::default()
    }
}

/// A plan with an action of every kind.
pub(crate) fn every_kind() -> ActionPlan {
    let mut variables = BTreeMap::new();
    variables.insert("RUST_LOG".to_owned(), "debug".to_owned());
    variables.insert("TRICKY".to_owned(), "two\nlines".to_owned());
    let command = ActionKind::Execute {
        command: "cargo test\ncargo doc".into(),
        shell: rapport_core::Shell::Sh,
        cwd: Some("crates/core".into()),
        env: variables,
        expected: Some("All tests pass.".into()),
        allow_failure: true,
        timeout: Some(jiff::SignedDuration::from_secs(90)),
    };
    ActionPlan {
        title: "Everything".into(),
        context: Some(vec![add("src/lib.rs", None), remove("src/old.rs", Some("gone"))]),
        memos: vec![remove("Use yarn.", None)],
        actions: vec![
            create("src/greet.rs", "pub fn greet() {}\n"),
            edit("src/greet.rs", &[("pub fn greet() {}", "pub fn greet() {\n    println!(\"hello\");\n}")]),
            edit("src/greet.rs", &[("println!(\"hello\");", "println!(\"hello, you\");")]),
            action(ActionKind::Read { resource: Resource::File("src/lib.rs".into()) }),
            action(ActionKind::Read { resource: Resource::Url("https://example.com/spec".into()) }),
            action(command),
            action(ActionKind::Research { queries: vec!["rust tui".into(), "ratatui tree".into()] }),
            action(ActionKind::ChatWithUser { message: "Which one?\n\n- this\n- that".into() }),
            action(ActionKind::Invoke { agent: "reviewer".into(), message: "Please look at it.".into() }),
        ],
        ..ActionPlan::default()
    }
}

/// A plan with so many actions.
pub(crate) fn long(actions: usize) -> ActionPlan {
    let one = |number: usize| match number % 3 {
        0 => create(
            &format!("src/modules/module_{number:04}/with/a/rather/long/path/to/the/file/mod.rs"),
            "x\n",
        ),
        1 => edit(&format!("src/modules/module_{:04}/mod.rs", number - 1), &[("old", "new")]),
        _ => execute(&format!("cargo test module_{number:04}")),
    };
    ActionPlan {
        title: "A very long plan".into(),
        context: Some(vec![add("src/lib.rs", None)]),
        actions: (0..actions).map(one).collect(),
        ..ActionPlan::default()
    }
}

/// A plan whose every text tries to do something to the terminal.
pub(crate) fn hostile() -> ActionPlan {
    let nasty = "a\u{1b}[2J\u{1b}]0;owned\u{7}b\tc\u{202e}txt.exe\u{200b}\u{9b}31m日本語\r\nnext";
    ActionPlan {
        title: nasty.into(),
        context: Some(vec![add(nasty, Some(nasty))]),
        memos: vec![add(nasty, Some(nasty))],
        actions: vec![create(nasty, nasty), edit(nasty, &[(nasty, "x")]), execute(nasty)],
        ..ActionPlan::default()
    }
}

pub(crate) fn add(what: &str, comment: Option<&str>) -> Change {
    Change { sign: Sign::Add, what: what.into(), comment: comment.map(str::to_owned), line: 1 }
}

pub(crate) fn remove(what: &str, comment: Option<&str>) -> Change {
    Change { sign: Sign::Remove, ..add(what, comment) }
}

pub(crate) fn create(path: &str, content: &str) -> Action {
    action(ActionKind::Create { path: path.into(), content: content.into(), overwrite: false })
}

pub(crate) fn edit(path: &str, pairs: &[(&str, &str)]) -> Action {
    let edit = |(find, replace): &(&str, &str)| Replacement {
        find: (*find).into(),
        replace: (*replace).into(),
        line: 40,
    };
    action(ActionKind::Edit { path: path.into(), edits: pairs.iter().map(edit).collect() })
}

pub(crate) fn execute(command: &str) -> Action {
    action(ActionKind::Execute {
        command: command.into(),
        shell: rapport_core::Shell::Sh,
        cwd: None,
        env: BTreeMap::new(),
        expected: None,
        allow_failure: false,
        timeout: None,
    })
}

pub(crate) fn action(kind: ActionKind) -> Action {
    Action { kind, description: None, line: 1, remark: None }
}
