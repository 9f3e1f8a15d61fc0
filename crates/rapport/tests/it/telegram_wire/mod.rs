//! The way to Telegram and back: what is sent, what is received, who may.

mod access;
mod api;
mod fake;
mod intake;
mod lease;
mod outbox;
mod poll;
mod settings;
mod split;
mod text;
mod webhook;
