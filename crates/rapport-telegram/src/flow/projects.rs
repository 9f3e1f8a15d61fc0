//! The projects of rooms, if the bot serves several projects. `/project` lists them and chooses one for the room; a
//! topic with the name of a project belongs to that project.

use rapport_core::SessionId;
use rapport_door::JointSessions;

use super::button::{Button, Tag};
use super::callbacks::Tap;
use super::card::{self, Card};
use super::messages::Visit;
use super::notes::Notes;
use super::shown_sessions::{ShownSession, ShownSessions};
use super::step_effects::Effects;
use crate::access::Access;
use crate::room::Room;
use crate::text::Text;

/// The maximum number of projects to list.
const MOST: usize = 40;
/// The maximum length of a project's name.
const LONGEST_NAME: usize = 60;

/// A project that the bot serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The name of the project, unique among the served projects.
    pub name: String,
    /// The directory of the project, as its sessions record it.
    pub path: String,
    /// Whether a short task whose scope is obvious begins without planning.
    pub has_quick_tasks: bool,
}

impl Project {
    /// The name of its directory, by which the tools of leads know it.
    pub(super) fn folder(&self) -> &str {
        self.path.trim_end_matches('/').rsplit('/').next().unwrap_or(&self.path)
    }

    /// The tag of the button that chooses this project.
    fn tag(&self) -> Tag {
        Tag::project(&self.path)
    }

    pub(super) fn title(&self) -> String {
        card::short(&self.name, LONGEST_NAME)
    }
}

/// The projects that the bot serves. The notes record which one a room is about.
#[derive(Clone, Debug)]
pub(super) struct Projects {
    /// The project of rooms for which no project was chosen.
    first: Project,
    others: Vec<Project>,
}

impl Projects {
    pub(super) fn new(first: Project, others: Vec<Project>) -> Self {
        Self { first, others }
    }

    /// Whether the bot serves several projects.
    pub(super) fn are_several(&self) -> bool {
        !self.others.is_empty()
    }

    /// The project that a session belongs to.
    pub(super) fn of(&self, id: &SessionId) -> &Project {
        let name = JointSessions::split(id).0;
        let named = name.and_then(|name| self.others.iter().find(|project| project.name == name));
        named.unwrap_or(&self.first)
    }

    /// The project that a room is about: the one chosen in the topic, else the one chosen in the chat as a whole, else
    /// the first.
    pub(super) fn in_room(&self, notes: &Notes, room: Room) -> &Project {
        let chosen = |room: Room| notes.project(room).and_then(|path| self.at(path));
        let of_chat = || chosen(Room { topic: None, ..room });
        chosen(room).or_else(of_chat).unwrap_or(&self.first)
    }

    /// The topic of a person's private chat that is about the project of a session, if there is one.
    pub(super) fn topic_for(&self, notes: &Notes, id: &SessionId, alone: Room) -> Option<Room> {
        let mut rooms = notes.rooms_about(&self.of(id).path);
        rooms.find(|room| room.chat == alone.chat && room.topic.is_some())
    }

    /// The name of a session's project, if it differs from the project of the room.
    pub(super) fn foreign(&self, notes: &Notes, id: &SessionId, room: Room) -> Option<String> {
        let project = self.of(id);
        (project != self.in_room(notes, room)).then(|| project.title())
    }

    /// A text about a session. It begins with the name of the project, if that differs from the project of the room.
    pub(super) fn labelled(&self, notes: &Notes, id: &SessionId, room: Room, text: Text) -> Text {
        match self.foreign(notes, id, room) {
            Some(name) => Text::new().plain("📁 ").bold(&name).plain("\n").text(&text),
            None => text,
        }
    }

    /// The title of a session, with the name of the project if that differs from the project of the room.
    pub(super) fn titled(&self, notes: &Notes, id: &SessionId, shown: &ShownSession, room: Room) -> String {
        let title = card::title(shown.presenter.session().created());
        match self.foreign(notes, id, room) {
            Some(name) => format!("{name}: {title}"),
            None => title.to_owned(),
        }
    }

    /// The session's address, by which terminal commands name the session.
    pub(super) fn address(&self, id: &SessionId) -> String {
        let own = JointSessions::split(id).1;
        if !self.are_several() {
            return own.to_owned();
        }
        let path = self.of(id).path.replace('\'', "'\\''");
        format!("{own} --project '{path}'")
    }

