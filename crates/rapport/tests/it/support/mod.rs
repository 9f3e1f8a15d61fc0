//! What the tests stand on.

pub(crate) mod driven;
pub(crate) mod model;
pub(crate) mod project;
pub(crate) mod pty;
pub(crate) mod rehearsal;
pub(crate) mod stage;
