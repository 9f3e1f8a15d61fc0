//! What all requests share, and the address of the page.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rapport_core::SessionId;
use rapport_door::{ProjectSetup, Projects, Sessions, sessions_for};
use rapport_durable::{private_folder, read_own, replace_private};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};

use crate::access::Visitor;
use crate::board::Board;
use crate::device_cache::DeviceCache;
use crate::push::Push;
use crate::rates::Rates;
use crate::stream::Announcer;

/// What all requests share.
pub(crate) struct Site {
    pub(crate) sessions: Arc<dyn Sessions>,
    pub(crate) board: Board,
    pub(crate) devices: DeviceCache,
    pub(crate) announcer: Announcer,
    pub(crate) push: Push,
    /// The names by which the server may be addressed.
    pub(crate) hosts: Vec<String>,
    pub(crate) address: Address,
    pub(crate) rates: Rates,
    /// Identifies the version of the pages.
    pub(crate) build: String,
    pub(crate) projects: Vec<ProjectSetup>,
    /// What is known about projects.
    pub(crate) knowledge: Arc<dyn Projects>,
    pub(crate) secrets: Secrets,
    pub(crate) told: DeviceNotices,
    pub(crate) begun: Begun,
    /// Told of every request of a paired device; the first one has the sessions read.
    pub(crate) visited: Notify,
    pub(crate) zone: TimeZone,
    pub(crate) now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    pub(crate) stop: watch::Receiver<bool>,
}

impl Site {
    /// The sessions, as this device may use them.
    pub(crate) fn sessions_of(&self, visitor: &Visitor) -> Arc<dyn Sessions> {
        sessions_for(visitor.role, self.sessions.clone())
    }
}

/// What a device is shown on its next page, once: the outcome of its last act.
#[derive(Debug, Default)]
pub(crate) struct DeviceNotices(Mutex<HashMap<String, DeviceNotice>>);

/// A message about something that a person did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeviceNotice {
    Done(String),
    Refused(String),
    /// It was refused, and this is what the person wrote.
    Unsent(String, String),
}

impl DeviceNotices {
    pub(crate) fn tell(&self, device: &str, said: DeviceNotice) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(device.to_owned(), said);
    }

    pub(crate) fn take(&self, device: &str) -> Option<DeviceNotice> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(device)
    }
}

/// The maximum number of requests for new work that are remembered.
const MOST_REQUESTS: usize = 1000;

/// The sessions that forms started, by the request ids that the forms carry: a form that is sent twice starts one
/// session.
#[derive(Debug, Default)]
pub(crate) struct Begun(Mutex<HashMap<String, Option<SessionId>>>);

impl Begun {
    /// Remembers a request, if it is new. Otherwise returns the session that it started, if it did already.
    pub(crate) fn reserve(&self, request: &str) -> Result<(), Option<SessionId>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(begun) = known.get(request) {
            return Err(begun.clone());
        }
        if known.len() >= MOST_REQUESTS {
            known.retain(|_, begun| begun.is_none());
        }
        known.insert(request.to_owned(), None);
        Ok(())
    }

    /// Notes the outcome of a request. A request that started nothing may be sent again.
    pub(crate) fn settle(&self, request: &str, begun: Option<SessionId>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match begun {
            Some(id) => drop(known.insert(request.to_owned(), Some(id))),
            None => drop(known.remove(request)),
        }
    }
}

/// The secrets that pages must not show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    pub(crate) fn new(all: Vec<SecretString>) -> Self {
        // A string this short is not a secret, and would match everywhere.
        Self(all.into_iter().filter(|secret| secret.expose_secret().len() >= 8).collect())
    }

    /// Replaces the secrets in a text or a page.
    pub(crate) fn hide(&self, text: String) -> String {
        let each = self.0.iter().map(SecretString::expose_secret);
        each.fold(text, |text, secret| {
            let on_page = maud::html! { (secret) }.into_string();
            let text = if text.contains(secret) { text.replace(secret, "***") } else { text };
            if on_page != secret && text.contains(&on_page) { text.replace(&on_page, "***") } else { text }
        })
    }
}

/// The address of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The URL that people open, without a slash at its end.
    pub url: String,
    /// What the server listens on.
    pub listen: SocketAddr,
}

impl Address {
    /// The address of the page that was last served from this home. Its server may have ended. Blocks.
    pub fn last(home: &Path) -> io::Result<Option<Self>> {
        match read_own(&path(home)) {
            Ok(content) => Ok(serde_json::from_slice(&content).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the connection is encrypted.
    pub(crate) fn is_secure(&self) -> bool {
        self.url.starts_with("https://")
    }

    /// Notes the address for `rapport open`. Blocks.
    pub(crate) fn note(&self, home: &Path) -> io::Result<()> {
        private_folder(&home.join("web"))?;
        replace_private(&path(home), &serde_json::to_vec(self)?)
    }
}

fn path(home: &Path) -> PathBuf {
    home.join("web").join("address.json")
}

/// The link by which a device is paired with this code.
pub fn invitation(address: &Address, code: &str) -> String {
    format!("{}/pair?code={code}", address.url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_shows_a_secret_in_either_spelling() {
        let secrets = Secrets::new(vec!["sk-<&>-123".into(), "short".into()]);
        let page = maud::html! { p { "a sk-<&>-123 b short" } }.into_string();
        assert_eq!(secrets.hide(page), "<p>a *** b short</p>");
        assert_eq!(secrets.hide("sk-<&>-123".to_owned()), "***");
    }

    #[test]
    fn a_request_begins_one_session() {
        let begun = Begun::default();
        assert_eq!(begun.reserve("r"), Ok(()));
        assert_eq!(begun.reserve("r"), Err(None));
        begun.settle("r", None);
        assert_eq!(begun.reserve("r"), Ok(()));
        begun.settle("r", Some(SessionId::new("s")));
        assert_eq!(begun.reserve("r"), Err(Some(SessionId::new("s"))));
    }

    #[test]
    fn a_message_is_told_once() {
        let told = DeviceNotices::default();
        told.tell("phone", DeviceNotice::Done("stored".into()));
        assert_eq!(told.take("laptop"), None);
        assert_eq!(told.take("phone"), Some(DeviceNotice::Done("stored".into())));
        assert_eq!(told.take("phone"), None);
    }
}
