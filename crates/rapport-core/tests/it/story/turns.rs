//! Turns in directories: planned, checked, reviewed, run, reported, undone; with every crash in between, and from any door.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rapport_core::report::{Overall, Report};
use rapport_core::{
    Act, ActionEnd, ActionReply, ActionResult, AgentDid, Aim, Asking, By, Chosen, ConversationId, Created,
    FoundBatch, FoundTurn, FoundTurns, Input, Interrupted, LaterChanges, PhaseView, Presenter, Status, Terms,
    TermsChange, TurnOrigin, TurnStage, UndoProblem, UndoState, UndoneFiles, Want, World,
};

use crate::support::{CONVERSATION, Story, bob, created, draft, person};

/// Two files and a message to a person, with a fact to remember.
pub(crate) const PLAN: &str = "# Greet\n\n- **Status:** Green\n- **Plan Type:** Implementation\n- **Agent:** claude\n\n\
    ## Rationale\n\n```text\nBecause.\n```\n\n## Memos\n\n```text\n[+] Greetings are in English.\n```\n\n## Action Plan\n\n\
    ### `CREATE`\n\n- **File Path:** [a.txt](/a.txt)\n\n```text\na\n```\n\n### `CHAT_WITH_USER`\n\nShip it?\n\n\
    ### `CREATE`\n\n- **File Path:** [b.txt](/b.txt)\n\n```text\nb\n```\n";

fn files() -> Story {
    Story::begun(Created { aim: Aim::Files, ..created("add-user-auth", Terms::default()) })
}

fn origin(parent: Option<&str>, second: i64) -> TurnOrigin {
    let created = Timestamp::from_second(1_769_000_000 + second).unwrap();
    TurnOrigin { parent: parent.map(str::to_owned), created, agent: None, is_replan: false }
}

fn begin(folder: &str, conversation: &str) -> Act {
    Act::PlanTurn {
        folder: folder.into(),
        conversation: ConversationId::new(conversation),
        asking: Asking::Assume,
        origin: Some(origin(None, 1)),
        shown: None,
    }
}

fn checked(problems: &[&str]) -> World {
    World::PlanChecked {
        folder: "01".into(),
        revision: 1,
        problems: problems.iter().map(|problem| (*problem).to_owned()).collect(),
        remarks: vec![],
        differs: None,
    }
}

fn all() -> Chosen {
    Chosen { context: vec![], memos: vec![None], actions: vec![None, None, None] }
}

fn approve(revision: u32, chosen: Chosen) -> Act {
    Act::Approve { folder: "01".into(), revision, chosen }
}

fn ended(action: usize) -> World {
    let end = ActionEnd { action, result: ActionResult::Done, why: None, session: None, left_behind: 0 };
    World::ActionEnded { batch: "01".into(), end }
}

fn done() -> World {
    World::BatchEnded {
        batch: "01".into(),
        status: Overall::Completed,
        report: "# Execution Report: Greet\n".into(),
        has_changes: true,
    }
}

fn sums() -> BTreeMap<String, String> {
    BTreeMap::from([("plan.md".to_owned(), "aa".to_owned())])
}

fn filed(folder: &str) -> World {
    World::ReportFiled { folder: folder.into(), files: sums() }
}

/// A turn whose plan is there and checked.
fn planned() -> Story {
    let mut story = files();
    story.act(begin("01", CONVERSATION), "turn 1 started to draft in 01").connects();
    story.finishes(PLAN, "turn 1 ended").wants(&["filed at 01/plan.md"]);
    let turn = rapport_core::TurnId(1);
    story
        .world(World::Filed { turn, path: "01/plan.md".into() }, "filed at 01/plan.md")
        .wants(&["01 checked at 1"])
        .world(checked(&[]), "01 checked at 1")
        .wants(&[]);
    story
}

