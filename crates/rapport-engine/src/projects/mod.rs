//! What is known about a project.

pub mod stack;
