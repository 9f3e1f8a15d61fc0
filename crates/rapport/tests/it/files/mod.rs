//! Sessions as files, as people use them: only the program, the scripted agent and a project.

mod branching;
mod carrying_out;
mod context;
mod elsewhere;
mod execute;
mod faults;
mod interrupted;
mod killed;
mod screen;
mod seals;
mod turns;
mod word_for_word;

use std::path::PathBuf;

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Counter, Scenario};

use crate::support::project::{Project, Ran};

/// A plan with these changes and actions.
pub(crate) fn plan(title: &str, context: &[&str], memos: &[&str], actions: &[String]) -> String {
    let section = |name: &str, lines: &[&str]| match lines {
        [] => String::new(),
        lines => format!("## {name}\n\n```text\n{}\n```\n\n", lines.join("\n")),
    };
    format!(
        "# {title}\n\n- **Status:** Green 🟢\n- **Plan Type:** Implementation\n- **Agent:** claude\n- **Goal:** {title}\n\n\
         ## Rationale\n\n```text\nBecause.\n```\n\n{}{}## Action Plan\n\n{}",
        section("Active Context", context),
        section("Memos", memos),
        actions.join("\n")
    )
}

pub(crate) fn create(path: &str, content: &str) -> String {
    format!("### `CREATE`\n\n- **File Path:** [{path}](/{path})\n\n````text\n{content}\n````\n")
}

pub(crate) fn edit(path: &str, find: &str, replace: &str) -> String {
    format!(
        "### `EDIT`\n\n- **File Path:** [{path}](/{path})\n\n#### FIND:\n\n````text\n{find}\n````\n\n\
         #### REPLACE:\n\n````text\n{replace}\n````\n"
    )
}

pub(crate) fn delete(path: &str) -> String {
    format!("### `DELETE`\n\n- **File Path:** [{path}](/{path})\n")
}

pub(crate) fn move_file(from: &str, to: &str) -> String {
    format!("### `MOVE`\n\n- **File Path:** [{from}](/{from})\n- **New Path:** [{to}](/{to})\n")
}

pub(crate) fn run(command: &str) -> String {
    format!("### `EXECUTE`\n\n- **Description:** Do it.\n\n````sh\n{command}\n````\n")
}

/// The plan most stories begin with: two files, a command, a path and a fact.
pub(crate) fn greeting() -> String {
    plan(
        "Add a greeting",
        &["[+] hello.txt # what is greeted with"],
        &["[+] Greetings are in English."],
        &[
            create("hello.txt", "Hello"),
            edit("README.md", "# An app", "# A friendly app"),
            run("cat hello.txt"),
        ],
    )
}

/// An agent whose every turn makes the next of these plans.
pub(crate) fn planning(plans: &[&str]) -> ScenarioBuilder {
    let mut scenario = Scenario::new("plans").counted_by(Counter::Invocations);
    for (place, plan) in plans.iter().enumerate() {
        if place > 0 {
            scenario = scenario.next_invocation();
        }
        scenario = scenario.respond_with_text(plan);
    }
    scenario
}

/// A project with an agent that makes these plans, one per turn, and a session in it.
pub(crate) fn project(plans: &[&str]) -> Project {
    let project = without_session(planning(plans));
    project.rapport(&["new", "add-greeting"]).check(0, "add-greeting");
    project
}

pub(crate) fn without_session(scenario: ScenarioBuilder) -> Project {
    Project::with_scenario(&serde_json::to_string(&scenario.build()).unwrap())
}

impl Project {
    /// The directory of its only session.
    pub(crate) fn folder(&self) -> PathBuf {
        self.root().join(".rapport/sessions").join(self.session().as_str())
    }

    /// A file of its only session; empty if there is none.
    pub(crate) fn turn_file(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder().join(path)).unwrap_or_default()
    }

    pub(crate) fn plan_turn(&self, message: &str) -> Ran {
        self.rapport(&["plan", "-m", message])
    }

    /// What of the project git sees as new or changed, without what is ours.
    pub(crate) fn changes(&self) -> Vec<String> {
        let status = self.git(&["status", "--short", "--untracked-files=all"]);
        let ours = |line: &&str| !line[3..].starts_with(".rapport/");
        status.lines().filter(ours).map(str::to_owned).collect()
    }

    /// The names in a turn's directory.
    pub(crate) fn names_in(&self, turn: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder().join(turn)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The turns there are.
    pub(crate) fn turn_names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.starts_with(|c: char| c.is_ascii_digit()));
        names.sort();
        names
    }
}
