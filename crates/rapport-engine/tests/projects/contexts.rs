//! What people and leads do with the context of a project: its names, its learnings, its file edited by hand.

use std::fs;

use jiff::SignedDuration;
use rapport_core::{LearningKind, Stale};
use rapport_door::{ContextUpdate, ProjectError};

use crate::support::{World, ann, lead, write};

fn preference(text: &str) -> ContextUpdate {
    ContextUpdate {
        learnings: vec![(LearningKind::Preference, text.to_owned())],
        from: Some("20260124-login/q1".into()),
    }
}

/// LEAD-3: everything about a project is in a directory of the home.
#[test]
fn lead_3_a_project_has_its_files() {
    let world = World::new();
    let root = world.project("app", &[("Cargo.toml", "[package]\nversion = \"1.0.0\"\n")]);
    world.known().explored(root.to_str().unwrap()).unwrap();
    for name in ["context.yaml", "exploration.md", "found.json"] {
        assert!(world.file("app", name).is_file(), "{name}");
    }
    let notes = fs::read_to_string(world.file("app", "exploration.md")).unwrap();
    assert!(notes.starts_with("# app\n\n1 files were listed, and 1 were read.\n"), "{notes}");
    assert!(notes.contains("\n## Remarks\n\n- it has no git history\n"), "{notes}");
}

/// LEAD-23: a project is found by its path, its name, or as a directory of a configured place.
#[test]
fn lead_23_a_project_is_found_by_path_name_and_place() {
    let world = World::new();
    let (app, other) = (world.project("app", &[]), world.path("elsewhere/app"));
    fs::create_dir_all(&other).unwrap();
    let known = world.known();
    assert_eq!(known.resolved("app").unwrap(), app, "in a configured place");
    assert_eq!(known.resolved(other.to_str().unwrap()).unwrap(), other);
    known.registered("mine", other.to_str().unwrap(), &ann()).unwrap();
    assert_eq!(known.resolved("mine").unwrap(), other);
    let taken = known.registered("second", other.to_str().unwrap(), &ann()).unwrap_err();
    assert!(matches!(taken, ProjectError::Taken { name, .. } if name == "mine"));
    // Two directories of the same name get two names.
    let third = world.path("third/app");
    fs::create_dir_all(&third).unwrap();
    assert_eq!(known.explored("app").unwrap().context.name, "app");
    assert_eq!(known.explored(third.to_str().unwrap()).unwrap().context.name, "app-2");
    let names: Vec<_> = known.all().unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["app", "app-2", "mine"]);
    let unknown = known.loaded("nobody").unwrap_err();
    assert!(matches!(unknown, ProjectError::Unknown { known, .. } if known == ["app", "app-2", "mine"]));
    for path in ["../elsewhere/app", "..", "", "app/../app", "/nowhere"] {
        assert!(known.resolved(path).is_err(), "{path:?}");
    }
    for name in ["../x", "", ".git", "a/b", "a b", &"x".repeat(65)] {
        assert!(known.registered(name, app.to_str().unwrap(), &ann()).is_err(), "{name:?}");
    }
}

/// LEAD-27: what is known is stale after seven days, in another directory, and with another major version.
#[test]
fn lead_27_what_is_known_gets_stale() {
    let world = World::new();
    let manifest = |version: &str| format!("[package]\nversion = \"{version}\"\n");
    let root = world.project("app", &[("Cargo.toml", &manifest("1.9.0"))]);
    let known = world.known();
    assert_eq!(known.loaded("app").unwrap().stale, Some(Stale::NeverExplored));
    assert_eq!(known.explored("app").unwrap().stale, None);
    write(&root.join("Cargo.toml"), &manifest("1.10.0"));
    assert_eq!(known.loaded("app").unwrap().stale, None, "the same major version");
    write(&root.join("Cargo.toml"), &manifest("2.0.0"));
    let stale = Stale::MajorVersion { was: "1.9.0".into(), now: "2.0.0".into() };
    assert_eq!(known.loaded("app").unwrap().stale, Some(stale));
    assert_eq!(known.explored("app").unwrap().stale, None);
    world.pass(SignedDuration::from_hours(7 * 24));
    assert_eq!(known.loaded("app").unwrap().stale, None, "seven days are not more than seven");
    world.pass(SignedDuration::from_secs(1));
    assert_eq!(known.loaded("app").unwrap().stale, Some(Stale::Old { days: 7 }));
    known.explored("app").unwrap();
    let moved = world.path("moved");
    fs::rename(&root, &moved).unwrap();
    known.registered("app", moved.to_str().unwrap(), &ann()).unwrap();
    let stale = Stale::Moved { from: root.display().to_string() };
    assert_eq!(known.loaded("app").unwrap().stale, Some(stale));
    assert_eq!(known.explored("app").unwrap().stale, None);
}

