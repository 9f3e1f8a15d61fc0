//! Plans against a project: what cannot be carried out is told before anybody approves it (FILE-21, FILE-23, FILE-35).

mod edits;

use std::cell::RefCell;
use std::collections::BTreeMap;

use rapport_core::ActionPlan;
use rapport_core::check::{
    Contents, Lead, PathFault, PathKind, PlanProblem, Project, project_path, steers_agents, validate,
};

use crate::action_plan::{parse, plan};

/// A project in memory, and what was read of it.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) files: BTreeMap<String, Contents>,
    /// Links, and where they lead; out of the project where that is nothing.
    links: BTreeMap<String, Option<String>>,
    read: RefCell<Vec<String>>,
}

impl Made {
    pub(crate) fn of(files: &[(&str, &str)]) -> Made {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), Contents::Text((*text).to_owned())));
        Made { files: files.collect(), ..Made::default() }
    }
}

impl Project for Made {
    fn exists(&self, path: &str) -> PathKind {
        let below = format!("{path}/");
        if self.files.contains_key(path) {
            PathKind::File
        } else if self.files.range(below.clone()..).next().is_some_and(|(file, _)| file.starts_with(&below)) {
            PathKind::Directory
        } else {
            PathKind::Missing
        }
    }

    fn read(&self, path: &str) -> Contents {
        self.read.borrow_mut().push(path.to_owned());
        self.files.get(path).cloned().unwrap_or(Contents::Missing)
    }

    fn follow(&self, path: &str) -> Lead {
        let plain = project_path(path).unwrap();
        for (link, target) in &self.links {
            if let Some(rest) =
                plain.strip_prefix(link).filter(|rest| rest.is_empty() || rest.starts_with('/'))
            {
                let inside = target.as_ref().map(|target| Lead::Inside(format!("{target}{rest}")));
                return inside.unwrap_or(Lead::Outside);
            }
        }
        Lead::Inside(plain)
    }
}

fn project() -> Made {
    let mut made = Made::of(&[
        ("src/lib.rs", "fn a() {}\nfn b() {}\nfn a() {}\n"),
        ("README.md", "# Readme\n"),
        ("docs/x.md", "x\n"),
    ]);
    made.files.insert("logo.png".into(), Contents::Binary);
    made.files.insert("big.log".into(), Contents::TooLarge);
    made.links.insert("out".into(), None);
    made.links.insert("lib".into(), Some("src/lib.rs".into()));
    made.links.insert("hooks".into(), Some(".git/hooks".into()));
    made
}

fn problems(actions: &str, project: &dyn Project) -> Vec<PlanProblem> {
    validate(&parse(&plan(actions)), project).problems
}

/// The line of the first action.
const FIRST: usize = 9;

#[track_caller]
fn check(actions: &str, expected: &[(usize, &str)]) {
    let found = problems(actions, &project());
    let is: Vec<_> = found.iter().map(|problem| (problem.line + 1 - FIRST, problem.what.as_str())).collect();
    assert_eq!(is, expected, "{actions}");
    assert!(found.iter().all(|problem| problem.hint.ends_with('.')), "{found:?}");
}

fn create(path: &str, overwrite: &str) -> String {
    format!("### CREATE\n- **File Path:** `{path}`\n{overwrite}\n```\nx\n```\n")
}

fn read(path: &str) -> String {
    format!("### READ\n- **Resource:** `{path}`\n")
}

// FILE-28, FILE-35: what a CREATE would replace is said before all is approved, and its preview shows what is lost.
#[test]
fn file_35_what_is_overwritten_is_shown() {
    use rapport_core::review::{Checks, Group, PreviewKind, counts, items, needed, preview, warnings};
    let parsed =
        parse(&plan(&format!("{}{}", create("docs/x.md", "- **Overwrite:** true"), create("new", ""))));
    let found = validate(&parsed, &project());
    let parsed = parsed.remarked(&found.remarks);
    assert_eq!(counts(&parsed.actions), ["CREATE: 2 files (1 overwritten)"]);
    assert_eq!(warnings(&parsed.actions), ["CREATE docs/x.md: replaces the 1 existing line"]);
    assert_eq!(items(&parsed, Group::Actions)[0].remark.as_deref(), Some("replaces the 1 existing line"));
    let checks = Checks::all(&parsed);
    let resource = needed(&parsed, &checks, Group::Actions, Some(0)).expect("it is read");
    assert_eq!(resource, rapport_core::Resource::File("docs/x.md".into()));
    let shown = preview(&parsed, &checks, Group::Actions, Some(0), Some(Ok("old\n".into()))).shown;
    assert_eq!(shown, PreviewKind::Change { old: "old\n".into(), new: "x\n".into() });
    assert_eq!(needed(&parsed, &checks, Group::Actions, Some(1)), None);
}

