//! Runs of Ruffle's protocols, as one party sees them.

use crate::messages::Subject;

pub use ostrakon_threeparty::run::{HEARD, either};

/// A run as one party sees it.
pub type Run = ostrakon_threeparty::Run<Subject>;
