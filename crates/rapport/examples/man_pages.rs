//! Writes the manual pages of all commands into a directory: `cargo xtask man`.

use std::path::Path;

use clap::CommandFactory as _;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args().nth(1) else {
        return Err(std::io::Error::other("the directory to write to is missing"));
    };
    std::fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(rapport::cli::Cli::command(), Path::new(&folder))
}
