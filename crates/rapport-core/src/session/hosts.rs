//! The hosts that a sandboxed agent tried to reach and could not, and those that a person allows in this session.

use super::shared::Shared;
use crate::answer::By;
use crate::event::Event;
use crate::id::TurnId;
use crate::refusal::Refusal;

/// The maximum number of refused hosts to record, because an agent could try any number.
const MOST_REFUSED: usize = 100;
/// The maximum length of a host's name with its port.
const LONGEST: usize = 260;

/// Hosts by name: refused ones always with their port (`example.com:443`), allowed ones as the person named them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hosts {
    pub(crate) refused: Vec<String>,
    pub(crate) allowed: Vec<String>,
}

impl Hosts {
    pub(super) fn apply_refused(&mut self, host: &str) {
        self.refused.push(host.to_owned());
    }

    pub(super) fn apply_allowed(&mut self, host: &str) {
        let is_meant = |refused: &String| {
            refused.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        self.refused.retain(|refused| !is_meant(refused));
        self.allowed.push(host.to_owned());
    }

    /// Records a refused host once, because programs retry.
    pub(super) fn miss(&self, turn: TurnId, host: &str) -> Vec<Event> {
        let is_news = self.refused.len() < MOST_REFUSED && !self.refused.iter().any(|known| known == host);
        let fact = Event::HostRefused { turn, host: host.to_owned() };
        (is_news && is_name(host)).then_some(fact).into_iter().collect()
    }
}

impl Shared {
    pub(super) fn allow_host(&self, host: &str, by: &By) -> Result<Vec<Event>, Refusal> {
        let not = |why: &str| Refusal::NotNow { what: "allowing a host".into(), why: why.to_owned() };
        if !self.created.works_apart() {
            return Err(not("the agent works in the project itself, where the network is not restricted"));
        }
        if self.is_over() {
            return Err(not("the session is over"));
        }
        if !is_name(host) {
            return Err(not("that is not the name of a host"));
        }
        if self.hosts.allowed.iter().any(|known| known == host) {
            return Ok(Vec::new());
        }
        Ok(vec![Event::HostAllowed { host: host.to_owned(), by: by.clone() }])
    }
}

/// Whether a text can be the name of a host. The program that connects resolves the name.
fn is_name(host: &str) -> bool {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '*' | '[' | ']');
    !host.is_empty() && host.len() <= LONGEST && host.chars().all(is_plain)
}
