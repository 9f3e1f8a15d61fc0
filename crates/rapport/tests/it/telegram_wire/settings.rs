//! Settings of the channel: where they come from, and that secrets are not shown.

use std::path::Path;

use jiff::SignedDuration;
use rapport::channels::telegram::kind::TelegramKind;
use rapport::channels::telegram::settings::TelegramSettings;
use rapport::config::{ConfigError, Layer, Settings, Sources};
use rapport::workers::WorkerKinds;
use rapport_door::ChannelKind as _;
use secrecy::ExposeSecret as _;

use crate::support::settings::sources;

/// Variables and what they are.
type Env<'a> = &'a [(&'a str, &'a str)];

fn said(yaml: &str, env: Env<'_>) -> Result<Sources, ConfigError> {
    let home = tempfile::TempDir::new().unwrap();
    std::fs::write(home.path().join("config.yaml"), yaml).unwrap();
    sources(home.path(), Path::new("/nowhere"), env)
}

fn load(yaml: &str, env: Env<'_>) -> Result<TelegramSettings, ConfigError> {
    TelegramSettings::load(&said(yaml, env)?)
}

fn token(settings: &TelegramSettings) -> Option<String> {
    settings.token.clone().map(|token| token.into_inner().expose_secret().to_owned())
}

#[test]
fn without_anything_said_there_is_no_token_and_nobody_may() {
    let telegram = load("", &[]).unwrap();
    assert!(telegram.token.is_none() && telegram.users.is_empty() && telegram.webhook.is_none());
    assert_eq!(telegram.api_url, "https://api.telegram.org");
    assert_eq!(telegram.remind, SignedDuration::from_mins(15));
}

#[test]
fn the_variables_of_the_document_are_honoured_and_our_own_win() {
    let yaml = "telegram: { token: '1:yaml', users: [1], project: /yaml, remind: 1m }";
    let all = load(yaml, &[]).unwrap();
    assert_eq!((token(&all).as_deref(), &all.users[..]), (Some("1:yaml"), &[1][..]));
    let env = [("TELEGRAM_BOT_TOKEN", "2:env"), ("TELEGRAM_USER_ID", "2"), ("PROJECT_DIR", "/env")];
    let all = load(yaml, &env).unwrap();
    assert_eq!((token(&all).as_deref(), &all.users[..]), (Some("2:env"), &[2][..]));
    let ours = [("RAPPORT_TELEGRAM_TOKEN", "3:ours"), ("RAPPORT_TELEGRAM_USERS", "3, 4")];
    let all = load(yaml, &[&env[..], &ours[..]].concat()).unwrap();
    assert_eq!((token(&all).as_deref(), &all.users[..]), (Some("3:ours"), &[3, 4, 2][..]));
    let empty = load(yaml, &[("TELEGRAM_BOT_TOKEN", ""), ("TELEGRAM_USER_ID", "")]).unwrap();
    assert_eq!((token(&empty).as_deref(), &empty.users[..]), (Some("1:yaml"), &[1][..]));
}

/// CHAT-17: the project is a setting of `serve`. Its older names still count: the variables like its own, the older
/// setting where nothing else names one.
#[test]
fn the_project_to_serve_has_older_names() {
    let cases: [(&str, Env, Option<&str>, Option<&str>); 5] = [
        ("", &[], None, None),
        ("telegram: { project: /old }", &[], None, Some("/old")),
        ("serve: { project: /ours }\ntelegram: { project: /old }", &[], Some("/ours"), Some("/old")),
        ("serve: { project: /ours }", &[("PROJECT_DIR", "/env")], Some("/env"), None),
        ("", &[("PROJECT_DIR", "/env"), ("RAPPORT_SERVE_PROJECT", "/first")], Some("/first"), None),
    ];
    for (yaml, env, ours, older) in cases {
        let said = said(yaml, env).unwrap();
        let settings = Settings::load(&said, Layer::default(), &WorkerKinds::builtin()).unwrap();
        assert_eq!(settings.serve_project.as_deref(), ours.map(Path::new), "{yaml} {env:?}");
        assert_eq!(TelegramKind.project(&said).unwrap().as_deref(), older.map(Path::new), "{yaml} {env:?}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let yaml = "telegram:\n  token: '1:hidden'\n  webhook: { url: 'https://x', listen: '127.0.0.1:1', secret: hidden }\n";
    let settings = load(yaml, &[]).unwrap();
    assert!(settings.webhook.is_some());
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
