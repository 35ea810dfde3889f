//! Clients that break every rule, against real server processes: each is refused with a problem
//! document or left, the servers stay up within their memory, and honest participants are served
//! meanwhile.
//!
//! `OSTRAKON_NIGHTLY` has a million participants join instead of some thousand.

mod decisions;
mod flood;
mod joins;
mod seats;
mod submissions;

/// Bytes that a process has resident.
fn resident(process: u32) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells");
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kibibytes << 10
}
