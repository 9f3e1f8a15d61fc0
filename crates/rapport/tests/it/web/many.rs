//! Many sessions: pages stay short, and news arrives in the open page. How fast they are is measured by `cargo xtask bench web`.

use std::time::{Duration, Instant};

use rapport::seals::Seals;
use rapport::stores::Holder;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport_core::{Created, Event};

use super::WebSite;
use crate::support::project::{Project, unsigned};
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
    });
}

/// Ten thousand sessions: lists are paged, and a search looks through all of them.
#[test]
fn ten_thousand_sessions_are_listed_and_searched() {
    const SESSIONS: usize = 10_000;
    const WRITERS: usize = 16;
    let project = Project::with_scenario(ONE_QUESTION);
    many(&project, 1);
    let facts = project.facts();
    let (root, home) = (project.root(), project.path("home/.rapport"));
    let store = Files::new(rapport::config::sessions(&root)).of(root.clone());
    let store = BlockingStore::new(store.sealed_by(Seals::new(home, root)));
    let write = |number: usize| {
        let named = facts.iter().cloned().map(|fact| match fact {
            Event::Created(created) => {
                Event::Created(Created { task: format!("Task <{number}> of many"), ..created })
            }
            other => other,
        });
        let (at, holder) = (jiff::Timestamp::now(), Holder::this_process(None));
        store.create(&format!("task {number}"), at, named.collect(), &holder).unwrap();
    };
    // The disk syncs many files at once in hardly more time than one.
    std::thread::scope(|scope| {
        for first in 1..=WRITERS {
            let write = &write;
            scope.spawn(move || (first..SESSIONS).step_by(WRITERS).for_each(write));
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let site = WebSite::start(project);
        let phone = site.pair("phone").await;
        phone.page("/").await.check(200, "wait");
        let began = Instant::now();
        while phone.page("/sessions").await.text.contains("Still reading") {
            assert!(began.elapsed() < Duration::from_secs(300), "it still reads");
        }
        println!("{SESSIONS} sessions are read after {:?}", began.elapsed());
        phone.page("/").await.check(200, &format!("{SESSIONS} wait")).check(200, "1 of 200");
        let found = phone.page("/sessions?q=%3C9999%3E+which").await;
        found.check(200, "Task &lt;9999&gt; of many").check(200, "Which colour?");
        assert_eq!(found.text.matches("class=\"item\"").count(), 1, "{}", found.text);
        for path in ["/", "/?order=urgent&page=100", "/sessions?page=199", "/sessions?q=task", "/projects"] {
            let page = phone.page(path).await;
            assert!(page.text.len() < 150_000, "{path}: {} bytes", page.text.len());
        }
    });
}

/// A log of a hundred thousand entries is a page like any other: the newest, and those before it page by page.
#[test]
fn a_long_story_is_paged_and_short() {
    const ENTRIES: usize = 100_000;
    let project = Project::with_scenario(ONE_QUESTION);
    many(&project, 1);
    let path = project.root().join(".rapport/sessions").join(project.session().as_str()).join("log.jsonl");
    let lines = std::fs::read_to_string(&path).unwrap();
    let mut entries: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The question waits at the end, after all that the agent said.
    let asked = entries.iter().position(|entry| entry["facts"].to_string().contains("\"asked\"")).unwrap();
    let said = (0..ENTRIES).map(|number| {
        let mut entry = entries[asked].clone();
        entry["facts"] = serde_json::json!([{ "said": { "turn": 1, "text": format!("word {number}") } }]);
        entry
    });
    let said: Vec<_> = said.collect();
    entries.splice(asked..asked, said);
    let numbered = entries.into_iter().zip(1_u64..).map(|(mut entry, number)| {
        entry["seq"] = number.into();
        unsigned(entry)
    });
    std::fs::write(&path, numbered.collect::<String>()).unwrap();
    project.trust();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let id = project.session();
        let site = WebSite::start(project);
        let phone = site.pair("phone").await;
        phone.sees("/", "1 waits").await;
        let path = format!("/s/{id}");
        phone.sees(&path, "Which colour?").await.check(200, &format!("word {}", ENTRIES - 1));
        for path in [path.clone(), format!("{path}?before=50000"), format!("{path}/turns"), "/".to_owned()] {
            let page = phone.page(&path).await;
            assert!(page.text.len() < 150_000, "{} bytes", page.text.len());
        }
        let log = phone.page(&format!("{path}/log")).await;
        assert!(log.text.lines().count() > ENTRIES, "{}", log.text.lines().count());
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
