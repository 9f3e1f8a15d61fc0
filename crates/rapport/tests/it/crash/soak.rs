//! Random kills for any length of time: `cargo xtask soak` runs this. The story of the crash test is repeated while
//! host and keeper are killed, alone or together, or suspended for a while, at instants that a seed decides. Every
//! acknowledged answer has to be there in the end, once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport_core::{Event, Purpose, Question};

use super::{ANSWERS, PAINT, STORY, answer_everything, expected_told, told, wrong_frame};
use crate::support::project::Project;

/// How often a story is resumed before it counts as stuck; after that it is no longer disturbed.
const DISTURBED: usize = 8;
/// How long one run of a story may take. A run lasts seconds, so one that takes this long does not end by itself.
const LONGEST_RUN: Duration = Duration::from_secs(120);

#[test]
#[ignore = "takes as long as RAPPORT_SOAK_MINUTES says; `cargo xtask soak` runs it"]
fn soak() {
    let number =
        |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().expect(name));
    let most = number("RAPPORT_SOAK_STORIES", u64::MAX);
    // A number of stories that was asked for is not cut short by the limit that is otherwise meant to keep this short.
    let minutes = number("RAPPORT_SOAK_MINUTES", if most == u64::MAX { 1 } else { 600 });
    let seed = number("RAPPORT_SOAK_SEED", 1);
    // The printed seed of a story that failed; its blows are repeated, at about the same instants.
    let again =
        std::env::var("RAPPORT_SOAK_STORY").ok().map(|text| text.parse().expect("RAPPORT_SOAK_STORY"));
    let deadline = Instant::now() + Duration::from_secs(60 * minutes);
    let mut dice = Dice(seed.max(1));
    let mut total = Count::default();
    let mut wrong = Vec::new();
    while Instant::now() < deadline && total.stories < most {
        let story_seed = again.unwrap_or_else(|| dice.roll());
        let (count, found) = story(Dice(story_seed), &[]);
        total.add(&count);
        wrong.extend(
            found.into_iter().map(|found| format!("story {} ({story_seed}): {found}", total.stories)),
        );
        if total.stories % 10 == 0 {
            println!("{total:?}");
        }
    }
    println!("seed {seed}: {total:?}\n{}", wrong.join("\n"));
    assert!(wrong.is_empty(), "{} of {} stories went wrong", wrong.len(), total.stories);
    assert!(total.kills > 0 && total.thanked > 0, "nothing was shown");
}

/// The loop itself is tested: a store that thanks for an answer before it is on disk, killed before its next write,
/// has to be found out. In how many stories that takes is decided by the seed, not by the machine.
#[test]
fn the_soak_finds_a_store_that_thanks_before_it_writes() {
    const ENOUGH: usize = 20;
    let mut dice = Dice(1);
    let caught = (0..ENOUGH).find_map(|_| {
        let planted = format!("lag,kill-before:{}", 8 + dice.below(8));
        let (count, wrong) = story(Dice(dice.roll()), &[("RAPPORT_TRIAL", &planted)]);
        wrong.into_iter().find(|wrong| wrong.contains("lost")).inspect(|_| assert!(count.lost > 0))
    });
    assert!(caught.is_some(), "answers were lost, and nobody noticed");
}

/// A test of the watchdog: a host that never continues is killed and reported, one that ends is not.
#[test]
fn the_soak_finds_a_run_that_is_stuck() {
    let project = Project::with_scenario(STORY);
    let mut running = project.start(&["paint", "it"], &[]);
    running.until_asked();
    running.signal(Signal::SIGSTOP);
    let host = Pid::from_raw(running.child.id() as i32);
    assert_eq!(watched(host, Duration::from_millis(200), || running.finish()), (-1, true));
    let id = project.session();
    let running = project.start(&["--resume", id.as_str()], &[]);
    let host = Pid::from_raw(running.child.id() as i32);
    project.rapport(&["cancel", id.as_str()]).check(0, "Cancelled");
    assert_eq!(watched(host, LONGEST_RUN, || running.finish()), (8, false));
}

