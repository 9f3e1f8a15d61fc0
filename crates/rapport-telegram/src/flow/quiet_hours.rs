//! Quiet hours and snoozing. During quiet hours, messages are sent without a sound, and there are no reminders. All
//! messages are still sent, and no question is answered automatically.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rapport_core::QuietHours;
use serde::{Deserialize, Serialize};

use super::chat_state::ChatState;
use super::messages::Visit;

/// The maximum duration that `/quiet` accepts.
const LONGEST: SignedDuration = SignedDuration::from_hours(7 * 24);
const USAGE: &str =
    "/quiet 22:00-07:00 for every night, /quiet 2h for the next two hours, /quiet off to end it.";

/// When a chat is quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quiet {
    Hours(QuietHours),
    Until(Timestamp),
    Off,
}

/// Parses a duration such as `2h` or `30 min`.
fn span(text: &str) -> Option<SignedDuration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (count, unit) = text.split_at(digits);
    let count: i64 = count.parse().ok()?;
    let span = match unit.trim() {
        "m" | "min" | "minutes" => SignedDuration::from_mins(count.min(LONGEST.as_mins())),
        "h" | "hour" | "hours" => SignedDuration::from_hours(count.min(LONGEST.as_hours())),
        _ => return None,
    };
    (span > SignedDuration::ZERO).then_some(span)
}

/// The setting that a person requests by `/quiet WISH`.
fn wished(wish: &str, now: Timestamp) -> Option<Quiet> {
    match (wish, QuietHours::parse(wish), span(wish)) {
        ("off", _, _) => Some(Quiet::Off),
        (_, Some(hours), _) => Some(Quiet::Hours(hours)),
        (_, _, Some(span)) => now.checked_add(span).ok().map(Quiet::Until),
        _ => None,
    }
}

/// Decides when a chat is quiet, from its own setting and the default.
#[derive(Clone, Debug)]
pub(super) struct QuietTimes {
    /// The quiet hours of chats without a setting of their own.
    default: Option<QuietHours>,
    zone: TimeZone,
}

impl QuietTimes {
    pub(super) fn new(default: Option<QuietHours>, zone: TimeZone) -> Self {
        Self { default, zone }
    }

    /// The end of the current quiet period of a chat with this setting, if it is quiet now.
    pub(super) fn until(&self, set: Option<Quiet>, now: Timestamp) -> Option<Timestamp> {
        match set {
            Some(Quiet::Until(until)) if until > now => Some(until),
            set => {
                let left = self.hours(set)?.left(&now.to_zoned(self.zone.clone()))?;
                now.checked_add(left).ok()
            }
        }
    }

    /// The daily quiet hours of a chat with this setting.
    fn hours(&self, set: Option<Quiet>) -> Option<QuietHours> {
        match set {
            Some(Quiet::Hours(hours)) => Some(hours),
            Some(Quiet::Off) => None,
            Some(Quiet::Until(_)) | None => self.default,
        }
    }

    /// A message that says when a chat with this setting is quiet.
    fn words(&self, set: Option<Quiet>, now: Timestamp) -> String {
        let what = "messages make no sound and there are no reminders; questions wait";
        match (self.until(set, now), self.hours(set)) {
            (Some(until), _) => {
                let until = until.to_zoned(self.zone.clone());
                format!("🌙 Until {}, {what}. /quiet off ends it.", until.strftime("%H:%M"))
            }
            (None, Some(hours)) => format!("🔔 From {hours} {what}. /quiet off ends that."),
            (None, None) => format!("🔔 No quiet hours. {USAGE}"),
        }
    }
}

impl ChatState {
    /// `/quiet`: changes when a chat is quiet, and says when that is.
    pub(super) fn on_quiet(&mut self, visit: &Visit, wish: &str) {
        let chat = visit.room.chat;
        let wish = wish.trim().to_lowercase();
        if let Some(quiet) = wished(&wish, self.now) {
            self.notes.set_quiet(&mut self.effects, chat, quiet);
            self.reminders.schedule_anew(&self.sessions, &self.notes, chat);
        } else if !wish.is_empty() {
            return self.effects.say(visit.room, &format!("I do not understand that. {USAGE}"));
        }
        let words = self.settings.quiet.words(self.notes.quiet(chat), self.now);
        self.effects.say(visit.room, &words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read() {
        for (text, minutes) in
            [("2h", Some(120)), ("30 min", Some(30)), ("45m", Some(45)), ("1 hour", Some(60))]
        {
            assert_eq!(span(text), minutes.map(SignedDuration::from_mins), "{text}");
        }
        for wrong in ["", "h", "0m", "2 weeks", "22-7", "-3h"] {
            assert_eq!(span(wrong), None, "{wrong:?}");
        }
        assert_eq!(span("99999999999h"), Some(LONGEST));
    }

    #[test]
    fn what_was_set_for_a_chat_counts_before_the_default() {
        let at = |time: &str| format!("2026-01-24T{time}:00Z").parse::<Timestamp>().unwrap();
        let times = QuietTimes::new(QuietHours::parse("22-7"), TimeZone::UTC);
        let hours = |text| Some(Quiet::Hours(QuietHours::parse(text).unwrap()));
        let until = Some(Quiet::Until(at("13:00")));
        for (set, now, quiet) in [
            (None, "12:00", None),
            (None, "06:00", Some("07:00")),
            (Some(Quiet::Off), "06:00", None),
            (hours("11-13"), "12:00", Some("13:00")),
            (hours("11-13"), "06:00", None),
            (until, "12:00", Some("13:00")),
            // This setting has expired, so the default applies again.
            (until, "13:00", None),
            (Some(Quiet::Until(at("05:00"))), "06:00", Some("07:00")),
        ] {
            assert_eq!(times.until(set, at(now)), quiet.map(at), "{set:?} at {now}");
        }
        assert!(times.words(None, at("12:00")).starts_with("🔔 From 22:00 to 07:00"));
        assert!(times.words(until, at("12:00")).starts_with("🌙 Until 13:00"));
        assert!(times.words(Some(Quiet::Off), at("12:00")).starts_with("🔔 No quiet hours."));
    }

    #[test]
    fn wishes_are_hours_a_span_or_off() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(wished("off", now), Some(Quiet::Off));
        assert_eq!(wished("22-7", now), QuietHours::parse("22-7").map(Quiet::Hours));
        assert_eq!(wished("2h", now), Some(Quiet::Until(now + SignedDuration::from_hours(2))));
        assert_eq!(wished("later", now), None);
    }
}