// What makes agents run something is said before all is approved, and beside the action.
#[test]
fn files_that_steer_agents_are_warned_of() {
    use rapport_core::review::{Group, items, warnings};
    let servers = "### MOVE\n- **File Path:** `docs/x.md`\n- **New Path:** `.mcp.json`\n";
    let parsed = parse(&plan(&format!(
        "{}{servers}{}",
        create(".claude/settings.json", ""),
        create("src/settings.json", "")
    )));
    assert_eq!(
        warnings(&parsed.actions),
        [
            ".claude/settings.json changes what agents run here: hooks, servers, permissions",
            ".mcp.json changes what agents run here: hooks, servers, permissions",
        ]
    );
    let remarks: Vec<_> = items(&parsed, Group::Actions).into_iter().map(|item| item.remark).collect();
    let steers = Some("changes what agents run here".to_owned());
    assert_eq!(remarks, [steers.clone(), steers, None]);
}

#[test]
fn file_23_a_file_is_made_where_there_is_none() {
    check(&create("new/deep/file.rs", ""), &[]);
    check(&create("README.md", ""), &[(1, "README.md already exists")]);
    check(&create("README.md", "- **Overwrite:** true"), &[]);
    check(&create("src", "- **Overwrite:** true"), &[(1, "src is a directory")]);
    check(&create("README.md/x", ""), &[(1, "README.md/x cannot be made: README.md is a file")]);
    check(&create("new/", ""), &[(1, "new/ is a directory, not a file")]);
    check(&format!("{}{}", create("new", ""), create("new", "")), &[(7, "new already exists")]);
    check(
        &format!("{}{}", create("new", ""), create("new/x", "")),
        &[(7, "new/x cannot be made: new is a file")],
    );
    check(&format!("{}{}", create("new/x", ""), create("new", "")), &[(7, "new is a directory")]);
    check(&create("out", ""), &[(1, "out leads out of the project through a link")]);
    check(&create("out/x", ""), &[(1, "out/x leads out of the project through a link")]);
    check(&create("hooks/post-checkout", ""), &[(1, "hooks/post-checkout belongs to Git")]);
    check(&create("lib", ""), &[(1, "lib already exists")]);
}

#[test]
fn file_23_what_is_read_is_there_and_is_text() {
    check(&read("README.md"), &[]);
    check(&read("./docs//x.md"), &[]);
    check(&read("docs/../README.md"), &[]);
    check(&read("none.md"), &[(1, "none.md does not exist")]);
    check(&read("docs"), &[(1, "docs is a directory, not a file")]);
    check(&read("logo.png"), &[(1, "logo.png is not text")]);
    check(&read("big.log"), &[(1, "big.log is too large to be read")]);
    check(&read("https://example.com/x"), &[]);
    check(&read("https:///x"), &[(1, "\"https:///x\" is not an address")]);
    check(&format!("{}{}", create("new", ""), read("new")), &[]);
    let run = "### EXECUTE\n```\nmake\n```\n";
    check(&format!("{run}{}", read("made.txt")), &[]);
    check(&format!("{}{run}", read("made.txt")), &[(1, "made.txt does not exist")]);
}

