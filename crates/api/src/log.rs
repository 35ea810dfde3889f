//! A handle by which what is logged can be changed while the server runs.

use std::fmt;
use std::sync::Arc;

type Set = dyn Fn(&str) -> Result<(), String> + Send + Sync;

/// Changes what is logged. Clones change the same log.
#[derive(Clone)]
pub struct LogControl(Arc<Set>);

impl LogControl {
    /// A handle that hands filters to `set`, which says in words what is wrong with one.
    pub fn new(set: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(set))
    }

    /// Logs what `filter` selects from now on: a level (`info`), or directives like
    /// `ostrakon_net=debug`.
    ///
    /// # Errors
    /// What is wrong with the filter, in words. What was logged before still is.
    pub fn set(&self, filter: &str) -> Result<(), String> {
        (self.0)(filter)
    }
}

impl fmt::Debug for LogControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogControl")
    }
}
