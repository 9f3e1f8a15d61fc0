//! `cargo xtask soak`: stories with random kills, for as long as one likes. The loop is an ignored test
//! (`crates/rapport/tests/it/crash/soak.rs`).

use crate::shell::{self, FULL, Outcome, cargo};

pub(crate) fn run(args: &[&str]) -> Outcome {
    let mut soak =
        cargo(&["test", "--package", "rapport", "--features", FULL, "--test", "it", "crash::soak::soak"]);
    soak.args(["--", "--exact", "--ignored", "--nocapture"]);
    let mut rest = args.iter();
    while let Some(flag) = rest.next() {
        let variable = match *flag {
            "--minutes" => "RAPPORT_SOAK_MINUTES",
            "--stories" => "RAPPORT_SOAK_STORIES",
            "--seed" => "RAPPORT_SOAK_SEED",
            other => {
                return Err(format!("{other} is not known; it takes --minutes N, --stories N and --seed N"));
            }
        };
        let number = rest.next().filter(|number| number.parse::<u64>().is_ok());
        soak.env(variable, number.ok_or_else(|| format!("{flag} takes a number"))?);
    }
    shell::run(&mut soak)
}
