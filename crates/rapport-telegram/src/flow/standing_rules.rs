//! The rules that allow tool calls without asking: `/always` lists them with their scope, and a tap revokes one.

use rapport_core::{Act, Rule, SessionId, display_text};
use rapport_door::DoorError;

use super::button::{Button, Tag};
use super::callbacks::Tap;
use super::card::{self, Card};
use super::chat_state::ChatState;
use super::effect::{AfterOps, AfterRules, Effect, Revoking, SessionOp, Thanks};
use super::messages::Visit;
use super::projects::Project;
use super::shown_sessions::ShownSession;
use super::step_effects::Effects;
use crate::room::Room;
use crate::text::Text;

/// The maximum number of rules to list.
const MOST: usize = 30;
const NOTHING: &str = "Agents ask before everything that needs a permission: no permanent permission exists.";

/// A rule and its scope, which is one session or every session of the project.
struct HeldRule {
    rule: Rule,
    session: Option<(SessionId, String)>,
    /// The name of the project, if the bot serves several.
    project: Option<String>,
}

impl HeldRule {
    fn tag(&self) -> Tag {
        let scope = self.session.as_ref().map(|(id, _)| id.as_str()).or(self.project.as_deref());
        Tag::rule(&self.rule, scope)
    }

    fn scope(&self) -> String {
        match &self.session {
            Some((_, task)) => format!("while this is worked on: {}", card::short(task, 60)),
            None => match &self.project {
                Some(name) => format!("in every session of {}", card::short(name, 60)),
                None => "in every session of the project".to_owned(),
            },
        }
    }
}

impl ChatState {
    pub(super) fn on_always(&mut self, visit: Visit) {
        let project = self.projects.in_room(&self.notes, visit.room).path.clone();
        self.effects.want(Effect::ReadRules { project, then: AfterRules::List(Box::new(visit)) });
    }

    /// Handles a tap on a rule in the list. The rules are read again, because they may have changed.
    pub(super) fn on_revoke(&mut self, tap: Tap, tag: Tag) {
        let Tap { room, by, query, message, ticket, .. } = tap;
        if !self.access.allows(by) {
            self.effects.answer_tap(query, "Only people who may use this bot can do that.");
            return self.effects.finish(ticket);
        }
        // Only the button revokes a rule; a typed label does not.
        let Some(query) = query else { return self.effects.finish(ticket) };
        let thanks = Thanks { query, words: "From now on you are asked again.".into() };
        let project = self.projects.in_room(&self.notes, room).clone();
        let others = self.projects.all().filter(|other| **other != project).cloned().collect();
        let revoking = Revoking { room, by, message, thanks, ticket, tag, project, others };
        look_in(&mut self.effects, revoking);
    }

    pub(super) fn on_rules(&mut self, then: AfterRules, rules: Result<Vec<Rule>, DoorError>) {
        let (rules, problem) = match rules {
            Ok(rules) => (rules, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        match then {
            AfterRules::List(visit) => {
                let project = self.projects.in_room(&self.notes, visit.room);
                let held = self.held(visit.room, visit.sender.id, (project, rules));
                self.effects.send_card(visit.room, &list(&held, problem.as_deref()));
                self.effects.finish(visit.ticket);
            }
            AfterRules::Revoke(mut revoking) => {
                let (room, by) = (revoking.room, revoking.by);
                let mut held = self.held(room, by, (&revoking.project, rules)).into_iter();
                let held = held.find(|held| held.tag() == revoking.tag);
                if held.is_none() && !revoking.others.is_empty() {
                    revoking.project = revoking.others.remove(0);
                    return look_in(&mut self.effects, *revoking);
                }
                let Revoking { message, thanks, ticket, project, .. } = *revoking;
                if let Some(message) = message {
                    self.effects.strip(room, message);
                }
                let Some(held) = held else {
                    self.effects.answer_tap(
                        thanks.query,
                        "That permission no longer exists. /always lists the current ones.",
                    );
                    return self.effects.finish(ticket);
                };
                match held.session {
                    Some((id, _)) => {
                        let ops = vec![SessionOp::Act(id, Act::Revoke { rule: held.rule })];
                        self.effects.operate((room, by), ops, Some(thanks), ticket);
                    }
                    None => {
                        let then = AfterOps::Request { room, ticket, thanks: Some(thanks), becomes: None };
                        let project = project.path;
                        self.effects.want(Effect::Forget { project, rule: held.rule, then });
                    }
                }
            }
        }
    }

    /// The rules that a person may see. A group shows only the rules of its own sessions, because the others do not
    /// concern its other members.
    fn held(&self, room: Room, user: u64, (project, rules): (&Project, Vec<Rule>)) -> Vec<HeldRule> {
        let name = self.projects.are_several().then(|| project.name.clone());
        let project = rules.into_iter().filter(|_| room.chat > 0);
        let project = project.map(|rule| HeldRule { rule, session: None, project: name.clone() });
        let is_shown = |shown: &ShownSession| room.chat > 0 || shown.room == room;
        let theirs =
            self.sessions.iter().filter(|(_, shown)| is_shown(shown) && shown.allows(user, &self.notes));
        let of_sessions = theirs.flat_map(|(id, shown)| {
            let session = shown.presenter.session();
            let held = |rule: &Rule| HeldRule {
                rule: rule.clone(),
                session: Some((id.clone(), session.created().task.clone())),
                project: None,
            };
            session.rules().iter().map(held).collect::<Vec<_>>()
        });
        project.chain(of_sessions).collect()
    }
}

/// Reads the rules of the project in which the tapped rule is looked for next.
fn look_in(effects: &mut Effects, revoking: Revoking) {
    let project = revoking.project.path.clone();
    effects.want(Effect::ReadRules { project, then: AfterRules::Revoke(Box::new(revoking)) });
}

fn list(held: &[HeldRule], problem: Option<&str>) -> Card {
    let mut text = Text::new();
    if let Some(problem) = problem {
        let problem = display_text::line(problem);
        text = text.plain(&format!("❌ The rules of the project cannot be read: {problem}\n\n"));
    }
    if held.is_empty() {
        return Card::plain(text.plain(NOTHING));
    }
    text = text.bold("Allowed without asking");
    for (number, one) in held.iter().take(MOST).enumerate() {
        let rule = card::short(&one.rule.to_string(), 300);
        text = text.plain(&format!("\n{}. ", number + 1)).code(&rule).plain(&format!("\n   {}", one.scope()));
    }
    if held.len() > MOST {
        text = text.plain(&format!("\nand {} more; see all of them with: rapport revoke", held.len() - MOST));
    }
    let button = |(number, one): (usize, &HeldRule)| {
        let label = format!("✖ {}. {}", number + 1, card::short(&one.rule.to_string(), 36));
        vec![(label, Button::Revoke.data(&one.tag()))]
    };
    Card { rows: held.iter().take(MOST).enumerate().map(button).collect(), ..Card::plain(text) }
}
