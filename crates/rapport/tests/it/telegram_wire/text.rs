//! Words as messages: what Markdown becomes, and that Telegram counts as we do.

use rapport::channels::telegram::bot_api::MessageEntity;
use rapport::channels::telegram::markdown;
use rapport::channels::telegram::text::{MESSAGE, Style, Text, units};

/// A text as a reader sees it: each entity as `type(words)`, after the words.
pub(super) fn shown(text: &Text) -> (String, Vec<String>) {
    let (words, entities) = text.finish();
    let wide: Vec<u16> = words.encode_utf16().collect();
    let show = |entity: &MessageEntity| {
        let (from, to) = (usize::from(entity.offset), usize::from(entity.offset + entity.length));
        let kind = serde_json::to_value(entity.type_field).unwrap();
        let more =
            entity.url.clone().or(entity.language.clone()).map(|more| format!(" {more}")).unwrap_or_default();
        format!("{}{more}({})", kind.as_str().unwrap(), String::from_utf16(&wide[from..to]).unwrap())
    };
    let entities = entities.iter().map(show).collect();
    (words, entities)
}

#[track_caller]
fn check(markdown: &str, words: &str, entities: &[&str]) {
    let (said, looks) = shown(&markdown::text(markdown));
    assert_eq!((said.as_str(), looks), (words, entities.iter().map(|e| (*e).to_owned()).collect()));
}

#[test]
fn offsets_are_utf16_units() {
    let text = Text::new()
        .plain("👩‍👩‍👧 ünï ")
        .bold("fett 🎉")
        .plain(" ")
        .code("x<y>&*_")
        .link("da", "https://a.b/?c=[d](e)");
    let (_, looks) = shown(&text);
    assert_eq!(looks, ["bold(fett 🎉)", "code(x<y>&*_)", "text_link https://a.b/?c=[d](e)(da)"]);
    assert_eq!(units("👩‍👩‍👧"), 8);
}

#[test]
fn the_builder_nests() {
    let inner = Text::new().plain("a ").italic("b").plain(" c");
    let text = Text::new().within(Style::Folded, &inner).plain("\n").within(Style::Quote, &inner);
    let (_, looks) = shown(&text);
    assert_eq!(looks, ["expandable_blockquote(a b c)", "italic(b)", "blockquote(a b c)", "italic(b)"]);
    let (_, looks) = shown(&Text::new().pre(Some("rust"), "fn x() {}").plain(""));
    assert_eq!(looks, ["pre rust(fn x() {})"]);
}

#[test]
fn markdown_becomes_what_telegram_can_show() {
    check("# Head *x*\n\ntext", "Head x\n\ntext", &["bold(Head x)", "italic(x)"]);
    check("**b** _i_ ~~s~~ `c`", "b i s c", &["bold(b)", "italic(i)", "strikethrough(s)", "code(c)"]);
    check("***both***", "both", &["bold(both)", "italic(both)"]);
    check("one\ntwo\n\nthree", "one\ntwo\n\nthree", &[]);
    check(
        "```rust\nfn a() {}\n\n  b\n```\nafter",
        "fn a() {}\n\n  b\n\nafter",
        &["pre rust(fn a() {}\n\n  b)"],
    );
    check("    indented\n", "indented", &["pre(indented)"]);
    check("- a\n- b\n  - c\n  - d\n- e\n\nend", "• a\n• b\n  • c\n  • d\n• e\n\nend", &[]);
    check("3. a\n4. b\n\n   more\n", "3. a\n4. b\n  more", &[]);
    check("- [x] done\n- [ ] open", "• ☑ done\n• ☐ open", &[]);
    check("[here](https://a.b) [file](src/x.rs)", "here file", &["text_link https://a.b(here)"]);
    check("![pic](https://a.b/c.png)", "pic", &["text_link https://a.b/c.png(pic)"]);
    check(
        "> quoted *x*\n> more\n\nafter",
        "quoted x\nmore\n\nafter",
        &["blockquote(quoted x\nmore)", "italic(x)"],
    );
    check("a\n\n---\n\nb", "a\n\n━━━━━━━━━━\n\nb", &[]);
    check("<b>not</b> & <i>markup</i>", "<b>not</b> & <i>markup</i>", &[]);
    check(
        "| a | long |\n|---|---|\n| 日本 | `c` |\n",
        "a    │ long\n─────┼─────\n日本 │ c",
        &["pre(a    │ long\n─────┼─────\n日本 │ c)"],
    );
    check("", "", &[]);
}

/// Telegram: code contains nothing and is in nothing but quotations; quotations are not nested.
#[test]
fn entities_follow_telegrams_rules() {
    check("**a `b` c**", "a b c", &["bold(a )", "code(b)", "bold( c)"]);
    check("**`b`**", "b", &["code(b)"]);
    check("[`b`](https://a.b)", "b", &["text_link https://a.b(b)"]);
    check("> a\n>> b", "a\n\nb", &["blockquote(a\n\nb)"]);
    check("> `b`", "b", &["blockquote(b)", "code(b)"]);
    check("# **a**", "a", &["bold(a)"]);
    let many = "**a** b ".repeat(300);
    let (_, entities) = markdown::text(&many).finish();
    assert_eq!(entities.len(), 100);
}

#[test]
fn trimming_cuts_between_characters_people_see() {
    let family = "👩‍👩‍👧";
    let cases = [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("hello world", 7, "hello…"),
        ("🎉🎉", 3, "🎉…"),
        ("🎉🎉", 2, "…"),
        ("e\u{301}e\u{301}e\u{301}", 4, "e\u{301}…"),
        ("x", 0, ""),
    ];
    for (given, most, expected) in cases {
        assert_eq!(Text::new().plain(given).trimmed(most).words(), expected, "{given:?} {most}");
    }
    let text = Text::new().bold(&format!("ab{family}{family}")).trimmed(12);
    assert_eq!(shown(&text), (format!("ab{family}…"), vec![format!("bold(ab{family})")]));
    let long = Text::new().plain(&"x".repeat(100_000)).bold("end");
    let (words, entities) = long.finish();
    assert_eq!((units(&words), entities.len()), (MESSAGE, 0));
}
