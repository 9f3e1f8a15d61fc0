//! A plan of actions from the phone: planned at a terminal, reviewed, approved in part, run and undone in a chat.

use std::time::Duration;

use futures_util::FutureExt as _;
use rapport_core::{Aim, By, Event};

use super::{ANNA, Stage};
use crate::files::{create, delete, edit, greeting, move_file, plan, planning, run};
use crate::support::patience::{look_beside_tasks, wait_for};
use crate::support::project::Project;
use crate::support::telegram::{Content, Person, State};

const TASK: &str = "add-greeting";

/// A project with a session of files, planned at a terminal, and the bot.
async fn planned(plan: &str) -> Stage {
    planned_in(plan, |_| {}).await
}

/// The same in a project that is made ready first.
async fn planned_in(plan: &str, make_ready: impl FnOnce(&Project)) -> Stage {
    let scenario = serde_json::to_string(&planning(&[plan]).build()).unwrap();
    let mut stage = Stage::quiet(&scenario).await;
    make_ready(&stage.project);
    stage.project.rapport(&["new", TASK]).check(0, TASK);
    stage.project.plan_turn("Greet.").check(0, "");
    stage.serve();
    stage
}

fn facts(stage: &Stage) -> Vec<Event> {
    stage.sessions().pop().map(|(_, _, facts)| facts).unwrap_or_default()
}

fn is_anna(by: &By) -> bool {
    *by == By::Person { channel: "telegram".into(), id: ANNA.to_string() }
}

/// Chooses two of three actions, and runs them.
async fn run_two_of_three(anna: &Person) {
    let card = anna.sees("Add a greeting").await;
    assert!(
        card.text().contains("CREATE: hello.txt") && card.text().contains("EXECUTE: cat hello.txt"),
        "{}",
        card.text()
    );
    assert_eq!(card.buttons(), [vec!["✅ Approve all", "☰ Choose"], vec!["⏭ Skip"]]);
    anna.taps("☰ Choose").await;
    anna.taps("☑ EXECUTE: cat hello.txt").await;
    anna.taps("▶️ Run 4 chosen").await;
}

// FILE-28, FILE-33, FILE-34, FILE-35: the summary, the list, previews and a part of the plan, from the phone; then
// the undo.
#[tokio::test]
async fn two_of_three_actions_are_approved_run_and_undone_from_the_phone() {
    let stage = planned(&greeting()).await;
    let anna = stage.anna();
    anna.sees("Add a greeting").await;
    anna.taps("☰ Choose").await;
    wait_for("the list", || anna.on_screen_button("☑ EDIT: README.md").then_some(()));
    let edit = anna.on_screen_data("👁", 3);
    anna.taps_data(&edit);
    let preview = anna.sees("EDIT:").await;
    assert!(preview.text().contains("+# A friendly app"), "{}", preview.text());
    anna.taps("↩️ Back").await;
    run_two_of_three(&anna).await;
    let result = anna.sees("2 of 3 actions done, 0 failed, 1 skipped").await;
    assert_eq!(result.buttons(), [vec!["📄 Report", "↩️ Undo"]]);
    assert_eq!(stage.project.changes(), [" M README.md", "?? hello.txt"]);
    assert!(stage.project.turn_file("01/report.md").contains("3 Total / 2 Approved / 1 Skipped"));
    let approved = |fact: &Event| matches!(fact, Event::Approved { by, .. } if is_anna(by));
    assert!(facts(&stage).iter().any(approved), "{:?}", facts(&stage));
    anna.taps("📄 Report").await;
    anna.sees("Execution Report: Add a greeting").await;
    anna.taps("↩️ Undo").await;
    anna.taps("↩️ Yes, undo it").await;
    let undone = anna.sees("Undone").await;
    assert!(
        undone.text().contains("removed hello.txt") && undone.text().contains("restored README.md"),
        "{}",
        undone.text()
    );
    assert!(undone.buttons().is_empty());
    assert_eq!(stage.project.changes(), Vec::<String>::new());
    assert!(facts(&stage).iter().any(|fact| matches!(fact, Event::UndoStarted { by, .. } if is_anna(by))));
    // It rests, so whoever sits at a terminal goes on with it.
    let resumed = wait_for("the session to be let go", || {
        let ran = stage.project.rapport(&["resume"]);
        (ran.code() != 5).then_some(ran)
    });
    resumed.check(2, "without a terminal you cannot be asked what to plan next");
    assert_eq!(stage.server.violations(), []);
}

