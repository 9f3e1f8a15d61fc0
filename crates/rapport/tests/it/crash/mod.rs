//! The crash test: a story of many steps, killed with `kill -9` before and after every durable write, resumed and
//! finished. The expected result is written down here, once, and every run is compared with it.

mod said;
pub(crate) mod terminal;
mod together;
mod turns;

mod soak;

use std::collections::{BTreeMap, BTreeSet};

use rapport_core::{Event, Purpose, Question};
use serde_json::Value;

use crate::support::project::{Project, Running};

/// Two rounds before the plan, an edit of files, two questions at once, a permission, a report.
pub(crate) const STORY: &str = include_str!("story.yaml");

/// What the person answers, whatever happens.
pub(crate) const ANSWERS: [(&str, &[&str]); 6] = [
    ("Which colour?", &["Blue"]),
    ("Which sizes?", &["S", "L"]),
    ("How bright?", &["a little of both"]),
    ("Which border?", &["Thick"]),
    ("Which paper?", &["Matte"]),
    ("Which frame?", &["Steel"]),
];

/// What has to come out, however often it was interrupted.
const PAINT: &str = "Blue/Thick a little of both S, L\n";
const FRAME: &str = "Matte Steel\n";
const RESULT: &str = "Painted in Blue.";
const PLAN: &str = "1. Paint it Blue, a little of both.";

#[test]
fn undisturbed_the_story_comes_out_as_written_down() {
    let project = Project::with_scenario(STORY);
    let played = play(&project, &[]);
    assert_eq!(played.runs, 1, "nothing interrupted it");
    assert_eq!(wrong(&project, &played), Vec::<String>::new());
    let appends = appends(&project);
    assert!(appends >= 25, "the story has only {appends} durable writes");
}

// Two tests, so that they can run side by side: they are the longest of all.
#[test]
fn killed_before_any_durable_write_it_comes_out_the_same() {
    killed_at_every_append("kill-before");
}

#[test]
fn killed_after_any_durable_write_it_comes_out_the_same() {
    killed_at_every_append("kill-after");
}

