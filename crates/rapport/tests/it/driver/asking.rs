//! The live channel: questions, permissions, plans, parking.

use rapport::agents::{Command, Patience};
use rapport_core::{AgentDid, Ask, Beside, CallId, CallReply, Leave, Order, TurnKind, Usage};
use serde_json::json;

use super::fake::{Script, World, answers, failure, order};
use super::recorded::printed;
use crate::support::driven::said;

/// CLARIFY-4, CLARIFY-5
#[tokio::test]
async fn a_question_is_answered_live() {
    let lines = printed("live-answer");
    let script =
        Script::new().hear("add auth").say_all(&lines[..5]).hear("JWT").say_all(&lines[5..]).until_closed();
    let mut run = World::new(script).start();

    let (call, ask, parkable) = run.asked().await;
    let Ask::Questions(drafts) = ask else { panic!("{ask:?}") };
    assert_eq!((call.as_str(), parkable), ("toolu_ask1", true));
    assert_eq!(drafts[0].text, "Which auth method?");
    assert_eq!(drafts[0].options[0].description.as_deref(), Some("Stateless tokens"));
    assert_eq!((drafts[0].multi, drafts[1].multi, drafts[1].free_text), (false, true, true));

    run.reply("toolu_ask1", answers(&[("Which auth method?", "JWT"), ("Which providers?", "Google")]));
    let (did, leave) = run.rest().await;
    let usage = Usage { input: 2000, output: 100, cost_micros: 10_000, ..Usage::default() };
    assert_eq!(
        did,
        [
            AgentDid::Take { call },
            AgentDid::Say { text: "Thanks. Done planning.".into() },
            AgentDid::Spend { usage }
        ]
    );
    assert_eq!(leave, Leave::Finished { result: "Thanks. Done planning.".into() });
    assert_eq!(run.told()[0]["request"]["subtype"], "initialize");
    assert_eq!(run.messages(), ["add auth"]);
    let answered = &run.responses()[0]["updatedInput"]["answers"];
    assert_eq!(*answered, json!({"Which auth method?": "JWT", "Which providers?": "Google"}));
    assert_eq!(
        run.args(),
        "--settings {\"useAutoModeDuringPlan\":false} \
         -p --verbose --input-format stream-json --output-format stream-json --permission-prompt-tool stdio \
         --replay-user-messages --include-partial-messages --session-id 11111111-2222-4333-8444-555555555555 --permission-mode default \
         --append-system-prompt Your question tool is AskUserQuestion. --disallowedTools EnterWorktree,ExitWorktree"
    );
}

#[tokio::test]
async fn what_it_does_is_told_in_order() {
    let script = Script::new().say_all(&printed("live-answer")).until_closed();
    let mut run = World::new(script).start();
    let (did, _) = run.rest().await;
    let kinds: Vec<_> =
        did.iter().map(|did| format!("{did:?}").split([' ', '{']).next().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["Connect", "Say", "Ask", "Take", "Say", "Spend"]);
}

#[tokio::test]
async fn two_questions_at_once_are_answered_in_any_order() {
    let lines = printed("two-questions-at-once");
    let script =
        Script::new().say_all(&lines[..6]).hear("Cookie").hear("PG").say_all(&lines[6..]).until_closed();
    let mut run = World::new(script).start();
    let (first, ..) = run.asked().await;
    let (second, ..) = run.asked().await;
    assert_eq!((first.as_str(), second.as_str()), ("toolu_ask0", "toolu_ask1"));
    run.reply("toolu_ask1", answers(&[("Which storage?", "Cookie")]));
    run.reply("toolu_ask0", answers(&[("Which db?", "PG")]));
    let (did, leave) = run.rest().await;
    let taken = did.iter().filter(|did| matches!(did, AgentDid::Take { .. })).count();
    assert_eq!((taken, leave), (2, Leave::Finished { result: "Done.".into() }));
}

