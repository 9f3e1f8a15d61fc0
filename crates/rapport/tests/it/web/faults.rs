//! Hostile text, a killed server, a full disk: nothing becomes markup, nothing is lost, and nothing is reported that
//! is not stored.

use rapport_core::Event;

use super::answering::ROUND;
use super::{WebSite, visitor::client};
use crate::support::disk::Disk;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

const EVIL: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[2K\"'&";

fn is_harmless(page: &str) {
    for wrong in ["<script>alert", "<img src=x", "\u{202e}", "\u{1b}"] {
        assert!(!page.contains(wrong), "{wrong:?} in {page}");
    }
}

#[tokio::test]
async fn hostile_text_in_every_field_stays_text() {
    let evil = serde_json::to_string(EVIL).unwrap();
    let long = serde_json::to_string(&format!("{EVIL}{}", "long ".repeat(200_000))).unwrap();
    let scenario = format!(
        "version: 1\nname: evil\ninvocations:\n  - steps:\n      - text: {long}\n      - ask:\n          questions:\n            - question: {evil}\n              header: {evil}\n              options: [{{ label: {evil}, description: {evil}, preview: {evil} }}, {{ label: B }}]\n            - question: \"Then?\"\n              header: {evil}\n              options: [{{ label: C }}, {{ label: D }}]\n    result: {evil}\n  - result: {evil}\n"
    );
    let site = WebSite::start(Project::with_scenario(&scenario));
    let phone = site.pair(EVIL).await;
    let mut run = site.project.start(&[EVIL], &[]);
    run.until_asked();
    let path = format!("/s/{}", site.project.session());
    let card = phone.sees("/", "data-option=\"1\"").await;
    card.check(200, "&lt;script&gt;alert(1)&lt;/script&gt;").check(200, "&lt;U+202E&gt;");
    is_harmless(&card.text);
    let second = phone.press(&card, "option:0", &[("text", EVIL)]).await;
    is_harmless(&second.text);
    phone.press(&second, "text", &[("text", EVIL)]).await;
    let plan = phone.sees("/", "Start the work with this plan?").await;
    is_harmless(&plan.text);
    let story = phone.page(&path).await;
    assert!(story.text.len() < 200_000, "{}", story.text.len());
    for page in [&path, &format!("{path}/plan"), &format!("{path}/changes"), "/sessions", "/devices"] {
        is_harmless(&phone.page(page).await.text);
    }
    let searched = phone.page("/sessions?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").await;
    is_harmless(&searched.text);
    let tall = "x".repeat(2 * 1024 * 1024);
    phone.press(&plan, "text", &[("text", &tall)]).await.check(413, "too long");
    run.child.kill().unwrap();
}

/// An answer is on disk before it is acknowledged, and a killed server shows only what is stored.
#[tokio::test]
async fn a_killed_server_goes_on_where_it_was() {
    let mut site = WebSite::start(Project::with_scenario(ROUND));
    let phone = site.pair("phone").await;
    let token = phone.page("/new").await.form_token();
    let body = format!(
        "--X\r\nContent-Disposition: form-data; name=\"form\"\r\n\r\n{token}\r\n--X\r\nContent-Disposition: form-data; name=\"task\"\r\n\r\npaint\r\n--X--\r\n"
    );
    let started = phone.upload("/new", "X", body);
    assert_eq!(started.send().await.unwrap().status().as_u16(), 303);
    let first = phone.sees("/", "data-option=\"2\"").await;
    phone.press(&first, "option:1", &[]).await.check(200, "Which rooms?");
    site.restart();
    // The same cookie, the same answers; the task that was begun here continues by itself.
    let second = phone.sees("/", "Which rooms?").await;
    second.check(200, "Colour: <b>Blue (Recommended)</b>");
    let third = phone.press(&second, "done", &[("o", "0")]).await;
    phone.press(&third, "option:0", &[]).await;
    let plan = phone.sees("/", "Start the work with this plan?").await;
    phone.press(&plan, "option:0", &[]).await;
    wait_for("the work", || (!site.project.file("paint.txt").is_empty()).then_some(()));
}

#[tokio::test]
async fn an_answer_that_cannot_be_stored_is_not_taken() {
    let project = Project::with_scenario(ONE_QUESTION);
    std::fs::create_dir_all(project.root().join(".rapport/sessions")).unwrap();
    let Some(disk) = Disk::at(&project.root().join(".rapport/sessions"), "2m") else { return };
    let site = WebSite::start(project);
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let card = phone.sees("/", "Which colour?").await;
    let filler = disk.fill();
    // A short answer may fit into what is left of a block.
    let refused = phone.press(&card, "text", &[("text", &"green ".repeat(5000))]).await;
    refused.check(200, "said refused");
    assert!(!refused.text.contains("Answered."), "{}", refused.text);
    std::fs::remove_file(filler).unwrap();
    let answered = |fact: &Event| matches!(fact, Event::Answered { .. });
    assert!(!site.project.facts().iter().any(answered));
    let _ = run.child.kill();
    let _ = run.child.wait();
    // The run is gone; its question is still there, and is answered here.
    let card = phone.sees("/", "Which colour?").await;
    phone.press(&card, "option:0", &[]).await.check(200, "Answered.");
    assert!(site.project.facts().iter().any(answered));
    drop(site);
    drop(disk);
}

/// A stream ends with its server, and the server with a signal, however many pages are open.
#[tokio::test]
async fn open_pages_do_not_keep_the_server() {
    let mut site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        let mut stream = phone.get("/events").send().await.unwrap();
        let hello = stream.chunk().await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&hello).starts_with("event: hello\ndata: {\"build\":"), "{hello:?}");
        streams.push(stream);
    }
    site.serving.signal(nix::sys::signal::Signal::SIGTERM);
    for mut stream in streams {
        while let Ok(Some(_)) = stream.chunk().await {}
    }
    let ended = wait_for("the server to end", || site.serving.child.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
    client().get(&site.url).send().await.unwrap_err();
}
