//! `rapport devices`: the devices that are paired with the page, and revoking one.

use rapport_core::display_text;
use serde_json::json;

use super::Common;
use super::open::failure;
use super::output::{ago, say, say_cells, say_json};
use crate::channels::web::Devices;
use crate::clock::Clock;
use crate::error::Outcome;
use crate::wiring::{Workspace, refuse_agents};

/// List the devices that are paired with the page for browsers, or revoke one
///
/// A revoked device can no longer connect, from its next request on; a page that it has open gets nothing new.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport devices
  rapport devices --revoke \"Anna's phone\"
  rapport open --print                  pair another one")]
pub(super) struct Args {
    /// Revoke this device: it can no longer connect
    #[arg(long, value_name = "NAME")]
    revoke: Option<String>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let devices = Devices::of(&place.home);
    if let Some(name) = &args.revoke {
        refuse_agents()?;
        devices.revoke(name).map_err(failure)?;
        if common.json {
            return say_json(&json!({ "revoked": name }));
        }
        return say(format_args!("Revoked {}. It can no longer connect.", display_text::line(name)));
    }
    let (all, now) = (devices.list().map_err(failure)?, Clock::system().now());
    if common.json {
        let each = all.iter().map(|device| {
            json!({ "name": device.name, "role": device.role, "since": device.since, "seen": device.seen })
        });
        return say_json(&each.collect::<Vec<_>>());
    }
    if all.is_empty() {
        return say("No device is paired. Pair one with: rapport open");
    }
    for device in &all {
        let (name, seen) = (display_text::line(&device.name), format!("used {}", ago(device.seen, now)));
        say_cells(&[&name, device.role.words(), &seen])?;
    }
    Ok(())
}
