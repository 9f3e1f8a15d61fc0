//! The conversation with the bot as the lead, with the real CLI as the lead and as its worker, on a scripted model: a
//! task is planned, started and guided from the phone.

use rapport_core::routing::Ground;
use rapport_core::{By, Event, SessionId, slug};
use serde_json::{Value, json};

use super::{ANNA, Stage};
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::telegram::{ChatMessage, Person, State};

/// The task as the person gave it, after which its session is named.
const TASK: &str = "implement user authentication";
/// The task as the lead enriches it.
const PROMPT: &str = "Implement user authentication with passkeys and sessions for juzi users";
const GREETING: &str = "hello lead";

/// The question by which the lead asks its person about that of the worker. A call of Rapport's own tools is a question
/// as well, which a rule answers: there are three before it, besides the three of the planning.
const ASKED_LATER: &str = "q7";

/// The name that a session with this task gets today.
fn named(task: &str) -> SessionId {
    SessionId::new(format!("{}-{}", jiff::Timestamp::now().strftime("%Y%m%d"), slug::part(task)))
}

fn call(id: &str, tool: &str, input: Value) -> Response {
    Response::default().tool(id, &format!("mcp__rapport__{tool}"), input)
}

/// A call of the question tool.
fn ask(id: &str, questions: &[(&str, &str, [&str; 2])]) -> Response {
    let question = |(text, header, options): &(&str, &str, [&str; 2])| {
        let options = options.map(|label| json!({ "label": label, "description": "" }));
        json!({ "question": text, "header": header, "multiSelect": false, "options": options })
    };
    let questions: Vec<_> = questions.iter().map(question).collect();
    Response::default().tool(id, "AskUserQuestion", json!({ "questions": questions }))
}

/// What the model says: as the lead in the conversation that begins with the greeting, else as the worker.
fn script() -> Script {
    let (lead, worker) = (named(GREETING), named(TASK));
    let context = json!({
        "originalTask": TASK,
        "notes": ["Nothing about users is there yet"],
        "requirements": ["Every page but the first asks to sign in"],
        "answers": [
            { "question": "How do users sign in?", "answer": "Passkeys" },
            { "question": "Who may register?", "answer": "Everybody" },
            { "question": "How long does a session last?", "answer": "thirty days" },
        ],
    });
    let start = json!({ "project": "juzi", "prompt": PROMPT, "worktree": true, "context": context });
    let respond = json!({
        "sessionId": worker, "question": "q1", "response": "httpOnly cookies", "ground": format!("answer:{lead}/{ASKED_LATER}"),
    });
    let lead = Script::default()
        .say(Response::default().text("I am the lead."))
        .say(call("toolu_load", "project_context", json!({ "project": "juzi", "action": "load" })))
        .say(call("toolu_explore", "project_context", json!({ "project": "juzi", "action": "explore" })))
        .say(ask(
            "toolu_ask",
            &[
                ("How do users sign in?", "Sign in", ["Passkeys", "Codes"]),
                ("Who may register?", "Who", ["Everybody", "Invited people"]),
                ("How long does a session last?", "Session", ["A day", "A month"]),
            ],
        ))
        .say(call("toolu_start", "claude_code_start", start))
        .say(
            Response::default()
                .text("**Requirements**: passkeys, everybody, thirty days. Claude Code has begun."),
        )
        .say(ask(
            "toolu_recommend",
            &[("I recommend httpOnly cookies for the JWT. Is that right?", "JWT", ["Yes", "No"])],
        ))
        .say(call("toolu_respond", "claude_code_respond", respond))
        .say(Response::default().text("It keeps the JWT in httpOnly cookies."));
    let write = json!({ "command": "printf 'cookies\\n' > auth.txt", "description": "Writes it" });
    Script::default()
        .say(ask("toolu_where", &[("Where is the JWT kept?", "JWT", ["httpOnly cookies", "In memory"])]))
        .say(Response::default().text("# Sign in\n\n1. Add passkeys.\n2. Keep the JWT in httpOnly cookies."))
        .say(Response::default().tool("toolu_write", "Bash", write))
        .say(Response::default().text("Signing in is **in place**."))
        .apart(GREETING, lead)
}

