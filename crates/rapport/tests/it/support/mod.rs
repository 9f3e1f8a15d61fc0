//! What the tests stand on.

pub(crate) mod project;
pub(crate) mod rehearsal;
