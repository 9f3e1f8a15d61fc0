//! Long texts as several messages: nothing lost, nothing too long, code kept whole.

use proptest::prelude::*;
use rapport::channels::telegram::markdown;
use rapport::channels::telegram::split::{Reply, reply, split};
use rapport::channels::telegram::text::{CAPTION, MESSAGE, Text, units};

use super::text::shown;

fn words(text: &Text, most: usize) -> Vec<String> {
    split(text, most).iter().map(|part| part.words().to_owned()).collect()
}

#[track_caller]
fn check(markdown: &str, most: usize, expected: &[&str]) {
    assert_eq!(words(&markdown::text(markdown), most), expected);
}

#[test]
fn cuts_are_where_a_reader_would_make_them() {
    check("one two\n\nthree four\nfive", 20, &["one two", "three four\nfive"]);
    check("aaaa bbbb\ncccc dddd", 15, &["aaaa bbbb", "cccc dddd"]);
    check("aaaa bbbb cccc dddd", 15, &["aaaa bbbb cccc", "dddd"]);
    check("aaaabbbbccccdddd", 6, &["aaaabb", "bbcccc", "dddd"]);
    check(
        "a a a a\n\nb b b\n\n# Head\n\nc c c\n\nd d d d d",
        30,
        &["a a a a\n\nb b b", "Head\n\nc c c\n\nd d d d d"],
    );
    // Never between a heading and what it is about.
    check("aaaa aaaa aaaa\n\n# Head\n\nbbbb bbbb", 24, &["aaaa aaaa aaaa", "Head\n\nbbbb bbbb"]);
    check("", 10, &[]);
    check(" \n\n ", 10, &[]);
    check("short", 10, &["short"]);
}

#[test]
fn a_block_of_code_stays_whole_where_it_fits() {
    let text = markdown::text("before before\n\n```sh\nline one\n\nline two\n```\n\nafter");
    assert_eq!(words(&text, 30), ["before before", "line one\n\nline two\n\nafter"]);
    let parts = split(&text, 30);
    assert_eq!(shown(&parts[1]).1, ["pre sh(line one\n\nline two)"]);
}

#[test]
fn a_longer_block_is_closed_and_opened_again_with_its_language() {
    let code: Vec<String> = (0..6).map(|n| format!("    line {n}")).collect();
    let text = markdown::text(&format!("```rust\n{}\n```", code.join("\n")));
    let parts: Vec<_> = split(&text, 25).iter().map(shown).collect();
    assert_eq!(parts.len(), 3);
    for (n, (words, looks)) in parts.iter().enumerate() {
        assert_eq!(*words, format!("    line {}\n    line {}", 2 * n, 2 * n + 1));
        assert_eq!(*looks, [format!("pre rust({words})")]);
    }
}

#[test]
fn entities_are_cut_along() {
    let text = Text::new().plain("aaa ").bold("bbb ccc").plain(" ddd");
    let parts: Vec<_> = split(&text, 8).iter().map(shown).collect();
    assert_eq!(
        parts,
        [("aaa bbb".into(), vec!["bold(bbb)".into()]), ("ccc ddd".into(), vec!["bold(ccc)".into()])]
    );
}

#[test]
fn what_is_far_too_long_is_a_file_with_its_beginning() {
    assert_eq!(reply("hello", "plan"), Reply::Messages(vec![Text::new().plain("hello")]));
    let four = "word ".repeat(3 * 800);
    assert!(matches!(reply(&four, "plan"), Reply::Messages(parts) if (3..=4).contains(&parts.len())));
    let long = format!("# Title\n\n{}", "many words\n\n".repeat(3000));
    let Reply::File { name, content, caption } = reply(&long, "plan") else { panic!("not a file") };
    assert_eq!((name.as_str(), content == long), ("plan.md", true));
    assert!(caption.words().starts_with("Title\n\nmany words") && caption.units() <= CAPTION);
}

#[test]
fn a_hundred_thousand_characters_are_split_in_no_time_worth_mentioning() {
    let text = markdown::text(&"# H\n\nsome *words* and `code`\n\n```\nx\n```\n\n".repeat(2500));
    let parts = split(&text, MESSAGE);
    assert!(parts.len() > 10 && parts.iter().all(|part| part.units() <= MESSAGE));
}

fn markdown_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z🎉é ]{0,30}",
        1 => Just("\n".to_owned()),
        2 => Just("\n\n".to_owned()),
        1 => Just("\n\n# Head\n\n".to_owned()),
        1 => Just("**bold `c` x** ".to_owned()),
        1 => Just("> quote\n\n".to_owned()),
        1 => Just("- item\n".to_owned()),
        1 => Just("[l](https://a.b) ".to_owned()),
        1 => "\n```rust\n[a-z \n]{0,80}\n```\n",
        1 => any::<String>(),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn without_space(words: &str) -> String {
    words.chars().filter(|c| !c.is_whitespace()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn parts_are_the_text_and_within_limits(markdown in markdown_like(), most in 2_usize..120) {
        let text = markdown::text(&markdown);
        let parts = split(&text, most);
        let joined: String = parts.iter().map(Text::words).collect();
        prop_assert_eq!(without_space(&joined), without_space(text.words()));
        for part in &parts {
            prop_assert!(part.units() <= most);
            prop_assert!(!part.words().trim().is_empty());
            valid(part)?;
        }
    }

    #[test]
    fn a_block_that_fits_is_in_one_part(before in "[a-z \n]{0,60}", code in "[a-z]{1,10}(\n{1,2}[a-z]{1,5}){0,5}", after in "[a-z \n]{0,60}") {
        let text = Text::new().plain(&before).pre(Some("x"), code.trim_end()).plain("\n").plain(&after);
        let parts = split(&text, 60);
        let whole = parts.iter().flat_map(|part| part.spans().iter().map(|span| &part.words()[span.range.clone()]));
        prop_assert_eq!(whole.collect::<Vec<_>>(), [code.trim_end()]);
    }

    #[test]
    fn trimming_keeps_within_and_valid(markdown in markdown_like(), most in 0_usize..80) {
        let trimmed = markdown::text(&markdown).trimmed(most);
        prop_assert!(trimmed.units() <= most);
        valid(&trimmed)?;
    }
}

/// Entities are within the text, on characters, properly nested, and as Telegram allows.
fn valid(text: &Text) -> Result<(), TestCaseError> {
    let (words, entities) = text.finish();
    let wide: Vec<u16> = words.encode_utf16().collect();
    let ranges: Vec<_> = entities
        .iter()
        .map(|e| {
            (
                usize::from(e.offset),
                usize::from(e.offset + e.length),
                serde_json::to_string(&e.type_field).unwrap(),
            )
        })
        .collect();
    for (from, to, _) in &ranges {
        prop_assert!(from < to && *to <= units(&words));
        prop_assert!(String::from_utf16(&wide[*from..*to]).is_ok());
    }
    for (n, (a, b, kind)) in ranges.iter().enumerate() {
        for (c, d, other) in &ranges[n + 1..] {
            prop_assert!(d <= b || b <= c, "{kind} {a}..{b} and {other} {c}..{d} overlap");
            if c < b {
                prop_assert!(kind != "\"code\"" && kind != "\"pre\"", "{other} in {kind}");
                prop_assert!(
                    kind != other || kind == "\"italic\"" || kind == "\"strikethrough\"",
                    "{kind} in itself"
                );
            }
        }
    }
    Ok(())
}
