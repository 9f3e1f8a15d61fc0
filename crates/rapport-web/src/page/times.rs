//! Times, durations and money on pages.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

use crate::site::Site;

/// How long ago something was. The script keeps it up to date, and its title is the exact time.
pub(crate) fn ago(site: &Site, then: Timestamp) -> Markup {
    html! { time data-ago datetime=(then.to_string()) title=(exact(site, then)) { (since(then, (site.now)())) } }
}

/// The time of day, with the date if that is not today.
pub(crate) fn at(site: &Site, then: Timestamp) -> Markup {
    let (now, local) = ((site.now)().to_zoned(site.zone.clone()), then.to_zoned(site.zone.clone()));
    let pattern = match () {
        () if now.date() == local.date() => "%H:%M:%S",
        () if now.year() == local.year() => "%b %d, %H:%M",
        () => "%Y-%m-%d, %H:%M",
    };
    html! { time datetime=(then.to_string()) title=(exact(site, then)) { (local.strftime(pattern).to_string()) } }
}

/// Millionths of a dollar as dollars.
pub(crate) fn cost(micros: u64) -> String {
    let cents = micros.div_ceil(10_000);
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// The date and the time.
pub(crate) fn exact(site: &Site, then: Timestamp) -> String {
    then.to_zoned(site.zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A duration in one unit, in the same words as the script of the page.
fn since(then: Timestamp, now: Timestamp) -> String {
    let passed = now.duration_since(then).max(SignedDuration::ZERO);
    match (passed.as_hours(), passed.as_mins()) {
        (hours, _) if hours >= 48 => format!("{} days ago", hours / 24),
        (hours, _) if hours >= 1 => format!("{hours} h ago"),
        (_, minutes) if minutes >= 1 => format!("{minutes} min ago"),
        _ => "just now".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_unit() {
        let now: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        for (then, words) in [
            ("2026-11-17T11:59:30Z", "just now"),
            ("2026-11-17T12:00:30Z", "just now"),
            ("2026-11-17T11:57:00Z", "3 min ago"),
            ("2026-11-16T11:00:00Z", "25 h ago"),
            ("2026-11-14T11:00:00Z", "3 days ago"),
        ] {
            assert_eq!(since(then.parse().unwrap(), now), words);
        }
        assert_eq!((cost(0), cost(1), cost(1_234_567)), ("$0.00".into(), "$0.01".into(), "$1.24".into()));
    }
}