/// `None` where tests with the real CLI are left out.
async fn stage() -> Option<(Stage, Model)> {
    let program = needs::claude()?;
    let project = Project::called("juzi", &format!("'{}'", program.display()));
    let model = Model::play(script());
    let url = format!("http://{}", model.address());
    let project = offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value));
    // The CLI leaves things there when it is killed.
    let temporary = project.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let project = project
        .set("TMPDIR", &temporary.to_string_lossy())
        .set("RAPPORT_LEAD_POLICY", "auto")
        .set("RAPPORT_LEAD_TIME", "10m");
    Some((Stage::of(project).await, model))
}

/// Everything that is asked about is allowed.
const ASKING: [(&str, &str); 1] = [("RAPPORT_AGENT_PERMISSION_MODE", "default")];

/// The facts of a session.
fn facts(stage: &Stage, id: &SessionId) -> Vec<Event> {
    let entries = stage.project.store().read(id, 0).unwrap();
    entries.into_iter().flat_map(|entry| entry.facts).collect()
}

/// The worked example, from the greeting to the result. `pause` is called at every point at which something waits, with
/// what the CLIs said last.
async fn play(stage: &mut Stage, model: &Model, is_killed: bool, pause: impl Fn(&mut Stage, &[&str])) {
    let anna = stage.anna();
    anna.types(GREETING);
    anna.sees("I am the lead.").await;
    pause(stage, &["I am the lead."]);

    anna.types("/claude juzi implement user authentication");
    anna.sees("The lead plans this with you").await;
    let first = anna.sees("How do users sign in?").await;
    assert!(first.text().contains("The lead asks"), "{}", first.text());
    pause(stage, &["toolu_ask"]);
    anna.taps("Passkeys").await;
    anna.taps("Everybody").await;
    anna.sees("How long does a session last?").await;
    anna.types("thirty days");
    anna.sees("Requirements: passkeys, everybody, thirty days.").await;

    let (lead, worker) = (named(GREETING), named(TASK));
    let asked = anna.sees("Where is the JWT kept?").await;
    assert!(asked.text().contains("The agent asks"), "{}", asked.text());
    assert!(asked.text().contains("implement user authentication"), "{}", asked.text());
    anna.sees("I recommend httpOnly cookies for the JWT.").await;
    pause(stage, &["toolu_where", "toolu_recommend"]);
    if is_killed {
        // The card is sent again, and words that were written before do not count as its answer.
        taps_newest(stage, &anna, "Yes").await;
    } else {
        // Both questions are open: plain text is for the lead.
        anna.types("yes");
    }
    // If the bot was killed before it had noted the card, it sent another one.
    let is_closed = |card: &&ChatMessage| {
        card.text().contains("Where is the JWT kept?") && card.text().contains("✅ httpOnly cookies")
    };
    let closed = |state: &State| state.messages_in(ANNA, None).find(is_closed).cloned();
    let closed = stage.server.wait_for("the answer of the lead", closed).await;
    assert!(closed.text().contains(&format!("📎 answer:{lead}/{ASKED_LATER}: ")), "{}", closed.text());
    assert!(closed.button("↩️ Try the other way").is_some(), "{:?}", closed.buttons());

    anna.sees("Plan Ready").await;
    pause(stage, &["# Sign in"]);
    anna.taps("✅ Confirm & Start").await;
    // Only a person gives permissions.
    let permission = anna.sees("May the agent use Bash?").await;
    assert!(!permission.text().contains("The lead is looking"), "{}", permission.text());
    pause(stage, &["toolu_write"]);
    taps_newest(stage, &anna, "Allow once").await;
    anna.sees("Done").await;
    anna.sees("Signing in is in place.").await;
    checks(stage, model, &lead, &worker);
}

/// Taps a button of the newest message that has it: after a kill the agent asks for the same permission again.
async fn taps_newest(stage: &Stage, anna: &Person, label: &str) {
    let has = |state: &State| state.messages_in(ANNA, None).rfind(|one| one.button(label).is_some()).cloned();
    let card = stage.server.wait_for("the button", has).await;
    anna.taps_on(&card, label);
}

