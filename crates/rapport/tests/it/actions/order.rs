//! FILE-34, FILE-40: the chosen actions run in their order, up to the first failure that is not allowed, and each is
//! reported.

use std::sync::Mutex;

use rapport::actions::{ActionError, Choice, Details, Interrupted, Pending, Requester, Stop};
use rapport_core::ActionKind;
use tokio::sync::{mpsc, oneshot};

use super::{Nobody, Seen, Stage, allowed_to_fail, chat, create, details, edit, execute, plan, read, told};

#[tokio::test]
async fn file_34_checked_actions_run_in_original_order() {
    let stage = Stage::new().with("a.txt", "one\n");
    let plan = plan([
        execute("cat a.txt >> seen"),
        edit("a.txt", &[("one", "two")]),
        execute("cat a.txt >> seen"),
        create("b.txt", "b\n"),
        execute("cat a.txt b.txt >> seen"),
    ]);
    let mut choices = vec![Choice::Run; 5];
    choices[2] = Choice::Skip { reason: "not needed".into() };
    let seen = Seen::default();
    let batch = stage.batch(&plan);
    let ran = batch.run(&choices, &Nobody, &mut |live| seen.see(live), &Stop::never()).await.unwrap();
    assert_eq!(told(&ran), ["done", "done", "skipped: not needed", "done", "done"]);
    assert!(!ran.unfinished);
    assert_eq!(stage.text("seen").unwrap(), "one\ntwo\nb\n");
    let live = [
        "0 EXECUTE",
        "0 done",
        "1 EDIT",
        "1 done",
        "2 skipped: not needed",
        "3 CREATE",
        "3 done",
        "4 EXECUTE",
        "4 done",
    ];
    assert_eq!(seen.all(), live);
    assert_eq!(stage.resume(&plan, Interrupted::Halt).await, ran, "what is over is only told again");
    assert_eq!(stage.text("seen").unwrap(), "one\ntwo\nb\n");
}

#[tokio::test]
async fn file_34_a_failure_halts_and_later_actions_say_after_what() {
    let stage = Stage::new();
    let plan = plan([
        allowed_to_fail("echo bad; exit 3"),
        create("a.txt", "a"),
        execute("cargo_is_not_here test\nsecond line"),
        create("b.txt", "b"),
        chat("Hello?"),
    ]);
    let ran = stage.run(&plan).await;
    let skipped = "skipped: after EXECUTE cargo_is_not_here test… failed";
    // The second line of the command succeeds or not: its exit code counts.
    assert_eq!(told(&ran)[..2], ["failed: exit code 3", "done"]);
    assert_eq!(told(&ran)[2..], ["failed: exit code 127", skipped, skipped]);
    assert_eq!(stage.text("b.txt"), None);
    let Details::Command { exit, output, .. } = details(&ran, 0) else { panic!() };
    assert_eq!((*exit, output.text.as_str()), (Some(3), "bad"));
    assert_eq!(stage.resume(&plan, Interrupted::Halt).await, ran);
}

#[tokio::test]
async fn what_is_not_chosen_is_not_done() {
    let stage = Stage::new();
    let plan = plan([create("a", ""), create("b", "")]);
    let batch = stage.batch(&plan);
    let ran = batch.run(&[Choice::Run], &Nobody, &mut |_| {}, &Stop::never()).await.unwrap();
    assert_eq!(told(&ran), ["done", "skipped: it was not chosen"]);
}

#[tokio::test]
async fn a_batch_is_run_once_and_resumed_with_its_own_plan() {
    let stage = Stage::new();
    let first = plan([create("a", "")]);
    let other = plan([create("b", "")]);
    let resumed = stage.batch(&first).resume(Interrupted::Halt, &Nobody, &mut |_| {}, &Stop::never()).await;
    assert!(matches!(resumed, Err(ActionError::NoBatch { .. })), "{resumed:?}");
    assert!(!stage.site.journal.exists(), "looking leaves nothing");
    stage.run(&first).await;
    let again = stage.batch(&first).run(&[Choice::Run], &Nobody, &mut |_| {}, &Stop::never()).await;
    assert!(matches!(again, Err(ActionError::NotNew { .. })), "{again:?}");
    let resumed = stage.batch(&other).resume(Interrupted::Halt, &Nobody, &mut |_| {}, &Stop::never()).await;
    assert!(matches!(resumed, Err(ActionError::OtherPlan { .. })), "{resumed:?}");
    stage.undo();
    let resumed = stage.batch(&first).resume(Interrupted::Halt, &Nobody, &mut |_| {}, &Stop::never()).await;
    assert!(matches!(resumed, Err(ActionError::WasUndone { .. })), "{resumed:?}");
}

/// A person who is asked one question after another, and may be slow.
struct Somebody {
    asked: mpsc::UnboundedSender<String>,
    answers: Mutex<Vec<oneshot::Receiver<String>>>,
}

impl Somebody {
    fn hear(&self, words: String) -> Pending<'_> {
        self.asked.send(words).unwrap();
        let answer = self.answers.lock().unwrap().remove(0);
        Box::pin(async move { answer.await.map_err(|_| "they went away".to_owned()) })
    }
}

impl Requester for Somebody {
    fn ask<'a>(&'a self, n: usize, message: &'a str) -> Pending<'a> {
        self.hear(format!("{n} ask {message}"))
    }

