//! The setup of a project, which an agent needs to build it: the command `worker.setup`, run once for each state of
//! the lock files, in its own container that no agent ever uses. Its results stay in a volume, from which new
//! containers are filled.
//!
//! The volume is complete if it exists without that container: the container is made first, together with the volume,
//! and removed last. What a killed process left is therefore not used, but made again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rapport_core::{Created, SessionId};
use rapport_durable::{self as durable, Lock};

use super::container::{self, Container, Making};
use super::docker;
use super::{Contained, Containers, transfer};
use crate::workers::command::{self, CommandCall, CommandEnd, CommandEnding, Stop};
use crate::workers::git::git;
use crate::workers::keeper::mark::Mark;
use crate::workers::network::NetworkAccess;
use crate::workers::separate_work::{Apart, prefix};
use crate::workers::{WorkerError, file_error};

/// Files that pin the versions of what a project depends on, wherever they are in it.
const LOCK_FILES: [&str; 20] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Package.resolved",
    "Pipfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "requirements.txt",
    "uv.lock",
    "yarn.lock",
];

/// How long the command may take.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// How many lines of the command's output an error contains.
const MOST_LINES: usize = 12;

/// The label of a setup's container and volume. Its value is the project.
const LABEL: &str = "rapport.setup";

/// Runs the command with a home in the volume, so that the files it keeps there stay.
const RUN: &str = r#"mkdir -p /work/home && export HOME=/work/home && exec sh -c "$1""#;

/// Removes the files that new containers are not filled from.
const TIDY: &str = "rm -rf base.git project/.git ready && sync";

