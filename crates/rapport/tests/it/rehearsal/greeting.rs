//! The built-in scenario is what people see first: it must work from the first question to a script that runs.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::rehearsal::{Live, Rehearsal};

/// Answers what is asked until the turn ends; returns the result's text and how many rounds it took.
fn play(live: &mut Live, answers: &Value) -> (String, usize) {
    let mut rounds = 0;
    loop {
        let event = live.event();
        let request = &event["request"];
        match event["type"].as_str().unwrap() {
            "control_request" if request["tool_name"] == "AskUserQuestion" => {
                rounds += 1;
                let questions = request["input"]["questions"].as_array().unwrap();
                let given = questions.iter().map(|q| q["question"].as_str().unwrap());
                let given: Value = given.map(|text| (text.to_owned(), answers[text].clone())).collect();
                live.answer(&event, given);
            }
            "control_request" => {
                assert_eq!(request["tool_name"], "Bash");
                live.respond(&event, json!({"behavior": "allow"}));
            }
            "result" => return (event["result"].as_str().unwrap().to_owned(), rounds),
            _ => {}
        }
    }
}

#[test]
fn greeting_plans_and_works() {
    let odd_name = "O'Neil \"$(touch oops)\" `x`";
    for (language, tone, whom, ending, greeting) in [
        ("German", "Friendly", "World", "!", "Hallo, World!\nHave a good day.\n:-)\n"),
        (
            "English",
            "Formal",
            odd_name,
            "…",
            "Good day, O'Neil \"$(touch oops)\" `x`…\nHave a good day.\n:-)\n",
        ),
    ] {
        let rehearsal = Rehearsal::built_in("greeting");
        let answers = json!({
            "Which language should the greeting speak?": language, "Which extras should it have?": "Smile, Wish",
            "Whom should it greet?": whom, "Which tone should it have?": tone, "How should the greeting end?": ending,
        });
        let mut live = rehearsal.live_with(&[], Value::Null, "add a greeting");
        let (plan, rounds) = play(&mut live, &answers);
        assert!(plan.starts_with("# Greeting\n") && plan.contains(language) && plan.contains(whom), "{plan}");
        assert_eq!((rounds, rehearsal.file("greeting.sh")), (2, None));

        live.message("The plan is fine. Go on.");
        let (report, rounds) = play(&mut live, &answers);
        assert_eq!((report, rounds), (format!("Done: greeting.sh greets {whom} in {language}."), 1));
        let ran = Command::new("sh").arg("greeting.sh").current_dir(rehearsal.project()).output().unwrap();
        assert_eq!(String::from_utf8(ran.stdout).unwrap(), greeting);
        assert_eq!(rehearsal.file("oops"), None);
    }
}
