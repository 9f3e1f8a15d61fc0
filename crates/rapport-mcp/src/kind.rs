//! MCP over HTTP as a kind of channel: what configures it, how one is made, and what `doctor` finds.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rapport_core::Decider;
use rapport_core::routing::Policy;
use rapport_door::{Channel, ChannelError, ChannelKind, ChannelSetup, Clock, Diagnosis, Missing};
use rapport_settings::{ConfigError, Declared, Secret, Sources};
use secrecy::ExposeSecret as _;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

use crate::http::{McpHttp, hosts};
use crate::settings::McpLayer;
use crate::{CHANNEL, McpSetup, token};

/// What is reported as missing if the settings name no address.
const NO_ADDRESS: Missing = Missing {
    what: "there is no address for MCP clients",
    advice: "Name one to let assistants lead workers over HTTP: set mcp.listen to 127.0.0.1:7777 in config.yaml. Over \
             standard input and output none is needed (docs/mcp.md tells more).",
};

/// The kind of this channel.
#[derive(Clone, Copy, Debug)]
pub struct McpKind;

impl ChannelKind for McpKind {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn section(&self) -> Declared {
        Declared::of::<McpLayer>()
    }

    fn help(&self) -> &'static str {
        "MCP over HTTP: other assistants start workers, answer them and review their changes. Listens on mcp.listen (or \
RAPPORT_MCP_LISTEN), and serves clients that present the token in mcp.token of Rapport's home.

  RAPPORT_MCP_LISTEN=127.0.0.1:7777 rapport serve"
    }

    fn missing(&self, settings: &Sources) -> Result<Option<Missing>, ConfigError> {
        Ok(settings.load::<McpLayer>()?.listen.is_none().then_some(NO_ADDRESS))
    }

    fn open(&self, setup: ChannelSetup) -> BoxFuture<'static, Result<Box<dyn Channel>, ChannelError>> {
        async move { Ok(Box::new(open(setup).await?) as Box<dyn Channel>) }.boxed()
    }

    fn diagnose(&self, setup: ChannelSetup) -> BoxFuture<'static, Diagnosis> {
        async move { diagnose(&setup) }.boxed()
    }
}

async fn open(setup: ChannelSetup) -> Result<McpHttp, ChannelError> {
    let said = setup.settings.load::<McpLayer>()?;
    let wrong = |message: String, hint: &str| ChannelError::Settings { message, hint: Some(hint.into()) };
    let Some(listen) = said.listen else { return Err(wrong(NO_ADDRESS.what.into(), NO_ADDRESS.advice)) };
    let hosts = hosts(listen, &said.hosts.unwrap_or_default())
        .map_err(|why| wrong(why, "Or listen on this machine only: set mcp.listen to 127.0.0.1:7777"))?;
    let (token, token_at) = match said.token {
        Some(token) => (Secret::into_inner(token), "mcp.token in the settings".to_owned()),
        None => {
            let (home, at) = (setup.home.clone(), token::path(&setup.home));
            let kept = spawn_blocking(move || token::kept(&home)).await;
            let kept = kept.map_err(std::io::Error::other).and_then(|kept| kept);
            let broken = |error| ChannelError::Broken(format!("cannot use {}: {error}", at.display()));
            (kept.map_err(broken)?, at.display().to_string())
        }
    };
    let look_token = said.look_token.map(Secret::into_inner);
    if look_token.as_ref().is_some_and(|own| own.expose_secret() == token.expose_secret()) {
        let why = "mcp.look_token: clients that may only look need a token of their own".to_owned();
        return Err(wrong(why, "Set it to another value than mcp.token."));
    }
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| ChannelError::Broken(format!("cannot listen on {listen}: {error}")))?;
    let setup = McpSetup {
        project: setup.project.path.into(),
        workers: setup.workers,
        apply: said.apply.map_or(Decider::Person, Into::into),
        questions: said.questions.map_or(Policy::Trust, |named| named.0),
        lead: None,
        // By default no, because any program with the token could claim that a person agreed.
        dialogs: said.dialogs.unwrap_or(false),
        person: setup.person,
        projects: setup.projects,
        version: env!("CARGO_PKG_VERSION"),
        clock: Clock::system(),
    };
    Ok(McpHttp { listener, token, look_token, token_at, hosts, setup })
}

fn diagnose(setup: &ChannelSetup) -> Diagnosis {
    let bad = |found: String| Diagnosis::Bad { found, advice: "Fix the settings first.".into() };
    let said = match setup.settings.load::<McpLayer>() {
        Ok(said) => said,
        Err(error) => return bad(error.to_string()),
    };
    let Some(listen) = said.listen else {
        return Diagnosis::Good(
            "`rapport mcp` for clients on this machine; nothing listens (docs/mcp.md)".into(),
        );
    };
    match hosts(listen, &said.hosts.unwrap_or_default()) {
        Ok(_) => Diagnosis::Good(format!("`rapport serve` listens on {listen}")),
        Err(why) => bad(why),
    }
}
