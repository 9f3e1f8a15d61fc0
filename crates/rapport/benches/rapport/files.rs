//! Plans of actions: reading and checking a large one, drawing its checklist, gathering what an agent is shown.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use rapport::actions::OnDisk;
use rapport::channels::terminal::review::appearance::Appearance;
use rapport::channels::terminal::review::checklist::Checklist;
use rapport::channels::terminal::{ColourChoice, Size};
use rapport::projects::gathering::gather;
use rapport_core::ActionPlan;
use rapport_core::check::validate;
use rapport_core::context::{Information, Payload, cascade};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::{Outcome, row};

const FILES: usize = 10_000;
const EDITS: usize = 1_000;
const SHOWN: usize = 1_000;
/// The largest file that is shown.
const LIMIT: u64 = 256 * 1024;

pub(crate) fn measure() -> Outcome {
    let project = tempfile::tempdir()?;
    fill(project.path(), FILES)?;
    checking(project.path())?;
    redrawing()?;
    let small = tempfile::tempdir()?;
    fill(small.path(), SHOWN)?;
    gathering(small.path(), 1)?;
    gathering(project.path(), FILES / SHOWN)
}

fn fill(project: &Path, files: usize) -> Outcome {
    for number in 0..files {
        let path = project.join(path_of(number));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, content(number))?;
    }
    Ok(())
}

fn path_of(number: usize) -> String {
    format!("src/part{:02}/file{number:05}.rs", number % 100)
}

/// Some sixty lines, all different.
fn content(number: usize) -> String {
    (0..60).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "pub fn function_{number}_{line}() -> usize {{ {line} }}");
        text
    })
}

fn checking(project: &Path) -> Outcome {
    let mut text =
        "# Many edits\n\n- **Status:** Green\n\n## Rationale\n\n```text\nBecause.\n```\n\n## Action Plan\n"
            .to_owned();
    for number in 0..EDITS {
        let path = path_of(number * (FILES / EDITS));
        let find = format!("pub fn function_{}_7() -> usize {{ 7 }}", number * (FILES / EDITS));
        write!(
            text,
            "\n### `EDIT`\n\n- **File Path:** [{path}](/{path})\n- **Description:** Changes it\n\n#### `FIND:`\n\n\
             ```rust\n{find}\n```\n\n#### `REPLACE:`\n\n```rust\n{find} // changed\n```\n"
        )?;
    }
    let took = best_of(5, || {
        let plan = ActionPlan::parse(&text).map_err(|errors| format!("{:?}", errors.first()))?;
        let problems = validate(&plan, &OnDisk::new(project)?).problems;
        match problems.first() {
            Some(problem) => Err(format!("{}: {}", problem.line, problem.what).into()),
            None => Ok(()),
        }
    })?;
    row(
        &format!("a plan of {EDITS} edits, parsed and checked against {FILES} files"),
        format!("{:.0} ms", took.as_secs_f64() * 1e3),
        "target: under 300 ms",
    );
    Ok(())
}

fn redrawing() -> Outcome {
    let mut text = "# Many files\n\n## Rationale\n\n```text\nBecause.\n```\n\n## Action Plan\n".to_owned();
    for number in 0..1_000 {
        let path = path_of(number);
        write!(
            text,
            "\n### `CREATE`\n\n- **File Path:** [{path}](/{path})\n- **Description:** Makes it\n\n```rust\nfn f() {{}}\n```\n"
        )?;
    }
    let plan = ActionPlan::parse(&text).map_err(|errors| format!("{:?}", errors.first()))?;
    let size = Size { columns: 120, rows: 40 };
    let mut terminal = Terminal::new(TestBackend::new(120, 40))?;
    let mut checklist = Checklist::new(&plan, Appearance::choose(ColourChoice::Always, |_| None), size);
    let took = best_of(50, || {
        checklist.key(KeyEvent::from(KeyCode::Char(' ')));
        checklist.key(KeyEvent::from(KeyCode::PageDown));
        terminal.draw(|frame| checklist.draw(frame))?;
        Ok(())
    })?;
    row(
        "a checklist of 1,000 items: a key and its redraw",
        format!("{:.2} ms", took.as_secs_f64() * 1e3),
        "target: under 16 ms",
    );
    Ok(())
}

/// The same files both times, in the system's cache both times. A project that has more files than are shown costs a look
/// at all their names beside that.
fn gathering(project: &Path, every: usize) -> Outcome {
    let paths: Vec<String> = (0..SHOWN).map(|number| path_of(number * every)).collect();
    let bare = best_of(20, || {
        let read = paths.iter().map(|path| fs::read_to_string(project.join(path)));
        black_box(read.collect::<Result<Vec<_>, _>>()?);
        Ok(())
    })?;
    let context = paths.join("\n");
    let ours = best_of(20, || {
        let gathered = gather(project, &cascade("", &context, ""), LIMIT)?;
        let payload = Payload {
            system: "Plan.".into(),
            message: "Change them all.".into(),
            information: Information::default(),
            structure: gathered.tree,
            memos: Vec::new(),
            files: gathered.files,
            previous_report: None,
        };
        black_box(payload.log());
        Ok(())
    })?;
    row(
        &format!("what an agent is shown: {SHOWN} files among {}", SHOWN * every),
        format!("{:.1} ms", ours.as_secs_f64() * 1e3),
        &format!("(reading them takes {:.1} ms)", bare.as_secs_f64() * 1e3),
    );
    let target = if every == 1 { "target: under 2" } else { "" };
    row("  against bare reading", format!("{:.2} times", ours.as_secs_f64() / bare.as_secs_f64()), target);
    Ok(())
}

fn best_of(times: usize, mut what: impl FnMut() -> Outcome) -> Outcome<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..times {
        let began = Instant::now();
        what()?;
        best = best.min(began.elapsed());
    }
    Ok(best)
}
