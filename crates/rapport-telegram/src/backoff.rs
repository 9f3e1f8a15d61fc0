//! Exponential backoff with jitter.

use std::time::Duration;

/// The first wait.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(30);

/// Delays that double from half a second to thirty seconds. Each is randomly shortened by up to a quarter, so that many
/// clients do not retry at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The delay after one more failure.
    pub fn grow(&mut self) -> Duration {
        let full = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        full - (full / 4).mul_f64(chance())
    }

    /// Starts again with the shortest delay, after a success.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// A random number from 0 to 1.
fn chance() -> f64 {
    let byte = uuid::Uuid::new_v4().as_bytes()[0];
    f64::from(byte) / 255.0
}
