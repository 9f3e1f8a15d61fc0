//! What every store must do.

use std::slice::from_ref;

use jiff::Timestamp;
use rapport::stores::files::Files;
use rapport::stores::memory::Memory;
use rapport::stores::{Holder, Log, Store, StoreError};
use rapport_core::{Entry, Event, SessionId};

use super::dummy::Stream;

#[test]
fn what_is_written_is_read_back_in_order() {
    on_every_store(|store| {
        let (id, first, mut log) = store.create("Add user auth", noon(), said("a"), &holder(1)).unwrap();
        let second = log.append(noon(), said("b")).unwrap();
        let third = log.append(noon(), [said("c"), said("d")].concat()).unwrap();
        assert_eq!([first.seq, second.seq, third.seq], [1, 2, 3]);
        assert_eq!(third.facts, [said("c"), said("d")].concat());
        assert_eq!(store.read(&id, 0).unwrap(), [first, second.clone(), third.clone()]);
        assert_eq!(store.read(&id, 1).unwrap(), [second, third]);
        assert_eq!(store.read(&id, 3).unwrap(), []);
        assert_eq!(store.read(&id, u64::MAX).unwrap(), []);
    });
}

#[test]
fn a_session_goes_on_where_it_was_left() {
    on_every_store(|store| {
        let (id, first, log) = store.create("x", noon(), said("a"), &holder(1)).unwrap();
        drop(log);
        let (entries, mut log) = store.hold(&id, &holder(2)).unwrap();
        assert_eq!(entries, [first]);
        assert_eq!(log.append(noon(), said("b")).unwrap().seq, 2);
        assert_eq!(store.read(&id, 0).unwrap().len(), 2);
    });
}

#[test]
fn what_is_attached_is_there_again() {
    on_every_store(|store| {
        let (id, _, _log) = store.create("x", noon(), said("a"), &holder(1)).unwrap();
        for name in ["conversation", "01/plan.md", "log.jsonl"] {
            assert_eq!(store.attached(&id, name).unwrap(), None, "{name}");
            store.attach(&id, name, b"one\n").unwrap();
            store.attach(&id, name, b"two\n\xff").unwrap();
            assert_eq!(store.attached(&id, name).unwrap().as_deref(), Some(&b"two\n\xff"[..]), "{name}");
        }
        for name in ["", ".", "..", "/", "../x", "01/../../x", "/etc/x", "01//x", "a\0b"] {
            assert!(store.attach(&id, name, b"elsewhere").is_err(), "{name:?}");
            assert!(store.attached(&id, name).is_err(), "{name:?}");
        }
        assert_eq!(store.read(&id, 0).unwrap().len(), 1, "the facts are untouched");
        assert_eq!(store.list().unwrap(), [id]);
        let unknown = SessionId::new("nothing");
        assert!(matches!(store.attach(&unknown, "x", b""), Err(StoreError::NotFound(_))));
        assert!(matches!(store.attached(&unknown, "x"), Err(StoreError::NotFound(_))));
    });
}

/// A lease that ran out, a lock file that was removed: whoever held the session finds out when it wants to write.
#[test]
fn a_writer_that_comes_back_late_is_superseded() {
    on_every_kind(|kind| {
        let store = &*kind.store;
        let (id, first, mut late) = store.create("x", noon(), said("a"), &holder(1)).unwrap();
        (kind.end_hold)(&id);
        let (entries, mut log) = store.hold(&id, &holder(2)).unwrap();
        assert_eq!(entries, from_ref(&first));
        let second = log.append(noon(), said("b")).unwrap();
        for _ in 0..2 {
            let refused = late.append(noon(), said("late"));
            assert!(matches!(&refused, Err(StoreError::Superseded { id: of }) if *of == id), "{refused:?}");
        }
        assert_eq!(store.read(&id, 0).unwrap(), [first.clone(), second.clone()]);
        drop(late);
        assert_eq!(store.holder(&id).unwrap(), Some(holder(2)), "what it lets go of is not its own");
        assert_eq!(busy(store.hold(&id, &holder(3))), holder(2));
        let third = log.append(noon(), said("c")).unwrap();
        assert_eq!(store.read(&id, 0).unwrap(), [first, second, third]);
    });
}

