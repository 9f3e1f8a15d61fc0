//! What is known about a project: from its files, and from the person, which is stored in Rapport's home.

pub mod grants;
mod record;
pub mod stack;
pub mod trust;
