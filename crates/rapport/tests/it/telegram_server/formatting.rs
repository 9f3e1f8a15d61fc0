//! Marked text, from what was sent to what people see.

use serde_json::{Value, json};

use super::Bot;
use crate::support::telegram::{Rates, TelegramServer};

const ANN: i64 = 7001;

#[tokio::test]
async fn marks_become_entities_in_utf16_units() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let entity =
        |kind: &str, offset: u32, length: u32| json!({ "type": kind, "offset": offset, "length": length });
    let link = |offset: u32, length: u32| json!({ "type": "text_link", "offset": offset, "length": length, "url": "https://a.bc/d" });
    let code = |offset: u32, length: u32| json!({ "type": "pre", "offset": offset, "length": length, "language": "rust" });
    #[rustfmt::skip]
    let table: Vec<(&str, &str, &str, Vec<Value>)> = vec![
        ("MarkdownV2", "😀 *bold* _it_ __un__ ~no~ ||sp||", "😀 bold it un no sp", vec![entity("bold", 3, 4), entity("italic", 8, 2), entity("underline", 11, 2), entity("strikethrough", 14, 2), entity("spoiler", 17, 2)]),
        ("MarkdownV2", r"1\. a\_b \*", "1. a_b *", vec![]),
        ("MarkdownV2", "*a _b_*", "a b", vec![entity("bold", 0, 3), entity("italic", 2, 1)]),
        ("MarkdownV2", "`a.b` [there](https://a.bc/d)", "a.b there", vec![entity("code", 0, 3), link(4, 5)]),
        ("MarkdownV2", "```rust\nlet a = 1;\n```", "let a = 1;", vec![code(0, 10)]),
        ("MarkdownV2", ">one\n>two\nthree", "one\ntwo\nthree", vec![entity("blockquote", 0, 7)]),
        ("HTML", "😀 <b>bold</b> <i>it</i> &lt;x&gt; &amp; &#65;", "😀 bold it <x> & A", vec![entity("bold", 3, 4), entity("italic", 8, 2)]),
        ("HTML", "<a href=\"https://a.bc/d\">there</a> <code>x</code>", "there x", vec![link(0, 5), entity("code", 6, 1)]),
        ("HTML", "<pre><code class=\"language-rust\">let a;</code></pre>", "let a;", vec![code(0, 6)]),
        ("", "  trimmed\r\n\t ", "trimmed", vec![]),
    ];
    for (mode, sent, text, entities) in table {
        let parameters = json!({ "chat_id": ANN, "text": sent, "parse_mode": mode });
        // Being strict, the types know no empty mode.
        let parameters = if mode.is_empty() { json!({ "chat_id": ANN, "text": sent }) } else { parameters };
        let message = bot.done("sendMessage", parameters).await;
        let shown = message.get("entities").cloned().unwrap_or_else(|| json!([]));
        assert_eq!((&message["text"], &shown), (&json!(text), &json!(entities)), "{sent}");
    }
    assert_eq!(server.violations(), []);
}

#[tokio::test]
async fn entities_move_with_the_text_when_it_is_trimmed() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let entities = json!([
        { "type": "bold", "offset": 2, "length": 2 },
        { "type": "italic", "offset": 5, "length": 4 },
        { "type": "url", "offset": 0, "length": 1 },
        { "type": "code", "offset": 3, "length": 0 },
    ]);
    bot.done("sendMessage", json!({ "chat_id": ANN, "text": "\n 😀\r it  ", "entities": entities })).await;
    let message = ann.sees("it").await;
    assert_eq!(message.text(), "😀 it");
    assert_eq!(
        (message.marked("bold"), message.marked("italic")),
        (vec!["😀".to_owned()], vec![" it".to_owned()])
    );
    assert_eq!(message.now().entities.len(), 2);
}

#[tokio::test]
async fn the_longest_text_fits() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    for text in ["x".repeat(4096), "😀".repeat(2048), format!("<b>{}</b>", "x".repeat(4096))] {
        bot.done("sendMessage", json!({ "chat_id": ANN, "text": text, "parse_mode": "HTML" })).await;
    }
}