/// Who holds a session may be on another machine.
#[test]
fn a_holder_may_be_far_away() {
    on_every_store(|store| {
        let far = Holder { host: Some("desktop".into()), ..holder(1) };
        let (id, _, log) = store.create("x", noon(), said("a"), &far).unwrap();
        assert_eq!(store.holder(&id).unwrap(), Some(far.clone()));
        assert_eq!(busy(store.hold(&id, &holder(2))), far);
        assert_eq!(far.to_string(), "process 1 on desktop");
        drop(log);
        assert_eq!(store.holder(&id).unwrap(), None);
    });
}

#[tokio::test]
async fn changes_are_told() {
    for kind in kinds() {
        let mut changes = kind.store.watch().unwrap();
        let (id, _, mut log) = kind.store.create("x", noon(), said("a"), &holder(1)).unwrap();
        assert_eq!(changes.next().await.as_ref(), Some(&id));
        // Told too often, perhaps; too seldom, never: until the second entry there has to be another one.
        let mut later = kind.store.watch().unwrap();
        log.append(noon(), said("b")).unwrap();
        assert_eq!(later.next().await.as_ref(), Some(&id));
        drop(log);
        let reserved = kind.store.reserve("y", noon()).unwrap();
        let other = reserved.id().clone();
        reserved.fill(&[Entry { seq: 1, at: noon(), facts: said("a") }], &[]).unwrap();
        while changes.next().await.unwrap() != other {}
    }
}

#[test]
fn a_session_without_a_log_gets_one_and_one_with_a_log_keeps_it() {
    on_every_kind(|kind| {
        let (id, store) = (SessionId::new("20260124-older"), &*kind.store);
        (kind.make_bare)(&id);
        assert!(matches!(store.read(&id, 0), Err(StoreError::NotFound(_))));
        assert_eq!(store.list().unwrap(), []);
        store.enlist(&id, noon(), said("a")).unwrap();
        store.enlist(&id, noon(), said("b")).unwrap();
        assert_eq!(store.read(&id, 0).unwrap(), [Entry { seq: 1, at: noon(), facts: said("a") }]);
        assert_eq!(store.holder(&id).unwrap(), None);
        assert_eq!(store.hold(&id, &holder(1)).unwrap().0.len(), 1);
    });
}

#[test]
fn a_person_can_look_at_all_that_would_count() {
    on_every_store(|store| {
        let (id, first, _log) = store.create("x", noon(), said("a"), &holder(1)).unwrap();
        store.attach(&id, "conversation", b"one\n").unwrap();
        let looked = store.look(&id).unwrap();
        assert_eq!((&looked.id, looked.entries.as_slice()), (&id, from_ref(&first)));
        assert_eq!(looked.attachments, [("conversation".to_owned(), b"one\n".to_vec())]);
        assert!(looked.seal.counts());
        store.trust(&looked).unwrap();
        assert_eq!(store.counted(&id, 0).unwrap(), [first]);
    });
}

#[test]
fn a_session_with_a_past_is_there_whole_or_not_at_all() {
    let past = [1, 2, 3].map(|seq| Entry { seq, at: noon(), facts: said(&seq.to_string()) });
    on_every_store(|store| {
        let unused = store.reserve("Add auth", noon()).unwrap();
        let reserved = store.reserve("Add auth", noon()).unwrap();
        let (third, ..) = store.create("Add auth", noon(), said("a"), &holder(1)).unwrap();
        assert_eq!(third.as_str(), "20260124-add-auth-3");
        let id = reserved.id().clone();
        assert_eq!(id.as_str(), "20260124-add-auth-2");
        assert_eq!(store.list().unwrap(), from_ref(&third), "a name is no session");
        assert!(matches!(store.read(&id, 0), Err(StoreError::NotFound(_))));
        assert!(matches!(store.hold(&id, &holder(1)), Err(StoreError::NotFound(_))));

        reserved.fill(&past, &[("conversation", b"one\n")]).unwrap();
        drop(unused);
        assert_eq!(store.list().unwrap(), [id.clone(), third.clone()]);
        assert_eq!(store.read(&id, 0).unwrap(), past);
        assert_eq!(store.attached(&id, "conversation").unwrap().as_deref(), Some(&b"one\n"[..]));
        let (entries, mut log) = store.hold(&id, &holder(2)).unwrap();
        assert_eq!(entries, past);
        assert_eq!(log.append(noon(), said("b")).unwrap().seq, 4);
        assert_eq!(store.reserve("Add auth", noon()).unwrap().id().as_str(), "20260124-add-auth");
    });
}

