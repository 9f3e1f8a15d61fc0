//! The stop signal of running commands, as by Ctrl-C.

use tokio::sync::watch;

/// The receiving side of a stop signal.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// The sending side. Dropping it stops nothing.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stop {
    /// A stop signal with its sender.
    pub fn new() -> (Stopper, Self) {
        let (sender, receiver) = watch::channel(false);
        (Stopper(sender), Self(receiver))
    }

    /// A stop signal that never comes.
    pub fn never() -> Self {
        Self::new().1
    }

    /// Whether it has come.
    pub fn is_told(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for the signal.
    pub async fn told(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|told| *told).await.is_err() {
            // The sender is gone.
            std::future::pending::<()>().await;
        }
    }
}

impl Stopper {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}
