//! What this thread has computed, as Linux counts it: a machine that is shared adds nothing.

use std::fs;

/// Seconds for which this thread has had a core; 0 where the system does not tell.
pub fn seconds_of_thread() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse::<u64>().ok());
    nanoseconds.unwrap_or(0) as f64 / 1e9
}
