//! The paired devices.

use maud::{Markup, html};

use super::times;
use crate::access::Visitor;
use crate::devices::Device;
use crate::site::Site;

pub(crate) fn list(site: &Site, visitor: &Visitor, devices: &[Device]) -> Markup {
    html! {
        section.paper.narrow {
            h1 { "Devices" }
            p { "Everything that these devices do carries their name." }
            ul.devices {
                @for device in devices {
                    li {
                        div {
                            b { (device.name) }
                            @if device.name == visitor.name { span.star { "this one" } }
                            span.meta { (device.role.words()) " · paired " (times::at(site, device.since)) " · used " (times::ago(site, device.seen)) }
                        }
                        @if visitor.may_answer() {
                            details.sure {
                                summary.button.danger { "Revoke…" }
                                form method="post" action="/devices" data-key=(format!("revoke-{}", device.name)) {
                                    input type="hidden" name="form" value=(visitor.form_token);
                                    input type="hidden" name="name" value=(device.name);
                                    p { "It will no longer be able to connect." }
                                    button.danger name="do" value="revoke" { "Revoke " (device.name) }
                                }
                            }
                        }
                    }
                }
            }
            p.quiet { "Pair another one: run " code { "rapport open --print" } " where Rapport runs, and open the link on it." }
        }
    }
}
