//! How a running batch is told to stop, as by Ctrl-C.

use tokio::sync::watch;

/// Says that a batch should stop. Can be asked again and again.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// Who can tell a batch to stop. Dropping it tells nothing.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stop {
    /// One that can be told, and who tells it.
    pub fn new() -> (Stopper, Self) {
        let (sender, receiver) = watch::channel(false);
        (Stopper(sender), Self(receiver))
    }

    /// One that is never told.
    pub fn never() -> Self {
        Self::new().1
    }

    /// Whether it was told.
    pub fn is_told(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is told.
    pub async fn told(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|told| *told).await.is_err() {
            // Nobody is left who could tell.
            std::future::pending::<()>().await;
        }
    }
}

impl Stopper {
    /// Tells it to stop.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}
