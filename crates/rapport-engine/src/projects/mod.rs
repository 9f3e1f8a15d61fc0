//! What is known about a project: from its files, and from the person, which is stored in Rapport's home.

pub mod devcontainer;
pub mod files;
pub mod gathering;
pub mod grants;
pub mod memos;
mod record;
pub mod stack;
pub mod trust;
