//! The program that shows previews: which one, and how it is started. Its temporary files exist until the review ends.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use tempfile::TempDir;
use tokio::process::Command;
use tokio::task::spawn_blocking;

use super::preview::Preview;

/// Programs that open their own window and do not use the terminal.
const WINDOWS: [&str; 8] = ["code", "code-insiders", "codium", "cursor", "subl", "zed", "xdg-open", "open"];

/// A program that shows previews.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Viewer {
    words: Vec<String>,
    pub(super) place: ViewerKind,
}

/// Where a program shows previews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewerKind {
    /// In the terminal, exclusively.
    Terminal,
    /// In a window of its own.
    Window,
}

impl Viewer {
    /// The program from the settings, else `code` if it is on this `PATH`.
    pub(super) fn choose(command: Option<&[String]>, path: Option<&OsStr>) -> Option<Self> {
        let words = match command {
            Some(words) if !words.is_empty() => words.to_vec(),
            Some(_) | None => vec![on_path("code", path?)?.to_string_lossy().into_owned()],
        };
        let name = Path::new(&words[0]).file_name().map(|name| name.to_string_lossy().into_owned());
        let is_window = name.is_some_and(|name| WINDOWS.contains(&name.as_str()));
        Some(Self { place: if is_window { ViewerKind::Window } else { ViewerKind::Terminal }, words })
    }

    pub(super) fn name(&self) -> String {
        match self.place {
            ViewerKind::Terminal => self.words.join(" "),
            ViewerKind::Window => {
                let name = Path::new(&self.words[0]).file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
        }
    }

    /// The program with a file as its last argument.
    pub(super) fn command(&self, file: &Path) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).arg(file);
        command
    }

    /// Opens a file in a window, and waits for the program. An error is returned in words.
    pub(super) async fn open_window(self, file: PathBuf) -> Result<(), String> {
        let errors = file.with_extension("stderr");
        let path = errors.clone();
        let stderr = spawn_blocking(move || std::fs::File::create(path)).await;
        let stderr = stderr.ok().and_then(Result::ok).map_or_else(Stdio::null, Stdio::from);
        let mut command = self.command(&file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).process_group(0);
        let ended = command.status().await;
        let said = spawn_blocking(move || {
            let said = std::fs::read_to_string(&errors).unwrap_or_default();
            let _ = std::fs::remove_file(&errors);
            said
        });
        self.judge(ended, said.await.unwrap_or_default().lines().last())
    }

    /// Interprets a program's exit status.
    pub(super) fn judge(&self, ended: io::Result<ExitStatus>, said: Option<&str>) -> Result<(), String> {
        let name = self.name();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                let said = said.map(|words| format!(": {words}")).unwrap_or_default();
                Err(format!("{name} failed ({status}){said}"))
            }
            Err(error) => Err(format!("{name} cannot be started: {error}")),
        }
    }
}

/// The temporary files of previews, removed when this is dropped.
#[derive(Debug, Default)]
pub(super) struct TempFiles(Option<TempDir>);

impl TempFiles {
    /// Writes a preview to a file that only its owner can read.
    pub(super) fn put(&mut self, preview: &Preview) -> io::Result<PathBuf> {
        let folder = match &self.0 {
            Some(folder) => folder.path(),
            None => self.0.insert(tempfile::Builder::new().prefix("rapport-preview-").tempdir()?).path(),
        };
        let file = folder.join(&preview.file_name);
        std::fs::write(&file, &preview.text)?;
        Ok(file)
    }
}

fn on_path(program: &str, path: &OsStr) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn file_36_the_settings_come_first_then_code_then_the_terminal() {
        let folder = tempfile::tempdir().unwrap();
        let path = Some(folder.path().as_os_str());
        assert_eq!(Viewer::choose(None, path), None);
        std::fs::write(folder.path().join("code"), "").unwrap();
        assert_eq!(Viewer::choose(None, path), None, "a file that cannot be run is no program");
        std::fs::set_permissions(folder.path().join("code"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let code = Viewer::choose(None, path).unwrap();
        assert_eq!((code.name().as_str(), code.place), ("code", ViewerKind::Window));
        let nvim = Viewer::choose(Some(&words("nvim -R")), path).unwrap();
        assert_eq!((nvim.name().as_str(), nvim.place), ("nvim -R", ViewerKind::Terminal));
        assert_eq!(Viewer::choose(None, Some(OsStr::new("relative"))), None);
    }

    #[test]
    fn file_37_the_path_is_the_last_argument() {
        let viewer = Viewer::choose(Some(&words("nvim -R")), None).unwrap();
        let command = viewer.command(Path::new("/tmp/x.diff"));
        assert_eq!(command.as_std().get_args().collect::<Vec<_>>(), ["-R", "/tmp/x.diff"]);
    }

    #[test]
    fn files_are_kept_until_the_review_ends() {
        let mut temp_files = TempFiles::default();
        let preview = |name: &str| Preview {
            title: "x".into(),
            file_name: name.into(),
            text: "hello".into(),
            lines: Vec::new(),
        };
        let (one, two) =
            (temp_files.put(&preview("a.rs")).unwrap(), temp_files.put(&preview("b.diff")).unwrap());
        assert_eq!(std::fs::read_to_string(&one).unwrap(), "hello");
        assert!(two.ends_with("b.diff"));
        drop(temp_files);
        assert!(!one.exists() && !two.exists());
    }
}
