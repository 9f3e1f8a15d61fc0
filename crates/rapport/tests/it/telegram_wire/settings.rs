//! Settings of the channel: where they come from, and that secrets are not shown.

use std::path::Path;

use jiff::SignedDuration;
use rapport::config::{ConfigError, Layer, Settings};
use secrecy::ExposeSecret as _;

/// Variables and what they are.
type Env<'a> = &'a [(&'a str, &'a str)];

fn load(yaml: &str, env: Env<'_>) -> Result<Settings, ConfigError> {
    let home = tempfile::TempDir::new().unwrap();
    std::fs::write(home.path().join("config.yaml"), yaml).unwrap();
    let env = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Settings::load(home.path(), Path::new("/nowhere"), env, Layer::default())
}

fn token(settings: &Settings) -> Option<String> {
    settings.telegram.token.clone().map(|token| token.into_inner().expose_secret().to_owned())
}

#[test]
fn without_anything_said_there_is_no_token_and_nobody_may() {
    let telegram = load("", &[]).unwrap().telegram;
    assert!(telegram.token.is_none() && telegram.users.is_empty() && telegram.webhook.is_none());
    assert_eq!(telegram.api_url, "https://api.telegram.org");
    assert_eq!(telegram.remind, SignedDuration::from_mins(15));
}

#[test]
fn the_variables_of_the_document_are_honoured_and_our_own_win() {
    let yaml = "telegram: { token: '1:yaml', users: [1], project: /yaml, remind: 1m }";
    let all = load(yaml, &[]).unwrap();
    assert_eq!((token(&all).as_deref(), &all.telegram.users[..]), (Some("1:yaml"), &[1][..]));
    let env = [("TELEGRAM_BOT_TOKEN", "2:env"), ("TELEGRAM_USER_ID", "2"), ("PROJECT_DIR", "/env")];
    let all = load(yaml, &env).unwrap();
    assert_eq!((token(&all).as_deref(), &all.telegram.users[..]), (Some("2:env"), &[2][..]));
    assert_eq!(all.telegram.project.as_deref(), Some(Path::new("/env")));
    let ours = [("RAPPORT_TELEGRAM_TOKEN", "3:ours"), ("RAPPORT_TELEGRAM_USERS", "3, 4")];
    let all = load(yaml, &[&env[..], &ours[..]].concat()).unwrap();
    assert_eq!((token(&all).as_deref(), &all.telegram.users[..]), (Some("3:ours"), &[3, 4, 2][..]));
    let empty = load(yaml, &[("TELEGRAM_BOT_TOKEN", ""), ("TELEGRAM_USER_ID", "")]).unwrap();
    assert_eq!((token(&empty).as_deref(), &empty.telegram.users[..]), (Some("1:yaml"), &[1][..]));
}

#[test]
fn secrets_are_not_shown() {
    let yaml = "telegram:\n  token: '1:hidden'\n  webhook: { url: 'https://x', listen: '127.0.0.1:1', secret: hidden }\n";
    let settings = load(yaml, &[]).unwrap();
    assert!(settings.telegram.webhook.is_some());
    assert!(!format!("{settings:?} {settings:#?}").contains("hidden"));
    for wrong in ["telegram: { token: '1:hidden', tken: x }", "telegram: { token: ['1:hidden'] }"] {
        let error = load(wrong, &[]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hidden"), "{error}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let cases: [(&str, Env, &str); 4] = [
        ("", &[("TELEGRAM_USER_ID", "me")], "TELEGRAM_USER_ID: \"me\" is not a user's id such as 123456789"),
        ("", &[("RAPPORT_TELEGRAM_REMIND", "soon")], "RAPPORT_TELEGRAM_REMIND: \"soon\" is not a time"),
        ("telegram: { webhook: { url: 'https://x' } }", &[], "telegram.webhook: needs both url"),
        ("telegram: { users: [-5] }", &[], "config.yaml:1:21:"),
    ];
    for (yaml, env, says) in cases {
        let error = load(yaml, env).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
