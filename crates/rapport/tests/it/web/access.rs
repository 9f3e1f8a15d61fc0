//! Access to the page: one device per code, no page of another origin, no other host name, and limited rates.

use std::os::unix::fs::PermissionsExt as _;

use futures_util::StreamExt as _;
use reqwest::StatusCode;
use serde_json::Value;

use super::visitor::client;
use super::{Page, WebSite, WebVisitor};
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

fn site() -> WebSite {
    WebSite::start(Project::with_scenario(ONE_QUESTION))
}

#[tokio::test]
async fn a_code_lets_one_device_in_and_a_revoked_one_is_out_at_once() {
    let site = site();
    let phone = WebVisitor::pair(&site.link, "Anna's <phone>").await;
    phone.page("/").await.check(200, "Nothing waits for you.");
    let again = Page::of(WebVisitor::try_pair(&site.link, "Eve").await).await;
    again.check(403, "no longer valid");
    let devices = phone.page("/devices").await;
    devices.check(200, "Anna's &lt;phone&gt;").check(200, "may answer");
    let stored = site.project.path("home/.rapport/web/devices.json");
    let token = phone.cookie.split_once('=').unwrap().1;
    assert!(token.len() >= 64, "{token}");
    assert!(!std::fs::read_to_string(&stored).unwrap().contains(token));
    assert_eq!(std::fs::metadata(&stored).unwrap().permissions().mode() & 0o077, 0);
    site.project.rapport(&["devices"]).check(0, "Anna's <phone>\tmay answer\tused ");
    site.project.rapport(&["devices", "--revoke", "Bob"]).check(2, "no device is called");
    let mut stream = phone.get("/events").send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    site.project.rapport(&["devices", "--revoke", "Anna's <phone>"]).check(0, "can no longer connect");
    phone.page("/").await.check(401, "no longer paired");
    phone.get("/events").send().await.unwrap().error_for_status().unwrap_err();
}

#[tokio::test]
async fn strangers_see_how_to_be_let_in_and_nothing_else() {
    let site = site();
    for path in ["/", "/sessions", "/new", "/devices", "/events", "/s/any", "/s/any/log", "/nothing"] {
        let page = Page::of(client().get(format!("{}{path}", site.url)).send().await.unwrap()).await;
        page.check(401, "rapport open --print");
    }
    let posted = client().post(format!("{}/s/any/act", site.url)).body("do=stop").send().await.unwrap();
    assert_eq!(posted.status(), StatusCode::UNAUTHORIZED);
    let wrong = client().get(format!("{}/", site.url)).header("cookie", "rapport_0=stolen");
    assert_eq!(wrong.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let script = client().get(format!("{}/assets/any/page.js", site.url)).send().await.unwrap();
    assert_eq!(script.status(), StatusCode::OK);
    assert!(script.text().await.unwrap().contains("EventSource"));
}

#[tokio::test]
async fn pages_of_others_and_names_of_others_are_refused() {
    let site = site();
    let phone = site.pair("phone").await;
    for host in ["evil.example", "127.0.0.1.evil.example", "rapport.evil.example:7878"] {
        let page = Page::of(phone.get("/").header("host", host).send().await.unwrap()).await;
        page.check(403, "does not have that name");
    }
    let token = phone.page("/new").await.form_token();
    let fields = [("form", token.as_str()), ("name", "phone"), ("do", "revoke")];
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let refused = phone.post("/devices", &fields).header(name, value).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{name}: {value}");
    }
    for wrong in ["", "0123456789abcdef0123456789abcdef"] {
        let fields = [("form", wrong), ("name", "phone"), ("do", "revoke")];
        phone.send("/devices", &fields).await.check(403, "not from a page of this device");
    }
    phone.page("/").await.check(200, "Nothing waits");
    let wrong = phone.post("/", &fields).send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::METHOD_NOT_ALLOWED);
    let wrong = phone.get("/s/any/act").send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::METHOD_NOT_ALLOWED);
    phone.page("/nothing").await.check(404, "leads nowhere");
    phone.page("/s/..%2f..%2fetc").await.check(404, "there is no session");
}