/// FILE-35: what was deleted, moved, and done by a command is all undone with one tap.
#[tokio::test]
async fn a_deletion_a_move_and_a_command_are_undone_from_the_phone() {
    let actions = [
        delete("old.txt"),
        move_file("README.md", "docs/README.md"),
        run("echo made > made.txt; echo changed > kept.txt; rm gone.txt"),
    ];
    let stage = planned_in(&plan("Tidy up", &[], &[], &actions), |project| {
        for name in ["old.txt", "kept.txt", "gone.txt"] {
            std::fs::write(project.root().join(name), format!("{name}\n")).unwrap();
        }
        project.git(&["add", "--all"]);
        project.git(&["commit", "--quiet", "-m", "Files"]);
    })
    .await;
    let anna = stage.anna();
    let card = anna.sees("Tidy up").await;
    assert!(card.text().contains("DELETE: old.txt") && card.text().contains("MOVE:"), "{}", card.text());
    anna.taps("✅ Approve all").await;
    anna.sees("3 of 3 actions done").await;
    let changes =
        [" D README.md", " D gone.txt", " M kept.txt", " D old.txt", "?? docs/README.md", "?? made.txt"];
    assert_eq!(stage.project.changes(), changes);
    anna.taps("↩️ Undo").await;
    anna.taps("↩️ Yes, undo it").await;
    let undone = anna.sees("Undone").await;
    for line in ["old.txt", "README.md", "kept.txt", "gone.txt", "made.txt"] {
        assert!(undone.text().contains(line), "{line} in {}", undone.text());
    }
    assert_eq!(stage.project.changes(), Vec::<String>::new());
}

/// FILE-23, FILE-35: whoever approves on a phone reads first that a file is replaced and what is lost, and where
/// white space was not taken literally.
#[tokio::test]
async fn the_phone_says_what_is_replaced_and_what_was_not_taken_literally() {
    let path = "- **File Path:** [README.md](/README.md)\n";
    let replace = create("README.md", "# Another").replace(path, &format!("{path}- **Overwrite:** true\n"));
    let indent = edit("code.py", "def a():\n  return 1", "def a():\n  return 2");
    let stage = planned_in(&plan("Replace", &[], &[], &[replace, indent]), |project| {
        std::fs::write(project.root().join("code.py"), "class A:\n    def a():\n      return 1\n").unwrap();
    })
    .await;
    let anna = stage.anna();
    let card = anna.sees("Replace").await;
    let text = card.text();
    assert!(text.lines().any(|line| line.contains("replace") && line.contains("README.md")), "{text}");
    assert!(text.contains("FIND matches line 2 except for white space"), "{text}");
    anna.taps("☰ Choose").await;
    wait_for("the list", || anna.on_screen_button("☑ CREATE: README.md").then_some(()));
    let first = anna.on_screen_data("👁", 0);
    anna.taps_data(&first);
    let preview = anna.sees("-# An app").await;
    assert!(preview.text().contains("+# Another"), "{}", preview.text());
    anna.taps("↩️ Back").await;
    anna.taps("▶️ Run 2 chosen").await;
    anna.sees("2 of 2 actions done").await;
    assert_eq!(stage.project.file("code.py"), "class A:\n    def a():\n      return 2\n");
}

/// What failed is named by what it is, because nobody on a phone counts the actions of a plan.
#[tokio::test]
async fn the_result_names_what_failed() {
    let stage = planned(&plan("Fail", &[], &[], &[create("a.txt", "a"), run("ls nowhere")])).await;
    let anna = stage.anna();
    anna.sees("Fail").await;
    anna.taps("✅ Approve all").await;
    let result = anna.sees("1 of 2 actions done, 1 failed").await;
    assert!(result.text().contains("\n✗ EXECUTE ls nowhere: "), "{}", result.text());
}

