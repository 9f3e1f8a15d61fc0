//! Programs of this machine for containers on another one: Rapport's own, and the agent's. They cannot be mounted
//! there, so each is copied once into a volume of the engine, which all containers share and none can change.
//!
//! A second, empty volume marks the first one as complete: it is made last, and its labels name the first. Every
//! process fills a volume with a unique name, so that two processes that do so at the same time, perhaps on two
//! machines, do not interfere. The next process of the same home removes what a killed one left.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bollard::models::{ContainerCreateBody, HostConfig, Mount, MountType, MountVolumeOptions};
use rapport_durable::{self as durable, Lock, Sha256Writer, hex};
use tokio::task::spawn_blocking;

use super::archive::Archive;
use super::container::HOME;
use super::docker::{Docker, Labelled};
use crate::workers::{WorkerError, file_error};

/// The label of a volume with a program, and of the container through which it is filled: its path on its own machine.
const PATH: &str = "rapport.tool";
/// The labels of the volume that marks another one as complete: the digest of the content, and the name of the other
/// volume.
const DIGEST: &str = "rapport.digest";
const COMPLETE: &str = "rapport.complete";
/// Where the volume is mounted while it is filled.
const HERE: &str = "/tool";

/// A program, or a folder with one.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    pub(super) source: PathBuf,
    /// Its name in the volume.
    pub(super) name: PathBuf,
}

impl Tool {
    /// The name of a volume of the engine with this program. Fills one if needed; one process of this home does that
    /// at a time. The image can be any that the engine has.
    pub(super) async fn volume(
        self,
        docker: &Docker,
        image: &str,
        home: PathBuf,
    ) -> Result<String, WorkerError> {
        let lost = |error: tokio::task::JoinError| failed(&error);
        let tool = Arc::new(self);
        let hashed = tool.clone();
        let digest = spawn_blocking(move || hashed.digest()).await.map_err(lost)?;
        let digest = digest.map_err(file_error("read", &tool.source))?;
        let of_home = home.to_string_lossy().into_owned();
        let _lock = spawn_blocking(move || lock(&home)).await.map_err(lost)??;
        if let Some(complete) = complete(docker, &digest).await? {
            return Ok(complete);
        }
        let labels = HashMap::from([
            (PATH.to_owned(), tool.source.to_string_lossy().into_owned()),
            (HOME.to_owned(), of_home),
        ]);
        for left in alike(docker, &labels).await?.into_iter().filter(|one| one.is_container) {
            super::container::remove(docker, &left.name).await?;
        }
        let name = format!("rapport-tool-{digest}-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
        docker.create(&name, filling(&name, image, &labels)).await?;
        let sent = tool.clone();
        docker.upload(&name, HERE, move |out| sent.write(out)).await?;
        docker.remove(&name).await?;
        let says = HashMap::from([(DIGEST.to_owned(), digest), (COMPLETE.to_owned(), name.clone())]);
        docker.create_volume(&says_complete(&name), says).await?;
        remove_others(docker, &labels, &name).await;
        Ok(name)
    }

    /// The digest of the content.
    fn digest(&self) -> io::Result<String> {
        let mut digest = Sha256Writer::default();
        self.write(&mut digest)?;
        Ok(hex::encode(&digest.finish()[..8]))
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut archive = Archive::new(out, (0, 0));
        archive.add(&self.source, &self.name)?;
        archive.finish()
    }
}

/// A container that is never started, with a new volume.
fn filling(name: &str, image: &str, labels: &HashMap<String, String>) -> ContainerCreateBody {
    let volume = Mount {
        typ: Some(MountType::VOLUME),
        source: Some(name.to_owned()),
        target: Some(HERE.to_owned()),
        volume_options: Some(MountVolumeOptions {
            no_copy: Some(true),
            labels: Some(labels.clone()),
            ..MountVolumeOptions::default()
        }),
        ..Mount::default()
    };
    ContainerCreateBody {
        image: Some(image.to_owned()),
        cmd: Some(vec!["true".to_owned()]),
        labels: Some(labels.clone()),
        host_config: Some(HostConfig { mounts: Some(vec![volume]), ..HostConfig::default() }),
        ..ContainerCreateBody::default()
    }
}

/// Waits until no other process of this home fills a volume.
fn lock(home: &Path) -> Result<Lock, WorkerError> {
    durable::private_folder(home).map_err(file_error("make", home))?;
    let file = home.join("tools.lock");
    Lock::wait(&file).map_err(file_error("lock", &file))
}

/// The name of the volume that marks this one as complete.
fn says_complete(volume: &str) -> String {
    format!("{volume}-complete")
}

/// A complete volume with this content.
async fn complete(docker: &Docker, digest: &str) -> Result<Option<String>, WorkerError> {
    for says in docker.labelled(&format!("{DIGEST}={digest}")).await? {
        if let Some(name) = says.labels.get(COMPLETE)
            && docker.has_volume(name).await?
        {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

/// The volumes and containers of the same program and the same home.
async fn alike(docker: &Docker, labels: &HashMap<String, String>) -> Result<Vec<Labelled>, WorkerError> {
    let path = labels.get(PATH).map(String::as_str).unwrap_or_default();
    let mut found = docker.labelled(&format!("{PATH}={path}")).await?;
    found.retain(|one| one.labels.get(HOME) == labels.get(HOME));
    Ok(found)
}

/// Removes other versions of the same program, unless a container still uses them.
async fn remove_others(docker: &Docker, labels: &HashMap<String, String>, name: &str) {
    let found = match alike(docker, labels).await {
        Ok(found) => found,
        Err(error) => return tracing::warn!(%error, "earlier versions of a program were not removed"),
    };
    for other in found.into_iter().filter(|one| one.name != name) {
        let removed = async {
            docker.remove_volume(&other.name).await?;
            docker.remove_volume(&says_complete(&other.name)).await
        };
        if let Err(error) = removed.await {
            tracing::debug!(%error, volume = other.name, "a volume is still in use");
        }
    }
}

fn failed(error: &dyn std::fmt::Display) -> WorkerError {
    WorkerError::Engine { what: "bring a program to the container engine", why: error.to_string() }
}

/// The path of a program in a container that has the program's package under its own name in this folder.
pub(super) fn inside(folder: &str, package: &Path, program: &Path) -> PathBuf {
    let root = Path::new(folder).join(package.file_name().unwrap_or_default());
    program
        .strip_prefix(package)
        .ok()
        .filter(|rest| rest.components().next().is_some())
        .map_or(root.clone(), |rest| root.join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_inside_alone_or_in_its_package() {
        let (package, program) = (Path::new("/opt/node_modules"), Path::new("/opt/node_modules/a/cli.js"));
        assert_eq!(
            inside("/rapport/agent", package, program),
            Path::new("/rapport/agent/node_modules/a/cli.js")
        );
        let alone = Path::new("/usr/bin/claude");
        assert_eq!(inside("/rapport/agent", alone, alone), Path::new("/rapport/agent/claude"));
    }

    #[test]
    fn another_content_is_another_volume() {
        let folder = tempfile::tempdir().unwrap();
        let tool = Tool { source: folder.path().join("tool"), name: "tool".into() };
        let digest = |content: &str| {
            std::fs::write(&tool.source, content).unwrap();
            tool.digest().unwrap()
        };
        let first = digest("one");
        assert_eq!(digest("one"), first);
        assert_ne!(digest("two"), first);
    }
}
