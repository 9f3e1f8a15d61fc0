//! One bot for several projects: each chat or topic is about one of them, and whatever happens in any reaches the
//! phone.

use std::path::{Path, PathBuf};

use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport_core::{Aim, Event, Session};

use super::{ANNA, AUTH, Stage};
use crate::support::patience::wait_for;
use crate::support::telegram::Privacy;

/// Another project beside the first, which is called `app`.
fn another(stage: &Stage, name: &str) -> PathBuf {
    let path = stage.project.path(name);
    std::fs::create_dir_all(path.join(".rapport")).unwrap();
    path
}

/// A stage that serves the projects `app` and `blog`, as the settings of the home say.
async fn two_projects() -> (Stage, PathBuf) {
    let mut stage = Stage::quiet(AUTH).await;
    let blog = another(&stage, "blog");
    let home = stage.project.path("home/.rapport");
    std::fs::create_dir_all(&home).unwrap();
    let projects =
        format!("serve: {{ projects: ['{}', '{}'] }}\n", stage.project.root().display(), blog.display());
    std::fs::write(home.join("config.yaml"), projects).unwrap();
    stage.serve();
    (stage, blog)
}

/// What the sessions of a project were begun for.
fn tasks(project: &Path, aim: &Aim) -> Vec<String> {
    let store = BlockingStore::new(Files::new(rapport::config::sessions(project)));
    let session = |id| Session::replay(&store.read(&id, 0).unwrap());
    let sessions = store.list().unwrap().into_iter().filter_map(session);
    let begun = sessions.filter(|session| session.created().aim == *aim);
    begun.map(|session| session.created().task.clone()).collect()
}

/// `/project` lists and chooses; a tap does the same. The choice outlives a kill, and so do the cards of both projects.
#[tokio::test]
async fn a_chat_is_about_the_project_that_was_chosen_there() {
    let (mut stage, blog) = two_projects().await;
    let app = stage.project.root();
    let anna = stage.anna();
    anna.types("/project");
    let list = anna.sees("Projects").await;
    assert!(list.text().contains("📂 app\n📁 blog"), "{}", list.text());
    anna.taps_on(&list, "📁 blog");
    anna.sees("This chat is about blog now").await;
    anna.types("/plan write about JWT");
    let card = anna.sees("Q1 of 3").await;
    assert!(!card.text().contains("📁"), "the chat is about it: {}", card.text());
    assert_eq!(
        (tasks(&blog, &Aim::Work), tasks(&app, &Aim::Work)),
        (vec!["write about JWT".to_owned()], vec![])
    );
    stage.kill();
    stage.serve();
    anna.taps_on(&card, "Express");
    anna.sees("Q2 of 3").await;
    // Another project's card says so, and what is said now goes to that project.
    anna.types("/project AP");
    anna.sees("This chat is about app now").await;
    anna.taps("Yes, 7 days").await;
    let card = anna.sees("Q3 of 3").await;
    assert!(card.text().starts_with("📁 blog\n"), "{}", card.text());
    anna.types("/status");
    let status = anna.sees("Waiting for you").await;
    assert!(status.text().contains("blog: write about JWT"), "{}", status.text());
    // Both projects are run here, so that a terminal reaches either.
    let answer = |project: &Path, question: &str, value: &str| {
        let project = project.display().to_string();
        stage.project.rapport(&["answer", "--project", &project, "jwt", "--question", question, value])
    };
    answer(&blog, "q3", "None").check(0, "Answered.");
    anna.sees("Where are tokens kept?").await;
    // A chat has one plan at a time (CHAT-19), whichever project it is for.
    anna.types("/plan add JWT authentication");
    anna.sees("another task replaces it").await;
    let in_app = anna.sees("Q1 of 3").await;
    assert!(!in_app.text().contains("📁"), "{}", in_app.text());
    answer(&app, "q1", "Express").check(0, "Answered.");
    anna.sees("Q2 of 3").await;
    anna.types("/project shop");
    anna.sees("I serve no project that is called shop. There is: app, blog").await;
}

/// Where several projects are served, a command to copy names its own.
#[tokio::test]
async fn what_undoes_cancelled_work_names_its_project() {
    let mut stage = Stage::quiet(&super::cancel::asking()).await;
    let blog = another(&stage, "blog");
    let app = stage.project.root();
    stage.serve_as(&[app.display().to_string(), blog.display().to_string()]);
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    super::cases::answer_all(&anna).await;
    anna.taps("✅ Confirm & Start").await;
    anna.sees("Which port?").await;
    anna.types("/cancel");
    let cancelled = anna.sees("which stay as they are").await;
    let (id, project) = (stage.sessions()[0].0.clone(), app.display().to_string());
    let command = format!("rapport undo {id} --project '{project}'");
    assert!(cancelled.marked("code").contains(&command), "{}", cancelled.text());
    stage.kill();
    stage
        .project
        .rapport(&["undo", id.as_str(), "--project", &project, "--yes"])
        .check(0, "removed: auth.txt");
}

/// The list of one project's permissions still works after the chat turned to another.
#[tokio::test]
async fn a_permission_is_revoked_from_the_list_of_another_project() {
    let mut stage = Stage::quiet(super::day::REPEATS).await;
    let blog = another(&stage, "blog");
    stage.serve_as(&[stage.project.root().display().to_string(), blog.display().to_string()]);
    let anna = stage.anna();
    anna.types("first");
    anna.taps("Allow for this project").await;
    anna.sees("Built").await;
    anna.types("/always");
    let list = anna.sees("Allowed without asking").await;
    assert!(list.text().contains("in every session of app"), "{}", list.text());
    anna.types("/project blog");
    anna.sees("This chat is about blog now").await;
    anna.taps_on(&list, "✖ 1. Bash(echo one >> built.txt)");
    assert_eq!(anna.toast().await, "From now on you are asked again.");
    anna.types("/project app");
    anna.sees("This chat is about app now").await;
    anna.types("/always");
    anna.sees("no permanent permission exists").await;
}

