//! Questions of agents reach the phone, whatever runs them, and answers reach the agents.

use rapport_core::{By, Event, PLAN_IS_BEHIND};

use super::{ANNA, Stage};
use crate::support::patience::wait_for;
use crate::support::scenarios::ONE_QUESTION;
use crate::support::telegram::{ChatMessage, Content, Fault};

pub(super) const ASKING: &str = r##"
version: 1
name: asking
invocations:
  - steps:
      - text: "Let me see."
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red, description: "Like fire" }, { label: Blue }] }, { question: "Which shades?", multiSelect: true, options: [{ label: Light }, { label: Dark }, { label: Pale }] }] }
      - bash: { command: "echo built > built.txt", permission: true }
    result: "Painted {{answer:1}}, {{answer:2}}."
"##;

/// The agent's own question tool, several choices with toggles, and a permission with what exactly would run.
#[tokio::test]
async fn an_agent_asks_in_the_chat_and_goes_on_with_the_answers() {
    let stage = Stage::playing(ASKING).await;
    let anna = stage.anna();
    anna.types("paint it");
    let card = anna.sees("Which colour?").await;
    assert!(card.text().contains("The lead asks") && card.text().contains("Q1 of 2"), "{}", card.text());
    assert!(card.text().contains("• Red: Like fire"), "{}", card.text());
    // Words go to the question that waits.
    anna.types("Green");
    anna.sees("Which shades?").await;
    anna.taps("✅ Done").await;
    assert_eq!(anna.toast().await, "Choose at least one option first.");
    anna.taps("☐ Light").await;
    anna.taps("☐ Pale").await;
    anna.taps("☑ Light").await;
    anna.taps("☐ Dark").await;
    stage
        .server
        .wait_for("the last toggle", |state| {
            let labels = |label: &str| state.messages_in(ANNA, None).any(|card| card.button(label).is_some());
            (labels("☑ Dark") && labels("☑ Pale") && labels("☐ Light")).then_some(())
        })
        .await;
    anna.taps("✅ Done").await;
    let permission = anna.sees("May the agent use Bash?").await;
    assert!(permission.marked("pre")[0].ends_with("\n  echo built > built.txt"), "{}", permission.text());
    let labels: Vec<_> = permission.buttons().into_iter().flatten().collect();
    assert_eq!(labels[..4], ["Allow once", "Allow for this session", "Allow for this project", "Deny"]);
    anna.taps("Allow once").await;
    anna.sees("Painted Green, Dark, Pale.").await;
    assert_eq!(stage.project.file("built.txt"), "built\n");
    assert_eq!(stage.server.violations(), []);
}

/// A question of `rapport run` in a terminal: answered on the phone, it goes on in the terminal.
#[tokio::test]
async fn a_question_of_a_run_in_a_terminal_is_answered_on_the_phone() {
    let stage = Stage::playing(ONE_QUESTION).await;
    let anna = stage.anna();
    let run = stage.project.start(&["paint it"], &[]);
    let card = anna.sees("Which colour?").await;
    assert!(card.text().contains("paint it"), "{}", card.text());
    anna.taps("Blue").await;
    anna.sees("Plan Ready").await;
    anna.taps("✅ Confirm & Start").await;
    assert_eq!(run.finish(), 0);
    assert_eq!(stage.project.file("paint.txt"), "Blue\n");
    let done = anna.sees("Done").await;
    assert!(done.text().contains("paint it"), "{}", done.text());
    anna.types("/diff");
    let diff = anna.sees("Changes: paint it").await;
    assert!(diff.text().contains("+Blue"), "{}", diff.text());
    anna.types("/log");
    let log = anna.sees("paint it").await;
    assert!(document(&log).contains("\"answered\""), "{}", document(&log));
    let by = stage.project.facts().into_iter().find_map(|fact| match fact {
        Event::Answered { by, .. } => Some(by),
        _ => None,
    });
    assert_eq!(by, Some(By::Person { channel: "telegram".into(), id: ANNA.to_string() }));
}

