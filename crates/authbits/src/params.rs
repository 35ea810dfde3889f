//! Limits, each with its bound.

/// Parties of a committee. The error of all pairs' checks together grows with its square
/// ([`crate::bound::segment`]).
pub const MAX_PARTIES: usize = 32;

/// Triples of a segment. 2^20 is what production uses; positions of bits are below 2^32.
pub const MAX_TRIPLES: usize = 1 << 22;

/// Leaky triples of a bucket.
pub const MAX_BUCKET: usize = 16;

/// Why a specification is refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadSpec {
    /// Fewer than two parties, or more than [`MAX_PARTIES`].
    #[error("a committee has 2 to {MAX_PARTIES} parties")]
    Parties,
    /// A size is zero or above its limit.
    #[error("a segment has 1 to {MAX_TRIPLES} triples from buckets of 1 to {MAX_BUCKET}")]
    Size,
    /// Too few triples for the size of the bucket.
    #[error("a cheater succeeds with 2^{log2:.2}, and 2^-{asked} is asked for")]
    Bound {
        /// The security that was asked for.
        asked: u32,
        /// log₂ of the bound.
        log2: f64,
    },
}
