//! The checklist: how it looks at any size, and what its keys do.

use rapport::channels::terminal::Size;
use rapport::channels::terminal::review::appearance::{Appearance, Signs};
use rapport::channels::terminal::review::checklist::{Checklist, ChecklistCommand, Node};
use rapport::channels::terminal::review::{Group, Pick, Selection};
use rapport::channels::terminal::style::{ColourChoice, Theme};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use super::{checklist, key, plans, press, screen};

fn shown(list: &Checklist, columns: usize, rows: usize) -> String {
    screen(columns, rows, |frame| list.draw(frame))
}

/// FILE-33, FILE-41: the drawing of the document.
#[test]
fn file_33_the_tree_is_as_drawn() {
    let list = checklist(&plans::bootstrap(), 80, 24);
    insta::assert_snapshot!("bootstrap-80x24", shown(&list, 80, 24));
}

#[test]
fn file_33_layouts() {
    let plan = plans::every_kind();
    for (columns, rows) in [(120, 40), (80, 24), (40, 10)] {
        let mut list = checklist(&plan, columns, rows);
        // The CREATE is unchecked: what builds on it says so.
        press(&mut list, "down down down down down down space down");
        insta::assert_snapshot!(format!("every-kind-{columns}x{rows}"), shown(&list, columns, rows));
    }
}

#[test]
fn file_33_five_hundred_actions_scrolled() {
    let mut list = checklist(&plans::long(500), 80, 24);
    press(&mut list, "end pageup pageup up space");
    insta::assert_snapshot!("long-80x24", shown(&list, 80, 24));
    press(&mut list, "end");
    assert!(shown(&list, 80, 24).contains("└─[✅] EDIT:"), "{}", shown(&list, 80, 24));
    press(&mut list, "home");
    assert!(shown(&list, 80, 24).contains("❯ [✅] Active Context"));
    assert!(shown(&list, 80, 24).contains("more below"));
}

#[test]
fn ascii_where_there_is_nothing_else() {
    let look = Appearance { theme: Theme::Mono, signs: Signs::Ascii };
    let mut list = Checklist::new(&plans::bootstrap(), look, Size { columns: 60, rows: 24 });
    press(&mut list, "down space");
    let text = shown(&list, 60, 24);
    insta::assert_snapshot!("ascii-60x24", text);
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn the_locale_and_the_console_decide_about_signs() {
    let signs = |variables: &[(&str, &str)]| {
        let env = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Appearance::choose(ColourChoice::Auto, env).signs
    };
    assert_eq!(signs(&[("LANG", "en_US.UTF-8")]), Signs::Unicode);
    assert_eq!(signs(&[("LANG", "C.utf8"), ("TERM", "xterm")]), Signs::Unicode);
    assert_eq!(signs(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")]), Signs::Ascii);
    assert_eq!(signs(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "")]), Signs::Unicode);
    assert_eq!(signs(&[("LANG", "en_US.UTF-8"), ("TERM", "linux")]), Signs::Ascii);
    assert_eq!(signs(&[]), Signs::Ascii);
}

#[test]
fn no_colour_without_colours_but_a_row_to_be_seen() {
    for (theme, has_colour) in [(Theme::Mono, false), (Theme::Colour, true)] {
        let look = Appearance { theme, signs: Signs::Unicode };
        let list = Checklist::new(&plans::bootstrap(), look, Size { columns: 80, rows: 24 });
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| list.draw(frame)).unwrap();
        let cells = &terminal.backend().buffer().content;
        assert_eq!(cells.iter().any(|cell| cell.fg != Color::Reset), has_colour);
        let reversed: Vec<_> =
            cells.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED)).collect();
        assert!(!reversed.is_empty());
        let is_plain = |cell: &&Cell| cell.fg == Color::Reset && !cell.modifier.contains(Modifier::DIM);
        assert!(reversed.iter().all(is_plain), "the row is one bar, and not a patchwork of colours");
    }
}

#[test]
fn hostile_text_stays_in_its_row() {
    for (columns, rows) in [(80, 24), (40, 10), (10, 4), (3, 2), (1, 1)] {
        let mut list = checklist(&plans::hostile(), columns, rows);
        press(&mut list, "down down");
        let text = shown(&list, columns, rows);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert!(!text.contains(['\u{202e}', '\u{200b}']), "{text:?}");
    }
    insta::assert_snapshot!("hostile-80x24", shown(&checklist(&plans::hostile(), 80, 24), 80, 24));
}