#[tokio::test]
async fn every_page_keeps_to_itself() {
    let site = site();
    let phone = site.pair("phone").await;
    let response = phone.get("/").send().await.unwrap();
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    assert!(policy.contains("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(header("x-frame-options"), "DENY");
    assert_eq!(header("cache-control"), "no-store");
    let page = response.text().await.unwrap();
    assert!(!page.contains("style=") && !page.contains(" onclick="), "{page}");
}

#[tokio::test]
async fn a_device_that_may_only_look_changes_nothing() {
    let site = site();
    let looker = WebVisitor::pair(&site.invite(&["--look"]), "wall").await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let page = looker.sees("/", "Which colour?").await;
    page.check(200, "This device may only look.");
    assert!(!page.text.contains("data-option"), "{}", page.text);
    let id = site.project.session();
    let path = format!("/s/{id}/act");
    // It can compute what its forms would repeat, and is refused all the same.
    let answered = looker.post(&path, &[("do", "option:0"), ("question", "q1")]).send().await.unwrap();
    assert_eq!(answered.status(), StatusCode::FORBIDDEN);
    looker.page("/new").await.check(403, "may only look");
    assert!(site.project.view().answers.is_empty());
    run.child.kill().unwrap();
}

#[tokio::test]
async fn guesses_and_floods_are_refused_and_the_others_are_served() {
    let site = site();
    let (phone, laptop) = (site.pair("phone").await, site.pair("laptop").await);
    let mut refused = 0;
    for number in 0..40 {
        let link = format!("{}/pair?code=GUESS{number}", site.url);
        let response = WebVisitor::try_pair(&link, "Eve").await;
        refused += u32::from(response.status() == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(refused >= 25, "{refused}");
    let began = std::time::Instant::now();
    let flood = futures_util::future::join_all((0..2000).map(|_| phone.get("/devices").send())).await;
    let answers: Vec<_> = flood.into_iter().flatten().map(|response| response.status().as_u16()).collect();
    let rate = answers.len() as f64 / began.elapsed().as_secs_f64();
    println!("a flood of {} requests, {rate:.0} per second", answers.len());
    assert!(answers.contains(&200) && answers.contains(&429), "{answers:?}");
    laptop.page("/").await.check(200, "Nothing waits");
}

/// A flood of one address, at whatever rate this client reaches: nearly all of it is refused, and neither a paired
/// device nor another address has to wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_one_address_is_refused_and_a_device_is_served_meanwhile() {
    const EACH: usize = 1500;
    let site = site();
    let phone = site.pair("phone").await;
    let flood = |address: std::net::IpAddr| {
        let url = format!("{}/", site.url);
        let client = reqwest::Client::builder().no_proxy().local_address(address).build().unwrap();
        async move {
            let statuses = futures_util::stream::iter(0..EACH)
                .map(|_| {
                    let request = client.get(&url);
                    async move { request.send().await.map(|response| response.status().as_u16()).ok() }
                })
                .buffer_unordered(64);
            statuses.filter_map(std::future::ready).collect::<Vec<u16>>().await
        }
    };
    let began = std::time::Instant::now();
    let served = async {
        let mut slowest = std::time::Duration::ZERO;
        for _ in 0..20 {
            let asked = std::time::Instant::now();
            phone.page("/").await.check(200, "Nothing waits");
            slowest = slowest.max(asked.elapsed());
        }
        slowest
    };
    let (statuses, slowest) = tokio::join!(flood([127, 0, 0, 1].into()), served);
    let seconds = began.elapsed().as_secs_f64();
    let refused = statuses.iter().filter(|status| **status == 429).count();
    println!(
        "a flood of {} requests from one address, {:.0} per second: {refused} refused; a device beside it waited {slowest:?} at most",
        statuses.len(),
        statuses.len() as f64 / seconds
    );
    assert!(statuses.iter().all(|status| matches!(status, 401 | 429)), "{statuses:?}");
    // 60 at once, and ten more each second.
    let most = 60.0 + 10.0 * seconds + 1.0;
    assert!(((statuses.len() - refused) as f64) <= most, "{refused} of {} refused", statuses.len());
    // Another address has a share of its own.
    let other = reqwest::Client::builder().no_proxy().local_address(std::net::IpAddr::from([127, 0, 0, 2]));
    let other = other.build().unwrap().get(format!("{}/", site.url)).send().await.unwrap();
    assert_eq!(other.status(), StatusCode::UNAUTHORIZED);
}

/// A cookie that somebody copied counts as long as its device is paired, and no longer: neither for pages and forms nor
/// for the open stream. A form of a device that was revoked meanwhile does nothing.
#[tokio::test]
async fn a_stolen_cookie_is_worth_nothing_after_revocation() {
    let site = site();
    let (phone, laptop) = (site.pair("phone").await, site.pair("laptop").await);
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let card = phone.sees("/", "Which colour?").await;
    let thief = phone.clone();
    let mut stream = thief.get("/events").send().await.unwrap();
    let devices = laptop.page("/devices").await;
    let fields = [("form", devices.form_token()), ("name", "phone".to_owned()), ("do", "revoke".to_owned())];
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    laptop.send("/devices", &fields).await.check(200, "Revoked.");
    for path in ["/", "/sessions", "/new", "/devices", "/events", "/o/0123"] {
        thief.page(path).await.check(401, "no longer paired");
    }
    let answered = thief.press(&card, "option:0", &[]).await;
    answered.check(401, "no longer paired");
    assert!(site.project.view().answers.is_empty());
    // The next thing that happens ends the stream, and is not told.
    site.project.rapport(&["answer", "Red"]).check(0, "");
    let mut told = String::new();
    while let Ok(Some(piece)) = stream.chunk().await {
        told.push_str(&String::from_utf8_lossy(&piece));
    }
    assert!(!told.contains("event: changed"), "{told}");
    // A device of the same name is another device.
    let again = site.pair("phone").await;
    again.page("/").await.check(200, "Inbox");
    thief.page("/").await.check(401, "no longer paired");
    run.child.kill().unwrap();
}

/// Every address has its methods, and no others.
#[tokio::test]
async fn a_wrong_method_is_refused() {
    let site = site();
    let phone = site.pair("phone").await;
    let token = phone.page("/new").await.form_token();
    let fields = [("form", token.as_str())];
    for path in ["/", "/events", "/sessions", "/o/0123", "/worker.js", "/assets/x/page.js"] {
        let refused = phone.post(path, &fields).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
    }
    for path in ["/push", "/s/any/act"] {
        let refused = phone.get(path).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
    }
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = client().request(method.clone(), format!("{}/devices", site.url));
        let refused = request.header("cookie", &phone.cookie).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
    }
}

/// Another port is taken where the usual one is in use; what the settings name is used or refused, and nothing else.
#[tokio::test]
async fn it_listens_where_it_may() {
    let site = site();
    let taken = site.url.strip_prefix("http://").unwrap();
    let listen = [("RAPPORT_WEB_ENABLED", "true"), ("RAPPORT_WEB_LISTEN", taken)];
    let ran = site.project.command().args(["serve"]).envs(listen).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains(&format!("web: cannot listen on {taken}")), "{said}");
    let open = [("RAPPORT_WEB_ENABLED", "true"), ("RAPPORT_WEB_LISTEN", "0.0.0.0:0")];
    let ran = site.project.command().args(["serve"]).envs(open).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code() == Some(2) && said.contains("web.hosts"), "{said}");
    let usual = |name: &str| {
        let project = Project::called(name, "rehearsal");
        let mut serving = project.launch(&["serve"], &[("RAPPORT_WEB_ENABLED", "true")]);
        let line = serving.line();
        assert!(line.starts_with("Serving the page at http://127.0.0.1:"), "{line}");
        let picture = serving.line();
        assert!(picture.contains('█'), "{picture}");
        (project, serving, line)
    };
    let ((_one, mut first, at), (_other, mut second, elsewhere)) = (usual("one"), usual("two"));
    assert_ne!(at.split_whitespace().nth(4), elsewhere.split_whitespace().nth(4));
    first.child.kill().unwrap();
    second.child.kill().unwrap();
}