/// FILE-17, FILE-20: nothing runs until a plan is wanted; then the agent makes one, it goes into its directory and is checked.
#[test]
fn file_20_a_turn_in_a_directory() {
    let mut story = files();
    story
        .wants(&[])
        .act(
            Act::Say { text: "hello".into(), id: None },
            "refused: saying something is not possible now: nothing is running",
        )
        .act(begin("01", CONVERSATION), "turn 1 started to draft in 01")
        .act(
            begin("02", "other"),
            "refused: planning is not possible now: the agent is still clarifying the task",
        )
        .wants(&["turn 1 running to turnplan []"])
        .connects()
        .asks("c1", &[draft("Which?", &["A"])], "c1 declined: Do not ask: nobody answers questions here")
        .takes("c1")
        .did(AgentDid::Say { text: PLAN.into() }, &format!("said {PLAN}"))
        .finishes("That is the plan.", "turn 1 ended")
        .wants(&["filed at 01/plan.md"]);
    let wants = story.play.session.wants();
    let [Want::Filed { content, turn, path, .. }] = wants.as_slice() else { panic!("{wants:?}") };
    assert_eq!(content, PLAN, "the plan, not the remark after it");
    let filed = World::Filed { turn: *turn, path: path.clone() };
    story.crash("").world(filed.clone(), "filed at 01/plan.md").world(filed, "");
    story
        .crash("")
        .wants(&["01 checked at 1"])
        .world(checked(&[]), "01 checked at 1")
        .world(checked(&[]), "");
    let view = story.play.view();
    assert_eq!((view.status, view.phase), (Status::NeedsInput, PhaseView::Reviewing));
    let review = view.review.unwrap();
    assert_eq!((review.turn.as_str(), review.revision, review.title.as_str()), ("01", 1, "Greet"));
    assert_eq!(review.actions, ["CREATE a.txt", "CHAT_WITH_USER Ship it?", "CREATE b.txt"]);
    story.act(begin("01", "other"), "refused: planning is not possible now: turn 01 has a plan");
    // Another turn, a branch, has another conversation.
    story.act(begin("01-branch-01", "other"), "turn 2 started to draft in 01-branch-01");
    assert_eq!(story.order().conversation, ConversationId::new("other"));
    assert_eq!(story.order().folder.as_deref(), Some("01-branch-01"));
}

/// FILE-20: what is being planned can be left for something else; nobody is asked its questions any more.
#[test]
fn file_20_another_plan_instead() {
    let mut story = files();
    let begin = |conversation: &str| Act::PlanTurn {
        folder: "01".into(),
        conversation: ConversationId::new(conversation),
        asking: Asking::Adaptive,
        origin: None,
        shown: None,
    };
    story
        .act(Act::LeaveDraft, "refused: abandoning the plan is not possible now: nothing is running")
        .act(begin(CONVERSATION), "turn 1 started to draft in 01")
        .connects()
        .asks("c1", &[draft("Which?", &["A"])], "c1 asked round 1: q1")
        .crash("cut off: Rapport was stopped")
        .act(
            Act::LeaveDraft,
            "round 1 closed: it was withdrawn: something else is planned instead; 01 left by ann (terminal)",
        )
        .open(&[])
        .wants(&[])
        .act(begin("other"), "turn 2 started to draft in 01")
        .wants(&["turn 2 running to turnplan []"])
        .crash("cut off: Rapport was stopped")
        .wants(&["turn 2 running to turnplan []"]);
    assert_eq!(story.order().conversation, ConversationId::new("other"));
}

