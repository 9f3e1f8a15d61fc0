//! Rules about the code itself: which folder may use which, and what every file begins with.

mod hints;
mod image;
mod names;
mod new_things;
mod owners;
mod settings;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a folder of the engine may use of the others. Between crates the compiler holds the arrows; here they go one
/// way as well, and siblings never use siblings.
const ENGINE: [(&str, &[&str]); 13] = [
    ("clock", &[]),
    ("config", &["projects", "workers"]),
    ("actions", &["clock", "environment", "seals", "workers"]),
    ("environment", &[]),
    ("projects", &["clock"]),
    ("seals", &[]),
    ("stores", &["seals", "threads"]),
    ("threads", &[]),
    ("turns", &["actions", "config", "projects", "seals", "stores", "threads"]),
    ("workers", &["clock", "projects"]),
    ("agents", &["clock", "config", "environment", "projects", "workers"]),
    ("planners", &["agents"]),
    (
        "engine",
        &["actions", "agents", "clock", "config", "planners", "projects", "stores", "turns", "workers"],
    ),
];

#[test]
fn arrows_between_folders_go_one_way() {
    let may_use: BTreeMap<_, _> = ENGINE.into_iter().collect();
    let source = crates().join("rapport-engine/src");
    let (mut wrong, mut used_arrows) = (Vec::new(), BTreeSet::new());
    for file in files(&source) {
        let inside = file.strip_prefix(&source).unwrap();
        let folder = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        if folder == "lib" {
            continue;
        }
        let allowed = may_use.get(folder.as_str()).unwrap_or_else(|| panic!("no rule for {folder}"));
        for used in uses(&std::fs::read_to_string(&file).unwrap()) {
            if used != folder && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{} uses {used}", inside.display()));
            }
            used_arrows.insert((folder.clone(), used));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let rules = ENGINE
        .into_iter()
        .flat_map(|(from, to)| to.iter().map(move |to| (from.to_owned(), (*to).to_owned())));
    let unused: Vec<_> = rules.filter(|rule| !used_arrows.contains(rule)).collect();
    assert!(unused.is_empty(), "nothing needs these rules: {unused:?}");
    let exists = |name: &str| source.join(name).is_dir() || source.join(format!("{name}.rs")).is_file();
    let gone: Vec<_> = ENGINE.into_iter().map(|(name, _)| name).filter(|name| !exists(name)).collect();
    assert!(gone.is_empty(), "there are no such folders: {gone:?}");
}

/// Commands use what the binary is put together from, and nothing of that uses a command.
#[test]
fn nothing_below_the_commands_uses_a_command() {
    let source = crates().join("rapport/src");
    let below = files(&source).into_iter().filter(|file| !file.starts_with(source.join("cli")));
    // These two start the command line.
    let below = below.filter(|file| !["lib.rs", "main.rs"].iter().any(|start| *file == source.join(start)));
    let below: Vec<_> = below.collect();
    for name in ["wiring.rs", "logging.rs", "error.rs"] {
        assert!(below.contains(&source.join(name)), "{name} is looked at");
    }
    let uses_commands =
        |file: &&PathBuf| uses(&std::fs::read_to_string(file).unwrap()).contains(&"cli".into());
    let wrong: Vec<_> = below.iter().filter(uses_commands).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// What writes to the disk, opens a file such that it can, or locks one. Only `rapport-durable` does that: it counts
/// what it writes, and the crash tests kill a process around every one.
const WRITES: [&str; 28] = [
    "lock_shared",
    "TryLockError",
    "fs::write",
    "fs::{write",
    "fs::{rename",
    "unistd::unlink",
    "unistd::mkdir(",
    "fs::copy",
    "fs::rename",
    "fs::hard_link",
    "File::create",
    "File::options",
    "OpenOptions",
    "tokio::fs",
    "create_dir",
    "DirBuilder",
    "remove_file",
    "remove_dir",
    "set_permissions",
    "set_len",
    "sync_all",
    "sync_data",
    "AtomicWriteFile",
    "symlink(",
    "tempfile::",
    "NamedTempFile",
    "mkfifo",
    "fchown",
];

/// Writes that are allowed elsewhere, because nothing relies on them later.
const NOT_DURABLE: [(&str, &[&str]); 8] = [
    // An index of git's that is made anew for every use.
    ("rapport-engine/src/workers/local.rs", &["File::options", "fs::copy", "remove_file"]),
    // Handles that lead to a pipe and to nowhere.
    ("rapport-engine/src/workers/keeper.rs", &["File::options"]),
    // The diagnostic log. No session depends on it.
    ("rapport/src/logging.rs", &["OpenOptions", "set_permissions"]),
    // The socket of a process, which is of no use after it.
    ("rapport-engine/src/engine/socket.rs", &["remove_file"]),
    // A preview for another program to show, in a temporary directory.
    ("rapport-terminal/src/review/viewer.rs", &["fs::write", "File::create", "remove_file", "tempfile::"]),
    // What an editor is given to write a message into; the message counts once it was read back.
    ("rapport/src/cli/message.rs", &["tempfile::"]),
    // The demo's project, and its home, which are gone after it.
    ("rapport/src/cli/demo.rs", &["tempfile::"]),
    // Whether anything can be written to a directory, tried with a file without a name.
    ("rapport/src/cli/doctor.rs", &["tempfile::"]),
];

#[test]
fn only_the_durable_crate_writes_files() {
    let allowed: BTreeMap<_, _> = NOT_DURABLE.into_iter().collect();
    let (mut wrong, mut unused) = (Vec::new(), allowed.clone());
    for file in sources() {
        let name = file.strip_prefix(crates()).unwrap().to_string_lossy().into_owned();
        // The scripted agent is another program that Rapport runs, and tests set things up.
        let is_exempt = name.starts_with("rapport-durable/") || name.starts_with("rapport-rehearsal/");
        if is_exempt || name.ends_with("/tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let found = writes(&text);
        let may = allowed.get(name.as_str()).copied().unwrap_or_default();
        wrong.extend(found.iter().filter(|call| !may.contains(call)).map(|call| format!("{name}: {call}")));
        if may.iter().all(|call| found.contains(call)) {
            unused.remove(name.as_str());
        }
    }
    assert!(wrong.is_empty(), "these write without rapport-durable:\n{}", wrong.join("\n"));
    assert!(unused.is_empty(), "these need no permission to write: {unused:?}");
}

#[test]
fn a_write_is_recognized() {
    for line in [
        "std::fs::write(path, text)?;",
        "use std::fs::OpenOptions;",
        "tokio::fs::rename(a, b).await",
        "symlink(from, to)?;",
        "let file = tempfile::Builder::new().tempfile()?;",
        "use tempfile::NamedTempFile;",
        "mkfifo(&path, mode)?;",
        "fchown(&file, uid, gid)?;",
        "folder.lock_shared()?;",
        "Err(TryLockError::WouldBlock) => None,",
    ] {
        assert!(!writes(line).is_empty(), "{line}");
    }
    for line in [
        "// std::fs::write(path)",
        "fs::read(path)?;",
        "about.is_symlink()",
        "#[cfg(test)]\nmod tests { fs::write(x) }",
    ] {
        assert!(writes(line).is_empty(), "{line}");
    }
}

/// The calls in a file, its tests and comments aside, that write.
fn writes(text: &str) -> Vec<&'static str> {
    let text = without_tests(text);
    let code: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    // `is_symlink(` only looks.
    let begins_there =
        |line: &str, at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let calls = |line: &str, call: &str| line.match_indices(call).any(|(at, _)| begins_there(line, at));
    WRITES.into_iter().filter(|call| code.iter().any(|line| calls(line, call))).collect()
}

/// The documents of turns belong to the store: nothing else knows whether they are files. Only the journals of
/// batches are files of the project, and one module reads their directories.
#[test]
fn turns_are_read_and_written_through_the_store() {
    const JOURNALS: &str = "rapport-engine/src/turns/batches.rs";
    let in_turns =
        ["fs::", "File::open", "tokio::fs", "durable::replace", "durable::open", "private_folder", "PathBuf"];
    // The files of the project that a turn is about are not its documents.
    let of_project = |file: &Path, word: &str| file.ends_with("turns/preparation.rs") && word == "PathBuf";
    let in_commands = ["config::sessions", "stores::files"];
    let turns = files(&crates().join("rapport-engine/src/turns"));
    let turns = turns.iter().filter(|file| !file.ends_with(JOURNALS)).map(|file| (file, &in_turns[..]));
    let commands = files(&crates().join("rapport/src/cli"));
    let commands = commands.iter().map(|file| (file, &in_commands[..]));
    let mut wrong = Vec::new();
    for (file, forbidden) in turns.chain(commands) {
        let text = std::fs::read_to_string(file).unwrap();
        let code = without_tests(&text);
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_wrong = |line: &&str, word: &str| line.contains(word) && !of_project(file, word);
        let found = code.filter(|line| forbidden.iter().any(|word| is_wrong(line, word)));
        wrong.extend(found.map(|line| format!("{}: {}", file.display(), line.trim())));
    }
    assert!(wrong.is_empty(), "these reach past the store:\n{}", wrong.join("\n"));
}

/// What is about the usual agent is in its folder. Elsewhere its name, and that of its vendor, is only in what people
/// read, and in paths that the requirements and other tools name.
const NAMES_THE_AGENT: [(&str, &[&str]); 23] = [
    // The agents that there are, one line for each.
    ("rapport-engine/src/agents/mod.rs", &["pub mod claude;", "claude::ClaudeCode"]),
    // CHAT-40: where plans are, and what is written at their end.
    ("rapport-core/src/plan.rs", &[".claude/todos/", "Claude CLI"]),
    ("rapport-engine/src/workers/mod.rs", &["\".claude/todos\""]),
    // Files of projects that programs of others know.
    ("rapport-core/src/check/paths.rs", &["\".claude\""]),
    ("rapport-engine/src/projects/gathering.rs", &["\"CLAUDE.md\""]),
    ("rapport-engine/src/projects/exploration.rs", &["\"CLAUDE.md\"", "claude_md"]),
    ("rapport-engine/src/projects/context_file.rs", &["\"claudeMd\""]),
    ("rapport-core/src/project.rs", &["`CLAUDE.md`", "claude_md", "\"CLAUDE.md\""]),
    // LEAD-24, LEAD-31: names of tools that assistants know.
    ("rapport-mcp/src/tools.rs", &["claude_code_", "Claude Code"]),
    ("rapport-mcp/src/tools/session.rs", &["claude_code_", "Claude Code session"]),
    // LEAD-6, LEAD-12: words of messages that leads know.
    ("rapport-core/src/prompt/lead.rs", &["Claude Code", "claude_code_respond"]),
    ("rapport-mcp/src/tools/respond.rs", &["claude_code_", "Claude Code session"]),
    ("rapport-core/src/prompt/planning_request.rs", &["Claude Code Planning Request", "claude_code_"]),
    ("rapport-mcp/src/tools/digest.rs", &["claude_code_digest"]),
    // LEAD-2, LEAD-25: the name of a command that people know.
    ("rapport-telegram/src/flow/claude_command.rs", &["claude", "Claude"]),
    ("rapport-telegram/src/flow/commands.rs", &["\"claude\"", "/claude"]),
    ("rapport-telegram/src/flow/digest.rs", &["/claude PROJECT"]),
    ("rapport-telegram/src/flow/mod.rs", &["mod claude_command;"]),
    ("rapport-telegram/src/flow/chat_state.rs", &["claude_command"]),
    // The relay that came before kept its files there.
    ("rapport-telegram/src/relay.rs", &[".claude-relay/sessions"]),
    // A model of the API that planners ask, whatever the agent.
    ("rapport-engine/src/planners/messages.rs", &["\"claude-haiku-4-5\""]),
    // Help, where the person has to know the name.
    ("rapport/src/cli/mod.rs", &["speaks Claude Code's stream-json"]),
    ("rapport/src/cli/agent_flags.rs", &["(\"claude\", \"rehearsal --scenario FILE\")"]),
];

/// Names of that agent's tools, by which nothing is decided outside of its folder: a driver says what a tool does.
const TOOLS_OF_THE_AGENT: [&str; 12] = [
    "AskUserQuestion",
    "ExitPlanMode",
    "mcp__",
    "\"Bash\"",
    "\"Edit\"",
    "\"Glob\"",
    "\"Grep\"",
    "\"MultiEdit\"",
    "\"NotebookEdit\"",
    "\"Read\"",
    "\"WebFetch\"",
    "\"Write\"",
];

#[test]
fn nothing_of_the_usual_agent_is_outside_of_its_folder() {
    let allowed: BTreeMap<_, _> = NAMES_THE_AGENT.into_iter().collect();
    let (mut wrong, mut unused) = (Vec::new(), Vec::new());
    for file in sources() {
        let name = file.strip_prefix(crates()).unwrap().to_string_lossy().into_owned();
        // The scripted agent plays that very program.
        let is_tests = name.ends_with("_tests.rs");
        if is_tests
            || name.starts_with("rapport-engine/src/agents/claude/")
            || name.starts_with("rapport-rehearsal/")
        {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let text = without_tests(&text);
        let may = allowed.get(name.as_str()).copied().unwrap_or_default();
        unused.extend(
            may.iter().filter(|words| !text.contains(*words)).map(|words| format!("{name}: {words}")),
        );
        let mut rest = text.to_owned();
        may.iter().for_each(|words| rest = rest.replace(words, ""));
        // The API that planners call has its own file, whatever the agent.
        let is_api = name.starts_with("rapport-engine/src/planners/messages");
        let vendor = if is_api { "claude" } else { "anthropic" };
        let lines = rest.lines().filter(|line| {
            let names_tool = TOOLS_OF_THE_AGENT.iter().any(|tool| line.contains(tool));
            let line = line.to_lowercase();
            line.contains("claude") || line.contains(vendor) || names_tool
        });
        wrong.extend(lines.map(|line| format!("{name}: {}", line.trim())));
    }
    assert!(wrong.is_empty(), "these belong into agents/claude/:\n{}", wrong.join("\n"));
    assert!(unused.is_empty(), "these need no permission: {unused:?}");
}

/// What differs between the kinds of action is in one file of the core. The rest asks an action for its effect.
#[test]
fn kinds_of_action_are_named_where_they_are_declared_and_carried_out() {
    let crates = crates();
    let mut named: Vec<_> = sources()
        .into_iter()
        .filter(|file| !file.starts_with(crates.join("rapport-engine/src/actions")))
        .filter(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let text = without_tests(&text);
            text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains("ActionKind::"))
        })
        .collect();
    named.sort();
    assert_eq!(named, [crates.join("rapport-core/src/action_plan/kinds.rs")]);
}

/// A worker is its own file and two lines in another: what commands and settings ask of one, it says itself. So what
/// names the sandbox elsewhere is counted, for the next worker to cost no more.
#[test]
fn a_worker_is_known_where_it_is_registered_and_nowhere_else() {
    const SANDBOX: [&str; 2] = [
        "rapport-engine/src/workers/mod.rs",
        // An example in its help.
        "rapport/src/cli/run.rs",
    ];
    const CONTAINER: [&str; 6] = [
        // A variable that commands of a plan may see.
        "rapport-engine/src/actions/kinds/execute/environment.rs",
        "rapport-engine/src/workers/mod.rs",
        // Names of tools, arguments and results that are the same in other programs.
        "rapport-mcp/src/report.rs",
        "rapport-mcp/src/tools.rs",
        "rapport-mcp/src/tools/start.rs",
        "rapport-mcp/src/tools/status.rs",
    ];
    assert_eq!(naming(&["sandbox"], "/workers/sandboxes"), SANDBOX);
    assert_eq!(naming(&["container", "docker"], "/workers/container"), CONTAINER);
}

/// The files with code, outside of this one, that names one of these.
fn naming(words: &[&str], except: &str) -> Vec<String> {
    let named = |file: PathBuf| {
        let name = file.strip_prefix(crates()).unwrap().to_string_lossy().into_owned();
        // The agent's CLI has a sandbox of its own, which its driver knows by that name.
        let is_elsewhere = !name.contains(except) && !name.contains("/agents/claude/");
        let text = std::fs::read_to_string(&file).unwrap();
        let text = without_tests(&text);
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_named = code.any(|line| words.iter().any(|word| line.to_lowercase().contains(word)));
        (is_elsewhere && is_named).then_some(name)
    };
    let mut found: Vec<_> = sources().into_iter().filter_map(named).collect();
    found.sort();
    found
}

/// A channel is its own crate and a line in the list of kinds: what commands and settings ask of one, it says itself.
/// So what names Telegram elsewhere is counted, for the next channel to cost no more.
#[test]
fn a_channel_is_known_where_it_is_registered_and_nowhere_else() {
    const KNOWN: [&str; 5] = [
        // An older name of a variable.
        "rapport-engine/src/config/layer.rs",
        "rapport/src/channels.rs",
        // An example in the help, and in two hints.
        "rapport/src/cli/mod.rs",
        "rapport/src/error.rs",
        "rapport/src/wiring.rs",
    ];
    let mut found: Vec<_> = sources()
        .into_iter()
        .filter_map(|file| {
            let name = file.strip_prefix(crates()).unwrap().to_string_lossy().into_owned();
            let is_elsewhere = name.starts_with("rapport/") || name.starts_with("rapport-engine/");
            let text = std::fs::read_to_string(&file).unwrap();
            let text = without_tests(&text);
            let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            (is_elsewhere && code.any(|line| line.to_lowercase().contains("telegram"))).then_some(name)
        })
        .collect();
    found.sort();
    assert_eq!(found, KNOWN);
}

/// What a command prints may quote what others wrote. One file makes all of it safe to show.
#[test]
fn commands_print_through_one_place() {
    // One makes everything safe to show; the other does so with a failure.
    const MAY: [&str; 2] = ["output.rs", "error.rs"];
    const PRINTS: [&str; 5] = ["print!(", "println!(", "stdout().lock", "write!(io::std", "writeln!(io::std"];
    let source = crates().join("rapport/src");
    let mut wrong = Vec::new();
    for file in files(&source).into_iter().filter(|file| !MAY.iter().any(|may| *file == source.join(may))) {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let prints = code.filter(|line| PRINTS.iter().any(|print| line.contains(print)));
        wrong.extend(prints.map(|line| format!("{}: {}", file.display(), line.trim())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|file| !std::fs::read_to_string(file).unwrap().starts_with("//! "))
        .collect();
    assert!(silent.is_empty(), "{silent:?}");
}

/// What decides in Telegram's flow is pure: tasks, files and the clock are used by those who execute its effects.
#[test]
fn telegrams_state_does_nothing_by_itself() {
    const RUNNERS: [&str; 4] = ["mod.rs", "start.rs", "outbound.rs", "writer.rs"];
    const IMPURE: [&str; 5] = ["tokio", "async ", "std::fs", "Timestamp::now", "Uuid"];
    let flow = crates().join("rapport-telegram/src/flow");
    let mut wrong = Vec::new();
    for file in files(&flow).into_iter().filter(|file| !RUNNERS.iter().any(|name| *file == flow.join(name))) {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        wrong.extend(code.filter(|line| IMPURE.iter().any(|word| line.contains(word))).map(str::to_owned));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A file without the module of its tests. A module of tests in a file of its own is declared anywhere, and cuts
/// nothing off.
fn without_tests(text: &str) -> &str {
    const MARK: &str = "#[cfg(test)]\nmod ";
    let is_here = |at: &usize| text[at + MARK.len()..].lines().next().is_some_and(|line| line.contains('{'));
    let end = text.match_indices(MARK).map(|(at, _)| at).find(is_here);
    end.map_or(text, |end| &text[..end])
}

#[test]
fn only_tests_in_the_file_itself_are_left_out() {
    assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\nb\n}\n"), "a\n");
    let declared = "#[cfg(test)]\nmod effort;\na\n";
    assert_eq!(without_tests(declared), declared);
    assert_eq!(without_tests(&format!("{declared}#[cfg(test)]\nmod tests {{}}\n")), declared);
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every source file of every crate.
fn sources() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap().path().join("src"));
    crates.flat_map(|source| files(&source)).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    ending_with(folder, "rs")
}

/// The files with this ending, in the folder and below it.
fn ending_with(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        match entry.unwrap().path() {
            path if path.is_dir() => found.extend(ending_with(&path, ending)),
            path if path.extension().is_some_and(|found| found == ending) => found.push(path),
            _ => {}
        }
    }
    found
}

/// The folders a file names after `crate::`, its tests aside. Braces right after that are refused: the folders in them
/// would not be seen.
fn uses(text: &str) -> Vec<String> {
    let text = without_tests(text);
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let named = code.flat_map(|line| line.split("crate::").skip(1).map(move |rest| (line, rest)));
    let word = |(line, rest): (&str, &str)| {
        assert!(!rest.starts_with('{'), "one `use` for each part of the crate, instead of: {line}");
        rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    named.map(word).filter(|word| !word.is_empty()).collect()
}

#[test]
fn folders_are_found_where_they_are_named() {
    let text = "use crate::clock::Clock;\n// crate::stores\nlet x = crate::seals::y(crate::turns::z);\n\
        #[cfg(test)]\nmod tests {\nuse crate::engine;\n}";
    assert_eq!(uses(text), ["clock", "seals", "turns"]);
    assert!(std::panic::catch_unwind(|| uses("use crate::{clock, seals};")).is_err());
}