/// An agent that got a link would answer its own questions.
#[tokio::test]
async fn an_agent_gets_no_link() {
    let rapport = env!("CARGO_BIN_EXE_rapport");
    let scenario = format!(
        "version: 1\nname: sly\ninvocations:\n  - result: \"# Plan\\n\\n1. It.\"\n  - steps:\n      - bash: {{ command: \"{rapport} open --print > link.txt 2>&1\" }}\n    result: \"Done.\"\n"
    );
    let site = WebSite::start(Project::with_scenario(&scenario));
    let mut run = site.project.start(&["be sly"], &[]);
    run.until_asked();
    site.project.rapport(&["answer", "confirm"]).check(0, "");
    run.until_gone_or(|fact| matches!(fact, rapport_core::Event::Reported { .. }));
    let said = site.project.file("link.txt");
    assert!(said.contains("an agent cannot act in a person's name"), "{said}");
    run.child.kill().unwrap();
}

#[tokio::test]
async fn without_the_page_nothing_is_opened() {
    let project = Project::with_scenario(ONE_QUESTION);
    project.rapport(&["open", "--print"]).check(2, "is not served now");
    project.rapport(&["devices"]).check(0, "No device is paired.");
    project.rapport(&["serve"]).check(2, "the web page is switched off");
    let none: Value = project.json(&["devices", "--json"]);
    assert_eq!(none, serde_json::json!([]));
}
