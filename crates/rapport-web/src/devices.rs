//! The paired devices, and the one-time codes by which they are paired. Both are in one file of Rapport's home, which
//! has only digests of tokens and codes. Every function here blocks.

use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use rapport_core::authority::Role;
use rapport_durable::digest;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use crate::shared_file::{SharedFile, Versioned};

/// How long a code can be used.
pub const CODE_LASTS: SignedDuration = SignedDuration::from_mins(15);
/// The maximum number of unused codes. Beyond it, the oldest is dropped.
const MOST_CODES: usize = 16;
/// The maximum number of devices.
const MOST_DEVICES: usize = 256;
/// The maximum length of a device's name, in characters.
pub(crate) const LONGEST_NAME: usize = 60;
/// The letters of a code. None of them looks like another.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// The number of letters in a code.
const CODE_LENGTH: usize = 12;
/// How long the noted time of a device's last use stays as it is, to save writes.
const NOTED_AGAIN: SignedDuration = SignedDuration::from_hours(1);

/// A paired device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its unique name. The acts of its person carry it.
    pub name: String,
    pub role: Role,
    /// When it was paired.
    pub since: Timestamp,
    /// When it was last used, to the hour.
    pub seen: Timestamp,
    /// The digest of its token.
    pub(crate) token: String,
}

/// A code that was not used yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Code {
    digest: String,
    role: Role,
    until: Timestamp,
}

/// Everything in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceList {
    format: u32,
    /// The name of the cookie. Servers of other homes on the same host have other ones.
    pub(crate) cookie: String,
    #[serde(default)]
    pub(crate) devices: Vec<Device>,
    #[serde(default)]
    codes: Vec<Code>,
}

impl Versioned for DeviceList {
    const FORMAT: u32 = 1;

    fn empty() -> Self {
        let cookie = format!("rapport_{}", &Uuid::new_v4().simple().to_string()[..8]);
        Self { format: Self::FORMAT, cookie, devices: Vec::new(), codes: Vec::new() }
    }

    fn format(&self) -> u32 {
        self.format
    }
}

impl DeviceList {
    /// The device with this token.
    pub(crate) fn find(&self, token: &str) -> Option<&Device> {
        self.find_digest(&digest(token.as_bytes()))
    }

    /// The device whose token has this digest.
    pub(crate) fn find_digest(&self, presented: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.token == presented)
    }
}

/// Why something cannot be done with devices.
#[derive(Debug, Error)]
pub enum DeviceError {
    #[error("this code is no longer valid: it was used, or it is too old")]
    NoCode,
    #[error("{MOST_DEVICES} devices are paired, which is the limit; revoke one of them first")]
    TooMany,
    #[error("no device is called {0:?}")]
    Unknown(String),
    #[error("cannot use {path}: {source}")]
    Io { path: String, source: io::Error },
}

/// The devices of a home.
#[derive(Clone, Debug)]
pub struct Devices {
    file: SharedFile,
}

impl Devices {
    /// The devices of this home.
    pub fn of(home: &Path) -> Self {
        Self { file: SharedFile::at(home.join("web").join("devices.json")) }
    }

    /// The file with the devices.
    pub fn path(&self) -> PathBuf {
        self.file.path().to_owned()
    }

    /// All paired devices, in the order in which they were paired.
    pub fn list(&self) -> Result<Vec<Device>, DeviceError> {
        Ok(self.read()?.map(|list| list.devices).unwrap_or_default())
    }

    /// A new one-time code for a device with this role.
    pub fn invite(&self, role: Role, now: Timestamp) -> Result<String, DeviceError> {
        let code = new_code();
        let digest = digest(code.as_bytes());
        self.change(|list| {
            list.codes.retain(|code| code.until > now);
            if list.codes.len() >= MOST_CODES {
                list.codes.remove(0);
            }
            list.codes.push(Code { digest, role, until: now.saturating_add(CODE_LASTS).unwrap_or(now) });
            Ok(())
        })?;
        Ok(code)
    }

    /// Pairs a device by a code, and uses the code up. Returns the device's token; only its digest is stored.
    pub(crate) fn pair(&self, code: &str, name: &str, now: Timestamp) -> Result<String, DeviceError> {
        let presented = digest(read_code(code).as_bytes());
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        self.change(|list| {
            let place = list.codes.iter().position(|code| code.digest == presented && code.until > now);
            let place = place.ok_or(DeviceError::NoCode)?;
            if list.devices.len() >= MOST_DEVICES {
                return Err(DeviceError::TooMany);
            }
            let role = list.codes.remove(place).role;
            let name = free_name(name, &list.devices);
            let token = digest(token.as_bytes());
            list.devices.push(Device { name, role, since: now, seen: now, token });
            Ok(())
        })?;
        Ok(token)
    }

    /// Revokes a device. Requests with its token are refused from now on.
    pub fn revoke(&self, name: &str) -> Result<(), DeviceError> {
        self.change(|list| {
            let before = list.devices.len();
            list.devices.retain(|device| device.name != name);
            if list.devices.len() == before { Err(DeviceError::Unknown(name.to_owned())) } else { Ok(()) }
        })
    }

