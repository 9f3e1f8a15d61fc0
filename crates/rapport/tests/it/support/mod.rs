//! What the tests stand on.

pub(crate) mod project;
pub(crate) mod pty;
pub(crate) mod rehearsal;
pub(crate) mod stage;
