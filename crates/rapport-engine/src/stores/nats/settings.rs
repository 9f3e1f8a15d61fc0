//! The settings of the store. A project cannot set them, because they name servers and secrets; only its own name
//! among the projects that share the servers may come with it.

use std::path::{Path, PathBuf};

use rapport_core::slug;
use rapport_settings::section;

use super::subjects::Subjects;
use crate::stores::{StoreError, StoreSite};

section! {
    /// Settings of the store.
    pub struct NatsLayer in "nats.", blank variables: Unset {
        /// A file with the credentials for the servers: one that NATS makes, or the lines `user: NAME` and
        /// `password: WORDS`.
        credentials: PathBuf, Person, Masked;
        /// The certificates of those who may certify servers.
        ca: PathBuf, Person, Masked;
        /// The certificate of this host, and its key.
        certificate: PathBuf, Person, Masked;
        key: PathBuf, Person, Masked;
        /// The name of the stream, and the first word of all subjects.
        stream: String, Person, Shown;
        /// How many servers store each entry.
        replicas: u32, Person, Shown;
        /// The name of this host.
        host: String, Person, Masked;
        /// The name of the project, by which all hosts find the same sessions.
        project: String, Trusted, Masked;
    }
    sections {}
}

/// The default name of the stream.
const STREAM: &str = "rapport";
/// The default number of servers that store each entry.
const REPLICAS: u32 = 3;

/// The settings, with their defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NatsSettings {
    pub(super) servers: Vec<String>,
    pub(super) credentials: Option<PathBuf>,
    pub(super) ca: Option<PathBuf>,
    /// The certificate and its key.
    pub(super) certificate: Option<(PathBuf, PathBuf)>,
    pub(super) replicas: usize,
    /// The name of this host.
    pub(super) host: String,
    pub(super) home: PathBuf,
    pub(super) stream: String,
}

impl NatsSettings {
    /// The settings of a site, and the subjects of its sessions. Blocks.
    pub(super) fn read(site: &StoreSite) -> Result<(Self, Subjects), StoreError> {
        let unavailable = |why: String| StoreError::Unavailable { store: super::NAME, why };
        let read = site.settings.read().and_then(|sources| sources.load::<NatsLayer>());
        let layer = read.map_err(|error| unavailable(error.to_string()))?;
        let addresses = site.address.as_deref().unwrap_or_default();
        let servers: Vec<_> = addresses.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if servers.is_empty() {
            return Err(unavailable("the setting `store` names no server".into()));
        }
        let certificate = match (layer.certificate, layer.key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return Err(unavailable("nats.certificate is set without nats.key".into())),
            (None, Some(_)) => return Err(unavailable("nats.key is set without nats.certificate".into())),
        };
        let stream = layer.stream.unwrap_or_else(|| STREAM.to_owned());
        if !is_stream_name(&stream) {
            return Err(unavailable(format!("nats.stream is {stream:?}; it takes letters, digits, - and _")));
        }
        let project = layer.project.unwrap_or_else(|| name_of(&site.project));
        let kind = name_of(&site.root);
        let host = layer.host.or_else(machine_name).unwrap_or_else(|| "host".to_owned());
        let settings = Self {
            servers: servers.into_iter().map(str::to_owned).collect(),
            credentials: layer.credentials,
            ca: layer.ca,
            certificate,
            replicas: layer.replicas.unwrap_or(REPLICAS) as usize,
            host: slug::part(&host),
            home: site.home.clone(),
            stream: stream.clone(),
        };
        Ok((settings, Subjects::new(&stream, &slug::part(&project), &slug::part(&kind))))
    }
}

fn is_stream_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// The last part of a path.
fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The name of this machine, according to the system.
fn machine_name() -> Option<String> {
    nix::unistd::gethostname().ok()?.into_string().ok().filter(|name| !name.is_empty())
}
