//! Agents are chosen by name: a new kind is registered in one place, and the settings choose it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use rapport::actions::Pending;
use rapport::agents::rehearsal::scenario::Scenario;
use rapport::agents::{Agent, AgentKind, AgentKinds, AgentSetup};
use rapport::config::{self, Layer, Settings};
use rapport::turns::Helpers;
use rapport::wiring::{self, Host, SessionKind, Workspace};
use rapport_core::{AgentCommand, Aim, SessionId, View};
use rapport_door::Sessions;

use super::asking::storage;
use super::plain::PlainAgent;

/// The agent of `plain.rs` as a kind.
pub(in crate::contract) struct Plain;

impl AgentKind for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn usual_command(&self) -> &'static str {
        "plain-agent"
    }

    fn make(&self, command: &[String], _: &AgentSetup) -> Result<Arc<dyn Agent>, String> {
        if command[0] == "broken" {
            return Err("plain agents are not run with this".into());
        }
        let asks = Scenario::new("one question").asks(storage());
        Ok(Arc::new(PlainAgent::playing(asks.build())))
    }

    fn installation(&self) -> &'static str {
        "It comes with the tests."
    }
}

/// Nothing here carries out actions.
pub(in crate::contract) struct NoHelpers;

impl Helpers for NoHelpers {
    fn research<'a>(&'a self, _: &'a [String]) -> Pending<'a> {
        Box::pin(async { Err("nobody searches".into()) })
    }

    fn invoke<'a>(&'a self, _: &'a str, _: &'a str) -> Pending<'a> {
        Box::pin(async { Err("nobody is there".into()) })
    }
}

/// A project, and a home without settings, where this agent can be chosen.
pub(in crate::contract) fn place(folder: &Path) -> Workspace {
    let (home, app) = (folder.join("home"), folder.join("app"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(&app).unwrap();
    Workspace { agents: AgentKinds::builtin().with(Plain), ..Workspace::new(home, app) }
}

/// The settings with this in the home.
pub(in crate::contract) fn chosen_by(place: &Workspace, said: &str) -> Settings {
    std::fs::write(place.home.join("config.yaml"), said).unwrap();
    let known = place.known_settings();
    let sources = config::sources(&place.home, &place.project, HashMap::new(), &known).unwrap();
    Settings::load(&sources, Layer::default(), &place.worker_kinds).unwrap()
}

/// Waits until the agent of a session asks.
pub(in crate::contract) async fn asked(sessions: &dyn Sessions, id: &SessionId) -> View {
    let mut seen = sessions.follow(id, 0).await.unwrap();
    loop {
        let view = sessions.view(id).await.unwrap();
        if !view.questions.is_empty() {
            return view;
        }
        let came = tokio::time::timeout(Duration::from_secs(60), seen.next()).await;
        came.expect("the agent asks in time").expect("the session is followed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_setting_chooses_the_agent_and_the_session_says_which_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let chosen = chosen_by(&place, "agent: { name: plain }");
    let created = place.session("paint it".into(), Aim::Work, &chosen).unwrap();
    let plain = AgentCommand { name: "plain".into(), command: vec!["plain-agent".into()] };
    assert_eq!(created.agent, Some(plain));
    let host = Host::start(&place, &chosen, &SessionKind::Sessions, Arc::new(NoHelpers)).await.unwrap();
    let sessions = host.sessions();
    let id = sessions.create(created, None).await.unwrap();
    let view = asked(&*sessions, &id).await;
    assert_eq!(view.questions[0].text, "Which storage?");
    assert_eq!(view.agent.name.as_deref(), Some("plain"));
    host.stop().await;
}

#[test]
fn without_a_name_it_is_the_usual_one_and_an_unknown_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let usual = place.agents.command(&chosen_by(&place, "agent: {}")).unwrap();
    assert_eq!((usual.name.as_str(), usual.command), ("claude", vec!["claude".to_owned()]));
    let refused = wiring::agents(&place, &chosen_by(&place, "agent: { name: oracle }")).unwrap_err();
    assert!(refused.message.contains("does not know the agent \"oracle\""), "{}", refused.message);
    assert!(refused.message.contains("it knows: claude, plain"), "{}", refused.message);
}

/// `--agent` names a command, not another kind: no other kind could resume the session's conversation.
#[test]
fn a_command_for_one_run_keeps_the_kind_of_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let mut chosen = chosen_by(&place, "agent: { command: broken }");
    let agents = wiring::agents(&place, &chosen).unwrap();
    let began = AgentCommand { name: "plain".into(), command: vec!["fine".into()] };
    assert!(agents.find(Some(&began)).is_ok());
    chosen.agent_is_named = true;
    let agents = wiring::agents(&place, &chosen).unwrap();
    assert_eq!(agents.find(Some(&began)).err().unwrap(), "plain agents are not run with this");
}
