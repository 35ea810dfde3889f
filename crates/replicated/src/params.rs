//! Security parameters and limits, each with its bound.

/// Words of GF(2^64) that each row carries for Set-Equality: one. A wrong Shuffle-Pair passes with
/// probability at most 2^-63 (`docs/spec/ruffle.md`, "Set-Equality over GF(2^64)").
pub const WEIGHT_BYTES: usize = 8;

/// Bytes of the salt at the end of a Shuffle-Pair message. The third server sees the digest of the
/// message and could compute all else in it from a guess of the permutation; it would have to guess
/// the salt, too.
pub const SALT: usize = 32;

/// Bytes of a slot's seeds: AES-128 keys. With 2^20 slots and three pairs a multi-target search
/// costs at least 2^106.
pub const SLOT_SEED: usize = 16;

/// Largest number of rows of a table. Indices are `u32`; 2^26 rows of 32 B are 2 GiB.
pub const MAX_ROWS: u32 = 1 << 26;

/// Largest width of a row in bytes: 4 KiB of payload and the redundancy.
pub const MAX_WIDTH: u32 = 4096 + 16;
