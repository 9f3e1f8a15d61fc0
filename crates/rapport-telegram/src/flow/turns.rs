//! Buttons on cards about turns. Reviewing a plan, approving a part of it, resuming a run and undoing it are acts in
//! the session, like answers.

use std::collections::BTreeSet;

use rapport_core::review::{Checks, Dependencies, Group, Selection, items};
use rapport_core::{
    Act, ActionPlan, Aim, By, FileTurn, Interrupted, LaterChanges, Session, SessionId, TurnCard,
    TurnCardKind, TurnPlan, display_text,
};
use rapport_door::{Content, DoorError};

use super::announcements::{outgoing, reply};
use super::button::{Button, Grave, ON_A_PAGE, Pick};
use super::callbacks::Tap;
use super::card;
use super::cards::CardKey;
use super::chat_state::ChatState;
use super::effect::{AfterContent, ContentForm, Effect, SessionOp};
use super::notes::Picks;
use super::shown_sessions::{ShownSession, ShownSessions};
use super::step_effects::Effects;
use super::unaddressed_texts::decide_with_words;
use crate::CHANNEL;
use crate::api::Document;
use crate::outgoing::Outgoing;
use crate::split::{self, Reply};
use crate::text::Text;

pub(super) fn plan_of(turn: &FileTurn) -> ActionPlan {
    turn.plan.as_ref().map_or_else(|| ActionPlan::unread(""), TurnPlan::shown)
}

/// Every item of a plan, in the order of its list.
pub(super) fn places(plan: &ActionPlan) -> Vec<(Group, usize)> {
    let of = |group: Group| (0..items(plan, group).len()).map(move |item| (group, item));
    Group::ALL.into_iter().flat_map(of).collect()
}

/// The chosen items as a selection to approve.
fn selection(plan: &ActionPlan, chosen: &BTreeSet<usize>) -> Selection {
    let mut checks = Checks::all(plan);
    for (place, (group, item)) in places(plan).into_iter().enumerate() {
        if !chosen.contains(&place) {
            checks.toggle(group, item);
        }
    }
    checks.selection(&Dependencies::of(plan))
}

