//! Trust in logs: facts count only if this person's Rapport wrote them here, and nothing was removed since.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use rapport::seals::{Seal, Seals};
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport::stores::memory::Memory;
use rapport::stores::{Holder, Store as _, StoreError};
use rapport_core::{Event, SessionId};
use tempfile::TempDir;

/// A directory for homes and projects.
struct Stage {
    dir: TempDir,
}

impl Stage {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The sessions of a project, as a person has them.
    fn store(&self, person: &str, project: &str) -> BlockingStore {
        BlockingStore::new(self.files(person, project))
    }

    fn files(&self, person: &str, project: &str) -> Files {
        let project = self.path(project);
        fs::create_dir_all(&project).unwrap();
        Files::new(project.join("sessions")).sealed_by(Seals::new(self.path(person), project))
    }

    /// A session of this many entries.
    fn session(&self, person: &str, project: &str, entries: usize) -> SessionId {
        let (id, _, mut log) = self.store(person, project).create("x", noon(), said("1"), &holder()).unwrap();
        (1..entries).for_each(|_| drop(log.append(noon(), said("more")).unwrap()));
        id
    }

    fn log(&self, project: &str, id: &SessionId) -> PathBuf {
        self.path(project).join("sessions").join(id.as_str()).join("log.jsonl")
    }

    fn seal(&self, person: &str, project: &str, id: &SessionId) -> Seal {
        self.store(person, project).sealed(id, 0).unwrap().1
    }

    /// Copies the sessions of a project, as git does.
    fn clone(&self, from: &str, to: &str) {
        for session in fs::read_dir(self.path(from).join("sessions")).unwrap() {
            let session = session.unwrap();
            let copy = self.path(to).join("sessions").join(session.file_name());
            fs::create_dir_all(&copy).unwrap();
            fs::copy(session.path().join("log.jsonl"), copy.join("log.jsonl")).unwrap();
        }
    }

    /// The files in which a home remembers heads.
    fn heads(&self, person: &str) -> Vec<PathBuf> {
        let folders = files(&self.path(person).join("seals")).into_iter().filter(|path| path.is_dir());
        folders.flat_map(|folder| files(&folder)).collect()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect()
}

fn said(text: &str) -> Vec<Event> {
    vec![Event::Failed { reason: text.to_owned() }]
}

fn holder() -> Holder {
    Holder { pid: 1, address: None, host: None }
}

fn noon() -> Timestamp {
    "2026-01-24T12:00:00Z".parse().unwrap()
}

#[test]
fn what_this_person_wrote_here_is_theirs() {
    let stage = Stage::new();
    let id = stage.session("ann", "app", 3);
    assert_eq!(stage.seal("ann", "app", &id), Seal::Ours);
    let log = fs::read_to_string(stage.log("app", &id)).unwrap();
    assert!(log.lines().all(|line| line.contains(r#","seal":{"key":""#)), "{log}");
    let (entries, mut log) = stage.store("ann", "app").hold(&id, &holder()).unwrap();
    assert_eq!((entries.len(), log.append(noon(), said("on")).unwrap().seq), (3, 4));
    assert_eq!(stage.seal("ann", "app", &id), Seal::Ours);
}

#[test]
fn the_private_key_is_for_nobody_else_and_made_once() {
    let stage = Stage::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (stage, project) = (&stage, format!("app{number}"));
            scope.spawn(move || stage.session("ann", &project, 1));
        }
    });
    let mode = |path: &str| fs::metadata(stage.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("ann/keys"), mode("ann/keys/own.key"), mode("ann/seals")], [0o700, 0o600, 0o700]);
    for number in 0..8 {
        let (project, id) = (format!("app{number}"), SessionId::new("20260124-x"));
        assert_eq!(stage.seal("ann", &project, &id), Seal::Ours, "one key for all");
    }
}

