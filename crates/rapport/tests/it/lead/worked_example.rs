//! LEAD-32: the worked example, in a terminal, with the real Claude Code as the lead and as the worker, on a scripted
//! model: the task is planned with the person, the work starts, a later question goes through the lead to the person
//! and back to the worker.

use std::time::Duration;

use rapport_core::{By, Event, PlannedAction, PlanningRequest, SessionId, slug};
use serde_json::{Value, json};

use super::facts;
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::pty::Pty;

/// The task as the person gives it, after which its session is named.
pub(super) const TASK: &str = "implement user authentication";
/// The task as the lead enriches it.
const PROMPT: &str =
    "Implement user authentication with passkeys for the whole web shop, its API and its admin pages";

/// The question by which the lead asks its person about that of the worker. A call of Rapport's own tools is a question
/// as well, which a rule answers: there are three before it, besides the three of the planning.
pub(super) const ASKED_LATER: &str = "q7";

fn named(words: &str) -> SessionId {
    SessionId::new(format!("{}-{}", jiff::Timestamp::now().strftime("%Y%m%d"), slug::part(words)))
}

fn ask(id: &str, texts: &[(&str, [&str; 2])]) -> Response {
    let questions: Vec<Value> = texts
        .iter()
        .map(|(text, labels)| {
            let options = labels.map(|label| json!({ "label": label, "description": label }));
            json!({ "question": text, "header": "Login", "options": options, "multiSelect": false })
        })
        .collect();
    Response::default().tool(id, "AskUserQuestion", json!({ "questions": questions }))
}

fn tool(id: &str, name: &str, input: Value) -> Response {
    Response::default().tool(id, &format!("mcp__rapport__{name}"), input)
}

/// Chooses the first option of each question that is shown, until these words are on the screen.
fn answer_all(screen: &mut Pty, until: &str) {
    loop {
        let is_asked = |text: &str| text.contains("enter answer") || text.contains("enter send");
        screen.wait_until(until, |text| text.contains(until) || is_asked(text));
        let before = screen.text();
        if before.contains(until) {
            return;
        }
        // The last look, at the answers to all questions of a round.
        let key = if before.contains("enter send") { "\r" } else { "1" };
        screen.insist(key, until, |text| text != before);
    }
}

/// What the lead and the worker say.
fn script(lead: &SessionId, worker: &SessionId) -> Script {
    let answers = json!([{ "question": "Which method?", "answer": "Passkeys" }]);
    let start = json!({
        "project": "juzi", "prompt": PROMPT,
        "context": { "originalTask": TASK, "requirements": ["Sessions last a day"],
            "answers": answers },
    });
    let respond = json!({
        "sessionId": worker, "question": "q1", "response": "Cookies",
        "ground": format!("answer:{lead}/{ASKED_LATER}"),
    });
    let worker = Script::default()
        .say(ask("toolu_w1", &[("Where does the JWT live?", ["Cookies", "Memory"])]))
        .say(Response::default().text("# User login\n\n1. Add the login."))
        .say(Response::default().text("The login is there."));
    Script::default()
        .say(tool("toolu_1", "project_context", json!({ "action": "load", "project": "juzi" })))
        .say(tool("toolu_2", "project_context", json!({ "action": "explore", "project": "juzi" })))
        .say(ask(
            "toolu_3",
            &[
                ("Which method?", ["Passkeys", "Magic link"]),
                ("Which database?", ["SQLite", "Postgres"]),
                ("Who signs up?", ["Everybody", "Customers"]),
            ],
        ))
        .say(tool("toolu_4", "claude_code_start", start))
        .say(Response::default().text("Passkeys in SQLite, for everybody. The work has begun."))
        .say(ask("toolu_5", &[("I recommend cookies for the JWT. Is that right?", ["Yes", "No"])]))
        .say(tool("toolu_6", "claude_code_respond", respond))
        .say(Response::default().text("I told it to use cookies."))
        .say(Response::default().text("People can log in now."))
        .apart("Do not change anything yet.", worker)
}

/// The stage of the example.
pub(super) struct Example {
    pub(super) project: Project,
    pub(super) lead: SessionId,
    pub(super) worker: SessionId,
    /// It plays as long as it is there.
    pub(super) model: Model,
}

