//! What is known about a project: from its files, and from the person, which is stored in Rapport's home.

mod context_file;
mod conventions;
mod door;
pub mod earlier_answers;
pub mod exploration;
pub mod files;
pub mod gathering;
pub mod grants;
pub mod history;
pub mod known_projects;
pub mod memos;
mod past_sessions;
mod record;
pub mod recorder;
pub mod stack;
mod structure;
mod tree;
pub mod trust;
pub mod written_reports;