/// FILE-22, FILE-29, FILE-40: approved from the phone, run with a message to a person in between, reported, sealed. A crash
/// after each step leads to the same.
#[test]
fn file_29_a_plan_is_approved_run_and_reported() {
    let mut story = planned();
    story
        .check(&person(bob(), approve(1, all())), "01 approved without 0 by bob (telegram)")
        .wants(&["01 running Halt"])
        .act(begin("02", "x"), "refused: planning is not possible now: the approved actions are running")
        .world(ended(0), "01 action 0 done")
        .world(ended(0), "");
    let asks = World::ActionAsks { batch: "01".into(), action: 1, message: "Ship it?".into() };
    story
        .world(asks.clone(), "Rapport asked round 1: q1; q1 is of 01 action 1")
        .world(asks.clone(), "")
        .open(&["q1"])
        .crash("01 paused: Rapport was stopped")
        .open(&["q1"])
        .answer("q1", "tomorrow", "q1 answered \"tomorrow\" by ann (terminal)")
        .wants(&[]);
    assert_eq!(story.play.view().review.unwrap().paused.as_deref(), Some("Rapport was stopped"));
    story
        .act(
            Act::GoOn { batch: "01".into(), interrupted: Interrupted::Halt },
            "01 resumed Halt by ann (terminal)",
        )
        .world(asks, "");
    let reply = ActionReply::Words("tomorrow".into());
    let wanted = Want::ActionReplied { batch: "01".into(), action: 1, reply };
    assert!(story.play.session.wants().contains(&wanted), "the action has its answer");
    story
        .world(ended(1), "01 action 1 done")
        .wants(&["01 running Halt"])
        .world(ended(2), "01 action 2 done")
        .world(done(), "01 ended: Completed")
        .world(done(), "")
        .crash("")
        .wants(&["01 reported with 1 memos"])
        .world(filed("01"), "01 sealed")
        .world(filed("01"), "")
        .wants(&[]);
    assert_eq!(story.play.view().status, Status::Idle);
    let turn = story.play.session.file_turn("01").unwrap();
    assert_eq!((turn.stage, turn.status), (TurnStage::Complete, Some(Overall::Completed)));
    assert!(turn.plan.is_none() && turn.batch().unwrap().has_remembered());
}

/// A turn that the agent replied to in words, which are reported.
fn replied() -> Story {
    let mut story = files();
    story.act(begin("01", CONVERSATION), "turn 1 started to draft in 01").connects();
    story.finishes("Which **language**?", "turn 1 ended");
    let turn = rapport_core::TurnId(1);
    story
        .world(World::Filed { turn, path: "01/plan.md".into() }, "filed at 01/plan.md")
        .world(checked(&["it is not a plan"]), "01 checked at 1: it is not a plan")
        .world(filed("01"), "01 sealed")
        .wants(&[]);
    story
}

/// The cards in front of a person.
fn front(story: &Story) -> Vec<String> {
    let presenter = Presenter::replay(&story.play.log).unwrap();
    presenter.focus().iter().map(|focus| focus.question.to_string()).collect()
}

fn answer_reply(folder: &str, text: &str) -> Act {
    Act::AnswerReply { folder: folder.into(), text: text.into(), asking: None, is_size_agreed: false }
}

fn prepared(after: &str) -> World {
    World::TurnPrepared {
        after: after.into(),
        folder: "02".into(),
        conversation: ConversationId::new("other"),
        origin: TurnOrigin { is_replan: true, ..origin(Some("01"), 2) },
        shown: Some("aa".into()),
    }
}

/// FILE-20: a reply in words waits; the first answer to it counts, from anywhere, and survives every crash until the agent
/// plans with it.
#[test]
fn file_20_a_reply_in_words_is_answered() {
    let mut story = replied();
    assert_eq!(front(&story), ["turn/01/reply/words"]);
    assert_eq!(story.play.view().status, Status::NeedsInput);
    let refused = |why: &str| format!("refused: answering the reply is not possible now: {why}");
    story
        .act(answer_reply("02", "English"), &refused("no reply in words to turn 02 waits for an answer"))
        .act(answer_reply("01", " \n"), &refused("the answer is empty"))
        .world(prepared("01"), "")
        .check(
            &person(bob(), answer_reply("01", "English")),
            "reply to 01 answered \"English\" by bob (telegram)",
        )
        .act(answer_reply("01", "German"), &refused("the next turn is being prepared"))
        .act(
            Act::Skip { folder: "01".into(), message: None },
            "refused: skipping is not possible now: the next turn is being prepared",
        )
        .wants(&["turn after 01 prepared with \"English\""]);
    assert_eq!(front(&story), Vec::<String>::new());
    assert_eq!(story.play.view().status, Status::Running);
    story.crash("").wants(&["turn after 01 prepared with \"English\""]);
    let wants = story.play.session.wants();
    let [Want::TurnPrepared(next)] = wants.as_slice() else { panic!("{wants:?}") };
    assert_eq!((next.words.as_str(), next.asking), ("Which **language**?", Asking::Assume));
    // A failure to prepare it is tried again.
    story
        .world(World::Failed { reason: "no space".into() }, "failed: no space")
        .wants(&[])
        .act(Act::Restart, "restarted by ann (terminal)")
        .world(prepared("00"), "")
        .world(prepared("01"), "turn 2 started to draft in 02")
        .world(prepared("01"), "")
        .wants(&["turn 2 running to turnplan []"]);
    assert_eq!(story.order().folder.as_deref(), Some("02"));
    assert_eq!(story.play.session.file_turn("01").unwrap().words.as_deref(), Some("Which **language**?"));
}