#[tokio::test]
async fn a_question_at_the_hook_can_be_put_away() {
    let lines = printed("question-deferred");
    let script = Script::new().say_all(&lines[..5]).hear("defer").say_all(&lines[5..]).until_closed();
    let mut run = World::new(script).start();
    let (call, _, parkable) = run.asked().await;
    assert!(parkable);
    run.send(Command::Park { call: call.clone(), patience: Patience::Wait });
    run.send(Command::Park { call: call.clone(), patience: Patience::Wait });
    let (did, leave) = run.rest().await;
    assert!(matches!(did[..], [AgentDid::Spend { .. }]), "{did:?}");
    assert_eq!(leave, Leave::Deferred { call });
    assert_eq!(run.responses().len(), 1);
}

/// Versions before 2.1.90 pass over a hook that defers, and ask at the next door. Their process is ended there, once
/// the transcript holds the call.
#[tokio::test]
async fn a_question_that_the_cli_does_not_put_away_is_parked_by_ending_it() {
    let lines = printed("question-deferred");
    let ids = lines.iter().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let id = ids.into_iter().find_map(|line| Some(line["session_id"].as_str()?.to_owned())).unwrap();
    let folder = ".claude/projects/any";
    let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_ask1","name":"AskUserQuestion"}]}}"#;
    let script = Script::new().say_all(&lines[..5]).hear("defer").say(&printed("live-answer")[4]);
    let script = script.sh(&format!("mkdir -p {folder}; printf '%s\\n' '{call}' > {folder}/{id}.jsonl"));
    let mut run = World::new(script.until_closed()).start();
    let (call, ..) = run.asked().await;
    run.send(Command::Park { call: call.clone(), patience: Patience::Wait });
    assert_eq!(run.leave().await, Leave::Deferred { call });
    assert_eq!(run.responses().len(), 1, "it is deferred, and told nothing else");
}

#[tokio::test]
async fn a_question_at_the_hook_can_be_answered_or_refused_and_then_is_not_put_away() {
    let lines = printed("question-deferred");
    for (reply, decision) in [
        (answers(&[("Which auth method?", "JWT")]), "allow"),
        (CallReply::Deny { asked: "?".into(), message: "Nobody answered".into() }, "deny"),
    ] {
        let script =
            Script::new().say_all(&lines[..5]).hear("control_response").say_all(&printed("live-answer")[7..]);
        let mut run = World::new(script.until_closed()).start();
        let (call, ..) = run.asked().await;
        run.send(Command::Reply { call: call.clone(), reply: reply.clone() });
        run.send(Command::Reply { call: call.clone(), reply });
        run.send(Command::Park { call, patience: Patience::Wait });
        assert!(matches!(run.leave().await, Leave::Finished { .. }));
        let responses = run.responses();
        assert_eq!(responses.len(), 1);
        assert_eq!(responses[0]["hookSpecificOutput"]["permissionDecision"], decision);
    }
}

#[tokio::test]
async fn a_question_answered_at_the_hook_and_asked_once_more_gets_the_same_answer_without_a_report() {
    let hook = &printed("question-deferred")[4];
    let asked = &printed("live-answer")[4];
    let script =
        Script::new().say(hook).hear("JWT").say(asked).hear("JWT").say_all(&printed("live-answer")[7..]);
    let mut run = World::new(script.until_closed()).start();
    run.asked().await;
    run.reply("toolu_ask1", answers(&[("Which auth method?", "JWT")]));
    let (did, leave) = run.rest().await;
    assert!(!did.iter().any(|did| matches!(did, AgentDid::Ask { .. })));
    assert!(matches!(leave, Leave::Finished { .. }));
    assert_eq!(run.responses()[1]["behavior"], "allow");
}

/// Answers go by the question's text: of two equal ones, one answer would be lost.
#[tokio::test]
async fn two_questions_in_the_same_words_are_refused_before_anybody_is_asked() {
    for (recorded, line, refusal) in [("question-deferred", 4, "Reason"), ("live-answer", 4, "message")] {
        let mut asked: serde_json::Value = serde_json::from_str(&printed(recorded)[line]).unwrap();
        let input = &mut asked["request"]["input"];
        let input = if input["tool_input"].is_object() { &mut input["tool_input"] } else { input };
        input["questions"][1]["question"] = input["questions"][0]["question"].clone();
        let script = Script::new().say(&asked.to_string()).hear("have the same text");
        let mut run = World::new(script.say_all(&printed("live-answer")[7..]).until_closed()).start();
        let (did, leave) = run.rest().await;
        assert!(!did.iter().any(|did| matches!(did, AgentDid::Ask { .. })), "{did:?}");
        assert!(matches!(leave, Leave::Finished { .. }));
        assert!(run.responses()[0].to_string().contains(refusal));
    }
}