/// A project that vanished is told of; one that moved keeps what is known, and one that is still there keeps its name.
#[test]
fn a_project_may_vanish_and_move() {
    let world = World::new();
    let root = world.project("app", &[("go.mod", "module x\n")]);
    let known = world.known();
    known.explored("app").unwrap();
    known.updated("app", &ann(), &preference("Use tabs")).unwrap();
    let other = world.project("other", &[]);
    let taken = known.registered("app", other.to_str().unwrap(), &ann()).unwrap_err();
    assert!(matches!(taken, ProjectError::Taken { .. }), "{taken}");
    fs::rename(&root, world.path("code/new-app")).unwrap();
    let loaded = known.loaded("app").unwrap();
    assert!(loaded.is_missing);
    assert_eq!(loaded.context.found.kind.as_deref(), Some("Go"), "what is known stays");
    assert!(matches!(known.explored("app"), Err(ProjectError::Missing { .. })));
    assert!(matches!(known.resolved("app"), Err(ProjectError::Missing { .. })));
    assert!(known.all().unwrap()[0].is_missing);
    let new = world.path("code/new-app");
    let moved = known.registered("app", new.to_str().unwrap(), &ann()).unwrap();
    assert_eq!(moved.context.preferences[0].text, "Use tabs");
    assert!(!moved.is_missing);
}

/// LEAD-28: learnings hold once a person consents; they are shown with where they came from, and can be revoked.
#[test]
fn lead_28_learnings_need_consent_and_can_be_revoked() {
    let world = World::new();
    world.project("app", &[]);
    let known = world.known();
    let proposed = known.updated("app", &lead(), &preference("Use pnpm")).unwrap().context;
    assert!(proposed.preferences.is_empty(), "nobody consented");
    let [proposal] = &proposed.proposed[..] else { panic!("{:?}", proposed.proposed) };
    assert_eq!(proposal.from.as_deref(), Some("20260124-login/q1"));
    assert_eq!(proposal.by.as_deref(), Some("the lead test"));
    assert!(!proposed.bullets().iter().any(|line| line.contains("pnpm")), "no agent is told of it");
    for refused in [
        known.learned("app", &lead(), &proposal.id),
        known.forgotten("app", &lead(), &proposal.id),
        known.registered("x", "/", &lead()),
    ] {
        assert!(matches!(refused, Err(ProjectError::NeedsPerson(_))));
    }
    assert!(matches!(known.unregistered("app", &lead()), Err(ProjectError::NeedsPerson(_))));
    let kept = known.learned("app", &ann(), &proposal.id).unwrap().context;
    assert_eq!(kept.preferences[0].id, proposal.id);
    assert_eq!(kept.preferences[0].from.as_deref(), Some("20260124-login/q1"));
    assert!(kept.proposed.is_empty());
    assert!(kept.bullets().contains(&"Preference: Use pnpm".to_owned()));
    assert_eq!(kept.learning(&proposal.id), Some(&kept.preferences[0]));
    // The same is not proposed again, neither while it holds nor after it was revoked.
    assert!(known.updated("app", &lead(), &preference(" Use  pnpm ")).unwrap().context.proposed.is_empty());
    let gone = known.forgotten("app", &ann(), "Use pnpm").unwrap().context;
    assert!(gone.preferences.is_empty());
    assert!(known.updated("app", &lead(), &preference("Use pnpm")).unwrap().context.proposed.is_empty());
    assert!(matches!(known.forgotten("app", &ann(), "Use pnpm"), Err(ProjectError::NoLearning { .. })));
    // What a person says themselves holds at once.
    let said = known.updated("app", &ann(), &preference("Use pnpm")).unwrap().context;
    assert_eq!(said.preferences[0].by.as_deref(), Some("ann (terminal)"));
    for odd in ["", " \n", &"x".repeat(401)] {
        assert!(known.updated("app", &ann(), &preference(odd)).is_err());
    }
}

