//! Reads a page: over HTTP only, within limits of size, time and redirects, and never from the metadata addresses where
//! a cloud serves credentials to its machines.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, Url};
use tokio::time::timeout;

use super::shown;
use crate::actions::blocking;
use crate::actions::outcome::Details;

/// The maximum size of a page.
const MOST_BYTES: usize = 10 * 1024 * 1024;
/// The time limit.
const AT_MOST: Duration = Duration::from_secs(30);
/// The maximum number of redirects.
const MOST_REDIRECTS: usize = 5;
/// The width of the rendered text.
const WIDTH: usize = 100;
/// The minimum width of deeply nested text.
const LEAST_WIDTH: usize = 20;

/// The media type of a page.
enum Kind {
    Html,
    Text,
    Other(String),
}

pub(super) async fn fetch(url: &str) -> Result<Details, String> {
    let cannot = |why: String| format!("cannot read {url}: {why}");
    let address = Url::parse(url).map_err(|error| cannot(error.to_string()))?;
    check(&address).map_err(cannot)?;
    let location = location(&address).await;
    let response = client(location)
        .map_err(cannot)?
        .get(address)
        .send()
        .await
        .map_err(|error| cannot(causes(&error)))?;
    if !response.status().is_success() {
        return Err(cannot(format!("the server says {}", response.status())));
    }
    let kind = kind(&response);
    let body = body(response).await.map_err(cannot)?;
    readable(kind, body).await.map_err(cannot)
}

/// Whether a page may redirect to this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    /// It is on this machine, as the plan says.
    Here,
    /// It is elsewhere, so it must not choose what is read on this machine.
    Elsewhere,
}

/// Where the page is that the plan names.
async fn location(url: &Url) -> Location {
    let host = host(url);
    let is_here = match host.parse::<IpAddr>() {
        Ok(address) => is_this_machine(address),
        Err(_) => {
            let mut found = tokio::net::lookup_host((host, 0)).await.into_iter().flatten();
            found.any(|address| is_this_machine(address.ip()))
        }
    };
    if is_here { Location::Here } else { Location::Elsewhere }
}

fn client(location: Location) -> Result<Client, String> {
    // Another part of the program may already have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .timeout(AT_MOST)
        .redirect(Policy::custom(move |attempt| redirect(attempt, location)))
        .dns_resolver(Arc::new(Public(location)))
        .user_agent(concat!("rapport/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| causes(&error))
}

fn redirect(attempt: Attempt<'_>, location: Location) -> Action {
    if attempt.previous().len() > MOST_REDIRECTS {
        return attempt.error(format!("it redirects more than {MOST_REDIRECTS} times"));
    }
    let here = host(attempt.url()).parse().is_ok_and(is_this_machine);
    match check(attempt.url()) {
        Ok(()) if here && location == Location::Elsewhere => attempt.error("it redirects to this machine"),
        Ok(()) => attempt.follow(),
        Err(why) => attempt.error(why),
    }
}

/// Whether this address may be read. Host names are checked after they are resolved.
fn check(url: &Url) -> Result<(), String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("only http and https can be read, not {}", url.scheme()));
    }
    match host(url).parse::<IpAddr>() {
        Ok(address) if is_metadata(address) => Err(format!("{address} is not the address of a page")),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn host(url: &Url) -> &str {
    url.host_str().unwrap_or_default().trim_matches(['[', ']'])
}

/// The addresses of this machine.
fn is_this_machine(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified()
}

/// Link-local addresses, and one more address that a cloud uses.
fn is_metadata(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.segments()[..2] == [0xfd00, 0x0ec2],
    }
}

/// Resolves host names, but neither to metadata addresses nor, for a page elsewhere, to this machine.
struct Public(Location);

