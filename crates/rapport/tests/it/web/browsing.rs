//! Stories in a real Chromium, on a phone and on a desk, and without JavaScript.

use rapport_core::{Act, By, Created, Event, QuestionId, Reply, SessionId};
use serde_json::json;

use super::WebSite;
use super::answering::ROUND;
use super::looking::{import, waiting_facts};
use super::push_service::{PushServer, Subscriber};
use crate::support::browser::{Browser, DESK, PHONE, Setup};
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;
use crate::support::telegram::{Rates, TelegramServer};

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
    browser.sees("Answered: Friday").await;
    browser.until("document.querySelector('#unsent textarea').value === 'on Sunday'").await;
    browser.check_page(&site.url).await;
    browser.picture(&format!("{name}-settled")).await;
    // No other card takes its place before the person continues.
    wait_for("the plan", || site.project.view().plan);
    site.project.wait_asked();
    browser.sees("1 waits").await;
    browser.sees("Settled elsewhere").await;
    browser.click("a[data-next]").await;
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
    browser.go(&format!("{}/s/{}/turns", site.url, site.project.session())).await;
    browser.sees("2 work").await;
    browser.check_page(&site.url).await;
    browser.picture(&format!("{name}-turns")).await;
    for page in ["/sessions?q=colour", "/devices", "/projects"] {
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
    // A comment leaves its item out, and what depends on it says so.
    browser.click("li:has(input[value='2.1']) .comment summary").await;
    browser.write("[data-comment='2.1']", "greet nobody").await;
    browser.sees("runs without EDIT greeting.sh").await;
    browser.until("!document.querySelector(\"input[value='2.1']\").checked").await;
    browser.click("li:has(input[value='2.1']) .preview-item summary").await;
    if setup.width > 1000 {
        let columns = "getComputedStyle(document.querySelector('pre.diff .both')).gridTemplateColumns";
        // Not below the header, which stays at the top.
        browser.run("document.querySelector('.diff-switch').scrollIntoView({ block: 'center' })").await;
        browser.click(".diff-switch [value=split]").await;
        browser.until(&format!("{columns}.split(' ').length === 2")).await;
        browser.picture(&format!("{name}-split")).await;
    }
    browser.check_page(&site.url).await;
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
    // The plan is saved before its card appears. Without scripts, a person loads the page again to see what is new.
    for _ in 0..500 {
        browser.go(&site.url).await;
        if browser.source().await.contains("value=\"option:0\"") {
            break;
        }
    }
    browser.click("button[value='option:0']").await;
    assert_eq!(run.finish(), 0);
    assert!(site.project.file("paint.txt").starts_with("Red, Kitchen"), "{}", site.project.file("paint.txt"));
}

/// FILE-30, without JavaScript: part of a plan is approved, and undone.
#[tokio::test]
async fn without_javascript_part_of_a_plan_is_approved_and_undone() {
    let site = WebSite::start(Project::with_agent("rehearsal --scenario files"));
    let Some(browser) = Browser::start(Setup { has_scripts: false, ..PHONE }).await else { return };
    browser.go(&site.invite(&[])).await;
    browser.click("main button.main").await;
    site.project.rapport(&["new", "greet"]).check(0, "");
    site.project.rapport(&["plan", "-m", "add a greeting"]).check(0, "");
    browser.go(&site.url).await;
    browser.click("input[value='2.1']").await;
    browser.click("button[value=approve]").await;
    wait_for("the file", || site.project.file("greeting.sh").contains("ello").then_some(()));
    let is_reported = |fact: &Event| matches!(fact, Event::Sealed { .. });
    wait_for("the report", || site.project.facts().iter().any(is_reported).then_some(()));
    let left_out = site.project.facts().into_iter().find_map(|fact| match fact {
        Event::Approved { chosen, .. } => Some(chosen.actions.iter().filter(|left| left.is_some()).count()),
        _ => None,
    });
    assert_eq!(left_out, Some(1));
    browser.go(&format!("{}/s/{}", site.url, site.project.session())).await;
    browser.click("button[value=undo]").await;
    wait_for("the file to be gone", || (!site.project.root().join("greeting.sh").exists()).then_some(()));
}

