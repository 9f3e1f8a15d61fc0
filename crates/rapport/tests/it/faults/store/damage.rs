//! Logs whose content differs from what was written.

use std::fs;
use std::slice::from_ref;

use rapport::stores::StoreError;
use rapport_core::{Event, SessionId};

use super::{HOLDER, Written, line, noon, said};

#[test]
fn a_line_is_json_with_the_format_first_and_the_checksum_last() {
    let written = Written::new();
    let expected = [
        r#"{"v":1,"seq":1,"at":"2026-01-24T12:00:00Z","facts":[{"failed":{"reason":"one"}}]"#,
        r#"{"v":1,"seq":2,"at":"2026-01-24T12:00:00Z","facts":[{"failed":{"reason":"zwei 🦀\n\""}}]"#,
        r#"{"v":1,"seq":3,"at":"2026-01-24T12:00:00Z","facts":[{"failed":{"reason":"three"}}]"#,
    ];
    assert_eq!(String::from_utf8(written.bytes).unwrap(), expected.map(line).concat());
}

#[test]
fn a_last_line_torn_anywhere_is_ignored_and_written_anew() {
    let written = Written::new();
    let whole = written.bytes.len() - written.lines()[2].len();
    for length in whole..written.bytes.len() {
        assert_eq!(written.read(&written.bytes[..length]).unwrap(), written.entries[..2], "cut at {length}");
        assert_eq!(fs::read(written.path()).unwrap(), written.bytes[..whole], "the writer cut it off");

        let (_, mut log) = written.store.hold(&written.id, &HOLDER).unwrap();
        assert_eq!(log.append(noon(), said("three")).unwrap(), written.entries[2]);
        assert_eq!(fs::read(written.path()).unwrap(), written.bytes);
    }
}

#[test]
fn zeros_at_the_end_are_a_torn_line() {
    let written = Written::new();
    let whole = written.bytes.len() - written.lines()[2].len();
    for length in whole..=written.bytes.len() {
        let expected = if length == written.bytes.len() { 3 } else { 2 };
        for zeros in [1, 4096] {
            let bytes = [&written.bytes[..length], &vec![0; zeros]].concat();
            assert_eq!(written.read(&bytes).unwrap(), written.entries[..expected], "{zeros} from {length}");
        }
    }
}

#[test]
fn a_changed_byte_is_damage_wherever_it_is() {
    let written = Written::new();
    let last = written.bytes.len() - 1;
    for (at, &byte) in written.bytes.iter().enumerate() {
        let line = 1 + written.bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
        let flipped = [0x01, 0x02, 0x08, 0x20, 0x80, 0xff].map(|bits| byte ^ bits);
        for other in flipped.into_iter().chain([b'\n', b'x', 0]) {
            // A zero at the very end is what a file system leaves of a write that was cut short.
            if other == byte || (at, other) == (last, 0) {
                continue;
            }
            let mut bytes = written.bytes.clone();
            bytes[at] = other;
            match written.read(&bytes) {
                Err(StoreError::Damaged { line: found, .. }) => assert_eq!(found, line, "{other} at {at}"),
                read => panic!("{other} at {at} gives {read:?}"),
            }
        }
    }
}

#[test]
fn lines_are_missing_doubled_or_swapped() {
    let written = Written::new();
    let lines = written.lines();
    let [one, two, three] = [lines[0], lines[1], lines[2]];
    let cases = [
        ([one, three].concat(), 2, "it is entry 3 where entry 2 belongs"),
        ([two, three].concat(), 1, "it is entry 2 where entry 1 belongs"),
        ([one, two, two, three].concat(), 3, "it is entry 2 where entry 3 belongs"),
        ([one, three, two].concat(), 2, "it is entry 3 where entry 2 belongs"),
        ([one, b"\n", two].concat(), 2, "its checksum is wrong"),
        ([one, b"{}\n", two].concat(), 2, "its checksum is wrong"),
        ([&[0; 512][..], b"\n", two].concat(), 1, "its checksum is wrong"),
    ];
    for (bytes, line, what) in cases {
        let error = written.read(&bytes).unwrap_err();
        let place = written.path().display().to_string();
        assert_eq!(error.to_string(), format!("{place} is damaged at line {line}: {what}"));
    }
}

