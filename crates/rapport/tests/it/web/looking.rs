//! A session's page over plain HTTP: comments on a plan, turns and branches, costs, a lead's answers, and what was
//! settled elsewhere.

use rapport_core::routing::{Class, Ground, Grounding, Hop, Recipient};
use rapport_core::{Answer, By, Event, QuestionId, SessionId, TurnId, Usage};

use super::WebSite;
use super::answering::ROUND;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// The facts of a session that waits for an answer; no process runs it.
pub(super) fn waiting_facts(project: &Project) -> Vec<Event> {
    let mut run = project.start(&["paint it"], &[]);
    run.until_asked();
    run.kill();
    project.facts()
}

/// Another session with these facts, which count.
pub(super) async fn import(project: &Project, facts: Vec<Event>) -> SessionId {
    let place = rapport::wiring::Workspace::new(project.path("home/.rapport"), project.root());
    let sessions = place.sessions();
    rapport_door::Sessions::import(&sessions, facts, jiff::Timestamp::now()).await.unwrap()
}

/// FILE-33, FILE-34: an item with a comment is left out, and the agent reads the comment in the report.
#[tokio::test]
async fn file_34_a_comment_on_an_item_reaches_the_agent() {
    let site = WebSite::start(Project::with_agent("rehearsal --scenario files"));
    let phone = site.pair("phone").await;
    site.project.rapport(&["new", "greet"]).check(0, "");
    site.project.rapport(&["plan", "-m", "add a greeting"]).check(0, "");
    let card = phone.sees("/", "Review: ").await;
    card.check(200, "Leave it out, and tell the agent why").check(200, "value=\"split\"");
    // The comment counts, although the box is still checked: a browser without scripts does not uncheck it.
    let fields = [
        ("i", "0.0"),
        ("i", "1.0"),
        ("i", "2.0"),
        ("i", "2.1"),
        ("c2.1", " greet\r\n  nobody <b>by name</b> "),
    ];
    phone.press(&card, "approve", &fields).await.check(200, "Approved. It runs.");
    let path = format!("/s/{}", site.project.session());
    let done = phone.sees(&path, "value=\"undo\"").await;
    assert!(
        site.project.file("greeting.sh").contains("echo \"Hello\""),
        "{}",
        site.project.file("greeting.sh")
    );
    let report = wait_for("the report", || {
        let folder = site.project.root().join(".rapport/sessions").join(site.project.session().as_str());
        std::fs::read_to_string(folder.join("01/report.md")).ok()
    });
    assert!(report.contains("left out when the plan was reviewed: greet nobody <b>by name</b>"), "{report}");
    phone.press(&done, "undo", &[]).await;
    phone.sees(&path, "Undone: ").await;
}

/// FILE-31: a skipped plan tells the agent the comments as well.
#[tokio::test]
async fn file_31_comments_are_told_with_a_skipped_plan() {
    let site = WebSite::start(Project::with_agent("rehearsal --scenario files"));
    let phone = site.pair("phone").await;
    site.project.rapport(&["new", "greet"]).check(0, "");
    site.project.rapport(&["plan", "-m", "add a greeting"]).check(0, "");
    let card = phone.sees("/", "Review: ").await;
    phone.press(&card, "skip", &[("text", "shorter"), ("c2.0", "no script")]).await.check(200, "Skipped.");
    let skipped = site.project.facts().into_iter().find_map(|fact| match fact {
        Event::Skipped { message, .. } => message,
        _ => None,
    });
    assert_eq!(skipped.as_deref(), Some("shorter\nCREATE greeting.sh: no script"));
}

/// FILE-38: turns and branches are a picture, and a list that says the same.
#[tokio::test]
async fn file_38_turns_and_branches_are_a_picture() {
    let site = WebSite::start(Project::with_agent("rehearsal --scenario files"));
    let phone = site.pair("phone").await;
    site.project.rapport(&["new", "greet"]).check(0, "");
    site.project.rapport(&["plan", "-m", "add a greeting"]).check(0, "");
    phone.sees("/", "Review: ").await;
    let path = format!("/s/{}/turns", site.project.session());
    phone.page(&path).await.check(200, "<b>01</b>: <span class=\"turn-state now\">waits for review</span>");
    site.project.rapport(&["branch", "01"]).check(0, "");
    site.project.rapport(&["plan", "-m", "in another way"]).check(0, "");
    let page = phone.sees(&path, "<b>01-branch-01</b>").await;
    page.check(200, "role=\"img\" aria-label=\"2 turns and branches")
        .check(200, "<circle class=\"turn now\"");
}

