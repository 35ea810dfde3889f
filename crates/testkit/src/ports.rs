//! Ports for tests that start servers, and stop and start them again.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The first port that is looked at. The end of the range is where systems begin to give ports to
/// outgoing connections: one of these could take the port of a server that is not up.
const FIRST: usize = 29_500;
const END: usize = 32_700;
/// How many ports a test has to itself.
const OWN: usize = 200;

/// Ports of 127.0.0.1 that nobody uses, others at every call.
///
/// Tests that run side by side, each in a process of its own, look in different places.
///
/// # Panics
///
/// If too few are free.
#[must_use]
pub fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let slot = std::env::var("NEXTEST_TEST_GLOBAL_SLOT").ok().and_then(|slot| slot.parse().ok());
    let slot = slot.unwrap_or(std::process::id() as usize);
    let many = END - FIRST;
    let mut ports = Vec::with_capacity(count);
    for _ in 0..many {
        if ports.len() == count {
            break;
        }
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(FIRST + (slot * OWN + step) % many).expect("below 65,536");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            ports.push(port);
        }
    }
    assert_eq!(ports.len(), count, "too few ports are free on 127.0.0.1");
    ports
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_different_and_below_those_of_outgoing_connections() {
        let ports = [free_ports(5), free_ports(7)].concat();
        let held: Vec<_> = ports
            .iter()
            .map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).expect("free"))
            .collect();
        assert_eq!(held.len(), 12, "two are the same");
        assert!(ports.iter().all(|port| usize::from(*port) < END));
    }
}
