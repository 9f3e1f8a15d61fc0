//! What is known about a project: what its files tell, and what a person said about it, which is kept in Rapport's home.

pub mod grants;
mod record;
pub mod stack;
pub mod trust;
