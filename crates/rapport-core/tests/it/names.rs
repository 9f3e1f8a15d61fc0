//! Parts of paths (CHAT-40), whatever they are made from.

use proptest::prelude::*;
use rapport_core::slug;

#[test]
fn chat_40_a_name_becomes_a_part_of_a_path() {
    let cases = [
        // what people write
        ("Dark mode", "dark-mode"),
        ("Add dark mode to the app", "add-dark-mode-to-the-app"),
        ("JWT auth (v2), now!", "jwt-auth-v2-now"),
        ("Straße über Café", "strasse-uber-cafe"),
        ("添加登录", "tian-jia-deng-lu"),
        ("🚀", "rocket"),
        ("snake_case and CamelCase", "snake-case-and-camelcase"),
        // what leads elsewhere
        ("../../x", "x"),
        ("/etc/passwd", "etc-passwd"),
        ("C:\\Windows\\System32", "c-windows-system32"),
        ("a/b\0c\nd", "a-b-c-d"),
        ("~/.ssh", "ssh"),
        ("-rf --force", "rf-force"),
        // what is nothing
        ("", "untitled"),
        (".", "untitled"),
        ("..", "untitled"),
        ("---", "untitled"),
        (" \t\n", "untitled"),
        ("\u{200b}\u{202e}", "untitled"),
        // what some file systems take for a device
        ("con", "con-1"),
        ("NUL", "nul-1"),
        ("com1", "com1-1"),
        ("lpt9", "lpt9-1"),
        ("console", "console"),
        ("con.txt", "con-txt"),
    ];
    for (name, expected) in cases {
        assert_eq!(slug::part(name), expected, "from {name:?}");
    }
}

#[test]
fn chat_40_a_long_name_is_cut_between_words_where_it_can_be() {
    let cases = [
        ("a".repeat(300), "a".repeat(60)),
        ("a".repeat(60), "a".repeat(60)),
        ("word ".repeat(60), ["word"; 12].join("-")),
        (format!("{} {}", "a".repeat(20), "b".repeat(300)), format!("{}-{}", "a".repeat(20), "b".repeat(39))),
        (format!("{} {}", "a".repeat(59), "b".repeat(9)), "a".repeat(59)),
        (format!("{} {}", "a".repeat(60), "b".repeat(9)), "a".repeat(60)),
        ("x".repeat(1024 * 1024), "x".repeat(60)),
        ("/".repeat(1024 * 1024), "untitled".to_owned()),
    ];
    for (name, expected) in cases {
        assert_eq!(slug::part(&name), expected, "from {} characters", name.len());
    }
}

proptest! {
    #[test]
    fn chat_40_a_part_is_safe_whatever_it_was(name in prop_oneof![any::<String>(), "[a-zA-Z0-9 ./\\\\-]{0,200}"]) {
        let part = slug::part(&name);
        prop_assert!(!part.is_empty() && part.len() <= 60, "{} is {} long", part, part.len());
        for word in part.split('-') {
            prop_assert!(!word.is_empty(), "{} has an empty word", part);
            prop_assert!(word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{}", part);
        }
        prop_assert_eq!(slug::part(&part), part.clone(), "a part is its own part");
    }
}
