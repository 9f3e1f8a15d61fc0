//! The content of previews, per kind of item, and paging through them.

use std::sync::Arc;

use rapport::channels::terminal::Size;
use rapport::channels::terminal::review::checklist::Node;
use rapport::channels::terminal::review::pager::{Pager, Turned};
use rapport::channels::terminal::review::preview;
use rapport::channels::terminal::review::{Fetch, Group, Preview, Previewer};
use rapport::channels::terminal::text::Line;
use rapport_core::{ActionPlan, Resource};

use super::plans::{self, add, create, edit};
use super::{LOOK, checklist, key, press, screen};

fn previewer() -> Previewer {
    let fetch: Fetch = Arc::new(|resource| {
        let found = match &resource {
            Resource::File(path) if path == "src/lib.rs" => Ok("mod greet;\n".repeat(50)),
            Resource::File(path) if path == "pyproject.toml" => {
                Ok("[project]\nname = \"demo\"\nversion = \"0.1\"\n".to_owned())
            }
            Resource::Url(url) => Ok(format!("The page at {url}\u{1b}[31m")),
            Resource::File(path) => Err(format!("no such file: {path}")),
        };
        Box::pin(std::future::ready(found))
    });
    Previewer { command: None, fetch }
}

fn preview(plan: &ActionPlan, group: Group, item: usize, keys: &str) -> Preview {
    let mut list = checklist(plan, 80, 24);
    if !keys.is_empty() {
        press(&mut list, keys);
    }
    let node = Node { group, item: Some(item) };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(preview::preview(plan, list.checks(), node, &previewer()))
}

fn page(preview: &Preview) -> String {
    let lines: Vec<String> = preview.lines.iter().map(Line::text).collect();
    let ending = preview.file_name.rsplit_once('.').map_or("", |(_, ending)| ending);
    format!("{} (.{ending})\n\n{}", preview.title, lines.join("\n"))
}

/// FILE-35: every kind.
#[test]
fn file_35_every_action_shows_all_of_it() {
    let plan = plans::every_kind();
    let pages = (0..plan.actions.len()).map(|item| page(&preview(&plan, Group::Actions, item, "")));
    insta::assert_snapshot!("previews", pages.collect::<Vec<_>>().join("\n\n----\n\n"));
}

#[test]
fn file_35_context_and_memos_show_their_line_and_the_head_of_the_file() {
    let plan = plans::every_kind();
    let shown = preview(&plan, Group::Context, 0, "");
    assert!(shown.text.starts_with("[+] ADD: src/lib.rs\n\nmod greet;\n"), "{}", shown.text);
    assert!(shown.text.ends_with("… 10 more lines"), "{}", shown.text);
    let shown = preview(&plan, Group::Context, 1, "");
    assert_eq!(
        shown.text,
        "[-] REMOVE: src/old.rs # gone\n\nIt cannot be read now: no such file: src/old.rs"
    );
    assert_eq!(preview(&plan, Group::Memos, 0, "").text, "[-] REMOVE: Use yarn.");
}

/// FILE-35: agents add to the context what they create; it is shown as it will be, as long as its CREATE is checked.
#[test]
fn file_35_a_file_that_the_plan_makes_is_shown_as_it_will_be() {
    let plan = ActionPlan {
        context: Some(vec![add("new.rs", None)]),
        actions: vec![create("new.rs", "fn old() {}\n"), edit("new.rs", &[("old", "new")])],
        ..ActionPlan::default()
    };
    assert_eq!(preview(&plan, Group::Context, 0, "").text, "[+] ADD: new.rs\n\nfn new() {}");
    let shown = preview(&plan, Group::Context, 0, "down down space").text;
    assert_eq!(shown, "[+] ADD: new.rs\n\nIt cannot be read now: no such file: new.rs");
}

/// FILE-35: the diff is of the file as it will be, and programs get one they can read.
#[test]
fn file_35_an_edit_is_a_unified_diff() {
    let shown = preview(&plans::bootstrap(), Group::Actions, 1, "");
    assert_eq!(shown.file_name, "pyproject-toml.diff");
    let expected = "--- a/pyproject.toml\n+++ b/pyproject.toml\n@@ -1,3 +1,3 @@\n [project]\n name = \"demo\"\n\
                    -version = \"0.1\"\n+version = \"0.2\"\n";
    assert_eq!(shown.text, expected);
}

#[test]
fn an_edit_shows_what_it_does_without_what_is_unchecked() {
    let plan = plans::every_kind();
    // Down to the first EDIT, which is unchecked; the second looks for its text.
    let shown = preview(&plan, Group::Actions, 2, "down down down down down down down space");
    assert!(page(&shown).contains("cannot be computed: edit 1 (plan.md:40): FIND does not occur"));
    assert!(page(&shown).contains("+ println!(\"hello, you\");"), "{}", page(&shown));
}

#[test]
fn names_of_files_cannot_leave_their_folder() {
    let plan = ActionPlan {
        context: Some(vec![add("../../etc/passwd", None)]),
        actions: vec![create("../../x.r/s", "x"), create("/etc/..", "x"), create("a/main.rs", "x")],
        ..ActionPlan::default()
    };
    let name = |group, item| preview(&plan, group, item, "").file_name;
    assert_eq!(name(Group::Context, 0), "passwd.txt");
    assert_eq!(name(Group::Actions, 0), "s.txt");
    assert_eq!(name(Group::Actions, 1), "untitled.txt");
    assert_eq!(name(Group::Actions, 2), "main.rs");
}

#[test]
fn hostile_text_is_harmless_in_the_pager() {
    let plan = plans::hostile();
    for (group, items) in [(Group::Context, 1), (Group::Memos, 1), (Group::Actions, 3)] {
        for item in 0..items {
            let size = Size { columns: 30, rows: 8 };
            let pager = Pager::new(preview(&plan, group, item, ""), None, LOOK, size);
            let text = screen(30, 8, |frame| pager.draw(frame));
            assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
        }
    }
}

#[test]
fn the_pager_scrolls_wraps_and_goes_back() {
    let content: String = (1..=30).map(|line| format!("line {line} of a file that is wide\n")).collect();
    let plan = ActionPlan { actions: vec![create("a.txt", &content)], ..ActionPlan::default() };
    let size = Size { columns: 60, rows: 8 };
    let mut pager = Pager::new(preview(&plan, Group::Actions, 0, ""), None, LOOK, size);
    let shown = |pager: &Pager, size: Size| screen(size.columns, size.rows, |frame| pager.draw(frame));
    insta::assert_snapshot!("pager-60x8", shown(&pager, size));
    for (keys, first) in
        [("down", 2), ("space", 7), ("G", 25), ("down", 25), ("pageup", 20), ("up", 19), ("home", 1)]
    {
        assert_eq!(pager.key(key(keys)), Turned::Stay);
        let text = shown(&pager, size);
        assert!(
            text.lines().nth(1).is_some_and(|row| row.contains(&format!(" {first}  line"))),
            "{keys}: {text}"
        );
    }
    let narrow = Size { columns: 20, rows: 8 };
    pager.resize(narrow);
    assert!(
        shown(&pager, narrow).contains("  1  line 1 of a\n     file that is"),
        "{}",
        shown(&pager, narrow)
    );
    assert_eq!(pager.key(key("q")), Turned::Back);
    assert_eq!(pager.key(key("esc")), Turned::Back);
    assert_eq!(pager.key(key("ctrl-c")), Turned::Quit);
}
