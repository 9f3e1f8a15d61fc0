//! Looks up what a lead's answer is based on. A ground counts if it exists and was shown to the lead: lines of a file
//! that it read, an answer that a person gave in a session of its own tree, a preference of the project. A ground is
//! quoted to an agent and on cards, so a secret does not count, and neither does text that the asking agent may have
//! written itself. An answer with any other ground is a draft.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rapport_core::routing::{Class, Ground, Grounding};
use rapport_core::{By, Entry, Event, QuestionId, Session, SessionId, ToolUse, display_text};
use tokio::task::spawn_blocking;

use super::sessions::file_in;
use crate::projects::known_projects::KnownProjects;
use crate::stores::Store;

/// The maximum length of a quote, in characters.
const LONGEST_QUOTE: usize = 300;
/// The maximum number of lines of a file in a ground.
const MOST_LINES: u32 = 40;
/// Rapport's own tool by which a lead reads what is known about a project. Agents add a prefix to its name.
const LOOKING: &str = "project_context";

/// Where a ground is looked up.
pub(super) struct GroundSite {
    pub(super) store: Arc<dyn Store>,
    /// The lead that names it.
    pub(super) lead: SessionId,
    /// The directory of the project.
    pub(super) project: PathBuf,
    /// When the session with the question began.
    pub(super) began: Timestamp,
    /// What is known about projects.
    pub(super) known: KnownProjects,
}

impl GroundSite {
    /// The text of a ground; `None` if it does not exist, or was not shown to the lead.
    pub(super) async fn find(&self, ground: &Ground) -> Option<Grounding> {
        let quote = match ground {
            Ground::Preference(id) => self.preference(id).await,
            Ground::Answer { session, question } => self.answer(session, question).await,
            Ground::File { path, first, last } => self.lines(path, *first, *last).await,
        };
        let quote =
            quote.map(|quote| short(&display_text::line(quote.trim()))).filter(|quote| !quote.is_empty())?;
        Some(Grounding { ground: ground.clone(), quote })
    }

    /// A preference of the project that is in effect, and was when the lead last read what is known about the
    /// project.
    async fn preference(&self, id: &str) -> Option<String> {
        let seen = self.store.counted(&self.lead, 0).await.ok()?;
        let (known, project, id) = (self.known.clone(), self.project.clone(), id.to_owned());
        let found = spawn_blocking(move || known.preference(&project, &id)).await.ok()??;
        let is_look = |fact: &Event| matches!(fact, Event::Used { tool, kind: ToolUse::Own, .. } if tool.ends_with(LOOKING));
        let looks = seen.iter().filter(|entry| entry.facts.iter().any(is_look));
        // A preference that people wrote into the file has no time; it counts as older than all facts.
        let is_shown =
            looks.map(|entry| entry.at).max().is_some_and(|at| found.since.is_none_or(|since| since <= at));
        is_shown.then_some(found.text)
    }

    /// An answer that a person gave, to the lead itself or in a session that it leads.
    async fn answer(&self, id: &SessionId, question: &QuestionId) -> Option<String> {
        let entries = self.store.counted(id, 0).await.ok()?;
        let session = Session::replay(&entries)?;
        let is_shown = *id == self.lead || session.created().lead.as_ref() == Some(&self.lead);
        let rounds = session.rounds().filter(|_| is_shown);
        let found = rounds.flat_map(|round| round.items).find(|item| item.question.id == *question)?;
        let (answer, by) = found.given?;
        // Answers to forms, and answers about secrets, are not quoted elsewhere.
        let may_be_quoted = Class::alone(found.question) == Class::Clarification;
        let is_a_persons = matches!(by, By::Person { .. });
        (is_a_persons && may_be_quoted)
            .then(|| format!("{} {}", found.question.text, found.question.words(answer)))
    }

    /// Lines of a file that the lead has read.
    async fn lines(&self, path: &str, first: u32, last: u32) -> Option<String> {
        if last - first >= MOST_LINES {
            return None;
        }
        let seen = self.store.counted(&self.lead, 0).await.ok()?;
        let (project, path, began) = (self.project.clone(), path.to_owned(), self.began);
        let read = move || {
            let is_shown = !may_hold_secrets(&path)
                && is_older(&project.join(&path), began)
                && has_read(&seen, &project, &path);
            let content = is_shown.then(|| file_in(&project, &path).ok()).flatten()?;
            let text = String::from_utf8(content).ok()?;
            let (from, count) = (first as usize - 1, (last - first) as usize + 1);
            let lines: Vec<_> = text.lines().skip(from).take(count).collect();
            // A range beyond the end of the file is not what the lead has read.
            (lines.len() == count).then(|| lines.join("\n"))
        };
        spawn_blocking(read).await.ok().flatten()
    }
}