/// FILE-33, FILE-34: an item, a group, everything.
#[test]
fn file_34_space_toggles_items_and_groups_and_a_everything() {
    let mut list = checklist(&plans::bootstrap(), 80, 24);
    let marks = |list: &Checklist| {
        let Selection { context, memos, actions, .. } = list.selection();
        let marks = |picks: Vec<Pick>| -> String {
            picks.iter().map(|pick| if pick.is_taken() { 'x' } else { '.' }).collect()
        };
        format!("{} {} {}", marks(context), marks(memos), marks(actions))
    };
    assert_eq!(marks(&list), "xx x xxx");
    press(&mut list, "down space");
    assert_eq!(marks(&list), ".x x xxx");
    assert!(shown(&list, 80, 24).contains("[–]  Active Context"), "{}", shown(&list, 80, 24));
    press(&mut list, "up space");
    assert_eq!(marks(&list), "xx x xxx", "a group of which some are checked is checked as a whole first");
    press(&mut list, "space");
    assert_eq!(marks(&list), ".. x xxx");
    press(&mut list, "a");
    assert_eq!(marks(&list), "xx x xxx", "all unless all are");
    press(&mut list, "a");
    assert_eq!(marks(&list), ".. . ...");
    assert_eq!(press(&mut list, "enter"), ChecklistCommand::Nothing);
    assert!(shown(&list, 80, 24).contains("Nothing is checked."));
    press(&mut list, "end space");
    assert_eq!(press(&mut list, "enter"), ChecklistCommand::Run);
    assert_eq!(marks(&list), ".. . ..x");
}

#[test]
fn file_34_what_is_left_out_says_why() {
    let mut list = checklist(&plans::bootstrap(), 80, 24);
    press(&mut list, "end up up space");
    let selection = list.selection();
    assert_eq!(selection.actions[0], Pick::Left { reason: "left out when the plan was reviewed".into() });
    assert!(selection.actions[1..].iter().all(Pick::is_taken));
    let notes: Vec<_> =
        selection.notes.iter().map(|note| (note.group, note.item, note.text.as_str())).collect();
    assert_eq!(
        notes,
        [
            (Group::Context, 0, "its CREATE is not checked"),
            (Group::Actions, 2, "runs without CREATE src/components/new_component/core.py"),
        ]
    );
    let all = Selection::all(&plans::bootstrap());
    assert!(selection != all && all.actions.iter().chain(&all.context).all(Pick::is_taken));
}

/// FILE-34: a comment leaves its item out, and is the reason that the report gives.
#[test]
fn file_34_a_comment_says_why_an_item_is_left_out() {
    let mut list = checklist(&plans::bootstrap(), 80, 24);
    press(&mut list, "c");
    assert!(shown(&list, 80, 24).contains("Move to an item first"), "{}", shown(&list, 80, 24));
    press(&mut list, "end c n o w x backspace");
    assert!(shown(&list, 80, 24).contains("Leave it out because › now_"), "{}", shown(&list, 80, 24));
    list.paste(" or\nnever");
    assert_eq!(press(&mut list, "enter"), ChecklistCommand::Nothing);
    let why = "left out when the plan was reviewed: nowor never";
    assert_eq!(list.selection().actions[2], Pick::Left { reason: why.into() });
    assert!(shown(&list, 80, 24).contains("· nowor never"), "{}", shown(&list, 80, 24));
    // A dropped comment changes nothing, an empty comment does not count, and an item that is checked again needs no
    // reason.
    press(&mut list, "c q esc");
    assert_eq!(list.selection().actions[2], Pick::Left { reason: why.into() });
    press(&mut list, "space");
    assert!(list.selection().actions[2].is_taken());
    assert!(!shown(&list, 80, 24).contains("nowor"), "{}", shown(&list, 80, 24));
    assert_eq!(press(&mut list, "q"), ChecklistCommand::Back, "letters are keys again");
}

#[test]
fn file_33_keys() {
    let mut list = checklist(&plans::bootstrap(), 80, 24);
    for (keys, expected) in [
        ("q", ChecklistCommand::Back),
        ("esc", ChecklistCommand::Back),
        ("ctrl-c", ChecklistCommand::Quit),
        ("p", ChecklistCommand::Preview(Node { group: Group::Context, item: None })),
        ("j j k p", ChecklistCommand::Preview(Node { group: Group::Context, item: Some(0) })),
        ("end p", ChecklistCommand::Preview(Node { group: Group::Actions, item: Some(2) })),
        ("pageup pageup p", ChecklistCommand::Preview(Node { group: Group::Context, item: None })),
        ("x", ChecklistCommand::Nothing),
    ] {
        assert_eq!(press(&mut list, keys), expected, "{keys}");
    }
    assert!(shown(&list, 80, 24).contains("That key does nothing here"));
    list.key(key("?"));
    assert!(shown(&list, 80, 24).contains("Home/End go far"));
    assert!(shown(&list, 40, 10).contains("Reviewing"), "help leaves room for the rest");
}

#[test]
fn an_empty_plan_can_be_looked_at() {
    let mut list = checklist(&rapport_core::ActionPlan::default(), 80, 24);
    assert_eq!(press(&mut list, "down space a p enter"), ChecklistCommand::Nothing);
    press(&mut list, "down");
    assert!(shown(&list, 80, 24).contains("There is nothing to do in this plan."));
}
