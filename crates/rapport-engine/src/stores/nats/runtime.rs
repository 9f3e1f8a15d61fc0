//! The threads on which the client of NATS runs. It needs timers and tasks of its own, and commands that only wait
//! have no runtime around them.

use std::future::Future;
use std::io;
use std::sync::OnceLock;

use futures_util::FutureExt as _;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::stores::{StoreError, Stored};

/// One thread talks to the servers while another one waits for them.
const THREADS: usize = 2;

static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();

/// The runtime of this process.
pub(super) fn handle() -> Result<Handle, StoreError> {
    let build = || {
        let runtime =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("nats").enable_all().build();
        runtime.map_err(|error| error.to_string())
    };
    match RUNTIME.get_or_init(build) {
        Ok(runtime) => Ok(runtime.handle().clone()),
        Err(why) => Err(StoreError::Unavailable { store: super::NAME, why: why.clone() }),
    }
}

/// Runs an operation there. It is completed even if nobody waits for it any more.
pub(super) fn run<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Stored<'static, T> {
    async move {
        let done = handle()?.spawn(work).await;
        done.unwrap_or_else(|error| Err(ended(io::Error::other(error))))
    }
    .boxed()
}

/// Runs blocking work of an operation.
pub(super) async fn block<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ended(io::Error::other(error))))
}

fn ended(source: io::Error) -> StoreError {
    StoreError::Io { what: "use", place: "the sessions".to_owned(), source }
}
