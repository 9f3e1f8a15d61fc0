//! Rate limits: a token bucket for each device, and for each address of unpaired senders.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The maximum number of buckets. Full ones carry no information and are dropped first.
const MOST_BUCKETS: usize = 10_000;

/// Whose requests are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sender {
    /// A paired device.
    Device(String),
    /// A sender without a valid token, by its address.
    Stranger(IpAddr),
    /// All senders that try a code, together, because codes may be guessed from many addresses.
    Guessing,
}

impl Sender {
    /// How many requests may come at once, and the time in which one more is allowed.
    fn rate(&self) -> (f64, Duration) {
        match self {
            Self::Device(_) => (400.0, Duration::from_millis(10)),
            Self::Stranger(_) => (60.0, Duration::from_millis(100)),
            Self::Guessing => (10.0, Duration::from_secs(6)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

/// The buckets of all senders.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<HashMap<Sender, Bucket>>);

impl Rates {
    /// Counts a request; returns whether it is within the limit.
    pub(crate) fn allow(&self, sender: Sender) -> bool {
        let now = Instant::now();
        let (most, each) = sender.rate();
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_BUCKETS && !buckets.contains_key(&sender) {
            buckets.retain(|sender, bucket| {
                let (most, each) = sender.rate();
                refilled(bucket, now, most, each) < most
            });
            // A flood from that many addresses gets no answers.
            if buckets.len() >= MOST_BUCKETS {
                return false;
            }
        }
        let bucket = buckets.entry(sender).or_insert(Bucket { left: most, at: now });
        *bucket = Bucket { left: refilled(bucket, now, most, each), at: now };
        if bucket.left < 1.0 {
            return false;
        }
        bucket.left -= 1.0;
        true
    }
}

fn refilled(bucket: &Bucket, now: Instant, most: f64, each: Duration) -> f64 {
    let passed = now.duration_since(bucket.at).as_secs_f64() / each.as_secs_f64();
    (bucket.left + passed).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_refused_and_others_are_not() {
        let rates = Rates::default();
        let device = |name: &str| Sender::Device(name.to_owned());
        let answered = (0..1000).filter(|_| rates.allow(device("phone"))).count();
        assert_eq!(answered, 400);
        assert!(rates.allow(device("laptop")));
        tokio::time::advance(Duration::from_millis(20)).await;
        assert!(
            rates.allow(device("phone")) && rates.allow(device("phone")) && !rates.allow(device("phone"))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn many_addresses_do_not_fill_the_memory() {
        let rates = Rates::default();
        for number in 0..20_000_u32 {
            rates.allow(Sender::Stranger(IpAddr::from(number.to_be_bytes())));
        }
        assert!(rates.0.lock().unwrap().len() <= MOST_BUCKETS);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(rates.allow(Sender::Guessing));
    }
}
