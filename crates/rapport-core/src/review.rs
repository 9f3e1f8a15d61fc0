//! Reviewing a plan of actions, on any kind of screen: its items in words, which of them are checked, their
//! dependencies, and their previews.

mod dependencies;
mod outline;
pub(crate) mod preview;
mod selection;

pub use dependencies::Dependencies;
pub use outline::{PlanItem, change_label, counts, items, warnings};
pub use preview::{Preview, PreviewKind, needed, preview, unified};
pub use selection::{Checks, Group, GroupMark, MAX_COMMENT, Note, Pick, Selection};
