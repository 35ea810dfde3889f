//! What creating rooms, hosting, erasing and saying share.

use std::sync::Mutex;

use tokio::sync::{Notify, Semaphore};

use super::quotas::Creations;

/// Actions that may be on their way at a time. Fewer than an author's window of announcements, so
/// that hosts who act much do not keep the scheduler from opening and closing epochs.
const AT_ONCE: usize = 8;

/// What creating rooms, hosting, erasing and saying words of jobs share at a running server.
pub(crate) struct UnderWay {
    /// One for each action that may yet be on its way.
    pub acting: Semaphore,
    /// One for each claim that may yet be on its way.
    pub claiming: Semaphore,
    /// One for each word of a job that somebody asks for and that may yet be on its way.
    pub saying: Semaphore,
    /// Held while a claim is put into its place, so that claims do not take it from each other.
    pub placing: tokio::sync::Mutex<()>,
    /// Held while something is erased.
    pub erasing: tokio::sync::Mutex<()>,
    /// Told when something was.
    pub erased: Notify,
    /// Rooms created of late.
    pub creations: Mutex<Creations>,
}

impl Default for UnderWay {
    fn default() -> Self {
        let (placing, erasing, erased, creations) = Default::default();
        let [acting, claiming, saying] = [AT_ONCE; 3].map(Semaphore::new);
        Self { acting, claiming, saying, placing, erasing, erased, creations }
    }
}
