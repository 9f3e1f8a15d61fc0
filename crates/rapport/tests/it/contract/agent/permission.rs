//! Tools that need a person's permission, and plans.

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{ExitPlan, OtherTool, Scenario, Step};
use rapport_core::{AgentDid, Ask, CallReply, Order, TurnKind};

use super::actor::Actor;
use super::asking::{database, finished};
use super::{on_every_agent, on_every_version};
use crate::support::driven::{answers, order};

on_every_version! {
    allowed_once [Permissions]
    each_call_is_asked_about [Permissions]
    denied_with_words [Permissions]
    a_plan_is_approved [Permissions]
    a_plan_is_sent_back [Permissions]
    what_changes_something_is_asked_about_in_plan_mode [Permissions]
}

/// Older CLIs refuse by themselves to replace a file that the model has not read.
mod replacing {
    use super::a_file_that_is_replaced_is_shown_as_a_diff;
    use crate::contract::agent::on_every_agent;

    on_every_agent! {
        a_file_that_is_replaced_is_shown_as_a_diff [Permissions]
    }
}

/// The real CLI tells the model that there is no such tool, and makes no worktree.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_at_work_makes_no_worktree_of_its_own() {
    for actor in [Actor::claude(), Actor::named("RAPPORT_TEST_CLAUDE_2_1_197")] {
        let Some(actor) = actor else { return };
        let (name, input) = ("EnterWorktree".into(), serde_json::json!({ "name": "mine" }));
        let enter = OtherTool {
            name,
            input,
            result: String::new(),
            permission: false,
            id: Some("toolu_enter".into()),
        };
        let scenario = Scenario::new("worktree").step(Step::Tool(enter)).respond_with_text("Done.");
        let stage = actor.with(scenario);
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "--allow-empty", "-m", "x"],
        ] {
            let git = std::process::Command::new("git").args(args).current_dir(stage.path("app")).status();
            assert!(git.unwrap().success());
        }
        let (_, leave) = stage.start().rest().await;
        assert_eq!(leave, finished("Done."));
        let told = stage.model.as_ref().unwrap().tool_result("toolu_enter").unwrap();
        assert!(told.1 && told.0.contains("EnterWorktree"), "{told:?}");
        assert!(!stage.path("app/.claude/worktrees").exists());
    }
}

const PLAN: &str = "# Auth\n\n1. Add JWT\n2. Tests";

async fn allowed_once(actor: Actor) {
    let stage = actor.with(two_files());
    let mut run = stage.start();
    for (call, file, content) in [("toolu_0101", "one.txt", "1"), ("toolu_0102", "two.txt", "2")] {
        let (asked, ask, parkable) = run.asked().await;
        assert_eq!((asked.as_str(), parkable), (call, true));
        let path = stage.path("app").join(file).display().to_string();
        let Ask::Permission(asked) = ask else { panic!("{ask:?}") };
        assert_eq!(asked.text(), format!("  {path}\n+ {content}\n"));
        assert_eq!(stage.file(file), None);
        run.reply(call, CallReply::Allow { asked: "?".into() });
    }
    let (did, leave) = run.rest().await;
    assert!(matches!(&did[0], AgentDid::Take { call } if call.as_str() == "toolu_0102"), "{did:?}");
    assert_eq!(leave, finished("Done."));
    assert_eq!(stage.file("one.txt").as_deref(), Some("1\n"));
    assert_eq!(stage.file("two.txt").as_deref(), Some("2\n"));
}

/// Nothing that is allowed makes the CLI allow more by itself, and nothing is written to its settings.
async fn each_call_is_asked_about(actor: Actor) {
    const COMMAND: &str = "touch made && rm -f other";
    let scenario = Scenario::new("command").uses_bash(COMMAND).with_permission();
    let scenario = scenario.uses_bash(COMMAND).with_permission().respond_with_text("Done.");
    let stage = actor.with(scenario);
    let mut run = stage.start();
    for _ in 0..2 {
        let (call, ask, _) = run.asked().await;
        let Ask::Permission(asked) = ask else { panic!("{ask:?}") };
        assert!(asked.text().ends_with(&format!("\n  {COMMAND}\n")), "{asked:?}");
        assert_eq!(asked.rule.unwrap().to_string(), format!("Bash({COMMAND})"));
        run.reply(call.as_str(), CallReply::Allow { asked: "?".into() });
    }
    let (_, leave) = run.rest().await;
    assert_eq!(leave, finished("Done."));
    assert!(stage.file("made").is_some());
    assert_eq!(stage.file(".claude/settings.local.json"), None);
}