#[test]
fn file_23_no_path_leads_out() {
    for (path, fault) in [
        ("../x", PathFault::Outside),
        ("a/../../x", PathFault::Outside),
        ("..", PathFault::Outside),
        ("/etc/passwd", PathFault::Absolute),
        ("\\\\host\\share", PathFault::Absolute),
        ("C:\\x", PathFault::Absolute),
        ("c:/x", PathFault::Absolute),
        ("file:///tmp/x", PathFault::Address),
        ("File://host/x", PathFault::Address),
        ("git+ssh://host/x", PathFault::Address),
        ("~/x", PathFault::Home),
        ("~root/x", PathFault::Home),
        (".git/hooks/pre-commit", PathFault::Git),
        ("a/../.GIT/config", PathFault::Git),
        ("sub/.git", PathFault::Git),
        (".rapport/sessions/x/01/plan.md", PathFault::Ours),
        (".teddy//sessions", PathFault::Ours),
        (".rapport/config.yaml", PathFault::Ours),
        (".rapport/global.context", PathFault::Ours),
        ("x/../.Rapport/agents/a.md", PathFault::Ours),
        ("src\\main.rs", PathFault::Backslash),
        ("a\u{7}b", PathFault::Characters),
        ("a\0b", PathFault::Characters),
        (" ", PathFault::Empty),
    ] {
        assert_eq!(project_path(path), Err(fault), "{path}");
        if !path.trim().is_empty() {
            let what = fault.what(path);
            check(&create(path, ""), &[(1, &what)]);
            check(&read(path), &[(1, &what)]);
            check(&format!("### EXECUTE\n- **cwd:** `{path}`\n```\nls\n```\n"), &[(1, &what)]);
        }
    }
    for (path, plain) in [
        ("a/./b//c", "a/b/c"),
        ("a/../b", "b"),
        (".gitignore", ".gitignore"),
        ("...", "..."),
        ("a~", "a~"),
        ("docs/a://b", "docs/a:/b"),
        (".", ""),
        ("ä/🟢", "ä/🟢"),
    ] {
        assert_eq!(project_path(path).as_deref(), Ok(plain), "{path}");
    }
}

#[test]
fn file_15_no_context_leads_out() {
    let text = plan(&read("README.md")).replace(
        "## Action",
        "## Active Context\n\n[+] ../secret\n[+] https://a.b/../c\n[-] none.md\n\n## Action",
    );
    let found = validate(&parse(&text), &project()).problems;
    let is: Vec<_> =
        found.iter().map(|problem| (problem.action, problem.line, problem.what.as_str())).collect();
    assert_eq!(is, [(None, 9, "../secret is outside the project")]);
}

#[test]
fn file_23_commands_queries_and_messages_say_something() {
    check("### EXECUTE\n```\n \n```\n", &[(1, "EXECUTE has an empty command")]);
    check(
        "### EXECUTE\n- **cwd:** none\n```\nls\n```\n",
        &[(1, "cwd none is not a directory of the project")],
    );
    check(
        "### EXECUTE\n- **cwd:** README.md\n```\nls\n```\n",
        &[(1, "cwd README.md is not a directory of the project")],
    );
    check("### EXECUTE\n- **cwd:** src\n```\nls\n```\n", &[]);
    check("### EXECUTE\n- **cwd:** .\n```\nls\n```\n", &[]);
    check(&format!("{}### EXECUTE\n- **cwd:** new\n```\nls\n```\n", create("new/x", "")), &[]);
    check("### RESEARCH\n```\n\n```\n", &[(1, "RESEARCH has an empty query")]);
    check("### CHAT_WITH_USER\n```message\n \n```\n", &[(1, "CHAT_WITH_USER has an empty message")]);
    check("### INVOKE\n- **Agent:** x\n```message\n```\n", &[(1, "INVOKE has an empty message")]);
}

/// The description of the format is what agents are told, and its example does what it says.
#[test]
fn file_9_the_documented_example_can_be_carried_out() {
    const DOCUMENT: &str = include_str!("../../../../docs/formats/plan.md");
    let prompt = rapport_core::ACTION_PLAN;
    assert!(DOCUMENT.contains(prompt), "docs/formats/plan.md has the prompt word for word");
    let example = prompt.split("`````markdown\n").nth(1).unwrap().split("`````").next().unwrap();
    let parsed = parse(example);
    assert_eq!(parsed.actions.len(), 5);
    let project = Made::of(&[("src/lib.rs", "pub fn greet() -> String {\n    \"Hello!\".to_owned()\n}\n")]);
    assert_eq!(validate(&parsed, &project).problems, []);
    assert_eq!(ActionPlan::parse(&parsed.to_string()).unwrap().to_string(), parsed.to_string());
    for action in ["CREATE", "READ", "EDIT", "EXECUTE", "RESEARCH", "CHAT_WITH_USER", "INVOKE"] {
        assert!(prompt.contains(&format!("| `{action}` |")), "{action} is described");
    }
}

// What tells agents what to run is told apart from other files.
#[test]
fn files_that_steer_agents_are_known() {
    for path in [
        ".mcp.json",
        "sub/.MCP.json",
        ".claude/settings.json",
        "a/.claude/skills/x/SKILL.md",
        "x/../.claude/a",
    ] {
        assert!(steers_agents(path), "{path}");
    }
    for path in ["mcp.json", "src/main.rs", "docs/.claude", "claude/settings.json", ".mcp.json/x"] {
        assert!(!steers_agents(path), "{path}");
    }
}
