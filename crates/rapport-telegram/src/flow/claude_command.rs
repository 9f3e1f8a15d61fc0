//! `/claude`: starts and steers sessions. A new task goes to the lead of the room, which plans it with the person first;
//! everything else is done directly (LEAD-22, LEAD-25).

use std::collections::BTreeSet;

use rapport_core::{Act, Aim, PlannedAction, PlanningRequest, SessionId, Status, quick_task};
use rapport_door::{JointSessions, KnownProject};

use super::card::{self, Card};
use super::chat_state::{ChatState, person};
use super::digest;
use super::effect::{
    AfterProjects, Becomes, Effect, NewSession, ProjectsReply, ProjectsRequest, SessionOp, SessionStart,
};
use super::leads::Leads;
use super::messages::Visit;
use super::projects::Project;
use super::shown_sessions::ShownSession;
use super::step_effects::Effects;
use crate::text::Text;

/// The maximum number of sessions or projects to list.
const MOST: usize = 30;
/// The maximum length of a task in a reply.
const LONGEST_TASK: usize = 200;
/// The reply if a task cannot be planned.
const NO_LEAD: &str = "No lead can plan this here: telegram.lead is off, or this build of Rapport has no \
     tools for leads. /claude PROJECT TASK --quick begins at once, and /plan asks you questions first.";
const SOMEBODY_ELSES: &str =
    "This conversation is somebody else's. They can let you in: /allow in reply to a message of yours.";

/// What `/claude` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClaudeCommand {
    /// Anything that is none of the others.
    Help,
    /// The state of all sessions, or of one.
    Status(Option<String>),
    List,
    Projects,
    Cancel {
        session: String,
    },
    Say {
        session: String,
        text: String,
    },
    /// Lets a session go on, with a new task if one is given.
    Resume {
        session: String,
        task: String,
        is_quick: bool,
    },
    Register {
        name: String,
        path: String,
    },
    Unregister {
        name: String,
    },
    /// Explores a project again.
    Refresh {
        project: String,
    },
    Start(TaskWish),
}

/// A task that a person wants done in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskWish {
    pub(super) project: String,
    pub(super) task: String,
    /// Whether the agent works in a git worktree.
    pub(super) worktree: bool,
    /// Whether it begins without planning.
    pub(super) is_quick: bool,
    /// Whether the project is explored again first.
    pub(super) refresh: bool,
}

const USAGE: &str = "\
/claude PROJECT TASK — plan a task with the lead, then have an agent do it
   @worktree before the task: in a git worktree
   --quick: begin at once, without planning
   --refresh: explore the project again first (needs no task)
/claude status [SESSION] — how the sessions are
/claude list — the sessions, with their names
/claude say SESSION WORDS — tell an agent something
/claude resume SESSION [TASK] — let a session go on
/claude cancel SESSION — end a session
/claude projects — the projects
/claude register NAME PATH, /claude unregister NAME — make a project known, or forget it

A session is named by its name, or by a part that fits only one.";

/// The usage of the command.
pub(super) fn help() -> Card {
    Card::plain(Text::new().plain(USAGE))
}

impl ClaudeCommand {
    /// Reads what follows the command.
    pub(super) fn read(rest: &str) -> Self {
        let (mut rest, is_quick) = without_flag(rest, "--quick");
        let refresh;
        (rest, refresh) = without_flag(&rest, "--refresh");
        let (first, after) = split(&rest);
        let (second, last) = split(after);
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let command = match first.to_lowercase().as_str() {
            "status" => Some(Self::Status(named(second))),
            "list" if second.is_empty() => Some(Self::List),
            "projects" if second.is_empty() => Some(Self::Projects),
            "cancel" => named(second).map(|session| Self::Cancel { session }),
            "say" if !last.is_empty() => Some(Self::Say { session: second.into(), text: last.into() }),
            "resume" => named(second).map(|session| Self::Resume { session, task: unquoted(last), is_quick }),
            "register" if !last.is_empty() => {
                Some(Self::Register { name: second.into(), path: unquoted(last) })
            }
            "unregister" => named(second).map(|name| Self::Unregister { name }),
            "" | "help" | "list" | "projects" | "say" | "register" => None,
            _ => Self::start(first, after, is_quick, refresh),
        };
        command.unwrap_or(Self::Help)
    }