#[test]
fn a_fact_of_a_known_kind_that_makes_no_sense_is_damage() {
    let written = Written::new();
    let cases = [
        r#"{"v":1,"seq":1,"at":"2026-01-24T12:00:00Z","facts":[{"failed":{"reason":1}}]"#,
        r#"{"v":1,"seq":1,"at":"yesterday","facts":[]"#,
        r#"{"v":1,"seq":1"#,
        r#"{"v":0,"seq":1,"at":"2026-01-24T12:00:00Z","facts":[]"#,
        r#"{"seq":1,"at":"2026-01-24T12:00:00Z","facts":[]"#,
        "{\"v\":1,\"seq\":1,\"at\":\"2026-01-24T12:00:00Z\",\"facts\":[]]",
    ];
    for checked in cases {
        let error = written.read(line(checked).as_bytes()).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { line: 1, .. }), "{checked} gives {error}");
    }
}

#[test]
fn a_newer_format_is_refused_however_it_is_spelt() {
    let written = Written::new();
    let cases = [
        r#"{"v":2,"seq":4,"at":"2026-01-24T12:00:00Z","facts":[]"#,
        r#"{"v":2,"number":4,"what":[{"is":"new"}]"#,
        r#"{ "seq":4, "v" : 2"#,
    ];
    for checked in cases {
        let bytes = [&written.bytes, line(checked).as_bytes()].concat();
        let error = written.read(&bytes).unwrap_err();
        let place = written.path().display().to_string();
        let expected = format!("{place} has format 2, this program knows formats up to 1");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn what_is_not_known_is_kept() {
    let written = Written::new();
    let unknown =
        r#"{"v":1,"seq":4,"at":"2026-01-24T12:00:00Z","facts":[{"danced":{"with":["a",1]}}],"mood":"good""#;
    let bytes = [&written.bytes, line(unknown).as_bytes()].concat();
    let entries = written.read(&bytes).unwrap();
    let fact = serde_json::from_str(r#"{"danced":{"with":["a",1]}}"#).unwrap();
    assert_eq!(entries[3].facts, [Event::Unknown(fact)]);

    let (_, mut log) = written.store.hold(&written.id, &HOLDER).unwrap();
    log.append(noon(), said("five")).unwrap();
    assert!(fs::read(written.path()).unwrap().starts_with(&bytes), "old lines stay as they are");
}

#[test]
fn a_session_without_a_complete_first_entry_is_not_there() {
    let written = Written::new();
    let first = written.lines()[0];
    let half = |name: &str| written.dir.path().join(name);
    for length in 0..first.len() {
        let dir = half(&format!("20260123-cut-{length}"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("log.jsonl"), &first[..length]).unwrap();
    }
    fs::create_dir(half("20260123-empty")).unwrap();
    fs::write(half("20260123-file"), "").unwrap();
    fs::create_dir(half("20260123-zeros")).unwrap();
    fs::write(half("20260123-zeros/log.jsonl"), [0; 4096]).unwrap();

    assert_eq!(written.store.list().unwrap(), from_ref(&written.id));
    for name in ["20260123-cut-0", "20260123-cut-9", "20260123-empty", "20260123-file", "20260123-zeros"] {
        let id = SessionId::new(name);
        assert!(matches!(written.store.read(&id, 0), Err(StoreError::NotFound(_))), "{name}");
        assert!(matches!(written.store.hold(&id, &HOLDER), Err(StoreError::NotFound(_))), "{name}");
    }
}

#[test]
fn a_damaged_session_is_listed_and_does_not_hide_the_others() {
    let written = Written::new();
    written.store.create("y", noon(), said("one"), &HOLDER).unwrap();
    fs::write(written.path(), "{}\n").unwrap();
    assert_eq!(written.store.list().unwrap().len(), 2);
    assert_eq!(written.store.read(&SessionId::new("20260124-y"), 0).unwrap().len(), 1);
}

#[test]
fn a_log_that_somebody_changes_or_removes_in_use_takes_no_more_entries() {
    let written = Written::new();
    let (_, mut log) = written.store.hold(&written.id, &HOLDER).unwrap();
    for bytes in [&written.bytes[..written.bytes.len() - 9], &[&written.bytes[..], b"x"].concat()] {
        fs::write(written.path(), bytes).unwrap();
        let error = log.append(noon(), said("four")).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { line: 4, .. }), "{error}");
        assert_eq!(fs::read(written.path()).unwrap(), bytes);
    }
    fs::remove_dir_all(written.path().parent().unwrap()).unwrap();
    let error = log.append(noon(), said("four")).unwrap_err().to_string();
    assert!(error.ends_with("log.jsonl: the file was removed while it was in use"), "{error}");
}
