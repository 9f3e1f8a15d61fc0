//! Who is asked what: the class of two hundred questions, the way of a question in stories, the tables of the page, and any
//! story at all.

mod idle;
mod labelled;
mod offers;
mod page;
mod stories;
mod whatever;

use rapport_core::routing::{Ground, Grounding, Policy};
use rapport_core::{By, Created, SessionId, Terms};

use crate::support::created;

/// The lead of every session here.
const LEAD: &str = "20260124-lead";

fn lead() -> By {
    By::Lead { name: LEAD.into() }
}

/// A session of a person that has a lead.
fn led(policy: Policy) -> Created {
    let terms = Terms { questions: policy, ..Terms::default() };
    Created { lead: Some(SessionId::new(LEAD)), ..created("Add login", terms) }
}

/// A ground that the engine has found.
fn found(ground: &str) -> (Ground, Grounding) {
    let ground: Ground = ground.parse().unwrap();
    (ground.clone(), Grounding { ground, quote: "Passkeys everywhere".into() })
}
