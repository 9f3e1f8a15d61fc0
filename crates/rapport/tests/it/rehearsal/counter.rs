//! Counted invocations: process n plays entry n.

use rapport::agents::rehearsal::scenario::{Counter, Scenario};
use serde_json::Value;

use crate::support::rehearsal::Rehearsal;

fn three() -> rapport::agents::rehearsal::builder::ScenarioBuilder {
    Scenario::new("three")
        .respond_with_text("1")
        .next_invocation()
        .respond_with_text("2")
        .next_invocation()
        .respond_with_text("3")
}

#[test]
fn clarify_20_invocation_n_answers_with_entry_n() {
    let rehearsal = Rehearsal::counted(three());
    for expected in ["1", "2", "3"] {
        assert_eq!(rehearsal.plain(&["go"]).pop().unwrap()["result"], expected);
    }
    let beyond = rehearsal.run(&["-p", "go"]);
    assert_eq!((beyond.status.code(), beyond.stdout, beyond.stderr), (Some(0), Vec::new(), Vec::new()));
}

#[test]
fn clarify_25_resuming_changes_nothing_about_the_count() {
    let rehearsal = Rehearsal::counted(three());
    assert_eq!(rehearsal.plain(&["--resume", "never-seen", "go"]).pop().unwrap()["result"], "1");
    assert_eq!(rehearsal.plain(&["--resume", "never-seen", "go"]).pop().unwrap()["result"], "2");
}

#[test]
fn clarify_27_processes_that_start_together_get_different_entries() {
    let mut scenario = Scenario::new("parallel").respond_with_text("0").counted_by(Counter::Invocations);
    for n in 1..8 {
        scenario = scenario.next_invocation().respond_with_text(&n.to_string());
    }
    let rehearsal = Rehearsal::of(scenario);
    let mut lives: Vec<_> = (0..8).map(|_| rehearsal.live_with(&[], Value::Null, "go")).collect();
    let mut said: Vec<String> =
        lives.iter_mut().map(|live| live.until("result")["result"].as_str().unwrap().to_owned()).collect();
    said.sort();
    assert_eq!(said, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(rehearsal.invocation_count(), 8);
}

// CLARIFY-27: two scenarios that are played side by side have nothing in common.
#[test]
fn clarify_27_scenarios_do_not_meet() {
    let other = Scenario::new("other").respond_with_text("a").next_invocation().respond_with_text("b");
    let (one, two) = (Rehearsal::counted(three()), Rehearsal::counted(other));
    assert_ne!(one.home(), two.home());
    let said = |rehearsal: &Rehearsal| rehearsal.plain(&["go"]).pop().unwrap()["result"].clone();
    assert_eq!([said(&one), said(&two), said(&one), said(&two), said(&one)], ["1", "a", "2", "b", "3"]);
    assert_eq!((one.invocation_count(), two.invocation_count()), (3, 2));
}

#[test]
fn conversations_count_for_themselves() {
    let rehearsal = Rehearsal::of(three());
    for _ in 0..2 {
        let mut live = rehearsal.live_with(&[], Value::Null, "go");
        assert_eq!(live.until("result")["result"], "1");
        live.message("go on");
        assert_eq!(live.until("result")["result"], "2");
    }
}

#[test]
fn a_scenario_with_its_own_session_id_can_be_played_again_from_the_start() {
    let rehearsal = Rehearsal::of(three().with_session_id("fixed"));
    for _ in 0..2 {
        assert_eq!(rehearsal.plain(&["go"]).pop().unwrap()["result"], "1");
        assert_eq!(rehearsal.plain(&["--resume", "fixed", "go"]).pop().unwrap()["result"], "2");
    }
}
