//! Notifications: against a push service of our own, which checks and decrypts every message.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::push_service::{PushServer, Subscriber, check_signature, encoded};
use super::{Page, WebSite, WebVisitor};
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// A page whose notifications go to this service.
fn serve(service: &PushServer) -> WebSite {
    WebSite::start_with(Project::with_scenario(ONE_QUESTION), &[("RAPPORT_TRIAL_PUSH", &service.origin)])
}

async fn form_token(device: &WebVisitor) -> String {
    attribute(&device.page("/devices").await, "data-form=\"")
}

fn attribute(page: &Page, start: &str) -> String {
    let value = page.text.split_once(start).unwrap_or_else(|| panic!("{start} in {}", page.text)).1;
    value.split('"').next().unwrap().to_owned()
}

/// Subscribes a device.
async fn subscribe(device: &WebVisitor, browser: &Subscriber, service: &PushServer) {
    let token = form_token(device).await;
    let fields = browser.fields(service);
    let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
    let more = [("form", token.as_str()), ("do", "subscribe"), ("zone", "UTC")];
    let fields: Vec<_> = fields.chain(more).collect();
    device.send("/push", &fields).await.check(200, "This device gets notifications.");
}

/// Saves what wakes a device.
async fn save(device: &WebVisitor, fields: &[(&str, &str)]) {
    let token = form_token(device).await;
    let own = [("form", token.as_str()), ("do", "save")];
    device.send("/push", &[&own[..], fields].concat()).await.check(200, "Saved.");
}

const EVERYTHING: [(&str, &str); 5] = [
    ("wake", "questions"),
    ("wake", "permissions"),
    ("wake", "plans"),
    ("wake", "failed"),
    ("wake", "finished"),
];

/// Where a notification leads.
async fn opens(device: &WebVisitor, id: &serde_json::Value) -> Page {
    let response = device.get(&format!("/o/{}", id.as_str().unwrap())).send().await.unwrap();
    assert_eq!(response.status().as_u16(), 303);
    let to = response.headers()["location"].to_str().unwrap().to_owned();
    device.page(&to).await
}