#[derive(Debug, Default)]
struct Count {
    stories: u64,
    kills: u64,
    stops: u64,
    thanked: u64,
    lost: u64,
    doubled: u64,
    stuck: u64,
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.stories += other.stories;
        self.kills += other.kills;
        self.stops += other.stops;
        self.thanked += other.thanked;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.stuck += other.stuck;
    }
}

/// Numbers that look random, and are the same for the same seed (xorshift64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }
}

/// What is done to a process that runs.
#[derive(Clone, Copy, Debug)]
enum Blow {
    KillHost,
    KillKeeper,
    /// The first is gone when the second is struck.
    KillHostAndKeeper,
    KillKeeperAndHost,
    StopHost,
    StopKeeper,
}

const BLOWS: [Blow; 6] = [
    Blow::KillHost,
    Blow::KillKeeper,
    Blow::KillHostAndKeeper,
    Blow::KillKeeperAndHost,
    Blow::StopHost,
    Blow::StopKeeper,
];

/// Tells the story once, by hosts that get these variables while they are disturbed; what happened, and what is wrong
/// in the end.
fn story(mut dice: Dice, env: &[(&str, &str)]) -> (Count, Vec<String>) {
    let hot = ["0s", "5m"][dice.below(2) as usize];
    let project = Project::with_scenario(STORY).set("RAPPORT_AGENT_HOT", hot);
    let mut count = Count { stories: 1, ..Count::default() };
    let mut thanked: BTreeMap<String, String> = BTreeMap::new();
    // A question that was open again although its answer was acknowledged: that answer was lost.
    let mut asked_again = Vec::new();
    let (mut is_over, mut stuck) = (false, None);
    for run in 0..DISTURBED + 5 {
        let env = if run < DISTURBED { env } else { &[] };
        let sessions = project.store().list().unwrap();
        let mut running = match sessions.first() {
            Some(id) => project.start(&["--resume", id.as_str()], env),
            None => project.start(&["paint", "it"], env),
        };
        let host = Pid::from_raw(running.child.id() as i32);
        let blow = BLOWS[dice.below(BLOWS.len() as u64) as usize];
        let (after, pause) = (dice.below(300), dice.below(300));
        let over = AtomicBool::new(run >= DISTURBED);
        let (code, is_stuck) = watched(host, LONGEST_RUN, || {
            std::thread::scope(|scope| {
                let striking = scope.spawn(|| strike(&project, host, blow, (after, pause), &over));
                answer_everything(&project, &mut running, |question, outcome| {
                    let again = outcome.is_ok()
                        && thanked.insert(question.id.to_string(), question.text.clone()).is_some();
                    if again {
                        asked_again.push(question.text.clone());
                    }
                });
                over.store(true, Ordering::SeqCst);
                match striking.join().unwrap() {
                    Some(Blow::StopHost | Blow::StopKeeper) => count.stops += 1,
                    Some(_) => count.kills += 1,
                    None => {}
                }
            });
            running.finish()
        });
        is_over = code == 0;
        stuck = is_stuck.then_some(run);
        if is_over || is_stuck {
            break;
        }
    }
    count.thanked = thanked.len() as u64;
    count.stuck = u64::from(stuck.is_some());
    let mut wrong = judge(&project, &thanked, is_over, &mut count);
    wrong
        .extend(stuck.map(|run| format!("run {run} was stuck for {LONGEST_RUN:?}, and its host was killed")));
    count.lost += asked_again.len() as u64;
    wrong.extend(asked_again.iter().map(|text| format!("the answer to {text:?} was lost, and given again")));
    if !wrong.is_empty() {
        show(&project);
    }
    (count, wrong)
}

/// Prints what is left of a story that went wrong: it cannot be told again, because its instants are not the same.
fn show(project: &Project) {
    for entry in project.store().read(&project.session(), 0).unwrap() {
        println!("{}", serde_json::to_string(&entry).unwrap());
    }
    for line in project.transcripts().concat() {
        println!("{line}");
    }
}

/// Follows a run to its end. If that takes too long, kills its host, so that the reader of its output continues.
/// Returns the result, and whether it was stuck.
fn watched<T>(host: Pid, longest: Duration, follow: impl FnOnce() -> T) -> (T, bool) {
    let (ends, is_over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let watching = scope.spawn(move || {
            let is_stuck = is_over.recv_timeout(longest) == Err(RecvTimeoutError::Timeout);
            is_stuck && kill(host, Signal::SIGKILL).is_ok()
        });
        let followed = follow();
        drop(ends);
        (followed, watching.join().unwrap())
    })
}

