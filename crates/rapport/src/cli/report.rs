//! `rapport doctor --report`: what a bug report needs, without secrets and without texts of people or agents.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::statvfs::statvfs;
use nix::sys::utsname::uname;
use rapport_core::View;
use rapport_engine::variant;
use serde::Serialize;
use serde_json::json;
use tracing::Level;

use super::output::{say, say_json};
use super::{Common, doctor, screen, sessions};
use crate::channels::terminal;
use crate::config::{self, ReportedSetting};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;

/// The number of recent errors to include.
const LAST_ERRORS: usize = 20;

#[derive(Serialize)]
struct Report {
    rapport: &'static str,
    system: BTreeMap<&'static str, String>,
    programs: BTreeMap<&'static str, String>,
    terminal: BTreeMap<&'static str, String>,
    settings: Vec<ReportedSetting>,
    /// The number of sessions by status and aim.
    sessions: BTreeMap<String, usize>,
    /// The free disk space, in megabytes.
    free: BTreeMap<&'static str, String>,
    limits: BTreeMap<&'static str, String>,
    /// From the log, if there is one.
    errors: Vec<String>,
}

/// Writes it to a file, or prints it for `-`.
pub(super) fn write(common: &Common, place: &Workspace, file: &Path) -> Outcome {
    let report = gather(common, place);
    if file == Path::new("-") {
        return if common.json { say_json(&report) } else { say(text(&report).trim_end()) };
    }
    let content = match common.json {
        true => serde_json::to_string_pretty(&report).map_err(std::io::Error::from)? + "\n",
        false => text(&report),
    };
    rapport_durable::replace_private(file, content.as_bytes())
        .map_err(|error| Failure::new(Code::Usage, format!("cannot write {}: {error}", file.display())))?;
    if common.json {
        return say_json(&json!({ "report": file }));
    }
    say(format_args!("Wrote {}. Read it before you send it: it holds no secrets we know of.", file.display()))
}

fn gather(common: &Common, place: &Workspace) -> Report {
    let home = std::env::var("HOME").unwrap_or_default();
    // The report does not contain the owner's name.
    let tilde = |text: String| if home.len() > 1 { text.replace(&home, "~") } else { text };
    Report {
        rapport: env!("CARGO_PKG_VERSION"),
        system: system(),
        programs: doctor::programs(place).into_iter().map(|(name, found)| (name, tilde(found))).collect(),
        terminal: terminal_state(),
        settings: config::reported_settings(
            &place.home,
            &place.project,
            utf8_env(),
            &place.known_settings().sections,
            |variable| place.agents.are_set_up_by(variable),
        ),
        sessions: count(place),
        free: [("home", &place.home), ("project", &place.project)]
            .map(|(name, path)| (name, free(path)))
            .into(),
        limits: limits(),
        errors: common
            .log_file
            .as_deref()
            .map(last_errors)
            .unwrap_or_default()
            .into_iter()
            .map(tilde)
            .collect(),
    }
}

fn utf8_env() -> impl Iterator<Item = (String, String)> {
    let text = |word: std::ffi::OsString| word.to_string_lossy().into_owned();
    std::env::vars_os().map(move |(name, value)| (text(name), text(value)))
}

fn system() -> BTreeMap<&'static str, String> {
    let mut system = BTreeMap::new();
    if let Ok(name) = uname() {
        let words = [name.sysname(), name.release(), name.machine()].map(|word| word.to_string_lossy());
        system.insert("kernel", words.join(" "));
    }
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    if let Some(name) = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")) {
        system.insert("name", name.trim_matches('"').to_owned());
    }
    let cores =
        std::thread::available_parallelism().map_or_else(|error| error.to_string(), |n| n.to_string());
    system.insert("cores", cores);
    system
}

fn terminal_state() -> BTreeMap<&'static str, String> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    BTreeMap::from([
        ("TERM", variable("TERM")),
        ("COLORTERM", variable("COLORTERM")),
        ("LANG", variable("LANG")),
        ("LC_ALL", variable("LC_ALL")),
        ("is a terminal", screen::is_terminal().to_string()),
        ("lines only", terminal::lines_only().to_string()),
    ])
}

fn count(place: &Workspace) -> BTreeMap<String, usize> {
    let store = place.store();
    let mut counts = BTreeMap::new();
    let Ok(all) = store.list() else { return BTreeMap::from([("cannot be listed".into(), 1)]) };
    for id in all {
        let how =
            sessions::view(&store, &id).map_or_else(|failure| variant(&failure.code), |view| state(&view));
        *counts.entry(how).or_default() += 1;
    }
    counts
}

fn state(view: &View) -> String {
    format!("{} at {}", variant(&view.status), variant(&view.phase))
}

fn free(path: &Path) -> String {
    // The home may not exist yet.
    let found = path.ancestors().find_map(|path| statvfs(path).ok());
    found.map_or("unknown".into(), |disk| {
        let megabytes = disk.blocks_available() as f64 * disk.fragment_size() as f64 / 1e6;
        format!("{megabytes:.0} MB, {} files", disk.files_available())
    })
}

fn limits() -> BTreeMap<&'static str, String> {
    let number = |limit: u64| if limit == RLIM_INFINITY { "unlimited".to_owned() } else { limit.to_string() };
    let limit = |resource| match getrlimit(resource) {
        Ok((soft, hard)) => format!("{} of {}", number(soft), number(hard)),
        Err(error) => error.to_string(),
    };
    BTreeMap::from([
        ("open files", limit(Resource::RLIMIT_NOFILE)),
        ("file size", limit(Resource::RLIMIT_FSIZE)),
        ("memory", limit(Resource::RLIMIT_AS)),
    ])
}

fn last_errors(log: &Path) -> Vec<String> {
    let log = std::fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    // A line begins with the time and the level.
    let level = |line: &str| line.split_whitespace().nth(1)?.parse::<Level>().ok();
    let is_error = |line: &&str| level(line).is_some_and(|level| level <= Level::WARN);
    let mut last: Vec<_> = log.lines().rev().filter(is_error).take(LAST_ERRORS).map(str::to_owned).collect();
    last.reverse();
    last
}

fn text(report: &Report) -> String {
    let mut text = format!("rapport {}\n", report.rapport);
    let mut part = |name: &str, lines: Vec<String>| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "\n{name}");
        for line in lines {
            let _ = writeln!(text, "  {}", terminal::terminal_text::line(&line));
        }
    };
    let table = |table: &BTreeMap<&str, String>| {
        table.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    part("System", table(&report.system));
    part("Programs", table(&report.programs));
    part("Terminal", table(&report.terminal));
    let setting =
        |setting: &ReportedSetting| format!("{} ({}): {}", setting.key, setting.source, setting.value);
    part("Settings, later ones win", report.settings.iter().map(setting).collect());
    part("Sessions", report.sessions.iter().map(|(how, count)| format!("{how}: {count}")).collect());
    part("Free", table(&report.free));
    part("Limits", table(&report.limits));
    let errors = match report.errors.as_slice() {
        [] => vec!["none known; run it with --log-file FILE, and then this with the same".to_owned()],
        errors => errors.to_vec(),
    };
    part("Last errors", errors);
    text
}