/// What a file would become is compared with its current content.
async fn a_file_that_is_replaced_is_shown_as_a_diff(actor: Actor) {
    let stage = actor.with(two_files());
    std::fs::write(stage.path("app").join("one.txt"), "0\n").unwrap();
    let mut run = stage.start();
    let (call, ask, _) = run.asked().await;
    let Ask::Permission(asked) = ask else { panic!("{ask:?}") };
    assert!(asked.text().ends_with("one.txt\n  @@ -1 +1 @@\n- 0\n+ 1\n"), "{asked:?}");
    run.reply(call.as_str(), CallReply::Deny { asked: "?".into(), message: "No.".into() });
    let (call, ..) = run.asked().await;
    run.reply(call.as_str(), CallReply::Deny { asked: "?".into(), message: "No.".into() });
    assert_eq!(run.leave().await, finished("Done."));
    assert_eq!(stage.file("one.txt").as_deref(), Some("0\n"));
}

async fn denied_with_words(actor: Actor) {
    let stage = actor.with(two_files());
    let mut run = stage.start();
    for call in ["toolu_0101", "toolu_0102"] {
        assert_eq!(run.asked().await.0.as_str(), call);
        run.reply(call, CallReply::Deny { asked: "?".into(), message: "Not there; use `docs/`.".into() });
    }
    assert_eq!(run.leave().await, finished("Done."));
    assert_eq!(stage.tool_result("toolu_0101"), Some(("Not there; use `docs/`.".into(), true)));
    assert_eq!((stage.file("one.txt"), stage.file("two.txt")), (None, None));
}

async fn a_plan_is_approved(actor: Actor) {
    let stage = actor.with(planning());
    let mut run = stage.start_with(Order { kind: TurnKind::Plan, ..order() });
    let (call, ..) = run.asked().await;
    run.reply(call.as_str(), answers(&[("Which database?", "SQLite")]));
    let (call, ask, parkable) = run.asked().await;
    assert_eq!((call.as_str(), parkable), ("toolu_0102", true));
    assert_eq!(ask, Ask::LeavePlanMode { plan: PLAN.into() });
    run.reply(call.as_str(), CallReply::Allow { asked: "?".into() });
    assert_eq!(run.leave().await, finished("Done."));
    // Older CLIs repeat the plan.
    let (told, is_error) = stage.tool_result("toolu_0102").unwrap();
    assert!(told.starts_with("User has approved ") && !is_error, "{told}");
}

async fn a_plan_is_sent_back(actor: Actor) {
    let stage = actor.with(planning());
    let mut run = stage.start_with(Order { kind: TurnKind::Plan, ..order() });
    let (call, ..) = run.asked().await;
    run.reply(call.as_str(), answers(&[("Which database?", "SQLite")]));
    let (call, ..) = run.asked().await;
    run.reply(call.as_str(), CallReply::Deny { asked: "?".into(), message: "The plan is noted.".into() });
    assert_eq!(run.leave().await, finished("Done."));
    assert_eq!(stage.tool_result("toolu_0102"), Some(("The plan is noted.".into(), true)));
}

/// Whatever the scenario says of permissions: in plan mode a person is asked, and what they allow is done.
async fn what_changes_something_is_asked_about_in_plan_mode(actor: Actor) {
    let scenario = Scenario::new("early").uses_write("one.txt", "1\n").uses_bash("echo 2 > two.txt");
    let stage = actor.with(scenario.respond_with_text("Done."));
    let mut run = stage.start_with(Order { kind: TurnKind::Plan, ..order() });
    let (call, ask, _) = run.asked().await;
    assert!(matches!(&ask, Ask::Permission(asked) if asked.tool == "Write"), "{ask:?}");
    run.reply(call.as_str(), CallReply::Deny { asked: "?".into(), message: "Not yet.".into() });
    let (call, ask, _) = run.asked().await;
    assert!(matches!(&ask, Ask::Permission(asked) if asked.tool == "Bash"), "{ask:?}");
    assert_eq!(stage.file("two.txt"), None);
    run.reply(call.as_str(), CallReply::Allow { asked: "?".into() });
    assert_eq!(run.leave().await, finished("Done."));
    assert_eq!((stage.file("one.txt"), stage.file("two.txt").as_deref()), (None, Some("2\n")));
}

fn two_files() -> ScenarioBuilder {
    let scenario = Scenario::new("two files").uses_write("one.txt", "1\n").with_permission();
    scenario.uses_write("two.txt", "2\n").with_permission().respond_with_text("Done.")
}

fn planning() -> ScenarioBuilder {
    let plan = Step::ExitPlan(ExitPlan { plan: PLAN.into(), id: None });
    Scenario::new("planning").asks(database()).step(plan).respond_with_text("Done.")
}