#[test]
fn one_writer_at_a_time() {
    on_every_store(|store| {
        let (id, _, log) = store.create("x", noon(), said("a"), &holder(1)).unwrap();
        assert_eq!(busy(store.hold(&id, &holder(2))), holder(1));
        assert_eq!(store.holder(&id).unwrap(), Some(holder(1)));
        drop(log);
        assert_eq!(store.holder(&id).unwrap(), None);

        let (_, log) = store.hold(&id, &holder(2)).unwrap();
        assert_eq!(busy(store.hold(&id, &holder(3))), holder(2));
        drop(log);
        assert_eq!(store.holder(&id).unwrap(), None);
    });
}

#[test]
fn reading_and_listing_need_no_hold() {
    on_every_store(|store| {
        let (id, first, _log) = store.create("x", noon(), said("a"), &holder(1)).unwrap();
        assert_eq!(store.read(&id, 0).unwrap(), [first]);
        assert_eq!(store.list().unwrap(), [id]);
    });
}

#[test]
fn sessions_are_listed_by_day() {
    on_every_store(|store| {
        assert_eq!(store.list().unwrap(), []);
        for (day, words) in [("2026-02-01", "a"), ("2025-12-31", "z"), ("2026-01-24", "m")] {
            store.create(words, at(day), said("a"), &holder(1)).unwrap();
        }
        assert_eq!(names(store), ["20251231-z", "20260124-m", "20260201-a"]);
    });
}

#[test]
fn the_same_words_get_different_names() {
    on_every_store(|store| {
        for text in ["1", "2", "3"] {
            store.create("Add auth", noon(), said(text), &holder(1)).unwrap();
        }
        assert_eq!(names(store), ["20260124-add-auth", "20260124-add-auth-2", "20260124-add-auth-3"]);
        let third = store.read(&SessionId::new("20260124-add-auth-3"), 0).unwrap();
        assert_eq!(third[0].facts, said("3"));
    });
}

#[test]
fn any_words_make_a_name() {
    let long = "word ".repeat(60);
    let cases = [
        ("Add user auth!", "20260124-add-user-auth"),
        ("../../x", "20260124-x"),
        (".", "20260124-untitled"),
        ("", "20260124-untitled"),
        ("/", "20260124-untitled"),
        ("a\0b\nc", "20260124-a-b-c"),
        ("con", "20260124-con-1"),
        ("\u{1f980}", "20260124-crab"),
        ("Größe ändern", "20260124-grosse-andern"),
        (&long, "20260124-word-word-word-word-word-word-word-word-word-word-word-word"),
    ];
    for (words, name) in cases {
        on_every_store(|store| {
            let (id, first, log) = store.create(words, noon(), said("a"), &holder(1)).unwrap();
            drop(log);
            assert_eq!(id.as_str(), name, "{words:?}");
            assert_eq!(store.list().unwrap(), from_ref(&id));
            assert_eq!(store.hold(&id, &holder(1)).unwrap().0, [first]);
        });
    }
}

#[test]
fn the_day_is_that_of_utc() {
    on_every_store(|store| {
        let late = "2026-01-24T23:30:00-05:00".parse().unwrap();
        assert_eq!(store.create("x", late, said("a"), &holder(1)).unwrap().0.as_str(), "20260125-x");
    });
}