/// FILE-31: skipped with words, which are in the report.
#[tokio::test]
async fn a_plan_is_skipped_with_words() {
    let stage = planned(&greeting()).await;
    let anna = stage.anna();
    let card = anna.sees("Add a greeting").await;
    anna.replies_to(card.id, "Rather say goodbye.");
    wait_for("the report", || {
        let report = stage.project.turn_file("01/report.md");
        report.contains("Rather say goodbye.").then_some(())
    });
    assert_eq!(stage.project.changes(), Vec::<String>::new());
}

/// FILE-31: skipped by a tap.
#[tokio::test]
async fn a_plan_is_skipped_by_a_tap() {
    let stage = planned(&greeting()).await;
    let anna = stage.anna();
    anna.sees("Add a greeting").await;
    anna.taps("⏭ Skip").await;
    anna.taps("⏭ Yes, skip it").await;
    wait_for("the report", || stage.project.turn_file("01/report.md").contains("Skipped").then_some(()));
    assert_eq!(stage.project.changes(), Vec::<String>::new());
    assert_eq!(stage.server.violations(), []);
}

/// Skipping and undoing ask first: a no changes nothing, and the card keeps its buttons.
#[tokio::test]
async fn skipping_and_undoing_ask_first() {
    let stage = planned(&greeting()).await;
    let anna = stage.anna();
    let card = anna.sees("Add a greeting").await;
    anna.taps_on(&card, "⏭ Skip");
    let asked = anna.sees("Skip this plan?").await;
    assert!(asked.text().contains("Add a greeting"), "{}", asked.text());
    anna.taps_on(&asked, "▶️ No, keep it");
    assert_eq!(anna.toast().await, "Nothing is changed.");
    anna.sees_no_button("▶️ No, keep it").await;
    assert!(!facts(&stage).iter().any(|fact| matches!(fact, Event::Skipped { .. })));
    anna.taps_on(&card, "✅ Approve all");
    let result = anna.sees("3 of 3 actions done").await;
    anna.taps_on(&result, "↩️ Undo");
    let asked = anna.sees("Undo this run?").await;
    anna.taps_on(&asked, "▶️ No, leave it");
    anna.sees_no_button("▶️ No, leave it").await;
    assert_eq!(stage.project.changes(), [" M README.md", "?? hello.txt"]);
    anna.taps_on(&result, "↩️ Undo");
    anna.taps("↩️ Yes, undo it").await;
    anna.sees("Undone").await;
    anna.sees_no_button("↩️ Yes, undo it").await;
    assert_eq!(stage.project.changes(), Vec::<String>::new());
    assert_eq!(stage.server.violations(), []);
}

/// Words under a plan begin no second agent: the bot asks what they are about, and the plan is skipped with them.
#[tokio::test]
async fn words_typed_under_a_plan_can_skip_it() {
    let mut stage = planned(&greeting()).await;
    let anna = stage.anna();
    anna.sees("Add a greeting").await;
    anna.types("Rather say goodbye.");
    let asked = anna.sees("Skip this plan with these words, or begin something new?").await;
    assert_eq!(asked.buttons(), [["⏭ Skip it with these words"], ["🆕 Begin something new"]]);
    // The buttons outlive the program.
    assert_eq!(stage.stop(), 0);
    stage.serve();
    anna.taps_on(&asked, "⏭ Skip it with these words");
    wait_for("the report", || {
        let report = stage.project.turn_file("01/report.md");
        report.contains("Rather say goodbye.").then_some(())
    });
    anna.sees_no_button("⏭ Skip it with these words").await;
    assert_eq!(stage.sessions_for(&Aim::Chat), 0, "no conversation began");
    assert_eq!(stage.project.changes(), Vec::<String>::new());
    assert_eq!(stage.server.violations(), []);
}

/// A session whose agent replied in words at a terminal, and the bot.
async fn replied() -> Stage {
    let reply = "Which **language** do you greet in?";
    let scenario = serde_json::to_string(&planning(&[reply, &greeting()]).build()).unwrap();
    let mut stage = Stage::quiet(&scenario).await;
    stage.project.rapport(&["new", TASK]).check(0, TASK);
    stage.project.plan_turn("Greet.").check(3, "Which language do you greet in?");
    stage.serve();
    stage
}

