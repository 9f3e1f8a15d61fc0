//! Failing agents: garbage, death, silence, and being stopped.

use std::path::Path;
use std::time::Duration;

use rapport::agents::Command;
use rapport::agents::claude::channel::ChannelChoice;
use rapport_core::{AgentDid, Ask, CallReply, Leave, Order, Usage};

use super::fake::{Script, World, failure, order};
use super::keeper::{gone, wait_for_file};
use super::recorded::printed;
use crate::support::driven::said;

/// CLARIFY-31. What is JSON and unknown fills a log as quickly as what is not: each kind has its own limit, so that a
/// flood of one hides none of the others.
#[tokio::test]
async fn a_program_that_prints_nothing_but_garbage_does_not_fill_the_log() {
    let flood = |line: &str| format!("i=0; while [ $i -lt 1000 ]; do echo '{line}'; i=$((i+1)); done");
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":529}"#;
    let script = Script::new()
        .sh("i=0; while [ $i -lt 1000 ]; do echo garbage $i; i=$((i+1)); done")
        .sh(&flood(retry))
        .sh(&flood(r#"{"type":"x"}"#))
        .sh(&flood(r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#))
        .sh(&flood(r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash"}"#))
        .say_all(&printed("live-answer")[7..])
        .until_closed();
    let mut run = World::new(script).start();
    let (did, leave) = run.rest().await;
    assert!(matches!(leave, Leave::Finished { .. }), "{leave:?}");
    let lines: Vec<_> = did
        .iter()
        .filter_map(|did| match did {
            AgentDid::Babble { line } => Some(line.as_str()),
            _ => None,
        })
        .collect();
    let not_kept = "(more such lines are not kept)";
    assert_eq!(lines.len(), 201);
    assert_eq!((lines[199], lines[200]), ("garbage 199", not_kept));
    let delays: Vec<_> = did
        .iter()
        .filter_map(|did| match did {
            AgentDid::Delay { why } => Some(why.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(delays.len(), 402, "200 of each kind, and a remark");
    assert!(delays[199].contains("529") && delays[401 - 1].contains("refused Bash"), "{delays:?}");
    assert_eq!((delays[200], delays[401]), (not_kept, not_kept));
    assert_eq!(run.notes.len(), 201);
    assert_eq!((&*run.notes[199], &*run.notes[200]), (r#"{"type":"x"}"#, not_kept));
    // Each failed request is still reported to the person who watches.
    let shown = run.glances.iter().filter_map(|glance| Some(glance.doing.as_ref()?.to_string()));
    assert_eq!(shown.filter(|doing| doing.contains("529")).count(), 1000);
}

/// An agent that is interrupted takes that for a refusal by the user, although no person was asked.
#[tokio::test]
async fn an_agent_that_is_killed_is_not_interrupted() {
    let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Working."}]}}"#;
    let mut run = World::new(Script::new().say(said).until_closed()).start();
    assert!(matches!(run.did().await, Some(AgentDid::Say { .. })));
    run.send(Command::Kill);
    assert_eq!(run.leave().await, Leave::Stopped);
    assert!(!run.told().iter().any(|line| line.to_string().contains("interrupt")), "{:?}", run.told());
}

#[tokio::test]
async fn lines_that_are_not_the_protocol_are_kept_and_change_nothing() {
    let long = "x".repeat(600);
    let script = Script::new()
        .say("npm warn \u{1b}[31mold\u{7}")
        .say("")
        .say(&long)
        .say(r#"{"type":"brand_new","with":["things"]}"#)
        .say(r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning"}}"#)
        .sh(r"printf 'bad \377 bytes\n'")
        .say_all(&printed("live-answer")[7..])
        .until_closed();
    let mut run = World::new(script).start();
    let (did, leave) = run.rest().await;
    let babble = |line: &str| AgentDid::Babble { line: line.into() };
    let expected =
        [babble("npm warn \u{FFFD}[31mold\u{FFFD}"), babble(&long[..500]), babble("bad \u{FFFD} bytes")];
    assert_eq!(did[..3], expected);
    assert!(matches!(did[3..], [AgentDid::Spend { .. }]));
    assert!(matches!(leave, Leave::Finished { .. }));
    // What is its protocol and only not known here is kept as well; a limit is shown, and is not the end.
    assert_eq!(
        run.notes,
        [
            r#"{"type":"brand_new","with":["things"]}"#,
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning"}}"#
        ]
    );
    let shown: Vec<_> =
        run.glances.iter().filter_map(|glance| Some(glance.doing.as_ref()?.to_string())).collect();
    assert!(shown.contains(&"the model's API limits the rate of requests".to_owned()), "{shown:?}");
}

/// An account hears with its replies how much of its limit is left; that is no limit.
#[tokio::test]
async fn what_is_allowed_is_not_shown_as_a_limit() {
    let allowed = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1}}"#;
    let script = Script::new().say(allowed).say_all(&printed("live-answer")[7..]).until_closed();
    let mut run = World::new(script).start();
    assert!(matches!(run.rest().await.1, Leave::Finished { .. }));
    assert_eq!(run.notes, [allowed]);
    let shown: Vec<_> =
        run.glances.iter().filter_map(|glance| Some(glance.doing.as_ref()?.to_string())).collect();
    assert!(!shown.contains(&"the model's API limits the rate of requests".to_owned()), "{shown:?}");
}

/// The CLI cuts text in the middle of a sign and prints the half that is left, as 2.1.325 does. Neither its request nor
/// its result may be lost by that: it would wait for ever.
#[tokio::test]
async fn half_a_sign_spoils_no_line() {
    let request = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"toolu_1","input":{"command":"echo \ud83d"}}}"#;
    let script = Script::new()
        .say(request)
        .hear("control_response")
        .say(r#"{"type":"result","subtype":"success","result":"end \ud83d"}"#)
        .until_closed();
    let mut run = World::new(script).start();
    let (call, ask, _) = run.asked().await;
    assert!(matches!(&ask, Ask::Permission(asked) if asked.what == "echo \u{FFFD}"), "{ask:?}");
    run.reply(call.as_str(), CallReply::Allow { asked: "?".into() });
    assert_eq!(run.rest().await.1, Leave::Finished { result: "end \u{FFFD}".into() });
}

/// CLARIFY-10 for a message that would be taken for a flag.
#[tokio::test]
async fn a_message_that_begins_with_a_hyphen_goes_in_over_the_input() {
    let script = Script::default().sh("cat > input").say(r#"{"type":"result","result":"Done."}"#);
    let mut world = World::new(script);
    world.config.channel = ChannelChoice::Print;
    let mut run = world.start_with(Order { prompt: "- one\n- two".into(), ..order() });
    assert_eq!(run.rest().await.1, Leave::Finished { result: "Done.".into() });
    assert_eq!(std::fs::read_to_string(run.path("input")).unwrap(), "- one\n- two\n");
    assert!(!run.args().contains("one"), "{}", run.args());
}

#[tokio::test]
async fn a_death_is_told_with_its_exit_code_and_last_words() {
    let script = Script::new().say_all(&printed("live-answer")[1..4]).sh("echo out of memory >&2; exit 3");
    let mut run = World::new(script).start();
    let (did, leave) = run.rest().await;
    assert_eq!(failure(leave), "/bin/sh ended without a result (exit code 3)\nout of memory");
    // It told no sum, but its messages told something.
    let usage = Usage { input: 1000, output: 1, ..Usage::default() };
    assert_eq!(did.last(), Some(&AgentDid::Spend { usage }));
}

#[tokio::test]
async fn a_violent_death_in_the_middle_of_a_line() {
    let script = Script::new().sh(r#"printf '{"type":"assista'; kill -9 $$"#);
    let mut run = World::new(script).start();
    assert_eq!(run.did().await, Some(AgentDid::Babble { line: r#"{"type":"assista"#.into() }));
    assert_eq!(failure(run.leave().await), "/bin/sh ended without a result (exit code 137, signal 9)");
}

#[tokio::test]
async fn a_result_right_before_death_counts() {
    let script = Script::new().say_all(&printed("live-answer")[7..]).sh("exit 1");
    assert!(matches!(World::new(script).start().leave().await, Leave::Finished { .. }));
}

#[tokio::test]
async fn a_failed_turn_tells_why() {
    let script = Script::new().say_all(&printed("interrupt")[4..]).until_closed();
    let reason = failure(World::new(script).start().leave().await);
    assert!(reason.starts_with("[ede_diagnostic]"), "{reason}");
}

#[tokio::test]
async fn an_agent_that_cannot_be_started() {
    let mut world = World::new(Script::new());
    world.config.program = "/no/such/agent".into();
    let leave = world.start().leave().await;
    assert!(matches!(leave, Leave::NotStarted { .. }), "{leave:?}");
    let reason = failure(leave);
    assert!(reason.starts_with("cannot start /no/such/agent: No such file"), "{reason}");

    let mut world = World::new(Script::new());
    world.config.keeper = "/no/such/keeper".into();
    let reason = failure(world.start().leave().await);
    assert!(reason.starts_with("cannot start /bin/sh in "), "{reason}");
}

/// What a program prints and how it ends never look like the keeper's report that it was not started.
#[tokio::test]
async fn an_agent_that_says_it_cannot_start_was_started() {
    let script = Script::new().sh("echo 'cannot start /bin/sh: No such file or directory' >&2; exit 127");
    let leave = World::new(script).start().leave().await;
    assert!(matches!(leave, Leave::Failed { .. }), "{leave:?}");
}

#[tokio::test]
async fn an_agent_that_closes_its_output_and_stays_is_ended() {
    let mut world = World::new(Script::new().sh("echo $$ > pid; exec >&- 2>&-; sleep 1000"));
    world.config.grace = Duration::from_millis(200);
    let mut run = world.start();
    assert_eq!(failure(run.leave().await), "/bin/sh closed its output");
    assert!(gone(&run.path("pid")));
}

#[tokio::test]
async fn an_agent_that_says_nothing_is_ended() {
    let mut world = World::new(Script::new().sh("echo $$ > pid; sleep 1000"));
    world.config.silence = Duration::from_millis(300);
    let mut run = world.start();
    assert_eq!(failure(run.leave().await), "/bin/sh was silent for 300ms");
    assert!(gone(&run.path("pid")));
}

#[tokio::test]
async fn who_waits_for_an_answer_may_be_silent() {
    let lines = printed("live-answer");
    let script = Script::new().say(&lines[4]).hear("JWT").say_all(&lines[5..]).until_closed();
    let world = World::new(script);
    let silence = world.config.silence;
    let mut run = world.start();
    let (call, ..) = run.asked().await;
    tokio::time::pause();
    for _ in 0..3 {
        tokio::time::advance(silence * 2).await;
    }
    tokio::time::resume();
    run.reply(call.as_str(), super::fake::answers(&[("Which auth method?", "JWT")]));
    assert!(matches!(run.leave().await, Leave::Finished { .. }));
}

#[tokio::test]
async fn a_line_of_fifty_megabytes_is_read() {
    let script = Script::new()
        .sh(r#"printf '{"type":"assistant","message":{"content":[{"type":"text","text":"'"#)
        .sh("head -c 50000000 /dev/zero | tr '\\0' x")
        .sh(r#"printf '"}]}}\n'"#)
        .say_all(&printed("live-answer")[7..])
        .until_closed();
    let (did, leave) = World::new(script).start().rest().await;
    assert!(matches!(&did[0], AgentDid::Say { text } if text.len() == 50_000_000));
    assert!(matches!(leave, Leave::Finished { .. }));
}

#[tokio::test]
async fn a_line_without_end_is_skipped() {
    let script = Script::new()
        .sh("head -c 70000000 /dev/zero | tr '\\0' x; echo")
        .say_all(&printed("live-answer")[7..])
        .until_closed();
    let (did, leave) = World::new(script).start().rest().await;
    assert!(matches!(&did[..], [AgentDid::Babble { line }, AgentDid::Spend { .. }] if line.len() == 500));
    assert!(matches!(leave, Leave::Finished { .. }));
}

#[tokio::test]
async fn a_flood_on_stderr_does_not_stop_it() {
    let script =
        Script::new().sh("head -c 3000000 /dev/zero | tr '\\0' e >&2").say_all(&printed("live-answer")[7..]);
    assert!(matches!(World::new(script).start().leave().await, Leave::Finished { .. }));
}

#[tokio::test]
async fn stopping_interrupts_and_closes_the_input() {
    let lines = printed("interrupt");
    let script = Script::new().say_all(&lines[1..4]).hear("interrupt").say_all(&lines[4..]).until_closed();
    let mut run = World::new(script.sh("echo > ended")).start();
    while !matches!(run.did().await, Some(AgentDid::Use { .. })) {}
    run.send(Command::Stop);
    run.send(Command::Stop);
    let (did, leave) = run.rest().await;
    assert!(matches!(did[..], [AgentDid::Spend { .. }]), "{did:?}");
    assert_eq!(leave, Leave::Stopped);
    assert!(run.path("ended").exists());
}

#[tokio::test]
async fn who_does_not_stop_is_asked_to_end() {
    let script = Script::new()
        .sh("trap 'echo > terminated; exit 0' TERM; echo > trapped; while :; do sleep 0.05; done");
    let mut world = World::new(script);
    world.config.grace = Duration::from_secs(2);
    let mut run = world.start();
    wait_for_file(&run.path("trapped")).await;
    run.send(Command::Stop);
    assert_eq!(run.leave().await, Leave::Stopped);
    assert!(run.path("terminated").exists());
}

#[tokio::test]
async fn an_agent_that_does_not_want_to_stop_is_ended() {
    let mut world = World::new(Script::new().sh("trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"));
    world.config.grace = Duration::from_millis(300);
    let mut run = world.start();
    wait_for_file(&run.path("pid")).await;
    run.send(Command::Stop);
    assert_eq!(run.leave().await, Leave::Stopped);
    assert!(gone(&run.path("pid")));
}

#[tokio::test]
async fn an_agent_with_an_open_question_is_stopped_without_a_chance_to_guess() {
    let script = Script::new()
        .say(&printed("live-answer")[4])
        .sh("echo $$ > pid")
        .until_closed()
        .sh("echo > guessed; sleep 5");
    let mut run = World::new(script).start();
    run.asked().await;
    wait_for_file(&run.path("pid")).await;
    run.send(Command::Stop);
    let (did, leave) = run.rest().await;
    assert_eq!((did, leave), (vec![], Leave::Stopped));
    assert!(gone(&run.path("pid")) && !run.path("guessed").exists());
}

/// Its input fills up and nothing more can be written; it is heard and stopped all the same.
#[tokio::test]
async fn an_agent_that_does_not_read_is_heard_and_stopped() {
    let script = Script::default().say(&printed("live-answer")[2]).sh("echo $$ > pid; exec sleep 1000");
    let mut world = World::new(script);
    world.config.grace = Duration::from_millis(600);
    let mut run = world.start_with(Order { prompt: "long ".repeat(1_000_000), ..order() });
    assert!(matches!(run.did().await, Some(AgentDid::Say { .. })));
    wait_for_file(&run.path("pid")).await;
    run.send(Command::Say(said(1, "more")));
    run.send(Command::Stop);
    assert_eq!(run.leave().await, Leave::Stopped);
    assert!(gone(&run.path("pid")));
}

#[tokio::test]
async fn without_an_engine_it_ends() {
    let script = Script::new().sh("echo $$ > pid; while :; do echo still here; sleep 0.05; done");
    let run = World::new(script).start();
    wait_for_file(&run.path("pid")).await;
    let world = run.abandon();
    super::keeper::wait_until_gone(&world.path("pid")).await;
}

#[tokio::test]
async fn what_it_left_running_is_gone_when_it_has_left() {
    let script = Script::new()
        .sh("setsid sh -c 'echo $$ > pid; sleep 1000' > /dev/null 2>&1 &")
        .sh("while [ ! -s pid ]; do sleep 0.02; done")
        .say_all(&printed("live-answer")[7..])
        .until_closed();
    let mut run = World::new(script).start();
    assert!(matches!(run.leave().await, Leave::Finished { .. }));
    let pid: &Path = &run.path("pid");
    assert!(gone(pid));
}
