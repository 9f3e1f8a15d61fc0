//! When a device is woken, and for what. Pure: time comes in as an argument.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rapport_core::QuietHours;
use serde::{Deserialize, Serialize};

use super::{Alert, Subscription};

/// What a device can be woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wake {
    Questions,
    Permissions,
    Plans,
    Failed,
    Finished,
}

impl Wake {
    pub(crate) const ALL: [Wake; 5] =
        [Wake::Questions, Wake::Permissions, Wake::Plans, Wake::Failed, Wake::Finished];

    /// The word that forms and messages use.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Questions => "questions",
            Self::Permissions => "permissions",
            Self::Plans => "plans",
            Self::Failed => "failed",
            Self::Finished => "finished",
        }
    }

    /// What it is, for people.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Questions => "Questions and forms",
            Self::Permissions => "Permissions and budgets",
            Self::Plans => "Plans to confirm or review",
            Self::Failed => "Failures and interrupted runs",
            Self::Finished => "Finished tasks",
        }
    }
}

/// When a device wants to be woken, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wishes {
    pub(crate) wake: BTreeSet<Wake>,
    /// The hours in which nothing wakes it.
    #[serde(default)]
    pub(crate) quiet: Option<QuietHours>,
    /// How long an item waits for others before the device is woken for all of them together, in minutes.
    #[serde(default)]
    pub(crate) bundle: u32,
    /// The name of its time zone; that of the server if it is not known.
    #[serde(default)]
    pub(crate) zone: Option<String>,
}

/// When to wake a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due<'a> {
    /// There is nothing to wake it for.
    Never,
    /// Not before this time.
    At(Timestamp),
    /// Now, for these.
    Now(Vec<&'a Alert>),
}

impl Wishes {
    /// What a device wants that has said nothing about it.
    pub(crate) fn usual(zone: Option<String>) -> Self {
        Self { wake: Wake::ALL.into(), quiet: None, bundle: 0, zone }
    }

    /// The end of the current quiet hours, if it is quiet now.
    fn quiet_until(&self, now: Timestamp, server: &TimeZone) -> Option<Timestamp> {
        let own = self.zone.as_ref().and_then(|name| TimeZone::get(name).ok());
        let left = self.quiet?.left(&now.to_zoned(own.unwrap_or_else(|| server.clone())))?;
        now.checked_add(left).ok()
    }
}

/// When to wake a device, for what it has not been told about.
pub(super) fn due<'a>(
    subscription: &Subscription,
    alerts: &'a [Alert],
    now: Timestamp,
    server: &TimeZone,
) -> Due<'a> {
    let Subscription { device, wishes, told, ended_until, .. } = subscription;
    let is_told = |alert: &Alert| match alert.wake {
        Wake::Finished => alert.at <= *ended_until,
        _ => told.contains(&alert.id(device)),
    };
    let pending: Vec<&Alert> =
        alerts.iter().filter(|alert| wishes.wake.contains(&alert.wake) && !is_told(alert)).collect();
    let Some(oldest) = pending.iter().map(|alert| alert.at).min() else { return Due::Never };
    let together = SignedDuration::from_mins(i64::from(wishes.bundle));
    let ready = oldest.min(now).saturating_add(together).unwrap_or(now);
    match wishes.quiet_until(now, server) {
        Some(until) => Due::At(until.max(ready)),
        None if ready > now => Due::At(ready),
        None => Due::Now(pending),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::SubscriptionKeys;

    fn at(time: &str) -> Timestamp {
        format!("2026-11-18T{time}:00Z").parse().unwrap()
    }

    fn subscription(wake: &[Wake], quiet: Option<&str>, bundle: u32) -> Subscription {
        let key = super::super::encoded(&[&[4][..], &[0; 64]].concat());
        Subscription {
            device: "d".to_owned(),
            endpoint: String::new(),
            keys: SubscriptionKeys::read(&key, &super::super::encoded(&[0; 16])).unwrap(),
            since: at("00:00"),
            wishes: Wishes {
                wake: wake.iter().copied().collect(),
                quiet: quiet.map(|hours| QuietHours::parse(hours).unwrap()),
                bundle,
                zone: None,
            },
            told: BTreeSet::new(),
            ended_until: at("09:00"),
        }
    }

    #[test]
    fn a_device_is_woken_for_what_it_wants_when_it_wants() {
        let alerts = [
            Alert::example("q", Wake::Questions, at("10:00")),
            Alert::example("p", Wake::Permissions, at("10:10")),
            Alert::example("ended", Wake::Finished, at("08:59")),
        ];
        let (one, other) = (&alerts[0], &alerts[1]);
        let all = &Wake::ALL[..];
        for (wake, quiet, bundle, now, expected) in [
            (all, None, 0, "10:10", Due::Now(vec![one, other])),
            // It was told about the end of that session.
            (&[Wake::Finished, Wake::Plans][..], None, 0, "10:10", Due::Never),
            (&[Wake::Permissions], None, 0, "10:10", Due::Now(vec![other])),
            // What comes within an hour of the first is told with it.
            (all, None, 60, "10:10", Due::At(at("11:00"))),
            (all, None, 60, "11:00", Due::Now(vec![one, other])),
            (&[Wake::Permissions], None, 60, "11:00", Due::At(at("11:10"))),
            // Quiet hours come first, and end with everything that came in them.
            (all, Some("9-12"), 0, "10:10", Due::At(at("12:00"))),
            (all, Some("9-11"), 120, "10:10", Due::At(at("12:00"))),
            (all, Some("22-7"), 0, "10:10", Due::Now(vec![one, other])),
            (all, Some("9-12"), 0, "12:00", Due::Now(vec![one, other])),
        ] {
            let subscription = subscription(wake, quiet, bundle);
            let found = due(&subscription, &alerts, at(now), &TimeZone::UTC);
            assert_eq!(found, expected, "{wake:?} {quiet:?} {bundle} at {now}");
        }
    }

    #[test]
    fn nobody_is_told_twice() {
        let alerts = [Alert::example("q", Wake::Questions, at("10:00"))];
        let mut subscription = subscription(&Wake::ALL, None, 0);
        subscription.told.insert(alerts[0].id("d"));
        assert_eq!(due(&subscription, &alerts, at("11:00"), &TimeZone::UTC), Due::Never);
        // Ids of one device mean nothing to another.
        assert_ne!(alerts[0].id("d"), alerts[0].id("e"));
    }

    #[test]
    fn quiet_hours_are_those_of_the_device() {
        let alerts = [Alert::example("q", Wake::Questions, at("10:00"))];
        let mut subscription = subscription(&Wake::ALL, Some("22-7"), 0);
        subscription.wishes.zone = Some("Asia/Tokyo".to_owned());
        // 14:00 in UTC is 23:00 in Tokyo.
        let found = due(&subscription, &alerts, at("14:00"), &TimeZone::UTC);
        assert_eq!(found, Due::At(at("22:00")));
        subscription.wishes.zone = Some("Nowhere/None".to_owned());
        assert!(matches!(due(&subscription, &alerts, at("14:00"), &TimeZone::UTC), Due::Now(_)));
    }
}
