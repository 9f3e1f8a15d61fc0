//! The commands. They work at any time, even while a question waits for a text.

use rapport_core::message_queue::QueueChange;
use rapport_core::{Act, Aim, Focus, Session, SessionId, TermsChange, TurnCard, TurnCardKind};
use rapport_door::{Content, JointSessions};

use super::announcements::NEW_CONVERSATION;
use super::button::Button;
use super::card::{self, Card, Lately, Waiting};
use super::cards::CardKey;
use super::chat_state::ChatState;
use super::digest;
use super::effect::{AfterContent, Becomes, CHANGES, ContentForm, Effect, NewSession, SessionOp};
use super::incoming::Sender;
use super::messages::Visit;
use super::notes::{Guest, Notes};
use super::recent_work::send_file;
use super::shown_sessions::{Newest, ShownSession};
use super::step_effects::Effects;

/// All commands, as `/help` and the bot's menu list them.
pub const COMMANDS: [(&str, &str); 20] = [
    ("plan", "plan a task: /plan <task description>"),
    ("claude", "have the lead plan a task and start it: /claude <project> <task>"),
    ("status", "open questions, recent results, costs"),
    ("digest", "what the lead answered while you were away; overrule it"),
    (
        "queue",
        "how messages reach the working lead: /queue collect debounce:2s cap:25 drop:old, /queue default",
    ),
    ("stop", "stop the agent in this chat, and keep its conversation"),
    ("cancel", "end the newest planning or work in this chat"),
    ("diff", "the changes of the newest session in this chat"),
    ("revise", "have the newest work changed: /revise <what to change>"),
    ("log", "its log, as a file"),
    ("export", "the whole session in one file: answers, plan, result, log"),
    ("file", "a file of the project: /file <path>"),
    ("project", "the projects that I serve; choose the one for this chat"),
    ("always", "what agents may do without asking; revoke it"),
    ("quiet", "no sounds: /quiet 22:00-07:00, /quiet 2h, /quiet off"),
    ("new", "begin a new conversation"),
    ("allow", "let somebody answer for you here (in reply to them)"),
    ("deny", "no longer let them (in reply to them)"),
    ("help", "what I can do"),
    ("start", "what I can do, to begin with"),
];
const USAGE: &str = "Usage: /plan <task description>";
const GREETING: &str = "I plan tasks with you, let an agent carry them out, and bring its questions to you.";

impl ChatState {
    pub(super) fn on_command(&mut self, visit: Visit, name: &str, rest: &str, about: Option<Sender>) {
        match name {
            "plan" => return self.on_plan(visit, rest),
            "claude" => return self.on_lead_command(visit, rest),
            "digest" => return digest::on_command(&mut self.effects, &visit, rest, self.now),
            "cancel" => return self.on_cancel(visit),
            "stop" => return self.on_stop(visit),
            "new" => return self.on_new(visit),
            "diff" | "log" | "export" => return self.on_newest_content(&visit, name),
            "revise" => return self.on_revise(&visit, rest),
            "file" => return self.on_file(&visit, rest),
            "always" => return self.on_always(visit),
            "project" if rest.is_empty() => {
                let card = self.projects.card(&self.notes, &self.sessions, visit.room);
                self.effects.send_card(visit.room, &card);
            }
            "project" => self.projects.on_choice(&mut self.notes, &mut self.effects, &visit, rest),
            "quiet" => self.on_quiet(&visit, rest),
            "queue" => {
                let project = self.projects.in_room(&self.notes, visit.room);
                let chat = self.sessions.conversation(visit.room, project);
                return on_queue(chat, &self.notes, &mut self.effects, &visit, rest);
            }
            "start" | "help" => self.effects.send_card(visit.room, &greeting(GREETING)),
            "status" => self.on_status(&visit),
            "allow" => on_guest((&mut self.notes, &mut self.effects), &visit, about, rest, Guest::May),
            "deny" => on_guest((&mut self.notes, &mut self.effects), &visit, about, rest, Guest::MayNot),
            _ => {
                let name = card::short(name, 40);
                self.effects.say(visit.room, &format!("I do not know /{name}. /help lists the commands."));
            }
        }
        self.effects.finish(visit.ticket);
    }

    fn on_plan(&mut self, visit: Visit, task: &str) {
        if task.is_empty() {
            return self.effects.only_say(&visit, USAGE);
        }
        // After a kill, Telegram may deliver a command again that was already executed.
        if self.dedup.requests.contains(&visit.update) {
            return self.effects.finish(visit.ticket);
        }
        if let Some((_, shown)) = self.sessions.planning(visit.room)
            && !shown.allows(visit.sender.id, &self.notes)
        {
            return self
                .effects
                .only_say(&visit, "Somebody else is planning here. Please wait until they are done.");
        }
        let older = self.sessions.replaced(visit.room).into_iter().map(|(id, act)| SessionOp::Act(id, act));
        let project = self.projects.in_room(&self.notes, visit.room).path.clone();
        let new = NewSession::asked_by(&self.settings, &visit, task.to_owned(), Aim::Work, project);
        let ops = older.chain([SessionOp::Create(Box::new(new), None)]).collect();
        self.effects.type_for(visit.room);
        self.effects.carry_out(&visit, ops);
    }

