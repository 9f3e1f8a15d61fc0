//! A story in a container, during which the host, the keeper in the container or the engine is killed around its
//! durable writes. It is resumed, and reaches the end that is written down here.
//!
//! A run with a container takes seconds, so not every point is tried at once: each of these tests takes every n-th
//! point, and begins with another one in each run (`sampled`). The crash tests go through every point on this machine
//! itself.
//!
//! Keeper and engine have no durable writes of their own here. They are killed between two writes of the host: after
//! one, and before the next.

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rapport_core::{Event, Purpose, Question};

use super::engines::OwnEngine;
use super::{ASKS, World};
use crate::support::project::Running;
use crate::support::sampled::sampled;

/// How many hosts a story may take.
const ENOUGH: usize = 5;

/// Plays the story to its end, and gives how many hosts that took. The first one has these variables. After each new
/// entry, which is after one durable write and before the next, something may happen.
fn play(world: &World, env: &[(&str, &str)], mut happens: impl FnMut(u64)) -> usize {
    for hosts in 1..=ENOUGH {
        let env = if hosts == 1 { env } else { &[] };
        let known = world.project.store().list().unwrap();
        let mut running = match known.first() {
            Some(session) => world.project.start(&["--resume", session.as_str()], env),
            None => world.project.start(&["--hot", "0s", "paint"], env),
        };
        answer_everything(world, &mut running, &mut happens);
        if running.finish() == 0 {
            return hosts;
        }
    }
    panic!("it does not end: {:#?}", world.project.facts());
}

/// Answers what is asked, until the host has ended.
fn answer_everything(world: &World, running: &mut Running, happens: &mut impl FnMut(u64)) {
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
        happens(entry.seq);
        let session = world.project.session();
        let stored = world.project.store().read(&session, 0).unwrap();
        // A host repeats its past first; a question that was already answered there is skipped.
        if stored.last().is_some_and(|last| entry.seq < last.seq) {
            continue;
        }
        for (id, question) in std::mem::take(&mut open) {
            let answer = if question.purpose == Purpose::Confirm { "confirm" } else { "Blue" };
            let ran = world.project.rapport(&["answer", session.as_str(), "--question", &id, answer]);
            assert!(ran.code() == 0 || ran.err().contains("already answered"), "{}", ran.err());
        }
    }
}

/// How many durable writes a story without any trouble has.
fn appends() -> Option<usize> {
    let world = World::new(ASKS)?;
    assert_eq!(play(&world, &[], |_| {}), 1);
    let appends = world.project.store().read(&world.project.session(), 0).unwrap().len();
    world.assert_painted();
    assert!(appends >= 12, "the story has only {appends} durable writes");
    Some(appends)
}

/// Plays it with each of these, side by side.
fn each(points: Vec<usize>, check: impl Fn(usize) + Sync) {
    let half = points.len().div_ceil(2);
    let mut points = points.into_iter();
    let first: Vec<_> = points.by_ref().take(half).collect();
    thread::scope(|scope| {
        scope.spawn(|| points.for_each(&check));
        first.into_iter().for_each(&check);
    });
}

fn killed(how: &str) {
    let Some(appends) = appends() else { return };
    let kills = AtomicUsize::new(0);
    each(sampled(appends, 3), |number| {
        let (world, trial) = (World::new(ASKS).unwrap(), format!("{how}:{number}"));
        let hosts = play(&world, &[("RAPPORT_TRIAL", &trial)], |_| {});
        match hosts {
            1 => assert_ended_before(&world, number),
            hosts => assert_eq!(hosts, 2, "{trial} killed it once"),
        }
        kills.fetch_add(hosts - 1, Ordering::SeqCst);
        world.assert_painted();
    });
    let kills = kills.into_inner();
    println!("{how}: {kills} kills");
    assert!(kills > 0, "nothing was killed");
}

/// Nothing was killed at this write, because this time the story had fewer: how the agent's process ends and how its
/// output is divided into entries depends on timing.
fn assert_ended_before(world: &World, number: usize) {
    let writes = world.project.store().read(&world.project.session(), 0).unwrap().len();
    assert!(writes < number, "of {writes} durable writes, number {number} was not reached");
}

#[test]
fn killed_before_a_durable_write_it_comes_out_the_same_in_a_container() {
    killed("kill-before");
}

#[test]
fn killed_after_a_durable_write_it_comes_out_the_same_in_a_container() {
    killed("kill-after");
}

/// Around every write of the work that is stored with the session.
#[test]
fn killed_around_the_store_of_the_work_it_comes_out_the_same_in_a_container() {
    const MOST: Range<usize> = 1..20;
    let mut points = 0;
    for number in MOST {
        let Some(world) = World::new(ASKS) else { return };
        let hosts = play(&world, &[("RAPPORT_TRIAL_WRITES", &format!("work.patch:{number}"))], |_| {});
        world.assert_painted();
        if hosts == 1 {
            break;
        }
        points += 1;
    }
    assert!((2..MOST.len()).contains(&points), "there were {points} points to be killed at");
}

/// The keeper inside is killed, from outside, after a write, or as soon as there is one: the agent does not outlive
/// it, and is started again.
#[test]
fn with_its_keeper_inside_killed_after_a_durable_write_it_comes_out_the_same() {
    let Some(appends) = appends() else { return };
    let killed = AtomicUsize::new(0);
    each(sampled(appends, 3), |number| {
        let world = World::new(ASKS).unwrap();
        let mut is_due = true;
        play(&world, &[], |seq| {
            if seq >= number as u64 && is_due {
                // Between two processes there is no keeper.
                let keepers = kill_keepers(&world);
                is_due = keepers == 0;
                killed.fetch_add(keepers, Ordering::SeqCst);
            }
        });
        world.assert_painted();
    });
    assert!(killed.into_inner() >= 2, "there were keepers at these points");
}

/// Kills what keeps the agent in the session's container, and gives how many that were.
fn kill_keepers(world: &World) -> usize {
    // The `--idle` keeper only waits until the container is unused.
    let inside = |words: &str| {
        words.starts_with("/rapport/") && words.contains(" keep ") && !words.contains(" --idle ")
    };
    let keepers: Vec<_> = world.project.processes().into_iter().filter(|(_, words)| inside(words)).collect();
    for (keeper, _) in &keepers {
        // It may have ended by itself.
        let _ = Command::new("kill").args(["-9", &keeper.to_string()]).output();
    }
    keepers.len()
}

/// The engine is killed after a write, and comes back; what it had running is gone then.
#[test]
fn with_its_engine_killed_after_a_durable_write_it_comes_out_the_same() {
    let Some(appends) = appends() else { return };
    let Some(mut engine) = OwnEngine::start() else { return };
    let mut kills = 0;
    for number in sampled(appends, 5) {
        let world = engine.world();
        let mut is_due = true;
        play(&world, &[], |seq| {
            if seq >= number as u64 && std::mem::take(&mut is_due) {
                engine.kill();
                engine.come_back();
                kills += 1;
            }
        });
        if is_due {
            assert_ended_before(&world, number);
        }
        world.assert_painted();
    }
    println!("{kills} kills of the engine");
    assert!(kills > 0, "nothing was killed");
}
