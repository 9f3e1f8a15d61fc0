//! The project of a room, where the bot serves several: `/project` lists and chooses them, and a topic that is named
//! like a project is about that project.

use rapport_core::SessionId;
use rapport_door::JointSessions;

use super::button::{Button, Tag};
use super::callbacks::Tap;
use super::card::{self, Card};
use super::chat_state::ChatState;
use super::messages::Visit;
use super::shown_sessions::ShownSession;
use crate::room::Room;
use crate::text::Text;

/// The maximum number of projects to list.
const MOST: usize = 40;
/// The maximum length of a project's name.
const LONGEST_NAME: usize = 60;

/// A project that the bot serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its name, which no other of them has.
    pub name: String,
    /// Its directory, as its sessions name it.
    pub path: String,
}

impl Project {
    /// The tag of its button.
    fn tag(&self) -> Tag {
        Tag::project(&self.path)
    }

    fn title(&self) -> String {
        card::short(&self.name, LONGEST_NAME)
    }
}

impl ChatState {
    /// The name of the project that a session belongs to.
    pub(super) fn project_of(&self, id: &SessionId) -> &Project {
        let name = JointSessions::split(id).0;
        let named = name.and_then(|name| self.settings.others.iter().find(|project| project.name == name));
        named.unwrap_or(&self.settings.project)
    }

    /// The project that a room is about: the one chosen there, or in its chat as a whole, or the first.
    pub(super) fn project_in(&self, room: Room) -> &Project {
        let chosen = |room: Room| self.notes.project(room).and_then(|path| self.project_at(path));
        let of_chat = || chosen(Room { topic: None, ..room });
        chosen(room).or_else(of_chat).unwrap_or(&self.settings.project)
    }

    /// The topic of a person's own chat that is about the project of a session, if they made one.
    pub(super) fn topic_for(&self, id: &SessionId, alone: Room) -> Option<Room> {
        let path = &self.project_of(id).path;
        self.notes.rooms_about(path).find(|room| room.chat == alone.chat && room.topic.is_some())
    }

    /// The name of a session's project, where it is not the one that the room is about.
    pub(super) fn foreign(&self, id: &SessionId, room: Room) -> Option<String> {
        let project = self.project_of(id);
        (project != self.project_in(room)).then(|| project.title())
    }

    /// A text about a session, which begins with the name of its project if that is not clear.
    pub(super) fn labelled(&self, id: &SessionId, room: Room, text: Text) -> Text {
        match self.foreign(id, room) {
            Some(name) => Text::new().plain("📁 ").bold(&name).plain("\n").text(&text),
            None => text,
        }
    }

    /// The task of a session, with the name of its project if that is not clear.
    pub(super) fn titled(&self, id: &SessionId, shown: &ShownSession, room: Room) -> String {
        let task = &shown.presenter.session().created().task;
        match self.foreign(id, room) {
            Some(name) => format!("{name}: {task}"),
            None => task.clone(),
        }
    }

    /// A session as commands in a terminal name it.
    pub(super) fn address(&self, id: &SessionId) -> String {
        let own = JointSessions::split(id).1;
        if self.settings.others.is_empty() {
            return own.to_owned();
        }
        let path = self.project_of(id).path.replace('\'', "'\\''");
        format!("{own} --project '{path}'")
    }

    /// `/project`: lists the projects, or chooses one by its name.
    pub(super) fn choose_project(&mut self, visit: &Visit, name: &str) {
        let room = visit.room;
        if name.is_empty() {
            return self.effects.send_card(room, &self.projects_card(room));
        }
        match self.project_called(name).cloned() {
            Some(project) => self.set_project(room, &project),
            None => {
                let names: Vec<_> = self.projects().map(Project::title).collect();
                let words = format!(
                    "I serve no project that is called {}. There is: {}",
                    card::short(name, LONGEST_NAME),
                    names.join(", ")
                );
                self.effects.say(room, &words);
            }
        }
    }

