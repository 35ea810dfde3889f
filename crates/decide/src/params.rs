//! How long a decision's chain may become.

/// Bytes of an encoded record at most, so that it fits into a message of 64 KiB.
pub const RECORD_BYTES: usize = 60_000;
/// Records of a decision at most.
pub const MOST_RECORDS: u32 = 1_000;
