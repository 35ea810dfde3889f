//! Clients that break every rule, against real server processes: each is refused with a problem document or left, the
//! servers stay up within their memory, and honest participants are served meanwhile.
//!
//! `OSTRAKON_NIGHTLY` has a million participants join instead of some thousand.

#[path = "../common/mod.rs"]
mod common;
#[path = "../faults/deciders.rs"]
#[allow(dead_code, reason = "every test program uses a part of this")]
mod deciders;
mod decisions;
mod flood;
mod joins;
mod rogue;
mod seats;
#[path = "../faults/servers.rs"]
#[allow(dead_code, reason = "every test program uses a part of this")]
mod servers;
#[path = "../faults/speakers.rs"]
#[allow(dead_code, reason = "every test program uses a part of this")]
mod speakers;
mod submissions;

/// Bytes that a process has resident.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells");
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kibibytes << 10
}
