//! What creating rooms, hosting and erasing share.

use std::sync::Mutex;

use tokio::sync::{Notify, Semaphore};

use super::creations::Creations;

/// Actions that may be on their way at a time. Fewer than an author's window of announcements, so
/// that hosts who act much do not keep the scheduler from opening and closing epochs.
const AT_ONCE: usize = 8;

/// What creating rooms, hosting and erasing share at a running server.
pub(crate) struct Desk {
    /// One for each action that may yet be on its way.
    pub acting: Semaphore,
    /// One for each claim that may yet be on its way.
    pub claiming: Semaphore,
    /// Held while a claim is put into its place, so that claims do not take it from each other.
    pub placing: tokio::sync::Mutex<()>,
    /// Held while something is erased.
    pub erasing: tokio::sync::Mutex<()>,
    /// Told when something was.
    pub erased: Notify,
    /// Rooms created of late.
    pub creations: Mutex<Creations>,
}

impl Default for Desk {
    fn default() -> Self {
        let (placing, erasing, erased, creations) = Default::default();
        let [acting, claiming] = [AT_ONCE; 2].map(Semaphore::new);
        Self { acting, claiming, placing, erasing, erased, creations }
    }
}
