//! The encryption of a message for one browser (RFC 8291, with the content coding of RFC 8188): only the browser that
//! made the subscription can read it, not the push service that relays it.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::error::Unspecified;
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SecureRandom;
use serde::{Deserialize, Serialize};

use super::{decoded, encoded};

/// The length of a public key on P-256, uncompressed.
const PUBLIC: usize = 65;
/// The length of the secret that browser and sender share.
const AUTH: usize = 16;
const SALT: usize = 16;
/// The record size that a message names. A message is one record.
const RECORD: u32 = 4096;
/// The length to which every message is padded, so that its length says nothing.
const PADDED: usize = 256;

/// What the browser gave to encrypt messages with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub(crate) struct SubscriptionKeys {
    public: [u8; PUBLIC],
    auth: [u8; AUTH],
}

/// The keys as browsers and files write them.
#[derive(Clone, Serialize, Deserialize)]
struct Written {
    p256dh: String,
    auth: String,
}

impl SubscriptionKeys {
    /// Reads the keys as a browser gives them: base64url of an uncompressed point, and of 16 bytes.
    pub(crate) fn read(p256dh: &str, auth: &str) -> Option<Self> {
        let public: [u8; PUBLIC] = decoded(p256dh)?.try_into().ok()?;
        let auth = decoded(auth)?.try_into().ok()?;
        (public[0] == 4).then_some(Self { public, auth })
    }
}

impl std::fmt::Debug for SubscriptionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SubscriptionKeys")
    }
}

impl TryFrom<Written> for SubscriptionKeys {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        Self::read(&written.p256dh, &written.auth).ok_or("these are not the keys of a subscription")
    }
}

impl From<SubscriptionKeys> for Written {
    fn from(keys: SubscriptionKeys) -> Self {
        Self { p256dh: encoded(&keys.public), auth: encoded(&keys.auth) }
    }
}

/// A message for this subscription, padded and encrypted, with a key and a salt of its own.
pub(super) fn encrypted(
    content: &[u8],
    keys: &SubscriptionKeys,
    random: &dyn SecureRandom,
) -> Result<Vec<u8>, Unspecified> {
    let padding = PADDED.saturating_sub(content.len() + 1);
    sealed(content, padding, keys, random)
}

fn sealed(
    content: &[u8],
    padding: usize,
    keys: &SubscriptionKeys,
    random: &dyn SecureRandom,
) -> Result<Vec<u8>, Unspecified> {
    let own = EphemeralPrivateKey::generate(&ECDH_P256, random)?;
    let public = own.compute_public_key()?;
    let mut salt = [0; SALT];
    random.fill(&mut salt)?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, keys.public);
    let secrets = agree_ephemeral(own, &theirs, |shared| derived(shared, keys, public.as_ref(), &salt))??;
    let (key, nonce) = secrets;
    // The delimiter of the last record, and the padding after it.
    let mut record: Vec<u8> = [content, &[2], &vec![0; padding]].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    let tag =
        key.seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)?;
    let length = [u8::try_from(PUBLIC).unwrap_or(u8::MAX)];
    Ok([&salt, &RECORD.to_be_bytes()[..], &length, public.as_ref(), &record, tag.as_ref()].concat())
}

/// The key and the nonce of a message, from the secret that both sides agreed on.
fn derived(
    shared: &[u8],
    keys: &SubscriptionKeys,
    own: &[u8],
    salt: &[u8],
) -> Result<([u8; 16], [u8; 12]), Unspecified> {
    let mut input = [0; 32];
    let about = [&b"WebPush: info\0"[..], &keys.public, own];
    Salt::new(HKDF_SHA256, &keys.auth).extract(shared).expand(&about, Length(32))?.fill(&mut input)?;
    let secret = Salt::new(HKDF_SHA256, salt).extract(&input);
    let (mut key, mut nonce) = ([0; 16], [0; 12]);
    secret.expand(&[b"Content-Encoding: aes128gcm\0"], Length(16))?.fill(&mut key)?;
    secret.expand(&[b"Content-Encoding: nonce\0"], Length(12))?.fill(&mut nonce)?;
    Ok((key, nonce))
}

/// The number of bytes to derive.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of RFC 8291, appendix A.
    const CONTENT: &str = "When I grow up, I want to be a watermelon";
    const P256DH: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const AUTH_SECRET: &str = "BTBZMqHH6r4Tts7J_aSIgg";
    const SENDER: &str = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";
    const SENT_SALT: &str = "DGv6ra1nlYgDCS1FRnbzlw";
    const SENT: &str = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";

    #[test]
    #[expect(deprecated, reason = "ring has no other source of chosen bytes")]
    fn the_example_of_the_standard_is_encrypted_as_there() {
        let keys = SubscriptionKeys::read(P256DH, AUTH_SECRET).unwrap();
        let (sender, salt) = (decoded(SENDER).unwrap(), decoded(SENT_SALT).unwrap());
        let random = ring::test::rand::FixedSliceSequenceRandom {
            bytes: &[&sender, &salt],
            current: std::cell::UnsafeCell::new(0),
        };
        let sent = sealed(CONTENT.as_bytes(), 0, &keys, &random).unwrap();
        assert_eq!(encoded(&sent), SENT);
    }

    #[test]
    fn all_messages_have_the_same_length() {
        let keys = SubscriptionKeys::read(P256DH, AUTH_SECRET).unwrap();
        let random = ring::rand::SystemRandom::new();
        let length = |content: &[u8]| encrypted(content, &keys, &random).unwrap().len();
        assert_eq!(length(b"{}"), length(&[b'x'; 200]));
        assert_ne!(encrypted(b"{}", &keys, &random), encrypted(b"{}", &keys, &random));
    }

    #[test]
    fn keys_of_the_wrong_shape_are_refused() {
        let short = &P256DH[..40];
        let compressed = encoded(&[2; PUBLIC]);
        for (public, auth) in
            [("", AUTH_SECRET), (short, AUTH_SECRET), (&compressed, AUTH_SECRET), (P256DH, ""), (P256DH, "?")]
        {
            assert!(SubscriptionKeys::read(public, auth).is_none(), "{public} {auth}");
        }
        // Such a point is not on the curve, which only the agreement finds.
        let none = encoded(&[&[4][..], &[1; 64]].concat());
        let keys = SubscriptionKeys::read(&none, AUTH_SECRET).unwrap();
        assert!(encrypted(b"{}", &keys, &ring::rand::SystemRandom::new()).is_err());
    }
}
