//! Decides which requests are served. A request to another host name, or from a page of another origin, is refused
//! first; then a request without the token of a paired device. A form counts only with the form token of its page,
//! and only from a device with the role `Answer`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use rapport_core::By;
use rapport_core::authority::Role;
use rapport_durable::digest;
use rapport_http::{Peer, is_origin_of, own_host};
use subtle::ConstantTimeEq as _;

use crate::devices::Device;
use crate::fields::Fields;
use crate::page;
use crate::rates::Sender;
use crate::site::Site;
use crate::{CHANNEL, assets};

/// The content security policy: a page loads only files of this server, and no inline script or style runs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The address where devices are paired: the only one that is served without a token.
const PAIRING: &str = "/pair";

/// The device that a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visitor {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The digest of its token. It identifies the device, because its name may be given to another one later.
    pub(crate) token: String,
    /// The token that the forms of its pages have to repeat.
    pub(crate) form_token: String,
}

impl Visitor {
    fn new(device: &Device, token: &str) -> Self {
        let form_token = digest(format!("form {token}").as_bytes())[..32].to_owned();
        Self { name: device.name.clone(), role: device.role, token: digest(token.as_bytes()), form_token }
    }

    /// The person at the device, as the author of acts.
    pub(crate) fn by(&self) -> By {
        By::Person { channel: CHANNEL.to_owned(), id: self.name.clone() }
    }

    pub(crate) fn may_answer(&self) -> bool {
        self.role == Role::Answer
    }
}

/// Admits or refuses a request, and adds the security headers to every response.
pub(crate) async fn admit(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let mut response = admitted(&site, request, next).await;
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Without referrers, a browser would send the forms of our own pages with the origin `null`.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn admitted(site: &Arc<Site>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let Some(host) = own_host(headers, &site.hosts) else {
        return (StatusCode::FORBIDDEN, "this server does not have that name; web.hosts has its names\n")
            .into_response();
    };
    let is_own = headers.get_all(header::ORIGIN).iter().all(|origin| is_origin_of(origin, host));
    if !is_own || is_sent_by_others(request.method(), headers) {
        return (StatusCode::FORBIDDEN, "requests from pages of other sites are refused\n").into_response();
    }
    // These are the same for everybody, and browsers fetch them without a page, too.
    if request.uri().path().starts_with("/assets/") || request.uri().path() == assets::WORKER {
        return next.run(request).await;
    }
    let known = match site.devices.current().await {
        Ok(known) => known,
        Err(error) => return page::failure(site, StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    };
    let token = cookie(headers, &known.cookie);
    let device = token.as_deref().and_then(|token| Some((known.find(token)?, token)));
    let stranger = || {
        let address = request.extensions().get::<Peer>().map(|peer| peer.0);
        Sender::Stranger(address.unwrap_or(std::net::Ipv4Addr::UNSPECIFIED.into()))
    };
    let sender = device.map_or_else(stranger, |(device, _)| Sender::Device(device.name.clone()));
    if !site.rates.allow(sender) {
        return too_many(site);
    }
    let is_pairing = request.uri().path() == PAIRING;
    let Some((device, token)) = device else {
        return match is_pairing {
            true => next.run(request).await,
            false => page::stranger(site, token.is_some()),
        };
    };
    site.visited.notify_one();
    let visitor = Visitor::new(device, token);
    let (devices, device, now) = (site.devices.devices.clone(), device.clone(), (site.now)());
    // The time of use is only shown to people, so the request does not wait for the write.
    drop(tokio::task::spawn_blocking(move || devices.note_use(&device, now)));
    request.extensions_mut().insert(visitor);
    next.run(request).await
}

/// The response to a sender over the rate limit.
pub(crate) fn too_many(site: &Site) -> Response {
    let mut response = page::failure(
        site,
        StatusCode::TOO_MANY_REQUESTS,
        "These are more requests than a person makes. Wait a moment, and try again.",
    );
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

/// Whether the headers of the browser say that a page of another site sent this request to change something.
fn is_sent_by_others(method: &Method, headers: &HeaderMap) -> bool {
    let is_safe = matches!(*method, Method::GET | Method::HEAD);
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    !is_safe && site.is_some_and(|site| site != b"same-origin" && site != b"none")
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
}

/// The fields of a form, from a device that may answer.
pub(crate) struct Posted {
    pub(crate) visitor: Visitor,
    pub(crate) fields: Fields,
}

impl FromRequest<Arc<Site>> for Posted {
    type Rejection = Response;

    async fn from_request(request: Request, site: &Arc<Site>) -> Result<Self, Response> {
        let OwnForm { visitor, fields } = OwnForm::from_request(request, site).await?;
        may_answer(&visitor).map_err(|why| page::failure(site, StatusCode::FORBIDDEN, why))?;
        Ok(Self { visitor, fields })
    }
}

/// The fields of a form about the device itself, from any paired device.
pub(crate) struct OwnForm {
    pub(crate) visitor: Visitor,
    pub(crate) fields: Fields,
}

impl FromRequest<Arc<Site>> for OwnForm {
    type Rejection = Response;

    async fn from_request(request: Request, site: &Arc<Site>) -> Result<Self, Response> {
        let visitor = visitor(&request).ok_or_else(|| page::stranger(site, false))?;
        let body = Bytes::from_request(request, site).await.map_err(|error| {
            page::failure(site, error.status(), "What was sent is too long, or was cut off.")
        })?;
        let fields = Fields::read(&body);
        is_own_form(&visitor, fields.get("form"))
            .map_err(|why| page::failure(site, StatusCode::FORBIDDEN, why))?;
        Ok(Self { visitor, fields })
    }
}

/// The device that sends a form.
pub(crate) fn visitor(request: &Request) -> Option<Visitor> {
    request.extensions().get::<Visitor>().cloned()
}

/// Checks that the form token is that of this device and that the device may answer; otherwise says why not.
pub(crate) fn check(visitor: &Visitor, presented: &str) -> Result<(), &'static str> {
    is_own_form(visitor, presented)?;
    may_answer(visitor)
}

fn is_own_form(visitor: &Visitor, presented: &str) -> Result<(), &'static str> {
    if bool::from(presented.as_bytes().ct_eq(visitor.form_token.as_bytes())) {
        return Ok(());
    }
    Err("This form is not from a page of this device. Load the page again, and send it from there.")
}

fn may_answer(visitor: &Visitor) -> Result<(), &'static str> {
    if visitor.may_answer() {
        return Ok(());
    }
    Err("This device may only look. Pair it again by a code for a device that may answer: rapport open")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=1; rapport_x=t0k=en; b=2"));
        headers.append(header::COOKIE, HeaderValue::from_static("c=3"));
        assert_eq!(cookie(&headers, "rapport_x").as_deref(), Some("t0k=en"));
        assert_eq!(cookie(&headers, "c").as_deref(), Some("3"));
        assert_eq!(cookie(&headers, "rapport"), None);
    }

    #[test]
    fn a_form_of_another_site_is_recognised() {
        let from = |site: Option<&'static str>, method: Method| {
            let mut headers = HeaderMap::new();
            site.into_iter().for_each(|site| {
                headers.insert("sec-fetch-site", HeaderValue::from_static(site));
            });
            is_sent_by_others(&method, &headers)
        };
        assert!(from(Some("cross-site"), Method::POST) && from(Some("same-site"), Method::POST));
        assert!(!from(Some("same-origin"), Method::POST) && !from(None, Method::POST));
        assert!(!from(Some("cross-site"), Method::GET));
    }
}