impl Containers {
    /// The volume with the results of the setup for the project as it is now. Runs the setup unless that volume
    /// exists; `None` if the settings name no setup.
    pub(super) fn prepared(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<String>, WorkerError> {
        let Some(command) = self.settings.setup.clone() else { return Ok(None) };
        let apart = Apart::of(Path::new(&created.project), session).behind_walls(self.trust.clone());
        let name = self.prepared_name(&command, &apart)?;
        // The directory cannot be removed meanwhile: the caller made the session's own folders in it.
        let file = self.folder.join("setup.lock");
        // Other processes that need the same volume wait here until it is made.
        let lock = Lock::wait(&file).map_err(file_error("lock", &file))?;
        let made = self.make_prepared(&command, &name, apart, created);
        lock.remove();
        made.map(|()| Some(name))
    }

    fn make_prepared(
        &self,
        command: &str,
        name: &str,
        apart: Apart,
        created: &Created,
    ) -> Result<(), WorkerError> {
        let (docker, volume) = (self.docker.clone(), name.to_owned());
        let is_made = docker::wait(async move {
            Ok(docker.inspect(&volume).await?.is_none() && docker.has_volume(&volume).await?)
        })?;
        if is_made {
            return Ok(());
        }
        let inside = prefix(&apart.project)?;
        let contained = Arc::new(Contained {
            container: Arc::new(self.template(name, created)),
            directory: transfer::directory(&inside),
            apart,
            inside,
            agent: None,
            reach: Arc::new(NetworkAccess::new(self.network.clone())),
            fetched: Mutex::default(),
            visit: Mutex::default(),
        });
        // A killed process may have left parts of it.
        self.remove(&contained.container)?;
        contained.container.make_folders()?;
        let made = self.set_up(command, &contained);
        if made.is_err() {
            // If this fails too, the next attempt removes the container.
            let _ = self.remove(&contained.container);
            return made;
        }
        container::wait(&contained.container, |container| async move { container.remove_around().await })?;
        for folder in contained.container.folders() {
            durable::remove_folder(folder).map_err(file_error("remove", folder))?;
        }
        self.remove_older(name, created);
        Ok(())
    }

    /// Fills the container, and runs the command in it.
    fn set_up(&self, command: &str, contained: &Arc<Contained>) -> Result<(), WorkerError> {
        transfer::fill_template(&contained.container, &contained.apart, &contained.inside)?;
        let (there, keeper) = (contained.clone(), self.keeper.clone());
        let args: [OsString; 4] = ["-c", RUN, "sh", command].map(Into::into);
        let ended = docker::wait(async move {
            let call = CommandCall {
                keeper: &keeper,
                program: "sh",
                args: &args,
                env: [("GIT_TERMINAL_PROMPT", "0"), ("DEBIAN_FRONTEND", "noninteractive")]
                    .map(|(name, value)| (name.into(), value.into()))
                    .to_vec(),
                mark: Mark::unnamed(),
                timeout: TIMEOUT,
            };
            let ran = command::run(&*there, call, &Stop::never(), &mut |_| {}).await;
            ran.map_err(|error| failed(error.to_string()))
        })?;
        succeeded(&ended)?;
        let tidied =
            container::wait(
                &contained.container,
                |container| async move { container.script(TIDY, &[]).await },
            )?;
        if tidied.code == 0 { Ok(()) } else { Err(failed(tidied.why())) }
    }

    /// The container in which the setup runs.
    fn template(&self, name: &str, created: &Created) -> Container {
        let making = Making {
            settings: self.settings.clone(),
            network: self.network.clone(),
            keeper: self.keeper.clone(),
            agent: None,
            rapport_home: self.home.clone(),
            clock: self.clock.clone(),
            prepared: None,
            labels: HashMap::from([(LABEL.to_owned(), created.project.clone())]),
        };
        let folder = |kind: &str| self.folder.join(format!("setup.{kind}"));
        Container::new(self.docker.clone(), name.to_owned(), making, folder)
    }

    /// The name of the volume: a digest of everything that the setup depends on.
    fn prepared_name(&self, command: &str, apart: &Apart) -> Result<String, WorkerError> {
        let (docker, image) = (self.docker.clone(), self.settings.image().to_owned());
        let image = docker::wait(async move { docker.image(&image).await })?.map(|image| image.id);
        let state = apart.project_here().state()?;
        let listed = git(&apart.project, None, &["ls-tree", "-r", "-z", "--full-tree", &state])?;
        let entries = listed.split(|byte| *byte == 0).filter(|entry| is_lock_file(entry));
        let env = format!("{:?}", self.settings.env);
        let mut parts: Vec<&[u8]> =
            vec![image.as_deref().unwrap_or_default().as_bytes(), command.as_bytes(), env.as_bytes()];
        parts.extend(entries);
        let digest = durable::digest(&parts.join(&0));
        let project = durable::digest(apart.project.as_os_str().as_encoded_bytes());
        Ok(format!("rapport-setup-{}-{}", &project[project.len() - 8..], &digest[digest.len() - 12..]))
    }

    /// Removes the volumes of earlier setups of the project, unless a container still uses them.
    fn remove_older(&self, name: &str, created: &Created) {
        let (docker, label) = (self.docker.clone(), format!("{LABEL}={}", created.project));
        let name = name.to_owned();
        let removed = docker::wait(async move {
            for older in docker.labelled(&label).await?.into_iter().filter(|one| one.name != name) {
                docker.remove(&older.name).await?;
                if let Err(error) = docker.remove_volume(&older.name).await {
                    tracing::debug!(%error, volume = older.name, "a volume is still in use");
                }
            }
            Ok(())
        });
        if let Err(error) = removed {
            tracing::warn!(%error, "what earlier setups left was not removed");
        }
    }
}

/// Whether an entry of `git ls-tree` is a lock file.
fn is_lock_file(entry: &[u8]) -> bool {
    let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { return false };
    let name = entry[tab + 1..].rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    LOCK_FILES.iter().any(|known| known.as_bytes() == name)
}

fn succeeded(ended: &CommandEnd) -> Result<(), WorkerError> {
    let how = match &ended.ending {
        CommandEnding::Exited(0) => return Ok(()),
        CommandEnding::Exited(code) => format!("exit code {code}"),
        CommandEnding::TimedOut => format!("it took longer than {} minutes", TIMEOUT.as_secs() / 60),
        CommandEnding::Stopped => "it was stopped".to_owned(),
        CommandEnding::Lost(why) => why.clone(),
    };
    let lines: Vec<_> = ended.output.text.lines().collect();
    let last = &lines[lines.len().saturating_sub(MOST_LINES)..];
    Err(failed(if last.is_empty() { how } else { format!("{how}\n{}", last.join("\n")) }))
}

fn failed(why: String) -> WorkerError {
    WorkerError::Engine { what: "set up the container with worker.setup", why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_are_found_wherever_they_are() {
        for (entry, is_one) in [
            ("100644 blob aa\tCargo.lock", true),
            ("100644 blob aa\tweb/app/package-lock.json", true),
            ("100644 blob aa\tCargo.lock.bak", false),
            ("100644 blob aa\tnot-Cargo.lock", false),
            ("100644 blob aa\tyarn.lock/readme", false),
            ("", false),
        ] {
            assert_eq!(is_lock_file(entry.as_bytes()), is_one, "{entry}");
        }
    }
}
