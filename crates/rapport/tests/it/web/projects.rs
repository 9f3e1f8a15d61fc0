//! Projects, their history and what is known about them, over plain HTTP; and starting work with a policy.

use rapport_core::routing::Policy;

use super::WebSite;
use super::looking::{import, waiting_facts};
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// LEAD-23, LEAD-28: what is known about a project is shown with its origin, and a person adds to it, changes it, and
/// has it forgotten.
#[tokio::test]
async fn lead_28_what_is_known_is_shown_edited_and_forgotten() {
    let project = Project::with_scenario(ONE_QUESTION);
    std::fs::write(project.root().join("Cargo.toml"), "[package]\nname = \"app\"\nversion = \"1.2.3\"\n")
        .unwrap();
    let site = WebSite::start(project);
    let phone = site.pair("phone").await;
    let list = phone.sees("/projects", "nothing is known about it yet").await;
    let path = list.text.split("href=\"/projects/").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let path = format!("/projects/{path}");
    let page = phone.page(&path).await;
    page.check(200, "Nothing is known about it yet.");
    let page = phone.press(&page, "explore", &[]).await;
    page.check(200, "Explored.").check(200, "<dt>Version</dt><dd>1.2.3</dd>");
    let page = phone.press(&page, "add", &[("text", "Use <b>oil</b> paint"), ("kind", "preference")]).await;
    page.check(200, "Use &lt;b&gt;oil&lt;/b&gt; paint").check(200, "phone (web)");
    // Agents are told it, and the terminal shows the same.
    site.project.rapport(&["project", "show"]).check(0, "Use <b>oil</b> paint");
    let page = phone.press(&page, "edit", &[("text", "Use water paint"), ("kind", "convention")]).await;
    page.check(200, "Changed.").check(200, "<h3>Conventions</h3>").check(200, "Use water paint");
    assert!(!page.text.contains("oil"), "{}", page.text);
    let empty = phone.press(&page, "add", &[("text", "  ")]).await;
    empty.check(200, "Not done: ");
    let page = phone.press(&page, "forget", &[]).await;
    page.check(200, "Forgotten.");
    assert!(!page.text.contains("water"), "{}", page.text);
    phone.press(&page, "unregister", &[]).await.check(200, "nothing is known about it yet");
    // No address leads to another directory.
    phone.page("/projects/%2Fetc").await.check(404, "There is no such project.");
}

/// A proposal from an answer shows the session that it came from, and waits for consent.
#[tokio::test]
async fn lead_28_a_proposal_names_its_origin_and_waits() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let card = phone.sees("/", "Which colour?").await;
    phone.press(&card, "option:0", &[]).await;
    let plan = phone.sees("/", "Start the work with this plan?").await;
    phone.press(&plan, "option:0", &[]).await;
    assert_eq!(run.finish(), 0);
    site.project.rapport(&["project", "explore"]).check(0, "");
    let list = phone.page("/projects").await;
    let name = list.text.split("href=\"/projects/").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let path = format!("/projects/{name}");
    let page = phone.sees(&path, "Proposed").await;
    let id = site.project.session();
    page.check(200, "Which colour? Red").check(200, &format!(", from <a href=\"/s/{id}\">{id}/q1</a>"));
    let kept = phone.press(&page, "learn", &[]).await;
    kept.check(200, "Kept in mind from now on.").check(200, "<h3>Preferences</h3>");
    // A device that may only look sees it, and has no way to change it.
    let tv = super::WebVisitor::pair(&site.invite(&["--look"]), "tv").await;
    let seen = tv.page(&path).await;
    seen.check(200, "Which colour? Red");
    assert!(!seen.text.contains("name=\"do\""), "{}", seen.text);
}

/// All of a session's questions and answers are searched, however long they are.
#[tokio::test]
async fn a_search_finds_what_is_far_into_a_session() {
    let project = Project::with_scenario(ONE_QUESTION);
    let facts: Vec<_> = waiting_facts(&project)
        .into_iter()
        .map(|fact| match fact {
            rapport_core::Event::Asked { round, asker, mut questions } => {
                questions[0].text = format!("{} Needle at the End?", "long ".repeat(10_000));
                rapport_core::Event::Asked { round, asker, questions }
            }
            other => other,
        })
        .collect();
    let id = import(&project, facts).await;
    let site = WebSite::start(project);
    let phone = site.pair("phone").await;
    phone.sees("/", "2 wait").await;
    let found = phone.page("/sessions?q=needle+END").await;
    found.check(200, &format!("href=\"/s/{id}\""));
    assert_eq!(found.text.matches("class=\"item\"").count(), 1, "{}", found.text);
    phone.page("/sessions?q=needles").await.check(200, "No session fits.");
    // A short text is found, and shown in its own letters.
    phone.page("/sessions?q=WHICH+colour").await.check(200, "Which colour?");
}

/// LEAD-13: the policy of a task is chosen with it; one that needs a lead is refused where there is none.
#[tokio::test]
async fn lead_13_a_task_is_started_with_a_policy() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    let form = phone.page("/new").await;
    form.check(200, "Answer what it has a ground for").check(200, "As usual (assist)");
    let token = form.form_token();
    let start = async |policy: &str| {
        let part = |name: &str, value: &str| {
            format!("--X\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let parts = [part("form", &token), part("task", "paint it"), part("policy", policy)].concat();
        phone.upload("/new", "X", format!("{parts}--X--\r\n")).send().await.unwrap()
    };
    let refused = super::Page::of(start("auto").await).await;
    refused.check(200, "has no lead yet").check(200, "paint it");
    super::Page::of(start("whatever").await).await.check(200, "There is no policy");
    assert!(site.project.store().list().unwrap().is_empty());
    assert_eq!(start("ask").await.status().as_u16(), 303);
    let entries = site.project.store().read(&site.project.session(), 0).unwrap();
    let session = rapport_core::Session::replay(&entries).unwrap();
    assert_eq!(session.created().terms.questions, Policy::Ask);
}
