//! Files of a project that configure Claude Code itself. The CLI runs hooks, starts servers and takes permissions
//! from them as soon as it starts, and in non-interactive use it asks no person. This module finds these files and
//! describes them. If the person does not trust them, the CLI is started without them and gets the project's
//! instructions as text.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rapport_durable::read_file;
use serde_json::Value;

use crate::projects::trust::Brought;
use crate::workers::{Workplace, programs_by_looking};

/// The CLI's directory in a project.
const FOLDER: &str = ".claude";
const SERVERS: &str = ".mcp.json";
const SETTINGS: [&str; 2] = ["settings.json", "settings.local.json"];
/// Files that the CLI reads as text, or stores for itself.
const HARMLESS: [&str; 10] = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    "README.md",
    ".gitignore",
    "rules",
    "todos",
    "plans",
    "worktrees",
    "agent-memory",
    "agent-memory-local",
];
/// Files of instructions in a project, in the CLI's order.
const INSTRUCTIONS: [&str; 3] = ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];
/// The names of such files, which the CLI also reads in subdirectories.
const INSTRUCTION_NAMES: [&str; 2] = ["CLAUDE.md", "CLAUDE.local.md"];
/// The maximum number and size of files to read. More or larger ones cannot be trusted.
const MOST_FILES: usize = 1000;
const LARGEST: u64 = 1024 * 1024;
/// The line before and after the front matter of a skill, command or agent.
const FRONT_MATTER: &str = "---";
/// The maximum number of lines to show of a skill, command or agent.
const MOST_LINES: usize = 60;
/// The maximum length of a project's instructions, because they become an argument of a program.
const MOST_TOLD: usize = 64 * 1024;

/// The person's own files, which are trusted.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The CLI's own directory, with the person's settings.
    pub config: Option<PathBuf>,
}

impl Own {
    /// From the CLI's environment.
    pub fn new(home: Option<PathBuf>, config: Option<PathBuf>) -> Self {
        let config = config.or_else(|| home.as_ref().map(|home| home.join(FOLDER)));
        Self { home, config }
    }
}

/// The project files that a CLI started in this directory would use: there, and in every parent directory up to the
/// person's home, because the CLI reads those too.
pub fn brought(directory: &Path, own: &Own) -> Vec<Brought> {
    let mut found = Vec::new();
    for directory in directories(directory, own) {
        found.extend(file(&directory.join(SERVERS), SERVERS, servers));
        let folder = directory.join(FOLDER);
        if own.config.as_ref().is_some_and(|config| is_same(config, &folder)) {
            continue;
        }
        for name in SETTINGS {
            found.extend(file(&folder.join(name), &format!("{FOLDER}/{name}"), settings));
        }
        others(&folder, FOLDER, &mut found);
    }
    found.extend(links_out(directory));
    found.extend(git_programs(directory));
    found
}

/// Instructions that are links out of the project. The CLI follows them and sends what they lead to, such as a private
/// key, to the model. It also reads those of subdirectories, as soon as the agent reads a file there.
fn links_out(directory: &Path) -> Vec<Brought> {
    let Ok(directory) = directory.canonicalize() else { return Vec::new() };
    // What git ignores is read by the CLI too.
    let mut walk = ignore::WalkBuilder::new(&directory);
    walk.standard_filters(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_path(Ord::cmp);
    let links = walk.build().flatten().filter(ignore::DirEntry::path_is_symlink);
    let brought = links.filter_map(|entry| {
        let name = entry.path().strip_prefix(&directory).ok().filter(|name| is_instruction(name))?;
        let target = entry.path().canonicalize().ok().filter(|target| !target.starts_with(&directory))?;
        let leads = format!("it is a link to {}, which the agent would send to the model", target.display());
        Some(Brought::new(name.display().to_string(), leads.as_bytes(), vec![leads.clone()]))
    });
    brought.take(MOST_FILES).collect()
}

/// Whether the CLI reads a path of the project as instructions, or finds instructions below it.
fn is_instruction(path: &Path) -> bool {
    let names: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let is_file = names
        .last()
        .is_some_and(|name| INSTRUCTION_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known)));
    // A directory that holds the CLI's own may be a link itself.
    is_file || names.iter().any(|name| name == FOLDER)
}

/// The programs that git runs as soon as the CLI reads the repository. A clone has none; a repository from an archive
/// can have any.
fn git_programs(directory: &Path) -> Option<Brought> {
    let programs = programs_by_looking(directory);
    let says: Vec<_> = programs.iter().map(|(key, value)| format!("{key} runs: {value}")).collect();
    (!says.is_empty()).then(|| Brought::new(".git/config", says.join("\n").as_bytes(), says))
}

