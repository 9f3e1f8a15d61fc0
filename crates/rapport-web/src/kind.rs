//! The page as a kind of channel: what configures it, how one is made, and what `doctor` finds.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rapport_door::{Channel, ChannelError, ChannelKind, ChannelSetup, Diagnosis, Missing};
use rapport_http::own_names;
use rapport_settings::{ConfigError, Declared, Sources};
use tokio::net::TcpListener;

use crate::channel::{Web, WebConfig};
use crate::settings::WebLayer;
use crate::site::Address;
use crate::{CHANNEL, Devices};

/// The default port. Another one is used if it is taken.
const USUAL_PORT: u16 = 7878;

/// What `doctor` and `serve` report if the person switched the page off.
const SWITCHED_OFF: Missing = Missing {
    what: "the web page is switched off",
    advice: "Switch it on to see and answer everything in a browser: set web.enabled to true in config.yaml, or \
             RAPPORT_WEB_ENABLED=true (docs/web.md tells more).",
};

/// The kind of this channel.
#[derive(Clone, Copy, Debug)]
pub struct WebKind;

impl ChannelKind for WebKind {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn section(&self) -> Declared {
        Declared::of::<WebLayer>()
    }

    fn help(&self) -> &'static str {
        "a page for browsers, with everything that waits. Listens on 127.0.0.1:7878, or another port if that one is in use, \
unless web.listen (or RAPPORT_WEB_LISTEN) says something else. A device gets in by the one-time link that is printed; \
`rapport open` makes another, and `rapport devices` lists the devices. web.enabled: false switches the page off.

  rapport serve --channel web"
    }

    fn missing(&self, settings: &Sources) -> Result<Option<Missing>, ConfigError> {
        let is_off = settings.load::<WebLayer>()?.enabled == Some(false);
        Ok(is_off.then_some(SWITCHED_OFF))
    }

    fn open(&self, setup: ChannelSetup) -> BoxFuture<'static, Result<Box<dyn Channel>, ChannelError>> {
        async move { Ok(Box::new(open(setup).await?) as Box<dyn Channel>) }.boxed()
    }

    fn diagnose(&self, setup: ChannelSetup) -> BoxFuture<'static, Diagnosis> {
        async move { diagnose(&setup) }.boxed()
    }
}

async fn open(setup: ChannelSetup) -> Result<Web, ChannelError> {
    let said = setup.settings.load::<WebLayer>()?;
    let hosts = hosts(&said).map_err(|message| {
        let hint = "Or listen on this machine only: set web.listen to 127.0.0.1:7878";
        ChannelError::Settings { message, hint: Some(hint.to_owned()) }
    })?;
    let listener = listen(said.listen).await?;
    let listen = listener.local_addr().map_err(|error| ChannelError::Broken(error.to_string()))?;
    let url = said.url.unwrap_or_else(|| {
        let name = said.hosts.unwrap_or_default().into_iter().next().filter(|_| !listen.ip().is_loopback());
        name.map_or_else(|| format!("http://{listen}"), |name| with_port(&name, listen.port()))
    });
    let address = Address { url: url.trim_end_matches('/').to_owned(), listen };
    Ok(Web::new(WebConfig {
        listener,
        address,
        hosts,
        push_hosts: said.push_hosts.unwrap_or_default(),
        home: setup.home.clone(),
        projects: setup.projects().cloned().collect(),
        knowledge: setup.projects.clone(),
        secrets: setup.secrets,
        zone: TimeZone::system(),
        now: Arc::new(Timestamp::now),
    }))
}

/// A name with this port, unless the name has one.
fn with_port(name: &str, port: u16) -> String {
    let has_port = name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { format!("http://{name}") } else { format!("http://{name}:{port}") }
}

/// Listens where the settings say and nowhere else; without such a setting, on the default port or a free one.
async fn listen(said: Option<SocketAddr>) -> Result<TcpListener, ChannelError> {
    let broken = |at: SocketAddr, error: std::io::Error| {
        ChannelError::Broken(format!("cannot listen on {at}: {error}"))
    };
    if let Some(at) = said {
        return TcpListener::bind(at).await.map_err(|error| broken(at, error));
    }
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, USUAL_PORT));
    match TcpListener::bind(usual).await {
        Ok(listener) => Ok(listener),
        Err(_) => {
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            TcpListener::bind(any).await.map_err(|error| broken(any, error))
        }
    }
}

/// The host names by which the page may be addressed, or why it must not be served.
fn hosts(said: &WebLayer) -> Result<Vec<String>, String> {
    let listen = said.listen.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, USUAL_PORT)));
    let mut named = said.hosts.clone().unwrap_or_default();
    if let Some(url) = &said.url {
        let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let host = host
            .map(|rest| rest.trim_end_matches('/'))
            .filter(|rest| !rest.is_empty() && !rest.contains('/'));
        named.push(host.ok_or_else(|| format!("web.url: {url} is not of the form https://HOST"))?.to_owned());
    }
    own_names(listen, &named).ok_or_else(|| {
        format!(
            "web.listen: {listen} can be reached from other machines; if that is meant, name the hosts by which browsers reach it: web.hosts"
        )
    })
}

fn diagnose(setup: &ChannelSetup) -> Diagnosis {
    let bad = |found: String| Diagnosis::Bad { found, advice: "Fix the settings first.".into() };
    let said = match setup.settings.load::<WebLayer>() {
        Ok(said) => said,
        Err(error) => return bad(error.to_string()),
    };
    if said.enabled == Some(false) {
        return Diagnosis::Good("switched off by web.enabled (docs/web.md)".into());
    }
    if let Err(why) = hosts(&said) {
        return bad(why);
    }
    let devices = match Devices::of(&setup.home).list() {
        Ok(devices) => devices.len(),
        Err(error) => {
            let advice = "Move that file away, and pair the devices again.".to_owned();
            return Diagnosis::Bad { found: error.to_string(), advice };
        }
    };
    let at = said.listen.map_or_else(|| format!("127.0.0.1:{USUAL_PORT}"), |listen| listen.to_string());
    let paired = match devices {
        0 => "no device is paired".to_owned(),
        1 => "one device is paired".to_owned(),
        many => format!("{many} devices are paired"),
    };
    // Browsers allow notifications on this machine itself, and otherwise only with TLS.
    let is_secure = said.url.as_ref().is_some_and(|url| url.starts_with("https://"));
    let notified = match is_secure {
        true => "on iOS, notifications need the page on the home screen",
        false => "push needs HTTPS, and on iOS an installed page (docs/web.md)",
    };
    Diagnosis::Good(format!("`rapport serve` has the page at {at}; {paired}; {notified}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_has_a_name_of_its_own() {
        let said = |url: &str| WebLayer { url: Some(url.to_owned()), ..WebLayer::default() };
        assert!(hosts(&said("https://rapport.example/")).unwrap().contains(&"rapport.example".to_owned()));
        for wrong in ["rapport.example", "https://", "https://rapport.example/below", "ftp://rapport.example"]
        {
            assert!(hosts(&said(wrong)).unwrap_err().contains("web.url"), "{wrong}");
        }
    }

    #[test]
    fn other_machines_need_a_name() {
        let said = WebLayer { listen: Some("0.0.0.0:7878".parse().unwrap()), ..WebLayer::default() };
        assert!(hosts(&said).unwrap_err().contains("web.hosts"));
        assert_eq!(with_port("build.example", 7878), "http://build.example:7878");
        assert_eq!(with_port("build.example:80", 7878), "http://build.example:80");
    }
}
