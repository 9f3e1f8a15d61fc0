//! The address of a push service, as a browser names it. It is data from outside that this server sends requests to, so
//! it has to use TLS, and must not lead to this machine or into a private network, unless the settings name that host.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The maximum length of an address, in bytes.
const LONGEST: usize = 2048;

/// The address of a push service for one browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint(pub(super) Url);

impl Endpoint {
    /// The origin of the push service.
    pub(super) fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }
}

/// Which addresses are used.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndpointPolicy {
    /// The hosts that may have addresses of a private network.
    private: Arc<[String]>,
    /// An origin of the tests, which has no TLS.
    trial: Option<String>,
}

impl EndpointPolicy {
    /// The policy with these hosts in private networks.
    pub(crate) fn new(private: Vec<String>) -> Self {
        Self { private: private.into(), trial: trial() }
    }

    /// Checks an address; otherwise says why it is not used.
    pub(crate) fn read(&self, address: &str) -> Result<Endpoint, &'static str> {
        if address.len() > LONGEST {
            return Err("The address of the push service is too long.");
        }
        let url = Url::parse(address).map_err(|_| "That is not the address of a push service.")?;
        if self.trial.as_ref().is_some_and(|trial| *trial == url.origin().ascii_serialization()) {
            return Ok(Endpoint(url));
        }
        if url.scheme() != "https" || !url.username().is_empty() || url.password().is_some() {
            return Err("The address of a push service begins with https:// and has no password.");
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        if host.is_empty() || !self.allows(host, host.parse().ok()) {
            return Err("That push service is in a private network. web.push_hosts can allow it.");
        }
        Ok(Endpoint(url))
    }

    fn allows(&self, host: &str, address: Option<IpAddr>) -> bool {
        let is_named = self.private.iter().any(|known| known.eq_ignore_ascii_case(host));
        is_named || address.is_none_or(is_public)
    }
}

/// In debug builds a test can receive notifications at an address without TLS, on this machine.
fn trial() -> Option<String> {
    #[cfg(debug_assertions)]
    return std::env::var("RAPPORT_TRIAL_PUSH").ok();
    #[cfg(not(debug_assertions))]
    None
}

/// Resolves the names of push services, to addresses that the policy allows.
pub(super) struct PublicAddresses(pub(super) EndpointPolicy);

impl Resolve for PublicAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let usable: Vec<SocketAddr> =
                found.filter(|address| policy.allows(name.as_str(), Some(address.ip()))).collect();
            if usable.is_empty() {
                let why = format!("{} has only addresses of a private network", name.as_str());
                return Err(io::Error::other(why).into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is on the public internet.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => {
            let [first, second, .., next, last] = v6.segments();
            let within = |high: u16, low: u16| {
                let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
                is_public_v4(Ipv4Addr::new(a, b, c, d))
            };
            let is_own = v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.is_multicast()
                || (first, second) == (0x2001, 0x0db8);
            // Two ranges contain an address of IPv4: translated ones (64:ff9b::/96), and 6to4 (2002::/16).
            let embedded = match (first, second) {
                (0x0064, 0xff9b) => within(next, last),
                (0x2002, high) => within(high, v6.segments()[2]),
                _ => true,
            };
            !is_own && embedded
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_own = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || first == 0
        || first >= 240
        || (first == 100 && (64..128).contains(&second))
        || (first, second, third) == (192, 0, 0)
        || (first == 198 && (18..20).contains(&second));
    !is_own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_push_services_outside_are_used() {
        let policy = EndpointPolicy { private: Arc::new([]), trial: None };
        for fine in [
            "https://fcm.googleapis.com/fcm/send/abc",
            "https://updates.push.services.mozilla.com/wpush/v2/abc",
            "https://web.push.apple.com/abc",
            "https://93.184.216.34/x",
            "https://[2606:2800:220:1::1]/x",
        ] {
            assert!(policy.read(fine).is_ok(), "{fine}");
        }
        let long = format!("https://push.example/{}", "x".repeat(LONGEST));
        for wrong in [
            "",
            "push.example",
            "http://push.example/x",
            "file:///etc/passwd",
            "https://user@push.example/x",
            "https://127.0.0.1/x",
            "https://0.0.0.0/x",
            "https://0x7f.1/x",
            "https://2130706433/x",
            "https://10.1.2.3/x",
            "https://192.168.0.1/x",
            "https://100.64.0.1/x",
            "https://169.254.169.254/latest/meta-data/",
            "https://[::1]/x",
            "https://[::ffff:127.0.0.1]/x",
            "https://[fe80::1]/x",
            "https://[fd00:ec2::254]/x",
            "https://[64:ff9b::7f00:1]/x",
            "https://[2002:7f00:1::1]/x",
            &long,
        ] {
            assert!(policy.read(wrong).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_here_is_not_used_unless_the_settings_name_it() {
        let asked = async |policy: EndpointPolicy| {
            PublicAddresses(policy).resolve("localhost".parse().unwrap()).await.is_ok()
        };
        assert!(!asked(EndpointPolicy { private: Arc::new([]), trial: None }).await);
        let named = EndpointPolicy { private: Arc::new(["LocalHost".to_owned()]), trial: None };
        assert!(named.read("https://localhost/x").is_ok());
        assert!(asked(named).await);
    }
}
