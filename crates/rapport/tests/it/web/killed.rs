//! `rapport serve` is killed around the writes of the page's own files, and while a decision from the page is carried out:
//! what a device was told holds, and the next server goes on.

use rapport_core::Event;
use serde_json::json;
use tokio::runtime::Runtime;

use super::push_service::{PushServer, Subscriber};
use super::{Page, WebVisitor, try_serve};
use crate::crash::terminal::every_point;
use crate::files::{greeting, project};
use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};
use crate::support::scenarios::ONE_QUESTION;

/// How many servers a story may take.
const ENOUGH: usize = 4;

/// A server that is told where to die, and those after it. They die with this.
struct Servers<'a> {
    project: &'a Project,
    env: Vec<(&'a str, &'a str)>,
    /// Where the first one dies.
    trial: Option<&'a str>,
    started: usize,
    now: Option<Running>,
}

impl Servers<'_> {
    /// Starts the next one; where it is and its link, or `None` if it died at once.
    fn next(&mut self) -> Option<(String, String)> {
        self.stop();
        let trial = self.trial.filter(|_| self.started == 0).map(|trial| ("RAPPORT_TRIAL_WRITES", trial));
        self.started += 1;
        let env: Vec<_> = self.env.iter().copied().chain(trial).collect();
        let (serving, url, link) = try_serve(self.project, &env)?;
        self.now = Some(serving);
        Some((url, link))
    }

    fn stop(&mut self) {
        self.now.take().into_iter().for_each(Running::kill);
    }
}

impl Drop for Servers<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A phone, and what it was told.
struct Phone<'a> {
    visitor: Option<WebVisitor>,
    browser: &'a Subscriber,
    service: &'a PushServer,
    key: Option<String>,
    is_subscribed: bool,
    is_saved: bool,
    run: Option<Running>,
}

impl Phone<'_> {
    /// Pairs the phone, has it woken, and waits until it was woken for a question; `None` if the server died meanwhile.
    async fn use_page(&mut self, project: &Project, url: &str, link: &str) -> Option<()> {
        if self.visitor.is_none() {
            self.visitor = Some(WebVisitor::pair_if_alive(link, "phone").await?);
        }
        let visitor = self.visitor.as_mut()?;
        visitor.root = url.to_owned();
        let page = visitor.page_if_alive("/devices").await?;
        page.check(200, "phone");
        let key = attribute(&page, "data-vapid=\"");
        assert_eq!(*self.key.get_or_insert_with(|| key.clone()), key, "it has another key");
        let form = attribute(&page, "data-form=\"");
        let own = [("form", form.as_str())];
        if !self.is_subscribed {
            let fields = self.browser.fields(self.service);
            let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
            let fields: Vec<_> = own.into_iter().chain([("do", "subscribe")]).chain(fields).collect();
            visitor.send_if_alive("/push", &fields).await?.check(200, "This device gets notifications.");
            self.is_subscribed = true;
        } else {
            page.check(200, "Wake this device for");
        }
        if !self.is_saved {
            let wishes = [("do", "save"), ("bundle", "0"), ("wake", "questions"), ("wake", "plans")];
            visitor.send_if_alive("/push", &[&own[..], &wishes].concat()).await?.check(200, "Saved.");
            self.is_saved = true;
        } else {
            assert_eq!(page.text.matches("name=\"wake\"").count(), 5, "{}", page.text);
            assert_eq!(checked(&page), 2, "{}", page.text);
        }
        if self.run.is_none() {
            let mut run = project.start(&["paint it"], &[]);
            run.until_asked();
            self.run = Some(run);
        }
        // Until it was woken, and that is stored.
        let path = project.path("home/.rapport/web/push.json");
        loop {
            let woken = self.service.messages(self.browser);
            let ids: Vec<_> =
                woken.iter().map(|message| self.browser.read(message)["open"].clone()).collect();
            let stored = std::fs::read_to_string(&path).unwrap_or_default();
            if ids.iter().any(|id| stored.contains(id.as_str().unwrap())) {
                return Some(());
            }
            self.visitor.as_ref()?.page_if_alive("/devices").await?;
        }
    }
}