/// A branch of a task is in the pictures of both sessions, and each leads to the other.
#[tokio::test]
async fn a_branch_of_a_task_is_in_the_picture() {
    let project = Project::with_scenario(ONE_QUESTION);
    let facts = waiting_facts(&project);
    let origin = project.session();
    let branch: Vec<Event> = facts
        .into_iter()
        .map(|fact| match fact {
            Event::Created(created) => {
                let question = QuestionId::new("q1");
                let branched_from = Some(rapport_core::BranchPoint::at_question(origin.clone(), question));
                Event::Created(rapport_core::Created { branched_from, ..created })
            }
            other => other,
        })
        .collect();
    let id = import(&project, branch).await;
    let site = WebSite::start(project);
    let phone = site.pair("phone").await;
    let page = phone.sees(&format!("/s/{origin}/turns"), &format!("href=\"/s/{id}\"")).await;
    page.check(200, "1 plan").check(200, "a branch, needs input");
    phone.page(&format!("/s/{id}/turns")).await.check(200, &format!("href=\"/s/{origin}\""));
}

/// Costs and tokens over time are charts with a table, from what the processes reported.
#[tokio::test]
async fn costs_over_time_are_charts_with_a_table() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut facts = waiting_facts(&project);
    let spent = |cost_micros, output| Event::Spent {
        turn: TurnId(1),
        usage: Usage { cost_micros, output, ..Usage::default() },
    };
    facts.extend([spent(1_200_000, 500), spent(300_000, 1500)]);
    let id = import(&project, facts).await;
    let site = WebSite::start(project);
    let phone = site.pair("phone").await;
    let page = phone.sees(&format!("/s/{id}"), "Cost over time").await;
    page.check(200, "aria-label=\"The cost grows to $1.50 between ").check(200, "<td>$1.20</td><td>500</td>");
    page.check(200, "<td>$1.50</td><td>2000</td>");
    // The costs of the project, by day.
    let projects = phone.page("/projects").await;
    projects.check(200, "$1.50 in the last 30 days, $1.50 in all").check(200, "2 sessions");
}

/// LEAD-12, LEAD-21: the story shows what a lead answered and drafted, with its ground.
#[tokio::test]
async fn lead_21_the_story_shows_a_leads_answer_with_its_ground() {
    let project = Project::with_scenario(ROUND);
    let mut facts = waiting_facts(&project);
    let lead = By::Lead { name: "lead".into() };
    let because = |quote: &str| Grounding {
        ground: Ground::File { path: "style.md".into(), first: 2, last: 2 },
        quote: quote.into(),
    };
    let answer = |value: &str| Answer { values: vec![value.into()], text: None };
    let (q1, q2) = (QuestionId::new("q1"), QuestionId::new("q2"));
    let routed = Event::Routed {
        question: q1.clone(),
        to: Recipient::Lead,
        class: Class::Clarification,
        why: Hop::First,
    };
    facts.extend([
        routed,
        Event::Grounded { question: q1.clone(), because: because("Everything is <i>red</i>.") },
        Event::Answered { question: q1, answer: answer("Red"), by: lead.clone() },
        Event::Drafted {
            question: q2,
            answer: answer("Hall"),
            by: lead,
            because: Some(because("The hall first.")),
        },
    ]);
    let id = import(&project, facts).await;
    let site = WebSite::start(project);
    let phone = site.pair("phone").await;
    let story = phone.sees(&format!("/s/{id}"), "drafted by ").await;
    story.check(200, "Because of file:style.md:2: <q>Everything is &lt;i&gt;red&lt;/i&gt;.</q>");
    story.check(200, "Because of file:style.md:2: <q>The hall first.</q>");
    // The list says it as well, and the card offers to send it.
    let inbox = phone.page(&format!("/?s={id}&q=q2")).await;
    inbox.check(200, "The lead drafts: Hall").check(200, "value=\"draft:q2\"");
    phone.press(&inbox, "draft:q2", &[]).await.check(200, "Done.");
}

/// What was settled elsewhere says how, until the person continues; no other card takes its place.
#[tokio::test]
async fn a_card_that_was_settled_elsewhere_says_how() {
    let site = WebSite::start(Project::with_scenario(ROUND));
    let phone = site.pair("phone").await;
    let mut run = site.project.start(&["paint"], &[]);
    run.until_asked();
    let id = site.project.session();
    let card = format!("/?order=oldest&page=0&s={id}&q=q1");
    phone.sees(&card, "data-option=\"2\"").await;
    site.project.rapport(&["answer", "--question", "q1", "Red"]).check(0, "");
    let settled = phone.sees(&card, "Settled elsewhere").await;
    settled.check(200, "Answered: <b>Red</b>").check(200, "Continue").check(200, "1 waits");
    assert!(!settled.text.contains("data-option"), "{}", settled.text);
    phone.page("/").await.check(200, "Which rooms?");
    // The same on the page of the session.
    phone.page(&format!("/s/{id}?pin=q1")).await.check(200, "Settled elsewhere");
    phone.page(&format!("/s/{id}?pin=q2")).await.check(200, "Which rooms?");
    // A question that ended without an answer says why.
    site.project.rapport(&["cancel", id.as_str()]).check(0, "");
    let closed = phone.sees(&format!("/?s={id}&q=q2"), "Settled elsewhere").await;
    closed.check(200, "it was withdrawn: the session was cancelled");
    let _ = run.child.kill();
}
