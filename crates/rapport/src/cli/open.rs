//! `rapport open`: a one-time link to the page that `rapport serve` has.

use std::io::IsTerminal as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rapport_core::authority::Role;
use rapport_core::display_text;
use rapport_durable::replace_private;
use serde_json::json;

use super::Common;
use super::output::{say, say_as_is, say_json};
use crate::channels::web::{Address, CODE_LASTS, DeviceError, Devices, invitation, picture};
use crate::clock::Clock;
use crate::error::{Code, Failure, Outcome};
use crate::wiring::{Workspace, refuse_agents};

/// How long the page may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(2);
/// The file that leads a browser to the link.
const PAGE: &str = "open.html";

/// Open the page for browsers that `rapport serve` has, or pair another device with it
///
/// Prints a link, which lets one device in, once, within 15 minutes; and the same as a QR code, for a phone that can
/// reach this machine (docs/web.md). On a desktop it opens the link, too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport open                          on this machine
  rapport open --print                  only print the link, for another device
  rapport open --look                   for a device that may only look
  rapport devices                       the devices that are paired")]
pub(super) struct Args {
    /// The device may see everything, and answer nothing
    #[arg(long)]
    look: bool,
    /// Print the link, and open nothing
    #[arg(long)]
    print: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    // An agent that got access would answer its own questions.
    refuse_agents()?;
    let place = Workspace::find(common)?;
    let address = Address::last(&place.home)?.filter(is_served).ok_or_else(|| {
        Failure::new(Code::Usage, "the page for browsers is not served now")
            .hint("Serve it in another terminal, and keep that running: rapport serve")
    })?;
    let page = place.home.join("web").join(PAGE);
    // The page of the last call, whose code was used or expires soon.
    let _ = rapport_durable::remove(&page);
    let role = if args.look { Role::Look } else { Role::Answer };
    let code = Devices::of(&place.home).invite(role, Clock::system().now()).map_err(failure)?;
    let link = invitation(&address, &code);
    if common.json {
        let seconds = CODE_LASTS.as_secs();
        return say_json(&json!({ "link": link, "url": address.url, "seconds": seconds, "role": role }));
    }
    for line in picture(&link) {
        say_as_is(line)?;
    }
    say(format_args!(
        "Open it within 15 minutes, on one device ({}): {}",
        role.words(),
        display_text::line(&link)
    ))?;
    if !args.print && std::io::stdout().is_terminal() {
        browse(&page, &link);
    }
    Ok(())
}

/// An error of the devices file, as a failure.
pub(super) fn failure(error: DeviceError) -> Failure {
    match &error {
        DeviceError::Unknown(_) => {
            Failure::new(Code::Usage, error.to_string()).hint("See the names with: rapport devices")
        }
        DeviceError::NoCode | DeviceError::TooMany | DeviceError::Io { .. } => {
            Failure::new(Code::Trouble, error.to_string())
        }
    }
}

/// Whether something listens there; the browser shows what it is.
fn is_served(address: &Address) -> bool {
    let mut at = address.listen;
    if at.ip().is_unspecified() {
        at.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    TcpStream::connect_timeout(&at, PATIENCE).is_ok()
}

/// Shows the link in the person's browser, if there is a desktop. The link was printed anyway. All users of the
/// machine can see the arguments of a program, so the browser gets the link from a file that only this person can
/// read.
fn browse(page: &Path, link: &str) {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let program = match () {
        () if cfg!(target_os = "macos") => "open",
        () if is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") => "xdg-open",
        () => return,
    };
    if replace_private(page, leading(link).as_bytes()).is_err() {
        return;
    }
    let quiet = || Stdio::null();
    let _ = Command::new(program).arg(page).stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
}

/// A page that redirects to the link at once.
fn leading(link: &str) -> String {
    let link = link.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={link}\"><a href=\"{link}\">Open Rapport</a>\n"
    )
}
