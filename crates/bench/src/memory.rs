//! This process's peak of resident memory, as Linux counts it.

use std::fs;

/// Begins to count anew. Where that is impossible the peak is that of the whole process so far.
pub fn reset_peak() {
    const PEAK: &str = "5";
    drop(fs::write("/proc/self/clear_refs", PEAK));
}

/// The most bytes that were resident since the count began; 0 where the system does not tell.
pub fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line
        .and_then(|line| line.trim().strip_suffix("kB"))
        .and_then(|number| number.trim().parse().ok());
    kibibytes.unwrap_or(0u64) * 1024
}