/// A reply in words can be left without an answer: then nothing waits, and something else can be planned.
#[test]
fn file_20_a_reply_in_words_is_left() {
    let mut story = replied();
    story
        .act(Act::Skip { folder: "01".into(), message: None }, "reply to 01 skipped by ann (terminal)")
        .act(
            answer_reply("01", "late"),
            "refused: answering the reply is not possible now: no reply in words to turn 01 waits for an answer",
        )
        .wants(&[]);
    assert_eq!((story.play.view().status, front(&story)), (Status::Idle, Vec::new()));
    story.act(begin("02", "other"), "turn 2 started to draft in 02");
    // What could not be prepared can be given up for another plan.
    let mut story = replied();
    story
        .act(answer_reply("01", "English"), "reply to 01 answered \"English\" by ann (terminal)")
        .world(World::Failed { reason: "no space".into() }, "failed: no space")
        .act(begin("02", "other"), "restarted by ann (terminal); turn 2 started to draft in 02");
}

/// Nobody approves what they have not seen, nothing, or what does not fit.
#[test]
fn an_approval_has_to_fit_the_plan() {
    let few = Chosen { actions: vec![None], ..all() };
    let left = || Some("left out".to_owned());
    let none = Chosen { context: vec![], memos: vec![left()], actions: vec![left(), left(), left()] };
    let part = Chosen { actions: vec![None, left(), None], ..all() };
    let mut story = planned();
    story
        .act(
            approve(2, all()),
            "refused: approving is not possible now: the plan has changed since; look at it again",
        )
        .act(approve(1, few), "refused: approving is not possible now: the selection does not fit the plan")
        .act(
            approve(1, none),
            "refused: approving is not possible now: no item of the plan is selected; skip it instead",
        )
        .act(approve(1, part), "01 approved without 1 by ann (terminal)")
        .check(
            &person(bob(), approve(1, all())),
            "refused: approving is not possible now: the approved actions are running",
        );
}

/// FILE-15, FILE-16: what the next turn is shown follows from the plan and what was approved of it, not from the text of a report.
#[test]
fn file_15_the_approved_context_is_a_fact() {
    let context = "## Active Context\n\n```text\n[+] src/a.rs\n[-] docs/b.md\n```\n\n## Memos";
    let plan = PLAN.replace("## Memos", context);
    let mut story = files();
    story.act(begin("01", CONVERSATION), "turn 1 started to draft in 01").connects();
    story.finishes(&plan, "turn 1 ended");
    let turn = rapport_core::TurnId(1);
    story.world(World::Filed { turn, path: "01/plan.md".into() }, "filed at 01/plan.md");
    story.world(checked(&[]), "01 checked at 1");
    let known = |story: &Story| {
        let turn = story.play.session.file_turn("01").unwrap();
        let all = turn.approved_context.as_ref()?.iter();
        Some(all.map(|change| change.what.clone()).collect::<Vec<_>>())
    };
    assert_eq!(known(&story), None, "nobody approved anything yet");
    let chosen = Chosen { context: vec![None, Some("not now".into())], ..all() };
    story.put(&person(bob(), approve(1, chosen)));
    (0..3).for_each(|action| drop(story.put(&Input::World(ended(action)))));
    story.put(&Input::World(done()));
    story.put(&Input::World(filed("01")));
    assert_eq!(known(&story), Some(vec!["src/a.rs".to_owned()]));
    story.crash("");
    assert_eq!(known(&story), Some(vec!["src/a.rs".to_owned()]), "it is derived again from the log");

    let mut story = planned();
    story.act(Act::Skip { folder: "01".into(), message: None }, "01 skipped by ann (terminal)");
    assert_eq!(known(&story), Some(Vec::new()), "of a plan that was skipped, nothing is approved");
}

