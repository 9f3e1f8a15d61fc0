//! What every agent does under the driver. Each story is told twice: to the rehearsal agent, and to the real CLI with a
//! model that plays the same script, so that neither the driver nor the rehearsal drifts from the truth.
//!
//! The real CLI is the one that `cargo xtask test` installs and names in `RAPPORT_TEST_CLAUDE`; without that variable
//! its half of the stories fails, unless it is left out on purpose (`support/needs.rs`).

mod actor;
mod asking;
mod beside;
mod elicitation;
mod ending;
mod faults;
mod lingering;
mod parked_permission;
mod parking;
mod permission;
mod recording;
mod whole;

/// Makes two tests of each story.
macro_rules! on_every_agent {
    ($($story:ident)*) => {
        mod rehearsal {
            use crate::contract::agent::actor::Actor;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story(Actor::Rehearsal).await;
            })*
        }
        mod claude {
            use crate::contract::agent::actor::Actor;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                if let Some(actor) = Actor::claude() {
                    super::$story(actor).await;
                }
            })*
        }
    };
}
use on_every_agent;

/// Makes a test of each story for every version of the real CLI that is driven differently, beside the scripted agent.
macro_rules! on_every_version {
    ($($story:ident)*) => {
        on_every_agent! { $($story)* }
        on_every_version! { @ claude_2_1_197 "RAPPORT_TEST_CLAUDE_2_1_197" $($story)* }
        on_every_version! { @ claude_2_1_90 "RAPPORT_TEST_CLAUDE_2_1_90" $($story)* }
    };
    (@ $version:ident $variable:literal $($story:ident)*) => {
        mod $version {
            use crate::contract::agent::actor::Actor;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                if let Some(actor) = Actor::named($variable) {
                    super::$story(actor).await;
                }
            })*
        }
    };
}
use on_every_version;