fn attribute(page: &Page, start: &str) -> String {
    let value = page.text.split_once(start).unwrap_or_else(|| panic!("{start} in {}", page.text)).1;
    value.split('"').next().unwrap().to_owned()
}

/// How many kinds the page says that the device is woken for.
fn checked(page: &Page) -> usize {
    page.text
        .split("name=\"wake\"")
        .skip(1)
        .filter(|rest| rest.split('>').next().unwrap().contains("checked"))
        .count()
}

/// A device that was let in stays so, a subscription that was confirmed is kept, and a kill repeats a notification once at
/// most: around every write of the page's files.
#[test]
fn serve_killed_around_any_write_of_its_own_files_keeps_what_it_confirmed() {
    let points = every_point(|point| {
        let runtime = Runtime::new().unwrap();
        let project = Project::with_scenario(ONE_QUESTION);
        let service = runtime.block_on(PushServer::start());
        let browser = Subscriber::new("phone");
        let trial = format!(".rapport/web/:{point}");
        let mut servers = Servers {
            project: &project,
            env: vec![("RAPPORT_TRIAL_PUSH", service.origin.as_str())],
            trial: Some(&trial),
            started: 0,
            now: None,
        };
        let mut phone = Phone {
            visitor: None,
            browser: &browser,
            service: &service,
            key: None,
            is_subscribed: false,
            is_saved: false,
            run: None,
        };
        let mut is_done = false;
        while !is_done && servers.started < ENOUGH {
            let Some((url, link)) = servers.next() else { continue };
            is_done = runtime.block_on(phone.use_page(&project, &url, &link)).is_some();
        }
        assert!(is_done, "killed at point {point}, the story came to no end");
        let died = servers.started > 1;
        // One more server, which has to tell only what is new.
        let (url, link) = servers.next().unwrap();
        runtime.block_on(phone.use_page(&project, &url, &link)).unwrap();
        let before = service.messages(&browser).len();
        project.rapport(&["answer", "Red"]).check(0, "");
        runtime.block_on(service.message(&browser, before + 1));
        let told =
            service.messages(&browser).into_iter().map(|message| browser.read(&message)["kind"].clone());
        let (plans, questions): (Vec<_>, Vec<_>) = told.partition(|kind| *kind == json!("plans"));
        assert_eq!(plans.len(), 1, "killed at point {point}");
        assert!((1..=2).contains(&questions.len()), "killed at point {point}: {questions:?}");
        phone.run.take().into_iter().for_each(Running::kill);
        died
    });
    assert!(points >= 12, "there were only {points} points to be killed at");
}

/// A revocation is there as a whole or not at all, and holds once it was confirmed.
#[test]
fn a_revocation_killed_around_any_write_is_whole() {
    let points = every_point(|point| {
        let runtime = Runtime::new().unwrap();
        let project = Project::with_scenario(ONE_QUESTION);
        let mut servers = Servers { project: &project, env: Vec::new(), trial: None, started: 0, now: None };
        let (_, link) = servers.next().unwrap();
        let phone = runtime.block_on(WebVisitor::pair(&link, "phone"));
        let revoke = ["devices", "--revoke", "phone"];
        let trial = format!(".rapport/web/:{point}");
        let killed = project.command().args(revoke).env("RAPPORT_TRIAL_WRITES", trial).output().unwrap();
        let page = runtime.block_on(phone.page("/"));
        let is_out = page.status.as_u16() == 401;
        assert!(is_out || page.status.as_u16() == 200, "killed at point {point}: {}", page.text);
        assert!(is_out || !killed.status.success(), "it was confirmed and does not hold");
        if !is_out {
            project.rapport(&revoke).check(0, "can no longer connect");
        }
        runtime.block_on(phone.page("/")).check(401, "no longer paired");
        !killed.status.success()
    });
    assert!(points >= 2, "there were only {points} points to be killed at");
}

