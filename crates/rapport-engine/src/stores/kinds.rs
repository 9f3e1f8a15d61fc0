//! The registry of stores. Each kind describes itself to settings, help and `doctor`, and opens its store. The list
//! of those that come with Rapport is in `mod.rs`.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rapport_core::SessionId;
use rapport_door::Diagnosis;
use rapport_settings::{ConfigError, Declared, Sources};

use super::lazy_store::LazyStore;
use super::{Store, Stored};
use crate::seals::Seals;

/// A kind of store: how the sessions of a project are stored.
pub trait StoreKind: Send + Sync {
    /// Its name in the setting `store`.
    fn name(&self) -> &'static str;

    /// Whether the setting `store` says with the name where it is: `nats://a,b,c`.
    fn has_address(&self) -> bool {
        false
    }

    /// The section of the settings that configures it.
    fn section(&self) -> Option<Declared> {
        None
    }

    /// The store for these sessions. All stores that are opened for the same site share the sessions.
    fn open(&self, site: StoreSite) -> Stored<'static, Arc<dyn Store>>;

    /// Where all of these sessions are, or one of them, in words for a person. Opens nothing.
    fn whereabouts(&self, site: &StoreSite, id: Option<&SessionId>) -> String;

    /// What to do if its sessions cannot be listed: a full sentence.
    fn remedy(&self) -> &'static str;

    /// The finding of `doctor` about it.
    fn diagnose(&self, site: StoreSite) -> BoxFuture<'_, Diagnosis> {
        async move {
            let place = self.whereabouts(&site, None);
            let all = async { self.open(site).await?.list().await }.await;
            match all {
                Ok(all) => Diagnosis::Good(format!("{} in {place} ({})", all.len(), self.name())),
                Err(error) => Diagnosis::Bad { found: error.to_string(), advice: self.remedy().to_owned() },
            }
        }
        .boxed()
    }
}

/// The sessions that a store is opened for.
#[derive(Clone, Debug)]
pub struct StoreSite {
    /// The directory in the project that identifies them.
    pub root: PathBuf,
    pub project: PathBuf,
    /// The home, which has the person's keys and the id of this machine.
    pub home: PathBuf,
    /// Where the store is, if the setting says it.
    pub address: Option<String>,
    /// The seals of this person.
    pub seals: Arc<Seals>,
    /// The settings, for a store that has some.
    pub settings: SettingsReader,
}

type ReadSettings = dyn Fn() -> Result<Sources, ConfigError> + Send + Sync;

/// Reads the settings when they are needed, so that a store without settings works even if they contain a mistake.
#[derive(Clone)]
pub struct SettingsReader(Arc<ReadSettings>);

impl SettingsReader {
    pub fn new(read: impl Fn() -> Result<Sources, ConfigError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// Reads them. May block.
    pub fn read(&self) -> Result<Sources, ConfigError> {
        (self.0)()
    }
}

impl fmt::Debug for SettingsReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SettingsReader")
    }
}

/// All kinds of stores. The first is the default.
#[derive(Clone)]
pub struct StoreKinds {
    usual: Arc<dyn StoreKind>,
    others: Vec<Arc<dyn StoreKind>>,
}

impl StoreKinds {
    /// A registry of only this kind.
    pub(super) fn of(usual: impl StoreKind + 'static) -> Self {
        Self { usual: Arc::new(usual), others: Vec::new() }
    }

    /// Adds another kind.
    #[must_use]
    pub fn with(mut self, kind: impl StoreKind + 'static) -> Self {
        self.others.push(Arc::new(kind));
        self
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<dyn StoreKind>> {
        [&self.usual].into_iter().chain(&self.others)
    }

    /// The sections of the settings that configure them.
    pub fn sections(&self) -> Vec<Declared> {
        self.iter().filter_map(|kind| kind.section()).collect()
    }

    /// The kind that is used unless the settings name one.
    pub fn usual(&self) -> ChosenStore {
        ChosenStore { kind: self.usual.clone(), address: None }
    }

    /// The kind that the setting `store` names; fails with a list of the existing ones.
    pub fn find(&self, setting: &str) -> Result<ChosenStore, String> {
        let (name, address) = match setting.split_once("://") {
            Some((name, address)) => (name, Some(address.to_owned())),
            None => (setting, None),
        };
        let Some(kind) = self.iter().find(|kind| kind.name() == name).cloned() else {
            let names: Vec<_> = self.iter().map(|kind| kind.name()).collect();
            return Err(format!("this program has no store {name:?}; it has: {}", names.join(", ")));
        };
        match (kind.has_address(), &address) {
            (true, None) => {
                Err(format!("{name} needs the addresses of its servers: {name}://HOST,HOST,HOST"))
            }
            (false, Some(_)) => Err(format!("{name} has no address; write only {name}")),
            (true, Some(_)) | (false, None) => Ok(ChosenStore { kind, address }),
        }
    }
}

impl fmt::Debug for StoreKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|kind| kind.name())).finish()
    }
}

/// The kind of store that is used.
#[derive(Clone)]
pub struct ChosenStore {
    kind: Arc<dyn StoreKind>,
    address: Option<String>,
}

impl ChosenStore {
    /// The store for these sessions, which is opened when it is used for the first time.
    pub fn store(&self, site: StoreSite) -> Arc<dyn Store> {
        Arc::new(LazyStore::new(self.kind.clone(), self.at(site)))
    }

    /// The name of its kind.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    pub fn whereabouts(&self, site: &StoreSite, id: Option<&SessionId>) -> String {
        self.kind.whereabouts(&self.at(site.clone()), id)
    }

    pub fn diagnose(&self, site: StoreSite) -> BoxFuture<'_, Diagnosis> {
        self.kind.diagnose(self.at(site))
    }

    /// The site, with the address that the setting names.
    fn at(&self, site: StoreSite) -> StoreSite {
        StoreSite { address: self.address.clone(), ..site }
    }
}

impl fmt::Debug for ChosenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())
    }
}