/// Keys alone: the list, an option, own words, the help, a reply as before, and from page to page.
#[tokio::test]
async fn everything_is_reached_by_keys() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let Some(browser) = Browser::start(DESK).await else { return };
    pair(&browser, &site).await;
    let runs = ["paint the door", "paint the gate"].map(|task| {
        let mut run = site.project.start(&[task], &[]);
        run.until_asked();
        run
    });
    browser.sees("2 wait").await;
    let focus = |expected: &str| {
        format!(
            "document.activeElement.matches('[data-item]') && document.activeElement.innerText.includes('{expected}')"
        )
    };
    browser.press("j").await;
    browser.until(&focus("paint the door")).await;
    browser.press("j").await;
    browser.until(&focus("paint the gate")).await;
    browser.press("k").await;
    browser.press("j").await;
    browser.press("\u{E007}").await;
    browser.until("document.querySelector('.card .about a').innerText.includes('paint the gate')").await;
    browser.press("?").await;
    browser.until("document.querySelector('#keys').open").await;
    browser.check_page(&site.url).await;
    browser.press("\u{E00C}").await;
    browser.until("!document.querySelector('#keys').open").await;
    browser.press("w").await;
    browser.until("document.activeElement.matches('textarea[data-own]')").await;
    // In a box, letters are letters; Escape leaves it.
    browser.press("j").await;
    browser.until("document.activeElement.value === 'j'").await;
    browser.press("\u{E00C}").await;
    browser.until("!document.activeElement.matches('textarea')").await;
    browser.press("2").await;
    browser.press("\u{E007}").await;
    browser.sees("Answered.").await;
    browser.press("g").await;
    browser.press("s").await;
    browser.until("location.pathname === '/sessions'").await;
    browser.press("n").await;
    browser.until("location.pathname === '/new'").await;
    browser.press("\u{E00C}").await;
    browser.press("g").await;
    browser.press("i").await;
    browser.until("location.pathname === '/'").await;
    runs.into_iter().for_each(|run| run.kill());
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
    browser.sees("Answered: Red").await;
    browser.until("!document.querySelector('[data-option]')").await;
    browser.click("a[data-next]").await;
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
    desk.sees("Answered: Red").await;
    phone.sees("Start the work with this plan?").await;
    desk.click("a[data-next]").await;
    desk.sees("Start the work with this plan?").await;
    desk.click("[data-option='1']").await;
    phone.sees("Settled elsewhere").await;
    desk.sees("Nothing waits for you.").await;
    assert_eq!(run.finish(), 0);
}

/// A laptop that slept while its question was answered elsewhere: it says that it was away, catches up, does not show the
/// answered card as open, and shows again what was written for it.
#[tokio::test]
async fn a_laptop_that_slept_catches_up_and_keeps_what_was_written() {
    let mut site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let Some(browser) = Browser::start(DESK).await else { return };
    pair(&browser, &site).await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    browser.sees("Which colour?").await;
    browser.write("textarea[name=text]", "green like grass").await;
    // The page sleeps, its connection breaks, and a day passes.
    browser.devtools("Page.setWebLifecycleState", json!({ "state": "frozen" })).await;
    site.stop();
    site.project.rapport(&["answer", "Red"]).check(0, "");
    site.restart();
    browser.devtools("Page.setWebLifecycleState", json!({ "state": "active" })).await;
    browser.devtools("Page.bringToFront", json!({})).await;
    browser.run("const now = Date.now; Date.now = () => now() + 86_400_000").await;
    browser.sees("Connected again.").await;
    browser.sees("Settled elsewhere").await;
    browser.until("!document.querySelector('[data-option]')").await;
    browser.sees("You wrote this, and it was not sent").await;
    browser.until("document.querySelector('#unsent textarea').value === 'green like grass'").await;
    browser.check_page(&site.url).await;
    browser.click("#unsent button").await;
    browser.until("document.querySelector('#unsent').hidden").await;
    // What is written for the next card survives a page of another version, which is loaded again.
    browser.click("a[data-next]").await;
    browser.sees("Start the work with this plan?").await;
    browser.write("textarea[name=text]", "with two coats").await;
    browser.run("document.body.dataset.build = 'yesterday'; window.isOld = true").await;
    site.project.start(&["paint another"], &[]).until_asked();
    browser.until("!window.isOld").await;
    browser.until("document.querySelector('textarea[name=text]').value === 'with two coats'").await;
    run.child.kill().unwrap();
}