impl ChatState {
    /// Handles a button of a card about a turn.
    pub(super) fn on_turn_tap(&mut self, tap: Tap, key: &CardKey, button: Button, card: &TurnCard) {
        let Some(turn) = self.sessions.turn(&key.session, &card.folder).cloned() else {
            return self.effects.finish(tap.ticket);
        };
        let plan = plan_of(&turn);
        let revision = turn.plan.as_ref().map_or(0, |plan| plan.revision);
        let folder = card.folder.clone();
        let batch = turn.batch().map(|batch| batch.name.clone()).unwrap_or_default();
        let approve = |selection: &Selection| Act::Approve {
            folder: folder.clone(),
            revision,
            chosen: selection.chosen(),
        };
        let go_on = |interrupted| Act::GoOn { batch: batch.clone(), interrupted };
        let undo = |later| Act::Undo { batch: batch.clone(), later };
        let is_sure = matches!(button, Button::Sure(_));
        let act = match button {
            Button::Approve => approve(&Selection::all(&plan)),
            Button::Run => {
                let chosen = self.notes.chosen(key, tap.seen.as_ref());
                if chosen.is_empty() {
                    return self
                        .effects
                        .only_answer(tap, "Nothing is selected. Select something, or skip the plan.");
                }
                approve(&selection(&plan, &chosen))
            }
            Button::Skip if card.kind == TurnCardKind::Reply => {
                Act::Skip { folder: folder.clone(), message: None }
            }
            Button::Skip => return ask_first(&mut self.effects, tap, key, Grave::Skip, &plan),
            Button::Undo => return ask_first(&mut self.effects, tap, key, Grave::Undo, &plan),
            Button::UndoRest => return ask_first(&mut self.effects, tap, key, Grave::UndoRest, &plan),
            Button::Sure(Grave::Skip) => Act::Skip { folder: folder.clone(), message: None },
            Button::GoOn if turn.batch().is_some_and(|batch| batch.unsure.is_some()) => {
                go_on(Interrupted::GoOn)
            }
            Button::GoOn | Button::Redo => go_on(Interrupted::Again),
            Button::Sure(Grave::Undo) => undo(LaterChanges::Refuse),
            Button::Sure(Grave::UndoRest) => undo(LaterChanges::Keep),
            Button::Accept => {
                Act::AcceptPlan { folder: folder.clone(), text: turn.differs.clone().unwrap_or_default() }
            }
            Button::Restore => Act::RestorePlan { folder: folder.clone() },
            Button::Words if card.kind == TurnCardKind::Review => {
                return decide_with_words(&mut self.effects, tap, &key.session, |text| Act::Skip {
                    folder,
                    message: Some(text),
                });
            }
            Button::Words if card.kind == TurnCardKind::Reply => {
                return decide_with_words(&mut self.effects, tap, &key.session, |text| {
                    answer_reply(folder, text)
                });
            }
            Button::Choose if card::turn::is_choosable(&plan) => {
                let all = (0..places(&plan).len()).collect();
                return self.choose_items(tap, key, Some(Picks { chosen: all, page: 0 }));
            }
            Button::Back => return self.choose_items(tap, key, None),
            Button::Pick(pick, _, item) => {
                let mut chosen = self.notes.chosen(key, tap.seen.as_ref());
                match pick {
                    Pick::TakeIn => drop(chosen.insert(item)),
                    Pick::LeaveOut => drop(chosen.remove(&item)),
                }
                return self.choose_items(tap, key, Some(Picks { chosen, page: item / ON_A_PAGE }));
            }
            Button::Page(page, _) if page * ON_A_PAGE < places(&plan).len() => {
                let chosen = self.notes.chosen(key, tap.seen.as_ref());
                return self.choose_items(tap, key, Some(Picks { chosen, page }));
            }
            Button::Preview(place) => {
                let Some((group, item)) = places(&plan).get(place).copied() else {
                    return self.effects.finish(tap.ticket);
                };
                let title = items(&plan, group).into_iter().nth(item);
                let title = title.map(|item| format!("{} {}", item.label, item.what)).unwrap_or_default();
                let content = Content::Preview { turn: folder.clone(), group, item };
                let form = ContentForm::Block { title, file: "preview.txt" };
                return self.effects.show_content(tap, &key.session, form, content);
            }
            Button::Report => {
                let content = Content::Attachment(format!("{folder}/report.md"));
                return self.effects.show_content(tap, &key.session, ContentForm::Markdown, content);
            }
            _ => return self.effects.only_answer(tap, "Please use the buttons of the latest card."),
        };
        if is_sure {
            return self.effects.act_and_strip(tap, &key.session, act);
        }
        let Tap { room, by, query, ticket, .. } = tap;
        self.effects.answer_tap(query, "");
        self.effects.operate((room, by), vec![SessionOp::Act(key.session.clone(), act)], None, ticket);
    }

    /// Shows a page of the list with these items selected, or the summary again.
    fn choose_items(&mut self, tap: Tap, key: &CardKey, list: Option<Picks>) {
        self.notes.picked(&mut self.effects, key, list);
        self.refresh_buttons(tap.room, key, tap.message);
        self.effects.only_answer(tap, "");
    }

