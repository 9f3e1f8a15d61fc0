//! Answering over plain HTTP, as a browser without JavaScript does: rounds with back and edit, permissions, plans,
//! reviews, work.

use rapport_core::{By, Event, Status};

use super::WebSite;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::{ONE_QUESTION, PERMISSION};

/// Three questions, one of them with several answers, previews and recommendations.
pub(super) const ROUND: &str = r##"
version: 1
name: a round
invocations:
  - steps:
      - text: "Three things first."
      - ask:
          questions:
            - question: "Which *colour*?"
              header: "Colour"
              options:
                - { label: "Red", preview: "Looks **red**" }
                - { label: "Blue (Recommended)", description: "Calm" }
            - question: "Which rooms?"
              header: "Rooms"
              multiSelect: true
              options: [{ label: "Hall" }, { label: "Kitchen (Recommended)" }]
            - question: "Which day?"
              header: "Day"
              options: [{ label: "Monday (Recommended)" }, { label: "Friday" }]
    result: "# Paint\n\n1. Paint it {{answer:1}}."
  - steps:
      - write: { path: paint.txt, content: "{{answer:1}}, {{answer:2}}, {{answer:3}}\n" }
    result: "Painted."
"##;

/// CHAT-24, CHAT-27: every answer is the person's at this device; back and edit work; the next question is there at
/// once.
#[tokio::test]
async fn a_round_is_answered_with_back_and_edit() {
    let site = WebSite::start(Project::with_scenario(ROUND));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["paint <b>the house</b>"], &[]);
    run.until_asked();
    let first = phone.sees("/", "data-option=\"2\"").await;
    first.check(200, "Which <em>colour</em>?").check(200, "Looks <strong>red</strong>");
    first
        .check(200, "paint &lt;b&gt;the house&lt;/b&gt;")
        .check(200, "2. Rooms")
        .check(200, "All as recommended");
    let second = phone.press(&first, "option:0", &[]).await;
    second.check(200, "Answered.").check(200, "Which rooms?").check(200, "Colour: <b>Red</b>");
    let back = phone.press(&second, "back", &[]).await;
    back.check(200, "Which <em>colour</em>?").check(200, "So far: <strong>Red</strong>");
    // The first showing of the question is gone, and answers nothing.
    phone.press(&first, "option:0", &[]).await.check(200, "asked again meanwhile");
    let second = phone.press(&back, "option:1", &[]).await;
    let empty = phone.press(&second, "done", &[]).await;
    empty.check(200, "Not done: ").check(200, "Which rooms?");
    let third = phone.press(&second, "done", &[("o", "0"), ("o", "1"), ("text", "and the attic")]).await;
    third.check(200, "Which day?").check(200, "Rooms: <b>Hall, Kitchen (Recommen");
    let edited = phone.press(&third, "reopen:q1", &[]).await;
    edited.check(200, "Which <em>colour</em>?");
    let third = phone.press(&edited, "option:0", &[]).await;
    phone.press(&third, "text", &[("text", "on a Sunday\r\nor later")]).await;
    let plan = phone.sees("/", "Start the work with this plan?").await;
    plan.check(200, "Paint it Red.").check(200, "Your answers (3)").check(200, "on a Sunday\nor later");
    let changed = phone.press(&plan, "reopen:q3", &[]).await;
    changed.check(200, "Which day?").check(200, "Keep the answer");
    phone.press(&changed, "keep", &[]).await.check(200, "Kept as it was.");
    let plan = phone.sees("/", "Start the work with this plan?").await;
    phone.press(&plan, "option:0", &[]).await;
    assert_eq!(run.finish(), 0);
    assert!(site.project.file("paint.txt").starts_with("Red, Hall"), "{}", site.project.file("paint.txt"));
    let by = By::Person { channel: "web".into(), id: "phone".into() };
    assert!(site.project.view().answers.iter().all(|answer| answer.by == by));
    let id = site.project.session();
    phone.sees(&format!("/s/{id}"), "completed").await.check(200, "phone (web)");
    phone.page(&format!("/s/{id}/changes")).await.check(200, "paint.txt");
    phone.page(&format!("/s/{id}/plan")).await.check(200, "Paint it Red.");
    phone.page(&format!("/s/{id}/log")).await.check(200, "\"answered\"");
    phone.page("/").await.check(200, "Nothing waits for you.");
}

#[tokio::test]
async fn all_as_recommended_answers_every_question() {
    let site = WebSite::start(Project::with_scenario(ROUND));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["paint"], &[]);
    run.until_asked();
    let card = phone.sees("/", "All as recommended").await;
    phone.press(&card, "recommended", &[]).await;
    phone.sees("/", "Start the work with this plan?").await;
    let view = site.project.view();
    let answers: Vec<_> = view.answers.iter().map(|answer| answer.answer.as_str()).collect();
    assert_eq!(answers, ["Blue (Recommended)", "Kitchen (Recommended)", "Monday (Recommended)"]);
    run.child.kill().unwrap();
}

/// The first answer wins; a later one is shown it, and an answer from elsewhere removes the card.
#[tokio::test]
async fn two_browsers_and_a_terminal_answer_once() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let (phone, laptop) = (site.pair("phone").await, site.pair("laptop").await);
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let (one, other) = (phone.sees("/", "Which colour?").await, laptop.sees("/", "Which colour?").await);
    let (one, other) =
        tokio::join!(phone.press(&one, "option:0", &[]), laptop.press(&other, "option:1", &[]));
    let late =
        [&one, &other].into_iter().filter(|page| page.text.contains("was already answered with")).count();
    assert_eq!(late, 1, "{}\n{}", one.text, other.text);
    let answers =
        site.project.facts().into_iter().filter(|fact| matches!(fact, Event::Answered { .. })).count();
    assert_eq!(answers, 1);
    phone.sees("/", "Start the work with this plan?").await;
    site.project.rapport(&["answer", "confirm"]).check(0, "");
    phone.misses("/", "Start the work").await;
    assert_eq!(run.finish(), 0);
}

