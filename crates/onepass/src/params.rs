//! Limits and exact sizes.

use crate::composition;

/// Bytes of an encoded group element or scalar.
pub const ELEMENT_BYTES: usize = 32;
/// Bytes of a ciphertext: two elements.
pub const CIPHERTEXT_BYTES: usize = 2 * ELEMENT_BYTES;
/// Bytes of a proof that consists of a challenge and a response.
pub const SIGMA_BYTES: usize = 64;

/// The initial tables of all ballots of a session together have at most this many entries.
pub const MAX_ENTRIES: usize = 900;
/// No step is longer than this, so that it fits with its record into a message of 64 KiB.
pub const MAX_STEP_BYTES: usize = 60_000;
/// Operators of a session at most.
pub const MAX_OPERATORS: usize = 64;
/// Helpers of a session at most.
pub const MAX_HELPERS: usize = 64;

/// Bits of the weights that combine the entries of a table (V4) and the equations of a verification
/// (H3).
pub const WEIGHT_BITS: usize = 128;

/// Entries of the table of a ballot over `values` values with `visitors` visitors still to come:
/// C(m+c−1, c−1). `None` if that is far beyond every limit.
#[must_use]
pub fn table_entries(visitors: usize, values: u16) -> Option<usize> {
    composition::count(visitors, usize::from(values))
}

/// Bytes of the proof for a ballot over `values` values: 192c − 32, whatever the length of the
/// table.
#[must_use]
pub fn proof_bytes(values: u16) -> usize {
    6 * ELEMENT_BYTES * usize::from(values) - ELEMENT_BYTES
}

/// Bytes of a partial decryption of that many ballots.
#[must_use]
pub fn partial_bytes(ballots: usize) -> usize {
    ELEMENT_BYTES * ballots + SIGMA_BYTES
}
