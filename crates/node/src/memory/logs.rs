//! How far this server is with the servers' logs of announcements.

use std::sync::Arc;

use ostrakon_party::ByParty;
use tokio::sync::{Mutex, Semaphore, watch};

/// Announcements of one author to which an echo may be missing.
pub(crate) const WINDOW: usize = 16;

/// How far the logs are.
pub(crate) struct Logs {
    /// Held while an announcement is judged and recorded: one at a time.
    pub turn: Mutex<()>,
    /// Announcements delivered, by author.
    pub delivered: watch::Sender<ByParty<u64>>,
    /// One for each further announcement that this server may send.
    pub window: Arc<Semaphore>,
}

impl Logs {
    pub(crate) fn new(delivered: ByParty<u64>) -> Self {
        Self {
            turn: Mutex::default(),
            delivered: watch::Sender::new(delivered),
            window: Arc::new(Semaphore::new(WINDOW)),
        }
    }

    /// Own announcements to which an echo is missing.
    pub(crate) fn on_their_way(&self) -> usize {
        WINDOW.saturating_sub(self.window.available_permits())
    }
}
