//! The plan that a person confirms, and its Markdown file (`.claude/todos/{goal}/{description}.md`).

use std::fmt::Write as _;

use crate::aim::Existing;
use crate::event::{Entry, Event};
use crate::question::Purpose;
use crate::session::{FlowRules, Session, Shared, State};
use crate::want::Want;

/// The note in a plan that is older than an answer.
pub const PLAN_IS_BEHIND: &str = "An answer came after this was proposed; the answers above count.";

/// A plan that the agent proposed. The answers behind it are the session's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) goal: String,
    pub(crate) description: String,
    pub(crate) text: String,
    /// Whether an answer came after it was proposed.
    pub(crate) is_behind: bool,
    /// The number of changes: a new proposal, an edited answer, the confirmation.
    pub(crate) revision: u32,
    /// The revision that its file contains.
    pub(crate) saved: u32,
    pub(crate) path: Option<String>,
    /// The paths of all revisions so far. A later proposal may have another name.
    pub(crate) own_paths: Vec<String>,
}

/// The plan as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// The revision of the plan.
    pub revision: u32,
    /// Its path, from the project's root.
    pub path: String,
    /// Its content.
    pub content: String,
    /// What to do if the file already exists.
    pub existing: Existing,
    /// The paths to which earlier revisions were saved: those files are this session's.
    pub own_paths: Vec<String>,
}

impl PlanFile {
    /// Every content that the plan's file had according to the facts of a session. A kill between writing the file
    /// and storing the fact leaves a file that no fact names. It is this session's if it has one of these contents,
    /// because each of them names the session's conversation and when it was created.
    pub fn contents(entries: &[Entry]) -> Vec<String> {
        let wanted = |session: &Session| {
            session.wants().into_iter().find_map(|want| match want {
                Want::PlanSaved(file) => Some(file.content),
                _ => None,
            })
        };
        let Some((first, later)) = entries.split_first() else { return Vec::new() };
        let Some(mut session) = Session::open(first) else { return Vec::new() };
        let mut contents = Vec::from_iter(wanted(&session));
        for entry in later {
            session.apply_entry(entry);
            contents.extend(wanted(&session).filter(|content| contents.last() != Some(content)));
        }
        contents
    }
}

/// The branch name in a plan's file if the project is not on a branch.
const NO_BRANCH: &str = "interactive_chat";

impl Plan {
    /// Makes a proposal the plan, in place of the previous one.
    pub(crate) fn propose(plan: &mut Option<Self>, goal: &str, description: &str, text: &str) {
        let (revision, saved) = plan.as_ref().map_or((0, 0), |plan| (plan.revision, plan.saved));
        let own_paths = plan.take().map(|plan| plan.own_paths).unwrap_or_default();
        *plan = Some(Plan {
            goal: goal.to_owned(),
            description: description.to_owned(),
            text: text.to_owned(),
            is_behind: false,
            revision: revision + 1,
            saved,
            path: None,
            own_paths,
        });
    }

    /// Applies a fact after the shared part has: an answer behind the plan changed, or its file was written. Until the
    /// work begins, a changed answer makes a new revision.
    pub(crate) fn follow(&mut self, shared: &Shared, fact: &Event, is_revisable: bool) {
        let is_changed = match fact {
            Event::Answered { question, .. } => {
                let purpose = shared.rounds.item(question).map(|(_, item)| &item.question.purpose);
                self.is_behind |= purpose == Some(&Purpose::Clarify);
                matches!(purpose, Some(Purpose::Clarify | Purpose::Confirm))
            }
            // An answer that was being changed is lost with its round.
            Event::Closed { round, .. } => {
                let is_lost = |state: &State| matches!(state, State::Open { previous: Some(_) });
                let closed = shared.rounds.iter().find(|known| known.id == *round);
                closed.is_some_and(|round| round.items.iter().any(|item| is_lost(&item.state)))
            }
            Event::PlanSaved { revision, path } => {
                self.saved = *revision;
                self.path = Some(path.clone());
                if !self.own_paths.contains(path) {
                    self.own_paths.push(path.clone());
                }
                false
            }
            _ => false,
        };
        self.revision += u32::from(is_changed && is_revisable);
    }
}

/// The plan's file for a task.
pub(crate) fn file(shared: &Shared, plan: &Plan, is_begun: bool) -> PlanFile {
    PlanFile {
        revision: plan.revision,
        path: format!(".claude/todos/{}/{}.md", plan.goal, plan.description),
        content: markdown(shared, plan, is_begun),
        existing: Existing::Replace,
        own_paths: plan.own_paths.clone(),
    }
}

/// The fact that the plan's file is saved, unless it is known already.
pub(crate) fn saved(flow: &dyn FlowRules, shared: &Shared, revision: u32, path: &str) -> Vec<Event> {
    let plan = flow.plan().filter(|_| !shared.is_over());
    let is_news = plan.is_some_and(|plan| plan.saved < revision && revision <= plan.revision);
    is_news.then(|| Event::PlanSaved { revision, path: path.to_owned() }).into_iter().collect()
}

fn markdown(shared: &Shared, plan: &Plan, is_begun: bool) -> String {
    let created = &shared.created;
    let branch = created.terms.branch.as_deref().unwrap_or(NO_BRANCH);
    let (mut requirements, mut context) = (String::new(), String::new());
    for (question, given) in shared.rounds.standing() {
        let answer = question.words(&given.answer);
        let _ = write!(requirements, "**Q: {}**\nA: {}\n\n", one_line(&question.text), indent(&answer));
        let _ = writeln!(context, "- {} {}", one_line(&question.text), one_line(&answer));
    }
    if requirements.is_empty() {
        requirements.push_str("No questions were asked.\n\n");
        context.push_str("The task stands as it was given.\n");
    } else {
        context
            .insert_str(0, "The following answers were gathered from the user to clarify requirements:\n\n");
    }
    let mut text = format!(
        "# Plan: {title}\n\n**Created:** {at}\n**Session:** {id}\n**Branch:** {branch}\n\n## Task\n\n{task}\n\n\
         ## Requirements (Q&A)\n\n{requirements}## Context for Implementation\n\n{context}\n",
        title = one_line(&created.task),
        at = shared.created_at,
        id = created.conversation,
        task = demote(created.task.trim()),
    );
    if !plan.text.is_empty() {
        text.push_str("## Proposed Plan\n\n");
        if plan.is_behind {
            text.push_str(&format!("{PLAN_IS_BEHIND}\n\n"));
        }
        let _ = write!(text, "{}\n\n", demote(&plan.text));
    }
    let when = if is_begun { "Claude CLI was" } else { "Once this is confirmed, Claude CLI is" };
    let _ = write!(text, "## Next Steps\n\n{when} spawned with this full context to implement the task.\n");
    text
}

/// Moves the headings of quoted text below the file's own, so that the file keeps one outline.
fn demote(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().map(|line| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let heading = line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
        if !fenced && heading { format!("##{line}") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Indents further lines of an answer, so that they cannot become a heading or another question.
fn indent(answer: &str) -> String {
    answer.lines().collect::<Vec<_>>().join("\n    ")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
