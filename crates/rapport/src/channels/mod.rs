//! Where people see and answer. A channel sees sessions as the core shows them, and acts through the gateway; nothing else.

pub mod telegram;
pub mod terminal;
