//! The look of each card at two widths, and which parts of it stand out.

use rapport_core::{
    Activity, AgentDid, Ask, ChangeStatus, Changes, Field, FieldKind, FileChange, Leave, NewQuestion,
    Permission, Progress, ToolUse, World,
};

use super::Sitting;
use crate::support::stage::{self, usage};

/// Looks at a card at 80 and at 120 columns, and at its tones.
fn look(name: &str, make: impl Fn(usize) -> Sitting) {
    for columns in [80, 120] {
        insta::assert_snapshot!(format!("{name}-{columns}"), make(columns).frame());
    }
    insta::assert_snapshot!(format!("{name}-tones"), make(80).tones());
}

#[test]
fn one_choice() {
    look("one-choice", |columns| Sitting::asked(columns, 40, vec![stage::auth(), stage::language()]));
}

#[test]
fn several_choices() {
    look("several-choices", |columns| {
        let mut sitting = Sitting::asked(columns, 40, vec![stage::language(), stage::tests()]);
        sitting.press("1 space down down space");
        sitting
    });
}

#[test]
fn own_words() {
    look("own-words", |columns| {
        let mut sitting = Sitting::asked(columns, 40, vec![stage::auth()]);
        sitting.press("o");
        sitting.type_in("Basic auth for now, 日本語 later");
        sitting.press("alt-enter");
        sitting.type_in("and no cookies");
        sitting
    });
}

#[test]
fn only_words() {
    look("only-words", |columns| {
        Sitting::asked(columns, 40, vec![stage::draft("", "What should the service be called?", &[])])
    });
}

#[test]
fn long_meanings_go_below_their_options() {
    let meaning = "Every request carries a signed token, which is verified without asking the database, and cannot \
                   be taken back before it expires";
    let draft = stage::draft("Auth", "Which one?", &[("JWT", meaning), ("Cookies", "Short")]);
    look("long-meanings", |columns| Sitting::asked(columns, 40, vec![draft.clone()]));
}

#[test]
fn permission() {
    look("permission", |columns| {
        let mut sitting = Sitting::new(columns, 40);
        let what = "cargo test --workspace --all-features -- --include-ignored auth::login auth::refresh\nrm -rf /tmp/x";
        sitting.act(|stage| stage.ask(Ask::Permission(Permission::new("Bash", what))));
        sitting.pass(1000);
        sitting
    });
    let mut sitting = Sitting::new(80, 40);
    let what =
        "cargo test --workspace --all-features -- --include-ignored auth::login auth::refresh\nrm -rf /tmp/x";
    sitting.act(|stage| stage.ask(Ask::Permission(Permission::new("Bash", what))));
    insta::assert_snapshot!("permission-history", sitting.history());
}

/// What an MCP server wants filled in: each field is a card, with the ways out of the whole form.
#[test]
fn elicitation() {
    let field =
        |key: &str, kind| Some(Box::new(Field { server: "desk".into(), key: Some(key.into()), kind }));
    let with_ways_out = |draft: NewQuestion, required| NewQuestion {
        options: [draft.options.clone(), Field::ways_out(required)].concat(),
        ..draft
    };
    let text = FieldKind::Text { shortest: Some(2), longest: None, format: None };
    let asked = "desk asks: Where should it go?";
    let name = NewQuestion {
        field: field("name", text),
        ..stage::draft("", &format!("{asked}\nName: Whose it is (at least 2 characters)"), &[])
    };
    let colour = NewQuestion {
        field: field("colour", FieldKind::One),
        free_text: false,
        ..stage::draft("", &format!("{asked}\ncolour"), &[("Red", ""), ("Green", "")])
    };
    let form = vec![with_ways_out(name, true), with_ways_out(colour, false)];
    look("elicitation-words", |columns| Sitting::asked(columns, 40, form.clone()));
    look("elicitation-options", |columns| {
        let mut sitting = Sitting::asked(columns, 40, form.clone());
        sitting.press("o");
        sitting.type_in("Ada");
        sitting.press("enter");
        sitting
    });
}

#[test]
fn confirmation() {
    look("confirmation", |columns| Sitting::planned(columns, 40));
    insta::assert_snapshot!("summary", Sitting::planned(80, 40).history());
}

#[test]
fn choosing_the_answer_to_change() {
    look("pick-answer", |columns| {
        let mut sitting = Sitting::planned(columns, 40);
        sitting.press("e down");
        sitting
    });
}