/// Whether the files that give the CLI permissions, hooks and servers in a workplace are those of the project.
/// Blocks.
pub(super) fn is_unchanged(workplace: &dyn Workplace) -> bool {
    let settings = SETTINGS.map(|name| format!("{FOLDER}/{name}"));
    settings.iter().map(String::as_str).chain([SERVERS]).all(|name| match workplace.read(name) {
        Ok(Some(there)) => {
            read_file(&workplace.seen_at().join(name), LARGEST).is_ok_and(|here| here == there)
        }
        Ok(None) => true,
        Err(_) => false,
    })
}

/// The project's instructions for agents, as text; `None` if there are none.
pub fn instructions(directory: &Path, own: &Own) -> Option<String> {
    let mut directories = directories(directory, own);
    directories.reverse();
    let mut text_for_agent = String::new();
    for directory in directories {
        for name in INSTRUCTIONS {
            let Some(text) = own_text(&directory, &directory.join(name)) else { continue };
            let head = format!("\n# {}\n", directory.join(name).display());
            let room = MOST_TOLD.saturating_sub(text_for_agent.len() + head.len());
            let cut = text.floor_char_boundary(room.min(text.len()));
            text_for_agent.push_str(&head);
            text_for_agent.push_str(&text[..cut]);
            if cut < text.len() {
                text_for_agent.push_str("\n(It is longer; read the file for the rest.)\n");
                return Some(text_for_agent);
            }
        }
    }
    (!text_for_agent.is_empty()).then_some(text_for_agent)
}

