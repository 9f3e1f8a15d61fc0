//! What the commands about sessions share: finding one, and acting on it wherever it runs.

use std::time::Duration;

use rapport_core::{Act, Aim, Entry, Input, Session, SessionId, View};

use crate::clock::Clock;
use crate::engine::socket::{self, Sent};
use crate::error::{Code, Failure, KEPT, Outcome};
use crate::stores::{Holder, Store, StoreError};
use crate::wiring::refuse_agents;

/// How often, and how long apart, a process that is just coming or going is tried again.
pub(super) const TRIES: u32 = 40;
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// The session that is meant: its whole name, or a part of it that no other has.
pub(super) fn find(store: &dyn Store, name: &str) -> Result<SessionId, Failure> {
    let all = store.list()?;
    if let Some(exact) = all.iter().find(|id| id.as_str() == name) {
        return Ok(exact.clone());
    }
    let alike: Vec<_> = all.into_iter().filter(|id| !name.is_empty() && id.as_str().contains(name)).collect();
    match alike.as_slice() {
        [] => Err(StoreError::NotFound(SessionId::new(name)).into()),
        [only] => Ok(only.clone()),
        several => {
            let names: Vec<_> = several.iter().map(SessionId::as_str).collect();
            Err(Failure::new(Code::NotFound, format!("several sessions are called like {name}"))
                .hint(format!("Name one of them: {}.", names.join(", "))))
        }
    }
}

/// A session as it stands in its log.
pub(super) fn view(store: &dyn Store, id: &SessionId) -> Result<View, Failure> {
    Ok(replay(store, id, &store.read(id, 0)?)?.view(id))
}

pub(super) fn replay(store: &dyn Store, id: &SessionId, entries: &[Entry]) -> Result<Session, StoreError> {
    Session::replay(entries).ok_or_else(|| StoreError::Damaged {
        place: store.whereabouts(id),
        line: 1,
        what: "it does not begin with the creation of a session".into(),
    })
}

/// Does something in a session: through the process that runs it, or, if none does, in its log directly. Either way
/// it is durable when this returns. Says whether a process is there to go on with it.
pub(super) fn act(store: &dyn Store, id: &SessionId, act: &Act) -> Result<Reached, Failure> {
    refuse_agents()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut last = None;
    for _ in 0..TRIES {
        match store.holder(id)? {
            Some(holder) => {
                let sent = holder.address.as_ref().map(|at| runtime.block_on(socket::send(at, id, act)));
                match sent {
                    Some(Sent::Done) => return Ok(Reached::Process),
                    Some(Sent::Refused(refusal)) => return Err(refusal.into()),
                    Some(Sent::Forbidden(why)) => return Err(Failure::new(Code::Refused, why)),
                    Some(Sent::Failed(why)) => return Err(Failure::new(Code::Store, why).hint(KEPT)),
                    Some(Sent::Silent) => {
                        let (what, hints) = socket::silence(&holder, id);
                        return Err(hints.into_iter().fold(Failure::new(Code::Busy, what), Failure::hint));
                    }
                    Some(Sent::Nobody) | None => last = Some(holder),
                }
            }
            None => match directly(store, id, act) {
                Err(StoreError::Busy { holder, .. }) => last = Some(holder),
                Err(error) => return Err(error.into()),
                Ok(outcome) => return outcome.map(|()| Reached::Log),
            },
        }
        std::thread::sleep(PAUSE);
    }
    let holder = last.unwrap_or(Holder { pid: 0, address: None });
    Err(StoreError::Busy { id: id.clone(), holder }.into())
}

/// Where an act arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// At the process that runs the session; it goes on by itself.
    Process,
    /// In the log; somebody has to take the session up.
    Log,
}

impl Reached {
    /// What to do so that it goes on.
    pub(super) fn next_step(self, store: &dyn Store, id: &SessionId) -> Option<String> {
        let go_on = match view(store, id).map(|view| view.aim) {
            Ok(Aim::Files) => "rapport resume --session",
            Ok(Aim::Work | Aim::Progress(_) | Aim::Chat) | Err(_) => "rapport run --resume",
        };
        (self == Reached::Log).then(|| format!("No process runs it now. Go on with: {go_on} {id}"))
    }
}

fn directly(store: &dyn Store, id: &SessionId, act: &Act) -> Result<Outcome, StoreError> {
    let holder = Holder { pid: std::process::id(), address: None };
    let (entries, mut log) = store.hold(id, &holder)?;
    let session = replay(store, id, &entries)?;
    let now = Clock::system().now();
    let input = Input::Person { by: socket::person_here(), act: act.clone() };
    match session.decide(&input, now) {
        Err(refusal) => Ok(Err(refusal.into())),
        Ok(facts) if facts.is_empty() => Ok(Ok(())),
        Ok(facts) => log.append(now, facts).map(|_| Ok(())),
    }
}