/// Waits, and strikes once, unless the run is over before. What was done.
fn strike(
    project: &Project,
    host: Pid,
    blow: Blow,
    (after, pause): (u64, u64),
    over: &AtomicBool,
) -> Option<Blow> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(after) {
        if over.load(Ordering::SeqCst) {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let is_keeper = |(_, words): &(Pid, String)| words.contains(" keep -- ");
    let keeper = || project.agents_alive().into_iter().find(is_keeper).map(|(id, _)| id);
    // The host may be a process that has ended and was not waited for; a signal to it does no harm.
    let send = |id: Pid, signal: Signal| kill(id, signal).is_ok();
    let stop = |id: Pid| {
        let stopped = send(id, Signal::SIGSTOP);
        std::thread::sleep(Duration::from_millis(pause));
        stopped && send(id, Signal::SIGCONT)
    };
    let done = match blow {
        Blow::KillHost => send(host, Signal::SIGKILL),
        Blow::KillKeeper => keeper().is_some_and(|keeper| send(keeper, Signal::SIGKILL)),
        Blow::KillHostAndKeeper | Blow::KillKeeperAndHost => {
            let mut both: Vec<_> = keeper().into_iter().chain([host]).collect();
            if matches!(blow, Blow::KillHostAndKeeper) {
                both.reverse();
            }
            // All of them are struck, also where one is gone already.
            let struck: Vec<_> = both.into_iter().map(|id| send(id, Signal::SIGKILL)).collect();
            !struck.contains(&false)
        }
        Blow::StopHost => stop(host),
        Blow::StopKeeper => keeper().is_some_and(stop),
    };
    done.then_some(blow)
}

/// Every acknowledged answer is in the log, once; no person was asked twice; the agent was told each answer once; the
/// files are as expected; no command ran more often than it was allowed; nothing is left running.
fn judge(
    project: &Project,
    thanked: &BTreeMap<String, String>,
    is_over: bool,
    count: &mut Count,
) -> Vec<String> {
    let mut wrong = Vec::new();
    if !is_over {
        wrong.push("it never came to its end".to_owned());
    }
    let facts = project.facts();
    let answers = |id: &str| {
        facts
            .iter()
            .filter(|fact| matches!(fact, Event::Answered { question, .. } if question.as_str() == id))
            .count()
    };
    for (id, text) in thanked {
        if answers(id) == 0 {
            count.lost += 1;
            wrong.push(format!("the answer to {text:?} is lost"));
        }
    }
    let asked = facts.iter().filter_map(|fact| match fact {
        Event::Asked { questions, .. } => Some(questions),
        _ => None,
    });
    let asked: Vec<&Question> =
        asked.flatten().filter(|question| question.purpose == Purpose::Clarify).collect();
    for (text, _) in ANSWERS {
        let times = asked.iter().filter(|question| question.text == text).count();
        let answered: usize = asked
            .iter()
            .filter(|question| question.text == text)
            .map(|question| answers(question.id.as_str()))
            .sum();
        if times > 1 || answered > 1 {
            count.doubled += 1;
            wrong.push(format!("{text:?} was asked {times} times and answered {answered} times"));
        }
    }
    let paint = project.file("paint.txt");
    if paint != PAINT {
        wrong.push(format!("paint.txt: {paint:?} instead of {PAINT:?}"));
    }
    wrong.extend(wrong_frame(&project.file("frame.txt"), &facts).map(|frame| format!("frame.txt: {frame}")));
    let told = told(project);
    if told != expected_told() {
        wrong.push(format!("the agent was told {told:?}"));
    }
    let left = left_running(project);
    if !left.is_empty() {
        wrong.push(format!("left running: {left:?}"));
    }
    wrong
}

/// The processes of this project that are there after a while: a keeper ends a moment after its host.
fn left_running(project: &Project) -> Vec<(Pid, String)> {
    let begun = Instant::now();
    loop {
        let left = project.processes();
        if left.is_empty() || begun.elapsed() > Duration::from_secs(5) {
            return left;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
