//! The programs that do the work.
pub mod rehearsal;
