//! Everything that Rapport writes to disk and relies on later. Nothing else in the workspace writes files
//! (`tests/it/tidy` enforces that), so a crash test that kills a process at every [`point`] kills it around every
//! write.
//!
//! | to | use |
//! |---|---|
//! | replace a file as a whole | [`replace()`], [`replace_private`] |
//! | replace a file that is made anew at every start | [`replace_private_later`] |
//! | append lines that are valid once they are durable | [`AppendLog`] |
//! | append lines to a file that may lose its end | [`append`], [`append_line`] |
//! | write the beginning of a small file in place | [`overwrite`] |
//! | give a prepared file its name | [`write_beside`], [`put`], [`put_new`] |
//! | make, sync and remove directories | [`private_folder`], [`folder`], [`sync_folder`], [`remove_folder`] |
//! | write where a symbolic link cannot be slipped in | [`HeldFolder`] |
//! | let one process at a time do something | [`Lock`] |

mod append_log;
pub mod checked_line;
mod crash_points;
mod digest;
mod folders;
mod held_folder;
pub mod hex;
mod lines;
mod lock;
mod place;
mod read;
mod replace;
mod reserve;

pub use append_log::{AppendError, AppendLog};
pub use crash_points::point;
pub use digest::{Sha256Writer, digest, sha256, sha256_of, sha256_read};
pub use folders::{
    folder, make_folder, new_folder, new_private_folder, private_folder, remove_folder, remove_if_empty,
    sync_above, sync_folder,
};
pub use held_folder::HeldFolder;
pub use lines::{Flush, append, append_line, overwrite};
pub use lock::{FolderLock, Lock, Taken};
pub use place::{
    copy, executable_like, link_beside, put, put_new, remove, sync_file, take_permissions, write_beside,
};
pub use read::{open_file, open_inside, open_own, read_file, read_inside, read_own};
pub use replace::{replace, replace_private, replace_private_in_pieces, replace_private_later};
pub use reserve::Reserve;