#[tokio::test]
async fn other_tools_ask_for_permission() {
    let lines = printed("tool-permission");
    let script = Script::new().say_all(&lines[..5]).hear("control_response").say_all(&lines[5..8]);
    let mut run = World::new(script.hear("control_response").say_all(&lines[8..]).until_closed()).start();
    let (call, ask, parkable) = run.asked().await;
    let Ask::Permission(asked) = ask else { panic!("{ask:?}") };
    assert_eq!(asked.text(), "  /home/dev/app/hello.txt\n+ hi\n");
    assert!(parkable);
    run.reply(call.as_str(), CallReply::Allow { asked: "?".into() });
    let (call, ask, _) = run.asked().await;
    let Ask::Permission(asked) = ask else { panic!("{ask:?}") };
    assert_eq!(asked.text(), "  It says: Clean build\n  touch x && rm -rf build\n");
    assert_eq!(asked.rule.unwrap().to_string(), "Bash(touch x && rm -rf build)");
    run.reply(call.as_str(), CallReply::Deny { asked: "?".into(), message: "No".into() });
    let (did, _) = run.rest().await;
    assert!(did.contains(&AgentDid::Take { call }));

    let responses = run.responses();
    // The CLI is given no rule and no mode, whatever it suggested.
    assert_eq!(responses[0].get("updatedPermissions"), None);
    assert_eq!(
        responses[0]["updatedInput"],
        json!({"file_path": "/home/dev/app/hello.txt", "content": "hi\n"})
    );
    assert_eq!(responses[1], json!({"behavior": "deny", "message": "No"}));
}

/// No person was asked about such a call, so it is reported in words.
#[tokio::test]
async fn a_call_that_the_cli_refused_itself_is_told() {
    let denied = json!({"type": "system", "subtype": "permission_denied", "tool_name": "Bash",
        "tool_use_id": "toolu_1", "decision_reason_type": "rule", "decision_reason": "git push is denied",
        "message": "Permission to use Bash has been denied."});
    let script = Script::new().say(&denied.to_string()).say_all(&printed("live-answer")[7..]);
    let (did, _) = World::new(script.until_closed()).start().rest().await;
    let why = "the agent's program refused Bash and asked nobody: git push is denied".to_owned();
    assert!(did.contains(&AgentDid::Delay { why }), "{did:?}");
    assert!(!did.iter().any(|did| matches!(did, AgentDid::Note { .. })), "{did:?}");
}

#[tokio::test]
async fn allowing_once_notes_nothing_down() {
    let script = Script::new().say(&printed("tool-permission")[4]).hear("control_response").until_closed();
    let mut run = World::new(script).start();
    let (call, ..) = run.asked().await;
    run.reply(call.as_str(), CallReply::Allow { asked: "?".into() });
    run.send(Command::Stop);
    assert_eq!(run.leave().await, Leave::Stopped);
    assert_eq!(run.responses()[0].get("updatedPermissions"), None);
}

#[tokio::test]
async fn leaving_plan_mode_brings_the_plan_of_the_call() {
    let lines = printed("plan-mode");
    let script =
        Script::new().say_all(&lines[4..7]).hear("control_response").say_all(&lines[7..]).until_closed();
    let mut run = World::new(script).start_with(rapport_core::Order { kind: TurnKind::Plan, ..order() });
    let (call, ask, _) = run.asked().await;
    assert_eq!(ask, Ask::LeavePlanMode { plan: "# Plan\n1. Add JWT\n2. Tests".into() });
    run.reply(call.as_str(), CallReply::Allow { asked: "?".into() });
    assert_eq!(run.leave().await, Leave::Finished { result: "Executing.".into() });
    assert_eq!(run.responses()[0], json!({"behavior": "allow", "updatedInput": {}}));
    assert!(
        run.args().contains("--permission-mode plan --append-system-prompt Your question tool is AskUserQuestion. --disallowedTools EnterPlanMode,EnterWorktree,"),
        "{}",
        run.args()
    );
}