    /// `/project NAME`: chooses a project for a room by its name.
    pub(super) fn on_choice(&self, notes: &mut Notes, effects: &mut Effects, visit: &Visit, name: &str) {
        match self.called(name) {
            Some(project) => set(notes, effects, visit.room, project),
            None => effects.say(visit.room, &self.not_served(name)),
        }
    }

    /// The reply to a name that is of no served project.
    pub(super) fn not_served(&self, name: &str) -> String {
        let names: Vec<_> = self.all().map(Project::title).collect();
        format!(
            "I serve no project that is called {}. There is: {}",
            card::short(name, LONGEST_NAME),
            names.join(", ")
        )
    }

    /// Makes a room be about a project, and says so, unless it is already.
    pub(super) fn turn_to(&self, notes: &mut Notes, effects: &mut Effects, room: Room, project: &Project) {
        if self.in_room(notes, room) != project {
            set(notes, effects, room, project);
        }
    }

    /// `/project`: the list of all projects, with buttons that choose one for the room.
    pub(super) fn card(&self, notes: &Notes, sessions: &ShownSessions, room: Room) -> Card {
        let here = self.in_room(notes, room);
        if !self.are_several() {
            let text = Text::new().plain("I serve one project: ").bold(&here.title());
            return Card::plain(text.plain("\n").code(&here.path));
        }
        let mut text = Text::new().bold("Projects");
        for project in self.all().take(MOST) {
            let mark = if project == here { "📂" } else { "📁" };
            let waiting = self.waiting_in(sessions, project);
            let waiting = if waiting == 0 { String::new() } else { format!(" ({waiting} waiting)") };
            text = text.plain(&format!("\n{mark} {}{waiting}", project.title()));
        }
        let text = text.plain("\n\n📂 is what this chat is about. Tap another, or make a topic of its name.");
        let choices = self.all().take(MOST).filter(|project| *project != here);
        let button = |project: &Project| {
            vec![(format!("📁 {}", project.title()), Button::Project.data(&project.tag()))]
        };
        Card { rows: choices.map(button).collect(), ..Card::plain(text) }
    }

    /// Handles a tap in the list of projects.
    pub(super) fn on_tap(
        &self,
        access: &Access,
        notes: &mut Notes,
        effects: &mut Effects,
        tap: Tap,
        tag: &Tag,
    ) {
        if !access.allows(tap.by) {
            return effects.only_answer(tap, "Only people who may use this bot can do that.");
        }
        let Some(project) = self.all().find(|project| project.tag() == *tag) else {
            return effects.too_late(tap, "I do not serve that project any more.");
        };
        let room = tap.room;
        effects.too_late(tap, &format!("📁 {}", project.title()));
        set(notes, effects, room, project);
    }

    /// Handles a topic that a person with access created or renamed. If it has the name of a project, it is about that
    /// project from now on.
    pub(super) fn on_topic_named(&self, notes: &mut Notes, effects: &mut Effects, room: Room, name: &str) {
        if let Some(project) = self.called_exactly(name).filter(|_| self.are_several()) {
            set(notes, effects, room, project);
        }
    }

    /// Handles the name that a topic was created with. It counts until a project is chosen in the topic.
    pub(super) fn learn_topic(&self, notes: &mut Notes, effects: &mut Effects, room: Room, name: &str) {
        if !self.are_several() || notes.project(room).is_some() {
            return;
        }
        if let Some(project) = self.called_exactly(name) {
            notes.about(effects, room, project.path.clone());
        }
    }

