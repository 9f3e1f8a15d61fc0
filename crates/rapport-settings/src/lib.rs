//! Settings as tables. A section declares its settings once with [`section!`]: type, who may set each, whether a
//! report may show it. Reading files and the environment, layering, trust and reports follow from that declaration.
//!
//! The engine declares its own sections, and a channel declares the one that configures it.

// `section!` expands to paths that begin with this crate's name, in its own tests as well.
extern crate self as rapport_settings;

mod secret;
mod section;
mod setting;
mod sources;

use std::io;

use thiserror::Error;

pub use secret::Secret;
pub use section::{Blank, May, Row, Section, Shown, from_env, read, variable};
pub use setting::{Dollars, Setting, duration, one_of, words};
pub use sources::{Declared, Document, Sources};

/// Errors in the settings.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file exists and cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable { path: String, source: io::Error },
    /// The content of a file is invalid.
    #[error("{place}: {what}")]
    Wrong {
        /// The file and the position in it, or the setting.
        place: String,
        what: String,
    },
    /// The value of a variable is invalid.
    #[error("{name}: {what}")]
    Variable { name: String, what: String },
}
