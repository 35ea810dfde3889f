//! Security parameters and limits, each with its bound.

/// Bytes of a word of GF(2^64). A wrong row passes its check with probability 2^-64: the check's
/// vector is tossed after the row is fixed, and nothing is summed over rows.
pub const WORD: usize = 8;

/// Bytes of a pad's seed, an AES-128 key derived afresh for each round and participant: a search
/// over 2^20 participants and three pairs at once costs at least 2^106. All rounds of which
/// somebody has kept the submissions are searched together: after 2^23 of them it is 2^83 for some
/// one row.
pub const PAD_SEED: usize = 16;

/// Bytes of the salt at the end of a table's message. The third server sees the message's digest
/// and could compute all else in it from a guess of a permutation and of rows.
pub const SALT: usize = 32;

/// Bytes of a submission's MAC for one server: a forgery is tried online, and succeeds with
/// probability 2^-128.
pub const MAC: usize = 16;

/// Most rounds that a participant's seed is moved on at once: three years of rounds of five
/// seconds, about five seconds of hashing.
pub const MAX_SKIP: u64 = 1 << 24;

/// Largest number of rows of a table. Indices are `u32`; 2^26 rows of 32 B are 2 GiB.
pub const MAX_ROWS: u32 = 1 << 26;

/// Largest width of a row in bytes: 4 KiB of payload and the redundancy.
pub const MAX_WIDTH: u32 = 4096 + 16;