/// FILE-31: nothing is done, what the person said is in the report, and the next turn is free.
#[test]
fn file_31_a_plan_is_skipped() {
    let mut story = planned();
    let skip = Act::Skip { folder: "01".into(), message: Some("Rather say goodbye.".into()) };
    story.act(skip.clone(), "01 skipped by ann (terminal)").crash("").wants(&["01 reported with 0 memos"]);
    let wants = story.play.session.wants();
    let [Want::ReportFiled { report, .. }] = wants.as_slice() else { panic!("{wants:?}") };
    let applied = Report::applied(report);
    assert_eq!(applied.status, Some(Overall::Skipped));
    assert_eq!(applied.message.as_deref(), Some("Rather say goodbye."));
    story
        .world(filed("01"), "01 sealed")
        .act(skip, "refused: skipping is not possible now: turn 01 is over")
        .act(begin("02", "x"), "turn 2 started to draft in 02");
}

/// A plan that cannot be carried out is reported at once; one that no longer can is, before anything is done.
#[test]
fn a_plan_that_is_not_valid_is_reported() {
    let mut story = planned();
    let look = Act::Review { folder: "01".into() };
    story.act(look, "01 looked at by ann (terminal)").wants(&["01 checked at 1"]);
    story.world(checked(&["a.txt already exists"]), "01 checked at 1: a.txt already exists");
    let wants = story.play.session.wants();
    let [Want::ReportFiled { report, .. }] = wants.as_slice() else { panic!("{wants:?}") };
    assert_eq!(Report::applied(report).status, Some(Overall::ValidationFailed));
    assert!(report.contains("a.txt already exists"), "{report}");
    story.world(filed("01"), "01 sealed").wants(&[]);

    let mut story = planned();
    let invalid = World::BatchInvalid { batch: "01".into(), problems: vec!["a.txt already exists".into()] };
    story
        .act(approve(1, all()), "01 approved without 0 by ann (terminal)")
        .world(invalid, "01 checked at 1: a.txt already exists")
        .wants(&["01 reported with 0 memos"]);
    assert!(story.play.session.file_turn("01").unwrap().batches.is_empty(), "nothing was begun");
}

/// What a file says counts once somebody accepted it, and who did is a fact.
#[test]
fn a_file_that_differs_counts_only_when_it_is_accepted() {
    let other = PLAN.replace("a.txt", "c.txt");
    let differs = |revision| World::PlanChecked {
        folder: "01".into(),
        revision,
        problems: vec![],
        remarks: vec![],
        differs: Some(other.clone()),
    };
    let mut story = planned();
    story
        .act(Act::Review { folder: "01".into() }, "01 looked at by ann (terminal)")
        .world(differs(1), "01 differs")
        .act(
            approve(1, all()),
            "refused: approving is not possible now: 01/plan.md was changed; accept or restore it first",
        )
        .act(
            Act::AcceptPlan { folder: "01".into(), text: PLAN.into() },
            "refused: accepting the plan is not possible now: the file has changed since you saw it",
        )
        .act(Act::AcceptPlan { folder: "01".into(), text: other.clone() }, "01 accepted by ann (terminal)")
        .wants(&["01 checked at 2"])
        .world(checked(&[]), "");
    let again = World::PlanChecked {
        folder: "01".into(),
        revision: 2,
        problems: vec![],
        remarks: vec![],
        differs: None,
    };
    story
        .world(again, "01 checked at 2")
        .act(
            approve(1, all()),
            "refused: approving is not possible now: the plan has changed since; look at it again",
        )
        .act(approve(2, all()), "01 approved without 0 by ann (terminal)")
        .world(World::BatchDiffers { batch: "01".into(), text: PLAN.into() }, "01 differs")
        .act(Act::RestorePlan { folder: "01".into() }, "01 restored by ann (terminal)")
        .wants(&["01 checked at 2, written anew"]);
}

