//! Files that survive a kill at any instant: whole or not there, and there after a power cut.

pub mod checked_line;
mod read;
mod replace;
#[cfg(debug_assertions)]
pub mod trial;

pub use read::{open_file, open_own, read_file, read_own};
pub use replace::{private_folder, replace, replace_private, replace_private_in_pieces};