#[tokio::test]
async fn a_notification_has_no_text_and_opens_the_very_card() {
    let service = PushServer::start().await;
    let site = serve(&service);
    let (phone, browser) = (site.pair("phone").await, Subscriber::new("phone"));
    let key = attribute(&phone.page("/devices").await, "data-vapid=\"");
    subscribe(&phone, &browser, &service).await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let message = service.message(&browser, 1).await;
    check_signature(&message, &service, &key);
    let header = |name: &str| message.headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-encoding"), "aes128gcm");
    assert_eq!(header("urgency"), "high");
    assert!(header("ttl").parse::<u32>().unwrap() > 0);
    let told = browser.read(&message);
    let id = told["open"].as_str().unwrap();
    assert_eq!(told, json!({ "count": 1, "kind": "questions", "open": id }));
    assert!(id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    // Neither the message nor its cover says anything about the task.
    let session = site.project.session();
    let readable = format!("{} {:?} {told}", String::from_utf8_lossy(&message.body), message.headers);
    for secret in ["paint", "colour", "Red", session.as_str()] {
        assert!(!readable.contains(secret), "{secret} in {readable}");
    }
    opens(&phone, &told["open"]).await.check(200, "Which colour?");
    // Another device does not know that id.
    let laptop = site.pair("laptop").await;
    opens(&laptop, &told["open"]).await.check(200, "That no longer waits for you.");
    site.project.rapport(&["answer", "Red"]).check(0, "");
    let plan = service.message(&browser, 2).await;
    assert_eq!(plan.body.len(), message.body.len(), "the length tells nothing");
    let plan = browser.read(&plan);
    assert_eq!(plan["kind"], "plans");
    // An old notification does not show another card in place of its own.
    let old = opens(&phone, &told["open"]).await;
    old.check(200, "That no longer waits for you.");
    assert!(!old.text.contains("card-title"), "{}", old.text);
    let card = opens(&phone, &plan["open"]).await;
    card.check(200, "Start the work with this plan?");
    phone.press(&card, "option:0", &[]).await;
    let done = browser.read(&service.message(&browser, 3).await);
    assert_eq!((&done["kind"], &done["count"]), (&json!("finished"), &json!(1)));
    opens(&phone, &done["open"]).await.check(200, "completed");
    assert_eq!(run.finish(), 0);
    for file in ["push.key", "push.json"] {
        let mode =
            std::fs::metadata(site.project.path("home/.rapport/web").join(file)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{file}");
    }
}

#[tokio::test]
async fn what_fails_is_tried_again_and_a_subscription_that_ended_is_removed() {
    let service = PushServer::start().await;
    let site = serve(&service);
    let (phone, browser) = (site.pair("phone").await, Subscriber::new("phone"));
    subscribe(&phone, &browser, &service).await;
    service.answer(&[503]);
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    service.message(&browser, 1).await;
    phone.sees("/devices", "the push service answered 503").await;
    // The page is served meanwhile, and the message is sent again after a pause.
    phone.page("/").await.check(200, "Which colour?");
    let again = browser.read(&service.message(&browser, 2).await);
    assert_eq!(again["kind"], "questions");
    phone.misses("/devices", "was not sent").await;
    service.answer(&[410]);
    site.project.rapport(&["answer", "Red"]).check(0, "");
    service.message(&browser, 3).await;
    phone.sees("/devices", "Turn on notifications").await.check(200, "has ended the subscription");
    let stored = std::fs::read_to_string(site.project.path("home/.rapport/web/push.json")).unwrap();
    assert!(!stored.contains("endpoint"), "{stored}");
    run.child.kill().unwrap();
}

#[tokio::test]
async fn quiet_hours_and_kinds_hold_notifications_back_and_lose_none() {
    let service = PushServer::start().await;
    let site = serve(&service);
    let (phone, of_phone) = (site.pair("phone").await, Subscriber::new("phone"));
    let (laptop, of_laptop) = (site.pair("laptop").await, Subscriber::new("laptop"));
    let (watch, of_watch) = (site.pair("watch").await, Subscriber::new("watch"));
    for (device, browser) in [(&phone, &of_phone), (&laptop, &of_laptop), (&watch, &of_watch)] {
        subscribe(device, browser, &service).await;
    }
    // Quiet from an hour ago until in an hour.
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let hour = |by: i8| format!("{:02}:00", (now.hour() + 24 + by) % 24);
    let (from, to) = (hour(-1), hour(2));
    let quiet = [("bundle", "0"), ("from", from.as_str()), ("to", to.as_str()), ("zone", "UTC")];
    save(&phone, &[&EVERYTHING[..], &quiet].concat()).await;
    let page = phone.page("/devices").await;
    page.check(200, &format!("name=\"from\" value=\"{from}\"")).check(200, "(UTC)");
    save(&watch, &[("wake", "failed"), ("bundle", "0"), ("from", ""), ("to", "")]).await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    service.message(&of_laptop, 1).await;
    site.project.rapport(&["answer", "Red"]).check(0, "");
    service.message(&of_laptop, 2).await;
    assert!(service.messages(&of_phone).is_empty() && service.messages(&of_watch).is_empty());
    // Quiet hours end: what still waits is told, and what was answered meanwhile is not.
    save(&phone, &[&EVERYTHING[..], &[("bundle", "0"), ("from", ""), ("to", "")]].concat()).await;
    let told = of_phone.read(&service.message(&of_phone, 1).await);
    assert_eq!(told["kind"], "plans");
    // What it was not to be woken for until now does not wake it afterwards.
    save(&watch, &[&EVERYTHING[..], &[("bundle", "0"), ("from", ""), ("to", "")]].concat()).await;
    let token = form_token(&watch).await;
    let test = [("form", token.as_str()), ("do", "test")];
    watch.send("/push", &test).await.check(200, "A test notification is on its way.");
    assert_eq!(of_watch.read(&service.message(&of_watch, 1).await), json!({ "count": 0 }));
    let wrong = [("form", token.as_str()), ("do", "save"), ("bundle", "0"), ("from", "22:00"), ("to", "")];
    watch.send("/push", &wrong).await.check(200, "need a beginning and an end");
    run.child.kill().unwrap();
}

/// What was told is durable: a restart tells nothing twice, and tells what was asked while the server was gone.
#[tokio::test]
async fn a_restarted_server_tells_what_is_new_and_nothing_twice() {
    let service = PushServer::start().await;
    let mut site = serve(&service);
    let (phone, browser) = (site.pair("phone").await, Subscriber::new("phone"));
    subscribe(&phone, &browser, &service).await;
    let mut first = site.project.start(&["paint it"], &[]);
    first.until_asked();
    service.message(&browser, 1).await;
    let told = site.project.path("home/.rapport/web/push.json");
    let id = browser.read(&service.messages(&browser)[0])["open"].as_str().unwrap().to_owned();
    wait_for("what was told to be stored", || {
        std::fs::read_to_string(&told).unwrap().contains(&id).then_some(())
    });
    site.stop();
    let mut second = site.project.start(&["paint it again"], &[]);
    second.until_asked();
    site.restart();
    let new = browser.read(&service.message(&browser, 2).await);
    assert_eq!((&new["count"], &new["kind"]), (&json!(1), &json!("questions")));
    assert_ne!(new["open"], json!(id));
    opens(&phone, &new["open"]).await.check(200, "paint it again");
    assert_eq!(service.messages(&browser).len(), 2);
    first.child.kill().unwrap();
    second.child.kill().unwrap();
}

/// The address of a push service is data of a browser: it does not lead into a private network. Only the device itself
/// subscribes, also one that may only look; a revoked one gets nothing more.
#[tokio::test]
async fn subscriptions_are_checked() {
    let service = PushServer::start().await;
    let site = serve(&service);
    let looker = WebVisitor::pair(&site.invite(&["--look"]), "wall").await;
    let (phone, browser, of_looker) =
        (site.pair("phone").await, Subscriber::new("phone"), Subscriber::new("wall"));
    let token = form_token(&phone).await;
    let [_, public, auth] = browser.fields(&service);
    let tried = async |endpoint: &str, public: &str, auth: &str| {
        let own = [("form", token.as_str()), ("do", "subscribe")];
        let fields = [("endpoint", endpoint), ("p256dh", public), ("auth", auth)];
        phone.send("/push", &[&own[..], &fields].concat()).await
    };
    let long = format!("https://push.example/{}", "x".repeat(5000));
    for wrong in [
        "",
        "javascript:alert(1)",
        "http://push.example/x",
        "http://127.0.0.1:1/x",
        "https://127.0.0.1/x",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/x",
        "https://10.0.0.1/x",
        &long,
    ] {
        tried(wrong, &public.1, &auth.1).await.check(200, "said refused");
    }
    tried("https://push.example/x", "AAAA", &auth.1).await.check(200, "no keys");
    tried("https://push.example/x", &encoded(&[4; 65]), "AAAA").await.check(200, "no keys");
    let foreign = [("form", "0123456789abcdef0123456789abcdef"), ("do", "subscribe")];
    phone.send("/push", &foreign).await.check(403, "not from a page of this device");
    phone.page("/devices").await.check(200, "Turn on notifications");
    subscribe(&phone, &browser, &service).await;
    subscribe(&looker, &of_looker, &service).await;
    site.project.rapport(&["devices", "--revoke", "phone"]).check(0, "");
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    service.message(&of_looker, 1).await;
    assert!(service.messages(&browser).is_empty());
    let stored = std::fs::read_to_string(site.project.path("home/.rapport/web/push.json")).unwrap();
    assert_eq!(stored.matches("endpoint").count(), 1, "{stored}");
    run.child.kill().unwrap();
}
