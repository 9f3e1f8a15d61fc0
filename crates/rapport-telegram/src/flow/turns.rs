//! Turns of sessions of files: which of them is in front of the person, and what its buttons do. Reviewing a plan, choosing of
//! it, running, going on, undoing are acts of the session like any answer.

use std::collections::BTreeSet;

use frankenstein::types::InlineKeyboardMarkup;
use futures_util::StreamExt as _;
use rapport_core::review::{Checks, Dependencies, Group, Selection, items};
use rapport_core::{
    Act, ActionPlan, Aim, By, FileTurn, Interrupted, LaterChanges, Session, SessionId, TurnCard, fenced,
};
use rapport_door::{Content, DoorError, Sessions};

use super::announce::reply;
use super::button::{self, Button};
use super::callbacks::Tap;
use super::chat_state::{CardKey, ChatState, person};
use super::messages::finished;
use super::outbound::SessionOp;
use crate::CHANNEL;
use crate::outgoing::Outgoing;

/// The plan of a turn.
pub(super) fn plan_of(turn: &FileTurn) -> ActionPlan {
    let text = turn.plan.as_ref().map_or("", |plan| plan.text.as_str());
    ActionPlan::parse(text).unwrap_or_else(|_| ActionPlan::unread(text))
}

/// Every item of a plan, in the order of its list.
pub(super) fn places(plan: &ActionPlan) -> Vec<(Group, usize)> {
    let of = |group: Group| (0..items(plan, group).len()).map(move |item| (group, item));
    Group::ALL.into_iter().flat_map(of).collect()
}

