//! `rapport revoke`: lists the rules by which agents are allowed or answered without a person, and revokes them.

use rapport_core::{Act, EarlierAnswer, Rule, SessionId};
use serde_json::json;

use super::output::{say, say_json};
use super::{Common, screen, sessions};
use crate::channels::terminal::terminal_text;
use crate::error::{Code, Failure, Outcome};
use crate::projects::earlier_answers::AnswerRules;
use crate::projects::grants::Grants;
use crate::wiring::Workspace;

/// Show what agents may do here without asking, and what they are always answered; or revoke it
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

/// Something that needs no person, and its scope.
enum Held {
    /// A rule that allows calls, in a session or, without one, in the whole project.
    Allowed { rule: Rule, session: Option<SessionId> },
    /// A question of agents that is always answered so, in the whole project.
    Answered(EarlierAnswer),
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let held = all(&place)?;
    let Some(named) = &args.rule else { return list(common, &held) };
    let chosen: Vec<&Held> = match named.parse::<usize>() {
        Ok(number) => number.checked_sub(1).and_then(|place| held.get(place)).into_iter().collect(),
        Err(_) => {
            let rule = Rule::typed(named);
            held.iter().filter(|held| rule.as_ref().is_some_and(|rule| held.is_rule(rule))).collect()
        }
    };
    if chosen.is_empty() {
        return Err(Failure::new(Code::NotFound, format!("{named} is not allowed here"))
            .hint("See what is allowed with: rapport revoke"));
    }
    for held in &chosen {
        revoke(&place, held)?;
        if !common.json {
            say(held.revoked())?;
        }
    }
    if common.json { say_json(&json!({ "revoked": chosen.len() })) } else { Ok(()) }
}

fn all(place: &Workspace) -> Result<Vec<Held>, Failure> {
    let project = Grants::of(&place.home, &place.project).list()?;
    let mut held: Vec<Held> =
        project.into_iter().map(|grant| Held::Allowed { rule: grant.rule, session: None }).collect();
    held.extend(AnswerRules::of(&place.home, &place.project).list()?.into_iter().map(Held::Answered));
    let store = place.store();
    for id in store.list()? {
        // A damaged log must not prevent revoking a rule of another session.
        let Ok(view) = sessions::view(&store, &id) else { continue };
        let goes_on = !screen::is_over(&view) || view.failure.is_some();
        let rules = view.rules.into_iter().filter(|_| goes_on);
        held.extend(rules.map(|rule| Held::Allowed { rule, session: Some(id.clone()) }));
    }
    Ok(held)
}

fn list(common: &Common, held: &[Held]) -> Outcome {
    if common.json {
        let rows = held.iter().map(|held| match held {
            Held::Allowed { rule, session } => {
                json!({ "rule": rule.to_string(), "session": session.as_ref().map(SessionId::as_str) })
            }
            Held::Answered(rule) => json!({ "question": rule.text, "answer": rule.answer, "by": rule.by,
                "at": rule.at, "from": rule.session }),
        });
        return say_json(&rows.collect::<Vec<_>>());
    }
    if held.is_empty() {
        return say("Nothing is allowed here without asking.");
    }
    for (place, held) in held.iter().enumerate() {
        say(format_args!("{:>3}. {}  {}", place + 1, held.name(), held.scope()))?;
    }
    say("Revoke one with: rapport revoke NUMBER")
}

fn revoke(place: &Workspace, held: &Held) -> Outcome {
    match held {
        Held::Allowed { rule, session: None } => {
            Grants::of(&place.home, &place.project).remove(rule)?;
        }
        Held::Allowed { rule, session: Some(id) } => {
            sessions::act(place, id, &Act::Revoke { rule: rule.clone() })?;
        }
        Held::Answered(rule) => {
            AnswerRules::of(&place.home, &place.project).remove(&rule.text)?;
        }
    }
    Ok(())
}

impl Held {
    fn is_rule(&self, other: &Rule) -> bool {
        matches!(self, Held::Allowed { rule, .. } if rule == other)
    }

    /// The rule in one line that is safe to show.
    fn name(&self) -> String {
        match self {
            Held::Allowed { rule, .. } => terminal_text::line(&rule.to_string()),
            Held::Answered(rule) => {
                let words: Vec<_> = rule.answer.values.iter().chain(&rule.answer.text).cloned().collect();
                terminal_text::line(&format!("\"{}\" is answered {}", rule.text, words.join(", ")))
            }
        }
    }

    fn scope(&self) -> String {
        match self {
            Held::Allowed { session: Some(id), .. } => format!("in session {id}"),
            Held::Allowed { session: None, .. } | Held::Answered(_) => {
                "in every session of this project".into()
            }
        }
    }

    fn revoked(&self) -> String {
        match self {
            Held::Allowed { .. } => format!("{} is no longer allowed {}.", self.name(), self.scope()),
            Held::Answered(rule) => {
                format!("\"{}\" is asked again from now on.", terminal_text::line(&rule.text))
            }
        }
    }
}