    fn start(project: &str, after: &str, is_quick: bool, refresh: bool) -> Option<Self> {
        let (worktree, task) = match split(after) {
            ("@worktree", task) => (true, task),
            // No other kind of workplace can be planned.
            (other, _) if other.starts_with('@') => return None,
            _ => (false, after),
        };
        let (project, task) = (project.to_owned(), unquoted(task));
        match task.is_empty() {
            true => (refresh && !worktree).then_some(Self::Refresh { project }),
            false => Some(Self::Start(TaskWish { project, task, worktree, is_quick, refresh })),
        }
    }
}

/// The first word, and what follows it.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim_start())
}

/// The text without this flag, which may stand anywhere, and whether it was there. Phones turn two hyphens into a dash.
fn without_flag(text: &str, flag: &str) -> (String, bool) {
    let dashed = flag.replace("--", "—");
    let is_flag = |word: &str| word == flag || word == dashed;
    let Some(found) = text.split_whitespace().find(|word| is_flag(word)) else {
        return (text.to_owned(), false);
    };
    let start = found.as_ptr() as usize - text.as_ptr() as usize;
    let (before, after) = (&text[..start], &text[start + found.len()..]);
    (format!("{}{}", before, after.strip_prefix(' ').unwrap_or(after)).trim().to_owned(), true)
}

/// A text without the quotation marks around it.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = text.strip_prefix(['"', '“']).and_then(|text| text.strip_suffix(['"', '”']));
    inner.filter(|inner| !inner.contains(['"', '“', '”'])).unwrap_or(text).trim().to_owned()
}

impl ChatState {
    /// `/claude`, by a person with access.
    pub(super) fn on_lead_command(&mut self, visit: Visit, rest: &str) {
        let room = visit.room;
        match ClaudeCommand::read(rest) {
            ClaudeCommand::Help => self.effects.send_card(room, &help()),
            ClaudeCommand::Status(None) => self.on_status(&visit),
            ClaudeCommand::Status(Some(named)) => {
                let words = find(self, &visit, &named).map(|id| state_of(self, &id));
                self.effects.say(room, &words.unwrap_or_else(|words| words));
            }
            ClaudeCommand::List => self.effects.send_card(room, &list(self, &visit)),
            ClaudeCommand::Start(wish) => return on_start(self, &visit, wish),
            ClaudeCommand::Cancel { session } => {
                return on_act(self, &visit, &session, Act::Cancel { reason: None });
            }
            ClaudeCommand::Say { session, text } => {
                let say = Act::Say { text, id: Some(visit.update.clone()) };
                return on_act(self, &visit, &session, say);
            }
            ClaudeCommand::Resume { session, task, is_quick } => {
                return on_resume(self, &visit, &session, task, is_quick);
            }
            ClaudeCommand::Refresh { project } => match self.projects.called(&project) {
                Some(found) => {
                    let request = ProjectsRequest::Explore(found.path.clone());
                    self.effects.type_for(room);
                    return ask_projects(&mut self.effects, &visit, request);
                }
                None => self.effects.say(room, &self.projects.not_served(&project)),
            },
            ClaudeCommand::Projects => {
                return ask_projects(&mut self.effects, &visit, ProjectsRequest::List);
            }
            ClaudeCommand::Register { name, path } => {
                let request = ProjectsRequest::Register { name, path };
                return ask_projects(&mut self.effects, &visit, request);
            }
            ClaudeCommand::Unregister { name } => {
                return ask_projects(&mut self.effects, &visit, ProjectsRequest::Unregister(name));
            }
        }
        self.effects.finish(visit.ticket);
    }
}