/// An agent works where its session does: in a worktree of its own its changes would be in no report, and some
/// versions leave it when they are resumed.
#[tokio::test]
async fn an_agent_at_work_cannot_move_to_a_worktree() {
    for kind in [TurnKind::Work, TurnKind::Chat] {
        let script = Script::new().say_all(&printed("live-answer")[7..]).until_closed();
        let mut run = World::new(script).start_with(rapport_core::Order { kind, ..order() });
        run.leave().await;
        assert!(run.args().contains("--disallowedTools EnterWorktree,ExitWorktree"), "{}", run.args());
    }
}

#[tokio::test]
async fn a_question_that_is_taken_back_is_withdrawn() {
    let asked = &printed("live-answer")[4];
    let cancel = r#"{"type":"control_cancel_request","request_id":"9089f8cc-0edf-4d9c-8007-c9a148191076"}"#;
    let script = Script::new().say(asked).say(cancel).say(cancel).say_all(&printed("live-answer")[6..]);
    let mut run = World::new(script.until_closed()).start();
    let (call, ..) = run.asked().await;
    assert_eq!(run.did().await, Some(AgentDid::Withdraw { call }));
    assert!(!run.rest().await.0.iter().any(|did| matches!(did, AgentDid::Withdraw { .. })));
}

#[tokio::test]
async fn a_request_nobody_understands_is_refused_rather_than_left_waiting() {
    let request = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"juggle"}}"#;
    let script =
        Script::new().say(request).hear("juggle is not supported").say_all(&printed("live-answer")[7..]);
    let mut run = World::new(script.until_closed()).start();
    assert!(matches!(run.leave().await, Leave::Finished { .. }));
    // A question that no person was asked leaves a trace: the CLI continues as if a person had refused.
    assert_eq!(run.notes.iter().filter(|line| line.contains("juggle")).count(), 1, "{:?}", run.notes);
}

/// An agent that leaves work to agents of its own says so and waits for them, as 2.1.325 does: it is not done before
/// they are.
#[tokio::test]
async fn agents_of_the_agent_are_waited_for() {
    let tasks = |tasks: &str| {
        format!(r#"{{"type":"system","subtype":"background_tasks_changed","tasks":[{tasks}]}}"#)
    };
    let result = |words: &str| format!(r#"{{"type":"result","subtype":"success","result":"{words}"}}"#);
    let server = r#"{"task_id":"b","task_type":"local_bash"}"#;
    let agent = r#"{"task_id":"a","task_type":"local_agent"}"#;
    let script = Script::new()
        .say(&tasks(&format!("{server},{agent}")))
        .say(&result("It is at work."))
        .say(&tasks(server))
        .say(&result("Now it is done."))
        .until_closed();
    let mut run = World::new(script).start();
    assert_eq!(run.rest().await.1, Leave::Finished { result: "Now it is done.".into() });
    // What may run for ever is not waited for.
    let script = Script::new().say(&tasks(server)).say(&result("The server runs.")).until_closed();
    assert_eq!(
        World::new(script).start().rest().await.1,
        Leave::Finished { result: "The server runs.".into() }
    );
}

/// CLI 2.1.61 reports that a sub-agent started, and its end only by the result of the call that waited for it. A call
/// that returned while its agent continues ends nothing.
#[tokio::test]
async fn an_agent_whose_call_returned_is_not_waited_for() {
    let started = json!({"type": "system", "subtype": "task_started", "task_id": "a1", "task_type": "local_agent", "tool_use_id": "toolu_1"});
    let returned = |status: &str, is_error: bool| {
        let block =
            json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "", "is_error": is_error});
        json!({"type": "user", "message": {"content": [block]}, "tool_use_result": {"status": status}})
    };
    let result =
        |words: &str| json!({"type": "result", "stop_reason": "end_turn", "result": words}).to_string();
    for (status, is_error, ended_with) in [
        ("completed", false, "It is done."),
        ("", true, "It is done."),
        ("async_launched", false, "Now it is done."),
    ] {
        let ended =
            json!({"type": "system", "subtype": "task_notification", "task_id": "a1", "status": "completed"});
        let script = Script::new()
            .say(&started.to_string())
            .say(&returned(status, is_error).to_string())
            .say(&result("It is done."))
            .say(&ended.to_string())
            .say(&result("Now it is done."))
            .until_closed();
        let (_, leave) = World::new(script).start().rest().await;
        assert_eq!(leave, Leave::Finished { result: ended_with.into() }, "{status:?}");
    }
}

