//! `rapport revoke`: lists the permission rules, and revokes them.

use rapport_core::{Act, Rule, SessionId};
use serde_json::json;

use super::output::{say, say_json};
use super::{Common, screen, sessions};
use crate::channels::terminal::safe;
use crate::error::{Code, Failure, Outcome};
use crate::projects::grants::Grants;
use crate::wiring::Workspace;

/// Show what agents may do here without asking, or revoke it
///
/// Rules come from permissions that were granted for a session or for the project. Those of a session are in its log,
/// those of the project in Rapport's home; none is ever written to the agent's own settings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport revoke                       what is allowed, with numbers
  rapport revoke 2                     revoke the second rule
  rapport revoke \"Bash(git tag *)\"    by its name, wherever it holds")]
pub(super) struct Args {
    /// The rule, by its number or as it is shown
    rule: Option<String>,
}

/// A rule, and its scope.
struct Held {
    rule: Rule,
    /// The session; `None` for the whole project.
    session: Option<SessionId>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let held = all(&place)?;
    let Some(named) = &args.rule else { return list(common, &held) };
    let chosen: Vec<&Held> = match named.parse::<usize>() {
        Ok(number) => number.checked_sub(1).and_then(|place| held.get(place)).into_iter().collect(),
        Err(_) => {
            let rule = Rule::typed(named);
            held.iter().filter(|held| rule.as_ref() == Some(&held.rule)).collect()
        }
    };
    if chosen.is_empty() {
        return Err(Failure::new(Code::NotFound, format!("{named} is not allowed here"))
            .hint("See what is allowed with: rapport revoke"));
    }
    for held in &chosen {
        revoke(&place, held)?;
        if !common.json {
            say(format_args!(
                "{} is no longer allowed {}.",
                safe::line(&held.rule.to_string()),
                held.scope()
            ))?;
        }
    }
    if common.json { say_json(&json!({ "revoked": chosen.len() })) } else { Ok(()) }
}

fn all(place: &Workspace) -> Result<Vec<Held>, Failure> {
    let project = Grants::of(&place.home, &place.project).list()?;
    let mut held: Vec<Held> =
        project.into_iter().map(|grant| Held { rule: grant.rule, session: None }).collect();
    let store = place.store();
    for id in store.list()? {
        // A damaged log must not prevent revoking a rule of another session.
        let Ok(view) = sessions::view(&store, &id) else { continue };
        let goes_on = !screen::is_over(&view) || view.failure.is_some();
        let rules = view.rules.into_iter().filter(|_| goes_on);
        held.extend(rules.map(|rule| Held { rule, session: Some(id.clone()) }));
    }
    Ok(held)
}

fn list(common: &Common, held: &[Held]) -> Outcome {
    if common.json {
        let rows = held.iter().map(|held| {
            json!({ "rule": held.rule.to_string(), "session": held.session.as_ref().map(SessionId::as_str) })
        });
        return say_json(&rows.collect::<Vec<_>>());
    }
    if held.is_empty() {
        return say("Nothing is allowed here without asking.");
    }
    for (place, held) in held.iter().enumerate() {
        say(format_args!("{:>3}. {}  {}", place + 1, safe::line(&held.rule.to_string()), held.scope()))?;
    }
    say("Revoke one with: rapport revoke NUMBER")
}

fn revoke(place: &Workspace, held: &Held) -> Outcome {
    match &held.session {
        None => {
            Grants::of(&place.home, &place.project).remove(&held.rule)?;
        }
        Some(id) => {
            sessions::act(place, id, &Act::Revoke { rule: held.rule.clone() })?;
        }
    }
    Ok(())
}

impl Held {
    fn scope(&self) -> String {
        match &self.session {
            None => "in every session of this project".into(),
            Some(id) => format!("in session {id}"),
        }
    }
}
