//! Transcribes voice messages with the program from the person's own settings. The program gets the path of a file, and
//! prints the text.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rapport_door::NewFile;
use rapport_durable as durable;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::Transcriber;

const LONGEST: Duration = Duration::from_secs(300);

/// The environment variables of the program.
type Environment = Vec<(OsString, OsString)>;

/// The transcriber for this command; `None` if it is empty.
pub(crate) fn of(command: &[String], home: &Path, environment: &Environment) -> Option<Transcriber> {
    let (program, args) = command.split_first()?;
    let (program, args, folder, environment) =
        (program.clone(), args.to_vec(), home.join("run"), environment.clone());
    Some(Arc::new(move |voice| {
        let (program, args, folder, environment) =
            (program.clone(), args.clone(), folder.clone(), environment.clone());
        Box::pin(async move {
            let path = put(folder, voice).await?;
            let heard = run(&program, &args, &path, environment).await;
            // File names are unique, so a file that is left over does no harm.
            let _ = spawn_blocking(move || durable::remove(&path)).await;
            heard
        })
    }))
}

async fn put(folder: PathBuf, voice: NewFile) -> Result<PathBuf, String> {
    let written = spawn_blocking(move || {
        durable::private_folder(&folder)?;
        let path = folder.join(format!("voice-{}-{}", std::process::id(), voice.name));
        durable::replace_private(&path, &voice.content).map(|()| path)
    });
    written.await.map_err(|error| error.to_string())?.map_err(|error| format!("it cannot be kept: {error}"))
}

async fn run(
    program: &str,
    args: &[String],
    path: &Path,
    environment: Environment,
) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(args).arg(path).env_clear().envs(environment).stdin(Stdio::null()).kill_on_drop(true);
    let output = match timeout(LONGEST, command.output()).await {
        Err(_) => return Err(format!("{program} took longer than {} minutes", LONGEST.as_secs() / 60)),
        Ok(Err(error)) => return Err(format!("{program} cannot be run: {error}")),
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(format!("{program} failed ({}): {last}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
