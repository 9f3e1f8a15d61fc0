//! Settings of the channel. A project cannot set them, because they open a port or let a model do more.

use std::net::SocketAddr;

use rapport_core::Decider;
use rapport_core::routing::Policy;
use rapport_settings::{Secret, Setting, one_of, section};

section! {
    /// Settings of the channel.
    pub struct McpLayer in "mcp.", blank variables: Unset {
        /// The address to listen on, for clients over HTTP.
        listen: SocketAddr, Person, Masked;
        /// What clients over HTTP have to present; by default a token in Rapport's home.
        token: Secret, Person, Masked;
        /// What clients over HTTP present that may only look.
        look_token: Secret, Person, Masked;
        /// The names by which clients reach this machine, if not only from itself.
        hosts: Vec<String>, Person, Masked;
        /// Who may apply the work of workers.
        apply: DeciderName, Person, Shown;
        /// Which questions of workers the model of a client may answer.
        questions: PolicyName, Person, Shown;
        /// Whether a client's dialogs count as the person's own decisions.
        dialogs: bool, Person, Shown;
    }
    sections {}
}

/// Who may decide something, as it is written in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeciderName {
    Person,
    /// The model of a client, as a lead.
    Lead,
}

impl Setting for DeciderName {
    fn parse(word: &str) -> Result<Self, String> {
        one_of(word, &[("person", Self::Person), ("lead", Self::Lead)])
    }
}

/// A policy, as it is written in settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyName(pub Policy);

impl Setting for PolicyName {
    fn parse(word: &str) -> Result<Self, String> {
        let words = Policy::ALL.map(|policy| (policy.word(), Self(policy)));
        // Two names of older versions.
        let older = [("person", Self(Policy::Ask)), ("lead", Self(Policy::Trust))];
        one_of(word, &words.into_iter().chain(older).collect::<Vec<_>>())
    }
}

impl From<DeciderName> for Decider {
    fn from(name: DeciderName) -> Self {
        match name {
            DeciderName::Person => Decider::Person,
            DeciderName::Lead => Decider::Lead,
        }
    }
}