    fn research<'a>(&'a self, n: usize, queries: &'a [String]) -> Pending<'a> {
        self.hear(format!("{n} research {}", queries.join(", ")))
    }

    fn invoke<'a>(&'a self, n: usize, agent: &'a str, message: &'a str) -> Pending<'a> {
        self.hear(format!("{n} invoke {agent}: {message}"))
    }
}

fn somebody(answers: usize) -> (Somebody, mpsc::UnboundedReceiver<String>, Vec<oneshot::Sender<String>>) {
    let (asked, heard) = mpsc::unbounded_channel();
    let (senders, receivers) = (0..answers).map(|_| oneshot::channel()).unzip();
    (Somebody { asked, answers: Mutex::new(receivers) }, heard, senders)
}

#[tokio::test]
async fn file_40_others_are_asked_searched_and_invoked() {
    let stage = Stage::new();
    let plan = plan([
        chat("Which colour?"),
        ActionKind::Research { queries: vec!["paint".into(), "colour of paint".into()] },
        ActionKind::Invoke { agent: "painter".into(), message: "Paint it.".into() },
    ]);
    let (requester, mut heard, answers) = somebody(3);
    for (answer, words) in answers.into_iter().zip(["Blue", "Paint is wet.", "20260124-paint"]) {
        answer.send(words.into()).unwrap();
    }
    // On a task of its own, as a daemon does.
    let running = tokio::spawn(async move {
        let choices = vec![Choice::Run; 3];
        stage.batch(&plan).run(&choices, &requester, &mut |_| {}, &Stop::never()).await
    });
    let ran = running.await.unwrap().unwrap();
    assert_eq!(details(&ran, 0), &Details::Reply { text: "Blue".into() });
    assert_eq!(details(&ran, 1), &Details::Research { text: "Paint is wet.".into() });
    assert_eq!(details(&ran, 2), &Details::Session { name: "20260124-paint".into() });
    assert_eq!(heard.recv().await.unwrap(), "0 ask Which colour?");
    assert_eq!(heard.recv().await.unwrap(), "1 research paint, colour of paint");
    assert_eq!(heard.recv().await.unwrap(), "2 invoke painter: Paint it.");
}

#[tokio::test]
async fn a_question_that_waits_can_be_stopped_and_asked_again() {
    let stage = Stage::new();
    let plan = plan([create("a", "a"), chat("Which colour?"), create("b", "b")]);
    let (requester, mut heard, _answers) = somebody(1);
    let (stopper, stop) = Stop::new();
    let stopping = async {
        heard.recv().await.unwrap();
        stopper.stop();
    };
    let choices = vec![Choice::Run; 3];
    let mut observer = |_: rapport::actions::Live<'_>| {};
    let batch = stage.batch(&plan);
    let (ran, ()) = tokio::join!(batch.run(&choices, &requester, &mut observer, &stop), stopping);
    let ran = ran.unwrap();
    assert_eq!(told(&ran), ["done", "failed: interrupted", "skipped: the batch was stopped before it"]);
    assert!(ran.unfinished);

    let (requester, mut heard, answers) = somebody(1);
    answers.into_iter().next().unwrap().send("Blue".into()).unwrap();
    let ran = batch.resume(Interrupted::Halt, &requester, &mut |_| {}, &Stop::never()).await.unwrap();
    assert_eq!(told(&ran), ["done", "done", "done"]);
    assert!(!ran.unfinished);
    assert_eq!(heard.recv().await.unwrap(), "1 ask Which colour?", "by the same number");
    assert_eq!(stage.text("b").unwrap(), "b");
}

/// `git clean -fdx` takes the journal along: nothing more is done, for it could not be undone.
#[tokio::test]
async fn a_command_that_removes_the_journal_ends_the_batch() {
    let stage = Stage::new();
    let plan = plan([execute("rm -r ../batch"), create("b.txt", "b")]);
    let ran = stage.run(&plan).await;
    let told = told(&ran);
    assert!(told[1].starts_with("skipped: the result could not be recorded: cannot write to "), "{told:?}");
    assert_eq!((told[0].as_str(), ran.unfinished, stage.text("b.txt")), ("done", true, None));
}

#[tokio::test]
async fn two_processes_do_not_carry_out_the_same_batch() {
    let stage = Stage::new();
    let plan = plan([chat("Which colour?"), read("nothing")]);
    let (requester, mut heard, _answers) = somebody(1);
    let (stopper, stop) = Stop::new();
    let batch = stage.batch(&plan);
    let other = async {
        heard.recv().await.unwrap();
        let other = batch.resume(Interrupted::Halt, &Nobody, &mut |_| {}, &Stop::never()).await;
        let undo = rapport::actions::undo(&stage.site, rapport::actions::LaterChanges::Keep);
        stopper.stop();
        (other.unwrap_err().to_string(), undo.unwrap_err().to_string())
    };
    let choices = vec![Choice::Run; 2];
    let mut observer = |_: rapport::actions::Live<'_>| {};
    let (ran, (other, undo)) = tokio::join!(batch.run(&choices, &requester, &mut observer, &stop), other);
    ran.unwrap();
    let busy = format!("another process is working on the batch in {}", stage.site.journal.display());
    assert_eq!((other, undo), (busy.clone(), busy));
}
