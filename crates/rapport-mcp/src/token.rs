//! The token that clients over HTTP present: from the settings, or generated once and stored in Rapport's home.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rapport_durable::{private_folder, replace_private};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

/// The path of the token, unless the settings have one.
pub(crate) fn path(home: &Path) -> PathBuf {
    home.join("mcp.token")
}

/// The token in this home; generates one if there is none. Blocks.
pub(crate) fn kept(home: &Path) -> io::Result<SecretString> {
    let path = path(home);
    match fs::read_to_string(&path) {
        Ok(token) if !token.trim().is_empty() => return Ok(token.trim().to_owned().into()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(_) | Err(_) => {}
    }
    let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    private_folder(home)?;
    replace_private(&path, format!("{token}\n").as_bytes())?;
    Ok(token.into())
}

/// Whether the value of an `Authorization` header presents this token.
pub(crate) fn is_presented(header: Option<&[u8]>, token: &SecretString) -> bool {
    const SCHEME: &[u8] = b"bearer ";
    let Some(header) = header else { return false };
    let Some((scheme, presented)) = header.split_at_checked(SCHEME.len()) else { return false };
    scheme.eq_ignore_ascii_case(SCHEME)
        && bool::from(presented.trim_ascii().ct_eq(token.expose_secret().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_counts() {
        let token = SecretString::from("s3cret");
        for (header, expected) in [
            (Some("Bearer s3cret"), true),
            (Some("bearer  s3cret "), true),
            (Some("Bearer s3cre"), false),
            (Some("Bearer s3cret2"), false),
            (Some("Bearer "), false),
            (Some("Basic s3cret"), false),
            (Some("s3cret"), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(is_presented(header.map(str::as_bytes), &token), expected, "{header:?}");
        }
    }
}
