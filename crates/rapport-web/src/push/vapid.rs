//! Identifies this server to push services (VAPID, RFC 8292): a browser subscribes with the public key, and a push
//! service accepts messages only if they are signed with the private one. The private key is in a file of the home that
//! only its owner can read.

use std::io;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rapport_durable::{private_folder, read_own, replace_private};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

use super::encoded;

/// How long a signature counts. The standard allows a day.
const LASTS: SignedDuration = SignedDuration::from_hours(12);

/// The key pair of this server.
pub(crate) struct VapidKey {
    pair: EcdsaKeyPair,
    /// How a push service can reach the operator: an address of the page, or of mail.
    contact: String,
}

impl VapidKey {
    /// The key of this home; makes one if there is none. Blocks.
    pub(crate) fn of(home: &Path, contact: String) -> io::Result<Self> {
        let folder = home.join("web");
        let path = folder.join("push.key");
        let broken = |why: &str| io::Error::other(format!("{}: {why}", path.display()));
        let random = SystemRandom::new();
        let document = match read_own(&path) {
            Ok(document) => document,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
                let made = made.map_err(|_| broken("no key could be made"))?;
                private_folder(&folder)?;
                replace_private(&path, made.as_ref())?;
                made.as_ref().to_vec()
            }
            Err(error) => return Err(error),
        };
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &document, &random);
        Ok(Self { pair: pair.map_err(|_| broken("it is not a key for notifications"))?, contact })
    }

    /// The public key, which a browser subscribes with.
    pub(crate) fn public(&self) -> String {
        encoded(self.pair.public_key().as_ref())
    }

    /// The value of the `Authorization` header of a message to the push service with this origin.
    pub(super) fn authorization(&self, origin: &str, now: Timestamp) -> Option<String> {
        let until = now.checked_add(LASTS).ok()?.as_second();
        let claims = json!({ "aud": origin, "exp": until, "sub": self.contact });
        let head = encoded(json!({ "typ": "JWT", "alg": "ES256" }).to_string().as_bytes());
        let signed = format!("{head}.{}", encoded(claims.to_string().as_bytes()));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
        Some(format!("vapid t={signed}.{}, k={}", encoded(signature.as_ref()), self.public()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;
    use crate::push::decoded;

    #[test]
    fn a_message_is_signed_and_the_key_stays() {
        let home = tempfile::tempdir().unwrap();
        let key = || VapidKey::of(home.path(), "https://rapport.example".to_owned()).unwrap();
        let now: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        let header = key().authorization("https://push.example", now).unwrap();
        let (token, public) = header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(public, key().public());
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let known = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decoded(public).unwrap());
        known.verify(signed.as_bytes(), &decoded(signature).unwrap()).unwrap();
        let claims = decoded(signed.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        let until = now.as_second() + 12 * 60 * 60;
        assert_eq!(
            claims,
            json!({ "aud": "https://push.example", "exp": until, "sub": "https://rapport.example" })
        );
        let file = home.path().join("web/push.key");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&file, "damaged").unwrap();
        assert!(VapidKey::of(home.path(), String::new()).is_err());
    }
}