/// A file that is changed once more is shown once more: nobody accepts on a card what they saw on another.
#[test]
fn a_file_that_differs_again_is_in_front_of_the_person_anew() {
    let mut story = planned();
    let mut since = Vec::new();
    for path in ["c.txt", "c.txt", "d.txt"] {
        let text = Some(PLAN.replace("a.txt", path));
        let folder = || "01".to_owned();
        let differs = World::PlanChecked {
            folder: folder(),
            revision: 1,
            problems: vec![],
            remarks: vec![],
            differs: text,
        };
        story.act(Act::Review { folder: folder() }, "01 looked at by ann (terminal)");
        story.world(differs, "01 differs");
        let mut log = story.play.log.iter();
        let mut presenter = Presenter::open(log.next().unwrap()).unwrap();
        for entry in log {
            presenter.apply(entry);
        }
        since.push(presenter.focus()[0].since);
    }
    assert!(since[0] < since[1] && since[1] < since[2], "{since:?}");
}

/// A batch that was killed pauses; what its journal knows becomes facts; a person says how it goes on, from anywhere.
#[test]
fn a_batch_that_was_killed_waits_for_a_person() {
    let mut story = planned();
    story.act(approve(1, all()), "01 approved without 0 by ann (terminal)");
    let approved_at = story.play.session.batch("01").unwrap().1.approved_at;
    let found = |unsure| {
        let ended = vec![ActionEnd {
            action: 0,
            result: ActionResult::Done,
            why: None,
            session: None,
            left_behind: 0,
        }];
        let batch = FoundBatch {
            approved_at,
            chosen: all(),
            ended,
            unsure,
            is_ended: false,
            has_changes: true,
            is_half_undone: false,
            undone: None,
        };
        World::Found(FoundTurns { turns: vec![found_turn("01", Some(PLAN), vec![batch])] })
    };
    story.play.replay();
    story
        .world(found(Some(1)), "01 action 0 done; 01 paused unsure of 1: Rapport was stopped")
        .world(found(Some(1)), "")
        .wants(&[]);
    let go_on = |interrupted| Act::GoOn { batch: "01".into(), interrupted };
    story
        .act(begin("02", "x"), "turn 2 started to draft in 02")
        .act(
            go_on(Interrupted::Again),
            "refused: resuming a batch is not possible now: the agent is still clarifying the task",
        )
        .act(Act::LeaveDraft, "02 left by ann (terminal)")
        .check(&person(bob(), go_on(Interrupted::Again)), "01 resumed Again by bob (telegram)")
        .wants(&["01 running Again"])
        .check(&person(bob(), Act::Pause), "01 paused: bob (telegram) stopped it")
        .wants(&[])
        .world(
            World::BatchPaused { batch: "01".into(), reason: "stopped".into(), unsure: Some(1) },
            "01 paused unsure of 1: bob (telegram) stopped it",
        )
        .act(go_on(Interrupted::GoOn), "01 resumed GoOn by ann (terminal)")
        .world(done(), "01 ended: Completed");
}

/// Undone from anywhere, whatever became of the session; a crash in between changes nothing; nothing is built on half of it.
#[test]
fn a_batch_is_undone() {
    let undo = |later| Act::Undo { batch: "01".into(), later };
    let mut story = planned();
    story
        .act(undo(LaterChanges::Refuse), "refused: undoing is not possible now: there is no batch 01")
        .act(approve(1, all()), "01 approved without 0 by ann (terminal)")
        .act(
            undo(LaterChanges::Refuse),
            "refused: undoing is not possible now: the approved actions are running",
        );
    let asks = World::ActionAsks { batch: "01".into(), action: 1, message: "Ship it?".into() };
    story
        .world(asks, "Rapport asked round 1: q1; q1 is of 01 action 1")
        .crash("01 paused: Rapport was stopped")
        .act(
            undo(LaterChanges::Refuse),
            "round 1 closed: it was withdrawn: its batch no longer needs an answer; 01 to be undone Refuse by ann (terminal)",
        )
        .crash("")
        .wants(&["01 undone Refuse"])
        .act(begin("02", "x"), "refused: planning is not possible now: batch 01 is being undone");
    let problem = |is_partial| UndoProblem {
        reason: "b.txt was changed".into(),
        changed: vec!["b.txt".into()],
        is_partial,
    };
    let undone = |outcome| World::Undone { batch: "01".into(), outcome };
    story
        .world(undone(Err(problem(true))), "01 not undone: b.txt was changed")
        .wants(&[])
        .act(
            begin("02", "x"),
            "refused: planning is not possible now: undoing batch 01 was interrupted: b.txt was changed",
        )
        .check(&person(bob(), undo(LaterChanges::Keep)), "01 to be undone Keep by bob (telegram)")
        .world(undone(Ok(UndoneFiles::default())), "01 undone")
        .world(undone(Ok(UndoneFiles::default())), "")
        .act(undo(LaterChanges::Keep), "refused: undoing is not possible now: batch 01 is already undone")
        .act(approve(1, all()), "01.2 approved without 0 by ann (terminal)")
        .act(Act::Cancel { reason: None }, "cancelled by ann (terminal)")
        .wants(&[]);
    let again = Act::Undo { batch: "01.2".into(), later: LaterChanges::Refuse };
    story.act(again, "01.2 to be undone Refuse by ann (terminal)").wants(&["01.2 undone Refuse"]);
    let refused = World::Undone { batch: "01.2".into(), outcome: Err(problem(false)) };
    story.world(refused, "01.2 not undone: b.txt was changed").wants(&[]);
    assert_eq!(story.play.session.batch("01.2").unwrap().1.undo, UndoState::Not, "nothing of it was undone");
}

