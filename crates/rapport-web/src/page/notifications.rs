//! Notifications on this device: turning them on, and what wakes it.

use std::io;

use maud::{Markup, html};
use rapport_core::display_text;

use crate::access::Visitor;
use crate::push::{Subscription, Wake};
use crate::site::Site;

/// How long notifications can be bundled: in minutes, and in words.
pub(crate) const BUNDLES: [(u32, &str); 5] = [
    (0, "At once"),
    (1, "After a minute, if nobody answered"),
    (15, "Every 15 minutes, together"),
    (60, "Every hour, together"),
    (240, "Every 4 hours, together"),
];

/// The part of the page about this device's notifications. Only a browser with scripts can subscribe; the rest works
/// without them.
pub(crate) fn section(site: &Site, visitor: &Visitor, stored: &io::Result<Option<Subscription>>) -> Markup {
    let subscription = stored.as_ref().ok().and_then(Option::as_ref);
    let trouble = site.push.trouble(&visitor.token);
    html! {
        section.paper.narrow #notifications aria-labelledby="notifications-title" data-vapid=(site.push.key.public())
            data-form=(visitor.form_token) data-endpoint=[subscription.map(|one| one.endpoint.as_str())] {
            h2 #notifications-title { "Notifications on this device" }
            @if let Some(why) = &trouble { p.care { "The last notification was not sent: " (display_text::line(why)) "." } }
            @match stored {
                Err(error) => p.care { (display_text::line(&error.to_string())) },
                Ok(Some(subscription)) => (wishes(visitor, subscription)),
                Ok(None) => {
                    p { "A notification says that something waits, also while this page is closed, and opens its card. It contains no text of your agents." }
                    noscript { p.quiet { "They need JavaScript." } }
                    p.quiet #push-state role="status" {}
                    div.row { button.main type="button" data-subscribe hidden { "Turn on notifications" } }
                }
            }
        }
    }
}

fn wishes(visitor: &Visitor, subscription: &Subscription) -> Markup {
    let wishes = &subscription.wishes;
    let (from, to) = wishes.quiet.map(rapport_core::QuietHours::times).unwrap_or_default();
    html! {
        form.start method="post" action="/push" data-key="notifications" data-push {
            input type="hidden" name="form" value=(visitor.form_token);
            input type="hidden" name="zone" value="" data-zone;
            fieldset.wake {
                legend { "Wake this device for" }
                @for wake in Wake::ALL {
                    label.check {
                        input type="checkbox" name="wake" value=(wake.word()) checked[wishes.wake.contains(&wake)];
                        " " (wake.label())
                    }
                }
            }
            label {
                span { "When" }
                select name="bundle" {
                    @for (minutes, words) in BUNDLES {
                        option value=(minutes) selected[minutes == wishes.bundle] { (words) }
                    }
                }
            }
            fieldset.quiet-hours {
                legend { "Quiet hours" @if let Some(zone) = &wishes.zone { " (" (display_text::line(zone)) ")" } }
                label { span { "from" } input type="time" name="from" value=(from); }
                label { span { "to" } input type="time" name="to" value=(to); }
            }
            p.quiet { "What comes in quiet hours is told together when they end. Nothing is answered meanwhile." }
            div.row {
                button.main name="do" value="save" { "Save" }
                button name="do" value="test" { "Send a test" }
                button.danger name="do" value="off" { "Turn off" }
            }
        }
    }
}
