//! Checks the host name and the origin of requests. This detects pages whose own name leads to this machine (DNS
//! rebinding) and pages of other origins, whatever token they present.

use std::net::SocketAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, header};

/// The host names of a server that listens on this address, with those from the settings. `None` if other machines
/// can reach the address, and the settings have no name for it.
pub fn own_names(listen: SocketAddr, named: &[String]) -> Option<Vec<String>> {
    if named.is_empty() && !listen.ip().is_loopback() {
        return None;
    }
    let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    Some(own.into_iter().chain(named.iter().cloned()).collect())
}

/// The host that a request names, if it is one of these, with or without its port.
pub fn own_host<'a>(headers: &'a HeaderMap, hosts: &[String]) -> Option<&'a str> {
    let mut named = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (named.next(), named.next()) else { return None };
    let host = host.to_str().ok()?;
    let authority = Authority::try_from(host).ok()?;
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    let is_own = |own: &String| own.eq_ignore_ascii_case(name) || own.eq_ignore_ascii_case(host);
    hosts.iter().any(is_own).then_some(host)
}

/// Whether a request comes from a page of this host itself.
pub fn is_origin_of(origin: &HeaderValue, host: &str) -> bool {
    let page = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    page.is_some_and(|(scheme, at)| matches!(scheme, "http" | "https") && at.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_names_are_its_host() {
        let hosts = ["localhost", "127.0.0.1", "::1", "build.example:8080"].map(str::to_owned);
        let named = |names: &[&str]| {
            let value = |name: &&str| (header::HOST, name.parse().unwrap());
            own_host(&names.iter().map(value).collect(), &hosts).map(str::to_owned)
        };
        for own in ["localhost", "LOCALHOST:7777", "127.0.0.1:1", "[::1]:7777", "build.example:8080"] {
            assert_eq!(named(&[own]).as_deref(), Some(own));
        }
        let others: [&[&str]; 7] = [
            &[],
            &["localhost", "evil.example"],
            &["evil.example"],
            &["127.0.0.1.evil.example"],
            &["localhost@evil.example"],
            &["build.example"],
            &["build.example:80"],
        ];
        for others in others {
            assert_eq!(named(others), None, "{others:?}");
        }
    }

    #[test]
    fn only_its_own_pages_are_of_its_origin() {
        let is_own = |origin: &'static str| is_origin_of(&HeaderValue::from_static(origin), "127.0.0.1:7777");
        assert!(is_own("http://127.0.0.1:7777") && is_own("https://127.0.0.1:7777"));
        for other in [
            "null",
            "",
            "http://127.0.0.1",
            "http://127.0.0.1:80",
            "http://localhost:7777",
            "file://127.0.0.1:7777",
            "http://127.0.0.1:7777.evil.example",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn other_machines_need_a_name() {
        assert!(own_names("127.0.0.1:0".parse().unwrap(), &[]).is_some());
        assert!(own_names("[::1]:0".parse().unwrap(), &[]).is_some());
        assert_eq!(own_names("0.0.0.0:0".parse().unwrap(), &[]), None);
        let named = own_names("0.0.0.0:0".parse().unwrap(), &["build.example".to_owned()]).unwrap();
        assert!(named.contains(&"build.example".to_owned()));
    }
}