    /// Cancels the sender's newest task in this room, or else the conversation's current turn.
    fn on_cancel(&mut self, visit: Visit) {
        let mut tasks: Vec<_> = self.sessions.tasks(visit.room).collect();
        tasks.sort_by_key(|(id, shown)| std::cmp::Reverse((shown.began, (*id).clone())));
        let project = self.projects.in_room(&self.notes, visit.room);
        let chat = self.sessions.conversation(visit.room, project);
        tasks.extend(chat.filter(|(_, shown)| shown.presenter.session().has_turn()));
        if tasks.is_empty() {
            return self.effects.only_say(&visit, "There is nothing to cancel here.");
        }
        let Some((id, _)) = tasks.into_iter().find(|(_, shown)| shown.allows(visit.sender.id, &self.notes))
        else {
            return self.effects.only_say(&visit, "Only whoever asked for this task can cancel it.");
        };
        let op = SessionOp::Act(id.clone(), Act::Cancel { reason: None });
        self.effects.carry_out(&visit, vec![op]);
    }

    /// Stops the newest working agent in this room, and keeps its conversation.
    fn on_stop(&mut self, visit: Visit) {
        let working = self.sessions.working(visit.room);
        if working.is_empty() {
            return self.effects.only_say(&visit, "No agent is working here.");
        }
        let may = |shown: &ShownSession| shown.allows(visit.sender.id, &self.notes);
        let Some((id, _)) = working.into_iter().find(|(_, shown)| may(shown)) else {
            return self.effects.only_say(&visit, "Only whoever asked for this can stop it.");
        };
        self.effects.carry_out(&visit, vec![SessionOp::Act(id.clone(), Act::Stop)]);
    }

    fn on_new(&mut self, visit: Visit) {
        let project = self.projects.in_room(&self.notes, visit.room);
        let Some((id, shown)) = self.sessions.conversation(visit.room, project) else {
            return self.effects.only_say(&visit, NEW_CONVERSATION);
        };
        if !shown.allows(visit.sender.id, &self.notes) {
            return self.effects.only_say(&visit, "Only whoever began this conversation can end it.");
        }
        self.effects.carry_out(&visit, vec![SessionOp::Act(id.clone(), Act::Cancel { reason: None })]);
    }

    /// Shows content of the newest session of this room, even if that session is over.
    fn on_newest_content(&mut self, visit: &Visit, name: &str) {
        let (room, ticket) = (visit.room, visit.ticket);
        let (id, task) = match self.sessions.newest_for(room, visit.sender.id, &self.notes) {
            Ok(Newest { id, task, .. }) => (id.clone(), task),
            Err(words) => return self.effects.only_say(visit, words),
        };
        let task = card::short(task, 200);
        let (content, form) = match name {
            "diff" => {
                let title = format!("Changes: {task}");
                (Content::Diff, ContentForm::Block { title, file: CHANGES })
            }
            "export" => {
                let file = format!("{}.md", JointSessions::split(&id).1);
                (Content::Export, ContentForm::File { caption: task, file })
            }
            _ => (Content::Log, ContentForm::File { caption: task, file: "log.jsonl".into() }),
        };
        let work = if form.is_changes() { self.works.tag_of(&id).cloned() } else { None };
        let then = AfterContent { room, ticket, form, work };
        self.effects.want(Effect::ReadContent { session: id, content, then });
    }

    /// Asks the agent of this room's newest work to change it.
    fn on_revise(&mut self, visit: &Visit, words: &str) {
        if words.is_empty() {
            return self.effects.only_say(visit, "Usage: /revise <what to change>");
        }
        match self.sessions.newest_for(visit.room, visit.sender.id, &self.notes) {
            Ok(newest) => self.works.on_revise(&mut self.effects, visit, &newest.id, words),
            Err(words) => self.effects.only_say(visit, words),
        }
    }

    /// Sends a file from the workplace of this room's newest session.
    fn on_file(&mut self, visit: &Visit, path: &str) {
        if path.is_empty() {
            return self.effects.only_say(visit, "Usage: /file <path from the project's root>");
        }
        let id = match self.sessions.newest_for(visit.room, visit.sender.id, &self.notes) {
            Ok(newest) => newest.id.clone(),
            Err(words) => return self.effects.only_say(visit, words),
        };
        send_file(&mut self.effects, id, path.to_owned(), visit.room, visit.ticket);
    }

