//! Settings of the channel. A project sets none of them: they open a port, or let a model do more.

use std::net::SocketAddr;

use rapport_core::Applier;
use rapport_settings::{Secret, Setting, one_of, section};

section! {
    /// Settings of the channel.
    pub struct McpLayer in "mcp.", blank variables: Unset {
        /// The address to listen on, for clients over HTTP.
        listen: SocketAddr, Person, Masked;
        /// What clients over HTTP have to present; by default a token in Rapport's home.
        token: Secret, Person, Masked;
        /// The names by which clients reach this machine, if not only from itself.
        hosts: Vec<String>, Person, Masked;
        /// Who may apply what workers did.
        apply: ApplyName, Person, Shown;
    }
    sections {}
}

/// Who may apply what workers did, as it is written in settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplyName {
    #[default]
    Person,
    /// The model of a client, as a lead.
    Lead,
}

impl Setting for ApplyName {
    fn parse(word: &str) -> Result<Self, String> {
        one_of(word, &[("person", Self::Person), ("lead", Self::Lead)])
    }
}

impl From<ApplyName> for Applier {
    fn from(name: ApplyName) -> Self {
        match name {
            ApplyName::Person => Applier::Person,
            ApplyName::Lead => Applier::Lead,
        }
    }
}
