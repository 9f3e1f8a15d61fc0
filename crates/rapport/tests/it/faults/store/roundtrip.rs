//! Everything that is written can be read back, and after a truncation its beginning is left.

use std::fs;

use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use rapport::stores::StoreError;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport_core::{Answer, By, CallId, Entry, Event, QuestionId, TurnId, Usage};

use super::HOLDER;

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_and_cut_anywhere(
        steps in vec((moment(), vec(fact(), 0..4)), 1..6),
        cuts in vec(any::<prop::sample::Index>(), 12),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = BlockingStore::new(Files::new(dir.path().to_owned()));
        let (id, first, mut log) = store.create("x", steps[0].0, steps[0].1.clone(), &HOLDER).unwrap();
        let mut written = vec![first];
        for (at, facts) in &steps[1..] {
            written.push(log.append(*at, facts.clone()).unwrap());
        }
        drop(log);
        let given = steps.into_iter().zip(1..).map(|((at, facts), seq)| Entry { seq, at, facts });
        prop_assert_eq!(&written, &given.collect::<Vec<_>>());
        prop_assert_eq!(&store.read(&id, 0).unwrap(), &written);

        let path = dir.path().join(id.as_str()).join("log.jsonl");
        let bytes = fs::read(&path).unwrap();
        for cut in cuts {
            let rest = &bytes[..cut.index(bytes.len() + 1)];
            fs::write(&path, rest).unwrap();
            let complete = rest.iter().filter(|&&byte| byte == b'\n').count();
            match store.read(&id, 0) {
                Ok(entries) => prop_assert_eq!(&entries, &written[..complete]),
                Err(error) => prop_assert!(complete == 0 && matches!(error, StoreError::NotFound(_))),
            }
        }
    }
}

fn moment() -> impl Strategy<Value = Timestamp> {
    let seconds = 0_i64..253_000_000_000;
    (seconds, 0..1_000_000_000_i32).prop_map(|(seconds, nanos)| Timestamp::new(seconds, nanos).unwrap())
}

fn fact() -> impl Strategy<Value = Event> {
    prop_oneof![
        (any::<u32>(), text()).prop_map(|(turn, text)| Event::Said { turn: TurnId(turn), text }),
        text().prop_map(|reason| Event::Failed { reason }),
        text().prop_map(|call| Event::Taken { call: CallId::new(call) }),
        (text(), vec(text(), 0..3), prop::option::of(text()), text()).prop_map(
            |(question, values, text, id)| {
                let by = By::Person { channel: "terminal".into(), id };
                Event::Answered { question: QuestionId::new(question), answer: Answer { values, text }, by }
            }
        ),
        any::<u64>()
            .prop_map(|input| Event::Spent { turn: TurnId(1), usage: Usage { input, ..Usage::default() } }),
        (text(), any::<i64>()).prop_map(|(key, value)| Event::Unknown(serde_json::json!({ key: value }))),
    ]
}

/// Any characters at all, with more than their share of those that mean something to JSON, lines or disks.
fn text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec!['"', '\\', '\n', '\0', '\r', '\u{2028}', '{', '}', ',']);
    vec(prop_oneof![any::<char>(), special], 0..40).prop_map(|chars| chars.into_iter().collect())
}