fn ask_projects(effects: &mut Effects, visit: &Visit, request: ProjectsRequest) {
    let then = AfterProjects { room: visit.room, ticket: Some(visit.ticket) };
    effects.want(Effect::AskProjects { by: person(visit.sender.id), request, then });
}

/// Shows the reply to a request about projects.
pub(super) fn on_projects_reply(
    effects: &mut Effects,
    then: AfterProjects,
    reply: Result<ProjectsReply, String>,
) {
    let AfterProjects { room, ticket } = then;
    match reply {
        Ok(ProjectsReply::Listed(all)) => effects.send_card(room, &known(&all)),
        Ok(ProjectsReply::Explored(loaded)) => {
            let title = format!("🔎 {} is explored:\n", card::short(&loaded.context.name, LONGEST_TASK));
            let lines = loaded.context.bullets().into_iter().chain(loaded.remarks);
            let line = |text: Text, line: String| text.plain(&format!("\n• {}", card::short(&line, 300)));
            effects.send_card(room, &Card::plain(lines.take(MOST).fold(Text::new().plain(&title), line)));
        }
        Ok(ProjectsReply::Registered(loaded)) => {
            let text = Text::new().plain("📌 I know ").bold(&card::short(&loaded.context.name, LONGEST_TASK));
            let text = text.plain(" now: ").code(&card::short(&loaded.context.path, 300));
            let next = "\nTo have its sessions here, name it when you start the bot: rapport serve PROJECT";
            effects.send_card(room, &Card::plain(text.plain(next)));
        }
        Ok(ProjectsReply::Unregistered(name)) => {
            let name = card::short(&name, LONGEST_TASK);
            effects.say(
                room,
                &format!("I have forgotten what was known about {name}. Its files are as they were."),
            );
        }
        Ok(ProjectsReply::Proposed(project, proposed)) => {
            if let Some((id, text)) = proposed {
                effects.send_card(room, &digest::proposal(&project, &id, &text));
            }
        }
        Ok(ProjectsReply::Decided { text: Some(text), keeps }) => {
            let what = if keeps { "📌 Kept" } else { "✖ Not kept" };
            effects.say(room, &format!("{what}: {}", card::short(&text, 400)));
        }
        Ok(ProjectsReply::Decided { text: None, .. }) => {
            effects.say(room, "That was decided before, or is gone.");
        }
        Err(why) => effects.say(room, &format!("❌ {}", card::short(&why, 600))),
    }
    if let Some(ticket) = ticket {
        effects.finish(ticket);
    }
}

/// The known projects.
fn known(all: &[KnownProject]) -> Card {
    if all.is_empty() {
        let words = "No project is known yet. /claude PROJECT --refresh explores one that I serve.";
        return Card::plain(Text::new().plain(words));
    }
    let line = |text: Text, project: &KnownProject| {
        let state = match (&project.problem, project.is_missing, &project.stale) {
            (Some(problem), _, _) => format!(" (cannot be read: {})", card::short(problem, 200)),
            (None, true, _) => " (its directory is gone)".to_owned(),
            (None, false, Some(stale)) => format!(" ({stale})"),
            (None, false, None) => String::new(),
        };
        let text = text.plain("\n• ").bold(&card::short(&project.name, 60)).plain(" ");
        text.code(&card::short(&project.path, 200)).plain(&state)
    };
    Card::plain(all.iter().take(MOST).fold(Text::new().bold("Known projects"), line))
}

/// The sessions that the sender may steer here: those that are not over, and those that ended lately. Conversations are
/// not among them.
fn steerable<'a>(state: &'a ChatState, visit: &Visit) -> BTreeSet<&'a SessionId> {
    // A group shows only its own sessions.
    let (room, user) = (visit.room, visit.sender.id);
    let is_here = move |place: crate::room::Room| room.chat > 0 || place == room;
    let is_theirs = |shown: &ShownSession| {
        shown.allows(user, &state.notes)
            && is_here(shown.room)
            && shown.presenter.session().created().aim != Aim::Chat
    };
    let shown = state.sessions.iter().filter(|(_, shown)| is_theirs(shown)).map(|(id, _)| id);
    shown.chain(state.recent.ids(&state.notes, user, is_here)).collect()
}

