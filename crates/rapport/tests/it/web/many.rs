//! Many sessions: pages stay short and fast, and news arrives in the open page.

use std::time::{Duration, Instant};

use super::WebSite;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// A session that waits is copied; all copies count, because the home trusts them.
fn many(project: &Project, number: usize) {
    let mut run = project.start(&["paint it"], &[]);
    run.until_asked();
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    let (store, first) = (project.store(), project.session());
    let facts: Vec<_> = store.read(&first, 0).unwrap().into_iter().flat_map(|entry| entry.facts).collect();
    let place = rapport::wiring::Workspace::new(project.path("home/.rapport"), project.root());
    let sessions = place.sessions();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 1..number {
            let since = jiff::Timestamp::now();
            rapport_door::Sessions::import(&sessions, facts.clone(), since).await.unwrap();
        }
    });
}

#[test]
fn an_inbox_of_many_is_paged_and_short() {
    const MANY: usize = 1000;
    let project = Project::with_scenario(ONE_QUESTION);
    many(&project, MANY);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let site = WebSite::start(project);
        let phone = site.pair("phone").await;
        let page = phone.sees("/", &format!("{MANY} wait")).await;
        assert_eq!(page.text.matches("class=\"item\"").count(), 50);
        assert!(page.text.len() < 150_000, "{} bytes", page.text.len());
        page.check(200, "1 of 20");
        phone.page("/?page=19").await.check(200, "20 of 20");
        phone.page("/?page=999").await.check(200, "20 of 20");
        phone.page("/sessions?page=2").await.check(200, "3 of 20");
        let began = Instant::now();
        for _ in 0..20 {
            phone.page("/").await.check(200, "wait");
        }
        let each = began.elapsed() / 20;
        println!("an inbox of {MANY}: {} bytes, {each:?}", page.text.len());
        assert!(each < Duration::from_millis(500), "{each:?}");
    });
}

/// A log of a hundred thousand facts is a page like any other.
#[test]
fn a_long_story_is_paged_and_short() {
    const FACTS: usize = 100_000;
    let project = Project::with_scenario(ONE_QUESTION);
    many(&project, 1);
    let place = rapport::wiring::Workspace::new(project.path("home/.rapport"), project.root());
    let facts: Vec<_> = project
        .store()
        .read(&project.session(), 0)
        .unwrap()
        .into_iter()
        .flat_map(|entry| entry.facts)
        .collect();
    let turn = rapport_core::TurnId(1);
    let said = (0..FACTS).map(|number| rapport_core::Event::Said { turn, text: format!("word {number}") });
    let all = facts.iter().take(2).cloned().chain(said).chain(facts.iter().skip(2).cloned()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sessions = place.sessions();
    let imported = rapport_door::Sessions::import(&sessions, all, jiff::Timestamp::now());
    let id = runtime.block_on(imported).unwrap();
    runtime.block_on(async {
        let site = WebSite::start(project);
        let phone = site.pair("phone").await;
        phone.sees("/", "2 wait").await;
        let path = format!("/s/{id}");
        phone.sees(&path, "Which colour?").await;
        let began = Instant::now();
        let page = phone.page(&path).await;
        let took = began.elapsed();
        println!("a session of {FACTS} facts: {} bytes, {took:?}", page.text.len());
        assert!(page.text.len() < 150_000, "{} bytes", page.text.len());
        assert!(took < Duration::from_secs(3), "{took:?}");
    });
}

/// What is stored anywhere is told to an open page within a second.
#[tokio::test]
async fn a_stored_fact_is_told_at_once() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    phone.sees("/", "Which colour?").await;
    let mut stream = phone.get("/events").send().await.unwrap();
    stream.chunk().await.unwrap();
    site.project.rapport(&["answer", "Red"]).check(0, "");
    let began = Instant::now();
    let changed =
        tokio::time::timeout(Duration::from_secs(10), stream.chunk()).await.unwrap().unwrap().unwrap();
    let changed = String::from_utf8_lossy(&changed).into_owned();
    assert!(
        changed.contains("event: changed") && changed.contains(site.project.session().as_str()),
        "{changed}"
    );
    println!("told {:?} after the answer was stored", began.elapsed());
    phone.misses("/", "Which colour?").await;
    run.child.kill().unwrap();
}
