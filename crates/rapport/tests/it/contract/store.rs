//! What every store must do.

use std::path::Path;
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, TryStreamExt as _};
use jiff::Timestamp;
use rapport::stores::blocking::{BlockingStore, wait};
use rapport::stores::files::Files;
use rapport::stores::memory::Memory;
use rapport::stores::nats::Nats;
use rapport::stores::{
    Holder, Log, SESSION_CONTEXT, Store, StoreError, StoreKind, StoreKinds, StoreSite, Stored,
};
use rapport::wiring::{Host, SessionKind, Workspace};
use rapport_core::{Aim, Entry, Event, SessionId};
use rapport_door::{Diagnosis, Sessions as _};
use rapport_settings::{Declared, section};

use super::agent::choosing::{NoHelpers, asked, chosen_by, place};
use super::dummy::Stream;
use crate::support::nats;

#[tokio::test]
async fn what_is_written_is_read_back_in_order() {
    on_every_store(async |store: &dyn Store| {
        let (id, first, mut log) =
            store.create("Add user auth", noon(), said("a"), &holder(1)).await.unwrap();
        let second = log.append(noon(), said("b")).await.unwrap();
        let third = log.append(noon(), [said("c"), said("d")].concat()).await.unwrap();
        assert_eq!([first.seq, second.seq, third.seq], [1, 2, 3]);
        assert_eq!(third.facts, [said("c"), said("d")].concat());
        assert_eq!(store.read(&id, 0).await.unwrap(), [first, second.clone(), third.clone()]);
        assert_eq!(store.read(&id, 1).await.unwrap(), [second, third]);
        assert_eq!(store.read(&id, 3).await.unwrap(), []);
        assert_eq!(store.read(&id, u64::MAX).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_session_goes_on_where_it_was_left() {
    on_every_store(async |store: &dyn Store| {
        let (id, first, log) = store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        drop(log);
        let (entries, mut log) = store.hold(&id, &holder(2)).await.unwrap();
        assert_eq!(entries, [first]);
        assert_eq!(log.append(noon(), said("b")).await.unwrap().seq, 2);
        assert_eq!(store.read(&id, 0).await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn what_is_attached_is_there_again() {
    on_every_store(async |store: &dyn Store| {
        let (id, _, _log) = store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        for name in ["conversation", "01/plan.md", "log.jsonl"] {
            assert_eq!(store.attached(&id, name).await.unwrap(), None, "{name}");
            store.attach(&id, name, b"one\n".to_vec()).await.unwrap();
            store.attach(&id, name, b"two\n\xff".to_vec()).await.unwrap();
            assert_eq!(
                store.attached(&id, name).await.unwrap().as_deref(),
                Some(&b"two\n\xff"[..]),
                "{name}"
            );
            let pieces = store.attached_pieces(&id, name).await.unwrap().expect("it is there");
            assert_eq!(pieces.try_concat().await.unwrap(), b"two\n\xff", "{name}");
            assert!(store.attached_pieces(&id, "03/nothing").await.unwrap().is_none());
        }
        for name in ["", ".", "..", "/", "../x", "01/../../x", "/etc/x", "01//x", "a\0b"] {
            assert!(store.attach(&id, name, b"elsewhere".to_vec()).await.is_err(), "{name:?}");
            assert!(store.attached(&id, name).await.is_err(), "{name:?}");
        }
        assert_eq!(store.read(&id, 0).await.unwrap().len(), 1, "the facts are untouched");
        assert_eq!(store.list().await.unwrap(), [id]);
        let unknown = SessionId::new("nothing");
        assert!(matches!(store.attach(&unknown, "x", Vec::new()).await, Err(StoreError::NotFound(_))));
        assert!(matches!(store.attached(&unknown, "x").await, Err(StoreError::NotFound(_))));
    })
    .await;
}

/// The dummy as a kind: all that are opened share one service.
#[derive(Clone, Default)]
struct StreamKind(Stream);

impl std::fmt::Debug for StreamKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StreamKind")
    }
}

section! {
    /// Settings of the dummy.
    struct StreamLayer in "stream.", blank variables: Unset {
        server: String, Person, Shown;
    }
    sections {}
}

impl StoreKind for StreamKind {
    fn name(&self) -> &'static str {
        "stream"
    }

    fn section(&self) -> Option<Declared> {
        Some(Declared::of::<StreamLayer>())
    }

    fn open(&self, site: StoreSite) -> Stored<'static, Arc<dyn Store>> {
        let store: Arc<dyn Store> = Arc::new(self.0.clone());
        async move {
            let unavailable = |why: String| StoreError::Unavailable { store: "stream", why };
            let settings = site.settings.read().and_then(|sources| sources.load::<StreamLayer>());
            let settings = settings.map_err(|error| unavailable(error.to_string()))?;
            settings.server.ok_or_else(|| unavailable("stream.server is not set".into()))?;
            Ok(store)
        }
        .boxed()
    }

    fn whereabouts(&self, _: &StoreSite, id: Option<&SessionId>) -> String {
        id.map_or_else(|| "a stream".to_owned(), |id| format!("a stream: {id}"))
    }

    fn remedy(&self) -> &'static str {
        "Name the server of the stream."
    }
}

/// A place with the dummy, chosen and configured.
fn place_with_stream(folder: &Path) -> Workspace {
    let stores = StoreKinds::builtin().with(StreamKind::default());
    Workspace { stored_by: stores.find("stream").unwrap(), stores, ..place(folder) }
}

/// A store that cannot be opened reports that at its use, and to `doctor`; once it can be opened, the same store is
/// used.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_is_opened_when_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let place = place_with_stream(folder.path());
    let store = place.store_in(&SessionKind::Sessions);
    let refused = store.list().await.unwrap_err().to_string();
    assert_eq!(refused, "cannot open the store stream: stream.server is not set");
    assert_eq!(store.whereabouts(&SessionId::new("x")), "a stream: x");
    let found = place.diagnose_store();
    let advice = "Name the server of the stream.".to_owned();
    assert_eq!(found, Diagnosis::Bad { found: refused, advice });

    std::fs::write(place.home.join("config.yaml"), "stream: { server: there }\n").unwrap();
    assert_eq!(store.list().await.unwrap(), []);
    assert_eq!(place.diagnose_store(), Diagnosis::Good("0 in a stream (stream)".into()));
    let unknown = place.stores.find("tapes").unwrap_err();
    assert_eq!(unknown, "this program has no store \"tapes\"; it has: files, nats, stream");
}

/// Another kind of store takes the place of files for all that a command does: here, nothing of a session is a file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_place_says_how_sessions_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let place = place_with_stream(folder.path());
    let chosen = chosen_by(&place, "agent: { name: plain }\nstream: { server: there }");
    let created = place.session("paint it".into(), Aim::Work, &chosen).unwrap();
    let host = Host::start(&place, &chosen, &SessionKind::Sessions, Arc::new(NoHelpers)).await.unwrap();
    let sessions = host.sessions();
    let id = sessions.create(created, None).await.unwrap();
    let question = asked(&*sessions, &id).await.questions.remove(0);
    let seen = place.sessions().view(&id).await.unwrap();
    assert_eq!(seen.questions, [question], "another door leads to the same store");
    host.stop().await;
    assert!(!place.project.join(".rapport/sessions").exists());
}

/// Documents are for people: they are in folders, and the name of a folder is given only once.
#[tokio::test]
async fn documents_are_listed_read_and_changed() {
    on_every_store(async |store: &dyn Store| {
        let (id, _, log) = store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        assert_eq!(store.folders(&id).await.unwrap(), []);
        assert_eq!(store.documented().await.unwrap(), []);
        store.attach(&id, "conversation", b"kept".to_vec()).await.unwrap();
        assert_eq!(store.documented().await.unwrap(), [], "what is kept for Rapport is no document");
        store.attach(&id, SESSION_CONTEXT, b"src\n".to_vec()).await.unwrap();
        assert_eq!(store.documented().await.unwrap(), from_ref(&id));
        let first = vec![("meta.yaml".to_owned(), b"turn_id: '01'\n".to_vec())];
        assert!(store.new_folder(&id, "01", first.clone()).await.unwrap());
        let other = vec![("meta.yaml".to_owned(), b"turn_id: other\n".to_vec())];
        assert!(!store.new_folder(&id, "01", other).await.unwrap(), "the name is taken");
        let meta = store.attached(&id, "01/meta.yaml").await.unwrap();
        assert_eq!(meta.as_deref(), Some(&b"turn_id: '01'\n"[..]), "who comes second changes nothing");
        log.attacher().attach("01/plan.md", b"# A plan\n".to_vec()).await.unwrap();
        assert!(store.new_folder(&id, "02", first.clone()).await.unwrap());
        let folders = store.folders(&id).await.unwrap();
        let named: Vec<_> =
            folders.iter().map(|folder| (folder.name.as_str(), &folder.documents[..])).collect();
        let (one, two) = (["meta.yaml".to_owned(), "plan.md".to_owned()], ["meta.yaml".to_owned()]);
        assert_eq!(named, [("01", &one[..]), ("02", &two[..])]);
        store.attach(&id, "01/plan.md", b"# Another plan\n".to_vec()).await.unwrap();
        let plan = store.attached(&id, "01/plan.md").await.unwrap();
        assert_eq!(plan.as_deref(), Some(&b"# Another plan\n"[..]));
        assert_eq!(store.attached(&id, "01/report.md").await.unwrap(), None);
        for name in ["", ".", "..", "a/b", "../03", "/etc"] {
            assert!(store.new_folder(&id, name, first.clone()).await.is_err(), "{name:?}");
        }
        for document in ["", "..", "../x", "/etc/x"] {
            let documents = vec![("meta.yaml".into(), Vec::new()), (document.into(), Vec::new())];
            assert!(store.new_folder(&id, "03", documents).await.is_err(), "{document:?}");
        }
        assert!(store.new_folder(&id, "03", Vec::new()).await.is_err(), "a folder has documents");
        assert_eq!(store.folders(&id).await.unwrap().len(), 2, "what was refused left nothing");
        assert!(store.look(&id).await.unwrap().attachments.iter().all(|(name, _)| name == "conversation"));
        let unknown = SessionId::new("nothing");
        assert!(matches!(store.folders(&unknown).await, Err(StoreError::NotFound(_))));
        assert!(matches!(store.new_folder(&unknown, "01", first).await, Err(StoreError::NotFound(_))));
        assert_eq!(store.read(&id, 0).await.unwrap().len(), 1, "the facts are untouched");
    })
    .await;
}

/// A lease that expired, a lock file that was removed: the former holder learns of it when it wants to write.
#[tokio::test]
async fn a_writer_that_comes_back_late_is_superseded() {
    on_every_kind(async |kind: &Kind| {
        let store = &*kind.store;
        let (id, first, mut late) = store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        (kind.end_hold)(&id);
        let (entries, mut log) = store.hold(&id, &holder(2)).await.unwrap();
        assert_eq!(entries, from_ref(&first));
        let second = log.append(noon(), said("b")).await.unwrap();
        for _ in 0..2 {
            let refused = late.append(noon(), said("late")).await;
            assert!(matches!(&refused, Err(StoreError::Superseded { id: of }) if *of == id), "{refused:?}");
        }
        assert_eq!(store.read(&id, 0).await.unwrap(), [first.clone(), second.clone()]);
        drop(late);
        assert_eq!(store.holder(&id).await.unwrap(), Some(holder(2)), "what it lets go of is not its own");
        assert_eq!(busy(store.hold(&id, &holder(3)).await), holder(2));
        let third = log.append(noon(), said("c")).await.unwrap();
        assert_eq!(store.read(&id, 0).await.unwrap(), [first, second, third]);
    })
    .await;
}

/// What is attached by who lost its hold would replace what the holder attached.
#[tokio::test]
async fn who_comes_back_late_attaches_nothing() {
    on_every_kind(async |kind: &Kind| {
        let store = &*kind.store;
        let (id, _, late) = store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        let superseded = late.attacher();
        superseded.attach("01/plan.md", b"one".to_vec()).await.unwrap();
        (kind.end_hold)(&id);
        let (_, log) = store.hold(&id, &holder(2)).await.unwrap();
        let attacher = log.attacher();
        for name in ["01/plan.md", "conversation"] {
            attacher.attach(name, b"two".to_vec()).await.unwrap();
            let refused = superseded.attach(name, b"late".to_vec()).await;
            assert!(matches!(&refused, Err(StoreError::Superseded { id: of }) if *of == id), "{refused:?}");
            assert_eq!(store.attached(&id, name).await.unwrap().as_deref(), Some(&b"two"[..]));
        }
        assert!(attacher.attach("../x", b"elsewhere".to_vec()).await.is_err());
        drop(log);
        assert_eq!(store.holder(&id).await.unwrap(), None, "who may attach holds nothing");
        let let_go = attacher.attach("conversation", b"late".to_vec()).await;
        assert!(matches!(let_go, Err(StoreError::Superseded { .. })), "{let_go:?}");
    })
    .await;
}

/// A caller that stops waiting for an append does not know the content of the log; only the log does.
#[tokio::test]
async fn an_append_that_is_given_up_is_done_or_not_begun() {
    on_every_store(async |store: &dyn Store| {
        let (id, _, mut log) = store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        drop(log.append(noon(), said("not begun")));
        assert_eq!(log.append(noon(), said("b")).await.unwrap().seq, 2);
        let given_up = log.append(noon(), said("given up")).now_or_never();
        match log.append(noon(), said("d")).await {
            Ok(entry) => assert_eq!(entry.seq, 4, "the one before is in the log"),
            Err(error) => assert!(given_up.is_none(), "{error}"),
        }
        drop(log);
        let held = tokio::time::timeout(Duration::from_secs(30), hold_soon(store, &id)).await;
        let (entries, mut log) = held.unwrap();
        assert_eq!(entries[2].facts, said("given up"), "begun, it was done to its end");
        let next = log.append(noon(), said("e")).await.unwrap();
        assert_eq!(store.read(&id, 0).await.unwrap(), [entries, vec![next]].concat());
    })
    .await;
}

/// A command that only reads has no runtime around it.
#[test]
fn a_store_can_be_waited_for_without_a_runtime() {
    for kind in kinds() {
        let store = BlockingStore::from(kind.store);
        let (id, first, mut log) = store.create("x", noon(), said("a"), &holder(1)).unwrap();
        let second = log.append(noon(), said("b")).unwrap();
        assert_eq!(store.read(&id, 0).unwrap(), [first, second]);
        assert_eq!(store.list().unwrap(), [id]);
    }
}

/// The holder of a session may be on another machine.
#[tokio::test]
async fn a_holder_may_be_far_away() {
    on_every_store(async |store: &dyn Store| {
        let far = Holder { host: Some("desktop".into()), ..holder(1) };
        let (id, _, log) = store.create("x", noon(), said("a"), &far).await.unwrap();
        assert_eq!(store.holder(&id).await.unwrap(), Some(far.clone()));
        assert_eq!(busy(store.hold(&id, &holder(2)).await), far);
        assert_eq!(far.to_string(), "process 1 on desktop");
        drop(log);
        assert_eq!(store.holder(&id).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn changes_are_told() {
    for kind in kinds() {
        let mut changes = kind.store.watch().await.unwrap();
        let (id, _, mut log) = kind.store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        assert_eq!(changes.next().await.as_ref(), Some(&id));
        // Told too often, perhaps; too seldom, never: until the second entry there has to be another one.
        let mut later = kind.store.watch().await.unwrap();
        log.append(noon(), said("b")).await.unwrap();
        assert_eq!(later.next().await.as_ref(), Some(&id));
        drop(log);
        let reserved = kind.store.reserve("y", noon()).await.unwrap();
        let other = reserved.id().clone();
        reserved.fill(vec![Entry { seq: 1, at: noon(), facts: said("a") }], Vec::new()).await.unwrap();
        while changes.next().await.unwrap() != other {}
    }
}

#[tokio::test]
async fn a_session_without_a_log_gets_one_and_one_with_a_log_keeps_it() {
    on_every_kind(async |kind: &Kind| {
        let (id, store) = (SessionId::new("20260124-older"), &*kind.store);
        (kind.make_bare)(&id);
        assert!(matches!(store.read(&id, 0).await, Err(StoreError::NotFound(_))));
        assert_eq!(store.list().await.unwrap(), []);
        store.enlist(&id, noon(), said("a")).await.unwrap();
        store.enlist(&id, noon(), said("b")).await.unwrap();
        assert_eq!(store.read(&id, 0).await.unwrap(), [Entry { seq: 1, at: noon(), facts: said("a") }]);
        assert_eq!(store.holder(&id).await.unwrap(), None);
        assert_eq!(store.hold(&id, &holder(1)).await.unwrap().0.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_person_can_look_at_all_that_would_count() {
    on_every_store(async |store: &dyn Store| {
        let (id, first, _log) = store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        store.attach(&id, "conversation", b"one\n".to_vec()).await.unwrap();
        let looked = store.look(&id).await.unwrap();
        assert_eq!((&looked.id, looked.entries.as_slice()), (&id, from_ref(&first)));
        assert_eq!(looked.attachments, [("conversation".to_owned(), b"one\n".to_vec())]);
        assert!(looked.seal.counts());
        store.trust(Arc::new(looked)).await.unwrap();
        assert_eq!(store.counted(&id, 0).await.unwrap(), [first]);
    })
    .await;
}

#[tokio::test]
async fn a_session_with_a_past_is_there_whole_or_not_at_all() {
    let past = [1, 2, 3].map(|seq| Entry { seq, at: noon(), facts: said(&seq.to_string()) });
    on_every_store(async |store: &dyn Store| {
        let unused = store.reserve("Add auth", noon()).await.unwrap();
        let reserved = store.reserve("Add auth", noon()).await.unwrap();
        let (third, ..) = store.create("Add auth", noon(), said("a"), &holder(1)).await.unwrap();
        assert_eq!(third.as_str(), "20260124-add-auth-3");
        let id = reserved.id().clone();
        assert_eq!(id.as_str(), "20260124-add-auth-2");
        assert_eq!(store.list().await.unwrap(), from_ref(&third), "a name is no session");
        assert!(matches!(store.read(&id, 0).await, Err(StoreError::NotFound(_))));
        assert!(matches!(store.hold(&id, &holder(1)).await, Err(StoreError::NotFound(_))));

        reserved.fill(past.to_vec(), vec![("conversation".to_owned(), b"one\n".to_vec())]).await.unwrap();
        drop(unused);
        assert_eq!(store.list().await.unwrap(), [id.clone(), third.clone()]);
        assert_eq!(store.read(&id, 0).await.unwrap(), past);
        assert_eq!(store.attached(&id, "conversation").await.unwrap().as_deref(), Some(&b"one\n"[..]));
        let (entries, mut log) = store.hold(&id, &holder(2)).await.unwrap();
        assert_eq!(entries, past);
        assert_eq!(log.append(noon(), said("b")).await.unwrap().seq, 4);
        assert_eq!(store.reserve("Add auth", noon()).await.unwrap().id().as_str(), "20260124-add-auth");
    })
    .await;
}

/// A process that is killed while it makes a session leaves its name reserved. Such a name is listed and can be
/// released; one of which a session is being made, or was made, cannot.
#[tokio::test]
async fn a_name_that_nobody_fills_can_be_released() {
    let whole = || vec![Entry { seq: 1, at: noon(), facts: said("a") }];
    on_every_kind(async |kind: &Kind| {
        let store = &*kind.store;
        let late = store.reserve("x", noon()).await.unwrap();
        let id = late.id().clone();
        assert_eq!(store.unfilled().await.unwrap(), [], "it is being made");
        let early = store.release(&id).await;
        assert!(matches!(&early, Err(StoreError::Busy { .. })), "{early:?}");
        (kind.end_hold)(&id);
        assert_eq!(store.unfilled().await.unwrap(), from_ref(&id));
        assert_eq!(store.list().await.unwrap(), []);
        assert_ne!(*store.reserve("x", noon()).await.unwrap().id(), id, "the name is still taken");
        store.release(&id).await.unwrap();
        assert_eq!(store.unfilled().await.unwrap(), []);
        assert!(matches!(store.release(&id).await, Err(StoreError::NotFound(_))));
        let next = store.reserve("x", noon()).await.unwrap();
        assert_eq!(*next.id(), id);
        let superseded = late.fill(whole(), Vec::new()).await;
        assert!(matches!(&superseded, Err(StoreError::Superseded { .. })), "{superseded:?}");
        next.fill(whole(), Vec::new()).await.unwrap();
        assert_eq!(store.unfilled().await.unwrap(), []);
        let refused = store.release(&id).await;
        assert!(matches!(&refused, Err(StoreError::NotFound(_))), "a session is no reservation: {refused:?}");
        assert_eq!(store.read(&id, 0).await.unwrap(), whole());
        assert!(store.hold(&id, &holder(1)).await.is_ok(), "nothing of it is held");
    })
    .await;
}

#[tokio::test]
async fn one_writer_at_a_time() {
    on_every_store(async |store: &dyn Store| {
        let (id, _, log) = store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        assert_eq!(busy(store.hold(&id, &holder(2)).await), holder(1));
        assert_eq!(store.holder(&id).await.unwrap(), Some(holder(1)));
        drop(log);
        assert_eq!(store.holder(&id).await.unwrap(), None);

        let (_, log) = store.hold(&id, &holder(2)).await.unwrap();
        assert_eq!(busy(store.hold(&id, &holder(3)).await), holder(2));
        drop(log);
        assert_eq!(store.holder(&id).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn reading_and_listing_need_no_hold() {
    on_every_store(async |store: &dyn Store| {
        let (id, first, _log) = store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        assert_eq!(store.read(&id, 0).await.unwrap(), [first]);
        assert_eq!(store.list().await.unwrap(), [id]);
    })
    .await;
}

#[tokio::test]
async fn sessions_are_listed_by_day() {
    on_every_store(async |store: &dyn Store| {
        assert_eq!(store.list().await.unwrap(), []);
        for (day, words) in [("2026-02-01", "a"), ("2025-12-31", "z"), ("2026-01-24", "m")] {
            store.create(words, at(day), said("a"), &holder(1)).await.unwrap();
        }
        assert_eq!(names(store).await, ["20251231-z", "20260124-m", "20260201-a"]);
    })
    .await;
}

#[tokio::test]
async fn the_same_words_get_different_names() {
    on_every_store(async |store: &dyn Store| {
        for text in ["1", "2", "3"] {
            store.create("Add auth", noon(), said(text), &holder(1)).await.unwrap();
        }
        assert_eq!(names(store).await, ["20260124-add-auth", "20260124-add-auth-2", "20260124-add-auth-3"]);
        let third = store.read(&SessionId::new("20260124-add-auth-3"), 0).await.unwrap();
        assert_eq!(third[0].facts, said("3"));
    })
    .await;
}

#[tokio::test]
async fn any_words_make_a_name() {
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
        on_every_store(async |store: &dyn Store| {
            let (id, first, log) = store.create(words, noon(), said("a"), &holder(1)).await.unwrap();
            drop(log);
            assert_eq!(id.as_str(), name, "{words:?}");
            assert_eq!(store.list().await.unwrap(), from_ref(&id));
            assert_eq!(store.hold(&id, &holder(1)).await.unwrap().0, [first]);
        })
        .await;
    }
}

#[tokio::test]
async fn the_day_is_that_of_utc() {
    on_every_store(async |store: &dyn Store| {
        let late = "2026-01-24T23:30:00-05:00".parse().unwrap();
        assert_eq!(store.create("x", late, said("a"), &holder(1)).await.unwrap().0.as_str(), "20260125-x");
    })
    .await;
}

#[tokio::test]
async fn what_is_no_session_is_not_found() {
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
    on_every_store(async |store: &dyn Store| {
        let missing = SessionId::new("20260124-x");
        assert_not_found(store, &missing).await;
        store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
        for id in ids {
            assert_not_found(store, &SessionId::new(id)).await;
        }
        assert_eq!(names(store).await, ["20260124-x"]);
    })
    .await;
}

#[tokio::test]
async fn memory_fails_once_when_told_to() {
    let store = Memory::new();
    let (id, _, mut log) = store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
    store.fail_next_append();
    let error = log.append(noon(), said("b")).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot write to 20260124-x in memory: no storage space");
    assert_eq!(store.read(&id, 0).await.unwrap().len(), 1);
    assert_eq!(log.append(noon(), said("c")).await.unwrap().seq, 2);
}

/// A store, and what the world can do to it.
pub(super) struct Kind {
    pub(super) store: Arc<dyn Store>,
    /// Ends the hold of a session without the holder noticing.
    end_hold: Box<dyn Fn(&SessionId)>,
    /// Puts something there that is to become a session and has no log.
    make_bare: Box<dyn Fn(&SessionId)>,
    _folder: Option<tempfile::TempDir>,
}

pub(super) fn kinds() -> Vec<Kind> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project/.rapport/sessions");
    let (memory, stream) = (Memory::new(), Stream::default());
    let files = Kind {
        store: Arc::new(Files::new(root.clone())),
        end_hold: Box::new({
            let root = root.clone();
            move |id| std::fs::remove_file(root.join(id.as_str()).join("lock")).unwrap()
        }),
        make_bare: Box::new(move |id| std::fs::create_dir_all(root.join(id.as_str()).join("01")).unwrap()),
        _folder: Some(folder),
    };
    let nothing = || Box::new(|_: &SessionId| ());
    let in_memory = Kind {
        store: Arc::new(memory.clone()),
        end_hold: Box::new(move |id| memory.end_hold(id)),
        make_bare: nothing(),
        _folder: None,
    };
    let streamed = Kind {
        store: Arc::new(stream.clone()),
        end_hold: Box::new(move |id| stream.end_lease(id)),
        make_bare: nothing(),
        _folder: None,
    };
    [files, in_memory, streamed].into_iter().chain(on_servers()).collect()
}

/// The store that several machines share, with one server.
fn on_servers() -> Option<Kind> {
    let folder = tempfile::tempdir().unwrap();
    let site = nats::single()?.site(folder.path(), &uuid::Uuid::new_v4().to_string());
    let store = wait(Nats::opened(site)).unwrap().where_begun();
    Some(Kind {
        store: Arc::new(store.clone()),
        end_hold: Box::new(move |id| wait(store.end_hold(id)).unwrap()),
        make_bare: Box::new(|_| ()),
        _folder: Some(folder),
    })
}

async fn on_every_kind(check: impl AsyncFn(&Kind)) {
    for kind in kinds() {
        check(&kind).await;
    }
}

async fn on_every_store(check: impl AsyncFn(&dyn Store)) {
    for kind in kinds() {
        check(&*kind.store).await;
    }
}

async fn assert_not_found(store: &dyn Store, id: &SessionId) {
    let errors = [
        store.read(id, 0).await.unwrap_err(),
        store.hold(id, &holder(1)).await.err().unwrap(),
        store.holder(id).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(&error, StoreError::NotFound(named) if named == id), "{id:?} gives {error}");
    }
}

/// Holds a session as soon as no other process holds it.
async fn hold_soon(store: &dyn Store, id: &SessionId) -> (Vec<Entry>, Box<dyn Log>) {
    loop {
        match store.hold(id, &holder(2)).await {
            Err(StoreError::Busy { .. }) => tokio::task::yield_now().await,
            held => return held.unwrap(),
        }
    }
}

fn busy<T>(result: Result<(T, Box<dyn Log>), StoreError>) -> Holder {
    match result {
        Err(StoreError::Busy { holder, .. }) => holder,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("held twice"),
    }
}

async fn names(store: &dyn Store) -> Vec<String> {
    store.list().await.unwrap().iter().map(ToString::to_string).collect()
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