/// Directories that an older program or a person made are found, once, and are nobody's word; one that is gone is gone.
#[test]
fn what_is_in_the_directories_is_found() {
    let found = |turns: Vec<FoundTurn>| World::Found(FoundTurns { turns });
    let complete = FoundTurn {
        is_complete: true,
        status: Some(Overall::Partial),
        files: sums(),
        ..found_turn("01", None, vec![])
    };
    let second = FoundTurn { origin: origin(Some("01"), 2), ..found_turn("02", Some(PLAN), vec![]) };
    let mut story = files();
    story
        .world(found(vec![complete.clone(), second.clone()]), "01 found; 01 sealed; 02 found")
        .world(found(vec![complete.clone(), second.clone()]), "")
        .crash("");
    assert_eq!(story.play.session.review().unwrap().folder, "02");
    let approve = Act::Approve { folder: "02".into(), revision: 1, chosen: all() };
    story.act(approve, "02 approved without 0 by ann (terminal)");
    assert_eq!(story.play.session.batch("02").unwrap().1.by, Some(ann()));
    story.world(found(vec![complete.clone()]), "02 gone").wants(&[]);
    story.act(begin("02", CONVERSATION), "turn 1 started to draft in 02").connects();
    story.play.replay();
    story.world(found(vec![complete]), "cut off: Rapport was stopped; 02 gone").wants(&[]);
    assert_eq!(story.play.view().status, Status::Idle);
}

/// What would run or be sent counts where the facts tell of it, or where Rapport itself wrote it; anything else is unknown.
#[test]
fn what_neither_the_facts_nor_rapport_vouch_for_is_unknown() {
    let empty = || FoundTurn { is_ready: false, is_ours: false, ..found_turn("01", None, vec![]) };
    let plan = || FoundTurn { plan: Some(PLAN.into()), ..empty() };
    let ready = |digest: &str| FoundTurn { is_ready: true, shown: Some(digest.into()), ..empty() };
    let reported = || FoundTurn { is_complete: true, files: sums(), ..empty() };
    let ours = |found: FoundTurn| FoundTurn { is_ours: true, ..found };
    let unknown = |story: &Story, found: FoundTurn| {
        !story.play.session.unknown_turns(&FoundTurns { turns: vec![found] }).is_empty()
    };
    // A directory that no fact tells of.
    let new = files();
    for (found, is_unknown) in
        [(empty(), false), (plan(), true), (ready("a"), true), (reported(), true), (ours(ready("a")), false)]
    {
        assert_eq!(unknown(&new, found.clone()), is_unknown, "{found:?}");
    }
    // One that waits to be planned, as it was found.
    let mut waits = files();
    waits.world(World::Found(FoundTurns { turns: vec![ours(ready("a"))] }), "01 found");
    for (found, is_unknown) in [
        (ready("a"), false),
        (ready("b"), true),
        (ours(ready("b")), false),
        (FoundTurn { plan: Some(PLAN.into()), ..ready("a") }, true),
        (FoundTurn { is_ready: false, ..ready("b") }, true),
        (reported(), true),
    ] {
        assert_eq!(unknown(&waits, found.clone()), is_unknown, "{found:?}");
    }
    // One with a plan that the facts tell of: where its file differs, that is asked about in its review.
    let planned = planned();
    for (found, is_unknown) in [(plan(), false), (reported(), true)] {
        assert_eq!(unknown(&planned, found.clone()), is_unknown, "{found:?}");
    }
    // Once a person has looked at it, all of it is told by the facts.
    for found in [plan(), ready("a"), reported()] {
        let mut looked_at = files();
        let turns = FoundTurns { turns: vec![found.clone()] };
        let told = if found.is_complete { "01 found; 01 sealed" } else { "01 found" };
        looked_at.world(World::Found(turns), told);
        assert!(!unknown(&looked_at, found.clone()), "{found:?}");
    }
}

