//! Whose account the CLI uses: what a place needs to know where the person's own home, and what they are logged in with, is not.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use rapport_durable as durable;
use secrecy::SecretString;
use serde::Deserialize;

use super::transcript;
use crate::workers::proxy::Service;

/// The variable with the address of the model's API, and what holds where it is not set.
const ADDRESS: &str = "ANTHROPIC_BASE_URL";
const USUAL_ADDRESS: &str = "https://api.anthropic.com";

/// The variables that hold what lets somebody in there; the last is for a login.
pub(super) const CREDENTIALS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", LOGIN];
const LOGIN: &str = "CLAUDE_CODE_OAUTH_TOKEN";

/// Variables that mean nothing away from the person's home, or may hold a credential among other things.
const AT_HOME: [&str; 3] = ["HOME", "CLAUDE_CONFIG_DIR", "ANTHROPIC_CUSTOM_HEADERS"];

/// Where the CLI keeps a login, in its folder, and the largest file that is read as one.
const FILE: &str = ".credentials.json";
const LARGEST: u64 = 1024 * 1024;

/// The API that the CLI talks to, as its environment has it.
pub(super) fn service(env: &[(OsString, OsString)]) -> Service {
    let text = |name: &str| variable(env, name).and_then(OsStr::to_str).map(str::to_owned);
    let secret = |name: &'static str| Some((name, SecretString::from(text(name)?)));
    Service {
        variable: ADDRESS,
        url: text(ADDRESS).unwrap_or_else(|| USUAL_ADDRESS.to_owned()),
        credentials: CREDENTIALS.into_iter().filter_map(secret).collect(),
    }
}

/// This environment for another home. A login that is kept in the person's home goes along as a variable. May block.
pub(super) fn away_from_home(env: &[(OsString, OsString)], home: &Path) -> Vec<(OsString, OsString)> {
    let stays = |name: &OsStr| AT_HOME.iter().any(|at_home| name == *at_home);
    let mut away: Vec<_> = env.iter().filter(|(name, _)| !stays(name)).cloned().collect();
    away.push(("HOME".into(), home.into()));
    if !CREDENTIALS.iter().any(|name| variable(env, name).is_some()) {
        away.extend(login(env).map(|token| (LOGIN.into(), token.into())));
    }
    away
}

/// The token of the person who is logged in, if one is.
fn login(env: &[(OsString, OsString)]) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kept {
        claude_ai_oauth: Oauth,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Oauth {
        access_token: String,
    }
    // What cannot be read lets nobody in, which the CLI tells.
    let kept = durable::read_file(&transcript::home(env)?.join(FILE), LARGEST).ok()?;
    serde_json::from_slice::<Kept>(&kept).ok().map(|kept| kept.claude_ai_oauth.access_token)
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

    fn found(env: &[(OsString, OsString)]) -> Vec<(&'static str, String)> {
        let found = service(env).credentials.into_iter();
        found.map(|(name, secret)| (name, secret.expose_secret().to_owned())).collect()
    }

    #[test]
    fn a_login_goes_along_where_nothing_else_lets_the_agent_in() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        std::fs::create_dir(&config).unwrap();
        std::fs::write(config.join(FILE), r#"{"claudeAiOauth":{"accessToken":"token"},"more":1}"#).unwrap();
        let config = config.to_str().unwrap();
        let env = variables(&[("HOME", "/home/me"), ("CLAUDE_CONFIG_DIR", config), ("LANG", "C")]);
        let away = away_from_home(&env, Path::new("/away"));
        assert_eq!(away, variables(&[("LANG", "C"), ("HOME", "/away"), (LOGIN, "token")]));
        assert_eq!(found(&away), [(LOGIN, "token".to_owned())]);
        assert_eq!(service(&away).url, USUAL_ADDRESS);

        let keyed =
            [env.clone(), variables(&[("ANTHROPIC_API_KEY", "key"), (ADDRESS, "http://gate/a")])].concat();
        let away = away_from_home(&keyed, Path::new("/away"));
        assert_eq!(found(&away), [("ANTHROPIC_API_KEY", "key".to_owned())]);
        assert_eq!(service(&away).url, "http://gate/a");
    }
}
