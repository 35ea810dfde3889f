//! Authenticated triples [[x]], [[y]], [[xy]] from correlated oblivious transfer: steps 6 to 10.

pub mod bound;
pub(crate) mod bucket;
pub(crate) mod leaky;

use crate::shares::Shares;

/// Triples in stock, each for one AND gate.
pub(crate) struct Triples {
    pub(crate) x: Shares,
    pub(crate) y: Shares,
    pub(crate) z: Shares,
}
