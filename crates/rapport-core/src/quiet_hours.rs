//! Quiet hours of every day, in which nothing makes a sound. Each channel decides what that means for its messages;
//! none of them answers anything because of it.

use jiff::{SignedDuration, Zoned};
use serde::{Deserialize, Serialize};

const DAY: i64 = 24 * 60;

/// Quiet hours of every day, in minutes from midnight. They may span midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietHours {
    from: i64,
    to: i64,
}

impl QuietHours {
    /// Parses `22:00-07:00` or `22-7`.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        Self::between(from, to)
    }

    /// The hours between two times of day, such as `22:00` and `07:00`.
    pub fn between(from: &str, to: &str) -> Option<Self> {
        let hours = Self { from: minute(from)?, to: minute(to)? };
        (hours.from != hours.to).then_some(hours)
    }

    /// When they begin and end, such as `22:00` and `07:00`.
    pub fn times(self) -> (String, String) {
        let time = |minute: i64| format!("{:02}:{:02}", minute / 60, minute % 60);
        (time(self.from), time(self.to))
    }

    /// How long the quiet hours last from now on; `None` outside of them.
    pub fn left(self, now: &Zoned) -> Option<SignedDuration> {
        let minute = i64::from(now.hour()) * 60 + i64::from(now.minute());
        let since = (minute - self.from).rem_euclid(DAY);
        let length = (self.to - self.from).rem_euclid(DAY);
        (since < length).then(|| {
            let left = SignedDuration::from_mins(length - since);
            left - SignedDuration::from_secs(i64::from(now.second()))
        })
    }
}

impl std::fmt::Display for QuietHours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (from, to) = self.times();
        write!(f, "{from} to {to}")
    }
}

/// Parses a time of day, in minutes from midnight.
fn minute(text: &str) -> Option<i64> {
    let (hours, minutes) = text.trim().split_once(':').unwrap_or((text.trim(), "0"));
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..24).contains(&hours) && (0..60).contains(&minutes)).then_some(hours * 60 + minutes)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn hours_are_read_and_may_pass_midnight() {
        let night = QuietHours::parse("22:30-7").unwrap();
        assert_eq!(night.to_string(), "22:30 to 07:00");
        assert_eq!(QuietHours::between("22:30", "07:00"), Some(night));
        for (time, left) in [
            ("22:29:59", None),
            ("22:30:00", Some(510 * 60)),
            ("23:00:30", Some(480 * 60 - 30)),
            ("06:59:00", Some(60)),
            ("07:00:00", None),
        ] {
            let now: Timestamp = format!("2026-01-24T{time}Z").parse().unwrap();
            let left = left.map(SignedDuration::from_secs);
            assert_eq!(night.left(&now.to_zoned(jiff::tz::TimeZone::UTC)), left, "{time}");
        }
        for wrong in ["", "22", "25-7", "22:60-7", "7-7", "off", "-"] {
            assert_eq!(QuietHours::parse(wrong), None, "{wrong:?}");
        }
    }
}