/// An answer that is changed after the plan was made from it: the plan is shown again, and says that it is older than
/// the answer.
#[tokio::test]
async fn a_plan_that_is_behind_its_answers_says_so() {
    let stage = Stage::playing(ONE_QUESTION).await;
    let anna = stage.anna();
    let run = stage.project.start(&["paint it"], &[]);
    anna.sees("Which colour?").await;
    anna.taps("Blue").await;
    let plan = anna.sees("Plan Ready").await;
    assert!(plan.text().contains("Paint it Blue") && !plan.text().contains("⚠️"), "{}", plan.text());
    anna.taps("✏️ Edit Answers").await;
    let menu = anna.sees("Which answer do you want to change?").await;
    anna.taps_on(&menu, &menu.buttons()[0][0]);
    anna.sees("So far: Blue").await;
    anna.taps("Red").await;
    let plan = anna.sees("Q1: Which colour? → Red").await;
    assert!(plan.text().contains(&format!("⚠️ {PLAN_IS_BEHIND}")), "{}", plan.text());
    anna.taps("✅ Confirm & Start").await;
    assert_eq!(run.finish(), 0);
    assert_eq!(stage.project.file("paint.txt"), "Red\n");
}

/// A question with more options than a message can have buttons is a list; its numbers are typed, one or several.
#[tokio::test]
async fn a_question_with_150_options_is_a_list() {
    let options: Vec<_> = (1..=150).map(|n| format!("{{ label: Town {n} }}")).collect();
    let options = options.join(", ");
    let scenario = format!(
        r##"
version: 1
name: towns
invocations:
  - steps:
      - ask: {{ questions: [{{ question: "Which town?", options: [{options}] }}, {{ question: "Which towns?", multiSelect: true, options: [{options}] }}] }}
    result: "Off to {{{{answer:1}}}}, then {{{{answer:2}}}}."
"##
    );
    let stage = Stage::playing(&scenario).await;
    let anna = stage.anna();
    anna.types("travel");
    let card = anna.sees("Which town?").await;
    let buttons = |card: &ChatMessage| card.buttons().into_iter().flatten().count();
    assert!(buttons(&card) < 100, "{:?}", card.buttons());
    let list: String = stage.server.messages(ANNA).iter().map(|message| message.text().to_owned()).collect();
    assert!(list.contains("\n1. Town 1\n") && list.contains("\n150. Town 150"), "{list}");
    anna.types("151");
    anna.sees("refused").await;
    anna.types("147");
    let card = anna.sees("Which towns?").await;
    assert!(buttons(&card) < 100, "{:?}", card.buttons());
    anna.types("3, 150");
    anna.sees("Off to Town 147, then Town 3, Town 150.").await;
    assert_eq!(stage.server.violations(), []);
}

/// Typed words under the question of a task's agent are its answer, and no second agent starts; with several
/// questions open the bot asks which.
#[tokio::test]
async fn typed_words_answer_the_question_that_waits() {
    let stage = Stage::playing(ONE_QUESTION).await;
    let anna = stage.anna();
    let first = stage.project.start(&["paint it"], &[]);
    anna.sees("Which colour?").await;
    let second = stage.project.start(&["varnish it"], &[]);
    anna.sees("varnish it").await;
    anna.types("Ochre");
    let which = anna.sees("Which one does this answer?").await;
    assert_eq!(which.buttons(), [vec!["1. Which colour?"], vec!["2. Which colour?"]]);
    anna.taps("2. Which colour?").await;
    anna.sees("✅ Ochre").await;
    anna.sees("Plan Ready").await;
    anna.taps("✅ Confirm & Start").await;
    assert_eq!(second.finish(), 0);
    anna.types("9000");
    anna.sees("✅ 9000").await;
    assert_eq!(stage.sessions_for(&rapport_core::Aim::Chat), 0, "nobody started a conversation");
    let card = anna.sees("Paint it 9000.").await;
    anna.taps_on(&card, "✅ Confirm & Start");
    assert_eq!(first.finish(), 0);
    assert_eq!(stage.project.file("paint.txt"), "9000\n");
}

