//! The log of what Rapport itself does, to trace a fault: off by default, written to a file or to stderr.
//!
//! Only our own modules log. Libraries could log addresses and headers, and with them secrets.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, IsTerminal as _, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::fcntl::OFlag;
use tracing_subscriber::filter::{FilterFn, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt};

use crate::channels::terminal;
use crate::error::{Code, Failure};
use crate::options::Common;
use crate::output::warn;
use crate::workers::process;

/// The level where a file is named and no level is.
const USUAL: &str = "info";

/// The log; dropping it tells how many lines were left out.
#[derive(Debug)]
pub(crate) struct Logging {
    left_out: Arc<AtomicUsize>,
}

/// Begins to log as the command line says. A process whose stderr its host reads logs to a file or not at all.
pub(crate) fn start(common: &Common, owns_stderr: bool) -> Result<Logging, Failure> {
    let logging = Logging { left_out: Arc::default() };
    let filter = common.log.as_deref().filter(|filter| !filter.is_empty());
    match (&common.log_file, filter) {
        (None, None) => {}
        (Some(path), filter) => {
            let filter = filter.unwrap_or(USUAL);
            init(targets(filter)?, open(path)?);
            // Keepers have neither our environment nor our directory.
            let path = std::path::absolute(path)?;
            process::log_to(vec!["--log".into(), filter.into(), "--log-file".into(), path.into()]);
        }
        (None, Some(filter)) if owns_stderr => {
            let left_out = logging.left_out.clone();
            init(targets(filter)?, Stderr { is_terminal: io::stderr().is_terminal(), left_out });
        }
        (None, Some(_)) => {}
    }
    Ok(logging)
}

fn init(targets: Targets, writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) {
    let ours = FilterFn::new(|metadata| metadata.target().starts_with("rapport"));
    let layer = fmt::layer().with_ansi(false).with_writer(writer);
    // There is no other in this process.
    let _ = Registry::default().with(layer.with_filter(ours).with_filter(targets)).try_init();
}

fn targets(filter: &str) -> Result<Targets, Failure> {
    // Anything passes for the name of a module; one that cannot be any would log nothing.
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_:=,".contains(c);
    let parsed = filter.parse().ok().filter(|_| filter.chars().all(is_name));
    parsed.ok_or_else(|| {
        Failure::new(Code::Usage, format!("{filter:?} is no level to log at"))
            .hint("Use error, warn, info, debug or trace, or one per module: --log info,rapport_engine=debug")
    })
}

/// Opens the file for its owner alone and to append: several processes share it.
fn open(path: &Path) -> Result<Arc<File>, Failure> {
    let open = || -> io::Result<File> {
        // A pipe that nobody reads is refused instead of waited for.
        let flags = OFlag::O_NONBLOCK.bits();
        let file = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(path)?;
        if file.metadata()?.is_file() {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok(file)
    };
    let refused = |error| {
        Failure::new(Code::Usage, format!("cannot log to {}: {error}", path.display()))
            .hint("Name a file that can be written: --log-file FILE")
    };
    open().map(Arc::new).map_err(refused)
}

/// Stderr, except while cards are drawn on the same terminal.
struct Stderr {
    is_terminal: bool,
    left_out: Arc<AtomicUsize>,
}

impl MakeWriter<'_> for Stderr {
    type Writer = Box<dyn Write>;

    fn make_writer(&self) -> Self::Writer {
        if self.is_terminal && terminal::screen_is_up() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return Box::new(io::sink());
        }
        Box::new(io::stderr())
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        let left_out = self.left_out.load(Ordering::Relaxed);
        if left_out > 0 {
            warn(format_args!(
                "{left_out} lines of the log were left out while the screen was drawn; keep them with: --log-file FILE"
            ));
        }
    }
}