fn answers(stage: &Stage) -> Vec<(String, bool)> {
    let facts = facts(stage).into_iter();
    let answers = facts.filter_map(|fact| match fact {
        Event::ReplyAnswered { text, by, .. } => Some((text, is_anna(&by))),
        _ => None,
    });
    answers.collect()
}

/// FILE-20: a reply in words is shown with its card; a reply to that answers it, and the plan that the agent then makes is
/// the next card.
#[tokio::test]
async fn file_20_a_reply_in_words_is_answered_in_the_chat() {
    let stage = replied().await;
    let anna = stage.anna();
    anna.sees("Which language do you greet in?").await;
    let card = anna.sees("Reply to this message with your answer.").await;
    assert_eq!(card.buttons(), [["⏭ Leave it unanswered"]]);
    anna.replies_to(card.id, "In English.");
    anna.sees("Add a greeting").await;
    anna.sees_no_button("⏭ Leave it unanswered").await;
    assert_eq!(answers(&stage), [("In English.".to_owned(), true)]);
    assert!(stage.project.turn_file("02/_context.log").contains("In English."));
    assert_eq!(stage.server.violations(), []);
}

/// The card outlives the program. The first answer counts, and a later one is told so; then the plan can be run.
#[tokio::test]
async fn a_reply_in_words_is_answered_once_also_after_a_restart() {
    let mut stage = replied().await;
    let anna = stage.anna();
    let card = anna.sees("Reply to this message with your answer.").await;
    assert_eq!(stage.stop(), 0);
    stage.serve();
    anna.replies_to(card.id, "In English.");
    anna.sees("Add a greeting").await;
    anna.sees_no_button("⏭ Leave it unanswered").await;
    anna.replies_to(card.id, "In German.");
    anna.sees("That question is no longer open.").await;
    assert_eq!(answers(&stage), [("In English.".to_owned(), true)]);
    anna.taps("✅ Approve all").await;
    anna.sees("3 of 3 actions done").await;
    assert_eq!(stage.server.violations(), []);
}

/// Words that reply to nothing answer it only by a tap.
#[tokio::test]
async fn words_typed_under_a_reply_in_words_can_answer_it() {
    let stage = replied().await;
    let anna = stage.anna();
    anna.sees("Reply to this message with your answer.").await;
    anna.types("In English.");
    let asked = anna.sees("Answer the agent with these words, or begin something new?").await;
    assert_eq!(asked.buttons(), [["💬 Answer with these words"], ["🆕 Begin something new"]]);
    assert!(answers(&stage).is_empty());
    anna.taps_on(&asked, "💬 Answer with these words");
    anna.sees("Add a greeting").await;
    assert_eq!(answers(&stage), [("In English.".to_owned(), true)]);
    assert_eq!(stage.server.violations(), []);
}

/// It can be left without an answer, by one tap.
#[tokio::test]
async fn a_reply_in_words_is_left_in_the_chat() {
    let stage = replied().await;
    let anna = stage.anna();
    anna.taps("⏭ Leave it unanswered").await;
    anna.sees_no_button("⏭ Leave it unanswered").await;
    assert!(facts(&stage).iter().any(|fact| matches!(fact, Event::ReplySkipped { by, .. } if is_anna(by))));
    assert!(answers(&stage).is_empty());
    assert_eq!(stage.server.violations(), []);
}

/// The same words begin something new if that is what the person wants, once.
#[tokio::test]
async fn words_typed_under_a_plan_can_begin_something_new() {
    let stage = planned(&greeting()).await;
    let anna = stage.anna();
    anna.sees("Add a greeting").await;
    anna.types("How are you?");
    let asked = anna.sees("Skip this plan with these words, or begin something new?").await;
    anna.taps_on(&asked, "🆕 Begin something new");
    anna.taps_on(&asked, "🆕 Begin something new");
    wait_for("the conversation", || (stage.sessions_for(&Aim::Chat) == 1).then_some(()));
    anna.sees_no_button("🆕 Begin something new").await;
    anna.toast().await;
    assert_eq!(stage.sessions_for(&Aim::Chat), 1);
    let all = stage.sessions();
    let mut facts = all.iter().flat_map(|(_, _, facts)| facts);
    assert!(!facts.any(|fact| matches!(fact, Event::Skipped { .. })), "the plan still waits");
    assert!(anna.on_screen_button("✅ Approve all"));
    assert_eq!(stage.server.violations(), []);
}