/// What the logs and the model know in the end.
fn checks(stage: &Stage, model: &Model, lead: &SessionId, worker: &SessionId) {
    let all = facts(stage, worker);
    let created = all.iter().find_map(|fact| match fact {
        Event::Created(created) => Some(created.clone()),
        _ => None,
    });
    let created = created.unwrap();
    assert_eq!(created.lead.as_ref(), Some(lead));
    let requirements = created.assignment.unwrap().requirements;
    assert!(
        requirements.contains(&"How long does a session last? The person answered: thirty days".to_owned()),
        "{requirements:?}"
    );
    for part in ["## Context", "## Requirements", "1. Every page but the first asks to sign in"] {
        assert!(created.task.contains(part), "{part} in {}", created.task);
    }
    let answered: Vec<_> = all
        .iter()
        .filter_map(|fact| match fact {
            Event::Answered { question, by, .. } if question.as_str() == "q1" => Some(by.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(answered, [By::Lead { name: lead.to_string() }], "once, and by the lead");
    let ground = all.iter().find_map(|fact| match fact {
        Event::Grounded { because, .. } => Some(because.ground.clone()),
        _ => None,
    });
    let question = rapport_core::QuestionId::new(ASKED_LATER);
    assert_eq!(ground, Some(Ground::Answer { session: lead.clone(), question }));
    // The lead was asked once, and the request to plan reached it once.
    let is_heard = |begin: &str| {
        let of_lead = facts(stage, lead);
        let begins = |fact: &&Event| matches!(fact, Event::Heard { text, .. } if text.starts_with(begin));
        of_lead.iter().filter(begins).count()
    };
    assert_eq!(is_heard("[Claude Code Planning Request]"), 1);
    assert_eq!(is_heard("[Claude Code Question - Session "), 1);
    wait_for("what the worker was told", || {
        let bodies = model.seen();
        let mut bodies = bodies.iter().map(ToString::to_string);
        bodies
            .find(|body| body.contains("answered by the lead") && body.contains("httpOnly cookies"))
            .map(drop)
    });
    let sessions = stage.project.store().list().unwrap();
    assert_eq!(sessions.len(), 2, "one lead and one worker: {sessions:?}");
}

/// LEAD-2, LEAD-17, LEAD-21, LEAD-22, LEAD-24, LEAD-29, LEAD-30, LEAD-32, LEAD-33: the worked example in Telegram.
#[tokio::test]
async fn lead_32_the_worked_example_with_the_real_cli() {
    let Some((mut stage, model)) = stage().await else { return };
    stage.serve_with(&ASKING);
    play(&mut stage, &model, false, |_, _| {}).await;
    let anna = stage.anna();
    anna.types("/digest");
    let digest = anna.sees("While you were away").await;
    assert!(
        digest.text().contains("Where is the JWT kept?\n✅ httpOnly cookies\n📎 answer:"),
        "{}",
        digest.text()
    );
    assert_eq!(stage.stop(), 0);
    assert_eq!(stage.server.violations(), []);
}

/// LEAD-32 with `kill -9` whenever something waits: nothing is lost, said twice, or decided by anybody else.
#[tokio::test]
async fn lead_32_the_worked_example_survives_kills() {
    let Some((mut stage, model)) = stage().await else { return };
    stage.serve_with(&ASKING);
    let killed = |stage: &mut Stage, said: &[&str]| {
        // The CLI writes its conversation a moment after it says something. The scripted model, which finds its place in
        // the script by what the conversation has, would say the rest a second time.
        wait_for("the conversations", || {
            let conversations = stage.project.transcripts_below("home/.claude/projects");
            let written = serde_json::to_string(&conversations).unwrap();
            said.iter().all(|said| written.contains(said)).then_some(())
        });
        stage.kill();
        stage.serve_with(&ASKING);
    };
    play(&mut stage, &model, true, killed).await;
    assert_eq!(stage.stop(), 0);
}