    /// Sends content: as messages, or as a file if it is long.
    pub(super) fn on_content(&mut self, then: AfterContent, read: Result<Vec<u8>, DoorError>) {
        let AfterContent { room, ticket, form, work } = then;
        let (read, form) = match (read, form) {
            (Ok(bytes), ContentForm::File { caption, file }) if !bytes.is_empty() => {
                let (caption, entities) = Text::new().plain(&display_text::line(&caption)).finish();
                let thread = card::thread(room);
                let file = Document { name: file, bytes, caption, entities, thread, silent: false };
                self.effects.send(room, Outgoing::Document(file));
                return self.effects.finish(ticket);
            }
            (read, form) => (read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()), form),
        };
        let messages = match (read, form) {
            (Ok(text), form) if text.trim().is_empty() => {
                let none = if form.is_changes() { "No changes so far." } else { "It is empty." };
                outgoing(room, Reply::Messages(vec![Text::new().plain(none)]))
            }
            (Ok(text), ContentForm::Markdown) => reply(room, &text),
            (Ok(text), ContentForm::Block { title, file }) => {
                outgoing(room, shown_as_is(&title, &text, file))
            }
            (Ok(content), ContentForm::File { caption, file }) => {
                let caption = Text::new().plain(&display_text::line(&caption));
                outgoing(room, Reply::File { name: file, content, caption })
            }
            (Err(error), _) => {
                let words = format!("It cannot be shown now: {}", display_text::line(&error.to_string()));
                outgoing(room, Reply::Messages(vec![Text::new().plain(&words)]))
            }
        };
        self.effects.want(Effect::Send { chat: room.chat, messages, then: None });
        if let Some(tag) = work {
            let overlaps = self.works.overlaps(&self.notes, &tag);
            self.effects.send_card(room, &card::decision(&tag, &overlaps));
        }
        self.effects.finish(ticket);
    }
}

/// The act that answers a reply in words.
pub(super) fn answer_reply(folder: String, text: String) -> Act {
    Act::AnswerReply { folder, text, asking: None, is_size_agreed: false }
}

/// Asks for a confirmation of an irreversible act.
fn ask_first(effects: &mut Effects, tap: Tap, key: &CardKey, grave: Grave, plan: &ActionPlan) {
    effects.send_card(tap.room, &card::sure(grave, &plan.title, &key.tag()));
    effects.only_answer(tap, "");
}

/// Releases an idle session of turns, so that a person at a terminal can continue it.
pub(super) fn release_at_rest(sessions: &ShownSessions, effects: &mut Effects, id: &SessionId) {
    // Sessions with other aims are never released here. This check is first, because making a view of each of them
    // after every tap would take time.
    let is_in_turns = |shown: &&ShownSession| shown.presenter.session().created().aim == Aim::Files;
    let Some(shown) = sessions.get(id).filter(is_in_turns) else { return };
    let view = shown.presenter.session().view(id);
    if view.is_settled() && view.questions.is_empty() {
        effects.want(Effect::Release(id.clone()));
    }
}

/// A text as a block, with its title. Markup in them is not interpreted, because file names may come from anyone.
fn shown_as_is(title: &str, text: &str, file: &str) -> Reply {
    let text = display_text::lines(text);
    let block = Text::new().bold(&display_text::line(title)).plain("\n\n").pre(None, &text);
    split::pieces(&block, file.into(), &text)
}

/// Whether the last act in a session of turns came from Telegram. If so, this process resumes the session after a
/// restart.
pub(super) fn is_ours(session: &Session, entries: &[rapport_core::Entry]) -> bool {
    use rapport_core::Event;
    let is_here = |by: &By| matches!(by, By::Person { channel, .. } if channel == CHANNEL);
    let facts = entries.iter().flat_map(|entry| &entry.facts).rev();
    let last = facts.into_iter().find_map(|fact| match fact {
        Event::Approved { by, .. }
        | Event::BatchResumed { by, .. }
        | Event::UndoStarted { by, .. }
        | Event::Skipped { by, .. }
        | Event::ReplyAnswered { by, .. }
        | Event::ReplySkipped { by, .. }
        | Event::PlanAccepted { by, .. }
        | Event::PlanRestored { by, .. } => Some(is_here(by)),
        // A plan that is made again follows from what was decided before.
        Event::PlanStarted { origin: Some(origin), .. } if origin.is_replan => None,
        Event::PlanStarted { .. } | Event::ReviewStarted { .. } => Some(false),
        _ => None,
    });
    session.created().aim == Aim::Files && last == Some(true)
}