/// The end of a task still waits to be read: the CLI would begin another turn to tell it, and continue without the
/// answer.
#[tokio::test]
async fn a_call_is_kept_until_the_model_was_told_what_ended_beside_it() {
    let tasks = |tasks: serde_json::Value| {
        json!({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks}).to_string()
    };
    let input = json!({"tool_name": "AskUserQuestion", "tool_use_id": "toolu_2", "tool_input": {"questions": ["Which db?"]}});
    let hook =
        json!({"subtype": "hook_callback", "callback_id": "ask", "tool_use_id": "toolu_2", "input": input});
    let done = json!({"type": "result", "stop_reason": "end_turn", "result": "Done."});
    let script = Script::new()
        .say(&tasks(json!([{"task_id": "a1", "task_type": "local_agent"}])))
        .say(&json!({"type": "control_request", "request_id": "r1", "request": hook}).to_string())
        .say(&tasks(json!([])))
        .hear("Postgres")
        .say(&done.to_string())
        .until_closed();
    let mut run = World::new(script).start();
    let (call, _, parkable) = run.asked().await;
    assert!(parkable);
    run.send(Command::Park { call: call.clone(), patience: Patience::Wait });
    let kept = AgentDid::StayHot { call: call.clone(), beside: Beside::Agent };
    assert_eq!(run.did().await, Some(kept));
    run.reply(call.as_str(), answers(&[("Which db?", "Postgres")]));
    assert_eq!(run.leave().await, Leave::Finished { result: "Done.".into() });
    assert!(!run.told().iter().any(|line| line.to_string().contains("defer")), "{:?}", run.told());
}

/// Half a reply is no plan and no result. A CLI that gives up on a broken stream says that the turn has no end.
#[tokio::test]
async fn a_reply_that_was_cut_off_is_a_failure() {
    let half = json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "First"}]}});
    let ends = json!({"type": "result", "subtype": "success", "stop_reason": null, "result": "First"});
    let script = Script::new().say(&half.to_string()).say(&ends.to_string()).until_closed();
    let reason = failure(World::new(script).start().leave().await);
    assert_eq!(reason, "the reply of the model was cut off");
}

/// CLI 2.1.61 says of no turn why it ended. There the stream tells a whole reply from half of one.
#[tokio::test]
async fn a_turn_without_a_reason_for_its_end_is_judged_by_its_stream() {
    let stream = |event: &str| json!({"type": "stream_event", "event": {"type": event}}).to_string();
    let said = json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}});
    let result =
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]}});
    let ends =
        json!({"type": "result", "subtype": "success", "stop_reason": null, "result": "Done."}).to_string();
    let whole =
        || Script::new().say(&stream("message_start")).say(&said.to_string()).say(&stream("message_stop"));
    let left = async |script: Script| World::new(script.say(&ends).until_closed()).start().leave().await;
    assert_eq!(left(whole()).await, Leave::Finished { result: "Done.".into() });
    let cut_off = "the reply of the model was cut off";
    assert_eq!(
        failure(left(whole().say(&stream("message_start"))).await),
        cut_off,
        "the second message broke off"
    );
    assert_eq!(
        failure(left(whole().say(&result.to_string())).await),
        cut_off,
        "nothing was said to a result"
    );
}

/// CLIs 2.1.197 and 2.1.90 report the reason of the message before if a message broke off after a whole one.
#[tokio::test]
async fn a_turn_that_ends_with_the_reason_of_an_earlier_message_is_judged_by_its_stream() {
    let stream = |event: &str| json!({"type": "stream_event", "event": {"type": event}}).to_string();
    let half = json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "First"}]}});
    let ends = json!({"type": "result", "subtype": "success", "stop_reason": "tool_use", "result": "First"});
    let begun = || Script::new().say(&stream("message_start")).say(&half.to_string());
    let left =
        async |script: Script| World::new(script.say(&ends.to_string()).until_closed()).start().leave().await;
    assert_eq!(failure(left(begun()).await), "the reply of the model was cut off");
    assert_eq!(left(begun().say(&stream("message_stop"))).await, Leave::Finished { result: "First".into() });
}