/// The session that a person names by its name, or by a part of it that fits only one. If there is none, the error says
/// so.
fn find(state: &ChatState, visit: &Visit, named: &str) -> Result<SessionId, String> {
    let all = steerable(state, visit);
    let own = |id: &SessionId| JointSessions::split(id).1.to_owned();
    if let Some(id) = all.iter().find(|id| id.as_str() == named || own(id) == named) {
        return Ok((*id).clone());
    }
    let alike: Vec<_> = all.into_iter().filter(|id| id.as_str().contains(named)).collect();
    match &alike[..] {
        [id] => Ok((*id).clone()),
        [] => Err(format!("There is no session {} here. /claude list names them.", card::short(named, 100))),
        several => {
            let names: Vec<_> = several.iter().take(MOST).map(|id| own(id)).collect();
            Err(format!("{} fits several: {}", card::short(named, 100), names.join(", ")))
        }
    }
}

/// The status of a session in words.
fn status(status: Status) -> &'static str {
    match status {
        Status::Started => "starting",
        Status::Running => "at work",
        Status::NeedsInput => "waits for an answer",
        Status::Idle => "rests",
        Status::Completed => "done",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
    }
}

/// One session in a few lines.
fn state_of(state: &ChatState, id: &SessionId) -> String {
    let name = JointSessions::split(id).1;
    let Some(shown) = state.sessions.get(id) else {
        return format!("{name} has ended. /log and /export show the newest session of this chat.");
    };
    let session = shown.presenter.session();
    let view = session.view(id);
    let task = card::short(card::title(session.created()), LONGEST_TASK);
    let doing = session.last_doing().map(|doing| session.seen_from(id).activity(doing));
    let doing = doing.map(|doing| format!("\n⚙️ {}", card::short(&doing, LONGEST_TASK)));
    let asks = view.questions.iter().map(|open| format!("\n❓ {}", card::short(&open.text, LONGEST_TASK)));
    let cost = card::cost(view.usage.cost_micros);
    format!(
        "{name}: {}, {cost}\n{task}{}{}",
        status(view.status),
        doing.unwrap_or_default(),
        asks.collect::<String>()
    )
}

/// The sessions with their names, the newest at the end.
fn list(state: &ChatState, visit: &Visit) -> Card {
    let all = steerable(state, visit);
    if all.is_empty() {
        return Card::plain(
            Text::new().plain("There are no sessions here. /claude PROJECT TASK begins one."),
        );
    }
    let line = |text: Text, id: &&SessionId| {
        let text = text.plain("\n• ").code(JointSessions::split(id).1);
        match state.sessions.get(id).map(|shown| shown.presenter.session()) {
            Some(session) => {
                let task = card::short(card::title(session.created()), LONGEST_TASK / 2);
                text.plain(&format!(" ({}) {task}", status(session.status())))
            }
            None => text.plain(" (ended)"),
        }
    };
    let left_out = all.len().saturating_sub(MOST);
    let mut text = Text::new().bold("Sessions");
    if left_out > 0 {
        text = text.plain(&format!("\n{left_out} older ones are left out."));
    }
    Card::plain(all.iter().skip(left_out).fold(text, line))
}

/// Acts in the session that a person names.
fn on_act(state: &mut ChatState, visit: &Visit, named: &str, act: Act) {
    match find(state, visit, named) {
        Ok(id) => state.effects.carry_out(visit, vec![visit.op(&id, act)]),
        Err(words) => state.effects.only_say(visit, &words),
    }
}

