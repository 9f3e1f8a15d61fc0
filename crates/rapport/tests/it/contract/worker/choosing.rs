//! Workers are chosen by name: a new kind is registered in one place, the settings choose it, and its sessions work
//! there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport::config::{Layer, Settings};
use rapport::wiring::{Host, SessionKind, Workspace};
use rapport::workers::{NoWorkplace, Worker as _, WorkerKind, WorkerKinds, WorkerSetup, Workers};
use rapport_core::Aim;

use super::dummy::Copies;
use crate::contract::agent::choosing::{self, NoHelpers, asked, chosen_by};
use crate::support::settings::sources;

/// The worker of `dummy.rs` as a kind.
struct CopiesKind {
    folder: PathBuf,
    is_wall: bool,
}

impl WorkerKind for CopiesKind {
    fn name(&self) -> &'static str {
        "copies"
    }

    fn in_brief(&self) -> &'static str {
        "a copy of the files"
    }

    fn workplace(&self) -> &'static str {
        "copy"
    }

    fn is_wall(&self) -> bool {
        self.is_wall
    }

    fn check(&self, _: &Path, _: &WorkerSetup) -> Result<(), NoWorkplace> {
        Ok(())
    }

    fn add_to(&self, workers: Workers, _: &WorkerSetup) -> Workers {
        workers.with(self.name(), Copies::new(&self.folder))
    }
}

fn place(folder: &Path, is_wall: bool) -> Workspace {
    let copies = CopiesKind { folder: folder.join("copies"), is_wall };
    Workspace { worker_kinds: WorkerKinds::builtin().with(copies), ..choosing::place(folder) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_setting_chooses_the_worker_and_the_session_works_there() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path(), false);
    std::fs::write(place.project.join("README.md"), "# An app\n").unwrap();
    let chosen = chosen_by(&place, "{ worker: copies, agent: { name: plain } }");
    let created = place.session("paint it".into(), Aim::Work, &chosen).unwrap();
    assert_eq!((created.worker.as_str(), created.apart), ("copies", Some(true)));
    let other = place.session("talk".into(), Aim::Chat, &chosen).unwrap();
    assert_eq!(other.worker, "local", "only work is done elsewhere");
    let host = Host::start(&place, &chosen, &SessionKind::Sessions, Arc::new(NoHelpers)).await.unwrap();
    let sessions = host.sessions();
    let id = sessions.create(created.clone(), None).await.unwrap();
    let view = asked(&*sessions, &id).await;
    assert_eq!(view.workplace.unwrap().worker, "copies");
    let there = place.workers().find(&id, &created).unwrap().expect("its copy was made");
    assert_eq!(there.directory(), folder.path().join("copies").join(id.as_str()));
    assert_eq!(there.read("README.md").unwrap().as_deref(), Some(&b"# An app\n"[..]));
    host.stop().await;
}

/// A name that no kind has is refused, with where it was said.
#[test]
fn an_unknown_name_is_refused_wherever_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path(), false);
    let load = |said: &str, env: &[(&str, &str)]| {
        std::fs::write(place.home.join("config.yaml"), said).unwrap();
        let sources = sources(&place.home, &place.project, env).unwrap();
        Settings::load(&sources, Layer::default(), &place.worker_kinds).map_err(|error| error.to_string())
    };
    let known = "\"cloud\" is not one of local, worktree, sandbox, container and copies";
    let in_file = format!("{}: worker: {known}", place.home.join("config.yaml").display());
    for said in ["worker: cloud", "worker: { kind: cloud }"] {
        assert_eq!(load(said, &[]).unwrap_err(), in_file);
    }
    let in_variable = load("worker: copies", &[("RAPPORT_WORKER", "cloud")]).unwrap_err();
    assert_eq!(in_variable, format!("RAPPORT_WORKER: {known}"));
    assert_eq!(load("worker: copies", &[]).unwrap().worker, "copies");
    assert_eq!(load("agent: {}", &[]).unwrap().worker, "local");
}

/// A project may ask for more walls than the person, and not for fewer, whichever kinds there are.
#[test]
fn a_project_cannot_choose_a_kind_without_walls_instead_of_one_with_them() {
    for (is_wall, worker) in [(true, "copies"), (false, "sandbox")] {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), is_wall);
        std::fs::create_dir_all(place.project.join(".rapport")).unwrap();
        std::fs::write(place.project.join(".rapport/config.yaml"), "worker: copies").unwrap();
        assert_eq!(chosen_by(&place, "worker: sandbox").worker, worker, "is a wall: {is_wall}");
    }
}