impl Example {
    /// The project that the person names, with the real CLI; `None` if that is not here.
    pub(super) fn new() -> Option<Self> {
        let program = needs::claude()?;
        let request = PlanningRequest {
            action: PlannedAction::Start,
            project: "juzi".into(),
            task: TASK.into(),
            worktree: false,
            refresh: false,
        };
        let (lead, worker) = (named(&request.text()), named(TASK));
        let model = Model::play(script(&lead, &worker));
        let url = format!("http://{}", model.address());
        let project = Project::called("juzi", &program.display().to_string());
        let project =
            offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value));
        // The machine may be slow; how long a lead has is tested elsewhere.
        let project = project.set("RAPPORT_LEAD_POLICY", "auto").set("RAPPORT_LEAD_TIME", "10m");
        let root = project.root();
        project.rapport(&["project", "add", "juzi", root.to_str().unwrap()]).check(0, "");
        Some(Self { project, lead, worker, model })
    }
}

/// LEAD-1, LEAD-2, LEAD-22, LEAD-32, LEAD-33.
#[test]
fn lead_32_the_worked_example_runs_in_a_terminal_with_the_real_cli() {
    let Some(Example { project, lead, worker, model: _model }) = Example::new() else { return };
    let mut screen = project.terminal(&["task", "juzi", TASK], 100, 40);
    // Three questions to the person, before anything begins.
    screen.wait_for("Which method?");
    answer_all(&mut screen, "The work has begun.");
    // The worker's question comes to the lead, which asks its person.
    screen.wait_for("I recommend cookies for the JWT.");
    answer_all(&mut screen, "I told it to use cookies.");
    let asked: Vec<_> = facts(&project, &lead)
        .into_iter()
        .filter_map(|fact| match fact {
            Event::Answered { question, answer, by: By::Person { .. } } => {
                Some((question.to_string(), answer.values.concat()))
            }
            _ => None,
        })
        .collect();
    let expected = [("q3", "Passkeys"), ("q4", "SQLite"), ("q5", "Everybody"), (ASKED_LATER, "Yes")];
    let expected = expected.map(|(id, answer)| (id.to_owned(), answer.to_owned()));
    assert_eq!(asked, expected, "what the person was asked, and said");
    // The session continues with that answer, whose ground is what the person said.
    let planned = wait_for("the worker's plan", || {
        let all = facts(&project, &worker);
        all.iter().any(|fact| matches!(fact, Event::PlanProposed { .. })).then_some(all)
    });
    let answered = planned.iter().find_map(|fact| match fact {
        Event::Answered { question, answer, by } if question.as_str() == "q1" => {
            Some((answer.clone(), by.clone()))
        }
        _ => None,
    });
    let (answer, by) = answered.unwrap();
    assert_eq!((answer.values, by), (vec!["Cookies".to_owned()], By::Lead { name: lead.to_string() }));
    let ground = planned.iter().find_map(|fact| match fact {
        Event::Grounded { because, .. } => Some(because.clone()),
        _ => None,
    });
    let ground = ground.unwrap();
    assert_eq!(ground.ground.to_string(), format!("answer:{lead}/{ASKED_LATER}"));
    assert_eq!(ground.quote, "I recommend cookies for the JWT. Is that right? Yes");
    // LEAD-29: the worker was told the task, what is known, and the requirements with the person's answers.
    let task = facts(&project, &worker).into_iter().find_map(|fact| match fact {
        Event::Created(created) => Some(created.task),
        _ => None,
    });
    let task = task.unwrap();
    for part in [
        PROMPT,
        "\n\n## Context\n\n- Project: juzi",
        "1. Sessions last a day\n2. Which method? The person answered: Passkeys",
    ] {
        assert!(task.contains(part), "{part:?} is not in {task}");
    }
    // The lead was asked once, and told nothing in its person's name.
    let triggers = facts(&project, &lead).into_iter().filter(|fact| match fact {
        Event::Heard { text, by: By::Rule { .. }, .. } => text.contains("[Claude Code Question - Session "),
        _ => false,
    });
    assert_eq!(triggers.count(), 1);
    project.rapport(&["answer", worker.as_str(), "confirm"]).check(0, "Answered.");
    wait_for("the end of the work", || {
        facts(&project, &worker).iter().any(|fact| matches!(fact, Event::Reported { .. })).then_some(())
    });
    // LEAD-16: the lead is told of the end, and announces it.
    screen.wait_for("People can log in now.");
    screen.insist("\x1b", "the way back", |text| text.contains("The conversation is kept"));
    project.wait_alone(Duration::from_secs(20));
}