#[test]
fn a_log_whose_head_was_not_remembered_any_more_is_known_by_its_signatures() {
    let stage = Stage::new();
    let id = stage.session("ann", "app", 2);
    let [head] = <[PathBuf; 1]>::try_from(stage.heads("ann")).unwrap();
    let before = fs::read(&head).unwrap();
    let (_, mut log) = stage.store("ann", "app").hold(&id, &holder()).unwrap();
    log.append(noon(), said("killed right after this")).unwrap();
    drop(log);
    fs::write(&head, before).unwrap();
    assert_eq!(stage.seal("ann", "app", &id), Seal::Ours);
    fs::write(&head, "").unwrap();
    assert_eq!(stage.seal("ann", "app", &id), Seal::Ours, "killed before the first head was written");
    fs::remove_file(&head).unwrap();
    assert_eq!(stage.seal("ann", "app", &id), Seal::Ours);
}

#[test]
fn a_log_that_was_cut_back_or_replaced_is_noticed() {
    let stage = Stage::new();
    let id = stage.session("ann", "app", 2);
    let path = stage.log("app", &id);
    let older = fs::read(&path).unwrap();
    let (_, mut log) = stage.store("ann", "app").hold(&id, &holder()).unwrap();
    log.append(noon(), said("a permission was used")).unwrap();
    drop(log);
    let newer = fs::read(&path).unwrap();
    fs::write(&path, &older).unwrap();
    assert_eq!(stage.seal("ann", "app", &id), Seal::RolledBack, "an older copy of it");
    assert_refused(&stage.store("ann", "app"), &id, &Seal::RolledBack);
    fs::write(&path, newer.split_inclusive(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(stage.seal("ann", "app", &id), Seal::RolledBack, "cut off");
    let other = stage.session("ann", "app", 3);
    fs::copy(stage.log("app", &other), &path).unwrap();
    assert_eq!(stage.seal("ann", "app", &id), Seal::RolledBack, "another session in its place");
    fs::write(&path, &newer).unwrap();
    assert_eq!(stage.seal("ann", "app", &id), Seal::Ours);
}

#[test]
fn a_line_of_somebody_else_makes_it_nobody_we_know() {
    let stage = Stage::new();
    for (adder, seal) in [(None, Seal::Unsigned), (Some("eve"), Seal::Unknown)] {
        let id = stage.session("ann", "app", 2);
        let store = match adder {
            None => BlockingStore::new(Files::new(stage.path("app/sessions"))),
            Some(person) => {
                // The other one has let it count before they add to it.
                let theirs = stage.store(person, "app");
                theirs.trust(theirs.look(&id).unwrap().into()).unwrap();
                theirs
            }
        };
        let (_, mut log) = store.hold(&id, &holder()).unwrap();
        log.append(noon(), said("allowed")).unwrap();
        drop(log);
        assert_eq!(stage.seal("ann", "app", &id), seal);
        assert_refused(&stage.store("ann", "app"), &id, &seal);
    }
}

/// No door opens it, neither for writing nor for a channel, and nothing that is stored beside it is used.
fn assert_refused(store: &BlockingStore, id: &SessionId, seal: &Seal) {
    let refusals = [store.hold(id, &holder()).err(), store.counted(id, 0).err()];
    for refusal in refusals {
        let refusal = refusal.expect("it was to be refused");
        assert!(matches!(&refusal, StoreError::NotOurs { seal: why, .. } if why == seal), "{refusal}");
    }
    assert!(!store.read(id, 0).unwrap().is_empty(), "it can be read");
}

/// What memory has is this program's own, unless a test says otherwise; then the same doors are closed.
#[test]
fn a_session_in_memory_can_be_somebody_elses() {
    let memory = Memory::new();
    let store = BlockingStore::new(memory.clone());
    let (id, _, log) = store.create("x", noon(), said("a"), &holder()).unwrap();
    drop(log);
    assert_eq!(store.sealed(&id, 0).unwrap().1, Seal::Ours);
    memory.disown(&id, Seal::Unknown);
    assert!(matches!(store.hold(&id, &holder()), Err(StoreError::NotOurs { .. })));
    assert!(matches!(store.counted(&id, 0), Err(StoreError::NotOurs { .. })));
    assert_eq!(store.read(&id, 0).unwrap().len(), 1);
}

/// The word of a team mate counts once their checkout was accepted, for all their sessions from there.
#[test]
fn what_a_team_mate_signed_counts_where_it_was_accepted() {
    let stage = Stage::new();
    let first = stage.session("bob", "app", 2);
    stage.clone("app", "clone");
    assert_eq!(stage.seal("ann", "clone", &first), Seal::Unknown);
    fs::create_dir_all(stage.path("ann/keys/known")).unwrap();
    fs::copy(stage.path("bob/keys/own.pub"), stage.path("ann/keys/known/bob.pub")).unwrap();
    let offered = Seal::Offered("bob".to_owned());
    assert_eq!(stage.seal("ann", "clone", &first), offered);
    let store = stage.store("ann", "clone");
    assert_refused(&store, &first, &offered);
    store.trust(store.look(&first).unwrap().into()).unwrap();
    assert_eq!(stage.seal("ann", "clone", &first), Seal::Ours);
    let second = stage.session("bob", "app", 2);
    stage.clone("app", "clone");
    assert_eq!(stage.seal("ann", "clone", &second), Seal::By("bob".to_owned()));
    assert!(store.hold(&second, &holder()).is_ok());
    // From another checkout of his it was not accepted, nor is it in another project of hers.
    stage.clone("app", "hostile");
    assert_eq!(stage.seal("ann", "hostile", &second), offered);
}

#[test]
fn what_is_kept_counts_in_its_session_alone() {
    let stage = Stage::new();
    let (one, other) = (stage.session("ann", "app", 2), stage.session("ann", "app", 2));
    let store = stage.store("ann", "app");
    let path = |id: &SessionId| stage.log("app", id).parent().unwrap().join("kept/conversation");
    store.attach(&one, "conversation", b"one\n").unwrap();
    store.attach(&other, "conversation", b"other\n\xff").unwrap();
    assert_eq!(store.attached(&other, "conversation").unwrap().unwrap(), b"other\n\xff");
    let refused = |id| matches!(store.attached(id, "conversation"), Err(StoreError::NotOurs { .. }));
    fs::copy(path(&one), path(&other)).unwrap();
    assert!(refused(&other), "that of another session");
    fs::write(path(&one), "one\n").unwrap();
    assert!(refused(&one), "without a seal");
    store.trust(store.look(&one).unwrap().into()).unwrap();
    assert_eq!(store.attached(&one, "conversation").unwrap().unwrap(), b"one\n");
    fs::write(path(&one), "another\n").unwrap();
    assert!(refused(&one), "another than the one that was trusted");
}

/// What is large is read in pieces, without its seal; and a change anywhere in it is noticed before the first piece.
#[tokio::test]
async fn what_is_kept_is_checked_before_it_is_read_in_pieces() {
    let stage = Stage::new();
    let id = stage.session("ann", "app", 2);
    let files = stage.files("ann", "app");
    let path = stage.log("app", &id).parent().unwrap().join("kept/work");
    for length in [0, 1, 4095, 4096, 65_536, 1_000_000] {
        let content: Vec<u8> = (0..length).map(|n: u32| if n % 80 == 79 { b'\n' } else { b'x' }).collect();
        files.attach(&id, "work", content.clone()).await.unwrap();
        assert_eq!(files.attached(&id, "work").await.unwrap().as_ref(), Some(&content), "{length}");
        let pieces = files.attached_pieces(&id, "work").await.unwrap().unwrap();
        let pieces: Vec<Vec<u8>> = pieces.try_collect().await.unwrap();
        assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= 65_536), "{length}");
        assert_eq!(pieces.concat(), content, "{length}");
        let mut changed = fs::read(&path).unwrap();
        changed.insert(changed.len() / 3, b'y');
        fs::write(&path, changed).unwrap();
        let refused = files.attached_pieces(&id, "work").await.err();
        assert!(matches!(refused, Some(StoreError::NotOurs { .. })), "{length}: {refused:?}");
    }
}