/// Answered elsewhere: the card shows it, without buttons.
#[tokio::test]
async fn an_answer_in_the_terminal_shows_on_the_phone() {
    let stage = Stage::playing(ONE_QUESTION).await;
    let anna = stage.anna();
    let _run = stage.project.start(&["paint it"], &[]);
    let card = anna.sees("Which colour?").await;
    stage.project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    let shown = anna.sees("✅ Red").await;
    assert_eq!(shown.id, card.id);
    assert!(shown.buttons().is_empty() && shown.text().contains("Answered by"), "{}", shown.text());
    anna.taps_on(&card, "Blue");
    assert_eq!(anna.toast().await, "Already answered: Red");
}

/// No process runs the session any more: the answer resumes it in this process.
#[tokio::test]
async fn an_answer_resumes_what_nobody_runs() {
    let stage = Stage::playing(ONE_QUESTION).await;
    let anna = stage.anna();
    let run = stage.project.start(&["paint it"], &[]);
    anna.sees("Which colour?").await;
    run.kill();
    anna.taps("Blue").await;
    anna.taps("✅ Confirm & Start").await;
    wait_for("the work", || (stage.project.file("paint.txt") == "Blue\n").then_some(()));
}

/// What waits, the oldest first, with buttons that show it again.
#[tokio::test]
async fn status_lists_what_waits_and_jumps_to_it() {
    let stage = Stage::playing(super::AUTH).await;
    let anna = stage.anna();
    anna.types("/status");
    anna.sees("Nothing waits for you").await;
    anna.types("/plan add JWT authentication");
    let first = anna.sees("Q1 of 3").await;
    anna.types("/status");
    let list = anna.sees("Waiting for you").await;
    assert!(list.text().contains("1. Which framework? (just now)"), "{}", list.text());
    anna.taps("1. Which framework?").await;
    let again = anna.sees_last("Q1 of 3").await;
    assert_ne!(again.id, first.id);
    anna.taps_on(&again, "Fastify");
    anna.sees("Q2 of 3").await;
}

/// One reminder, which can be answered itself.
#[tokio::test]
async fn somebody_is_reminded_once() {
    let mut stage = Stage::quiet(super::AUTH).await;
    stage.serve_with(&[("RAPPORT_TELEGRAM_REMIND", "1s")]);
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    let reminder = anna.sees("Still waiting for your answer").await;
    anna.taps_on(&reminder, "Express");
    anna.sees("Q2 of 3").await;
    stage
        .server
        .wait_for("both cards without buttons", |state| {
            let asked = state.messages_in(ANNA, None).filter(|card| card.text().contains("Q1 of 3"));
            (asked.filter(|card| card.buttons().is_empty()).count() == 2).then_some(())
        })
        .await;
}

/// All as recommended: each question is answered as a tap would.
#[tokio::test]
async fn all_as_recommended_answers_the_whole_round() {
    let scenario = r##"
version: 1
name: recommended
batches:
  - questions:
      - { question: "Theme?", options: [{ label: Dark, value: dark, recommended: true }, { label: Light, value: light }] }
      - { question: "Switch?", options: [{ label: Header, value: header }, { label: Menu, value: menu, recommended: true }] }
invocations: [{ result: "Done." }]
"##;
    let stage = Stage::playing(scenario).await;
    let anna = stage.anna();
    anna.types("/plan dark mode");
    anna.taps("⭐ All as recommended").await;
    let plan = anna.sees("Plan Ready").await;
    assert!(plan.text().contains("Q1: Theme? → Dark\nQ2: Switch? → Menu"), "{}", plan.text());
}

/// What does not fit a card is a file, which is there before the card; what hides is named.
#[tokio::test]
async fn a_long_permission_is_asked_when_all_of_it_was_shown() {
    let long: String = (1..=400).map(|n| format!("echo line {n} of many; ")).collect();
    let command = format!("{long} echo \u{202e}done > built.txt");
    let scenario = PERMISSION_ONLY.replace("COMMAND", &command);
    let stage = Stage::playing(&scenario).await;
    // A file that was not taken must not be followed by buttons.
    stage.server.fault("sendDocument", Fault::Status(502));
    let anna = stage.anna();
    anna.types("build it");
    let card = anna.sees("May the agent use Bash?").await;
    let all = anna.sees("Everything that the agent wants to do with Bash").await;
    assert!(all.id < card.id && card.text().contains("in the file above"), "{}", card.text());
    let file = document(&all);
    assert!(file.contains("echo line 400 of many") && file.contains("<U+202E>done > built.txt"), "{file}");
    anna.taps("Allow once").await;
    anna.sees("Built.").await;
    assert!(stage.project.file("built.txt").contains("done"));
    assert_eq!(stage.server.violations(), []);
}

