//! What is known about a project: what its files tell, and what a person said about it, which is kept in Rapport's home.

pub mod files;
pub mod gathering;
pub mod grants;
pub mod memos;
mod record;
pub mod stack;
pub mod trust;