/// Has a phone play this with one server after the other, until it comes to its end.
fn play_to_the_end(servers: &mut Servers<'_>, point: usize, play: impl AsyncFn(&WebVisitor) -> Option<()>) {
    let runtime = Runtime::new().unwrap();
    let mut visitor: Option<WebVisitor> = None;
    let mut is_done = false;
    while !is_done && servers.started < ENOUGH {
        let Some((url, link)) = servers.next() else { continue };
        let played = runtime.block_on(async {
            let phone = match visitor.take() {
                Some(known) => known.at(url),
                None => WebVisitor::pair_if_alive(&link, "phone").await?,
            };
            visitor = Some(phone.clone());
            play(&phone).await
        });
        is_done = played.is_some();
    }
    assert!(is_done, "killed at point {point}, the story came to no end");
}

/// FILE-20: the answer to a reply in words is stored once, and the agent plans with it once, wherever the server dies while
/// it carries that out.
#[test]
fn file_20_serve_killed_around_any_write_of_an_answered_reply_goes_on() {
    let points = every_point(|point| {
        let project = project(&["Which language?", &greeting(), &greeting()]);
        project.plan_turn("Greet.").check(3, "Which language?");
        let trial = format!("/sessions/:{point}");
        let mut servers =
            Servers { project: &project, env: Vec::new(), trial: Some(&trial), started: 0, now: None };
        play_to_the_end(&mut servers, point, async |phone| {
            loop {
                let page = phone.page_if_alive("/").await?;
                if page.text.contains("value=\"reply\"") {
                    phone.press_if_alive(&page, "reply", &[("text", "English")]).await?;
                }
                if page.text.contains("Review: Add a greeting") {
                    return Some(());
                }
                assert!(!page.text.contains("It cannot go on"), "killed at point {point}: {}", page.text);
            }
        });
        let facts = project.facts();
        let answered = facts.iter().filter(|fact| matches!(fact, Event::ReplyAnswered { .. })).count();
        assert_eq!(
            (answered, project.turn_names()),
            (1, vec!["01".to_owned(), "02".to_owned()]),
            "at {point}"
        );
        assert!(project.turn_file("02/_context.log").contains("English"), "killed at point {point}");
        servers.started > 1
    });
    assert!(points >= 10, "there were only {points} points to be killed at");
}

/// A plan that was approved on the page is not forgotten by the next server: it says that the run was interrupted, and the
/// person has it continued.
#[test]
fn serve_killed_in_the_middle_of_an_approved_plan_says_so_and_goes_on() {
    let points = every_point(|point| {
        let project = project(&[&greeting()]);
        project.plan_turn("Greet.").check(0, "Add a greeting");
        // The files of the batch and its log: every third point.
        let trial = format!("app/.rapport/:{}", 3 * point);
        let mut servers =
            Servers { project: &project, env: Vec::new(), trial: Some(&trial), started: 0, now: None };
        play_to_the_end(&mut servers, point, async |phone| {
            loop {
                let page = phone.page_if_alive("/").await?;
                let buttons = ["approve", "go_on", "restart"];
                let shown = |button: &&str| page.text.contains(&format!("value=\"{button}\""));
                if let Some(button) = buttons.into_iter().find(shown) {
                    let all = [("i", "0.0"), ("i", "1.0"), ("i", "2.0"), ("i", "2.1"), ("i", "2.2")];
                    phone.press_if_alive(&page, button, &all).await?;
                }
                if project.facts().iter().any(|fact| matches!(fact, Event::Sealed { .. })) {
                    return Some(());
                }
            }
        });
        assert_eq!(project.file("hello.txt"), "Hello\n", "killed at point {point}");
        wait_for("the report", || (!project.turn_file("01/report.md").is_empty()).then_some(()));
        servers.started > 1
    });
    assert!(points >= 4, "there were only {points} points to be killed at");
}
