//! What tests share.

pub(crate) mod pty;
pub(crate) mod stage;
