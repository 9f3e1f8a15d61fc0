//! Faults that a test injects into a store in memory. Debug builds only.

use rapport_core::SessionId;

use super::Memory;
use crate::seals::Seal;

impl Memory {
    /// Makes the next append to any session fail, as on a full disk. Later ones succeed.
    pub fn fail_next_append(&self) {
        self.lock().failing = true;
    }

    /// Ends a hold, or a reservation, without the holder noticing, as when a lease is not renewed.
    pub fn end_hold(&self, id: &SessionId) {
        let mut shared = self.lock();
        if let Ok(session) = shared.session(id) {
            session.holder = None;
        }
        if let Some(reservation) = shared.reserved.get_mut(id) {
            *reservation = None;
        }
    }

    /// Makes a session untrusted, as if it had come with a clone.
    pub fn disown(&self, id: &SessionId, seal: Seal) {
        if let Ok(session) = self.lock().session(id) {
            session.foreign = Some(seal);
        }
    }
}
