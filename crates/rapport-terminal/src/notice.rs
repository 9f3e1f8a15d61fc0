//! Notifies a person who is looking elsewhere that a question waits: by the terminal's bell, or by a desktop
//! notification.

use std::sync::atomic::{AtomicU8, Ordering};

use super::terminal_text;
use super::text::clip;

/// The maximum length of a notification; desktops cut them anyway.
const LONGEST: usize = 120;

static CHOSEN: AtomicU8 = AtomicU8::new(Notice::Bell as u8);

/// The kind of notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Notice {
    Off,
    /// The terminal's bell, which most terminals show as a mark on the window or the tab.
    #[default]
    Bell,
    /// A desktop notification, if the terminal supports it.
    Desktop,
}

/// Sets the kind of notification.
pub fn notify_by(notice: Notice) {
    CHOSEN.store(notice as u8, Ordering::SeqCst);
}

/// The kind of notification that was set.
pub(super) fn chosen() -> Notice {
    let chosen = CHOSEN.load(Ordering::SeqCst);
    [Notice::Off, Notice::Desktop].into_iter().find(|notice| *notice as u8 == chosen).unwrap_or_default()
}

impl Notice {
    /// The bytes to write to the terminal; `env` looks up a variable.
    pub(super) fn sequence(self, what: &str, env: impl Fn(&str) -> Option<String>) -> String {
        let what = clip(&terminal_text::line(what), LONGEST);
        match self {
            Notice::Off => String::new(),
            Notice::Bell => "\x07".into(),
            // A semicolon separates the parts of this sequence.
            Notice::Desktop if takes_777(env) => {
                format!("\x1b]777;notify;Rapport;{}\x1b\\", what.replace(';', ","))
            }
            // A text that begins with a digit would be another command.
            Notice::Desktop => format!("\x1b]9;Rapport: {what}\x1b\\"),
        }
    }
}

/// The terminals of GNOME and urxvt have their own sequence; the others share one.
fn takes_777(env: impl Fn(&str) -> Option<String>) -> bool {
    env("VTE_VERSION").is_some() || env("TERM").is_some_and(|term| term.starts_with("rxvt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_wrote_stays_within_the_notification() {
        let none = |_: &str| None;
        let vte = |name: &str| (name == "VTE_VERSION").then(|| "7600".to_owned());
        let hostile = "Which?\x07\x1b]0;title\x1b\\; rm";
        assert_eq!(Notice::Off.sequence(hostile, none), "");
        assert_eq!(Notice::Bell.sequence(hostile, none), "\x07");
        let shown = Notice::Desktop.sequence(hostile, none);
        assert_eq!(shown, "\x1b]9;Rapport: Which?␇␛]0;title␛\\; rm\x1b\\");
        let shown = Notice::Desktop.sequence(hostile, vte);
        assert_eq!(shown, "\x1b]777;notify;Rapport;Which?␇␛]0,title␛\\, rm\x1b\\");
    }
}
