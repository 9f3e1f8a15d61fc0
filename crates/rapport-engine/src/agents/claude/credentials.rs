//! The CLI's credentials, for a workplace without access to the person's home and login.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rapport_durable as durable;
use secrecy::SecretString;
use serde::Deserialize;

use super::transcript;
use crate::clock::Clock;
use crate::workers::proxy::{CredentialValue, Service};

/// The variable with the address of the model's API, and its default.
const ADDRESS: &str = "ANTHROPIC_BASE_URL";
const USUAL_ADDRESS: &str = "https://api.anthropic.com";

/// The variables that hold credentials for that API; the last is for a login.
pub(super) const CREDENTIALS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", LOGIN];
const LOGIN: &str = "CLAUDE_CODE_OAUTH_TOKEN";

/// Variables that are useless outside of the person's home, or may contain a credential.
const AT_HOME: [&str; 3] = ["HOME", "CLAUDE_CONFIG_DIR", "ANTHROPIC_CUSTOM_HEADERS"];

/// The CLI's login file in its directory, and the maximum size to read.
const FILE: &str = ".credentials.json";
const LARGEST: u64 = 1024 * 1024;

/// How a login is renewed. `remedy` recognizes the name of the CLI's own command in it, and adds the rest.
const REMEDY: &str = "Run claude on this machine, which renews it, or log in again there: /login";

/// The API that the CLI uses, according to its environment, and to a file with a person's login.
pub(super) fn service(env: &[(OsString, OsString)], login: Option<&Path>, clock: &Clock) -> Service {
    let text = |name: &str| variable(env, name).and_then(OsStr::to_str).map(str::to_owned);
    let secret = |name: &'static str| Some((name, text(name)?.into()));
    let mut credentials: Vec<_> = CREDENTIALS.into_iter().filter_map(secret).collect();
    if let Some(file) = login.map(Path::to_owned) {
        let clock = clock.clone();
        let token = move || token(&file, clock.now());
        credentials.push((LOGIN, CredentialValue::Renewed(Arc::new(token))));
    }
    Service { variable: ADDRESS, url: text(ADDRESS).unwrap_or_else(|| USUAL_ADDRESS.to_owned()), credentials }
}

/// The environment for another home.
pub(super) fn away_from_home(env: &[(OsString, OsString)], home: &Path) -> Vec<(OsString, OsString)> {
    let stays = |name: &OsStr| AT_HOME.iter().any(|at_home| name == *at_home);
    let mut away: Vec<_> = env.iter().filter(|(name, _)| !stays(name)).cloned().collect();
    away.push(("HOME".into(), home.into()));
    away
}

/// The file with the person's login, if they are logged in and no variable holds a credential. Blocks.
pub(super) fn login(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    if CREDENTIALS.iter().any(|name| variable(env, name).is_some()) {
        return None;
    }
    let file = transcript::home(env)?.join(FILE);
    // If the file cannot be read, the person is not logged in, which the CLI reports.
    read(&file).is_some().then_some(file)
}

/// The token in a login file, unless it has expired: only the CLI in the person's home can renew it. Blocks.
fn token(file: &Path, now: Timestamp) -> Result<SecretString, String> {
    let Some(login) = read(file) else {
        return Err(format!("nobody is logged in to Claude Code any more. {REMEDY}"));
    };
    let expires = login.expires_at.and_then(|at| Timestamp::from_millisecond(at).ok());
    match expires.filter(|at| *at <= now) {
        Some(at) => Err(format!("the login of Claude Code expired at {at:.0}. {REMEDY}")),
        None => Ok(login.access_token.into()),
    }
}

/// A login, as the CLI stores it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Login {
    access_token: String,
    /// When the login expires, in milliseconds since 1970.
    expires_at: Option<i64>,
}

fn read(file: &Path) -> Option<Login> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CredentialsFile {
        claude_ai_oauth: Login,
    }
    let content = durable::read_file(file, LARGEST).ok()?;
    serde_json::from_slice::<CredentialsFile>(&content).ok().map(|file| file.claude_ai_oauth)
}

fn variable<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let found = env.iter().rev().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn found(
        env: &[(OsString, OsString)],
        login: Option<&Path>,
    ) -> Vec<(&'static str, Result<String, String>)> {
        let value = |credential| match credential {
            CredentialValue::Fixed(secret) => Ok(secret),
            CredentialValue::Renewed(read) => read(),
        };
        let found = service(env, login, &Clock::system()).credentials.into_iter();
        let exposed = |secret: SecretString| secret.expose_secret().to_owned();
        found.map(|(name, credential)| (name, value(credential).map(exposed))).collect()
    }

    #[test]
    fn a_login_goes_along_where_nothing_else_lets_the_agent_in() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        std::fs::create_dir(&config).unwrap();
        let file = config.join(FILE);
        let write = |token: &str, rest: &str| {
            let kept = format!(r#"{{"claudeAiOauth":{{"accessToken":"{token}"{rest}}},"more":1}}"#);
            std::fs::write(&file, kept).unwrap();
        };
        let config = config.to_str().unwrap();
        let env = variables(&[("HOME", "/home/me"), ("CLAUDE_CONFIG_DIR", config), ("LANG", "C")]);
        assert_eq!(login(&env), None, "nobody is logged in");
        write("token", "");
        assert_eq!(login(&env).as_ref(), Some(&file));
        let away = away_from_home(&env, Path::new("/away"));
        assert_eq!(away, variables(&[("LANG", "C"), ("HOME", "/away")]), "the token stays at home");
        let found = |env: &[_]| found(env, login(env).as_deref());
        assert_eq!(found(&env), [(LOGIN, Ok("token".to_owned()))]);
        let service = service(&away, Some(&file), &Clock::system());
        assert_eq!(service.url, USUAL_ADDRESS);

        // The CLI in the person's home renews the login while the agent runs.
        let CredentialValue::Renewed(renewed) = &service.credentials[0].1 else { panic!("{service:?}") };
        let value = || renewed().map(|secret| secret.expose_secret().to_owned());
        write("newer", r#","expiresAt":32503680000000"#);
        assert_eq!(value().as_deref(), Ok("newer"));
        write("older", r#","expiresAt":1700000000000"#);
        let why = "the login of Claude Code expired at 2023-11-14T22:13:20Z. Run claude on this machine, which renews it, \
                   or log in again there: /login";
        assert_eq!(value(), Err(why.to_owned()));
        std::fs::remove_file(&file).unwrap();
        assert!(value().unwrap_err().starts_with("nobody is logged in to Claude Code any more. Run claude"));

        write("token", "");
        let keyed =
            [env.clone(), variables(&[("ANTHROPIC_API_KEY", "key"), (ADDRESS, "http://gate/a")])].concat();
        let away = away_from_home(&keyed, Path::new("/away"));
        assert_eq!(found(&keyed), [("ANTHROPIC_API_KEY", Ok("key".to_owned()))]);
        assert_eq!(super::service(&away, None, &Clock::system()).url, "http://gate/a");
    }
}
