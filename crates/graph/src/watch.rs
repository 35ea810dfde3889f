//! How far a job is, for whoever waits.
//!
//! What is told depends on public sizes alone: every stage is reached after as many messages
//! whatever the graph is.

use std::fmt;
use std::sync::Arc;

/// What a server does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It prepares the shuffles; so many slices of so many are ready.
    Preparing {
        /// Ready ones.
        done: u32,
        /// All.
        of: u32,
    },
    /// It checks that the lists are graphs.
    Checking,
    /// It computes a hop.
    Hop {
        /// Hops that are computed.
        done: u32,
        /// All hops.
        of: u32,
    },
    /// It verifies products of what is to be opened.
    Verifying,
    /// It opens what is shown.
    Opening,
}

impl Stage {
    /// The stage's name, and how many of how many parts of it are done; 0 of 0 if it has none.
    pub fn words(self) -> (&'static str, u32, u32) {
        match self {
            Stage::Preparing { done, of } => ("preparing", done, of),
            Stage::Checking => ("checking", 0, 0),
            Stage::Hop { done, of } => ("hop", done, of),
            Stage::Verifying => ("verifying", 0, 0),
            Stage::Opening => ("opening", 0, 0),
        }
    }
}

/// Is told of each stage as it begins.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<dyn Fn(Stage) + Send + Sync>>);

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl Watch {
    /// Tells this function.
    pub fn new(tell: impl Fn(Stage) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// Tells a stage.
    pub fn tell(&self, stage: Stage) {
        if let Some(tell) = &self.0 {
            tell(stage);
        }
    }
}
