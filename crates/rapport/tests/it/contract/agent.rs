//! What every agent does under the engine: the same stories, run with each through `dyn Agent`. A row is an agent
//! that declares its abilities: the scripted one, the real CLI in three versions with a model that plays the same
//! script, and one that does as little as the trait allows. A story names the abilities that it needs; for an agent
//! that lacks one, its test says so and runs nothing.
//!
//! The real CLIs are those that `cargo xtask test` installs and names in `RAPPORT_TEST_CLAUDE` and the like; without
//! these variables their rows fail, unless they are left out on purpose (`support/needs.rs`).

mod abilities;
mod actor;
mod asking;
mod beside;
pub(super) mod choosing;
mod elicitation;
mod ending;
mod faults;
mod lingering;
mod lost_answer;
mod parked_permission;
mod parking;
mod permission;
mod plain;
mod recording;
mod saying;
mod whole;

/// The agents that the whole program is run with, a row each. Hands every row to another macro.
macro_rules! agents {
    ($then:ident $($rest:tt)*) => {
        $then! { @ rehearsal (Some(Actor::Rehearsal)) $($rest)* }
        $then! { @ claude (Actor::claude()) $($rest)* }
    };
}
use agents;

/// Makes a test of each story for each agent: `story`, or `story [Need]`.
macro_rules! on_every_agent {
    (@ $row:ident ($actor:expr) $($story:ident $([$($need:ident)+])?)*) => {
        mod $row {
            use crate::contract::agent::actor::Actor;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                let needs = &[$($(crate::contract::agent::actor::Need::$need),+)?];
                crate::contract::agent::actor::tell($actor, super::$story, needs).await;
            })*
        }
    };
    ($($story:ident $([$($need:ident)+])?)*) => {
        crate::contract::agent::agents! { on_every_agent $($story $([$($need)+])?)* }
        on_every_agent! { @ dummy (Some(Actor::Dummy)) $($story $([$($need)+])?)* }
    };
}
use on_every_agent;

/// The same, and for every other version of the real CLI that is driven differently.
macro_rules! on_every_version {
    ($($story:ident $([$($need:ident)+])?)*) => {
        on_every_agent! { $($story $([$($need)+])?)* }
        on_every_agent! { @ claude_2_1_197 (Actor::named("RAPPORT_TEST_CLAUDE_2_1_197")) $($story $([$($need)+])?)* }
        on_every_agent! { @ claude_2_1_90 (Actor::named("RAPPORT_TEST_CLAUDE_2_1_90")) $($story $([$($need)+])?)* }
    };
}
use on_every_version;
