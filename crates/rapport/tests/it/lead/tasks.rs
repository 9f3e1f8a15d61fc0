//! `rapport task`: through the lead, or at once.

use rapport_core::{Aim, Event};

use super::facts;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

const TALKS: &str =
    "version: 1\nname: talks\ninvocations:\n  - result: \"I look at it.\"\n  - result: \"And at that.\"\n";

/// LEAD-2, LEAD-22, LEAD-25: the task goes to the lead as a planning request, and no agent begins it; a second one goes
/// to the same lead.
#[test]
fn lead_22_a_task_is_a_planning_request_to_the_lead() {
    let project = Project::with_scenario(TALKS);
    project.rapport(&["task", "app", "implement dark mode"]).check(4, "there is no project");
    let root = project.root();
    project.rapport(&["project", "add", "juzi", root.to_str().unwrap()]).check(0, "");
    project.rapport(&["task", "juzi", "implement", "dark mode"]).check(0, "I look at it.");
    let lead = project.session();
    let all = facts(&project, &lead);
    let Event::Created(created) = &all[0] else { panic!("{all:?}") };
    assert!(created.is_lead && created.aim == Aim::Chat);
    let head = "[Claude Code Planning Request]\nAction: start\nProject: juzi\nTask: implement dark mode\n";
    assert!(created.task.starts_with(head), "{}", created.task);
    assert!(created.task.contains("project_context"), "{}", created.task);
    project.rapport(&["task", "juzi", "@worktree", "--refresh", "add a footer"]).check(0, "And at that.");
    assert_eq!(project.store().list().unwrap(), std::slice::from_ref(&lead), "the same lead");
    let heard = facts(&project, &lead).into_iter().find_map(|fact| match fact {
        Event::Heard { text, .. } => Some(text),
        _ => None,
    });
    let heard = heard.unwrap();
    assert!(heard.contains("Task: add a footer\n") && heard.contains("worktree: true"), "{heard}");
    assert!(heard.contains("(action: explore)") && !heard.contains("(action: load)"), "{heard}");
    project.rapport(&["task", "juzi"]).check(2, "say what you want done");
}

/// LEAD-25, LEAD-26, LEAD-27: with --quick the agent begins at once, with what is known; --refresh alone only explores.
#[test]
fn lead_26_a_quick_task_begins_at_once_with_what_is_known() {
    let project = Project::with_scenario(ONE_QUESTION);
    let root = project.root();
    project.rapport(&["project", "add", "juzi", root.to_str().unwrap()]).check(0, "");
    project.rapport(&["task", "juzi", "--refresh"]).check(0, "juzi");
    assert_eq!(project.store().list().unwrap(), [], "nothing was begun");
    project.rapport(&["project", "learn", "Use tabs"]).check(0, "");
    let mut run = project.launch(&["task", "juzi", "--quick", "--json", "paint it"], &[]);
    run.until(|fact| matches!(fact, Event::Asked { .. }));
    run.kill();
    let Event::Created(created) = &project.facts()[0] else { panic!() };
    assert_eq!(created.aim, Aim::Work);
    assert!(created.task.starts_with("paint it\n\n## Context\n\n- Project: juzi"), "{}", created.task);
    assert!(created.task.contains("- Preference: Use tabs"), "{}", created.task);
    assert_eq!(created.assignment.as_ref().unwrap().original_task.as_deref(), Some("paint it"));
}

/// LEAD-26: with the setting, a short task whose scope is obvious begins at once; any other one is planned, however short.
#[test]
fn lead_26_an_obvious_task_begins_at_once_where_the_setting_says_so() {
    let begun = |setting: Option<&str>, task: &str| {
        let project = Project::with_scenario(TALKS);
        let project = setting.into_iter().fold(project, |project, on| project.set("RAPPORT_LEAD_QUICK", on));
        let root = project.root();
        project.rapport(&["project", "add", "juzi", root.to_str().unwrap()]).check(0, "");
        project.rapport(&["task", "juzi", "--detach", task]).check(0, "");
        let Event::Created(created) = project.facts().swap_remove(0) else { panic!() };
        created.aim
    };
    assert_eq!(begun(Some("true"), "fix typo in README.md"), Aim::Work);
    assert_eq!(begun(Some("true"), "implement dark mode"), Aim::Chat);
    assert_eq!(begun(Some("false"), "fix typo in README.md"), Aim::Chat);
    assert_eq!(begun(None, "fix typo in README.md"), Aim::Chat, "it is off");
}
