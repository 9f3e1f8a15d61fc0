//! The binary: looks at the first word and calls the part that knows what to do.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(word) if word == "keep" => rapport::agents::keeper::run(args),
        Some(word) if word == "rehearse" => rapport::agents::rehearsal::run(args),
        _ => {
            eprintln!("usage: rapport rehearse [--scenario FILE|NAME] [claude flags...]");
            ExitCode::from(2)
        }
    }
}
