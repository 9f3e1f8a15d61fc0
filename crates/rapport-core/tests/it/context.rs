//! What an agent is shown: the cascade of contexts, and the payload with its log (FILE-6 to FILE-8, FILE-12 to FILE-16).

use std::collections::BTreeSet;

use proptest::prelude::*;
use rapport_core::context::{
    ContextLog, Information, Level, NoContextLog, Payload, ShownSource, Unshown, cascade, estimate_tokens,
    next_turn_context, rules,
};
use rapport_core::{Change, Sign};

const FILES: [&str; 10] = [
    "README.md",
    "docs/a.md",
    "docs/b.md",
    "docs/deep/c.md",
    "src/lib.rs",
    "src/main.rs",
    "src/net/tcp.rs",
    "src/net/udp.rs",
    "tests/it.rs",
    "[odd].txt",
];

#[track_caller]
fn selected(global: &str, session: &str, turn: &str, expected: &[&str]) {
    let files = BTreeSet::from(FILES).into_iter().collect::<Vec<_>>();
    assert_eq!(cascade(global, session, turn).select(&files), expected, "{global:?} {session:?} {turn:?}");
}

#[test]
fn file_12_file_13_file_14_three_levels_select_together() {
    selected("", "", "", &[]);
    // In the order they are named, none twice.
    selected(
        "README.md\n",
        "src/lib.rs\nREADME.md",
        "tests/it.rs\n./src/lib.rs\n",
        &["README.md", "src/lib.rs", "tests/it.rs"],
    );
    // Comments, blank lines, CRLF, a byte order mark.
    selected(
        "\u{feff}# all\r\n\r\nREADME.md # the start\r\n",
        "  src/lib.rs  ",
        "#x",
        &["README.md", "src/lib.rs"],
    );
    // Lower levels take away what upper ones gave, and give it back.
    selected("README.md\nsrc/lib.rs", "-README.md", "", &["src/lib.rs"]);
    selected("README.md\nsrc/lib.rs", "-README.md", "README.md", &["src/lib.rs", "README.md"]);
    selected("", "", "-README.md", &[]);
    // Directories and patterns.
    selected("docs", "", "", &["docs/a.md", "docs/b.md", "docs/deep/c.md"]);
    selected("docs/", "-docs/deep/", "", &["docs/a.md", "docs/b.md"]);
    selected("docs/*.md", "", "", &["docs/a.md", "docs/b.md"]);
    selected("**/*.md", "", "", &["README.md", "docs/a.md", "docs/b.md", "docs/deep/c.md"]);
    selected("src/**", "-src/net/t*", "", &["src/lib.rs", "src/main.rs", "src/net/udp.rs"]);
    selected("src/*", "", "", &["src/lib.rs", "src/main.rs", "src/net/tcp.rs", "src/net/udp.rs"]);
    selected("src/net/[tu][!x]p.rs", "", "", &["src/net/tcp.rs", "src/net/udp.rs"]);
    selected("src/net/[a-t]??.rs", "", "", &["src/net/tcp.rs"]);
    selected("[odd].txt", "", "", &["[odd].txt"]);
    selected("**", "-**/*.rs\n-docs", "", &["README.md", "[odd].txt"]);
    // What is not there shows as well, be it a file or all that a pattern could mean; taken away, it does not.
    selected("none.md\n*.none\nhttps://a.b/c*", "", "", &["none.md", "*.none", "https://a.b/c*"]);
    selected("none/*.md", "-none", "", &[]);
    // The project itself is everything.
    for all in [".", "./", "/", "**"] {
        let mut sorted = FILES;
        sorted.sort_unstable();
        selected(all, "", "", &sorted);
        selected("src", &format!("-{all}"), "README.md", &["README.md"]);
    }
    let levels: Vec<_> = cascade("a", "b", "-a\nb\nc").rules.iter().map(|rule| rule.level).collect();
    assert_eq!(levels, [Level::Global, Level::Session, Level::Turn, Level::Turn]);
    assert_eq!(rules("-a # b", Level::Turn)[0].sign, Sign::Remove);
}

#[test]
fn a_pattern_takes_no_time_to_fail() {
    let path = "a".repeat(5_000);
    let pattern = format!("{}b", "*a".repeat(500));
    assert_eq!(cascade(&pattern, "", "").select(&[path.as_str()]), [pattern]);
    let deep = "a/".repeat(500) + "a";
    let pattern = "**/a/".repeat(100) + "b";
    assert_eq!(cascade(&pattern, "", "").select(&[deep.as_str()]), [pattern]);
}

fn change(line: &str) -> Change {
    let (sign, what) = line.split_at(1);
    let sign = if sign == "+" { Sign::Add } else { Sign::Remove };
    Change { sign, what: what.into(), comment: None, line: 1 }
}