/// Seen before allowed: a phone shows only the first lines of a folded quote, so a permission that fits its card is
/// never folded.
#[tokio::test]
async fn a_permission_of_many_lines_is_not_folded_above_its_buttons() {
    let lines: String = (1..=29).map(|n| format!("echo {n}\\n")).collect();
    let scenario = PERMISSION_ONLY.replace("COMMAND", &format!("{lines}rm -rf built"));
    let stage = Stage::playing(&scenario).await;
    let anna = stage.anna();
    anna.types("build it");
    let card = anna.sees("May the agent use Bash?").await;
    let shown = card.marked("pre").concat();
    assert!(shown.contains("  echo 1\n") && shown.contains("  echo 29\n  rm -rf built"), "{}", card.text());
    assert_eq!(card.marked("expandable_blockquote"), Vec::<String>::new());
    anna.taps("Deny").await;
}

/// Blanks hide nothing: what stands behind two thousand of them is in sight.
#[tokio::test]
async fn nothing_is_hidden_behind_spaces() {
    let command = format!("ls{}; rm -rf built", " ".repeat(2000));
    let stage = Stage::playing(&PERMISSION_ONLY.replace("COMMAND", &command)).await;
    let anna = stage.anna();
    anna.types("build it");
    let card = anna.sees("May the agent use Bash?").await;
    let shown = card.marked("pre").concat();
    assert!(shown.trim_end().ends_with("\n  ls <2000 spaces> ; rm -rf built"), "{shown}");
    anna.taps("Deny").await;
}

/// Empty lines hide nothing, and a call of another tool is not cut either: what does not fit goes out as a file first.
#[tokio::test]
async fn nothing_is_hidden_behind_empty_lines_or_at_the_end_of_a_long_file() {
    let command = format!("echo one{}echo two > built.txt", "\\n".repeat(40));
    let scenario = PERMISSION_ONLY.replace("COMMAND", &command);
    let stage = Stage::playing(&scenario).await;
    let anna = stage.anna();
    anna.types("build it");
    let card = anna.sees("May the agent use Bash?").await;
    let shown = card.marked("pre").concat();
    assert!(shown.contains("echo one\n  (39 empty lines)\n  echo two > built.txt"), "{}", card.text());
    anna.taps("Deny").await;
    anna.sees("⛔").await;

    const WRITES: &str = r##"
version: 1
name: writes
invocations:
  - steps:
      - write: { path: long.txt, content: "CONTENT", permission: true }
    result: "Written."
"##;
    let content: String = (1..=900).map(|n| format!("line {n}\\n")).collect();
    let mut stage = Stage::quiet(&WRITES.replace("CONTENT", &content)).await;
    stage.serve_with(&[("RAPPORT_AGENT_PERMISSION_MODE", "default")]);
    let anna = stage.anna();
    anna.types("write it");
    let card = anna.sees("May the agent use Write?").await;
    let all = anna.sees("Everything that the agent wants to do with Write").await;
    assert!(all.id < card.id && document(&all).contains("line 900"), "{}", card.text());
    anna.taps("Allow once").await;
    anna.sees("Written.").await;
    assert!(stage.project.file("long.txt").ends_with("line 900\n"));
}

/// The content of a file that was sent.
fn document(message: &ChatMessage) -> String {
    let Content::Document { bytes, .. } = &message.content else { panic!("{message:?}") };
    String::from_utf8_lossy(bytes).into_owned()
}