#[test]
fn what_is_no_session_is_not_found() {
    let long = "a".repeat(300);
    let ids = [
        "20260124-y",
        "",
        ".",
        "..",
        "/",
        "../sessions/20260124-x",
        "20260124-x/",
        "20260124-x/.",
        "./20260124-x",
        "20260124-x/../20260124-x",
        "/etc",
        "20260124-x\0",
        "con",
        "\u{1f980}",
        "20260124-x/log.jsonl",
        "\n",
        &long,
    ];
    on_every_store(|store| {
        let missing = SessionId::new("20260124-x");
        assert_not_found(store, &missing);
        store.create("x", noon(), said("a"), &holder(1)).unwrap();
        for id in ids {
            assert_not_found(store, &SessionId::new(id));
        }
        assert_eq!(names(store), ["20260124-x"]);
    });
}

#[test]
fn memory_fails_once_when_told_to() {
    let store = Memory::new();
    let (id, _, mut log) = store.create("x", noon(), said("a"), &holder(1)).unwrap();
    store.fail_next_append();
    let error = log.append(noon(), said("b")).unwrap_err();
    assert_eq!(error.to_string(), "cannot write to 20260124-x in memory: no storage space");
    assert_eq!(store.read(&id, 0).unwrap().len(), 1);
    assert_eq!(log.append(noon(), said("c")).unwrap().seq, 2);
}

/// A store, and what the world can do to it.
struct Kind {
    store: Box<dyn Store>,
    /// Takes a session away from whoever holds it, unnoticed.
    end_hold: Box<dyn Fn(&SessionId)>,
    /// Puts something there that is to become a session and has no log.
    make_bare: Box<dyn Fn(&SessionId)>,
    _folder: Option<tempfile::TempDir>,
}

fn kinds() -> [Kind; 3] {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project/.rapport/sessions");
    let (memory, stream) = (Memory::new(), Stream::default());
    let files = Kind {
        store: Box::new(Files::new(root.clone())),
        end_hold: Box::new({
            let root = root.clone();
            move |id| std::fs::remove_file(root.join(id.as_str()).join("lock")).unwrap()
        }),
        make_bare: Box::new(move |id| std::fs::create_dir_all(root.join(id.as_str()).join("01")).unwrap()),
        _folder: Some(folder),
    };
    let nothing = || Box::new(|_: &SessionId| ());
    let in_memory = Kind {
        store: Box::new(memory.clone()),
        end_hold: Box::new(move |id| memory.end_hold(id)),
        make_bare: nothing(),
        _folder: None,
    };
    let streamed = Kind {
        store: Box::new(stream.clone()),
        end_hold: Box::new(move |id| stream.end_lease(id)),
        make_bare: nothing(),
        _folder: None,
    };
    [files, in_memory, streamed]
}

fn on_every_kind(check: impl Fn(&Kind)) {
    kinds().iter().for_each(check);
}

fn on_every_store(check: impl Fn(&dyn Store)) {
    on_every_kind(|kind| check(&*kind.store));
}

fn assert_not_found(store: &dyn Store, id: &SessionId) {
    let errors = [
        store.read(id, 0).unwrap_err(),
        store.hold(id, &holder(1)).err().unwrap(),
        store.holder(id).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(&error, StoreError::NotFound(named) if named == id), "{id:?} gives {error}");
    }
}

fn busy<T>(result: Result<(T, Box<dyn Log>), StoreError>) -> Holder {
    match result {
        Err(StoreError::Busy { holder, .. }) => holder,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("held twice"),
    }
}

fn names(store: &dyn Store) -> Vec<String> {
    store.list().unwrap().iter().map(ToString::to_string).collect()
}

fn said(text: &str) -> Vec<Event> {
    vec![Event::Failed { reason: text.to_owned() }]
}

fn holder(pid: u32) -> Holder {
    Holder { pid, address: Some(format!("/run/{pid}")), host: None }
}

fn noon() -> Timestamp {
    at("2026-01-24")
}

fn at(day: &str) -> Timestamp {
    format!("{day}T12:00:00Z").parse().unwrap()
}
