//! Sessions in a browser: an inbox of everything that waits, each session with its story, and a form to start work.
//!
//! The server draws every page; a browser without JavaScript can answer and approve. With JavaScript, the page
//! follows a stream of changes (`stream.rs`), fetches itself again and merges the differences. So a page is drawn in
//! one place only, and cannot become stale.
//!
//! `kind.rs` is the channel as `serve` and `doctor` see it, `channel.rs` serves it; `access.rs` decides who gets in,
//! by `devices.rs`, `device_cache.rs` and `rates.rs`. `board.rs` follows all sessions and keeps of each what lists
//! show (`summary`). `handlers/` has a file per group of addresses, `page/` draws them, `acts.rs` makes an act of a
//! filled-in form.

mod access;
mod acts;
mod assets;
mod board;
mod channel;
mod device_cache;
mod devices;
mod fields;
mod handlers;
pub mod kind;
mod page;
mod push;
mod qr;
mod rates;
mod settings;
mod shared_file;
mod site;
mod stream;
mod summary;

pub use channel::{Web, WebConfig};
pub use devices::{CODE_LASTS, Device, DeviceError, Devices, shown_code};
pub use qr::picture;
pub use settings::WebLayer;
pub use site::{Address, invitation};

/// The name of this channel, which identifies the people who answer through it.
pub const CHANNEL: &str = "web";
