//! Runs blocking work beside async code.

use std::io;

use tokio::runtime::Handle;

/// Runs blocking work on a thread for that, or outside of a runtime on the current one. Work that has begun is completed, whether
/// or not anybody still waits for it. Fails only if the work panics or the runtime ends first.
pub async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let Ok(runtime) = Handle::try_current() else { return Ok(work()) };
    runtime.spawn_blocking(work).await.map_err(io::Error::other)
}