/// A conversation that was cut off with a command in the background begins with a turn about that.
#[tokio::test]
async fn a_turn_before_the_first_message_ends_nothing() {
    let empty =
        json!({"type": "result", "subtype": "success", "stop_reason": null, "num_turns": 0, "result": ""});
    let said = json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}});
    let done = json!({"type": "result", "subtype": "success", "stop_reason": "end_turn", "result": "Done."});
    let script = Script::new().say(&empty.to_string()).say(&said.to_string()).say(&done.to_string());
    let leave = World::new(script.until_closed()).start().leave().await;
    assert_eq!(leave, Leave::Finished { result: "Done.".into() });
}

/// What was said to it too late for its turn makes another, and the run lasts as long.
#[tokio::test]
async fn a_message_that_was_not_read_yet_makes_another_turn() {
    let result = &printed("live-answer")[7];
    // The message comes back when it is resumed; others may, too.
    let other =
        json!({"type": "user", "message": {"role": "user", "content": "and tests"}, "isReplay": true});
    let script = Script::new().hear("and tests").say(&other.to_string()).say(result);
    let script = script.sh(r#"printf '%s\n' "${line%\}},\"isReplay\":true}""#);
    let mut run = World::new(script.say(&result.replace("Thanks. ", "")).until_closed()).start();
    run.send(Command::Say(said(1, "and tests")));
    let (did, leave) = run.rest().await;
    let read = AgentDid::Read { message: 1 };
    assert!(
        matches!(&did[..], [AgentDid::Spend { .. }, heard, AgentDid::Spend { .. }] if *heard == read),
        "{did:?}"
    );
    assert_eq!(leave, Leave::Finished { result: "Done planning.".into() });
    assert_eq!(run.messages(), ["add auth", "and tests"]);
}

/// A command that was left running ends while the agent rests, and it says something to that. That is no reply to
/// what it is told meanwhile.
#[tokio::test]
async fn a_turn_that_the_agent_began_itself_is_not_the_next() {
    let result = |words: &str| format!(r#"{{"type":"result","subtype":"success","result":"{words}"}}"#);
    let script = Script::new()
        .say(&result("Hello."))
        .say(&result("The server ended."))
        .hear("and now?")
        .say(&result("The tests ended."))
        .sh(r#"printf '%s\n' "${line%\}},\"isReplay\":true}""#)
        .say(&result("Goodbye."))
        .until_closed();
    let linger = Some(jiff::SignedDuration::from_hours(1));
    let mut run = World::new(script).start_with(Order { kind: TurnKind::Chat, linger, ..order() });
    assert_eq!(run.until_finished().await, "Hello.");
    run.send(Command::Next { prompt: "and now?".into() });
    assert_eq!(run.until_finished().await, "Goodbye.");
}

/// CLARIFY-5: what an older CLI refused is asked after all, and the answer comes with the next start.
#[tokio::test]
async fn questions_among_the_denials_are_asked() {
    let mut result: serde_json::Value = serde_json::from_str(&printed("live-answer")[7]).unwrap();
    let input = json!({"questions": ["Which db?"]});
    result["permission_denials"] = json!([
        {"tool_name": "AskUserQuestion", "tool_use_id": "toolu_9", "tool_input": input},
        {"tool_name": "Bash", "tool_use_id": "toolu_8", "tool_input": {"command": "ls"}},
    ]);
    let mut run = World::new(Script::new().say(&result.to_string()).until_closed()).start();
    let (call, ask, _) = run.asked().await;
    let Ask::Questions(drafts) = ask else { panic!("{ask:?}") };
    assert_eq!(drafts[0].text, "Which db?");
    assert_eq!(run.leave().await, Leave::Deferred { call: CallId::new("toolu_9") });
    assert_eq!(call.as_str(), "toolu_9");
}