/// An agent's question is never cut: what does not fit its card is above it, explanations and all.
#[tokio::test]
async fn a_long_question_is_asked_in_full() {
    let text = (1..=900).map(|n| format!("reason {n}. ")).collect::<String>();
    let why = (1..=60).map(|n| format!("because {n} ")).collect::<String>();
    let scenario =
        LONG_QUESTION.replace("TEXT", &text).replace("WHY", &why).replace("XXXX", &"x".repeat(900));
    let stage = Stage::playing(&scenario).await;
    let anna = stage.anna();
    anna.types("choose");
    let card = anna.sees("All of it is above").await;
    assert!(card.text().contains("reason 1.") && !card.text().contains("reason 900."), "{}", card.text());
    let end = anna.sees("reason 900.").await;
    assert!(end.id < card.id && end.text().contains("because 60"), "{}", end.text());
    anna.taps("Yes").await;
    // One that fits is on its card as a whole.
    let card = anna.sees("Q2 of 2").await;
    assert!(card.text().contains("because 60") && card.text().contains(&"x".repeat(900)), "{}", card.text());
    anna.taps("Yes").await;
    anna.sees("Chosen.").await;
    assert_eq!(stage.server.violations(), []);
}

const LONG_QUESTION: &str = r##"
version: 1
name: long question
invocations:
  - steps:
      - ask: { questions: [{ question: "TEXT", options: [{ label: "Yes", description: "WHY" }, { label: "No" }] }, { question: "XXXX", options: [{ label: "Yes", description: "WHY" }, { label: "No" }] }] }
    result: "Chosen."
"##;

/// A plan that an agent wants to leave plan mode with is there as a whole before it can be approved.
#[tokio::test]
async fn a_long_plan_of_an_agent_is_shown_in_full() {
    let plan = (1..=500).map(|n| format!("- step {n}\\n")).collect::<String>();
    let stage = Stage::playing(&LEAVES_PLAN_MODE.replace("PLAN", &plan)).await;
    let anna = stage.anna();
    anna.types("plan it");
    let card = anna.sees("The agent has made a plan").await;
    assert!(card.text().contains("All of it is above") && !card.buttons().is_empty(), "{}", card.text());
    let end = anna.sees("step 500").await;
    assert!(end.id < card.id);
}

const LEAVES_PLAN_MODE: &str = r##"
version: 1
name: plan mode
invocations:
  - steps:
      - exit_plan: { plan: "PLAN" }
    result: "Planned."
"##;

/// What an agent says while the bot is blocked is told when it may write again, after a restart too.
#[tokio::test]
async fn what_ends_while_the_bot_is_blocked_is_told_later() {
    let mut stage =
        Stage::playing(&PERMISSION_ONLY.replace("COMMAND", "until test -e go; do sleep 0.1; done")).await;
    let anna = stage.anna();
    anna.types("build it");
    anna.taps("Allow once").await;
    anna.sees("✅ Allow once").await;
    anna.blocks_the_bot();
    std::fs::write(stage.project.root().join("go"), "").unwrap();
    wait_for("it to be told at the terminal", || {
        stage.printed().contains("could not be told in its chat").then_some(())
    });
    assert_eq!(stage.stop(), 0);
    stage.serve();
    wait_for("the restart", || (stage.printed().matches("could not be told").count() == 2).then_some(()));
    assert!(!anna.shows("Built."));
    anna.unblocks_the_bot();
    anna.sees("Built.").await;
}

/// What is typed at a permission is its button if it names one; only other words deny, and a number without a button
/// decides nothing.
#[tokio::test]
async fn a_label_typed_at_a_permission_is_its_button() {
    for (typed, shown, value) in [
        ("Allow once", "✅ Allow once", Some("allow")),
        ("allow once.", "✅ Allow once", Some("allow")),
        ("yes", "✅ Allow once", Some("allow")),
        ("1", "✅ Allow once", Some("allow")),
        ("Allow for this session", "✅ Allow for this session", Some("session")),
        ("session", "✅ Allow for this session", Some("session")),
        ("project", "✅ Allow for this project", Some("project")),
        ("Deny", "⛔ Deny", Some("deny")),
        ("4", "⛔ Deny", Some("deny")),
        ("allow once you have asked Bob", "⛔ allow once you have asked Bob", None),
    ] {
        let stage = Stage::playing(&PERMISSION_ONLY.replace("COMMAND", "echo built > built.txt")).await;
        let anna = stage.anna();
        anna.types("build it");
        anna.sees("May the agent use Bash?").await;
        anna.types("9");
        anna.sees("refused").await;
        anna.types(typed);
        anna.sees(shown).await;
        let given = stage.project.facts().into_iter().find_map(|fact| match fact {
            Event::Answered { answer, .. } => Some(answer),
            _ => None,
        });
        let values = given.unwrap().values;
        assert_eq!(values.first().map(String::as_str), value, "{typed}");
        if matches!(value, Some("allow" | "session" | "project")) {
            anna.sees("Built.").await;
            assert_eq!(stage.project.file("built.txt"), "built\n", "{typed}");
        }
    }
}

