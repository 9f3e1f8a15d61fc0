//! Mistakes in a scenario: a message says where, what, and what was expected, and quotes the lines there.

use crate::support::rehearsal::Rehearsal;

fn check(text: &str, place: &str, said: &[&str]) {
    let rehearsal = Rehearsal::of_text(text);
    let output = rehearsal.run(&["-p", "go"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(output.stdout, b"");
    let said = [&[place][..], said].concat();
    for part in said {
        assert!(stderr.contains(part), "no {part:?} in:\n{stderr}");
    }
}

#[test]
fn each_mistake_is_shown_at_its_place() {
    let head = "version: 1\nname: t\ninvocations:\n";
    check(
        "version: 1\nnmae: t\ninvocations: []\n",
        "scenario.yaml:2:1",
        &["nmae", "name", "session_id", "invocations"],
    );
    check("version: 2\nname: t\ninvocations: []\n", "scenario.yaml:1:10", &["version 2", "expected 1"]);
    check("name: t\ninvocations: []\n", "scenario.yaml:2", &["missing field `version`"]);
    check(&format!("{head}- stepz: []\n"), "scenario.yaml:4:3", &["stepz", "steps", "crash_after_events"]);
    check(
        &format!("{head}- steps:\n  - txt: hi\n"),
        "scenario.yaml:5:5",
        &["txt", "text", "together", "  - txt: hi"],
    );
    check(&format!("{head}- steps:\n  - write: {{path: a}}\n"), "scenario.yaml:5", &["content"]);
    check(&format!("{head}- steps:\n  - delay: soon\n"), "scenario.yaml:5:12", &["delay: soon"]);
    check(
        &format!("{head}- steps:\n  - ask: {{questions: []}}\n"),
        "scenario.yaml:5",
        &["at least one question"],
    );
    check(
        &format!("{head}- steps:\n  - ask: {{questions: [{{qestion: a}}]}}\n"),
        "scenario.yaml:5",
        &["qestion", "multiSelect"],
    );
    check(&format!("{head}- steps:\n  - together: [{{text: hi}}]\n"), "scenario.yaml:5", &["text", "ask"]);
    check(&format!("{head}- steps:\n  - hang: maybe\n"), "scenario.yaml:5", &["until_eof"]);
    check(&format!("{head}- steps: [\n"), "scenario.yaml:", &[]);
    check(
        "version: 1\nname: t\ninvocations: []\nbatches: [5]\n",
        "scenario.yaml:4",
        &["a map such as {questions, done}"],
    );
}

#[test]
fn a_scenario_that_is_not_there_names_those_that_are() {
    let output = Rehearsal::built_in("greetings").run(&["-p", "go"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("\"greetings\"") && stderr.contains("Built-in scenarios: greeting"), "{stderr}");
}
