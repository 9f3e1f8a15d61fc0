//! A real Chromium with its own profile, driven over WebDriver. It ends on drop.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{needs, web};

/// How long a page may take to become what is expected.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two looks at a page.
const PAUSE: Duration = Duration::from_millis(20);
/// The name under which WebDriver gives elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// How a browser is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) width: u32,
    pub(crate) is_dark: bool,
    pub(crate) has_scripts: bool,
}

/// A phone, and a desk.
pub(crate) const PHONE: Setup = Setup { width: 390, is_dark: true, has_scripts: true };
pub(crate) const DESK: Setup = Setup { width: 1440, is_dark: false, has_scripts: true };

pub(crate) struct Browser {
    driver: Child,
    /// The process of the browser itself.
    browser: Option<i32>,
    session: String,
    client: reqwest::Client,
    axe: PathBuf,
    _profile: TempDir,
}

impl Browser {
    /// Starts one. `None` only where the tests that need one were left out on purpose.
    pub(crate) async fn start(setup: Setup) -> Option<Self> {
        let axe = needs::browser()?.join("node_modules/axe-core/axe.min.js");
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("chromedriver");
        // Chromium keeps its own things beside the profile, too.
        command.arg("--port=0").env("HOME", profile.path()).stdin(Stdio::null());
        let mut driver = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            // It first names the port that it was told, which is any.
            let port = line.rsplit_once("successfully on port ")?.1.trim_end_matches('.').parse::<u16>();
            port.ok()
        });
        let Some(port) = port else { panic!("chromedriver does not say on which port it listens") };
        let root = format!("http://127.0.0.1:{port}");
        let flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ];
        let own = [
            format!("--user-data-dir={}", profile.path().join("profile").display()),
            format!("--window-size={},900", setup.width),
        ];
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).chain(own).collect();
        let scripts = json!({ "profile.managed_default_content_settings.javascript": 2 });
        let prefs = if setup.has_scripts { json!({}) } else { scripts };
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": flags, "prefs": prefs },
        } } });
        let client = web::client();
        let response = client.post(format!("{root}/session")).json(&wanted).send().await.unwrap();
        let begun: Value = response.json().await.unwrap();
        let id = begun["value"]["sessionId"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
        let session = format!("{root}/session/{id}");
        let process = begun["value"]["capabilities"]["goog:processID"].as_i64();
        let process = process.and_then(|id| i32::try_from(id).ok());
        let browser = Self { driver, browser: process, session, client, axe, _profile: profile };
        let screen = json!({ "width": setup.width, "height": 844, "deviceScaleFactor": 1, "mobile": setup.width < 500 });
        browser.devtools("Emulation.setDeviceMetricsOverride", screen).await;
        let scheme = if setup.is_dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.devtools("Emulation.setEmulatedMedia", media).await;
        Some(browser)
    }

    pub(crate) async fn go(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    /// Where it is.
    pub(crate) async fn url(&self) -> String {
        self.get("/url").await.as_str().unwrap().to_owned()
    }

    /// What a script on the page returns.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] })).await
    }

    /// Waits until an expression on the page holds.
    pub(crate) async fn until(&self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        let script = format!("return Boolean({expression})");
        while self.run(&script).await != Value::Bool(true) {
            if Instant::now() >= deadline {
                let text = self.text().await;
                panic!("waited in vain for {expression} at {}; the page says:\n{text}", self.url().await);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until the page says this.
    pub(crate) async fn sees(&self, words: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(words))).await;
    }

    /// Everything that can be read on the page.
    pub(crate) async fn text(&self) -> String {
        self.run("return document.body.innerText").await.as_str().unwrap_or_default().to_owned()
    }

    /// The source of the page, also where it has no scripts.
    pub(crate) async fn source(&self) -> String {
        self.get("/source").await.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks the first element of this kind, as soon as there is one. A page that was loaded again between finding and
    /// clicking has another such element, and the first one was not clicked.
    pub(crate) async fn click(&self, css: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let id = self.find(css).await;
            let Err(error) = self.try_post(&format!("/element/{id}/click"), json!({})).await else { return };
            let is_stale = error["error"] == "stale element reference";
            assert!(is_stale && Instant::now() < deadline, "cannot click {css}: {error}");
        }
    }

    pub(crate) async fn write(&self, css: &str, text: &str) {
        let id = self.find(css).await;
        self.post(&format!("/element/{id}/value"), json!({ "text": text })).await;
    }

    /// Presses a key, wherever the focus is.
    pub(crate) async fn press(&self, key: &str) {
        let keys = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        self.post("/actions", json!({ "actions": [{ "type": "key", "id": "keys", "actions": keys }] })).await;
    }

    /// Checks the page for serious accessibility problems, and that it sent no request to another origin.
    pub(crate) async fn check_page(&self, origin: &str) {
        let source = std::fs::read_to_string(&self.axe).unwrap();
        self.run(&source).await;
        let script = "const done = arguments[arguments.length - 1]; axe.run(document).then((found) => done(found.violations\
            .filter((one) => ['serious', 'critical'].includes(one.impact))\
            .map((one) => `${one.id}: ${one.nodes.map((node) => node.html + ' ' + node.failureSummary).join(' | ')}`)))";
        let found = self.post("/execute/async", json!({ "script": script, "args": [] })).await;
        assert_eq!(found, json!([]), "at {}", self.url().await);
        let asked = self.run("return performance.getEntriesByType('resource').map((one) => one.name)").await;
        let others: Vec<_> = asked.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let others: Vec<_> = others.into_iter().filter(|name| !name.starts_with(origin)).collect();
        assert_eq!(others, Vec::<&str>::new());
        let is_wide = self.run("return document.documentElement.scrollWidth > innerWidth").await;
        assert_eq!(is_wide, Value::Bool(false), "the page is wider than its window at {}", self.url().await);
    }

    /// Saves a picture of the page if `RAPPORT_TEST_PICTURES` names a folder.
    pub(crate) async fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("RAPPORT_TEST_PICTURES") else { return };
        let shot = self.devtools("Page.captureScreenshot", json!({ "format": "png" })).await;
        let encoded = shot["data"].as_str().unwrap();
        let path = Path::new(&folder).join(format!("{name}.b64"));
        std::fs::write(path, encoded).unwrap();
    }

    /// Calls a method of the browser's own tools.
    pub(crate) async fn devtools(&self, cmd: &str, params: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": cmd, "params": params })).await
    }

    async fn find(&self, css: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let wanted = json!({ "using": "css selector", "value": css });
            let found = self.try_post("/element", wanted).await;
            if let Some(id) = found.ok().and_then(|found| Some(found[ELEMENT].as_str()?.to_owned())) {
                return id;
            }
            assert!(
                Instant::now() < deadline,
                "there is no {css} at {}:\n{}",
                self.url().await,
                self.source().await
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn get(&self, path: &str) -> Value {
        let response = self.client.get(format!("{}{path}", self.session)).send().await.unwrap();
        response.json::<Value>().await.unwrap()["value"].take()
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.try_post(path, body).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    async fn try_post(&self, path: &str, body: Value) -> Result<Value, Value> {
        let response = self.client.post(format!("{}{path}", self.session)).json(&body).send().await.unwrap();
        let is_done = response.status().is_success();
        let value = response.json::<Value>().await.unwrap()["value"].take();
        if is_done { Ok(value) } else { Err(value) }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver does not always end the browser when it ends itself.
        for id in [self.browser, i32::try_from(self.driver.id()).ok()].into_iter().flatten() {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGTERM);
        }
        let _ = self.driver.wait();
    }
}