    /// A tap in that list.
    pub(super) fn on_project_tap(&mut self, tap: Tap, tag: &Tag) {
        if !self.access.allows(tap.by) {
            return self.effects.only_answer(tap, "Only people who may use this bot can do that.");
        }
        let Some(project) = self.projects().find(|project| project.tag() == *tag).cloned() else {
            return self.effects.too_late(tap, "I do not serve that project any more.");
        };
        if let Some(message) = tap.message {
            self.effects.strip(tap.room, message);
        }
        let room = tap.room;
        self.effects.only_answer(tap, &format!("📁 {}", project.title()));
        self.set_project(room, &project);
    }

    /// Somebody made or renamed a topic. If it is named like a project, it is about that project from now on.
    pub(super) fn on_topic_named(&mut self, room: Room, by: u64, name: &str) {
        let project = self.project_called_exactly(name).cloned();
        if let Some(project) = project.filter(|_| self.access.allows(by) && !self.settings.others.is_empty())
        {
            self.set_project(room, &project);
        }
    }

    /// The name with which a topic was made. It counts until somebody chooses a project there.
    pub(super) fn learn_topic(&mut self, room: Room, name: &str) {
        if self.settings.others.is_empty() || self.notes.project(room).is_some() {
            return;
        }
        if let Some(path) = self.project_called_exactly(name).map(|project| project.path.clone()) {
            self.notes.about(&mut self.effects, room, path);
        }
    }

    fn set_project(&mut self, room: Room, project: &Project) {
        self.notes.about(&mut self.effects, room, project.path.clone());
        let place = if room.topic.is_some() { "topic" } else { "chat" };
        let name = project.title();
        let words = format!("📁 This {place} is about {name} now: /plan and messages go to its agents.");
        self.effects.say(room, &words);
    }

    fn projects_card(&self, room: Room) -> Card {
        let here = self.project_in(room);
        if self.settings.others.is_empty() {
            let text = Text::new().plain("I serve one project: ").bold(&here.title());
            return Card::plain(text.plain("\n").code(&here.path));
        }
        let mut text = Text::new().bold("Projects");
        for project in self.projects().take(MOST) {
            let mark = if project == here { "📂" } else { "📁" };
            let waiting = self.waiting_in(project);
            let waiting = if waiting == 0 { String::new() } else { format!(" ({waiting} waiting)") };
            text = text.plain(&format!("\n{mark} {}{waiting}", project.title()));
        }
        let text = text.plain("\n\n📂 is what this chat is about. Tap another, or make a topic of its name.");
        let choices = self.projects().take(MOST).filter(|project| *project != here);
        let button = |project: &Project| {
            vec![(format!("📁 {}", project.title()), Button::Project.data(&project.tag()))]
        };
        Card { rows: choices.map(button).collect(), ..Card::plain(text) }
    }

    /// The number of questions of a project that wait for an answer.
    fn waiting_in(&self, project: &Project) -> usize {
        let of_it = self.sessions.iter().filter(|(id, _)| self.project_of(id) == project);
        of_it.map(|(_, shown)| shown.presenter.focus().len()).sum()
    }

    pub(super) fn projects(&self) -> impl Iterator<Item = &Project> {
        std::iter::once(&self.settings.project).chain(&self.settings.others)
    }

    fn project_at(&self, path: &str) -> Option<&Project> {
        self.projects().find(|project| project.path == path)
    }

    fn project_called_exactly(&self, name: &str) -> Option<&Project> {
        let name = name.trim().to_lowercase();
        self.projects().find(|project| project.name.to_lowercase() == name)
    }

    /// The project of this name, or the only one whose name begins like this.
    fn project_called(&self, name: &str) -> Option<&Project> {
        let beginning = name.trim().to_lowercase();
        let mut alike = self.projects().filter(|project| project.name.to_lowercase().starts_with(&beginning));
        let only = alike.next().filter(|_| alike.next().is_none());
        self.project_called_exactly(name).or(only)
    }
}