/// The same at the confirmation of a plan, where other words have it made again.
#[tokio::test]
async fn a_label_typed_at_a_confirmation_is_its_button() {
    for typed in ["confirm", "Confirm & start", "Confirm & Start", "1", "Yes."] {
        let stage = Stage::playing(ONE_QUESTION).await;
        let anna = stage.anna();
        let run = stage.project.start(&["paint it"], &[]);
        anna.sees("Which colour?").await;
        anna.taps("Blue").await;
        anna.sees("Plan Ready").await;
        anna.types(typed);
        assert_eq!(run.finish(), 0, "{typed}");
        assert_eq!(stage.project.file("paint.txt"), "Blue\n", "{typed}");
    }
}

/// A no looks like one.
#[tokio::test]
async fn a_denial_does_not_look_like_an_approval() {
    let stage = Stage::playing(&PERMISSION_ONLY.replace("COMMAND", "echo built > built.txt")).await;
    let anna = stage.anna();
    anna.types("build it");
    anna.sees("May the agent use Bash?").await;
    anna.taps("Deny").await;
    assert_eq!(anna.toast().await, "⛔ Deny");
    anna.sees("⛔ Deny").await;
    assert_eq!(stage.project.file("built.txt"), "");
}

const PERMISSION_ONLY: &str = r##"
version: 1
name: permission
invocations:
  - steps:
      - bash: { command: "COMMAND", permission: true }
    result: "Built."
"##;

/// An option's preview is on the card, folded, and an edit is shown as what it takes away and puts there.
#[tokio::test]
async fn previews_are_folded_and_an_edit_is_shown_as_a_diff() {
    const PREVIEWS: &str = r##"
version: 1
name: previews
invocations:
  - steps:
      - ask: { questions: [{ question: "Which layout?", options: [{ label: Sidebar, preview: "+---+\n| S |\n+---+" }, { label: Top bar }] }] }
    result: "# Layout\n\n1. {{answer:1}}."
  - steps:
      - edit: { path: README.md, find: "# An app", replace: "# An app with a bar", permission: true }
    result: "Laid out."
"##;
    let mut stage = Stage::quiet(PREVIEWS).await;
    stage.serve_with(&[("RAPPORT_AGENT_PERMISSION_MODE", "default")]);
    let anna = stage.anna();
    let run = stage.project.start(&["lay it out"], &[("RAPPORT_AGENT_PERMISSION_MODE", "default")]);
    let card = anna.sees("Which layout?").await;
    let folded = card.marked("expandable_blockquote");
    assert!(folded.len() == 1 && folded[0].contains("+---+\n| S |\n+---+"), "{folded:?}: {}", card.text());
    anna.taps("Top bar").await;
    anna.sees("Plan Ready").await;
    anna.taps("✅ Confirm & Start").await;
    let card = anna.sees("May the agent use Edit?").await;
    let shown = card.marked("pre").concat();
    assert!(shown.starts_with("  README.md\n"), "its path from the project: {}", card.text());
    assert!(shown.contains("\n- # An app\n+ # An app with a bar"), "{}", card.text());
    assert!(!card.text().contains("⚙️"), "the call is not there twice: {}", card.text());
    assert_eq!(stage.project.file("README.md"), "# An app\n", "nothing is done before it is allowed");
    anna.taps("Allow once").await;
    assert_eq!(run.finish(), 0);
    assert_eq!(stage.project.file("README.md"), "# An app with a bar\n");
    assert_eq!(stage.server.violations(), []);
}