/// What people write into the file stays, whatever exploring finds later, and everything else follows the project.
#[test]
fn what_people_edit_by_hand_is_kept() {
    let world = World::new();
    let root = world.project("app", &[("Cargo.toml", "[package]\n"), ("src/main.rs", "fn main() {}\n")]);
    let known = world.known();
    known.explored("app").unwrap();
    let edited = world
        .context("app")
        .replace("type: Rust", "type: Rust # and some C\nowner: Ann, since 2020")
        .replace("  src: \"1 Rust file\"", "  src: Our code")
        .replace("testFramework: cargo test", "testFramework: our own")
        + "preferences:\n  # Ann wants this\n  - Answer in German\n";
    fs::write(world.file("app", "context.yaml"), &edited).unwrap();
    let loaded = known.loaded("app").unwrap().context;
    assert_eq!(loaded.preferences[0].text, "Answer in German");
    write(&root.join("docs/README.md"), "# Words\n");
    write(&root.join("rustfmt.toml"), "");
    world.pass(SignedDuration::from_hours(1));
    known.explored("app").unwrap();
    let after = world.context("app");
    for line in [
        "type: Rust # and some C\n",
        "owner: Ann, since 2020\n",
        "  src: Our code\n",
        "  docs: Words\n",
        "testFramework: our own\n",
        "  # Ann wants this\n  - Answer in German\n",
        "  - Code is formatted by rustfmt (rustfmt.toml)\n",
        "lastExplored: \"2026-01-24T10:00:00Z\"\n",
    ] {
        assert!(after.contains(line), "{line:?} is not in\n{after}");
    }
    known.explored("app").unwrap();
    assert_eq!(world.context("app"), after, "exploring again changes nothing");
}

/// A file that cannot be read is told of with its line, and is never overwritten.
#[test]
fn a_broken_file_is_told_of_and_left_alone() {
    let world = World::new();
    world.project("app", &[("Cargo.toml", "[package]\n")]);
    let known = world.known();
    known.explored("app").unwrap();
    for (text, expected) in [
        ("name: app\npath: [\n", "line "),
        ("name: app\npath: /x\nstructure:\n  a: b\n c: d\n", "line "),
        ("name: app\npath: /x\nconventions: 7\n", "line "),
        ("just words\n", "line "),
    ] {
        fs::write(world.file("app", "context.yaml"), text).unwrap();
        for outcome in
            [known.loaded("app"), known.explored("app"), known.updated("app", &ann(), &preference("x"))]
        {
            let error = outcome.unwrap_err();
            assert!(matches!(error, ProjectError::Broken { .. }), "{error:?}");
            assert!(error.to_string().contains(expected), "{error}");
        }
        assert_eq!(world.context("app"), text);
        let listed = known.all().unwrap();
        assert!(listed[0].problem.as_ref().is_some_and(|why| why.contains("context.yaml")), "{listed:?}");
    }
}

/// A file of a newer program is refused as it is, whatever else is in it.
#[test]
fn a_newer_file_is_refused() {
    let world = World::new();
    world.project("app", &[]);
    let known = world.known();
    known.explored("app").unwrap();
    let text = "v: 2\nname: app\npath: { at: somewhere }\n";
    fs::write(world.file("app", "context.yaml"), text).unwrap();
    let error = known.explored("app").unwrap_err();
    assert!(matches!(error, ProjectError::Newer { found: 2, known: 1, .. }), "{error}");
    assert_eq!(world.context("app"), text);
}

/// Removing a project removes what is known, and nothing that belongs to others.
#[test]
fn a_project_is_removed_with_what_is_known() {
    let world = World::new();
    let root = world.project("app", &[("go.mod", "module x\n")]);
    let known = world.known();
    known.explored("app").unwrap();
    write(&world.file("app", "trust.json"), "{}");
    known.unregistered("app", &ann()).unwrap();
    assert!(known.all().unwrap().is_empty());
    let left: Vec<_> =
        fs::read_dir(world.file("app", "")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["trust.json"]);
    assert!(root.join("go.mod").is_file());
    assert!(matches!(known.unregistered("app", &ann()), Err(ProjectError::Unknown { .. })));
}
