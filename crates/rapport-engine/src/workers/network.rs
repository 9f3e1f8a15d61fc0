//! The network access of a sandbox, by host names.

use std::fmt;
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};

/// What can be reached besides the service that the agent itself needs, which is always allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    None,
    /// These hosts, through the host's proxy.
    Allowlist(Vec<HostPattern>),
    /// Everything that the host can reach.
    Open,
}

impl Network {
    /// Whether this port of this host can be reached.
    pub(super) fn allows(&self, host: &str, port: u16) -> bool {
        match self {
            Self::None => false,
            Self::Allowlist(patterns) => patterns.iter().any(|pattern| pattern.matches(host, port)),
            Self::Open => true,
        }
    }
}

/// The hosts that the processes of one workplace can reach: those of the settings, and those that were allowed later.
#[derive(Debug, Default)]
pub(super) struct NetworkAccess {
    network: Network,
    allowed: RwLock<Vec<HostPattern>>,
}

impl NetworkAccess {
    pub(super) fn new(network: Network) -> Self {
        Self { network, ..Self::default() }
    }

    pub(super) fn network(&self) -> &Network {
        &self.network
    }

    pub(super) fn allows(&self, host: &str, port: u16) -> bool {
        let allowed = self.allowed.read().unwrap_or_else(PoisonError::into_inner);
        self.network.allows(host, port) || allowed.iter().any(|pattern| pattern.matches(host, port))
    }

    /// Sets the hosts that are allowed in addition to the settings. Invalid ones are ignored.
    pub(super) fn allow(&self, hosts: &[String]) {
        let patterns = hosts.iter().filter_map(|host| host.parse().ok()).collect();
        *self.allowed.write().unwrap_or_else(PoisonError::into_inner) = patterns;
    }
}

/// Host patterns: `example.com`, `*.example.com` for all subdomains, `example.com:8443` for one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    name: String,
    /// Whether it matches subdomains, and not the name itself.
    below: bool,
    /// The port; `None` for the usual ports of the web.
    port: Option<u16>,
}

/// The ports of the web.
const WEB: [u16; 2] = [80, 443];

impl HostPattern {
    fn matches(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_named = if self.below {
            host.strip_suffix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == self.name
        };
        is_named && self.port.map_or_else(|| WEB.contains(&port), |named| named == port)
    }
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not a host such as example.com, *.example.com or example.com:8443");
        let text = text.trim().to_ascii_lowercase();
        let (name, port) = match text.rsplit_once(':') {
            // More colons belong to an IPv6 address, which has its port after a bracket.
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
                (name, Some(port.parse().map_err(|_| wrong())?))
            }
            _ => (text.as_str(), None),
        };
        let (name, below) = name.strip_prefix("*.").map_or((name, false), |name| (name, true));
        let name = name.trim_start_matches('[').trim_end_matches([']', '.']);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(wrong());
        }
        Ok(Self { name: name.to_owned(), below, port })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.contains(':') { format!("[{}]", self.name) } else { self.name.clone() };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        write!(f, "{}{name}{port}", if self.below { "*." } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_matched_by_name_and_port() {
        for (pattern, host, port, is_allowed) in [
            ("example.com", "example.com", 443, true),
            ("example.com", "EXAMPLE.com.", 80, true),
            ("example.com", "example.com", 22, false),
            ("example.com", "a.example.com", 443, false),
            ("example.com", "notexample.com", 443, false),
            ("*.example.com", "a.b.example.com", 443, true),
            ("*.example.com", "example.com", 443, false),
            ("*.example.com", ".example.com", 443, false),
            ("*.example.com", "notexample.com", 443, false),
            ("Example.com:8443", "example.com", 8443, true),
            ("example.com:8443", "example.com", 443, false),
            ("127.0.0.1:8080", "127.0.0.1", 8080, true),
            ("[::1]:8080", "::1", 8080, true),
            ("::1", "::1", 80, true),
        ] {
            let rule = Network::Allowlist(vec![pattern.parse().unwrap()]);
            assert_eq!(rule.allows(host, port), is_allowed, "{pattern} {host} {port}");
            assert!(!Network::None.allows(host, port) && Network::Open.allows(host, port));
        }
        for wrong in ["", "*", "*.", "a b", "example.com:x", "https://example.com", "example.com/path"] {
            assert!(wrong.parse::<HostPattern>().is_err(), "{wrong}");
        }
        for text in ["*.example.com", "example.com:8443", "[::1]:80"] {
            assert_eq!(text.parse::<HostPattern>().unwrap().to_string(), text);
        }
    }
}