/// What is kept is bound to a head of its log: it does not count beside a log without that head, nor once a later one
/// was kept.
#[test]
fn what_is_kept_counts_with_its_head_alone() {
    let stage = Stage::new();
    let id = stage.session("ann", "app", 2);
    let store = stage.store("ann", "app");
    let session = stage.log("app", &id).parent().unwrap().to_owned();
    let kept = session.join("kept/conversation");
    let kept_now = || store.attached(&id, "conversation");
    let is_rolled_back = || matches!(kept_now(), Err(StoreError::NotOurs { seal: Seal::RolledBack, .. }));
    let append = || drop(store.hold(&id, &holder()).unwrap().1.append(noon(), said("more")).unwrap());

    store.attach(&id, "conversation", b"older").unwrap();
    let older = fs::read(&kept).unwrap();
    let heads =
        stage.heads("ann").into_iter().map(|head| (fs::read(&head).unwrap(), head)).collect::<Vec<_>>();
    append();
    assert_eq!(kept_now().unwrap().unwrap(), b"older", "the log has gone on since");
    store.attach(&id, "conversation", b"newer").unwrap();
    let newer = fs::read(&kept).unwrap();
    assert_eq!(kept_now().unwrap().unwrap(), b"newer");

    fs::write(&kept, &older).unwrap();
    assert!(is_rolled_back(), "an older one of its own");
    store.attach(&id, "conversation", b"again").unwrap();
    assert_eq!(kept_now().unwrap().unwrap(), b"again", "kept again, it counts");
    fs::write(&kept, &newer).unwrap();
    assert_eq!(kept_now().unwrap().unwrap(), b"newer", "bound to the same head");

    // Killed, or without power, before its head was remembered.
    for (head, path) in &heads {
        fs::write(path, head).unwrap();
    }
    assert_eq!(kept_now().unwrap().unwrap(), b"newer");

    // A log of the same name that never had this head.
    fs::remove_dir_all(&session).unwrap();
    let (another, _, mut log) = store.create("x", noon(), said("another"), &holder()).unwrap();
    assert_eq!(another, id);
    (0..4).for_each(|_| drop(log.append(noon(), said("more")).unwrap()));
    drop(log);
    fs::create_dir(kept.parent().unwrap()).unwrap();
    fs::write(&kept, &newer).unwrap();
    assert!(is_rolled_back(), "of another log");
    store.attach(&id, "conversation", b"of this one").unwrap();
    assert_eq!(kept_now().unwrap().unwrap(), b"of this one");
}

