//! Sessions as directories.