    /// Notes that a device was used, unless that was noted recently.
    pub(crate) fn note_use(&self, device: &Device, now: Timestamp) -> Result<(), DeviceError> {
        if now.duration_since(device.seen) < NOTED_AGAIN {
            return Ok(());
        }
        self.change(|list| {
            let found = list.devices.iter_mut().find(|one| one.token == device.token);
            found.into_iter().for_each(|one| one.seen = now);
            Ok(())
        })
    }

    /// The content of the file; creates the file if there is none.
    pub(crate) fn load(&self) -> Result<DeviceList, DeviceError> {
        match self.read()? {
            Some(list) => Ok(list),
            None => self.change(|list| Ok(list.clone())),
        }
    }

    fn read(&self) -> Result<Option<DeviceList>, DeviceError> {
        self.file.read().map_err(|error| self.broken(error))
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut DeviceList) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        self.file.change(|error| self.broken(error), change)
    }

    fn broken(&self, source: io::Error) -> DeviceError {
        DeviceError::Io { path: self.path().display().to_string(), source }
    }
}

/// A code in groups of four letters, as people read it.
pub fn shown_code(code: &str) -> String {
    let groups = code.as_bytes().chunks(4).map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join("-")
}

fn new_code() -> String {
    let random = Uuid::new_v4().into_bytes();
    // The bytes of a UUID with its version and variant are not random.
    let random = random.iter().enumerate().filter(|(place, _)| *place != 6 && *place != 8);
    random.take(CODE_LENGTH).map(|(_, byte)| char::from(LETTERS[usize::from(byte % 32)])).collect()
}

/// Normalizes a code as a person typed it.
fn read_code(typed: &str) -> String {
    let letters = typed.chars().filter(char::is_ascii_alphanumeric);
    letters.take(2 * CODE_LENGTH).map(|letter| letter.to_ascii_uppercase()).collect()
}

/// A name for a device: as it was typed, on one line, and made unique.
fn free_name(typed: &str, devices: &[Device]) -> String {
    let name = rapport_core::display_text::line(typed);
    let name: String =
        name.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_NAME).collect();
    let name = if name.is_empty() { "a device".to_owned() } else { name };
    let is_free = |name: &String| devices.iter().all(|device| device.name != *name);
    let numbered = (2..).map(|number| format!("{name} {number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-17T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_code_pairs_one_device_and_is_used_up() {
        let home = tempfile::tempdir().unwrap();
        let devices = Devices::of(home.path());
        let code = devices.invite(Role::Answer, now()).unwrap();
        assert_eq!(code.len(), CODE_LENGTH);
        let typed = format!(" {} ", shown_code(&code).to_lowercase());
        let token = devices.pair(&typed, " Anna's\n phone ", now()).unwrap();
        assert!(matches!(devices.pair(&code, "other", now()), Err(DeviceError::NoCode)));
        let list = devices.load().unwrap();
        assert_eq!(list.find(&token).unwrap().name, "Anna's phone");
        assert_eq!(list.find("no"), None);
        let stored = std::fs::read_to_string(devices.path()).unwrap();
        assert!(!stored.contains(&token) && !stored.contains(&code), "{stored}");
    }

    #[test]
    fn a_code_has_its_time() {
        let home = tempfile::tempdir().unwrap();
        let devices = Devices::of(home.path());
        let code = devices.invite(Role::Answer, now()).unwrap();
        let later = now() + CODE_LASTS;
        assert!(matches!(devices.pair(&code, "late", later), Err(DeviceError::NoCode)));
        assert!(matches!(devices.pair("", "none", now()), Err(DeviceError::NoCode)));
    }

    #[test]
    fn names_are_unlike_and_a_revoked_device_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let devices = Devices::of(home.path());
        let pair = |role| devices.pair(&devices.invite(role, now()).unwrap(), "phone", now()).unwrap();
        let (first, second) = (pair(Role::Answer), pair(Role::Look));
        let names: Vec<_> = devices.list().unwrap().into_iter().map(|one| (one.name, one.role)).collect();
        assert_eq!(names, [("phone".to_owned(), Role::Answer), ("phone 2".to_owned(), Role::Look)]);
        devices.revoke("phone").unwrap();
        assert!(matches!(devices.revoke("phone"), Err(DeviceError::Unknown(_))));
        let list = devices.load().unwrap();
        assert!(list.find(&first).is_none() && list.find(&second).is_some());
    }

    #[test]
    fn a_newer_file_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let devices = Devices::of(home.path());
        devices.load().unwrap();
        let newer = r#"{"format":2,"cookie":"x"}"#;
        std::fs::write(devices.path(), newer).unwrap();
        let refused = devices.invite(Role::Look, now()).unwrap_err().to_string();
        assert!(refused.contains("has format 2"), "{refused}");
        assert_eq!(std::fs::read_to_string(devices.path()).unwrap(), newer);
    }
}
