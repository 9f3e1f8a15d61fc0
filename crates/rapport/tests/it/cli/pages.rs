//! The pages and pictures that `cargo xtask man` and `cargo xtask pictures` make from the program.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use clap::CommandFactory as _;

use crate::support::example::example;
use crate::support::project::Project;

/// The commands that people run.
fn every_command() -> Vec<String> {
    let cli = rapport::cli::Cli::command();
    let shown = cli.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).collect()
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new(example("man_pages")).arg(folder.path()).status().unwrap().success());
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(page("rapport.1").contains("rapport\\-answer(1)"), "{}", page("rapport.1"));
    let commands = every_command();
    assert!(commands.len() > 30, "{commands:?}");
    for command in &commands {
        let text = page(&format!("rapport-{command}.1"));
        assert!(text.contains(".SH SYNOPSIS"), "{command}: {text}");
        assert!(
            page("rapport.1").contains(&format!("rapport\\-{}(1)", command.replace('-', "\\-"))),
            "{command}"
        );
    }
    for command in ["run", "answer", "resume", "undo", "doctor", "completions"] {
        assert!(page(&format!("rapport-{command}.1")).contains("Examples:"), "{command}");
    }
    assert!(!folder.path().join("rapport-keep.1").exists(), "what people do not run has none");
}

/// The example of the settings is read, every line of it, also what is commented out.
#[test]
fn the_example_of_the_settings_is_read() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let example = std::fs::read_to_string(docs.join("config.yaml")).unwrap();
    // A comment that is a setting has its sign in the column of a key, and no sentence after it.
    let is_setting = |line: &str| {
        let key = line.trim_start().strip_prefix("# ").and_then(|rest| rest.split_once(": "));
        line.starts_with("  #") && key.is_some_and(|(key, _)| !key.contains(' '))
    };
    let lines = example
        .lines()
        .map(|line| if is_setting(line) { line.replacen("# ", "", 1) } else { line.to_owned() });
    let whole = lines.collect::<Vec<_>>().join("\n");
    assert!(whole.contains("\n  token: "), "{whole}");
    for text in [&example, &whole] {
        // No server answers at this address, and no other one is asked.
        let project = Project::with_agent("rehearsal").set("RAPPORT_TELEGRAM_API_URL", "http://127.0.0.1:9");
        let home = project.path("home/.rapport");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.yaml"), text).unwrap();
        let found = project.rapport(&["doctor"]);
        assert!(found.out().contains("ok       settings"), "{}", found.out());
        std::fs::write(home.join("config.yaml"), text.replace("  hot: ", "  hto: ")).unwrap();
        project.rapport(&["doctor"]).check(1, "unknown field `hto`");
    }
}

/// The texts of a picture, row by row, without what differs from one day and one machine to another.
fn rows(picture: &str) -> Vec<String> {
    let rows = picture.lines().filter_map(|line| line.strip_prefix("<text ")?.strip_suffix("</text>"));
    let text =
        |row: &str| row.split('<').map(|part| part.split_once('>').map_or("", |(_, text)| text)).collect();
    let masked = |row: String| {
        let digits: String = row.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        let short = (0..8).fold(digits, |text, _| text.replace("00", "0"));
        let words: Vec<_> = short.replace("0m ago", "0s ago").split_whitespace().map(str::to_owned).collect();
        words.join(" ")
    };
    rows.map(|row| masked(text(row))).collect()
}

/// The pictures in `docs/` show what the program shows today.
#[test]
fn the_pictures_are_of_a_real_session() {
    let folder = tempfile::tempdir().unwrap();
    let mut pictures = Command::new(example("pictures"));
    assert!(pictures.arg(env!("CARGO_BIN_EXE_rapport")).arg(folder.path()).status().unwrap().success());
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let names = std::fs::read_dir(docs.join("pictures"))
        .unwrap()
        .map(|entry| format!("pictures/{}", entry.unwrap().file_name().to_str().unwrap()));
    // Those of the page for browsers are PNG files.
    let names = names.filter(|name| name.ends_with(".svg"));
    let names: Vec<_> = names.chain(["picture.svg".to_owned()]).collect();
    assert_eq!(names.len(), 7, "{names:?}");
    for name in names.into_iter().chain(["recording.svg".to_owned()]) {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(&name)).unwrap();
        let (taken, kept) = (read(folder.path()), read(&docs));
        assert!(rows(&taken).len() > 2, "{taken}");
        assert!(kept.len() < 150_000 && !kept.contains("<script"), "{name} has {} bytes", kept.len());
        // A recording has each row once, and rows that differ in a number only are one.
        let shown = |picture: &str| match name.as_str() {
            "recording.svg" => rows(picture).into_iter().collect::<BTreeSet<_>>().into_iter().collect(),
            _ => rows(picture),
        };
        assert_eq!(shown(&kept), shown(&taken), "{name} is out of date: cargo xtask pictures");
        assert!(
            !taken.contains(&std::env::temp_dir().display().to_string()),
            "where it was made is not told"
        );
    }
}
