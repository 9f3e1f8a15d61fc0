//! Stories in a real Chromium, on a phone and on a desk, and without JavaScript.

use super::WebSite;
use super::answering::ROUND;
use crate::support::browser::{Browser, DESK, PHONE, Setup};
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

async fn pair(browser: &Browser, site: &WebSite) {
    browser.go(&site.url).await;
    browser.sees("This device is not paired yet.").await;
    browser.check_page(&site.url).await;
    browser.go(&site.invite(&[])).await;
    browser.check_page(&site.url).await;
    browser.click("main button.main").await;
    browser.sees("Nothing waits for you.").await;
}

/// A task is started, its round answered with back and edit by keys and taps, while a terminal sees the same; its
/// work is watched.
async fn tells_the_story_of_a_task(setup: Setup, name: &str) {
    let site = WebSite::start(Project::with_scenario(ROUND));
    let Some(browser) = Browser::start(setup).await else { return };
    pair(&browser, &site).await;
    browser.check_page(&site.url).await;
    browser.go(&format!("{}/new", site.url)).await;
    browser.check_page(&site.url).await;
    browser.picture(&format!("{name}-new")).await;
    browser.write("textarea[name=task]", "Paint the house").await;
    browser.click("form.start button.main").await;
    browser.sees("Which colour?").await;
    browser.check_page(&site.url).await;
    browser.go(&site.url).await;
    browser.sees("Which colour?").await;
    browser.check_page(&site.url).await;
    browser.picture(&format!("{name}-inbox")).await;
    // The digit chooses, Enter answers.
    browser.press("1").await;
    browser.press("\u{E007}").await;
    browser.sees("Which rooms?").await;
    browser.press("b").await;
    browser.sees("So far: Red").await;
    browser.click("[data-option='2']").await;
    browser.sees("Which rooms?").await;
    browser.check_page(&site.url).await;
    browser.press("1").await;
    browser.press("2").await;
    browser.press("\u{E007}").await;
    browser.sees("Which day?").await;
    // An answer from elsewhere appears here without touching the page, and text that a person is writing stays.
    browser.write("textarea[name=text]", "on Sunday").await;
    site.project.rapport(&["answer", "--question", "q3", "Friday"]).check(0, "");
    browser.sees("Start the work with this plan?").await;
    browser.check_page(&site.url).await;
    browser.picture(&format!("{name}-plan")).await;
    browser.click(".answers summary").await;
    browser.click("button[value='reopen:q3']").await;
    browser.sees("Keep the answer").await;
    browser.click("[data-option='1']").await;
    browser.sees("Start the work with this plan?").await;
    browser.click("[data-option='1']").await;
    browser.sees("Nothing waits for you.").await;
    wait_for("the work", || site.project.file("paint.txt").contains("Monday").then_some(()));
    browser.go(&format!("{}/s/{}", site.url, site.project.session())).await;
    browser.sees("completed").await;
    browser.check_page(&site.url).await;
    browser.picture(&format!("{name}-session")).await;
    browser.go(&format!("{}/s/{}/changes", site.url, site.project.session())).await;
    browser.sees("paint.txt").await;
    browser.check_page(&site.url).await;
    for page in ["/sessions", "/devices"] {
        browser.go(&format!("{}{page}", site.url)).await;
        browser.check_page(&site.url).await;
    }
}

#[tokio::test]
async fn a_task_is_told_on_a_phone() {
    tells_the_story_of_a_task(PHONE, "phone").await;
}

#[tokio::test]
async fn a_task_is_told_on_a_desk() {
    tells_the_story_of_a_task(DESK, "desk").await;
}

/// FILE-30: part of a plan is approved and undone, and what depends on an item that is left out says so.
async fn reviews(setup: Setup, name: &str) {
    let site = WebSite::start(Project::with_agent("rehearsal --scenario files"));
    let Some(browser) = Browser::start(setup).await else { return };
    pair(&browser, &site).await;
    site.project.rapport(&["new", "greet"]).check(0, "");
    site.project.rapport(&["plan", "-m", "add a greeting"]).check(0, "");
    browser.sees("Review: ").await;
    browser.check_page(&site.url).await;
    browser.click("input[value='2.1']").await;
    browser.sees("runs without EDIT greeting.sh").await;
    browser.picture(&format!("{name}-review")).await;
    browser.click("button[value=approve]").await;
    browser.sees("Nothing waits for you.").await;
    browser.go(&format!("{}/s/{}", site.url, site.project.session())).await;
    browser.click("button[value=undo]").await;
    browser.sees("Undone: ").await;
    browser.check_page(&site.url).await;
    wait_for("the file to be gone", || (!site.project.root().join("greeting.sh").exists()).then_some(()));
}

#[tokio::test]
async fn a_plan_is_reviewed_on_a_phone() {
    reviews(PHONE, "phone").await;
}

#[tokio::test]
async fn a_plan_is_reviewed_on_a_desk() {
    reviews(DESK, "desk").await;
}

#[tokio::test]
async fn without_javascript_people_answer_and_approve() {
    let site = WebSite::start(Project::with_scenario(ROUND));
    let Some(browser) = Browser::start(Setup { has_scripts: false, ..PHONE }).await else { return };
    browser.go(&site.invite(&[])).await;
    browser.click("main button.main").await;
    let mut run = site.project.start(&["paint"], &[]);
    run.until_asked();
    browser.go(&site.url).await;
    browser.click("[data-option='1']").await;
    browser.click("[data-option='2']").await;
    browser.click("button[value=done]").await;
    browser.click("button[value='option:1']").await;
    wait_for("the plan", || site.project.view().plan);
    site.project.wait_asked();
    browser.go(&site.url).await;
    browser.click("button[value='option:0']").await;
    assert_eq!(run.finish(), 0);
    assert!(site.project.file("paint.txt").starts_with("Red, Kitchen"), "{}", site.project.file("paint.txt"));
}

/// A page that was cut off says so, catches up by itself, and never shows what is answered as open.
#[tokio::test]
async fn a_page_that_was_cut_off_catches_up() {
    let mut site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let Some(browser) = Browser::start(DESK).await else { return };
    pair(&browser, &site).await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    browser.sees("Which colour?").await;
    site.serving.child.kill().unwrap();
    browser.sees("Not connected.").await;
    site.project.rapport(&["answer", "Red"]).check(0, "");
    site.restart();
    browser.sees("Connected again.").await;
    browser.until("!document.body.innerText.includes('Which colour?')").await;
    browser.sees("Start the work with this plan?").await;
    // A page of another version is loaded again.
    browser.run("document.body.dataset.build = 'yesterday'; window.isOld = true").await;
    site.project.rapport(&["answer", "confirm"]).check(0, "");
    browser.until("!window.isOld").await;
    browser.sees("Nothing waits for you.").await;
    assert_eq!(run.finish(), 0);
}

/// Two browsers at once: the second one sees that the first was faster.
#[tokio::test]
async fn two_browsers_stay_in_step() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let (Some(desk), Some(phone)) = (Browser::start(DESK).await, Browser::start(PHONE).await) else { return };
    pair(&desk, &site).await;
    pair(&phone, &site).await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    desk.sees("Which colour?").await;
    phone.sees("Which colour?").await;
    phone.click("[data-option='1']").await;
    desk.sees("Start the work with this plan?").await;
    desk.click("[data-option='1']").await;
    phone.sees("Nothing waits for you.").await;
    desk.sees("Nothing waits for you.").await;
    assert_eq!(run.finish(), 0);
}