    /// The number of open questions in the sessions of a project.
    fn waiting_in(&self, sessions: &ShownSessions, project: &Project) -> usize {
        let of_it = sessions.iter().filter(|(id, _)| self.of(id) == project);
        of_it.map(|(_, shown)| shown.presenter.focus().len()).sum()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Project> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn at(&self, path: &str) -> Option<&Project> {
        self.all().find(|project| project.path == path)
    }

    fn called_exactly(&self, name: &str) -> Option<&Project> {
        let name = name.trim().to_lowercase();
        self.all().find(|project| project.name.to_lowercase() == name)
    }

    /// The project of this name, or the only project whose name begins with it.
    pub(super) fn called(&self, name: &str) -> Option<&Project> {
        let beginning = name.trim().to_lowercase();
        let mut alike = self.all().filter(|project| project.name.to_lowercase().starts_with(&beginning));
        let only = alike.next().filter(|_| alike.next().is_none());
        self.called_exactly(name).or(only)
    }
}

fn set(notes: &mut Notes, effects: &mut Effects, room: Room, project: &Project) {
    notes.about(effects, room, project.path.clone());
    let place = if room.topic.is_some() { "topic" } else { "chat" };
    let name = project.title();
    let words = format!("📁 This {place} is about {name} now: /plan and messages go to its agents.");
    effects.say(room, &words);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Room = Room { chat: 42, topic: None };
    const TOPIC: Room = Room { chat: 42, topic: Some(3) };

    fn project(name: &str) -> Project {
        Project { name: name.into(), path: format!("/{name}"), has_quick_tasks: false }
    }

    fn three() -> Projects {
        Projects::new(project("app"), vec![project("web"), project("website")])
    }

    fn about(room: Room, path: &str) -> Notes {
        let mut notes = Notes::default();
        notes.about(&mut Effects::default(), room, path.into());
        notes
    }

    #[test]
    fn a_room_is_about_what_was_chosen_there_then_in_its_chat_then_the_first() {
        let projects = three();
        for (notes, home, topic) in [
            (Notes::default(), "app", "app"),
            (about(HOME, "/web"), "web", "web"),
            (about(TOPIC, "/web"), "app", "web"),
            // The noted project is not served now.
            (about(HOME, "/gone"), "app", "app"),
        ] {
            assert_eq!(projects.in_room(&notes, HOME).name, home);
            assert_eq!(projects.in_room(&notes, TOPIC).name, topic);
        }
    }

    #[test]
    fn a_name_counts_in_any_case_and_its_beginning_if_it_fits_only_one() {
        let projects = three();
        for (name, found) in [
            ("APP", Some("app")),
            (" ap ", Some("app")),
            ("we", None),
            ("web", Some("web")),
            ("webs", Some("website")),
            ("other", None),
        ] {
            assert_eq!(projects.called(name).map(|project| project.name.as_str()), found, "{name:?}");
        }
        assert_eq!(projects.called_exactly("webs"), None, "a topic needs the whole name");
    }

    #[test]
    fn a_session_of_another_project_is_labelled() {
        let projects = three();
        let (own, other) = (SessionId::new("s1"), SessionId::new("web:s1"));
        assert_eq!(projects.of(&own).name, "app");
        assert_eq!(projects.of(&other).name, "web");
        let foreign = |notes: &Notes, id: &SessionId| projects.foreign(notes, id, HOME);
        assert_eq!(foreign(&Notes::default(), &own), None);
        assert_eq!(foreign(&Notes::default(), &other).as_deref(), Some("web"));
        assert_eq!(foreign(&about(HOME, "/web"), &own).as_deref(), Some("app"));
        assert_eq!(foreign(&about(HOME, "/web"), &other), None);
    }

    #[test]
    fn the_name_of_a_topic_does_not_replace_a_choice() {
        let (projects, mut effects, mut notes) = (three(), Effects::default(), about(TOPIC, "/web"));
        projects.learn_topic(&mut notes, &mut effects, TOPIC, "app");
        assert_eq!(notes.project(TOPIC), Some("/web"));
        projects.on_topic_named(&mut notes, &mut effects, TOPIC, "App");
        assert_eq!(notes.project(TOPIC), Some("/app"), "who renames a topic chooses");
        let single = Projects::new(project("app"), Vec::new());
        single.on_topic_named(&mut notes, &mut effects, HOME, "app");
        assert_eq!(notes.project(HOME), None, "with one project there is nothing to choose");
    }

    /// With several projects, the address in terminal commands includes the project.
    #[test]
    fn commands_name_the_directory_where_several_are_served() {
        let quoted = Projects::new(project("app"), vec![project("o'web")]);
        let other = SessionId::new("o'web:s1");
        assert_eq!(quoted.address(&SessionId::new("s1")), "s1 --project '/app'");
        assert_eq!(quoted.address(&other), r"s1 --project '/o'\''web'");
        let single = Projects::new(project("app"), Vec::new());
        assert_eq!(single.address(&SessionId::new("s1")), "s1");
    }
}