/// A label that is typed is its button, in any case and without its sign; what cannot be brought back is asked about
/// first.
#[tokio::test]
async fn labels_typed_under_a_turn_are_its_buttons() {
    let stage = planned(&greeting()).await;
    let anna = stage.anna();
    anna.sees("Add a greeting").await;
    anna.types("skip");
    anna.taps("▶️ No, keep it").await;
    anna.types("Choose");
    wait_for("the list", || anna.on_screen_button("☑ EXECUTE: cat hello.txt").then_some(()));
    anna.types("back");
    anna.sees_no_button("☑ EXECUTE: cat hello.txt").await;
    anna.types("approve all.");
    anna.sees("3 of 3 actions done").await;
    anna.types("undo");
    anna.taps("↩️ Yes, undo it").await;
    anna.sees("Undone").await;
    assert_eq!(stage.sessions_for(&Aim::Chat), 0, "no conversation began");
    assert_eq!(stage.project.changes(), Vec::<String>::new());
    assert_eq!(stage.server.violations(), []);
}

/// A preview that is too long for messages is a file.
#[tokio::test]
async fn a_long_preview_is_sent_as_a_file() {
    let long: String = (1..=3000).map(|n| format!("Line {n} of a long file.\n")).collect();
    let stage = planned(&plan("A long file", &[], &[], &[create("long.txt", &long)])).await;
    let anna = stage.anna();
    anna.sees("A long file").await;
    anna.taps("☰ Choose").await;
    anna.taps("👁").await;
    let preview = |state: &State| {
        state.messages_in(ANNA, None).find_map(|message| match &message.content {
            Content::Document { name, bytes } if name == "preview.txt" => Some(bytes.clone()),
            _ => None,
        })
    };
    let bytes = stage.server.wait_for("the preview", preview).await;
    assert!(String::from_utf8_lossy(&bytes).contains("Line 3000 of a long file."));
}

/// A plan of more items than one keyboard holds has pages; what was chosen on one is kept on the others, also after a
/// restart.
#[tokio::test]
async fn items_of_a_large_plan_are_chosen_page_by_page() {
    let actions: Vec<_> = (1..=45).map(|n| create(&format!("{n}.txt"), &format!("content {n}"))).collect();
    let mut stage = planned(&plan("Many files", &[], &[], &actions)).await;
    let anna = stage.anna();
    anna.sees("Many files").await;
    anna.taps("☰ Choose").await;
    anna.taps("☑ CREATE: 3.txt").await;
    anna.taps("41–45").await;
    anna.taps("☑ CREATE: 45.txt").await;
    stage.kill();
    stage.serve();
    anna.taps("1–40").await;
    anna.taps("☑ CREATE: 4.txt").await;
    anna.taps("▶️ Run 42 chosen").await;
    anna.sees("42 of 45 actions done").await;
    let made: Vec<_> = (1..=45).filter(|n| !stage.project.root().join(format!("{n}.txt")).exists()).collect();
    assert_eq!(made, [3, 4, 45]);
    assert_eq!(stage.server.violations(), []);
}

/// The whole plan is there before anything of it can be approved, and nothing is chosen that is not on the list.
#[tokio::test]
async fn a_large_plan_is_read_before_it_is_approved() {
    let actions: Vec<_> = (1..=321).map(|n| create(&format!("{n}.txt"), &format!("content {n}"))).collect();
    let stage = planned(&plan("Many files", &[], &[], &actions)).await;
    let anna = stage.anna();
    let card = anna.sees("Many files").await;
    assert_eq!(card.buttons(), [vec!["✅ Approve all"], vec!["⏭ Skip"]]);
    let whole = anna.sees("The whole plan of turn 01").await;
    let Content::Document { name, bytes } = &whole.content else { panic!("{whole:?}") };
    assert!(whole.id < card.id && name == "plan.md");
    assert!(String::from_utf8_lossy(bytes).contains("content 321"));
    // A list of before, should one be left, chooses nothing either.
    let data = card.button("✅ Approve all").unwrap().data.clone().unwrap().replace("iq:ap", "iq:ch");
    anna.taps_data_on(card.id, &data);
    assert_eq!(anna.toast().await, "Please use the buttons of the latest card.");
    anna.taps("✅ Approve all").await;
    anna.sees("321 of 321 actions done").await;
}

