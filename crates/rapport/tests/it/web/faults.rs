//! Hostile text, a killed server, a full disk: nothing becomes markup, nothing is lost, and nothing is reported that
//! is not stored.

use rapport_core::Event;

use super::answering::ROUND;
use super::{WebSite, visitor::client};
use crate::support::disk::Disk;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

pub(super) const EVIL: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[2K\"'&";

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
    let (plan_page, changes, turns) =
        (format!("{path}/plan"), format!("{path}/changes"), format!("{path}/turns"));
    let evil_address = "%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE%1B";
    let (card_page, project) =
        (format!("/?s={evil_address}&q={evil_address}"), format!("/projects/{evil_address}"));
    let pinned = format!("{path}?pin={evil_address}&q={evil_address}&before={evil_address}");
    for page in [
        &path,
        &plan_page,
        &changes,
        &turns,
        "/sessions",
        "/devices",
        "/projects",
        &card_page,
        &project,
        &pinned,
    ] {
        is_harmless(&phone.page(page).await.text);
    }
    // What is kept in mind for a project is text as well.
    let list = phone.page("/projects").await;
    let name = list.text.split("href=\"/projects/").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let known = phone.page(&format!("/projects/{name}")).await;
    let known = phone.press(&known, "explore", &[]).await;
    let known = phone.press(&known, "add", &[("text", EVIL)]).await;
    known.check(200, "&lt;script&gt;alert(1)&lt;/script&gt;").check(200, "&lt;U+202E&gt;");
    is_harmless(&known.text);
    // Longer than a learning may be.
    let long_one = phone.press(&known, "add", &[("text", &"x ".repeat(300_000))]).await;
    long_one.check(413, "What was sent is too long");
    assert!(long_one.text.len() < 200_000, "{}", long_one.text.len());
    let searched = phone.page("/sessions?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").await;
    is_harmless(&searched.text);
    let tall = "x".repeat(2 * 1024 * 1024);
    phone.press(&plan, "text", &[("text", &tall)]).await.check(413, "too long");
    run.child.kill().unwrap();
}

/// A megabyte in each field of a question: the card has all of it, because nobody answers what they have not seen; lists
/// have its beginning, and every page comes quickly.
#[tokio::test]
async fn a_megabyte_in_every_field_is_served() {
    const MUCH: usize = 1_000_000;
    let long = |start: &str| serde_json::to_string(&format!("{start}{}", "long ".repeat(MUCH / 5))).unwrap();
    let scenario = format!(
        "version: 1\nname: long\ninvocations:\n  - steps:\n      - ask:\n          questions:\n            - question: {}\n              header: {}\n              options: [{{ label: {}, description: {}, preview: {} }}, {{ label: B }}]\n    result: Done\n",
        long(EVIL),
        long("h"),
        long("A "),
        long("d"),
        long(EVIL)
    );
    let site = WebSite::start(Project::with_scenario(&scenario));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["think"], &[]);
    run.until_asked();
    let card = phone.sees("/", "data-option=\"2\"").await;
    is_harmless(&card.text);
    let path = format!("/s/{}", site.project.session());
    for page in ["/", path.as_str(), "/sessions", "/sessions?q=long"] {
        let began = std::time::Instant::now();
        let shown = phone.page(page).await;
        let took = began.elapsed();
        println!("{page} with a megabyte in every field: {} bytes, {took:?}", shown.text.len());
        assert!(took < std::time::Duration::from_secs(4), "{page}: {took:?}");
    }
    let list = phone.page("/sessions").await;
    assert!(list.text.len() < 50_000, "{}", list.text.len());
    phone.press(&card, "option:1", &[]).await.check(200, "Answered.");
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

/// Two browsers and a phone answer at the same moment: one answer counts, the others are told which, and what they
/// wrote is shown again, also without JavaScript.
#[tokio::test]
async fn three_answers_at_once_are_one_and_no_words_are_lost() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let devices = [site.pair("desk").await, site.pair("laptop").await, site.pair("phone").await];
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let words = ["green like grass", "grey like stone", "white like snow"];
    let mut cards = Vec::new();
    for device in &devices {
        cards.push(device.sees("/", "Which colour?").await);
    }
    let answers = devices
        .iter()
        .zip(&cards)
        .zip(words)
        .map(|((device, card), text)| async move { device.press(card, "text", &[("text", text)]).await });
    let pages = futures_util::future::join_all(answers).await;
    let stored = site.project.facts();
    let given: Vec<_> = stored.iter().filter(|fact| matches!(fact, Event::Answered { .. })).collect();
    assert_eq!(given.len(), 1, "{given:#?}");
    let won = site.project.view().answers[0].answer.clone();
    for (page, text) in pages.iter().zip(words) {
        if text == won {
            page.check(200, "Answered.");
            continue;
        }
        page.check(200, "was already answered with").check(200, &won);
        page.check(200, "You wrote this, and it was not sent").check(200, text);
    }
    run.child.kill().unwrap();
}

/// A page from yesterday's version: its stream names the version, its files are still served, and an act that this
/// version does not know is refused in words and changes nothing.
#[tokio::test]
async fn a_page_of_another_version_does_no_harm() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let card = phone.sees("/", "Which colour?").await;
    let path = format!("/s/{}/act", site.project.session());
    let (token, before) = (card.form_token(), site.project.facts().len());
    for unknown in ["", "answer_everything", "option:99", "option:x", "approve"] {
        let fields =
            [("form", token.as_str()), ("question", "q1"), ("seen", "3"), ("do", unknown), ("back", "/")];
        phone.send(&path, &fields).await.check(200, "said refused").check(200, "Which colour?");
    }
    assert_eq!(site.project.facts().len(), before);
    let old = phone.get("/assets/yesterday/style.css").send().await.unwrap();
    assert_eq!(old.status().as_u16(), 200);
    let mut stream = phone.get("/events").send().await.unwrap();
    let hello = stream.chunk().await.unwrap().unwrap();
    let build = card.text.split_once("data-build=\"").unwrap().1.split('"').next().unwrap();
    assert!(String::from_utf8_lossy(&hello).contains(build), "{hello:?}");
    run.child.kill().unwrap();
}

/// A stream that is cut in the middle leaves nothing behind on the server, and the next one begins with a greeting, after
/// which the page fetches itself.
#[tokio::test]
async fn a_stream_that_is_cut_is_followed_by_another() {
    let mut site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    phone.sees("/", "Which colour?").await;
    for _ in 0..50 {
        let mut stream = phone.get("/events").send().await.unwrap();
        assert!(String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()).contains("event: hello"));
        drop(stream);
    }
    let mut stream = phone.get("/events").send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    site.stop();
    while let Ok(Some(_)) = stream.chunk().await {}
    site.project.rapport(&["answer", "Red"]).check(0, "");
    site.restart();
    let mut stream = phone.get("/events").send().await.unwrap();
    assert!(String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()).contains("event: hello"));
    // The card of the next question, with the answer to this one.
    phone.sees("/", "Start the work with this plan?").await;
    run.child.kill().unwrap();
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