/// A later head of a log that is gone does not outdate what its successor keeps.
#[test]
fn what_is_kept_under_a_name_that_is_used_again_counts() {
    let stage = Stage::new();
    let id = stage.session("ann", "app", 5);
    stage.store("ann", "app").attach(&id, "conversation", b"before").unwrap();
    fs::remove_dir_all(stage.path("app/sessions")).unwrap();
    assert_eq!(stage.session("ann", "app", 1), id);
    let store = stage.store("ann", "app");
    store.attach(&id, "conversation", b"now").unwrap();
    for _ in 0..6 {
        drop(store.hold(&id, &holder()).unwrap().1.append(noon(), said("more")).unwrap());
        assert_eq!(store.attached(&id, "conversation").unwrap().unwrap(), b"now");
    }
}

/// A session that was removed may have a name that another one gets.
#[test]
fn a_name_may_be_used_again() {
    let stage = Stage::new();
    let id = stage.session("ann", "app", 5);
    fs::remove_dir_all(stage.path("app/sessions")).unwrap();
    assert_eq!(stage.session("ann", "app", 1), id);
    assert_eq!(stage.seal("ann", "app", &id), Seal::Ours);
}

#[test]
fn a_log_in_another_checkout_does_not_count_there() {
    let stage = Stage::new();
    let id = stage.session("ann", "app", 2);
    stage.clone("app", "clone");
    assert_eq!(stage.seal("ann", "clone", &id), Seal::Elsewhere);
    assert_refused(&stage.store("ann", "clone"), &id, &Seal::Elsewhere);
    assert_eq!(stage.seal("bob", "clone", &id), Seal::Unknown);
    // Neither does it in a directory that takes the place of the one it was in.
    fs::rename(stage.path("app"), stage.path("moved")).unwrap();
    stage.clone("moved", "app");
    assert_eq!(stage.seal("ann", "app", &id), Seal::Elsewhere);
    assert_eq!(stage.seal("ann", "moved", &id), Seal::Ours, "a project may be moved");
}