/// The page is installable, and its worker shows a notification that opens the very card. No push service can be
/// reached from here: ours gets the message, and the browser's own tools deliver what it decrypts to the worker.
#[tokio::test]
async fn a_notification_opens_the_very_card() {
    let service = PushServer::start().await;
    let project = Project::with_scenario(ONE_QUESTION);
    let site = WebSite::start_with(project, &[("RAPPORT_TRIAL_PUSH", &service.origin)]);
    let Some(browser) = Browser::start(PHONE).await else { return };
    pair(&browser, &site).await;
    let manifest = browser.devtools("Page.getAppManifest", json!({})).await;
    assert_eq!(manifest["errors"], json!([]), "{manifest}");
    let trouble = browser.devtools("Page.getInstallabilityErrors", json!({})).await;
    assert_eq!(trouble["installabilityErrors"], json!([]), "{trouble}");
    let allowed = json!({ "origin": site.url, "permissions": ["notifications"] });
    browser.devtools("Browser.grantPermissions", allowed).await;
    browser.go(&format!("{}/devices", site.url)).await;
    browser.until("document.querySelector('[data-subscribe]').hidden === false").await;
    browser.check_page(&site.url).await;
    browser
        .run("navigator.serviceWorker.register('/worker.js').then((one) => { window.worker = one; })")
        .await;
    browser.until("window.worker && window.worker.active").await;
    let subscriber = Subscriber::new("phone");
    let fields: serde_json::Map<_, _> = subscriber
        .fields(&service)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let subscribe = format!(
        "const form = document.querySelector('#notifications').dataset.form; \
         fetch('/push', {{ method: 'POST', body: new URLSearchParams({{ form, do: 'subscribe', ...{} }}) }})",
        json!(fields)
    );
    browser.run(&subscribe).await;
    browser.go(&format!("{}/devices", site.url)).await;
    browser.sees("Wake this device for").await;
    browser.check_page(&site.url).await;
    browser.picture("phone-notifications").await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let told = subscriber.read(&service.message(&subscriber, 1).await);
    // A page that is looked at closes notifications, so this one is elsewhere.
    browser.go("about:blank").await;
    let pushed = json!({ "origin": site.url, "registrationId": "0", "data": told.to_string() });
    browser.devtools("ServiceWorker.enable", json!({})).await;
    browser.devtools("ServiceWorker.deliverPushMessage", pushed).await;
    // This page has no script that would close them.
    browser.go(&format!("{}/assets/any/icon.svg", site.url)).await;
    let shown = "navigator.serviceWorker.getRegistration('/').then((one) => one.getNotifications()).then((all) => { \
                 window.shown = all.map((one) => ({ title: one.title, body: one.body, open: one.data.open })); })";
    for _ in 0..500 {
        browser.run(shown).await;
        browser.until("window.shown").await;
        if browser.run("return window.shown.length").await != json!(0) {
            break;
        }
    }
    let open = format!("/o/{}", told["open"].as_str().unwrap());
    let expected = json!([{ "title": "An agent asks a question", "body": "", "open": open }]);
    assert_eq!(browser.run("return window.shown").await, expected);
    // A page that is open goes there, unless somebody is writing on it.
    browser.go(&format!("{}/sessions", site.url)).await;
    let clicked = format!(
        "navigator.serviceWorker.dispatchEvent(new MessageEvent('message', {{ data: {{ open: '{open}' }} }}))"
    );
    browser.run(&clicked).await;
    browser.sees("Which colour?").await;
    browser.until("location.search.includes('q=')").await;
    browser.write("textarea[name=text]", "green").await;
    browser.run(&clicked).await;
    browser.sees("Open what the notification was about").await;
    browser.until("document.querySelector('textarea[name=text]').value === 'green'").await;
    run.child.kill().unwrap();
}

/// The same cards in a browser, in Telegram and in a terminal: what is answered in one of them is answered in all.
async fn stays_in_step(setup: Setup) {
    const ANNA: i64 = 42;
    const FASTER: u32 = 20;
    let server = TelegramServer::start().await;
    server.rates(Rates::Faster(FASTER));
    let project = Project::with_scenario(ROUND)
        .set("RAPPORT_TELEGRAM_FASTER", &FASTER.to_string())
        .set("TELEGRAM_BOT_TOKEN", server.token())
        .set("TELEGRAM_USER_ID", &ANNA.to_string())
        .set("RAPPORT_TELEGRAM_API_URL", &server.url());
    let site = WebSite::start(project);
    let Some(browser) = Browser::start(setup).await else { return };
    let anna = server.person(ANNA, "Anna");
    pair(&browser, &site).await;
    // The terminal runs the task; the others see its cards.
    let mut terminal = site.project.terminal(&["run", "Paint the house"], 100, 40);
    browser.sees("Which colour?").await;
    // These show the marks of Markdown as they are written.
    anna.sees("Which *colour*?").await;
    tokio::task::block_in_place(|| terminal.wait_until("the question", |text| text.contains("colour")));
    // Answered in the browser.
    browser.click("[data-option='1']").await;
    browser.sees("Which rooms?").await;
    anna.sees("Which rooms?").await;
    tokio::task::block_in_place(|| terminal.wait_for("Which rooms?"));
    // Answered in the terminal.
    tokio::task::block_in_place(|| {
        // Keys that are pressed before the card is there do not count.
        terminal.wait_for("space tick");
        terminal.send(" ");
        terminal.wait_for("[x] 1. Hall");
        terminal.send("\r");
        terminal.wait_for("Which day?");
    });
    browser.sees("Answered: Hall").await;
    browser.click("a[data-next]").await;
    browser.sees("Which day?").await;
    anna.sees("Which day?").await;
    // Answered in Telegram.
    anna.taps("Friday").await;
    browser.sees("Answered: Friday").await;
    tokio::task::block_in_place(|| terminal.wait_for("Friday"));
    browser.click("a[data-next]").await;
    browser.sees("Start the work with this plan?").await;
    browser.click("[data-option='1']").await;
    wait_for("the work", || site.project.file("paint.txt").contains("Red, Hall, Friday").then_some(()));
    assert!(tokio::task::block_in_place(|| terminal.wait_end()).success());
}

