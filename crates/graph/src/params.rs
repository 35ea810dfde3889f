//! Limits, each with its reason.

/// Most rows of a list. Indices are `u32`, and a list's maps take twelve bytes a row.
pub const MAX_ROWS: u32 = 1 << 26;

/// Most lists of a job.
pub const MAX_LISTS: usize = 1 << 10;

/// Most hops of a job.
pub const MAX_HOPS: u32 = 1 << 10;

/// Highest threshold: a comparison with it costs as many products per count.
pub const MAX_THRESHOLD: u32 = 64;

/// Columns of the order check: a label, and two counts of vertices.
pub const CHECK_WORDS: u32 = 3;

/// Most edges of all lists of a ranking: with more, inverses of 30 bits would tell out-degrees
/// apart no longer.
pub const MAX_RANKED_EDGES: u64 = 1 << 22;

/// A batch of products has fewer rounds than these: numbers from there on are the next batch's.
pub const MAX_PRODUCT_ROUNDS: u32 = 1 << 16;