/// Lets a session go on. A new task goes through planning, if the lead of this room leads that session.
fn on_resume(state: &mut ChatState, visit: &Visit, named: &str, task: String, is_quick: bool) {
    let id = match find(state, visit, named) {
        Ok(id) => id,
        Err(words) => return state.effects.only_say(visit, &words),
    };
    let session = state.sessions.get(&id).map(|shown| shown.presenter.session());
    if task.is_empty() {
        let Some(session) = session else {
            let words = format!("It has ended. Say what to do: /claude resume {named} TASK");
            return state.effects.only_say(visit, &words);
        };
        if session.is_failed() || session.is_stopped() {
            return state.effects.carry_out(visit, vec![SessionOp::Act(id, Act::Restart)]);
        }
        state.effects.want(Effect::Resume(id.clone()));
        let words = state_of(state, &id);
        return state.effects.only_say(visit, &words);
    }
    let project = state.projects.of(&id).clone();
    let lead = Leads::here(&state.sessions, visit.room, &project);
    let led_by = session.and_then(|session| session.created().lead.clone());
    if is_quick || lead.is_none() || lead != led_by {
        let say = Act::Say { text: task, id: Some(visit.update.clone()) };
        return state.effects.carry_out(visit, vec![visit.op(&id, say)]);
    }
    let own = SessionId::new(JointSessions::split(&id).1);
    let request = PlanningRequest {
        action: PlannedAction::Resume(own),
        project: project.folder().to_owned(),
        task,
        worktree: false,
        refresh: false,
    };
    plan(state, visit, &project, &request);
}

/// Begins a task: at once, or by planning it with the lead.
fn on_start(state: &mut ChatState, visit: &Visit, wish: TaskWish) {
    let Some(project) = state.projects.called(&wish.project).cloned() else {
        let words = state.projects.not_served(&wish.project);
        let more = "\n/claude projects lists those that I know; I serve those that `rapport serve` names.";
        return state.effects.only_say(visit, &format!("{words}{more}"));
    };
    // After a kill, Telegram may deliver a command again that was already executed.
    if state.dedup.requests.contains(&visit.update) {
        return state.effects.finish(visit.ticket);
    }
    let TaskWish { task, worktree, is_quick, refresh, .. } = wish;
    // LEAD-26: a project that is to be explored is planned with.
    let is_obvious = project.has_quick_tasks && !refresh && quick_task::is_obvious(&task);
    if is_quick || is_obvious {
        let lead = Leads::here(&state.sessions, visit.room, &project);
        let new = NewSession::asked_by(&state.settings, visit, task, Aim::Work, project.path.clone());
        let new = NewSession { start: SessionStart::Quick { lead, worktree }, ..new };
        if refresh {
            // The exploration runs beside the work.
            let (by, request) = (person(visit.sender.id), ProjectsRequest::Explore(project.path));
            let then = AfterProjects { room: visit.room, ticket: None };
            state.effects.want(Effect::AskProjects { by, request, then });
        }
        return state.effects.carry_out(visit, vec![SessionOp::Create(Box::new(new), None)]);
    }
    let (action, folder) = (PlannedAction::Start, project.folder().to_owned());
    plan(state, visit, &project, &PlanningRequest { action, project: folder, task, worktree, refresh });
}

