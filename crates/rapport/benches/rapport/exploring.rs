//! Exploring a large project, beside what it cannot do without: listing its files with git, and reading those that it shows.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rapport::projects::exploration::Exploration;
use rapport::workers::history::commits;

use crate::{Outcome, row};

const FILES: usize = 10_000;
/// Each directory of the second level has so many files.
const TOGETHER: usize = 50;
const RUNS: usize = 7;

pub(crate) fn measure() -> Outcome {
    let project = tempfile::tempdir()?;
    fill(project.path())?;
    let explored = Exploration::of(project.path(), commits)?;
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    // In turns, so that both meet the same machine.
    for _ in 0..RUNS {
        bare.push(timed(|| by_hand(project.path(), &explored.read))?);
        whole.push(timed(|| {
            black_box(Exploration::of(project.path(), commits)?);
            Ok(())
        })?);
    }
    let (bare, whole) = (median(bare), median(whole));
    row(
        &format!("exploring {FILES} files, {} of them read", explored.read.len()),
        format!("{:.0} ms", whole.as_secs_f64() * 1e3),
        &format!("(git ls-files and reading the same: {:.0} ms)", bare.as_secs_f64() * 1e3),
    );
    let ratio = whole.as_secs_f64() / bare.as_secs_f64();
    row("  as a multiple of that", format!("{ratio:.2}"), "target: under 3");
    Ok(())
}

/// What anybody would do: ask git for the names, and read the files.
fn by_hand(project: &Path, files: &[String]) -> Outcome {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(project).output()?;
    black_box(listed.stdout);
    for file in files {
        black_box(fs::read(project.join(file))?);
    }
    Ok(())
}

/// A workspace with many directories, some of which say what they are.
fn fill(project: &Path) -> Outcome {
    fs::write(project.join("Cargo.toml"), "[workspace]\nmembers = [\"part*/*\"]\n")?;
    fs::write(project.join("CLAUDE.md"), "# Rules\n\nMind the tests.\n")?;
    for number in 0..FILES {
        let (directory, file) = (number / TOGETHER, number % TOGETHER);
        let folder = project.join(format!("part{:02}/module{directory:03}", directory % 20));
        fs::create_dir_all(&folder)?;
        let (name, text) = match file {
            0 if directory % 2 == 0 => ("README.md".to_owned(), format!("# Module {directory}\n")),
            0 => ("mod.rs".to_owned(), format!("//! Module {directory}. It does things.\n")),
            _ => (format!("file{file:02}.rs"), format!("pub const N: usize = {number};\n").repeat(20)),
        };
        fs::write(folder.join(name), text)?;
    }
    let git = |args: &[&str]| -> Outcome {
        let identity = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"];
        let done = Command::new("git").args(identity).args(args).current_dir(project).output()?;
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into()) }
    };
    git(&["init", "--quiet"])?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "-m", "Begin"])
}

fn timed(work: impl Fn() -> Outcome) -> Outcome<Duration> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
