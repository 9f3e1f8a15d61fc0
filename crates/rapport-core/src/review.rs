//! Reviewing a plan of actions, whatever it is shown on: its items in words, which of them are taken, what builds on what,
//! and what can be seen of each before it is approved.

mod depends;
mod outline;
mod preview;
mod selection;

pub use depends::Dependencies;
pub use outline::{Item, change_label, counts, items, warnings};
pub use preview::{Preview, Shown, needed, preview};
pub use selection::{Checks, Group, Mark, Note, Pick, Selection};
