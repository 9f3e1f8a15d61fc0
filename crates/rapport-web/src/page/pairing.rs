//! Pairing a device by a one-time code.

use maud::{Markup, html};

use crate::devices::LONGEST_NAME;

/// How to pair a device.
pub(crate) fn instructions(why: &str) -> Markup {
    html! {
        section.paper.narrow {
            h1 { "Pair this device" }
            p { (why) }
            p { "Where Rapport runs, " code { "rapport open --print" } " makes a link that lets one device in. Open it here, or type its code:" }
            (code_form("", ""))
        }
    }
}

/// The form that uses a code up. Opening the link does not, because programs may open links, such as a chat's
/// preview.
pub(crate) fn form(code: &str, name: &str, wrong: Option<&str>) -> Markup {
    html! {
        section.paper.narrow {
            h1 { "Pair this device" }
            @if let Some(wrong) = wrong { p.said.refused role="alert" { (wrong) } }
            p { "Anyone who holds it sees what your agents do, and can answer for you." }
            (code_form(code, name))
        }
    }
}

fn code_form(code: &str, name: &str) -> Markup {
    html! {
        form.start method="post" action="/pair" {
            label { span { "Code" } input name="code" value=(code) required autocomplete="off" autocapitalize="characters" spellcheck="false"; }
            label { span { "Name of this device" } input name="name" value=(name) required maxlength=(LONGEST_NAME) autocomplete="off"; }
            div.row { button.main { "Pair" } }
        }
    }
}
