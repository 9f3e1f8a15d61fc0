//! For tests: records how each process was started, its input and its output (`RAPPORT_REHEARSAL_RECORD=DIR`).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

/// The recording of one process, if requested.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) stdin: Option<File>,
    pub(super) stdout: Option<File>,
}

impl Recorder {
    /// Starts the recording of this process, numbered in the order of start.
    pub(super) fn start(argv: &[String]) -> io::Result<Self> {
        match std::env::var_os("RAPPORT_REHEARSAL_RECORD") {
            Some(dir) => Self::start_in(Path::new(&dir), argv),
            None => Ok(Self::default()),
        }
    }

    fn start_in(dir: &Path, argv: &[String]) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let lock = OpenOptions::new().create(true).append(true).open(dir.join(".lock"))?;
        lock.lock()?;
        let stem = dir.join(format!("{:04}-{}", next_number(dir)?, std::process::id()));
        let mut names: Vec<_> =
            std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        names.sort();
        let start = json!({"argv": argv, "cwd": std::env::current_dir()?, "env": names});
        append(&stem, "argv.json")?.write_all(format!("{start}\n").as_bytes())?;
        Ok(Self {
            stdin: Some(append(&stem, "stdin.ndjson")?),
            stdout: Some(append(&stem, "stdout.ndjson")?),
        })
    }
}

fn next_number(dir: &Path) -> io::Result<usize> {
    let mut started = 0;
    for entry in std::fs::read_dir(dir)? {
        started += usize::from(entry?.file_name().to_string_lossy().ends_with(".argv.json"));
    }
    Ok(started + 1)
}

fn append(stem: &Path, ending: &str) -> io::Result<File> {
    let mut path = stem.as_os_str().to_owned();
    path.push(".");
    path.push(ending);
    OpenOptions::new().create(true).append(true).open(PathBuf::from(path))
}
