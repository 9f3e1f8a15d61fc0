//! Plain HTTP requests, sent by the tests themselves.

/// What sends them, whatever was set up before.
pub(crate) fn client() -> reqwest::Client {
    client_builder().build().unwrap()
}

/// The same, before it is built.
pub(crate) fn client_builder() -> reqwest::ClientBuilder {
    // Only the first one in a process can be installed; any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy()
}
