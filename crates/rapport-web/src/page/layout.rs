//! What every page has: its head, the navigation, the outcome of the last act, and the help for keys.

use maud::{DOCTYPE, Markup, html};

use crate::access::Visitor;
use crate::site::{DeviceNotice, Site};

/// The entries of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Inbox,
    Sessions,
    Projects,
    Start,
    Devices,
    /// A session, which is under none of them.
    Session,
}

/// What a page is framed by.
pub(crate) struct Frame<'a> {
    pub(crate) site: &'a Site,
    pub(crate) visitor: &'a Visitor,
    pub(crate) section: Section,
    pub(crate) title: &'a str,
    /// The session that the page shows; a page without one follows all sessions.
    pub(crate) session: Option<&'a str>,
}

/// A page for a paired device.
pub(crate) fn framed(frame: &Frame<'_>, content: Markup) -> Markup {
    let Frame { site, visitor, section, title, session } = frame;
    let waiting = site.board.waiting_count();
    let counted = if waiting == 0 { String::new() } else { format!("({waiting}) ") };
    let link = |to: &str, of: Section, name: &str| {
        html! { a href=(to) aria-current=[(*section == of).then_some("page")] { (name) } }
    };
    document(
        site,
        &format!("{counted}{title}"),
        *session,
        html! {
            a.skip href="#main" { "To the content" }
            header.top {
                a.brand href="/" aria-label="Rapport, inbox" { img src=(asset(site, "icon.svg")) alt="" width="26" height="26"; span { "Rapport" } }
                nav aria-label="Pages" {
                    a href="/" aria-current=[(*section == Section::Inbox).then_some("page")] {
                        "Inbox"
                        @if waiting > 0 { span.count data-waiting { (waiting) } span.unseen { " waiting" } }
                    }
                    (link("/sessions", Section::Sessions, "Sessions"))
                    (link("/projects", Section::Projects, "Projects"))
                    @if visitor.may_answer() { (link("/new", Section::Start, "New task")) }
                    (link("/devices", Section::Devices, "Devices"))
                }
                span.link-state #link-state role="status" {}
            }
            (said(site, visitor))
            main #main tabindex="-1" { (content) }
            dialog #keys aria-labelledby="keys-title" {
                h2 #keys-title { "Keys" }
                dl {
                    dt { kbd { "j" } " " kbd { "k" } } dd { "next, previous" }
                    dt { kbd { "1" } "–" kbd { "9" } } dd { "choose an option" }
                    dt { kbd { "Enter" } } dd { "open; confirm what is chosen" }
                    dt { kbd { "w" } } dd { "write in your own words" }
                    dt { kbd { "r" } } dd { "answer as before" }
                    dt { kbd { "b" } } dd { "back to the question before" }
                    dt { kbd { "g" } " " kbd { "i" } } dd { "inbox" }
                    dt { kbd { "g" } " " kbd { "s" } } dd { "sessions" }
                    dt { kbd { "n" } } dd { "new task" }
                    dt { kbd { "?" } } dd { "these keys" }
                }
                form method="dialog" { button { "Close" } }
            }
        },
    )
}

/// A page for a browser without a valid token, or about a failure.
pub(crate) fn bare(site: &Site, title: &str, content: Markup) -> Markup {
    document(
        site,
        title,
        None,
        html! {
            header.top { span.brand { img src=(asset(site, "icon.svg")) alt="" width="26" height="26"; span { "Rapport" } } }
            main #main tabindex="-1" { (content) }
        },
    )
}

fn document(site: &Site, title: &str, session: Option<&str>, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="theme-color" content="#f6f6f3" media="(prefers-color-scheme: light)";
                meta name="theme-color" content="#121416" media="(prefers-color-scheme: dark)";
                title { (title) " · Rapport" }
                link rel="icon" href=(asset(site, "icon.svg")) type="image/svg+xml";
                link rel="apple-touch-icon" href=(asset(site, "icon-apple.png"));
                link rel="manifest" href=(asset(site, "manifest.webmanifest"));
                link rel="stylesheet" href=(asset(site, "style.css"));
                script src=(asset(site, "idiomorph.js")) defer {}
                script src=(asset(site, "page.js")) defer {}
            }
            body data-build=(site.build) data-session=[session] { (content) }
        }
    }
}

/// The outcome of this device's last act.
fn said(site: &Site, visitor: &Visitor) -> Markup {
    let said = site.told.take(&visitor.name);
    html! {
        div #said role="status" aria-live="polite" {
            @match said {
                Some(DeviceNotice::Done(words)) => p.said.done { (words) },
                Some(DeviceNotice::Refused(words)) => p.said.refused { (words) },
                Some(DeviceNotice::Unsent(words, text)) => {
                    p.said.refused { (words) }
                    label.unsent { span { "You wrote this, and it was not sent:" } textarea readonly rows="3" { (text) } }
                },
                None => {}
            }
        }
        // The script shows here what was written for a card that is gone.
        div.unsent #unsent role="status" hidden {}
    }
}

/// The address of an asset. Another version has another address.
fn asset(site: &Site, name: &str) -> String {
    format!("/assets/{}/{name}", site.build)
}
