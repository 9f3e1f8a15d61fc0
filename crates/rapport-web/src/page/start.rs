//! The form that starts work.

use maud::{Markup, html};
use rapport_core::routing::Policy;
use rapport_door::ProjectSetup;

use crate::access::Visitor;

/// What a lead may do with the questions of a task, as a person chooses it.
const POLICIES: [(Policy, &str); 3] = [
    (Policy::Ask, "Nothing: only people are asked"),
    (Policy::Assist, "Draft answers, which a person sends"),
    (Policy::Auto, "Answer what it has a ground for, draft the rest"),
];

/// The values of the form, to show it again with an error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filled {
    pub(crate) task: String,
    pub(crate) project: String,
    pub(crate) worker: String,
    pub(crate) agent: String,
    pub(crate) policy: String,
}

pub(crate) fn form(visitor: &Visitor, projects: &[ProjectSetup], filled: &Filled, request: &str) -> Markup {
    let mut workers: Vec<&String> = projects.iter().flat_map(|project| &project.workers).collect();
    let mut agents: Vec<&String> = projects.iter().flat_map(|project| &project.agents).collect();
    for names in [&mut workers, &mut agents] {
        let mut known = std::collections::BTreeSet::new();
        names.retain(|name| known.insert(name.to_owned()));
    }
    // Projects may differ in it; then the form does not say it.
    let usual = projects.first().map(|project| project.policy);
    let usual = usual.filter(|usual| projects.iter().all(|project| project.policy == *usual));
    html! {
        section.paper.narrow {
            h1 { "New task" }
            form.start method="post" action="/new" enctype="multipart/form-data" data-key="start" {
                input type="hidden" name="form" value=(visitor.form_token);
                input type="hidden" name="request" value=(request);
                label { span { "What should be done?" } textarea name="task" rows="6" required autofocus maxlength=(rapport_core::MAX_TASK) { (filled.task) } }
                @if projects.len() > 1 {
                    label { span { "Project" } select name="project" {
                        @for project in projects { option value=(project.name) selected[project.name == filled.project] { (project.name) } }
                    } }
                } @else { p.quiet { "In " (projects.first().map_or("", |project| &project.name)) } }
                div.columns {
                    label { span { "Where it works" } select name="worker" {
                        option value="" { "As usual" }
                        @for worker in workers { option value=(worker) selected[*worker == filled.worker] { (worker) } }
                    } }
                    label { span { "Agent" } select name="agent" {
                        option value="" { "As usual" }
                        @for agent in agents { option value=(agent) selected[*agent == filled.agent] { (agent) } }
                    } }
                }
                label { span { "What the lead may do with the agent's questions" } select name="policy" {
                    option value="" { "As usual" @if let Some(usual) = usual { " (" (usual.word()) ")" } }
                    @for (policy, words) in POLICIES { option value=(policy.word()) selected[policy.word() == filled.policy] { (words) } }
                } }
                label { span { "Files for the agent" } input type="file" name="files" multiple; }
                div.row { button.main { "Start" } }
                p.quiet { "The agent asks before it plans, and you confirm the plan before it works." }
            }
        }
    }
}
