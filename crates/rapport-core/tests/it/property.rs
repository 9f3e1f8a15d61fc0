//! Any story at all: up to forty inputs from a small and nasty alphabet, with crashes in between, and what must hold
//! after each of them. `RAPPORT_PROPERTY_CASES` says how many stories are told (2,000 where nothing is said).

mod moves;
mod planning;
mod turns;
mod watch;

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};
use rapport_core::{Act, Created, Input, World};

use self::moves::{Dice, Move};
use self::watch::Watch;
use crate::support::{Play, ann, created, person};

/// Three numbers a move: what, whom, how. Small numbers are simple moves, so that a failure shrinks to a simple story.
fn stories() -> impl Strategy<Value = (u8, Vec<Dice>)> {
    (any::<u8>(), vec(any::<Dice>(), 0..40))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test may know its surroundings; the core may not")]
fn whatever_happens_the_rules_hold() {
    let cases = std::env::var("RAPPORT_PROPERTY_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = Config {
        cases: cases.unwrap_or(2_000),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/it/property.regressions"))),
        ..Config::default()
    };
    let outcome = TestRunner::new(config)
        .run(&stories(), |(terms, moves)| tell(terms, &moves).map(drop).map_err(TestCaseError::fail));
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// The story above is worth telling only if it gets everywhere.
#[test]
fn the_stories_get_everywhere() {
    const STORIES: usize = 4_000;
    let mut runner = TestRunner::deterministic();
    let mut reached = BTreeMap::<&str, usize>::new();
    for _ in 0..STORIES {
        let (terms, moves) = stories().new_tree(&mut runner).unwrap().current();
        for place in tell(terms, &moves).unwrap() {
            *reached.entry(place).or_default() += 1;
        }
    }
    // In how many of a thousand stories, at least.
    let expected = [
        ("an answer", 600),
        ("a confirmation", 300),
        ("work", 190),
        ("a question while working", 50),
        ("completed", 15),
        ("cancelled", 50),
        ("failed", 150),
        ("restarted", 60),
        ("two open calls", 100),
        ("cooled", 40),
        ("parked", 50),
        ("parked with an open question", 30),
        ("cut off with an open question", 150),
        ("asked again by the same call", 60),
        ("asked again by another call", 20),
        ("superseded", 10),
        ("expired", 30),
        ("withdrawn", 100),
        ("declined", 150),
        ("back", 35),
        ("edited", 5),
        ("kept", 8),
        ("another plan", 40),
        ("permission", 100),
        ("said in the middle", 30),
        ("said at the end", 3),
        ("read", 3),
        ("stopped", 10),
        ("a crash", 300),
    ];
    let missed: Vec<_> = expected
        .into_iter()
        .map(|(place, at_least)| (place, at_least, reached.get(place).copied().unwrap_or(0) * 1000 / STORIES))
        .filter(|(_, at_least, reached)| reached < at_least)
        .collect();
    assert_eq!(missed, [], "place, how often in a thousand stories it should be reached, how often it was");
}

/// Tells one story, looks at everything after each move, and says where it got. The error is the story up to what is
/// wrong.
fn tell(terms: u8, dice: &[Dice]) -> Result<BTreeSet<&'static str>, String> {
    let by = moves::beginner(terms);
    let mut play = Play::begin_as(Created { by, ..created("Add login", moves::terms(terms)) });
    let mut watch = Watch::new(&play);
    let mut told = Vec::new();
    for dice in dice {
        let next = moves::choose(&play, &watch, *dice);
        let outcome = step(&mut play, &mut watch, &next);
        told.push(next);
        outcome.map_err(|wrong| wrong_after(&wrong, &told))?;
    }
    let reached = watch.reached();
    end(&mut play, &mut watch).map_err(|wrong| wrong_after(&wrong, &told))?;
    Ok(reached)
}

fn wrong_after(wrong: &str, told: &[Move]) -> String {
    let told: Vec<_> = told.iter().map(|told| format!("  {told:?}")).collect();
    format!("{wrong}, after\n{}", told.join("\n"))
}

fn step(play: &mut Play, watch: &mut Watch, next: &Move) -> Result<(), String> {
    match next {
        Move::Pass(time) => play.pass(*time),
        Move::Wait => {
            let Some(deadline) = play.session.deadline() else { return Ok(()) };
            play.now = play.now.max(deadline);
            return step(play, watch, &Move::Put(Input::World(World::Tick)));
        }
        Move::Crash => {
            let live = play.session.clone();
            play.replay();
            if play.session != live {
                return Err("the replayed session is another than the live one".into());
            }
            watch.crashed();
            return step(play, watch, &Move::Put(Input::World(World::Lost)));
        }
        Move::Put(input) => {
            let outcome = play.put(input);
            watch.after(play, input, &outcome)?;
        }
    }
    watch.look(play)
}

/// From wherever a story got to: the log is the session, and anybody can end it.
fn end(play: &mut Play, watch: &mut Watch) -> Result<(), String> {
    let live = play.session.clone();
    play.replay();
    if play.session != live || play.session.wants() != live.wants() {
        return Err("the replayed session is another than the live one".into());
    }
    watch::view_survives_json(play)?;
    if play.session.is_over() {
        return Ok(());
    }
    step(play, watch, &Move::Put(person(ann(), Act::Cancel { reason: None })))?;
    if !play.session.is_over() {
        return Err("cancelling did not end it".into());
    }
    Ok(())
}
