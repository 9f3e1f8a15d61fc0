//! Plain HTTP requests, sent by the tests themselves.

/// What sends them, whatever was set up before.
pub(crate) fn client() -> reqwest::Client {
    // Only the first one in a process can be installed; any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}