#[test]
fn a_long_plan_is_cut() {
    let mut sitting = Sitting::new(80, 40);
    let steps = (1..=60).map(|n| format!("{n}. step")).collect::<Vec<_>>().join("\n");
    sitting.act(|stage| stage.finish(&format!("# Long\n\n{steps}")));
    sitting.act(stage::Stage::save_plan);
    let history = sitting.history();
    assert!(history.contains("18. step\n… 42 more lines\n\nSaved to: .claude/todos/"), "{history}");
    assert!(history.contains("No questions were asked."), "{history}");
}

#[test]
fn cancelling_asks_first() {
    look("cancel", |columns| {
        let mut sitting = Sitting::asked(columns, 40, vec![stage::language()]);
        sitting.press("q");
        sitting
    });
}

#[test]
fn help() {
    look("help", |columns| {
        let mut sitting = Sitting::asked(columns, 40, vec![stage::language()]);
        sitting.press("?");
        sitting
    });
}

#[test]
fn progress() {
    look("progress", |columns| {
        let mut sitting = Sitting::new(columns, 40);
        let doing =
            "Write src/a/very/deeply/nested/module/with/a/long/name/that/does/not/fit/on/a/row/jwt.rs";
        sitting.progress(Progress {
            doing: Some(Activity::words(doing)),
            usage: usage(5_200, 1_234_567, 30_000),
        });
        sitting.pass(72_000);
        sitting
    });
}

#[test]
fn the_question_before_is_kept_in_sight() {
    look("answered-before", |columns| {
        let mut sitting = Sitting::asked(columns, 40, vec![stage::tests(), stage::language()]);
        sitting.press("1 3 enter b");
        sitting
    });
}

#[test]
fn done() {
    let mut sitting = Sitting::planned(80, 40);
    sitting.press("c");
    sitting.act(stage::Stage::connect);
    sitting.act(|stage| stage.agent(AgentDid::Say { text: "One.\nTwo.\n\nThree.\nFour.\nFive.".into() }));
    sitting.act(|stage| {
        stage.agent(AgentDid::Use { tool: "Write".into(), what: "src/auth.rs".into(), kind: ToolUse::Writes })
    });
    sitting.act(|stage| stage.agent(AgentDid::Say { text: "All done.".into() }));
    sitting.act(|stage| stage.agent(AgentDid::Spend { usage: usage(52_000, 900, 310_000) }));
    sitting.act(|stage| stage.finish("All done."));
    let file = |status, path: &str, added, removed| FileChange {
        path: path.into(),
        status,
        added: Some(added),
        removed: Some(removed),
    };
    let files = vec![
        file(ChangeStatus::Added, "src/auth.rs", 120, 0),
        file(ChangeStatus::Modified, "src/main.rs", 12, 3),
        file(ChangeStatus::Deleted, "a.rs", 0, 40),
    ];
    sitting.history.clear();
    sitting
        .act(|stage| stage.world(World::Report { changes: Some(Changes { files, ..Changes::default() }) }));
    insta::assert_snapshot!("done", sitting.history());
    assert_eq!(sitting.frame(), "");
}

#[test]
fn failed() {
    let mut sitting = Sitting::new(80, 40);
    sitting.act(|stage| {
        stage.agent(AgentDid::Leave(Leave::Failed { reason: "the agent could not log in".into() }))
    });
    insta::assert_snapshot!("failed", sitting.history());
}

#[test]
fn words_without_a_header_name_the_question_by_its_text() {
    let draft = NewQuestion { header: None, ..stage::language() };
    let mut sitting = Sitting::asked(80, 40, vec![draft]);
    sitting.press("1");
    assert_eq!(sitting.last(), "✓ In which language are the messages? → English");
}

/// What options would look like is beside them where there is room, else below, and always with `p`.
#[test]
fn previews() {
    let mut draft = stage::draft("Layout", "Which layout?", &[("Sidebar", ""), ("Top bar", "")]);
    draft.options[0].preview = Some("+---+-----+\n| S | main|\n+---+-----+".into());
    draft.options[1].preview = Some((1..=12).map(|n| format!("row {n}\n")).collect());
    look("previews", |columns| Sitting::asked(columns, 40, vec![draft.clone()]));
    let mut sitting = Sitting::asked(80, 40, vec![draft]);
    sitting.press("down");
    insta::assert_snapshot!("previews-below", sitting.frame());
    sitting.press("p");
    insta::assert_snapshot!("previews-whole", sitting.frame());
}
