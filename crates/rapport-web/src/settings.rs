//! Settings of the channel. A project cannot set them, because they open a port or decide who gets access.

use std::net::SocketAddr;

use rapport_settings::section;

section! {
    /// Settings of the channel.
    pub struct WebLayer in "web.", blank variables: Unset {
        /// Whether `serve` serves the page.
        enabled: bool, Person, Shown;
        /// The address to listen on.
        listen: SocketAddr, Person, Masked;
        /// The names by which browsers reach this machine, if not only from itself.
        hosts: Vec<String>, Person, Masked;
        /// The address that people open, if a proxy is in front of the page.
        url: String, Person, Masked;
        /// The push services in private networks that notifications may be sent to.
        push_hosts: Vec<String>, Person, Masked;
    }
    sections {}
}
