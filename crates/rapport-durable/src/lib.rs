//! Files that survive a kill at any instant: whole or not there, and there after a power cut.

pub mod checked_line;
mod read;
mod replace;
#[cfg(debug_assertions)]
pub mod trial;

pub use read::read_file;
pub use replace::{private_folder, replace, replace_in_pieces, replace_private};
