//! Whole stories, only through the binary: what people do at their terminals, and the results.

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
mod unreadable;