    /// Lists the sender's open questions, the oldest first, with buttons that show them again.
    pub(super) fn on_status(&mut self, visit: &Visit) {
        let (room, user) = (visit.room, visit.sender.id);
        let (mut waiting, mut working) = (Vec::new(), Vec::new());
        // A group shows only its own sessions, because the sender's other sessions do not concern the other members.
        let is_shown = |shown: &ShownSession| room.chat > 0 || shown.room == room;
        let theirs =
            |(_, shown): &(_, &ShownSession)| shown.allows(visit.sender.id, &self.notes) && is_shown(shown);
        for (id, shown) in self.sessions.iter().filter(theirs) {
            let session = shown.presenter.session();
            for focus in shown.presenter.focus() {
                let Some(question) = waits_for(session, focus) else { continue };
                let key = CardKey::of(id, focus);
                let (task, since) =
                    (self.projects.titled(&self.notes, id, shown, room), self.now.duration_since(focus.at));
                let data = Button::Jump.data(&key.tag());
                waiting.push((key, Waiting { question, task, since, data }));
            }
            if shown.presenter.focus().is_empty() && (session.has_turn() || shown.presenter.is_thinking()) {
                working.push(self.projects.titled(&self.notes, id, shown, room));
            }
        }
        waiting.sort_by_key(|(_, one)| std::cmp::Reverse(one.since));
        let (keys, waiting): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
        for key in keys {
            // The button also works in this chat if the card is in another one.
            self.cards.know_tag(room.chat, &key);
        }
        let ended = self.recent.lately(&self.notes, user, self.now, |place| room.chat > 0 || place == room);
        let spent = (room.chat > 0).then(|| self.recent.spent(&self.sessions, &self.backlog, user, self.now));
        let lately = Lately { ended: &ended, now: self.now, spent, budget: self.settings.budget };
        let held_back = self.backlog.len(room.chat);
        self.effects.send_card(room, &card::waiting(&waiting, held_back, &working, &lately));
    }
}

/// A greeting, with a list of what the bot can do.
pub(super) fn greeting(words: &str) -> Card {
    Card::plain(card::help(words, &COMMANDS))
}

/// `/queue`: shows or sets how messages reach the agent of this room's conversation while it works (LEAD-5).
fn on_queue(
    chat: Option<(&SessionId, &ShownSession)>,
    notes: &Notes,
    effects: &mut Effects,
    visit: &Visit,
    rest: &str,
) {
    let Some((id, shown)) = chat.filter(|(_, shown)| !shown.presenter.session().is_over()) else {
        return effects
            .only_say(visit, "There is no conversation here yet. It begins with your next message.");
    };
    if !shown.allows(visit.sender.id, notes) {
        return effects.only_say(visit, "Only whoever began this conversation can set that.");
    }
    let (terms, at_start) = shown.presenter.session().queue_terms();
    if rest.trim().is_empty() {
        return effects.only_say(visit, &format!("Messages to the working agent: {terms}"));
    }
    match QueueChange::parse(rest, at_start) {
        Ok(change) => {
            let told = Becomes::Told(format!("👍 {change}"));
            let change = TermsChange { queue: Some(change), ..TermsChange::default() };
            let ops = vec![SessionOp::Act(id.clone(), Act::ChangeTerms { change })];
            effects.operate_for((visit.room, visit.sender.id), ops, None, visit.ticket, Some(told));
        }
        Err(error) => effects.only_say(visit, &error.to_string()),
    }
}

/// `/allow` and `/deny`: whether a guest may answer for the sender in this room.
fn on_guest(
    (notes, effects): (&mut Notes, &mut Effects),
    visit: &Visit,
    about: Option<Sender>,
    rest: &str,
    may: Guest,
) {
    let (room, sender) = (visit.room, &visit.sender);
    let by_id = rest.trim().parse().ok().map(|id| Sender { id, name: id.to_string() });
    let Some(guest) = about.or(by_id).filter(|guest| guest.id != sender.id) else {
        return effects.say(room, "Say /allow or /deny in reply to a message of theirs, or with their id.");
    };
    notes.guest(effects, room, sender.id, guest.id, may);
    let name = card::short(&guest.name, 60);
    let words = match may {
        Guest::May => format!("{name} may now answer for you in this chat. /deny revokes that."),
        Guest::MayNot => format!("{name} may no longer answer for you in this chat."),
    };
    effects.say(room, &words);
}

/// The text of an open card in the list of `/status`. The result of a run needs no answer, so it is not listed.
pub(super) fn waits_for(session: &Session, focus: &Focus) -> Option<String> {
    if let Some(card) = TurnCard::read(&focus.question) {
        return match card.kind {
            TurnCardKind::Result => None,
            TurnCardKind::Reply => {
                Some(format!("The agent replied in words to turn {}, and waits for your answer", card.folder))
            }
            TurnCardKind::Review | TurnCardKind::Differs | TurnCardKind::Paused => {
                Some(format!("The plan of turn {} waits for review", card.folder))
            }
        };
    }
    let round = session.rounds().find(|round| round.id == focus.round)?;
    let item = round.items.iter().find(|item| item.question.id == focus.question)?;
    Some(item.question.text.clone())
}