/// The directory and its parents, as far as they are not the person's own.
fn directories(directory: &Path, own: &Own) -> Vec<PathBuf> {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let is_home = |directory: &&Path| own.home.as_ref().is_some_and(|home| is_same(home, directory));
    directory.ancestors().take_while(|directory| !is_home(directory)).map(Path::to_owned).collect()
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// The text of a file in this directory, unless a link leads out of it.
fn own_text(directory: &Path, path: &Path) -> Option<String> {
    let real = path.canonicalize().ok().filter(|real| real.starts_with(directory))?;
    let text = String::from_utf8(read_file(&real, LARGEST).ok()?).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

/// A JSON file; `None` if it does not exist or is empty.
fn file(path: &Path, name: &str, words: impl FnOnce(&Value) -> Vec<String>) -> Option<Brought> {
    let content = match read_file(path, LARGEST) {
        Ok(content) => content,
        Err(error) if is_absent(&error) => return None,
        Err(error) => return Some(Brought::unseen(name, error)),
    };
    if content.trim_ascii().is_empty() {
        return None;
    }
    let says = match serde_json::from_slice::<Value>(&content) {
        Ok(Value::Object(none)) if none.is_empty() => return None,
        Ok(json) => words(&json),
        Err(_) => String::from_utf8_lossy(&content).lines().map(str::to_owned).collect(),
    };
    Some(Brought::new(name, &content, says))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Skills, commands, agents and anything else that the CLI may use from its directory.
fn others(folder: &Path, name: &str, found: &mut Vec<Brought>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let own_name = entry.file_name().to_string_lossy().into_owned();
        // The CLI locks some of its files by others beside them. In a subdirectory, or as a directory, `x.lock` is a
        // name like any other.
        let is_lock = || own_name.ends_with(".lock") && entry.file_type().is_ok_and(|kind| kind.is_file());
        let is_known = || HARMLESS.contains(&own_name.as_str()) || SETTINGS.contains(&own_name.as_str());
        if name == FOLDER && (is_known() || is_lock()) {
            continue;
        }
        let (path, name) = (entry.path(), format!("{name}/{own_name}"));
        if found.len() >= MOST_FILES {
            found.push(Brought::unseen(name, format!("more than {MOST_FILES} files are not looked at")));
            return;
        }
        // A link to a directory is not followed: it could be circular.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            others(&path, &name, found);
            continue;
        }
        found.push(match read_file(&path, LARGEST) {
            Ok(content) => {
                let lines = content.iter().filter(|byte| **byte == b'\n').count();
                let says =
                    [format!("{lines} lines: {}", path.display())].into_iter().chain(would_run(&content));
                Brought::new(name, &content, says.collect())
            }
            Err(error) => Brought::unseen(name, error),
        });
    }
}

/// What a skill, command or agent of the CLI allows and runs: its front matter, which has hooks, allowed tools and
/// the model, and the commands that the CLI runs when it reads the text.
fn would_run(content: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(content);
    let mut lines = text.trim_start_matches('\u{feff}').trim_start().lines().peekable();
    let mut says = Vec::new();
    if lines.next_if(|line| line.trim_end() == FRONT_MATTER).is_some() {
        let head = lines.by_ref().take_while(|line| line.trim_end() != FRONT_MATTER);
        says.extend(head.filter(|line| !line.trim().is_empty()).map(|line| line.trim_end().to_owned()));
    }
    let mut is_block = false;
    for line in lines {
        let is_fence = line.trim_start().starts_with("```");
        let begins = line.trim_start().starts_with("```!");
        if begins || is_block || line.contains("!`") {
            says.push(format!("runs: {}", line.trim()));
        }
        is_block = begins || is_block && !is_fence;
    }
    if says.len() > MOST_LINES {
        let more = says.split_off(MOST_LINES).len();
        says.push(format!("and {more} more lines like these: look into the file"));
    }
    says
}

/// Settings of the CLI: hooks with their commands, and everything else by name.
fn settings(json: &Value) -> Vec<String> {
    let Some(settings) = json.as_object() else { return vec![json.to_string()] };
    let mut says = Vec::new();
    for (key, value) in settings.iter().filter(|(key, _)| *key != "$schema") {
        match value.as_object().filter(|_| key == "hooks") {
            Some(hooks) => says.extend(hooks.iter().flat_map(|(event, hooks)| hooks_of(event, hooks))),
            None => says.push(format!("{key}: {value}")),
        }
    }
    says
}

fn hooks_of(event: &str, matchers: &Value) -> Vec<String> {
    let hooks = matchers.as_array().into_iter().flatten().flat_map(|matcher| {
        let when = matcher["matcher"].as_str().filter(|when| !when.is_empty());
        let when = when.map(|when| format!(" ({when})")).unwrap_or_default();
        let hooks = matcher["hooks"].as_array().into_iter().flatten();
        hooks.map(move |hook| match hook["command"].as_str() {
            Some(command) => format!("hook {event}{when} runs: {command}"),
            None => format!("hook {event}{when}: {hook}"),
        })
    });
    let hooks: Vec<_> = hooks.collect();
    if hooks.is_empty() { vec![format!("hooks {event}: {matchers}")] } else { hooks }
}

/// Servers, with what each runs or reaches.
fn servers(json: &Value) -> Vec<String> {
    let Some(servers) = json["mcpServers"].as_object() else { return vec![json.to_string()] };
    let line = |(name, server): (&String, &Value)| match server["command"].as_str() {
        Some(command) => {
            let args = server["args"].as_array().into_iter().flatten();
            let args: String =
                args.map(|arg| format!(" {}", arg.as_str().unwrap_or(&arg.to_string()))).collect();
            let env = server.get("env").map(|env| format!(" with {env}")).unwrap_or_default();
            format!("server {name} runs: {command}{args}{env}")
        }
        None => format!("server {name}: {server}"),
    };
    servers.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn own(home: &Path) -> Own {
        Own::new(Some(home.to_owned()), None)
    }

    #[test]
    fn hooks_servers_and_whatever_else_are_found_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let (home, app) = (folder.path().join("ann"), folder.path().join("ann/work/app"));
        write(&home.join(".claude/settings.json"), r#"{"hooks": {"Stop": []}}"#);
        write(&home.join(".mcp.json"), r#"{"mcpServers": {"mine": {"command": "mine"}}}"#);
        write(
            &app.join(".claude/settings.json"),
            r#"{"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "./evil"}]}]},
                "env": {"A": "b"}}"#,
        );
        write(&app.join(".claude/settings.local.json"), "{}\n");
        write(&app.join(".claude/skills/deploy/SKILL.md"), "---\nname: deploy\n---\n");
        write(&app.join(".claude/CLAUDE.md"), "be kind\n");
        write(&app.join(".claude/todos/x/y.md"), "a plan\n");
        write(
            &home.join("work/.mcp.json"),
            r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "x"]}, "b": {"url": "https://b"}}}"#,
        );
        let found = brought(&app, &own(&home));
        let told: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.says.join("|"))).collect();
        let skill = format!(
            "3 lines: {}",
            app.canonicalize().unwrap().join(".claude/skills/deploy/SKILL.md").display()
        ) + "|name: deploy";
        assert_eq!(
            told,
            [
                (
                    ".claude/settings.json",
                    "env: {\"A\":\"b\"}|hook SessionStart (startup) runs: ./evil".to_owned()
                ),
                (".claude/skills/deploy/SKILL.md", skill),
                (".mcp.json", "server a runs: sh -c x|server b: {\"url\":\"https://b\"}".to_owned()),
            ]
        );
        assert_eq!(brought(&home.join("other"), &own(&home)), [], "what is in the home is the person's");
    }

    /// The CLI reads skills, commands and agents at any depth, whatever the directories on the way are called.
    #[test]
    fn nothing_is_left_out_because_of_its_name() {
        for name in [
            "skills/deploy.lock/SKILL.md",
            "commands/x.lock/y.md",
            "commands/y.md.lock",
            "agents.lock/z.md",
            "skills/todos/SKILL.md",
            "skills/CLAUDE.md/SKILL.md",
        ] {
            let folder = tempfile::tempdir().unwrap();
            write(&folder.path().join(".claude").join(name), "---\nname: x\n---\n");
            let found = brought(folder.path(), &Own::default());
            let names: Vec<_> = found.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, [format!(".claude/{name}")]);
        }
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join(".claude/settings.json.lock"), "");
        assert_eq!(brought(folder.path(), &Own::default()), [], "a lock of the CLI");
    }

    /// Trust is bound to what was shown, so everything that would run is shown.
    #[test]
    fn what_skills_commands_and_agents_would_run_is_told() {
        for (content, expected) in [
            ("plain\ntext! `not run`\n", ""),
            (
                "\u{feff}---\r\nname: x\r\nallowed-tools: Bash(rm *)\r\nhooks:\r\n  Stop:\r\n    - ./evil\r\n---\r\nBe kind.\r\n",
                "name: x|allowed-tools: Bash(rm *)|hooks:|  Stop:|    - ./evil",
            ),
            ("Now: !`cat ~/.ssh/id_rsa`\n", "runs: Now: !`cat ~/.ssh/id_rsa`"),
            ("```!\n./evil\n```\nand\n```sh\nls\n```\n", "runs: ```!|runs: ./evil|runs: ```"),
            ("---\nname: never ended\n", "name: never ended"),
        ] {
            assert_eq!(would_run(content.as_bytes()).join("|"), expected, "{content}");
        }
        let many = would_run("!`x`\n".repeat(MOST_LINES + 5).as_bytes());
        assert_eq!(many.len(), MOST_LINES + 1);
        assert_eq!(many.last().unwrap(), "and 5 more lines like these: look into the file");
    }

    #[test]
    fn what_cannot_be_looked_at_keeps_nobody_waiting_and_is_never_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path();
        fs::create_dir(app.join(".claude")).unwrap();
        nix::unistd::mkfifo(&app.join(".mcp.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        nix::unistd::mkfifo(&app.join(".claude/settings.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let found = brought(app, &Own::default());
        let names: Vec<_> = found.iter().map(|one| (one.name.as_str(), &one.digest)).collect();
        assert_eq!(names, [(".mcp.json", &None), (".claude/settings.json", &None)]);
    }

    /// The CLI follows links, so a clone could have a file of the person sent to the model.
    #[test]
    fn instructions_that_lead_out_of_the_project_are_brought() {
        for name in [
            "CLAUDE.md",
            "src/CLAUDE.local.md",
            ".claude/CLAUDE.md",
            ".claude/rules/x.md",
            ".claude",
            "src/.claude/rules",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let app = folder.path().join("app");
            write(&folder.path().join("private/secret"), "a secret\n");
            write(&app.join("src/main.rs"), "");
            let link = |to: PathBuf, name: &str| {
                fs::create_dir_all(app.join(name).parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(to, app.join(name)).unwrap();
            };
            link(app.join("src/main.rs"), "docs/CLAUDE.md");
            assert_eq!(brought(&app, &Own::default()), [], "a link within the project");
            link(folder.path().join("private"), name);
            let found = brought(&app, &Own::default());
            let names: Vec<_> = found.iter().map(|one| one.name.as_str()).collect();
            assert!(names.contains(&name), "{name}: {names:?}");
            assert!(found.iter().any(|one| one.says.join("").contains("private")), "{found:?}");
        }
    }

    #[test]
    fn instructions_are_told_outermost_first_and_lead_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let (home, app) = (folder.path().join("ann"), folder.path().join("ann/work/app"));
        write(&home.join("CLAUDE.md"), "the person's own\n");
        write(&home.join("work/CLAUDE.md"), "above\n");
        write(&app.join("CLAUDE.md"), "here\n");
        write(&folder.path().join("secret"), "a secret\n");
        std::os::unix::fs::symlink(folder.path().join("secret"), app.join("CLAUDE.local.md")).unwrap();
        let work = home.join("work").canonicalize().unwrap();
        let expected = format!(
            "\n# {}\nabove\n\n# {}\nhere\n",
            work.join("CLAUDE.md").display(),
            work.join("app/CLAUDE.md").display()
        );
        assert_eq!(instructions(&app, &own(&home)).unwrap(), expected);
        write(&app.join("CLAUDE.md"), &"ä".repeat(MOST_TOLD));
        let told = instructions(&app, &own(&home)).unwrap();
        assert!(told.len() < MOST_TOLD + 100 && told.ends_with("read the file for the rest.)\n"));
    }
}