/// A call cannot be allowed unseen: the whole call is on the card.
#[tokio::test]
async fn a_permission_shows_what_it_would_do() {
    let site = WebSite::start(Project::with_scenario(PERMISSION));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["build it"], &[]);
    let plan = phone.sees("/", "Start the work with this plan?").await;
    phone.press(&plan, "option:0", &[]).await;
    let card = phone.sees("/", "May the agent use Bash?").await;
    card.check(200, "echo built &gt; built.txt").check(200, "badge is-permission");
    phone.press(&card, "option:0", &[]).await.check(200, "Answered.");
    run.until_gone_or(|fact| matches!(fact, Event::Reported { .. }));
    assert_eq!(site.project.file("built.txt"), "built\n");
}

/// A task is started, watched, told something, stopped, resumed by an answer and cancelled.
#[tokio::test]
async fn a_task_is_started_and_steered() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    let token = phone.page("/new").await.form_token();
    let boundary = "XXXX";
    let part = |name: &str, value: &str| {
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let file = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"../My Notes.txt\"\r\nContent-Type: text/plain\r\n\r\nuse oil\r\n"
    );
    let body = |token: &str, worker: &str| {
        let parts =
            [part("form", token), part("task", "paint\r\nit"), part("worker", worker), part("request", "r1")];
        format!("{}{file}--{boundary}--\r\n", parts.concat())
    };
    let send = |body: String| phone.upload("/new", boundary, body);
    let forged = send(body("forged", "")).send().await.unwrap();
    assert_eq!(forged.status().as_u16(), 403);
    let wrong = super::Page::of(send(body(&token, "nowhere")).send().await.unwrap()).await;
    wrong.check(200, "nowhere").check(200, "paint\nit");
    assert!(site.project.store().list().unwrap().is_empty());
    for _ in 0..2 {
        let started = send(body(&token, "worktree")).send().await.unwrap();
        assert_eq!(started.status().as_u16(), 303);
    }
    // The same form twice is one task.
    let id = site.project.session();
    let path = format!("/s/{id}");
    let page = phone.sees(&path, "Which colour?").await;
    page.check(200, "my-notes.txt").check(200, "Tell the agent something").check(200, "<dd>worktree</dd>");
    phone.press(&page, "option:1", &[]).await;
    // The story tells of the question before its card is there: the plan is saved first.
    let page = phone.sees(&path, "Confirm &amp; start").await;
    phone.press(&page, "option:0", &[]).await;
    let page = phone.sees(&path, "What becomes of these changes?").await;
    assert_eq!(site.project.file("paint.txt"), "");
    phone.press(&page, "apply", &[]).await.check(200, "It is being applied.");
    wait_for("the work", || (site.project.file("paint.txt") == "Blue\n").then_some(()));
    phone.sees("/sessions?q=PAINT", "badge status completed").await;
    phone.page("/sessions?q=which+COLOUR+blue").await.check(200, "badge status completed");
    phone.page("/sessions?q=nothing-like-it").await.check(200, "No session fits.");
}

#[tokio::test]
async fn a_running_agent_is_told_and_stopped() {
    let site = WebSite::start(Project::with_scenario(crate::support::scenarios::BUSY));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["think"], &[]);
    run.until(|fact| matches!(fact, Event::Said { .. }));
    let path = format!("/s/{}", site.project.session());
    let page = phone.sees(&path, "This takes a while.").await;
    phone.press(&page, "say", &[("text", "<i>hurry</i>")]).await.check(200, "&lt;i&gt;hurry&lt;/i&gt;");
    let page = phone.press(&page, "stop", &[]).await;
    page.check(200, "Stopped. Nothing is lost.").check(200, "Go on");
    let page = phone.press(&page, "cancel", &[]).await;
    page.check(200, "Cancelled.");
    assert_eq!(site.project.view().status, Status::Cancelled);
    run.child.kill().unwrap();
}

/// A plan of actions is reviewed: part of it is approved, runs, and is undone. FILE-30
#[tokio::test]
async fn part_of_a_plan_is_approved_and_undone() {
    let site = WebSite::start(Project::with_agent("rehearsal --scenario files"));
    let phone = site.pair("phone").await;
    site.project.rapport(&["new", "greet"]).check(0, "");
    site.project.rapport(&["plan", "-m", "add a greeting"]).check(0, "");
    let card = phone.sees("/", "Review: ").await;
    card.check(200, "CREATE").check(200, "greeting.sh").check(200, "Run what is checked");
    let none = phone.press(&card, "approve", &[]).await;
    none.check(200, "Nothing is checked.");
    // Everything but the edit, which the command depends on.
    let left = phone.page("/?left=2.1").await;
    left.check(200, "runs without EDIT greeting.sh");
    phone
        .press(&card, "approve", &[("i", "0.0"), ("i", "1.0"), ("i", "2.0")])
        .await
        .check(200, "Approved. It runs.");
    let path = format!("/s/{}", site.project.session());
    let done = phone.sees(&path, "value=\"undo\"").await;
    assert!(site.project.file("greeting.sh").contains("ello"), "{}", site.project.file("greeting.sh"));
    phone.press(&done, "undo", &[]).await;
    phone.sees(&path, "Undone: ").await;
    wait_for("the file to be gone", || (!site.project.root().join("greeting.sh").exists()).then_some(()));
}