/// What is chosen, as an approval.
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
    /// A button of a card about a turn.
    pub(super) fn press_turn(&mut self, tap: Tap, key: &CardKey, button: Button, card: &TurnCard) {
        let Some(turn) = self.turn(&key.session, &card.folder) else { return finished(tap.done) };
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
        let act = match button {
            Button::Approve => approve(&Selection::all(&plan)),
            Button::Run => {
                let chosen = self.chosen_items(key, &plan, tap.seen.as_ref());
                if chosen.is_empty() {
                    return self.only_toast(tap, "Nothing is chosen. Choose something, or skip the plan.");
                }
                approve(&selection(&plan, &chosen))
            }
            Button::Skip => Act::Skip { folder: folder.clone(), message: None },
            Button::GoOn if turn.batch().is_some_and(|batch| batch.unsure.is_some()) => {
                go_on(Interrupted::GoOn)
            }
            Button::GoOn | Button::Redo => go_on(Interrupted::Again),
            Button::Undo => undo(LaterChanges::Refuse),
            Button::UndoRest => undo(LaterChanges::Keep),
            Button::Accept => {
                Act::AcceptPlan { folder: folder.clone(), text: turn.differs.clone().unwrap_or_default() }
            }
            Button::Restore => Act::RestorePlan { folder: folder.clone() },
            Button::Choose => {
                let all = (0..places(&plan).len()).collect();
                return self.choose_items(tap, key, Some(all));
            }
            Button::Back => return self.choose_items(tap, key, None),
            Button::Toggle(_, item) => {
                let mut chosen = self.chosen_items(key, &plan, tap.seen.as_ref());
                if !chosen.remove(&item) {
                    chosen.insert(item);
                }
                return self.choose_items(tap, key, Some(chosen));
            }
            Button::Preview(place) => {
                let what = places(&plan).get(place).copied();
                let title = what.and_then(|(group, item)| items(&plan, group).into_iter().nth(item));
                let title = title.map(|item| format!("{} {}", item.label, item.what)).unwrap_or_default();
                let content =
                    what.map(|(group, item)| Content::Preview { turn: folder.clone(), group, item });
                return self.send_content(tap, &key.session, &title, content);
            }
            Button::Report => {
                let content = Content::Attachment(format!("{folder}/report.md"));
                return self.send_content(tap, &key.session, "Report", Some(content));
            }
            _ => return self.only_toast(tap, "Please use the buttons of the latest card."),
        };
        let Tap { room, by, query, done, .. } = tap;
        self.toast(query, "");
        self.outbound.carry_out(room, person(by), vec![SessionOp::Act(key.session.clone(), act)], None, done);
    }

    fn turn(&self, id: &SessionId, folder: &str) -> Option<FileTurn> {
        self.sessions.get(id)?.presenter.session().file_turn(folder).cloned()
    }

    /// Shows the list with these items chosen, or the summary again.
    fn choose_items(&mut self, tap: Tap, key: &CardKey, chosen: Option<BTreeSet<usize>>) {
        if let Some(shown) = self.sessions.get_mut(&key.session) {
            match chosen {
                Some(chosen) => drop(shown.chosen.insert(key.clone(), chosen)),
                None => drop(shown.chosen.remove(key)),
            }
        }
        if let (Some((_, card)), Some(message)) = (self.card(key), tap.message) {
            let buttons = Outgoing::Buttons { message, keyboard: card.keyboard() };
            drop(self.outbound.outbox.send(tap.room.chat, buttons));
        }
        self.only_toast(tap, "");
    }

    /// The items chosen so far. After a restart only the buttons themselves know.
    fn chosen_items(
        &self,
        key: &CardKey,
        plan: &ActionPlan,
        seen: Option<&InlineKeyboardMarkup>,
    ) -> BTreeSet<usize> {
        let known = self.sessions.get(&key.session).and_then(|shown| shown.chosen.get(key));
        if let Some(chosen) = known {
            return chosen.clone();
        }
        let mut all: BTreeSet<_> = (0..places(plan).len()).collect();
        let buttons = seen.into_iter().flat_map(|keyboard| keyboard.inline_keyboard.iter().flatten());
        for shown in buttons.filter(|shown| shown.text.starts_with('☐')) {
            let pressed = shown.callback_data.as_deref().and_then(button::read);
            if let Some(Button::Toggle(_, item)) = pressed.map(|press| press.button) {
                all.remove(&item);
            }
        }
        all
    }

    /// Sends something that belongs to a session: as messages, or as a file where it is long.
    fn send_content(&mut self, tap: Tap, id: &SessionId, title: &str, content: Option<Content>) {
        let Tap { room, query, done, .. } = tap;
        let Some(content) = content else { return finished(done) };
        self.toast(query, "");
        let (outbound, id, title) = (self.outbound.clone(), id.clone(), title.to_owned());
        tokio::spawn(async move {
            let shown = match read(&*outbound.sessions, &id, content.clone()).await {
                Ok(text) => text,
                Err(error) => format!("It cannot be shown now: {error}"),
            };
            let markdown = match content {
                Content::Preview { .. } => format!("**{title}**\n\n{}", fenced(shown.trim_end(), "")),
                Content::Log | Content::Attachment(_) => shown,
            };
            for message in reply(room, &markdown) {
                drop(outbound.outbox.send(room.chat, message));
            }
            finished(done);
        });
    }

    /// A session of files that rests is nobody's: whoever sits at a terminal may go on with it.
    pub(super) fn release_at_rest(&self, id: &SessionId) {
        let Some(shown) = self.sessions.get(id) else { return };
        let view = shown.presenter.session().view(id);
        if view.aim == Aim::Files && view.is_settled() && view.questions.is_empty() {
            let (sessions, id) = (self.outbound.sessions.clone(), id.clone());
            tokio::spawn(async move { sessions.release(&id).await });
        }
    }
}

async fn read(sessions: &dyn Sessions, id: &SessionId, content: Content) -> Result<String, DoorError> {
    let mut pieces = sessions.read(id, content).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend(piece?);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether somebody here had something done in a session of files that is not over yet: then it goes on here.
pub(super) fn is_ours(session: &Session, entries: &[rapport_core::Entry]) -> bool {
    use rapport_core::Event;
    let is_here = |by: &By| matches!(by, By::Person { channel, .. } if channel == CHANNEL);
    let facts = entries.iter().flat_map(|entry| &entry.facts).rev();
    let last = facts.into_iter().find_map(|fact| match fact {
        Event::Approved { by, .. }
        | Event::BatchResumed { by, .. }
        | Event::UndoStarted { by, .. }
        | Event::Skipped { by, .. }
        | Event::PlanAccepted { by, .. }
        | Event::PlanRestored { by, .. } => Some(is_here(by)),
        Event::DraftStarted { .. } | Event::ReviewStarted { .. } => Some(false),
        _ => None,
    });
    session.created().aim == Aim::Files && last == Some(true)
}
