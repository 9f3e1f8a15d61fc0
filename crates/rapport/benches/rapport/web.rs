//! The page for browsers: how long a stored fact takes to be visible, how large and how quick a full inbox is, and
//! what an open page costs the server.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use rapport::seals::Seals;
use rapport::stores::Holder;
use rapport::stores::blocking::{BlockingLog, BlockingStore};
use rapport::stores::files::Files;
use rapport_core::{Event, TurnId};
use reqwest::redirect::Policy;
use reqwest::{Client, header};
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::{JoinSet, spawn_blocking};

use crate::support::browser::{Browser, DESK};
use crate::support::serving::Serving;
use crate::{Outcome, parked_session, row};

/// Sessions that wait.
const WAITING: usize = 1_000;
/// How many of them are written at once.
const WRITERS: usize = 32;
/// Facts whose way to the page is timed; the first few only warm it up.
const FACTS: usize = 200;
const WARM_UP: usize = 10;
/// Open pages beside the one in the browser.
const OTHERS: usize = 199;
/// How often the inbox is loaded.
const LOADS: usize = 50;
/// How long a fact may take before something is broken.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn measure() -> Outcome {
    let folder = Serving::folder();
    let (app, home) = (folder.path().join("app").canonicalize()?, folder.path().join("home/.rapport"));
    let store = Files::new(rapport::config::sessions(&app)).of(app.clone());
    let store = store.sealed_by(Seals::new(home, app));
    std::thread::scope(|scope| {
        let write =
            |first| (first..WAITING).step_by(WRITERS).try_for_each(|n| parked_session(&store, n).map(drop));
        let writers: Vec<_> = (0..WRITERS).map(|first| scope.spawn(move || write(first))).collect();
        writers.into_iter().try_for_each(|writer| writer.join().map_err(|_| "a writer panicked")?)
    })?;
    let watched = parked_session(&store, WAITING)?;
    let (_, log) = BlockingStore::new(store).hold(&watched, &Holder::this_process(None))?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let server = PageServer::start(&folder)?;
        let device = Device::pair(&server.link).await?;
        device.wait_until_read().await?;
        first_load(&device).await?;
        let Some(browser) = Browser::start(DESK).await else {
            println!("  not measured, without a browser: how long a fact takes to be visible");
            return Ok(());
        };
        browser.go(&server.invite(&folder)?).await;
        browser.click("main button.main").await;
        let mut story = Story { browser, log: Some(log), told: 0 };
        story.open(&format!("{}/s/{watched}", device.root)).await;
        report("1 page", story.times().await?, "target: under 30 ms");
        let before = server.resident()?;
        let others = device.follow(OTHERS).await?;
        let each = (server.resident()? - before) / OTHERS as f64;
        report(&format!("{} pages", OTHERS + 1), story.times().await?, "target: under 150 ms");
        let after = (server.resident()? - before) / OTHERS as f64;
        row("  resident for each open page, opened", format!("{each:.0} kB"), "target: under 100 kB");
        row("  the same after these facts", format!("{after:.0} kB"), "target: under 100 kB");
        drop(others);
        Ok(())
    })
}

fn report(pages: &str, mut times: Vec<f64>, target: &str) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    row(
        &format!("a stored fact is visible in Chromium, {pages}, median"),
        format!("{:.1} ms", at(0.5)),
        target,
    );
    row("  p99", format!("{:.1} ms", at(0.99)), "");
}

/// The first load of a full inbox.
async fn first_load(device: &Device) -> Outcome {
    let mut times = Vec::new();
    let mut size = 0;
    for _ in 0..LOADS {
        let began = Instant::now();
        size = device.get("/").await?.len();
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    row(
        &format!("an inbox with {WAITING} waiting"),
        format!("{:.1} kB", size as f64 / 1e3),
        "target: under 150 kB",
    );
    row("  to answer the request, median", format!("{:.1} ms", times[LOADS / 2]), "target: under 100 ms");
    row("  the slowest", format!("{:.1} ms", times[LOADS - 1]), "");
    Ok(())
}

/// A page of a session in a browser, and the log behind it.
struct Story {
    browser: Browser,
    /// Lent to the thread that writes.
    log: Option<BlockingLog>,
    /// How many facts were written so far.
    told: usize,
}

impl Story {
    /// Opens the page, and has it note when each fact is on the screen: in the frame after the page has changed.
    async fn open(&self, url: &str) {
        self.browser.go(url).await;
        self.browser.until("document.querySelector('.story')").await;
        self.browser
            .run(
                "window.seen = {}; const look = () => { \
                   for (const [word] of (document.querySelector('.story')?.textContent ?? '').matchAll(/word-\\d+-end/g)) \
                     window.seen[word] ??= performance.timeOrigin + performance.now(); }; \
                 new MutationObserver(() => requestAnimationFrame(look)) \
                   .observe(document.body, { childList: true, subtree: true, characterData: true });",
            )
            .await;
    }

    /// How long each of the facts took from being stored to being visible, in milliseconds.
    async fn times(&mut self) -> Outcome<Vec<f64>> {
        let mut times = Vec::new();
        for number in 0..WARM_UP + FACTS {
            let word = format!("word-{}-end", self.told);
            self.told += 1;
            let stored = self.write(&word).await?;
            let seen = self.seen(&word).await?;
            if number >= WARM_UP {
                times.push((seen - stored).max(0.0));
            }
        }
        Ok(times)
    }

    /// Stores a fact; the time when it is stored.
    async fn write(&mut self, word: &str) -> Outcome<f64> {
        let mut log = self.log.take().ok_or("the log is lent")?;
        let fact = Event::Said { turn: TurnId(1), text: word.to_owned() };
        let written = spawn_blocking(move || {
            let stored = log.append(Timestamp::now(), vec![fact]);
            let at = SystemTime::now().duration_since(UNIX_EPOCH);
            (log, stored, at)
        });
        let (log, stored, at) = written.await?;
        self.log = Some(log);
        stored?;
        Ok(at?.as_secs_f64() * 1e3)
    }

    /// When the page showed this.
    async fn seen(&self, word: &str) -> Outcome<f64> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.browser.run(&format!("return window.seen['{word}']")).await.as_f64() {
                return Ok(at);
            }
            if Instant::now() > deadline {
                return Err(format!("{word} never appeared").into());
            }
        }
    }
}

