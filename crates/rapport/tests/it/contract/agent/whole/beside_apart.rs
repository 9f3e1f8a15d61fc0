//! A question that does not wait alone, and a parked permission, with an agent in a separate workplace: a worktree, a
//! sandbox, a container here and on another machine. As in the project itself (`killed_beside`), an agent is ended
//! only where it can continue.

use std::time::Duration;

use rapport_core::{Beside, Event, Purpose};

use super::killed_beside::{ALLOWED, ANSWER, assert_done, requests, says_why_it_is_kept, story, working};
use super::{Cast, PARKED, World};
use crate::support::patience::wait_at_most;

/// Each story, on each agent, in each of these places.
macro_rules! in_every_place {
    (@ $row:ident ($actor:expr) $worker:ident: $($story:ident)*) => {
        mod $row {
            use crate::contract::agent::actor::Actor;
            $(#[test]
            fn $story() {
                if let Some(cast) = super::super::super::Cast::of($actor, stringify!($worker)) {
                    super::super::$story(&cast);
                }
            })*
        }
    };
    ($($worker:ident)*) => {
        $(mod $worker {
            crate::contract::agent::agents! {
                in_every_place $worker:
                killed_beside_a_call
                killed_beside_an_agent
                killed_beside_a_command
                a_permission_is_parked_and_given
            }
        })*
    };
}

in_every_place! { worktree sandbox container remote }

fn killed_beside_a_call(cast: &Cast) {
    killed_beside(cast, Beside::Call);
}

fn killed_beside_an_agent(cast: &Cast) {
    killed_beside(cast, Beside::Agent);
}

fn killed_beside_a_command(cast: &Cast) {
    killed_beside(cast, Beside::Command);
}

/// WORK-17: while something else is in flight the agent stays, and `status` says why. When its host is killed, the
/// agent ends without an answer, and later continues with it.
fn killed_beside(cast: &Cast, beside: Beside) {
    let mut world = World::with_arguments(cast.clone(), story(beside), ALLOWED);
    world.project = world.project.set("RAPPORT_AGENT_PERMISSION_MODE", "acceptEdits");
    let mut running = world.project.start(&[PARKED, &["add", "auth"]].concat(), &[]);
    let question = world.answer_until(&mut running, "Which name?");
    running.until(|fact| matches!(fact, Event::StayedHot { beside: told, .. } if *told == beside));
    says_why_it_is_kept(&world, beside);
    let heard = requests(&world).len();
    running.kill();
    wait_at_most(Duration::from_secs(3), "the end of the agent", || {
        world.processes().is_empty().then_some(())
    });
    world.answer(&question);
    assert_eq!(requests(&world).len(), heard, "the model heard something before the answer");
    let session = world.project.session();
    let running = world.project.start(&[PARKED, &["--resume", session.as_str()]].concat(), &[]);
    world.answer_everything(running);
    assert_done(&world, beside);
    let facts = world.project.facts();
    let asks = |fact: &&Event| matches!(fact, Event::Asked { questions, .. } if questions.iter().any(|asked| asked.text == question.text));
    assert_eq!(facts.iter().filter(asks).count(), 1, "nobody is asked twice");
    world.project.rapport(&["apply", session.as_str()]).check(0, "");
    if world.model.is_some() {
        // The scripted model, which reads nothing, does not make a call again that was cut off.
        let heard = &requests(&world)[heard];
        assert!(heard.contains(ANSWER), "the next it hears is the answer: {heard}");
    } else {
        assert_eq!(world.project.file("auth.txt"), "Auth.\n");
    }
}

/// A permission without a decision for long: the agent is ended, and makes the call again when it is allowed.
fn a_permission_is_parked_and_given(cast: &Cast) {
    const COUNTS: &str = "echo counted >> n.txt";
    // The real CLI makes the call a second time, and the scripted one continues at it.
    let twice = working().uses_bash(COUNTS).with_permission();
    let twice = if world_is_scripted(cast) { twice } else { twice.uses_bash(COUNTS).with_permission() };
    let world = World::playing(cast.clone(), twice.respond_with_text("All done."));
    let mut running = world.project.start(&[PARKED, &["add", "auth"]].concat(), &[]);
    loop {
        let Event::Asked { questions, .. } = running.until_asked() else { unreachable!() };
        if matches!(questions[0].purpose, Purpose::Permission { .. }) {
            running.until(|fact| matches!(fact, Event::Parked { .. }));
            world.answer(&questions[0]);
            break;
        }
        world.answer(&questions[0]);
    }
    world.answer_everything(running);
    assert_eq!(world.project.view().result.as_deref(), Some("All done."));
    world.project.rapport(&["apply", world.project.session().as_str()]).check(0, "Applied to");
    assert!(world.project.file("n.txt").starts_with("counted\n"), "{}", world.project.file("n.txt"));
}

fn world_is_scripted(cast: &Cast) -> bool {
    matches!(cast.actor, super::Actor::Rehearsal)
}
