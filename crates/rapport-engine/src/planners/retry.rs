//! The delays before retries: exponential, with jitter.

use std::time::Duration;

/// The maximum number of retries.
const RETRIES: u32 = 3;
/// The maximum delay that a server can set; beyond that a person should know.
pub const LONGEST: Duration = Duration::from_secs(60);

/// The delay after this many failures (from 1): one second, two, four, each plus or minus up to a quarter, according to
/// `chance` (any number). A delay set by the server is respected. `None` if it is too long.
pub fn pause(failures: u32, first: Duration, said: Option<Duration>, chance: u64) -> Option<Duration> {
    if failures > RETRIES || said.is_some_and(|said| said > LONGEST) {
        return None;
    }
    let per_mille = 750 + u32::try_from(chance % 501).unwrap_or(0);
    let usual = first.saturating_mul(1 << failures.saturating_sub(1)).saturating_mul(per_mille) / 1000;
    Some(said.unwrap_or(usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pause_is_longer_and_a_server_that_says_how_long_is_believed() {
        let (first, seconds) = (Duration::from_secs(1), |seconds| Some(Duration::from_secs(seconds)));
        let millis = |millis| Some(Duration::from_millis(millis));
        for (failures, said, chance, expected) in [
            (1, None, 250, millis(1000)),
            (2, None, 250, millis(2000)),
            (3, None, 250, millis(4000)),
            (4, None, 250, None),
            (1, None, 0, millis(750)),
            (1, None, 500, millis(1250)),
            (2, None, u64::MAX, millis(1500 + 2 * (u64::MAX % 501))),
            (1, seconds(0), 9, seconds(0)),
            (1, seconds(60), 9, seconds(60)),
            (1, seconds(61), 9, None),
            (4, seconds(1), 9, None),
        ] {
            assert_eq!(pause(failures, first, said, chance), expected, "{failures} {said:?} {chance}");
        }
    }
}
