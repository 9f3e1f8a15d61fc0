//! What happens when the world does not play along: torn writes, damaged files, full disks, killed processes.

mod store;