impl Resolve for Public {
    fn resolve(&self, name: Name) -> Resolving {
        let is_allowed = {
            let location = self.0;
            move |address: IpAddr| {
                !is_metadata(address) && (location == Location::Here || !is_this_machine(address))
            }
        };
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let usable: Vec<SocketAddr> = found.filter(|address| is_allowed(address.ip())).collect();
            if usable.is_empty() {
                return Err(io::Error::other(format!("{} has no address of a page", name.as_str())).into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

fn kind(response: &Response) -> Kind {
    let named =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("text/plain");
    let named = named.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let ends_as_text =
        ["json", "xml", "javascript", "yaml", "toml"].iter().any(|ending| named.ends_with(ending));
    match named.as_str() {
        "text/html" | "application/xhtml+xml" => Kind::Html,
        text if text.starts_with("text/") || ends_as_text => Kind::Text,
        _ => Kind::Other(named),
    }
}

async fn body(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| causes(&error))? {
        if body.len() + piece.len() > MOST_BYTES {
            return Err(format!("it is larger than {MOST_BYTES} bytes"));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

async fn readable(kind: Kind, body: Vec<u8>) -> Result<Details, String> {
    let bytes = match kind {
        Kind::Html => {
            // In deeply nested text, lines get longer instead of cutting words or failing.
            let text = move || {
                html2text::config::plain()
                    .allow_width_overflow()
                    .min_wrap_width(LEAST_WIDTH)
                    .string_from_read(&*body, WIDTH)
            };
            let text = timeout(AT_MOST, blocking(text)).await.map_err(|_| too_long())?;
            text.map_err(|error| error.to_string())?.into_bytes()
        }
        Kind::Text => String::from_utf8_lossy(&body).into_owned().into_bytes(),
        Kind::Other(named) => {
            let note = format!("not text: {named} of {} bytes", body.len());
            return Ok(Details::Text { text: String::new(), note: Some(note) });
        }
    };
    Ok(shown(&bytes, bytes.len() as u64))
}

/// An error with its sources, and without the address, which the caller adds.
fn causes(error: &reqwest::Error) -> String {
    let mut words = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        words.push(error.to_string());
        cause = error.source();
    }
    match words.last() {
        _ if error.is_timeout() => too_long(),
        Some(last) => last.clone(),
        None => "the request failed".to_owned(),
    }
}

fn too_long() -> String {
    format!("it took longer than {} s", AT_MOST.as_secs())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// A server that redirects every request, and its address.
    fn leads_to(target: String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 1024]);
                let head = if target.is_empty() {
                    "HTTP/1.1 200 OK\r\n".to_owned()
                } else {
                    format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\n")
                };
                let _ = write!(stream, "{head}content-length: 0\r\nconnection: close\r\n\r\n");
            }
        });
        address
    }

    /// A page from elsewhere must not choose what is read on this machine; a local one may.
    #[tokio::test]
    async fn a_page_from_elsewhere_does_not_lead_here() {
        let here = leads_to(String::new());
        for target in
            [here.clone(), here.replace("127.0.0.1", "0.0.0.0"), here.replace("127.0.0.1", "localhost")]
        {
            let page = leads_to(target.clone());
            let asked = |location| client(location).unwrap().get(&page).send();
            assert!(asked(Location::Here).await.is_ok(), "{target}");
            assert!(asked(Location::Elsewhere).await.is_err(), "{target}");
        }
        let location_of = async |url: &str| location(&Url::parse(url).unwrap()).await;
        for url in ["http://127.0.0.1:1/", "http://[::1]/", "http://0.0.0.0/", "http://localhost/"] {
            assert_eq!(location_of(url).await, Location::Here, "{url}");
        }
        assert_eq!(location_of("http://93.184.216.34/").await, Location::Elsewhere);
    }

    #[test]
    fn some_addresses_are_none_of_pages() {
        let refused = [
            "file:///etc/passwd",
            "ftp://example.org/x",
            "http://169.254.169.254/latest/meta-data/",
            "http://[fe80::1]/",
            "http://[::ffff:169.254.169.254]/",
            "http://[fd00:ec2::254]/latest/",
        ];
        for url in refused {
            assert!(check(&Url::parse(url).unwrap()).is_err(), "{url}");
        }
        for url in ["https://example.org/a", "http://localhost:3000/", "http://127.0.0.1:8080/x?y#z"] {
            assert_eq!(check(&Url::parse(url).unwrap()), Ok(()), "{url}");
        }
    }
}