/// Whether a session has read this file of the project with its reading tool. Blocks.
fn has_read(entries: &[Entry], project: &Path, path: &str) -> bool {
    let Ok(wanted) = project.join(path).canonicalize() else { return false };
    let is_it = |what: &str| project.join(what).canonicalize().is_ok_and(|read| read == wanted);
    let facts = entries.iter().flat_map(|entry| &entry.facts);
    let mut read = facts.filter_map(|fact| match fact {
        Event::Used { what, kind: ToolUse::Reads, .. } => Some(what.as_str()),
        _ => None,
    });
    read.any(is_it)
}

/// Whether a file was last changed before this time. A file that changed later may contain text of the asking agent.
/// Blocks.
fn is_older(file: &Path, than: Timestamp) -> bool {
    let changed = file.metadata().and_then(|file| file.modified());
    changed.ok().and_then(|changed| Timestamp::try_from(changed).ok()).is_some_and(|changed| changed <= than)
}

/// Whether people usually keep secrets in a file of this name.
fn may_hold_secrets(path: &str) -> bool {
    const ENDS: [&str; 6] = [".pem", ".key", ".p12", ".pfx", ".keystore", ".secret"];
    let path = path.to_lowercase();
    path.split(['/', '\\']).any(|part| {
        let names_secret = ["secret", "credential", "password"].iter().any(|word| part.contains(word));
        part.starts_with(".env") || part.starts_with("id_") || part == ".git" || names_secret
    }) || ENDS.iter().any(|end| path.ends_with(end))
}

