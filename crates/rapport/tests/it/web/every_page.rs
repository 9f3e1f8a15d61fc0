//! Every page and every card in a real Chromium, with hostile text, on the narrowest phone and on a desk: no serious
//! violation of accessibility, no request to others, nothing wider than the window, and no script of the text runs.

use rapport_core::Event;

use super::faults::EVIL;
use super::{WebSite, WebVisitor};
use crate::files::{greeting, planning};
use crate::support::browser::{Browser, Setup};
use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};

const NARROW: Setup = Setup { width: 320, is_dark: false, has_scripts: true };
const WIDE_AND_DARK: Setup = Setup { width: 1440, is_dark: true, has_scripts: true };

/// The sessions of a project that wait for everything that a person can be asked for. The runs end with this.
struct Waiting {
    site: WebSite,
    _runs: Vec<Running>,
}

impl Waiting {
    /// Runs a task with an agent that plays this scenario, until it did this.
    fn run(
        project: &Project,
        (name, scenario): (&str, &str),
        flags: &[&str],
        is_done: impl Fn(&Event) -> bool,
    ) -> Running {
        let path = project.path(&format!("{name}.yaml"));
        std::fs::write(&path, scenario).unwrap();
        let agent = format!("rehearsal --scenario {}", path.display());
        let task = format!("{name} {EVIL}");
        let args: Vec<_> = flags.iter().copied().chain([task.as_str()]).collect();
        let mut run = project.start(&args, &[("RAPPORT_AGENT_COMMAND", &agent)]);
        run.until(is_done);
        run
    }

    fn start() -> Self {
        let evil = serde_json::to_string(EVIL).unwrap();
        let asks = format!(
            "version: 1\nname: asks\ninvocations:\n  - steps:\n      - text: {evil}\n      - ask:\n          questions:\n            - question: {evil}\n              header: {evil}\n              options: [{{ label: {evil}, description: {evil}, preview: {evil} }}, {{ label: B }}]\n            - question: \"And `then`?\"\n              multiSelect: true\n              options: [{{ label: C }}, {{ label: D }}]\n    result: {evil}\n"
        );
        let work = |steps: &str| {
            format!(
                "version: 1\nname: work\ninvocations:\n  - result: \"# Plan\\n\\n1. `It`.\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\"\n  - steps:\n{steps}    result: {evil}\n"
            )
        };
        let writes = work("      - write: { path: notes.txt, content: \"one\\n2\\n\", permission: true }\n");
        let done = work("      - write: { path: done.txt, content: \"done\\n\" }\n");
        let fails = "version: 1\nname: fails\ninvocations:\n  - steps:\n      - stderr: \"no <b>credit</b>\"\n      - exit: 1\n";
        let replies = serde_json::to_string(&planning(&[EVIL, &greeting()]).build()).unwrap();
        let project = Project::with_scenario(&replies);
        std::fs::write(project.root().join("notes.txt"), "one\ntwo\n").unwrap();
        project.rapport(&["new", "replied"]).check(0, "");
        assert_eq!(project.rapport(&["plan", "--session", "replied", "-m", EVIL]).code(), 3);
        project.rapport(&["new", "reviewed"]).check(0, "");
        project.rapport(&["plan", "--session", "reviewed", "-m", "Greet."]).check(0, "Add a greeting");
        let asked = |fact: &Event| matches!(fact, Event::Asked { .. });
        let mut runs = vec![
            Self::run(&project, ("asks", &asks), &[], asked),
            Self::run(&project, ("plans", &done), &[], asked),
        ];
        for (name, scenario, flags) in
            [("writes", &writes, &[][..]), ("applies", &done, &["--worker", "worktree"][..])]
        {
            runs.push(Self::run(&project, (name, scenario), flags, |fact| {
                matches!(fact, Event::PlanSaved { .. })
            }));
            wait_for("its confirmation", || {
                (project.rapport(&["answer", name, "confirm"]).code() == 0).then_some(())
            });
        }
        runs.push(Self::run(&project, ("fails", fails), &[], |fact| matches!(fact, Event::Failed { .. })));
        let site = WebSite::start(project);
        Self { site, _runs: runs }
    }

    /// The address of every card in the inbox.
    async fn cards(&self, phone: &WebVisitor) -> Vec<String> {
        let kinds = ["question", "plan", "permission", "changes", "failed", "reply", "review"];
        for kind in kinds {
            phone.sees("/", &format!("badge is-{kind}")).await;
        }
        let inbox = phone.page("/").await;
        let items = inbox.text.split("<a class=\"item\" href=\"").skip(1);
        items.map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&")).collect()
    }
}

async fn every_page_is_sound(setup: Setup, name: &str) {
    let waiting = tokio::task::block_in_place(Waiting::start);
    let (site, phone) = (&waiting.site, waiting.site.pair("phone").await);
    let Some(browser) = Browser::start(setup).await else { return };
    browser.go(&site.url).await;
    browser.check_page(&site.url).await;
    browser.go(&site.invite(&[])).await;
    browser.check_page(&site.url).await;
    browser.click("main button.main").await;
    browser.sees("7 wait").await;
    let mut pages = waiting.cards(&phone).await;
    assert_eq!(pages.len(), 7, "{pages:?}");
    let sessions: Vec<_> = site.project.store().list().unwrap();
    for id in &sessions {
        for part in ["", "/plan", "/changes", "/turns"] {
            pages.push(format!("/s/{id}{part}"));
        }
    }
    let reviewed = sessions.iter().find(|id| id.as_str().contains("reviewed")).unwrap();
    pages.push(format!("/s/{reviewed}/preview?turn=01&item=2.0"));
    let known = phone.page("/projects").await;
    let project =
        known.text.split("href=\"/projects/").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    pages.push(format!("/projects/{project}"));
    let others =
        ["/?order=urgent", "/?s=-&q=-", "/sessions", "/sessions?q=script", "/sessions?q=nothing-like-it"];
    pages.extend(others.map(str::to_owned));
    pages.extend(["/projects", "/new", "/devices", "/nowhere", "/s/nowhere", "/pair"].map(str::to_owned));
    for (number, page) in pages.iter().enumerate() {
        browser.go(&format!("{}{page}", site.url)).await;
        browser.until("document.querySelector('main')").await;
        // Everything that can be opened, so that it is looked at as well.
        browser.run("for (const one of document.querySelectorAll('details')) one.open = true").await;
        browser.check_page(&site.url).await;
        assert_eq!(
            browser.run("return document.querySelectorAll('main img[src=x], main script').length").await,
            0
        );
        browser.picture(&format!("{name}-{number:02}")).await;
    }
    println!("{} pages at {} pixels", pages.len() + 2, setup.width);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_sound_on_the_narrowest_phone() {
    every_page_is_sound(NARROW, "narrow").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_sound_on_a_dark_desk() {
    every_page_is_sound(WIDE_AND_DARK, "wide").await;
}
