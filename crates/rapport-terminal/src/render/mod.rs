//! Rendering: pure functions from state to lines of text.

pub(super) mod block;
pub(super) mod confirmation_card;
pub(super) mod ending;
pub(super) mod frame;
pub(super) mod last_look;
pub(super) mod permission;
pub(super) mod progress;
pub(super) mod prose;
pub(super) mod question_card;
pub(super) mod summary;
pub(super) mod table;