#[test]
fn killed_twice_it_comes_out_the_same() {
    let appends = appends_of_an_undisturbed_run();
    let points =
        (1..=appends).step_by(3).map(|n| [format!("kill-after:{n}"), format!("kill-before:{}", 1 + n % 5)]);
    let failures: Vec<_> = points.filter_map(|[first, second]| failure(&[&first, &second])).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

// `killall -9` takes the keeper along, which alone would have ended the agent.
#[test]
fn killed_together_with_its_keeper_before_any_durable_write_it_comes_out_the_same() {
    killed_at_every_append("children,kill-before");
}

#[test]
fn killed_together_with_its_keeper_after_any_durable_write_it_comes_out_the_same() {
    killed_at_every_append("children,kill-after");
}

/// The test itself is tested: a store that acknowledges before it writes has to be found out.
#[test]
fn a_store_that_acknowledges_too_early_is_caught() {
    let appends = appends_of_an_undisturbed_run();
    let caught = (2..=appends).find_map(|n| failure(&[&format!("lag,kill-before:{n}")]));
    assert!(caught.is_some(), "acting before logging was not noticed");
}

fn killed_at_every_append(how: &str) {
    let points = (1..=appends_of_an_undisturbed_run()).map(|n| format!("{how}:{n}"));
    let failures: Vec<_> = points.filter_map(|point| failure(&[&point])).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn appends_of_an_undisturbed_run() -> u64 {
    let project = Project::with_scenario(STORY);
    play(&project, &[]);
    appends(&project)
}

/// How a story was played.
struct Played {
    /// How many processes it took.
    runs: usize,
    /// Questions that were asked again although their answer had been acknowledged.
    asked_again: Vec<String>,
    /// Answers to what was shown, and that were not taken.
    not_taken: Vec<String>,
}

fn appends(project: &Project) -> u64 {
    let entries = project.store().read(&project.session(), 0).unwrap();
    entries.len() as u64
}

/// Plays the story with these interruptions, one per process; says what came out wrong.
fn failure(interruptions: &[&str]) -> Option<String> {
    let project = Project::with_scenario(STORY);
    let played = play(&project, interruptions);
    let wrong = wrong(&project, &played);
    (!wrong.is_empty()).then(|| format!("{interruptions:?}: {}", wrong.join("; ")))
}

/// Plays it to the end: resumes it after each kill.
fn play(project: &Project, interruptions: &[&str]) -> Played {
    const ENOUGH: usize = 6;
    let mut played = Played { runs: 0, asked_again: Vec::new(), not_taken: Vec::new() };
    let mut acknowledged = BTreeSet::new();
    while played.runs < ENOUGH {
        let trial = interruptions.get(played.runs).map(|trial| ("RAPPORT_TRIAL", *trial));
        let env: Vec<_> = trial.into_iter().collect();
        let sessions = project.store().list().unwrap();
        let mut running = match sessions.first() {
            Some(id) => project.start(&["--resume", id.as_str()], &env),
            None => project.start(&["paint", "it"], &env),
        };
        played.runs += 1;
        answer_everything(project, &mut running, |question, outcome| match outcome {
            Err(why) => played.not_taken.push(why),
            Ok(()) if !acknowledged.insert(question.text.clone()) => {
                played.asked_again.push(question.text.clone())
            }
            Ok(()) => {}
        });
        if running.finish() == 0 {
            break;
        }
    }
    played
}

/// Answers what is asked, as it is asked, from another process; until the run is over or dead.
fn answer_everything(
    project: &Project,
    running: &mut Running,
    mut settled: impl FnMut(&Question, Result<(), String>),
) {
    let mut open: BTreeMap<String, Question> = BTreeMap::new();
    while let Some(entry) = running.next() {
        for fact in entry.facts {
            match fact {
                Event::Asked { questions, .. } => {
                    open.extend(questions.into_iter().map(|question| (question.id.to_string(), question)));
                }
                Event::Answered { question, .. } => drop(open.remove(question.as_str())),
                _ => {}
            }
        }
        // The run repeats its past first; a question that was already answered there is skipped.
        if entry.seq < current(project) {
            continue;
        }
        for (_, question) in std::mem::take(&mut open) {
            settled(&question, answer(project, &question));
        }
    }
}

fn current(project: &Project) -> u64 {
    let entries = project.store().read(&project.session(), 0).unwrap();
    entries.last().map_or(0, |entry| entry.seq)
}

fn answer(project: &Project, question: &Question) -> Result<(), String> {
    let values: &[&str] = match question.purpose {
        Purpose::Clarify => ANSWERS.iter().find(|(text, _)| *text == question.text).unwrap().1,
        Purpose::Confirm => &["confirm"],
        Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } => &["allow"],
        Purpose::Elicit(_) => unreachable!("no story has a server"),
        Purpose::Budget { .. } => unreachable!("no story has a budget"),
        Purpose::Idle => unreachable!("no story has a lead"),
    };
    let session = project.session();
    let args = [&["answer", session.as_str(), "--question", question.id.as_str()], values].concat();
    let ran = project.rapport(&args);
    // Answered before the kill, but not told so: then it is on disk, and that is what counts.
    let settled = ran.code() == 0 || ran.err().contains("already answered");
    if settled { Ok(()) } else { Err(format!("{}: {}", question.text, ran.err())) }
}

/// Everything that is not as written down.
fn wrong(project: &Project, played: &Played) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |what: &str, found: &dyn std::fmt::Debug, wanted: &dyn std::fmt::Debug| {
        let (found, wanted) = (format!("{found:?}"), format!("{wanted:?}"));
        if found != wanted {
            wrong.push(format!("{what}: {found} instead of {wanted}"));
        }
    };
    let read = |name: &str| std::fs::read_to_string(project.root().join(name)).unwrap_or_default();
    expect("paint.txt", &read("paint.txt"), &PAINT);
    expect("frame.txt", &wrong_frame(&read("frame.txt"), &project.facts()), &None::<String>);
    let plan = read(".claude/todos/paint/paint-it.md");
    expect("the plan has its text", &plan.contains(PLAN), &true);

    expect("answers that were not taken", &played.not_taken, &Vec::<String>::new());
    // What was allowed may have run when the agent was killed: only that is asked about anew.
    let asked_again = played.asked_again.iter().filter(|text| !text.starts_with("May the agent"));
    expect("asked again after it was answered", &asked_again.collect::<Vec<_>>(), &Vec::<String>::new());

    let facts = project.facts();
    let reported = facts.iter().filter(|fact| matches!(fact, Event::Reported { .. })).count();
    expect("reports", &reported, &1);
    let results: Vec<_> = facts
        .iter()
        .filter_map(|fact| match fact {
            Event::TurnEnded { result, .. } => Some(result.lines().next().unwrap_or_default()),
            _ => None,
        })
        .collect();
    expect("results", &results, &["# Paint", RESULT]);
    expect("questions", &asked(&facts), &expected_questions());
    expect("answers", &answered(&facts), &expected_answers());
    expect("what the agent was told", &told(project), &expected_told());
    wrong
}

