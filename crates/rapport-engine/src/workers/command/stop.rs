//! The stop signal of running commands, sent for example at Ctrl-C.

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

    /// Whether the signal was sent.
    pub fn is_signalled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for the signal.
    pub async fn signalled(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|is_sent| *is_sent).await.is_err() {
            // The sender was dropped, so the signal cannot come.
            std::future::pending::<()>().await;
        }
    }
}

impl Stopper {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}
