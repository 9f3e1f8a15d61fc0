//! What a stranger tries: odd bytes, huge bodies, forms again, files of the server, half requests. Nothing is answered by
//! that, nothing is shown, and the page goes on.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use reqwest::StatusCode;

use super::visitor::client;
use super::{Page, WebSite};
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// The first line that the server answers to these bytes; empty if it only closes the connection.
fn raw(site: &WebSite, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(site.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_requests_are_refused_and_the_page_goes_on() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let card = phone.sees("/", "Which colour?").await;
    let (id, token) = (site.project.session(), card.form_token());
    let host = site.url.strip_prefix("http://").unwrap();
    let own = format!("Host: {host}\r\nCookie: {}\r\nConnection: close\r\n", phone.cookie);
    let request = |line: &str| format!("{line} HTTP/1.1\r\n{own}\r\n").into_bytes();
    let odd: Vec<(Vec<u8>, &[&str])> = vec![
        // No HTTP, two lengths, a length that is none, two hosts, no host, another host in the line itself.
        (b"\x16\x03\x01\x02\x00\x01\x00".to_vec(), &["400"]),
        (request("POST /pair HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\nX:"), &["400"]),
        (request("POST /pair HTTP/1.1\r\nContent-Length: -1\r\nX:"), &["400"]),
        (request("GET / HTTP/1.1\r\nHost: evil.example\r\nX:"), &["400", "403"]),
        (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n".to_vec(), &["400", "403"]),
        // Bytes that are no text, and files of the server, in addresses.
        (request("GET /s/%FF%FE%00"), &["400", "404"]),
        (request("GET /sessions?q=%FF%00%C0%AF"), &["200"]),
        (request("GET /assets/x/..%2f..%2f..%2fetc%2fpasswd"), &["404"]),
        (request("GET /assets/../../etc/passwd"), &["400", "404"]),
        (request("GET //evil.example/%2e%2e"), &["404"]),
        (request(&format!("GET /?q={}", "x".repeat(1 << 20))), &["414", "431", "400"]),
    ];
    tokio::task::block_in_place(|| {
        for (request, allowed) in odd {
            let answer = raw(&site, &request);
            let is_expected = answer.is_empty() || allowed.iter().any(|status| answer.contains(status));
            let request = String::from_utf8_lossy(&request[..request.len().min(300)]);
            assert!(is_expected, "{answer:?} to {request:?}");
        }
    });
    // Bytes that are no text, in forms: they answer nothing.
    let path = format!("/s/{id}/act");
    let seen =
        card.text.split_once("name=\"seen\" value=\"").unwrap().1.split('"').next().unwrap().to_owned();
    let fields = |rest: &str| format!("form={token}&question=q1&seen={seen}&back=%2F&{rest}");
    for rest in [
        "do=%FF",
        "do=option%3A%00",
        "do=option:4294967296",
        "do=option:-1",
        "do=done",
        "do=text&text=%20%09",
    ] {
        let sent = phone.post(&path, &[]).body(fields(rest)).send().await.unwrap();
        assert_eq!(sent.status(), StatusCode::SEE_OTHER, "{rest}");
        phone.page("/").await.check(200, "said refused").check(200, "Which colour?");
    }
    // Where to go afterwards is a page of this server, whatever the form says.
    for elsewhere in [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "\r\nSet-Cookie: a=b",
    ] {
        let fields = [("form", token.as_str()), ("do", "none"), ("back", elsewhere)];
        let sent = phone.post(&path, &fields).send().await.unwrap();
        let to = sent.headers()["location"].to_str().unwrap();
        assert!(to.starts_with('/') && !to.starts_with("//") && !to.contains('\\'), "{to}");
        assert_eq!(sent.headers().get("set-cookie"), None);
    }
    // A hundred thousand fields, and a form for files without an end.
    let many = fields(&"a=b&".repeat(100_000));
    assert_eq!(phone.post(&path, &[]).body(many).send().await.unwrap().status(), StatusCode::SEE_OTHER);
    let cut = "--X\r\nContent-Disposition: form-data; name=\"form\"\r\n\r\nabc".to_owned();
    let cut = phone.upload("/new", "X", cut).send().await.unwrap();
    assert!(cut.status().is_client_error(), "{}", cut.status());
    let none = phone.upload("/new", "", "x".to_owned()).send().await.unwrap();
    assert!(none.status().is_client_error(), "{}", none.status());
    // Huge bodies, from a stranger and from a device.
    for (path, cookie) in
        [("/pair", ""), ("/devices", phone.cookie.as_str()), ("/new", phone.cookie.as_str())]
    {
        const LENGTH: usize = 64 << 20;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nContent-Type: multipart/form-data; boundary=X\r\n\
             Content-Length: {LENGTH}\r\n\r\n"
        );
        let request = [head.into_bytes(), vec![b'x'; LENGTH]].concat();
        let answer = tokio::task::block_in_place(|| raw(&site, &request));
        // The server may end the connection before it says why.
        assert!(answer.is_empty() || answer.contains(" 4"), "{path}: {answer}");
    }
    phone.page("/").await.check(200, "Which colour?");
    assert!(site.project.view().answers.is_empty());
    run.child.kill().unwrap();
}

/// A form that is sent again, by the reload of a page or by somebody who recorded it, does nothing more.
#[tokio::test]
async fn a_form_that_is_sent_again_does_nothing_more() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["paint it"], &[]);
    run.until_asked();
    let card = phone.sees("/", "Which colour?").await;
    phone.press(&card, "option:0", &[]).await.check(200, "Answered.");
    phone.press(&card, "option:1", &[]).await.check(200, "was already answered with");
    let plan = phone.sees("/", "Start the work with this plan?").await;
    let path = format!("/s/{}", site.project.session());
    let page = phone.page(&path).await;
    for _ in 0..2 {
        phone.press(&page, "say", &[("text", "hurry")]).await;
    }
    let heard =
        site.project.facts().iter().filter(|fact| matches!(fact, rapport_core::Event::Heard { .. })).count();
    assert!(heard <= 1, "{heard}");
    phone.press(&plan, "option:0", &[]).await;
    assert_eq!(run.finish(), 0);
    let before = site.project.facts().len();
    phone.press(&plan, "option:0", &[]).await.check(200, "said refused");
    // Without the cookie of the device, its form is worth nothing.
    let fields = [("form", card.form_token()), ("do", "cancel".to_owned())];
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = super::visitor::form(&fields);
    let stranger = client().post(format!("{}{path}/act", site.url)).body(body).send().await.unwrap();
    Page::of(stranger).await.check(401, "not paired yet");
    // Nor is it with the cookie of another device.
    let laptop = site.pair("laptop").await;
    laptop.send(&format!("{path}/act"), &fields).await.check(403, "not from a page of this device");
    assert_eq!(site.project.facts().len(), before);
}

/// Somebody who only opens connections, or sends a request letter by letter, keeps nobody else from the page.
#[tokio::test]
async fn half_requests_keep_nobody_from_the_page() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    let address = site.url.strip_prefix("http://").unwrap();
    let mut open = Vec::new();
    for number in 0..500 {
        let mut stream = TcpStream::connect(address).unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
        }
        open.push(stream);
    }
    let began = std::time::Instant::now();
    for _ in 0..20 {
        phone.page("/").await.check(200, "Nothing waits");
    }
    println!("20 pages beside {} half requests took {:?}", open.len(), began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}
