//! Selects the points of a long story that a test tries, if trying all takes too long: every n-th point, from another
//! one in each run, so that all are tried over time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Every how many points to try instead of the test's own number; 1 means all.
const STRIDE: &str = "RAPPORT_TEST_STRIDE";
/// How many points to leave out at the beginning, to repeat a run.
const OFFSET: &str = "RAPPORT_TEST_OFFSET";

/// Some of the points from 1 to `count`: every so many, unless the environment names another number. Prints which.
pub(crate) fn sampled(count: usize, every: usize) -> Vec<usize> {
    let number = |variable: &str| {
        let value = std::env::var(variable).ok()?;
        Some(value.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {value}")))
    };
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as usize;
    let stride = number(STRIDE).unwrap_or(every).max(1);
    let offset = number(OFFSET).unwrap_or_else(now) % stride;
    let points = points(count, stride, offset);
    println!("of {count} points {points:?}; again with {STRIDE}={stride} {OFFSET}={offset}");
    points
}

fn points(count: usize, stride: usize, offset: usize) -> Vec<usize> {
    (1..=count).skip(offset).step_by(stride).collect()
}

#[test]
fn all_points_are_tried_in_time_and_none_twice() {
    assert_eq!(points(5, 1, 0), [1, 2, 3, 4, 5]);
    assert_eq!(points(5, 3, 1), [2, 5]);
    let mut all: Vec<_> = (0..4).flat_map(|offset| points(17, 4, offset)).collect();
    all.sort_unstable();
    assert_eq!(all, (1..=17).collect::<Vec<_>>());
}