/// Each project has a conversation of its own in a chat, and `/project` goes from one to the other.
#[tokio::test]
async fn each_project_has_its_own_conversation() {
    let mut stage = Stage::quiet("version: 1\nname: talk\ninvocations:\n  - result: Hello.\n").await;
    let blog = another(&stage, "blog");
    let app = stage.project.root();
    stage.serve_as(&[app.display().to_string(), blog.display().to_string()]);
    let anna = stage.anna();
    anna.types("hello app");
    wait_for("a conversation", || (tasks(&app, &Aim::Chat) == ["hello app"]).then_some(()));
    anna.sees("Hello.").await;
    anna.types("/project blog");
    anna.sees("This chat is about blog now").await;
    anna.types("hello blog");
    wait_for("another conversation", || (tasks(&blog, &Aim::Chat) == ["hello blog"]).then_some(()));
    anna.types("/project app");
    anna.sees("This chat is about app now").await;
    anna.types("once more");
    let told =
        |fact: &Event| matches!(fact, Event::TurnStarted { prompt, .. } if prompt.contains("once more"));
    let of_app = || stage.sessions().iter().any(|(_, _, facts)| facts.iter().any(told)).then_some(());
    wait_for("the agent of the first", of_app);
    assert_eq!(
        (tasks(&app, &Aim::Chat).len(), tasks(&blog, &Aim::Chat).len()),
        (1, 1),
        "none was begun anew"
    );
}

/// A topic that is named like a project is about it; nobody has to choose. Others are about what their chat is about.
#[tokio::test]
async fn a_topic_named_like_a_project_is_about_it() {
    let (stage, blog) = two_projects().await;
    stage.server.privacy(Privacy::Off);
    let forum = stage.server.forum("Work");
    let (about_blog, other) = (stage.server.topic(forum, "Blog"), stage.server.topic(forum, "Chatter"));
    let anna = stage.anna();
    let (there, elsewhere) = (anna.in_group(forum, Some(about_blog)), anna.in_group(forum, Some(other)));
    there.types("/plan write about JWT");
    there.sees("Q1 of 3").await;
    elsewhere.types("/plan add JWT authentication");
    elsewhere.sees("Q1 of 3").await;
    assert_eq!(tasks(&blog, &Aim::Work), ["write about JWT"]);
    assert_eq!(tasks(&stage.project.root(), &Aim::Work), ["add JWT authentication"]);
    there.types("/project app");
    there.sees("This topic is about app now").await;
}

/// Sessions that were begun at a terminal ask on the phone, whichever project they are of. Two of the same name are
/// two, and an answer reaches the right one.
#[tokio::test]
async fn terminals_of_every_project_ask_on_the_phone() {
    let scenario = r##"
version: 1
name: ask
invocations:
  - steps:
      - ask: { questions: [{ question: "Which colour?", header: Colour, options: [{ label: Red }, { label: Blue }] }] }
    result: Painted.
"##;
    let mut stage = Stage::quiet(scenario).await;
    let blog = another(&stage, "blog");
    let app = stage.project.root();
    stage.serve_as(&[app.display().to_string(), blog.display().to_string()]);
    let run = |project: &Path| {
        stage.project.spawn(&["run", "--json", "--project", &project.display().to_string(), "paint the door"])
    };
    let anna = stage.anna();
    let mut first = run(&app);
    let card = anna.sees("Which colour?").await;
    assert!(!card.text().contains("📁"), "{}", card.text());
    let mut second = run(&blog);
    let of_blog = stage.server.wait_for("the card of the blog", |state| {
        let mut cards = state.messages_in(ANNA, None);
        cards
            .find(|card| card.text().starts_with("📁 blog\n") && card.text().contains("Which colour?"))
            .cloned()
    });
    let of_blog = of_blog.await;
    anna.taps_on(&of_blog, "Blue");
    let store = BlockingStore::new(Files::new(rapport::config::sessions(&blog)));
    let ids = store.list().unwrap();
    let is_answered = |store: &BlockingStore| {
        let entries = store.read(&ids[0], 0).unwrap();
        let facts = entries.iter().flat_map(|entry| &entry.facts);
        facts.filter(|fact| matches!(fact, Event::Answered { .. })).count() == 1
    };
    wait_for("the answer in the blog", || is_answered(&store).then_some(()));
    let theirs = BlockingStore::new(Files::new(rapport::config::sessions(&app)));
    assert_eq!(theirs.list().unwrap(), ids, "both have the same name");
    assert!(!is_answered(&theirs), "the other still waits");
    for child in [&mut first, &mut second] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// The command line names projects, and two directories of one name are told apart. `--project` means one.
#[tokio::test]
async fn projects_are_named_on_the_command_line() {
    let mut stage = Stage::quiet(AUTH).await;
    let (one, two) = (another(&stage, "one/web"), another(&stage, "two/web"));
    stage.serve_as(&[one.display().to_string(), two.display().to_string(), one.display().to_string()]);
    let anna = stage.anna();
    anna.types("/project");
    let list = anna.sees("Projects").await;
    assert!(list.text().contains("📂 one/web\n📁 two/web\n\n"), "{}", list.text());
    assert_eq!(stage.stop(), 0);
    stage.project.rapport(&["serve", "--project", ".", "x"]).check(2, "cannot be used with");
    stage.project.rapport(&["serve", "nowhere"]).check(2, "cannot use nowhere as the project");
}