/// What is wrong with the file that a command appends to. What may have run when the agent was killed is asked about
/// anew; so it ran at most as often as it was allowed.
fn wrong_frame(frame: &str, facts: &[Event]) -> Option<String> {
    let allows = |fact: &&Event| matches!(fact, Event::Answered { answer, .. } if answer.is("allow"));
    let (allowed, ran) = (facts.iter().filter(allows).count(), frame.lines().count());
    let is_right = (1..=allowed).contains(&ran) && frame == FRAME.repeat(ran);
    (!is_right).then(|| format!("{frame:?} after {allowed} permissions"))
}

fn asked(facts: &[Event]) -> Vec<String> {
    let rounds = facts.iter().filter_map(|fact| match fact {
        Event::Asked { questions, .. } => Some(questions),
        _ => None,
    });
    let mut asked: Vec<_> = rounds.flatten().map(|question| question.text.clone()).collect();
    asked.sort();
    // What may have run when the agent was killed is asked about anew; nothing else is asked twice.
    asked.dedup_by(|one, other| one == other && one.starts_with("May the agent"));
    asked
}

fn expected_questions() -> Vec<String> {
    let mut expected: Vec<_> = ANSWERS.iter().map(|(text, _)| (*text).to_owned()).collect();
    expected.push("Start the work with this plan?".into());
    expected.push("May the agent use Bash: echo 'Matte Steel' >> frame.txt?".into());
    expected.sort();
    expected
}

fn answered(facts: &[Event]) -> Vec<String> {
    let answers = facts.iter().filter_map(|fact| match fact {
        Event::Answered { answer, .. } => {
            Some(answer.values.iter().chain(&answer.text).cloned().collect::<Vec<_>>())
        }
        _ => None,
    });
    let mut answered: Vec<_> = answers.map(|words| words.join(", ")).collect();
    answered.sort();
    answered.dedup_by(|one, other| one == other && one == "allow");
    answered
}

fn expected_answers() -> Vec<String> {
    let mut expected: Vec<_> = ANSWERS.iter().map(|(_, values)| values.join(", ")).collect();
    expected.extend(["confirm".to_owned(), "allow".to_owned()]);
    expected.sort();
    expected
}

/// Each question with every answer that reached the agent's conversation, in whatever way.
fn told(project: &Project) -> BTreeMap<String, Vec<String>> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let conversations = project.transcripts();
    assert_eq!(conversations.len(), 1, "the agent had more than one conversation");
    for line in &conversations[0] {
        if let Some(answers) = line["toolUseResult"]["answers"].as_object() {
            for (question, answer) in answers {
                told.entry(question.clone())
                    .or_default()
                    .push(answer.as_str().unwrap_or_default().to_owned());
            }
        }
        if let Some(message) = line["message"]["content"].as_str().filter(|_| line["type"] == "user") {
            for (question, answer) in in_message(message) {
                told.entry(question).or_default().push(answer);
            }
        }
    }
    told
}

/// Questions and answers in a message such as `Q1: ...` / `1. ...`.
fn in_message(message: &str) -> Vec<(String, String)> {
    let Some((_, rest)) = message.split_once("Here are my answers to your questions:") else {
        return Vec::new();
    };
    let field = |prefix: String| rest.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::to_owned);
    let pairs = (1..20).map_while(|n| Some((field(format!("Q{n}: "))?, field(format!("{n}. "))?)));
    // Permissions are told, and then used; what counts for them is whether the command ran, once.
    pairs.filter(|(question, _)| !question.starts_with("May the agent")).collect()
}

fn expected_told() -> BTreeMap<String, Vec<String>> {
    ANSWERS.iter().map(|(text, values)| ((*text).to_owned(), vec![values.join(", ")])).collect()
}

/// Not used by the story itself: keeps the transcript's shape honest if it changes.
#[test]
fn what_the_agent_was_told_is_read_from_its_conversation() {
    let project = Project::with_scenario(STORY);
    play(&project, &[]);
    let results = project.transcripts().concat();
    let results = results.iter().filter(|line| line["toolUseResult"]["answers"] != Value::Null);
    assert_eq!(results.count(), 5, "five calls were answered, one of them with two answers");
}