#[test]
fn file_15_file_16_the_next_turn_sees_what_was_approved() {
    for (previous, changes, expected) in [
        ("a\n\nb", vec![], "a\n\nb"),
        ("a\n", vec!["+b", "+a"], "a\nb\n"),
        ("a\nb\n", vec!["-a"], "b\n"),
        ("a", vec!["-a", "+c"], "c\n"),
        ("# mine\na\n", vec!["-a"], "# mine\n"),
        // Inherited from above: taken away here, and given back.
        ("a\n", vec!["-README.md"], "a\n-README.md\n"),
        ("-README.md\n", vec!["+README.md"], "README.md\n"),
        ("-README.md\n", vec!["-README.md"], "-README.md\n"),
        ("", vec!["+./a", "+a", "+#x", "+-y"], "a\n./#x\n./-y\n"),
        ("./#x\n", vec!["-#x"], ""),
        ("a\r\nb\r\n", vec!["+c"], "a\nb\nc\n"),
        ("a\n", vec!["-./", "+."], "a\n.\n"),
        ("a\n", vec!["-."], "a\n-.\n"),
    ] {
        let changes: Vec<_> = changes.into_iter().map(change).collect();
        let next = next_turn_context(previous, &changes);
        assert_eq!(next, expected, "{previous:?}");
        assert_eq!(next_turn_context(&next, &[]), next);
    }
}

fn payload() -> Payload {
    Payload {
        system: "Plan.\n".into(),
        message: "Add `it`.\n".into(),
        information: Information { cwd: "/work".into(), os: "linux".into(), shell: "/bin/sh".into() },
        structure: "src/\n  lib.rs\n".into(),
        memos: vec!["Use pnpm".into(), "Two\nlines".into()],
        files: vec![
            ShownSource::text("src/lib.rs", "//! ```\n//! x\n//! ```\n"),
            ShownSource::text("cut.txt", "no end"),
            ShownSource::text("empty.txt", ""),
            ShownSource::named("logo.png", Unshown::Binary { bytes: 12, kind: "image/png".into() }),
            ShownSource::named("gone.md", Unshown::Missing),
            ShownSource::named("big.log", Unshown::TooLarge { bytes: 2_000, limit: 1_000 }),
            ShownSource::text("https://a.b/c", "A page\n"),
        ],
        previous_report: Some("# Execution Report: x\n".into()),
    }
}

#[test]
fn file_8_the_payload_word_for_word() {
    let expected = "\
# Agent Invocation Payload

## 1. System Information

```text
CWD: /work
OS: linux
Shell: /bin/sh
```

## 2. Project Structure

```text
src/
  lib.rs
```

## 3. Memos

```text
- Use pnpm
- Two
  lines
```

## 4. Active Context

```text
src/lib.rs
cut.txt
empty.txt
logo.png
gone.md
big.log
https://a.b/c
```

7 in all, about 10 tokens.

## 5. Resource Contents

---

**File:** [src/lib.rs](/src/lib.rs) (about 6 tokens)

````
//! ```
//! x
//! ```
````

---

**File:** [cut.txt](/cut.txt) (about 2 tokens, no line end at the end)

```
no end
```

---

**File:** [empty.txt](/empty.txt) (about 0 tokens)

```
```

---

**File:** [logo.png](/logo.png) (not shown: image/png, 12 bytes)

---

**File:** [gone.md](/gone.md) (not shown: it does not exist)

---

**File:** [big.log](/big.log) (not shown: 2000 bytes, more than the limit of 1000)

---

**URL:** `https://a.b/c` (about 2 tokens)

```
A page
```

## 6. Previous Report

```markdown
# Execution Report: x
```

## 7. Message

```markdown
Add `it`.
```
";
    assert_eq!(payload().document(), expected);
    assert_eq!(payload().tokens(), 2 + estimate_tokens(expected));
    let empty = Payload::default().document();
    assert!(empty.contains("## 3. Memos\n\nNone.\n"), "{empty}");
    assert!(empty.contains("## 6. Message\n"), "{empty}");
}

#[test]
fn file_8_the_log_has_it_all_and_gives_it_back() {
    let payload = payload();
    let log = ContextLog { system: payload.system.clone(), document: payload.document() };
    let text = payload.log().concat();
    assert!(text.starts_with("<!-- rapport context log 1: system prompt of 6 bytes, document of "), "{text}");
    assert_eq!(ContextLog::parse(&text), Ok(log));
    assert_eq!(ContextLog::parse(""), Err(NoContextLog::Unknown));
    assert_eq!(ContextLog::parse(&text.replace("log 1", "log 2")), Err(NoContextLog::Unknown));
    for changed in [format!("{text}x"), text.replace("Plan.", "Plan!!"), text[..text.len() - 1].to_owned()] {
        assert_eq!(ContextLog::parse(&changed), Err(NoContextLog::Changed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn file_8_any_log_is_given_back(system in any::<String>(), message in any::<String>(), file in any::<String>()) {
        let payload = Payload { system, message, files: vec![ShownSource::text(&file, &file)], ..Payload::default() };
        let log = ContextLog { system: payload.system.clone(), document: payload.document() };
        prop_assert_eq!(ContextLog::parse(&payload.log().concat()), Ok(log));
    }
}