/// A `rapport serve` with the page, until it is dropped.
struct PageServer {
    child: Child,
    /// The link that pairs one device.
    link: String,
}

impl PageServer {
    fn start(folder: &TempDir) -> Outcome<Self> {
        let mut command = rapport(folder);
        command.args(["serve", "--json", "--channel", "web"]).env("RAPPORT_WEB_LISTEN", "127.0.0.1:0");
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines().map_while(Result::ok);
        let link = lines.find_map(|line| {
            let told: Value = serde_json::from_str(&line).ok()?;
            Some(told["link"].as_str()?.to_owned())
        });
        // Nobody reads further; what else it says has to go somewhere.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, link: link.ok_or("it did not serve")? })
    }

    /// Another link that pairs one device.
    fn invite(&self, folder: &TempDir) -> Outcome<String> {
        let output = rapport(folder).args(["open", "--print", "--json"]).output()?;
        let told: Value = serde_json::from_slice(&output.stdout)?;
        Ok(told["link"].as_str().ok_or("there is no link")?.to_owned())
    }

    /// The kilobytes that are resident of it.
    fn resident(&self) -> Outcome<f64> {
        let path = Path::new("/proc").join(self.child.id().to_string()).join("status");
        let status = std::fs::read_to_string(path)?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(resident.trim().trim_end_matches("kB").trim().parse()?)
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program in that project and home.
fn rapport(folder: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rapport"));
    command.current_dir(folder.path().join("app")).env_clear().stdin(Stdio::null());
    command.env("PATH", "/usr/bin:/bin").env("HOME", folder.path().join("home"));
    command.env("TMPDIR", folder.path().join("tmp")).env("RAPPORT_AGENT_COMMAND", "rehearsal");
    command
}

/// A paired device without a screen.
struct Device {
    root: String,
    client: Client,
}

impl Device {
    async fn pair(link: &str) -> Outcome<Self> {
        let (root, code) = link.split_once("/pair?code=").ok_or("the link has no code")?;
        let client = crate::support::web::client_builder().redirect(Policy::none()).build()?;
        let body = format!("code={code}&name=bench");
        let form = (header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let response = client.post(format!("{root}/pair")).header(form.0, form.1).body(body).send().await?;
        let cookie = response.headers().get(header::SET_COOKIE).ok_or("the device was not paired")?;
        let cookie = cookie.to_str()?.split(';').next().unwrap_or_default();
        let headers = header::HeaderMap::from_iter([(header::COOKIE, cookie.parse()?)]);
        let client = crate::support::web::client_builder().default_headers(headers).build()?;
        Ok(Self { root: root.to_owned(), client })
    }

    async fn get(&self, path: &str) -> Outcome<String> {
        Ok(self.client.get(format!("{}{path}", self.root)).send().await?.error_for_status()?.text().await?)
    }

    /// Waits until the server has read all sessions.
    async fn wait_until_read(&self) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        while !self.get("/").await?.contains(&format!("{} wait", WAITING + 1)) {
            if Instant::now() > deadline {
                return Err("the server did not read all sessions".into());
            }
        }
        Ok(())
    }

    /// Opens this many streams of changes, and reads them until they are dropped.
    async fn follow(&self, number: usize) -> Outcome<JoinSet<()>> {
        let mut streams = JoinSet::new();
        for _ in 0..number {
            let request = self.client.get(format!("{}/events", self.root));
            let mut stream = request.send().await?.error_for_status()?;
            stream.chunk().await?;
            streams.spawn(async move { while let Ok(Some(_)) = stream.chunk().await {} });
        }
        Ok(streams)
    }
}