/// A seal holds until somebody accepts what was changed since, and who did is a fact.
#[test]
fn a_seal_holds_until_somebody_accepts_another() {
    let complete = FoundTurn { is_complete: true, files: sums(), ..found_turn("01", None, vec![]) };
    let accept = |files: BTreeMap<String, String>| Act::AcceptChanges {
        turns: BTreeMap::from([("01".into(), files)]),
    };
    let other = BTreeMap::from([("plan.md".to_owned(), "bb".to_owned())]);
    let mut story = files();
    story
        .world(World::Found(FoundTurns { turns: vec![complete] }), "01 found; 01 sealed")
        .act(accept(sums()), "")
        .act(accept(other.clone()), "01 sealed by ann (terminal)")
        .crash("");
    assert_eq!(story.play.session.sealed()["01"], other);
    story.act(accept(BTreeMap::new()), "01 sealed by ann (terminal)");
    assert!(story.play.session.file_turns().is_empty(), "that it is gone was accepted");
}

/// A log from before there were these facts: what it knows is kept, the directory tells the rest.
#[test]
fn an_older_log_goes_on_from_its_directory() {
    let mut story = planned();
    story.play.log.iter_mut().for_each(|entry| {
        entry.facts.retain(|fact| !matches!(fact, rapport_core::Event::PlanChecked { .. }));
        for fact in &mut entry.facts {
            if let rapport_core::Event::PlanStarted { origin, .. } = fact {
                *origin = None;
            }
        }
    });
    story.play.replay();
    let approved_at = Timestamp::from_second(1_769_000_100).unwrap();
    let batch = FoundBatch {
        approved_at,
        chosen: all(),
        ended: vec![],
        unsure: None,
        is_ended: true,
        has_changes: true,
        is_half_undone: false,
        undone: None,
    };
    let found = World::Found(FoundTurns { turns: vec![found_turn("01", Some(PLAN), vec![batch])] });
    // Killed between the end of the batch and its report.
    story.world(found.clone(), "01 found").world(found, "").wants(&[]);
    story
        .act(
            Act::GoOn { batch: "01".into(), interrupted: Interrupted::Halt },
            "01 resumed Halt by ann (terminal)",
        )
        .world(done(), "01 ended: Completed")
        .wants(&["01 reported with 1 memos"]);
}

fn found_turn(folder: &str, plan: Option<&str>, batches: Vec<FoundBatch>) -> FoundTurn {
    FoundTurn {
        folder: folder.into(),
        origin: origin(None, 1),
        is_ready: true,
        shown: None,
        is_ours: true,
        plan: plan.map(str::to_owned),
        is_complete: false,
        status: None,
        files: BTreeMap::new(),
        batches,
    }
}

fn ann() -> By {
    crate::support::ann()
}

/// What a person decides travels between processes as it is.
#[test]
fn acts_survive_json() {
    for act in [
        approve(1, all()),
        Act::Undo { batch: "01".into(), later: LaterChanges::Keep },
        Act::GoOn { batch: "01".into(), interrupted: Interrupted::Again },
        Act::Pause,
        Act::LeaveDraft,
        Act::ChangeTerms { change: TermsChange { max_rounds: Some(2), ..TermsChange::default() } },
        Act::Skip { folder: "01".into(), message: None },
    ] {
        let json = serde_json::to_string(&act).unwrap();
        assert_eq!(serde_json::from_str::<Act>(&json).unwrap(), act, "{json}");
    }
    let _: Input = person(ann(), Act::Pause);
}
