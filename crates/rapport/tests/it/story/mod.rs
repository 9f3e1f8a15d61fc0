//! Whole stories, through the binary and nothing else: what people do at their terminals, and what comes of it.

mod agents;
mod apart;
mod beside;
mod branching;
mod budget;
mod checking;
mod committing;
mod elsewhere;
mod interrupted;
mod parked;
mod permissions;
mod queueing;
mod sandboxed;
mod steering;
mod together;
mod typed;
mod undoing;