/// A plan whose file was changed is accepted by somebody who has seen what was changed, and only as they saw it.
#[tokio::test]
async fn a_changed_plan_is_accepted_when_its_diff_was_shown() {
    let stage = planned(&greeting()).await;
    let anna = stage.anna();
    anna.sees("Add a greeting").await;
    let path = stage.project.folder().join("01/plan.md");
    std::fs::write(&path, greeting().replace("hello.txt", "moin\u{202e}.txt")).unwrap();
    anna.taps("✅ Approve all").await;
    let card = anna.sees("differs from the plan").await;
    let diff = anna.sees("What was changed in 01/plan.md").await;
    assert!(diff.id < card.id, "the diff comes first");
    assert!(diff.text().contains("+- **File Path:** [moin<U+202E>.txt]"), "{}", diff.text());
    assert!(diff.text().contains("-- **File Path:** [hello.txt]"), "{}", diff.text());
    anna.taps("Restore the plan").await;
    anna.sees_last("CREATE: hello.txt").await;
    wait_for("the plan to be restored", || {
        (stage.project.turn_file("01/plan.md") == greeting()).then_some(())
    });
    // The same with a change that is taken.
    std::fs::write(&path, greeting().replace("hello.txt", "moin.txt")).unwrap();
    anna.taps("✅ Approve all").await;
    anna.sees("+- **File Path:** [moin.txt]").await;
    anna.taps("Use it as it is").await;
    anna.sees("CREATE: moin.txt").await;
    anna.taps("✅ Approve all").await;
    anna.sees("3 of 3 actions done").await;
    assert_eq!(stage.project.changes(), [" M README.md", "?? moin.txt"]);
}

/// kill -9 while a batch runs: what was done is told, and the phone says how it goes on.
#[tokio::test]
async fn killed_in_the_middle_of_a_run_the_phone_decides() {
    let hanging = run("echo x >> begun; test -e go-on || sleep 600");
    let mut stage =
        planned(&plan("Hang", &[], &[], &[create("a.txt", "a"), hanging, create("b.txt", "b")])).await;
    let anna = stage.anna();
    anna.sees("Hang").await;
    anna.taps("✅ Approve all").await;
    wait_for("the command", || stage.project.root().join("begun").exists().then_some(()));
    stage.kill();
    std::fs::write(stage.project.root().join("go-on"), "").unwrap();
    stage.serve();
    let paused = anna.sees("The run was interrupted: Rapport was stopped").await;
    assert!(
        paused.text().contains("✓ CREATE a.txt") && paused.text().contains("❓ EXECUTE"),
        "{}",
        paused.text()
    );
    anna.taps("🔁 Again, the interrupted one too").await;
    anna.sees("3 of 3 actions done").await;
    assert_eq!(stage.project.file("begun"), "x\nx\n", "the command was run again, because Anna said so");
    anna.taps("↩️ Undo").await;
    anna.taps("↩️ Yes, undo it").await;
    anna.sees("Undone").await;
    assert!(!stage.project.root().join("a.txt").exists() && !stage.project.root().join("b.txt").exists());
}

/// A message to a person is a question like any other, answered on the phone.
#[tokio::test]
async fn a_message_of_a_plan_is_answered_on_the_phone() {
    let chat = "### `CHAT_WITH_USER`\n\nShip it today?\n".to_owned();
    let stage = planned(&plan("Ask", &[], &[], &[chat])).await;
    let anna = stage.anna();
    anna.sees("Ask").await;
    anna.taps("✅ Approve all").await;
    let question = anna.sees("Ship it today?").await;
    anna.replies_to(question.id, "Tomorrow.");
    anna.sees("1 of 1 actions done").await;
    assert!(stage.project.turn_file("01/report.md").contains("Tomorrow."));
}

