//! Calls with `--json-schema`: one message, one reply, no conversation. The reply is a round of the scenario's
//! `batches`, chosen by the answers in the message.

use std::io::{Read, Write};

use rapport_core::Brief;
use serde_json::{Value, json};

use super::arguments::{Arguments, Input};
use super::host::message_text;
use super::output::Output;
use super::player::Stop;
use super::record::Recorder;
use super::result::{Ending, Sums, Totals, result_event};
use super::scenario::{Entry, Scenario};
use super::stream::{Event, Session, new_uuid};

/// Replies to the message on the command line or on stdin.
pub(super) fn run(arguments: &Arguments, scenario: &Scenario, mut recorder: Recorder) -> Result<(), Stop> {
    let message = match &arguments.message {
        Some(message) => message.clone(),
        None => read_stdin(arguments.input, &mut recorder)?,
    };
    let session = Session {
        id: arguments.session_id.clone().unwrap_or_else(new_uuid),
        cwd: std::env::current_dir()?.to_string_lossy().into_owned(),
        model: arguments.model.clone().unwrap_or_else(|| "claude-rehearsal-1".to_owned()),
        permission_mode: arguments.permission_mode.clone().unwrap_or_else(|| "default".to_owned()),
    };
    let reply = choose(&scenario.batches, answered(&message), tries(&message));
    let mut output = Output::new(arguments.output, recorder.stdout);
    output.event(&Event::init(&session))?;
    output.result(&event(&session, &reply))
}

/// The result event: a round is given as JSON and as text, a text only as text.
fn event(session: &Session, reply: &Value) -> Value {
    let text = reply.as_str().map_or_else(|| reply.to_string(), str::to_owned);
    let stop_reason = if reply.is_object() { "tool_use" } else { "end_turn" };
    let ending = Ending::Completed {
        text,
        stop_reason: stop_reason.to_owned(),
        subtype: "success".to_owned(),
        is_error: false,
    };
    let spent = Totals::per_response(&Entry::default());
    let sums = Sums { conversation: spent, turn: spent, num_turns: 2, ..Sums::default() };
    let mut event = result_event(session, ending, &sums);
    if reply.is_object() {
        event["structured_output"] = reply.clone();
    }
    event
}

/// The round with the next unanswered question. Texts before a round are unusable replies: the first attempts get them.
/// After the last round nothing more has to be known.
fn choose(batches: &[Value], answered: usize, tries: usize) -> Value {
    let mut asked = 0;
    let mut words = 0;
    for reply in batches {
        let questions = reply["questions"].as_array().map_or(0, Vec::len);
        if reply.is_string() {
            if answered == asked && words == tries {
                return reply.clone();
            }
            words += 1;
            continue;
        }
        if answered < asked + questions || questions == 0 && answered == asked {
            return reply.clone();
        }
        asked += questions;
        words = 0;
    }
    json!({"done": true, "questions": []})
}

/// The number of answers in the message.
fn answered(message: &str) -> usize {
    let told = message.rsplit_once(Brief::ANSWERS_SO_FAR).map_or("", |(_, told)| told);
    told.lines().skip(1).take_while(|line| line.starts_with("Q: ")).count()
}

/// The number of unusable replies before.
fn tries(message: &str) -> usize {
    message.matches(Brief::NOT_USABLE).count()
}

fn read_stdin(input: Input, recorder: &mut Recorder) -> Result<String, Stop> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    if let Some(record) = &mut recorder.stdin {
        record.write_all(text.as_bytes())?;
    }
    Ok(match input {
        Input::Text => text,
        Input::Stream => text.lines().filter_map(user_text).collect::<Vec<_>>().join("\n"),
    })
}

/// The text of a user message from the host.
fn user_text(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    (line["type"] == "user").then(|| message_text(&line["message"]["content"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_in_the_message_tell_which_round_is_next() {
        let round = |names: &[&str]| json!({"questions": names});
        let batches = [round(&["a", "b"]), json!("hm"), json!("well"), round(&["c"])];
        for (answered, tries, expected) in [
            (0, 0, &batches[0]),
            (0, 1, &batches[0]),
            (1, 0, &batches[0]),
            (2, 0, &batches[1]),
            (2, 1, &batches[2]),
            (2, 2, &batches[3]),
            (3, 0, &json!({"done": true, "questions": []})),
            (9, 0, &json!({"done": true, "questions": []})),
        ] {
            assert_eq!(choose(&batches, answered, tries), *expected, "{answered} answers, try {tries}");
        }
    }

    #[test]
    fn answers_are_counted_where_they_are_told() {
        let brief = |round, answers: &[(&str, &str)]| Brief {
            task: "Q: is this one? → no".into(),
            round,
            max_rounds: 3,
            answered: answers.iter().map(|(q, a)| ((*q).into(), (*a).into())).collect(),
        };
        assert_eq!(answered(&brief(1, &[]).prompt()), 0);
        assert_eq!(answered(&brief(2, &[("a?", "x\nQ: y"), ("b?", "y")]).prompt()), 2);
        assert_eq!(tries(&brief(1, &[]).prompt()), 0);
        assert_eq!(tries(&brief(1, &[]).prompt_again("it is prose")), 1);
    }
}