/// Gives a task to the lead of the room for this project, which plans it with the person. From now on the room is about
/// that project, so that what the person writes next reaches the same lead.
fn plan(state: &mut ChatState, visit: &Visit, project: &Project, request: &PlanningRequest) {
    if !state.leads.are_wanted() {
        return state.effects.only_say(visit, NO_LEAD);
    }
    let op = match Leads::here(&state.sessions, visit.room, project) {
        Some(lead) => {
            let is_theirs = |shown: &ShownSession| shown.allows(visit.sender.id, &state.notes);
            if !state.sessions.get(&lead).is_some_and(is_theirs) {
                return state.effects.only_say(visit, SOMEBODY_ELSES);
            }
            visit.op(&lead, Act::Say { text: request.text(), id: Some(visit.update.clone()) })
        }
        None => {
            let new =
                NewSession::asked_by(&state.settings, visit, request.text(), Aim::Chat, project.path.clone());
            SessionOp::Create(Box::new(NewSession { start: SessionStart::Lead, ..new }), None)
        }
    };
    state.projects.turn_to(&mut state.notes, &mut state.effects, visit.room, project);
    state.effects.type_for(visit.room);
    let task = card::short(&request.task, LONGEST_TASK);
    let told = format!("🗺 The lead plans this with you, and then has it done: {task}");
    let who = (visit.room, visit.sender.id);
    state.effects.operate_for(who, vec![op], None, visit.ticket, Some(Becomes::Told(told)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(task: &str) -> TaskWish {
        let (project, task) = ("juzi".into(), task.into());
        TaskWish { project, task, worktree: false, is_quick: false, refresh: false }
    }

    #[test]
    fn lead_2_a_task_names_its_project_first() {
        let dark = wish("implement dark mode");
        for (typed, expected) in [
            ("juzi implement dark mode", dark.clone()),
            ("  juzi   \"implement dark mode\" ", dark.clone()),
            ("juzi @worktree implement dark mode", TaskWish { worktree: true, ..dark.clone() }),
            ("juzi --quick implement dark mode", TaskWish { is_quick: true, ..dark.clone() }),
            ("juzi implement dark mode —quick", TaskWish { is_quick: true, ..dark.clone() }),
            ("--refresh juzi implement dark mode", TaskWish { refresh: true, ..dark.clone() }),
            ("juzi first line\nsecond line", wish("first line\nsecond line")),
            ("juzi say \"hello\" to --quickly", wish("say \"hello\" to --quickly")),
        ] {
            assert_eq!(ClaudeCommand::read(typed), ClaudeCommand::Start(expected), "{typed:?}");
        }
    }

    /// LEAD-26: the document's own example has three words and is planned; only the flag leaves planning out.
    #[test]
    fn lead_26_only_the_flag_is_quick() {
        for (typed, is_quick) in [("juzi fix typo", false), ("juzi fix typo --quick", true)] {
            let ClaudeCommand::Start(wish) = ClaudeCommand::read(typed) else { panic!("{typed:?}") };
            assert_eq!((wish.task.as_str(), wish.is_quick), ("fix typo", is_quick), "{typed:?}");
        }
    }

    #[test]
    fn lead_25_other_words_are_done_directly() {
        let session = || "20260124-auth".to_owned();
        for (typed, expected) in [
            ("status", ClaudeCommand::Status(None)),
            ("STATUS 20260124-auth", ClaudeCommand::Status(Some(session()))),
            ("list", ClaudeCommand::List),
            ("projects", ClaudeCommand::Projects),
            ("cancel 20260124-auth", ClaudeCommand::Cancel { session: session() }),
            (
                "say 20260124-auth use  tabs",
                ClaudeCommand::Say { session: session(), text: "use  tabs".into() },
            ),
            (
                "resume 20260124-auth",
                ClaudeCommand::Resume { session: session(), task: String::new(), is_quick: false },
            ),
            (
                "resume 20260124-auth add tests --quick",
                ClaudeCommand::Resume { session: session(), task: "add tests".into(), is_quick: true },
            ),
            (
                "register juzi /home/anna/my projects/juzi",
                ClaudeCommand::Register { name: "juzi".into(), path: "/home/anna/my projects/juzi".into() },
            ),
            ("unregister juzi", ClaudeCommand::Unregister { name: "juzi".into() }),
            ("juzi --refresh", ClaudeCommand::Refresh { project: "juzi".into() }),
        ] {
            assert_eq!(ClaudeCommand::read(typed), expected, "{typed:?}");
        }
    }

    #[test]
    fn lead_25_unknown_input_gets_help() {
        for typed in [
            "",
            "help",
            "juzi",
            "juzi @sandbox do it",
            "juzi @worktree",
            "cancel",
            "say 20260124-auth",
            "resume",
            "register juzi",
            "unregister",
            "list everything",
            "juzi --quick",
        ] {
            assert_eq!(ClaudeCommand::read(typed), ClaudeCommand::Help, "{typed:?}");
        }
    }
}