fn short(line: &str) -> String {
    match line.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::SignedDuration;
    use rapport_core::{
        Answer, Asker, CallId, ConversationId, Created, LearningKind, Purpose, Question, RoundId, TurnId,
    };
    use rapport_door::{ContextUpdate, Projects as _};
    use tempfile::TempDir;

    use super::*;
    use crate::clock::Clock;
    use crate::stores::Holder;
    use crate::stores::memory::Memory;
    use crate::workers::history::commits;

    /// A project, and the sessions in it.
    struct Scene {
        folder: TempDir,
        store: Memory,
    }

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("app")).unwrap();
            Self { folder, store: Memory::new() }
        }

        fn project(&self) -> PathBuf {
            self.folder.path().join("app").canonicalize().unwrap()
        }

        fn write(&self, path: &str, content: &str) {
            fs::write(self.project().join(path), content).unwrap();
        }

        /// A session with these facts after its first one.
        async fn session(&self, name: &str, lead: Option<&SessionId>, facts: Vec<Event>) -> SessionId {
            let project = self.project().display().to_string();
            let created = Created::new(name.into(), project, ConversationId::new("c"), ann());
            let created = Created { lead: lead.cloned(), ..created };
            let facts = [Event::Created(created)].into_iter().chain(facts).collect();
            let holder = Holder::this_process(None);
            let (id, ..) = self.store.create(name, Timestamp::now(), facts, &holder).await.unwrap();
            id
        }

        fn known(&self) -> KnownProjects {
            KnownProjects::new(self.folder.path().join("home"), Clock::system(), commits)
        }

        /// What a ground of this lead is found to be, in a session that begins in an hour.
        async fn found(&self, lead: &SessionId, ground: &str) -> Option<String> {
            self.found_since(lead, ground, SignedDuration::from_hours(1)).await
        }

        async fn found_since(&self, lead: &SessionId, ground: &str, after: SignedDuration) -> Option<String> {
            let site = GroundSite {
                store: Arc::new(self.store.clone()),
                lead: lead.clone(),
                project: self.project(),
                began: Timestamp::now().checked_add(after).unwrap(),
                known: self.known(),
            };
            site.find(&ground.parse().ok()?).await.map(|found| found.quote)
        }
    }

    fn ann() -> By {
        By::Person { channel: "terminal".into(), id: "ann".into() }
    }

    fn used(tool: &str, what: &str, kind: ToolUse) -> Event {
        Event::Used { turn: TurnId(1), tool: tool.into(), what: what.into(), kind }
    }

    /// A question, with its answer by somebody.
    fn answered(text: &str, purpose: Purpose, by: By) -> Vec<Event> {
        let id = QuestionId::new("q1");
        let question = Question {
            id: id.clone(),
            text: text.into(),
            header: None,
            options: Vec::new(),
            multi: false,
            free_text: true,
            purpose,
        };
        let asker = Asker::Agent { turn: TurnId(1), call: CallId::new("c1"), parkable: true };
        let answer = Answer { values: Vec::new(), text: Some("Blue".into()) };
        vec![
            Event::Asked { round: RoundId(1), asker, questions: vec![question] },
            Event::Answered { question: id, answer, by },
        ]
    }

    /// Lines of a file count if the lead has read that very file, and nobody changed it since the session began.
    #[tokio::test]
    async fn a_file_counts_only_as_the_lead_has_read_it() {
        let scene = Scene::new();
        scene.write("style.md", "# Style\nBlue.\n\u{1b}[31mRed.\n");
        scene.write("other.md", "Green.\n");
        scene.write(".env", "KEY=1\n");
        scene.write("credentials.txt", "x\n");
        fs::write(scene.folder.path().join("outside.md"), "Outside.\n").unwrap();
        std::os::unix::fs::symlink(scene.folder.path().join("outside.md"), scene.project().join("link.md"))
            .unwrap();
        let style = scene.project().join("style.md").display().to_string();
        let read = ["./style.md", ".env", "credentials.txt", "../outside.md", "link.md", "gone.md"];
        let mut facts: Vec<_> = read.iter().map(|path| used("Read", path, ToolUse::Reads)).collect();
        facts.push(used("Grep", "other.md", ToolUse::Other));
        let lead = scene.session("lead", None, facts).await;
        assert_eq!(scene.found(&lead, "file:style.md:2").await.as_deref(), Some("Blue."));
        let quote = scene.found(&lead, "file:style.md:2-3").await.unwrap();
        assert!(quote.starts_with("Blue.") && !quote.contains(['\u{1b}', '\n']), "{quote:?}");
        assert_eq!(scene.found(&lead, &format!("file:{style}:2")).await, None, "not a path of the project");
        for none in [
            "file:other.md:1",
            "file:style.md:9",
            "file:style.md:2-9",
            "file:style.md:1-41",
            "file:.env:1",
            "file:credentials.txt:1",
            "file:../outside.md:1",
            "file:link.md:1",
            "file:gone.md:1",
        ] {
            assert_eq!(scene.found(&lead, none).await, None, "{none}");
        }
        // The agent that asks may have written it.
        let before = SignedDuration::from_hours(-1);
        assert_eq!(scene.found_since(&lead, "file:style.md:2", before).await, None);
    }

    /// An answer counts if a person gave it, to the lead or in a session that it leads, and it may be quoted.
    #[tokio::test]
    async fn an_answer_counts_only_if_a_person_gave_it_below_this_lead() {
        let scene = Scene::new();
        let clarify = |text, by| answered(text, Purpose::Clarify, by);
        let lead = scene.session("lead", None, clarify("Which colour?", ann())).await;
        let led = scene.session("led", Some(&lead), clarify("Which shade?", ann())).await;
        let elsewhere = scene.session("elsewhere", None, clarify("Which shade?", ann())).await;
        let by_lead = By::Lead { name: lead.to_string() };
        let own = scene.session("own", Some(&lead), clarify("Which shade?", by_lead)).await;
        let by_rule = scene.session("rule", Some(&lead), clarify("Which?", By::written_rule("r"))).await;
        let secret = scene.session("secret", Some(&lead), clarify("What is the password?", ann())).await;
        let plan = scene.session("plan", Some(&lead), answered("Start?", Purpose::Confirm, ann())).await;
        let ground = |id: &SessionId| format!("answer:{id}/q1");
        assert_eq!(scene.found(&lead, &ground(&lead)).await.as_deref(), Some("Which colour? Blue"));
        assert_eq!(scene.found(&lead, &ground(&led)).await.as_deref(), Some("Which shade? Blue"));
        for none in [&elsewhere, &own, &by_rule, &secret, &plan] {
            assert_eq!(scene.found(&lead, &ground(none)).await, None, "{none}");
        }
        for none in [format!("answer:{lead}/q2"), "answer:20200101-invented/q1".to_owned()] {
            assert_eq!(scene.found(&lead, &none).await, None, "{none}");
        }
    }

    /// A preference counts if it was in effect when the lead last read what is known about the project.
    #[tokio::test]
    async fn a_preference_counts_only_if_it_was_shown() {
        let scene = Scene::new();
        let project = scene.project().display().to_string();
        let update =
            ContextUpdate { learnings: vec![(LearningKind::Preference, "Use tabs".into())], from: None };
        let loaded = scene.known().explore(&project).await.unwrap();
        assert!(loaded.context.preferences.is_empty());
        let loaded = scene.known().update(&project, &ann(), &update).await.unwrap();
        let ground = format!("preference:{}", loaded.context.preferences[0].id);
        let blind = scene.session("blind", None, Vec::new()).await;
        assert_eq!(scene.found(&blind, &ground).await, None, "it was never shown");
        let look = used("mcp__rapport__project_context", "load", ToolUse::Own);
        let lead = scene.session("lead", None, vec![look]).await;
        assert_eq!(scene.found(&lead, &ground).await.as_deref(), Some("Use tabs"));
        assert_eq!(scene.found(&lead, "preference:invented").await, None);
        // A tool of another program that has the same name shows nothing.
        let other = used("mcp__other__project_context", "load", ToolUse::Other);
        let fooled = scene.session("fooled", None, vec![other]).await;
        assert_eq!(scene.found(&fooled, &ground).await, None);
        scene.known().forget(&project, &ann(), "Use tabs").await.unwrap();
        assert_eq!(scene.found(&lead, &ground).await, None, "it was revoked");
    }
}