/// kill -9 around every write of a run of two of three actions and of its undo, all from the phone: what comes out is
/// the same. Whatever is written counts: facts, heads, journals, the project's files, memos, what git writes for us,
/// and the bot's own notes. Four tests, so that they can run side by side.
mod killed_around_any_write {
    /// Of so many points, every test takes one.
    pub(super) const SHARES: usize = 4;

    #[tokio::test]
    async fn the_first_share() {
        super::killed_around_any_write(1).await;
    }

    #[tokio::test]
    async fn the_second_share() {
        super::killed_around_any_write(2).await;
    }

    #[tokio::test]
    async fn the_third_share() {
        super::killed_around_any_write(3).await;
    }

    #[tokio::test]
    async fn the_fourth_share() {
        super::killed_around_any_write(4).await;
    }
}

/// Dies at every point of a share of them, one run after another.
async fn killed_around_any_write(first: usize) {
    const LEAST: usize = 80;
    let mut points = 0;
    for point in (first..1000).step_by(killed_around_any_write::SHARES) {
        let scenario = serde_json::to_string(&planning(&[&greeting()]).build()).unwrap();
        let mut stage = Stage::quiet(&scenario).await;
        stage.project.rapport(&["new", TASK]).check(0, TASK);
        stage.project.plan_turn("Greet.").check(0, "");
        let trial = point.to_string();
        stage.serve_with(&[("RAPPORT_TRIAL_WRITES", &trial)]);
        let anna = stage.anna();
        if !finish(&mut stage, &anna, &trial).await {
            break;
        }
        points += 1;
    }
    assert!(points >= LEAST / killed_around_any_write::SHARES, "only {points} points");
}

/// Brings a run and its undo to their end, however often the bot dies on the way. Says whether it did.
async fn finish(stage: &mut Stage, anna: &Person, story: &str) -> bool {
    let mut died = false;
    // The server's own tasks have to get on.
    let ended = look_beside_tasks(Duration::from_secs(120), || {
        if stage.has_died() {
            died = true;
            stage.serve();
        }
        let undone = facts(stage).iter().any(|fact| matches!(fact, Event::Undone { .. }));
        if !undone {
            tap(anna);
        }
        undone.then_some(())
    });
    if ended.await.is_none() {
        panic!("{story}: it does not come to an end: {:?}\n{}", facts(stage), anna.screen());
    }
    wait_for("the project as it was", || stage.project.changes().is_empty().then_some(()));
    let count = |is: fn(&Event) -> bool| facts(stage).iter().filter(|fact| is(fact)).count();
    assert_eq!(count(|fact| matches!(fact, Event::Sealed { .. })), 1, "{story}");
    assert_eq!(count(|fact| matches!(fact, Event::BatchEnded { .. })), 1, "{story}");
    assert_eq!(count(|fact| matches!(fact, Event::Approved { .. })), 1, "{story}");
    let report = stage.project.turn_file("01/report.md");
    assert!(report.contains("3 Total / 2 Approved / 1 Skipped"), "{story}: {report}");
    assert_eq!(stage.project.file(".rapport/memos.yaml"), "- Greetings are in English.\n", "{story}");
    died
}

/// Taps the buttons that run two of three actions, and that undo them afterwards.
fn tap(anna: &Person) {
    let is_left_out = anna.on_screen_button("☐ EXECUTE: cat hello.txt");
    let is_done = anna.shows("2 of 3 actions done");
    let labels = [
        ("🔁 Again, the interrupted one too", true),
        ("▶️ Go on", true),
        ("↩️ Yes, undo it", is_done),
        ("↩️ Undo", is_done),
        ("▶️ Run 4 chosen", is_left_out),
        ("☑ EXECUTE: cat hello.txt", !is_left_out),
        ("☰ Choose", !is_left_out),
    ];
    for (label, is_due) in labels {
        // A button may be gone by the time it is tapped.
        if is_due && anna.taps(label).now_or_never().is_some() {
            return;
        }
    }
}