#[tokio::test(flavor = "multi_thread")]
async fn cards_on_a_phone_are_in_step_with_telegram_and_a_terminal() {
    stays_in_step(PHONE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cards_on_a_desk_are_in_step_with_telegram_and_a_terminal() {
    stays_in_step(DESK).await;
}

/// A draft of the lead that arrives while a person writes appears below what they write, and takes nothing away.
#[tokio::test]
async fn a_draft_that_arrives_takes_nothing_away() {
    let project = Project::with_scenario(ONE_QUESTION);
    let lead = SessionId::new("lead");
    let facts = waiting_facts(&project).into_iter().map(|fact| match fact {
        Event::Created(created) => Event::Created(Created { lead: Some(lead.clone()), ..created }),
        other => other,
    });
    let id = import(&project, facts.collect()).await;
    let site = WebSite::start(project);
    let Some(browser) = Browser::start(DESK).await else { return };
    browser.go(&site.invite(&[])).await;
    browser.click("main button.main").await;
    browser.sees("2 wait").await;
    browser.go(&format!("{}/?s={id}&q=q1", site.url)).await;
    browser.sees("Which colour?").await;
    browser.write("textarea[name=text]", "green, as ever").await;
    let top = "document.querySelector('[data-option]').getBoundingClientRect().top";
    let before = browser.run(&format!("return {top}")).await;
    let place = rapport::wiring::Workspace::new(site.project.path("home/.rapport"), site.project.root());
    let lead = By::Lead { name: lead.to_string() };
    let (question, reply) = (QuestionId::new("q1"), Reply::Choices(vec![1]));
    let act = Act::Respond { question, reply, ground: None, because: None };
    // No process runs the session, so the draft goes into its log.
    rapport_door::Sessions::act(&place.sessions(), &id, &lead, &act).await.unwrap();
    browser.sees("The lead drafts: Blue").await;
    assert_eq!(browser.run(&format!("return {top}")).await, before);
    browser.until("document.querySelector('textarea[name=text]').value === 'green, as ever'").await;
    browser.click("button[value=text]").await;
    let answered = wait_for("the answer", || {
        let entries = site.project.store().read(&id, 0).unwrap();
        entries.into_iter().flat_map(|entry| entry.facts).find_map(|fact| match fact {
            Event::Answered { answer, by, .. } => Some((answer.text, by)),
            _ => None,
        })
    });
    assert_eq!(answered.0.as_deref(), Some("green, as ever"));
    assert!(matches!(answered.1, By::Person { .. }), "{answered:?}");
}

/// What is known about a project is changed in a browser.
#[tokio::test]
async fn a_project_is_looked_at_on_a_phone() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let Some(browser) = Browser::start(PHONE).await else { return };
    pair(&browser, &site).await;
    browser.go(&format!("{}/projects", site.url)).await;
    browser.check_page(&site.url).await;
    browser.click(".projects a.name").await;
    browser.click("button[value=explore]").await;
    browser.sees("Explored.").await;
    browser.write("#project-add textarea", "Use oil paint").await;
    browser.click("button[value=add]").await;
    browser.sees("Kept in mind from now on.").await;
    browser.check_page(&site.url).await;
    browser.picture("phone-project").await;
    browser.click("button[value=forget]").await;
    browser.sees("Forgotten.").await;
    site.project.rapport(&["project", "learn", "Use water paint"]).check(0, "");
    browser.go(&browser.url().await).await;
    browser.sees("Use water paint").await;
}
